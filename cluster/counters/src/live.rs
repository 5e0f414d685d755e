//! A cell of this node while it counts: charged and refunded from several threads at once, without a lock.

use crate::{CellId, Totals};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::AcqRel, Ordering::Acquire, Ordering::Relaxed},
    mpsc::Sender,
};

/// The bit of `charged` that closes a cell to new charges.
const SEALED: u64 = 1 << 63;
/// Most that a number of a cell can hold; beyond it stays there.
const TOTAL_MAX: u64 = SEALED - 1;

/// A cell of this node. Its numbers only grow: they were published, and others keep the larger.
#[derive(Debug)]
#[repr(C)] // what each charge touches stands together
pub(crate) struct LiveCell {
    /// What was charged, and [`SEALED`].
    charged: AtomicU64,
    refunded: AtomicU64,
    /// Of what counts, how much is held and not settled yet. For show: nothing is decided by it, and nobody is told.
    held: AtomicU64,
    /// Whether the cell waits in `changes`. So it waits there at most once, and cells bound that queue.
    changed: AtomicBool,
    id: CellId,
    changes: Sender<Arc<LiveCell>>,
    /// The sequence of the last collected change; only the collector uses it.
    sequence: AtomicU64,
}

/// What became of a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Charged {
    /// It was made.
    Yes,
    /// It would have exceeded the room; nothing was charged.
    NoRoom,
    /// The cell is closed, a later one counts; nothing was charged.
    Sealed,
}

impl LiveCell {
    /// An empty cell, which tells `changes` of itself whenever it changes.
    pub(crate) fn new(id: CellId, changes: Sender<Arc<LiveCell>>) -> Arc<Self> {
        Arc::new(Self {
            id,
            charged: AtomicU64::new(0),
            refunded: AtomicU64::new(0),
            held: AtomicU64::new(0),
            changed: AtomicBool::new(false),
            sequence: AtomicU64::new(0),
            changes,
        })
    }

    pub(crate) fn id(&self) -> &CellId {
        &self.id
    }

    /// Charges and holds if the cell then contributes at most `room`. Never adds and takes back: the number may be published at
    /// any moment.
    pub(crate) fn charge_within(self: &Arc<Self>, amount: u64, room: u64) -> Charged {
        let mut charged = self.charged.load(Acquire);
        // Ends: a failed exchange means that another thread's charge went through.
        loop {
            if charged & SEALED != 0 {
                return Charged::Sealed;
            }
            // If the exchange succeeds, `charged` was current, and refunds can only be more than what is read here.
            let refunded = self.refunded.load(Acquire);
            let after = charged.saturating_add(amount);
            if after > TOTAL_MAX || after.saturating_sub(refunded) > room {
                return Charged::NoRoom;
            }
            match self.charged.compare_exchange_weak(charged, after, AcqRel, Acquire) {
                Ok(_) => {
                    self.held.fetch_add(amount, AcqRel);
                    self.mark_changed();
                    return Charged::Yes;
                }
                Err(current) => charged = current,
            }
        }
    }

    /// Charges and holds whatever the limit, sealed or not: for what was let in elsewhere.
    pub(crate) fn hold_beyond(self: &Arc<Self>, amount: u64) {
        self.held.fetch_add(amount, AcqRel);
        self.charge_more(amount);
    }

    /// Ends a hold with what was used: the rest is refunded, or more is charged, even above the limit. The caller never
    /// ends more than it holds.
    pub(crate) fn settle(self: &Arc<Self>, held: u64, used: u64) {
        if used > held {
            self.charge_more(used - held);
        } else if used < held {
            self.refund(held - used);
        }
        self.held.fetch_sub(held, AcqRel);
    }

    fn charge_more(self: &Arc<Self>, amount: u64) {
        let add = |charged: u64| charged & SEALED | saturating_total(charged & TOTAL_MAX, amount);
        // Cannot fail: the closure always gives a value.
        let _ = self.charged.fetch_update(AcqRel, Acquire, |charged| Some(add(charged)));
        self.mark_changed();
    }

    fn refund(self: &Arc<Self>, amount: u64) {
        // Cannot fail: the closure always gives a value.
        let _ =
            self.refunded.fetch_update(AcqRel, Acquire, |refunded| Some(saturating_total(refunded, amount)));
        self.mark_changed();
    }

    /// Closes the cell to [`Self::charge_within`]: from the return on, what it contributes is no longer raised by
    /// admission.
    pub(crate) fn seal(&self) {
        if self.charged.load(Acquire) & SEALED == 0 {
            self.charged.fetch_or(SEALED, AcqRel);
        }
    }

    /// The numbers. Refunds are read first: a charge that comes between makes the cell look fuller, never emptier.
    pub(crate) fn totals(&self) -> Totals {
        let refunded = self.refunded.load(Acquire);
        let charged = self.charged.load(Acquire) & TOTAL_MAX;
        Totals { charged, refunded }
    }

    /// What is held and not settled yet.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Acquire)
    }

    /// The numbers, for publication. A change from here on puts the cell into the queue again.
    pub(crate) fn collect(&self) -> Totals {
        // Before the numbers are read: a change in between is then collected twice, not missed.
        self.changed.swap(false, AcqRel);
        self.totals()
    }

    /// Gives the cell a new sequence and returns the one before, 0 for none.
    pub(crate) fn renumber(&self, sequence: u64) -> u64 {
        self.sequence.swap(sequence, Relaxed)
    }

    fn mark_changed(self: &Arc<Self>) {
        // Always a swap: a mere load could pass the collector's read of the numbers, and the change be missed.
        if !self.changed.swap(true, AcqRel) {
            // Fails only where the collector is gone: then nothing is published any more.
            let _ = self.changes.send(Arc::clone(self));
        }
    }
}

fn saturating_total(total: u64, amount: u64) -> u64 {
    total.saturating_add(amount).min(TOTAL_MAX)
}

#[cfg(test)]
mod tests;
