//! The state machine as a file: written beside, synced, renamed, and its folder synced, so that it is whole or not there.
//! A line, then length-delimited records, then the SHA-256 of all that is before.

use super::{
    disk::{Disk, DiskError},
    record::{self, RecordError},
    types::SnapshotMeta,
};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};
use trestle_proto::log::SnapshotRecord;
use trestle_proto::prost::Message;

const TITLE: &[u8] = b"trestle snapshot 1\n";
const ENDING: &str = "snapshot";
const DIGEST_BYTES: usize = 32;
/// The record of the snapshot's own description has this for its tree.
const META: &[u8] = b"snapshot";

/// A snapshot on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SnapshotFile {
    path: PathBuf,
}

/// What a snapshot holds.
pub(super) struct Contents {
    pub(super) meta: SnapshotMeta,
    /// Tree, key and value.
    pub(super) records: Vec<SnapshotRecord>,
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
    /// Room for one that another node will send.
    pub(super) fn to_receive(folder: &Path) -> Self {
        Self { path: folder.join("received.tmp") }
    }

    /// Writes the trees; nobody may change them meanwhile. Older files go.
    pub(super) fn write(folder: &Path, meta: &SnapshotMeta, disk: &Disk) -> Result<Self, DiskError> {
        let beside = folder.join("written.tmp");
        let mut out = Hashed { inner: BufWriter::new(File::create(&beside)?), digest: Sha256::new() };
        out.write_all(TITLE)?;
        out.record(META, b"", &record::write_json(meta)?)?;
        for (name, tree) in trees(disk) {
            for pair in tree {
                let (key, value) = pair?;
                out.record(name.as_bytes(), &key, &value)?;
            }
        }
        let digest = out.digest.finalize();
        let mut file = out.inner;
        file.write_all(&digest)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        Ok(Self { path: beside }.place(folder, meta)?)
    }

    /// Keeps one that was received.
    pub(super) fn keep(&self, folder: &Path, meta: &SnapshotMeta) -> Result<Self, DiskError> {
        let beside = folder.join("kept.tmp");
        fs::copy(&self.path, &beside)?;
        File::open(&beside)?.sync_all()?;
        Ok(Self { path: beside }.place(folder, meta)?)
    }

    /// Gives a file that is on the disk its name; from then on it is the one.
    fn place(self, folder: &Path, meta: &SnapshotMeta) -> io::Result<Self> {
        let number = meta.last_log_id.map_or(0, |id| id.index);
        let path = folder.join(format!("{number:020}.{ENDING}"));
        fs::rename(&self.path, &path)?;
        File::open(folder)?.sync_all()?;
        for old in files(folder)? {
            if old != path {
                fs::remove_file(old)?;
            }
        }
        Ok(Self { path })
    }

    /// The latest one in a folder. What was not finished is removed.
    pub(super) fn latest(folder: &Path) -> Result<Option<Self>, DiskError> {
        let mut all = files(folder)?;
        all.retain(|path| {
            let whole = path.extension().is_some_and(|ending| ending == ENDING);
            whole || fs::remove_file(path).is_err()
        });
        all.sort();
        Ok(all.pop().map(|path| Self { path }))
    }

    /// Reads and checks all of it.
    pub(super) fn read(&self) -> Result<Contents, DiskError> {
        let bytes = Bytes::from(fs::read(&self.path)?);
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the snapshot is damaged");
        let end = bytes.len().checked_sub(DIGEST_BYTES).ok_or_else(damaged)?;
        let (mut records, digest) = (bytes.slice(..end), bytes.slice(end..));
        if Sha256::digest(&records)[..] != digest[..] || !records.starts_with(TITLE) {
            return Err(damaged().into());
        }
        let _ = records.split_to(TITLE.len());
        let mut next = || match records.is_empty() {
            true => Ok(None),
            false => {
                SnapshotRecord::decode_length_delimited(&mut records).map(Some).map_err(RecordError::from)
            }
        };
        let first = next()?.filter(|record| record.tree == META).ok_or_else(damaged)?;
        let meta = record::read_json(&first.value)?;
        let mut all = Vec::new();
        while let Some(record) = next()? {
            all.push(record);
        }
        Ok(Contents { meta, records: all })
    }
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
}

/// A file, and the digest of what goes into it.
struct Hashed {
    inner: BufWriter<File>,
    digest: Sha256,
}

impl Hashed {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.digest.update(bytes);
        self.inner.write_all(bytes)
    }

    fn record(&mut self, tree: &[u8], key: &[u8], value: &[u8]) -> io::Result<()> {
        let copy = Bytes::copy_from_slice;
        let record = SnapshotRecord { tree: copy(tree), key: copy(key), value: copy(value) };
        self.write_all(&record.encode_length_delimited_to_vec())
    }
}
