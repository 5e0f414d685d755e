//! The storage against the consensus library's own suite, and the handle against what happens to folders.

use super::{
    Change, Consensus, OpenError, ProposeError, Write,
    apply::Head,
    disk::{self, Disk},
    log_store::LogStore,
    record,
    snapshot::SnapshotFile,
    state_machine::StateMachine,
    types::{Answer, Entry, LogId, Proposal, StorageError, Types},
};
use openraft::{
    EntryPayload,
    testing::{StoreBuilder, Suite},
};
use sha2::{Digest, Sha256};
use std::{fs, path::Path, time::Duration};
use tempfile::TempDir;
use trestle_proto::log::{self, command::Body};
use trestle_proto::prost::Message;

mod damage;
mod history;
mod interrupted;
mod nodes;

const DEADLINE: Duration = Duration::from_secs(20);

struct Builder;

fn stores(folder: &Path) -> (LogStore, StateMachine) {
    let disk = Disk::open(&folder.join("db")).unwrap();
    fs::create_dir_all(folder.join("snapshots")).unwrap();
    (LogStore::new(disk.clone()), StateMachine::new(disk, folder.join("snapshots"), 10).unwrap())
}

impl StoreBuilder<Types, LogStore, StateMachine, TempDir> for Builder {
    async fn build(&self) -> Result<(TempDir, LogStore, StateMachine), StorageError> {
        let folder = TempDir::new().unwrap();
        let (log, machine) = stores(folder.path());
        Ok((folder, log, machine))
    }
}

#[test]
fn the_library_accepts_the_storage() {
    Suite::test_all(Builder).unwrap();
}

fn write(kind: &str, id: &str, value: Option<&str>) -> Write {
    let value = value.map(|value| value.as_bytes().to_vec());
    Write { kind: kind.to_owned(), id: id.to_owned(), introduced: 1, value }
}

fn change(expected_revision: Option<u64>, writes: Vec<Write>) -> Change {
    Change { expected_revision, writes, origin: b"test".to_vec() }
}

async fn open(folder: &Path) -> Consensus {
    let opened = Consensus::open(folder).await.unwrap();
    assert_eq!(opened.set_aside, None);
    opened.consensus
}

