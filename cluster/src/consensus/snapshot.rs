//! The state machine as a file: written beside, synced, renamed, and its folder synced, so that it is whole or not there.

use super::{
    disk::{Disk, DiskError},
    record,
    records_file::Kind,
    types::SnapshotMeta,
};
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};
use trestle_proto::log::SnapshotRecord;

const ENDING: &str = "snapshot";
/// The first record is the snapshot's own description.
const KIND: Kind = Kind { title: b"trestle snapshot 1\n", first: b"snapshot" };

/// A snapshot on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SnapshotFile {
    path: PathBuf,
}

/// The trees that the state machine writes, by the names that they have in snapshots.
pub(super) fn trees(disk: &Disk) -> [(&'static str, &sled::Tree); 6] {
    [
        ("state", &disk.state),
        ("entities", &disk.entities),
        ("revisions", &disk.revisions),
        ("values", &disk.values),
        ("requests", &disk.requests),
        ("stages", &disk.stages),
    ]
}

impl SnapshotFile {
    /// Room for one that another node will send. Two leaders may send at once, so each has a name of its own.
    pub(super) fn to_receive(folder: &Path) -> io::Result<Self> {
        let mut unique = [0; 8];
        getrandom::fill(&mut unique).map_err(io::Error::other)?;
        Ok(Self { path: folder.join(format!("received-{:016x}.tmp", u64::from_be_bytes(unique))) })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the trees; nobody may change them meanwhile. Older files go.
    pub(super) fn write(folder: &Path, meta: &SnapshotMeta, disk: &Disk) -> Result<Self, DiskError> {
        let beside = folder.join("written.tmp");
        KIND.write(&beside, &record::write_json(meta)?, |out| {
            for (name, tree) in trees(disk) {
                disk.walk(tree, |key, value| Ok(out.record(name.as_bytes(), key, value)?))?;
            }
            Ok(())
        })?;
        Ok(Self { path: beside }.place(folder, meta)?)
    }

    /// Keeps one that was received.
    pub(super) fn keep(&self, folder: &Path, meta: &SnapshotMeta) -> Result<Self, DiskError> {
        let beside = folder.join("kept.tmp");
        remove_if_there(&beside)?;
        // Nobody writes to it any more, so another name is enough where the file system can give one.
        if fs::hard_link(&self.path, &beside).is_err() {
            fs::copy(&self.path, &beside)?;
        }
        File::open(&beside)?.sync_all()?;
        Ok(Self { path: beside }.place(folder, meta)?)
    }

    /// Gives a file that is on the disk its name; from then on it is the one.
    fn place(self, folder: &Path, meta: &SnapshotMeta) -> io::Result<Self> {
        let number = meta.last_log_id.map_or(0, |id| id.index);
        let path = folder.join(format!("{number:020}.{ENDING}"));
        fs::rename(&self.path, &path)?;
        File::open(folder)?.sync_all()?;
        // What is being written or received meanwhile stays, and so does a newer one: another node may have sent it.
        for old in files(folder)?.iter().filter(|old| is_whole(old) && **old < path) {
            remove_if_there(old)?;
        }
        Ok(Self { path })
    }

    /// The latest one in a folder.
    pub(super) fn latest(folder: &Path) -> Result<Option<Self>, DiskError> {
        let mut all = files(folder)?;
        all.retain(|path| is_whole(path));
        all.sort();
        Ok(all.pop().map(|path| Self { path }))
    }

    /// Removes what was not finished before. To be called while nobody writes or receives one.
    pub(super) fn remove_unfinished(folder: &Path) -> io::Result<()> {
        for path in files(folder)?.iter().filter(|path| !is_whole(path)) {
            fs::remove_file(path)?;
        }
        Ok(())
    }

    /// What it says of itself. All of it is checked, and not held in memory.
    pub(super) fn meta(&self) -> Result<SnapshotMeta, DiskError> {
        self.visit(|_| ())
    }

    /// Checks all of it, then visits the records that follow the first, which says what it is.
    pub(super) fn visit(&self, mut visit: impl FnMut(SnapshotRecord)) -> Result<SnapshotMeta, DiskError> {
        let first = KIND.visit(&self.path, |record| {
            visit(record);
            Ok(())
        })?;
        Ok(record::read_json(&first)?)
    }
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn is_whole(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == ENDING)
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
}
