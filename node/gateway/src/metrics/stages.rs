//! How long requests are in each stage, in cells of one writer.

use super::{
    family::{Buckets, Family, Value},
    histogram::{absorb, add},
};
use crate::{record::Record, spans::Stage};
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

/// Upper ends of the buckets, in microseconds; the last bucket has none. Most stages are over in much less than a millisecond.
const BOUNDS: [u64; 21] = [
    10,
    25,
    50,
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    10_000_000,
    30_000_000,
    120_000_000,
    300_000_000,
];

/// The times in all stages.
#[derive(Debug, Default)]
pub(super) struct Stages {
    of_each: [Times; Stage::ALL.len()],
    overhead: Times,
}

#[derive(Debug, Default)]
struct Times {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanos: AtomicU64,
}

impl Stages {
    /// Counts where the time of a request went.
    pub(super) fn settle(&self, record: &Record) {
        let spent = record.marks.spent(record.total);
        for (times, spent) in self.of_each.iter().zip(spent) {
            if let Some(spent) = spent {
                times.observe(spent);
            }
        }
        if let [_, Some(route), Some(attempt), ..] = spent {
            self.overhead.observe(route + attempt);
        }
    }

    pub(super) fn absorb(&self, other: &Self) {
        for (times, other) in self.of_each.iter().zip(&other.of_each) {
            times.absorb(other);
        }
        self.overhead.absorb(&other.overhead);
    }

    pub(super) fn families(&self) -> [Family; 2] {
        let help =
            "Where the time of requests goes within the gateway; the stages of one are all of its time.";
        let mut family = Family::histogram("trestle_stage_seconds", help);
        for (stage, times) in Stage::ALL.into_iter().zip(&self.of_each) {
            if let Some(buckets) = times.buckets() {
                family.push(&[("stage", stage.name())], Value::Spread(buckets));
            }
        }
        let help = "What the gateway adds before the answer: the stages route and attempt of requests that came to a target.";
        let mut overhead = Family::histogram("trestle_overhead_seconds", help);
        if let Some(buckets) = self.overhead.buckets() {
            overhead.push(&[], Value::Spread(buckets));
        }
        [family, overhead]
    }
}

impl Times {
    fn observe(&self, time: Duration) {
        let micros = time.as_micros() as u64;
        let bucket = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
        add(&self.buckets[bucket], 1);
        add(&self.nanos, time.as_nanos() as u64);
    }

    fn absorb(&self, other: &Self) {
        absorb(&self.buckets, &other.buckets);
        add(&self.nanos, other.nanos.load(Relaxed));
    }

    /// None where nothing was observed.
    fn buckets(&self) -> Option<Buckets> {
        let counts: Vec<_> = self.buckets.iter().map(|cell| cell.load(Relaxed)).collect();
        if counts.iter().all(|count| *count == 0) {
            return None;
        }
        let bounds = BOUNDS.iter().map(|micros| *micros as f64 / 1e6).collect();
        Some(Buckets { bounds, counts, sum: self.nanos.load(Relaxed) as f64 / 1e9 })
    }
}
