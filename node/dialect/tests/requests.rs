//! Requests that are refused, and what the quirks of a target do to a translated one.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use trestle_dialect::{
    Dialect, Envelope, MaxTokensMember, Quirks, Target, inbound,
    ir::{Features, Json, Request},
    outbound,
};

fn decode(dialect: Dialect, body: &Value) -> Request {
    let envelope = Envelope::parse(body.to_string().into()).unwrap();
    inbound(dialect).decode_request(&envelope).unwrap()
}

/// A body, the member at fault, and what is said of it.
type Bad = (Value, &'static str, &'static str);

fn check_named(dialect: Dialect, cases: &[Bad]) {
    for (body, param, what) in cases {
        let envelope = Envelope::parse(body.to_string().into()).unwrap();
        let refusal = inbound(dialect).decode_request(&envelope).unwrap_err();
        assert_eq!(refusal.param.as_deref(), Some(*param), "{body}");
        assert!(refusal.message.starts_with(&format!("`{param}` {what}")), "{body}: {}", refusal.message);
    }
}

#[test]
#[rustfmt::skip]
fn bad_members_of_gemini_are_named() {
    let gemini = [
        (json!({}), "contents", "is missing"),
        (json!({"contents": 1}), "contents", "must be an array"),
        (json!({"contents": [1]}), "contents[0]", "must be an object"),
        (json!({"contents": [{"role": "user"}]}), "contents[0].parts", "is missing"),
        (json!({"contents": [{"role": "bot", "parts": []}]}), "contents[0].role", "must be user or model"),
        (json!({"contents": [{"parts": [{"text": 1}]}]}), "contents[0].parts[0].text", "must be a string"),
        (json!({"contents": [{"parts": [{"text": "a", "inline_data": {"data": ""}}]}]}), "contents[0].parts[0]", "must hold one kind of data"),
        (json!({"contents": [{"parts": [{"inline_data": {}}]}]}), "contents[0].parts[0].inline_data.data", "is missing"),
        (json!({"contents": [{"parts": [{"fileData": {}}]}]}), "contents[0].parts[0].fileData.fileUri", "is missing"),
        (json!({"contents": [{"parts": [{"functionCall": {"args": {}}}]}]}), "contents[0].parts[0].functionCall.name", "is missing"),
        (json!({"contents": [{"parts": [{"functionCall": {"name": "f", "args": "{}"}}]}]}), "contents[0].parts[0].functionCall.args", "must be an object"),
        (json!({"contents": [{"parts": [{"functionResponse": {"name": "f", "response": "r"}}]}]}), "contents[0].parts[0].functionResponse.response", "must be an object"),
        (json!({"contents": [], "system_instruction": "s"}), "system_instruction", "must be an object"),
        (json!({"contents": [], "tools": [{"functionDeclarations": [{}]}]}), "tools[0].functionDeclarations[0].name", "is missing"),
        (json!({"contents": [], "toolConfig": {"functionCallingConfig": {"mode": "SOME"}}}), "toolConfig.functionCallingConfig.mode", "must be AUTO"),
        (json!({"contents": [], "generationConfig": {"maxOutputTokens": -1}}), "generationConfig.maxOutputTokens", "must be a whole number"),
        (json!({"contents": [], "generationConfig": {"thinkingConfig": {"thinkingBudget": -2}}}), "generationConfig.thinkingConfig.thinkingBudget", "must be a whole number"),
    ];
    check_named(Dialect::Gemini, &gemini);
}

