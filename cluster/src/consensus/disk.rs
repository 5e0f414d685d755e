//! The database of a node: a few trees, and the one way to make their content last.

use super::{record::RecordError, version::Mismatch};
use crate::measured::FSYNC_SECONDS;
use metrics::histogram;
use openraft::{AnyError, ErrorSubject, ErrorVerb, StorageIOError};
use sled::Tree;
use std::{
    fs::{self, File},
    io,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// The database caches so much, as it counts: bytes on the disk, of which memory takes some more. Its default is a gigabyte.
const CACHE_BYTES: u64 = 4 * 1024 * 1024;

/// A page of more than a quarter of this is kept in a file of its own, which the database never syncs: so a loss of power
/// would take it. A page is split once it has more than 16 values, so it never becomes as large if its 17 values, with
/// keys and frames, are not.
const SEGMENT_BYTES: usize = 2 * 1024 * 1024;
/// Largest value that is written.
pub(super) const VALUE_BYTES_MAX: usize = 30_000;
const _: () = assert!(17 * (VALUE_BYTES_MAX + 600) < SEGMENT_BYTES / 4);

/// Longest wait for the disk; and between two looks at the clock.
const SYNC_MAX: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_secs(1);

/// A failure to read or write.
#[derive(Debug, thiserror::Error)]
pub(super) enum DiskError {
    /// The database.
    #[error(transparent)]
    Sled(#[from] sled::Error),
    /// The file system.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A value.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The disk failed meanwhile; the next start goes on with it.
    #[error("a change is half applied: the next start finishes it")]
    Unfinished,
    /// What comes next is not for this program.
    #[error(transparent)]
    Version(#[from] Mismatch),
}

impl DiskError {
    /// As the consensus library wants it. All are final: nothing is tried again.
    pub(super) fn on(self, subject: ErrorSubject<u64>, verb: ErrorVerb) -> super::types::StorageError {
        StorageIOError::new(subject, verb, AnyError::new(&self)).into()
    }
}

/// A summary of its log that the database was writing when it ended is taken by it for the latest one, and then found
/// damaged. Without it the one before serves, or the whole log.
fn remove_unfinished(folder: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "generating") {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// The database of a node. A clone is another handle to it.
#[derive(Clone)]
pub(super) struct Disk {
    db: sled::Db,
    /// The same file again: what sled calls a flush starts to write, and does not wait until that has reached the disk.
    file: Arc<File>,
    /// Entries by their index, in big-endian.
    pub(super) log: Tree,
    /// Vote, committed, purged, and the node's number.
    pub(super) meta: Tree,
    /// The state machine's own: what was applied, the members, the head of the revisions, the progress of a
    /// large change.
    pub(super) state: Tree,
    /// Entities by kind, a zero byte, and id.
    pub(super) entities: Tree,
    /// Records of revisions by revision and part, in big-endian.
    pub(super) revisions: Tree,
    /// Values that entities had, and large ones that they have, by their SHA-256; pieces by that and their number.
    pub(super) values: Tree,
    /// Answers by request id, and request ids in their order.
    pub(super) requests: Tree,
    /// Parts of large changes by stage and part, and their keys in their order.
    pub(super) stages: Tree,
}

impl Disk {
    /// Opens the database, or makes an empty one.
    pub(super) fn open(folder: &Path) -> Result<Self, DiskError> {
        remove_unfinished(folder)?;
        let config = sled::Config::new()
            .path(folder)
            .mode(sled::Mode::HighThroughput)
            .segment_size(SEGMENT_BYTES)
            .cache_capacity(CACHE_BYTES)
            .flush_every_ms(None);
        let db = config.open()?;
        db.flush()?;
        // The database writes its parameters at the first start and leaves them to the system: half of them could not be read.
        File::open(folder.join("conf"))?.sync_all()?;
        let file = Arc::new(File::options().read(true).write(true).open(folder.join("db"))?);
        Ok(Self {
            log: db.open_tree("log")?,
            meta: db.open_tree("meta")?,
            state: db.open_tree("state")?,
            entities: db.open_tree("entities")?,
            revisions: db.open_tree("revisions")?,
            values: db.open_tree("values")?,
            requests: db.open_tree("requests")?,
            stages: db.open_tree("stages")?,
            db,
            file,
        })
    }

    /// Visits all keys and values of a tree in order. The database looks at how much it caches only after 64 uses of the
    /// pages of one of its 256 shards, and its own walk uses a page once for all keys in it: so 16,000 pages would be held.
    /// Therefore each key is used once more.
    pub(super) fn walk(
        &self,
        tree: &Tree,
        mut visit: impl FnMut(&[u8], &[u8]) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        for pair in tree {
            let (key, value) = pair?;
            visit(&key, &value)?;
            tree.contains_key(&key)?;
        }
        Ok(())
    }

    /// Reads all there is. The database opens a file that lost its end, and finds that only once somebody reads what was
    /// there.
    pub(super) fn check(&self) -> Result<(), DiskError> {
        let Self { log, meta, state, entities, revisions, values, requests, stages, .. } = self;
        for tree in [log, meta, state, entities, revisions, values, requests, stages] {
            self.walk(tree, |_, _| Ok(()))?;
        }
        Ok(())
    }

    /// Returns when all that was written is on the disk. After an error nobody knows what is: it must not be tried
    /// again.
    pub(super) fn sync(&self) -> Result<(), DiskError> {
        let begun = Instant::now();
        self.db.flush()?;
        self.file.sync_data()?;
        histogram!(FSYNC_SECONDS).record(begun.elapsed());
        Ok(())
    }

    /// The same, away from the threads that others wait for. The database may miss that a write failed, and wait for it for ever: a
    /// disk that has not answered for so long has failed.
    pub(super) async fn synced(&self) -> Result<(), DiskError> {
        let (disk, begun) = (self.clone(), Instant::now());
        let mut syncing = tokio::task::spawn_blocking(move || disk.sync());
        // By the clock of the machine: disks do not keep to that of a simulation.
        while begun.elapsed() < SYNC_MAX {
            if let Ok(synced) = tokio::time::timeout(LOOK, &mut syncing).await {
                return synced.map_err(io::Error::other)?;
            }
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "the disk does not answer").into())
    }
}
