//! Errors as clients of each dialect see them.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;
use trestle_dialect::{Attempt, Category, Dialect, Failure, bedrock_error_type, inbound};

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
    let bedrock = format!(
        r#"{{"message":"It \"broke\".","__type":"InternalServerException","code":"upstream_failed","request_id":"req-1",{tried}}}"#
    );
    assert_eq!(text(Dialect::BedrockConverse), bedrock);
    assert_eq!(text(Dialect::OpenAiChat), openai);
    assert_eq!(text(Dialect::OpenAiResponses), openai);
    assert_eq!(text(Dialect::AnthropicMessages), anthropic);
    let gemini = format!(
        r#"{{"error":{{"code":400,"message":"It \"broke\".","status":"INTERNAL","details":[{{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"upstream_failed"}},{{"@type":"type.googleapis.com/google.rpc.RequestInfo","requestId":"req-1"}}],{tried}}}}}"#
    );
    assert_eq!(text(Dialect::Gemini), gemini);
    let param = Failure { param: Some("contents[0].role"), ..failure(Category::InvalidRequest, &[]) };
    let body = inbound(Dialect::Gemini).encode_failure(&param);
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["error"]["details"][1]["fieldViolations"][0]["field"], "contents[0].role");
    let cohere = format!(r#"{{"id":"req-1","message":"It \"broke\".","code":"upstream_failed",{tried}}}"#);
    assert_eq!(text(Dialect::CohereChat), cohere);
}

#[test]
#[rustfmt::skip]
fn every_category_has_its_type() {
    use Category::*;
    let cases = [
        // category, OpenAI's type and code, Anthropic's type, Google's status
        (InvalidRequest, "invalid_request_error", "upstream_failed", "invalid_request_error", "INVALID_ARGUMENT"),
        (ContextTooLong, "invalid_request_error", "context_length_exceeded", "invalid_request_error", "INVALID_ARGUMENT"),
        (ContentPolicy, "invalid_request_error", "content_policy_violation", "invalid_request_error", "INVALID_ARGUMENT"),
        (UnsupportedParameter, "invalid_request_error", "unsupported_parameter", "invalid_request_error", "INVALID_ARGUMENT"),
        (Authentication, "invalid_request_error", "upstream_failed", "authentication_error", "UNAUTHENTICATED"),
        (Permission, "invalid_request_error", "upstream_failed", "permission_error", "PERMISSION_DENIED"),
        (NotFound, "invalid_request_error", "upstream_failed", "not_found_error", "NOT_FOUND"),
        (TooLarge, "invalid_request_error", "upstream_failed", "request_too_large", "INVALID_ARGUMENT"),
        (RateLimit, "rate_limit_error", "upstream_failed", "rate_limit_error", "RESOURCE_EXHAUSTED"),
        (Quota, "insufficient_quota", "upstream_failed", "billing_error", "RESOURCE_EXHAUSTED"),
        (Overloaded, "server_error", "upstream_failed", "overloaded_error", "UNAVAILABLE"),
        (Timeout, "server_error", "upstream_failed", "timeout_error", "DEADLINE_EXCEEDED"),
        (Api, "server_error", "upstream_failed", "api_error", "INTERNAL"),
    ];
    for (category, openai_type, openai_code, anthropic_type, google_status) in cases {
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
        let gemini = error(Dialect::Gemini);
        assert_eq!((gemini["status"].as_str(), gemini["code"].as_u64()), (Some(google_status), Some(400)));
        let told = gemini["message"].as_str().unwrap().starts_with("The input token count exceeds");
        assert_eq!(told, category == ContextTooLong);
    }
}

#[test]
#[rustfmt::skip]
fn every_category_has_its_exception() {
    use Category::*;
    let cases = [
        // category, type of the answer, exception in a stream
        (InvalidRequest, "ValidationException", "validationException"),
        (ContextTooLong, "ValidationException", "validationException"),
        (ContentPolicy, "ValidationException", "validationException"),
        (UnsupportedParameter, "ValidationException", "validationException"),
        (TooLarge, "ValidationException", "validationException"),
        (Authentication, "AccessDeniedException", "validationException"),
        (Permission, "AccessDeniedException", "validationException"),
        (NotFound, "ResourceNotFoundException", "validationException"),
        (RateLimit, "ThrottlingException", "throttlingException"),
        (Quota, "ServiceQuotaExceededException", "throttlingException"),
        (Overloaded, "ServiceUnavailableException", "serviceUnavailableException"),
        (Timeout, "ModelTimeoutException", "modelStreamErrorException"),
        (Api, "InternalServerException", "internalServerException"),
    ];
    for (category, kind, exception) in cases {
        let codec = inbound(Dialect::BedrockConverse);
        let body = codec.encode_failure(&failure(category, &[]));
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!((body["__type"].as_str(), bedrock_error_type(category)), (Some(kind), kind));
        // What clients look for to shorten a conversation.
        let told = body["message"].as_str().unwrap().starts_with("Input is too long for requested model");
        assert_eq!(told, category == ContextTooLong);
        let bytes = codec.encode_failure_event(&failure(category, &[]));
        let event = Dialect::BedrockConverse.framing().events(&bytes).next().unwrap();
        assert_eq!(event.name, exception.as_bytes());
    }
}

#[test]
fn events_end_no_stream() {
    for dialect in Dialect::ALL {
        let bytes = inbound(dialect).encode_failure_event(&failure(Category::Overloaded, &[]));
        let events: Vec<_> = dialect.framing().events(&bytes).collect();
        assert_eq!(events.len(), 1, "one event, and no end");
        let name = match dialect {
            Dialect::AnthropicMessages | Dialect::OpenAiResponses => "error",
            Dialect::BedrockConverse => "serviceUnavailableException",
            Dialect::CohereChat => "message-end",
            _ => "",
        };
        assert_eq!(events[0].name, name.as_bytes());
        let data = events[0].data.as_deref().unwrap();
        let body = inbound(dialect).encode_failure(&failure(Category::Overloaded, &[]));
        match dialect {
            Dialect::OpenAiResponses => assert_eq!(
                std::str::from_utf8(data).unwrap(),
                r#"{"type":"error","code":"upstream_failed","param":null,"message":"It \"broke\".","sequence_number":0,"error":{"message":"It \"broke\".","type":"server_error","param":null,"code":"upstream_failed"},"request_id":"req-1"}"#
            ),
            Dialect::CohereChat => {}
            _ => assert_eq!(data, body),
        }
        let mut decoded = Vec::new();
        let mut reader = trestle_dialect::outbound(dialect).decode_events();
        reader.decode(&events[0], &mut decoded).unwrap();
        let Some(trestle_dialect::ir::Event::Fault(fault)) = decoded.last() else { panic!("{decoded:?}") };
        assert_eq!(fault.message, "It \"broke\".");
        assert!(!reader.ended());
    }
}
