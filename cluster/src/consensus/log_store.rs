//! The log: entries, vote, and what was purged. What is acknowledged was synced before.

use super::{
    disk::{Disk, DiskError},
    record::{self, RecordError},
    types::{Entry, LogId, NodeId, Proposal, StorageError, Types},
};
use openraft::{
    EntryPayload, ErrorSubject, ErrorVerb, LogState, OptionalSend, RaftLogReader, Vote,
    storage::{LogFlushed, RaftLogStorage},
};
use serde::{Serialize, de::DeserializeOwned};
use std::{
    fmt::Debug,
    ops::{Bound, RangeBounds},
};
use trestle_proto::log::{self, log_entry::Payload};
use trestle_proto::prost::Message;

/// Entries in one message to another node: it must arrive and be synced there within the time between two heartbeats, which
/// is all that the library waits for.
const SENT_BYTES_MAX: usize = 128 * 1024;
const VOTE: &str = "vote";
const COMMITTED: &str = "committed";
const PURGED: &str = "purged";

/// The log of a node.
#[derive(Clone)]
pub(super) struct LogStore {
    disk: Disk,
}

impl LogStore {
    pub(super) fn new(disk: Disk) -> Self {
        Self { disk }
    }

    fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, DiskError> {
        // What cannot be read is an error, never "absent": a lost vote would be given twice.
        Ok(self.disk.meta.get(name)?.map(|value| record::read_json(&value)).transpose()?)
    }

    fn put(&self, name: &str, content: &impl Serialize) -> Result<(), DiskError> {
        self.disk.meta.insert(name, record::write_json(content)?)?;
        Ok(())
    }

    fn entries(&self, range: impl RangeBounds<u64>) -> Result<Vec<Entry>, DiskError> {
        let from = match range.start_bound() {
            Bound::Included(from) => *from,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let keys = from.to_be_bytes()..;
        let mut entries = Vec::new();
        for pair in self.disk.log.range(keys) {
            let entry = read(&pair?.1)?;
            if !range.contains(&entry.log_id.index) {
                break;
            }
            entries.push(entry);
        }
        Ok(entries)
    }

    /// The first entries of a range, as many as one message may hold; at least one, if there is one.
    fn first_entries(&self, range: std::ops::Range<u64>) -> Result<Vec<Entry>, DiskError> {
        let keys = range.start.to_be_bytes()..range.end.to_be_bytes();
        let (mut entries, mut bytes) = (Vec::new(), 0);
        for pair in self.disk.log.range(keys) {
            let value = pair?.1;
            bytes += value.len();
            if bytes > SENT_BYTES_MAX && !entries.is_empty() {
                break;
            }
            entries.push(read(&value)?);
        }
        Ok(entries)
    }

    pub(super) fn state(&self) -> Result<LogState<Types>, DiskError> {
        let purged: Option<LogId> = self.get(PURGED)?;
        let last = self.disk.log.last()?.map(|(_, value)| read(&value)).transpose()?;
        let last = last.map(|entry| entry.log_id).max(purged);
        Ok(LogState { last_purged_log_id: purged, last_log_id: last })
    }

    /// Whether the node was ever a member, or gave a vote: what the consensus library means by it.
    pub(super) fn is_initialized(&self) -> Result<bool, DiskError> {
        let voted = self.get::<Vote<NodeId>>(VOTE)?.is_some_and(|vote| vote != Vote::default());
        Ok(voted || self.state()?.last_log_id.is_some())
    }

    /// An empty log that goes on after an entry which its own node made.
    pub(super) fn begin_after(&self, last: LogId) -> Result<(), DiskError> {
        self.put(VOTE, &Vote::new_committed(last.leader_id.term, last.leader_id.node_id))?;
        self.put(COMMITTED, &Some(last))?;
        self.put(PURGED, &last)
    }

    pub(super) fn write(&self, entries: impl IntoIterator<Item = Entry>) -> Result<(), DiskError> {
        let mut batch = sled::Batch::default();
        for entry in entries {
            batch.insert(&entry.log_id.index.to_be_bytes(), write(entry)?);
        }
        Ok(self.disk.log.apply_batch(batch)?)
    }

    fn remove(&self, keys: impl RangeBounds<[u8; 8]>) -> Result<(), DiskError> {
        let mut batch = sled::Batch::default();
        for pair in self.disk.log.range(keys) {
            batch.remove(pair?.0);
        }
        Ok(self.disk.log.apply_batch(batch)?)
    }
}

/// An entry as it is kept, and as it is sent.
pub(super) fn write(entry: Entry) -> Result<Vec<u8>, DiskError> {
    let payload = match entry.payload {
        EntryPayload::Blank => Payload::Blank(log::Blank {}),
        EntryPayload::Normal(Proposal(command)) => {
            Payload::Command(log::Command::decode(&command[..]).map_err(RecordError::from)?)
        }
        EntryPayload::Membership(members) => {
            Payload::Membership(serde_json::to_vec(&members).map_err(RecordError::from)?.into())
        }
    };
    let LogId { leader_id, index } = entry.log_id;
    let (term, leader) = (leader_id.term, leader_id.node_id);
    Ok(record::write(&log::LogEntry { term, leader, index, payload: Some(payload) }))
}

/// What was written so.
pub(super) fn read(value: &[u8]) -> Result<Entry, DiskError> {
    let entry: log::LogEntry = record::read(value)?;
    let payload = match entry.payload {
        Some(Payload::Blank(_)) => EntryPayload::Blank,
        Some(Payload::Command(command)) => EntryPayload::Normal(Proposal(command.encode_to_vec())),
        Some(Payload::Membership(members)) => {
            EntryPayload::Membership(serde_json::from_slice(&members).map_err(RecordError::from)?)
        }
        None => return Err(RecordError::Empty.into()),
    };
    let leader = openraft::CommittedLeaderId::new(entry.term, entry.leader);
    Ok(Entry { log_id: LogId::new(leader, entry.index), payload })
}

fn reading(error: DiskError) -> StorageError {
    error.on(ErrorSubject::Logs, ErrorVerb::Read)
}

fn writing(error: DiskError) -> StorageError {
    error.on(ErrorSubject::Logs, ErrorVerb::Write)
}

impl RaftLogReader<Types> for LogStore {
    async fn try_get_log_entries<R: RangeBounds<u64> + Clone + Debug + OptionalSend>(
        &mut self,
        range: R,
    ) -> Result<Vec<Entry>, StorageError> {
        self.entries(range).map_err(reading)
    }

