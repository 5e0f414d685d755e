//! Reads a streamed answer.
//!
//! A content part of a message is a block, and so is a call and a whole reasoning item, whose parts have a blank line
//! between them. What the vendor only tells when an item is done (its proof; with some providers all of it) is told
//! then. Items that are not modelled are told whole when they are done.

use super::{
    glance::read_fault,
    open::{Items, Open, Place},
};
use crate::{
    DecodeEvents, Dialect, frame,
    ir::{Block, BlockKind, BlockStart, Delta, Event, Text},
    json::{Kind, Raw},
    kind::kind,
    openai_responses::{
        annotations,
        items::{PART_END, read_call, read_reasoning},
        logprobs,
        response::stop_reason,
        usage,
    },
    read::{Fields, ROOT},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::OpenAiResponses;

/// Reads a stream.
#[derive(Debug, Default)]
pub(in crate::openai_responses) struct Reader {
    started: bool,
    items: Items,
    called: bool,
    refused: bool,
    failed: bool,
    ended: bool,
}

impl DecodeEvents for Reader {
    fn decode(&mut self, event: &frame::Event<'_>, out: &mut Vec<Event>) -> Result<(), String> {
        let data = event.data.as_deref().unwrap_or_default().trim_ascii();
        // Some compatible providers end with the word of OpenAI Chat.
        if self.failed || self.ended || data == b"[DONE]" {
            return Ok(());
        }
        if data.is_empty() {
            out.push(Event::KeepAlive);
            return Ok(());
        }
        let kind = kind(event.name, data);
        if matches!(&*kind, b"error" | b"response.failed") {
            self.failed = true;
            out.push(Event::Fault(read_fault(data)));
            return Ok(());
        }
        let owner = Bytes::copy_from_slice(data);
        let root = Raw::parse(&owner).map_err(|error| format!("an event that is not JSON: {error}"))?;
        self.event(&kind, Piece { root, owner: &owner }, out)
    }

    fn ended(&self) -> bool {
        self.ended
    }
}

/// The data of an event.
#[derive(Clone, Copy)]
struct Piece<'v> {
    root: Raw<'v>,
    owner: &'v Bytes,
}

impl<'v> Piece<'v> {
    fn number(&self, name: &str) -> u64 {
        self.root.get(name).and_then(Raw::u64).unwrap_or(0)
    }

    fn text(&self, name: &str) -> Text {
        self.root.get(name).and_then(|value| value.text(self.owner)).unwrap_or_default()
    }

    fn output(&self) -> u64 {
        self.number("output_index")
    }

    fn part(&self) -> Place {
        Place::Part(self.number("content_index"))
    }
}

impl Reader {
    fn event(&mut self, kind: &[u8], piece: Piece<'_>, out: &mut Vec<Event>) -> Result<(), String> {
        match kind {
            b"response.created" | b"response.queued" | b"response.in_progress" => self.start(piece, out),
            b"response.output_item.added" => return self.item_added(piece, out),
            b"response.content_part.added" => return self.part_added(piece, out),
            b"response.output_text.delta" => return self.said(BlockStart::Text, piece, out),
            b"response.refusal.delta" => return self.said(BlockStart::Refusal, piece, out),
            b"response.output_text.annotation.added" => return self.annotation(piece, out),
            b"response.content_part.done" => return self.part_done(piece, out),
            b"response.reasoning_summary_part.added" | b"response.reasoning_summary_text.delta" => {
                return self.thought(('s', piece.number("summary_index")), piece, out);
            }
            b"response.reasoning_text.delta" => {
                return self.thought(('t', piece.number("content_index")), piece, out);
            }
            b"response.function_call_arguments.delta" => self.arguments(piece, out),
            b"response.output_item.done" => {
                self.ensure_started(out);
                if let Some(item) = piece.root.get("item") {
                    return self.item_done(piece.output(), item, piece.owner, out);
                }
            }
            b"response.completed" | b"response.incomplete" => return self.finish(piece, out),
            // They repeat what has been told.
            b"response.output_text.done"
            | b"response.refusal.done"
            | b"response.reasoning_summary_text.done"
            | b"response.reasoning_summary_part.done"
            | b"response.reasoning_text.done"
            | b"response.function_call_arguments.done" => {}
            // The vendor's tools at work, and what may come anew.
            _ => out.push(Event::KeepAlive),
        }
        Ok(())
    }

