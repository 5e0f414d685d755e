//! Errors: the body is that of OpenAI Chat, the event has a form of its own.

use crate::{Failure, json::Writer, openai_chat};

/// The body.
pub(super) fn encode(failure: &Failure<'_>) -> Vec<u8> {
    openai_chat::encode_error(failure)
}

/// The error as an event: `{"type": "error", "code", "message", "param", "sequence_number", "error"}`. The vendor
/// documents the members side by side and sends them in `error`; the official clients raise an error for the latter
/// alone, others read the former, so they are told both ways. No `response.completed` follows: the stream did not end
/// properly. Clients demand the number but make nothing of it, and whoever writes an error does not know how far the
/// stream has come, so it is 0.
pub(super) fn encode_event(failure: &Failure<'_>) -> Vec<u8> {
    let mut out = Writer::append_to(b"event: error\ndata: ".to_vec());
    out.begin_object();
    out.key("type");
    out.string("error");
    for (name, word) in [("code", openai_chat::error_code(failure)), ("param", failure.param)] {
        out.key(name);
        match word {
            Some(word) => out.string(word),
            None => out.null(),
        }
    }
    out.key("message");
    out.string(failure.message);
    out.key("sequence_number");
    out.u64(0);
    out.key("error");
    out.begin_object();
    openai_chat::write_error_members(failure, &mut out);
    out.end_object();
    out.key("request_id");
    out.string(failure.request_id);
    crate::failure::write_attempts(failure.attempts, &mut out);
    out.end_object();
    let mut out = out.finish();
    out.extend_from_slice(b"\n\n");
    out
}
