//! What a ledger is told is what it tells: across threads, restarts, and the ends of segments.
#![allow(clippy::unwrap_used)]

use tempfile::TempDir;
use trestle_store::{Basis, Change, Charge, Intent, Ledger, Options, Outcome, OutcomeKind, Position, Tokens};

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
