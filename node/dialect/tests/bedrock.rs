//! What Bedrock Converse demands of a translated request, and what its models take.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use trestle_dialect::{
    Dialect, Envelope, Quirks, Refusal, Target, inbound,
    ir::{Features, Request},
    outbound,
};

const CLAUDE: &str = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

fn decode(dialect: Dialect, body: &Value) -> Request {
    let envelope = Envelope::parse(body.to_string().into()).unwrap();
    inbound(dialect).decode_request(&envelope).unwrap()
}

fn try_send(from: Dialect, model: &str, body: &Value) -> Result<(Value, Vec<String>), Refusal> {
    let quirks = Quirks::default();
    let target = Target { model, quirks: &quirks, params: &[], wants_max_completion_tokens: false };
    let encoded = outbound(Dialect::BedrockConverse).encode_request(&decode(from, body), &target)?;
    Ok((serde_json::from_slice(&encoded.body).unwrap(), encoded.dropped))
}

/// What becomes of an OpenAI request with these members.
fn send(model: &str, members: Value) -> (Value, Vec<String>) {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    try_send(Dialect::OpenAiChat, model, &body).unwrap()
}

fn messages(messages: Value) -> Value {
    send(CLAUDE, json!({"messages": messages})).0["messages"].clone()
}

#[test]
#[rustfmt::skip]
fn bad_members_are_named() {
    let user = |block: Value| json!({"messages": [{"role": "user", "content": [block]}]});
    let cases = [
        (json!({"messages": {}}), "messages", "must be an array"),
        (json!({"messages": [{"content": []}]}), "messages[0].role", "is missing"),
        (json!({"messages": [{"role": "tool", "content": []}]}), "messages[0].role", "must be user"),
        (json!({"messages": [{"role": "user", "content": "a"}]}), "messages[0].content", "must be an array"),
        (user(json!({})), "messages[0].content[0]", "must have a member"),
        (user(json!({"text": 1})), "messages[0].content[0].text", "must be a string"),
        (user(json!({"image": {"format": "png"}})), "messages[0].content[0].image.source", "is missing"),
        (user(json!({"document": {"source": {"text": "a"}}})), "messages[0].content[0].document.name", "is missing"),
        (user(json!({"toolResult": {"content": []}})), "messages[0].content[0].toolResult.toolUseId", "is missing"),
        (user(json!({"toolUse": {"toolUseId": "a", "name": "f", "input": [1]}})), "messages[0].content[0].toolUse.input", "must be an object"),
        (user(json!({"cachePoint": {"type": "odd"}})), "messages[0].content[0].cachePoint.type", "must be default"),
        (json!({"system": "a"}), "system", "must be an array"),
        (json!({"inferenceConfig": {"maxTokens": "many"}}), "inferenceConfig.maxTokens", "must be a whole number"),
        (json!({"inferenceConfig": {"stopSequences": [1]}}), "inferenceConfig.stopSequences[0]", "must be a string"),
        (json!({"toolConfig": {"tools": [{"toolSpec": {}}]}}), "toolConfig.tools[0].toolSpec.name", "is missing"),
        (json!({"toolConfig": {"toolChoice": {"tool": {}}}}), "toolConfig.toolChoice.tool.name", "is missing"),
        (json!({"outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": "{"}}}}}), "outputConfig.textFormat.structure.jsonSchema.schema", "must be the text of a JSON Schema"),
        (json!({"additionalModelRequestFields": {"thinking": {}}}), "additionalModelRequestFields.thinking.type", "is missing"),
        (json!({"additionalModelRequestFields": []}), "additionalModelRequestFields", "must be an object"),
    ];
    for (body, param, what) in cases {
        let envelope = Envelope::parse(body.to_string().into()).unwrap();
        let refusal = inbound(Dialect::BedrockConverse).decode_request(&envelope).unwrap_err();
        assert_eq!(refusal.param.as_deref(), Some(param), "{body}");
        assert!(refusal.message.starts_with(&format!("`{param}` {what}")), "{body}: {}", refusal.message);
    }
}

