//! Writes a streamed answer: one state machine, whatever the events.
//!
//! On the wire one block is open at a time. Where blocks come interleaved (parallel tool calls of some providers), the
//! one that opened first is written through, and events of later ones wait until it closes; decoders close a block
//! as soon as it is complete, so in all ordinary streams nothing waits. What waits is bounded: at the bound the open
//! block is closed, and what still comes for it is named as dropped.
//!
//! The proof of a call has its only place in the event that opens the block, so that event waits for the next one of
//! its block: decoders tell a proof right behind the opening.

use super::frame;
use crate::{
    Dialect, EncodeEvents, StreamContext, dropped,
    ir::{BlockStart, Citation, Delta, Event, Sealed, StopReason, Text, Usage},
};
use std::collections::VecDeque;

const SELF: Dialect = Dialect::AnthropicMessages;

/// Most bytes of events that wait for an earlier block.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// What an event that waits costs besides its text, about.
const EVENT_BYTES: usize = 64;

/// A comment and one line end, before the first event, where clients take no `ping`.
const KEEP_ALIVE: &[u8] = b": keep-alive\n";

/// Writes a stream.
pub(in crate::anthropic_messages) struct Writer {
    context: StreamContext,
    progress: Progress,
    /// The index of the next block on the wire.
    next: u32,
    open: Option<Open>,
    /// The opening of the open block, if it is a call and nothing has followed yet.
    held: Option<BlockStart>,
    waiting: VecDeque<Waiting>,
    waiting_bytes: usize,
    called: Option<()>,
    stop: Option<(StopReason, Option<Text>)>,
    usage: Usage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Nothing,
    Started,
    Ended,
}

/// The block that is open.
#[derive(Clone, Copy)]
struct Open {
    /// The index in our events.
    index: u32,
    /// The index on the wire; `None` for a block that cannot be expressed.
    wire: Option<u32>,
    takes: Takes,
}

/// A block that waits for its turn.
struct Waiting {
    index: u32,
    block: BlockStart,
    deltas: Vec<Delta>,
    complete: bool,
}

/// Which deltas a block takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Text,
    Thinking,
    Input,
    Opaque,
    Nothing,
}

impl Writer {
    /// Nothing has been written yet.
    pub(in crate::anthropic_messages) fn new(context: &StreamContext) -> Self {
        Self {
            context: context.clone(),
            progress: Progress::Nothing,
            next: 0,
            open: None,
            held: None,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            called: None,
            stop: None,
            usage: Usage::default(),
        }
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
            Event::KeepAlive if self.progress == Progress::Nothing => out.extend_from_slice(KEEP_ALIVE),
            Event::KeepAlive => frame::event(out, "ping", |_| {}),
            Event::Fault(_) => {}
            Event::Usage(usage) => self.usage = *usage,
            Event::Logprobs(_) => dropped::note(dropped, "choices[].logprobs"),
            Event::Start { id, model, .. } => self.start((id, model), out),
            Event::Stop { reason, sequence } => {
                self.stop.get_or_insert_with(|| (reason.clone(), sequence.clone()));
            }
            Event::BlockStart { .. } | Event::Delta { .. } if self.stop.is_some() => {
                dropped::note(dropped, "content[]");
            }
            Event::BlockStart { index, block } => {
                let none = Text::default();
                self.start((&none, &none), out);
                self.block_start(*index, block, out, dropped);
            }
            Event::Delta { index, delta } => self.delta(*index, delta, out, dropped),
            Event::BlockStop { index } => self.block_stop(*index, out, dropped),
            Event::End => self.end(out, dropped),
        }
    }
}

impl Writer {
    fn start(&mut self, names: (&Text, &Text), out: &mut Vec<u8>) {
        if self.progress == Progress::Nothing {
            self.progress = Progress::Started;
            frame::message_start(out, names, &self.usage, &self.context);
        }
    }

    fn block_start(&mut self, index: u32, block: &BlockStart, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let known = self.open.is_some_and(|open| open.index == index)
            || self.waiting.iter().any(|waiting| waiting.index == index);
        if self.open.is_none() {
            self.open_block(index, block, out, dropped);
        } else if !known {
            let (block, deltas) = (block.clone(), Vec::new());
            self.count(EVENT_BYTES);
            self.waiting.push_back(Waiting { index, block, deltas, complete: false });
            self.bound(out, dropped);
        }
    }

    fn delta(&mut self, index: u32, delta: &Delta, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        if let Some(open) = self.open.filter(|open| open.index == index) {
            return self.write_delta(open, delta, out, dropped);
        }
        match self.waiting.iter_mut().find(|waiting| waiting.index == index && !waiting.complete) {
            Some(waiting) => {
                waiting.deltas.push(delta.clone());
                self.count(EVENT_BYTES + size(delta));
                self.bound(out, dropped);
            }
            // Of a block that is closed, or never opened.
            None => dropped::note(dropped, "content[]"),
        }
    }