#[test]
#[rustfmt::skip]
fn bad_members_of_cohere_are_named() {
    let cohere = [
        (json!({"model": "m"}), "messages", "is missing"),
        (json!({"messages": []}), "model", "is missing"),
        (json!({"model": "m", "messages": [{"role": "developer", "content": "a"}]}), "messages[0].role", "must be system, user"),
        (json!({"model": "m", "messages": [{"role": "user"}]}), "messages[0].content", "is missing"),
        (json!({"model": "m", "messages": [{"role": "user", "content": 1}]}), "messages[0].content", "must be a string or an array"),
        (json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}), "messages[0].content[0].image_url.url", "is missing"),
        (json!({"model": "m", "messages": [{"role": "tool", "content": "a"}]}), "messages[0].tool_call_id", "is missing"),
        (json!({"model": "m", "messages": [{"role": "tool", "tool_call_id": "a", "content": [{"type": "document", "document": {}}]}]}), "messages[0].content[0].document.data", "is missing"),
        (json!({"model": "m", "messages": [{"role": "assistant", "tool_plan": 1}]}), "messages[0].tool_plan", "must be a string"),
        (json!({"model": "m", "messages": [{"role": "assistant", "tool_calls": [{"id": "a"}]}]}), "messages[0].tool_calls[0]", "must have a function"),
        (json!({"model": "m", "messages": [], "documents": ["a", {"data": "b"}]}), "documents[1].data", "must be an object"),
        (json!({"model": "m", "messages": [], "documents": "a"}), "documents", "must be an array"),
        (json!({"model": "m", "messages": [], "tool_choice": "AUTO"}), "tool_choice", "must be REQUIRED or NONE"),
        (json!({"model": "m", "messages": [], "tools": [{"type": "function"}]}), "tools[0].function", "is missing"),
        (json!({"model": "m", "messages": [], "strict_tools": 1}), "strict_tools", "must be true or false"),
        (json!({"model": "m", "messages": [], "stop_sequences": ["a", 1]}), "stop_sequences[1]", "must be a string"),
        (json!({"model": "m", "messages": [], "k": "1"}), "k", "must be a number"),
        (json!({"model": "m", "messages": [], "thinking": {"type": "adaptive"}}), "thinking.type", "must be enabled or disabled"),
        (json!({"model": "m", "messages": [], "thinking": {"type": "enabled", "token_budget": -1}}), "thinking.token_budget", "must be a whole number"),
        (json!({"model": "m", "messages": [], "response_format": {"type": "text", "json_schema": {}}}), "response_format.json_schema", "has no place"),
        (json!({"model": "m", "messages": [], "response_format": {"type": "json_schema"}}), "response_format.type", "must be text or json_object"),
    ];
    check_named(Dialect::CohereChat, &cohere);
}

#[test]
#[rustfmt::skip]
fn bad_members_of_responses_are_named() {
    check_named(Dialect::OpenAiResponses, &[
        (json!({"model": "m"}), "input", "is missing"),
        (json!({"input": "a"}), "model", "is missing"),
        (json!({"model": "m", "input": 1}), "input", "must be a string or an array of items"),
        (json!({"model": "m", "input": [1]}), "input[0]", "must be an object"),
        (json!({"model": "m", "input": [{"role": "tool", "content": "a"}]}), "input[0].role", "must be system"),
        (json!({"model": "m", "input": [{"type": "message", "content": "a"}]}), "input[0].role", "is missing"),
        (json!({"model": "m", "input": [{"role": "user"}]}), "input[0].content", "is missing"),
        (json!({"model": "m", "input": [{"role": "user", "content": 1}]}), "input[0].content", "must be a string or an array"),
        (json!({"model": "m", "input": [{"role": "user", "content": [{"text": "a"}]}]}), "input[0].content[0].type", "is missing"),
        (json!({"model": "m", "input": [{"role": "user", "content": [{"type": "input_image"}]}]}), "input[0].content[0]", "must have image_url or file_id"),
        (json!({"model": "m", "input": [{"role": "user", "content": [{"type": "input_file"}]}]}), "input[0].content[0]", "must have file_data"),
        (json!({"model": "m", "input": [{"role": "user", "content": [{"type": "input_audio"}]}]}), "input[0].content[0].input_audio", "is missing"),
        (json!({"model": "m", "input": [{"type": "function_call", "name": "f"}]}), "input[0].call_id", "is missing"),
        (json!({"model": "m", "input": [{"type": "function_call_output", "call_id": "a"}]}), "input[0].output", "is missing"),
        (json!({"model": "m", "input": [{"type": "function_call_output", "call_id": "a", "output": {}}]}), "input[0].output", "must be a string or an array"),
        (json!({"model": "m", "input": [{"type": "reasoning", "summary": [{}]}]}), "input[0].summary[0].text", "is missing"),
        (json!({"model": "m", "input": "a", "instructions": []}), "instructions", "must be a string"),
        (json!({"model": "m", "input": "a", "tools": [{"type": "function"}]}), "tools[0].name", "is missing"),
        (json!({"model": "m", "input": "a", "tool_choice": "maybe"}), "tool_choice", "must be none, auto"),
        (json!({"model": "m", "input": "a", "text": {"format": {"type": "json_schema", "name": "n"}}}), "text.format.schema", "is missing"),
        (json!({"model": "m", "input": "a", "reasoning": {"effort": 1}}), "reasoning.effort", "must be a string"),
        (json!({"model": "m", "input": "a", "include": [1]}), "include[0]", "must be a string"),
        (json!({"model": "m", "input": "a", "store": 1}), "store", "must be true or false"),
    ]);
}

