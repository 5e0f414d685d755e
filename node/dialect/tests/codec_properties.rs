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
    let responses = json!({"model": "m", "instructions": "s", "input": [
            {"role": "developer", "content": "d"},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "x"},
                {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"},
                {"type": "input_file", "file_data": "AA==", "filename": "f"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "t"}],
                "encrypted_content": "e"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x",
                "annotations": [{"type": "url_citation", "url": "u"}]}]},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "o"}]},
            {"type": "item_reference", "id": "i"}],
        "tools": [{"type": "function", "name": "f", "parameters": {}, "strict": false}],
        "tool_choice": {"type": "function", "name": "f"}, "reasoning": {"effort": "low", "summary": "auto"},
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {}}, "verbosity": "low"},
        "include": ["reasoning.encrypted_content"], "max_output_tokens": 5, "store": false});
    prop_oneof![mutated(openai), mutated(anthropic), mutated(responses), any_json()]
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
    let error = json!({"type": "error", "error": {"type": "t", "message": "m", "code": 1, "param": "p"}});
    let responses = json!({"id": "i", "model": "m", "status": "completed", "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "t"}],
            "encrypted_content": "e"},
        {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "x", "annotations": [],
            "logprobs": [{"token": "x", "logprob": 0, "bytes": [1], "top_logprobs": []}]},
            {"type": "refusal", "refusal": "r"}]},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": "{"}],
        "usage": {"input_tokens": 1, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 1}}});
    prop_oneof![mutated(openai), mutated(anthropic), mutated(responses), mutated(error), any_json()]
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
    let mut seeds = vec![delta, stop, start, block, more, close, end, last];
    seeds.extend(seed_responses_events());
    let whole = proptest::sample::select(seeds);
    prop_oneof![3 => whole.clone(), 3 => whole.prop_flat_map(mutated), 1 => any_json()]
}

fn seed_responses_events() -> Vec<Value> {
    let reasoning = json!({"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"});
    let message = json!({"type": "message", "id": "msg", "content": [{"type": "output_text", "text": "x"}]});
    let call = json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"});
    let mut events = vec![
        json!({"type": "response.created", "response": {"id": "i", "model": "m"}}),
        json!({"type": "response.content_part.added", "output_index": 1, "content_index": 0,
            "part": {"type": "output_text", "text": ""}}),
        json!({"type": "response.content_part.done", "output_index": 1, "content_index": 0,
            "part": {"type": "refusal", "refusal": "r"}}),
        json!({"type": "response.output_text.annotation.added", "output_index": 1, "content_index": 0,
            "annotation": {"type": "url_citation", "url": "u"}}),
        json!({"type": "response.completed", "response": {"id": "i", "status": "incomplete",
            "output": [message, call], "usage": {"input_tokens": 1}}}),
    ];
    for (index, item) in [reasoning, message, call].iter().enumerate() {
        for when in ["added", "done"] {
            events.push(
                json!({"type": format!("response.output_item.{when}"), "output_index": index, "item": item}),
            );
        }
    }
    for (index, what) in
        [(0, "reasoning_summary_text"), (1, "output_text"), (1, "refusal"), (2, "function_call_arguments")]
    {
        events.push(json!({"type": format!("response.{what}.delta"), "output_index": index, "delta": "x"}));
    }
    events
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn openai_requests_survive(request in strategies::requests::openai()) {
        request_survives(Dialect::OpenAiChat, &request)?;
    }

    #[test]
    fn responses_requests_survive(request in strategies::responses_requests::responses()) {
        request_survives(Dialect::OpenAiResponses, &request)?;
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
    fn responses_answers_survive(response in strategies::answers::responses()) {
        response_survives(Dialect::OpenAiResponses, &response)?;
        stream_survives(Dialect::OpenAiResponses, &response)?;
    }

    #[test]
    fn anthropic_answers_survive(response in strategies::answers::anthropic()) {
        response_survives(Dialect::AnthropicMessages, &response)?;
        stream_survives(Dialect::AnthropicMessages, &response)?;
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
