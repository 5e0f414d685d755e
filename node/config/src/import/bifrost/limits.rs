//! Budgets and rate limits of Bifrost, and who has them.

use crate::import::{
    limit::{self, Alignment, One, Span},
    members::{Members, Remarks},
    report::{Place, Report},
};
use crate::{BudgetEntry, LimitEntry};
use serde_json::Value;
use std::collections::BTreeMap;

const STATE: &str = "is not carried over: counting begins anew";

const BUDGET: Remarks<'static> = &[
    ("current_usage", STATE),
    ("last_reset", STATE),
    ("override_amount", "is not carried over; write `overrides` of the budget"),
    ("reset_config", "has no equivalent; see `year_starts` of a budget"),
];

const RATE_LIMIT: Remarks<'static> = &[
    ("token_current_usage", STATE),
    ("token_last_reset", STATE),
    ("request_current_usage", STATE),
    ("request_last_reset", STATE),
];

/// Budgets and rate limits that owners refer to by their ids.
#[derive(Default)]
pub(super) struct Book {
    budgets: BTreeMap<String, Kept>,
    rate_limits: BTreeMap<String, Kept>,
}

/// One of them, and whether somebody has it.
struct Kept {
    place: Place,
    value: Value,
    used: bool,
}

/// What an owner has.
#[derive(Default)]
pub(super) struct Bounds {
    pub(super) limits: Vec<LimitEntry>,
    pub(super) budgets: Vec<BudgetEntry>,
    /// Something of it could not be read: then nobody may be let through by it.
    pub(super) broken: bool,
}

impl Book {
    pub(super) fn read(governance: &mut Members, report: &mut Report) -> Self {
        let mut book = Self::default();
        for (list, kept) in [("budgets", &mut book.budgets), ("rate_limits", &mut book.rate_limits)] {
            for (place, value) in governance.list(list, report).unwrap_or_default() {
                match value.get("id").and_then(Value::as_str).map(str::to_owned) {
                    Some(id) => drop(kept.insert(id, Kept { place, value, used: false })),
                    None => report.note(&place, "has no `id`, so nobody has it, and is left out"),
                }
            }
        }
        book
    }

    /// Notes what nobody has.
    pub(super) fn rest(self, report: &mut Report) {
        for kept in self.budgets.into_values().chain(self.rate_limits.into_values()).filter(|kept| !kept.used)
        {
            report.note(&kept.place, "is of nobody that is carried over, and left out");
        }
    }

    /// What an owner has, by the members that say so.
    pub(super) fn of(&mut self, owner: &mut Members, report: &mut Report) -> Bounds {
        let calendar = owner.flag("calendar_aligned", report) == Some(true);
        let alignment = if calendar { Alignment::Calendar } else { Alignment::Rolling };
        let mut found = Found { all: Vec::new(), broken: false, alignment };
        for (place, value) in owner.list("budgets", report).unwrap_or_default() {
            self.one(Kind::Budget, (place, value), &mut found, report);
        }
        for (name, kind) in
            [("budget_id", Kind::Budget), ("rate_limit_id", Kind::RateLimit), ("rate_limit", Kind::RateLimit)]
        {
            if let Some(value) = owner.take(name) {
                self.one(kind, (owner.at(name), value), &mut found, report);
            }
        }
        let (limits, budgets) = limit::together(found.all, report);
        Bounds { limits, budgets, broken: found.broken }
    }

    fn one(&mut self, kind: Kind, (place, value): (Place, Value), found: &mut Found, report: &mut Report) {
        let kept = match kind {
            Kind::Budget => &mut self.budgets,
            Kind::RateLimit => &mut self.rate_limits,
        };
        let (at, value) = match value {
            Value::String(id) => match kept.get_mut(&id) {
                Some(kept) => {
                    kept.used = true;
                    (kept.place.clone(), kept.value.clone())
                }
                None => {
                    found.broken = true;
                    return report.note(&place, "names none that is in the file");
                }
            },
            value => (place, value),
        };
        let Some(members) = Members::new(value, at, report) else { return };
        match kind {
            Kind::Budget => found.budget(members, report),
            Kind::RateLimit => found.rate_limit(members, report),
        }
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Budget,
    RateLimit,
}

/// What was found of an owner so far.
struct Found {
    all: Vec<One>,
    broken: bool,
    alignment: Alignment,
}

impl Found {
    fn budget(&mut self, mut members: Members, report: &mut Report) {
        let place = members.place.clone();
        members.take("id");
        if members.flag("calendar_aligned", report) == Some(true) {
            self.alignment = Alignment::Calendar;
        }
        let most = members.number("max_limit", report);
        let span = self.span(&mut members, "reset_duration", report);
        members.rest(BUDGET, report);
        match (most, span) {
            (Some(most), Some(span)) => self.all.push(One::budget(most, &span, &place)),
            _ => {
                self.broken = true;
                report.note(&place, "has no amount and time that can be said here, and is left out");
            }
        }
    }

    fn rate_limit(&mut self, mut members: Members, report: &mut Report) {
        let place = members.place.clone();
        members.take("id");
        for (most, time, make) in [
            ("token_max_limit", "token_reset_duration", One::tokens as fn(u64, &Span, &Place) -> One),
            ("request_max_limit", "request_reset_duration", One::requests),
        ] {
            let at = place.member(most);
            let Some(most) = members.whole(most, report) else {
                // A time without an amount says nothing.
                members.take(time);
                continue;
            };
            match self.span(&mut members, time, report) {
                Some(span) => self.all.push(make(most, &span, &at)),
                None => {
                    self.broken = true;
                    report.note(&at, "has no time that can be said here, and is left out");
                }
            }
        }
        members.rest(RATE_LIMIT, report);
    }

    fn span(&self, members: &mut Members, name: &str, report: &mut Report) -> Option<Span> {
        let place = members.at(name);
        let text = members.text(name, report);
        let span = text.and_then(|text| limit::span(&text, self.alignment));
        match &span {
            None => report.note(&place, "is no time that is known here, such as `1h`, `1d` or `1M`"),
            Some(span) => span.remark.into_iter().for_each(|remark| report.note(&place, remark)),
        }
        span
    }
}
