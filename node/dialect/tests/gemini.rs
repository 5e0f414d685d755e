//! What Gemini demands of requests that come from other dialects, and its clients of streams.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use trestle_dialect::{
    Dialect, Envelope, Quirks, StreamContext, Target, frame, inbound,
    ir::{BlockStart, Delta, Event, Features, Json, Text},
    outbound,
};

fn translate(from: Dialect, model: &str, body: &Value) -> (Value, Vec<String>) {
    let envelope = Envelope::parse(body.to_string().into()).unwrap();
    let request = inbound(from).decode_request(&envelope).unwrap();
    let quirks = Quirks::default();
    let target = Target { model, quirks: &quirks, params: &[], wants_max_completion_tokens: false };
    let encoded = outbound(Dialect::Gemini).encode_request(&request, &target).unwrap();
    (serde_json::from_slice(&encoded.body).unwrap(), encoded.dropped)
}

fn chat(members: Value) -> Value {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    body
}

#[test]
fn reasoning_is_told_as_the_model_takes_it() {
    let level = |level: &str| json!({"thinkingLevel": level, "includeThoughts": true});
    let budget = |tokens: u64| json!({"thinkingBudget": tokens, "includeThoughts": true});
    for (model, effort, thinking, dropped) in [
        ("gemini-3-pro-preview", "minimal", level("LOW"), "reasoning_effort"),
        ("gemini-3-pro-preview", "high", level("HIGH"), ""),
        ("gemini-3-flash", "minimal", level("MINIMAL"), ""),
        ("gemini-3-flash", "medium", level("MEDIUM"), ""),
        ("gemini-3-flash", "xhigh", level("HIGH"), "reasoning_effort"),
        ("gemini-3-flash", "none", json!({"thinkingLevel": "MINIMAL"}), "thinking"),
        ("gemini-2.5-flash", "low", budget(2048), ""),
        ("gemini-2.5-flash", "xhigh", budget(24_576), ""),
        ("gemini-2.5-flash", "none", json!({"thinkingBudget": 0}), ""),
        ("gemini-2.5-pro", "none", json!({"thinkingBudget": 128}), "thinking"),
        ("gemini-2.0-flash", "low", json!(null), "reasoning_effort"),
        ("gemini-2.0-flash", "none", json!(null), ""),
        ("some-model", "high", budget(16_384), ""),
    ] {
        let (sent, named) = translate(Dialect::OpenAiChat, model, &chat(json!({"reasoning_effort": effort})));
        assert_eq!(sent["generationConfig"]["thinkingConfig"], thinking, "{model} {effort}");
        let expected: Vec<_> = Some(dropped).filter(|name| !name.is_empty()).into_iter().collect();
        assert_eq!(named, expected, "{model} {effort}");
    }
    let body = json!({"model": "m", "max_tokens": 90_000, "messages": [{"role": "user", "content": "hi"}],
        "thinking": {"type": "enabled", "budget_tokens": 60_000}});
    for (model, tokens, dropped) in
        [("gemini-3-pro", 60_000, &[][..]), ("gemini-2.5-pro", 32_768, &["thinking.budget_tokens"])]
    {
        let (sent, named) = translate(Dialect::AnthropicMessages, model, &body);
        assert_eq!(sent["generationConfig"]["thinkingConfig"], budget(tokens));
        assert_eq!(named, dropped);
    }
    let adaptive = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}],
        "thinking": {"type": "adaptive"}});
    for (model, thinking) in [
        ("gemini-2.5-flash-lite", json!({"thinkingBudget": -1, "includeThoughts": true})),
        ("gemini-2.5-flash", json!({"includeThoughts": true})),
        ("gemini-3-flash", json!({"includeThoughts": true})),
    ] {
        let (sent, _) = translate(Dialect::AnthropicMessages, model, &adaptive);
        assert_eq!(sent["generationConfig"]["thinkingConfig"], thinking, "{model}");
    }
}

/// Two calls, one of them signed by Claude, and a picture as a result.
fn with_calls() -> Value {
    json!({"model": "m", "messages": [
        {"role": "user", "content": "Draw."},
        {"role": "assistant", "content": "Sure."},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "t", "signature": "Er=="},
            {"type": "tool_use", "id": "a", "name": "draw", "input": {}, "signature": "Er=="},
            {"type": "tool_use", "id": "b", "name": "look", "input": {}}]},
        {"role": "user", "content": [
            {"type": "text", "text": "Here."},
            {"type": "tool_result", "tool_use_id": "b", "content": "fine"},
            {"type": "tool_result", "tool_use_id": "a", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}}]}]},
        {"role": "user", "content": "Go on."}]})
}

