//! Writes a streamed answer: one state machine, whatever the events.
//!
//! Each block is an item, except that texts and refusals in a row are the parts of one message. The wire has room for
//! several open items, so nothing waits: each delta goes on at once. A text stays open until something else begins,
//! because its log probabilities may come behind it. `response.completed` (or `incomplete`) comes only with the
//! proper end and repeats the whole answer; what is kept for that is bounded.

use super::{
    frame::At,
    items::{Items, Kept},
    parts::Said,
};
use crate::{
    Dialect, EncodeEvents, StreamContext, dropped,
    ir::{BlockStart, Delta, Event, StopReason, Text, TokenLogprob, Usage},
    json::Raw,
    openai_responses::{
        output::{Head, State},
        parts::Whole,
        response::{HasRefusal, ending},
    },
};

const SELF: Dialect = Dialect::OpenAiResponses;

/// Most blocks that may be open at once; more are named and left out.
const OPEN_MAX: usize = 1024;

/// A comment and one line end: nothing that an older client could take for an empty event.
const KEEP_ALIVE: &[u8] = b": keep-alive\n";

/// Writes a stream.
pub(in crate::openai_responses) struct Writer {
    context: StreamContext,
    head: Option<Head>,
    items: Items,
    open: Vec<(u32, Open)>,
    /// A text that has come to its end, but has not been closed.
    resting: Option<At>,
    has_refusal: HasRefusal,
    usage: Option<Usage>,
    ending: Option<(&'static str, Option<&'static str>)>,
    ended: bool,
}

/// A block that is open, and its item.
#[derive(Debug, Clone, Copy)]
enum Open {
    Said(At),
    Thought(usize),
    Call(usize),
    /// It was told whole, or cannot be told.
    Other,
}

impl Writer {
    /// Nothing has been written yet.
    pub(in crate::openai_responses) fn new(context: &StreamContext) -> Self {
        Self {
            context: context.clone(),
            head: None,
            items: Items::new(context),
            open: Vec::new(),
            resting: None,
            has_refusal: HasRefusal::No,
            usage: None,
            ending: None,
            ended: false,
        }
    }
}

impl EncodeEvents for Writer {
    /// A `Fault` has no bytes: whoever sees it ends the stream with `encode_failure_event`. Usage is written with the
    /// end.
    fn encode(&mut self, event: &Event, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        if self.ended {
            return;
        }
        match event {
            Event::KeepAlive => out.extend_from_slice(KEEP_ALIVE),
            Event::Fault(_) => {}
            Event::Usage(usage) => self.usage = Some(*usage),
            Event::Start { id, model, created } => self.start(out, id, model, *created),
            _ => {
                let none = Text::default();
                self.start(out, &none, &none, None);
                self.content(event, out, dropped);
            }
        }
    }
}

impl Writer {
    /// Begins the answer, once.
    fn start(&mut self, out: &mut Vec<u8>, id: &Text, model: &Text, created: Option<u64>) {
        if self.head.is_some() {
            return;
        }
        let head = Head::new(&self.context, id, model, created);
        for name in ["response.created", "response.in_progress"] {
            self.items.answer(out, name, &head, State { status: "in_progress", reason: None, usage: None });
        }
        self.head = Some(head);
    }

    fn content(&mut self, event: &Event, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        match event {
            Event::BlockStart { .. } | Event::Delta { .. } | Event::Logprobs(_) if self.ending.is_some() => {
                dropped::note(dropped, "content[]");
            }
            Event::BlockStart { index, block } => self.block_start(*index, block, out, dropped),
            Event::Delta { index, delta } => self.delta(*index, delta, out, dropped),
            Event::BlockStop { index } => self.block_stop(*index, out),
            Event::Logprobs(list) => self.logprobs(list, out, dropped),
            Event::Stop { reason, sequence } => {
                if sequence.is_some() {
                    dropped::note(dropped, "stop_sequence");
                }
                self.stop(reason, out, dropped);
            }
            Event::End => self.end(out, dropped),
            _ => {}
        }
    }

    fn logprobs(&mut self, list: &[TokenLogprob], out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        if !self.items.logprobs(out, list) {
            dropped::note(dropped, "logprobs");
        }
    }

