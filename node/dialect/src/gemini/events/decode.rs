//! Reads a streamed answer.
//!
//! A text or a thought goes on until something else begins, or a signature closes it; all other parts come whole.
//! The stream has no end of its own: it ends with the event that has the `finishReason`, and nothing behind that is
//! read. Usage stands in that event, as the vendor sends it with each.

use super::glance::is_error;
use crate::{
    DecodeEvents, Dialect, frame,
    gemini::{
        error,
        part::{Calls, read_part},
        response::{Held, decode_stop, is_finished, read_grounding, read_logprobs},
        usage,
    },
    ir::{Block, BlockKind, BlockStart, Citation, Delta, Event, Sealed, StopReason, Text, Usage},
    json::Raw,
    read::ROOT,
};
use bytes::Bytes;

const SELF: Dialect = Dialect::Gemini;

/// Longest text whose sources can be placed in it, in bytes.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Most sources of one answer.
const CITED_MAX: usize = 1024;

/// The kinds of blocks that go on over several events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plain {
    Text,
    Thinking,
}

/// Reads a stream.
#[derive(Debug, Default)]
pub(in crate::gemini) struct Reader {
    started: bool,
    next: u32,
    open: Option<(u32, Plain)>,
    calls: Calls,
    held: Held,
    usage: Usage,
    /// The text of the open block, for the places of its sources.
    text: String,
    /// Sources that were told: the vendor may repeat them.
    cited: Vec<Citation>,
    failed: bool,
    ended: bool,
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
        let owner = Bytes::copy_from_slice(data);
        let root = Raw::parse(&owner).map_err(|error| format!("an event that is not JSON: {error}"))?;
        if is_error(root) {
            self.failed = true;
            out.push(Event::Fault(error::decode_event(data)));
            return Ok(());
        }
        let mut candidates = root.get("candidates").into_iter().flat_map(Raw::elements);
        let first =
            candidates.find(|candidate| candidate.get("index").is_none_or(|index| index.u64() == Some(0)));
        let blocked = root.get("promptFeedback").and_then(|feedback| feedback.get("blockReason"));
        let usage = root.get("usageMetadata").and_then(usage::decode);
        if first.is_some() || blocked.is_some() || usage.is_some() {
            self.start(root, &owner, out);
        }
        let reason = match (first, blocked) {
            (Some(candidate), _) => self.candidate(candidate, &owner, out)?,
            (None, Some(_)) => Some(StopReason::ContentFilter),
            (None, None) => None,
        };
        if let Some(usage) = usage {
            self.usage = self.usage.merge(usage);
            out.push(Event::Usage(self.usage));
        }
        if let Some(reason) = reason {
            self.close(out);
            out.extend([Event::Stop { reason, sequence: None }, Event::End]);
            self.ended = true;
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
        let text = |name| root.get(name).and_then(|value: Raw<'_>| value.text(owner)).unwrap_or_default();
        let id = text("responseId");
        self.calls = Calls::of_answer(&id);
        out.push(Event::Start { id, model: text("modelVersion"), created: None });
    }

    /// More of the answer, and the reason if it ends with this.
    fn candidate(
        &mut self,
        candidate: Raw<'_>,
        owner: &Bytes,
        out: &mut Vec<Event>,
    ) -> Result<Option<StopReason>, String> {
        let parts = candidate.get("content").and_then(|content| content.get("parts"));
        let path = ROOT.member("parts");
        for (i, part) in parts.into_iter().flat_map(Raw::elements).enumerate() {
            let block = read_part(part, &path.element(i), owner, &mut self.calls);
            if let Some(block) = block.map_err(|refusal| refusal.message.into_owned())? {
                self.block(block, part, owner, out);
            }
        }
        let logprobs = candidate.get("logprobsResult").map(|result| read_logprobs(result, owner));
        out.extend(logprobs.filter(|tokens| !tokens.is_empty()).map(Event::Logprobs));
        self.cite(candidate, owner, out);
        let reason = candidate.get("finishReason").filter(|reason| is_finished(*reason));
        Ok(reason.and_then(|reason| reason.text(owner)).map(|reason| decode_stop(reason, self.held)))
    }

    fn block(&mut self, block: Block, part: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) {
        let signature = block.signature;
        match block.kind {
            BlockKind::Text(text) => self.say(Plain::Text, text, signature, out),
            BlockKind::Thinking(text) => self.say(Plain::Thinking, text, signature, out),
            BlockKind::RedactedThinking(sealed) => {
                self.whole(BlockStart::RedactedThinking(sealed), Vec::new(), out);
            }
            BlockKind::ToolUse { id, name, input } => {
                self.held.calls += 1;
                let input = (!input.is("{}")).then_some(Delta::ToolInput(input));
                let deltas = input.into_iter().chain(signature.map(Delta::Signature)).collect();
                self.whole(BlockStart::ToolUse { id, name }, deltas, out);
            }
            // Pictures, sound, and code that the vendor ran.
            _ => self.whole(BlockStart::Opaque { dialect: SELF, json: part.json(owner) }, Vec::new(), out),
        }
    }

    /// Text of a block that is open, or opens with it. A signature is that of the whole block, and closes it.
    fn say(&mut self, kind: Plain, text: Text, signature: Option<Sealed>, out: &mut Vec<Event>) {
        if text.is_empty() && signature.is_none() {
            return;
        }
        let index = match self.open {
            Some((index, open)) if open == kind => index,
            _ => {
                let (index, block) = match kind {
                    Plain::Text => (self.begin(out), BlockStart::Text),
                    Plain::Thinking => (self.begin(out), BlockStart::Thinking),
                };
                self.open = Some((index, kind));
                out.push(Event::BlockStart { index, block });
                index
            }
        };
        if !text.is_empty() {
            if kind == Plain::Text && self.text.len() <= TEXT_BYTES_MAX {
                self.text.push_str(&text.plain());
            }
            let delta = match kind {
                Plain::Text => Delta::Text(text),
                Plain::Thinking => Delta::Thinking(text),
            };
            out.push(Event::Delta { index, delta });
        }
        if let Some(signature) = signature {
            out.push(Event::Delta { index, delta: Delta::Signature(signature) });
            self.close(out);
        }
    }

    fn whole(&mut self, block: BlockStart, deltas: Vec<Delta>, out: &mut Vec<Event>) {
        let index = self.begin(out);
        out.push(Event::BlockStart { index, block });
        out.extend(deltas.into_iter().map(|delta| Event::Delta { index, delta }));
        out.push(Event::BlockStop { index });
    }

    /// The index of a new block; the open one closes.
    fn begin(&mut self, out: &mut Vec<Event>) -> u32 {
        self.close(out);
        let index = self.next;
        self.next += 1;
        index
    }

    fn close(&mut self, out: &mut Vec<Event>) {
        if let Some((index, _)) = self.open.take() {
            self.text.clear();
            out.push(Event::BlockStop { index });
        }
    }

    /// Sources of the text that is open: they come with its last piece.
    fn cite(&mut self, candidate: Raw<'_>, owner: &Bytes, out: &mut Vec<Event>) {
        let Some((index, Plain::Text)) = self.open else { return };
        let text = &self.text;
        let sources =
            read_grounding(candidate, owner, &|_| (text.len() <= TEXT_BYTES_MAX).then_some(&**text));
        for source in sources {
            if self.cited.len() < CITED_MAX && !self.cited.contains(&source.citation) {
                self.cited.push(source.citation.clone());
                out.push(Event::Delta { index, delta: Delta::Citation(source.citation) });
            }
        }
    }
}
