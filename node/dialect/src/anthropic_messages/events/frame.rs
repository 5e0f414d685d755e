//! The frames of the events, each written at once.

use super::super::{response, usage};
use crate::{
    Dialect, StreamContext,
    ir::{BlockStart, Citation, Delta, Sealed, StopReason, Text, Usage},
    json::Writer,
};

const SELF: Dialect = Dialect::AnthropicMessages;

/// An event of this name; `write` fills the object behind its `type`.
pub(super) fn event(out: &mut Vec<u8>, name: &str, write: impl FnOnce(&mut Writer)) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    let mut writer = Writer::append_to(std::mem::take(out));
    writer.begin_object();
    writer.key("type");
    writer.string(name);
    write(&mut writer);
    writer.end_object();
    *out = writer.finish();
    out.extend_from_slice(b"\n\n");
}

/// `message_start`. Usage that is not known yet counts as none; the last event has it.
pub(super) fn message_start(
    out: &mut Vec<u8>,
    (id, model): (&Text, &Text),
    usage: &Usage,
    context: &StreamContext,
) {
    event(out, "message_start", |out| {
        out.key("message");
        out.begin_object();
        response::write_head(out, (id, model), context);
        out.key("content");
        out.begin_array();
        out.end_array();
        out.key("stop_reason");
        out.null();
        out.key("stop_sequence");
        out.null();
        out.key("usage");
        usage::encode(usage, [], out);
        out.end_object();
    });
}

/// `content_block_start`. An opaque block is of this dialect. The proof is that of a call, which clients keep with it.
pub(super) fn block_start(out: &mut Vec<u8>, index: u32, block: &BlockStart, proof: Option<&Sealed>) {
    event(out, "content_block_start", |out| {
        out.key("index");
        out.u64(index.into());
        out.key("content_block");
        if let BlockStart::Opaque { json, .. } = block {
            return out.json(json);
        }
        out.begin_object();
        out.key("type");
        match block {
            BlockStart::Text | BlockStart::Refusal | BlockStart::Opaque { .. } => {
                out.raw(br#""text","text":"""#);
            }
            BlockStart::Thinking => out.raw(br#""thinking","thinking":"","signature":"""#),
            BlockStart::RedactedThinking(sealed) => {
                out.string("redacted_thinking");
                out.key("data");
                out.text(&sealed.carried(SELF));
            }
            BlockStart::ToolUse { id, name } => {
                out.string("tool_use");
                out.key("id");
                out.text(id);
                out.key("name");
                out.text(name);
                out.key("input");
                out.raw(b"{}");
                if let Some(proof) = proof {
                    out.key("signature");
                    out.text(&proof.carried(SELF));
                }
            }
        }
        out.end_object();
    });
}

/// `content_block_delta`. An opaque delta is of this dialect.
pub(super) fn block_delta(out: &mut Vec<u8>, index: u32, delta: &Delta) {
    event(out, "content_block_delta", |out| {
        out.key("index");
        out.u64(index.into());
        out.key("delta");
        let carried;
        let (kind, name, text) = match delta {
            Delta::Text(text) => ("text_delta", "text", text),
            Delta::Thinking(text) => ("thinking_delta", "thinking", text),
            Delta::Signature(sealed) => {
                carried = sealed.carried(SELF);
                ("signature_delta", "signature", &carried)
            }
            Delta::ToolInput(text) => ("input_json_delta", "partial_json", text),
            Delta::Citation(Citation { json, .. }) => {
                out.begin_object();
                out.key("type");
                out.string("citations_delta");
                out.key("citation");
                out.json(json);
                return out.end_object();
            }
            Delta::Opaque { json, .. } => return out.json(json),
        };
        out.begin_object();
        out.key("type");
        out.string(kind);
        out.key(name);
        out.text(text);
        out.end_object();
    });
}

/// `content_block_stop`.
pub(super) fn block_stop(out: &mut Vec<u8>, index: u32) {
    event(out, "content_block_stop", |out| {
        out.key("index");
        out.u64(index.into());
    });
}

/// `message_delta`: why the answer ended, and what it cost.
pub(super) fn message_delta(
    out: &mut Vec<u8>,
    (reason, sequence): (&StopReason, Option<&Text>),
    usage: &Usage,
    dropped: &mut Vec<String>,
) {
    let reason = response::encode_stop(reason, dropped);
    event(out, "message_delta", |out| {
        out.key("delta");
        out.begin_object();
        out.key("stop_reason");
        out.string(reason);
        out.key("stop_sequence");
        match sequence {
            Some(sequence) => out.text(sequence),
            None => out.null(),
        }
        out.end_object();
        out.key("usage");
        usage::encode(usage, [], out);
    });
}