    fn block_stop(&mut self, index: u32, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        if self.open.is_some_and(|open| open.index == index) {
            self.close(out);
            self.go_on(out, dropped);
        } else if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.index == index) {
            waiting.complete = true;
        }
    }

    fn count(&mut self, bytes: usize) {
        self.waiting_bytes = self.waiting_bytes.saturating_add(bytes);
    }

    /// Closes the open block where too much waits for it.
    fn bound(&mut self, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        if self.waiting_bytes > WAITING_BYTES_MAX {
            dropped::note(dropped, "content[]");
            self.close(out);
            self.go_on(out, dropped);
        }
    }

    /// Writes what has waited, until a block stays open.
    fn go_on(&mut self, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        while self.open.is_none() {
            let Some(waiting) = self.waiting.pop_front() else { break };
            self.open_block(waiting.index, &waiting.block, out, dropped);
            let Some(open) = self.open else { break };
            for delta in &waiting.deltas {
                self.waiting_bytes = self.waiting_bytes.saturating_sub(EVENT_BYTES + size(delta));
                self.write_delta(open, delta, out, dropped);
            }
            self.waiting_bytes = self.waiting_bytes.saturating_sub(EVENT_BYTES);
            if waiting.complete {
                self.close(out);
            }
        }
    }

    fn open_block(&mut self, index: u32, block: &BlockStart, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let takes = match block {
            BlockStart::Text | BlockStart::Refusal => Takes::Text,
            BlockStart::Thinking => Takes::Thinking,
            BlockStart::ToolUse { .. } => Takes::Input,
            BlockStart::RedactedThinking(_) => Takes::Nothing,
            BlockStart::Opaque { dialect, json } if *dialect != SELF => {
                dropped::note(dropped, format!("choices[].delta.{}", json.type_name()));
                self.open = Some(Open { index, wire: None, takes: Takes::Nothing });
                return;
            }
            BlockStart::Opaque { .. } => Takes::Opaque,
        };
        if takes == Takes::Input {
            self.called = Some(());
            self.held = Some(block.clone());
        } else {
            frame::block_start(out, self.next, block, None);
        }
        self.open = Some(Open { index, wire: Some(self.next), takes });
        self.next += 1;
    }

    /// Writes the opening that has waited. True if there was one.
    fn release(&mut self, wire: u32, proof: Option<&Sealed>, out: &mut Vec<u8>) -> bool {
        let held = self.held.take();
        held.is_some_and(|block| {
            frame::block_start(out, wire, &block, proof);
            true
        })
    }

    /// A delta of the open block, if the block takes such.
    fn write_delta(&mut self, open: Open, delta: &Delta, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let Some(wire) = open.wire else { return };
        let proof = match delta {
            Delta::Signature(sealed) if open.takes == Takes::Input => Some(sealed),
            _ => None,
        };
        if !self.release(wire, proof, out) || proof.is_none() {
            write_delta((wire, open.takes), delta, out, dropped);
        }
    }

    fn close(&mut self, out: &mut Vec<u8>) {
        if let Some(wire) = self.open.and_then(|open| open.wire) {
            self.release(wire, None, out);
        }
        if let Some(Open { wire: Some(wire), .. }) = self.open.take() {
            frame::block_stop(out, wire);
        }
    }

    fn end(&mut self, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let none = Text::default();
        self.start((&none, &none), out);
        // Each round closes a block; what waits is bounded.
        while self.open.is_some() || !self.waiting.is_empty() {
            self.close(out);
            self.go_on(out, dropped);
        }
        let plain = if self.called.is_some() { StopReason::ToolUse } else { StopReason::EndTurn };
        let (reason, sequence) = self.stop.take().unwrap_or((plain, None));
        frame::message_delta(out, (&reason, sequence.as_ref()), &self.usage, dropped);
        frame::event(out, "message_stop", |_| {});
        self.progress = Progress::Ended;
    }
}

/// A delta of a block, if the block takes such.
fn write_delta((wire, takes): (u32, Takes), delta: &Delta, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
    let fits = match delta {
        Delta::Text(_) => takes == Takes::Text,
        Delta::Thinking(_) | Delta::Signature(_) => takes == Takes::Thinking,
        Delta::ToolInput(_) => takes == Takes::Input,
        Delta::Citation(Citation { dialect, .. }) => *dialect == SELF && takes == Takes::Text,
        Delta::Opaque { dialect, .. } => *dialect == SELF,
    };
    match delta {
        _ if fits => frame::block_delta(out, wire, delta),
        Delta::Citation(_) => dropped::note(dropped, "content[].citations"),
        Delta::Signature(_) => dropped::note(dropped, "content[].signature"),
        Delta::Opaque { json, .. } => {
            for member in json.raw().members() {
                let name = crate::json::unescape(member.key);
                dropped::note(dropped, format!("choices[].delta.{name}"));
            }
        }
        _ => dropped::note(dropped, "content[]"),
    }
}

fn size(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) | Delta::Thinking(text) | Delta::ToolInput(text) => text.escaped().len(),
        Delta::Signature(sealed) => sealed.data.escaped().len(),
        Delta::Citation(Citation { json, .. }) | Delta::Opaque { json, .. } => json.bytes().len(),
    }
}
