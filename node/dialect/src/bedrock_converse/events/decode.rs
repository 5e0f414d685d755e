//! Reads a streamed answer.
//!
//! Texts and reasoning open with their first delta, calls with an event of their own.

use super::{
    super::{citations, redacted, response, usage},
    exception,
};
use crate::{
    DecodeEvents, Dialect, frame,
    ir::{BlockStart, Delta, Event, Sealed, Text},
    json::{self, Raw},
};
use bytes::Bytes;
use response::{Called, decode_stop, stop_sequence};

const SELF: Dialect = Dialect::BedrockConverse;

/// Most blocks that may be open at once; the vendor opens one.
const OPEN_MAX: usize = 64;

/// Reads a stream.
#[derive(Debug, Default)]
pub(in crate::bedrock_converse) struct Reader {
    started: bool,
    next: u32,
    open: Vec<Open>,
    called: bool,
    told_stop: bool,
    failed: bool,
    ended: bool,
}

/// A block that is open.
#[derive(Debug)]
struct Open {
    /// The vendor's index.
    wire: u64,
    /// Ours.
    index: u32,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Thinking,
    Redacted,
    Call,
    Opaque,
}

/// What a delta says.
enum Piece {
    /// More of a block of this kind, which may open with it.
    More(Kind, Delta),
    /// A whole block.
    Redacted(Sealed),
    /// Something that is not modelled.
    Other,
}

impl DecodeEvents for Reader {
    fn decode(&mut self, event: &frame::Event<'_>, out: &mut Vec<Event>) -> Result<(), String> {
        let data = event.data.as_deref().unwrap_or_default();
        if self.failed || self.ended {
            return Ok(());
        }
        if let Some(fault) = exception::read(event.name, data) {
            self.failed = true;
            out.push(Event::Fault(fault));
            return Ok(());
        }
        if data.trim_ascii().is_empty() {
            out.push(Event::KeepAlive);
            return Ok(());
        }
        let owner = Bytes::copy_from_slice(data);
        let root = Raw::parse(&owner).map_err(|error| format!("an event that is not JSON: {error}"))?;
        match event.name {
            b"messageStart" => self.start(out),
            b"contentBlockStart" => return self.block_start(root, &owner, out),
            b"contentBlockDelta" => return self.delta(root, &owner, out),
            b"contentBlockStop" => self.block_stop(wire_index(root), out),
            b"messageStop" => self.message_stop(root, &owner, out),
            b"metadata" => self.metadata(root, out),
            // Types that are not known yet.
            _ => {}
        }
        Ok(())
    }

    /// The answer is whole with its stop reason, even if the usage behind it never comes.
    fn ended(&self) -> bool {
        self.told_stop && !self.failed
    }
}

impl Reader {
    fn start(&mut self, out: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.started, true) {
            out.push(Event::Start { id: Text::default(), model: Text::default(), created: None });
        }
    }

    fn open(
        &mut self,
        wire: u64,
        kind: Kind,
        block: BlockStart,
        out: &mut Vec<Event>,
    ) -> Result<u32, String> {
        if self.told_stop {
            return Err("a block behind the stop reason".to_owned());
        }
        if self.open.len() >= OPEN_MAX {
            return Err(format!("more than {OPEN_MAX} open blocks"));
        }
        self.start(out);
        let index = self.next;
        self.next += 1;
        self.open.push(Open { wire, index, kind });
        out.push(Event::BlockStart { index, block });
        Ok(index)
    }

    fn block_start(&mut self, root: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) -> Result<(), String> {
        let start = object(root, "start").ok_or("a block that opens with nothing")?;
        let wire = wire_index(root);
        self.block_stop(wire, out);
        let text = |value: Raw<'_>, name| value.get(name).and_then(|text: Raw<'_>| text.text(owner));
        // One that says a type calls a tool that the vendor runs.
        let call = start.get("toolUse").filter(|call| call.get("type").is_none_or(Raw::is_null));
        let (kind, block) = match call {
            Some(call) => {
                self.called = true;
                let (id, name) = (text(call, "toolUseId"), text(call, "name"));
                let block =
                    BlockStart::ToolUse { id: id.unwrap_or_default(), name: name.unwrap_or_default() };
                (Kind::Call, block)
            }
            None => (Kind::Opaque, BlockStart::Opaque { dialect: SELF, json: start.json(owner) }),
        };
        self.open(wire, kind, block, out).map(drop)
    }

    fn delta(&mut self, root: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) -> Result<(), String> {
        let Some(delta) = object(root, "delta") else { return Ok(()) };
        let wire = wire_index(root);
        let open = self.open.iter().find(|open| open.wire == wire).map(|open| (open.index, open.kind));
        let opaque = |index| {
            let delta = Delta::Opaque { dialect: SELF, json: delta.json(owner) };
            Event::Delta { index, delta }
        };
        match (open, read_piece(delta, owner)) {
            (Some((index, Kind::Opaque | Kind::Redacted)), _) | (Some((index, _)), Piece::Other) => {
                out.push(opaque(index));
            }
            (Some((index, kind)), Piece::More(takes, delta)) if kind == takes => push(index, delta, out),
            (_, Piece::More(Kind::Call, _)) => return Err("arguments of a call that is not open".to_owned()),
            (_, Piece::More(kind, delta)) => {
                self.block_stop(wire, out);
                let block = if kind == Kind::Thinking { BlockStart::Thinking } else { BlockStart::Text };
                let index = self.open(wire, kind, block, out)?;
                push(index, delta, out);
            }
            (_, Piece::Redacted(sealed)) => {
                self.block_stop(wire, out);
                self.open(wire, Kind::Redacted, BlockStart::RedactedThinking(sealed), out)?;
            }
            (None, Piece::Other) => {
                let block = BlockStart::Opaque { dialect: SELF, json: delta.json(owner) };
                self.open(wire, Kind::Opaque, block, out)?;
            }
        }
        Ok(())
    }

    fn block_stop(&mut self, wire: u64, out: &mut Vec<Event>) {
        if let Some(at) = self.open.iter().position(|open| open.wire == wire) {
            let index = self.open.remove(at).index;
            out.push(Event::BlockStop { index });
        }
    }

    fn message_stop(&mut self, root: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) {
        self.start(out);
        if std::mem::replace(&mut self.told_stop, true) {
            return;
        }
        out.extend(self.open.drain(..).map(|open| Event::BlockStop { index: open.index }));
        let reason = root.get("stopReason").and_then(|reason| reason.text(owner));
        let called = if self.called { Called::Yes } else { Called::No };
        let fields = root.get("additionalModelResponseFields");
        let sequence = fields.and_then(|fields| stop_sequence(fields, owner));
        out.push(Event::Stop { reason: decode_stop(reason, called), sequence });
    }

    fn metadata(&mut self, root: Raw<'_>, out: &mut Vec<Event>) {
        self.start(out);
        out.extend(root.get("usage").and_then(usage::decode).map(Event::Usage));
        if self.told_stop {
            self.ended = true;
            out.push(Event::End);
        }
    }
}

