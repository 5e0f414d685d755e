//! What holds for all requests, answers and streams, made up at random.

#![allow(clippy::unwrap_used, clippy::panic)]

mod grammar;
mod strategies;

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::{Value, json};
use strategies::{
    answers::{any_events, fold, normal, stream},
    bedrock_converse,
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
    StreamContext { request_id, model, created: 1, include_usage: true, echo: None }
}

/// A provider that takes all extensions.
fn generous() -> Quirks {
    let adaptive_thinking = vec!["m".to_owned()];
    Quirks { cache_control: true, echo_reasoning: true, top_k: true, adaptive_thinking, ..Quirks::default() }
}

fn target(dialect: Dialect, quirks: &Quirks) -> Target<'_> {
    // Where the model decides what is sent, one that takes most.
    let model = if dialect == Dialect::BedrockConverse { "anthropic.m" } else { "m" };
    Target { model, quirks, params: &[], wants_max_completion_tokens: false }
}

fn request_survives(dialect: Dialect, request: &Request) -> Result<(), TestCaseError> {
    let quirks = generous();
    let encoded = outbound(dialect).encode_request(request, &target(dialect, &quirks)).unwrap();
    prop_assert_eq!(&encoded.dropped, &malformed(dialect, &encoded.dropped));
    let envelope = Envelope::parse(encoded.body.into()).unwrap();
    let back = inbound(dialect).decode_request(&envelope).unwrap();
    prop_assert_eq!(&back, request);
    only_what_must_change_is_edited(dialect, &envelope)
}

/// For another model of the same dialect the body is the client's own, byte for byte, but for the model's name and, in
/// streams of OpenAI Chat, the wish for usage.
fn only_what_must_change_is_edited(dialect: Dialect, envelope: &Envelope) -> Result<(), TestCaseError> {
    let quirks = generous();
    let other = Target { model: "another", ..target(dialect, &quirks) };
    let (edits, dropped) = outbound(dialect).edit_request(envelope, &other).unwrap();
    prop_assert_eq!(dropped, Vec::<String>::new());
    let edited = Envelope::parse(edits.apply(envelope).concat().into()).unwrap();
    let rest = |envelope: &Envelope| {
        let changes =
            |name: &str| dialect == Dialect::OpenAiChat && name == "stream_options" || name == "model";
        let members = envelope.members().filter(|member| !changes(&String::from_utf8_lossy(member.key)));
        members.map(|member| (member.key.to_vec(), member.value.bytes().to_vec())).collect::<Vec<_>>()
    };
    prop_assert_eq!(rest(&edited), rest(envelope));
    if dialect.model_in_path() {
        prop_assert_eq!(edited.body(), envelope.body());
        return Ok(());
    }
    prop_assert_eq!(edited.get("model").unwrap().bytes(), br#""another""#);
    if dialect != Dialect::OpenAiChat || envelope.get("stream").is_none() {
        let text = |envelope: &Envelope| String::from_utf8(envelope.body().to_vec()).unwrap();
        let expected = text(envelope).replacen(r#""model":"m""#, r#""model":"another""#, 1);
        prop_assert_eq!(text(&edited), expected);
    }
    Ok(())
}

/// Only malformed arguments are named, and they come back.
fn malformed(dialect: Dialect, dropped: &[String]) -> Vec<String> {
    let known = dialect != Dialect::OpenAiChat && !dropped.is_empty();
    known.then(|| "messages[].tool_calls[].function.arguments".to_owned()).into_iter().collect()
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
        let (edits, _) = outbound(dialect).edit_request(&envelope, &target(dialect, &quirks)).unwrap();
        let edited = edits.apply(&envelope).concat();
        prop_assert!(Raw::parse(&edited).is_ok(), "{}", String::from_utf8_lossy(&edited));
        inbound(dialect).wants_usage(&envelope);
        let Ok(request) = inbound(dialect).decode_request(&envelope) else { continue };
        for other in Dialect::ALL {
            for quirks in [&quirks, &Quirks::default()] {
                if let Ok(encoded) = outbound(other).encode_request(&request, &target(other, quirks)) {
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
                "annotations": [{"type": "url_citation", "url_citation": {"start_index": 0, "end_index": 1, "url": "u"}}],
                "extra_content": {"google": {"thought_signature": "s"}}, "audio": {"id": "a"},
                "tool_calls": [{"id": "a.b", "type": "function", "function": {"name": "f", "arguments": "{}"},
                    "extra_content": {"google": {"thought_signature": "trestle:x:y"}}}]},
            {"role": "tool", "tool_call_id": "a.b", "content": [{"type": "text", "text": "ok"}]}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
        "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{"function": {"name": "f"}}]}},
        "logprobs": true, "top_logprobs": 2,
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {}}},
        "reasoning_effort": "low"});
    let anthropic = json!({"model": "m", "max_tokens": 5, "system": [{"type": "text", "text": "s"}],
        "messages": [
            {"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": "d"}},
                {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "t"}]}},
                {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"},
                {"type": "text", "text": "x", "citations": [{"type": "char_location", "cited_text": "c"}]},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"_malformed_arguments": "x"},
                    "signature": "trestle:openai-chat:s"}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "is_error": true,
                "content": [{"type": "image", "source": {"type": "base64", "data": "AA=="}}]}]}],
        "tools": [{"name": "f", "input_schema": {}}], "tool_choice": {"type": "any"},
        "thinking": {"type": "enabled", "budget_tokens": 2000}, "output_config": {"effort": "low"}});
    let bedrock = bedrock_converse::request();
    prop_oneof![
        mutated(openai),
        mutated(anthropic),
        mutated(gemini_request()),
        mutated(responses_request()),
        mutated(bedrock),
        mutated(cohere_request()),
        any_json()
    ]
}

