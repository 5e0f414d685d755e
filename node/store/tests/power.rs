//! A loss of power: each page of a file is as it was at the last sync, or as it became since. What was synced is there, and
//! counters that follow the ledger by positions come out exact.
#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::Path,
};
use trestle_store::{Change, Charge, Entry, Intent, Ledger, Options, Outcome, OutcomeKind, Position, Query};

const PAGE: usize = 4_096;
const LOSSES: u8 = 25;
const ESTIMATE: u64 = 5;

fn options() -> Options {
    Options { bytes_max: 64 * 1024 * 1024, segment_bytes: 128 * 1024, keep: None, incarnation: 1 }
}

fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let paths = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    paths
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()))
        .collect()
}

/// What is held and what was used, by following the ledger.
#[derive(Default, Clone)]
struct Counted {
    position: Position,
    held: i64,
    used: u64,
}

impl Counted {
    fn follow(&mut self, ledger: &Ledger, to: Position) {
        let visit = &mut |change: Change<'_>| match change {
            Change::Held { charges, .. } => self.held += charges[0].amount as i64,
            Change::Settled { charges, amounts, .. } => {
                self.held -= charges[0].amount as i64;
                self.used += amounts[0];
            }
        };
        ledger.replay(&self.position, &to, visit).unwrap();
        self.position = to;
    }
}

/// Announces calls and settles most of them, some of those that were open before as well.
fn make_calls(
    ledger: &Ledger,
    open: &mut Vec<(u64, Entry)>,
    calls: std::ops::Range<u64>,
) -> HashMap<u64, bool> {
    let journal = ledger.journal(0, 0);
    let charges = [Charge { amount: ESTIMATE, ..Charge::default() }];
    let mut settled: HashMap<u64, bool> = calls.clone().map(|call| (call, false)).collect();
    for call in calls {
        let model = "m".repeat(call as usize % 150);
        let intent = Intent {
            call: call.into(),
            model: &model,
            nano_usd: ESTIMATE,
            charges: &charges,
            ..Intent::default()
        };
        let entry = journal.announce(&intent).or_else(|_| {
            ledger.tend(0);
            journal.announce(&intent)
        });
        open.push((call, entry.unwrap()));
        if open.len() > 20 {
            let (call, entry) = open.remove(call as usize * 13 % 20);
            let amounts = [call];
            entry.settle(&Outcome { end_ms: call, nano_usd: call, amounts: &amounts, ..Outcome::default() });
            settled.insert(call, true);
        }
    }
    settled
}

#[test]
fn what_was_synced_survives_a_loss_of_power() {
    let folder = tempfile::tempdir().unwrap();
    let (ledger, _) = Ledger::open(folder.path(), options()).unwrap();
    let (mut open, mut counted) = (Vec::new(), Counted::default());
    let synced = make_calls(&ledger, &mut open, 0..1_500);
    counted.follow(&ledger, ledger.sync().unwrap());
    let old = files(folder.path());
    make_calls(&ledger, &mut open, 1_500..2_500);
    let new = files(folder.path());
    let mut closed = 0;
    for seed in 0..LOSSES {
        let mut random = DefaultHasher::new();
        seed.hash(&mut random);
        let after = tempfile::tempdir().unwrap();
        for (name, bytes) in &new {
            let mut bytes = bytes.clone();
            // A file that was made since is synced before it gets its name: then nothing is in it but its header.
            let old = old
                .get(name)
                .cloned()
                .unwrap_or_else(|| [&bytes[..2 * PAGE], &[0; 128 * 1024][2 * PAGE..]].concat());
            // What is sealed was synced by that.
            let is_sealed = new.contains_key(&name.replace(".ledger", ".sums"));
            let old = if is_sealed { bytes.clone() } else { old };
            let pages =
                bytes.chunks_mut(PAGE).zip(old.chunks(PAGE)).filter(|(new, old)| new.len() == old.len());
            for (new, old) in pages {
                1.hash(&mut random);
                if random.finish().is_multiple_of(3) {
                    new.copy_from_slice(old);
                }
            }
            fs::write(after.path().join(name), bytes).unwrap();
        }
        check(after.path(), &synced, counted.clone(), &mut closed);
    }
    assert!(closed > 0, "no call was ever closed");
}

fn check(folder: &Path, synced: &HashMap<u64, bool>, mut counted: Counted, closed: &mut usize) {
    let (ledger, recovery) = Ledger::open(folder, options()).unwrap();
    *closed += recovery.closed.len();
    let (mut lines, mut after) = (HashMap::new(), None);
    loop {
        let page = ledger.query(&Query::default(), after, 1_000).unwrap();
        for line in page.lines {
            let call = line.call as u64;
            assert!(lines.insert(call, (line.outcome, line.nano_usd)).is_none(), "two lines of {call}");
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    for (call, (outcome, cost)) in &lines {
        let killed = (*outcome, *cost) == (OutcomeKind::Killed, ESTIMATE);
        let settled = (*outcome, *cost) == (OutcomeKind::Ok, *call);
        let was_settled = synced.get(call).copied().unwrap_or(false);
        assert!(settled || killed && !was_settled, "{call} is {outcome:?}, {cost}");
    }
    assert!(synced.keys().all(|call| lines.contains_key(call)), "a call is gone");
    counted.follow(&ledger, ledger.position());
    assert_eq!((counted.held, counted.used), (0, lines.values().map(|(_, cost)| cost).sum()));
}
