//! Copies of ledgers of other nodes: a folder for each node, with its segments as they are there.

use crate::{
    folder::{Folder, OpenError},
    query::{self, Cursor, PAGE_BYTES_READ_MAX, Page, Query},
    segment::{Header, Name, NoHeader},
    source::Source,
    summary::{self, Sealed},
    sums::{self, Dimension, Sum, SumsError},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Largest segment that is taken; no ledger makes larger ones.
const SEGMENT_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// A folder is called by the number of its node, in hexadecimal.
const NODE_DIGITS: usize = 16;

/// Copies of ledgers. Clones are handles of the same. All methods may wait for the disk.
#[derive(Clone)]
pub struct Copies {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    origins: Mutex<BTreeMap<u64, Origin>>,
}

/// What there is of one node.
struct Origin {
    folder: Arc<Folder>,
    segments: BTreeMap<Name, Held>,
}

/// A segment of another node.
enum Held {
    /// Its header is there, and more may come.
    Growing { header: Header, bytes: u64 },
    /// It is whole.
    Sealed(Arc<Sealed>),
}

/// Bytes of a segment of another node.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    /// Which segment.
    pub name: Name,
    /// Where they begin.
    pub offset: u64,
    /// They. The first ones hold the header, which has 8 KiB.
    pub bytes: &'a [u8],
    /// CRC-32 of them.
    pub crc: u32,
    /// The segment will have no more than it has there.
    pub is_sealed: bool,
    /// These are the last ones: CRC-32 of the whole segment.
    pub crc_of_all: Option<u32>,
}

/// A copy of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Which.
    pub name: Name,
    /// From its begin on.
    pub bytes: u64,
    /// It is whole.
    pub is_sealed: bool,
}

