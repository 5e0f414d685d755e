//! Writes a streamed answer: one state machine, whatever the events.
//!
//! The role comes first; each delta goes on at once; a tool call has its id and name in its first chunk and `{}` for
//! arguments if none came; the reason comes once, usage in a chunk of its own for those who asked, `[DONE]` only
//! with the proper end. Signed reasoning streams as `reasoning_content`, and when its block is complete it comes as
//! a whole element of `thinking_blocks`, so that clients which send it back need not put it together. Its `index`
//! keeps clients that do put chunks together from taking two elements for one.

use super::{chunk::Frame, sources::Sources};
use crate::{
    Dialect, EncodeEvents, StreamContext, dropped,
    ir::{BlockKind, BlockStart, Delta, Event, Sealed, StopReason, Text, TokenLogprob, Usage},
    json,
    openai_chat::{
        logprobs, proof,
        request::{THINKING, write_thinking_fields},
        response::{HasRefusal, finish_reason},
        usage,
    },
};

const SELF: Dialect = Dialect::OpenAiChat;

/// Longest reasoning that is kept to be repeated with its signature, in bytes. Of a longer one the signature is
/// left out and named.
const THINKING_BYTES_MAX: usize = 4 << 20;

/// A comment and one line end: nothing that an older client could take for an empty event.
const KEEP_ALIVE: &[u8] = b": keep-alive\n";

/// Writes a stream.
pub(in crate::openai_chat) struct Writer {
    context: StreamContext,
    frame: Option<Frame>,
    open: Vec<(u32, Open)>,
    calls: u64,
    thoughts: u64,
    sources: Sources,
    has_refusal: HasRefusal,
    usage: Option<Usage>,
    stopped: bool,
    ended: bool,
}

/// A block that is open.
enum Open {
    /// And the character of the content with which it began.
    Text(u64),
    Refusal,
    Thinking {
        texts: Vec<Text>,
        bytes: usize,
        signature: Option<Sealed>,
    },
    Call {
        position: u64,
        has_arguments: HasArguments,
    },
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum HasArguments {
    Yes,
    No,
}

impl Writer {
    /// Nothing has been written yet.
    pub(in crate::openai_chat) fn new(context: &StreamContext) -> Self {
        Self {
            context: context.clone(),
            frame: None,
            open: Vec::new(),
            calls: 0,
            thoughts: 0,
            sources: Sources::default(),
            has_refusal: HasRefusal::No,
            usage: None,
            stopped: false,
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
            Event::Usage(usage) => self.usage = Some(*usage),
            Event::Start { id, model, created } => {
                if self.frame.is_none() {
                    self.start(Frame::new(&self.context, id, model, *created), out);
                }
            }
            _ => {
                if self.frame.is_none() {
                    let none = Text::default();
                    self.start(Frame::new(&self.context, &none, &none, None), out);
                }
                self.content(event, out, dropped);
            }
        }
    }
}

impl Writer {
    fn start(&mut self, frame: Frame, out: &mut Vec<u8>) {
        frame.delta(out, |delta| {
            delta.key("role");
            delta.string("assistant");
            delta.key("content");
            delta.string("");
            delta.key("refusal");
            delta.null();
        });
        self.frame = Some(frame);
    }

    fn content(&mut self, event: &Event, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        match event {
            Event::BlockStart { .. } | Event::Delta { .. } if self.stopped => {
                dropped::note(dropped, "content[]");
            }
            Event::BlockStart { index, block } => self.block_start(*index, block, out, dropped),
            Event::Delta { index, delta } => self.delta(*index, delta, out, dropped),
            Event::BlockStop { index } => self.block_stop(*index, out, dropped),
            Event::Logprobs(list) => self.logprobs(list, out, dropped),
            Event::Stop { reason, .. } => self.stop(reason, out, dropped),
            Event::End => self.end(out, dropped),
            _ => {}
        }
    }

    fn block_start(&mut self, index: u32, block: &BlockStart, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let Some(frame) = &self.frame else { return };
        if self.open.iter().any(|(known, _)| *known == index) {
            return;
        }
        let open = match block {
            BlockStart::Text => Open::Text(self.sources.chars()),
            BlockStart::Refusal => {
                self.has_refusal = HasRefusal::Yes;
                Open::Refusal
            }
            BlockStart::Thinking => Open::Thinking { texts: Vec::new(), bytes: 0, signature: None },
            BlockStart::RedactedThinking(sealed) => {
                let kind = BlockKind::RedactedThinking(sealed.clone());
                write_thought(frame, (self.thoughts, &kind), sealed, out);
                self.thoughts += 1;
                Open::Other
            }
            BlockStart::ToolUse { id, name } => {
                let position = self.calls;
                self.calls += 1;
                write_call(frame, position, out, |call| {
                    call.key("id");
                    call.text(id);
                    call.key("type");
                    call.string("function");
                    call.key("function");
                    call.begin_object();
                    call.key("name");
                    call.text(name);
                    call.key("arguments");
                    call.string("");
                    call.end_object();
                });
                Open::Call { position, has_arguments: HasArguments::No }
            }
            BlockStart::Opaque { dialect: SELF, .. } => Open::Other,
            BlockStart::Opaque { dialect, json } => {
                let kind = BlockKind::Opaque { dialect: *dialect, json: json.clone() };
                dropped::note(dropped, format!("content[].{}", kind.type_name()));
                Open::Other
            }
        };
        self.open.push((index, open));
    }

