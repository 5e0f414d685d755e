//! Admission over several limits at once: all or none, and each charge settled exactly once.

use crate::{CellId, Counter, LimitId, Refused, live::LiveCell};
use smallvec::SmallVec;
use std::sync::Arc;

/// Limits that one permit holds without an allocation; customer, team, key and provider are four.
const INLINE: usize = 4;

/// What one limit is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Charge<'a> {
    /// The counter of the limit for the subject.
    pub counter: &'a Counter,
    /// How much, in the limit's unit.
    pub amount: u64,
    /// The limit's amount as configured now, in its unit.
    pub limit: u64,
}

/// Charges all limits, or none. They are charged in the order given, which must be the same for all requests (the
/// widest first), so that of two requests that compete for the last room one gets it.
///
/// # Errors
///
/// The first limit that has no room. What was charged to those before it is refunded; until then, other requests see
/// it as taken.
pub fn admit(charges: &[Charge<'_>], now_ms: u64) -> Result<Permit, Refused> {
    let hold = |charge: &Charge<'_>| charge.counter.charge(charge.amount, charge.limit, now_ms);
    // On the first refusal the holds made so far are dropped, and a dropped hold refunds itself.
    let holds = charges.iter().map(hold).collect::<Result<_, _>>()?;
    Ok(Permit { holds })
}

/// What was charged for one request. Settle it; dropped, it gives everything back.
#[derive(Debug)]
#[must_use = "a dropped permit gives back what it charged"]
pub struct Permit {
    holds: SmallVec<[Hold; INLINE]>,
}

/// One charge. Settle it; dropped, it gives everything back.
#[derive(Debug)]
#[must_use = "a dropped hold gives back what it charged"]
pub struct Hold {
    cell: Arc<LiveCell>,
    /// What was charged; nothing once it is settled.
    amount: Option<u64>,
}

impl Permit {
    /// Settles each limit to what was used, in the limit's unit. What was reserved beyond that is refunded; what was
    /// used beyond the reservation is charged, even above the limit.
    pub fn settle(self, mut used: impl FnMut(LimitId) -> u64) {
        for hold in self.holds {
            let limit = hold.cell().counter.limit;
            hold.settle(used(limit));
        }
    }

    /// The holds, in the order in which they were charged.
    pub fn holds(&self) -> &[Hold] {
        &self.holds
    }
}

impl Hold {
    pub(crate) fn new(cell: Arc<LiveCell>, amount: u64) -> Self {
        Self { cell, amount: Some(amount) }
    }

    /// The cell that was charged. It stays the same however long the request runs: a settlement counts in the window
    /// in which the request was admitted.
    pub fn cell(&self) -> &CellId {
        self.cell.id()
    }

    /// What is held, in the limit's unit.
    pub fn amount(&self) -> u64 {
        self.amount.unwrap_or_default()
    }

    /// Settles to what was used: the rest is refunded, or more is charged, even above the limit.
    pub fn settle(mut self, used: u64) {
        self.close(used);
    }

    fn close(&mut self, used: u64) {
        let Some(held) = self.amount.take() else { return };
        if used > held {
            self.cell.charge_more(used - held);
        } else if used < held {
            self.cell.refund(held - used);
        }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.close(0);
    }
}

#[cfg(test)]
mod tests;
