//! Pages of several nodes, asked one after another as a client does.

use super::*;
use std::collections::BTreeSet;
use trestle_store::{Intent, Ledger, Options, Outcome, Query};

/// A ledger with a line for each of these times, named by its call.
fn ledger(node: NodeId, times: &[u64]) -> (tempfile::TempDir, Ledger) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { segment_bytes: 64 * 1024, ..Options::default() };
    let (ledger, _) = Ledger::open(&folder.path().join("ledger"), options).unwrap();
    let journal = ledger.journal(0, 0);
    for (at, end_ms) in times.iter().enumerate() {
        let call = u128::from(node) << 64 | at as u128;
        let entry = journal.announce(&Intent { call, ..Intent::default() }).unwrap();
        entry.settle(&Outcome { end_ms: *end_ms, ..Outcome::default() });
    }
    drop(journal);
    (folder, ledger)
}

/// A page of all; nodes give at most `given_max` lines, as one does whose answer would be too large.
fn page(
    ledgers: &[(NodeId, &Ledger)],
    cursor: Option<&str>,
    (lines_max, given_max): (usize, usize),
    silent: &[NodeId],
) -> Merged {
    let before: Reached = cursor.map_or_else(Reached::nothing, |text| text.parse().unwrap());
    let given = ledgers.iter().filter(|(node, _)| !silent.contains(node)).filter_map(|(node, ledger)| {
        let after = match before.of(*node) {
            Place::Begin => None,
            Place::At(cursor) => Some(cursor),
            Place::Done => return None,
        };
        Some((*node, ledger.query(&Query::default(), after, lines_max.min(given_max)).unwrap()))
    });
    merge(&before, given.collect(), silent, lines_max)
}

#[test]
fn small_pages_hold_every_line_once_and_in_order() {
    let (_a, a) = ledger(1, &[10, 20, 30, 30, 30, 40, 50, 50]);
    let (_b, b) = ledger(2, &[5, 30, 30, 45, 50, 60, 70, 80, 90]);
    let (_c, c) = ledger(3, &[]);
    let ledgers = [(1, &a), (2, &b), (3, &c)];
    for (lines_max, given_max) in [(1, 9), (2, 9), (3, 2), (4, 1), (5, 3), (17, 99), (100, 1), (100, 100)] {
        let (mut calls, mut times, mut cursor) = (BTreeSet::new(), Vec::new(), None::<String>);
        for round in 0.. {
            assert!(round < 50, "no end");
            let merged = page(&ledgers, cursor.as_deref(), (lines_max, given_max), &[]);
            assert!(merged.lines.len() <= lines_max);
            for (node, line) in merged.lines {
                assert_eq!(u128::from(node), line.call >> 64);
                assert!(calls.insert(line.call), "twice: {}", line.call);
                times.push(line.end_ms);
            }
            let Some(next) = merged.next else { break };
            assert_eq!(next.to_string().parse(), Ok(next.clone()));
            cursor = Some(next.to_string());
        }
        assert_eq!(calls.len(), 17, "pages of {lines_max} of {given_max}");
        assert!(times.is_sorted_by(|newer, older| newer >= older), "{times:?}");
    }
}

#[test]
fn what_ends_meanwhile_moves_no_page() {
    let (_a, a) = ledger(1, &[10, 20, 30]);
    let (_b, b) = ledger(2, &[1, 2, 3]);
    let first = page(&[(1, &a), (2, &b)], None, (2, 9), &[]);
    let next = first.next.unwrap().to_string();
    // Of a node that gave nothing yet, and of one that was not there.
    let journal = b.journal(1, 0);
    let entry = journal.announce(&Intent { call: 99, ..Intent::default() }).unwrap();
    entry.settle(&Outcome { end_ms: 25, ..Outcome::default() });
    let (_c, c) = ledger(3, &[15, 40]);
    let second = page(&[(1, &a), (2, &b), (3, &c)], Some(&next), (9, 9), &[]);
    let times: Vec<_> = second.lines.iter().map(|(_, line)| line.end_ms).collect();
    assert_eq!((times, second.next), (vec![15, 10, 3, 2, 1], None));
}

#[test]
fn a_node_that_is_silent_for_a_page_comes_late_and_whole() {
    let (_a, a) = ledger(1, &[10, 20, 30, 40]);
    let (_b, b) = ledger(2, &[15, 25, 35]);
    let ledgers = [(1, &a), (2, &b)];
    let times = |merged: &Merged| merged.lines.iter().map(|(_, line)| line.end_ms).collect::<Vec<_>>();
    let first = page(&ledgers, None, (2, 9), &[2]);
    assert_eq!(times(&first), [40, 30]);
    let second = page(&ledgers, Some(&first.next.unwrap().to_string()), (4, 9), &[]);
    assert_eq!(times(&second), [35, 25, 20, 15]);
    let third = page(&ledgers, Some(&second.next.unwrap().to_string()), (4, 9), &[]);
    assert_eq!((times(&third), third.next), (vec![10], None));
    // Nobody waits for one that stays away.
    let alone = page(&ledgers, None, (9, 9), &[2]);
    assert_eq!((times(&alone), alone.next), (vec![40, 30, 20, 10], None));
}

#[test]
fn what_is_no_cursor_is_refused() {
    for text in ["", "x", "1", "1.2.3", "5,", "5,1", "5,1:x", "5,1:-,1:-", "5,g:-", "5,1:1.2"] {
        assert_eq!(text.parse::<Reached>(), Err(NotReached), "{text}");
    }
    let many: String = (0..200).map(|node| format!(",{node:x}:-")).collect();
    assert_eq!(format!("5{many}").parse::<Reached>(), Err(NotReached));
}

#[test]
fn segments_of_several_holders_are_one_ledger() {
    let page = |places: &[u64], next: Option<u64>| {
        let line = |place: &u64| Line { end_ms: *place, ..line() };
        Page {
            lines: places.iter().map(line).collect(),
            places: places.iter().map(|place| Cursor::at(*place)).collect(),
            next: next.map(Cursor::at),
            skipped: 1,
        }
    };
    for (pages, expected) in [
        (vec![], page(&[], None)),
        (vec![page(&[9, 3], None), page(&[8, 1], None)], page(&[9, 8, 3, 1], None)),
        // What lies below 5 is not known of the second.
        (vec![page(&[9, 3], Some(3)), page(&[8, 5], Some(5))], page(&[9, 8, 5], Some(5))),
        (vec![page(&[9, 3], None), page(&[], Some(4))], page(&[9], Some(4))),
    ] {
        let skipped = pages.len() as u64;
        assert_eq!(join(pages), Page { skipped, ..expected });
    }
}

fn line() -> Line {
    let (_folder, ledger) = ledger(1, &[5]);
    ledger.query(&Query::default(), None, 1).unwrap().lines.remove(0)
}
