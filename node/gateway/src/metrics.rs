//! Metrics of the data plane: one shard a thread, written by it alone and merged at the scrape.
//!
//! Labels are bounded: providers and models that the document names (others count as `other`), endpoints, and our
//! own closed sets of words.

use crate::{
    gateway::Shared,
    limits::{self, LimitNow, LimitsAsked, kind_word, measure_word, owner_word},
    record::{Outcome, Record},
    state::lock,
};
use std::{
    collections::{BTreeMap, HashMap},
    fmt::Write,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use trestle_config::{Limit, Measure, OwnerKind};
use trestle_provider::credential::Seen;

/// Upper ends of the buckets, in seconds; the last bucket has none.
const BOUNDS: [f64; 17] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
const BUCKETS: usize = BOUNDS.len() + 1;
/// Series of one shard; the document bounds them, this is for documents that change often.
const SERIES_MAX: usize = 4_096;
/// Series of limits: three of each.
const LIMIT_SERIES_MAX: usize = 1_000;
/// Whose limits have series: keys and users are too many.
const LIMIT_OWNERS: [OwnerKind; 4] =
    [OwnerKind::Customer, OwnerKind::Team, OwnerKind::Model, OwnerKind::Provider];
const OUTCOMES: [&str; 6] = ["ok", "refused", "fault", "broken", "cancelled", "panic"];

fn bucket(time: Duration) -> usize {
    let seconds = time.as_secs_f64();
    BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len())
}

/// One writer, so no locked instruction is needed.
fn add(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Relaxed).wrapping_add(n), Relaxed);
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
struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    micros: AtomicU64,
}

impl Histogram {
    fn observe(&self, time: Duration) {
        add(&self.buckets[bucket(time)], 1);
        add(&self.micros, time.as_micros() as u64);
    }

    fn merge(&self, gaps: &Gaps) {
        for (cell, n) in self.buckets.iter().zip(gaps.buckets) {
            if n > 0 {
                add(cell, u64::from(n));
            }
        }
        add(&self.micros, gaps.micros);
    }
}

/// What is counted for one target and endpoint.
#[derive(Debug, Default)]
struct Series {
    outcomes: [AtomicU64; OUTCOMES.len()],
    attempts: AtomicU64,
    tokens: [AtomicU64; TOKENS.len()],
    things: [AtomicU64; THINGS.len()],
    nano_usd: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    total: Histogram,
    upstream: Histogram,
    first: Histogram,
    gaps: Histogram,
}

const TOKENS: [&str; 5] = ["input", "cache_read", "cache_write", "output", "reasoning"];
const THINGS: [&str; 3] = ["images", "audio_ms", "characters"];

