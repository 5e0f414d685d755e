//! Errors as clients of each dialect see them.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;
use trestle_dialect::{Attempt, Category, Dialect, Failure, inbound};

fn failure<'a>(category: Category, attempts: &'a [Attempt]) -> Failure<'a> {
    Failure {
        status: 400,
        category,
        message: "It \"broke\".",
        code: Some("upstream_failed"),
        param: None,
        attempts,
        request_id: "req-1",
    }
}

#[test]
fn bodies_have_the_vendors_shape() {
    let attempts = [
        Attempt {
            target: "openai/m".into(),
            status: Some(503),
            cause: "overloaded",
            time: Duration::from_millis(120),
        },
        Attempt { target: "local/n".into(), status: None, cause: "connect_failed", time: Duration::ZERO },
    ];
    let text = |dialect: Dialect| {
        String::from_utf8(inbound(dialect).encode_failure(&failure(Category::Api, &attempts))).unwrap()
    };
    let tried = r#""attempts":[{"target":"openai/m","status":503,"cause":"overloaded","ms":120},{"target":"local/n","status":null,"cause":"connect_failed","ms":0}]"#;
    let openai = format!(
        r#"{{"error":{{"message":"It \"broke\".","type":"server_error","param":null,"code":"upstream_failed","request_id":"req-1",{tried}}}}}"#
    );
    let anthropic = format!(
        r#"{{"type":"error","error":{{"type":"api_error","message":"It \"broke\".","code":"upstream_failed",{tried}}},"request_id":"req-1"}}"#
    );
    assert_eq!(text(Dialect::OpenAiChat), openai);
    assert_eq!(text(Dialect::AnthropicMessages), anthropic);
    let cohere = format!(r#"{{"id":"req-1","message":"It \"broke\".","code":"upstream_failed",{tried}}}"#);
    assert_eq!(text(Dialect::CohereChat), cohere);
}

#[test]
#[rustfmt::skip]
fn every_category_has_its_type() {
    use Category::*;
    let cases = [
        // category, OpenAI's type and code, Anthropic's type
        (InvalidRequest, "invalid_request_error", "upstream_failed", "invalid_request_error"),
        (ContextTooLong, "invalid_request_error", "context_length_exceeded", "invalid_request_error"),
        (ContentPolicy, "invalid_request_error", "content_policy_violation", "invalid_request_error"),
        (UnsupportedParameter, "invalid_request_error", "unsupported_parameter", "invalid_request_error"),
        (Authentication, "invalid_request_error", "upstream_failed", "authentication_error"),
        (Permission, "invalid_request_error", "upstream_failed", "permission_error"),
        (NotFound, "invalid_request_error", "upstream_failed", "not_found_error"),
        (TooLarge, "invalid_request_error", "upstream_failed", "request_too_large"),
        (RateLimit, "rate_limit_error", "upstream_failed", "rate_limit_error"),
        (Quota, "insufficient_quota", "upstream_failed", "billing_error"),
        (Overloaded, "server_error", "upstream_failed", "overloaded_error"),
        (Timeout, "server_error", "upstream_failed", "timeout_error"),
        (Api, "server_error", "upstream_failed", "api_error"),
    ];
    for (category, openai_type, openai_code, anthropic_type) in cases {
        let error = |dialect: Dialect| {
            let body = inbound(dialect).encode_failure(&failure(category, &[]));
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert!(body["error"].get("attempts").is_none(), "none were made");
            body["error"].clone()
        };
        let openai = error(Dialect::OpenAiChat);
        assert_eq!((openai["type"].as_str(), openai["code"].as_str()), (Some(openai_type), Some(openai_code)));
        let anthropic = error(Dialect::AnthropicMessages);
        assert_eq!(anthropic["type"], anthropic_type);
        // What clients look for to shorten a conversation.
        let told = anthropic["message"].as_str().unwrap().starts_with("prompt is too long");
        assert_eq!(told, category == ContextTooLong);
    }
}

#[test]
fn events_end_no_stream() {
    for dialect in Dialect::ALL {
        let bytes = inbound(dialect).encode_failure_event(&failure(Category::Overloaded, &[]));
        let events: Vec<_> = dialect.framing().events(&bytes).collect();
        assert_eq!(events.len(), 1, "one event, and no end");
        let name = match dialect {
            Dialect::AnthropicMessages => "error",
            Dialect::CohereChat => "message-end",
            _ => "",
        };
        assert_eq!(events[0].name, name.as_bytes());
        let data = events[0].data.as_deref().unwrap();
        if dialect != Dialect::CohereChat {
            assert_eq!(data, inbound(dialect).encode_failure(&failure(Category::Overloaded, &[])));
        }
        let mut decoded = Vec::new();
        let mut reader = trestle_dialect::outbound(dialect).decode_events();
        reader.decode(&events[0], &mut decoded).unwrap();
        let Some(trestle_dialect::ir::Event::Fault(fault)) = decoded.last() else { panic!("{decoded:?}") };
        assert_eq!(fault.message, "It \"broke\".");
        assert!(!reader.ended());
    }
}