#[test]
fn calls_of_other_models_are_signed_for_those_that_demand_it() {
    let skip = json!("skip_thought_signature_validator");
    for (model, signature) in [
        ("gemini-3-pro-preview", skip.clone()),
        ("gemini-flash-latest", skip),
        ("gemini-2.5-pro", json!(null)),
    ] {
        let (sent, dropped) = translate(Dialect::AnthropicMessages, model, &with_calls());
        let parts = &sent["contents"][1]["parts"];
        assert_eq!(parts[0], json!({"text": "Sure."}));
        assert_eq!(parts[1]["thoughtSignature"], signature, "{model}");
        assert_eq!(parts[2]["thoughtSignature"], json!(null), "only the first call of a turn");
        assert_eq!(dropped, ["messages[].content[].thinking", "messages[].content[].signature"]);
    }
    // As an Anthropic client sends back what Gemini signed.
    let mut own = with_calls();
    own["messages"][2]["content"][1]["signature"] = json!("trestle:gemini:CiQB");
    let (sent, _) = translate(Dialect::AnthropicMessages, "gemini-3-pro-preview", &own);
    assert_eq!(sent["contents"][1]["parts"][1]["thoughtSignature"], "CiQB");
}

#[test]
fn results_follow_their_calls_in_one_content() {
    let picture = json!({"inlineData": {"mimeType": "image/png", "data": "AA=="}});
    let (sent, _) = translate(Dialect::AnthropicMessages, "gemini-3-pro", &with_calls());
    let contents = sent["contents"].as_array().unwrap();
    assert_eq!(contents.len(), 3, "neighbours of one role are one content");
    assert_eq!(
        contents[2]["parts"],
        json!([
            {"functionResponse": {"id": "b", "name": "look", "response": {"result": "fine"}}},
            {"functionResponse": {"id": "a", "name": "draw", "response": {"result": ""}, "parts": [picture]}},
            {"text": "Here."}, {"text": "Go on."}])
    );
    let (sent, _) = translate(Dialect::AnthropicMessages, "gemini-2.5-flash", &with_calls());
    let see = json!({"result": "[see the parts that follow]"});
    assert_eq!(
        sent["contents"][2]["parts"],
        json!([
            {"functionResponse": {"id": "b", "name": "look", "response": {"result": "fine"}}},
            {"functionResponse": {"id": "a", "name": "draw", "response": see}},
            picture, {"text": "Here."}, {"text": "Go on."}])
    );
}

#[test]
fn one_keyword_cannot_spoil_all_tools() {
    let body = chat(json!({"tools": [
        {"type": "function", "function": {"name": "a", "parameters": {"$schema": "x", "type": "object",
            "properties": {"n": {"type": "integer", "exclusiveMinimum": 0}, "u": {"type": "string", "format": "uri"}},
            "if": {}, "unevaluatedProperties": false}}},
        {"type": "function", "function": {"name": "b"}}]}));
    let (sent, dropped) = translate(Dialect::OpenAiChat, "gemini-3-flash", &body);
    assert_eq!(
        sent["tools"],
        json!([{"functionDeclarations": [
            {"name": "a", "parametersJsonSchema": {"type": "object", "properties": {
                "n": {"type": "integer", "minimum": 1}, "u": {"type": "string", "description": "Format: uri"}}}},
            {"name": "b"}]}])
    );
    assert_eq!(dropped, ["tools[].parameters.if", "tools[].parameters.unevaluatedProperties"]);
}

#[test]
fn needs_of_others_are_refused_and_own_ones_are_not() {
    let quirks = Quirks::default();
    let target = Target { model: "m", quirks: &quirks, params: &[], wants_max_completion_tokens: false };
    let encode = |from: Dialect, body: &Value| {
        let envelope = Envelope::parse(body.to_string().into()).unwrap();
        let request = inbound(from).decode_request(&envelope).unwrap();
        let sent = outbound(Dialect::Gemini).encode_request(&request, &target);
        (request.needs, sent.map(|sent| serde_json::from_slice::<Value>(&sent.body).unwrap()).ok())
    };
    let lacks = outbound(Dialect::Gemini).lacks_in_translation();
    for members in
        [json!({"n": 2}), json!({"modalities": ["audio"], "audio": {}}), json!({"web_search_options": {}})]
    {
        let (needs, sent) = encode(Dialect::OpenAiChat, &chat(members));
        assert!(!needs.and(lacks).is_empty() && sent.is_none());
    }
    let own = json!({"contents": [{"role": "user", "parts": [{"text": "hi"}]}], "tools": [{"googleSearch": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}, "retrievalConfig": {}},
        "generationConfig": {"candidateCount": 2, "responseModalities": ["TEXT", "IMAGE"]},
        "cachedContent": "cachedContents/a"});
    let (needs, sent) = encode(Dialect::Gemini, &own);
    let all = Features::CHOICES.with(Features::IMAGE_OUTPUT).with(Features::SERVER_TOOLS);
    assert_eq!(needs, all);
    assert_eq!(sent, Some(own));
    // A part of the conversation lies with the vendor.
    let cached = json!({"contents": [], "cachedContent": "cachedContents/a"});
    let (needs, _) = encode(Dialect::Gemini, &cached);
    for other in [Dialect::OpenAiChat, Dialect::AnthropicMessages] {
        assert!(!needs.and(outbound(other).lacks_in_translation()).is_empty());
    }
}

