//! The bound on the bytes of all bodies that are held at once, over the whole process.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// Bytes held by requests and answers in flight.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    used: AtomicU64,
}

/// A share of the budget; given back when dropped.
#[derive(Debug)]
pub(crate) struct Held {
    budget: Arc<Budget>,
    bytes: u64,
}

/// The budget is used up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

impl Budget {
    /// Bytes held now.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Relaxed)
    }

    /// An empty share.
    pub(crate) fn share(self: &Arc<Self>) -> Held {
        Held { budget: Arc::clone(self), bytes: 0 }
    }
}

impl Held {
    /// Takes more, if that stays within `max` for all shares together.
    pub(crate) fn grow(&mut self, bytes: usize, max: u64) -> Result<(), Full> {
        let bytes = bytes as u64;
        let before = self.budget.used.fetch_add(bytes, Relaxed);
        if before.saturating_add(bytes) > max {
            self.budget.used.fetch_sub(bytes, Relaxed);
            return Err(Full);
        }
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_stay_within_the_bound_and_come_back() {
        let budget = Arc::new(Budget::default());
        let (mut a, mut b) = (budget.share(), budget.share());
        assert_eq!(a.grow(60, 100), Ok(()));
        assert_eq!(b.grow(50, 100), Err(Full));
        assert_eq!(b.grow(40, 100), Ok(()));
        drop(a);
        assert_eq!(budget.used(), 40);
        drop(b);
        assert_eq!(budget.used(), 0);
    }
}
