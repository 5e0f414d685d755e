//! Questions about a ledger: pages of lines and sums, across segments, while it grows, and when clocks go back.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use tempfile::TempDir;
use trestle_store::{
    Basis, Cursor, Dimension, GROUPS_MAX, Intent, Journal, Ledger, Line, Options, Outcome, OutcomeKind,
    Owner, Query, SumsError, Tokens,
};

const HOUR_MS: u64 = 3_600_000;
const OPTIONS: Options =
    Options { bytes_max: 64 * 1024 * 1024, segment_bytes: 64 * 1024, keep: None, incarnation: 1 };

fn open(folder: &TempDir) -> Ledger {
    Ledger::open(folder.path(), OPTIONS).unwrap().0
}

/// Announces and settles a call; room is made where there is none.
fn call(ledger: &Ledger, journal: &Journal, intent: &Intent<'_>, outcome: &Outcome<'_>) {
    let entry = journal.announce(intent).or_else(|_| {
        ledger.tend(0);
        journal.announce(intent)
    });
    entry.unwrap().settle(outcome);
}

/// Lines of many hours over two journals and many segments. Every third one ends an hour before the one before it.
fn filled(ledger: &Ledger, count: u64) -> Vec<(u64, u128)> {
    let journals = [ledger.journal(0, 0), ledger.journal(1, 0)];
    let mut all = Vec::new();
    for n in 0..count {
        let end_ms = 10 * HOUR_MS + n * HOUR_MS / 40 - if n % 3 == 2 { HOUR_MS } else { 0 };
        let tags: Vec<Box<str>> = (0..n % 3).map(|tag| format!("tag{tag}").into()).collect();
        let (team, request_id) = (format!("team{}", n % 5), format!("request{n}"));
        let owner = Owner { customer: "c", team: &team, user: "", key: "k" };
        let intent = Intent {
            call: n.into(),
            request_id: &request_id,
            start_ms: end_ms - 500,
            owner,
            tags: &tags,
            model: "m",
            provider: if n % 2 == 0 { "one" } else { "other" },
            ..Intent::default()
        };
        let basis = if n % 7 == 0 { Basis::Estimated } else { Basis::Reported };
        let tokens = Tokens { input: n, output: 1, ..Tokens::default() };
        let kind = if n % 11 == 0 { OutcomeKind::Timeout } else { OutcomeKind::Ok };
        let outcome = Outcome { end_ms, kind, basis, tokens, nano_usd: n * 1_000, ..Outcome::default() };
        call(ledger, &journals[n as usize % 2], &intent, &outcome);
        all.push((end_ms, u128::from(n)));
    }
    all
}

fn all_pages(ledger: &Ledger, query: &Query, lines_max: usize) -> Vec<Line> {
    let (mut lines, mut after) = (Vec::new(), None);
    loop {
        let page = ledger.query(query, after, lines_max).unwrap();
        assert!(page.lines.len() <= lines_max);
        assert_eq!(page.skipped, 0);
        lines.extend(page.lines);
        match page.next {
            // As a client hands it back.
            Some(next) => after = Some(next.to_string().parse::<Cursor>().unwrap()),
            None => return lines,
        }
    }
}

/// Whether a line fits, by its end and its call.
type Fits<'a> = dyn Fn(u64, u64) -> bool + 'a;

/// Calls that fit, by a plain reading of what was written.
fn expected(all: &[(u64, u128)], fits: impl Fn(u64, u64) -> bool) -> BTreeSet<u128> {
    all.iter().filter(|(end_ms, call)| fits(*end_ms, *call as u64)).map(|(_, call)| *call).collect()
}

#[test]
fn pages_hold_every_line_that_fits_once_and_the_newest_first() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder);
    let all = filled(&ledger, 2_000);
    ledger.tend(0);
    let text = |text: &str| Some(Box::from(text));
    let team = |name| Owner { team: text(name), ..Owner::default() };
    let at = |hours: u64| hours * HOUR_MS + 1_234;
    let none = Query::default();
    let cases: [(Query, &Fits<'_>); 8] = [
        (none.clone(), &|_, _| true),
        (Query { owner: team("team3"), ..none.clone() }, &|_, n| n % 5 == 3),
        (Query { provider: text("one"), tag: text("tag1"), ..none.clone() }, &|_, n| {
            n % 2 == 0 && n % 3 == 2
        }),
        (Query { outcome: Some(OutcomeKind::Timeout), ..none.clone() }, &|_, n| n % 11 == 0),
        (Query { call: Some(77), ..none.clone() }, &|_, n| n == 77),
        (Query { request_id: text("request1999"), ..none.clone() }, &|_, n| n == 1999),
        (Query { from_ms: at(15), until_ms: at(20), ..none.clone() }, &|t, _| t >= at(15) && t < at(20)),
        (Query { model: text("another"), ..none.clone() }, &|_, _| false),
    ];
    let check = |ledger: &Ledger| {
        for ((query, fits), lines_max) in cases.iter().flat_map(|case| [(case, 37), (case, 1_000)]) {
            let lines = all_pages(ledger, query, lines_max);
            assert!(lines.is_sorted_by_key(|line| std::cmp::Reverse(line.end_ms)), "{query:?}");
            let calls: BTreeSet<_> = lines.iter().map(|line| line.call).collect();
            assert_eq!(calls.len(), lines.len(), "twice: {query:?}");
            assert_eq!(calls, expected(&all, fits), "{query:?}");
        }
    };
    check(&ledger);
    drop(ledger);
    check(&open(&folder));
}

