//! Records one after another: each with a checksum and a number, so that what is damaged is skipped and counted.
//!
//! ```text
//! 0   u32  CRC-32 of all that follows up to the end of the payload, begun with the segment's salt and the record's place
//! 4   "TL" where a record may begin, for those who have lost the way
//! 6   u8   format
//! 7   u8   kind: 1 intent, 2 outcome
//! 8   u32  bytes of the payload
//! 12  u32  number in the segment, from 0
//! 16       payload, then zeros up to the next multiple of 8
//! ```
//!
//! All numbers are little-endian. The salt is random and known to the segment's header alone: a text of a client's that
//! looks like a record is none, even where the record around it is damaged. And a record is one in its own place alone.

use crc32fast::Hasher;

/// Where records may begin.
pub(crate) const ALIGN: usize = 8;
const HEAD_BYTES: usize = 16;
const MAGIC: [u8; 2] = *b"TL";
const FORMAT: u8 = 1;
/// Most bytes of a payload; what claims to be longer is no record.
pub(crate) const PAYLOAD_BYTES_MAX: usize = 32 * 1024;

/// What a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Intent,
    Outcome,
    /// Of a later version: it is whole, but what it says is not known here.
    Later,
}

/// A whole record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Record<'a> {
    pub(crate) offset: usize,
    pub(crate) kind: Kind,
    pub(crate) number: u32,
    pub(crate) payload: &'a [u8],
}

/// Bytes that a record with such a payload takes.
pub(crate) const fn record_bytes(payload: usize) -> usize {
    (HEAD_BYTES + payload).next_multiple_of(ALIGN)
}

/// What a record is written as.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Of its segment.
    pub(crate) salt: u32,
    /// Where it begins there.
    pub(crate) offset: usize,
    /// How many records were before it.
    pub(crate) number: u32,
}

/// Makes a record in `out`, which is emptied first; `payload` writes its payload.
pub(crate) fn write(out: &mut Vec<u8>, kind: Kind, place: Place, payload: impl FnOnce(&mut Vec<u8>)) {
    out.clear();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&MAGIC);
    out.push(FORMAT);
    out.push(match kind {
        Kind::Intent => 1,
        Kind::Outcome => 2,
        Kind::Later => 0,
    });
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&place.number.to_le_bytes());
    payload(out);
    let length = (out.len() - HEAD_BYTES) as u32;
    out[8..12].copy_from_slice(&length.to_le_bytes());
    let sum = checksum(place.salt, place.offset, &out[4..]);
    out[..4].copy_from_slice(&sum.to_le_bytes());
    out.resize(out.len().next_multiple_of(ALIGN), 0);
}

fn checksum(salt: u32, offset: usize, bytes: &[u8]) -> u32 {
    let mut hasher = Hasher::new_with_initial(salt ^ offset as u32);
    hasher.update(bytes);
    hasher.finalize()
}

/// The record that begins there, if there is a whole one.
pub(crate) fn read(bytes: &[u8], salt: u32, offset: usize) -> Option<Record<'_>> {
    let (head, rest) = bytes.get(offset..)?.split_first_chunk::<HEAD_BYTES>()?;
    if head[4..6] != MAGIC {
        return None;
    }
    let number_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| head[at + i]));
    let length = number_at(8) as usize;
    let payload = rest.get(..length).filter(|_| length <= PAYLOAD_BYTES_MAX)?;
    if checksum(salt, offset, &bytes[offset + 4..offset + HEAD_BYTES + length]) != number_at(0) {
        return None;
    }
    let kind = match (head[6], head[7]) {
        (FORMAT, 1) => Kind::Intent,
        (FORMAT, 2) => Kind::Outcome,
        _ => Kind::Later,
    };
    Some(Record { offset, kind, number: number_at(12), payload })
}

/// After so many records a thread that serves and waits for the same processor has its turn.
const TURN: u32 = 4096;

/// All whole records from an offset on.
pub(crate) struct Records<'a> {
    bytes: &'a [u8],
    salt: u32,
    at: usize,
    /// Where the next record begins; beyond the end where what fills up the last one is cut off.
    pub(crate) end: usize,
    /// The number that the next record has if none is missing.
    pub(crate) next_number: u32,
    /// What was skipped so far.
    pub(crate) skipped: Skipped,
}

/// What could not be read between records that could.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Skipped {
    pub(crate) records: u64,
    pub(crate) bytes: u64,
}

impl<'a> Records<'a> {
    /// From the first record on, or from one that is known to begin at `from` with any number.
    pub(crate) fn new(bytes: &'a [u8], salt: u32, from: usize) -> Self {
        Self { bytes, salt, at: from, end: from, next_number: 0, skipped: Skipped::default() }
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        while self.at + HEAD_BYTES <= self.bytes.len() {
            let Some(record) = read(self.bytes, self.salt, self.at) else {
                self.at += ALIGN;
                continue;
            };
            self.skipped.bytes += (self.at - self.end) as u64;
            if self.at > self.end {
                self.skipped.records += u64::from(record.number.saturating_sub(self.next_number)).max(1);
            }
            self.next_number = record.number.saturating_add(1);
            if record.number.is_multiple_of(TURN) {
                std::thread::yield_now();
            }
            self.end = self.at + record_bytes(record.payload.len());
            self.at = self.end;
            return Some(record);
        }
        None
    }
}
