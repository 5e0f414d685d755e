//! Server-sent events by the whole grammar of the HTML standard, on bytes.

use bytes::Bytes;
use std::borrow::Cow;

/// Cuts a stream of chunks into blocks of whole events; what is not complete yet waits, within a bound.
#[derive(Debug)]
pub struct Reader {
    #[allow(dead_code)]
    waiting: Vec<u8>,
    #[allow(dead_code)]
    event_bytes_max: usize,
}

/// An event is larger than the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is larger than {0} bytes")]
pub struct TooLarge(pub usize);

#[allow(unused_variables, clippy::unimplemented)]
impl Reader {
    /// Events up to this size.
    pub fn new(event_bytes_max: usize) -> Self {
        Self { waiting: Vec::new(), event_bytes_max }
    }

    /// Takes the next chunk and returns all events that are complete now, as one run of bytes (perhaps empty) that
    /// ends with an event. The chunk itself comes back, uncopied, where it holds whole events and nothing waits.
    /// A leading byte-order mark is cut off.
    pub fn feed(&mut self, chunk: Bytes) -> Result<Bytes, TooLarge> {
        unimplemented!()
    }

    /// What waits when the bytes have ended: a last event without its empty line (some providers end so), completed
    /// with one; empty if nothing waits.
    pub fn finish(&mut self) -> Bytes {
        unimplemented!()
    }
}

/// One event in a block; borrowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<'a> {
    /// All its bytes with its empty line, as they came.
    pub raw: &'a [u8],
    /// The value of its `event` field; empty if it has none.
    pub name: &'a [u8],
    /// Its `data` lines, joined by a line feed if there are several; `None` for a mere comment or blank line.
    pub data: Option<Cow<'a, [u8]>>,
}

/// The events in a block that `Reader::feed` returned. Their `raw` parts follow each other without gaps.
#[allow(unused_variables)]
pub fn events(block: &[u8]) -> impl Iterator<Item = Event<'_>> {
    std::iter::empty()
}