#[test]
fn parameters_of_the_target_take_the_place_of_whole_members() {
    let body = chat(json!({"temperature": 1, "tools": [], "user": "u"}));
    let envelope = Envelope::parse(body.to_string().into()).unwrap();
    let request = inbound(Dialect::OpenAiChat).decode_request(&envelope).unwrap();
    let quirks = Quirks { drop: vec!["systemInstruction".to_owned()], ..Quirks::default() };
    let params = [("generationConfig".to_owned(), Json::fixed(r#"{"topK":1}"#))];
    let target = Target { model: "m", quirks: &quirks, params: &params, wants_max_completion_tokens: false };
    let sent = outbound(Dialect::Gemini).encode_request(&request, &target).unwrap();
    let expected = r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"topK":1}}"#;
    assert_eq!(String::from_utf8(sent.body).unwrap(), expected);
    assert_eq!(sent.dropped, ["user"]);
}

fn write(events: &[Event]) -> (String, Vec<String>) {
    let context = StreamContext {
        request_id: "req-1".to_owned(),
        model: "chat".to_owned(),
        created: 1,
        include_usage: true,
        echo: None,
    };
    let mut writer = inbound(Dialect::Gemini).encode_events(&context);
    let (mut wire, mut dropped) = (Vec::new(), Vec::new());
    events.iter().for_each(|event| writer.encode(event, &mut wire, &mut dropped));
    (String::from_utf8(wire).unwrap(), dropped)
}

#[test]
fn deltas_go_on_at_once_and_calls_whole() {
    let start = |index, block| Event::BlockStart { index, block };
    let call = BlockStart::ToolUse { id: Text::fixed("a"), name: Text::fixed("f") };
    let input = |text| Event::Delta { index: 0, delta: Delta::ToolInput(Text::new(text)) };
    let mut events = vec![start(0, call), input("{\"x\":"), start(1, BlockStart::Text)];
    assert_eq!(write(&events).0, "", "arguments wait");
    events.push(Event::Delta { index: 1, delta: Delta::Text(Text::fixed("Hi")) });
    let said = write(&events).0;
    assert!(
        said.ends_with("\n\n") && said.matches("data: ").count() == 1 && said.contains("\"Hi\""),
        "{said}"
    );
    events.extend([input("1}"), Event::BlockStop { index: 0 }, Event::KeepAlive]);
    let called = write(&events).0;
    assert!(called.contains(r#"{"functionCall":{"id":"a","name":"f","args":{"x":1}}}"#), "{called}");
    assert!(called.ends_with("\n\n\n"), "an empty line keeps it alive");
    assert!(!called.contains("finishReason"), "no end is forged");

    // What waits is bounded.
    let piece = "x".repeat(1 << 20);
    let mut events = vec![events[0].clone()];
    events.extend((0..5).map(|_| input(&piece)));
    events.extend([input("more"), Event::BlockStop { index: 0 }]);
    let (wire, dropped) = write(&events);
    assert_eq!((wire.as_str(), dropped.as_slice()), ("", &["content[].tool_use".to_owned()][..]));
}

#[test]
fn a_stream_that_breaks_off_has_not_ended() {
    let read = |bodies: &[&str]| {
        let (mut reader, mut events) = (outbound(Dialect::Gemini).decode_events(), Vec::new());
        for body in bodies {
            let event = frame::Event { raw: b"", name: b"", data: Some(body.as_bytes().into()) };
            reader.decode(&event, &mut events).unwrap();
        }
        (reader.ended(), events)
    };
    let part =
        r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":1}}"#;
    let (ended, events) = read(&[part, part]);
    assert!(!ended && !events.iter().any(|event| matches!(event, Event::Stop { .. } | Event::End)));
    let last = r#"{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2}}"#;
    let (ended, events) = read(&[part, last, part]);
    assert!(ended && matches!(events.last(), Some(Event::End)), "nothing is read behind the end");
    let usage = events.iter().rev().find_map(|event| match event {
        Event::Usage(usage) => Some(usage.output),
        _ => None,
    });
    assert_eq!(usage, Some(2));
}
