//! The limits of one owner: each by itself, then all against one another.

use super::{
    downgrade,
    per::{self, Per},
    written::{self, Draft, Written},
};
use crate::{
    Limit, Limits, Measure, Mode, OnPartition, OnShort, Override, Owner,
    compile::{check_name, names::Names},
    path::Path,
    problem::Findings,
};
use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// Most limits and budgets of one owner: a call is held against all of them.
const LIMITS_MAX: usize = 16;
/// Most overrides of one limit, and most windows of one override.
const OVERRIDES_MAX: usize = 64;
const WINDOWS_MAX: u32 = 100_000;
/// Most percents of one limit.
const WARNINGS_MAX: usize = 16;

/// A limit, and where it stands.
struct Placed {
    list: &'static str,
    index: usize,
    per: Per,
    limit: Limit,
}

impl Placed {
    fn place(&self) -> String {
        format!("{}[{}]", self.list, self.index)
    }
}

/// The limits of an owner, those of `limits` first; `path` is that of the owner.
pub(in crate::compile) fn compile(
    owner: &Owner,
    written: Written<'_>,
    names: &Names<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Limits {
    if written.limits.len() + written.budgets.len() > LIMITS_MAX {
        findings.problem(path, format!("has more than {LIMITS_MAX} limits and budgets; remove some"));
        return Limits::default();
    }
    let mut made = Vec::new();
    let list = path.member("limits");
    for (index, entry) in written.limits.iter().enumerate() {
        let path = list.item(index);
        let draft = written::limit(entry, &path, findings);
        let read = draft.and_then(|draft| one(owner, &draft, names, &path, findings));
        made.extend(read.map(|(per, limit)| Placed { list: "limits", index, per, limit }));
    }
    let list = path.member("budgets");
    for (index, entry) in written.budgets.iter().enumerate() {
        let path = list.item(index);
        let draft = written::budget(entry, &path, findings);
        let read = draft.and_then(|draft| one(owner, &draft, names, &path, findings));
        made.extend(read.map(|(per, limit)| Placed { list: "budgets", index, per, limit }));
    }
    against_one_another(&made, path, findings);
    made.into_iter().map(|placed| Arc::new(placed.limit)).collect()
}

fn one(
    owner: &Owner,
    draft: &Draft<'_>,
    names: &Names<'_>,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Option<(Per, Limit)> {
    if let Some(name) = draft.name {
        check_name(name, &path.member("name"), findings);
    }
    let cut = matches!(draft.measure, Measure::Tokens | Measure::OutputTokens | Measure::NanoUsd);
    if draft.on_short == OnShort::Clamp && !cut {
        let message = "cannot be `clamp`: a shorter answer uses no less of this; remove it";
        findings.problem(&path.member("on_short"), message);
    }
    if draft.on_partition == OnPartition::Optimistic && draft.mode == Mode::Strict {
        let message =
            "cannot be `optimistic` where `mode` is `strict`, which is never passed; remove one of them";
        findings.problem(&path.member("on_partition"), message);
    }
    downgrade::check(draft.at_limit, (owner, names), &path.member("at_limit"), findings);
    let per = time(draft, path, findings)?;
    let overrides = overrides(draft, per, &path.member("overrides"), findings);
    let name = draft.name.map_or_else(
        || match per {
            Per::Now => draft.measure.word().to_owned(),
            per => format!("{}/{per}", draft.measure.word()),
        },
        str::to_owned,
    );
    Some((
        per,
        Limit {
            id: owner.limit_id(&name),
            owner: owner.clone(),
            name: name.into(),
            measure: draft.measure,
            amount: draft.amount,
            window: per::window_of(per),
            mode: draft.mode,
            on_short: draft.on_short,
            on_partition: draft.on_partition,
            at_limit: draft.at_limit.clone(),
            warn_at: warnings(draft.warn_at, &path.member("warn_at"), findings),
            overrides,
        },
    ))
}

fn time(draft: &Draft<'_>, path: &Path<'_>, findings: &mut Findings) -> Option<Per> {
    let read = per::read(draft.per, path, findings);
    let path = path.member("per");
    match (draft.measure, draft.per.per) {
        (Measure::Concurrent, None) => Some(Per::Now),
        (Measure::Concurrent, Some(_)) => {
            findings.problem(&path, "has no use, for calls that run at once have no time; remove it");
            None
        }
        (_, None) => {
            findings.problem(&path, "is missing; write a length such as `1m`, or one such as `month`");
            None
        }
        (_, Some(_)) => read,
    }
}

fn warnings(percents: &[u8], path: &Path<'_>, findings: &mut Findings) -> Box<[u8]> {
    if percents.len() > WARNINGS_MAX {
        findings.problem(path, format!("are more than {WARNINGS_MAX}; remove some"));
    }
    let mut percents = percents.to_vec();
    percents.sort_unstable();
    percents.dedup();
    percents.into()
}

fn overrides(draft: &Draft<'_>, per: Per, path: &Path<'_>, findings: &mut Findings) -> Box<[Override]> {
    if draft.overrides.len() > OVERRIDES_MAX {
        findings.problem(path, format!("are more than {OVERRIDES_MAX}; remove those that are over"));
    }
    if per == Per::Now && !draft.overrides.is_empty() {
        findings.problem(path, "have no use, for calls that run at once have no windows; remove them");
    }
    let window = per::window_of(per);
    let mut made: Vec<Override> = Vec::new();
    for change in draft.overrides.iter().take(OVERRIDES_MAX) {
        let path = path.item(change.index);
        let Ok(from) = humantime::parse_rfc3339(change.from) else {
            let message = "is not a time in UTC; write it as `2027-01-31T00:00:00Z`";
            findings.problem(&path.member("from"), message);
            continue;
        };
        if !(1..=WINDOWS_MAX).contains(&change.windows) {
            let message = format!("is {}; must be from 1 to {WINDOWS_MAX}", change.windows);
            findings.problem(&path.member("windows"), message);
            continue;
        }
        let from = window.id_at(unix_ms(from));
        let length = u64::from(change.windows) * per::parts(per);
        let until = trestle_counters::WindowId(from.0.saturating_add(length));
        if made.iter().any(|other| from < other.until && other.from < until) {
            findings.problem(&path, "has windows of another one; let each begin where the one before ends");
        }
        made.push(Override { from, until, amount: change.amount });
    }
    made.into()
}

fn unix_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    since.as_millis().try_into().unwrap_or(u64::MAX)
}

