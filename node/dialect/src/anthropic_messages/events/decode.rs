//! Reads a streamed answer.

use super::super::{citation, usage};
use crate::{
    DecodeEvents, Dialect,
    anthropic_messages::response::decode_stop,
    fault, frame,
    ir::{BlockStart, Delta, Event, Sealed, Text, Usage},
    json::{Kind, Raw},
    kind::kind,
};
use bytes::Bytes;

const SELF: Dialect = Dialect::AnthropicMessages;

/// Most blocks that may be open at once; the vendor opens one.
const OPEN_MAX: usize = 64;

/// Reads a stream.
#[derive(Debug, Default)]
pub(in crate::anthropic_messages) struct Reader {
    started: bool,
    next: u32,
    /// The vendor's index and ours, and whether the block is one that we model.
    open: Vec<(u64, u32, Modelled)>,
    usage: Usage,
    told_stop: bool,
    failed: bool,
    ended: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Modelled {
    Yes,
    No,
}

impl DecodeEvents for Reader {
    fn decode(&mut self, event: &frame::Event<'_>, out: &mut Vec<Event>) -> Result<(), String> {
        let data = event.data.as_deref().unwrap_or_default().trim_ascii();
        if self.failed || self.ended {
            return Ok(());
        }
        if data.is_empty() {
            out.push(Event::KeepAlive);
            return Ok(());
        }
        let kind = kind(event.name, data);
        if &*kind == b"error" {
            self.failed = true;
            out.push(Event::Fault(fault::decode_event(data)));
            return Ok(());
        }
        let owner = Bytes::copy_from_slice(data);
        let root = Raw::parse(&owner).map_err(|error| format!("an event that is not JSON: {error}"))?;
        match &*kind {
            b"message_start" => self.start(root, &owner, out),
            b"content_block_start" => return self.block_start(root, &owner, out),
            b"content_block_delta" => self.delta(root, &owner, out),
            b"content_block_stop" => self.block_stop(root, out),
            b"message_delta" => self.message_delta(root, &owner, out),
            b"message_stop" => {
                self.ensure_started(out);
                self.close_all(out);
                self.ended = true;
                out.push(Event::End);
            }
            b"ping" => out.push(Event::KeepAlive),
            // The vendor says that new types may come.
            _ => {}
        }
        Ok(())
    }

    fn ended(&self) -> bool {
        self.ended
    }
}

impl Reader {
    fn start(&mut self, root: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let message = root.get("message");
        let text = |name| message.and_then(|message: Raw<'_>| message.get(name)?.text(owner));
        out.push(Event::Start {
            id: text("id").unwrap_or_default(),
            model: text("model").unwrap_or_default(),
            created: None,
        });
        self.usage(message.and_then(|message| message.get("usage")), out);
    }

    fn ensure_started(&mut self, out: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.started, true) {
            out.push(Event::Start { id: Text::default(), model: Text::default(), created: None });
        }
    }

    /// Counts are cumulative, and a later report may hold only some of them.
    fn usage(&mut self, usage: Option<Raw<'_>>, out: &mut Vec<Event>) {
        if let Some(usage) = usage.and_then(usage::decode) {
            self.usage = self.usage.merge(usage);
            out.push(Event::Usage(self.usage));
        }
    }

