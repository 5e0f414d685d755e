//! Reads a streamed answer.

use super::{
    glance::{is_error, kind},
    open::{Blocks, Key},
};
use crate::{
    DecodeEvents, Dialect,
    cohere_chat::{
        citations::{self, Means},
        finish::{self, Finish, Has},
        logprobs, usage,
    },
    fault, frame,
    ir::{BlockStart, Delta, Event, Json, Sealed, Text},
    json::{Kind, Raw},
};
use bytes::Bytes;

const SELF: Dialect = Dialect::CohereChat;

/// Reads a stream.
#[derive(Debug)]
pub(in crate::cohere_chat) struct Reader {
    started: bool,
    id: Text,
    blocks: Blocks,
    calls: u64,
    progress: Progress,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Going,
    Failed,
    Ended,
}

impl Default for Reader {
    fn default() -> Self {
        let (id, blocks) = (Text::default(), Blocks::default());
        Self { started: false, id, blocks, calls: 0, progress: Progress::Going }
    }
}

impl DecodeEvents for Reader {
    fn decode(&mut self, event: &frame::Event<'_>, out: &mut Vec<Event>) -> Result<(), String> {
        let data = event.data.as_deref().unwrap_or_default().trim_ascii();
        if self.progress != Progress::Going {
            return Ok(());
        }
        // Some servers write the end of another dialect; the end of this one is `message-end` alone.
        if data.is_empty() || data == b"[DONE]" {
            out.push(Event::KeepAlive);
            return Ok(());
        }
        let kind = kind(event.name, data);
        let owner = Bytes::copy_from_slice(data);
        let parsed = Raw::parse(&owner);
        if is_error(&kind, data) {
            self.progress = Progress::Failed;
            out.push(Event::Fault(fault::decode_event(data)));
            return Ok(());
        }
        let root = parsed.map_err(|error| format!("an event that is not JSON: {error}"))?;
        match &*kind {
            b"message-start" => self.start(root, &owner, out),
            b"content-start" => self.content_start(root, &owner, out)?,
            b"content-delta" => self.content_delta(root, &owner, out)?,
            b"content-end" => self.blocks.end_content(index(root).unwrap_or(0)),
            b"tool-plan-delta" => self.plan(root, &owner, out)?,
            b"tool-call-start" => self.call_start(root, &owner, out)?,
            b"tool-call-delta" => self.call_delta(root, &owner, out),
            b"tool-call-end" => {
                if let Some(open) = self.blocks.call(index(root)) {
                    open.complete(out);
                }
            }
            b"citation-start" => self.citations(root, &owner, out),
            b"message-end" => self.end(root, &owner, out),
            // `citation-end` says nothing more, `debug` nothing of the answer; new types may come.
            _ => {}
        }
        Ok(())
    }

    fn ended(&self) -> bool {
        self.progress == Progress::Ended
    }
}