    async fn limited_get_log_entries(&mut self, start: u64, end: u64) -> Result<Vec<Entry>, StorageError> {
        self.first_entries(start..end).map_err(reading)
    }
}

impl RaftLogStorage<Types> for LogStore {
    type LogReader = Self;

    async fn get_log_state(&mut self) -> Result<LogState<Types>, StorageError> {
        self.state().map_err(reading)
    }

    async fn get_log_reader(&mut self) -> Self {
        self.clone()
    }

    async fn save_vote(&mut self, vote: &Vote<NodeId>) -> Result<(), StorageError> {
        self.put(VOTE, vote).map_err(|error| error.on(ErrorSubject::Vote, ErrorVerb::Write))?;
        self.disk.synced().await.map_err(|error| error.on(ErrorSubject::Vote, ErrorVerb::Write))
    }

    async fn read_vote(&mut self) -> Result<Option<Vote<NodeId>>, StorageError> {
        self.get(VOTE).map_err(|error| error.on(ErrorSubject::Vote, ErrorVerb::Read))
    }

    // A hint: without it more is applied anew after a start.
    async fn save_committed(&mut self, committed: Option<LogId>) -> Result<(), StorageError> {
        self.put(COMMITTED, &committed).map_err(writing)
    }

    async fn read_committed(&mut self) -> Result<Option<LogId>, StorageError> {
        Ok(self.get::<Option<LogId>>(COMMITTED).map_err(reading)?.flatten())
    }

    async fn append<I>(&mut self, entries: I, flushed: LogFlushed<Types>) -> Result<(), StorageError>
    where
        I: IntoIterator<Item = Entry> + OptionalSend,
        I::IntoIter: OptionalSend,
    {
        self.write(entries).map_err(writing)?;
        flushed.log_io_completed(self.disk.synced().await.map_err(std::io::Error::other));
        Ok(())
    }

    async fn truncate(&mut self, from: LogId) -> Result<(), StorageError> {
        self.remove(from.index.to_be_bytes()..).map_err(writing)?;
        self.disk.synced().await.map_err(writing)
    }

    async fn purge(&mut self, upto: LogId) -> Result<(), StorageError> {
        // The mark first: entries without it would be a log that begins nowhere.
        self.put(PURGED, &upto).map_err(writing)?;
        self.disk.synced().await.map_err(writing)?;
        self.remove(..=upto.index.to_be_bytes()).map_err(writing)
    }
}