    fn block_start(&mut self, root: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) -> Result<(), String> {
        if self.told_stop {
            return Err("a block behind the stop reason".to_owned());
        }
        self.ensure_started(out);
        let block = root.get("content_block").ok_or("a block that opens with nothing")?;
        let wire = wire_index(root);
        if self.open.len() >= OPEN_MAX || self.open.iter().any(|(known, ..)| *known == wire) {
            return Err("a block opens that is open already".to_owned());
        }
        let index = self.next;
        self.next += 1;
        let text = |name| block.get(name).and_then(|value: Raw<'_>| value.text(owner)).unwrap_or_default();
        let mut deltas = Vec::new();
        let start = match block.get("type").and_then(Raw::string).as_deref() {
            Some("text") => {
                deltas.push(Delta::Text(text("text")));
                let citations = block.get("citations").into_iter().flat_map(Raw::elements);
                deltas.extend(citations.map(|value| Delta::Citation(citation::read(value, owner))));
                BlockStart::Text
            }
            Some("thinking") => {
                deltas.push(Delta::Thinking(text("thinking")));
                deltas.push(Delta::Signature(Sealed::read(SELF, text("signature"))));
                BlockStart::Thinking
            }
            Some("redacted_thinking") => BlockStart::RedactedThinking(Sealed::read(SELF, text("data"))),
            Some("tool_use") => {
                deltas.push(Delta::Signature(Sealed::read(SELF, text("signature"))));
                deltas.extend(whole_input(block));
                BlockStart::ToolUse { id: text("id"), name: text("name") }
            }
            _ => BlockStart::Opaque { dialect: SELF, json: block.json(owner) },
        };
        let opaque = matches!(start, BlockStart::Opaque { .. });
        self.open.push((wire, index, if opaque { Modelled::No } else { Modelled::Yes }));
        out.push(Event::BlockStart { index, block: start });
        let deltas = deltas.into_iter().filter(|delta| !is_empty(delta));
        out.extend(deltas.map(|delta| Event::Delta { index, delta }));
        Ok(())
    }

    fn delta(&mut self, root: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) {
        let wire = wire_index(root);
        let open = self.open.iter().find(|(known, ..)| *known == wire);
        let (Some((_, index, modelled)), Some(delta)) = (open, root.get("delta")) else { return };
        let text = |name| delta.get(name).and_then(|value: Raw<'_>| value.text(owner)).unwrap_or_default();
        let opaque = || Delta::Opaque { dialect: SELF, json: delta.json(owner) };
        let delta = match delta.get("type").and_then(Raw::string).as_deref() {
            _ if *modelled == Modelled::No => opaque(),
            Some("text_delta") => Delta::Text(text("text")),
            Some("thinking_delta") => Delta::Thinking(text("thinking")),
            Some("signature_delta") => Delta::Signature(Sealed::read(SELF, text("signature"))),
            Some("citations_delta") => match delta.get("citation") {
                Some(value) => Delta::Citation(citation::read(value, owner)),
                None => opaque(),
            },
            Some("input_json_delta") => Delta::ToolInput(text("partial_json")),
            _ => opaque(),
        };
        if !is_empty(&delta) {
            out.push(Event::Delta { index: *index, delta });
        }
    }

    fn block_stop(&mut self, root: Raw<'_>, out: &mut Vec<Event>) {
        let wire = wire_index(root);
        if let Some(at) = self.open.iter().position(|(known, ..)| *known == wire) {
            let (_, index, _) = self.open.remove(at);
            out.push(Event::BlockStop { index });
        }
    }

    fn close_all(&mut self, out: &mut Vec<Event>) {
        out.extend(self.open.drain(..).map(|(_, index, _)| Event::BlockStop { index }));
    }

    fn message_delta(&mut self, root: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) {
        self.ensure_started(out);
        self.usage(root.get("usage"), out);
        let text = |name| root.get("delta").and_then(|delta: Raw<'_>| delta.get(name)?.text(owner));
        if let Some(reason) = text("stop_reason")
            && !std::mem::replace(&mut self.told_stop, true)
        {
            self.close_all(out);
            out.push(Event::Stop { reason: decode_stop(Some(reason)), sequence: text("stop_sequence") });
        }
    }
}

fn wire_index(root: Raw<'_>) -> u64 {
    root.get("index").and_then(Raw::u64).unwrap_or(0)
}

/// The input of a call that came whole with its block, as some compatible providers send it.
fn whole_input(block: Raw<'_>) -> Option<Delta> {
    let input = block.get("input").filter(|input| input.kind() == Kind::Object)?;
    input.members().next()?;
    Some(Delta::ToolInput(Text::new(&String::from_utf8_lossy(input.bytes()))))
}

fn is_empty(delta: &Delta) -> bool {
    match delta {
        Delta::Text(text) | Delta::Thinking(text) | Delta::ToolInput(text) => text.is_empty(),
        Delta::Signature(sealed) => sealed.data.is_empty(),
        Delta::Citation(_) | Delta::Opaque { .. } => false,
    }
}