fn gemini_request() -> Value {
    json!({"systemInstruction": {"parts": [{"text": "s"}]}, "contents": [
            {"role": "user", "parts": [{"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": "AA-_"}}]},
            {"role": "model", "parts": [{"text": "t", "thought": true, "thoughtSignature": "c2ln"},
                {"functionCall": {"id": "a", "name": "f", "args": {"x": 1}}, "thoughtSignature": "c2ln"}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"result": "r"},
                "parts": [{"inlineData": {"mimeType": "image/png", "data": "AA=="}}]}},
                {"fileData": {"fileUri": "gs://a/b", "mimeType": "video/mp4"}, "videoMetadata": {}}]}],
        "tools": [{"functionDeclarations": [{"name": "f", "parameters": {"type": "OBJECT", "properties":
            {"a": {"type": "STRING", "nullable": true}}}}]}, {"functionDeclarations": [{"name": "g",
            "parametersJsonSchema": {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object", "properties":
            {"x": {"$ref": "#/$defs/a"}, "y": {"enum": ["a"], "format": "uri"}}, "required": ["x"]}}}}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}},
        "generationConfig": {"temperature": 1, "stopSequences": ["a"], "responseMimeType": "application/json",
            "responseJsonSchema": {"allOf": [{"type": "object"}]}, "thinkingConfig": {"thinkingLevel": "LOW"}}})
}

fn responses_request() -> Value {
    json!({"model": "m", "instructions": "s", "input": [
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
        "include": ["reasoning.encrypted_content"], "max_output_tokens": 5, "store": false})
}

fn cohere_request() -> Value {
    json!({"model": "m", "stream": true, "max_tokens": 5, "k": 1, "p": 1, "stop_sequences": ["a"],
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
        "thinking": {"type": "enabled", "token_budget": 5}, "safety_mode": "OFF"})
}

fn seed_answer() -> impl Strategy<Value = Value> {
    let tokens = json!([{"token": "x", "logprob": -0.5, "bytes": [120], "top_logprobs": [{"token": "y", "logprob": -1}]}]);
    let openai = json!({"id": "i", "model": "m", "choices": [{"index": 0, "finish_reason": "stop",
        "logprobs": {"content": tokens, "refusal": null}, "message": {
        "content": "x", "refusal": "r", "reasoning_content": "t", "thinking_blocks": [],
        "annotations": [{"type": "url_citation", "url_citation": {"start_index": 0, "end_index": 9, "url": "u"}}],
        "audio": {"id": "a", "data": "AA==", "transcript": "x"},
        "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{"}}]}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}});
    let anthropic = json!({"id": "i", "model": "m", "stop_reason": "end_turn", "content": [
        {"type": "text", "text": "x", "citations": [{"type": "web_search_result_location", "url": "u", "title": "t"}]},
        {"type": "tool_use", "id": "a", "name": "f", "input": {}, "signature": "s"},
        {"type": "thinking", "thinking": "t", "signature": "s"}],
        "usage": {"input_tokens": 1, "output_tokens": 2, "cache_creation": {"ephemeral_1h_input_tokens": 1}}});
    let cohere = json!({"id": "i", "finish_reason": "COMPLETE", "message": {"role": "assistant", "tool_plan": "p",
        "content": [{"type": "text", "text": "x"}, {"type": "thinking", "thinking": "t", "redacted": "r"}],
        "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}],
        "citations": [{"start": 0, "end": 1, "text": "x", "content_index": 0, "sources": []}]},
        "logprobs": [{"text": "x", "token_ids": [1, 2], "logprobs": [-0.5, -1]}],
        "usage": {"billed_units": {"input_tokens": 1}, "tokens": {"output_tokens": 2}, "cached_tokens": 1}});
    let error = json!({"type": "error", "error": {"type": "t", "message": "m", "code": 1, "param": "p"}});
    let responses = json!({"id": "i", "model": "m", "status": "completed", "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "t"}],
            "encrypted_content": "e"},
        {"type": "message", "id": "msg_1", "content": [{"type": "output_text", "text": "x", "annotations": [],
            "logprobs": [{"token": "x", "logprob": 0, "bytes": [1], "top_logprobs": []}]},
            {"type": "refusal", "refusal": "r"}]},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "f", "arguments": "{"}],
        "usage": {"input_tokens": 1, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 1}}});
    let gemini = gemini_event();
    let bedrock = bedrock_converse::answer();
    prop_oneof![
        mutated(openai),
        mutated(anthropic),
        mutated(gemini),
        mutated(responses),
        mutated(bedrock),
        mutated(cohere),
        mutated(error),
        any_json()
    ]
}

