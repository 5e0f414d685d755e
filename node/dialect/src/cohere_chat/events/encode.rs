//! Writes a streamed answer: one state machine, whatever the events.
//!
//! On the wire one part is open at a time (see `InTurn`); contents, calls and citations are counted apart. Reasoning is
//! always content: whether it is the plan of a call, only what follows tells.

use super::frame;
use crate::{
    Dialect, EncodeEvents, StreamContext,
    cohere_chat::{
        citations::{self, Said},
        finish::{self, Has},
        logprobs,
    },
    dropped,
    in_turn::{InTurn, Step},
    ir::{BlockStart, Delta, Event, StopReason, Text, TokenLogprob, Usage},
    json::Raw,
};

const SELF: Dialect = Dialect::CohereChat;

/// A comment and one line end: nothing that an older client could take for an empty event.
const KEEP_ALIVE: &[u8] = b": keep-alive\n";

/// Writes a stream.
pub(in crate::cohere_chat) struct Writer {
    request_id: Text,
    progress: Progress,
    order: InTurn,
    parts: Parts,
    stop: Option<StopReason>,
    usage: Option<Usage>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Nothing,
    Started,
    Ended,
}

impl Writer {
    /// Nothing has been written yet.
    pub(in crate::cohere_chat) fn new(context: &StreamContext) -> Self {
        Self {
            request_id: Text::new(&context.request_id),
            progress: Progress::Nothing,
            order: InTurn::default(),
            parts: Parts::default(),
            stop: None,
            usage: None,
        }
    }

    fn start(&mut self, id: &Text, out: &mut Vec<u8>) {
        if self.progress == Progress::Nothing {
            self.progress = Progress::Started;
            frame::message_start(out, if id.is_empty() { &self.request_id } else { id });
        }
    }

    fn end(&mut self, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let parts = &mut self.parts;
        self.order.finish(&mut |step| parts.step(step, out, dropped));
        let plain = if self.parts.calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn };
        let stop = self.stop.take().unwrap_or(plain);
        let refusal = if self.parts.refused.is_some() { Has::Yes } else { Has::No };
        let reason = finish::encode(&stop, refusal, dropped);
        frame::message_end(out, reason, self.usage.as_ref());
        self.progress = Progress::Ended;
    }
}

impl EncodeEvents for Writer {
    /// A `Fault` has no bytes: whoever sees it ends the stream with `encode_failure_event`. The stop reason and the
    /// usage are written with the end, in one event.
    fn encode(&mut self, event: &Event, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        if self.progress == Progress::Ended {
            return;
        }
        match event {
            Event::KeepAlive => return out.extend_from_slice(KEEP_ALIVE),
            Event::Fault(_) => return,
            Event::Usage(usage) => {
                self.usage = Some(*usage);
                return;
            }
            Event::Start { id, .. } => return self.start(id, out),
            _ => self.start(&Text::default(), out),
        }
        match event {
            Event::Stop { reason, sequence } => {
                if sequence.is_some() {
                    dropped::note(dropped, "stop_sequence");
                }
                self.stop.get_or_insert_with(|| reason.clone());
            }
            Event::BlockStart { .. } | Event::Delta { .. } if self.stop.is_some() => {
                dropped::note(dropped, "content[]");
            }
            Event::Logprobs(tokens) => self.parts.logprobs(tokens, out, dropped),
            Event::End => self.end(out, dropped),
            _ => {
                let parts = &mut self.parts;
                self.order.take(event, &mut |step| parts.step(step, out, dropped));
            }
        }
    }
}

/// The parts of the message.
#[derive(Default)]
struct Parts {
    open: Option<Open>,
    contents: u64,
    calls: u64,
    citations: u64,
    refused: Option<()>,
}

/// The part that is open, and its index among its kind.
#[derive(Clone, Copy)]
enum Open {
    /// Characters so far.
    Text(u64, u64),
    Thinking(u64),
    /// A part that takes deltas of its own dialect alone.
    Content(u64),
    Call(u64, Arguments),
    /// A block that cannot be expressed.
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Arguments {
    None,
    Some,
}

impl Parts {
    fn step(&mut self, step: Step<'_>, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        match step {
            Step::Open(block) => self.open(block, out, dropped),
            Step::Delta(delta) => self.delta(delta, out, dropped),
            Step::Close => self.close(out),
            Step::Lost => dropped::note(dropped, "content[]"),
        }
    }

