//! Reads a streamed answer.
//!
//! Blocks open with their first delta. A text closes when something else begins; a tool call only when its arguments
//! are complete, because some providers interleave the deltas of parallel calls. What is open closes with the end.
//! The stop reason is told with the end too: some providers repeat it, or say something after it.

use super::{
    calls::Calls,
    parts::{Choice, Parts},
};
use crate::{
    DecodeEvents, Dialect, fault, frame,
    ir::{Block, BlockKind, BlockStart, Delta, Event, Json, Sealed, Text},
    json::{Kind, Raw, unescape},
    openai_chat::{annotations, logprobs, proof, request::thinking_block, response::stop_reason, usage},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::OpenAiChat;

/// The kinds of blocks of which one is open at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plain {
    Text,
    Thinking,
    Refusal,
    Audio,
}

/// Reads a stream.
#[derive(Debug, Default)]
pub(in crate::openai_chat) struct Reader {
    started: bool,
    id: Text,
    next: u32,
    open: Option<(u32, Plain)>,
    calls: Calls,
    refused: bool,
    /// Characters of content so far, and where the text that is open began.
    chars: (u64, u64),
    stop: Option<(Text, Option<Text>)>,
    told_stop: bool,
    failed: bool,
    ended: bool,
}

/// The members of a delta that are modelled.
#[derive(Default)]
struct Said<'v> {
    reasoning: Option<Text>,
    thinking_blocks: Option<Raw<'v>>,
    content: Option<Raw<'v>>,
    refusal: Option<Text>,
    tool_calls: Option<Raw<'v>>,
    function_call: Option<Raw<'v>>,
    audio: Option<Raw<'v>>,
    annotations: Option<Raw<'v>>,
    proof: Option<Sealed>,
    rest: Vec<(&'v [u8], Raw<'v>)>,
}

/// A piece of a tool call.
struct Piece<'v> {
    wire_index: Option<u64>,
    id: Option<Text>,
    function: Option<Raw<'v>>,
    proof: Option<Sealed>,
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
        if data == b"[DONE]" {
            self.start(&Parts::default(), &Bytes::new(), out);
            self.tell_stop(out)?;
            self.ended = true;
            out.push(Event::End);
            return Ok(());
        }
        let owner = Bytes::copy_from_slice(data);
        let root = Raw::parse(&owner).map_err(|error| format!("an event that is not JSON: {error}"))?;
        let parts = Parts::of(root);
        if parts.is_error(event.name) {
            self.failed = true;
            out.push(Event::Fault(fault::decode_event(data)));
            return Ok(());
        }
        self.chunk(&parts, &owner, out)
    }

    fn ended(&self) -> bool {
        self.ended
    }
}

impl Reader {
    fn chunk(&mut self, parts: &Parts<'_>, owner: &Bytes, out: &mut Vec<Event>) -> Result<(), String> {
        let choice = parts.choices.and_then(Choice::first);
        let usage = parts.usage.and_then(usage::decode);
        if choice.is_some() || usage.is_some() {
            self.start(parts, owner, out);
        }
        if let Some(choice) = choice {
            if let Some(delta) = choice.delta {
                self.delta(delta, owner, out)?;
            }
            if let Some(list) = choice.logprobs.map(|list| logprobs::read(list, owner))
                && !list.is_empty()
                && !self.told_stop
            {
                out.push(Event::Logprobs(list));
            }
            self.keep_stop(&choice, owner);
        } else if parts.choices.is_some() && self.stop.is_some() {
            self.tell_stop(out)?;
        }
        out.extend(usage.map(Event::Usage));
        Ok(())
    }

    fn start(&mut self, parts: &Parts<'_>, owner: &Bytes, out: &mut Vec<Event>) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        let text = |value: Option<Raw<'_>>| value.and_then(|value| value.text(owner)).unwrap_or_default();
        self.id = text(parts.id);
        let created = parts.created.and_then(Raw::u64);
        out.push(Event::Start { id: self.id.clone(), model: text(parts.model), created });
    }

    fn keep_stop(&mut self, choice: &Choice<'_>, owner: &Bytes) {
        let reason = choice.finish_reason.and_then(|reason| reason.text(owner));
        if let Some(reason) = reason.filter(|reason| !reason.is_empty())
            && self.stop.is_none()
        {
            // vLLM names the stop text.
            let sequence = choice.stop_reason.and_then(|sequence| sequence.text(owner));
            self.stop = Some((reason, sequence));
        }
    }

