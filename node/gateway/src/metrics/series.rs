//! What is counted for one target and endpoint.

use super::histogram::{Gaps, Histogram, absorb, add};
use crate::{
    record::{Outcome, Record},
    state::lock,
};
use std::{
    collections::BTreeMap,
    sync::{Mutex, atomic::AtomicU64},
};
use trestle_dialect::ir::Usage;

const OUTCOMES: [&str; 6] = ["ok", "refused", "fault", "broken", "cancelled", "panic"];
const INPUT: [&str; 3] = ["uncached", "cache_read", "cache_write"];
const OUTPUT: [&str; 2] = ["text", "reasoning"];
const THINGS: [&str; 3] = ["images", "audio_ms", "characters"];
const DIRECTIONS: [&str; 2] = ["in", "out"];
/// Of what has no further label.
const ONE: [&str; 1] = [""];

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Answered in full.
    Well,
    /// It failed, or was given up.
    Otherwise,
}

/// What is counted for one target and endpoint. Written by one thread.
#[derive(Debug, Default)]
pub(super) struct Series {
    outcomes: [AtomicU64; OUTCOMES.len()],
    calls: [AtomicU64; 1],
    calls_ok: [AtomicU64; 1],
    errors: Mutex<BTreeMap<&'static str, u64>>,
    input: [AtomicU64; INPUT.len()],
    output: [AtomicU64; OUTPUT.len()],
    things: [AtomicU64; THINGS.len()],
    nano_usd: [AtomicU64; 1],
    bytes: [AtomicU64; DIRECTIONS.len()],
    total: Histogram,
    upstream: Histogram,
    first: Histogram,
    gaps: Histogram,
}

/// A counter of each series.
pub(super) struct Counter {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    /// The label that tells the cells apart, and its values.
    pub(super) label: &'static str,
    pub(super) words: &'static [&'static str],
    /// What the cells count is so many times the unit.
    pub(super) scale: f64,
    pub(super) cells: fn(&Series) -> &[AtomicU64],
}

/// A histogram of each series.
pub(super) struct Times {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) of: fn(&Series) -> &Histogram,
}

pub(super) const COUNTERS: [Counter; 8] = [
    Counter {
        name: "trestle_requests_total",
        help: "Requests by how they ended.",
        label: "outcome",
        words: &OUTCOMES,
        scale: 1.0,
        cells: |series| &series.outcomes,
    },
    Counter {
        name: "trestle_upstream_requests_total",
        help: "Calls of providers.",
        label: "",
        words: &ONE,
        scale: 1.0,
        cells: |series| &series.calls,
    },
    Counter {
        name: "trestle_success_requests_total",
        help: "Calls of providers that ended well.",
        label: "",
        words: &ONE,
        scale: 1.0,
        cells: |series| &series.calls_ok,
    },
    Counter {
        name: "trestle_input_tokens_total",
        help: "Input tokens as providers report them; each is of one kind.",
        label: "kind",
        words: &INPUT,
        scale: 1.0,
        cells: |series| &series.input,
    },
    Counter {
        name: "trestle_output_tokens_total",
        help: "Output tokens as providers report them; each is of one kind.",
        label: "kind",
        words: &OUTPUT,
        scale: 1.0,
        cells: |series| &series.output,
    },
    Counter {
        name: "trestle_things_total",
        help: "What is charged apart from tokens: pictures made, milliseconds of sound heard, characters spoken.",
        label: "kind",
        words: &THINGS,
        scale: 1.0,
        cells: |series| &series.things,
    },
    Counter {
        name: "trestle_cost_usd_total",
        help: "What calls cost by the catalog's prices, in US dollars.",
        label: "",
        words: &ONE,
        scale: 1e9,
        cells: |series| &series.nano_usd,
    },
    Counter {
        name: "trestle_body_bytes_total",
        help: "Bytes of bodies from and to clients.",
        label: "direction",
        words: &DIRECTIONS,
        scale: 1.0,
        cells: |series| &series.bytes,
    },
];

pub(super) const TIMES: [Times; 4] = [
    Times {
        name: "trestle_request_seconds",
        help: "Time of a request from its head to the end of its answer.",
        of: |series| &series.total,
    },
    Times {
        name: "trestle_upstream_latency_seconds",
        help: "Time of the upstream from the request sent to the head of its answer.",
        of: |series| &series.upstream,
    },
    Times {
        name: "trestle_stream_first_token_seconds",
        help: "Time of a stream from the request's head to the first content.",
        of: |series| &series.first,
    },
    Times {
        name: "trestle_stream_inter_token_seconds",
        help: "Time between two content events of a stream.",
        of: |series| &series.gaps,
    },
];

impl Series {
    /// Counts a call that has ended.
    pub(super) fn called(&self, ended: Ended) {
        add(&self.calls[0], 1);
        if ended == Ended::Well {
            add(&self.calls_ok[0], 1);
        }
    }

    /// Counts an attempt that failed.
    pub(super) fn failed(&self, cause: &'static str) {
        *lock(&self.errors).entry(cause).or_default() += 1;
    }

    /// Counts a request that has ended.
    pub(super) fn settle(&self, record: &Record, gaps: &Gaps) {
        let outcome = OUTCOMES.iter().position(|name| *name == record.outcome.name()).unwrap_or(0);
        add(&self.outcomes[outcome], 1);
        add(&self.nano_usd[0], record.nano_usd.unwrap_or(0));
        add(&self.bytes[0], record.bytes_in);
        add(&self.bytes[1], record.bytes_out);
        if let Some(usage) = record.usage {
            self.used(&usage);
        }
        self.total.observe(record.total);
        if let Some(time) = record.upstream {
            self.upstream.observe(time);
        }
        if record.stream {
            if let Some(time) = record.first {
                self.first.observe(time);
            }
            self.gaps.merge(gaps);
        }
        // The answer was on its way, so that it was no attempt that failed.
        if let Outcome::Broken(cause) = record.outcome {
            self.failed(cause);
        }
    }

    fn used(&self, usage: &Usage) {
        let cached = usage.cache_read.saturating_add(usage.cache_write);
        let input = [usage.input.saturating_sub(cached), usage.cache_read, usage.cache_write];
        let output = [usage.output.saturating_sub(usage.reasoning), usage.reasoning];
        let things = [usage.images, usage.audio_ms, usage.characters];
        let cells = self.input.iter().chain(&self.output).chain(&self.things);
        for (cell, n) in cells.zip(input.into_iter().chain(output).chain(things)) {
            add(cell, n);
        }
    }

    /// Adds what another one has counted.
    pub(super) fn absorb(&self, other: &Self) {
        for counter in &COUNTERS {
            absorb((counter.cells)(self), (counter.cells)(other));
        }
        for times in &TIMES {
            (times.of)(self).absorb((times.of)(other));
        }
        let mut errors = lock(&self.errors);
        for (cause, n) in lock(&other.errors).iter() {
            *errors.entry(*cause).or_default() += n;
        }
    }

    /// Attempts that failed, by cause.
    pub(super) fn errors(&self) -> Vec<(&'static str, u64)> {
        lock(&self.errors).iter().map(|(cause, n)| (*cause, *n)).collect()
    }
}
