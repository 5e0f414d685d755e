//! Errors as OpenAI clients know them.

use crate::{Category, Failure, json::Writer};

/// The body: `{"error": {"message", "type", "param", "code", ...}}`.
pub(crate) fn encode(failure: &Failure<'_>) -> Vec<u8> {
    let mut out = Writer::with_capacity(256);
    out.begin_object();
    out.key("error");
    out.begin_object();
    write_members(failure, &mut out);
    out.key("request_id");
    out.string(failure.request_id);
    crate::failure::write_attempts(failure.attempts, &mut out);
    out.end_object();
    out.end_object();
    out.finish()
}

/// What the vendor says of an error, into the object that is open.
pub(crate) fn write_members(failure: &Failure<'_>, out: &mut Writer) {
    let (kind, _) = words(failure.category);
    out.key("message");
    out.string(failure.message);
    out.key("type");
    out.string(kind);
    for (name, word) in [("param", failure.param), ("code", code(failure))] {
        out.key(name);
        match word {
            Some(word) => out.string(word),
            None => out.null(),
        }
    }
}

/// The `code`.
pub(crate) fn code<'f>(failure: &Failure<'f>) -> Option<&'f str> {
    let (_, default_code) = words(failure.category);
    match failure.category {
        // Clients act on these codes, so another vendor's word does not help them.
        Category::ContextTooLong | Category::ContentPolicy | Category::UnsupportedParameter => default_code,
        _ => failure.code.or(default_code),
    }
}

/// The error as an event. No `[DONE]` follows: the stream did not end properly.
pub(super) fn encode_event(failure: &Failure<'_>) -> Vec<u8> {
    let mut out = b"data: ".to_vec();
    out.append(&mut encode(failure));
    out.extend_from_slice(b"\n\n");
    out
}

const fn words(category: Category) -> (&'static str, Option<&'static str>) {
    match category {
        Category::InvalidRequest => ("invalid_request_error", None),
        Category::ContextTooLong => ("invalid_request_error", Some("context_length_exceeded")),
        Category::ContentPolicy => ("invalid_request_error", Some("content_policy_violation")),
        Category::UnsupportedParameter => ("invalid_request_error", Some("unsupported_parameter")),
        Category::Authentication => ("invalid_request_error", Some("invalid_api_key")),
        Category::Permission => ("invalid_request_error", Some("permission_denied")),
        Category::NotFound => ("invalid_request_error", Some("model_not_found")),
        Category::TooLarge => ("invalid_request_error", Some("request_too_large")),
        Category::RateLimit => ("rate_limit_error", Some("rate_limit_exceeded")),
        Category::Quota => ("insufficient_quota", Some("insufficient_quota")),
        Category::Overloaded => ("server_error", Some("overloaded")),
        Category::Timeout => ("server_error", Some("timeout")),
        Category::Api => ("server_error", None),
    }
}
