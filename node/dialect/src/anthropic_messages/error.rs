//! Errors as Anthropic clients know them.

use crate::{Category, Failure, json::Writer};
use std::borrow::Cow;

/// What clients look for to shorten a conversation that has become too long.
const TOO_LONG: &str = "prompt is too long";

/// The body: `{"type": "error", "error": {"type", "message", ...}, "request_id"}`.
pub(super) fn encode(failure: &Failure<'_>) -> Vec<u8> {
    let mut out = Writer::with_capacity(256);
    out.begin_object();
    out.key("type");
    out.string("error");
    out.key("error");
    out.begin_object();
    out.key("type");
    out.string(kind(failure.category));
    out.key("message");
    out.string(&message(failure));
    for (name, word) in [("param", failure.param), ("code", failure.code)] {
        if let Some(word) = word {
            out.key(name);
            out.string(word);
        }
    }
    crate::failure::write_attempts(failure.attempts, &mut out);
    out.end_object();
    out.key("request_id");
    out.string(failure.request_id);
    out.end_object();
    out.finish()
}

/// The error as an event. No `message_stop` follows: the stream did not end properly.
pub(super) fn encode_event(failure: &Failure<'_>) -> Vec<u8> {
    let mut out = b"event: error\ndata: ".to_vec();
    out.append(&mut encode(failure));
    out.extend_from_slice(b"\n\n");
    out
}

fn message<'f>(failure: &Failure<'f>) -> Cow<'f, str> {
    match failure.category {
        Category::ContextTooLong if !failure.message.contains(TOO_LONG) => {
            format!("{TOO_LONG}: {}", failure.message).into()
        }
        _ => failure.message.into(),
    }
}

const fn kind(category: Category) -> &'static str {
    match category {
        Category::InvalidRequest
        | Category::ContextTooLong
        | Category::ContentPolicy
        | Category::UnsupportedParameter => "invalid_request_error",
        Category::Authentication => "authentication_error",
        Category::Permission => "permission_error",
        Category::NotFound => "not_found_error",
        Category::TooLarge => "request_too_large",
        Category::RateLimit => "rate_limit_error",
        Category::Quota => "billing_error",
        Category::Overloaded => "overloaded_error",
        Category::Timeout => "timeout_error",
        Category::Api => "api_error",
    }
}