    fn open(&mut self, block: &BlockStart, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let index = self.contents;
        self.open = Some(match block {
            BlockStart::ToolUse { id, name } => {
                frame::call_start(out, self.calls, id, name);
                self.calls += 1;
                Open::Call(self.calls - 1, Arguments::None)
            }
            BlockStart::Opaque { dialect, json } if *dialect != SELF => {
                let kind = json.raw().get("type").and_then(Raw::string).unwrap_or_default();
                dropped::note(dropped, format!("content[].{kind}"));
                Open::Nothing
            }
            _ => {
                frame::content_start(out, index, block);
                self.contents += 1;
                match block {
                    BlockStart::Text => Open::Text(index, 0),
                    BlockStart::Refusal => {
                        self.refused = Some(());
                        Open::Text(index, 0)
                    }
                    BlockStart::Thinking => Open::Thinking(index),
                    _ => Open::Content(index),
                }
            }
        });
    }

    fn delta(&mut self, delta: &Delta, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let Some(open) = &mut self.open else { return };
        match (delta, open) {
            (_, Open::Nothing) => {}
            (Delta::Text(text), Open::Text(index, chars)) => {
                *chars += text.plain().chars().count() as u64;
                frame::content_delta(out, *index, "text", text);
            }
            (Delta::Thinking(text), Open::Thinking(index)) => {
                frame::content_delta(out, *index, "thinking", text);
            }
            (Delta::ToolInput(text), Open::Call(index, arguments)) => {
                *arguments = Arguments::Some;
                frame::call_delta(out, *index, text);
            }
            // Another vendor's seal, in a member that this one does not know.
            (Delta::Signature(sealed), Open::Text(index, _)) => frame::signature(out, *index, "text", sealed),
            (Delta::Signature(sealed), Open::Thinking(index)) => {
                frame::signature(out, *index, "thinking", sealed);
            }
            (Delta::Signature(sealed), Open::Call(index, _)) => frame::call_signature(out, *index, sealed),
            (Delta::Citation(citation), Open::Text(index, chars)) => {
                let (index, said) = (*index, Said::Length(*chars));
                self.citation(out, |out| citations::write(citation, index, &said, out));
            }
            (Delta::Citation(citation), _) if citation.dialect == SELF => {
                self.citation(out, |out| out.json(&citation.json));
            }
            (Delta::Opaque { dialect, json }, open) if *dialect == SELF => {
                match (json.raw().get("citations"), open) {
                    // Of a part that is closed.
                    (Some(citation), _) => self.citation(out, |out| out.raw(citation.bytes())),
                    (None, Open::Content(index)) => {
                        frame::part(out, "content-delta", *index, "content", |out| out.json(json));
                    }
                    (None, _) => dropped::note(dropped, "content[]"),
                }
            }
            (Delta::Citation(_), _) => dropped::note(dropped, "content[].citations"),
            (Delta::Opaque { json, .. }, _) => match json.raw().get("type").and_then(Raw::string) {
                Some(kind) => dropped::note(dropped, format!("content[].{kind}")),
                None => {
                    for member in json.raw().members() {
                        dropped::note(dropped, format!("content[].{}", crate::json::unescape(member.key)));
                    }
                }
            },
            _ => dropped::note(dropped, "content[]"),
        }
    }

    fn citation(&mut self, out: &mut Vec<u8>, write: impl FnOnce(&mut crate::json::Writer)) {
        frame::part(out, "citation-start", self.citations, "citations", write);
        frame::close(out, "citation-end", self.citations);
        self.citations += 1;
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        match self.open.take() {
            Some(Open::Text(index, _) | Open::Thinking(index) | Open::Content(index)) => {
                frame::close(out, "content-end", index);
            }
            Some(Open::Call(index, arguments)) => {
                if arguments == Arguments::None {
                    frame::call_delta(out, index, &Text::fixed("{}"));
                }
                frame::close(out, "tool-call-end", index);
            }
            Some(Open::Nothing) | None => {}
        }
    }

    /// One event for each token, of the content that was written last: an event holds no more.
    fn logprobs(&self, tokens: &[TokenLogprob], out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        for token in tokens {
            frame::likelihood(out, self.contents.saturating_sub(1), |out| {
                logprobs::write(token, out, dropped)
            });
        }
    }
}
