//! The folder of a node's data: locked by one process, of a known format, whole or set aside.

use super::{
    disk::{Disk, DiskError},
    kept_cluster::{self, KeptCluster},
    record,
    snapshot::SnapshotFile,
    types::NodeId,
    version::Mismatch,
};
use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::unix::fs::DirBuilderExt,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

const FORMAT: &str = "1\n";
const NODE: &str = "node";
/// What the database says, as an error of no kind of its own, where another handle has it.
const SLED_LOCKED: &str = "could not acquire lock";
const LOCKED_FOR: Duration = Duration::from_secs(5);
/// Is there while the data is made for the first time.
const UNFINISHED: &str = "consensus.unfinished";
/// A database that may stay open after all of it was read.
const SMALL_BYTES: u64 = 8 * 1024 * 1024;
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("{0} is used by another process: stop that one, or give this one a folder of its own")]
    InUse(PathBuf),
    /// The file system refuses.
    #[error(
        "{0} cannot be used: {1}; it must be a folder on a disk with free space that this process may write to"
    )]
    Refused(PathBuf, #[source] io::Error),
    /// A later version wrote it.
    #[error(
        "{0} was written by a later version (format {1}, this one reads 1): start that version, or use another folder"
    )]
    Later(PathBuf, String),
    /// The cluster is not one for this program.
    #[error(transparent)]
    Version(#[from] Mismatch),
    /// The consensus library does not start.
    #[error("consensus cannot start: {0}")]
    Start(String),
}

/// Data that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetAside {
    /// Where it is now.
    pub folder: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// A folder that this process has for itself.
pub(super) struct Folder {
    pub(super) disk: Disk,
    pub(super) snapshots: PathBuf,
    pub(super) node: NodeId,
    /// Where the cluster's number is kept.
    pub(super) cluster: KeptCluster,
    /// Where the data went that could not be read, if there was such.
    pub(super) set_aside: Option<SetAside>,
    _lock: File,
}

impl Folder {
    /// Opens a folder, or makes it. Data that is damaged is set aside as a whole, and the folder begins anew.
    pub(super) fn open(path: &Path) -> Result<Self, OpenError> {
        let refused = |error: io::Error| OpenError::Refused(path.to_owned(), error);
        // What is sealed in it is no one else's either.
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(refused)?;
        let lock = lock(path)?;
        let data = path.join("consensus");
        let mut set_aside = None;
        let opened = match open_data(path, &data) {
            Err(Unusable::Damaged(why)) => {
                let aside = aside(path);
                fs::rename(&data, &aside).map_err(refused)?;
                tracing::error!(%why, aside = %aside.display(), "the data cannot be read and was set aside: this node begins anew");
                set_aside = Some(SetAside { folder: aside, why });
                open_data(path, &data)
            }
            opened => opened,
        };
        match opened {
            Ok((disk, node)) => {
                let (snapshots, cluster) = (data.join("snapshots"), KeptCluster::new(&data));
                Ok(Self { disk, snapshots, node, cluster, set_aside, _lock: lock })
            }
            Err(Unusable::Refused(error)) => Err(refused(error)),
            Err(Unusable::Damaged(why)) => Err(refused(io::Error::other(why))),
            Err(Unusable::Later(format)) => Err(OpenError::Later(path.to_owned(), format)),
        }
    }
}

impl Folder {
    /// Makes the data of a new node, and fills it: whole or not at all. None if there is data already.
    pub(super) fn make(
        path: &Path,
        fill: impl FnOnce(&Self) -> Result<(), DiskError>,
    ) -> Result<Option<Self>, OpenError> {
        let refused = |error: io::Error| OpenError::Refused(path.to_owned(), error);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(refused)?;
        let lock = lock(path)?;
        let data = path.join("consensus");
        let half = path.join(UNFINISHED).try_exists().map_err(refused)?;
        if data.try_exists().map_err(refused)? && !half {
            return Ok(None);
        }
        let opened = begin(path, &data).map_err(|error| match error {
            Unusable::Refused(error) => refused(error),
            Unusable::Damaged(why) | Unusable::Later(why) => refused(io::Error::other(why)),
        });
        let (disk, node) = opened?;
        let (snapshots, cluster) = (data.join("snapshots"), KeptCluster::new(&data));
        let folder = Self { disk, snapshots, node, cluster, set_aside: None, _lock: lock };
        fill(&folder).map_err(|error| refused(io::Error::other(error)))?;
        finish(path, &data).map_err(refused)?;
        Ok(Some(folder))
    }
}

fn lock(path: &Path) -> Result<File, OpenError> {
    let refused = |error| OpenError::Refused(path.to_owned(), error);
    let mut options = File::options();
    let file = options.create(true).truncate(false).write(true).open(path.join("lock")).map_err(refused)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse(path.to_owned())),
        Err(TryLockError::Error(error)) => Err(refused(error)),
    }
}

/// Why data cannot be used.
enum Unusable {
    Refused(io::Error),
    Later(String),
    Damaged(String),
}

