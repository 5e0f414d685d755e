//! Holds the lines of a ledger against what the mocks saw and what clients got.

use crate::traffic::Got;
use std::collections::{BTreeMap, HashMap, HashSet};
use trestle_bench::mock::Tally;
use trestle_store::{Basis, Line, OutcomeKind, Tokens};

/// What was found, in numbers.
#[derive(Debug, Default)]
pub(crate) struct Report {
    requests: usize,
    /// Requests by the status that their client saw; 0 where there was none.
    statuses: BTreeMap<u16, usize>,
    lines: usize,
    seen: usize,
    /// Lines by how they ended and on what basis.
    ends: BTreeMap<(&'static str, &'static str), usize>,
    nano_usd: u64,
    /// Lines of calls that were just going out when the client left or the process was killed: no mock looked at them.
    unseen: usize,
    /// Streams that were killed, and whose estimate is below what their client had got.
    killed_below: usize,
}

impl Report {
    pub(crate) fn of(lines: &[Line], account: &[Tally], got: &[Got]) -> Self {
        let nano_usd = lines.iter().map(|line| line.nano_usd).sum();
        let (requests, seen) = (got.len(), account.len());
        let mut report = Self { requests, seen, lines: lines.len(), nano_usd, ..Self::default() };
        for got in got {
            *report.statuses.entry(got.status).or_default() += 1;
        }
        let mut calls = HashSet::new();
        for line in lines {
            assert!(calls.insert(line.call), "a call has two lines: {line:?}");
            *report.ends.entry((line.outcome.name(), line.basis.name())).or_default() += 1;
            priced(line);
        }
        report.match_calls(lines, account);
        report.match_requests(lines, got);
        report
    }

    /// Prints it.
    pub(crate) fn tell(&self, rounds: u64) {
        let Self { requests, lines, seen, nano_usd, unseen, killed_below, .. } = self;
        println!(
            "{rounds} kills: {requests} requests, {lines} lines, {seen} calls at the mocks, {nano_usd} nano-USD"
        );
        println!("answers by status: {:?}", self.statuses);
        for ((outcome, basis), count) in &self.ends {
            println!("  {outcome}, {basis}: {count}");
        }
        println!(
            "{unseen} calls were not looked at; {killed_below} killed streams are estimated below what went out"
        );
    }

    /// Each call that a mock saw has one line, and the other way round.
    fn match_calls(&mut self, lines: &[Line], account: &[Tally]) {
        let mut by_model: HashMap<&str, (Vec<&Line>, Vec<&Tally>)> = HashMap::new();
        for line in lines {
            by_model.entry(&line.vendor_model).or_default().0.push(line);
        }
        for tally in account {
            by_model.entry(&tally.model).or_default().1.push(tally);
        }
        for (model, (lines, mut tallies)) in by_model {
            assert!(tallies.len() <= lines.len(), "{model}: {tallies:#?} have only {lines:#?}");
            let mut unsure = 0;
            for line in &lines {
                if line.basis == Basis::Estimated {
                    unsure += usize::from(line.nano_usd == 0 || is_unanswered(line));
                    continue;
                }
                let at = tallies.iter().position(|tally| tells(tally, line));
                let at = at.unwrap_or_else(|| panic!("nothing reported {line:#?}: {tallies:#?}"));
                tallies.swap_remove(at);
            }
            // Of those that are left each has an estimated line.
            let estimated = lines.iter().filter(|line| line.basis == Basis::Estimated).count();
            let unseen = estimated - tallies.len();
            assert!(unseen <= unsure, "{model}: what no mock saw costs something: {lines:#?} {tallies:#?}");
            self.unseen += unseen;
            // What ended well and was reported is not estimated.
            let lost =
                lines.iter().filter(|line| (line.outcome, line.basis) == (OutcomeKind::Ok, Basis::Estimated));
            assert!(
                lost.count() == 0 || model.contains("no_usage"),
                "{model}: usage was told, and is not in the line: {lines:#?} {tallies:#?}"
            );
        }
    }

    /// What clients got is paid for.
    fn match_requests(&mut self, lines: &[Line], got: &[Got]) {
        let mut by_name: HashMap<&str, Vec<&Line>> = HashMap::new();
        for line in lines {
            let (_, name) = line.vendor_model.rsplit_once("+name=").unwrap();
            by_name.entry(name).or_default().push(line);
        }
        for got in got {
            let lines = by_name.remove(&*got.name).unwrap_or_default();
            if got.status == 200 {
                assert!(!lines.is_empty(), "an answer without a line: {got:?}");
            }
            if !got.id.is_empty() {
                assert!(lines.iter().all(|line| *line.request_id == *got.id), "{got:?}: {lines:#?}");
            }
            let attempts: HashSet<_> = lines.iter().map(|line| line.attempt).collect();
            assert_eq!(attempts.len(), lines.len(), "{got:?}: {lines:#?}");
            let most = lines.iter().map(|line| line.tokens.output).max().unwrap_or(0);
            if most >= got.events {
                continue;
            }
            let killed = lines.iter().any(|line| line.outcome == OutcomeKind::Killed);
            assert!(killed, "less is paid for than was got: {got:?}: {lines:#?}");
            self.killed_below += 1;
        }
    }

    /// A test in which little happens shows little.
    pub(crate) fn is_of_a_real_run(&self, rounds: u64) {
        let rounds = rounds as usize;
        let ended = |kind: OutcomeKind| -> usize {
            self.ends.iter().filter(|((name, _), _)| *name == kind.name()).map(|(_, count)| count).sum()
        };
        assert!(ended(OutcomeKind::Ok) > rounds * 50, "{self:#?}");
        assert!(ended(OutcomeKind::Killed) >= rounds, "{self:#?}");
        for kind in
            [OutcomeKind::Cancelled, OutcomeKind::Broken, OutcomeKind::Timeout, OutcomeKind::ProviderError]
        {
            assert!(ended(kind) > 0, "{kind:?}: {self:#?}");
        }
        for status in [200, 402, 429] {
            assert!(self.statuses.get(&status).is_some_and(|count| *count > 0), "{status}: {self:#?}");
        }
    }
}

/// Whether this call is the one that a line tells of, by what was reported.
fn tells(tally: &Tally, line: &Line) -> bool {
    if line.status >= 400 {
        return tally.status == line.status && line.nano_usd == 0;
    }
    let told = (tally.input, tally.cached, tally.output);
    tally.reported
        && told == (line.tokens.input + line.tokens.cached_read, line.tokens.cached_read, line.tokens.output)
}

/// It may have been on its way only.
fn is_unanswered(line: &Line) -> bool {
    let ended_early = matches!(line.outcome, OutcomeKind::Cancelled | OutcomeKind::Killed);
    ended_early && line.status == 0
}

/// Money is tokens by the prices of the two models; an estimate of a killed call, too.
fn priced(line: &Line) {
    let (input, cached, output) =
        if &*line.provider == "openai" { (150, 75, 600) } else { (1_000, 100, 5_000) };
    let Tokens { input: plain, cached_read, output: answered, .. } = line.tokens;
    assert_eq!(line.nano_usd, plain * input + cached_read * cached + answered * output, "{line:?}");
    assert_ne!(line.price_version, 0);
}
