//! What single keys use, where that is asked for: keys are too many to have series of their own without a bound.

use super::histogram::{absorb, add};
use crate::{record::Record, state::lock};
use std::{
    collections::{BTreeMap, HashSet},
    sync::{Mutex, PoisonError, RwLock, atomic::AtomicU64},
};

/// A key and its team.
pub(super) type KeyLabels = (Box<str>, Box<str>);

/// Which keys have series: the first that come, up to a bound. They are the same on all threads.
#[derive(Debug, Default)]
pub(crate) struct KeyNames {
    max: usize,
    names: RwLock<HashSet<KeyLabels>>,
}

impl KeyNames {
    /// None at all where the bound is 0.
    pub(crate) fn new(max: usize) -> Self {
        Self { max, names: RwLock::default() }
    }

    /// Under which labels a key is counted.
    fn labels(&self, wanted: KeyLabels) -> KeyLabels {
        let is_full = {
            let names = self.names.read().unwrap_or_else(PoisonError::into_inner);
            if names.contains(&wanted) {
                return wanted;
            }
            names.len() >= self.max
        };
        if !is_full {
            let mut names = self.names.write().unwrap_or_else(PoisonError::into_inner);
            if names.len() < self.max {
                names.insert(wanted.clone());
                return wanted;
            }
        }
        ("other".into(), "".into())
    }
}

/// A counter of each key.
pub(super) struct KeyCounter {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) scale: f64,
}

/// In the order of [`KeySums`].
pub(super) const KEY_COUNTERS: [KeyCounter; 4] = [
    KeyCounter { name: "trestle_key_requests_total", help: "Requests of a key.", scale: 1.0 },
    KeyCounter {
        name: "trestle_key_cost_usd_total",
        help: "What calls of a key cost by the catalog's prices, in US dollars.",
        scale: 1e9,
    },
    KeyCounter { name: "trestle_key_input_tokens_total", help: "Input tokens of a key.", scale: 1.0 },
    KeyCounter { name: "trestle_key_output_tokens_total", help: "Output tokens of a key.", scale: 1.0 },
];

/// What a key has used.
pub(super) type KeySums = [AtomicU64; KEY_COUNTERS.len()];

/// What one thread has counted of keys.
#[derive(Debug, Default)]
pub(super) struct Keys(Mutex<BTreeMap<KeyLabels, KeySums>>);

impl Keys {
    /// Counts a request that has ended.
    pub(super) fn settle(&self, record: &Record, names: &KeyNames) {
        let Some(caller) = record.caller.as_deref().filter(|_| names.max > 0) else { return };
        let labels = names.labels((caller.name.clone(), caller.team.as_deref().unwrap_or_default().into()));
        let usage = record.usage.unwrap_or_default();
        let used = [1, record.nano_usd.unwrap_or(0), usage.input, usage.output];
        for (cell, n) in lock(&self.0).entry(labels).or_default().iter().zip(used) {
            add(cell, n);
        }
    }

    /// Adds what was counted to sums.
    pub(super) fn add_to(&self, sums: &mut BTreeMap<KeyLabels, KeySums>) {
        for (labels, cells) in lock(&self.0).iter() {
            absorb(sums.entry(labels.clone()).or_default(), cells);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_keys_count_as_other() {
        let names = KeyNames::new(2);
        let key = |key: &str, team: &str| -> KeyLabels { (key.into(), team.into()) };
        for (asked, wanted) in [
            (key("a", "t"), key("a", "t")),
            (key("b", ""), key("b", "")),
            (key("c", ""), key("other", "")),
            (key("a", "moved"), key("other", "")),
            (key("a", "t"), key("a", "t")),
        ] {
            assert_eq!(names.labels(asked), wanted);
        }
    }
}