#[test]
#[rustfmt::skip]
fn bad_members_are_named() {
    let openai = [
        (json!({}), "messages", "is missing"),
        (json!({"messages": []}), "model", "is missing"),
        (json!({"model": 1, "messages": []}), "model", "must be a string"),
        (json!({"model": "m", "messages": {}}), "messages", "must be an array"),
        (json!({"model": "m", "messages": [1]}), "messages[0]", "must be an object"),
        (json!({"model": "m", "messages": [{}]}), "messages[0].role", "is missing"),
        (json!({"model": "m", "messages": [{"role": "bot", "content": ""}]}), "messages[0].role", "must be system"),
        (json!({"model": "m", "messages": [{"role": "user"}]}), "messages[0].content", "is missing"),
        (json!({"model": "m", "messages": [{"role": "user", "content": 1}]}), "messages[0].content", "must be a string or an array"),
        (json!({"model": "m", "messages": [{"role": "user", "content": [{"text": "a"}]}]}), "messages[0].content[0].type", "is missing"),
        (json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": 1}]}]}), "messages[0].content[0].text", "must be a string"),
        (json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}), "messages[0].content[0].image_url.url", "is missing"),
        (json!({"model": "m", "messages": [{"role": "tool", "content": "a"}]}), "messages[0].tool_call_id", "is missing"),
        (json!({"model": "m", "messages": [{"role": "function", "name": "f", "content": "a"}]}), "messages[0]", "answers no function_call"),
        (json!({"model": "m", "messages": [{"role": "assistant", "tool_calls": [{"id": "a"}]}]}), "messages[0].tool_calls[0]", "must have a function"),
        (json!({"model": "m", "messages": [], "max_tokens": -1}), "max_tokens", "must be a whole number"),
        (json!({"model": "m", "messages": [], "temperature": "hot"}), "temperature", "must be a number"),
        (json!({"model": "m", "messages": [], "stream": "yes"}), "stream", "must be true or false"),
        (json!({"model": "m", "messages": [], "stop": [1]}), "stop[0]", "must be a string"),
        (json!({"model": "m", "messages": [], "logprobs": 3}), "logprobs", "must be true or false"),
        (json!({"model": "m", "messages": [], "top_logprobs": true}), "top_logprobs", "must be a whole number"),
        (json!({"model": "m", "messages": [{"role": "assistant", "content": "a", "annotations": {}}]}), "messages[0].annotations", "must be an array"),
        (json!({"model": "m", "messages": [], "tools": [{"type": "function", "function": {}}]}), "tools[0].function.name", "is missing"),
        (json!({"model": "m", "messages": [], "tool_choice": "maybe"}), "tool_choice", "must be none, auto"),
        (json!({"model": "m", "messages": [], "response_format": {"type": "json_schema", "json_schema": {}}}), "response_format.json_schema.schema", "is missing"),
    ];
    let anthropic = [
        (json!({"model": "m"}), "messages", "is missing"),
        (json!({"model": "m", "messages": [{"role": "tool", "content": "a"}]}), "messages[0].role", "must be user"),
        (json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "image"}]}]}), "messages[0].content[0].source", "is missing"),
        (json!({"model": "m", "messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": "{}"}]}]}), "messages[0].content[0].input", "must be an object"),
        (json!({"model": "m", "messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}), "messages[0].content[0].tool_use_id", "is missing"),
        (json!({"model": "m", "messages": [], "system": 1}), "system", "must be a string or an array"),
        (json!({"model": "m", "messages": [], "thinking": {"type": "enabled"}}), "thinking.budget_tokens", "is missing"),
        (json!({"model": "m", "messages": [], "thinking": {"type": "sometimes"}}), "thinking.type", "must be enabled, adaptive, between_tools or disabled"),
        (json!({"model": "m", "messages": [{"role": "assistant", "content": [{"type": "text", "text": "a", "citations": 1}]}]}), "messages[0].content[0].citations", "must be an array"),
        (json!({"model": "m", "messages": [{"role": "assistant", "content": [{"type": "text", "text": "a", "citations": [1]}]}]}), "messages[0].content[0].citations[0]", "must be an object"),
        (json!({"model": "m", "messages": [], "tool_choice": {"type": "tool"}}), "tool_choice.name", "is missing"),
        (json!({"model": "m", "messages": [], "output_config": {"format": {"type": "xml"}}}), "output_config.format.type", "must be json_schema"),
    ];
    check_named(Dialect::OpenAiChat, &openai);
    check_named(Dialect::AnthropicMessages, &anthropic);
    let twice = r#"{"model":"m","messages":[{"role":"user","content":"a","content":"b"}]}"#;
    let refusal = inbound(Dialect::OpenAiChat).decode_request(&Envelope::parse(twice.into()).unwrap()).unwrap_err();
    assert_eq!(refusal.message, "`messages[0]` has the member `content` twice");
}

fn translate(from: Dialect, to: Dialect, body: &Value, target: &Target<'_>) -> (Value, Vec<String>) {
    let encoded = outbound(to).encode_request(&decode(from, body), target).unwrap();
    (serde_json::from_slice(&encoded.body).unwrap(), encoded.dropped)
}

fn plain(quirks: &Quirks) -> Target<'_> {
    Target { model: "up", quirks, params: &[], wants_max_completion_tokens: false }
}

