//! What Cohere's dialect does differently from the others, in requests, answers and streams.

#![allow(clippy::unwrap_used)]

use bytes::Bytes;
use serde_json::{Value, json};
use trestle_dialect::{
    Dialect, Envelope, Quirks, Refusal, StreamContext, Target, inbound,
    ir::{Block, BlockKind, Citation, Event, Json, Response, StopReason, Text, Usage},
    json::Raw,
    outbound,
};

const COHERE: Dialect = Dialect::CohereChat;
const OPENAI: Dialect = Dialect::OpenAiChat;
const ANTHROPIC: Dialect = Dialect::AnthropicMessages;

fn try_translate(from: Dialect, body: &Value) -> Result<(Value, Vec<String>), Refusal> {
    let envelope = Envelope::parse(body.to_string().into()).unwrap();
    let request = inbound(from).decode_request(&envelope).unwrap();
    let quirks = Quirks::default();
    let target = Target { model: "up", quirks: &quirks, params: &[], wants_max_completion_tokens: false };
    let encoded = outbound(COHERE).encode_request(&request, &target)?;
    Ok((serde_json::from_slice(&encoded.body).unwrap(), encoded.dropped))
}

fn translate(from: Dialect, body: &Value) -> (Value, Vec<String>) {
    try_translate(from, body).unwrap()
}

/// A body of OpenAI's with one short question, and these members.
fn asks(members: &Value) -> Value {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    body
}

#[test]
#[rustfmt::skip]
fn numbers_stay_within_bounds() {
    let cases = [
        (json!({"temperature": 1.5}), json!({"temperature": 1}), &["temperature"][..]),
        (json!({"temperature": 1, "seed": 7}), json!({"temperature": 1, "seed": 7}), &[]),
        (json!({"top_p": 1}), json!({"p": 0.99}), &["top_p"]),
        (json!({"top_p": 0}), json!({"p": 0.01}), &["top_p"]),
        (json!({"top_p": 0.5, "top_k": 7}), json!({"p": 0.5, "k": 7}), &[]),
        (json!({"top_k": 501}), json!({"k": 500}), &["top_k"]),
        (json!({"frequency_penalty": -2}), json!({"frequency_penalty": 0}), &["frequency_penalty"]),
        (json!({"frequency_penalty": 0.5, "presence_penalty": 0.5}), json!({"frequency_penalty": 0.5}), &["presence_penalty"]),
        (json!({"frequency_penalty": 0, "presence_penalty": 2}), json!({"presence_penalty": 1}), &["presence_penalty"]),
        (json!({"frequency_penalty": 0.1, "presence_penalty": 0.0}), json!({"frequency_penalty": 0.1}), &[]),
        (json!({"stop": ["1", "2", "3", "4", "5", "6"]}), json!({"stop_sequences": ["1", "2", "3", "4", "5"]}), &["stop"]),
        (json!({"parallel_tool_calls": false}), json!({}), &["parallel_tool_calls"]),
        (json!({"reasoning_effort": "low"}), json!({"thinking": {"type": "enabled", "token_budget": 2048}}), &[]),
        (json!({"reasoning_effort": "xhigh"}), json!({"thinking": {"type": "enabled"}}), &[]),
        (json!({"reasoning_effort": "none"}), json!({"thinking": {"type": "disabled"}}), &[]),
    ];
    for (members, expected, named) in cases {
        let (sent, dropped) = translate(OPENAI, &asks(&members));
        let mut whole = json!({"model": "up", "messages": [{"role": "user", "content": "hi"}]});
        whole.as_object_mut().unwrap().extend(expected.as_object().unwrap().clone());
        assert_eq!(sent, whole);
        assert_eq!(dropped, named, "{members}");
    }
}

#[test]
fn a_named_tool_is_the_only_one_on_offer() {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name, "parameters": {}}});
    let choice = |name: &str| json!({"type": "function", "function": {"name": name}});
    let body = |name: &str| asks(&json!({"tools": [tool("f"), tool("g")], "tool_choice": choice(name)}));
    let (sent, dropped) = translate(OPENAI, &body("g"));
    assert_eq!((&sent["tools"], &sent["tool_choice"]), (&json!([tool("g")]), &json!("REQUIRED")));
    assert!(dropped.is_empty(), "{dropped:?}");
    assert_eq!(try_translate(OPENAI, &body("h")).unwrap_err().param.as_deref(), Some("tool_choice"));
    for (word, expected) in [("auto", json!(null)), ("none", json!("NONE")), ("required", json!("REQUIRED"))]
    {
        let (sent, _) = translate(OPENAI, &asks(&json!({"tools": [tool("f")], "tool_choice": word})));
        assert_eq!(sent["tool_choice"], expected, "{word}");
    }
}

