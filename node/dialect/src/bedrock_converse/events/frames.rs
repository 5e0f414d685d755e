//! The messages of a stream, each written at once.

use super::super::{citations, redacted, response, usage};
use crate::{
    Dialect,
    event_stream::{self, Kind},
    ir::{BlockStart, Delta, Sealed, StopReason, Text, Usage},
    json::Writer,
};

const SELF: Dialect = Dialect::BedrockConverse;

/// An event of this type; `write` fills its object.
fn event(out: &mut Vec<u8>, name: &'static str, write: impl FnOnce(&mut Writer)) {
    let mut payload = Writer::with_capacity(128);
    payload.begin_object();
    write(&mut payload);
    payload.end_object();
    event_stream::write(Kind::Event, name, payload.finish(), out);
}

/// `messageStart`.
pub(super) fn message_start(out: &mut Vec<u8>) {
    event(out, "messageStart", |out| {
        out.key("role");
        out.string("assistant");
    });
}

/// `contentBlockStart`, of those blocks that open with one: calls, and what is not modelled, of this dialect.
pub(super) fn block_start(out: &mut Vec<u8>, index: u32, block: &BlockStart) {
    event(out, "contentBlockStart", |out| {
        out.key("start");
        match block {
            BlockStart::Opaque { json, .. } => out.json(json),
            BlockStart::ToolUse { id, name } => {
                out.begin_object();
                out.key("toolUse");
                out.begin_object();
                out.key("toolUseId");
                out.text(id);
                out.key("name");
                out.text(name);
                out.end_object();
                out.end_object();
            }
            _ => out.raw(b"{}"),
        }
        write_index(out, index);
    });
}

/// `contentBlockDelta`. An opaque delta is of this dialect.
pub(super) fn block_delta(out: &mut Vec<u8>, index: u32, delta: &Delta) {
    event(out, "contentBlockDelta", |out| {
        out.key("delta");
        match delta {
            Delta::Opaque { json, .. } => out.json(json),
            Delta::Text(text) => member(out, "text", |out| out.text(text)),
            Delta::Citation(citation) => member(out, "citation", |out| citations::write(citation, out)),
            Delta::ToolInput(text) => {
                member(out, "toolUse", |out| member(out, "input", |out| out.text(text)));
            }
            Delta::Thinking(text) => reasoning(out, "text", text),
            Delta::Signature(sealed) => reasoning(out, "signature", &sealed.carried(SELF)),
        }
        write_index(out, index);
    });
}

/// A block of redacted reasoning, which comes in one delta.
pub(super) fn redacted(out: &mut Vec<u8>, index: u32, sealed: &Sealed) {
    event(out, "contentBlockDelta", |out| {
        out.key("delta");
        reasoning(out, "redactedContent", &redacted::write(sealed));
        write_index(out, index);
    });
}

/// `contentBlockStop`.
pub(super) fn block_stop(out: &mut Vec<u8>, index: u32) {
    event(out, "contentBlockStop", |out| write_index(out, index));
}

/// `messageStop`: why the answer ended.
pub(super) fn message_stop(
    out: &mut Vec<u8>,
    (reason, sequence): (&StopReason, Option<&Text>),
    dropped: &mut Vec<String>,
) {
    let reason = response::encode_stop(reason, dropped);
    event(out, "messageStop", |out| {
        out.key("stopReason");
        out.string(reason);
        if let Some(sequence) = sequence {
            response::write_stop_sequence(sequence, out);
        }
    });
}

/// `metadata`: what the answer cost.
pub(super) fn metadata(out: &mut Vec<u8>, usage: &Usage) {
    event(out, "metadata", |out| {
        out.key("usage");
        usage::encode(usage, out);
        out.key("metrics");
        out.raw(response::METRICS);
    });
}

fn write_index(out: &mut Writer, index: u32) {
    out.key("contentBlockIndex");
    out.u64(index.into());
}

fn member(out: &mut Writer, name: &str, write: impl FnOnce(&mut Writer)) {
    out.begin_object();
    out.key(name);
    write(out);
    out.end_object();
}

fn reasoning(out: &mut Writer, name: &str, text: &Text) {
    member(out, "reasoningContent", |out| member(out, name, |out| out.text(text)));
}
