//! How times are spread, in cells of one writer.

use super::family::Buckets;
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Upper ends of the buckets, in seconds; the last bucket has none.
const BOUNDS: [f64; 17] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
const BUCKETS: usize = BOUNDS.len() + 1;

fn bucket(time: Duration) -> usize {
    let seconds = time.as_secs_f64();
    BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len())
}

/// One writer, so no locked instruction is needed.
pub(super) fn add(cell: &AtomicU64, n: u64) {
    if n > 0 {
        cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
    }
}

/// Adds what other cells have counted.
pub(super) fn absorb(cells: &[AtomicU64], others: &[AtomicU64]) {
    for (cell, other) in cells.iter().zip(others) {
        add(cell, other.load(Relaxed));
    }
}

/// The gaps between content events of one request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Gaps {
    buckets: [u32; BUCKETS],
    micros: u64,
}

impl Gaps {
    /// Counts gaps of the same length.
    pub(crate) fn add(&mut self, gap: Duration, count: u32) {
        self.buckets[bucket(gap)] += count;
        self.micros += gap.as_micros() as u64 * u64::from(count);
    }
}

#[derive(Debug, Default)]
pub(super) struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    micros: AtomicU64,
}

impl Histogram {
    pub(super) fn observe(&self, time: Duration) {
        add(&self.buckets[bucket(time)], 1);
        add(&self.micros, time.as_micros() as u64);
    }

    pub(super) fn merge(&self, gaps: &Gaps) {
        for (cell, n) in self.buckets.iter().zip(gaps.buckets) {
            add(cell, u64::from(n));
        }
        add(&self.micros, gaps.micros);
    }

    pub(super) fn absorb(&self, other: &Self) {
        absorb(&self.buckets, &other.buckets);
        add(&self.micros, other.micros.load(Relaxed));
    }

    /// None where nothing was observed.
    pub(super) fn buckets(&self) -> Option<Buckets> {
        let counts: Vec<_> = self.buckets.iter().map(|cell| cell.load(Relaxed)).collect();
        if counts.iter().all(|count| *count == 0) {
            return None;
        }
        Some(Buckets { bounds: BOUNDS.to_vec(), counts, sum: self.micros.load(Relaxed) as f64 / 1e6 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_ordered_and_complete() {
        assert_eq!(bucket(Duration::ZERO), 0);
        assert_eq!(bucket(Duration::from_millis(1)), 0);
        assert_eq!(bucket(Duration::from_micros(1001)), 1);
        assert_eq!(bucket(Duration::from_secs(1_000)), BOUNDS.len());
        assert!(BOUNDS.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
