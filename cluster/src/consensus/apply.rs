//! One command, applied: the same on every node. What it will lead to is decided first, by reading; then it is done in as
//! many transactions as it takes, of which each goes on where the one before came to. A pure function of the state and the
//! command: how it is cut, or that it was interrupted, does not show in what is there in the end.

use super::{
    disk::{Disk, DiskError},
    record::{self, RecordError},
    revise::forgotten_max,
    shares::{self, Placed},
    types::{Answer, LogId, NodeId},
    version,
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use sled::transaction::{ConflictableTransactionError, TransactionalTree, UnabortableTransactionError};
use std::collections::BTreeSet;
use trestle_proto::log::{self, command::Body};
use trestle_proto::prost::Message;

/// Answers that are remembered for requests that come again.
const REQUESTS_MAX: u64 = 10_000;
/// Parts of large changes that wait for their commit; the oldest go first.
pub(super) const PARTS_MAX: u64 = 4_096;
/// What the database takes for a key that is written, beside the value: about that much of its page is copied.
const WRITE_BYTES: usize = 2 * 1024;
/// Largest value of an entity.
pub(super) const ENTITY_BYTES_MAX: usize = 1024 * 1024;
/// Longest kind and id together, and longest origin.
pub(super) const NAME_BYTES_MAX: usize = 512;
pub(super) const ORIGIN_BYTES_MAX: usize = 4 * 1024;

/// The trees that commands read and write.
pub(super) struct Trees<'a> {
    pub(super) entities: &'a TransactionalTree,
    pub(super) revisions: &'a TransactionalTree,
    pub(super) values: &'a TransactionalTree,
    pub(super) requests: &'a TransactionalTree,
    pub(super) stages: &'a TransactionalTree,
    /// So many revisions are kept.
    pub(super) revisions_kept: u64,
}

/// What commands lead on from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Head {
    /// The last revision.
    pub(super) revision: u64,
    /// When it was made; never goes backwards.
    pub(super) at_unix_ms: u64,
    /// The SHA-256 of its last record.
    pub(super) sha256: [u8; 32],
    /// The oldest record that is kept, or the place of the next that will be.
    pub(super) oldest: u64,
    pub(super) oldest_part: u32,
    /// Requests and parts so far, for their order.
    requests: u64,
    parts: u64,
    /// The version of the cluster; 0 if it was never raised.
    #[serde(default)]
    version: u32,
}

impl Head {
    /// The version of the cluster.
    pub(super) fn version(&self) -> u32 {
        self.version.max(version::FIRST)
    }
}

/// Why a transaction ends without effect.
#[derive(Debug)]
pub(super) enum ApplyError {
    /// The database; it may ask for another try.
    Sled(UnabortableTransactionError),
    /// A value on the disk.
    Record(RecordError),
}

impl From<UnabortableTransactionError> for ApplyError {
    fn from(error: UnabortableTransactionError) -> Self {
        Self::Sled(error)
    }
}

impl<E: Into<RecordError>> From<E> for ApplyError {
    fn from(error: E) -> Self {
        Self::Record(error.into())
    }
}

impl From<ApplyError> for ConflictableTransactionError<RecordError> {
    fn from(error: ApplyError) -> Self {
        match error {
            ApplyError::Sled(error) => error.into(),
            ApplyError::Record(error) => Self::Abort(error),
        }
    }
}

/// How far a command came that takes several transactions. Each keeps it with what it changed, and the last one removes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The entry of the log.
    pub(super) log_id: LogId,
    /// What later commands will lead on from.
    pub(super) head: Head,
    /// What it will have led to.
    pub(super) answer: Answer,
    pub(super) phase: Phase,
}

/// What comes next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Phase {
    /// So many writes are done; the next record has this number within the revision.
    Write { done: usize, part: u32 },
    /// So many old records may still be removed.
    Forget { records: u32 },
    /// The parts before this one are removed.
    Clear { part: u32 },
}

impl Progress {
    /// Nothing is done yet, and nothing will be but to answer.
    pub(super) fn new(log_id: LogId, head: Head) -> Self {
        Self { log_id, head, answer: Answer::Nothing, phase: Phase::Clear { part: 0 } }
    }
}

