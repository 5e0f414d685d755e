//! What both formats share in making an account of a vendor: its name, its limits, its shares.

use super::{
    members::Members,
    report::{Place, Report},
};
use crate::{ProviderEntry, Retries, Timeouts};
use std::collections::{BTreeMap, BTreeSet};
use trestle_provider::listed;

/// Longest limit in time: a day.
const TIME_MS_MAX: f64 = 86_400_000.0;
/// What `backoff_max_ms` is where nothing is set.
const BACKOFF_MAX_MS: u64 = 5_000;
/// What `total_ms` is where nothing is set.
const TOTAL_MS: u64 = 900_000;
/// Most attempts after the first.
pub(super) const RETRIES_MAX: u32 = 10;

/// Names that are taken, and how far each was numbered.
#[derive(Default)]
pub(super) struct Names {
    used: BTreeSet<String>,
    numbered: BTreeMap<String, u32>,
}

impl Names {
    /// A name that nobody shall get.
    pub(super) fn reserve(&mut self, name: &str) {
        self.used.insert(name.to_owned());
    }

    /// A name that can stand in a document, as near as possible to the one that is wanted. It is taken then.
    pub(super) fn take(&mut self, wanted: &str) -> String {
        let plain = legal(wanted);
        let mut name = plain.clone();
        while !self.used.insert(name.clone()) {
            let number = self.numbered.entry(plain.clone()).or_insert(1);
            *number += 1;
            name = format!("{plain}-{number}");
        }
        name
    }

    /// The same for a provider, whose name ends at the first slash of a model.
    pub(super) fn take_provider(&mut self, wanted: &str) -> String {
        // It is always there.
        self.reserve("mock");
        self.take(&wanted.replace('/', "-"))
    }
}

/// A name without what no name can have.
pub(super) fn legal(wanted: &str) -> String {
    let plain: String = wanted.chars().map(|c| if c.is_control() || c == '*' { '-' } else { c }).collect();
    let mut plain = plain.trim().to_owned();
    // Room for a number behind it.
    while plain.len() > 110 {
        plain.pop();
    }
    let plain = plain.trim();
    if plain.is_empty() { "unnamed".to_owned() } else { plain.to_owned() }
}

/// An entry that starts from a listed vendor.
pub(super) fn entry_like(name: &str, vendor: &str) -> ProviderEntry {
    let like = (name != vendor).then(|| vendor.to_owned());
    ProviderEntry { like, ..ProviderEntry::default() }
}

/// The variable in which a listed vendor's key is looked for.
pub(super) fn usual_variable(vendor: &str) -> Option<&'static str> {
    listed().get(vendor)?.env.first().map(String::as_str)
}

/// Seconds as milliseconds within what a document takes; `None` for 0, which means "no limit" in both formats.
pub(super) fn milliseconds(seconds: f64, place: &Place, report: &mut Report) -> Option<u64> {
    let exact = (seconds * 1000.0).round();
    let held = exact.clamp(1.0, TIME_MS_MAX);
    if exact == 0.0 {
        report.note(place, "is 0; there is always a limit here, so the default is left");
        return None;
    }
    if held < exact {
        report.note(place, "is more than a day; a day is set");
    }
    // Between 1 and a day, and whole.
    Some(held as u64)
}

/// A limit for one attempt. What is longer than a request may take makes room for itself.
pub(super) fn set_first_token(timeouts: &mut Timeouts, ms: u64) {
    timeouts.first_token_ms = Some(ms);
    if ms > TOTAL_MS {
        timeouts.total_ms = Some(ms);
    }
}

/// Waits between attempts, the first no longer than the longest.
pub(super) fn set_backoff(retries: &mut Retries, first: Option<u64>, longest: Option<u64>) {
    retries.backoff_max_ms = longest.or_else(|| first.filter(|ms| *ms > BACKOFF_MAX_MS));
    let longest = retries.backoff_max_ms.unwrap_or(BACKOFF_MAX_MS);
    // Where only a short longest wait is given, the default of the first (200) must not be above it.
    retries.backoff_ms = match first {
        Some(ms) => Some(ms.min(longest)),
        None => Some(longest).filter(|ms| *ms < 200),
    };
}

/// Shares as whole numbers in the same proportion; one that is not 0 stays so.
pub(super) fn whole_weights(shares: &[f64]) -> Vec<u32> {
    let largest = shares.iter().copied().fold(0.0, f64::max);
    if largest <= 0.0 || !largest.is_finite() {
        return vec![1; shares.len()];
    }
    let whole = shares.iter().all(|share| share.fract() == 0.0);
    // Three digits are more than any share is meant to; shares of a hundred are kept as they are.
    let scale = match largest {
        _ if largest > 1e6 => 1e6 / largest,
        _ if whole => 1.0,
        _ if largest < 0.1 => 1e3 / largest,
        _ => 1e3,
    };
    let scaled: Vec<u32> = shares
        .iter()
        .map(|share| if *share <= 0.0 { 0 } else { (share * scale).round().clamp(1.0, 1e9) as u32 })
        .collect();
    let divisor = scaled.iter().copied().fold(0, gcd).max(1);
    scaled.into_iter().map(|weight| weight / divisor).collect()
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Headers that are always sent; values that are kept elsewhere are noted.
pub(super) fn headers(
    members: Members,
    is_reference: impl Fn(&str) -> bool,
    report: &mut Report,
) -> Vec<(String, Place, String)> {
    let mut made = Vec::new();
    for (name, place, value) in members.entries() {
        let Some(value) = super::members::text(value, &place, report) else { continue };
        if is_reference(&value) {
            report.note(
                &place,
                "is a reference, which a header cannot be here; write its value into `headers`",
            );
        } else {
            made.push((name, place, value));
        }
    }
    made
}
