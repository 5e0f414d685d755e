//! What is proposed and what is kept, as Rust types; and how values are written: a format byte, then the value.

use serde::{Serialize, de::DeserializeOwned};
use trestle_proto::log;
use trestle_proto::prost::Message;

/// The format of all values.
const FORMAT: u8 = 1;

/// A value on the disk that cannot be what was written there.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordError {
    /// Written by a later version.
    #[error("a value has the format {0}, this version reads {FORMAT}")]
    Format(u8),
    /// Not a value at all.
    #[error("a value is empty")]
    Empty,
    /// Not what its format says.
    #[error("a value cannot be read: {0}")]
    Message(#[from] trestle_proto::prost::DecodeError),
    /// Not what its format says.
    #[error("a value cannot be read: {0}")]
    Json(#[from] serde_json::Error),
    /// Not one of SHA-256.
    #[error("a digest has a wrong length")]
    Digest,
    /// Others refer to it.
    #[error("a value is gone")]
    Gone,
    /// A run of shares that was never taken so.
    #[error("shares of strict limits cannot be read")]
    Shares,
}

/// Entities that change together, whole or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// The revision that the whole state must be of; `None`: whatever it is.
    pub expected_revision: Option<u64>,
    /// What they become.
    pub writes: Vec<Write>,
    /// Who asked, and from where; kept with the revision as it is.
    pub origin: Vec<u8>,
}

/// An entity's new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// Its kind; not empty, without a zero byte.
    pub kind: String,
    /// Its id; not empty.
    pub id: String,
    /// The version that introduced the members it uses.
    pub introduced: u32,
    /// At most `Consensus::ENTITY_BYTES_MAX`; `None` removes the entity.
    pub value: Option<Vec<u8>>,
}

/// An entity as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entity {
    /// Its kind.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// The revision that changed it last.
    pub revision: u64,
    /// The version that introduced the members it uses.
    pub introduced: u32,
    /// Its value.
    pub value: Vec<u8>,
}

/// A revision: what changed, when, and on whose behalf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Its number; the first is 1.
    pub revision: u64,
    /// When it was proposed, but never before the one before it.
    pub at_unix_ms: u64,
    /// Who asked, and from where, as it was proposed.
    pub origin: Vec<u8>,
    /// The entities that it changed, in the order of the proposal.
    pub steps: Vec<Step>,
    /// The records as they are kept: the SHA-256 of each is in the next one. `Record` and `chain` read them.
    pub records: Vec<Vec<u8>>,
}

/// What a revision did to an entity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its kind.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// Its value before; `None` if there was no such entity.
    pub before: Option<Vec<u8>>,
    /// Its value after; `None` if it was removed.
    pub after: Option<Vec<u8>>,
}

/// An entity that is no longer what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// Its kind.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// What it is now; `None` if there is no such entity any more.
    pub now: Option<Entity>,
}

impl From<Change> for log::Change {
    fn from(change: Change) -> Self {
        let write = |Write { kind, id, introduced, value }: Write| log::Write {
            kind,
            id,
            introduced,
            value: value.map(Into::into),
        };
        Self {
            expected_revision: change.expected_revision,
            writes: change.writes.into_iter().map(write).collect(),
            origin: change.origin.into(),
        }
    }
}

/// The key of an entity.
pub(super) fn entity_key(kind: &str, id: &str) -> Vec<u8> {
    [kind.as_bytes(), b"\0", id.as_bytes()].concat()
}

/// The key of a record of a revision.
pub(super) fn revision_key(revision: u64, part: u32) -> Vec<u8> {
    [&revision.to_be_bytes()[..], &part.to_be_bytes()[..]].concat()
}

/// A message as a value.
pub(super) fn write(message: &impl Message) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 + message.encoded_len());
    out.push(FORMAT);
    message.encode_raw(&mut out);
    out
}

/// Bytes that mean nothing here as a value.
pub(super) fn write_bytes(content: &[u8]) -> Vec<u8> {
    [&[FORMAT], content].concat()
}

/// A value as those bytes.
pub(super) fn read_bytes(value: &[u8]) -> Result<&[u8], RecordError> {
    content(value)
}

/// A value as a message.
pub(super) fn read<T: Message + Default>(value: &[u8]) -> Result<T, RecordError> {
    Ok(T::decode(content(value)?)?)
}

/// A type of the consensus library, or one that only this crate sees, as a value.
pub(super) fn write_json(content: &impl Serialize) -> Result<Vec<u8>, RecordError> {
    let mut out = vec![FORMAT];
    serde_json::to_writer(&mut out, content)?;
    Ok(out)
}

/// A value as one of those types.
pub(super) fn read_json<T: DeserializeOwned>(value: &[u8]) -> Result<T, RecordError> {
    Ok(serde_json::from_slice(content(value)?)?)
}

fn content(value: &[u8]) -> Result<&[u8], RecordError> {
    match value.split_first() {
        Some((&FORMAT, content)) => Ok(content),
        Some((format, _)) => Err(RecordError::Format(*format)),
        None => Err(RecordError::Empty),
    }
}
