//! Admission over several limits at once: all or none, and each charge settled exactly once.

use crate::{
    Bound, Counter, Held, Leases, LimitId, Refused, Window,
    hold::Hold,
    lease::{Slot, lock},
};
use smallvec::SmallVec;
use std::{mem, sync::Arc};
use thiserror::Error;

/// Limits that one permit holds without an allocation; customer, team, user, key and provider are five.
const INLINE: usize = 8;

/// What one limit is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Charge<'a> {
    /// The counter of the limit for the subject.
    pub counter: &'a Counter,
    /// How much, in the limit's unit.
    pub amount: u64,
    /// The limit as configured now.
    pub limit: Bound,
}

/// Why there is no permit, or no more than there was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NotAdmitted {
    /// A limit has no room.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The permit's lease has ended: what it held was given back.
    #[error("the permit's lease has ended")]
    LeaseEnded,
    /// There are as many permits as there may be.
    #[error("there are as many permits as there may be")]
    Full,
}

/// What was charged for one request. Settle it; dropped, it gives everything back. Leaked or hung, it gives everything
/// back when its lease ends, and a settlement after that charges all that was used.
#[derive(Debug)]
#[must_use = "a dropped permit gives back what it charged"]
pub struct Permit {
    leases: Arc<Leases>,
    /// Nothing once it is settled.
    slot: Option<Arc<Slot>>,
}

/// What a permit holds, shared with the sweep that ends its lease.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    list: SmallVec<[Hold; INLINE]>,
    ended: bool,
}

impl Permit {
    pub(crate) fn new(leases: Arc<Leases>, slot: Arc<Slot>) -> Self {
        Self { leases, slot: Some(slot) }
    }

    /// Charges more, all limits or none. A limit that is held already is topped up, in the window in which it was
    /// admitted; others are held beside, in the order given.
    ///
    /// # Errors
    ///
    /// The first limit that has no room, or the end of the lease. What was held stays held, and no more.
    pub fn extend(&mut self, charges: &[Charge<'_>], now_ms: u64) -> Result<(), NotAdmitted> {
        let Some(slot) = &self.slot else { return Err(NotAdmitted::LeaseEnded) };
        let mut holds = lock(&slot.holds);
        if holds.ended {
            return Err(NotAdmitted::LeaseEnded);
        }
        Ok(holds.take(charges, now_ms)?)
    }

    /// Gives back what of a limit's hold is above `amount`: for a cheaper target.
    pub fn shrink_to(&mut self, limit: LimitId, amount: u64) {
        let Some(slot) = &self.slot else { return };
        let mut holds = lock(&slot.holds);
        for hold in holds.list.iter_mut().filter(|hold| hold.held().counter.limit == limit) {
            hold.give_back(hold.held().amount.saturating_sub(amount));
        }
    }

    /// What it holds of each limit, in the order in which they were charged first. [`Self::settle`] asks in this order.
    pub fn held(&self) -> impl Iterator<Item = Held> + use<> {
        let held = |slot: &Arc<Slot>| lock(&slot.holds).list.iter().map(Hold::held).collect();
        let held: SmallVec<[Held; INLINE]> = self.slot.as_ref().map(held).unwrap_or_default();
        held.into_iter()
    }

    /// Settles each limit to what was used, in the limit's unit and in the order of [`Self::held`]. What was reserved
    /// beyond that is refunded; what was used beyond the reservation is charged, even above the limit. Limits without
    /// a window (concurrency) are not asked about: they get back what they hold.
    pub fn settle(mut self, used: impl FnMut(&Held) -> u64) {
        self.close(used);
    }

    fn close(&mut self, mut used: impl FnMut(&Held) -> u64) {
        let Some(slot) = self.slot.take() else { return };
        // Out of the lock, since the caller's function runs. A sweep that comes now finds nothing to give back.
        let list = mem::take(&mut lock(&slot.holds).list);
        for hold in list {
            let held = hold.held();
            let used = if held.counter.window == Window::Standing { 0 } else { used(&held) };
            hold.settle(used);
        }
        self.leases.end(&slot);
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.close(|_| 0);
    }
}

impl Holds {
    /// Charges all limits, or none.
    pub(crate) fn take(&mut self, charges: &[Charge<'_>], now_ms: u64) -> Result<(), Refused> {
        let before = self.list.len();
        for (at, charge) in charges.iter().enumerate() {
            let Err(refused) = self.take_one(charge, now_ms) else { continue };
            // Dropped holds give themselves back; those that were there before give back what was added.
            self.list.truncate(before);
            for undone in charges.iter().take(at) {
                if let Some(hold) = self.of(undone.counter) {
                    hold.give_back(undone.amount);
                }
            }
            return Err(Refused { at, ..refused });
        }
        Ok(())
    }

    fn take_one(&mut self, charge: &Charge<'_>, now_ms: u64) -> Result<(), Refused> {
        let Charge { counter, amount, limit } = *charge;
        match self.of(counter) {
            Some(hold) => counter.top_up(hold, amount, limit, now_ms),
            None => {
                self.list.push(counter.charge(amount, limit, now_ms)?);
                Ok(())
            }
        }
    }

    fn of(&mut self, counter: &Counter) -> Option<&mut Hold> {
        self.list.iter_mut().find(|hold| hold.is_of(counter.id()))
    }

    /// Ends the lease: gives everything back, and keeps the holds at nothing, so that a settlement charges all that was
    /// used.
    pub(crate) fn end(&mut self) {
        self.ended = true;
        for hold in &mut self.list {
            hold.give_back(hold.held().amount);
        }
    }
}

#[cfg(test)]
mod tests;
