//! Writes a streamed answer: one state machine, whatever the events.
//!
//! Parts have no index: pieces of texts and thoughts go on at once, whichever block they are of. A call comes whole
//! when its block stops, and until then its arguments wait, within a bound. Reason, sources and usage stand in the
//! last event, which only the proper end writes. Each event is one `data:` line with a whole answer in it.

use super::frame::Frame;
use crate::{
    Dialect, EncodeEvents, StreamContext, dropped,
    gemini::{
        part::write_arguments,
        response::{Held, Sources, encode_stop, write_logprobs},
        seal, usage,
    },
    ir::{BlockKind, BlockStart, Citation, Delta, Event, Sealed, StopReason, Text, Usage},
    json::{Raw, Writer as Json},
};

const SELF: Dialect = Dialect::Gemini;
const PARENT: &str = "content[].";

/// Most bytes of arguments that wait, of all open calls.
const WAITING_BYTES_MAX: usize = 4 << 20;

/// An empty line: Google's own clients take any other line that is not `data:` for a piece of an answer.
const KEEP_ALIVE: &[u8] = b"\n";

/// Writes a stream.
pub(in crate::gemini) struct Writer {
    context: StreamContext,
    frame: Option<Frame>,
    open: Vec<(u32, Open)>,
    waiting_bytes: usize,
    held: Held,
    sources: Sources,
    stop: Option<StopReason>,
    usage: Usage,
    ended: bool,
}

/// A block that is open.
enum Open {
    Text,
    Thinking,
    Call {
        id: Text,
        name: Text,
        input: Vec<Text>,
        signature: Option<Sealed>,
    },
    /// A call whose arguments were too long.
    TooLong,
    Other,
}

impl Writer {
    /// Nothing has been written yet.
    pub(in crate::gemini) fn new(context: &StreamContext) -> Self {
        Self {
            context: context.clone(),
            frame: None,
            open: Vec::new(),
            waiting_bytes: 0,
            held: Held::default(),
            sources: Sources::default(),
            stop: None,
            usage: Usage::default(),
            ended: false,
        }
    }
}

impl EncodeEvents for Writer {
    /// A `Fault` has no bytes: whoever sees it ends the stream with `encode_failure_event`.
    fn encode(&mut self, event: &Event, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        if self.ended {
            return;
        }
        match event {
            Event::KeepAlive => out.extend_from_slice(KEEP_ALIVE),
            Event::Fault(_) => {}
            Event::Usage(usage) => self.usage = *usage,
            Event::Start { id, model, .. } => {
                self.frame.get_or_insert_with(|| Frame::new(&self.context, id, model));
            }
            Event::Stop { reason, .. } => {
                self.stop.get_or_insert_with(|| reason.clone());
            }
            Event::BlockStart { .. } | Event::Delta { .. } if self.stop.is_some() => {
                dropped::note(dropped, "content[]");
            }
            Event::BlockStart { index, block } => self.block_start(*index, block, out, dropped),
            Event::Delta { index, delta } => self.delta(*index, delta, out, dropped),
            Event::BlockStop { index } => self.block_stop(*index, out, dropped),
            Event::Logprobs(_) if self.stop.is_some() => dropped::note(dropped, "logprobs"),
            Event::Logprobs(tokens) => {
                let result = |out: &mut Json| {
                    out.key("logprobsResult");
                    write_logprobs(tokens, out);
                };
                self.frame().event(out, |_| {}, result, |_| {});
            }
            Event::End => self.end(out, dropped),
        }
    }
}

impl Writer {
    fn frame(&mut self) -> &Frame {
        let none = Text::default();
        self.frame.get_or_insert_with(|| Frame::new(&self.context, &none, &none))
    }

    fn block_start(&mut self, index: u32, block: &BlockStart, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        if self.open.iter().any(|(known, _)| *known == index) {
            return;
        }
        let open = match block {
            BlockStart::Text => Open::Text,
            BlockStart::Refusal => {
                self.held.refusals += 1;
                Open::Text
            }
            BlockStart::Thinking => Open::Thinking,
            BlockStart::RedactedThinking(sealed) => {
                self.frame().part(out, |part| {
                    part.key("thought");
                    part.bool(true);
                    write_signature(part, sealed);
                });
                Open::Other
            }
            BlockStart::ToolUse { id, name } => {
                self.held.calls += 1;
                let (id, name) = (id.clone(), name.clone());
                Open::Call { id, name, input: Vec::new(), signature: None }
            }
            BlockStart::Opaque { dialect: SELF, json } => {
                self.frame().event(out, |out| out.json(json), |_| {}, |_| {});
                Open::Other
            }
            BlockStart::Opaque { dialect, json } => {
                let kind = BlockKind::Opaque { dialect: *dialect, json: json.clone() };
                dropped::note(dropped, format!("{PARENT}{}", kind.type_name()));
                Open::Other
            }
        };
        self.open.push((index, open));
    }