    fn block_start(&mut self, index: u32, block: &BlockStart, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        if self.open.iter().any(|(known, _)| *known == index) {
            return;
        }
        if self.open.len() >= OPEN_MAX {
            return dropped::note(dropped, "content[]");
        }
        let open = match block {
            BlockStart::Text => self.begin_said(Said::Text, out),
            BlockStart::Refusal => {
                self.has_refusal = HasRefusal::Yes;
                self.begin_said(Said::Refusal, out)
            }
            BlockStart::Thinking => {
                self.leave_message(out);
                Open::Thought(self.items.begin_thought(out))
            }
            BlockStart::RedactedThinking(sealed) => {
                self.leave_message(out);
                self.items.redacted(out, sealed);
                Open::Other
            }
            BlockStart::ToolUse { id, name } => {
                self.leave_message(out);
                Open::Call(self.items.begin_call(out, id, name))
            }
            BlockStart::Opaque { dialect, json } if *dialect == SELF && Whole::of(json) == Whole::Item => {
                self.leave_message(out);
                self.items.whole(out, json);
                Open::Other
            }
            BlockStart::Opaque { json, .. } => {
                let kind = json.raw().get("type").and_then(Raw::string).unwrap_or_default();
                dropped::note(dropped, format!("content[].{kind}"));
                Open::Other
            }
        };
        self.open.push((index, open));
    }

    /// Opens a part of the message that is open, or of a new one where a part of the last one is still being told.
    fn begin_said(&mut self, said: Said, out: &mut Vec<u8>) -> Open {
        self.rest(out);
        let telling =
            |item: &usize| self.open.iter().any(|(_, open)| matches!(open, Open::Said(at) if at.0 == *item));
        let item = self.items.last_message().filter(|item| !telling(item));
        let item = item.unwrap_or_else(|| self.items.begin_message(out));
        Open::Said(self.items.begin_part(out, item, said))
    }

    /// Closes the text that has come to its end.
    fn rest(&mut self, out: &mut Vec<u8>) {
        if let Some(at) = self.resting.take() {
            self.items.end_part(out, at);
        }
    }

    /// Closes the last message, unless a part of it is still being told.
    fn leave_message(&mut self, out: &mut Vec<u8>) {
        self.rest(out);
        if let Some(item) = self.items.last_message() {
            self.end_message(item, out);
        }
    }

    fn end_message(&mut self, item: usize, out: &mut Vec<u8>) {
        let telling = self.open.iter().any(|(_, open)| matches!(open, Open::Said(at) if at.0 == item));
        if !telling {
            self.items.end_message(out, item);
        }
    }

    fn delta(&mut self, index: u32, delta: &Delta, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let Some((_, open)) = self.open.iter().find(|(known, _)| *known == index) else {
            return dropped::note(dropped, "content[]");
        };
        match (delta, *open) {
            (Delta::Text(text), Open::Said(at)) => self.items.said(out, at, text),
            (Delta::Thinking(text), Open::Thought(item)) => self.items.thought(out, item, text),
            (Delta::ToolInput(text), Open::Call(item)) => self.items.arguments(out, item, text),
            (Delta::Signature(sealed), Open::Thought(item) | Open::Call(item)) => {
                self.items.proof((item, 0), sealed);
            }
            (Delta::Signature(sealed), Open::Said(at)) => self.items.proof(at, sealed),
            (Delta::Citation(citation), Open::Said(at)) => {
                if !self.items.citation(out, at, citation) {
                    dropped::note(dropped, "content[].citations");
                }
            }
            (Delta::Opaque { json, .. }, Open::Said(_) | Open::Thought(_) | Open::Call(_)) => {
                let kind = json.raw().get("type").and_then(Raw::string);
                let kind = kind.or_else(|| Some(crate::json::unescape(json.raw().members().next()?.key)));
                dropped::note(dropped, format!("content[].{}", kind.unwrap_or_default()));
            }
            (_, Open::Other) => {}
            _ => dropped::note(dropped, "content[]"),
        }
        if self.items.kept() == Kept::Part {
            dropped::note(dropped, "output[]");
        }
    }

    fn block_stop(&mut self, index: u32, out: &mut Vec<u8>) {
        let Some(at) = self.open.iter().position(|(known, _)| *known == index) else { return };
        match self.open.remove(at).1 {
            // More may come for the last message.
            Open::Said(at) if self.items.last_message() == Some(at.0) => {
                self.rest(out);
                self.resting = Some(at);
            }
            Open::Said((item, _)) => self.end_message(item, out),
            Open::Thought(item) => self.items.end_thought(out, item),
            Open::Call(item) => self.items.end_call(out, item),
            Open::Other => {}
        }
    }

    fn stop(&mut self, reason: &StopReason, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        if self.ending.is_some() {
            return;
        }
        while let Some((index, _)) = self.open.first() {
            self.block_stop(*index, out);
        }
        self.leave_message(out);
        self.ending = Some(ending(reason, self.has_refusal, dropped));
    }

    fn end(&mut self, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        self.stop(&StopReason::EndTurn, out, dropped);
        let (status, reason) = self.ending.unwrap_or(("completed", None));
        let name = if status == "completed" { "response.completed" } else { "response.incomplete" };
        if let Some(head) = &self.head {
            self.items.answer(out, name, head, State { status, reason, usage: self.usage.as_ref() });
        }
        self.ended = true;
    }
}