    fn delta(&mut self, delta: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) -> Result<(), String> {
        let mut parts = read_delta(delta, owner);
        let has_reasoning = parts.reasoning.is_some();
        if let Some(text) = parts.reasoning.take() {
            self.say(Plain::Thinking, text, out)?;
        }
        for block in parts.thinking_blocks.into_iter().flat_map(Raw::elements) {
            let Some(Block { kind, signature, .. }) = thinking_block(block, owner) else { continue };
            // LiteLLM repeats the text of the same delta.
            if has_reasoning && signature.is_none() && matches!(kind, BlockKind::Thinking(_)) {
                continue;
            }
            self.thinking_block(kind, signature, out)?;
        }
        if let Some(content) = parts.content {
            self.content(content, owner, out)?;
        }
        if let Some(text) = parts.refusal.take() {
            self.say(Plain::Refusal, text, out)?;
        }
        if let Some(audio) = parts.audio {
            self.audio(audio, out)?;
        }
        self.beside(&mut parts, owner, out);
        for call in parts.tool_calls.into_iter().flat_map(Raw::elements) {
            let wire_index = call.get("index").and_then(Raw::u64);
            let id = call.get("id").and_then(|id| id.text(owner));
            let function = call.get("function").or_else(|| call.get("custom"));
            let proof = call.get("extra_content").and_then(|extra| proof::find(extra, owner));
            self.call(Piece { wire_index, id, function, proof }, owner, out)?;
        }
        if let Some(function) = parts.function_call {
            let piece = Piece { wire_index: Some(0), id: None, function: Some(function), proof: None };
            self.call(piece, owner, out)?;
        }
        // What is not modelled goes with the block that was said last.
        let last = self.open.map(|(index, _)| index).or_else(|| self.calls.0.last()?.block);
        if let Some(index) = last.filter(|_| self.open.is_some() || self.calls.0.iter().any(|c| !c.closed)) {
            for (key, value) in parts.rest {
                out.push(Event::Delta { index, delta: opaque(key, value) });
            }
        }
        Ok(())
    }

    /// What belongs to the text that is open: where it comes from, and its proof. Of a text that has closed already
    /// nothing more can be said: the sources go with whatever is open.
    fn beside(&mut self, parts: &mut Said<'_>, owner: &Bytes, out: &mut Vec<Event>) {
        let Some((index, Plain::Text)) = self.open else {
            parts.rest.extend(parts.annotations.map(|list| (b"annotations".as_slice(), list)));
            return;
        };
        let begin = self.chars.1;
        for annotation in parts.annotations.into_iter().flat_map(Raw::elements) {
            let citation = annotations::within(annotations::read(annotation, owner), begin);
            out.push(Event::Delta { index, delta: Delta::Citation(citation) });
        }
        if let Some(proof) = parts.proof.take() {
            out.push(Event::Delta { index, delta: Delta::Signature(proof) });
        }
    }

    /// A spoken answer, in pieces that only this dialect can put together.
    fn audio(&mut self, audio: Raw<'_>, out: &mut Vec<Event>) -> Result<(), String> {
        let index = self.open_plain(Plain::Audio, out)?;
        out.push(Event::Delta { index, delta: opaque(b"audio", audio) });
        Ok(())
    }

    /// A string; some providers stream parts.
    fn content(&mut self, content: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) -> Result<(), String> {
        if let Some(text) = content.text(owner) {
            return self.say(Plain::Text, text, out);
        }
        for part in content.elements() {
            if let Some(text) = part.get("text").and_then(|text| text.text(owner)) {
                self.say(Plain::Text, text, out)?;
            }
            // Mistral's reasoning.
            for piece in part.get("thinking").into_iter().flat_map(Raw::elements) {
                if let Some(text) = piece.get("text").and_then(|text| text.text(owner)) {
                    self.say(Plain::Thinking, text, out)?;
                }
            }
        }
        Ok(())
    }

