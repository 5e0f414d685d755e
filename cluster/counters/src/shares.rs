//! Which share of a strict limit this node may spend, window by window.

use crate::{Window, WindowId};
use arc_swap::ArcSwap;
use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};
use thiserror::Error;

/// A part of a limit: at most the whole of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    numerator: u32,
    denominator: u32,
}

impl Share {
    /// Nothing may be spent.
    pub const NOTHING: Self = Self { numerator: 0, denominator: 1 };
    /// All may be spent.
    pub const WHOLE: Self = Self { numerator: 1, denominator: 1 };

    /// So many parts of so many; none above the whole, and none of zero parts.
    pub fn new(numerator: u32, denominator: u32) -> Option<Self> {
        (denominator > 0 && numerator <= denominator).then_some(Self { numerator, denominator })
    }

    /// The share of an amount, rounded down: shares that together are at most the whole, of an amount are at most the
    /// amount.
    pub fn of(self, amount: u64) -> u64 {
        let share = u128::from(amount) * u128::from(self.numerator) / u128::from(self.denominator);
        share.try_into().unwrap_or(amount)
    }

    /// Whether there is nothing to spend, of whatever amount.
    pub fn is_nothing(self) -> bool {
        self.numerator == 0
    }

    /// The smaller of two.
    fn least(self, other: Self) -> Self {
        let crossed = |one: Self, other: Self| u64::from(one.numerator) * u64::from(other.denominator);
        if crossed(self, other) <= crossed(other, self) { self } else { other }
    }
}

/// `1/3`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

/// Who knows the shares of this node. It is asked at each charge of a strict limit: no lock, no wait.
pub trait Shares: fmt::Debug + Send + Sync {
    /// What this node may spend in the windows from `oldest` to `newest` together. [`Share::NOTHING`] if that of one of
    /// them is not known.
    fn share(&self, window: Window, oldest: WindowId, newest: WindowId) -> Share;
}

/// Shares that are fixed before a window opens, and never again: so all members have the same ones, whenever they hear
/// of them.
///
/// A view of several parts of a rolling window has the smallest of their shares. So a member that came later spends
/// nothing until all parts in view know it, and those before it have made room by then.
///
/// Bounds: at most `runs_max` stretches of windows with one share; one more is refused.
#[derive(Debug)]
pub struct FixedShares {
    runs_max: usize,
    fixed: ArcSwap<Runs>,
    /// Held while something is fixed.
    writing: Mutex<()>,
}

/// By window.
type Runs = HashMap<Window, Vec<Run>>;

/// Windows with one share, from the first to before the last; ascending, none in two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    from: WindowId,
    until: WindowId,
    share: Share,
}

/// Why a share was not fixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotFixed {
    /// One of the windows has another share already.
    #[error("one of the windows has another share already")]
    Another,
    /// There are as many as there may be.
    #[error("as many shares are fixed as there may be")]
    Full,
}

impl FixedShares {
    /// None is known.
    pub fn new(runs_max: usize) -> Self {
        Self { runs_max, fixed: ArcSwap::default(), writing: Mutex::default() }
    }

    /// Fixes the share of the windows from `from` to before `until`. The same again is fine. Concurrency has one window,
    /// whose number is 0.
    ///
    /// # Errors
    ///
    /// One of them has another share, or there are as many as there may be. Nothing is fixed then.
    pub fn fix(&self, window: Window, from: WindowId, until: WindowId, share: Share) -> Result<(), NotFixed> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = HashMap::clone(&self.fixed.load());
        add(&mut all, window, Run { from, until, share })?;
        self.store(all)
    }

    /// Puts these in the place of all that are known: as [`Self::fix`], one after the other. For a caller that keeps them
    /// elsewhere, and forgets there.
    ///
    /// # Errors
    ///
    /// Two of them disagree, or there are more than there may be. What was known stays then.
    pub fn replace(
        &self,
        runs: impl IntoIterator<Item = (Window, WindowId, WindowId, Share)>,
    ) -> Result<(), NotFixed> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = Runs::default();
        for (window, from, until, share) in runs {
            add(&mut all, window, Run { from, until, share })?;
        }
        self.store(all)
    }

    fn store(&self, all: Runs) -> Result<(), NotFixed> {
        if all.values().map(Vec::len).sum::<usize>() > self.runs_max {
            return Err(NotFixed::Full);
        }
        self.fixed.store(Arc::new(all));
        Ok(())
    }

    /// Forgets windows that are no longer kept ([`Window::kept_until_ms`]).
    pub fn expire(&self, now_ms: u64) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = HashMap::clone(&self.fixed.load());
        for (window, runs) in &mut all {
            runs.retain(|run| !window.is_expired(WindowId(run.until.0.saturating_sub(1)), now_ms));
        }
        all.retain(|_, runs| !runs.is_empty());
        self.fixed.store(Arc::new(all));
    }
}

