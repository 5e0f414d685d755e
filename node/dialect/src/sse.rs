//! Server-sent events by the whole grammar of the HTML standard, on bytes.

use crate::{
    Framing,
    frame::{self, Event},
};
use bytes::{Buf, Bytes, BytesMut};
use memchr::{memchr2, memrchr2};
use std::borrow::Cow;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Cuts a stream of chunks into blocks of whole events; what is not complete yet waits, within a bound.
#[derive(Debug)]
pub struct Reader {
    waiting: BytesMut,
    event_bytes_max: usize,
    /// Whether a byte-order mark may still come.
    at_start: bool,
}

impl Reader {
    /// Events up to this size.
    pub fn new(event_bytes_max: usize) -> Self {
        Self { waiting: BytesMut::new(), event_bytes_max, at_start: true }
    }

    /// Takes the next chunk and returns all events that are complete now, as one run of bytes (perhaps empty) that
    /// ends with an event. The chunk itself comes back, uncopied, where it holds whole events and nothing waits.
    /// A leading byte-order mark is cut off.
    ///
    /// An empty line that ends in a CR counts as complete at once if the line before it ended so too; else an LF
    /// is awaited, so that no event waits for the next one in streams that use one kind of line end.
    ///
    /// After an error what waited is gone, and the stream cannot go on.
    pub fn feed(&mut self, mut chunk: Bytes) -> Result<Bytes, frame::Error> {
        if self.at_start {
            chunk = match self.cut_mark(chunk) {
                Some(rest) => rest,
                None => return Ok(Bytes::new()),
            };
        }
        let old = self.waiting.len();
        let block = if old == 0 {
            let block = chunk.split_to(last_end(&chunk, 0));
            self.waiting.extend_from_slice(&chunk);
            block
        } else {
            self.waiting.extend_from_slice(&chunk);
            let end = last_end(&self.waiting, old - 1);
            self.waiting.split_to(end).freeze()
        };
        self.check_size(&block)?;
        Ok(block)
    }

    /// What waits when the bytes have ended: a last event without its empty line (some providers end so), completed
    /// with one; empty if nothing waits.
    pub fn finish(&mut self) -> Bytes {
        self.at_start = false;
        let mut last = std::mem::take(&mut self.waiting);
        match *last.as_ref() {
            [] | [b'\r'] | [.., b'\n', b'\r'] => {}
            [.., b'\n'] => last.extend_from_slice(b"\n"),
            _ => last.extend_from_slice(b"\n\n"),
        }
        last.freeze()
    }

    /// The first bytes of the stream without the mark; `None` while they may still become one.
    fn cut_mark(&mut self, chunk: Bytes) -> Option<Bytes> {
        let mut first = chunk;
        if !self.waiting.is_empty() {
            self.waiting.extend_from_slice(&first);
            first = std::mem::take(&mut self.waiting).freeze();
        }
        if first.len() < BYTE_ORDER_MARK.len() && BYTE_ORDER_MARK.starts_with(&first) {
            self.waiting.extend_from_slice(&first);
            return None;
        }
        self.at_start = false;
        if first.starts_with(BYTE_ORDER_MARK) {
            first.advance(BYTE_ORDER_MARK.len());
        }
        Some(first)
    }

    /// The same answer however the stream was cut into chunks: no event, complete or not, may be too large.
    fn check_size(&mut self, block: &[u8]) -> Result<(), frame::Error> {
        let max = self.event_bytes_max;
        let too_large =
            |block: &[u8]| block.len() > max && Framing::Sse.events(block).any(|event| event.raw.len() > max);
        if self.waiting.len() > max || too_large(block) {
            self.waiting = BytesMut::new();
            return Err(frame::Error::TooLarge(max));
        }
        Ok(())
    }
}

/// The end of the last complete event in bytes that begin at the start of one; 0 if there is none. Only ends of
/// lines at or after `from` are looked at.
fn last_end(bytes: &[u8], from: usize) -> usize {
    let mut end = bytes.len();
    while let Some(found) = memrchr2(b'\n', b'\r', &bytes[from..end]) {
        let at = from + found;
        // the terminator of the line is bytes[start..=at]
        let start = if bytes[at] == b'\n' && at > 0 && bytes[at - 1] == b'\r' { at - 1 } else { at };
        let before = start.checked_sub(1).map(|before| bytes[before]);
        let complete = match before {
            Some(b'\r') => true,
            Some(b'\n') | None => bytes[at] == b'\n' || at + 1 < bytes.len(),
            Some(_) => false,
        };
        if complete {
            return at + 1;
        }
        end = start.max(from);
    }
    0
}

/// The first event, and the bytes behind it.
pub(crate) fn first_event(bytes: &[u8]) -> (Event<'_>, &[u8]) {
    let mut event = Event { raw: bytes, name: b"", data: None };
    let mut rest = bytes;
    while !rest.is_empty() {
        let (line, behind) = first_line(rest);
        rest = behind;
        if line.is_empty() {
            break;
        }
        if let Some(value) = field(line, b"data") {
            event.data = Some(match event.data {
                None => Cow::Borrowed(value),
                Some(before) => Cow::Owned(joined(before.into_owned(), value)),
            });
        } else if let Some(name) = field(line, b"event") {
            event.name = name;
        }
    }
    event.raw = &bytes[..bytes.len() - rest.len()];
    (event, rest)
}

fn joined(mut lines: Vec<u8>, next: &[u8]) -> Vec<u8> {
    lines.push(b'\n');
    lines.extend_from_slice(next);
    lines
}

/// The first line without its end, and the bytes behind that.
fn first_line(bytes: &[u8]) -> (&[u8], &[u8]) {
    let Some(end) = memchr2(b'\n', b'\r', bytes) else {
        return (bytes, b"");
    };
    let (line, rest) = bytes.split_at(end);
    (line, rest.strip_prefix(b"\r\n").unwrap_or(&rest[1..]))
}

/// The value of a field of that name, without one space before it.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    match line.strip_prefix(name)? {
        [] => Some(b""),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
