//! A limit or a budget as it is written, in one form for both.

use super::{per, usd};
use crate::{
    AtLimit, BudgetEntry, LimitEntry, Measure, Mode, OnPartition, OnShort, path::Path, problem::Findings,
    suggest::list,
};

/// The most that a limit may allow. Sums of such amounts stay far from what 64 bits hold.
const AMOUNT_MAX: u64 = 1_000_000_000_000_000_000;

/// What is counted, by the member that says how much of it.
const MEASURES: [(&str, Measure); 5] = [
    ("requests", Measure::Requests),
    ("tokens", Measure::Tokens),
    ("input_tokens", Measure::InputTokens),
    ("output_tokens", Measure::OutputTokens),
    ("concurrent", Measure::Concurrent),
];

/// The limits and budgets of an owner, as they are written.
#[derive(Clone, Copy)]
pub(in crate::compile) struct Written<'a> {
    pub(in crate::compile) limits: &'a [LimitEntry],
    pub(in crate::compile) budgets: &'a [BudgetEntry],
}

/// One of them, what it allows already read.
pub(super) struct Draft<'a> {
    pub(super) measure: Measure,
    pub(super) amount: u64,
    pub(super) name: Option<&'a str>,
    pub(super) per: per::Text<'a>,
    pub(super) mode: Mode,
    pub(super) on_short: OnShort,
    pub(super) on_partition: OnPartition,
    pub(super) at_limit: &'a AtLimit,
    pub(super) warn_at: &'a [u8],
    /// Each with the amount, the time it begins at, and the number of windows; those that are wrong are left out.
    pub(super) overrides: Vec<Change<'a>>,
}

/// Another amount for some windows.
pub(super) struct Change<'a> {
    pub(super) index: usize,
    pub(super) amount: u64,
    pub(super) from: &'a str,
    pub(super) windows: u32,
}

impl Measure {
    /// What it is called in names of limits: the same for ever.
    pub(super) fn word(self) -> &'static str {
        let found = MEASURES.iter().find(|(_, measure)| *measure == self);
        found.map_or("usd", |(word, _)| word)
    }
}

/// `None` after a problem; `path` is that of the limit.
pub(super) fn limit<'a>(
    entry: &'a LimitEntry,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Option<Draft<'a>> {
    let amounts = [entry.requests, entry.tokens, entry.input_tokens, entry.output_tokens, entry.concurrent];
    let mut set = MEASURES.iter().zip(amounts).filter_map(|(measure, amount)| Some((measure, amount?)));
    let (Some(((word, measure), amount)), None) = (set.next(), set.next()) else {
        let words = list(MEASURES.map(|(word, _)| word));
        findings.problem(path, format!("needs exactly one of {words}; write a limit for each"));
        return None;
    };
    within(amount, &path.member(word), findings);
    let changes = entry.overrides.iter().enumerate().map(|(index, other)| {
        within(other.amount, &path.member("overrides").item(index).member("amount"), findings);
        Change { index, amount: other.amount, from: &other.from, windows: other.windows }
    });
    let overrides = changes.collect();
    Some(Draft {
        measure: *measure,
        amount,
        name: entry.name.as_deref(),
        per: per::Text {
            per: entry.per.as_deref(),
            week_starts: entry.week_starts,
            year_starts: entry.year_starts,
        },
        mode: entry.mode.unwrap_or(Mode::Soft),
        on_short: entry.on_short.unwrap_or(OnShort::Refuse),
        on_partition: entry.on_partition.unwrap_or(OnPartition::Share),
        at_limit: entry.at_limit.as_ref().unwrap_or(&AtLimit::Refuse),
        warn_at: &entry.warn_at,
        overrides,
    })
}

/// `None` after a problem; `path` is that of the budget.
pub(super) fn budget<'a>(
    entry: &'a BudgetEntry,
    path: &Path<'_>,
    findings: &mut Findings,
) -> Option<Draft<'a>> {
    let amount = usd::nano(&entry.usd).map_err(|why| findings.problem(&path.member("usd"), why));
    let changes = entry.overrides.iter().enumerate().filter_map(|(index, other)| {
        let path = path.member("overrides");
        let path = path.item(index);
        let amount = usd::nano(&other.usd).map_err(|why| findings.problem(&path.member("usd"), why));
        Some(Change { index, amount: amount.ok()?, from: &other.from, windows: other.windows })
    });
    let overrides = changes.collect();
    Some(Draft {
        measure: Measure::NanoUsd,
        amount: amount.ok()?,
        name: entry.name.as_deref(),
        per: per::Text {
            per: Some(&entry.per),
            week_starts: entry.week_starts,
            year_starts: entry.year_starts,
        },
        mode: entry.mode.unwrap_or(Mode::Strict),
        on_short: entry.on_short.unwrap_or(OnShort::Refuse),
        on_partition: entry.on_partition.unwrap_or(OnPartition::Share),
        at_limit: entry.at_limit.as_ref().unwrap_or(&AtLimit::Refuse),
        warn_at: &entry.warn_at,
        overrides,
    })
}

fn within(amount: u64, path: &Path<'_>, findings: &mut Findings) {
    if amount > AMOUNT_MAX {
        findings.problem(path, format!("is more than {AMOUNT_MAX}, the most there is"));
    }
}