/// What a transaction may still write, in bytes. The first thing of each is always done, so that there is an end.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn new(bytes: usize) -> Self {
        Self(bytes.max(1))
    }

    /// A key is written or removed whose value has so many bytes.
    pub(super) fn spend(&mut self, value_bytes: usize) {
        self.0 = self.0.saturating_sub(WRITE_BYTES + value_bytes);
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0 == 0
    }
}

/// What a command asks.
#[derive(Default)]
pub(super) struct Task {
    /// Where the answer is remembered; `None` if it is already, or if nobody asked.
    request: Option<Vec<u8>>,
    /// To be kept.
    part: Option<log::StagePart>,
    /// A node that goes for good.
    pub(super) retire: Option<NodeId>,
    /// Who spends in some windows.
    pub(super) fix: Option<Placed>,
    /// To take effect, as far as it has not.
    change: log::Change,
    /// The parts that are not needed any more after that.
    stage: Option<log::StageCommit>,
}

impl Task {
    /// Reads what a command asks, and decides what it will lead to.
    pub(super) fn begin(disk: &Disk, command: &[u8], progress: &mut Progress) -> Result<Self, DiskError> {
        let command = log::Command::decode(command).map_err(RecordError::from)?;
        let request = request_key(&command);
        if let Some(known) = disk.requests.get(&request)? {
            progress.answer = record::read_json(&known)?;
            return Ok(Self::default());
        }
        progress.head.at_unix_ms = progress.head.at_unix_ms.max(command.at_unix_ms);
        let mut task = Self { request: Some(request), ..Self::default() };
        let change = match command.body {
            Some(Body::Change(change)) => Ok(change),
            Some(Body::Commit(commit)) => gather(disk, task.stage.insert(commit))?,
            Some(Body::Part(part)) => {
                task.part = Some(part);
                progress.answer = Answer::Staged;
                return Ok(task);
            }
            Some(Body::Retire(retire)) => {
                task.retire = Some(retire.node);
                progress.answer = Answer::Retired;
                return Ok(task);
            }
            Some(Body::FixShares(run)) => {
                progress.answer = match shares::place(disk, &run, command.at_unix_ms)? {
                    Ok(placed) => {
                        task.fix = Some(placed);
                        Answer::Fixed
                    }
                    Err(why) => Answer::Refused(why),
                };
                return Ok(task);
            }
            Some(Body::Raise(raise)) => {
                progress.head.version = progress.head.version().max(raise.version);
                progress.answer = Answer::Raised(progress.head.version);
                return Ok(task);
            }
            None => Err("this version does not know what is asked".to_owned()),
        };
        let of = progress.head.version();
        match change.and_then(|change| refusal(&change, of).map_or(Ok(change), Err)) {
            Ok(change) if change.expected_revision.is_some_and(|it| it != progress.head.revision) => {
                progress.answer = Answer::Conflict(progress.head.revision);
            }
            Ok(change) => {
                progress.head.revision += 1;
                progress.answer = Answer::Applied(progress.head.revision);
                progress.phase = Phase::Write { done: 0, part: 0 };
                task.change = change;
            }
            Err(why) => progress.answer = Answer::Refused(why),
        }
        Ok(task)
    }

    /// Reads what a command asks that came so far. What it needs for that is still there.
    pub(super) fn resume(disk: &Disk, command: &[u8], progress: &Progress) -> Result<Self, DiskError> {
        let command = log::Command::decode(command).map_err(RecordError::from)?;
        let mut task = Self { request: Some(request_key(&command)), ..Self::default() };
        let writes = matches!(progress.phase, Phase::Write { .. });
        match command.body {
            Some(Body::Change(change)) => task.change = change,
            Some(Body::Commit(commit)) => {
                let commit = task.stage.insert(commit);
                if writes {
                    task.change = gather(disk, commit)?.map_err(|_| RecordError::Gone)?;
                }
            }
            Some(Body::Part(_) | Body::Retire(_) | Body::FixShares(_) | Body::Raise(_)) | None => {
                return Err(RecordError::Gone.into());
            }
        }
        Ok(task)
    }
}

