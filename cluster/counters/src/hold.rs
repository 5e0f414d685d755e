//! One charge that is held until it is settled.

use crate::{CounterId, LimitId, Settlement, WindowId, live::LiveCell};
use std::{mem, sync::Arc};

/// One charge. Dropped, it gives back what it holds.
#[derive(Debug)]
#[must_use = "a dropped hold gives back what it charged"]
pub(crate) struct Hold {
    cell: Arc<LiveCell>,
    amount: u64,
    /// That of the cell, at hand.
    limit: LimitId,
}

/// What a permit holds of one limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// The limit, the subject, the window.
    pub counter: CounterId,
    /// In which window it was admitted, and will be settled however long the request runs.
    pub window_id: WindowId,
    /// How much is held, in the limit's unit. Nothing once the lease has ended.
    pub amount: u64,
}

impl Held {
    /// What the journal says of this limit once so much was used.
    pub fn settlement(&self, used: u64) -> Settlement {
        Settlement { counter: self.counter, window_id: self.window_id, amount: used }
    }
}

impl Hold {
    /// Of what was charged to the cell.
    pub(crate) fn new(cell: Arc<LiveCell>, amount: u64) -> Self {
        let limit = cell.id().counter.limit;
        Self { cell, amount, limit }
    }

    pub(crate) fn is_of(&self, id: &CounterId) -> bool {
        self.limit == id.limit && self.cell.id().counter == *id
    }

    pub(crate) fn held(&self) -> Held {
        let id = self.cell.id();
        Held { counter: id.counter, window_id: id.window_id, amount: self.amount }
    }

    pub(crate) fn cell(&self) -> &Arc<LiveCell> {
        &self.cell
    }

    /// Adds what was charged to the same cell.
    pub(crate) fn add(&mut self, amount: u64) {
        self.amount += amount;
    }

    /// Takes over another hold of the same counter, into this hold's cell. In between, both cells have it: others see
    /// it twice, never not at all.
    pub(crate) fn absorb(&mut self, mut other: Self) {
        if Arc::ptr_eq(&self.cell, &other.cell) {
            self.amount += mem::take(&mut other.amount);
        } else {
            self.cell.hold_beyond(other.amount);
            self.amount += other.amount;
        }
    }

    /// Gives a part back; all, where that is less.
    pub(crate) fn give_back(&mut self, amount: u64) {
        let amount = amount.min(self.amount);
        self.amount -= amount;
        if amount > 0 {
            self.cell.settle(amount, 0);
        }
    }

    /// Settles to what was used: the rest is refunded, or more is charged, even above the limit.
    pub(crate) fn settle(mut self, used: u64) {
        self.cell.settle(mem::take(&mut self.amount), used);
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.give_back(self.amount);
    }
}
