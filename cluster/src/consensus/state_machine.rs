//! The state machine: commands applied in transactions that hold what they changed together with how far they came, so
//! that after a crash a command is applied again, or goes on, and nobody sees half of it.

use super::{
    apply::{Budget, Head, Progress, Task, Trees},
    disk::{Disk, DiskError},
    handle::Consensus,
    record::{self, RecordError},
    shares::{self, ShareRun},
    snapshot::{self, SnapshotFile},
    types::{Answer, Entry, LogId, Membership, NodeId, Proposal, SnapshotMeta, StorageError, Types},
    version::{self, Mismatch},
};
use openraft::{
    EntryPayload, ErrorSubject, ErrorVerb, OptionalSend, RaftSnapshotBuilder,
    storage::{RaftStateMachine, Snapshot},
};
use serde::de::DeserializeOwned;
use sled::{
    Transactional,
    transaction::{ConflictableTransactionError, TransactionError, TransactionalTree},
};
use std::{
    collections::HashMap,
    io::ErrorKind,
    path::PathBuf,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU32, Ordering},
    },
};
use tokio::sync::watch;

const APPLIED: &str = "applied";
const MEMBERS: &str = "members";
const HEAD: &str = "head";
/// How far the entry after the last applied one came; there is none if nothing is half applied.
const PROGRESS: &str = "progress";
/// A transaction writes about so much, as `Budget` counts: some 450 small entities. The database holds all copies of pages
/// that it makes within one transaction until the end of that.
const TRANSACTION_BYTES: usize = 1024 * 1024;

/// Nodes that are gone for good, the latest last.
const RETIRED: &str = "retired";
/// So many are remembered; a number is random, and one that comes back after so many others would be let in again.
const RETIRED_MAX: usize = 1_000;

/// Snapshots that may be gone again before they were looked at.
const LOOKS_MAX: u32 = 10;

type Aborted = ConflictableTransactionError<RecordError>;

/// The state machine of a node. A clone is another handle to it.
#[derive(Clone)]
pub(super) struct StateMachine {
    disk: Disk,
    snapshots: PathBuf,
    revisions_kept: u64,
    transaction_bytes: usize,
    /// The version of the cluster up to which this program can.
    version_max: u32,
    /// Held to write while something is applied, to read while somebody must see one state of all trees.
    turn: Arc<RwLock<()>>,
    revision: Arc<watch::Sender<u64>>,
    shares: Arc<watch::Sender<Arc<[ShareRun]>>>,
    version: Arc<AtomicU32>,
}

impl StateMachine {
    /// The state that a disk holds.
    pub(super) fn new(disk: Disk, snapshots: PathBuf, revisions_kept: u64) -> Result<Self, DiskError> {
        let head: Head = get(&disk, HEAD)?.unwrap_or_default();
        let revision = Arc::new(watch::Sender::new(head.revision));
        let shares = Arc::new(watch::Sender::new(shares::read(&disk)?));
        let version = Arc::new(AtomicU32::new(head.version()));
        Ok(Self {
            disk,
            snapshots,
            revisions_kept,
            transaction_bytes: TRANSACTION_BYTES,
            version_max: Consensus::VERSION,
            turn: Arc::default(),
            revision,
            shares,
            version,
        })
    }

    /// The same, with transactions of another size.
    #[cfg(test)]
    pub(super) fn in_transactions_of(self, transaction_bytes: usize) -> Self {
        Self { transaction_bytes, ..self }
    }

    /// The same in a program that can up to this version of the cluster.
    pub(super) fn up_to(self, version_max: u32) -> Self {
        Self { version_max, ..self }
    }

    /// The version of the cluster.
    pub(super) fn version(&self) -> u32 {
        self.version.load(Ordering::Acquire)
    }

    /// The same; none in a cluster that holds nothing yet: it begins with what all its nodes can.
    pub(super) fn begun_version(&self) -> Option<u32> {
        let version = self.version();
        (version > version::FIRST || *self.revision.borrow() > 0).then_some(version)
    }

