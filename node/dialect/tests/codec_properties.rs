//! What holds for all requests, answers and streams, made up at random.

#![allow(clippy::unwrap_used, clippy::panic)]

mod grammar;
mod strategies;

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};
use strategies::{
    answers::{any_events, fold, normal, stream},
    json::{any_json, mutated},
};
use trestle_dialect::{
    Dialect, Envelope, Look, Quirks, StreamContext, Target, frame, inbound,
    ir::{Event, Request, Response},
    json::Raw,
    outbound,
};

fn context() -> StreamContext {
    let (request_id, model) = ("req-1".to_owned(), "chat".to_owned());
    StreamContext { request_id, model, created: 1, include_usage: true }
}

/// A provider that takes all extensions.
fn generous() -> Quirks {
    let adaptive_thinking = vec!["m".to_owned()];
    Quirks { cache_control: true, echo_reasoning: true, top_k: true, adaptive_thinking, ..Quirks::default() }
}

fn target(quirks: &Quirks) -> Target<'_> {
    Target { model: "m", quirks, params: &[], wants_max_completion_tokens: false }
}

fn request_survives(dialect: Dialect, request: &Request) -> Result<(), TestCaseError> {
    let quirks = generous();
    let encoded = outbound(dialect).encode_request(request, &target(&quirks)).unwrap();
    prop_assert_eq!(&encoded.dropped, &malformed(dialect, &encoded.dropped));
    let envelope = Envelope::parse(encoded.body.into()).unwrap();
    let back = inbound(dialect).decode_request(&envelope).unwrap();
    prop_assert_eq!(&back, request);
    Ok(())
}

/// Only malformed arguments are named, and they come back.
fn malformed(dialect: Dialect, dropped: &[String]) -> Vec<String> {
    let known = dialect == Dialect::AnthropicMessages && !dropped.is_empty();
    known.then(|| "messages[].content[].arguments".to_owned()).into_iter().collect()
}

fn response_survives(dialect: Dialect, response: &Response) -> Result<(), TestCaseError> {
    let encoded = inbound(dialect).encode_response(response, &context());
    prop_assert!(encoded.dropped.is_empty(), "{:?}", encoded.dropped);
    let body = Bytes::from(encoded.body);
    prop_assert_eq!(outbound(dialect).usage_in_tail(&body), response.usage);
    prop_assert_eq!(&outbound(dialect).decode_response(&body).unwrap(), response);
    Ok(())
}

fn encode_all(dialect: Dialect, events: &[Event]) -> Vec<u8> {
    let (mut wire, mut dropped) = (Vec::new(), Vec::new());
    let mut writer = inbound(dialect).encode_events(&context());
    events.iter().for_each(|event| writer.encode(event, &mut wire, &mut dropped));
    wire
}

fn stream_survives(dialect: Dialect, response: &Response) -> Result<(), TestCaseError> {
    let wire = encode_all(dialect, &stream(response));
    grammar::check(dialect, &wire).map_err(TestCaseError::fail)?;
    let (mut reader, mut events) = (outbound(dialect).decode_events(), Vec::new());
    for event in dialect.framing().events(&wire) {
        reader.decode(&event, &mut events).unwrap();
    }
    prop_assert!(reader.ended());
    let mut back = normal(fold(&events).map_err(TestCaseError::fail)?);
    if dialect == Dialect::OpenAiChat && response.created.is_none() {
        back.created = None;
    }
    prop_assert_eq!(back, normal(response.clone()));
    Ok(())
}

/// A body that may be a request: decoded, translated, edited; whatever comes of it is JSON.
fn request_is_handled(body: &Value) -> Result<(), TestCaseError> {
    let Ok(envelope) = Envelope::parse(body.to_string().into()) else { return Ok(()) };
    let quirks = Quirks { developer_role: false, flatten_content: true, ..generous() };
    for dialect in Dialect::ALL {
        let (edits, _) = outbound(dialect).edit_request(&envelope, &target(&quirks)).unwrap();
        let edited = edits.apply(&envelope).concat();
        prop_assert!(Raw::parse(&edited).is_ok(), "{}", String::from_utf8_lossy(&edited));
        inbound(dialect).wants_usage(&envelope);
        let Ok(request) = inbound(dialect).decode_request(&envelope) else { continue };
        for other in Dialect::ALL {
            for quirks in [&quirks, &Quirks::default()] {
                if let Ok(encoded) = outbound(other).encode_request(&request, &target(quirks)) {
                    let text = String::from_utf8_lossy(&encoded.body);
                    prop_assert!(Raw::parse(&encoded.body).is_ok(), "{text}");
                }
            }
        }
    }
    Ok(())
}

