//! The families of what is so now: requests that run, providers, credentials, limits.

use super::family::Family;
use crate::{
    gateway::Shared,
    limits::{self, LimitNow, LimitsAsked, kind_word, measure_word},
};
use std::{
    sync::atomic::Ordering::Relaxed,
    time::{SystemTime, UNIX_EPOCH},
};
use trestle_config::{Measure, OwnerKind};
use trestle_provider::credential::Seen;

/// Series of limits: three of each.
const LIMIT_SERIES_MAX: usize = 1_000;
/// Whose limits have series: keys and users are too many.
const LIMIT_OWNERS: [OwnerKind; 4] =
    [OwnerKind::Customer, OwnerKind::Team, OwnerKind::Model, OwnerKind::Provider];

pub(super) fn families(shared: &Shared) -> Vec<Family> {
    let mut families = threads(shared);
    families.extend(providers(shared));
    families.extend(credentials(&shared.keeper.seen()));
    families.extend(limits(shared));
    families
}

fn threads(shared: &Shared) -> Vec<Family> {
    let in_flight: usize = shared.seats.iter().map(|seat| seat.in_flight.load(Relaxed)).sum();
    let dropped: u64 = shared.seats.iter().map(|seat| seat.records_dropped.load(Relaxed)).sum();
    let help = "Requests that run now, by data thread.";
    let mut of_threads = Family::gauge("trestle_thread_in_flight", help);
    for (index, seat) in shared.seats.iter().enumerate() {
        of_threads.add(&[("thread", &index.to_string())], seat.in_flight.load(Relaxed) as f64);
    }
    let help = "Log records lost because the writer did not keep up.";
    vec![
        Family::gauge("trestle_in_flight", "Requests that run now.").with(&[], in_flight as f64),
        of_threads,
        Family::gauge("trestle_buffered_bytes", "Bytes of bodies held now.")
            .with(&[], shared.budget.used() as f64),
        Family::counter("trestle_records_dropped_total", help).with(&[], dropped as f64),
    ]
}

fn providers(shared: &Shared) -> [Family; 3] {
    let mut in_flight = Family::gauge("trestle_provider_in_flight", "Calls to a provider that run now.");
    let mut opened =
        Family::counter("trestle_upstream_connections_total", "Connections opened to a provider.");
    let mut queue = Family::gauge("trestle_provider_queue", "Calls to a provider that wait for a slot now.");
    for (name, state) in &shared.providers() {
        let labels = [("provider", &**name)];
        in_flight.add(&labels, f64::from(state.slots.used()));
        opened.add(&labels, state.connections.load(Relaxed) as f64);
        queue.add(&labels, f64::from(state.slots.waiting()));
    }
    [in_flight, opened, queue]
}

/// Providers and keys are those of the document.
fn credentials(seen: &[Seen]) -> [Family; 3] {
    let now = SystemTime::now();
    let mut ready =
        Family::gauge("trestle_credential_ready", "1 while a credential that is fetched can be used.");
    let help = "Time until a credential that is fetched ends.";
    let mut expires = Family::gauge("trestle_credential_expires_seconds", help);
    let help = "Fetches of a credential, by result.";
    let mut fetches = Family::counter("trestle_credential_fetches_total", help);
    for one in seen {
        let [provider, key] = [("provider", &*one.provider), ("key", &*one.name)];
        ready.add(&[provider, key], f64::from(u8::from(one.ready)));
        if let Some(end) = one.expires_at {
            let left = end.duration_since(now).unwrap_or_default().as_secs();
            expires.add(&[provider, key], left as f64);
        }
        for (result, count) in [("ok", one.fetches.0), ("failed", one.fetches.1)] {
            fetches.add(&[provider, key, ("result", result)], count as f64);
        }
    }
    [ready, expires, fetches]
}

/// Money is in dollars.
fn limits(shared: &Shared) -> Vec<Family> {
    type Pick = fn(&LimitNow) -> u64;
    let gauges: [(&str, &str, Pick); 3] = [
        ("trestle_limit_amount", "How much a limit lets be used in the window that runs.", |now| now.amount),
        ("trestle_limit_used", "How much of a limit has been used.", |now| now.used),
        ("trestle_limit_held", "How much of a limit is held beside that by requests that run.", |now| {
            now.held
        }),
    ];
    let max = LIMIT_SERIES_MAX / gauges.len();
    let asked = LimitsAsked { kinds: &LIMIT_OWNERS, max, ..LimitsAsked::default() };
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    let page = limits::page(&shared.snapshot.load(), &shared.counted, &asked, now_ms);
    let counters = Family::gauge("trestle_limit_counters", "Counters of limits that are kept.");
    let mut families = vec![counters.with(&[], shared.counted.len() as f64)];
    for (name, help, pick) in gauges {
        let mut family = Family::gauge(name, help);
        for now in &page.limits {
            let limit = &now.limit;
            let labels = [
                ("owner_kind", kind_word(limit.owner.kind)),
                ("owner", &*limit.owner.name),
                ("limit", &*limit.name),
                ("measure", measure_word(limit.measure)),
            ];
            let unit = if limit.measure == Measure::NanoUsd { 1e9 } else { 1.0 };
            family.add(&labels, pick(now) as f64 / unit);
        }
        families.push(family);
    }
    families
}