impl Reader {
    fn start(&mut self, root: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.started, true) {
            self.id = root.get("id").and_then(|id| id.text(owner)).unwrap_or_default();
            out.push(Event::Start { id: self.id.clone(), model: Text::default(), created: None });
        }
    }

    fn ensure_started(&mut self, out: &mut Vec<Event>) {
        if !std::mem::replace(&mut self.started, true) {
            out.push(Event::Start { id: Text::default(), model: Text::default(), created: None });
        }
    }

    fn open(&mut self, key: Key, block: BlockStart, out: &mut Vec<Event>) -> Result<u32, String> {
        self.ensure_started(out);
        let index = self.blocks.begin(key, out)?;
        out.push(Event::BlockStart { index, block });
        Ok(index)
    }

    fn content_start(&mut self, root: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) -> Result<(), String> {
        let wire = index(root).unwrap_or(0);
        let content = message(root).and_then(|message| message.get("content"));
        let text = |name: &str| content.and_then(|content: Raw<'_>| content.get(name)?.text(owner));
        let kind = content.and_then(|content| content.get("type")?.string());
        let (key, block) = match kind.as_deref() {
            Some("thinking") => match text("redacted") {
                Some(sealed) => (Key::Other(wire), BlockStart::RedactedThinking(Sealed::read(SELF, sealed))),
                None => (Key::Thinking(wire), BlockStart::Thinking),
            },
            Some("text") | None => (Key::Text(wire), BlockStart::Text),
            Some(_) => {
                let json = content.map_or(Json::fixed("{}"), |content| content.json(owner));
                (Key::Other(wire), BlockStart::Opaque { dialect: SELF, json })
            }
        };
        self.open(key, block, out)?;
        if !matches!(key, Key::Other(_)) {
            self.content(wire, content, owner, out)?;
        }
        Ok(())
    }

    fn content_delta(&mut self, root: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) -> Result<(), String> {
        let wire = index(root).unwrap_or(0);
        let content = message(root).and_then(|message| message.get("content"));
        self.content(wire, content, owner, out)?;
        let likelihood = root.get("logprobs").and_then(|item| logprobs::read(item, owner));
        if let Some(likelihood) = likelihood {
            self.ensure_started(out);
            out.push(Event::Logprobs(vec![likelihood]));
        }
        Ok(())
    }

    /// More of a part of the content; one that has not been opened, or is of another kind, opens with it.
    fn content(
        &mut self,
        wire: u64,
        content: Option<Raw<'_>>,
        owner: &Bytes,
        out: &mut Vec<Event>,
    ) -> Result<(), String> {
        let Some(content) = content else { return Ok(()) };
        if let Some(open) = self.blocks.find(|open| open.key == Key::Other(wire) && !open.ended) {
            let delta = Delta::Opaque { dialect: SELF, json: content.json(owner) };
            out.push(Event::Delta { index: open.index, delta });
            return Ok(());
        }
        let text = |name: &str| content.get(name).and_then(|text| text.text(owner));
        let said = |name: &str| text(name).filter(|text| !text.is_empty());
        if let Some(text) = said("thinking") {
            let index = self.open_content(Key::Thinking(wire), BlockStart::Thinking, out)?;
            out.push(Event::Delta { index, delta: Delta::Thinking(text) });
        }
        if let Some(text) = said("text") {
            let index = self.open_content(Key::Text(wire), BlockStart::Text, out)?;
            out.push(Event::Delta { index, delta: Delta::Text(text) });
        }
        if let Some(signature) = said("signature")
            && let Some(open) = self.blocks.find(|open| open.key.is_content(wire))
        {
            let delta = Delta::Signature(Sealed::read(SELF, signature));
            out.push(Event::Delta { index: open.index, delta });
        }
        Ok(())
    }

    fn open_content(&mut self, key: Key, block: BlockStart, out: &mut Vec<Event>) -> Result<u32, String> {
        match self.blocks.find(|open| open.key == key && !open.ended) {
            Some(open) => Ok(open.index),
            None => self.open(key, block, out),
        }
    }

    fn plan(&mut self, root: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) -> Result<(), String> {
        let plan = message(root).and_then(|message| message.get("tool_plan")?.text(owner));
        if let Some(plan) = plan.filter(|plan| !plan.is_empty()) {
            let index = self.open_content(Key::Plan, BlockStart::Thinking, out)?;
            out.push(Event::Delta { index, delta: Delta::Thinking(plan) });
        }
        Ok(())
    }

    fn call_start(&mut self, root: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) -> Result<(), String> {
        let call = call(root).ok_or("a tool call that opens with nothing")?;
        let function = call.get("function");
        let name = function.and_then(|function| function.get("name")?.text(owner));
        let name = name.filter(|name| !name.is_empty()).ok_or("a tool call without a name")?;
        let id = call.get("id").and_then(|id| id.text(owner)).filter(|id| !id.is_empty());
        let id = id.unwrap_or_else(|| Text::new(&format!("call_{}_{}", self.id.plain(), self.calls)));
        self.calls += 1;
        let wire = index(root);
        self.open(Key::Call(wire), BlockStart::ToolUse { id, name }, out)?;
        self.call_delta(root, owner, out);
        Ok(())
    }

    /// Deltas of no open call are left out.
    fn call_delta(&mut self, root: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) {
        let Some(call) = call(root) else { return };
        let Some(open) = self.blocks.call(index(root)) else { return };
        let arguments = call.get("function").and_then(|function| function.get("arguments"));
        match arguments {
            Some(arguments) if arguments.kind() == Kind::Object => {
                open.arguments(Text::new(&String::from_utf8_lossy(arguments.bytes())), out);
            }
            Some(arguments) => open.arguments(arguments.text(owner).unwrap_or_default(), out),
            None => {}
        }
        let signature = call.get("signature").and_then(|signature| signature.text(owner));
        if let Some(signature) = signature {
            let delta = Delta::Signature(Sealed::read(SELF, signature));
            out.push(Event::Delta { index: open.index, delta });
        }
    }

    /// One citation; a list is taken too. A citation of a block that is closed goes on with the one that is open, as
    /// something that only this dialect knows the meaning of.
    fn citations(&mut self, root: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) {
        let Some(value) = message(root).and_then(|message| message.get("citations")) else { return };
        let one = Some(value).filter(|value| value.kind() == Kind::Object);
        for value in one.into_iter().chain(value.elements()) {
            let meant = match citations::means(value) {
                Means::Plan => self.blocks.find(|open| open.key == Key::Plan),
                Means::Content(Some(wire)) => self.blocks.find(|open| open.key.is_content(wire)),
                Means::Content(None) => self.blocks.find(|open| matches!(open.key, Key::Text(_))),
            };
            let (index, delta) = match (meant, self.blocks.find(|_| true)) {
                (Some(open), _) => (open.index, Delta::Citation(citations::read(value, owner))),
                (None, Some(open)) => {
                    let json = [br#"{"citations":"#, value.bytes(), b"}"].concat();
                    (open.index, Delta::Opaque { dialect: SELF, json: Json::from_valid(json.into()) })
                }
                // Of nothing that was said.
                (None, None) => return,
            };
            out.push(Event::Delta { index, delta });
        }
    }

    fn end(&mut self, root: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) {
        self.ensure_started(out);
        let delta = root.get("delta");
        let usage = delta.and_then(|delta| delta.get("usage")).and_then(usage::decode);
        out.extend(usage.map(Event::Usage));
        let reason = delta.and_then(|delta| delta.get("finish_reason")?.text(owner));
        let finish = finish::decode(reason, if self.calls > 0 { Has::Yes } else { Has::No });
        if let Some(fault) = finish::fault(&finish, delta, owner) {
            self.progress = Progress::Failed;
            out.push(Event::Fault(fault));
        }
        if let Finish::Stop(reason) = finish {
            self.blocks.finish(out);
            out.push(Event::Stop { reason, sequence: None });
            out.push(Event::End);
            self.progress = Progress::Ended;
        }
    }
}

fn index(root: Raw<'_>) -> Option<u64> {
    root.get("index").and_then(Raw::u64)
}

fn message(root: Raw<'_>) -> Option<Raw<'_>> {
    root.get("delta")?.get("message")
}

/// The one call of an event; a list of one is taken too.
fn call(root: Raw<'_>) -> Option<Raw<'_>> {
    let calls = message(root)?.get("tool_calls")?;
    match calls.kind() {
        Kind::Array => calls.elements().next(),
        _ => Some(calls).filter(|calls| calls.kind() == Kind::Object),
    }
}