fn add(all: &mut Runs, window: Window, mut run: Run) -> Result<(), NotFixed> {
    let runs = all.entry(window).or_default();
    let share = run.share;
    if runs.iter().any(|other| other.overlaps(&run) && other.share != share) {
        return Err(NotFixed::Another);
    }
    // What touches it and is the same becomes one with it.
    runs.retain(|other| {
        let joins = other.share == share && other.from <= run.until && run.from <= other.until;
        if joins {
            run = Run { from: run.from.min(other.from), until: run.until.max(other.until), share };
        }
        !joins
    });
    let at = runs.partition_point(|other| other.from < run.from);
    runs.insert(at, run);
    Ok(())
}

impl Run {
    fn overlaps(&self, other: &Self) -> bool {
        self.from < other.until && other.from < self.until
    }
}

impl Shares for FixedShares {
    fn share(&self, window: Window, oldest: WindowId, newest: WindowId) -> Share {
        let all = self.fixed.load();
        let Some(runs) = all.get(&window) else { return Share::NOTHING };
        let first = runs.partition_point(|run| run.until <= oldest);
        let (mut next, mut least) = (oldest, Share::WHOLE);
        for run in runs.iter().skip(first).take_while(|run| run.from <= newest) {
            if run.from > next {
                return Share::NOTHING;
            }
            least = least.least(run.share);
            next = run.until;
        }
        if next > newest { least } else { Share::NOTHING }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{MINUTE, MINUTE_MS};
    use proptest::prelude::*;

    fn share(numerator: u32, denominator: u32) -> Share {
        Share::new(numerator, denominator).unwrap()
    }

    #[test]
    fn a_share_is_at_most_the_whole_and_rounds_down() {
        assert_eq!((Share::new(2, 1), Share::new(0, 0)), (None, None));
        assert_eq!((share(1, 3).of(10), share(2, 3).of(10), share(3, 3).of(10)), (3, 6, 10));
        assert_eq!(share(u32::MAX, u32::MAX).of(u64::MAX), u64::MAX);
        assert_eq!((Share::NOTHING.of(10), Share::WHOLE.of(10)), (0, 10));
    }

    #[test]
    fn what_is_not_fixed_is_not_spent() {
        let shares = FixedShares::new(10);
        let of = |oldest, newest| shares.share(MINUTE, WindowId(oldest), WindowId(newest));
        assert_eq!(of(5, 5), Share::NOTHING);
        shares.fix(MINUTE, WindowId(5), WindowId(8), share(1, 3)).unwrap();
        shares.fix(MINUTE, WindowId(8), WindowId(9), share(1, 2)).unwrap();
        shares.fix(MINUTE, WindowId(10), WindowId(11), share(1, 2)).unwrap();
        let expected = [(4, 0, 1), (5, 1, 3), (7, 1, 3), (8, 1, 2), (9, 0, 1), (10, 1, 2), (11, 0, 1)];
        for (id, numerator, denominator) in expected {
            assert_eq!(of(id, id), share(numerator, denominator), "{id}");
        }
        assert_eq!(of(7, 8), share(1, 3), "the smaller of both");
        assert_eq!(
            (of(4, 5), of(8, 9), of(8, 10), of(5, 11)),
            (Share::NOTHING, Share::NOTHING, Share::NOTHING, Share::NOTHING)
        );
        assert_eq!(
            shares.share(Window::Standing, WindowId(0), WindowId(0)),
            Share::NOTHING,
            "another window"
        );
    }

    #[test]
    fn what_is_fixed_stays() {
        let shares = FixedShares::new(2);
        let fix = |from, until, of| shares.fix(MINUTE, WindowId(from), WindowId(until), share(1, of));
        assert_eq!((fix(5, 8, 3), fix(5, 8, 3), fix(6, 9, 3)), (Ok(()), Ok(()), Ok(())));
        assert_eq!((fix(8, 12, 4), fix(4, 6, 2)), (Err(NotFixed::Another), Err(NotFixed::Another)));
        assert_eq!((fix(9, 12, 4), fix(12, 14, 5)), (Ok(()), Err(NotFixed::Full)));
        assert_eq!(shares.share(MINUTE, WindowId(12), WindowId(12)), Share::NOTHING);
        assert_eq!(shares.share(MINUTE, WindowId(8), WindowId(9)), share(1, 4));
        shares.expire(MINUTE.kept_until_ms(WindowId(8)).unwrap());
        assert_eq!(shares.share(MINUTE, WindowId(8), WindowId(8)), Share::NOTHING);
        assert_eq!(shares.share(MINUTE, WindowId(9), WindowId(9)), share(1, 4));
        assert_eq!(fix(12, 14, 5), Ok(()), "there is room again");
    }

    #[test]
    fn what_is_kept_elsewhere_takes_the_place_of_all() {
        let shares = FixedShares::new(2);
        let run = |from, until, of| (MINUTE, WindowId(from), WindowId(until), share(1, of));
        let of = |id| shares.share(MINUTE, WindowId(id), WindowId(id));
        shares.replace([run(0, 5, 1), run(5, 8, 3)]).unwrap();
        assert_eq!((of(4), of(5)), (Share::WHOLE, share(1, 3)));
        assert_eq!(shares.replace([run(5, 8, 3), run(7, 9, 2)]), Err(NotFixed::Another));
        assert_eq!(shares.replace([run(0, 1, 1), run(1, 2, 2), run(2, 3, 1)]), Err(NotFixed::Full));
        assert_eq!(of(4), Share::WHOLE, "what was known stays");
        shares.replace([run(5, 9, 3)]).unwrap();
        assert_eq!((of(4), of(8), of(8).to_string()), (Share::NOTHING, share(1, 3), "1/3".to_owned()));
    }

    proptest! {
        /// Members come and go between parts of a rolling window, each with an equal share from the part on in which it
        /// is one. No view ever holds more than the limit, though each looks at its own share alone.
        #[test]
        fn members_that_change_never_pass_a_limit(
            members in prop::collection::vec(1usize..5, 24),
            wanted in prop::collection::vec((0usize..5, 0u64..40), 24..200),
        ) {
            let window = Window::rolling(MINUTE_MS, 3).unwrap();
            let shares: Vec<_> = (0..5).map(|at| {
                let shares = FixedShares::new(100);
                for (part, count) in members.iter().enumerate().filter(|(_, count)| at < **count) {
                    let (from, until) = (WindowId(part as u64), WindowId(part as u64 + 1));
                    shares.fix(window, from, until, share(1, *count as u32)).unwrap();
                }
                shares
            }).collect();
            let (limit, mut spent) = (100, vec![[0u64; 24]; 5]);
            let per_part = wanted.len().div_ceil(24);
            for (at, (node, amount)) in wanted.iter().enumerate() {
                let newest = at / per_part;
                let oldest = newest.saturating_sub(3);
                let view = (WindowId(oldest as u64), WindowId(newest as u64));
                let own: u64 = spent[*node][oldest..=newest].iter().sum();
                if own + amount <= shares[*node].share(window, view.0, view.1).of(limit) {
                    spent[*node][newest] += amount;
                }
                let all: u64 = spent.iter().flat_map(|node| &node[oldest..=newest]).sum();
                prop_assert!(all <= limit, "{all} in parts {oldest} to {newest}");
            }
        }
    }
}
