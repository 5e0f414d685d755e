//! Changes that take several transactions: what is there in the end does not show how they were cut, or interrupted.

use super::{DEADLINE, Entry, all, change, command, open, write};
use crate::consensus::{
    Consensus, Write,
    disk::{Disk, DiskError},
    log_store::LogStore,
    snapshot::trees,
    state_machine::StateMachine,
    types::Answer,
};
use openraft::{RaftSnapshotBuilder, storage::RaftStateMachine};
use proptest::prelude::*;
use sha2::{Digest, Sha256};
use std::{
    fs,
    path::Path,
    thread::sleep,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use trestle_proto::log::{self, command::Body};
use trestle_proto::prost::Message;

/// Revisions that are kept.
const KEPT: u64 = 2;
/// Parts are as small as this, so that there are several.
const PART_BYTES: usize = 2_000;
/// Room for one or a few writes.
const SMALL_BYTES: usize = 7_000;

/// A machine that forgets soon, on a folder whose last handle may have been closed a moment ago.
fn machine(folder: &Path, transaction_bytes: usize) -> StateMachine {
    let begun = Instant::now();
    let disk = loop {
        match Disk::open(&folder.join("db")) {
            Ok(disk) => break disk,
            Err(error) => assert!(begun.elapsed() < DEADLINE, "{error}"),
        }
        sleep(Duration::from_millis(5));
    };
    fs::create_dir_all(folder.join("snapshots")).unwrap();
    on(disk, folder, transaction_bytes)
}

fn on(disk: Disk, folder: &Path, transaction_bytes: usize) -> StateMachine {
    let machine = StateMachine::new(disk, folder.join("snapshots"), KEPT).unwrap();
    machine.in_transactions_of(transaction_bytes)
}

/// All that a machine keeps.
type Dump = Vec<(&'static str, Vec<u8>, Vec<u8>)>;

fn dump(machine: &StateMachine) -> Dump {
    let looked = machine.look(|disk, _| {
        let mut all = Vec::new();
        for (name, tree) in trees(disk) {
            disk.walk(tree, |key, value| {
                all.push((name, key.to_vec(), value.to_vec()));
                Ok(())
            })?;
        }
        Ok(all)
    });
    looked.unwrap()
}

fn check_same(found: &Dump, expected: &Dump, case: &str) {
    for (found, expected) in found.iter().zip(expected) {
        assert!(found == expected, "{case}: {} {:?}, not {:?}", found.0, found.1, expected.1);
    }
    assert_eq!(found.len(), expected.len(), "{case}");
}

/// The entries of changes: each with all its writes at once, or in parts of which one may be missing.
#[derive(Default)]
struct Log(Vec<Entry>);

impl Log {
    fn push(&mut self, body: Body) {
        let number = self.0.len() as u64 + 1;
        self.0.push(command(number, number, number, body));
    }

    fn change(&mut self, expected_revision: Option<u64>, writes: Vec<Write>) {
        self.push(Body::Change(change(expected_revision, writes).into()));
    }

    fn in_parts(&mut self, writes: Vec<Write>, missing: Option<u32>) {
        let encoded = log::Change::from(change(None, writes)).encode_to_vec();
        let stage_id = bytes::Bytes::copy_from_slice(&self.0.len().to_be_bytes());
        let mut parts = 0;
        for data in encoded.chunks(PART_BYTES) {
            let data = data.to_vec().into();
            if missing != Some(parts) {
                self.push(Body::Part(log::StagePart { stage_id: stage_id.clone(), part: parts, data }));
            }
            parts += 1;
        }
        let sha256 = Sha256::digest(&encoded).to_vec().into();
        self.push(Body::Commit(log::StageCommit { stage_id, parts, sha256 }));
    }
}

fn many(count: usize, value: &str) -> Vec<Write> {
    (0..count).map(|n| write("key", &format!("{n:04}"), Some(&format!("{value}{}", n % 7)))).collect()
}

/// Many entities, a few of them large; then others in their place, and the older ones are forgotten.
fn filled() -> Log {
    let mut log = Log::default();
    let large = "x".repeat(60_000);
    let mut first = many(70, "a");
    first.extend(["one", "two"].map(|id| write("list", id, Some(&large))));
    log.change(None, first.clone());
    log.in_parts(many(30, "b"), None);
    let mut last = many(75, "c");
    last.extend([write("list", "one", None), write("list", "none", None), write("list", "two", Some("now"))]);
    log.in_parts(last, None);
    log
}

#[test]
fn a_change_goes_on_where_it_was_interrupted() {
    let log = filled();
    let (last, before) = log.0.split_last().unwrap();
    let folder = TempDir::new().unwrap();
    let whole = machine(folder.path(), usize::MAX);
    whole.apply_all(before).unwrap();
    let was = dump(&whole);
    assert_eq!(whole.apply_all(std::slice::from_ref(last)).unwrap(), [Answer::Applied(3)]);
    let expected = dump(&whole);

    let mut stop = 0;
    loop {
        let folder = TempDir::new().unwrap();
        let first = machine(folder.path(), SMALL_BYTES);
        first.apply_all(before).unwrap();
        check_same(&dump(&first), &was, "before");
        let (task, mut progress) = first.begin(last).unwrap();
        let done = (0..stop).any(|_| first.advance(last, &task, &mut progress).unwrap());
        drop(first);
        let again = machine(folder.path(), SMALL_BYTES);
        match again.look(|_, head| Ok(head.revision)) {
            Err(DiskError::Unfinished) => assert!(stop > 0 && !done),
            looked => assert_eq!(looked.unwrap(), if done { 3 } else { 2 }, "after {stop}"),
        }
        assert_eq!(*again.revisions().borrow(), if done { 3 } else { 2 });
        if done {
            check_same(&dump(&again), &expected, "all at once");
            break;
        }
        assert_eq!(again.apply_all(std::slice::from_ref(last)).unwrap(), [Answer::Applied(3)]);
        assert_eq!(*again.revisions().borrow(), 3);
        check_same(&dump(&again), &expected, &format!("after {stop}"));
        stop += 1;
    }
    assert!(stop > 30, "it took {stop} transactions");
}

/// Few names and values, so that the same ones come again; more of them than one record has.
fn writes() -> impl Strategy<Value = Vec<Write>> {
    let value = prop_oneof![
        4 => Just(None),
        8 => (0..3_u8).prop_map(|n| Some(n.to_string())),
        1 => (0..2_u8).prop_map(|n| Some(n.to_string().repeat(26_000))),
    ];
    let names = prop::sample::subsequence((0..80).collect::<Vec<_>>(), 0..=80);
    (names, prop::collection::vec(value, 80)).prop_map(|(names, values)| {
        names
            .iter()
            .zip(values)
            .map(|(name, value)| write("key", &name.to_string(), value.as_deref()))
            .collect()
    })
}

#[derive(Debug, Clone, Copy)]
enum How {
    AtOnce,
    Stale,
    Twice,
    InParts,
    MissingPart,
}

fn log(changes: &[(How, Vec<Write>)]) -> Log {
    let mut log = Log::default();
    for (how, writes) in changes {
        let writes = writes.clone();
        match how {
            How::AtOnce => log.change(None, writes),
            How::Stale => log.change(Some(1_000), writes),
            How::Twice => log.in_parts([writes, many(2, ""), many(2, "")].concat(), None),
            How::InParts => log.in_parts(writes, None),
            How::MissingPart => {
                log.in_parts([writes, many(70, "long enough for several parts")].concat(), Some(1))
            }
        }
    }
    log
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(16) })]

    #[test]
    fn how_changes_are_cut_does_not_show(
        changes in prop::collection::vec((prop_oneof![
            3 => Just(How::AtOnce), 1 => Just(How::Stale), 1 => Just(How::Twice), 4 => Just(How::InParts),
            1 => Just(How::MissingPart),
        ], writes()), 1..6),
        transaction_bytes in prop_oneof![Just(1), 2_000..40_000_usize],
        stops in prop::collection::vec(0..30_usize, 1..6),
    ) {
        let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
        let whole = machine(folders[0].path(), usize::MAX);
        let mut cut = machine(folders[1].path(), transaction_bytes);
        let disk = cut.look(|disk, _| Ok(disk.clone())).unwrap();
        for (entry, stop) in log(&changes).0.iter().zip(stops.iter().cycle()) {
            let (task, mut progress) = cut.begin(entry).unwrap();
            let done = (0..*stop).any(|_| cut.advance(entry, &task, &mut progress).unwrap());
            cut = on(disk.clone(), folders[1].path(), transaction_bytes);
            let expected = whole.apply_all(std::slice::from_ref(entry)).unwrap();
            match done {
                true => assert_eq!(progress.answer, expected[0]),
                false => assert_eq!(cut.apply_all(std::slice::from_ref(entry)).unwrap(), expected),
            }
            if expected != [Answer::Staged] {
                check_same(&dump(&cut), &dump(&whole), &format!("{:?}", entry.log_id));
            }
        }
    }
}