    fn delta(&mut self, index: u32, delta: &Delta, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let Some((_, open)) = self.open.iter_mut().find(|(known, _)| *known == index) else {
            return dropped::note(dropped, "content[]");
        };
        match (delta, open) {
            (Delta::Text(text), Open::Text) => self.frame().part(out, |part| write_text(part, text)),
            (Delta::Thinking(text), Open::Thinking) => {
                self.frame().part(out, |part| write_thought(part, text));
            }
            (Delta::Signature(sealed), Open::Text) => self.frame().part(out, |part| {
                write_text(part, &Text::default());
                write_signature(part, sealed);
            }),
            (Delta::Signature(sealed), Open::Thinking) => self.frame().part(out, |part| {
                write_thought(part, &Text::default());
                write_signature(part, sealed);
            }),
            (Delta::Signature(sealed), Open::Call { signature, .. }) => *signature = Some(sealed.clone()),
            (Delta::ToolInput(text), Open::Call { input, .. }) => {
                self.waiting_bytes += text.escaped().len();
                input.push(text.clone());
                self.bound(index, dropped);
            }
            (Delta::Citation(citation), Open::Text) => self.cite(citation, dropped),
            (_, Open::TooLong) => {}
            (Delta::Opaque { .. }, Open::Other) => {}
            (Delta::Opaque { json, .. }, _) => match json.raw().get("type").and_then(Raw::string) {
                Some(kind) => dropped::note(dropped, format!("{PARENT}{kind}")),
                None => json.raw().members().for_each(|member| {
                    let name = crate::json::unescape(member.key);
                    dropped::note(dropped, format!("choices[].delta.{name}"));
                }),
            },
            _ => dropped::note(dropped, "content[]"),
        }
    }

    /// Takes out a call that has become too long.
    fn bound(&mut self, index: u32, dropped: &mut Vec<String>) {
        if self.waiting_bytes <= WAITING_BYTES_MAX {
            return;
        }
        dropped::note(dropped, format!("{PARENT}tool_use"));
        for (_, open) in self.open.iter_mut().filter(|(known, _)| *known == index) {
            if let Open::Call { input, .. } = open {
                let bytes: usize = input.iter().map(|text| text.escaped().len()).sum();
                self.waiting_bytes = self.waiting_bytes.saturating_sub(bytes);
                *open = Open::TooLong;
            }
        }
    }

    /// Sources are told at the end, without their places: the text that these count in has gone on.
    fn cite(&mut self, citation: &Citation, dropped: &mut Vec<String>) {
        if citation.span.is_some() {
            dropped::note(dropped, "content[].citations[].span");
        }
        self.sources.add(&Citation { span: None, ..citation.clone() }, 0, "", dropped);
    }

    fn block_stop(&mut self, index: u32, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let Some(at) = self.open.iter().position(|(known, _)| *known == index) else { return };
        let Open::Call { id, name, input, signature } = self.open.remove(at).1 else { return };
        let input = Text::join(&input, "");
        self.waiting_bytes = self.waiting_bytes.saturating_sub(input.escaped().len());
        self.frame().part(out, |part| {
            part.key("functionCall");
            part.begin_object();
            part.key("id");
            part.text(&id);
            part.key("name");
            part.text(&name);
            part.key("args");
            write_arguments(&input, "content[].input", part, dropped);
            part.end_object();
            if let Some(signature) = &signature {
                write_signature(part, signature);
            }
        });
    }

    fn end(&mut self, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        while let Some((index, _)) = self.open.first() {
            self.block_stop(*index, out, dropped);
        }
        let reason = self.stop.take().unwrap_or(StopReason::EndTurn);
        let word = encode_stop(&reason, self.held, dropped);
        let (sources, usage) = (std::mem::take(&mut self.sources), self.usage);
        let last = |out: &mut Json| {
            out.key("finishReason");
            out.text(&word);
            sources.write(&[], &[], out);
        };
        // A part, because some clients look for one in each event.
        let part = |out: &mut Json| {
            out.begin_object();
            write_text(out, &Text::default());
            out.end_object();
        };
        self.frame().event(out, part, last, |out| {
            out.key("usageMetadata");
            usage::encode(&usage, out);
        });
        self.ended = true;
    }
}

fn write_text(part: &mut Json, text: &Text) {
    part.key("text");
    part.text(text);
}

fn write_thought(part: &mut Json, text: &Text) {
    write_text(part, text);
    part.key("thought");
    part.bool(true);
}

fn write_signature(part: &mut Json, sealed: &Sealed) {
    part.key("thoughtSignature");
    part.text(&seal::carried(sealed));
}
