//! Writes a streamed answer: one state machine, whatever the events.
//!
//! Only calls open with an event of their own; a text begins with its first delta, so one that stays empty is not
//! written. Every message has an index, but clients gather one block at a time, and so one is open at a time.

use super::{super::citations, frames};
use crate::{
    Dialect, EncodeEvents, dropped,
    in_turn::{InTurn, Step},
    ir::{BlockStart, Delta, Event, StopReason, Text, Usage},
    json::unescape,
};

const SELF: Dialect = Dialect::BedrockConverse;

/// Writes a stream.
#[derive(Debug, Default)]
pub(in crate::bedrock_converse) struct Writer {
    progress: Progress,
    order: InTurn,
    wire: Wire,
    usage: Usage,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    #[default]
    Nothing,
    Started,
    Stopped,
    Ended,
}

/// The blocks on the wire.
#[derive(Debug, Default)]
struct Wire {
    next: u32,
    open: Option<Open>,
    called: bool,
}

/// The block that is open.
#[derive(Debug, Clone, Copy)]
struct Open {
    takes: Takes,
    begun: bool,
}

/// Which deltas a block takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Text,
    Thinking,
    Input,
    Opaque,
    /// A complete block.
    Nothing,
    /// A block that cannot be expressed; it is named.
    Unexpressible,
}

impl EncodeEvents for Writer {
    /// A `Fault` has no bytes: whoever sees it ends the stream with `encode_failure_event`. A `KeepAlive` has none
    /// either, as the wire knows neither comments nor empty events.
    fn encode(&mut self, event: &Event, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        if self.progress == Progress::Ended {
            return;
        }
        let stopped = self.progress == Progress::Stopped;
        match event {
            Event::KeepAlive | Event::Fault(_) => {}
            Event::Usage(usage) => self.usage = *usage,
            Event::Logprobs(_) => dropped::note(dropped, "logprobs"),
            Event::Start { .. } => self.start(out),
            Event::Stop { reason, sequence } => self.stop((reason, sequence.as_ref()), out, dropped),
            Event::BlockStart { .. } | Event::Delta { .. } if stopped => dropped::note(dropped, "content[]"),
            Event::BlockStart { index, block } => {
                self.start(out);
                let Self { order, wire, .. } = self;
                order.block_start(*index, block, &mut |step| wire.step(step, out, dropped));
            }
            Event::Delta { index, delta } => {
                let Self { order, wire, .. } = self;
                order.delta(*index, delta, &mut |step| wire.step(step, out, dropped));
            }
            Event::BlockStop { index } => {
                let Self { order, wire, .. } = self;
                order.block_stop(*index, &mut |step| wire.step(step, out, dropped));
            }
            Event::End => {
                let plain = if self.wire.called { StopReason::ToolUse } else { StopReason::EndTurn };
                self.stop((&plain, None), out, dropped);
                frames::metadata(out, &self.usage);
                self.progress = Progress::Ended;
            }
        }
    }
}

impl Writer {
    fn start(&mut self, out: &mut Vec<u8>) {
        if self.progress == Progress::Nothing {
            self.progress = Progress::Started;
            frames::message_start(out);
        }
    }

    fn stop(&mut self, told: (&StopReason, Option<&Text>), out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        self.start(out);
        if self.progress >= Progress::Stopped {
            return;
        }
        let Self { order, wire, .. } = self;
        order.finish(&mut |step| wire.step(step, out, dropped));
        frames::message_stop(out, told, dropped);
        self.progress = Progress::Stopped;
    }
}

impl Wire {
    fn step(&mut self, step: Step<'_>, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        match step {
            Step::Open(block) => self.open(block, out, dropped),
            Step::Delta(delta) => self.delta(delta, out, dropped),
            Step::Lost => dropped::note(dropped, "content[]"),
            Step::Close => {
                if self.open.take().is_some_and(|open| open.begun) {
                    frames::block_stop(out, self.next);
                    self.next += 1;
                }
            }
        }
    }

    fn open(&mut self, block: &BlockStart, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let (takes, begun) = match block {
            BlockStart::Text | BlockStart::Refusal => (Takes::Text, false),
            BlockStart::Thinking => (Takes::Thinking, false),
            BlockStart::RedactedThinking(sealed) => {
                frames::redacted(out, self.next, sealed);
                (Takes::Nothing, true)
            }
            BlockStart::ToolUse { .. } => {
                self.called = true;
                frames::block_start(out, self.next, block);
                (Takes::Input, true)
            }
            BlockStart::Opaque { dialect, .. } if *dialect == SELF => {
                frames::block_start(out, self.next, block);
                (Takes::Opaque, true)
            }
            BlockStart::Opaque { json, .. } => {
                dropped::note(dropped, format!("content[].{}", json.type_name()));
                (Takes::Unexpressible, false)
            }
        };
        self.open = Some(Open { takes, begun });
    }

    /// A delta of the open block, if the block takes such.
    fn delta(&mut self, delta: &Delta, out: &mut Vec<u8>, dropped: &mut Vec<String>) {
        let Some(open) = &mut self.open else { return };
        let fits = match delta {
            _ if open.takes == Takes::Unexpressible => return,
            Delta::Text(_) => open.takes == Takes::Text,
            Delta::Citation(citation) => open.takes == Takes::Text && citations::says_something(citation),
            Delta::Thinking(_) | Delta::Signature(_) => open.takes == Takes::Thinking,
            Delta::ToolInput(_) => open.takes == Takes::Input,
            Delta::Opaque { dialect, .. } => *dialect == SELF,
        };
        if fits {
            open.begun = true;
            return frames::block_delta(out, self.next, delta);
        }
        match delta {
            Delta::Citation(_) => dropped::note(dropped, "content[].citations"),
            Delta::Signature(_) => dropped::note(dropped, "content[].signature"),
            Delta::Opaque { json, .. } => {
                for member in json.raw().members().filter(|member| !member.is("type")) {
                    dropped::note(dropped, format!("content[].{}", unescape(member.key)));
                }
            }
            _ => dropped::note(dropped, "content[]"),
        }
    }
}
