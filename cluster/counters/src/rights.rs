//! What of a limit this node may spend by itself, while other nodes spend of it too.

use crate::{Share, Shares};
use std::sync::{
    Arc, OnceLock,
    atomic::{AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed},
};

use crate::{Window, WindowId};

/// How nodes spend of one limit together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Never passed: each node spends a share of its own, which was fixed when the window opened.
    Strict,
    /// Each node spends what it sees left; while it is cut off from a member, an equal part of what it saw left then.
    #[default]
    Share,
    /// Each node spends what it sees left, cut off or not.
    Optimistic,
}

/// How much a limit allows, and by which rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// The limit's amount as configured now, in its unit.
    pub amount: u64,
    /// How nodes spend of it together.
    pub rule: Rule,
}

impl From<u64> for Bound {
    /// By the rule that limits have if they name none.
    fn from(amount: u64) -> Self {
        Self { amount, rule: Rule::default() }
    }
}

/// Below the number of a cut stand its members, in so many bits.
const MEMBERS_BITS: u32 = 16;

/// What this node may spend, for all of its counters. A node that is alone is never cut off, and has the whole of
/// every strict limit.
#[derive(Debug, Default)]
pub struct Rights {
    /// 0 while all members are within reach.
    cut: AtomicU64,
    cuts: AtomicU64,
    /// None on a node that is alone.
    shares: OnceLock<Arc<dyn Shares>>,
}

/// One time of being cut off: from the moment when a member was found to be out of reach until all have agreed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cut(u64);

impl Rights {
    /// Says that a member is out of reach, in a cluster of so many. Until [`Self::heal`] each counter spends by what it
    /// saw at its first charge from here on; said again, nothing is counted anew.
    pub fn freeze(&self, members: u32) {
        let members = u64::from(members).clamp(1, (1 << MEMBERS_BITS) - 1);
        if self.cut.load(Acquire) != 0 {
            return;
        }
        let cut = (self.cuts.fetch_add(1, AcqRel) + 1) << MEMBERS_BITS | members;
        // Another thread that froze meanwhile did the same.
        let _ = self.cut.compare_exchange(0, cut, AcqRel, Acquire);
    }

    /// Says that all members are within reach, and that this node has what they counted meanwhile.
    pub fn heal(&self) {
        self.cut.store(0, std::sync::atomic::Ordering::Release);
    }

    /// Whether this node spends by what it saw when a member got out of reach.
    pub fn is_frozen(&self) -> bool {
        self.cut().is_some()
    }

    /// Says who knows the shares of strict limits: once, before the first charge. Whether it was the first time.
    pub fn share_by(&self, shares: Arc<dyn Shares>) -> bool {
        self.shares.set(shares).is_ok()
    }

    /// The share that this node has of strict limits in the view that ends with a window; none on a node that is alone,
    /// which has the whole.
    pub fn share(&self, window: Window, newest: WindowId) -> Option<Share> {
        Some(self.shares.get()?.share(window, window.oldest_in_view(newest), newest))
    }

    /// One load, of a word that hardly ever changes.
    pub(crate) fn cut(&self) -> Option<Cut> {
        // Nothing else is read through it: a charge that is early or late by a moment is one that was in flight.
        let cut = self.cut.load(Relaxed);
        (cut != 0).then_some(Cut(cut))
    }

    /// Most that this node may spend of a strict limit, in the windows of one view together.
    pub(crate) fn strict_most(&self, limit: u64, window: Window, view: (WindowId, WindowId)) -> u64 {
        let share = self.shares.get().map_or(Share::WHOLE, |shares| shares.share(window, view.0, view.1));
        share.of(limit)
    }
}

impl Cut {
    fn members(self) -> u64 {
        (self.0 & ((1 << MEMBERS_BITS) - 1)).max(1)
    }
}

/// What one counter had counted when it first was charged in a cut.
#[derive(Debug)]
pub(crate) struct Frozen {
    cut: Cut,
    /// By window: what this life of the node had counted, and what all had.
    parts: Box<[(WindowId, u64, u64)]>,
}

impl Frozen {
    /// `parts` are the windows of the view then, each as often as one likes: what this node counted there, and what is
    /// counted beside.
    pub(crate) fn new(cut: Cut, parts: impl Iterator<Item = (WindowId, u64, u64)>) -> Self {
        let parts = parts.map(|(id, own, beside)| (id, own, own.saturating_add(beside))).collect();
        Self { cut, parts }
    }

    /// Whether it was made in this cut, or in one that came after.
    pub(crate) fn is_of(&self, cut: Cut) -> bool {
        self.cut >= cut
    }

    /// Most that this node may come to in the windows of a view together: what it had counted there at the cut, and its
    /// part of what was left.
    ///
    /// Each of N members adds at most a part of N of what it saw left. None saw less counted than all had been told by
    /// then, so together they add no more than what was left, and what they had not told each other yet. Windows that
    /// began later hold nothing yet: each member has a part of N of the whole.
    pub(crate) fn most(&self, limit: u64, view: (WindowId, WindowId)) -> u64 {
        let in_view = self.parts.iter().filter(|(id, ..)| (view.0..=view.1).contains(id));
        let (own, all) = in_view
            .fold((0u64, 0u64), |(own, all), part| (own.saturating_add(part.1), all.saturating_add(part.2)));
        own.saturating_add(limit.saturating_sub(all) / self.cut.members())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_counts_once_until_it_heals() {
        let rights = Rights::default();
        assert_eq!(rights.cut(), None);
        rights.freeze(3);
        let first = rights.cut().unwrap();
        rights.freeze(5);
        assert_eq!((rights.cut(), first.members()), (Some(first), 3), "not counted anew");
        rights.heal();
        assert!(!rights.is_frozen());
        rights.freeze(0);
        let second = rights.cut().unwrap();
        assert!(second > first && second.members() == 1);
        rights.heal();
        rights.freeze(u32::MAX);
        assert_eq!(rights.cut().map(Cut::members), Some(65_535));
    }

    #[test]
    fn a_frozen_counter_has_a_part_of_what_was_left() {
        let rights = Rights::default();
        rights.freeze(3);
        let parts = [(5, 10, 20), (6, 1, 0), (6, 0, 2)].map(|(id, own, beside)| (WindowId(id), own, beside));
        let frozen = Frozen::new(rights.cut().unwrap(), parts.into_iter());
        let most = |limit, from, to| frozen.most(limit, (WindowId(from), WindowId(to)));
        assert_eq!(most(93, 5, 6), 11 + (93 - 33) / 3);
        assert_eq!(most(93, 6, 7), 1 + (93 - 3) / 3, "the older part has left");
        assert_eq!(most(93, 7, 8), 31, "a window that began later");
        assert_eq!(most(33, 5, 6), 11);
        assert_eq!(most(10, 5, 6), 11, "and never less than it had");
        assert_eq!(most(u64::MAX, 7, 7), u64::MAX / 3);
    }

    #[test]
    fn alone_all_of_a_strict_limit_is_ones_own() {
        let rights = Rights::default();
        assert_eq!(rights.strict_most(7, Window::Standing, Default::default()), 7);
        assert!(rights.share_by(Arc::new(crate::FixedShares::new(1))));
        assert_eq!(rights.strict_most(7, Window::Standing, Default::default()), 0, "nothing is fixed yet");
        assert!(!rights.share_by(Arc::new(crate::FixedShares::new(1))));
    }
}
