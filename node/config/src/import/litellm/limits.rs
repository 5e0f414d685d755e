//! Budgets and rate limits of LiteLLM.

use super::{Draft, vendor};
use crate::{
    TeamEntry,
    import::{
        limit::{self, Alignment, One, Span},
        members::{Members, Remarks},
        report::{Place, Report},
    },
};

const TEAM: Remarks<'static> = &[
    ("team_alias", "is not carried over; the team has the name of its id"),
    ("models", "has no equivalent; see `models` of a key"),
    ("soft_budget", "is not carried over; write `warn_at` of the budget"),
    ("success_callback", "has no equivalent yet; `/metrics` serves Prometheus"),
    ("failure_callback", "has no equivalent yet; `/metrics` serves Prometheus"),
    ("langfuse_project_name", "has no equivalent yet"),
];

/// What members say of budgets and rates, or nothing.
pub(super) fn read(members: &mut Members, report: &mut Report) -> Vec<One> {
    let mut found = Vec::new();
    found.extend(budget(members, ("max_budget", "budget_duration"), report));
    for (name, make) in
        [("tpm_limit", One::tokens as fn(u64, &Span, &Place) -> One), ("rpm_limit", One::requests)]
    {
        let place = members.at(name);
        if let (Some(most), Some(minute)) =
            (members.whole(name, report), limit::span("1m", Alignment::Rolling))
        {
            found.push(make(most, &minute, &place));
        }
    }
    found.extend(parallel(members, "max_parallel_requests", report));
    found
}

/// Calls at once.
pub(super) fn parallel(members: &mut Members, name: &str, report: &mut Report) -> Option<One> {
    let place = members.at(name);
    members.whole(name, report).map(|most| One::concurrent(most, &place))
}

/// A budget; without a time it is for ever, as there.
pub(super) fn budget(members: &mut Members, (most, time): (&str, &str), report: &mut Report) -> Option<One> {
    let (place, at) = (members.at(most), members.at(time));
    let text = members.text(time, report);
    let most = members.number(most, report)?;
    let span = match text {
        None => {
            report.note(
                &place,
                format!("is for ever there; here it is over `{}`, the longest time", limit::EVER),
            );
            Span::ever()
        }
        Some(text) => limit::span(&text, Alignment::Rolling).unwrap_or_else(|| {
            report.note(&at, format!("is no time that is known here; `{}` is set, the longest", limit::EVER));
            Span::ever()
        }),
    };
    span.remark.into_iter().for_each(|remark| report.note(&at, remark));
    Some(One::budget(most, &span, &place))
}

impl Draft {
    /// Teams that are in the file; those in the database are not.
    pub(super) fn teams(&mut self, library: &mut Members, report: &mut Report) {
        for (place, value) in library.list("default_team_settings", report).unwrap_or_default() {
            let Some(mut team) = Members::new(value, place.clone(), report) else { continue };
            let id = team.text("team_id", report);
            let (limits, budgets) = limit::together(read(&mut team, report), report);
            team.rest(TEAM, report);
            let Some(id) = id else {
                report.note(&place, "has no `team_id` and is left out");
                continue;
            };
            let name = self.teams.take(&id);
            self.origins.add("teams", &name, &place);
            self.document.teams.insert(name, TeamEntry { limits, budgets, ..TeamEntry::default() });
        }
    }

    /// Budgets of vendors. Where a vendor has several accounts here, each gets its share, so that they are not more together.
    pub(super) fn provider_budgets(&mut self, router: &mut Members, report: &mut Report) {
        let Some(vendors) = router.object("provider_budget_config", report) else { return };
        for (theirs, place, value) in vendors.entries() {
            let Some(mut entry) = Members::new(value, place.clone(), report) else { continue };
            let most = entry.number("budget_limit", report).or_else(|| entry.number("max_budget", report));
            let time = entry.text("time_period", report).or_else(|| entry.text("budget_duration", report));
            entry.rest(&[], report);
            let span = time.and_then(|time| limit::span(&time, Alignment::Rolling));
            let (Some(most), Some(span)) = (most, span) else {
                report.note(&place, "has no amount and time that are known here, and is left out");
                continue;
            };
            let ours = vendor::find(&theirs).map_or(theirs.as_str(), |vendor| vendor.ours);
            let accounts = self.document.providers.iter_mut();
            let accounts =
                accounts.filter(|(name, entry)| entry.like.as_deref().unwrap_or(name.as_str()) == ours);
            let mut accounts: Vec<_> = accounts.map(|(_, entry)| entry).collect();
            match accounts.len() {
                0 => report.note(&place, "is for a provider that is not carried over, and left out"),
                1 => {}
                count => report.note(&place, format!("is split over {count} providers, in equal shares")),
            }
            span.remark.into_iter().for_each(|remark| report.note(&place, remark));
            let share = most / accounts.len().max(1) as f64;
            for entry in &mut accounts {
                let (_, budgets) = limit::together(vec![One::budget(share, &span, &place)], report);
                entry.budgets = budgets;
            }
        }
    }

    /// What holds for all calls there is set for the one key of the file.
    pub(super) fn bound_master(&mut self, report: &mut Report) {
        let found = std::mem::take(&mut self.bounds);
        for one in &found {
            let message = "is set for the key `master`; keys that are made later need `limits` and `budgets` of their own, or a team that has them";
            report.note(one.place(), message);
        }
        if let Some(key) = self.document.keys.get_mut("master") {
            (key.limits, key.budgets) = limit::together(found, report);
        }
    }
}
