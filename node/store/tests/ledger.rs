//! What a ledger is told is what it tells: across threads, restarts, and the ends of segments.
#![allow(clippy::unwrap_used)]

use std::{
    os::unix::fs::PermissionsExt,
    sync::atomic::{AtomicU64, Ordering},
};
use tempfile::TempDir;
use trestle_store::{
    AnnounceError, Basis, CHARGES_MAX, Change, Charge, Entry, Intent, Journal, Ledger, OpenError, Options,
    Outcome, OutcomeKind, Owner, Position, Query, Short, TAGS_MAX, TEXT_BYTES_MAX, Tokens,
};

fn options() -> Options {
    Options { bytes_max: 1024 * 1024, segment_bytes: 64 * 1024, keep: None, incarnation: 7 }
}

fn open(folder: &TempDir) -> (Ledger, trestle_store::Recovery) {
    Ledger::open(folder.path(), options()).unwrap()
}

const CHARGE: Charge = Charge { limit: 1, subject: 2, window_kind: 3, window: 4, amount: 5 };

fn intent(call: u128) -> Intent<'static> {
    let tokens = Tokens { input: 10, output: 20, ..Tokens::default() };
    Intent {
        call,
        request_id: "r",
        start_ms: 1_000,
        tokens,
        nano_usd: 30,
        charges: &[CHARGE],
        ..Intent::default()
    }
}

#[test]
fn a_call_that_was_open_is_closed_at_the_next_start_and_only_once() {
    let folder = tempfile::tempdir().unwrap();
    let (ledger, _) = open(&folder);
    let journal = ledger.journal(0, 0);
    std::mem::forget(journal.announce(&intent(1)).unwrap());
    let entry = journal.announce(&intent(2)).unwrap();
    entry.settle(&Outcome {
        end_ms: 1_500,
        basis: Basis::Reported,
        nano_usd: 4,
        amounts: &[3],
        ..Outcome::default()
    });
    drop(journal.announce(&intent(3)).unwrap());
    let seen = |ledger: &Ledger| {
        let mut seen = Vec::new();
        let visit = &mut |change: Change<'_>| {
            seen.push(match change {
                Change::Held { call, charges, .. } => (call, charges.len() as u64, 0),
                Change::Settled { call, amounts, .. } => (call, 0, amounts[0]),
            });
        };
        ledger.replay(&Position::default(), &ledger.position(), visit).unwrap();
        seen
    };
    let before = seen(&ledger);
    assert_eq!(before, [(1, 1, 0), (2, 1, 0), (2, 0, 3), (3, 1, 0), (3, 0, 5)]);
    // As after a kill: nothing of the old process holds the lock, but nothing was closed either.
    let copy = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()) {
        std::fs::copy(&file, copy.path().join(file.file_name().unwrap())).unwrap();
    }
    let (again, recovery) = open(&copy);
    let [line] = &recovery.closed[..] else { panic!("{recovery:?}") };
    assert_eq!((line.call, line.outcome, line.nano_usd), (1, OutcomeKind::Killed, 30));
    assert_eq!(recovery.damage, Default::default());
    assert_eq!(seen(&again), [before, vec![(1, 0, 5)]].concat());
    drop(again);
    assert!(open(&copy).1.closed.is_empty());
}

#[test]
fn the_page_that_is_written_is_left_for_the_next_time_but_not_longer() {
    let folder = tempfile::tempdir().unwrap();
    let (ledger, _) = open(&folder);
    let journal = ledger.journal(0, 0);
    ledger.sync().unwrap();
    for call in 1..=100 {
        journal.announce(&intent(call)).unwrap().settle(&Outcome::default());
    }
    let written = ledger.lag().bytes;
    assert!(written > 2 * 4096, "{written}");
    let behind = ledger.sync_behind().unwrap();
    let left = ledger.lag().bytes;
    assert!(left > 0 && left < 8192, "{left} of {written}");
    assert_ne!(behind, ledger.position());
    // It ends between two lines: all of them are told, each once, in one part or the other.
    let mut told = 0;
    let count = &mut |_: Change<'_>| told += 1;
    let skipped = ledger.replay(&Position::default(), &behind, count).unwrap();
    assert_eq!(skipped + ledger.replay(&behind, &ledger.position(), count).unwrap(), 0);
    assert_eq!(told, 200);
    // Nothing came meanwhile: now it is its turn.
    assert_eq!(ledger.sync_behind().unwrap(), ledger.position());
    assert_eq!(ledger.lag().bytes, 0);
}

/// Announces calls until there is no room, however much is made; none is settled.
fn fill(ledger: &Ledger, journal: &Journal) -> Vec<Entry> {
    let mut entries = Vec::new();
    loop {
        match journal.announce(&intent(entries.len() as u128)) {
            Ok(entry) => entries.push(entry),
            Err(error) => {
                assert_eq!(error, AnnounceError::Full);
                if ledger.tend(0).short.is_some() {
                    return entries;
                }
            }
        }
    }
}

