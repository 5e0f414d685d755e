//! What must hold for any bytes as a streamed answer: its events keep the rules of the representation, a glance sees
//! what the reader sees, and every other dialect gets a well-formed stream of them, which it can read.

#![allow(clippy::panic)] // a panic here is a failed check

use bytes::Bytes;
use trestle_dialect::{
    Dialect, Glance, Look, frame, inbound,
    ir::{BlockStart, Event},
    json::Raw,
    outbound,
};

#[path = "../../tests/grammar/mod.rs"]
mod grammar;
#[path = "pick.rs"]
mod pick;
#[path = "rules.rs"]
mod rules;

/// Largest event; small, so that bounds are met.
const EVENT_BYTES_MAX: usize = 1 << 16;

/// Checks a stream: the first byte picks its dialect, three more are the sizes of its chunks, which are taken in turn;
/// the rest is the wire.
pub(crate) fn check(data: &[u8]) {
    let Some((dialect, rest)) = pick::dialect(data) else { return };
    let Some((sizes, wire)) = rest.split_first_chunk::<3>() else { return };
    let mut reader = dialect.framing().reader(EVENT_BYTES_MAX);
    let mut seen = Seen { dialect, reader: outbound(dialect).decode_events(), all: Vec::new() };
    let mut rest = Bytes::copy_from_slice(wire);
    let mut sizes = sizes.iter().map(|size| usize::from(*size).max(1)).cycle();
    let mut whole = true;
    while whole && !rest.is_empty() {
        let chunk = rest.split_to(sizes.next().unwrap_or(1).min(rest.len()));
        whole = reader.feed(chunk).is_ok_and(|block| seen.block(&block));
    }
    if whole {
        seen.block(&reader.finish());
    }
    if let Err(what) = rules::check(&seen.all) {
        panic!("{what} in {:?}", seen.all);
    }
    for other in Dialect::ALL {
        tell(other, &seen.all);
    }
}

/// What was read of a stream.
struct Seen {
    dialect: Dialect,
    reader: Box<dyn trestle_dialect::DecodeEvents>,
    all: Vec<Event>,
}

impl Seen {
    /// Reads a block; false where it makes no sense.
    fn block(&mut self, block: &Bytes) -> bool {
        for event in self.dialect.framing().events(block) {
            let over = self.reader.ended() || self.all.iter().any(|event| matches!(event, Event::Fault(_)));
            let look = |look| outbound(self.dialect).glance(&event, look);
            let (commit, meter) = (look(Look::Commit), look(Look::Meter));
            let mut read = Vec::new();
            let sense = self.reader.decode(&event, &mut read);
            if over {
                assert!(read.is_empty(), "{read:?} after the end");
            } else if sense.is_ok() && is_unique(&event) {
                agree(&event, &read, &commit, &meter);
                // The first content commits the stream; the stop reason may be told later than it was seen.
                let content = |event: &Event| event.is_content() && !matches!(event, Event::Stop { .. });
                let first = !self.all.iter().any(content) && read.iter().any(content);
                assert!(!first || commit.content, "{read:?} {}", String::from_utf8_lossy(event.raw));
            }
            self.all.append(&mut read);
            if sense.is_err() {
                return false;
            }
        }
        true
    }
}

/// Whether no member of the event stands there twice: of those a glance may see another one than the reader.
fn is_unique(event: &frame::Event<'_>) -> bool {
    fn unique(raw: Raw<'_>) -> bool {
        !matches!(raw.unique_members(), Some(Err(_)))
            && raw.members().all(|member| unique(member.value))
            && raw.elements().all(unique)
    }
    event.data.as_deref().and_then(|data| Raw::parse(data).ok()).is_none_or(unique)
}

/// A glance and the reader see the same.
fn agree(event: &frame::Event<'_>, read: &[Event], commit: &Glance, meter: &Glance) {
    let faulty = read.iter().any(|event| matches!(event, Event::Fault(_)));
    let ended = read.iter().any(|event| matches!(event, Event::End));
    let raw = || String::from_utf8_lossy(event.raw).into_owned();
    for glance in [commit, meter] {
        assert_eq!(glance.fault.is_some(), faulty, "{}", raw());
        assert_eq!(glance.end, ended, "{}", raw());
    }
    assert!(!commit.content || meter.content, "{}", raw());
    assert_eq!(commit.usage, meter.usage, "{}", raw());
}

/// Writes the events in a dialect, and reads them again.
fn tell(other: Dialect, events: &[Event]) {
    let (mut wire, mut dropped) = (Vec::new(), Vec::new());
    let mut writer = inbound(other).encode_events(&pick::context());
    events.iter().for_each(|event| writer.encode(event, &mut wire, &mut dropped));
    if let Err(what) = grammar::check(other, &wire) {
        panic!("{other:?}: {what}");
    }
    // A call without a name is told as it is, but some readers refuse it.
    let nameless = |event: &Event| matches!(event, Event::BlockStart { block: BlockStart::ToolUse { name, .. }, .. } if name.is_empty());
    if events.iter().any(nameless) {
        return;
    }
    let (mut reader, mut again) = (outbound(other).decode_events(), Vec::new());
    for event in other.framing().events(&wire) {
        if let Err(what) = reader.decode(&event, &mut again) {
            panic!("{other:?} cannot read what it wrote: {what} {}", String::from_utf8_lossy(&wire));
        }
    }
    if let Err(what) = rules::check(&again) {
        panic!("{other:?}: {what} in {again:?}");
    }
    let failed = again.iter().any(|event| matches!(event, Event::Fault(_)));
    let ended = events.iter().any(|event| matches!(event, Event::End));
    assert!(reader.ended() == (ended && !failed), "{other:?} {}", String::from_utf8_lossy(&wire));
}
