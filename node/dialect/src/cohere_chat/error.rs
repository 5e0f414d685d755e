//! Errors as Cohere clients know them: what kind of error it is, the status alone tells.

use crate::{Failure, json::Writer};

/// The body: `{"id", "message", ...}`.
pub(super) fn encode(failure: &Failure<'_>) -> Vec<u8> {
    let mut out = Writer::with_capacity(256);
    out.begin_object();
    out.key("id");
    out.string(failure.request_id);
    out.key("message");
    out.string(failure.message);
    write_rest(failure, &mut out);
    out.end_object();
    out.finish()
}

/// The vendor has no event for errors alone: a `message-end` says that the answer failed, and is not a proper end.
pub(super) fn encode_event(failure: &Failure<'_>) -> Vec<u8> {
    let mut out = Writer::append_to(b"event: message-end\ndata: ".to_vec());
    out.begin_object();
    out.key("type");
    out.string("message-end");
    out.key("id");
    out.string(failure.request_id);
    out.key("delta");
    out.begin_object();
    out.key("finish_reason");
    out.string("ERROR");
    out.key("error");
    out.string(failure.message);
    out.end_object();
    write_rest(failure, &mut out);
    out.end_object();
    let mut out = out.finish();
    out.extend_from_slice(b"\n\n");
    out
}

/// Members that the vendor does not have; its clients take any.
fn write_rest(failure: &Failure<'_>, out: &mut Writer) {
    for (name, word) in [("param", failure.param), ("code", failure.code)] {
        if let Some(word) = word {
            out.key(name);
            out.string(word);
        }
    }
    crate::failure::write_attempts(failure.attempts, out);
}
