//! Writes a streamed answer: one state machine, whatever the events.
//!
//! The role comes first; each delta goes on at once; a tool call has its id and name in its first chunk and `{}` for
//! arguments if none came; the reason comes once, usage in a chunk of its own for those who asked, `[DONE]` only
//! with the proper end. Signed reasoning streams as `reasoning_content`, and when its block is complete it comes as
//! a whole element of `thinking_blocks`, so that clients which send it back need not put it together.

use super::chunk::Frame;
use crate::{
    Dialect, EncodeEvents, StreamContext, dropped,
    ir::{BlockKind, BlockStart, Delta, Event, Sealed, StopReason, Text, Usage},
    json,
    openai_chat::{
        request::write_thinking_block,
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
    has_refusal: HasRefusal,
    usage: Option<Usage>,
    stopped: bool,
    ended: bool,
}

/// A block that is open.
enum Open {
    Text,
    Refusal,
    Thinking { texts: Vec<Text>, bytes: usize, signature: Option<Sealed> },
    Call { position: u64, has_arguments: HasArguments },
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
            BlockStart::Text => Open::Text,
            BlockStart::Refusal => {
                self.has_refusal = HasRefusal::Yes;
                Open::Refusal
            }
            BlockStart::Thinking => Open::Thinking { texts: Vec::new(), bytes: 0, signature: None },
            BlockStart::RedactedThinking(sealed) => {
                let kind = BlockKind::RedactedThinking(sealed.clone());
                frame.delta(out, |delta| write_block(delta, &kind, None));
                Open::Other
            }
            BlockStart::ToolUse { id, name } => {
                let position = self.calls;
                self.calls += 1;
                frame.delta(out, |delta| {
                    begin_call(delta, position);
                    delta.key("id");
                    delta.text(id);
                    delta.key("type");
                    delta.string("function");
                    delta.key("function");
                    delta.begin_object();
                    delta.key("name");
                    delta.text(name);
                    delta.key("arguments");
                    delta.string("");
                    delta.end_object();
                    end_call(delta);
                });
                Open::Call { position, has_arguments: HasArguments::No }
            }
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
            (Delta::Text(said), Open::Text) => text("content", said, out),
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
            Open::Call { position, has_arguments: HasArguments::No } => {
                write_arguments(frame, position, &Text::fixed("{}"), out);
            }
            Open::Thinking { signature: Some(_), bytes, .. } if bytes > THINKING_BYTES_MAX => {
                dropped::note(dropped, "content[].thinking.signature");
            }
            Open::Thinking { texts, signature: Some(signature), .. } => {
                let kind = BlockKind::Thinking(Text::join(&texts, ""));
                frame.delta(out, |delta| write_block(delta, &kind, Some(&signature)));
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
            frame.finish(out, word);
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

fn write_block(delta: &mut json::Writer, kind: &BlockKind, signature: Option<&Sealed>) {
    delta.key("thinking_blocks");
    delta.begin_array();
    write_thinking_block(delta, kind, signature);
    delta.end_array();
}

fn write_arguments(frame: &Frame, position: u64, arguments: &Text, out: &mut Vec<u8>) {
    frame.delta(out, |delta| {
        begin_call(delta, position);
        delta.key("function");
        delta.begin_object();
        delta.key("arguments");
        delta.text(arguments);
        delta.end_object();
        end_call(delta);
    });
}

fn begin_call(delta: &mut json::Writer, position: u64) {
    delta.key("tool_calls");
    delta.begin_array();
    delta.begin_object();
    delta.key("index");
    delta.u64(position);
}

fn end_call(delta: &mut json::Writer) {
    delta.end_object();
    delta.end_array();
}
