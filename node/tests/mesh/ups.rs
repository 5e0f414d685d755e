//! What may be expected of each node at a moment.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::SeqCst},
};

/// What a node must do; each is more than the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Expected {
    /// It does not run, or nobody knows.
    Nothing,
    /// It runs, and may fail at any moment.
    Trying,
    /// Requests of clients are answered; config writes may be refused.
    Requests,
    All,
}

const KINDS: u64 = 4;

/// A moment of a node: equal as long as nothing changes in what is expected of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment(u64);

impl Moment {
    pub(crate) fn expected(self) -> Expected {
        match self.0 % KINDS {
            0 => Expected::Nothing,
            1 => Expected::Trying,
            2 => Expected::Requests,
            _ => Expected::All,
        }
    }
}

/// What is expected of all nodes. A clone is another handle to the same.
#[derive(Debug, Clone)]
pub(crate) struct Ups(Arc<Vec<AtomicU64>>);

impl Ups {
    pub(crate) fn of(size: usize) -> Self {
        Self(Arc::new((0..size).map(|_| AtomicU64::new(0)).collect()))
    }

    pub(crate) fn now(&self, node: usize) -> Moment {
        Moment(self.0[node].load(SeqCst))
    }

    pub(crate) fn expected(&self, node: usize) -> Expected {
        self.now(node).expected()
    }

    pub(crate) fn expect(&self, node: usize, expected: Expected) {
        let now = self.0[node].load(SeqCst);
        if Moment(now).expected() != expected {
            self.0[node].store((now / KINDS + 1) * KINDS + expected as u64, SeqCst);
        }
    }
}
