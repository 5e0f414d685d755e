//! Files of records: a line that says what it is, then length-delimited records, then the SHA-256 of all that is before. Read
//! record by record, and only if all of it is what was written.

use super::{disk::DiskError, record::RecordError};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Write},
    path::Path,
};
use trestle_proto::log::SnapshotRecord;
use trestle_proto::prost::{self, Message};

const DIGEST_BYTES: usize = 32;

/// What a file is.
pub(super) struct Kind {
    /// Its first line.
    pub(super) title: &'static [u8],
    /// The tree of its first record, which describes the rest.
    pub(super) first: &'static [u8],
}

impl Kind {
    /// Writes a file; it is on the disk when this returns, under a name that its folder may not know yet.
    pub(super) fn write(
        &self,
        path: &Path,
        first: &[u8],
        records: impl FnOnce(&mut Hashed) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let mut out = Hashed { inner: BufWriter::new(File::create(path)?), digest: Sha256::new() };
        out.write_all(self.title)?;
        out.record(self.first, b"", first)?;
        records(&mut out)?;
        let digest = out.digest.finalize();
        let mut file = out.inner;
        file.write_all(&digest)?;
        Ok(file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?)
    }

    /// Checks all of a file, then visits the records that follow the first; the value of that.
    pub(super) fn visit(
        &self,
        path: &Path,
        mut visit: impl FnMut(SnapshotRecord) -> Result<(), DiskError>,
    ) -> Result<Bytes, DiskError> {
        let records_bytes = self.check(path)?;
        let mut file = BufReader::new(File::open(path)?);
        file.seek_relative(self.title.len() as i64)?;
        let mut records = file.take(records_bytes);
        let first = next(&mut records)?.filter(|record| record.tree == self.first).ok_or_else(damaged)?;
        while let Some(record) = next(&mut records)? {
            visit(record)?;
        }
        Ok(first.value)
    }

    /// Checks title and digest; how long the records are that are between.
    fn check(&self, path: &Path) -> Result<u64, DiskError> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len().checked_sub(DIGEST_BYTES as u64).ok_or_else(damaged)?;
        let records_bytes = length.checked_sub(self.title.len() as u64).ok_or_else(damaged)?;
        let (mut title, mut sha256) = (vec![0; self.title.len()], [0; DIGEST_BYTES]);
        file.read_exact(&mut title)?;
        let mut digest = Sha256::new_with_prefix(&title);
        io::copy(&mut (&mut file).take(records_bytes), &mut digest)?;
        file.read_exact(&mut sha256)?;
        match digest.finalize()[..] == sha256 && title == self.title {
            true => Ok(records_bytes),
            false => Err(damaged().into()),
        }
    }
}

fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the file is damaged, or not of this kind")
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

/// A file, and the digest of what goes into it.
pub(super) struct Hashed {
    inner: BufWriter<File>,
    digest: Sha256,
}

impl Hashed {
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.digest.update(bytes);
        self.inner.write_all(bytes)
    }

    /// Writes a record.
    pub(super) fn record(&mut self, tree: &[u8], key: &[u8], value: &[u8]) -> io::Result<()> {
        let copy = Bytes::copy_from_slice;
        let record = SnapshotRecord { tree: copy(tree), key: copy(key), value: copy(value) };
        self.write_all(&record.encode_length_delimited_to_vec())
    }
}