    fn delta(&mut self, index: u32, delta: &Delta, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let Some(frame) = &self.frame else { return };
        let Some((_, open)) = self.open.iter_mut().find(|(known, _)| *known == index) else {
            return dropped::note(dropped, "content[]");
        };
        let text = |name: &'static str, text: &Text, out: &mut Vec<u8>| {
            frame.delta(out, |delta| {
                delta.key(name);
                delta.text(text);
            });
        };
        match (delta, open) {
            (Delta::Text(said), Open::Text(_)) => {
                self.sources.said(said);
                text("content", said, out);
            }
            (Delta::Text(said), Open::Refusal) => text("refusal", said, out),
            (Delta::Thinking(said), Open::Thinking { texts, bytes, .. }) => {
                text("reasoning_content", said, out);
                *bytes += said.escaped().len();
                if *bytes <= THINKING_BYTES_MAX {
                    texts.push(said.clone());
                }
            }
            (Delta::Signature(said), Open::Thinking { signature, .. }) => {
                *signature = Some(match signature.take() {
                    Some(before) => Sealed { data: Text::join([&before.data, &said.data], ""), ..before },
                    None => said.clone(),
                });
            }
            (Delta::Signature(said), Open::Text(_)) => self.sources.prove(said, dropped),
            (Delta::Signature(said), Open::Call { position, .. }) => {
                if let Some(proof) = proof::own(Some(said), "content[].", dropped) {
                    write_call(frame, *position, out, |call| {
                        // OpenAI's client for Python asserts that each piece has this.
                        call.key("function");
                        call.raw(br#"{"arguments":""}"#);
                        proof::write(proof, call);
                    });
                }
            }
            (Delta::Citation(said), Open::Text(begin)) => self.sources.cite(said, *begin, dropped),
            (Delta::Citation(_), _) => dropped::note(dropped, "content[].citations"),
            (Delta::ToolInput(said), Open::Call { position, has_arguments }) => {
                *has_arguments = HasArguments::Yes;
                write_arguments(frame, *position, said, out);
            }
            (Delta::Opaque { dialect, json }, _) if *dialect == SELF => frame.delta(out, |delta| {
                for member in json.raw().members() {
                    delta.key_escaped(member.key);
                    delta.raw(member.value.bytes());
                }
            }),
            (Delta::Opaque { json, .. }, open) => {
                if !matches!(open, Open::Other) {
                    let kind = json.raw().get("type").and_then(json::Raw::string).unwrap_or_default();
                    dropped::note(dropped, format!("content[].{kind}"));
                }
            }
            _ => dropped::note(dropped, "content[]"),
        }
    }

    fn block_stop(&mut self, index: u32, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let Some(frame) = &self.frame else { return };
        let Some(at) = self.open.iter().position(|(known, _)| *known == index) else { return };
        match self.open.remove(at).1 {
            Open::Text(_) => self.sources.close_block(),
            Open::Call { position, has_arguments: HasArguments::No } => {
                write_arguments(frame, position, &Text::fixed("{}"), out);
            }
            Open::Thinking { signature: Some(_), bytes, .. } if bytes > THINKING_BYTES_MAX => {
                dropped::note(dropped, "content[].thinking.signature");
            }
            Open::Thinking { texts, signature: Some(signature), .. } => {
                let kind = BlockKind::Thinking(Text::join(&texts, ""));
                write_thought(frame, (self.thoughts, &kind), &signature, out);
                self.thoughts += 1;
            }
            _ => {}
        }
    }

    fn stop(&mut self, reason: &StopReason, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        if std::mem::replace(&mut self.stopped, true) {
            return;
        }
        while let Some((index, _)) = self.open.first() {
            self.block_stop(*index, out, dropped);
        }
        let word = finish_reason(reason, self.has_refusal, dropped);
        if let Some(frame) = &self.frame {
            if !self.sources.is_empty() {
                frame.delta(out, |delta| self.sources.write(delta));
            }
            frame.finish(out, word);
        }
    }

    /// In a chunk of its own: the deltas that it belongs to have gone on already.
    fn logprobs(&mut self, list: &[TokenLogprob], out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        if self.stopped {
            return dropped::note(dropped, "choices[].logprobs");
        }
        let only_refusal = if self.sources.chars() == 0 { self.has_refusal } else { HasRefusal::No };
        if let Some(frame) = &self.frame {
            frame.logprobs(out, |out| logprobs::write(list, only_refusal, out));
        }
    }

    fn end(&mut self, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let reason = if self.calls > 0 { StopReason::ToolUse } else { StopReason::EndTurn };
        self.stop(&reason, out, dropped);
        if let (Some(frame), Some(usage), true) = (&self.frame, &self.usage, self.context.include_usage) {
            frame.usage(out, |out| usage::encode(usage, out));
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
        self.ended = true;
    }
}

/// A complete thought, the so-manieth of the answer, with what is sealed in it.
fn write_thought(frame: &Frame, (index, kind): (u64, &BlockKind), sealed: &Sealed, out: &mut Vec<u8>) {
    frame.delta(out, |delta| {
        delta.key("thinking_blocks");
        delta.begin_array();
        delta.begin_object();
        delta.key("index");
        delta.u64(index);
        write_thinking_fields(kind, Some(&sealed.carried(THINKING)), delta);
        delta.end_object();
        delta.end_array();
    });
}

fn write_arguments(frame: &Frame, position: u64, arguments: &Text, out: &mut Vec<u8>) {
    write_call(frame, position, out, |call| {
        call.key("function");
        call.begin_object();
        call.key("arguments");
        call.text(arguments);
        call.end_object();
    });
}

/// A piece of a call.
fn write_call(frame: &Frame, position: u64, out: &mut Vec<u8>, write: impl FnOnce(&mut json::Writer)) {
    frame.delta(out, |delta| {
        delta.key("tool_calls");
        delta.begin_array();
        delta.begin_object();
        delta.key("index");
        delta.u64(position);
        write(delta);
        delta.end_object();
        delta.end_array();
    });
}
