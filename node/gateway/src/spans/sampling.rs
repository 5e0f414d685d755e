//! Which traces are recorded.

use super::{context::Parent, finished::FinishedRequest};
use crate::record::Outcome;

/// How requests are traced.
pub struct Tracing {
    /// Which.
    pub sampling: Sampling,
    /// Gets each that is sampled, on the thread that writes the log: it must not wait.
    pub sink: Box<dyn FnMut(FinishedRequest) + Send>,
}

/// Which requests are sampled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sampling {
    /// Where a request comes with a trace, that decides; otherwise the ratio does for all.
    pub parent: bool,
    /// The share of the others.
    pub ratio: Ratio,
    /// All that end badly, whatever was decided before.
    pub errors: bool,
}

/// A share of all traces, chosen by their ids: whoever decides by the same rule decides alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ratio {
    below: u64,
}

impl Ratio {
    /// No trace.
    pub const NONE: Self = Self { below: 0 };

    /// None unless it is from 0 to 1.
    pub fn new(share: f64) -> Option<Self> {
        // The lower 63 bits of the id are compared, as samplers by id commonly do.
        (0.0..=1.0).contains(&share).then_some(Self { below: (share * (1_u64 << 63) as f64) as u64 })
    }

    fn has(self, trace_id: u128) -> bool {
        (trace_id as u64) >> 1 < self.below
    }
}

impl Sampling {
    pub(super) fn decide(&self, trace_id: u128, parent: Option<&Parent>) -> bool {
        match parent {
            Some(parent) if self.parent => parent.sampled,
            _ => self.ratio.has(trace_id),
        }
    }

    /// Whether a request that was not sampled is told all the same, now that its end is known. A client that left did not see
    /// anything go wrong.
    pub(super) fn tells(&self, outcome: Outcome) -> bool {
        self.errors && !matches!(outcome, Outcome::Ok | Outcome::Cancelled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_shares() {
        assert!(Ratio::new(-0.1).is_none() && Ratio::new(1.1).is_none() && Ratio::new(f64::NAN).is_none());
        let step = u128::from(u64::MAX) / 1000;
        let kept = |share: f64| {
            let ratio = Ratio::new(share).unwrap();
            (0..1000).filter(|n| ratio.has(7 << 64 | (n * step))).count()
        };
        assert_eq!((kept(0.0), kept(1.0)), (0, 1000));
        assert!((240..=260).contains(&kept(0.25)));
        assert!(Ratio::new(1.0).unwrap().has(u128::MAX));
    }

    #[test]
    fn the_parent_decides_where_it_may() {
        let parent = |sampled| Parent { trace_id: 1, span_id: 1, sampled };
        let all = Sampling { parent: true, ratio: Ratio::new(1.0).unwrap(), errors: false };
        assert!(all.decide(1, None) && all.decide(1, Some(&parent(true))));
        assert!(!all.decide(1, Some(&parent(false))));
        let none = Sampling { parent: false, ratio: Ratio::new(0.0).unwrap(), errors: true };
        assert!(!none.decide(1, Some(&parent(true))));
        assert!(none.tells(Outcome::Refused("forbidden")) && !none.tells(Outcome::Ok));
        assert!(!none.tells(Outcome::Cancelled) && !all.tells(Outcome::Panic));
    }
}