fn against_one_another(made: &[Placed], path: &Path<'_>, findings: &mut Findings) {
    for (at, one) in made.iter().enumerate() {
        let own = path.member(one.list);
        let own = own.item(one.index);
        let limit = &one.limit;
        let earlier = made.get(..at).unwrap_or_default();
        let same = |other: &&Placed| (other.limit.measure, other.per) == (limit.measure, one.per);
        if let Some(other) = earlier.iter().find(same) {
            let message =
                format!("counts the same over the same time as `{}`; keep the smaller one", other.place());
            findings.problem(&own, message);
        } else if let Some(other) = earlier.iter().find(|other| other.limit.name == limit.name) {
            let message = format!(
                "is called `{}` as `{}` is; give one of them another `name`",
                limit.name,
                other.place()
            );
            findings.problem(&own, message);
        }
        // One that is shorter and allows more is never reached: a mistake in one of the two.
        let shorter = |other: &&Placed| {
            other.limit.measure == limit.measure
                && one.per.span().1 < other.per.span().0
                && limit.amount > other.limit.amount
        };
        if let Some(other) = made.iter().find(shorter) {
            let message = format!(
                "is never reached, for `{}` allows less in a longer time; lower this one, raise that one, or remove one",
                other.place()
            );
            findings.problem(&own, message);
        }
    }
}
