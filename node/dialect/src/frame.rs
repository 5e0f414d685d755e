//! The events of a streamed answer, however the dialect frames them.

use crate::{event_stream, sse};
use bytes::Bytes;
use std::borrow::Cow;

/// How the events of a stream are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// Amazon's binary event stream.
    EventStream,
}

/// One event in a block; borrowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event<'a> {
    /// All its bytes, as they came.
    pub raw: &'a [u8],
    /// Its `event` field, or the type of its message (of the event, exception or error); empty if it has none.
    pub name: &'a [u8],
    /// Its payload: the `data` lines, joined by a line feed if there are several, or the message's. `None` for a mere
    /// comment or blank line.
    pub data: Option<Cow<'a, [u8]>>,
}

/// Why a stream cannot be cut into events.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An event is larger than the bound.
    #[error("an event of the stream is larger than {0} bytes")]
    TooLarge(usize),
    /// A binary message that is not one.
    #[error("a message of the stream is damaged: {0}")]
    Damaged(String),
}

/// Cuts a stream of chunks into blocks of whole events; what is not complete yet waits, within a bound.
#[derive(Debug)]
pub enum Reader {
    /// Of server-sent events.
    Sse(sse::Reader),
    /// Of binary messages.
    EventStream(event_stream::Reader),
}

impl Reader {
    /// Takes the next chunk and returns all events that are complete now, as one run of bytes (perhaps empty). After an
    /// error the stream cannot go on.
    pub fn feed(&mut self, chunk: Bytes) -> Result<Bytes, Error> {
        match self {
            Self::Sse(reader) => reader.feed(chunk),
            Self::EventStream(reader) => reader.feed(chunk),
        }
    }

    /// What waits when the bytes have ended and may be taken for a whole event.
    pub fn finish(&mut self) -> Bytes {
        match self {
            Self::Sse(reader) => reader.finish(),
            // A message says how long it is: what is not all there is none.
            Self::EventStream(_) => Bytes::new(),
        }
    }
}

impl Framing {
    /// A reader of events up to this size.
    pub fn reader(self, event_bytes_max: usize) -> Reader {
        match self {
            Self::Sse => Reader::Sse(sse::Reader::new(event_bytes_max)),
            Self::EventStream => Reader::EventStream(event_stream::Reader::new(event_bytes_max)),
        }
    }

    /// The events in a block that a reader returned. Their `raw` parts follow each other without gaps.
    pub fn events(self, block: &[u8]) -> impl Iterator<Item = Event<'_>> {
        let mut rest = block;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (event, behind) = match self {
                Self::Sse => sse::first_event(rest),
                Self::EventStream => event_stream::first_event(rest),
            };
            rest = behind;
            Some(event)
        })
    }

    /// The media type of such a stream.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Sse => "text/event-stream; charset=utf-8",
            Self::EventStream => "application/vnd.amazon.eventstream",
        }
    }
}