impl Trees<'_> {
    /// Does as much of a task as one transaction may; whether that was the rest.
    pub(super) fn advance(
        &self,
        task: &Task,
        progress: &mut Progress,
        mut budget: Budget,
    ) -> Result<bool, ApplyError> {
        let Progress { head, phase, .. } = progress;
        if let Phase::Write { done, part } = phase {
            if !self.write_on(&task.change, (done, part), head, &mut budget)? {
                return Ok(false);
            }
            *phase = Phase::Forget { records: forgotten_max(*part) };
        }
        if let Phase::Forget { records } = phase {
            if !self.forget_on(records, head, &mut budget)? {
                return Ok(false);
            }
            *phase = Phase::Clear { part: 0 };
        }
        if let (Phase::Clear { part }, Some(stage)) = (phase, &task.stage)
            && !self.clear_on(stage, part, &mut budget)?
        {
            return Ok(false);
        }
        if let Some(part) = &task.part {
            let key = part_key(&part.stage_id, part.part);
            self.stages.insert(&key[..], record::write_bytes(&part.data))?;
            remember(self.stages, &mut head.parts, PARTS_MAX, &key)?;
        }
        if let Some(request) = &task.request {
            self.requests.insert(&request[..], record::write_json(&progress.answer)?)?;
            remember(self.requests, &mut head.requests, REQUESTS_MAX, request)?;
        }
        Ok(true)
    }

    /// Goes on removing the parts of a change; whether that is done.
    fn clear_on(
        &self,
        stage: &log::StageCommit,
        next: &mut u32,
        budget: &mut Budget,
    ) -> Result<bool, ApplyError> {
        while *next < stage.parts {
            if budget.is_spent() {
                return Ok(false);
            }
            let Some(part) = self.stages.remove(part_key(&stage.stage_id, *next))? else { break };
            budget.spend(part.len());
            *next += 1;
        }
        Ok(true)
    }
}

/// The change of all parts, or why there is none.
fn gather(disk: &Disk, commit: &log::StageCommit) -> Result<Result<log::Change, String>, DiskError> {
    let mut whole = Vec::new();
    for part in 0..commit.parts {
        let Some(data) = disk.stages.get(part_key(&commit.stage_id, part))? else {
            return Ok(Err("parts of the change are gone: send it again".to_owned()));
        };
        whole.extend_from_slice(record::read_bytes(&data)?);
    }
    if digest(&whole) != commit.sha256 {
        return Ok(Err("the parts of the change are not what was sent".to_owned()));
    }
    let change = log::Change::decode(Bytes::from(whole));
    Ok(change.map_err(|error| format!("the parts are no change: {error}")))
}

/// The SHA-256 of bytes.
pub(super) fn digest(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(&Sha256::digest(bytes))
}

fn request_key(command: &log::Command) -> Vec<u8> {
    [b"r", &command.request_id[..]].concat()
}

fn part_key(stage: &[u8], part: u32) -> Vec<u8> {
    [b"p", stage, &part.to_be_bytes()[..]].concat()
}

/// Keeps a key in a tree as the latest of so many; the oldest is forgotten with what it stands for.
fn remember(tree: &TransactionalTree, count: &mut u64, max: u64, key: &[u8]) -> Result<(), ApplyError> {
    let place = |number: u64| [b"n", &number.to_be_bytes()[..]].concat();
    tree.insert(place(*count), key)?;
    *count += 1;
    if let Some(oldest) = count.checked_sub(max + 1)
        && let Some(forgotten) = tree.remove(place(oldest))?
    {
        tree.remove(&forgotten[..])?;
    }
    Ok(())
}

/// Why a change cannot be applied in a cluster of this version, whatever else the state is.
fn refusal(change: &log::Change, version: u32) -> Option<String> {
    let needed = version::needed_by(change);
    if needed > version {
        return Some(format!(
            "the change needs version {needed} of the cluster, which is of version {version}"
        ));
    }
    let mut seen = BTreeSet::new();
    for log::Write { kind, id, value, .. } in &change.writes {
        if kind.is_empty() || id.is_empty() || kind.contains('\0') || kind.len() + id.len() > NAME_BYTES_MAX {
            return Some(format!("`{kind}/{id}` is no name of an entity: at most {NAME_BYTES_MAX} bytes"));
        }
        let length = value.as_ref().map_or(0, Bytes::len);
        if length > ENTITY_BYTES_MAX {
            return Some(format!("{kind}/{id} has {length} bytes, at most {ENTITY_BYTES_MAX} are kept"));
        }
        if !seen.insert((kind, id)) {
            return Some(format!("{kind}/{id} is changed twice in one change"));
        }
    }
    let too_long = change.origin.len() > ORIGIN_BYTES_MAX;
    too_long.then(|| format!("the origin of the change is longer than {ORIGIN_BYTES_MAX} bytes"))
}
