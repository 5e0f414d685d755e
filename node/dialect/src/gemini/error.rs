//! Errors as Google's clients know them, and what Google's errors mean.

use crate::{
    Category, Failure, Fault, fault,
    json::{Kind, Raw, Writer},
};
use bytes::Bytes;
use std::borrow::Cow;

/// How the vendor says that a conversation has become too long.
const TOO_LONG: &str = "The input token count exceeds the maximum number of tokens allowed";

/// The body: `{"error": {"code", "message", "status", "details"}}`.
pub(super) fn encode(failure: &Failure<'_>) -> Vec<u8> {
    let mut out = Writer::with_capacity(512);
    out.begin_object();
    out.key("error");
    out.begin_object();
    out.key("code");
    out.u64(failure.status.into());
    out.key("message");
    out.string(&message(failure));
    out.key("status");
    out.string(status(failure.category));
    out.key("details");
    out.begin_array();
    if let Some(code) = failure.code {
        begin_detail(&mut out, "ErrorInfo");
        out.key("reason");
        out.string(code);
        out.end_object();
    }
    if let Some(param) = failure.param {
        begin_detail(&mut out, "BadRequest");
        out.key("fieldViolations");
        out.begin_array();
        out.begin_object();
        out.key("field");
        out.string(param);
        out.key("description");
        out.string(failure.message);
        out.end_object();
        out.end_array();
        out.end_object();
    }
    begin_detail(&mut out, "RequestInfo");
    out.key("requestId");
    out.string(failure.request_id);
    out.end_object();
    out.end_array();
    crate::failure::write_attempts(failure.attempts, &mut out);
    out.end_object();
    out.end_object();
    out.finish()
}

fn begin_detail(out: &mut Writer, kind: &str) {
    out.begin_object();
    out.key("@type");
    out.string(&format!("type.googleapis.com/google.rpc.{kind}"));
}

/// The error as an event. Nothing with a `finishReason` follows: the stream did not end properly.
pub(super) fn encode_event(failure: &Failure<'_>) -> Vec<u8> {
    let mut out = b"data: ".to_vec();
    out.append(&mut encode(failure));
    out.extend_from_slice(b"\n\n");
    out
}

fn message<'f>(failure: &Failure<'f>) -> Cow<'f, str> {
    match failure.category {
        Category::ContextTooLong if !failure.message.contains("token count") => {
            format!("{TOO_LONG}: {}", failure.message).into()
        }
        _ => failure.message.into(),
    }
}

const fn status(category: Category) -> &'static str {
    match category {
        Category::InvalidRequest
        | Category::ContextTooLong
        | Category::ContentPolicy
        | Category::UnsupportedParameter
        | Category::TooLarge => "INVALID_ARGUMENT",
        Category::Authentication => "UNAUTHENTICATED",
        Category::Permission => "PERMISSION_DENIED",
        Category::NotFound => "NOT_FOUND",
        Category::RateLimit | Category::Quota => "RESOURCE_EXHAUSTED",
        Category::Overloaded => "UNAVAILABLE",
        Category::Timeout => "DEADLINE_EXCEEDED",
        Category::Api => "INTERNAL",
    }
}

/// Reads an error answer.
pub(super) fn decode(status: u16, body: &Bytes) -> Fault {
    let fault = fault::decode(status, body);
    match Raw::parse(body) {
        Ok(root) => refine(fault, root),
        Err(_) => fault,
    }
}

/// Reads an error inside of a stream.
pub(super) fn decode_event(data: &[u8]) -> Fault {
    match Raw::parse(data) {
        Ok(root) => refine(fault::decode_event(unwrapped(root).bytes()), root),
        Err(_) => fault::decode_event(data),
    }
}

/// Errors may come as an array with one element.
pub(super) fn unwrapped(root: Raw<'_>) -> Raw<'_> {
    if root.kind() == Kind::Array { root.elements().next().unwrap_or(root) } else { root }
}

/// The name of the status instead of its number, and what only Google's words tell: its message for a limit by the
/// minute is that of a quota that is used up, and a bad key is a bad argument.
fn refine(mut fault: Fault, root: Raw<'_>) -> Fault {
    let Some(error) = unwrapped(root).get("error") else { return fault };
    let Some(name) = error.get("status").and_then(Raw::string) else { return fault };
    let details = || error.get("details").into_iter().flat_map(Raw::elements);
    let holds = |member: &str, part: &str| {
        details()
            .any(|detail| detail.get(member).and_then(Raw::string).is_some_and(|word| word.contains(part)))
    };
    let quota = |part: &str| {
        let violations = details().filter_map(|detail| detail.get("violations"));
        violations.flat_map(Raw::elements).any(|violation| {
            violation.get("quotaId").and_then(Raw::string).is_some_and(|id| id.contains(part))
        })
    };
    fault.category = match (&*name, fault.category) {
        ("RESOURCE_EXHAUSTED", _) if quota("PerDay") => Category::Quota,
        ("RESOURCE_EXHAUSTED", _) if holds("@type", "RetryInfo") || quota("PerMinute") => Category::RateLimit,
        ("INVALID_ARGUMENT", _)
            if holds("reason", "API_KEY_INVALID") || fault.message.contains("API key not valid") =>
        {
            Category::Authentication
        }
        ("FAILED_PRECONDITION", Category::InvalidRequest) => Category::Permission,
        ("UNAVAILABLE", Category::Api) => Category::Overloaded,
        ("DEADLINE_EXCEEDED", Category::Api) => Category::Timeout,
        (_, category) => category,
    };
    fault.code = Some(name.chars().take(64).collect());
    fault
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[rustfmt::skip]
    fn googles_words_become_categories() {
        use Category::*;
        let cases: &[(u16, &str, Category, &str)] = &[
            (429, r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}"#, RateLimit, "RESOURCE_EXHAUSTED"),
            (429, r#"{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo"}]}}"#, Quota, "RESOURCE_EXHAUSTED"),
            (429, r#"{"error":{"code":429,"message":"Resource exhausted. Please try again later.","status":"RESOURCE_EXHAUSTED"}}"#, RateLimit, "RESOURCE_EXHAUSTED"),
            (400, r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#, Authentication, "INVALID_ARGUMENT"),
            (400, r#"{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}"#, Permission, "FAILED_PRECONDITION"),
            (400, r#"{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#, ContextTooLong, "INVALID_ARGUMENT"),
            (400, r#"{"error":{"code":400,"message":"Invalid JSON payload received.","status":"INVALID_ARGUMENT"}}"#, InvalidRequest, "INVALID_ARGUMENT"),
            (404, r#"{"error":{"code":404,"message":"models/gemini-9 is not found for API version v1beta","status":"NOT_FOUND"}}"#, NotFound, "NOT_FOUND"),
            (503, r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#, Overloaded, "UNAVAILABLE"),
            (500, r#"{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}"#, Api, "INTERNAL"),
        ];
        for (status, body, category, code) in cases {
            let fault = decode(*status, &Bytes::copy_from_slice(body.as_bytes()));
            assert_eq!((fault.category, fault.code.as_deref()), (*category, Some(*code)), "{body}");
            let event = decode_event(body.as_bytes());
            assert_eq!((event.status, event.category), (*status, *category), "{body}");
        }
        assert_eq!(decode(502, &Bytes::from_static(b"<html>Bad Gateway</html>")).message, "Bad Gateway");
    }
}