#[test]
fn pages_are_not_moved_by_what_is_written_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder);
    let all = filled(&ledger, 600);
    let mut seen = Vec::new();
    let mut after = None;
    let journal = ledger.journal(2, 0);
    for n in 0.. {
        let page = ledger.query(&Query::default(), after, 50).unwrap();
        seen.extend(page.lines.into_iter().map(|line| line.call));
        let Some(next) = page.next else { break };
        after = Some(next);
        let end_ms = 100 * HOUR_MS + n;
        call(
            &ledger,
            &journal,
            &Intent { call: u128::MAX - u128::from(n), ..Intent::default() },
            &Outcome { end_ms, ..Outcome::default() },
        );
        ledger.tend(0);
    }
    let calls: BTreeSet<_> = seen.iter().copied().collect();
    assert_eq!(calls.len(), seen.len());
    assert_eq!(calls, expected(&all, |_, _| true));
}

/// Sums by a plain reading of all lines: calls, input and money, reported and estimated.
fn plain(ledger: &Ledger, query: &Query, group: impl Fn(&Line) -> String) -> Vec<(String, [u128; 6])> {
    let mut sums = std::collections::BTreeMap::<String, [u128; 6]>::new();
    for line in all_pages(ledger, query, 1_000) {
        let sum = sums.entry(group(&line)).or_default();
        let from = if line.basis == Basis::Reported { 0 } else { 3 };
        let more = [1, line.tokens.input.into(), line.nano_usd.into()];
        sum[from..].iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
    }
    sums.into_iter().collect()
}

fn summed(ledger: &Ledger, query: &Query, by: &[Dimension]) -> Vec<(String, [u128; 6])> {
    let sums = ledger.sums(query, by).unwrap();
    let of = |t: trestle_store::Totals| [t.calls.into(), t.tokens.input.into(), t.nano_usd];
    let both = |r: [u128; 3], e: [u128; 3]| [r[0], r[1], r[2], e[0], e[1], e[2]];
    sums.into_iter().map(|sum| (sum.group.join(" "), both(of(sum.reported), of(sum.estimated)))).collect()
}

#[test]
fn sums_are_those_of_the_lines() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder);
    let all = filled(&ledger, 2_000);
    ledger.tend(0);
    let hour = |line: &Line| {
        format!("1970-01-{:02}T{:02}:00:00Z", 1 + line.end_ms / HOUR_MS / 24, line.end_ms / HOUR_MS % 24)
    };
    let queries = [
        Query::default(),
        Query { from_ms: 15 * HOUR_MS, until_ms: 30 * HOUR_MS, ..Query::default() },
        Query { from_ms: 15 * HOUR_MS + 99, until_ms: 30 * HOUR_MS + 1, ..Query::default() },
        Query { provider: Some("one".into()), tag: Some("tag0".into()), ..Query::default() },
        Query { outcome: Some(OutcomeKind::Timeout), ..Query::default() },
    ];
    let check = |ledger: &Ledger| {
        for query in &queries {
            let by_team = plain(ledger, query, |line| format!("{} {}", line.owner.team, hour(line)));
            assert_eq!(summed(ledger, query, &[Dimension::Team, Dimension::Hour]), by_team, "{query:?}");
            assert_eq!(summed(ledger, query, &[]), plain(ledger, query, |_| String::new()));
            let by_day = plain(ledger, query, |line| hour(line)[..10].to_owned());
            assert_eq!(summed(ledger, query, &[Dimension::Day]), by_day);
        }
    };
    check(&ledger);
    let files = || std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
    let summaries = || files().filter(|path| path.extension().is_some_and(|end| end == "sums"));
    assert!(summaries().count() > 5, "segments are sealed while the ledger is open");
    // A line with two tags counts in both, one without in the group that has no name.
    let of_tags = |rest: u64| all.iter().filter(|(_, call)| *call as u64 % 3 == rest).count() as u128;
    let calls = summed(&ledger, &Query::default(), &[Dimension::Tag]);
    let calls: Vec<_> = calls.iter().map(|(tag, sums)| (&tag[..], sums[0] + sums[3])).collect();
    assert_eq!(calls, [("", of_tags(0)), ("tag0", of_tags(1) + of_tags(2)), ("tag1", of_tags(2))]);
    drop(ledger);
    // Summaries that are gone, damaged, or of something else are made again.
    for (n, path) in summaries().enumerate() {
        match n % 3 {
            0 => std::fs::remove_file(path).unwrap(),
            1 => std::fs::write(&path, &std::fs::read(&path).unwrap()[1..]).unwrap(),
            _ => {}
        }
    }
    let ledger = open(&folder);
    check(&ledger);
    assert_eq!(
        summed(&ledger, &Query::default(), &[])[0].1[0] + summed(&ledger, &Query::default(), &[])[0].1[3],
        2_000
    );
}

#[test]
fn sums_of_too_many_groups_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = open(&folder);
    let journal = ledger.journal(0, 0);
    for n in 0..=GROUPS_MAX {
        let user = format!("{n}");
        let owner = Owner { user: &user[..], ..Owner::default() };
        call(&ledger, &journal, &Intent { owner, ..Intent::default() }, &Outcome::default());
    }
    let by_user = ledger.sums(&Query::default(), &[Dimension::User]);
    assert!(matches!(by_user, Err(SumsError::TooManyGroups)));
    let query = Query { owner: Owner { user: Some("7".into()), ..Owner::default() }, ..Query::default() };
    assert_eq!(ledger.sums(&query, &[Dimension::User]).unwrap().len(), 1);
}

#[test]
fn texts_that_are_no_cursors_are_refused() {
    for text in ["", "1", "1.2", "1.2.x", "1.2.3.4", "é.1.2", "1.2.fffffffffffffffff"] {
        assert!(text.parse::<Cursor>().is_err(), "{text}");
    }
}
