//! The families of the data plane: what all shards have counted together.

use super::{
    family::{Family, Value},
    keys::{KEY_COUNTERS, KeySums},
    now,
    series::{COUNTERS, Series, TIMES},
    shard::Labels,
    stages::Stages,
};
use crate::{gateway::Shared, state::lock};
use std::{collections::BTreeMap, sync::atomic::Ordering::Relaxed};

type Sums = BTreeMap<Labels, Series>;

/// All families of the data plane.
pub(crate) fn families(shared: &Shared) -> Vec<Family> {
    let mut sums = Sums::new();
    for seat in &shared.seats {
        for (labels, series) in lock(&seat.shard.series).values().flatten() {
            sums.entry(labels.clone()).or_default().absorb(series);
        }
    }
    let mut families = counters(&sums);
    families.push(failed(&sums));
    families.extend(times(&sums));
    families.extend(stages(shared));
    families.push(errors(shared));
    families.extend(limits(shared));
    families.extend(keys(shared));
    families.extend(now::families(shared));
    families
}

fn stages(shared: &Shared) -> [Family; 2] {
    let sum = Stages::default();
    shared.seats.iter().for_each(|seat| sum.absorb(&seat.shard.stages));
    sum.families()
}

fn target((endpoint, provider, model): &Labels) -> [(&'static str, &str); 3] {
    [("endpoint", *endpoint), ("provider", provider), ("model", model)]
}

fn counters(sums: &Sums) -> Vec<Family> {
    let family = |counter: &super::series::Counter| {
        let mut family = Family::counter(counter.name, counter.help);
        for (labels, sum) in sums {
            let [endpoint, provider, model] = target(labels);
            for (word, cell) in counter.words.iter().zip((counter.cells)(sum)) {
                let n = cell.load(Relaxed);
                if n > 0 {
                    let labels = [endpoint, provider, model, (counter.label, *word)];
                    family.add(&labels, n as f64 / counter.scale);
                }
            }
        }
        family
    };
    COUNTERS.iter().map(family).collect()
}

fn failed(sums: &Sums) -> Family {
    let help = "Attempts at a target that failed, and answers that broke off, by cause.";
    let mut family = Family::counter("trestle_error_requests_total", help);
    for (labels, sum) in sums {
        let [endpoint, provider, model] = target(labels);
        for (cause, n) in sum.errors() {
            family.add(&[endpoint, provider, model, ("cause", cause)], n as f64);
        }
    }
    family
}

fn times(sums: &Sums) -> Vec<Family> {
    let family = |times: &super::series::Times| {
        let mut family = Family::histogram(times.name, times.help);
        for (labels, sum) in sums {
            if let Some(buckets) = (times.of)(sum).buckets() {
                family.push(&target(labels), Value::Spread(buckets));
            }
        }
        family
    };
    TIMES.iter().map(family).collect()
}

fn errors(shared: &Shared) -> Family {
    let mut errors: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for seat in &shared.seats {
        for (key, n) in lock(&seat.shard.errors).iter() {
            *errors.entry(*key).or_default() += n;
        }
    }
    let help = "Requests that did not end well, by how and why.";
    let mut family = Family::counter("trestle_errors_total", help);
    for ((outcome, cause), n) in errors {
        family.add(&[("outcome", outcome), ("cause", cause)], n as f64);
    }
    family
}

/// What limits did to requests.
fn limits(shared: &Shared) -> [Family; 2] {
    let admitted: u64 = shared.seats.iter().map(|seat| seat.shard.admitted.load(Relaxed)).sum();
    let mut limits: BTreeMap<[&str; 3], u64> = BTreeMap::new();
    for seat in &shared.seats {
        for (labels, n) in lock(&seat.shard.limits).iter() {
            *limits.entry(*labels).or_default() += n;
        }
    }
    let help = "Requests that limits refused, and warnings that they gave.";
    let mut did = Family::counter("trestle_limits_total", help);
    for ([owner, measure, what], n) in limits {
        did.add(&[("owner_kind", owner), ("measure", measure), ("what", what)], n as f64);
    }
    let help = "Requests of callers or models with limits that were let in.";
    [Family::counter("trestle_limits_admitted_total", help).with(&[], admitted as f64), did]
}

/// None where keys have no series.
fn keys(shared: &Shared) -> Vec<Family> {
    let mut sums: BTreeMap<_, KeySums> = BTreeMap::new();
    for seat in &shared.seats {
        seat.shard.keys.add_to(&mut sums);
    }
    if sums.is_empty() {
        return Vec::new();
    }
    let family = |(index, counter): (usize, &super::keys::KeyCounter)| {
        let mut family = Family::counter(counter.name, counter.help);
        for ((key, team), cells) in &sums {
            let n = cells[index].load(Relaxed);
            family.add(&[("key", key), ("team", team)], n as f64 / counter.scale);
        }
        family
    };
    KEY_COUNTERS.iter().enumerate().map(family).collect()
}