/// Why bytes are not added to a copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// They are not what they should be.
    #[error("these are no bytes of that segment: {0}")]
    Malformed(&'static str),
    /// There is no room.
    #[error("there is no room for more copies here")]
    Full,
    /// The disk.
    #[error("the copy cannot be written: {0}")]
    Disk(#[from] io::Error),
    /// The folder.
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl Copies {
    /// Opens the copies of a folder, which is made once there is one. What cannot be read is removed: it comes again.
    ///
    /// # Errors
    ///
    /// The folder is used by another process, or cannot be read or written.
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let refused = |error| OpenError::Refused(path.to_owned(), error);
        let mut origins = BTreeMap::new();
        let found = match fs::read_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => Some(found.map_err(refused)?),
        };
        for entry in found.into_iter().flatten() {
            let entry = entry.map_err(refused)?;
            // What is called otherwise is none of ours.
            let name = entry.file_name();
            let name = name.to_str().filter(|name| name.len() == NODE_DIGITS && entry.path().is_dir());
            if let Some(node) = name.and_then(|name| u64::from_str_radix(name, 16).ok()) {
                origins.insert(node, Origin::open(&entry.path())?);
            }
        }
        Ok(Self { shared: Arc::new(Shared { path: path.to_owned(), origins: Mutex::new(origins) }) })
    }

    /// Adds bytes to the copy of a segment, if they begin where it ends; else nothing is done. What there is then. `room` is
    /// how much all copies may come to: older ones are dropped for what is written now, and not for what was sealed long ago.
    ///
    /// # Errors
    ///
    /// The bytes are no such bytes, there is no room, or the disk refuses.
    pub fn append(&self, node: u64, chunk: &Chunk<'_>, room: u64) -> Result<Copied, CopyError> {
        if crc32fast::hash(chunk.bytes) != chunk.crc {
            return Err(CopyError::Malformed("their checksum is another"));
        }
        let mut origins = self.origins();
        make_room(&mut origins, chunk, room)?;
        let origin = match origins.get_mut(&node) {
            Some(origin) => origin,
            None => {
                let origin = Origin::open(&self.shared.path.join(format!("{node:0NODE_DIGITS$x}")))?;
                origins.entry(node).or_insert(origin)
            }
        };
        origin.append(chunk)
    }

    /// Drops the oldest whole segments until all together are within `room`, and those whose last line is older than that.
    ///
    /// # Errors
    ///
    /// The disk.
    pub fn trim(&self, room: u64, since_ms: u64) -> io::Result<()> {
        let mut origins = self.origins();
        for origin in origins.values_mut() {
            let sealed = origin.segments.values().filter_map(Held::sealed);
            let old: Vec<_> =
                sealed.filter(|sealed| sealed.last_ms < since_ms).map(|sealed| sealed.name).collect();
            for name in old {
                origin.remove(name)?;
            }
        }
        drop_oldest(&mut origins, room)
    }

    /// Bytes of all together.
    pub fn bytes(&self) -> u64 {
        self.origins().values().map(Origin::bytes).sum()
    }

    /// Of whose ledgers there are copies.
    pub fn nodes(&self) -> Vec<u64> {
        let origins = self.origins();
        origins.iter().filter(|(_, origin)| !origin.segments.is_empty()).map(|(node, _)| *node).collect()
    }

    /// What there is of the ledger of a node.
    pub fn held(&self, node: u64) -> Vec<Copied> {
        let origins = self.origins();
        let held = origins.get(&node).into_iter().flat_map(|origin| &origin.segments);
        held.map(|(name, held)| held.copied(*name)).collect()
    }

    /// As [`Ledger::query`](crate::Ledger::query), of segments of another node.
    ///
    /// # Errors
    ///
    /// A segment cannot be read.
    pub fn query(
        &self,
        (node, sequences): (u64, &BTreeSet<u64>),
        query: &Query,
        after: Option<Cursor>,
        lines_max: usize,
    ) -> io::Result<Page> {
        let Some((folder, sources)) = self.sources(node, sequences) else { return Ok(Page::default()) };
        query::page(&folder, sources, (query, after), (lines_max, PAGE_BYTES_READ_MAX))
    }

    /// As [`Ledger::sums`](crate::Ledger::sums), of segments of another node.
    ///
    /// # Errors
    ///
    /// There are more than [`GROUPS_MAX`](crate::GROUPS_MAX) groups, or a segment cannot be read.
    pub fn sums(
        &self,
        (node, sequences): (u64, &BTreeSet<u64>),
        query: &Query,
        by: &[Dimension],
    ) -> Result<Vec<Sum>, SumsError> {
        let Some((folder, sources)) = self.sources(node, sequences) else { return Ok(Vec::new()) };
        sums::sums(&folder, &sources, query, by)
    }

    fn sources(&self, node: u64, sequences: &BTreeSet<u64>) -> Option<(Arc<Folder>, Vec<Source>)> {
        let origins = self.origins();
        let origin = origins.get(&node)?;
        let asked = origin.segments.iter().filter(|(name, _)| sequences.contains(&name.sequence));
        Some((Arc::clone(&origin.folder), asked.map(|(_, held)| held.source()).collect()))
    }

    /// No lock is held where something could panic, so a poisoned one is whole.
    fn origins(&self) -> MutexGuard<'_, BTreeMap<u64, Origin>> {
        self.shared.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn make_room(origins: &mut BTreeMap<u64, Origin>, chunk: &Chunk<'_>, room: u64) -> Result<(), CopyError> {
    let bytes: u64 = origins.values().map(Origin::bytes).sum();
    let more = chunk.bytes.len() as u64;
    if bytes + more <= room {
        return Ok(());
    }
    if !chunk.is_sealed {
        drop_oldest(origins, room.saturating_sub(more))?;
    }
    let bytes: u64 = origins.values().map(Origin::bytes).sum();
    if bytes + more > room { Err(CopyError::Full) } else { Ok(()) }
}

fn drop_oldest(origins: &mut BTreeMap<u64, Origin>, room: u64) -> io::Result<()> {
    let mut bytes: u64 = origins.values().map(Origin::bytes).sum();
    while bytes > room {
        let all = origins.iter().flat_map(|(node, origin)| {
            origin
                .segments
                .values()
                .filter_map(Held::sealed)
                .map(|sealed| (sealed.last_ms, *node, sealed.name))
        });
        let Some((_, node, name)) = all.min() else { return Ok(()) };
        let Some(origin) = origins.get_mut(&node) else { return Ok(()) };
        bytes -= origin.remove(name)?;
    }
    Ok(())
}

impl Origin {
    fn open(path: &Path) -> Result<Self, OpenError> {
        let refused = |error| OpenError::Refused(path.to_owned(), error);
        let folder = Arc::new(Folder::open(path)?);
        let mut segments = BTreeMap::new();
        for name in folder.names().map_err(refused)? {
            if let Some(sealed) = summary::read(&folder, name) {
                segments.insert(name, Held::Sealed(Arc::new(sealed)));
                continue;
            }
            let bytes = fs::read(folder.segment(name)).map_err(refused)?;
            match Header::read(&bytes) {
                Ok(header) if header.name == name => {
                    segments.insert(name, Held::Growing { header, bytes: bytes.len() as u64 });
                }
                // Kept for the version that wrote it.
                Err(NoHeader::Later) => {}
                _ => folder.remove(name).map_err(refused)?,
            }
        }
        Ok(Self { folder, segments })
    }

    fn bytes(&self) -> u64 {
        self.segments.values().map(Held::bytes_on_disk).sum()
    }

    fn append(&mut self, chunk: &Chunk<'_>) -> Result<Copied, CopyError> {
        let name = chunk.name;
        let (header, bytes) = match self.segments.get(&name) {
            Some(Held::Growing { header, bytes }) => (*header, *bytes),
            Some(held) => return Ok(held.copied(name)),
            None if chunk.offset > 0 => return Ok(Copied { name, bytes: 0, is_sealed: false }),
            None => (self.begin(chunk)?, 0),
        };
        let mut copied = Copied { name, bytes, is_sealed: false };
        if chunk.offset != bytes {
            return Ok(copied);
        }
        copied.bytes += chunk.bytes.len() as u64;
        if copied.bytes > SEGMENT_BYTES_MAX {
            return Err(CopyError::Malformed("it would be larger than a segment is"));
        }
        // Not synced: what a loss of power takes here is still there. The checksum of all tells, at the latest.
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(bytes == 0).mode(0o600);
        file.open(self.folder.segment(name))?.write_all_at(chunk.bytes, bytes)?;
        self.segments.insert(name, Held::Growing { header, bytes: copied.bytes });
        if let Some(crc) = chunk.crc_of_all {
            copied = self.seal(&header, crc)?;
        }
        Ok(copied)
    }

    /// The header of a segment of which nothing is there.
    fn begin(&self, chunk: &Chunk<'_>) -> Result<Header, CopyError> {
        match Header::read(chunk.bytes) {
            Ok(header) if header.name == chunk.name => Ok(header),
            _ => Err(CopyError::Malformed("they do not begin with its header")),
        }
    }

    /// Makes a copy that is whole a sealed one; one that differs begins anew.
    fn seal(&mut self, header: &Header, crc: u32) -> Result<Copied, CopyError> {
        let name = header.name;
        let bytes = fs::read(self.folder.segment(name))?;
        if crc32fast::hash(&bytes) != crc {
            tracing::warn!(segment = name.segment(), "a copy differs from what was copied: it begins anew");
            self.remove(name)?;
            return Ok(Copied { name, bytes: 0, is_sealed: false });
        }
        let held = Held::Sealed(Arc::new(summary::seal(&self.folder, header, &bytes)?));
        let copied = held.copied(name);
        self.segments.insert(name, held);
        Ok(copied)
    }

    /// Removes a segment; how many bytes are free.
    fn remove(&mut self, name: Name) -> io::Result<u64> {
        self.folder.remove(name)?;
        Ok(self.segments.remove(&name).map_or(0, |held| held.bytes_on_disk()))
    }
}

impl Held {
    fn sealed(&self) -> Option<&Arc<Sealed>> {
        match self {
            Self::Growing { .. } => None,
            Self::Sealed(sealed) => Some(sealed),
        }
    }

    fn bytes_on_disk(&self) -> u64 {
        match self {
            Self::Growing { bytes, .. } => *bytes,
            Self::Sealed(sealed) => sealed.bytes,
        }
    }

    fn copied(&self, name: Name) -> Copied {
        match self {
            Self::Growing { bytes, .. } => Copied { name, bytes: *bytes, is_sealed: false },
            Self::Sealed(sealed) => Copied { name, bytes: sealed.segment_bytes, is_sealed: true },
        }
    }

    fn source(&self) -> Source {
        match self {
            Self::Growing { header, .. } => Source::Sealed(Arc::new(Sealed::unknown(header))),
            Self::Sealed(sealed) => Source::Sealed(Arc::clone(sealed)),
        }
    }
}