#[test]
fn quirks_shape_a_translated_openai_request() {
    let (from, to) = (Dialect::AnthropicMessages, Dialect::OpenAiChat);
    let body = json!({"model": "m", "max_tokens": 5, "top_k": 3, "stream": true, "temperature": 0.5,
        "system": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}, {"type": "text", "text": "b"}],
        "messages": [{"role": "user", "content": "hi"},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}]}],
        "metadata": {"user_id": "u"}, "stop_sequences": ["x"]});
    let quirks = Quirks {
        flatten_content: true,
        stream_usage: false,
        max_tokens_member: MaxTokensMember::MaxCompletionTokens,
        drop: vec!["user".to_owned(), "temperature".to_owned()],
        rename: [("stop".to_owned(), "stops".to_owned())].into(),
        ..Quirks::default()
    };
    let params = [("temperature".to_owned(), Json::fixed("0.1")), ("x".to_owned(), Json::fixed("[1]"))];
    let (sent, dropped) = translate(from, to, &body, &Target { params: &params, ..plain(&quirks) });
    let expected = json!({"model": "up", "stream": true, "max_completion_tokens": 5, "stops": ["x"],
        "messages": [{"role": "system", "content": "a\nb"}, {"role": "user", "content": "hi"},
            {"role": "assistant", "content": null}], "temperature": 0.1, "x": [1]});
    assert_eq!(sent, expected);
    assert_eq!(dropped, ["system[].cache_control", "messages[].content[].thinking", "top_k", "user"]);

    let quirks = Quirks { cache_control: true, echo_reasoning: true, top_k: true, ..Quirks::default() };
    let (sent, dropped) = translate(from, to, &body, &plain(&quirks));
    assert_eq!(sent["messages"][0]["content"][0]["cache_control"], json!({"type": "ephemeral"}));
    assert_eq!(sent["messages"][2]["thinking_blocks"][0]["signature"], "s");
    assert_eq!((&sent["top_k"], &sent["max_tokens"]), (&json!(3), &json!(5)));
    assert_eq!(sent["stream_options"], json!({"include_usage": true}));
    assert!(dropped.is_empty(), "{dropped:?}");
    let target = Target { wants_max_completion_tokens: true, ..plain(&quirks) };
    assert_eq!(translate(from, to, &body, &target).0["max_completion_tokens"], 5);
}

#[test]
fn developers_are_systems_where_the_role_is_not_known() {
    let mut request = decode(
        Dialect::OpenAiChat,
        &json!({"model": "m", "messages": [{"role": "developer", "content": "a"}]}),
    );
    request.collect_needs();
    for (developer_role, role) in [(true, "developer"), (false, "system")] {
        let quirks = Quirks { developer_role, ..Quirks::default() };
        let encoded = outbound(Dialect::OpenAiChat).encode_request(&request, &plain(&quirks)).unwrap();
        let sent: Value = serde_json::from_slice(&encoded.body).unwrap();
        assert_eq!(sent["messages"][0]["role"], role);
    }
}

#[test]
fn reasoning_is_told_to_anthropic_as_the_model_takes_it() {
    let (from, to) = (Dialect::OpenAiChat, Dialect::AnthropicMessages);
    let cases = [
        (
            "claude-sonnet-4-5",
            "minimal",
            json!({"type": "enabled", "budget_tokens": 1024}),
            json!(null),
            4096,
        ),
        ("claude-sonnet-4-5", "low", json!({"type": "enabled", "budget_tokens": 2048}), json!(null), 4096),
        (
            "claude-sonnet-4-5",
            "medium",
            json!({"type": "enabled", "budget_tokens": 8192}),
            json!(null),
            12_288,
        ),
        (
            "claude-sonnet-4-5",
            "high",
            json!({"type": "enabled", "budget_tokens": 16_384}),
            json!(null),
            20_480,
        ),
        ("claude-sonnet-4-5", "none", json!({"type": "disabled"}), json!(null), 4096),
        ("claude-opus-4-7", "minimal", json!({"type": "adaptive"}), json!({"effort": "low"}), 4096),
        ("claude-opus-4-6", "high", json!({"type": "adaptive"}), json!({"effort": "high"}), 4096),
    ];
    let quirks = Quirks::default();
    for (model, effort, thinking, output_config, max_tokens) in cases {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}], "reasoning_effort": effort});
        let (sent, dropped) = translate(from, to, &body, &Target { model, ..plain(&quirks) });
        assert_eq!(
            (&sent["thinking"], &sent["output_config"]),
            (&thinking, &output_config),
            "{model} {effort}"
        );
        assert_eq!(sent["max_tokens"], max_tokens, "{model} {effort}");
        assert!(dropped.is_empty(), "{dropped:?}");
    }
}