fn answer_is_handled(body: &Value) -> Result<(), TestCaseError> {
    let body = Bytes::from(body.to_string());
    for dialect in Dialect::ALL {
        outbound(dialect).usage(Raw::parse(&body).unwrap());
        outbound(dialect).usage_in_tail(&body);
        outbound(dialect).decode_fault(400, &body);
        let Ok(response) = outbound(dialect).decode_response(&body) else { continue };
        for other in Dialect::ALL {
            let encoded = inbound(other).encode_response(&response, &context());
            prop_assert!(Raw::parse(&encoded.body).is_ok(), "{}", String::from_utf8_lossy(&encoded.body));
        }
    }
    Ok(())
}

fn events_are_handled(bodies: &[Value]) -> Result<(), TestCaseError> {
    for dialect in Dialect::ALL {
        let (mut reader, mut events) = (outbound(dialect).decode_events(), Vec::new());
        for body in bodies {
            let (name, data) = (body["type"].as_str().unwrap_or_default(), body.to_string().into_bytes());
            let event = frame::Event { raw: b"", name: name.as_bytes(), data: Some(data.into()) };
            outbound(dialect).glance(&event, Look::Commit);
            outbound(dialect).glance(&event, Look::Meter);
            if reader.decode(&event, &mut events).is_err() {
                break;
            }
        }
        fold(&events).map_err(TestCaseError::fail)?;
        for other in Dialect::ALL {
            grammar::check(other, &encode_all(other, &events)).map_err(TestCaseError::fail)?;
        }
    }
    Ok(())
}

fn seed_request() -> impl Strategy<Value = Value> {
    let openai = json!({"model": "m", "stream": true, "stream_options": {}, "max_tokens": 5, "stop": ["a"],
        "messages": [
            {"role": "developer", "content": [{"type": "text", "text": "s"}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
            {"role": "assistant", "content": "x", "reasoning_content": "r", "thinking_blocks": [],
                "tool_calls": [{"id": "a.b", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "a.b", "content": [{"type": "text", "text": "ok"}]}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}], "tool_choice": "auto",
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
        "reasoning_effort": "low"});
    let anthropic = json!({"model": "m", "max_tokens": 5, "system": [{"type": "text", "text": "s"}],
        "messages": [
            {"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": "d"}}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"_malformed_arguments": "x"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "is_error": true,
                "content": [{"type": "image", "source": {"type": "base64", "data": "AA=="}}]}]}],
        "tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "any"},
        "thinking": {"type": "enabled", "budget_tokens": 2000}, "output_config": {"effort": "low"}});
    let cohere = json!({"model": "m", "stream": true, "max_tokens": 5, "k": 1, "p": 1, "stop_sequences": ["a"],
        "messages": [
            {"role": "system", "content": [{"type": "text", "text": "s"}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x", "detail": "low"}}]},
            {"role": "assistant", "tool_plan": "p", "content": [{"type": "thinking", "thinking": "t"}],
                "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "null"}}],
                "citations": [{"start": 0, "end": 1, "content_index": 0, "type": "PLAN",
                    "sources": [{"type": "document", "id": "d", "document": {"title": "t"}}]}]},
            {"role": "tool", "tool_call_id": "a", "content": [{"type": "document", "document": {"id": "d",
                "data": {"text": "x"}}}]}],
        "documents": ["d", {"id": "i", "data": {"a": 1}}], "strict_tools": true, "logprobs": true,
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}], "tool_choice": "REQUIRED",
        "response_format": {"type": "json_object", "json_schema": {}}, "frequency_penalty": 2,
        "thinking": {"type": "enabled", "token_budget": 5}, "safety_mode": "OFF"});
    prop_oneof![mutated(openai), mutated(anthropic), mutated(cohere), any_json()]
}

fn seed_answer() -> impl Strategy<Value = Value> {
    let openai = json!({"id": "i", "model": "m", "choices": [{"index": 0, "finish_reason": "stop", "message": {
        "content": "x", "refusal": "r", "reasoning_content": "t", "thinking_blocks": [],
        "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{"}}]}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}});
    let anthropic = json!({"id": "i", "model": "m", "stop_reason": "end_turn", "content": [
        {"type": "text", "text": "x"}, {"type": "tool_use", "id": "a", "name": "f", "input": {}},
        {"type": "thinking", "thinking": "t", "signature": "s"}],
        "usage": {"input_tokens": 1, "output_tokens": 2, "cache_creation": {"ephemeral_1h_input_tokens": 1}}});
    let cohere = json!({"id": "i", "finish_reason": "COMPLETE", "message": {"role": "assistant", "tool_plan": "p",
        "content": [{"type": "text", "text": "x"}, {"type": "thinking", "thinking": "t", "redacted": "r"}],
        "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}],
        "citations": [{"start": 0, "end": 1, "text": "x", "content_index": 0, "sources": []}]},
        "logprobs": [{"text": "x", "token_ids": [1, 2], "logprobs": [-0.5, -1]}],
        "usage": {"billed_units": {"input_tokens": 1}, "tokens": {"output_tokens": 2}, "cached_tokens": 1}});
    let error = json!({"type": "error", "error": {"type": "t", "message": "m", "code": 1, "param": "p"}});
    prop_oneof![mutated(openai), mutated(anthropic), mutated(cohere), mutated(error), any_json()]
}

