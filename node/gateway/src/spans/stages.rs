//! Where the time of a request goes: the stages that can be told apart by the clock as it is read anyway.

use std::time::Duration;

/// A part of a request's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// To the end of the client's body: who asks, and what.
    Receive,
    /// To the first target: where it may go, and whether its limits let it in.
    Route,
    /// At targets, but for their own time: translation, reservation, waiting for a slot, pauses between attempts.
    Attempt,
    /// Waiting for the heads of targets' answers.
    Upstream,
    /// From the head of the answer to its end: reading, translating and writing what comes.
    Relay,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: [Self; 5] = [Self::Receive, Self::Route, Self::Attempt, Self::Upstream, Self::Relay];

    /// The word for metrics, spans and settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Receive => "receive",
            Self::Route => "route",
            Self::Attempt => "attempt",
            Self::Upstream => "upstream",
            Self::Relay => "relay",
        }
    }
}

/// When what happened, from the begin of the request on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Marks {
    /// All of it was read.
    pub(crate) received: Option<Duration>,
    /// Targets are tried.
    pub(crate) walked: Option<Duration>,
    /// The head of the answer that the client gets.
    pub(crate) answered: Option<Duration>,
    /// The time in which heads were waited for, all together.
    pub(crate) waited: Duration,
}

impl Marks {
    /// The stages that a request which took so long came to, each with how long it took. Together they are all of it.
    pub(crate) fn spent(&self, total: Duration) -> [Option<Duration>; Stage::ALL.len()] {
        let received = self.received.unwrap_or(if self.walked.is_some() { Duration::ZERO } else { total });
        let walked = self.walked.unwrap_or(total);
        let answered = self.answered.unwrap_or(total);
        let tried = answered.saturating_sub(walked);
        [
            Some(received),
            self.received.or(self.walked).map(|_| walked.saturating_sub(received)),
            self.walked.map(|_| tried.saturating_sub(self.waited)),
            Some(self.waited).filter(|waited| !waited.is_zero()),
            self.answered.map(|answered| total.saturating_sub(answered)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_are_all_of_the_time() {
        let ms = Duration::from_millis;
        let check = |marks: Marks, wanted: [Option<u64>; 5]| {
            let spent = marks.spent(ms(100));
            assert_eq!(spent, wanted.map(|spent| spent.map(ms)), "{marks:?}");
            assert_eq!(spent.iter().flatten().sum::<Duration>(), ms(100), "{marks:?}");
        };
        let (received, walked, answered) = (Some(ms(10)), Some(ms(30)), Some(ms(80)));
        check(
            Marks { received, walked, answered, waited: ms(40) },
            [Some(10), Some(20), Some(10), Some(40), Some(20)],
        );
        check(
            Marks { received, walked, answered: None, waited: ms(0) },
            [Some(10), Some(20), Some(70), None, None],
        );
        check(Marks { received, ..Marks::default() }, [Some(10), Some(90), None, None, None]);
        check(Marks::default(), [Some(100), None, None, None, None]);
    }
}