fn object<'v>(root: Raw<'v>, name: &str) -> Option<Raw<'v>> {
    root.get(name).filter(|value| value.kind() == json::Kind::Object)
}

fn wire_index(root: Raw<'_>) -> u64 {
    root.get("contentBlockIndex").and_then(Raw::u64).unwrap_or(0)
}

fn push(index: u32, delta: Delta, out: &mut Vec<Event>) {
    let empty = match &delta {
        Delta::Text(text) | Delta::Thinking(text) | Delta::ToolInput(text) => text.is_empty(),
        Delta::Signature(sealed) => sealed.data.is_empty(),
        Delta::Citation(_) | Delta::Opaque { .. } => false,
    };
    if !empty {
        out.push(Event::Delta { index, delta });
    }
}

fn read_piece(delta: Raw<'_>, owner: &Bytes) -> Piece {
    let text = |holder: Raw<'_>, name| holder.get(name).and_then(|text: Raw<'_>| text.text(owner));
    if let Some(text) = text(delta, "text") {
        return Piece::More(Kind::Text, Delta::Text(text));
    }
    if let Some(input) = delta.get("toolUse").and_then(|call| text(call, "input")) {
        return Piece::More(Kind::Call, Delta::ToolInput(input));
    }
    if let Some(citation) = delta.get("citation") {
        return Piece::More(Kind::Text, Delta::Citation(citations::read(citation, owner)));
    }
    let Some(reasoning) = delta.get("reasoningContent") else { return Piece::Other };
    if let Some(text) = text(reasoning, "text") {
        return Piece::More(Kind::Thinking, Delta::Thinking(text));
    }
    if let Some(signature) = text(reasoning, "signature") {
        return Piece::More(Kind::Thinking, Delta::Signature(Sealed::read(SELF, signature)));
    }
    match text(reasoning, "redactedContent") {
        Some(data) => Piece::Redacted(redacted::read(data)),
        None => Piece::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn see(reader: &mut Reader, name: &str, data: &str) -> Vec<Event> {
        let mut events = Vec::new();
        let event = frame::Event { raw: b"", name: name.as_bytes(), data: Some(data.as_bytes().into()) };
        reader.decode(&event, &mut events).unwrap();
        events
    }

    #[test]
    fn the_answer_is_whole_before_its_usage() {
        let mut reader = Reader::default();
        see(&mut reader, "messageStart", r#"{"role":"assistant"}"#);
        see(&mut reader, "contentBlockDelta", r#"{"delta":{"text":"a"},"contentBlockIndex":0}"#);
        assert!(!reader.ended());
        let stop = see(&mut reader, "messageStop", r#"{"stopReason":"end_turn"}"#);
        assert!(matches!(stop.as_slice(), [Event::BlockStop { .. }, Event::Stop { .. }]) && reader.ended());
        let end = see(&mut reader, "metadata", r#"{"usage":{"inputTokens":1}}"#);
        assert!(matches!(end.as_slice(), [Event::Usage(_), Event::End]) && reader.ended());

        let mut reader = Reader::default();
        see(&mut reader, "messageStop", r#"{"stopReason":"end_turn"}"#);
        see(&mut reader, "internalServerException", r#"{"message":"x"}"#);
        assert!(!reader.ended());
    }
}