#[test]
fn tools_are_strict_together() {
    let tool = |strict: Value| json!({"type": "function", "function": {"name": "f", "strict": strict}});
    let sent = |tools: Vec<Value>| translate(OPENAI, &asks(&json!({"tools": tools})));
    assert_eq!(sent(vec![tool(json!(true)), tool(json!(true))]).0["strict_tools"], true);
    let (mixed, dropped) = sent(vec![tool(json!(true)), tool(json!(null))]);
    assert_eq!((mixed.get("strict_tools"), dropped), (None, vec!["tools[].strict".to_owned()]));
    assert_eq!(mixed["tools"][0]["function"]["parameters"], json!({"type": "object", "properties": {}}));
}

#[test]
fn a_form_excludes_tools_and_documents() {
    let schema = json!({"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}});
    let tool = json!({"type": "function", "function": {"name": "f"}});
    let refusal = try_translate(OPENAI, &asks(&json!({"response_format": schema, "tools": [tool]})));
    assert_eq!(refusal.unwrap_err().param.as_deref(), Some("response_format"));

    let document = json!({"type": "document", "title": "T", "source": {"type": "text", "media_type": "text/plain", "data": "d"}});
    let mut body = json!({"model": "m", "max_tokens": 5, "messages": [
        {"role": "user", "content": [document, {"type": "text", "text": "hi"}]}]});
    let (sent, _) = translate(ANTHROPIC, &body);
    assert_eq!(sent["documents"], json!([{"data": {"text": "d", "title": "T"}}]));
    assert_eq!(sent["messages"], json!([{"role": "user", "content": "hi"}]));
    body["output_config"] = json!({"format": {"type": "json_schema", "schema": {"type": "object"}}});
    let (sent, _) = translate(ANTHROPIC, &body);
    let told = json!([{"type": "text", "text": "T\nd"}, {"type": "text", "text": "hi"}]);
    assert_eq!((sent.get("documents"), &sent["messages"][0]["content"]), (None, &told));
    body["messages"][0]["content"] = json!([document]);
    body["output_config"] = json!(null);
    let (sent, _) = translate(ANTHROPIC, &body);
    assert_eq!(
        sent["messages"],
        json!([{"role": "user", "content": "T\nd"}]),
        "documents alone are what is said"
    );
}

#[test]
fn roles_and_empty_messages() {
    let message = |role: &str, content: &str| json!({"role": role, "content": content});
    let body = json!({"model": "m", "messages": [message("developer", "a"), message("user", "hi"),
        message("assistant", ""), message("system", "b")]});
    let (sent, dropped) = translate(OPENAI, &body);
    let system = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
    let expected = json!([{"role": "system", "content": system}, message("user", "hi")]);
    assert_eq!((&sent["messages"], &dropped[..]), (&expected, &["messages[].role".to_owned()][..]));
}

#[test]
fn reasoning_before_a_call_is_the_plan() {
    let call = json!({"type": "tool_use", "id": "a", "name": "f", "input": {}});
    let thinking = |text: &str| json!({"type": "thinking", "thinking": text, "signature": "s"});
    let content = json!([thinking("one"), {"type": "text", "text": "x"}, thinking("two"), call]);
    let body =
        json!({"model": "m", "max_tokens": 5, "messages": [{"role": "assistant", "content": content}]});
    let (sent, dropped) = translate(ANTHROPIC, &body);
    let message = &sent["messages"][0];
    assert_eq!(message["tool_plan"], "two");
    assert_eq!(message["content"][0], json!({"type": "thinking", "thinking": "one"}));
    assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{}");
    assert_eq!(dropped, ["messages[].content[].signature"]);
}

#[test]
fn usage_is_what_is_billed() {
    let usage = |text: &str| outbound(COHERE).usage(Raw::parse(text.as_bytes()).unwrap());
    let of = |input, output, cache_read| Some(Usage { input, output, cache_read, ..Usage::default() });
    let cases = [
        (
            r#"{"billed_units":{"input_tokens":5,"output_tokens":4.0},"tokens":{"input_tokens":71,"output_tokens":9}}"#,
            of(5, 4, 0),
        ),
        (r#"{"tokens":{"input_tokens":71,"output_tokens":9},"cached_tokens":64}"#, of(71, 9, 64)),
        (
            r#"{"billed_units":{"input_tokens":20},"tokens":{"input_tokens":30,"output_tokens":9},"cached_tokens":25}"#,
            of(20, 9, 15),
        ),
        (r#"{"billed_units":{"input_tokens":20},"cached_tokens":25}"#, of(20, 0, 20)),
        (r#"{"billed_units":{"search_units":1}}"#, None),
        (r#"{"cached_tokens":1}"#, None),
        ("[]", None),
    ];
    for (text, expected) in cases {
        assert_eq!(usage(text), expected, "{text}");
    }
}

#[test]
fn answers_that_are_none() {
    let cases = [
        (r#"{"id":"a","message":"too many tokens"}"#, "an error inside of a success: too many tokens"),
        (r#"{"id":"a","message":{"content":[]},"finish_reason":"ERROR"}"#, "the generation failed"),
        (r#"{"id":"a","message":{"content":[]},"finish_reason":"TIMEOUT"}"#, "the generation took too long"),
        (r#"{"id":"a"}"#, "an answer without a message"),
        ("<html>", "not JSON"),
    ];
    for (body, what) in cases {
        let error = outbound(COHERE).decode_response(&Bytes::from_static(body.as_bytes())).unwrap_err();
        assert!(error.starts_with(what), "{error}");
    }
    let calls = r#"{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":""}}]},"finish_reason":"COMPLETE"}"#;
    let response = outbound(COHERE).decode_response(&Bytes::from_static(calls.as_bytes())).unwrap();
    assert_eq!(response.stop, StopReason::ToolUse, "calls are to be made, whatever the reason says");
    assert!(matches!(&response.blocks[0].kind, BlockKind::ToolUse { input, .. } if input.is("{}")));
}

fn decode(events: &[Value]) -> (Vec<Event>, bool) {
    let (mut reader, mut out) = (outbound(COHERE).decode_events(), Vec::new());
    for event in events {
        let wire = format!("data: {event}\n\n");
        reader.decode(&COHERE.framing().events(wire.as_bytes()).next().unwrap(), &mut out).unwrap();
    }
    (out, reader.ended())
}

fn part(kind: &str, index: u64, message: &Value) -> Value {
    json!({"type": kind, "index": index, "delta": {"message": message}})
}

fn call(index: u64, id: &str) -> Value {
    let call = json!({"id": id, "type": "function", "function": {"name": "f", "arguments": ""}});
    part("tool-call-start", index, &json!({"tool_calls": call}))
}

fn arguments(index: u64, text: &str) -> Value {
    part("tool-call-delta", index, &json!({"tool_calls": {"function": {"arguments": text}}}))
}

fn context() -> StreamContext {
    StreamContext { request_id: "r".to_owned(), model: "m".to_owned(), created: 1, include_usage: true }
}

/// The events in short.
fn short(events: &[Event]) -> Vec<String> {
    let said = |event: &Event| {
        let text = format!("{event:?}");
        let kept = text.split(['{', '(']).next().unwrap_or_default().trim().to_owned();
        match event {
            Event::Delta { index, delta } => format!("{index} {delta:?}"),
            Event::BlockStart { index, .. } => format!("open {index}"),
            Event::BlockStop { index } => format!("close {index}"),
            _ => kept,
        }
    };
    events.iter().map(said).collect()
}

#[test]
fn only_null_is_no_arguments() {
    let stream = |pieces: &[&str]| {
        let pieces = pieces.iter().map(|piece| arguments(0, piece));
        let end = json!({"type": "tool-call-end", "index": 0});
        let events: Vec<_> = [call(0, "a")].into_iter().chain(pieces).chain([end]).collect();
        let (events, _) = decode(&events);
        short(&events).into_iter().skip(2).collect::<Vec<_>>()
    };
    assert_eq!(stream(&["null"]), Vec::<String>::new());
    assert_eq!(stream(&["n", "ul", "l"]), Vec::<String>::new());
    assert_eq!(stream(&[]), Vec::<String>::new());
    assert_eq!(stream(&["nul"]), [r#"0 ToolInput("nul")"#]);
    assert_eq!(stream(&["nu", "x", "null"]), [r#"0 ToolInput("nux")"#, r#"0 ToolInput("null")"#]);
    assert_eq!(stream(&["{}"]), [r#"0 ToolInput("{}")"#]);
}

#[test]
fn calls_that_share_an_index_are_told_apart() {
    let events =
        [call(0, "a"), arguments(0, "{\"a"), arguments(0, "\":1}"), call(0, "b"), arguments(0, "{}")];
    let expected = [
        "Start",
        "open 0",
        r#"0 ToolInput("{\"a")"#,
        r#"0 ToolInput("\":1}")"#,
        "close 0",
        "open 1",
        r#"1 ToolInput("{}")"#,
    ];
    assert_eq!(short(&decode(&events).0), expected);
    // By the wire's own rules the first would be closed; where it is not, both stay open.
    let events = [call(0, "a"), call(1, "b"), arguments(0, "{}"), arguments(1, "[]")];
    let expected = ["Start", "open 0", "open 1", r#"0 ToolInput("{}")"#, r#"1 ToolInput("[]")"#];
    assert_eq!(short(&decode(&events).0), expected);
}

#[test]
fn only_its_own_end_ends_a_stream() {
    let text = part("content-delta", 0, &json!({"content": {"text": "a"}}));
    assert!(!decode(std::slice::from_ref(&text)).1);
    let end = |reason: &str| json!({"type": "message-end", "delta": {"finish_reason": reason}});
    let (events, ended) = decode(&[text.clone(), end("COMPLETE"), text.clone()]);
    assert_eq!(short(&events), ["Start", "open 0", r#"0 Text("a")"#, "close 0", "Stop", "End"]);
    assert!(ended);
    for reason in ["ERROR", "TIMEOUT"] {
        let (events, ended) = decode(&[text.clone(), end(reason), text.clone()]);
        assert_eq!(short(&events), ["Start", "open 0", r#"0 Text("a")"#, "Fault"]);
        assert!(!ended);
    }
    let (mut reader, mut out) = (outbound(COHERE).decode_events(), Vec::new());
    for event in COHERE.framing().events(b"data: [DONE]\n\n") {
        reader.decode(&event, &mut out).unwrap();
    }
    assert!(!reader.ended(), "the end of another dialect");
}

#[test]
fn citations_go_with_their_text() {
    let cited = |dialect, json: &'static str, span| Citation {
        dialect,
        json: Json::fixed(json),
        span,
        url: Some(Text::fixed("https://example.com/")),
        title: None,
        cited_text: Some(Text::fixed("All of it.")),
    };
    let own = cited(COHERE, r#"{"start":0,"content_index":1,"end":1}"#, None);
    let foreign = [cited(ANTHROPIC, "{}", None), cited(OPENAI, "{}", Some((1, 3)))];
    let text = |text, citations| Block { citations, ..BlockKind::Text(Text::new(text)).into() };
    let elsewhere = BlockKind::Opaque { dialect: ANTHROPIC, json: Json::fixed(r#"{"type":"x"}"#) };
    let blocks = vec![elsewhere.into(), text("a", vec![own]), text("\u{e9}bcd", foreign.to_vec())];
    let response = Response {
        id: Text::default(),
        model: Text::default(),
        created: None,
        blocks,
        stop: StopReason::EndTurn,
        stop_sequence: None,
        logprobs: Vec::new(),
        usage: None,
        attachments: Vec::new(),
    };
    let encoded = inbound(COHERE).encode_response(&response, &context());
    let body: Value = serde_json::from_slice(&encoded.body).unwrap();
    let sources =
        json!([{"type": "document", "document": {"url": "https://example.com/", "text": "All of it."}}]);
    let of = |start: u64, end: u64, text: &str| json!({"start": start, "end": end, "text": text, "sources": sources, "content_index": 1, "type": "TEXT_CONTENT"});
    let expected = json!([{"start": 0, "content_index": 0, "end": 1}, of(0, 4, "\u{e9}bcd"), of(1, 3, "bc")]);
    assert_eq!(body["message"]["citations"], expected, "where the text stands now");
    assert_eq!(encoded.dropped, ["content[].x"]);
}

#[test]
fn a_citation_of_a_closed_block_is_not_lost() {
    let cited = |index: u64| json!({"citations": {"start": 0, "end": 1, "content_index": index}});
    let events = [
        part("content-delta", 0, &json!({"content": {"text": "a"}})),
        part("content-delta", 1, &json!({"content": {"text": "b"}})),
        part("citation-start", 0, &cited(0)),
        part("citation-start", 1, &cited(1)),
    ];
    let (events, _) = decode(&events);
    let told = short(&events);
    assert!(told[6].starts_with("1 Opaque"), "{told:?}");
    assert!(told[7].starts_with("1 Citation"), "{told:?}");
    let context = StreamContext {
        request_id: "r".to_owned(),
        model: "m".to_owned(),
        created: 1,
        include_usage: true,
        echo: None,
    };
    let (mut writer, mut wire, mut dropped) =
        (inbound(COHERE).encode_events(&context), Vec::new(), Vec::new());
    events.iter().for_each(|event| writer.encode(event, &mut wire, &mut dropped));
    let wire = String::from_utf8(wire).unwrap();
    assert_eq!(wire.matches("event: citation-start").count(), 2, "{wire}");
    assert!(wire.contains(r#""content_index":0"#) && dropped.is_empty(), "{wire} {dropped:?}");
}
