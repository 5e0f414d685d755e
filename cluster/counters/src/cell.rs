//! Cells: what one node counted, as two numbers that only grow, and so merge in any order.

use crate::{Window, WindowId};

/// A limit of the configuration, by its stable id: changing the limit's amount never resets what was counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LimitId(pub u64);

/// Whom a limit counts (a key, a team, a customer), as a hash of 128 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subject(pub u128);

/// A node, by its random id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u64);

/// One life of a node. Only it writes its cells, so a node that lost what it had counted begins a new incarnation:
/// otherwise its new, smaller numbers would vanish in a merge with the old ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Actor {
    /// The node.
    pub node: NodeId,
    /// Which of its lives; a later one is higher.
    pub incarnation: u64,
}

/// What is counted together: one limit, one subject, one kind of window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterId {
    /// The limit.
    pub limit: LimitId,
    /// The subject.
    pub subject: Subject,
    /// The limit's window.
    pub window: Window,
}

/// One cell of a counter: what one actor counted in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CellId {
    /// The counter.
    pub counter: CounterId,
    /// Which window.
    pub window_id: WindowId,
    /// Who counted.
    pub actor: Actor,
}

/// The two numbers of a cell, in the limit's unit. Neither ever falls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Totals {
    /// All that was ever charged.
    pub charged: u64,
    /// All that was ever given back.
    pub refunded: u64,
}

/// A cell as nodes tell it to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cell {
    /// Which cell.
    pub id: CellId,
    /// Its numbers.
    pub totals: Totals,
}

impl Totals {
    /// What the cell adds to its counter. Never negative, even where a refund arrived before its charge.
    pub fn contribution(self) -> u64 {
        self.charged.saturating_sub(self.refunded)
    }

    /// Both states of one cell joined: the larger of each number. Order and repetition make no difference.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        Self { charged: self.charged.max(other.charged), refunded: self.refunded.max(other.refunded) }
    }
}

impl Actor {
    /// Before all actors, for ranges.
    pub(crate) const FIRST: Self = Self { node: NodeId(0), incarnation: 0 };
    /// After all actors, for ranges.
    pub(crate) const LAST: Self = Self { node: NodeId(u64::MAX), incarnation: u64::MAX };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn totals() -> impl Strategy<Value = Totals> {
        (any::<u64>(), any::<u64>()).prop_map(|(charged, refunded)| Totals { charged, refunded })
    }

    proptest! {
        #[test]
        fn merging_is_idempotent_commutative_associative(a in totals(), b in totals(), c in totals()) {
            prop_assert_eq!(a.merged(a), a);
            prop_assert_eq!(a.merged(b), b.merged(a));
            prop_assert_eq!(a.merged(b).merged(c), a.merged(b.merged(c)));
            prop_assert_eq!(a.merged(Totals::default()), a);
        }

        #[test]
        fn merging_never_loses(a in totals(), b in totals()) {
            let both = a.merged(b);
            prop_assert!(both.charged >= a.charged && both.refunded >= a.refunded);
            prop_assert!(both == a || both == b || (both.charged == a.charged) != (both.refunded == a.refunded));
        }

        #[test]
        fn a_contribution_is_what_is_left_and_never_negative(a in totals()) {
            let expected = (i128::from(a.charged) - i128::from(a.refunded)).max(0);
            prop_assert_eq!(i128::from(a.contribution()), expected);
        }
    }
}
