//! One command, applied: the same on every node, within one transaction. A pure function of the state and the command.

use super::{
    record::{self, RecordError},
    types::Answer,
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

impl Trees<'_> {
    /// Applies a command, or answers again what was answered to its request.
    pub(super) fn apply(&self, command: &[u8], head: &mut Head) -> Result<Answer, ApplyError> {
        let command = log::Command::decode(command).map_err(RecordError::from)?;
        let request = [b"r", &command.request_id[..]].concat();
        if let Some(known) = self.requests.get(&request)? {
            return Ok(record::read_json(&known)?);
        }
        head.at_unix_ms = head.at_unix_ms.max(command.at_unix_ms);
        let answer = match command.body {
            Some(Body::Change(change)) => self.change(change, head)?,
            Some(Body::Part(part)) => self.stage(&part, head)?,
            Some(Body::Commit(commit)) => self.commit(&commit, head)?,
            None => Answer::Refused("this version does not know what is asked".to_owned()),
        };
        self.requests.insert(&request[..], record::write_json(&answer)?)?;
        remember(self.requests, &mut head.requests, REQUESTS_MAX, &request)?;
        Ok(answer)
    }

    fn change(&self, change: log::Change, head: &mut Head) -> Result<Answer, ApplyError> {
        if let Some(why) = refusal(&change) {
            return Ok(Answer::Refused(why));
        }
        if change.expected_revision.is_some_and(|expected| expected != head.revision) {
            return Ok(Answer::Conflict(head.revision));
        }
        self.revise(change, head)?;
        Ok(Answer::Applied(head.revision))
    }

    fn stage(&self, part: &log::StagePart, head: &mut Head) -> Result<Answer, ApplyError> {
        let key = part_key(&part.stage_id, part.part);
        self.stages.insert(&key[..], record::write_bytes(&part.data))?;
        remember(self.stages, &mut head.parts, PARTS_MAX, &key)?;
        Ok(Answer::Staged)
    }

    fn commit(&self, commit: &log::StageCommit, head: &mut Head) -> Result<Answer, ApplyError> {
        let mut whole = Vec::new();
        for part in 0..commit.parts {
            let key = part_key(&commit.stage_id, part);
            let Some(data) = self.stages.remove(&key[..])? else {
                return Ok(Answer::Refused("parts of the change are gone: send it again".to_owned()));
            };
            whole.extend_from_slice(record::read_bytes(&data)?);
        }
        if digest(&whole) != commit.sha256 {
            return Ok(Answer::Refused("the parts of the change are not what was sent".to_owned()));
        }
        match log::Change::decode(&whole[..]) {
            Ok(change) => self.change(change, head),
            Err(error) => Ok(Answer::Refused(format!("the parts are no change: {error}"))),
        }
    }
}

/// The SHA-256 of bytes.
pub(super) fn digest(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(&Sha256::digest(bytes))
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

/// Why a change cannot be applied, whatever the state is.
fn refusal(change: &log::Change) -> Option<String> {
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