    /// The last revision, as it grows.
    pub(super) fn revisions(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// Who spends of strict limits, as it is fixed.
    pub(super) fn shares(&self) -> watch::Receiver<Arc<[ShareRun]>> {
        self.shares.subscribe()
    }

    /// Takes what the trees hold for what entries up to one have made.
    pub(super) fn begin_with(&self, head: &Head, last: LogId, members: &Membership) -> Result<(), DiskError> {
        let state = &self.disk.state;
        state.insert(HEAD, record::write_json(head)?)?;
        state.insert(APPLIED, record::write_json(&last)?)?;
        state.insert(MEMBERS, record::write_json(members)?)?;
        Ok(())
    }

    /// The nodes that are gone for good.
    pub(super) fn retired(&self) -> Result<Vec<NodeId>, DiskError> {
        Ok(get(&self.disk, RETIRED)?.unwrap_or_default())
    }

    /// Looks at one state of all trees.
    pub(super) fn look<T>(
        &self,
        look: impl FnOnce(&Disk, &Head) -> Result<T, DiskError>,
    ) -> Result<T, DiskError> {
        let _turn = self.turn.read().unwrap_or_else(PoisonError::into_inner);
        self.whole()?;
        look(&self.disk, &get(&self.disk, HEAD)?.unwrap_or_default())
    }

    pub(super) fn apply_all(&self, entries: &[Entry]) -> Result<Vec<Answer>, DiskError> {
        let _turn = self.turn.write().unwrap_or_else(PoisonError::into_inner);
        entries.iter().map(|entry| self.apply(entry)).collect()
    }

    fn apply(&self, entry: &Entry) -> Result<Answer, DiskError> {
        let (task, mut progress) = self.begin(entry)?;
        // Before anything of it is done: a later program goes on from here.
        Mismatch::older(self.version_max, progress.head.version())?;
        while !self.advance(entry, &task, &mut progress)? {}
        self.version.store(progress.head.version(), Ordering::Release);
        self.revision.send_replace(progress.head.revision);
        if task.fix.is_some() {
            self.shares.send_replace(shares::read(&self.disk)?);
        }
        Ok(progress.answer)
    }

    /// What an entry asks, and how far it came.
    pub(super) fn begin(&self, entry: &Entry) -> Result<(Task, Progress), DiskError> {
        let begun: Option<Progress> = get(&self.disk, PROGRESS)?;
        if let (Some(progress), EntryPayload::Normal(Proposal(command))) = (&begun, &entry.payload)
            && progress.log_id == entry.log_id
        {
            let task = Task::resume(&self.disk, command, progress)?;
            return Ok((task, progress.clone()));
        }
        if begun.is_some() {
            return Err(DiskError::Unfinished);
        }
        let mut progress = Progress::new(entry.log_id, get(&self.disk, HEAD)?.unwrap_or_default());
        let task = match &entry.payload {
            EntryPayload::Normal(Proposal(command)) => Task::begin(&self.disk, command, &mut progress)?,
            EntryPayload::Blank | EntryPayload::Membership(_) => Task::default(),
        };
        Ok((task, progress))
    }

    /// One transaction: goes on with an entry; whether it is done.
    pub(super) fn advance(
        &self,
        entry: &Entry,
        task: &Task,
        progress: &mut Progress,
    ) -> Result<bool, DiskError> {
        let Disk { state, entities, revisions, values, requests, stages, .. } = &self.disk;
        let together = (state, entities, revisions, values, requests, stages);
        let advanced = together.transaction(|(state, entities, revisions, values, requests, stages)| {
            let revisions_kept = self.revisions_kept;
            let trees = Trees { entities, revisions, values, requests, stages, revisions_kept };
            // The database may ask for another try.
            let mut progress = progress.clone();
            let done = trees.advance(task, &mut progress, Budget::new(self.transaction_bytes))?;
            if !done {
                put(state, PROGRESS, &progress)?;
                return Ok((done, progress));
            }
            if let EntryPayload::Membership(members) = &entry.payload {
                put(state, MEMBERS, &Membership::new(Some(entry.log_id), members.clone()))?;
            }
            if let Some(node) = task.retire {
                retire(state, node)?;
            }
            if let Some(placed) = &task.fix {
                placed.write(state)?;
            }
            put(state, APPLIED, &entry.log_id)?;
            put(state, HEAD, &progress.head)?;
            if state.get(PROGRESS)?.is_some() {
                state.remove(PROGRESS)?;
            }
            Ok((done, progress))
        });
        let (done, advanced) = advanced.map_err(failed)?;
        *progress = advanced;
        Ok(done)
    }

    /// Half of a change is nobody's to see: it is there only if the disk failed meanwhile.
    fn whole(&self) -> Result<(), DiskError> {
        match self.disk.state.contains_key(PROGRESS)? {
            true => Err(DiskError::Unfinished),
            false => Ok(()),
        }
    }

    pub(super) fn snapshot(&self) -> Result<Snapshot<Types>, DiskError> {
        let _turn = self.turn.read().unwrap_or_else(PoisonError::into_inner);
        self.whole()?;
        let last_log_id: Option<LogId> = get(&self.disk, APPLIED)?;
        let last_membership: Membership = get(&self.disk, MEMBERS)?.unwrap_or_default();
        let mut unique = [0; 8];
        getrandom::fill(&mut unique).map_err(std::io::Error::other)?;
        let snapshot_id = format!("{:016x}", u64::from_be_bytes(unique));
        let meta = SnapshotMeta { last_log_id, last_membership, snapshot_id };
        // The database first: a snapshot must never last that is ahead of it.
        self.disk.sync()?;
        let file = SnapshotFile::write(&self.snapshots, &meta, &self.disk)?;
        Ok(Snapshot { meta, snapshot: Box::new(file) })
    }

    fn current_snapshot(&self) -> Result<Option<Snapshot<Types>>, DiskError> {
        let mut gone = None;
        for _ in 0..LOOKS_MAX {
            let Some(file) = SnapshotFile::latest(&self.snapshots)? else { return Ok(None) };
            match file.meta() {
                Ok(meta) => return Ok(Some(Snapshot { meta, snapshot: Box::new(file) })),
                // A newer one, made beside, has taken its place.
                Err(DiskError::Io(error)) if error.kind() == ErrorKind::NotFound => gone = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(gone.unwrap_or_else(|| ErrorKind::NotFound.into()).into())
    }

    fn install(&self, meta: &SnapshotMeta, file: &SnapshotFile) -> Result<(), DiskError> {
        let _turn = self.turn.write().unwrap_or_else(PoisonError::into_inner);
        let trees = snapshot::trees(&self.disk);
        let mut batches: HashMap<&str, sled::Batch> = HashMap::new();
        for (name, tree) in trees {
            let batch = batches.entry(name).or_default();
            for key in tree.iter().keys() {
                batch.remove(key?);
            }
        }
        let (mut unknown, mut version) = (false, None);
        file.visit(|record| {
            if record.tree == b"state"[..] && record.key == HEAD.as_bytes() {
                version = record::read_json(&record.value).ok().map(|head: Head| head.version());
            }
            match std::str::from_utf8(&record.tree).ok().and_then(|name| batches.get_mut(name)) {
                Some(batch) => batch.insert(&record.key[..], &record.value[..]),
                None => unknown = true,
            }
        })?;
        if let Some(version) = version {
            Mismatch::older(self.version_max, version)?;
        }
        if unknown {
            let why = "the snapshot has a tree that this version does not know";
            return Err(std::io::Error::other(why).into());
        }
        let own = batches.entry("state").or_default();
        if let Some(last) = &meta.last_log_id {
            own.insert(APPLIED, record::write_json(last)?);
        }
        own.insert(MEMBERS, record::write_json(&meta.last_membership)?);
        let together = trees.map(|(_, tree)| tree);
        let batches = trees.map(|(name, _)| batches.remove(name).unwrap_or_default());
        let installed = together.as_slice().transaction(|trees| {
            for (tree, batch) in trees.iter().zip(&batches) {
                tree.apply_batch(batch)?;
            }
            Ok::<_, Aborted>(())
        });
        installed.map_err(failed)?;
        self.disk.sync()?;
        file.keep(&self.snapshots, meta)?;
        let head: Head = get(&self.disk, HEAD)?.unwrap_or_default();
        self.version.store(head.version(), Ordering::Release);
        self.revision.send_replace(head.revision);
        self.shares.send_replace(shares::read(&self.disk)?);
        Ok(())
    }
}

fn get<T: DeserializeOwned>(disk: &Disk, name: &str) -> Result<Option<T>, DiskError> {
    Ok(disk.state.get(name)?.map(|value| record::read_json(&value)).transpose()?)
}

fn put(state: &TransactionalTree, name: &str, content: &impl serde::Serialize) -> Result<(), Aborted> {
    state.insert(name, record::write_json(content).map_err(Aborted::Abort)?)?;
    Ok(())
}

fn retire(state: &TransactionalTree, node: NodeId) -> Result<(), Aborted> {
    let known = state.get(RETIRED)?.map(|value| record::read_json(&value)).transpose();
    let mut retired: Vec<NodeId> = known.map_err(Aborted::Abort)?.unwrap_or_default();
    retired.retain(|other| *other != node);
    retired.push(node);
    retired.drain(..retired.len().saturating_sub(RETIRED_MAX));
    put(state, RETIRED, &retired)
}

fn failed(error: TransactionError<RecordError>) -> DiskError {
    match error {
        TransactionError::Abort(error) => error.into(),
        TransactionError::Storage(error) => error.into(),
    }
}

fn writing(error: DiskError) -> StorageError {
    error.on(ErrorSubject::StateMachine, ErrorVerb::Write)
}

fn reading(error: DiskError) -> StorageError {
    error.on(ErrorSubject::StateMachine, ErrorVerb::Read)
}

/// Runs something that waits for the disk away from the threads that others wait for.
async fn aside<T: Send + 'static>(
    machine: &StateMachine,
    work: impl FnOnce(&StateMachine) -> Result<T, DiskError> + Send + 'static,
) -> Result<T, StorageError> {
    let machine = machine.clone();
    let done = tokio::task::spawn_blocking(move || work(&machine)).await;
    done.map_err(|error| std::io::Error::other(error).into()).flatten().map_err(writing)
}

impl RaftSnapshotBuilder<Types> for StateMachine {
    async fn build_snapshot(&mut self) -> Result<Snapshot<Types>, StorageError> {
        aside(self, Self::snapshot).await
    }
}

impl RaftStateMachine<Types> for StateMachine {
    type SnapshotBuilder = Self;

    async fn applied_state(&mut self) -> Result<(Option<LogId>, Membership), StorageError> {
        let applied = get(&self.disk, APPLIED).map_err(reading)?;
        Ok((applied, get(&self.disk, MEMBERS).map_err(reading)?.unwrap_or_default()))
    }

    async fn apply<I>(&mut self, entries: I) -> Result<Vec<Answer>, StorageError>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        let entries: Vec<_> = entries.into_iter().collect();
        aside(self, move |machine| machine.apply_all(&entries)).await
    }

    async fn get_snapshot_builder(&mut self) -> Self {
        self.clone()
    }

    async fn begin_receiving_snapshot(&mut self) -> Result<Box<SnapshotFile>, StorageError> {
        let room = SnapshotFile::to_receive(&self.snapshots);
        Ok(Box::new(room.map_err(|error| writing(error.into()))?))
    }

    async fn install_snapshot(
        &mut self,
        meta: &SnapshotMeta,
        file: Box<SnapshotFile>,
    ) -> Result<(), StorageError> {
        let meta = meta.clone();
        aside(self, move |machine| machine.install(&meta, &file)).await
    }

    async fn get_current_snapshot(&mut self) -> Result<Option<Snapshot<Types>>, StorageError> {
        aside(self, Self::current_snapshot).await
    }
}