fn seed_event() -> impl Strategy<Value = Value> {
    let delta = json!({"id": "i", "model": "m", "choices": [{"index": 0, "finish_reason": null, "delta": {
        "content": "x", "reasoning": "r", "refusal": "n", "thinking_blocks": [{"type": "thinking",
        "thinking": "t", "signature": "s"}], "tool_calls": [{"index": 0, "id": "a",
        "function": {"name": "f", "arguments": "{}"}}]}}], "usage": {"prompt_tokens": 1}});
    let stop = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    let start = json!({"type": "message_start", "message": {"id": "i", "usage": {"input_tokens": 1}}});
    let block = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use",
        "id": "a", "name": "f", "input": {}}});
    let more = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta",
        "partial_json": "{"}});
    let close = json!({"type": "content_block_stop", "index": 0});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}});
    let last = json!({"type": "message_stop"});
    let seeds = [delta, stop, start, block, more, close, end, last];
    let whole = proptest::sample::select([&seeds[..], &cohere_events()].concat());
    prop_oneof![3 => whole.clone(), 3 => whole.prop_flat_map(mutated), 1 => any_json()]
}

fn cohere_events() -> Vec<Value> {
    let part = |kind: &str, message: Value| json!({"type": kind, "index": 0, "delta": {"message": message}});
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": ""}});
    let (content, text) = (json!({"type": "text", "text": "x"}), json!({"text": "y", "signature": "s"}));
    vec![
        json!({"type": "message-start", "id": "i", "delta": {"message": {"role": "assistant"}}}),
        part("content-start", json!({"content": content})),
        json!({"type": "content-delta", "index": 0, "delta": {"message": {"content": text}},
            "logprobs": {"text": "y", "token_ids": [1], "logprobs": [-1]}}),
        json!({"type": "content-end", "index": 0}),
        part("tool-plan-delta", json!({"tool_plan": "p"})),
        part("tool-call-start", json!({"tool_calls": call})),
        part("tool-call-delta", json!({"tool_calls": {"function": {"arguments": "null"}}})),
        json!({"type": "tool-call-end", "index": 0}),
        part(
            "citation-start",
            json!({"citations": {"start": 0, "end": 1, "content_index": 0, "sources": []}}),
        ),
        json!({"type": "message-end", "delta": {"finish_reason": "COMPLETE",
            "usage": {"billed_units": {"input_tokens": 1, "output_tokens": 2}}}}),
        json!({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "e"}}),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn openai_requests_survive(request in strategies::requests::openai()) {
        request_survives(Dialect::OpenAiChat, &request)?;
    }

    #[test]
    fn anthropic_requests_survive(request in strategies::requests::anthropic()) {
        request_survives(Dialect::AnthropicMessages, &request)?;
    }

    #[test]
    fn openai_answers_survive(response in strategies::answers::openai()) {
        response_survives(Dialect::OpenAiChat, &response)?;
        stream_survives(Dialect::OpenAiChat, &response)?;
    }

    #[test]
    fn anthropic_answers_survive(response in strategies::answers::anthropic()) {
        response_survives(Dialect::AnthropicMessages, &response)?;
        stream_survives(Dialect::AnthropicMessages, &response)?;
    }

    #[test]
    fn cohere_requests_survive(request in strategies::cohere::request()) {
        request_survives(Dialect::CohereChat, &request)?;
    }

    #[test]
    fn cohere_answers_survive(response in strategies::cohere::answer()) {
        response_survives(Dialect::CohereChat, &response)?;
        stream_survives(Dialect::CohereChat, &response)?;
    }

    #[test]
    fn any_events_make_well_formed_streams(events in any_events()) {
        for dialect in Dialect::ALL {
            grammar::check(dialect, &encode_all(dialect, &events)).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn any_request_is_handled(body in seed_request()) {
        request_is_handled(&body)?;
    }

    #[test]
    fn any_answer_is_handled(body in seed_answer()) {
        answer_is_handled(&body)?;
    }

    #[test]
    fn any_stream_is_handled(bodies in proptest::collection::vec(seed_event(), 0..12)) {
        events_are_handled(&bodies)?;
    }

    #[test]
    fn any_bytes_are_handled(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let body = Bytes::from(bytes);
        let event = frame::Event { raw: &body, name: b"error", data: Some(body.as_ref().into()) };
        for dialect in Dialect::ALL {
            outbound(dialect).usage_in_tail(&body);
            outbound(dialect).decode_fault(502, &body);
            prop_assert!(outbound(dialect).decode_response(&body).is_err());
            for look in [Look::Commit, Look::Meter] {
                outbound(dialect).glance(&event, look);
            }
            let _ = outbound(dialect).decode_events().decode(&event, &mut Vec::new());
        }
    }
}