#[test]
fn turns_alternate_and_begin_with_the_user() {
    assert_eq!(
        messages(json!([{"role": "assistant", "content": "Welcome!"}, {"role": "user", "content": "a"},
            {"role": "user", "content": " "}, {"role": "user", "content": "b"}])),
        json!([{"role": "user", "content": [{"text": "[the conversation begins]"}]},
            {"role": "assistant", "content": [{"text": "Welcome!"}]},
            {"role": "user", "content": [{"text": "a"}, {"text": "b"}]}])
    );
    // An empty turn of the model leaves two of the user beside each other; results come first.
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}});
    assert_eq!(
        messages(json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": ""},
            {"role": "user", "content": "b"}, {"role": "assistant", "tool_calls": [call]},
            {"role": "user", "content": "wait"}, {"role": "tool", "tool_call_id": "c", "content": ""}])),
        json!([{"role": "user", "content": [{"text": "a"}, {"text": "b"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c", "name": "f", "input": {}}}]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "c", "content": [{"text": "[no output]"}]}}, {"text": "wait"}]}])
    );
}

#[test]
fn documents_have_names_and_a_text_beside_them() {
    let file =
        |name: &str, data: &str| json!({"type": "file", "file": {"filename": name, "file_data": data}});
    let pdf = "data:application/pdf;base64,JVBERi0=";
    let content = [
        file("q3_report.pdf", pdf),
        file("q3_report.pdf", pdf),
        json!({"type": "file", "file": {"file_data": pdf}}),
        file("code.rs", "data:text/rust;base64,YQ=="),
        file("table.CSV", "data:application/octet-stream;base64,YQ=="),
    ];
    let document = |format: &str, name: &str, bytes: &str| json!({"document": {"format": format, "name": name, "source": {"bytes": bytes}}});
    assert_eq!(
        messages(json!([{"role": "user", "content": content}])),
        json!([{"role": "user", "content": [
            document("pdf", "q3-report-pdf", "JVBERi0="),
            document("pdf", "q3-report-pdf (2)", "JVBERi0="),
            document("pdf", "document-1", "JVBERi0="),
            document("txt", "code-rs", "YQ=="),
            document("csv", "table-CSV", "YQ=="),
            {"text": "[see the document]"}]}])
    );
    let anthropic = json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": [
        {"type": "document", "source": {"type": "text", "data": "d", "media_type": "text/plain"},
            "context": "c", "citations": {"enabled": true}, "title": "t"}, {"type": "text", "text": "a"}]}]});
    let (sent, dropped) = try_send(Dialect::AnthropicMessages, CLAUDE, &anthropic).unwrap();
    assert_eq!(
        sent["messages"][0]["content"][0]["document"],
        json!({"format": "txt", "name": "t", "source": {"text": "d"}, "context": "c", "citations": {"enabled": true}})
    );
    assert!(dropped.is_empty(), "{dropped:?}");
}

#[test]
fn what_it_cannot_fetch_or_read_is_refused() {
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let cases = [
        (
            image("https://a/b.png"),
            "has an image by URL, which this target's dialect lacks: send its data as base64",
        ),
        (
            image("data:image/tiff;base64,AA=="),
            "has an image of type `image/tiff`, which this target's dialect lacks",
        ),
        (
            json!({"type": "file", "file": {"file_id": "f"}}),
            "has a document that lies with another vendor: send its data",
        ),
    ];
    for (part, what) in cases {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": "a"}, {"role": "user", "content": [part]}]});
        let refusal = try_send(Dialect::OpenAiChat, CLAUDE, &body).unwrap_err();
        assert_eq!((refusal.message.as_ref(), refusal.param.as_deref()), (what, Some("messages[1]")));
    }
}

#[test]
fn each_family_is_told_to_reason_in_its_own_words() {
    let thinking = |kind: &str| json!({"thinking": {"type": kind}});
    let budget = |tokens: u64| json!({"thinking": {"type": "enabled", "budget_tokens": tokens}});
    let nova = |effort: &str| json!({"reasoningConfig": {"type": "enabled", "maxReasoningEffort": effort}});
    let none = json!(null);
    let cases = [
        // model, effort, fields, effort of the API, dropped
        (CLAUDE, "low", budget(2048), none.clone(), &[][..]),
        (CLAUDE, "none", thinking("disabled"), none.clone(), &[]),
        ("anthropic.claude-opus-4-6-v1", "high", thinking("adaptive"), json!("high"), &[]),
        ("openai.gpt-oss-20b-1:0", "minimal", json!({"reasoning_effort": "low"}), none.clone(), &[]),
        ("us.amazon.nova-2-lite-v1:0", "high", nova("high"), none.clone(), &[]),
        ("us.amazon.nova-2-lite-v1:0", "low", nova("low"), none.clone(), &[]),
        ("us.amazon.nova-2-lite-v1:0", "none", none.clone(), none.clone(), &[]),
        ("amazon.nova-pro-v1:0", "low", none.clone(), none.clone(), &["reasoning_effort"]),
        ("us.meta.llama4-scout-17b-instruct-v1:0", "low", none.clone(), none.clone(), &["reasoning_effort"]),
        ("arn:aws:bedrock:us-east-1:1:application-inference-profile/x", "max", none, json!("high"), &[]),
    ];
    for (model, effort, fields, output, expected) in cases {
        let (sent, dropped) = send(model, json!({"reasoning_effort": effort}));
        assert_eq!(sent["additionalModelRequestFields"], fields, "{model} {effort}");
        assert_eq!(sent["outputConfig"]["effort"], output, "{model} {effort}");
        assert_eq!(dropped, expected, "{model} {effort}");
    }
    // The highest effort takes no limit, and the limit is worth more; a budget must lie below it.
    let (sent, dropped) = send(
        "amazon.nova-2-pro-v1:0",
        json!({"reasoning_effort": "high", "max_tokens": 5, "temperature": 0.5}),
    );
    assert_eq!(sent["additionalModelRequestFields"], nova("medium"));
    assert_eq!(
        (sent["inferenceConfig"].clone(), dropped),
        (json!({"maxTokens": 5, "temperature": 0.5}), vec!["reasoning_effort".to_owned()])
    );
    let (sent, dropped) =
        send("amazon.nova-2-pro-v1:0", json!({"reasoning_effort": "high", "temperature": 0.5, "top_k": 4}));
    assert_eq!(
        (sent.get("inferenceConfig"), dropped),
        (None, vec!["temperature".to_owned(), "top_k".to_owned()])
    );
    let (sent, _) = send(CLAUDE, json!({"reasoning_effort": "low", "max_tokens": 5}));
    assert_eq!(sent["inferenceConfig"], json!({"maxTokens": 2053}));
}