#[test]
fn what_anthropic_refuses_gives_way() {
    let (from, to) = (Dialect::OpenAiChat, Dialect::AnthropicMessages);
    let quirks = Quirks { default_max_tokens: 77, ..Quirks::default() };
    let hi = json!([{"role": "user", "content": "hi"}]);
    let cases = [
        (json!({"temperature": 2}), json!({"temperature": 1}), vec!["temperature"]),
        (json!({"temperature": 0.5, "top_p": 1}), json!({"temperature": 0.5}), vec![]),
        (json!({"temperature": 0.5, "top_p": 0.9}), json!({"temperature": 0.5}), vec!["top_p"]),
        (json!({"top_p": 0.9}), json!({"top_p": 0.9}), vec![]),
        (json!({"stop": [" ", "\n"]}), json!({}), vec!["stop"]),
        (json!({"tool_choice": "required"}), json!({}), vec!["tool_choice"]),
        (
            json!({"n": 1, "logprobs": false, "modalities": ["text"], "stream_options": {"include_usage": true}}),
            json!({}),
            vec![],
        ),
        (
            json!({"user": "a", "safety_identifier": "b"}),
            json!({"metadata": {"user_id": "a"}}),
            vec!["safety_identifier"],
        ),
        (
            json!({"safety_identifier": "b", "max_completion_tokens": 9, "max_tokens": 8}),
            json!({"metadata": {"user_id": "b"}, "max_tokens": 9}),
            vec![],
        ),
        (
            json!({"service_tier": "flex", "stream_options": {"include_obfuscation": true}}),
            json!({}),
            vec!["service_tier", "stream_options.include_obfuscation"],
        ),
    ];
    for (members, expected, expected_dropped) in cases {
        let mut body = json!({"model": "m", "messages": hi});
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let mut whole = json!({"model": "up", "messages": hi, "max_tokens": 77});
        whole.as_object_mut().unwrap().extend(expected.as_object().unwrap().clone());
        let (sent, dropped) = translate(from, to, &body, &plain(&quirks));
        assert_eq!(sent, whole, "{members}");
        assert_eq!(dropped, expected_dropped, "{members}");
    }
}

#[test]
fn bounds_that_claude_refuses_in_a_form_are_named() {
    let schema = json!({
        "type": "object",
        "properties": {"age": {"type": "integer", "minimum": 0}},
        "additionalProperties": false,
    });
    let format = json!({"type": "json_schema", "json_schema": {"name": "a", "schema": schema}});
    let body = json!({
        "model": "m",
        "max_tokens": 5,
        "messages": [{"role": "user", "content": "hi"}],
        "response_format": format,
    });
    let quirks = Quirks::default();
    let (sent, dropped) = translate(Dialect::OpenAiChat, Dialect::AnthropicMessages, &body, &plain(&quirks));
    let schema = &sent["output_config"]["format"]["schema"];
    assert_eq!(schema["properties"]["age"], json!({"type": "integer"}));
    assert_eq!(dropped, ["response_format.json_schema.schema.minimum"]);
    let (sent, dropped) = translate(Dialect::OpenAiChat, Dialect::BedrockConverse, &body, &plain(&quirks));
    let schema = sent["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"].as_str().unwrap();
    assert!(!schema.contains("minimum"), "{schema}");
    assert_eq!(dropped, ["response_format.json_schema.schema.minimum"]);
}

#[test]
fn no_more_texts_end_an_answer_than_the_vendor_takes() {
    let stops = ["1", "2", "3", "4", "5", "6"];
    let body = json!({
        "model": "m",
        "max_tokens": 5,
        "messages": [{"role": "user", "content": "hi"}],
        "stop_sequences": stops,
    });
    let quirks = Quirks::default();
    for (to, at, kept) in [
        (Dialect::OpenAiChat, "/stop", 4),
        (Dialect::Gemini, "/generationConfig/stopSequences", 5),
        (Dialect::CohereChat, "/stop_sequences", 5),
        (Dialect::BedrockConverse, "/inferenceConfig/stopSequences", 6),
    ] {
        let (sent, dropped) = translate(Dialect::AnthropicMessages, to, &body, &plain(&quirks));
        assert_eq!(sent.pointer(at), Some(&json!(stops[..kept])), "{sent}");
        assert_eq!(dropped, if kept < 6 { vec!["stop"] } else { vec![] }, "{to:?}");
    }
}