/// A whole answer of Gemini, which is also an event.
fn gemini_event() -> Value {
    json!({"responseId": "i", "modelVersion": "m", "candidates": [{"index": 0, "finishReason": "STOP",
        "content": {"role": "model", "parts": [{"text": "t", "thought": true}, {"text": "a\u{e9}b"},
            {"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}, {"text": "end"}]},
        "groundingMetadata": {"groundingChunks": [{"web": {"uri": "u", "title": "t"}}], "groundingSupports":
            [{"segment": {"partIndex": 1, "startIndex": 1, "endIndex": 3}, "groundingChunkIndices": [0]}]},
        "logprobsResult": {"chosenCandidates": [{"token": "a", "logProbability": -1}]}}],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "thoughtsTokenCount": 1}})
}

fn seed_event() -> impl Strategy<Value = Value> {
    let delta = json!({"id": "i", "model": "m", "choices": [{"index": 0, "finish_reason": null, "delta": {
        "content": "x", "reasoning": "r", "refusal": "n", "thinking_blocks": [{"type": "thinking",
        "thinking": "t", "signature": "s"}], "audio": {"data": "AA=="}, "annotations": [{"type": "url_citation"}],
        "tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"google": {"thought_signature": "s"}}}]},
        "logprobs": {"content": [{"token": "x", "logprob": -0.5}]}}], "usage": {"prompt_tokens": 1}});
    let stop = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    let start = json!({"type": "message_start", "message": {"id": "i", "usage": {"input_tokens": 1}}});
    let block = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use",
        "id": "a", "name": "f", "input": {}}});
    let more = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta",
        "partial_json": "{"}});
    let cite = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta",
        "citation": {"type": "char_location", "cited_text": "c"}}});
    let close = json!({"type": "content_block_stop", "index": 0});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {}});
    let last = json!({"type": "message_stop"});
    let part = json!({"candidates": [{"content": {"parts": [{"text": "a"}]}}], "responseId": "i"});
    let mut seeds = vec![delta, stop, start, block, more, cite, close, end, last, part, gemini_event()];
    seeds.extend(bedrock_converse::events());
    seeds.extend(seed_responses_events());
    seeds.extend(cohere_events());
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
    fn responses_requests_survive(request in strategies::responses_requests::responses()) {
        request_survives(Dialect::OpenAiResponses, &request)?;
    }

    #[test]
    fn anthropic_requests_survive(request in strategies::requests::anthropic()) {
        request_survives(Dialect::AnthropicMessages, &request)?;
    }

    #[test]
    fn bedrock_requests_survive(request in bedrock_converse::requests()) {
        request_survives(Dialect::BedrockConverse, &request)?;
    }

    #[test]
    fn bedrock_answers_survive(response in bedrock_converse::answers()) {
        response_survives(Dialect::BedrockConverse, &response)?;
        stream_survives(Dialect::BedrockConverse, &response)?;
    }

    #[test]
    fn gemini_requests_survive(request in strategies::gemini_requests::gemini()) {
        request_survives(Dialect::Gemini, &request)?;
    }

    #[test]
    fn gemini_answers_survive(response in strategies::gemini_answers::gemini()) {
        response_survives(Dialect::Gemini, &response)?;
        stream_survives(Dialect::Gemini, &response)?;
    }

    #[test]
    fn gemini_sources_survive(response in strategies::gemini_answers::gemini_cited()) {
        response_survives(Dialect::Gemini, &response)?;
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