#[test]
fn nothing_else_is_applied_before_a_change_is_whole() {
    let (folder, log) = (TempDir::new().unwrap(), filled());
    let machine = machine(folder.path(), SMALL_BYTES);
    let (task, mut progress) = machine.begin(&log.0[0]).unwrap();
    assert!(!machine.advance(&log.0[0], &task, &mut progress).unwrap());
    assert!(matches!(machine.apply_all(&log.0[1..]), Err(DiskError::Unfinished)));
    assert_eq!(machine.apply_all(&log.0[..1]).unwrap(), [Answer::Applied(1)]);
}

#[tokio::test]
async fn a_snapshot_replaces_what_is_half_applied_and_never_holds_it() {
    let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let log = filled();
    let mut whole = machine(folders[0].path(), usize::MAX);
    whole.apply_all(&log.0).unwrap();
    let snapshot = whole.build_snapshot().await.unwrap();
    let mut half = machine(folders[1].path(), SMALL_BYTES);
    let (task, mut progress) = half.begin(&log.0[0]).unwrap();
    for _ in 0..3 {
        assert!(!half.advance(&log.0[0], &task, &mut progress).unwrap());
    }
    assert!(half.build_snapshot().await.is_err());
    assert!(half.look(|_, _| Ok(())).is_err());
    half.install_snapshot(&snapshot.meta, snapshot.snapshot).await.unwrap();
    let mut expected = dump(&whole);
    // There was no membership to say.
    let members = b"members".to_vec();
    expected.retain(|(_, key, _)| *key != members);
    let mut found = dump(&half);
    found.retain(|(_, key, _)| *key != members);
    check_same(&found, &expected, "installed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_finishes_what_is_half_applied() {
    let folder = TempDir::new().unwrap();
    let consensus = open(folder.path()).await;
    consensus.propose(change(None, many(200, "a")), DEADLINE).await.unwrap();
    consensus.close().await.unwrap();

    // As if the process had ended while it applied its last entry.
    let data = folder.path().join("consensus");
    let half = machine(&data, SMALL_BYTES);
    let disk = half.look(|disk, _| Ok(disk.clone())).unwrap();
    let store = LogStore::new(disk.clone());
    let last = store.state().unwrap().last_log_id.unwrap();
    let mut entry = command(last.index + 1, 77, 0, Body::Change(change(None, many(200, "b")).into()));
    entry.log_id.leader_id = last.leader_id;
    store.write([entry.clone()]).unwrap();
    let (task, mut progress) = half.begin(&entry).unwrap();
    for _ in 0..5 {
        assert!(!half.advance(&entry, &task, &mut progress).unwrap());
    }
    disk.sync().unwrap();
    drop((half, disk, store));

    let consensus: Consensus = open(folder.path()).await;
    assert_eq!(consensus.revision(), 2);
    let found = all(&consensus);
    assert_eq!(found.len(), 200);
    assert!(found.iter().all(|(_, _, revision, value)| *revision == 2 && value.starts_with('b')));
    let record = consensus.record(2).unwrap().unwrap();
    assert_eq!(record.steps.len(), 200);
    assert!(record.steps.iter().all(|step| step.before.as_ref().unwrap().starts_with(b"a")));
}