fn count(ledger: &Ledger) -> u64 {
    ledger
        .sums(&Query::default(), &[])
        .unwrap()
        .iter()
        .map(|sum| sum.reported.calls + sum.estimated.calls)
        .sum()
}

#[test]
fn a_full_ledger_refuses_calls_and_settles_those_that_are_open() {
    let folder = tempfile::tempdir().unwrap();
    let (ledger, _) = open(&folder);
    let journal = ledger.journal(0, 0);
    let entries = fill(&ledger, &journal);
    assert!(matches!(ledger.tend(0).short, Some(Short::BytesMax)));
    let room = ledger.room();
    assert!(room.bytes <= room.bytes_max && room.bytes + 64 * 1024 > room.bytes_max, "{room:?}");
    let announced = entries.len() as u64;
    // The longest outcomes that can be.
    let tier = "é".repeat(1_000);
    let count_of_each = u64::MAX;
    let tokens = Tokens { input: count_of_each, characters: count_of_each, ..Tokens::default() };
    for entry in entries {
        let end_ms = u64::MAX - 1;
        entry.settle(&Outcome {
            end_ms,
            tokens,
            nano_usd: u64::MAX,
            service_tier: &tier,
            amounts: &[u64::MAX; 40],
            ..Outcome::default()
        });
    }
    assert_eq!(count(&ledger), announced);
    let line = ledger.query(&Query::default(), None, 1).unwrap().lines.remove(0);
    assert_eq!(
        (line.tokens, line.nano_usd, &*line.service_tier),
        (tokens, u64::MAX, &tier[..TEXT_BYTES_MAX])
    );
    // What is sealed takes no more room than it needs, so there is some again.
    assert!(ledger.tend(0).refused.is_none());
    let less = ledger.room().bytes;
    drop(journal);
    ledger.tend(0);
    assert!(ledger.room().bytes < less, "what was prepared for a journal that is gone is kept");
    drop(ledger);
    assert_eq!(count(&open(&folder).0), announced);
}

#[test]
fn what_is_too_old_is_dropped_and_nothing_that_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let day_ms = 24 * 60 * 60 * 1_000;
    let keep = Some(std::time::Duration::from_millis(10 * day_ms));
    let (ledger, _) = Ledger::open(folder.path(), Options { keep, ..options() }).unwrap();
    let journal = ledger.journal(0, 0);
    // A day is a segment, as soon as there is a spare one.
    let mut held = None;
    for day in 0..30 {
        let now_ms = day * day_ms + 1_000;
        let entry = journal.announce(&Intent { start_ms: now_ms, ..intent(day.into()) }).unwrap();
        match day {
            5 => held = Some(entry),
            _ => entry.settle(&Outcome { end_ms: now_ms, ..Outcome::default() }),
        }
        ledger.tend(now_ms);
    }
    let calls = |ledger: &Ledger| {
        let page = ledger.query(&Query::default(), None, 100).unwrap();
        page.lines.into_iter().map(|line| line.call).collect::<Vec<_>>()
    };
    // Segments end a day and more after they were made: here every other day.
    let kept = calls(&ledger);
    assert!(kept.starts_with(&[29, 28, 27]) && kept.contains(&20), "{kept:?}");
    // The segment with the call that is open holds its neighbour as well.
    assert!(kept.iter().all(|call| *call >= 18 || *call == 4), "{kept:?}");
    held.take().unwrap().settle(&Outcome { end_ms: 30 * day_ms, ..Outcome::default() });
    assert!(calls(&ledger).starts_with(&[5, 29]));
    ledger.tend(30 * day_ms);
    assert!(calls(&ledger).contains(&5), "it has only just ended");
    assert!(ledger.tend(50 * day_ms).dropped_lines > 0);
    assert_eq!(calls(&ledger), [29, 28], "what is written now is never dropped");
}

#[test]
fn a_folder_is_opened_once_and_is_its_owners_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("deeper/ledger");
    let (ledger, _) = Ledger::open(&path, options()).unwrap();
    let journal = ledger.journal(0, 0);
    let entry = journal.announce(&intent(1)).unwrap();
    assert!(matches!(Ledger::open(&path, options()), Err(OpenError::InUse(_))));
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    for file in std::fs::read_dir(&path).unwrap() {
        let file = file.unwrap().path();
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
    drop((ledger, journal));
    assert!(matches!(Ledger::open(&path, options()), Err(OpenError::InUse(_))), "a call is open");
    drop(entry);
    let (ledger, recovery) = Ledger::open(&path, options()).unwrap();
    assert!(recovery.closed.is_empty());
    let line = ledger.query(&Query::default(), None, 1).unwrap().lines.remove(0);
    assert_eq!((line.outcome, line.basis, line.nano_usd), (OutcomeKind::Panicked, Basis::Estimated, 30));
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (segment_bytes, bytes_max) in [(1024, 1024 * 1024), (1 << 20, 1 << 20), (2 << 30, u64::MAX)] {
        let options = Options { segment_bytes, bytes_max, ..options() };
        assert!(matches!(Ledger::open(folder.path(), options), Err(OpenError::Sizes)));
    }
}