#[test]
fn log_probabilities_are_asked_for_again() {
    let ask = |members: Value| {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let dialect = Dialect::OpenAiChat;
        let (sent, dropped) = translate(dialect, dialect, &body, &plain(&Quirks::default()));
        assert!(dropped.is_empty(), "{dropped:?}");
        (sent["logprobs"].clone(), sent["top_logprobs"].clone())
    };
    assert_eq!(ask(json!({"logprobs": true})), (json!(true), json!(null)));
    assert_eq!(ask(json!({"logprobs": true, "top_logprobs": 5})), (json!(true), json!(5)));
    assert_eq!(ask(json!({"logprobs": false})), (json!(null), json!(null)));
}

#[test]
fn data_that_are_not_what_they_claim_are_refused_where_they_are_translated() {
    let refused = |from: Dialect, to: Dialect, content: Value| {
        let body = json!({"model": "m", "messages": [{"role": "user", "content": content}]});
        let encoded = outbound(to).encode_request(&decode(from, &body), &plain(&Quirks::default()));
        encoded.err().map(|refusal| (refusal.param.unwrap(), refusal.message.into_owned()))
    };
    let (chat, messages) = (Dialect::OpenAiChat, Dialect::AnthropicMessages);
    let image =
        |url: &str| json!([{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": url}}]);
    assert_eq!(refused(chat, messages, image("data:image/png;base64,iVBORw0KGgo=")), None);
    for (data, what) in [("PGh0bWw+", "begin like no image"), ("a b", "base64"), ("", "base64")] {
        let (path, message) =
            refused(chat, messages, image(&format!("data:image/png;base64,{data}"))).unwrap();
        assert_eq!(path, "messages[0].content[1]");
        assert!(message.contains(what), "{message}");
    }
    let source = |data: &str| json!({"type": "base64", "media_type": "image/jpeg", "data": data});
    let inside = json!([{"type": "tool_result", "tool_use_id": "a",
        "content": [{"type": "text", "text": "a"}, {"type": "image", "source": source("AAAA")}]}]);
    let (path, _) = refused(messages, chat, inside).unwrap();
    assert_eq!(path, "messages[0].content[0].content[1]");
    let whole = json!([{"type": "image", "source": source("/9j/4AAQSkZJRg==")}]);
    assert_eq!(refused(messages, chat, whole), None);
}

#[test]
fn proofs_go_only_to_those_who_can_read_them() {
    let quirks = Quirks { echo_reasoning: true, ..Quirks::default() };
    let (chat, messages) = (Dialect::OpenAiChat, Dialect::AnthropicMessages);
    let body = json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "own", "signature": "s"},
            {"type": "thinking", "thinking": " other", "signature": "trestle:openai-chat:x"},
            {"type": "redacted_thinking", "data": "trestle:openai-chat:y"},
            {"type": "tool_use", "id": "a", "name": "f", "input": {}, "signature": "trestle:openai-chat:z"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]}],
        "tools": [{"name": "f", "input_schema": {"type": "object"}}]});
    let (sent, dropped) = translate(messages, chat, &body, &plain(&quirks));
    let turn = &sent["messages"][1];
    assert_eq!(turn["reasoning_content"], "own other");
    assert_eq!(turn["thinking_blocks"], json!([{"type": "thinking", "thinking": "own", "signature": "s"}]));
    assert_eq!(turn["tool_calls"][0].get("extra_content"), None);
    assert_eq!(dropped, ["messages[].content[].signature"]);
    let (sent, dropped) = translate(messages, messages, &body, &plain(&quirks));
    let turn = &sent["messages"][1]["content"];
    assert_eq!(turn[0]["signature"], "s");
    assert_eq!(turn[1], json!({"type": "tool_use", "id": "a", "name": "f", "input": {}}));
    assert_eq!(
        dropped,
        [
            "messages[].reasoning_content",
            "messages[].content[].redacted_thinking",
            "messages[].content[].signature"
        ]
    );
}

