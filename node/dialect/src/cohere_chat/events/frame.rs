//! The frames of the events, each written at once.

use crate::{
    Dialect,
    cohere_chat::usage,
    ir::{BlockStart, Sealed, Text, Usage},
    json::Writer,
};

const SELF: Dialect = Dialect::CohereChat;

/// An event of this type; `write` fills the object behind it.
pub(super) fn event(out: &mut Vec<u8>, kind: &str, write: impl FnOnce(&mut Writer)) {
    out.extend_from_slice(b"event: ");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    let mut writer = Writer::append_to(std::mem::take(out));
    writer.begin_object();
    writer.key("type");
    writer.string(kind);
    write(&mut writer);
    writer.end_object();
    *out = writer.finish();
    out.extend_from_slice(b"\n\n");
}

/// An event of a part of the message: `index`, and `{"message": {NAME: ...}}` as its delta.
pub(super) fn part(
    out: &mut Vec<u8>,
    kind: &str,
    index: u64,
    name: &'static str,
    write: impl FnOnce(&mut Writer),
) {
    event(out, kind, |out| {
        out.key("index");
        out.u64(index);
        out.key("delta");
        out.begin_object();
        out.key("message");
        out.begin_object();
        out.key(name);
        write(out);
        out.end_object();
        out.end_object();
    });
}

/// `message-start`.
pub(super) fn message_start(out: &mut Vec<u8>, id: &Text) {
    event(out, "message-start", |out| {
        out.key("id");
        out.text(id);
        out.key("delta");
        out.raw(
            br#"{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}"#,
        );
    });
}

/// `content-start`. An opaque block is of this dialect.
pub(super) fn content_start(out: &mut Vec<u8>, index: u64, block: &BlockStart) {
    part(out, "content-start", index, "content", |out| match block {
        BlockStart::Thinking => out.raw(br#"{"type":"thinking","thinking":""}"#),
        BlockStart::RedactedThinking(sealed) => {
            out.begin_object();
            out.key("type");
            out.string("thinking");
            out.key("thinking");
            out.string("");
            out.key("redacted");
            out.text(&sealed.carried(SELF));
            out.end_object();
        }
        BlockStart::Opaque { json, .. } => out.json(json),
        _ => out.raw(br#"{"type":"text","text":""}"#),
    });
}

/// `content-delta` with one text.
pub(super) fn content_delta(out: &mut Vec<u8>, index: u64, name: &'static str, text: &Text) {
    part(out, "content-delta", index, "content", |out| {
        out.begin_object();
        out.key(name);
        out.text(text);
        out.end_object();
    });
}

/// `content-delta` with another vendor's seal, in a member that this one does not know. Beside it stands an empty
/// text, which clients may read unseen.
pub(super) fn signature(out: &mut Vec<u8>, index: u64, kind: &'static str, sealed: &Sealed) {
    part(out, "content-delta", index, "content", |out| {
        out.begin_object();
        out.key(kind);
        out.string("");
        out.key("signature");
        out.text(&sealed.carried(SELF));
        out.end_object();
    });
}

/// `content-delta` with a log probability beside an empty text.
pub(super) fn likelihood(out: &mut Vec<u8>, index: u64, write: impl FnOnce(&mut Writer)) {
    event(out, "content-delta", |out| {
        out.key("index");
        out.u64(index);
        out.key("delta");
        out.raw(br#"{"message":{"content":{"text":""}}}"#);
        out.key("logprobs");
        write(out);
    });
}

/// `tool-call-start`.
pub(super) fn call_start(out: &mut Vec<u8>, index: u64, id: &Text, name: &Text) {
    part(out, "tool-call-start", index, "tool_calls", |out| {
        out.begin_object();
        out.key("id");
        out.text(id);
        out.key("type");
        out.string("function");
        out.key("function");
        out.begin_object();
        out.key("name");
        out.text(name);
        out.key("arguments");
        out.string("");
        out.end_object();
        out.end_object();
    });
}

/// `tool-call-delta` with more of the arguments.
pub(super) fn call_delta(out: &mut Vec<u8>, index: u64, arguments: &Text) {
    part(out, "tool-call-delta", index, "tool_calls", |out| {
        out.begin_object();
        out.key("function");
        out.begin_object();
        out.key("arguments");
        out.text(arguments);
        out.end_object();
        out.end_object();
    });
}

/// `tool-call-delta` with another vendor's seal, beside empty arguments.
pub(super) fn call_signature(out: &mut Vec<u8>, index: u64, sealed: &Sealed) {
    part(out, "tool-call-delta", index, "tool_calls", |out| {
        out.begin_object();
        out.key("function");
        out.raw(br#"{"arguments":""}"#);
        out.key("signature");
        out.text(&sealed.carried(SELF));
        out.end_object();
    });
}

/// An event that says no more than its index.
pub(super) fn close(out: &mut Vec<u8>, kind: &str, index: u64) {
    event(out, kind, |out| {
        out.key("index");
        out.u64(index);
    });
}

/// `message-end`: why the answer ended, and what it cost.
pub(super) fn message_end(out: &mut Vec<u8>, reason: &str, usage: Option<&Usage>) {
    event(out, "message-end", |out| {
        out.key("delta");
        out.begin_object();
        out.key("finish_reason");
        out.string(reason);
        if let Some(usage) = usage {
            out.key("usage");
            usage::encode(usage, out);
        }
        out.end_object();
    });
}
