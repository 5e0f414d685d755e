//! Amazon's binary event stream: messages with headers, a payload and checksums.

use crate::frame::{self, Event};
use aws_smithy_eventstream::frame::{read_message_from, write_message_to};
use aws_smithy_types::event_stream::{Header, HeaderValue, Message};
use bytes::{Bytes, BytesMut};
use std::borrow::Cow;

/// Total length, length of the headers, and the checksum of both.
const PRELUDE: usize = 12;
/// The checksum of the whole message, behind its payload.
const CHECKSUM: usize = 4;

/// Cuts a stream of chunks into blocks of whole messages, whose checksums are right.
#[derive(Debug)]
pub struct Reader {
    waiting: BytesMut,
    event_bytes_max: usize,
}

impl Reader {
    /// Messages up to this size.
    pub fn new(event_bytes_max: usize) -> Self {
        Self { waiting: BytesMut::new(), event_bytes_max }
    }

    /// Takes the next chunk and returns all messages that are complete now, as one run of bytes (perhaps empty). The
    /// chunk itself comes back, uncopied, where it holds whole messages and nothing waits.
    pub fn feed(&mut self, mut chunk: Bytes) -> Result<Bytes, frame::Error> {
        if self.waiting.is_empty() {
            let block = chunk.split_to(whole(&chunk, self.event_bytes_max)?);
            self.waiting.extend_from_slice(&chunk);
            return Ok(block);
        }
        self.waiting.extend_from_slice(&chunk);
        let end = whole(&self.waiting, self.event_bytes_max)?;
        Ok(self.waiting.split_to(end).freeze())
    }
}

/// The end of the last complete message; each is checked.
fn whole(bytes: &[u8], bytes_max: usize) -> Result<usize, frame::Error> {
    let mut at = 0;
    while let Some(length) = length(&bytes[at..]) {
        if length > bytes_max {
            return Err(frame::Error::TooLarge(bytes_max));
        }
        if length < PRELUDE + CHECKSUM {
            return Err(frame::Error::Damaged("its length makes no sense".to_owned()));
        }
        let Some(message) = bytes.get(at..at + length) else { break };
        read_message_from(message).map_err(|error| frame::Error::Damaged(error.to_string()))?;
        at += length;
    }
    Ok(at)
}

fn length(bytes: &[u8]) -> Option<usize> {
    usize::try_from(u32::from_be_bytes(*bytes.first_chunk()?)).ok()
}

/// The first message of a block that `Reader::feed` returned, and the bytes behind it.
pub(crate) fn first_event(bytes: &[u8]) -> (Event<'_>, &[u8]) {
    let length = length(bytes).filter(|length| *length <= bytes.len()).unwrap_or(bytes.len());
    let (raw, rest) = bytes.split_at(length);
    let mut event = Event { raw, name: b"", data: None };
    if let Some((headers, payload)) = parts(raw) {
        event.name = name(headers);
        event.data = Some(Cow::Borrowed(payload));
    }
    (event, rest)
}

/// Headers and payload of a message.
fn parts(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let headers = usize::try_from(u32::from_be_bytes(*message.get(4..)?.first_chunk()?)).ok()?;
    message.get(PRELUDE..message.len().checked_sub(CHECKSUM)?)?.split_at_checked(headers)
}

/// What the message is: the type of an event or exception, or the code of an error.
fn name(mut headers: &[u8]) -> &[u8] {
    const NAMES: [&[u8]; 3] = [b":event-type", b":exception-type", b":error-code"];
    while let Some((name, value, rest)) = first_header(headers) {
        if NAMES.contains(&name) {
            return value;
        }
        headers = rest;
    }
    b""
}

/// Name, value and the bytes behind; values of fixed size are passed over as their bytes.
fn first_header(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(*length))?;
    let (kind, rest) = rest.split_first()?;
    let (length, rest) = match kind {
        0 | 1 => (0, rest),
        2 => (1, rest),
        3 => (2, rest),
        4 => (4, rest),
        5 | 8 => (8, rest),
        6 | 7 => {
            let (length, rest) = rest.split_first_chunk()?;
            (usize::from(u16::from_be_bytes(*length)), rest)
        }
        9 => (16, rest),
        _ => return None,
    };
    let (value, rest) = rest.split_at_checked(length)?;
    Some((name, value, rest))
}

/// What kind of message is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An event.
    Event,
    /// An error of the service, which ends the stream.
    Exception,
}

/// Appends a message of this type with a JSON payload.
pub(crate) fn write(kind: Kind, name: &'static str, payload: Vec<u8>, out: &mut Vec<u8>) {
    let (kind, header) = match kind {
        Kind::Event => ("event", ":event-type"),
        Kind::Exception => ("exception", ":exception-type"),
    };
    let text = |text: &'static str| HeaderValue::String(text.into());
    let message = Message::new(payload)
        .add_header(Header::new(header, text(name)))
        .add_header(Header::new(":content-type", text("application/json")))
        .add_header(Header::new(":message-type", text(kind)));
    let before = out.len();
    if write_message_to(&message, out).is_err() {
        // Only a payload beyond the format's 16 MiB: what cannot be told is left out.
        out.truncate(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Framing;

    fn stream() -> Vec<u8> {
        let mut wire = Vec::new();
        write(Kind::Event, "messageStart", br#"{"role":"assistant"}"#.to_vec(), &mut wire);
        write(Kind::Event, "contentBlockDelta", br#"{"delta":{"text":"a"}}"#.to_vec(), &mut wire);
        write(Kind::Exception, "throttlingException", br#"{"message":"slow"}"#.to_vec(), &mut wire);
        wire
    }

    #[test]
    fn messages_are_found_however_they_are_cut() {
        let wire = stream();
        for size in [1, 2, 7, 64, wire.len()] {
            let mut reader = Framing::EventStream.reader(1024);
            let (mut all, mut names) = (Vec::new(), Vec::new());
            for chunk in wire.chunks(size) {
                let block = reader.feed(Bytes::copy_from_slice(chunk)).unwrap();
                for event in Framing::EventStream.events(&block) {
                    names.push(String::from_utf8(event.name.to_vec()).unwrap());
                    all.extend_from_slice(event.raw);
                    assert!(event.data.unwrap().starts_with(b"{"));
                }
            }
            assert_eq!(names, ["messageStart", "contentBlockDelta", "throttlingException"]);
            assert_eq!(all, wire);
            assert!(reader.finish().is_empty());
        }
    }

    #[test]
    fn damage_is_seen() {
        let wire = stream();
        for at in [0, 5, 9, 20, wire.len() - 1] {
            let mut bad = wire.clone();
            bad[at] ^= 1;
            let fed = Framing::EventStream.reader(1024).feed(bad.into());
            // A length that grew is awaited, or too large.
            let awaited = at == 0 && matches!(fed, Err(frame::Error::TooLarge(1024)));
            assert!(awaited || matches!(fed, Err(frame::Error::Damaged(_))), "{at}: {fed:?}");
        }
        let tiny = Bytes::from_static(&[0, 0, 0, 3, 0, 0, 0, 0]);
        assert!(matches!(Framing::EventStream.reader(1024).feed(tiny), Err(frame::Error::Damaged(_))));
        let large = Framing::EventStream.reader(16).feed(wire.into());
        assert_eq!(large, Err(frame::Error::TooLarge(16)));
    }
}
