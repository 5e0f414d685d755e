//! What a node sends to one peer next, on one connection. Remembers sequences, never cells.

use std::{collections::VecDeque, time::Duration};
use tokio::time::Instant;

/// Messages that wait for their answers at once.
const IN_FLIGHT_MAX: usize = 4;
/// A peer that says nothing for so long is as good as gone, and the connection is made anew.
pub(super) const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// Of one connection to one peer.
#[derive(Debug)]
pub(super) struct Outgoing {
    heartbeat: Duration,
    /// What the peer has acknowledged of this life.
    acknowledged: u64,
    /// What was sent to it, of which it may not have acknowledged all.
    sent: u64,
    /// What it was told last beside cells.
    told: Flags,
    last_sent: Instant,
    /// When each message was sent that was not answered yet, and whether it told the end of this life.
    in_flight: VecDeque<(Instant, bool)>,
    end_acknowledged: bool,
}

/// What each message says beside cells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Flags {
    /// A member is out of reach.
    pub(super) cut: bool,
    /// This life counts no more.
    pub(super) ended: bool,
}

/// The next message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// With changes after this sequence.
    Delta(u64),
    /// Without.
    Heartbeat,
}

impl Outgoing {
    /// Of a connection whose first message was answered now, with what the peer has.
    pub(super) fn new(acknowledged: u64, heartbeat: Duration, now: Instant) -> Self {
        let told = Flags::default();
        let in_flight = VecDeque::new();
        Self {
            heartbeat,
            acknowledged,
            sent: acknowledged,
            told,
            last_sent: now,
            in_flight,
            end_acknowledged: false,
        }
    }

    /// What is to be sent now, if anything. `sequence` is the last of what has changed.
    pub(super) fn next(&self, sequence: u64, flags: Flags, now: Instant) -> Option<Next> {
        if self.in_flight.len() >= IN_FLIGHT_MAX {
            return None;
        }
        if self.sent < sequence {
            return Some(Next::Delta(self.sent));
        }
        let due = flags != self.told || now.duration_since(self.last_sent) >= self.heartbeat;
        due.then_some(Next::Heartbeat)
    }

    /// A message was sent, with changes up to that sequence if it had any.
    pub(super) fn sent(&mut self, up_to: Option<u64>, flags: Flags, now: Instant) {
        self.sent = up_to.map_or(self.sent, |up_to| up_to.max(self.sent));
        self.told = flags;
        self.last_sent = now;
        self.in_flight.push_back((now, flags.ended));
    }

    /// The oldest message was answered. Returns how long that took; nothing if no answer was due.
    pub(super) fn answered(&mut self, acknowledged: u64, now: Instant) -> Option<Duration> {
        self.acknowledged = self.acknowledged.max(acknowledged);
        let (sent, ended) = self.in_flight.pop_front()?;
        self.end_acknowledged |= ended;
        Some(now.duration_since(sent))
    }

    /// What the peer has acknowledged.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Whether the peer knows that this life counts no more, and all that it counted.
    pub(super) fn is_end_acknowledged(&self) -> bool {
        self.end_acknowledged
    }

    /// Whether an answer is overdue.
    pub(super) fn is_stuck(&self, now: Instant) -> bool {
        self.in_flight.front().is_some_and(|(sent, _)| now.duration_since(*sent) > ANSWER_WITHIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const QUIET: Flags = Flags { cut: false, ended: false };
    const CUT: Flags = Flags { cut: true, ended: false };

    #[test]
    fn changes_are_sent_once_and_a_heartbeat_each_second() {
        let start = Instant::now();
        let mut outgoing = Outgoing::new(5, SECOND, start);
        assert_eq!(outgoing.next(5, QUIET, start), None);
        assert_eq!(outgoing.next(9, QUIET, start), Some(Next::Delta(5)));
        outgoing.sent(Some(7), QUIET, start);
        assert_eq!(outgoing.next(9, QUIET, start), Some(Next::Delta(7)));
        outgoing.sent(Some(9), QUIET, start);
        assert_eq!(outgoing.next(9, QUIET, start + SECOND / 2), None);
        assert_eq!(outgoing.next(9, QUIET, start + SECOND), Some(Next::Heartbeat));
        assert_eq!(outgoing.next(9, CUT, start), Some(Next::Heartbeat), "news is not kept");
        outgoing.sent(None, CUT, start);
        assert_eq!(outgoing.next(9, CUT, start), None);
    }

    #[test]
    fn few_messages_wait_for_answers_and_none_for_long() {
        let start = Instant::now();
        let mut outgoing = Outgoing::new(0, SECOND, start);
        for sequence in 1..=4 {
            outgoing.sent(Some(sequence), QUIET, start);
        }
        assert_eq!(outgoing.next(9, CUT, start + SECOND), None);
        assert!(
            !outgoing.is_stuck(start + ANSWER_WITHIN) && outgoing.is_stuck(start + ANSWER_WITHIN + SECOND)
        );
        assert_eq!(outgoing.answered(1, start + SECOND), Some(SECOND));
        assert_eq!((outgoing.acknowledged(), outgoing.next(9, QUIET, start)), (1, Some(Next::Delta(4))));
        for sequence in 2..=4 {
            assert!(outgoing.answered(sequence, start).is_some());
        }
        assert_eq!((outgoing.answered(4, start), outgoing.is_stuck(start + 9 * SECOND)), (None, false));
    }
}
