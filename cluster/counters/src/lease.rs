//! Leases: what a permit holds comes back at a time, whatever became of the request.

use crate::{Charge, NotAdmitted, Permit, permit::Holds};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The permits that are open, each with the end of its lease.
///
/// One for each data thread: admission and settlement lock it for a few instructions, and nobody else does but the
/// sweep, which may run anywhere. So no data thread waits for another one.
///
/// Bounds: at most `permits_max` permits; one more is refused ([`NotAdmitted::Full`]).
#[derive(Debug)]
pub struct Leases {
    permits_max: usize,
    slots: Mutex<Slots>,
}

#[derive(Debug, Default)]
struct Slots {
    /// By the number of the slot.
    leases: Vec<Lease>,
    /// Numbers without a permit.
    free: Vec<usize>,
}

#[derive(Debug)]
struct Lease {
    until_ms: u64,
    slot: Option<Arc<Slot>>,
}

/// What an open permit and its lease share.
#[derive(Debug)]
pub(crate) struct Slot {
    number: usize,
    pub(crate) holds: Mutex<Holds>,
}

/// What a sweep ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Expired {
    /// Permits whose lease ended before they were settled.
    pub permits: usize,
}

impl Leases {
    /// No permits yet.
    pub fn new(permits_max: usize) -> Arc<Self> {
        Arc::new(Self { permits_max, slots: Mutex::default() })
    }

    /// Charges all limits, or none. They are charged in the order given, which must be the same for all requests (the
    /// widest first), so that of two requests that compete for the last room one gets it. A limit that is given twice
    /// is held once, with both amounts.
    ///
    /// `until_ms` ends the lease: later than the request may take. It is in the time of [`Self::sweep`], which need not
    /// be that of the windows: a clock that never jumps is the better one.
    ///
    /// # Errors
    ///
    /// The first limit that has no room, or too many permits. What was charged to limits before it is refunded; until
    /// then, other requests see it as taken.
    pub fn admit(
        self: &Arc<Self>,
        charges: &[Charge<'_>],
        now_ms: u64,
        until_ms: u64,
    ) -> Result<Permit, NotAdmitted> {
        let mut holds = Holds::default();
        holds.take(charges, now_ms)?;
        let slot = self.begin(holds, until_ms).ok_or(NotAdmitted::Full)?;
        Ok(Permit::new(Arc::clone(self), slot))
    }

    /// Ends the leases whose time has come: what these permits hold is given back at once. A pass over all slots.
    pub fn sweep(&self, now_ms: u64) -> Expired {
        let ended = lock(&self.slots).take_ended(now_ms);
        for slot in &ended {
            lock(&slot.holds).end();
        }
        Expired { permits: ended.len() }
    }

    /// How many permits are open, those not counted whose lease has ended.
    pub fn len(&self) -> usize {
        let slots = lock(&self.slots);
        slots.leases.len() - slots.free.len()
    }

    /// Whether no permit is open.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn begin(&self, holds: Holds, until_ms: u64) -> Option<Arc<Slot>> {
        let mut slots = lock(&self.slots);
        let number = match slots.free.pop() {
            Some(number) => number,
            None if slots.leases.len() < self.permits_max => slots.leases.len(),
            None => return None,
        };
        let slot = Arc::new(Slot { number, holds: Mutex::new(holds) });
        let lease = Lease { until_ms, slot: Some(Arc::clone(&slot)) };
        match slots.leases.get_mut(number) {
            Some(free) => *free = lease,
            None => slots.leases.push(lease),
        }
        Some(slot)
    }

    /// Ends the lease of a permit that was settled, if it has not ended.
    pub(crate) fn end(&self, slot: &Arc<Slot>) {
        let mut slots = lock(&self.slots);
        let Some(lease) = slots.leases.get_mut(slot.number) else { return };
        // After a sweep the number may be another permit's.
        if lease.slot.as_ref().is_some_and(|open| Arc::ptr_eq(open, slot)) {
            lease.slot = None;
            slots.free.push(slot.number);
        }
    }
}

impl Slots {
    fn take_ended(&mut self, now_ms: u64) -> Vec<Arc<Slot>> {
        let mut ended = Vec::new();
        for lease in self.leases.iter_mut().filter(|lease| lease.until_ms <= now_ms) {
            if let Some(slot) = lease.slot.take() {
                self.free.push(slot.number);
                ended.push(slot);
            }
        }
        ended
    }
}

/// Nothing that is locked here is left half done by a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