/// Kind, id, revision and value of all entities.
fn all(consensus: &Consensus) -> Vec<(String, String, u64, String)> {
    let (_, entities) = consensus.entities().unwrap();
    let text = |value: Vec<u8>| String::from_utf8(value).unwrap();
    entities.into_iter().map(|e| (e.kind, e.id, e.revision, text(e.value))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_whole_and_survive() {
    let folder = TempDir::new().unwrap();
    let consensus = open(folder.path()).await;
    let mut revisions = consensus.revisions();
    let first = change(Some(0), vec![write("key", "a", Some("1")), write("provider", "p", Some("x"))]);
    assert_eq!(consensus.propose(first.clone(), DEADLINE).await.unwrap(), 1);
    assert_eq!(*revisions.borrow_and_update(), 1);

    // Others have changed it: nothing of the change is in effect.
    let stale = change(Some(0), vec![write("key", "b", Some("2"))]);
    match consensus.propose(stale, DEADLINE).await {
        Err(ProposeError::Conflict { revision: 1 }) => {}
        other => panic!("{other:?}"),
    }
    let second = change(Some(1), vec![write("key", "a", None), write("key", "b", Some("2"))]);
    assert_eq!(consensus.propose(second, DEADLINE).await.unwrap(), 2);
    let expected = [("key", "b", 2, "2"), ("provider", "p", 1, "x")]
        .map(|(k, i, r, v)| (k.into(), i.into(), r, v.into()));
    assert_eq!(all(&consensus), expected);
    assert_eq!(consensus.entity("key", "a").unwrap(), None);
    consensus.close().await.unwrap();

    let again = open(folder.path()).await;
    assert_eq!(all(&again), expected);
    assert_eq!(again.entities().unwrap().0, 2);
    assert_eq!(again.propose(change(Some(2), Vec::new()), DEADLINE).await.unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn large_changes_take_effect_at_once_and_snapshots_hold_them() {
    let folder = TempDir::new().unwrap();
    let consensus = open(folder.path()).await;
    let value = "v".repeat(1_000);
    let writes = (0..2_000).map(|n| write("key", &format!("{n:05}"), Some(&value))).collect();
    assert_eq!(consensus.propose(change(None, writes), DEADLINE).await.unwrap(), 1);
    assert_eq!(consensus.entities().unwrap().1.len(), 2_000);
    consensus.snapshot().await.unwrap();
    consensus.propose(change(None, vec![write("key", "00000", None)]), DEADLINE).await.unwrap();
    consensus.close().await.unwrap();
    let again = open(folder.path()).await;
    assert_eq!(again.entities().unwrap().1.len(), 1_999);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_kept_is_refused_with_the_reason() {
    let folder = TempDir::new().unwrap();
    let consensus = open(folder.path()).await;
    let large = "x".repeat(Consensus::ENTITY_BYTES_MAX + 1);
    for (writes, why) in [
        (vec![write("key", "large", Some(&large))], "at most 1048576"),
        (vec![write("", "a", None)], "no name"),
        (vec![write("key", "", None)], "no name"),
        (vec![write("a\0b", "a", None)], "no name"),
        (vec![write("key", "a", None), write("key", "a", Some("1"))], "twice"),
    ] {
        match consensus.propose(change(None, writes), DEADLINE).await {
            Err(ProposeError::Refused(message)) => assert!(message.contains(why), "{message}"),
            other => panic!("{why}: {other:?}"),
        }
    }
    let largest = "x".repeat(Consensus::ENTITY_BYTES_MAX);
    assert_eq!(
        consensus.propose(change(None, vec![write("key", "a", Some(&largest))]), DEADLINE).await.unwrap(),
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_belongs_to_one_process_and_one_format() {
    let folder = TempDir::new().unwrap();
    let consensus = open(folder.path()).await;
    assert!(matches!(Consensus::open(folder.path()).await, Err(OpenError::InUse(_))));
    consensus.close().await.unwrap();

    let format = folder.path().join("consensus/FORMAT");
    fs::write(&format, "2\n").unwrap();
    let later = Consensus::open(folder.path()).await.err().unwrap();
    assert!(later.to_string().contains("later version (format 2"), "{later}");
    fs::write(&format, "1\n").unwrap();
    drop(open(folder.path()).await);

    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(Consensus::open(&file).await, Err(OpenError::Refused(..))));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_database_had_not_finished_does_no_harm() {
    let folder = TempDir::new().unwrap();
    let consensus = open(folder.path()).await;
    consensus.propose(change(None, vec![write("key", "a", Some("1"))]), DEADLINE).await.unwrap();
    consensus.close().await.unwrap();
    let unfinished = folder.path().join("consensus/db/snap.FFFFFFFFFFFFFFFF.generating");
    fs::write(&unfinished, "half").unwrap();
    assert_eq!(all(&open(folder.path()).await).len(), 1);
    assert!(!unfinished.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_data_is_set_aside_whole() {
    let folder = TempDir::new().unwrap();
    let consensus = open(folder.path()).await;
    consensus.propose(change(None, vec![write("key", "a", Some("1"))]), DEADLINE).await.unwrap();
    consensus.close().await.unwrap();
    let database = folder.path().join("consensus/db");
    for file in
        fs::read_dir(&database).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file())
    {
        fs::write(file, b"not what was here").unwrap();
    }
    let opened = Consensus::open(folder.path()).await.unwrap();
    let aside = opened.set_aside.unwrap().folder;
    assert!(aside.join("db").is_dir() && aside.join("FORMAT").is_file(), "{}", aside.display());
    assert_eq!(opened.consensus.entities().unwrap(), (0, Vec::new()));
    opened.consensus.propose(change(None, vec![write("key", "b", Some("2"))]), DEADLINE).await.unwrap();
}

/// Applies commands without a log.
struct Bench {
    _folder: TempDir,
    machine: StateMachine,
    applied: u64,
}

fn command(index: u64, request: u64, at_unix_ms: u64, body: Body) -> Entry {
    let request_id = request.to_be_bytes().to_vec().into();
    let command = log::Command { request_id, at_unix_ms, body: Some(body) }.encode_to_vec();
    let log_id = LogId::new(openraft::CommittedLeaderId::new(1, 1), index);
    Entry { log_id, payload: EntryPayload::Normal(Proposal(command)) }
}

impl Bench {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let machine = stores(folder.path()).1;
        Self { _folder: folder, machine, applied: 0 }
    }

    fn apply(&mut self, request: u64, at_unix_ms: u64, body: Body) -> Answer {
        self.applied += 1;
        let answers = self.machine.apply_all(&[command(self.applied, request, at_unix_ms, body)]).unwrap();
        answers.into_iter().next().unwrap()
    }

    fn head(&self) -> Head {
        self.machine.look(|_, head| Ok(head.clone())).unwrap()
    }

    fn disk(&self) -> Disk {
        self.machine.look(|disk, _| Ok(disk.clone())).unwrap()
    }

    fn set(&mut self, request: u64, at_unix_ms: u64, id: &str, value: &str) -> Answer {
        let change = change(None, vec![write("key", id, Some(value))]);
        self.apply(request, at_unix_ms, Body::Change(change.into()))
    }
}

#[test]
fn a_request_that_comes_again_is_answered_again() {
    let mut bench = Bench::new();
    assert_eq!(bench.set(1, 10, "a", "1"), Answer::Applied(1));
    assert_eq!(bench.set(2, 20, "a", "2"), Answer::Applied(2));
    assert_eq!(bench.set(1, 30, "a", "1"), Answer::Applied(1));
    assert_eq!((bench.head().revision, bench.head().at_unix_ms), (2, 20));
    let key = record::entity_key("key", "a");
    let entity: log::Entity = record::read(&bench.disk().entities.get(key).unwrap().unwrap()).unwrap();
    assert_eq!((entity.revision, &entity.value[..]), (2, &b"2"[..]));
}

#[test]
fn who_went_for_good_is_remembered() {
    let mut bench = Bench::new();
    let retire = |node| Body::Retire(log::Retire { node });
    for (request, node) in [(1, 7), (2, 8), (3, 7), (1, 7)] {
        assert_eq!(bench.apply(request, 0, retire(node)), Answer::Retired);
    }
    assert_eq!(bench.machine.retired().unwrap(), [8, 7]);
    for node in 100..1_200 {
        bench.apply(node, 0, retire(node));
    }
    let retired = bench.machine.retired().unwrap();
    assert_eq!((retired.len(), retired[0], retired[999]), (1_000, 200, 1_199));
    assert!(bench.disk().state.iter().all(|pair| pair.unwrap().1.len() <= disk::VALUE_BYTES_MAX));
    assert_eq!(bench.head().revision, 0);
}

fn share_run(from: u64, until: u64, nodes: &[u64]) -> log::ShareRun {
    let window = trestle_counters::Window::Calendar(trestle_counters::Calendar::Minute).to_word();
    log::ShareRun { window, from, until, nodes: nodes.to_vec() }
}

#[tokio::test]
async fn who_spends_is_fixed_once_and_snapshots_hold_it() {
    use openraft::storage::RaftStateMachine;
    let mut bench = Bench::new();
    let watched = bench.machine.shares();
    let fix = |from, until, nodes: &[u64]| Body::FixShares(share_run(from, until, nodes));
    assert_eq!(bench.apply(1, 0, fix(0, 10, &[1, 2, 3])), Answer::Fixed);
    assert_eq!(bench.apply(2, 0, fix(10, 20, &[1, 2])), Answer::Fixed);
    assert_eq!(bench.apply(1, 0, fix(0, 10, &[1, 2, 3])), Answer::Fixed, "the same request");
    assert!(matches!(bench.apply(3, 0, fix(19, 21, &[1, 2, 3])), Answer::Refused(why) if why.contains("20")));
    assert!(matches!(bench.apply(4, 0, fix(30, 21, &[1])), Answer::Refused(_)));
    let runs = watched.borrow().clone();
    let shown: Vec<_> = runs.iter().map(|run| (run.from.0, run.until.0, run.nodes.len())).collect();
    assert_eq!(shown, [(0, 10, 3), (10, 20, 2)]);
    assert_eq!(bench.head().revision, 0);

    let again = StateMachine::new(bench.disk(), bench._folder.path().join("snapshots"), 10).unwrap();
    assert_eq!(*again.shares().borrow(), runs, "after a start");
    let snapshot = bench.machine.snapshot().unwrap();
    let mut other = Bench::new();
    other.apply(1, 0, fix(0, 99, &[9]));
    other.machine.install_snapshot(&snapshot.meta, snapshot.snapshot).await.unwrap();
    assert_eq!(*other.machine.shares().borrow(), runs, "on another node, in place of what it had");
}

#[test]
fn time_never_goes_back_and_records_are_chained() {
    let mut bench = Bench::new();
    for (request, at, id) in [(1, 50, "a"), (2, 40, "b"), (3, 60, "a")] {
        bench.set(request, at, id, &format!("{request}"));
    }
    let many = (0..80).map(|n| write("key", &format!("many-{n}"), Some("1"))).collect();
    bench.apply(4, 0, Body::Change(change(None, many).into()));
    let (mut previous, mut found) = ([0; 32], Vec::new());
    for pair in &bench.disk().revisions {
        let (_, value) = pair.unwrap();
        let record: log::Revision = record::read(&value).unwrap();
        assert_eq!(record.previous_sha256, previous[..]);
        previous = Sha256::digest(&value).into();
        found.push((record.revision, record.part, record.at_unix_ms, record.steps.len()));
    }
    assert_eq!(
        found,
        [(1, 0, 50, 1), (2, 0, 50, 1), (3, 0, 60, 1), (4, 0, 60, 32), (4, 1, 60, 32), (4, 2, 60, 16)]
    );
    assert_eq!(previous, bench.head().sha256);
}

#[test]
fn a_large_change_needs_all_its_parts() {
    let encoded = log::Change::from(change(None, vec![write("key", "a", Some("1"))])).encode_to_vec();
    let (one, two) = encoded.split_at(4);
    let part = |part, data: &[u8]| {
        Body::Part(log::StagePart { stage_id: b"s".to_vec().into(), part, data: data.to_vec().into() })
    };
    let commit = |parts| {
        let sha256 = Sha256::digest(&encoded).to_vec().into();
        Body::Commit(log::StageCommit { stage_id: b"s".to_vec().into(), parts, sha256 })
    };
    let mut bench = Bench::new();
    assert_eq!(bench.apply(1, 0, part(0, one)), Answer::Staged);
    assert!(matches!(bench.apply(2, 0, commit(2)), Answer::Refused(why) if why.contains("gone")));
    for (request, parts) in [(3, [one, one]), (6, [one, two])] {
        assert_eq!(bench.apply(request, 0, part(0, parts[0])), Answer::Staged);
        assert_eq!(bench.apply(request + 1, 0, part(1, parts[1])), Answer::Staged);
        let answer = bench.apply(request + 2, 0, commit(2));
        match parts[1] == two {
            true => assert_eq!(answer, Answer::Applied(1)),
            false => assert!(matches!(answer, Answer::Refused(why) if why.contains("not what was sent"))),
        }
    }
}

#[tokio::test]
async fn a_damaged_snapshot_is_never_used() {
    use openraft::{RaftSnapshotBuilder, storage::RaftStateMachine};
    let folder = TempDir::new().unwrap();
    let (_, mut machine) = stores(folder.path());
    let snapshots = folder.path().join("snapshots");
    machine.build_snapshot().await.unwrap();
    fs::write(snapshots.join("00000000000000000009.tmp"), "half").unwrap();
    assert!(machine.get_current_snapshot().await.unwrap().is_some());
    SnapshotFile::remove_unfinished(&snapshots).unwrap();
    let files: Vec<_> = fs::read_dir(&snapshots).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    let whole = fs::read(file).unwrap();
    for cut in [0, 10, whole.len() - 1] {
        fs::write(file, &whole[..cut]).unwrap();
        assert!(machine.get_current_snapshot().await.is_err(), "{cut} bytes");
    }
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    fs::write(file, flipped).unwrap();
    assert!(SnapshotFile::latest(&snapshots).unwrap().unwrap().meta().is_err());
}
