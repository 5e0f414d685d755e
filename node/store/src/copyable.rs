//! What of a ledger can be copied elsewhere while it is written: bytes that are on the disk, and never change again.

use crate::{
    ledger::Ledger,
    segment::{HEADER_BYTES, Name},
    source::Source,
};
use std::{fs::File, io, os::unix::fs::FileExt};

/// A segment, as far as it can be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copyable {
    /// Which.
    pub name: Name,
    /// From its begin on.
    pub bytes: u64,
    /// It will have no more.
    pub is_sealed: bool,
}

/// Bytes of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// They.
    pub bytes: Vec<u8>,
    /// CRC-32 of them.
    pub crc: u32,
    /// The segment will have no more than it has now.
    pub is_sealed: bool,
    /// With the last ones of a sealed segment: CRC-32 of all of it.
    pub crc_of_all: Option<u32>,
}

impl Ledger {
    /// All segments that hold something, the oldest first.
    pub fn copyable(&self) -> Vec<Copyable> {
        let all = self.sources().into_iter().map(|source| Copyable::of(&source));
        all.filter(|copyable| copyable.bytes > HEADER_BYTES as u64).collect()
    }

    /// Bytes of a segment from an offset on, at most so many; none behind what can be copied, and `None` if the segment has
    /// been dropped.
    ///
    /// # Errors
    ///
    /// The disk.
    pub fn piece(&self, name: Name, offset: u64, bytes_max: usize) -> io::Result<Option<Piece>> {
        let Some(source) = self.sources().into_iter().find(|source| source.name() == name) else {
            return Ok(None);
        };
        let copyable = Copyable::of(&source);
        let left = usize::try_from(copyable.bytes.saturating_sub(offset)).unwrap_or(usize::MAX);
        let Some(bytes) = self.bytes(&source, offset, left.min(bytes_max))? else { return Ok(None) };
        let is_last = copyable.is_sealed && left <= bytes_max;
        let all = if is_last { self.bytes(&source, 0, copyable.bytes as usize)? } else { None };
        let crc = crc32fast::hash(&bytes);
        let crc_of_all = all.map(|all| crc32fast::hash(&all));
        Ok(Some(Piece { bytes, crc, is_sealed: copyable.is_sealed, crc_of_all }))
    }

    fn bytes(&self, source: &Source, offset: u64, count: usize) -> io::Result<Option<Vec<u8>>> {
        match source {
            Source::Live(segment) => {
                let begin = usize::try_from(offset).unwrap_or(usize::MAX);
                let bytes = segment.map.read().get(begin..begin.saturating_add(count));
                Ok(Some(bytes.unwrap_or_default().to_vec()))
            }
            Source::Sealed(sealed) => {
                let file = match File::open(self.folder().segment(sealed.name)) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                    opened => opened?,
                };
                let mut bytes = vec![0; count];
                file.read_exact_at(&mut bytes, offset)?;
                Ok(Some(bytes))
            }
        }
    }
}

impl Copyable {
    fn of(source: &Source) -> Self {
        let (bytes, is_sealed) = match source {
            Source::Live(segment) => (segment.synced() as u64, false),
            Source::Sealed(sealed) => (sealed.segment_bytes, true),
        };
        Self { name: source.name(), bytes, is_sealed }
    }
}