#[test]
fn what_a_line_cannot_hold_is_cut_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (ledger, _) = open(&folder);
    let journal = ledger.journal(0, 0);
    let charges = [CHARGE; CHARGES_MAX + 1];
    let refused = journal.announce(&Intent { charges: &charges, ..intent(1) });
    assert!(matches!(refused, Err(AnnounceError::Charges)));
    // All that a line can hold, and more.
    let long = "é".repeat(TEXT_BYTES_MAX);
    let tags: Vec<Box<str>> = (0..TAGS_MAX + 5).map(|_| Box::from(&long[..])).collect();
    let all = Intent {
        call: u128::MAX,
        request_id: &long,
        attempt: u32::MAX,
        start_ms: u64::MAX,
        owner: Owner { customer: &long, team: &long, user: &long, key: &long },
        tags: &tags,
        model: &long,
        provider: &long,
        credential: &long,
        vendor_model: &long,
        operation: &long,
        batch: true,
        service_tier: &long,
        price_version: u64::MAX,
        charges: &charges[..CHARGES_MAX],
        ..Intent::default()
    };
    journal.announce(&all).unwrap().settle(&Outcome { end_ms: 1, status: u16::MAX, ..Outcome::default() });
    let line = ledger.query(&Query::default(), None, 1).unwrap().lines.remove(0);
    let cut = &long[..TEXT_BYTES_MAX];
    assert_eq!((&*line.model, &*line.owner.key, &*line.service_tier), (cut, cut, cut));
    assert_eq!((line.tags.len(), line.attempt, line.status), (TAGS_MAX, u32::MAX, u16::MAX));
}

#[test]
fn readers_never_see_half_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { bytes_max: 64 * 1024 * 1024, ..options() };
    let (ledger, _) = Ledger::open(folder.path(), options).unwrap();
    const CALLS: u64 = 3_000;
    let settled = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            let journal = ledger.journal(0, 0);
            for n in 1..=CALLS {
                let id = n.to_string().repeat(n as usize % 40);
                let intent = Intent { call: n.into(), request_id: &id, model: &id, ..intent(0) };
                let entry = loop {
                    match journal.announce(&intent) {
                        Ok(entry) => break entry,
                        Err(_) => assert!(ledger.tend(0).short.is_none()),
                    }
                };
                entry.settle(&Outcome { end_ms: n, nano_usd: n, ..Outcome::default() });
                settled.store(n, Ordering::Release);
            }
        });
        let (mut position, mut replayed) = (Position::default(), 0);
        while replayed < CALLS {
            assert!(replayed < CALLS && !(writer.is_finished() && settled.load(Ordering::Acquire) < CALLS));
            let at_least = settled.load(Ordering::Acquire);
            let page = ledger.query(&Query::default(), None, 50).unwrap();
            assert!(
                page.lines.first().map_or(0, |line| line.end_ms) >= at_least,
                "a settled line is not seen"
            );
            for (line, next) in page.lines.iter().zip(page.lines.iter().skip(1)) {
                assert_eq!(line.end_ms, next.end_ms + 1, "a line is missing");
            }
            for line in &page.lines {
                let n = line.call as u64;
                assert_eq!((line.end_ms, line.nano_usd), (n, n));
                assert!(
                    line.model == line.request_id && *line.model == *n.to_string().repeat(n as usize % 40)
                );
            }
            // What is told from one position to the next is told once, in the order of one thread.
            let now = ledger.sync().unwrap();
            let visit = &mut |change: Change<'_>| {
                if let Change::Settled { call, .. } = change {
                    replayed += 1;
                    assert_eq!(call, u128::from(replayed));
                }
            };
            assert_eq!(ledger.replay(&position, &now, visit).unwrap(), 0);
            position = now.to_string().parse().unwrap();
            assert_eq!(position, now);
        }
    });
    assert_eq!(ledger.lag().bytes, 0);
}

#[test]
fn texts_that_are_no_positions_are_refused() {
    for text in ["", "x", "1,", "1,2", "1,2:x", "-1"] {
        assert!(text.parse::<Position>().is_err(), "{text}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn what_is_on_the_disk_is_not_held_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mib = 1024 * 1024;
    let options = Options { bytes_max: 64 * mib, segment_bytes: 4 * mib, ..options() };
    let (ledger, _) = Ledger::open(folder.path(), options).unwrap();
    let journal = ledger.journal(0, 0);
    let model = "m".repeat(200);
    for _ in 0..6_000 {
        journal.announce(&Intent { model: &model, ..intent(1) }).unwrap().settle(&Outcome::default());
    }
    let held_kib = || {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let of_ledger = maps.split("VmFlags").filter(|map| map.contains(folder.path().to_str().unwrap()));
        let held = of_ledger.filter_map(|map| map.split_once("Rss:")?.1.split_whitespace().next());
        held.map(|kib| kib.parse::<u64>().unwrap()).sum::<u64>()
    };
    assert!(held_kib() > 1_024, "it is not seen: {}", held_kib());
    ledger.sync().unwrap();
    assert!(held_kib() < 256, "{} KiB", held_kib());
    assert_eq!(count(&ledger), 6_000);
}
