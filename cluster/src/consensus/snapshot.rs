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
    io::{self, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};
use trestle_proto::log::SnapshotRecord;
use trestle_proto::prost::{self, Message};

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
            disk.walk(tree, |key, value| Ok(out.record(name.as_bytes(), key, value)?))?;
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

    /// What it says of itself. All of it is checked, and not held in memory.
    pub(super) fn meta(&self) -> Result<SnapshotMeta, DiskError> {
        self.visit(|_| ())
    }

    /// Checks all of it, then visits the records that follow the first, which says what it is.
    pub(super) fn visit(&self, mut visit: impl FnMut(SnapshotRecord)) -> Result<SnapshotMeta, DiskError> {
        let records_bytes = self.check()?;
        let mut file = BufReader::new(File::open(&self.path)?);
        file.seek_relative(TITLE.len() as i64)?;
        let mut records = file.take(records_bytes);
        let first = next(&mut records)?.filter(|record| record.tree == META).ok_or_else(damaged)?;
        while let Some(record) = next(&mut records)? {
            visit(record);
        }
        Ok(record::read_json(&first.value)?)
    }

    /// Checks title and digest; how long the records are that are between.
    fn check(&self) -> Result<u64, DiskError> {
        let mut file = File::open(&self.path)?;
        let length = file.metadata()?.len().checked_sub(DIGEST_BYTES as u64).ok_or_else(damaged)?;
        let records_bytes = length.checked_sub(TITLE.len() as u64).ok_or_else(damaged)?;
        let (mut title, mut sha256) = ([0; TITLE.len()], [0; DIGEST_BYTES]);
        file.read_exact(&mut title)?;
        let mut digest = Sha256::new_with_prefix(title);
        io::copy(&mut (&mut file).take(records_bytes), &mut digest)?;
        file.read_exact(&mut sha256)?;
        match digest.finalize()[..] == sha256 && title == *TITLE {
            true => Ok(records_bytes),
            false => Err(damaged().into()),
        }
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the snapshot is damaged")
}

/// The next record, if there is one more.
fn next(records: &mut io::Take<BufReader<File>>) -> Result<Option<SnapshotRecord>, DiskError> {
    if records.limit() == 0 {
        return Ok(None);
    }
    let mut prefix = Vec::new();
    while prefix.last().is_none_or(|byte| byte & 0x80 != 0) {
        let mut byte = [0];
        records.read_exact(&mut byte)?;
        prefix.push(byte[0]);
    }
    let length = prost::decode_length_delimiter(&prefix[..]).map_err(RecordError::from)?;
    if length as u64 > records.limit() {
        return Err(damaged().into());
    }
    let mut record = vec![0; length];
    records.read_exact(&mut record)?;
    Ok(Some(SnapshotRecord::decode(Bytes::from(record)).map_err(RecordError::from)?))
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