#[test]
fn needs_are_collected_and_decide_beforehand() {
    let needs = |members: Value| {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        let request = decode(Dialect::OpenAiChat, &body);
        let lacks = outbound(Dialect::AnthropicMessages).lacks_in_translation();
        let refused =
            outbound(Dialect::AnthropicMessages).encode_request(&request, &plain(&Quirks::default()));
        assert_eq!(refused.is_err(), !request.needs.and(lacks).is_empty(), "{members}");
        request.needs
    };
    assert_eq!(needs(json!({})), Features::NONE);
    assert_eq!(needs(json!({"n": 2})), Features::CHOICES);
    assert_eq!(needs(json!({"logprobs": true})), Features::LOGPROBS);
    assert_eq!(needs(json!({"top_logprobs": 2})), Features::LOGPROBS);
    assert_eq!(needs(json!({"logprobs": false, "top_logprobs": 2})), Features::NONE);
    let spoken = json!([{"role": "user", "content": "a"}, {"role": "assistant", "audio": {"id": "b"}}]);
    assert_eq!(needs(json!({"messages": spoken})), Features::AUDIO_OUTPUT);
    assert_eq!(needs(json!({"modalities": ["text", "audio"], "audio": {}})), Features::AUDIO_OUTPUT);
    assert_eq!(needs(json!({"web_search_options": {}})), Features::SERVER_TOOLS);
    assert_eq!(
        needs(json!({"tools": [{"type": "custom", "custom": {"name": "a"}}]})),
        Features::SERVER_TOOLS
    );
    assert_eq!(needs(json!({"stream": true})), Features::STREAMING);
    assert_eq!(needs(json!({"response_format": {"type": "json_object"}})), Features::JSON_OBJECT);
    assert_eq!(needs(json!({"reasoning_effort": "low"})), Features::REASONING);
    let image = json!([{"type": "image_url", "image_url": {"url": "https://a/b.png"}}]);
    assert_eq!(needs(json!({"messages": [{"role": "user", "content": image}]})), Features::IMAGES);
}

#[test]
fn what_only_openai_keeps_goes_nowhere_else() {
    let kept = [
        ("previous_response_id", json!("resp_1")),
        ("conversation", json!({"id": "conv_1"})),
        ("prompt", json!({"id": "pmpt_1"})),
        ("background", json!(true)),
    ];
    for (name, value) in kept {
        let mut body = json!({"model": "m", "input": "hi"});
        body[name] = value;
        let request = decode(Dialect::OpenAiResponses, &body);
        for dialect in Dialect::ALL {
            let quirks = Quirks::default();
            let encoded = outbound(dialect).encode_request(&request, &plain(&quirks));
            if dialect == Dialect::OpenAiResponses {
                assert!(encoded.is_ok());
                continue;
            }
            let refusal = encoded.unwrap_err();
            assert_eq!(refusal.param.as_deref(), Some(name), "{}", dialect.name());
            assert!(refusal.message.starts_with(&format!("`{name}` ")), "{}", refusal.message);
        }
    }
}

#[test]
fn both_dialects_of_openai_share_what_means_the_same() {
    let (chat, responses) = (Dialect::OpenAiChat, Dialect::OpenAiResponses);
    let shared = json!({"metadata": {"a": "b"}, "store": true, "service_tier": "flex", "prompt_cache_key": "k",
        "prompt_cache_retention": "24h", "safety_identifier": "s", "user": "u"});
    let with = |mut body: Value| {
        body.as_object_mut().unwrap().extend(shared.as_object().unwrap().clone());
        body
    };
    let hi = json!([{"role": "user", "content": "hi"}]);
    let quirks = Quirks::default();
    let mut body = with(json!({"model": "m", "messages": hi, "verbosity": "low", "logit_bias": {}}));
    let (sent, dropped) = translate(chat, responses, &body, &plain(&quirks));
    let item = json!([{"type": "message", "role": "user", "content": "hi"}]);
    assert_eq!(sent, with(json!({"model": "up", "input": item, "text": {"verbosity": "low"}})));
    assert_eq!(dropped, ["logit_bias"]);

    body = with(json!({"model": "m", "input": hi, "text": {"verbosity": "low"}, "max_tool_calls": 1}));
    let (sent, dropped) = translate(responses, chat, &body, &plain(&quirks));
    assert_eq!(sent, with(json!({"model": "up", "messages": hi, "verbosity": "low"})));
    assert_eq!(dropped, ["max_tool_calls"]);
    let (_, dropped) = translate(responses, Dialect::AnthropicMessages, &body, &plain(&quirks));
    assert!(dropped.contains(&"text.verbosity".to_owned()) && dropped.contains(&"metadata".to_owned()));

    // What is so anyway is not said, and what other clients do not expect is not stored.
    let plain_store = json!({"model": "m", "input": "hi", "store": false});
    assert_eq!(translate(responses, chat, &plain_store, &plain(&quirks)).0.get("store"), None);
    let unsaid = json!({"model": "m", "messages": hi});
    assert_eq!(translate(chat, responses, &unsaid, &plain(&quirks)).0["store"], false);
}

