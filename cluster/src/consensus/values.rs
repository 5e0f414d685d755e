//! Values by their digest, for as long as somebody refers to them: what entities were, and what is too large for one
//! value of the database, in pieces.

use super::{
    apply::{ApplyError, Budget},
    disk::{DiskError, VALUE_BYTES_MAX},
    record::{self, RecordError},
};
use bytes::Bytes;
use sled::transaction::TransactionalTree;
use trestle_proto::log;

/// Larger ones are kept in pieces of this size.
pub(super) const PIECE_BYTES: usize = 24 * 1024;
const _: () = assert!(PIECE_BYTES + 128 < VALUE_BYTES_MAX);

/// Keeps a value for one more who refers to it.
pub(super) fn hold(tree: &TransactionalTree, sha256: &[u8], value: &Bytes) -> Result<(), ApplyError> {
    let mut held = match tree.get(sha256)? {
        Some(known) => record::read(&known)?,
        None => place(tree, sha256, value)?,
    };
    held.references += 1;
    tree.insert(sha256, record::write(&held))?;
    Ok(())
}

fn place(tree: &TransactionalTree, sha256: &[u8], value: &Bytes) -> Result<log::Value, ApplyError> {
    if value.len() <= PIECE_BYTES {
        return Ok(log::Value { references: 0, value: value.clone(), pieces: 0 });
    }
    let mut pieces = 0;
    for piece in value.chunks(PIECE_BYTES) {
        tree.insert(piece_key(sha256, pieces), record::write_bytes(piece))?;
        pieces += 1;
    }
    Ok(log::Value { references: 0, value: Bytes::new(), pieces })
}

/// One fewer refers to a value; without any it goes.
pub(super) fn release(
    tree: &TransactionalTree,
    sha256: &[u8],
    budget: &mut Budget,
) -> Result<(), ApplyError> {
    let known = tree.get(sha256)?.ok_or(RecordError::Gone)?;
    budget.spend(known.len());
    let mut held: log::Value = record::read(&known)?;
    held.references = held.references.saturating_sub(1);
    if held.references > 0 {
        tree.insert(sha256, record::write(&held))?;
        return Ok(());
    }
    tree.remove(sha256)?;
    for piece in 0..held.pieces {
        budget.spend(PIECE_BYTES);
        tree.remove(piece_key(sha256, piece))?;
    }
    Ok(())
}

/// A value that somebody refers to.
pub(super) fn read(tree: &sled::Tree, sha256: &[u8]) -> Result<Bytes, DiskError> {
    let known = tree.get(sha256)?.ok_or(RecordError::Gone)?;
    let held: log::Value = record::read(&known)?;
    if held.pieces == 0 {
        return Ok(held.value);
    }
    let mut whole = Vec::new();
    for piece in 0..held.pieces {
        let piece = tree.get(piece_key(sha256, piece))?.ok_or(RecordError::Gone)?;
        whole.extend_from_slice(record::read_bytes(&piece)?);
    }
    Ok(whole.into())
}

fn piece_key(sha256: &[u8], piece: u32) -> Vec<u8> {
    [sha256, &piece.to_be_bytes()[..]].concat()
}
