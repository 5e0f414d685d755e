//! Limits in time and number: checked, and filled in from the next wider place.

use crate::{Retries, RetryPolicy, Settings, TimeLimits, Timeouts, path::Path, problem::Findings};
use std::{ops::RangeInclusive, time::Duration};

/// Longest limit in time: a day.
const TIME_MS_MAX: u64 = 86_400_000;
/// Most calls that may run or wait at one provider.
const CALLS_MAX: u64 = 1_000_000;

/// What holds where a provider says nothing.
pub(super) struct Defaults {
    times: TimeLimits,
    retries: RetryPolicy,
    concurrency: u32,
    queue: u32,
}

/// The limits of a provider, complete.
pub(super) struct Limits {
    pub(super) times: TimeLimits,
    pub(super) retries: RetryPolicy,
    pub(super) concurrency: u32,
    pub(super) queue: u32,
}

impl Defaults {
    pub(super) fn limits(&self) -> Limits {
        let Self { times, retries, concurrency, queue } = *self;
        Limits { times, retries, concurrency, queue }
    }
}

pub(super) fn settings(settings: &Settings, path: &Path<'_>, findings: &mut Findings) -> Defaults {
    let attempts = u64::from(settings.attempts_max);
    within(attempts, 1..=32, &path.member("attempts_max"), findings);
    within(settings.body_bytes_max, 1..=1 << 40, &path.member("body_bytes_max"), findings);
    within(settings.media_bytes_max, 1..=1 << 30, &path.member("media_bytes_max"), findings);
    within(settings.buffered_bytes_max, 1..=1 << 50, &path.member("buffered_bytes_max"), findings);
    if settings.body_bytes_max > settings.buffered_bytes_max {
        let most = settings.buffered_bytes_max;
        let message =
            format!("must be at most `buffered_bytes_max` ({most}), or no body of that size is let in");
        findings.problem(&path.member("body_bytes_max"), message);
    }
    let (concurrency, queue) = (settings.provider_concurrency, settings.provider_queue);
    within(concurrency.into(), 1..=CALLS_MAX, &path.member("provider_concurrency"), findings);
    within(queue.into(), 0..=CALLS_MAX, &path.member("provider_queue"), findings);
    Defaults {
        times: times(&settings.timeouts, TimeLimits::DEFAULT, path, findings),
        retries: retries(&settings.retries, RetryPolicy::DEFAULT, path, findings),
        concurrency,
        queue,
    }
}

/// The limits of a provider; `path` is the provider's.
pub(super) fn provider(
    entry: &crate::ProviderEntry,
    defaults: &Defaults,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Limits {
    let concurrency = entry.concurrency.unwrap_or(defaults.concurrency);
    let queue = entry.queue.unwrap_or(defaults.queue);
    if entry.concurrency.is_some() {
        within(concurrency.into(), 1..=CALLS_MAX, &path.member("concurrency"), findings);
    }
    if entry.queue.is_some() {
        within(queue.into(), 0..=CALLS_MAX, &path.member("queue"), findings);
    }
    Limits {
        times: times(&entry.timeouts, defaults.times, path, findings),
        retries: retries(&entry.retries, defaults.retries, path, findings),
        concurrency,
        queue,
    }
}

/// Limits in time; `path` is that of what has `timeouts`.
pub(super) fn times(
    entry: &Timeouts,
    wider: TimeLimits,
    path: &Path<'_>,
    findings: &mut Findings,
) -> TimeLimits {
    let path = path.member("timeouts");
    let mut one = |name: &str, own: Option<u64>, wider: Duration| {
        own.map_or(wider, |ms| {
            within(ms, 1..=TIME_MS_MAX, &path.member(name), findings);
            Duration::from_millis(ms)
        })
    };
    TimeLimits {
        connect: one("connect_ms", entry.connect_ms, wider.connect),
        first_token: one("first_token_ms", entry.first_token_ms, wider.first_token),
        idle: one("idle_ms", entry.idle_ms, wider.idle),
        total: one("total_ms", entry.total_ms, wider.total),
    }
}

/// Retries; `path` is that of what has `retries`.
pub(super) fn retries(
    entry: &Retries,
    wider: RetryPolicy,
    path: &Path<'_>,
    findings: &mut Findings,
) -> RetryPolicy {
    let path = path.member("retries");
    if let Some(max) = entry.max {
        within(max.into(), 0..=10, &path.member("max"), findings);
    }
    let mut wait = |name: &str, own: Option<u64>, wider: Duration| {
        own.map_or(wider, |ms| {
            within(ms, 0..=TIME_MS_MAX, &path.member(name), findings);
            Duration::from_millis(ms)
        })
    };
    let backoff = wait("backoff_ms", entry.backoff_ms, wider.backoff);
    let backoff_max = wait("backoff_max_ms", entry.backoff_max_ms, wider.backoff_max);
    if backoff > backoff_max && (entry.backoff_ms.is_some() || entry.backoff_max_ms.is_some()) {
        let most = backoff_max.as_millis();
        findings.problem(&path.member("backoff_ms"), format!("must be at most `backoff_max_ms` ({most})"));
    }
    RetryPolicy { max: entry.max.unwrap_or(wider.max), backoff, backoff_max }
}

pub(super) fn within(value: u64, range: RangeInclusive<u64>, path: &Path<'_>, findings: &mut Findings) {
    if !range.contains(&value) {
        findings.problem(path, format!("is {value}; must be from {} to {}", range.start(), range.end()));
    }
}