    fn start(&mut self, piece: Piece<'_>, out: &mut Vec<Event>) {
        let Some(response) = piece.root.get("response") else { return };
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let text = |name| response.get(name).and_then(|value: Raw<'_>| value.text(piece.owner));
        out.push(Event::Start {
            id: text("id").unwrap_or_default(),
            model: text("model").unwrap_or_default(),
            created: response.get("created_at").and_then(Raw::u64),
        });
    }

    fn ensure_started(&mut self, out: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.started, true) {
            out.push(Event::Start { id: Text::default(), model: Text::default(), created: None });
        }
    }

    fn open(
        &mut self,
        output: u64,
        place: Place,
        block: BlockStart,
        out: &mut Vec<Event>,
    ) -> Result<u32, String> {
        self.ensure_started(out);
        let index = self.items.open(output, place)?;
        self.called |= matches!(block, BlockStart::ToolUse { .. });
        self.refused |= block == BlockStart::Refusal;
        out.push(Event::BlockStart { index, block });
        Ok(index)
    }

    /// The block of a place, which opens if need be. `None` where it is done already.
    fn opened(
        &mut self,
        output: u64,
        place: Place,
        block: BlockStart,
        out: &mut Vec<Event>,
    ) -> Result<Option<&mut Open>, String> {
        if self.items.find(output, place).is_none() {
            let done = match (place, self.items.told(output)) {
                (_, None) => false,
                (Place::Part(part), Some(parts)) => part < parts,
                _ => true,
            };
            if done {
                return Ok(None);
            }
            self.open(output, place, block, out)?;
        }
        Ok(self.items.find(output, place))
    }