#[test]
fn members_find_their_place_or_are_named() {
    let nova = "amazon.nova-pro-v1:0";
    let cases = [
        (CLAUDE, json!({"top_k": 4}), json!({"additionalModelRequestFields": {"top_k": 4}}), &[][..]),
        (
            nova,
            json!({"top_k": 4}),
            json!({"additionalModelRequestFields": {"inferenceConfig": {"topK": 4}}}),
            &[],
        ),
        ("mistral.x", json!({"top_k": 4}), json!({}), &["top_k"]),
        (CLAUDE, json!({"temperature": 2}), json!({"inferenceConfig": {"temperature": 1}}), &["temperature"]),
        (
            CLAUDE,
            json!({"temperature": 0.5, "top_p": 0.9}),
            json!({"inferenceConfig": {"temperature": 0.5}}),
            &["top_p"],
        ),
        (
            nova,
            json!({"temperature": 0.5, "top_p": 1}),
            json!({"inferenceConfig": {"temperature": 0.5, "topP": 1}}),
            &[],
        ),
        (
            CLAUDE,
            json!({"stop": ["\n", "END"]}),
            json!({"inferenceConfig": {"stopSequences": ["END"]},
                "additionalModelResponseFieldPaths": ["/stop_sequence", "/delta/stop_sequence"]}),
            &["stop"],
        ),
        (nova, json!({"stop": ["\n"]}), json!({"inferenceConfig": {"stopSequences": ["\n"]}}), &[]),
        (nova, json!({"service_tier": "flex"}), json!({"serviceTier": {"type": "flex"}}), &[]),
        (nova, json!({"service_tier": "auto"}), json!({}), &[]),
        (nova, json!({"service_tier": "scale"}), json!({}), &["service_tier"]),
        (nova, json!({"seed": 1, "presence_penalty": 0, "user": "u"}), json!({}), &["seed", "user"]),
        (nova, json!({"stream": true, "stream_options": {"include_usage": true}}), json!({}), &[]),
        (nova, json!({"response_format": {"type": "json_object"}}), json!({}), &["response_format"]),
    ];
    for (model, members, expected, expected_dropped) in cases {
        let (mut sent, mut dropped) = send(model, members.clone());
        let messages = sent.as_object_mut().unwrap().remove("messages").unwrap();
        assert_eq!(messages, json!([{"role": "user", "content": [{"text": "hi"}]}]));
        assert_eq!(sent, expected, "{model} {members}");
        dropped.sort_unstable();
        assert_eq!(dropped, expected_dropped, "{model} {members}");
    }
}

