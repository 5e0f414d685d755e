//! Wall clocks: this node's, and how far those of peers are off.

use std::{
    collections::VecDeque,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Clocks of nodes that are further apart than this deserve an alert: windows begin at different times on them.
pub const CLOCK_OFFSET_ALERT_MS: u64 = 500;

/// Samples of which the one with the shortest way counts.
const SAMPLES: usize = 8;

/// The wall clock, in unix milliseconds.
pub trait Clock: Send + Sync + 'static {
    /// Now.
    fn now_ms(&self) -> u64;
}

/// That of the system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
    }
}

/// How far the clock of a peer is ahead of this node's, from the last few answers.
#[derive(Debug, Default)]
pub(super) struct Offset {
    /// How long the question and its answer took, and the offset that they tell.
    samples: VecDeque<(Duration, i64)>,
}

impl Offset {
    /// A question was answered that took so long both ways. It was asked at that time of this clock, and answered at that of
    /// the peer's. The offset is wrong by no more than half of what it took.
    pub(super) fn sample(&mut self, took: Duration, answered_ms: u64, received_ms: u64) {
        let half_ms = took.as_millis() as i64 / 2;
        let offset = (answered_ms as i64).saturating_sub(received_ms as i64).saturating_add(half_ms);
        if self.samples.len() >= SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back((took, offset));
    }

    /// In milliseconds; negative if the peer's is behind. Nothing before the first answer.
    pub(super) fn ms(&self) -> Option<i64> {
        self.samples.iter().min_by_key(|(took, _)| *took).map(|(_, offset)| *offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_that_came_fastest_tells_the_offset() {
        let mut offset = Offset::default();
        assert_eq!(offset.ms(), None);
        // Asked at 1,000, answered at 1,040 of a clock that is 700 ahead, heard at 1,100.
        offset.sample(Duration::from_millis(100), 1_740, 1_100);
        assert_eq!(offset.ms(), Some(690));
        offset.sample(Duration::from_millis(10), 2_705, 2_010);
        assert_eq!(offset.ms(), Some(700));
        offset.sample(Duration::from_millis(900), 4_000, 4_000);
        assert_eq!(offset.ms(), Some(700));
        for at in 0..8u64 {
            offset.sample(Duration::from_millis(500 + at), 5_000, 5_350);
        }
        assert_eq!(offset.ms(), Some(-100), "old answers tell nothing");
    }
}
