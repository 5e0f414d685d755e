//! The state machine: commands applied in transactions that hold what they changed together with how far they came, so
//! that a crash applies again and never half.

use super::{
    apply::{Head, Trees},
    disk::{Disk, DiskError},
    record::{self, RecordError},
    snapshot::{self, SnapshotFile},
    types::{Answer, Entry, LogId, Membership, Proposal, SnapshotMeta, StorageError, Types},
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
    path::PathBuf,
    sync::{Arc, PoisonError, RwLock},
};
use tokio::sync::watch;

const APPLIED: &str = "applied";
const MEMBERS: &str = "members";
const HEAD: &str = "head";

type Aborted = ConflictableTransactionError<RecordError>;

/// The state machine of a node. A clone is another handle to it.
#[derive(Clone)]
pub(super) struct StateMachine {
    disk: Disk,
    snapshots: PathBuf,
    revisions_kept: u64,
    /// Held to write while something is applied, to read while somebody must see one state of all trees.
    turn: Arc<RwLock<()>>,
    revision: Arc<watch::Sender<u64>>,
}

impl StateMachine {
    /// The state that a disk holds.
    pub(super) fn new(disk: Disk, snapshots: PathBuf, revisions_kept: u64) -> Result<Self, DiskError> {
        let head: Head = get(&disk, HEAD)?.unwrap_or_default();
        let revision = Arc::new(watch::Sender::new(head.revision));
        Ok(Self { disk, snapshots, revisions_kept, turn: Arc::default(), revision })
    }

    /// The last revision, as it grows.
    pub(super) fn revisions(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }

    /// Looks at one state of all trees.
    pub(super) fn look<T>(
        &self,
        look: impl FnOnce(&Disk, &Head) -> Result<T, DiskError>,
    ) -> Result<T, DiskError> {
        let _turn = self.turn.read().unwrap_or_else(PoisonError::into_inner);
        look(&self.disk, &get(&self.disk, HEAD)?.unwrap_or_default())
    }

    fn apply_all(&self, entries: &[Entry]) -> Result<Vec<Answer>, DiskError> {
        let _turn = self.turn.write().unwrap_or_else(PoisonError::into_inner);
        let begun: Head = get(&self.disk, HEAD)?.unwrap_or_default();
        let Disk { state, entities, revisions, values, requests, stages, .. } = &self.disk;
        let together = (state, entities, revisions, values, requests, stages);
        let applied = together.transaction(|(state, entities, revisions, values, requests, stages)| {
            let trees =
                Trees { entities, revisions, values, requests, stages, revisions_kept: self.revisions_kept };
            // The database may ask for another try.
            let mut head = begun.clone();
            let answers = entries.iter().map(|entry| apply(entry, state, &trees, &mut head));
            let answers = answers.collect::<Result<Vec<_>, Aborted>>()?;
            if let Some(last) = entries.last() {
                put(state, APPLIED, &last.log_id)?;
            }
            put(state, HEAD, &head)?;
            Ok((answers, head.revision))
        });
        let (answers, revision) = applied.map_err(failed)?;
        self.revision.send_replace(revision);
        Ok(answers)
    }

    fn snapshot(&self) -> Result<Snapshot<Types>, DiskError> {
        let _turn = self.turn.read().unwrap_or_else(PoisonError::into_inner);
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
        let mut unknown = false;
        file.visit(|record| {
            match std::str::from_utf8(&record.tree).ok().and_then(|name| batches.get_mut(name)) {
                Some(batch) => batch.insert(&record.key[..], &record.value[..]),
                None => unknown = true,
            }
        })?;
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
        self.revision.send_replace(head.revision);
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

fn apply(
    entry: &Entry,
    state: &TransactionalTree,
    trees: &Trees<'_>,
    head: &mut Head,
) -> Result<Answer, Aborted> {
    match &entry.payload {
        EntryPayload::Blank => Ok(Answer::Nothing),
        EntryPayload::Normal(Proposal(command)) => Ok(trees.apply(command, head)?),
        EntryPayload::Membership(members) => {
            put(state, MEMBERS, &Membership::new(Some(entry.log_id), members.clone()))?;
            Ok(Answer::Nothing)
        }
    }
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
        Ok(Box::new(SnapshotFile::to_receive(&self.snapshots)))
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
        aside(self, |machine| {
            let Some(file) = SnapshotFile::latest(&machine.snapshots)? else { return Ok(None) };
            let meta = file.meta()?;
            Ok(Some(Snapshot { meta, snapshot: Box::new(file) }))
        })
        .await
    }
}