impl From<DiskError> for Unusable {
    fn from(error: DiskError) -> Self {
        use io::ErrorKind::{PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let of_system = |error: &io::Error| {
            matches!(error.kind(), PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull)
        };
        match error {
            DiskError::Io(error) if of_system(&error) => Self::Refused(error),
            DiskError::Sled(sled::Error::Io(error)) if of_system(&error) => Self::Refused(error),
            other => Self::Damaged(other.to_string()),
        }
    }
}

impl From<io::Error> for Unusable {
    fn from(error: io::Error) -> Self {
        Self::Refused(error)
    }
}

/// Makes data without content, whole or not at all: until all of it is on the disk and `finish` was called a file beside it
/// says so. A database that was half made could not be told from one that was damaged.
fn begin(path: &Path, data: &Path) -> Result<(Disk, NodeId), Unusable> {
    let unfinished = path.join(UNFINISHED);
    File::create(&unfinished)?.sync_all()?;
    File::open(path)?.sync_all()?;
    match fs::remove_dir_all(data) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => fs::create_dir_all(data.join("snapshots"))?,
    }
    let format = data.join("FORMAT");
    fs::write(&format, FORMAT)?;
    File::open(&format)?.sync_all()?;
    let db = data.join("db");
    let disk = unlocked(|| Disk::open(&db)).map_err(|error| match error {
        // There was nothing that could be.
        Unusable::Damaged(why) => Unusable::Refused(io::Error::other(why)),
        other => other,
    })?;
    let node = make_node_id(&disk)?;
    Ok((disk, node))
}

/// The data that was begun is as it should be.
fn finish(path: &Path, data: &Path) -> io::Result<()> {
    for folder in [&data.join("db"), data, path] {
        File::open(folder)?.sync_all()?;
    }
    // Before anything is acknowledged: what a loss of power brought back would remove it.
    fs::remove_file(path.join(UNFINISHED))?;
    File::open(path)?.sync_all()
}

fn open_data(path: &Path, data: &Path) -> Result<(Disk, NodeId), Unusable> {
    if !data.try_exists()? || path.join(UNFINISHED).try_exists()? {
        let made = begin(path, data)?;
        finish(path, data)?;
        return Ok(made);
    }
    match fs::read_to_string(data.join("FORMAT")) {
        Ok(found) if found == FORMAT => {}
        Ok(found) => return Err(Unusable::Later(found.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Unusable::Damaged("the format of the data is gone".to_owned()));
        }
        Err(error) => return Err(error.into()),
    }
    // It is empty most of the time, and some that copy folders leave empty ones out.
    let snapshots = data.join("snapshots");
    fs::create_dir_all(&snapshots)?;
    SnapshotFile::remove_unfinished(&snapshots)?;
    let cluster = KeptCluster::new(data).read();
    if let Err(error) = cluster {
        return Err(match error.kind() {
            io::ErrorKind::InvalidData => Unusable::Damaged(error.to_string()),
            _ => Unusable::Refused(error),
        });
    }
    let disk = open_disk(&data.join("db"))?;
    let node = node_id(&disk)?;
    Ok((disk, node))
}

/// Opens a database that can be read, all of it. A large one is opened once more after that was seen: what was cached for
/// it would stay, a page or more in each of the 256 shards, and a page of the log may be large.
fn open_disk(path: &Path) -> Result<Disk, Unusable> {
    let disk = unlocked(|| {
        let disk = Disk::open(path)?;
        disk.check()?;
        Ok(disk)
    })?;
    if fs::metadata(path.join("db"))?.len() <= SMALL_BYTES {
        return Ok(disk);
    }
    drop(disk);
    unlocked(|| Disk::open(path))
}

fn unlocked<T>(open: impl Fn() -> Result<T, DiskError>) -> Result<T, Unusable> {
    let begun = Instant::now();
    loop {
        // Of some damages the database panics.
        let opened = catch_unwind(AssertUnwindSafe(&open));
        match opened.map_err(|_| Unusable::Damaged("the database cannot be opened".to_owned()))? {
            // The folder is ours, so this is what is left of a handle that was closed a moment ago.
            Err(DiskError::Sled(sled::Error::Io(error))) if error.to_string().contains(SLED_LOCKED) => {
                if begun.elapsed() > LOCKED_FOR {
                    return Err(Unusable::Refused(error));
                }
                std::thread::sleep(LOOK_AGAIN);
            }
            opened => return Ok(opened?),
        }
    }
}

/// Makes the node's number at the first start. It is never one of a pod or host: a node that lost its disk is another one.
fn make_node_id(disk: &Disk) -> Result<NodeId, DiskError> {
    let node = kept_cluster::mint_node()?;
    disk.meta.insert(NODE, record::write_json(&node)?)?;
    disk.sync()?;
    Ok(node)
}

/// The number that was made. The database takes a file whose beginning it cannot read for an empty one.
fn node_id(disk: &Disk) -> Result<NodeId, DiskError> {
    let gone = || io::Error::new(io::ErrorKind::InvalidData, "the node's number is gone");
    Ok(record::read_json(&disk.meta.get(NODE)?.ok_or_else(gone)?)?)
}

fn aside(path: &Path) -> PathBuf {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    path.join(format!("consensus.damaged-{now}"))
}
