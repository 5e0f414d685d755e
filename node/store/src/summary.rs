//! What is known of a sealed segment without reading it, and the file beside it that keeps that.
//!
//! ```text
//! "TRLSUMS" and a byte for the format
//! numbers: sequence, thread, salt, bytes of the segment, lines, time of the first and of the last (as it ended)
//! a byte: whether rows follow; rows
//! u32  CRC-32 of all before
//! ```

use crate::{
    bytes::{Reader, put},
    folder::Folder,
    rows::{self, Common, Rows, Totals},
    segment::{Header, Name},
    settled,
};
use std::{
    fs::{self, OpenOptions},
    io,
};

const MAGIC: &[u8; 8] = b"TRLSUMS\x01";
const SUM_BYTES: usize = 4;
/// Rows that are not much fewer than lines are of no use: these may take a sixteenth of the
/// segment, and so much more.
const ROWS_BYTES_FREE: usize = 16 * 1024;

/// A segment that is not written any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) name: Name,
    /// As in its header, which is not needed any more.
    pub(crate) salt: u32,
    /// On the disk, with the summary.
    pub(crate) bytes: u64,
    /// Of these, of the segment.
    pub(crate) segment_bytes: u64,
    pub(crate) lines: u64,
    /// When the first of its lines ended, by the clock.
    pub(crate) first_ms: u64,
    /// When the last one did.
    pub(crate) last_ms: u64,
    has_rows: bool,
}

impl Sealed {
    /// Of a segment that is still written, and read from its file: what is in it is not known before.
    pub(crate) fn unknown(header: &Header) -> Self {
        Self {
            name: header.name,
            salt: header.salt,
            bytes: 0,
            segment_bytes: 0,
            lines: 0,
            first_ms: 0,
            last_ms: u64::MAX,
            has_rows: false,
        }
    }

    /// Tells the rows. `None` if there are none that can be read: then the lines are to be read, and what was told is void.
    pub(crate) fn rows(&self, folder: &Folder, visit: &mut dyn FnMut(Common<'_>, Totals)) -> Option<()> {
        if !self.has_rows {
            return None;
        }
        let bytes = fs::read(folder.summary(self.name)).ok()?;
        let (mut from, ..) = parse(&bytes)?;
        rows::read(&mut from, visit)
    }
}

/// The summary of a segment, if there is one that is whole and of that segment as it is.
pub(crate) fn read(folder: &Folder, name: Name) -> Option<Sealed> {
    let bytes = fs::read(folder.summary(name)).ok()?;
    let (_, sealed, segment_bytes) = parse(&bytes)?;
    let length = fs::metadata(folder.segment(name)).ok()?.len();
    (sealed.name == name && length == segment_bytes)
        .then_some(Sealed { bytes: segment_bytes + bytes.len() as u64, ..sealed })
}

/// What follows the numbers, what those say, and the size of the segment.
fn parse(bytes: &[u8]) -> Option<(Reader<'_>, Sealed, u64)> {
    let (summed, sum) = bytes.split_last_chunk::<SUM_BYTES>()?;
    if crc32fast::hash(summed) != u32::from_le_bytes(*sum) {
        return None;
    }
    let mut from = Reader(summed.strip_prefix(MAGIC)?);
    let name = Name { sequence: from.number()?, thread: from.number()?.try_into().ok()? };
    let salt = from.number()?.try_into().ok()?;
    let segment_bytes = from.number()?;
    let sealed = Sealed {
        name,
        salt,
        bytes: 0,
        segment_bytes,
        lines: from.number()?,
        first_ms: from.number()?,
        last_ms: from.number()?,
        has_rows: from.byte()? != 0,
    };
    Some((from, sealed, segment_bytes))
}

/// Seals a segment of which `bytes` is all that it holds: cuts the file to that, and writes its summary. Where the disk has
/// no room for the summary the segment does without, until the next start.
pub(crate) fn seal(folder: &Folder, header: &Header, bytes: &[u8]) -> io::Result<Sealed> {
    let name = header.name;
    let file = OpenOptions::new().write(true).open(folder.segment(name))?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()?;
    let (mut sealed, summary) = summarize(header, bytes);
    match folder.write(&folder.summary(name), &summary) {
        Ok(()) => sealed.bytes += summary.len() as u64,
        Err(error) => {
            sealed.has_rows = false;
            tracing::warn!(%error, "a part of the ledger has no summary: sums of it read all of its lines");
        }
    }
    Ok(sealed)
}

fn summarize(header: &Header, bytes: &[u8]) -> (Sealed, Vec<u8>) {
    let mut rows = Rows::new();
    let name = header.name;
    let mut sealed = Sealed {
        name,
        salt: header.salt,
        bytes: bytes.len() as u64,
        segment_bytes: bytes.len() as u64,
        lines: 0,
        first_ms: u64::MAX,
        last_ms: 0,
        has_rows: true,
    };
    settled::lines(bytes, header.salt, &mut |line| {
        let (common, totals) = rows::of_line(&line);
        rows.entry(common).or_default().add(&totals);
        sealed.lines += 1;
        sealed.first_ms = sealed.first_ms.min(line.outcome.outcome.end_ms);
        sealed.last_ms = sealed.last_ms.max(line.outcome.outcome.end_ms);
    });
    let mut written = Vec::new();
    rows::write(&mut written, &rows);
    sealed.has_rows = written.len() <= bytes.len() / 16 + ROWS_BYTES_FREE;
    let mut out = MAGIC.to_vec();
    let of_segment = [name.sequence, name.thread.into(), sealed.salt.into(), sealed.bytes];
    let numbers = of_segment.into_iter().chain([sealed.lines, sealed.first_ms, sealed.last_ms]);
    numbers.for_each(|number| put(&mut out, number));
    out.push(u8::from(sealed.has_rows));
    if sealed.has_rows {
        out.extend_from_slice(&written);
    }
    let sum = crc32fast::hash(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    (sealed, out)
}