    /// Text of a block that is open, or opens with it.
    fn say(&mut self, kind: Plain, text: Text, out: &mut Vec<Event>) -> Result<(), String> {
        if text.is_empty() {
            return Ok(());
        }
        let index = self.open_plain(kind, out)?;
        let delta = match kind {
            Plain::Thinking => Delta::Thinking(text),
            Plain::Text => {
                self.chars.0 += text.chars();
                Delta::Text(text)
            }
            Plain::Refusal | Plain::Audio => Delta::Text(text),
        };
        out.push(Event::Delta { index, delta });
        Ok(())
    }

    fn open_plain(&mut self, kind: Plain, out: &mut Vec<Event>) -> Result<u32, String> {
        if let Some((index, open)) = self.open
            && open == kind
        {
            return Ok(index);
        }
        let index = self.begin(None, out)?;
        self.open = Some((index, kind));
        self.refused |= kind == Plain::Refusal;
        self.chars.1 = self.chars.0;
        let block = match kind {
            Plain::Text => BlockStart::Text,
            Plain::Thinking => BlockStart::Thinking,
            Plain::Refusal => BlockStart::Refusal,
            Plain::Audio => BlockStart::Opaque { dialect: SELF, json: Json::fixed(r#"{"type":"audio"}"#) },
        };
        out.push(Event::BlockStart { index, block });
        Ok(index)
    }

    /// Signed reasoning in whole blocks, as we write it, or in pieces, as LiteLLM does. With the signature comes the
    /// text again, or none.
    fn thinking_block(
        &mut self,
        kind: BlockKind,
        signature: Option<Sealed>,
        out: &mut Vec<Event>,
    ) -> Result<(), String> {
        match (kind, signature) {
            (BlockKind::RedactedThinking(sealed), _) => {
                let index = self.begin(None, out)?;
                out.push(Event::BlockStart { index, block: BlockStart::RedactedThinking(sealed) });
                out.push(Event::BlockStop { index });
            }
            (BlockKind::Thinking(text), None) => self.say(Plain::Thinking, text, out)?,
            (BlockKind::Thinking(text), Some(signature)) => {
                if !matches!(self.open, Some((_, Plain::Thinking))) {
                    self.say(Plain::Thinking, text, out)?;
                }
                let index = self.open_plain(Plain::Thinking, out)?;
                out.push(Event::Delta { index, delta: Delta::Signature(signature) });
                self.close_plain(out);
            }
            _ => {}
        }
        Ok(())
    }

    fn call(&mut self, piece: Piece<'_>, owner: &Bytes, out: &mut Vec<Event>) -> Result<(), String> {
        let function = piece.function;
        let name = function.and_then(|function| function.get("name")).and_then(|name| name.text(owner));
        let position = self.calls.find(piece.wire_index, piece.id.as_ref(), name.as_ref())?;
        let arguments = function.and_then(|function| match function.get("arguments") {
            Some(arguments) if arguments.kind() == Kind::Object => {
                Some(Text::new(&String::from_utf8_lossy(arguments.bytes())))
            }
            Some(arguments) => arguments.text(owner),
            None => function.get("input").and_then(|input| input.text(owner)),
        });
        let arguments = arguments.filter(|arguments| !arguments.is_empty());
        let Some(call) = self.calls.0.get_mut(position) else { return Ok(()) };
        if let (true, Some(name)) = (call.name.is_empty(), name) {
            call.name = name;
        }
        if let Some(proof) = piece.proof {
            match call.block {
                None => call.proof = Some(proof),
                Some(index) if !call.closed => {
                    out.push(Event::Delta { index, delta: Delta::Signature(proof) });
                }
                Some(_) => {}
            }
        }
        if call.block.is_none() {
            if call.name.is_empty() {
                return arguments.map_or(Ok(()), |text| call.wait(text));
            }
            self.open_call(position, out)?;
        }
        arguments.map_or(Ok(()), |text| self.arguments(position, text, out))
    }

    fn open_call(&mut self, position: usize, out: &mut Vec<Event>) -> Result<(), String> {
        let index = self.begin(Some(position), out)?;
        let Some(call) = self.calls.0.get_mut(position) else { return Ok(()) };
        if call.id.is_empty() {
            call.id = Text::new(&format!("call_{}_{position}", self.id.plain()));
        }
        call.block = Some(index);
        let block = BlockStart::ToolUse { id: call.id.clone(), name: call.name.clone() };
        out.push(Event::BlockStart { index, block });
        out.extend(call.proof.take().map(|proof| Event::Delta { index, delta: Delta::Signature(proof) }));
        for text in std::mem::take(&mut call.waiting) {
            self.arguments(position, text, out)?;
        }
        Ok(())
    }

    fn arguments(&mut self, position: usize, text: Text, out: &mut Vec<Event>) -> Result<(), String> {
        let Some(call) = self.calls.0.get_mut(position) else { return Ok(()) };
        let Some(index) = call.block else { return Ok(()) };
        if call.closed {
            return match text.plain().trim().is_empty() {
                true => Ok(()),
                false => Err("arguments for a tool call that was complete".to_owned()),
            };
        }
        call.arguments.feed(&text.plain());
        out.push(Event::Delta { index, delta: Delta::ToolInput(text) });
        Ok(())
    }

    /// Makes room for a new block: what can be closed is closed. `except` is the call that is about to open.
    fn begin(&mut self, except: Option<usize>, out: &mut Vec<Event>) -> Result<u32, String> {
        if self.told_stop {
            return Err("content after the end of the answer".to_owned());
        }
        self.close_plain(out);
        for (position, call) in self.calls.0.iter_mut().enumerate() {
            if let Some(index) = call.block
                && Some(position) != except
                && !call.closed
                && call.arguments.complete()
            {
                call.closed = true;
                out.push(Event::BlockStop { index });
            }
        }
        let index = self.next;
        self.next += 1;
        Ok(index)
    }

    fn close_plain(&mut self, out: &mut Vec<Event>) {
        if let Some((index, _)) = self.open.take() {
            out.push(Event::BlockStop { index });
        }
    }

    /// Closes all blocks and says why the answer ended, once.
    fn tell_stop(&mut self, out: &mut Vec<Event>) -> Result<(), String> {
        if self.told_stop {
            return Ok(());
        }
        if self.calls.0.iter().any(|call| call.block.is_none()) {
            return Err("a tool call without a name".to_owned());
        }
        self.close_plain(out);
        for call in self.calls.0.iter_mut().filter(|call| !call.closed) {
            call.closed = true;
            out.extend(call.block.map(|index| Event::BlockStop { index }));
        }
        self.told_stop = true;
        let Some((reason, sequence)) = self.stop.take() else { return Ok(()) };
        let (id, name, input) = (Text::default(), Text::default(), Text::default());
        let called = (!self.calls.0.is_empty()).then_some(BlockKind::ToolUse { id, name, input });
        let refused = self.refused.then(|| BlockKind::Refusal(Text::default()));
        let mut reason = stop_reason(reason, called.iter().chain(&refused));
        if reason == crate::ir::StopReason::EndTurn && sequence.is_some() {
            reason = crate::ir::StopReason::StopSequence;
        }
        out.push(Event::Stop { reason, sequence });
        Ok(())
    }
}

/// A member of a delta that goes on as it is.
fn opaque(key: &[u8], value: Raw<'_>) -> Delta {
    let json = [b"{\"", key, b"\":", value.bytes(), b"}"].concat();
    Delta::Opaque { dialect: SELF, json: Json::from_valid(json.into()) }
}

fn read_delta<'v>(delta: Raw<'v>, owner: &Bytes) -> Said<'v> {
    let mut parts = Said::default();
    for member in delta.members().filter(|member| !member.value.is_null()) {
        let value = member.value;
        match &*unescape(member.key) {
            "role" => {}
            "content" => parts.content = Some(value),
            "refusal" => parts.refusal = value.text(owner),
            "reasoning_content" => parts.reasoning = value.text(owner),
            "reasoning" if value.kind() == Kind::String => {
                parts.reasoning = parts.reasoning.or_else(|| value.text(owner));
            }
            "thinking_blocks" => parts.thinking_blocks = Some(value),
            "tool_calls" => parts.tool_calls = Some(value),
            "function_call" => parts.function_call = Some(value),
            "extra_content" => parts.proof = proof::find(value, owner),
            _ if matches!(value.bytes(), b"[]" | b"{}" | b"\"\"") => {}
            "audio" => parts.audio = Some(value),
            "annotations" => parts.annotations = Some(value),
            _ => parts.rest.push((member.key, value)),
        }
    }
    parts
}
