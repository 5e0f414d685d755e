//! The records of revisions as others have them: each is bound to the one before by its digest.

use super::record::{self, RecordError};
use sha2::{Digest, Sha256};
use trestle_proto::log;

/// A record of a revision: all of one, or a part of a large one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The revision.
    pub revision: u64,
    /// Which of its records, from 0.
    pub part: u32,
    /// When it was proposed, but never before the one before it.
    pub at_unix_ms: u64,
    /// Who asked, and from where; in the first record of a revision.
    pub origin: Vec<u8>,
    /// The entities that it changed.
    pub steps: Vec<RecordStep>,
    /// The SHA-256 of the record before; zeros in the very first one.
    pub previous_sha256: [u8; 32],
}

/// What a revision did to an entity, by digests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordStep {
    /// Its kind.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// The SHA-256 of its value before; `None` if there was no such entity.
    pub before_sha256: Option<[u8; 32]>,
    /// The SHA-256 of its value after; `None` if it was removed.
    pub after_sha256: Option<[u8; 32]>,
}

/// Records that are not a whole chain.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ChainError {
    /// Nothing to check.
    #[error("there are no records")]
    Empty,
    /// Not a record.
    #[error("record {index} cannot be read: {why}")]
    Unreadable {
        /// Which one, from 0.
        index: usize,
        /// Why.
        why: String,
    },
    /// Records are missing, or not in their order.
    #[error("record {index} does not follow: it is part {part} of revision {revision}")]
    Gap {
        /// Which one, from 0.
        index: usize,
        /// Its revision.
        revision: u64,
        /// Its part.
        part: u32,
    },
    /// The one before is not what it was.
    #[error("the record before {index} is not what it was when {index} was made")]
    Broken {
        /// The one that says so, from 0.
        index: usize,
    },
    /// It would be older than the one before.
    #[error("record {index} goes back in time")]
    Time {
        /// Which one, from 0.
        index: usize,
    },
}

impl Record {
    /// Reads a record as it is in `Revision::records`.
    pub fn decode(raw: &[u8]) -> Result<Self, ChainError> {
        decode(raw).map_err(|error| ChainError::Unreadable { index: 0, why: error.to_string() })
    }

    /// Whether a record may be the one after this, and both of one chain.
    fn leads_to(&self, next: &Self, index: usize) -> Result<(), ChainError> {
        let within = next.revision == self.revision && Some(next.part) == self.part.checked_add(1);
        let after = Some(next.revision) == self.revision.checked_add(1) && next.part == 0;
        if !within && !after {
            return Err(ChainError::Gap { index, revision: next.revision, part: next.part });
        }
        match next.at_unix_ms < self.at_unix_ms {
            true => Err(ChainError::Time { index }),
            false => Ok(()),
        }
    }
}

fn decode(raw: &[u8]) -> Result<Record, RecordError> {
    let log::Revision { revision, part, at_unix_ms, origin, steps, previous_sha256 } = record::read(raw)?;
    let step = |step: log::Step| {
        Ok::<_, RecordError>(RecordStep {
            kind: step.kind,
            id: step.id,
            before_sha256: sha256(&step.before_sha256)?,
            after_sha256: sha256(&step.after_sha256)?,
        })
    };
    Ok(Record {
        revision,
        part,
        at_unix_ms,
        origin: origin.into(),
        steps: steps.into_iter().map(step).collect::<Result<_, _>>()?,
        previous_sha256: sha256(&previous_sha256)?.ok_or(RecordError::Digest)?,
    })
}

fn sha256(bytes: &[u8]) -> Result<Option<[u8; 32]>, RecordError> {
    match bytes {
        [] => Ok(None),
        bytes => bytes.try_into().map(Some).map_err(|_| RecordError::Digest),
    }
}

/// Checks records, in their order and from the first of a revision on, and gives the SHA-256 of the last one. It is the one
/// of `Consensus::head` if nothing is missing at the end.
pub fn chain<'a>(records: impl IntoIterator<Item = &'a [u8]>) -> Result<[u8; 32], ChainError> {
    let mut last: Option<(Record, [u8; 32])> = None;
    for (index, raw) in records.into_iter().enumerate() {
        let record = decode(raw).map_err(|error| ChainError::Unreadable { index, why: error.to_string() })?;
        match &last {
            None if record.part == 0 => {}
            None => return Err(ChainError::Gap { index, revision: record.revision, part: record.part }),
            Some((before, _)) => before.leads_to(&record, index)?,
        }
        if last.is_some_and(|(_, sha256)| sha256 != record.previous_sha256) {
            return Err(ChainError::Broken { index });
        }
        last = Some((record, Sha256::digest(raw).into()));
    }
    last.map(|(_, sha256)| sha256).ok_or(ChainError::Empty)
}