    fn item_added(&mut self, piece: Piece<'_>, out: &mut Vec<Event>) -> Result<(), String> {
        self.ensure_started(out);
        let (Some(item), output) = (piece.root.get("item"), piece.output()) else { return Ok(()) };
        let is_call = item.get("type").is_some_and(|kind| kind.is_str("function_call"));
        let text = |name| item.get(name).and_then(|value: Raw<'_>| value.text(piece.owner));
        if let (true, None, Some(id), Some(name)) =
            (is_call, self.items.told(output), text("call_id"), text("name"))
        {
            self.open(output, Place::Call, BlockStart::ToolUse { id, name }, out)?;
        }
        Ok(())
    }

    fn part_added(&mut self, piece: Piece<'_>, out: &mut Vec<Event>) -> Result<(), String> {
        let kind = piece.root.get("part").and_then(|part| part.get("type")?.string());
        let block = match kind.as_deref() {
            Some("output_text") => BlockStart::Text,
            Some("refusal") => BlockStart::Refusal,
            // Of reasoning, whose block opens with its text, or not modelled: it is told when it is done.
            _ => return Ok(()),
        };
        self.opened(piece.output(), piece.part(), block, out).map(drop)
    }

    fn said(&mut self, block: BlockStart, piece: Piece<'_>, out: &mut Vec<Event>) -> Result<(), String> {
        let Some(open) = self.opened(piece.output(), piece.part(), block, out)? else { return Ok(()) };
        let text = piece.text("delta");
        if !text.is_empty() {
            open.said = true;
            out.push(Event::Delta { index: open.index, delta: Delta::Text(text) });
        }
        let tokens = piece.root.get("logprobs").map(|list| logprobs::read(list, piece.owner));
        if let Some(tokens) = tokens.filter(|tokens| !tokens.is_empty()) {
            out.push(Event::Logprobs(tokens));
        }
        Ok(())
    }

    fn annotation(&mut self, piece: Piece<'_>, out: &mut Vec<Event>) -> Result<(), String> {
        let annotation = piece.root.get("annotation").filter(|annotation| annotation.kind() == Kind::Object);
        let Some(annotation) = annotation else { return Ok(()) };
        let block = self.opened(piece.output(), piece.part(), BlockStart::Text, out)?;
        if let Some(open) = block {
            let delta = Delta::Citation(annotations::read(annotation, piece.owner));
            out.push(Event::Delta { index: open.index, delta });
        }
        Ok(())
    }

    fn part_done(&mut self, piece: Piece<'_>, out: &mut Vec<Event>) -> Result<(), String> {
        let (output, place) = (piece.output(), piece.part());
        if let Some(part) = piece.root.get("part")
            && self.items.find(output, place).is_some()
        {
            self.whole_part((output, place), part, piece.owner, out)?;
        }
        Ok(())
    }

    /// A part that is complete: tells what has not been told, and closes it.
    fn whole_part(
        &mut self,
        (output, place): (u64, Place),
        part: Raw<'_>,
        owner: &Bytes,
        out: &mut Vec<Event>,
    ) -> Result<(), String> {
        let text = |name| part.get(name).and_then(|value: Raw<'_>| value.text(owner));
        let (block, text) = match part.get("type").and_then(Raw::string).as_deref() {
            Some("output_text") => (BlockStart::Text, text("text")),
            Some("refusal") => (BlockStart::Refusal, text("refusal")),
            Some(_) => (BlockStart::Opaque { dialect: SELF, json: part.json(owner) }, None),
            None => return Ok(()),
        };
        let Some(open) = self.opened(output, place, block, out)? else { return Ok(()) };
        let (index, said) = (open.index, open.said);
        if let Some(text) = text.filter(|text| !said && !text.is_empty()) {
            out.push(Event::Delta { index, delta: Delta::Text(text) });
        }
        let signature = part.get("signature").and_then(|signature| signature.text(owner));
        if let Some(signature) = signature.filter(|signature| !signature.is_empty()) {
            let delta = Delta::Signature(crate::ir::Sealed::read(SELF, signature));
            out.push(Event::Delta { index, delta });
        }
        self.close(output, Some(place), out);
        Ok(())
    }

    fn thought(&mut self, part: (char, u64), piece: Piece<'_>, out: &mut Vec<Event>) -> Result<(), String> {
        let block = self.opened(piece.output(), Place::Thought, BlockStart::Thinking, out)?;
        let Some(open) = block else { return Ok(()) };
        let text = piece.text("delta");
        if text.is_empty() {
            return Ok(());
        }
        let begun = open.part.replace(part);
        open.said = true;
        let index = open.index;
        if begun.is_some_and(|begun| begun != part) {
            out.push(Event::Delta { index, delta: Delta::Thinking(PART_END.clone()) });
        }
        out.push(Event::Delta { index, delta: Delta::Thinking(text) });
        Ok(())
    }

    fn arguments(&mut self, piece: Piece<'_>, out: &mut Vec<Event>) {
        let text = piece.text("delta");
        // Of a call that did not say its name yet: the item tells all when it is done.
        if let Some(open) = self.items.find(piece.output(), Place::Call).filter(|_| !text.is_empty()) {
            open.said = true;
            out.push(Event::Delta { index: open.index, delta: Delta::ToolInput(text) });
        }
    }

    /// An item that is complete: tells what has not been told, and closes it.
    fn item_done(
        &mut self,
        output: u64,
        item: Raw<'_>,
        owner: &Bytes,
        out: &mut Vec<Event>,
    ) -> Result<(), String> {
        let fields = || Fields::of(item, &ROOT, owner);
        let wrong = |refusal: crate::Refusal| refusal.message.into_owned();
        match item.get("type").and_then(Raw::string).as_deref() {
            Some("message") => {
                for (i, part) in (0..).zip(item.get("content").into_iter().flat_map(Raw::elements)) {
                    self.whole_part((output, Place::Part(i)), part, owner, out)?;
                }
            }
            Some("function_call") => {
                let block = fields().and_then(read_call).map_err(wrong)?;
                self.call_done(output, block, out)?;
            }
            Some("reasoning") => {
                if let Some(block) = fields().and_then(read_reasoning).map_err(wrong)? {
                    self.reasoning_done(output, block, out)?;
                }
            }
            Some(_) if self.items.told(output).is_none() => {
                let block = BlockStart::Opaque { dialect: SELF, json: item.json(owner) };
                self.open(output, Place::Call, block, out)?;
            }
            _ => {}
        }
        while self.close(output, None, out) {}
        Ok(())
    }

    fn call_done(&mut self, output: u64, block: Block, out: &mut Vec<Event>) -> Result<(), String> {
        let BlockKind::ToolUse { id, name, input } = block.kind else { return Ok(()) };
        let start = BlockStart::ToolUse { id, name };
        let Some(open) = self.opened(output, Place::Call, start, out)? else { return Ok(()) };
        let (index, said) = (open.index, open.said);
        if !said && !input.is("{}") {
            out.push(Event::Delta { index, delta: Delta::ToolInput(input) });
        }
        out.extend(block.signature.map(|sealed| Event::Delta { index, delta: Delta::Signature(sealed) }));
        Ok(())
    }

    fn reasoning_done(&mut self, output: u64, block: Block, out: &mut Vec<Event>) -> Result<(), String> {
        let (start, text) = match block.kind {
            BlockKind::Thinking(text) => (BlockStart::Thinking, text),
            BlockKind::RedactedThinking(sealed) => (BlockStart::RedactedThinking(sealed), Text::default()),
            _ => return Ok(()),
        };
        // Where only its parts are known to be empty, what opened as text has the proof beside it.
        let redacted = match &start {
            BlockStart::RedactedThinking(sealed) => Some(sealed.clone()),
            _ => None,
        };
        let open_before = self.items.find(output, Place::Thought).is_some();
        let Some(open) = self.opened(output, Place::Thought, start, out)? else { return Ok(()) };
        let (index, said) = (open.index, open.said);
        if !said && !text.is_empty() {
            out.push(Event::Delta { index, delta: Delta::Thinking(text) });
        }
        let proof = block.signature.or(redacted.filter(|_| open_before));
        out.extend(proof.map(|sealed| Event::Delta { index, delta: Delta::Signature(sealed) }));
        Ok(())
    }

    /// Closes an open block of an item; false if there is none.
    fn close(&mut self, output: u64, place: Option<Place>, out: &mut Vec<Event>) -> bool {
        let closed = self.items.close(output, place);
        out.extend(closed.as_ref().map(|open| Event::BlockStop { index: open.index }));
        closed.is_some()
    }

    fn finish(&mut self, piece: Piece<'_>, out: &mut Vec<Event>) -> Result<(), String> {
        self.start(piece, out);
        self.ensure_started(out);
        let response = piece.root.get("response").unwrap_or(piece.root);
        if self.items.is_empty() {
            // Some providers tell all with the last event.
            let items = response.get("output").into_iter().flat_map(Raw::elements);
            for (output, item) in (0..).zip(items) {
                self.item_done(output, item, piece.owner, out)?;
            }
        }
        out.extend(self.items.close_all().map(|open| Event::BlockStop { index: open.index }));
        let (id, name, input) = (Text::default(), Text::default(), Text::default());
        let called = self.called.then_some(BlockKind::ToolUse { id, name, input });
        let refused = self.refused.then(|| BlockKind::Refusal(Text::default()));
        let reason = stop_reason(response, called.iter().chain(&refused), piece.owner);
        out.push(Event::Stop { reason, sequence: None });
        out.extend(response.get("usage").and_then(usage::decode).map(Event::Usage));
        self.ended = true;
        out.push(Event::End);
        Ok(())
    }
}