/// Endpoint, provider, model.
type Labels = (&'static str, Box<str>, Box<str>);

/// A series and its labels.
type Labelled = (Labels, Arc<Series>);

/// The metrics of one data thread. Its locks are shared with the scrape alone.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    // By `provider/model` of the document, or the provider's name for models that it does not name; then by endpoint.
    series: Mutex<HashMap<Box<str>, Vec<Labelled>>>,
    errors: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
    attempt_faults: Mutex<HashMap<Box<str>, BTreeMap<&'static str, u64>>>,
    /// Requests that limits let in.
    admitted: AtomicU64,
    // By the kind of owner, the measure, and what the limit did.
    limits: Mutex<BTreeMap<[&'static str; 3], u64>>,
}

impl Shard {
    fn series(&self, record: &Record) -> Arc<Series> {
        let endpoint = record.endpoint.name();
        let target = record.target.as_deref();
        let key = target.map_or("", |t| if t.listed { &t.name } else { &t.provider.name });
        let mut all = lock(&self.series);
        if let Some((_, series)) =
            all.get(key).and_then(|of_key| of_key.iter().find(|((e, ..), _)| *e == endpoint))
        {
            return Arc::clone(series);
        }
        let full = all.len() >= SERIES_MAX;
        let labels: Labels = match target {
            None => (endpoint, "".into(), "".into()),
            Some(t) if t.listed && !full => (endpoint, t.provider.name.clone(), t.model.clone()),
            Some(t) => (endpoint, t.provider.name.clone(), "other".into()),
        };
        let key = if full { "" } else { key };
        let series = Arc::new(Series::default());
        all.entry(key.into()).or_default().push((labels, Arc::clone(&series)));
        series
    }

    /// Counts a failed attempt.
    pub(crate) fn attempt_failed(&self, provider: &str, cause: &'static str) {
        let mut all = lock(&self.attempt_faults);
        if !all.contains_key(provider) {
            all.insert(provider.into(), BTreeMap::new());
        }
        if let Some(causes) = all.get_mut(provider) {
            *causes.entry(cause).or_default() += 1;
        }
    }

    /// Counts a request that all of its limits let in.
    pub(crate) fn admitted(&self) {
        add(&self.admitted, 1);
    }

    /// Counts what a limit did to a request: `refused` or `warned`.
    pub(crate) fn limited(&self, limit: &Limit, what: &'static str) {
        let labels = [owner_word(limit.owner.kind), measure_word(limit.measure), what];
        *lock(&self.limits).entry(labels).or_default() += 1;
    }

    /// Counts a request that has ended.
    pub(crate) fn settle(&self, record: &Record, gaps: &Gaps) {
        let series = self.series(record);
        let outcome = OUTCOMES.iter().position(|name| *name == record.outcome.name()).unwrap_or(0);
        add(&series.outcomes[outcome], 1);
        add(&series.attempts, record.attempts.len() as u64 + u64::from(record.outcome == Outcome::Ok));
        add(&series.nano_usd, record.nano_usd.unwrap_or(0));
        add(&series.bytes_in, record.bytes_in);
        add(&series.bytes_out, record.bytes_out);
        if let Some(usage) = record.usage {
            let counts = [usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning];
            let things = [usage.images, usage.audio_ms, usage.characters];
            let cells = series.tokens.iter().chain(&series.things);
            for (cell, n) in cells.zip(counts.into_iter().chain(things)) {
                if n > 0 {
                    add(cell, n);
                }
            }
        }
        series.total.observe(record.total);
        if let Some(time) = record.upstream {
            series.upstream.observe(time);
        }
        if record.stream {
            if let Some(time) = record.first {
                series.first.observe(time);
            }
            series.gaps.merge(gaps);
        }
        if let Some(cause) = record.outcome.cause() {
            *lock(&self.errors).entry((record.outcome.name(), cause)).or_default() += 1;
        }
    }
}

/// The sum over the shards of what one series counted.
#[derive(Default)]
struct Sum {
    outcomes: [u64; OUTCOMES.len()],
    attempts: u64,
    tokens: [u64; TOKENS.len()],
    things: [u64; THINGS.len()],
    nano_usd: u64,
    bytes: [u64; 2],
    histograms: [([u64; BUCKETS], u64); 4],
}

impl Sum {
    fn add(&mut self, series: &Series) {
        for (sum, cell) in self.outcomes.iter_mut().zip(&series.outcomes) {
            *sum += cell.load(Relaxed);
        }
        for (sum, cell) in self.tokens.iter_mut().zip(&series.tokens) {
            *sum += cell.load(Relaxed);
        }
        for (sum, cell) in self.things.iter_mut().zip(&series.things) {
            *sum += cell.load(Relaxed);
        }
        self.attempts += series.attempts.load(Relaxed);
        self.nano_usd += series.nano_usd.load(Relaxed);
        self.bytes[0] += series.bytes_in.load(Relaxed);
        self.bytes[1] += series.bytes_out.load(Relaxed);
        let histograms = [&series.total, &series.upstream, &series.first, &series.gaps];
        for ((buckets, micros), histogram) in self.histograms.iter_mut().zip(histograms) {
            for (sum, cell) in buckets.iter_mut().zip(&histogram.buckets) {
                *sum += cell.load(Relaxed);
            }
            *micros += histogram.micros.load(Relaxed);
        }
    }
}

/// Names and help of the histograms, in the order of `Sum::histograms`.
const HISTOGRAMS: [(&str, &str); 4] = [
    ("trestle_request_seconds", "Time of a request from its head to the end of its answer."),
    ("trestle_upstream_seconds", "Time of the upstream from the request sent to the head of its answer."),
    ("trestle_first_token_seconds", "Time of a stream from the request's head to the first content."),
    ("trestle_inter_token_seconds", "Time between two content events of a stream."),
];

/// All metrics of the data plane in the Prometheus text format.
pub(crate) fn render(shared: &Shared) -> String {
    let mut sums: BTreeMap<Labels, Sum> = BTreeMap::new();
    let mut errors: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut faults: BTreeMap<(Box<str>, &str), u64> = BTreeMap::new();
    for seat in &shared.seats {
        for (labels, series) in lock(&seat.shard.series).values().flatten() {
            sums.entry(labels.clone()).or_default().add(series);
        }
        for (key, n) in lock(&seat.shard.errors).iter() {
            *errors.entry(*key).or_default() += n;
        }
        for (provider, causes) in lock(&seat.shard.attempt_faults).iter() {
            for (cause, n) in causes {
                *faults.entry((provider.clone(), cause)).or_default() += n;
            }
        }
    }
    let mut out = Exposition::default();
    render_sums(&mut out, &sums);
    out.family("trestle_errors_total", "counter", "Requests that did not end well, by how and why.");
    for ((outcome, cause), n) in errors {
        out.sample("trestle_errors_total", &[("outcome", outcome), ("cause", cause)], n as f64);
    }
    out.family("trestle_attempt_faults_total", "counter", "Attempts at a target that failed, by cause.");
    for ((provider, cause), n) in &faults {
        out.sample("trestle_attempt_faults_total", &[("provider", provider), ("cause", cause)], *n as f64);
    }
    render_limited(&mut out, shared);
    render_gauges(&mut out, shared);
    render_credentials(&mut out, &shared.keeper.seen());
    render_limits(&mut out, shared);
    out.0
}

/// What limits did to requests.
fn render_limited(out: &mut Exposition, shared: &Shared) {
    let name = "trestle_limits_admitted_total";
    out.family(name, "counter", "Requests of callers or models with limits that were let in.");
    let admitted: u64 = shared.seats.iter().map(|seat| seat.shard.admitted.load(Relaxed)).sum();
    out.sample(name, &[], admitted as f64);
    let mut limits: BTreeMap<[&str; 3], u64> = BTreeMap::new();
    for seat in &shared.seats {
        for (labels, n) in lock(&seat.shard.limits).iter() {
            *limits.entry(*labels).or_default() += n;
        }
    }
    let name = "trestle_limits_total";
    out.family(name, "counter", "Requests that limits refused, and warnings that they gave.");
    for ([owner, measure, what], n) in limits {
        let labels = [("owner_kind", owner), ("measure", measure), ("what", what)];
        out.sample(name, &labels, n as f64);
    }
}

/// Providers and keys are those of the document.
fn render_credentials(out: &mut Exposition, seen: &[Seen]) {
    let now = SystemTime::now();
    out.family("trestle_credential_ready", "gauge", "1 while a credential that is fetched can be used.");
    for one in seen {
        let labels = [("provider", &*one.provider), ("key", &*one.name)];
        out.sample("trestle_credential_ready", &labels, f64::from(u8::from(one.ready)));
    }
    out.family(
        "trestle_credential_expires_seconds",
        "gauge",
        "Time until a credential that is fetched ends.",
    );
    for one in seen {
        let labels = [("provider", &*one.provider), ("key", &*one.name)];
        if let Some(end) = one.expires_at {
            let left = end.duration_since(now).unwrap_or_default().as_secs();
            out.sample("trestle_credential_expires_seconds", &labels, left as f64);
        }
    }
    out.family("trestle_credential_fetches_total", "counter", "Fetches of a credential, by result.");
    for one in seen {
        for (result, count) in [("ok", one.fetches.0), ("failed", one.fetches.1)] {
            let labels = [("provider", &*one.provider), ("key", &*one.name), ("result", result)];
            out.sample("trestle_credential_fetches_total", &labels, count as f64);
        }
    }
}

/// Money is in dollars.
fn render_limits(out: &mut Exposition, shared: &Shared) {
    type Pick = fn(&LimitNow) -> u64;
    let gauges: [(&str, &str, Pick); 3] = [
        ("trestle_limit_amount", "How much a limit lets be used in the window that runs.", |now| now.amount),
        ("trestle_limit_used", "How much of a limit has been used.", |now| now.used),
        ("trestle_limit_held", "How much of a limit is held beside that by requests that run.", |now| {
            now.held
        }),
    ];
    out.family("trestle_limit_counters", "gauge", "Counters of limits that are kept.");
    out.sample("trestle_limit_counters", &[], shared.counted.len() as f64);
    let max = LIMIT_SERIES_MAX / gauges.len();
    let asked = LimitsAsked { kinds: &LIMIT_OWNERS, max, ..LimitsAsked::default() };
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let page = limits::page(&shared.snapshot.load(), &shared.counted, &asked, now_ms);
    for (name, help, pick) in gauges {
        out.family(name, "gauge", help);
        for now in &page.limits {
            let limit = &now.limit;
            let labels = [
                ("owner_kind", kind_word(limit.owner.kind)),
                ("owner", &*limit.owner.name),
                ("limit", &*limit.name),
                ("measure", measure_word(limit.measure)),
            ];
            let unit = if limit.measure == Measure::NanoUsd { 1e9 } else { 1.0 };
            out.sample(name, &labels, pick(now) as f64 / unit);
        }
    }
}

fn render_sums(out: &mut Exposition, sums: &BTreeMap<Labels, Sum>) {
    type Pick = fn(&Sum) -> Vec<(&'static str, u64)>;
    let counters: [(&str, &str, &str, Pick); 5] = [
        ("trestle_requests_total", "Requests by how they ended.", "outcome", |s| {
            OUTCOMES.into_iter().zip(s.outcomes).collect()
        }),
        (
            "trestle_tokens_total",
            "Tokens as reported by providers; cached ones are part of the input, reasoning of the output.",
            "kind",
            |s| TOKENS.into_iter().zip(s.tokens).collect(),
        ),
        (
            "trestle_things_total",
            "What is charged apart from tokens: pictures made, milliseconds of sound heard, characters spoken.",
            "kind",
            |s| THINGS.into_iter().zip(s.things).collect(),
        ),
        ("trestle_attempts_total", "Attempts at targets.", "", |s| vec![("", s.attempts)]),
        ("trestle_body_bytes_total", "Bytes of bodies from and to clients.", "direction", |s| {
            ["in", "out"].into_iter().zip(s.bytes).collect()
        }),
    ];
    for (name, help, label, pick) in counters {
        out.family(name, "counter", help);
        for ((endpoint, provider, model), sum) in sums {
            for (value, n) in pick(sum) {
                let labels =
                    [("endpoint", *endpoint), ("provider", provider), ("model", model), (label, value)];
                if n > 0 {
                    out.sample(name, &labels, n as f64);
                }
            }
        }
    }
    out.family(
        "trestle_cost_usd_total",
        "counter",
        "What calls cost by the catalog's prices, in US dollars.",
    );
    for ((endpoint, provider, model), sum) in sums.iter().filter(|(_, sum)| sum.nano_usd > 0) {
        let labels = [("endpoint", *endpoint), ("provider", &**provider), ("model", &**model)];
        out.sample("trestle_cost_usd_total", &labels, sum.nano_usd as f64 / 1e9);
    }
    for (index, (name, help)) in HISTOGRAMS.into_iter().enumerate() {
        out.family(name, "histogram", help);
        for ((endpoint, provider, model), sum) in sums {
            let labels = [("endpoint", *endpoint), ("provider", &**provider), ("model", &**model)];
            let (buckets, micros) = &sum.histograms[index];
            out.histogram(name, &labels, buckets, *micros);
        }
    }
}

fn render_gauges(out: &mut Exposition, shared: &Shared) {
    out.family("trestle_in_flight", "gauge", "Requests that run now.");
    let in_flight: usize = shared.seats.iter().map(|seat| seat.in_flight.load(Relaxed)).sum();
    out.sample("trestle_in_flight", &[], in_flight as f64);
    out.family("trestle_thread_in_flight", "gauge", "Requests that run now, by data thread.");
    for (index, seat) in shared.seats.iter().enumerate() {
        let in_flight = seat.in_flight.load(Relaxed);
        out.sample("trestle_thread_in_flight", &[("thread", &index.to_string())], in_flight as f64);
    }
    out.family("trestle_buffered_bytes", "gauge", "Bytes of bodies held now.");
    out.sample("trestle_buffered_bytes", &[], shared.budget.used() as f64);
    out.family(
        "trestle_records_dropped_total",
        "counter",
        "Log records lost because the writer did not keep up.",
    );
    let dropped: u64 = shared.seats.iter().map(|seat| seat.records_dropped.load(Relaxed)).sum();
    out.sample("trestle_records_dropped_total", &[], dropped as f64);
    out.family("trestle_provider_in_flight", "gauge", "Calls to a provider that run now.");
    let providers = shared.providers();
    for (name, state) in &providers {
        out.sample("trestle_provider_in_flight", &[("provider", name)], f64::from(state.slots.used()));
    }
    out.family("trestle_upstream_connections_total", "counter", "Connections opened to a provider.");
    for (name, state) in &providers {
        let opened = state.connections.load(Relaxed);
        out.sample("trestle_upstream_connections_total", &[("provider", name)], opened as f64);
    }
    out.family("trestle_provider_queue", "gauge", "Calls to a provider that wait for a slot now.");
    for (name, state) in &providers {
        out.sample("trestle_provider_queue", &[("provider", name)], f64::from(state.slots.waiting()));
    }
}

/// The text format as it is written.
#[derive(Default)]
struct Exposition(String);

impl Exposition {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0.push_str(name);
        let mut open = '{';
        for (label, value) in labels.iter().filter(|(label, _)| !label.is_empty()) {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.0, "{open}{label}=\"{value}\"");
            open = ',';
        }
        if open == ',' {
            self.0.push('}');
        }
        let _ = writeln!(self.0, " {value}");
    }

    fn histogram(&mut self, name: &str, labels: &[(&str, &str); 3], buckets: &[u64; BUCKETS], micros: u64) {
        let count: u64 = buckets.iter().sum();
        if count == 0 {
            return;
        }
        let mut below = 0;
        for (index, n) in buckets.iter().enumerate() {
            below += n;
            let bound = BOUNDS.get(index).map_or_else(|| "+Inf".to_owned(), f64::to_string);
            let [a, b, c] = *labels;
            self.sample(&format!("{name}_bucket"), &[a, b, c, ("le", &bound)], below as f64);
        }
        self.sample(&format!("{name}_sum"), labels, micros as f64 / 1e6);
        self.sample(&format!("{name}_count"), labels, count as f64);
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

    #[test]
    fn labels_are_escaped() {
        let mut out = Exposition::default();
        out.sample("x", &[("a", "q\"b\\c\nd"), ("", "unused")], 1.0);
        assert_eq!(out.0, "x{a=\"q\\\"b\\\\c\\nd\"} 1\n");
    }
}
