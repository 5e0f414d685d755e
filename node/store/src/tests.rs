//! What is on the disk: bytes that must stay readable, and bytes that were damaged.

mod damage;
mod golden;
mod pages;

use crate::{
    line::{Intent, Outcome},
    payload::{outcome_bytes_max, write_intent, write_outcome},
    record::{self, Kind, Place, record_bytes},
    segment::{HEADER_BYTES, Header, Name},
};
use std::ops::Range;

const HEADER: Header =
    Header { name: Name { sequence: 5, thread: 3 }, incarnation: 77, created_ms: 1_000, salt: 0x5A17_5A17 };

/// A segment that is made record by record.
struct Made {
    bytes: Vec<u8>,
    next_number: u32,
}

impl Made {
    fn new() -> Self {
        Self { bytes: HEADER.write(), next_number: 0 }
    }

    fn record(&mut self, kind: Kind, payload: impl FnOnce(&mut Vec<u8>)) -> Range<usize> {
        let (mut record, mut length) = (Vec::new(), 0);
        let place = Place { salt: HEADER.salt, offset: self.bytes.len(), number: self.next_number };
        record::write(&mut record, kind, place, |out| {
            payload(out);
            length = out.len();
        });
        self.next_number += 1;
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(&record);
        begin..begin + length
    }

    /// Where it lies, without what fills it up to the next.
    fn intent(&mut self, intent: &Intent<'_>) -> Range<usize> {
        self.record(Kind::Intent, |out| write_intent(out, intent))
    }

    fn outcome(&mut self, outcome: &Outcome<'_>, intent: usize, charges: usize) -> Range<usize> {
        let range = self.record(Kind::Outcome, |out| write_outcome(out, outcome, intent, charges));
        assert!(range.len() <= record_bytes(outcome_bytes_max(charges)), "no room was kept for so much");
        range
    }
}

#[test]
fn headers_come_back_from_either_copy() {
    let bytes = HEADER.write();
    assert_eq!(bytes.len(), HEADER_BYTES);
    for damaged in [vec![], vec![0], vec![4_096 + 20], vec![44]] {
        let mut bytes = bytes.clone();
        damaged.into_iter().for_each(|at: usize| bytes[at] ^= 1);
        assert_eq!(Header::read(&bytes), Ok(HEADER));
    }
    assert!(Header::read(&bytes[..HEADER_BYTES - 1]).is_err());
}

#[test]
fn names_of_files_come_back() {
    for (sequence, thread) in [(0, 0), (7, 12), (u64::MAX, u32::MAX)] {
        let name = Name { sequence, thread };
        assert_eq!(Name::of_segment(&name.segment()), Some(name));
    }
    for other in ["lock", "000000000005-t003.v1.sums", "1-t1.v1.ledger.new", "x-t1.v1.ledger", "1.v1.ledger"]
    {
        assert_eq!(Name::of_segment(other), None, "{other}");
    }
}
