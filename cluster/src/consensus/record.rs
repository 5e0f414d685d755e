//! What is proposed and what is kept, as Rust types; and how values are written: a format byte, then the value.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
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
}

/// Entities that change together, whole or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// How the entities must be.
    pub conditions: Vec<Condition>,
    /// What they become.
    pub writes: Vec<Write>,
    /// Who asked, and from where; kept with the revision as it is.
    pub origin: Vec<u8>,
}

/// An entity must be as the proposer saw it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// Its kind.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// The revision that changed it last; 0 for one that must not exist.
    pub revision: u64,
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

impl From<Change> for log::Change {
    fn from(change: Change) -> Self {
        let condition = |Condition { kind, id, revision }: Condition| log::Condition { kind, id, revision };
        let write = |Write { kind, id, introduced, value }: Write| log::Write {
            kind,
            id,
            introduced,
            value: value.map(Into::into),
        };
        Self {
            conditions: change.conditions.into_iter().map(condition).collect(),
            writes: change.writes.into_iter().map(write).collect(),
            origin: change.origin.into(),
        }
    }
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
