//! Writes a streamed answer: one state machine, whatever the events.
//!
//! On the wire one block is open at a time (`in_turn.rs`); what is lost of blocks that come interleaved is named as dropped.
//!
//! The proof of a call has its only place in the event that opens the block, so that event waits for the next one of
//! its block: decoders tell a proof right behind the opening.

use super::frame;
use crate::{
    Dialect, EncodeEvents, StreamContext, dropped,
    in_turn::{InTurn, Step},
    ir::{BlockStart, Citation, Delta, Event, Sealed, StopReason, Text, Usage},
};

const SELF: Dialect = Dialect::AnthropicMessages;

/// A comment and one line end, before the first event, where clients take no `ping`.
const KEEP_ALIVE: &[u8] = b": keep-alive\n";

/// Writes a stream.
pub(in crate::anthropic_messages) struct Writer {
    context: StreamContext,
    progress: Progress,
    order: InTurn,
    blocks: Blocks,
    stop: Option<(StopReason, Option<Text>)>,
    usage: Usage,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Nothing,
    Started,
    Ended,
}

/// The blocks on the wire.
#[derive(Default)]
struct Blocks {
    /// The index of the next one.
    next: u32,
    open: Option<Open>,
    /// The opening of the open block, if it is a call and nothing has followed yet.
    held: Option<BlockStart>,
    /// There was a call.
    called: bool,
}

/// The block that is open.
#[derive(Clone, Copy)]
struct Open {
    /// The index on the wire; `None` for a block that cannot be expressed.
    wire: Option<u32>,
    takes: Takes,
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
            order: InTurn::default(),
            blocks: Blocks::default(),
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
            Event::BlockStart { .. } | Event::Delta { .. } | Event::BlockStop { .. } => {
                if matches!(event, Event::BlockStart { .. }) {
                    self.start((&Text::default(), &Text::default()), out);
                }
                let Self { order, blocks, .. } = self;
                order.take(event, &mut |step| blocks.write(step, out, dropped));
            }
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

    fn end(&mut self, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let none = Text::default();
        self.start((&none, &none), out);
        let Self { order, blocks, .. } = self;
        order.finish(&mut |step| blocks.write(step, out, dropped));
        let plain = if blocks.called { StopReason::ToolUse } else { StopReason::EndTurn };
        let (reason, sequence) = self.stop.take().unwrap_or((plain, None));
        frame::message_delta(out, (&reason, sequence.as_ref()), &self.usage, dropped);
        frame::event(out, "message_stop", |_| {});
        self.progress = Progress::Ended;
    }
}

impl Blocks {
    fn write(&mut self, step: Step<'_>, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        match step {
            Step::Open(block) => self.open(block, out, dropped),
            Step::Delta(delta) => self.delta(delta, out, dropped),
            Step::Close => self.close(out),
            Step::Lost => dropped::note(dropped, "content[]"),
        }
    }

    fn open(&mut self, block: &BlockStart, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let takes = match block {
            BlockStart::Text | BlockStart::Refusal => Takes::Text,
            BlockStart::Thinking => Takes::Thinking,
            BlockStart::ToolUse { .. } => Takes::Input,
            BlockStart::RedactedThinking(_) => Takes::Nothing,
            BlockStart::Opaque { dialect, json } if *dialect != SELF => {
                dropped::note(dropped, format!("choices[].delta.{}", json.type_name()));
                self.open = Some(Open { wire: None, takes: Takes::Nothing });
                return;
            }
            BlockStart::Opaque { .. } => Takes::Opaque,
        };
        if takes == Takes::Input {
            self.called = true;
            self.held = Some(block.clone());
        } else {
            frame::block_start(out, self.next, block, None);
        }
        self.open = Some(Open { wire: Some(self.next), takes });
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
    fn delta(&mut self, delta: &Delta, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let Some(Open { wire: Some(wire), takes }) = self.open else { return };
        let proof = match delta {
            Delta::Signature(sealed) if takes == Takes::Input => Some(sealed),
            _ => None,
        };
        if !self.release(wire, proof, out) || proof.is_none() {
            write_delta((wire, takes), delta, out, dropped);
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
