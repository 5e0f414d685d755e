//! One file of records: its name, its header, and its state while it is written.

use crate::{
    folder::Folder,
    map::{Map, MapWriter, Upto, map},
};
use std::{
    io::{self, Write},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// The first record begins here; before it the header stands twice, on pages of their own.
pub(crate) const HEADER_BYTES: usize = 8192;
const COPIES: [usize; 2] = [0, 4096];
const COPY_BYTES: usize = 48;
const SUMMED_BYTES: usize = 44;
const MAGIC: [u8; 8] = *b"TRLEDGER";
const FORMAT: u32 = 1;
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// What a file is called, by its number in the ledger and the thread that wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    /// Its number in the ledger; no other segment has it.
    pub sequence: u64,
    /// The thread that wrote it.
    pub thread: u32,
}

impl Name {
    pub(crate) fn segment(self) -> String {
        format!("{:012}-t{:03}.v1.ledger", self.sequence, self.thread)
    }

    pub(crate) fn summary(self) -> String {
        format!("{:012}-t{:03}.v1.sums", self.sequence, self.thread)
    }

    pub(crate) fn of_segment(file: &str) -> Option<Self> {
        let (sequence, thread) = file.strip_suffix(".v1.ledger")?.split_once("-t")?;
        Some(Self { sequence: sequence.parse().ok()?, thread: thread.parse().ok()? })
    }
}

/// What is said at the front of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) name: Name,
    /// Of the node that wrote it.
    pub(crate) incarnation: u64,
    pub(crate) created_ms: u64,
    /// With it the checksums of its records begin.
    pub(crate) salt: u32,
}

/// Why there is no header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoHeader {
    Damaged,
    Later,
}

impl Header {
    fn copy(&self) -> [u8; COPY_BYTES] {
        let mut bytes = [0; COPY_BYTES];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.name.thread.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.name.sequence.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.incarnation.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.created_ms.to_le_bytes());
        bytes[40..SUMMED_BYTES].copy_from_slice(&self.salt.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..SUMMED_BYTES]);
        bytes[SUMMED_BYTES..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        for at in COPIES {
            bytes[at..at + COPY_BYTES].copy_from_slice(&self.copy());
        }
        bytes
    }

    pub(crate) fn read(segment: &[u8]) -> Result<Self, NoHeader> {
        if segment.len() < HEADER_BYTES {
            return Err(NoHeader::Damaged);
        }
        let mut copies = COPIES.iter().filter_map(|at| segment.get(*at..at + COPY_BYTES)?.first_chunk());
        copies.find_map(Self::read_copy).unwrap_or(Err(NoHeader::Damaged))
    }

    fn read_copy(bytes: &[u8; COPY_BYTES]) -> Option<Result<Self, NoHeader>> {
        let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let u64_at = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        if bytes[..8] != MAGIC || crc32fast::hash(&bytes[..SUMMED_BYTES]) != u32_at(SUMMED_BYTES) {
            return None;
        }
        if u32_at(8) != FORMAT {
            return Some(Err(NoHeader::Later));
        }
        let name = Name { sequence: u64_at(16), thread: u32_at(12) };
        Some(Ok(Self { name, incarnation: u64_at(24), created_ms: u64_at(32), salt: u32_at(40) }))
    }
}

/// Bytes for which pages are got ready although nothing was written of late.
const READY_BYTES: usize = 64 * 1024;

/// A segment that is written, as all but its writer see it.
pub(crate) struct Segment {
    pub(crate) header: Header,
    pub(crate) map: Arc<Map>,
    /// Bytes from the front that are known to be on the disk.
    synced: AtomicUsize,
    /// How much had been written when pages were last got ready.
    readied: AtomicUsize,
    /// The folder stays locked as long as someone can write in it.
    _folder: Arc<Folder>,
}

impl Segment {
    /// Makes the file with all the room that it will ever need, so that a full disk is found here.
    pub(crate) fn make(
        folder: &Arc<Folder>,
        header: Header,
        bytes: usize,
    ) -> io::Result<(Arc<Self>, MapWriter)> {
        let path = folder.segment(header.name);
        let (_, writer) = folder.make(&path, |file| {
            file.write_all(&header.write())?;
            let mut left = bytes.saturating_sub(HEADER_BYTES);
            while left > 0 {
                let count = left.min(ZEROS.len());
                file.write_all(&ZEROS[..count])?;
                left -= count;
            }
            map(file, bytes, HEADER_BYTES)
        })?;
        let segment = Self {
            header,
            map: Arc::clone(writer.map()),
            synced: AtomicUsize::new(HEADER_BYTES),
            readied: AtomicUsize::new(HEADER_BYTES),
            _folder: Arc::clone(folder),
        };
        Ok((Arc::new(segment), writer))
    }

    pub(crate) fn synced(&self) -> usize {
        self.synced.load(Ordering::Acquire)
    }

    pub(crate) fn unsynced(&self) -> usize {
        self.map.published().saturating_sub(self.synced())
    }

    /// Waits until what was written until now is on the disk.
    pub(crate) fn sync(&self, upto: Upto) -> io::Result<()> {
        let until = self.map.sync(self.synced(), upto)?;
        self.synced.fetch_max(until, Ordering::AcqRel);
        Ok(())
    }

    /// Gets pages ready for twice as much as was written since the last time, and for some more.
    pub(crate) fn ready(&self) {
        if self.map.is_finished() {
            return;
        }
        let published = self.map.published();
        let written = published - self.readied.swap(published, Ordering::AcqRel).min(published);
        self.map.ready(READY_BYTES + 2 * written);
    }
}
