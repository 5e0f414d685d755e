//! A place in the ledger: what was written before it, and what after.

use std::{collections::BTreeMap, fmt, str::FromStr};

/// Most segments that a position names; there are never so many at once.
const OPEN_MAX: usize = 100_000;

/// A place in the ledger, as a short text that can be kept ([`fmt::Display`], [`FromStr`]). The default is the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Position {
    /// Segments from this number on come after it.
    pub(crate) next: u64,
    /// Of those before, the ones that were still written, and how much of them lies before.
    pub(crate) open: BTreeMap<u64, usize>,
}

/// A text that is no position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a position in the ledger")]
pub struct PositionError;

impl Position {
    pub(crate) fn of(next: u64, open: impl Iterator<Item = (u64, usize)>) -> Self {
        Self { next, open: open.collect() }
    }

    /// How much of a segment lies before this; `None` if all of it does, however long it becomes.
    pub(crate) fn before(&self, sequence: u64) -> Option<usize> {
        if sequence >= self.next { Some(0) } else { self.open.get(&sequence).copied() }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.next)?;
        self.open.iter().try_for_each(|(sequence, offset)| write!(f, ",{sequence}:{offset}"))
    }
}

impl FromStr for Position {
    type Err = PositionError;

    fn from_str(text: &str) -> Result<Self, PositionError> {
        let mut parts = text.split(',');
        let next = parts.next().and_then(|next| next.parse().ok()).ok_or(PositionError)?;
        let mut open = BTreeMap::new();
        for part in parts {
            if open.len() == OPEN_MAX {
                return Err(PositionError);
            }
            let (sequence, offset) = part.split_once(':').ok_or(PositionError)?;
            let numbers = sequence.parse().ok().zip(offset.parse().ok());
            let (sequence, offset) = numbers.ok_or(PositionError)?;
            open.insert(sequence, offset);
        }
        Ok(Self { next, open })
    }
}
