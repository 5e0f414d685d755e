//! The metrics of one data thread.
//!
//! Labels are bounded: providers and models that the document names (others count as `other`), endpoints, and our
//! own closed sets of words.

use super::{
    histogram::{Gaps, add},
    keys::{KeyNames, Keys},
    series::{Ended, Series},
    stages::Stages,
};
use crate::{
    limits::{measure_word, owner_word},
    record::Record,
    state::lock,
};
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, atomic::AtomicU64},
};
use trestle_config::{Limit, TargetConfig};

/// Targets of one shard; the document bounds them, this is for documents that change often.
const SERIES_MAX: usize = 4_096;
/// Where what comes beyond is counted; no target has that name.
const OVERFLOW: &str = "/";

/// Endpoint, provider, model.
pub(super) type Labels = (&'static str, Box<str>, Box<str>);

/// A series and its labels.
type Labelled = (Labels, Arc<Series>);

/// The metrics of one data thread. Its locks are shared with the scrape alone.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    // By `provider/model` of the document, or the provider's name for models that it does not name; then by endpoint.
    pub(super) series: Mutex<HashMap<Box<str>, Vec<Labelled>>>,
    pub(super) errors: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
    /// Requests that limits let in.
    pub(super) admitted: AtomicU64,
    // By the kind of owner, the measure, and what the limit did.
    pub(super) limits: Mutex<BTreeMap<[&'static str; 3], u64>>,
    pub(super) keys: Keys,
    pub(super) stages: Stages,
}

/// Where a call was counted, so that its request need not look for the same series.
#[derive(Debug)]
pub(crate) struct Place {
    target: Arc<TargetConfig>,
    series: Arc<Series>,
}

impl Shard {
    fn series(&self, endpoint: &'static str, target: Option<&TargetConfig>) -> Arc<Series> {
        let key = target.map_or("", |t| if t.listed { &t.name } else { &t.provider.name });
        let mut all = lock(&self.series);
        let known = |all: &HashMap<Box<str>, Vec<Labelled>>, key: &str| {
            let found = all.get(key)?.iter().find(|((known, ..), _)| *known == endpoint);
            found.map(|(_, series)| Arc::clone(series))
        };
        if let Some(series) = known(&all, key) {
            return series;
        }
        let full = all.len() >= SERIES_MAX;
        if full && let Some(series) = known(&all, OVERFLOW) {
            return series;
        }
        let (key, labels): (_, Labels) = match target {
            _ if full => (OVERFLOW, (endpoint, "other".into(), "other".into())),
            None => (key, (endpoint, "".into(), "".into())),
            Some(t) if t.listed => (key, (endpoint, t.provider.name.clone(), t.model.clone())),
            Some(t) => (key, (endpoint, t.provider.name.clone(), "other".into())),
        };
        let series = Arc::new(Series::default());
        all.entry(key.into()).or_default().push((labels, Arc::clone(&series)));
        series
    }

    /// Counts an attempt at the target of a record that failed.
    pub(crate) fn attempt_failed(&self, record: &Record, cause: &'static str) {
        self.series(record.endpoint.name(), record.target.as_deref()).failed(cause);
    }

    /// Counts a call that has ended; where it was counted.
    pub(crate) fn called(&self, endpoint: &'static str, target: &Arc<TargetConfig>, ended: Ended) -> Place {
        let series = self.series(endpoint, Some(target));
        series.called(ended);
        Place { target: Arc::clone(target), series }
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

    /// Counts a request that has ended; `last` is where its last call was counted.
    pub(crate) fn settle(&self, record: &Record, gaps: &Gaps, (names, last): (&KeyNames, Option<Place>)) {
        let target = record.target.as_ref();
        let is_same = |place: &Place| target.is_some_and(|target| Arc::ptr_eq(target, &place.target));
        let series = match last.filter(is_same) {
            Some(place) => place.series,
            None => self.series(record.endpoint.name(), target.map(|target| &**target)),
        };
        series.settle(record, gaps);
        self.keys.settle(record, names);
        self.stages.settle(record);
        if let Some(cause) = record.outcome.cause() {
            *lock(&self.errors).entry((record.outcome.name(), cause)).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoint, HostSecrets};
    use std::{collections::BTreeSet, time::SystemTime};
    use trestle_config::{RetryPolicy, Snapshot};

    fn snapshot() -> Snapshot {
        trestle_config::load(
            "providers: { own: { like: openai, keys: [{ name: main, value: 'sk-own' }] } }",
            1,
            &HostSecrets,
        )
        .unwrap()
        .snapshot
    }

    fn target(snapshot: &Snapshot, model: &str, listed: bool) -> Arc<TargetConfig> {
        let own = snapshot.providers.values().find(|provider| &*provider.name == "own");
        let provider = Arc::clone(own.unwrap());
        let name = format!("{}/{model}", provider.name).into();
        Arc::new(TargetConfig {
            name,
            model: model.into(),
            weight: 1,
            params: Vec::new(),
            times: provider.times,
            retries: RetryPolicy::DEFAULT,
            known: None,
            listed,
            provider,
        })
    }

    fn settle(shard: &Shard, target: Option<Arc<TargetConfig>>, last: Option<Place>) {
        let mut record = Record::new(1, Endpoint::Realtime, SystemTime::UNIX_EPOCH);
        record.target = target;
        shard.settle(&record, &Gaps::default(), (&KeyNames::default(), last));
    }

    #[test]
    fn series_are_bounded() {
        let (shard, snapshot) = (Shard::default(), snapshot());
        for round in 0..2 {
            for model in 0..SERIES_MAX + 100 {
                settle(&shard, Some(target(&snapshot, &format!("m{model}"), true)), None);
            }
            settle(&shard, None, None);
            let all = lock(&shard.series);
            assert_eq!(all.values().map(Vec::len).sum::<usize>(), SERIES_MAX + 1, "round {round}");
            assert_eq!(all[OVERFLOW][0].0, ("realtime", "other".into(), "other".into()));
        }
    }

    #[test]
    fn models_that_nobody_listed_are_counted_together() {
        let (shard, snapshot) = (Shard::default(), snapshot());
        for model in ["a", "b"] {
            settle(&shard, Some(target(&snapshot, model, false)), None);
        }
        let all = lock(&shard.series);
        let labels: BTreeSet<_> = all.values().flatten().map(|(labels, _)| labels.clone()).collect();
        assert_eq!(labels, BTreeSet::from([("realtime", "own".into(), "other".into())]));
    }

    #[test]
    fn a_request_is_counted_at_its_last_target_and_not_where_another_call_was() {
        let (shard, snapshot) = (Shard::default(), snapshot());
        let [first, second] = ["a", "b"].map(|model| target(&snapshot, model, true));
        let endpoint = Endpoint::Realtime.name();
        let place = shard.called(endpoint, &first, Ended::Otherwise);
        settle(&shard, Some(Arc::clone(&second)), Some(place));
        let place = shard.called(endpoint, &second, Ended::Well);
        settle(&shard, Some(second), Some(place));
        let all = lock(&shard.series);
        let requests = |name: &str| {
            let cells = (super::super::series::COUNTERS[0].cells)(&all[name][0].1);
            cells.iter().map(|cell| cell.load(std::sync::atomic::Ordering::Relaxed)).sum::<u64>()
        };
        assert_eq!((requests("own/a"), requests("own/b")), (0, 2));
    }
}
