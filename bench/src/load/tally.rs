//! What a load counted, readable while it runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Latencies in microseconds.
pub type Latencies = hdrhistogram::Histogram<u64>;

/// Counts of one load.
#[derive(Debug, Default)]
pub struct Tally {
    good: AtomicU64,
    bad: AtomicU64,
    first: Mutex<Option<String>>,
}

impl Tally {
    pub(super) fn good(&self) {
        self.good.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn bad(&self, problem: impl Into<String>) {
        self.bad.fetch_add(1, Ordering::Relaxed);
        self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| problem.into());
    }

    /// Complete answers with status 200 so far.
    pub fn answers(&self) -> u64 {
        self.good.load(Ordering::Relaxed)
    }

    /// Everything else so far.
    pub fn errors(&self) -> u64 {
        self.bad.load(Ordering::Relaxed)
    }

    /// The first thing that went wrong.
    pub fn first_error(&self) -> Option<String> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