#[test]
fn tools_stay_where_calls_are() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let called = json!([{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "x"}]);
    let tools = json!([{"type": "function", "function": {"name": "f", "description": "", "parameters": {"type": "object"}}}]);
    let spec = json!([{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}]);
    let bare =
        json!([{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object", "properties": {}}}}}]);
    let none = json!(null);
    let choice = |choice: Value| json!({"tool_choice": choice});
    let cases = [
        // model, members, toolConfig, fields, dropped
        (
            "amazon.nova-pro-v1:0",
            json!({"tools": tools, "tool_choice": "none"}),
            none.clone(),
            none.clone(),
            &[][..],
        ),
        (
            "amazon.nova-pro-v1:0",
            json!({"tools": tools, "tool_choice": "none", "messages": called}),
            json!({"tools": spec}),
            none.clone(),
            &["tool_choice"],
        ),
        ("amazon.nova-pro-v1:0", json!({"messages": called}), json!({"tools": bare}), none.clone(), &[]),
        (CLAUDE, json!({"messages": called}), json!({"tools": bare}), choice(json!({"type": "none"})), &[]),
        (
            CLAUDE,
            json!({"tools": tools, "tool_choice": "none"}),
            json!({"tools": spec}),
            choice(json!({"type": "none"})),
            &[],
        ),
        (
            CLAUDE,
            json!({"tools": tools, "tool_choice": "required", "parallel_tool_calls": false}),
            json!({"tools": spec}),
            choice(json!({"type": "any", "disable_parallel_tool_use": true})),
            &[],
        ),
        (
            CLAUDE,
            json!({"tools": tools, "tool_choice": "required", "parallel_tool_calls": true}),
            json!({"tools": spec, "toolChoice": {"any": {}}}),
            none.clone(),
            &[],
        ),
        (
            "mistral.x",
            json!({"tools": tools, "parallel_tool_calls": false}),
            json!({"tools": spec}),
            none.clone(),
            &["parallel_tool_calls"],
        ),
        (CLAUDE, json!({"tool_choice": "required"}), none.clone(), none, &["tool_choice"]),
    ];
    for (model, members, config, fields, expected) in cases {
        let (sent, dropped) = send(model, members.clone());
        assert_eq!(sent["toolConfig"], config, "{model} {members}");
        assert_eq!(sent["additionalModelRequestFields"], fields, "{model} {members}");
        assert_eq!(dropped, expected, "{model} {members}");
    }
}

#[test]
fn marks_go_where_the_model_takes_them() {
    let mark = json!({"type": "ephemeral", "ttl": "1h"});
    let body = json!({"model": "m", "max_tokens": 5,
        "system": [{"type": "text", "text": "s", "cache_control": mark}],
        "tools": [{"name": "f", "input_schema": {"type": "object"}, "cache_control": mark}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": mark}]}]});
    let points = |model: &str| {
        let (sent, dropped) = try_send(Dialect::AnthropicMessages, model, &body).unwrap();
        let at = |list: &Value| list[1]["cachePoint"].clone();
        let (system, content) = (at(&sent["system"]), at(&sent["messages"][0]["content"]));
        ([system, content, at(&sent["toolConfig"]["tools"])], dropped.join(" "))
    };
    let hour = || json!({"type": "default", "ttl": "1h"});
    assert_eq!(points(CLAUDE), ([hour(), hour(), hour()], String::new()));
    let short = || json!({"type": "default"});
    let nova = "system[].cache_control.ttl messages[].content[].cache_control.ttl tools[].cache_control";
    assert_eq!(points("amazon.nova-lite-v1:0"), ([short(), short(), json!(null)], nova.to_owned()));
    let other = "system[].cache_control messages[].content[].cache_control tools[].cache_control";
    assert_eq!(points("cohere.command-r-v1:0"), ([json!(null), json!(null), json!(null)], other.to_owned()));
}

#[test]
fn reasoning_goes_back_only_to_those_who_can_read_it() {
    let body = json!({"model": "m", "max_tokens": 5, "messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "t", "signature": "s"},
            {"type": "redacted_thinking", "data": "ZGF0YQ=="},
            {"type": "redacted_thinking", "data": "no base64"},
            {"type": "thinking", "thinking": "unsigned", "signature": ""},
            {"type": "text", "text": "b"}]},
        {"role": "user", "content": "c"}]});
    let reasoning = json!([
        {"reasoningContent": {"reasoningText": {"text": "t", "signature": "s"}}},
        {"reasoningContent": {"redactedContent": "ZGF0YQ=="}}, {"text": "b"}]);
    let (sent, dropped) = try_send(Dialect::AnthropicMessages, CLAUDE, &body).unwrap();
    assert_eq!(sent["messages"][1]["content"], reasoning);
    assert_eq!(dropped, ["messages[].content[].redacted_thinking", "messages[].reasoning_content"]);
    let (sent, _) = try_send(Dialect::AnthropicMessages, "amazon.nova-2-lite-v1:0", &body).unwrap();
    assert_eq!(sent["messages"][1]["content"], json!([{"text": "b"}]));
}

#[test]
fn guardrails_are_not_left_out() {
    let body =
        json!({"messages": [], "guardrailConfig": {"guardrailIdentifier": "g", "guardrailVersion": "1"}});
    let request = decode(Dialect::BedrockConverse, &body);
    assert_eq!(request.needs, Features::GUARDRAILS);
    for dialect in Dialect::ALL {
        let lacks = !outbound(dialect).lacks_in_translation().and(Features::GUARDRAILS).is_empty();
        assert_eq!(lacks, dialect != Dialect::BedrockConverse, "{}", dialect.name());
    }
}