#[test]
fn what_openai_responses_refuses_gives_way() {
    let (from, to) = (Dialect::OpenAiChat, Dialect::OpenAiResponses);
    let id = "call_".to_owned() + &"x".repeat(80);
    let call = json!({"id": id, "type": "function", "function": {"name": "f", "arguments": ""}});
    let body = json!({"model": "m", "max_tokens": 1, "stop": ["a"], "seed": 1, "presence_penalty": 0,
        "user": "u".repeat(65), "reasoning_effort": "low", "messages": [
            {"role": "developer", "content": "d"}, {"role": "system", "content": "s"},
            {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": id, "content": "ok"}]});
    let quirks = Quirks { developer_role: false, ..Quirks::default() };
    let (sent, dropped) = translate(from, to, &body, &plain(&quirks));
    assert_eq!(dropped, ["max_tokens", "seed", "stop", "user"]);
    assert_eq!((&sent["max_output_tokens"], sent.get("user")), (&json!(16), None));
    assert_eq!((&sent["input"][0]["role"], sent.get("instructions")), (&json!("system"), None));
    assert_eq!(sent["include"], json!(["reasoning.encrypted_content"]));
    let (called, answered) = (&sent["input"][2]["call_id"], &sent["input"][3]["call_id"]);
    assert_eq!(called, answered);
    assert_eq!(called.as_str().unwrap().len(), 64);
    assert_eq!(sent["input"][2]["arguments"], "{}");
}

#[test]
fn sealed_reasoning_goes_back_to_openai_alone() {
    let carried = "trestle:openai-responses:rs_1:gAAA";
    let body = json!({"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "hi"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": carried},
            {"type": "redacted_thinking", "data": carried},
            {"type": "thinking", "thinking": "t", "signature": "own"}, {"type": "text", "text": "a"}]}]});
    let quirks = Quirks::default();
    let (sent, dropped) =
        translate(Dialect::AnthropicMessages, Dialect::OpenAiResponses, &body, &plain(&quirks));
    let expected = json!([
        {"type": "message", "role": "user", "content": "hi"},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "t"}], "encrypted_content": "gAAA"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {"type": "message", "role": "assistant", "content": "a"}]);
    assert_eq!(sent["input"], expected);
    assert_eq!(dropped, ["messages[].content[].thinking"]);
    let open = Quirks { echo_reasoning: true, ..Quirks::default() };
    let (sent, _) = translate(Dialect::AnthropicMessages, Dialect::OpenAiResponses, &body, &plain(&open));
    let echoed =
        json!({"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "t"}]});
    assert_eq!(sent["input"][3], echoed);
}

#[test]
fn features_of_responses_are_needed() {
    let needs = |members: Value| {
        let mut body = json!({"model": "m", "input": "hi"});
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        decode(Dialect::OpenAiResponses, &body).needs
    };
    assert_eq!(needs(json!({"reasoning": {}, "store": true})), Features::NONE);
    assert_eq!(needs(json!({"reasoning": {"summary": "auto"}})), Features::REASONING);
    assert_eq!(needs(json!({"reasoning": {"effort": "none"}})), Features::NONE);
    assert_eq!(needs(json!({"include": ["message.output_text.logprobs"]})), Features::LOGPROBS);
    assert_eq!(needs(json!({"top_logprobs": 2})), Features::LOGPROBS);
    assert_eq!(needs(json!({"tools": [{"type": "web_search"}]})), Features::SERVER_TOOLS);
    assert_eq!(needs(json!({"tools": [{"type": "function", "name": "f"}]})), Features::TOOLS);
    assert_eq!(needs(json!({"text": {"format": {"type": "json_object"}}})), Features::JSON_OBJECT);
}

#[test]
fn no_member_is_sent_twice() {
    let body =
        json!({"model": "m", "max_tokens": 5, "limit": 6, "messages": [{"role": "user", "content": "hi"}]});
    let quirks =
        Quirks { rename: [("max_tokens".to_owned(), "limit".to_owned())].into(), ..Quirks::default() };
    for dialect in Dialect::ALL {
        if dialect.model_in_path() || dialect == Dialect::OpenAiResponses {
            continue;
        }
        let request = decode(dialect, &body);
        let encoded = outbound(dialect).encode_request(&request, &plain(&quirks)).unwrap();
        let text = String::from_utf8(encoded.body).unwrap();
        assert_eq!(text.matches("\"limit\":5").count(), 1, "{text}");
        assert_eq!(text.matches("limit").count(), 1, "{text}");
        assert_eq!(encoded.dropped, ["limit"]);
    }
}
