//! What the meter and the commit point see of events that are passed on.

#![allow(clippy::unwrap_used)]

use trestle_dialect::{Dialect, Glance, Look, frame, ir::Usage, outbound};

fn look(dialect: Dialect, block: &str, look: Look) -> Glance {
    let event = dialect.framing().events(block.as_bytes()).next().unwrap();
    outbound(dialect).glance(&event, look)
}

/// A glance in one word: content, usage, usage-only, fault with status, end, or nothing.
fn word(glance: &Glance) -> String {
    let mut words = Vec::new();
    words.extend(glance.content.then(|| "content".to_owned()));
    words.extend(glance.usage.map(|usage| format!("usage {}+{}", usage.input, usage.output)));
    words.extend(glance.usage_only.then(|| "only".to_owned()));
    words.extend(glance.fault.as_ref().map(|fault| format!("fault {}", fault.status)));
    words.extend(glance.end.then(|| "end".to_owned()));
    words.join(" ")
}

#[test]
fn openai_events() {
    let cases = [
        // (data, before the commit point, after it)
        (r#"{"choices":[{"delta":{"role":"assistant","content":"","refusal":null}}]}"#, "", "content"),
        (
            r#"{"choices":[{"delta":{"content":"a \"usage\" \"error\""},"finish_reason":null}],"usage":null}"#,
            "content",
            "content",
        ),
        (r#"{"choices":[{"delta":{"reasoning_content":"a"}}]}"#, "content", "content"),
        (r#"{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}"#, "content", "content"),
        (r#"{"choices":[{"delta":{"audio":{"data":"AAAA"}}}]}"#, "content", "content"),
        (r#"{"choices":[{"delta":{"annotations":[{"type":"url_citation"}]}}]}"#, "content", "content"),
        (r#"{"choices":[{"delta":{},"logprobs":{"content":[]}}]}"#, "", "content"),
        (r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#, "content", "content"),
        (
            r#"{"choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":2,"completion_tokens":3}}"#,
            "content usage 2+3",
            "content usage 2+3",
        ),
        (
            r#"{"choices":[],"usage":{"prompt_tokens":2,"completion_tokens":3}}"#,
            "usage 2+3 only",
            "usage 2+3 only",
        ),
        (
            r#"{"choices":[],"x_groq":{"usage":{"prompt_tokens":2,"completion_tokens":3}},"usage":null}"#,
            "usage 2+3 only",
            "usage 2+3 only",
        ),
        (r#"{"choices":[],"prompt_filter_results":[]}"#, "", "content"),
        (r#"{"choices":[{"text":"legacy"}]}"#, "content", "content"),
        (r#"{"error":{"message":"x","type":"rate_limit_exceeded"}}"#, "fault 429", "fault 429"),
        (r#"{"object":"error","message":"x","error":null}"#, "fault 500", "fault 500"),
        (r#"{"choices":[{"delta":{"content":"x","error":1}}],"error":null}"#, "content", "content"),
        (
            r#"{"type":"transcript.text.done","text":"x","usage":{"type":"tokens","input_tokens":2,"output_tokens":3}}"#,
            "usage 2+3",
            "usage 2+3",
        ),
        ("[DONE]", "end", "end"),
        ("{broken", "", "content"),
    ];
    for (data, commit, meter) in cases {
        let block = format!("data: {data}\n\n");
        assert_eq!(word(&look(Dialect::OpenAiChat, &block, Look::Commit)), commit, "{data}");
        assert_eq!(word(&look(Dialect::OpenAiChat, &block, Look::Meter)), meter, "{data}");
    }
    for (kind, images) in
        [("image_generation.completed", 1), ("image_edit.completed", 1), ("image_edit.partial_image", 0)]
    {
        let block = format!("data: {{\"type\":\"{kind}\",\"usage\":{{\"input_tokens\":1}}}}\n\n");
        assert_eq!(look(Dialect::OpenAiChat, &block, Look::Meter).usage.unwrap().images, images, "{kind}");
    }
    assert_eq!(word(&look(Dialect::OpenAiChat, ": processing\n\n", Look::Commit)), "");
    assert_eq!(word(&look(Dialect::OpenAiChat, "event: error\ndata: no json\n\n", Look::Meter)), "fault 500");
}

#[test]
fn anthropic_events() {
    let cases = [
        (
            r#"{"type":"message_start","message":{"usage":{"input_tokens":2,"cache_read_input_tokens":1,"output_tokens":1}}}"#,
            "usage 3+1",
            "usage 3+1",
        ),
        (
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
            "",
            "content",
        ),
        (
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
            "",
            "content",
        ),
        (
            r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}"#,
            "content",
            "content",
        ),
        (
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\"usage\""}}"#,
            "content",
            "content",
        ),
        (
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"char_location"}}}"#,
            "content",
            "content",
        ),
        (r#"{"type":"content_block_stop","index":0}"#, "", ""),
        (
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}"#,
            "content usage 0+9",
            "content usage 0+9",
        ),
        (r#"{"type":"message_stop"}"#, "end", "end"),
        (r#"{"type":"ping"}"#, "", ""),
        (
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "fault 529",
            "fault 529",
        ),
        (r#"{"type":"brand_new"}"#, "", ""),
    ];
    for (data, commit, meter) in cases {
        let name =
            serde_json::from_str::<serde_json::Value>(data).unwrap()["type"].as_str().unwrap().to_owned();
        for block in [format!("event: {name}\ndata: {data}\n\n"), format!("data: {data}\n\n")] {
            assert_eq!(word(&look(Dialect::AnthropicMessages, &block, Look::Commit)), commit, "{block}");
            assert_eq!(word(&look(Dialect::AnthropicMessages, &block, Look::Meter)), meter, "{block}");
        }
    }
    let late = "data: {\"index\":0, \"type\" : \"content_block_delta\"}\n\n";
    assert_eq!(word(&look(Dialect::AnthropicMessages, late, Look::Meter)), "content");
}

#[test]
fn bedrock_events() {
    let cases = [
        // (type, payload, before the commit point, after it)
        ("messageStart", r#"{"role":"assistant"}"#, "", ""),
        ("contentBlockStart", r#"{"start":{"toolUse":{"toolUseId":"a","name":"f"}}}"#, "content", "content"),
        ("contentBlockDelta", r#"{"delta":{"text":""},"p":"abc"}"#, "", "content"),
        ("contentBlockDelta", r#"{"delta":{"text":"a"}}"#, "content", "content"),
        ("contentBlockDelta", r#"{"delta":{"reasoningContent":{"text":""}}}"#, "", "content"),
        ("contentBlockDelta", r#"{"delta":{"reasoningContent":{"signature":"s"}}}"#, "content", "content"),
        ("contentBlockDelta", r#"{"delta":{"toolUse":{"input":"{"}}}"#, "content", "content"),
        (
            "contentBlockDelta",
            r#"{"delta":{"citation":{"location":{"web":{"url":"u"}}}}}"#,
            "content",
            "content",
        ),
        ("contentBlockDelta", "broken", "", "content"),
        ("contentBlockStop", r#"{"contentBlockIndex":0}"#, "", ""),
        ("messageStop", r#"{"stopReason":"end_turn"}"#, "content", "content"),
        (
            "metadata",
            r#"{"usage":{"inputTokens":2,"outputTokens":3,"cacheReadInputTokens":4},"metrics":{"latencyMs":1}}"#,
            "usage 6+3 end",
            "usage 6+3 end",
        ),
        ("metadata", "broken", "end", "end"),
        ("throttlingException", r#"{"message":"slow"}"#, "fault 429", "fault 429"),
        (
            "modelStreamErrorException",
            r#"{"message":"x","originalStatusCode":529}"#,
            "fault 529",
            "fault 529",
        ),
        ("InternalFailure", "", "fault 500", "fault 500"),
        ("brandNew", "{}", "", ""),
    ];
    for (name, data, commit, meter) in cases {
        let event = frame::Event { raw: b"", name: name.as_bytes(), data: Some(data.as_bytes().into()) };
        let look = |look| word(&outbound(Dialect::BedrockConverse).glance(&event, look));
        assert_eq!(look(Look::Commit), commit, "{name} {data}");
        assert_eq!(look(Look::Meter), meter, "{name} {data}");
    }
}

#[test]
fn gemini_events() {
    let cases = [
        // (data, before the commit point, after it)
        (
            r#"{"candidates":[{"content":{"parts":[{"text":"a \"finishReason\""}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":2,"candidatesTokenCount":1,"thoughtsTokenCount":3}}"#,
            "content usage 2+4",
            "content usage 2+4",
        ),
        (r#"{"candidates":[{"content":{"parts":[{"text":"","thought":true}]}}]}"#, "", "content"),
        (r#"{"candidates":[{"content":{"role":"model"}}],"usageMetadata":{}}"#, "", "content"),
        (r#"{"candidates":[{"content":{"parts":[{"thoughtSignature":"c2ln"}]}}]}"#, "content", "content"),
        (r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f"}}]}}]}"#, "content", "content"),
        (
            r#"{"candidates":[{"content":{"parts":[{"text":"."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":2,"candidatesTokenCount":3}}"#,
            "content usage 2+3 end",
            "content usage 2+3 end",
        ),
        (r#"{"candidates":[{"finishReason":"MAX_TOKENS"}]}"#, "content end", "content end"),
        (
            r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"FINISH_REASON_UNSPECIFIED"}]}"#,
            "content",
            "content",
        ),
        (
            r#"{"candidates":[{"finishReason":"STOP"},{"content":{"parts":[{"text":"a"}]},"index":1}]}"#,
            "content",
            "content",
        ),
        (
            r#"{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":2}}"#,
            "content usage 2+0 end",
            "content usage 2+0 end",
        ),
        (r#"{"usageMetadata":{"promptTokenCount":2}}"#, "usage 2+0", "content usage 2+0"),
        (r#"{"error":{"code":503,"message":"x","status":"UNAVAILABLE"}}"#, "fault 503", "fault 503"),
        (r#"[{"error":{"code":429,"message":"x","status":"RESOURCE_EXHAUSTED"}}]"#, "fault 429", "fault 429"),
        ("{broken", "", "content"),
    ];
    for (data, commit, meter) in cases {
        let block = format!("data: {data}\r\n\r\n");
        assert_eq!(word(&look(Dialect::Gemini, &block, Look::Commit)), commit, "{data}");
        assert_eq!(word(&look(Dialect::Gemini, &block, Look::Meter)), meter, "{data}");
    }
    assert_eq!(word(&look(Dialect::Gemini, ": processing\n\n", Look::Commit)), "");
}

#[test]
#[rustfmt::skip]
fn responses_events() {
    let cases = [
        // (data, before the commit point, after it)
        (r#"{"type":"response.created","response":{"status":"in_progress","usage":null}}"#, "", ""),
        (r#"{"type":"response.in_progress","response":{}}"#, "", ""),
        (r#"{"type":"response.queued","response":{}}"#, "", ""),
        (r#"{"type":"response.output_item.added","item":{"type":"message","content":[]}}"#, "", "content"),
        (r#"{"type":"response.output_item.added","item":{"type":"reasoning","summary":[]}}"#, "", "content"),
        (r#"{"type":"response.output_item.added","item":{"type":"function_call","arguments":""}}"#, "content", "content"),
        (r#"{"type":"response.output_item.added","item":{"type":"web_search_call"}}"#, "content", "content"),
        (r#"{"type":"response.content_part.added","part":{"type":"output_text","text":""}}"#, "", "content"),
        (r#"{"type":"response.output_text.delta","delta":"a"}"#, "content", "content"),
        (r#"{"type":"response.output_text.delta","delta":""}"#, "", "content"),
        (r#"{"type":"response.refusal.delta","delta":"a"}"#, "content", "content"),
        (r#"{"type":"response.reasoning_summary_part.added","part":{"text":""}}"#, "", "content"),
        (r#"{"type":"response.reasoning_summary_text.delta","delta":"a"}"#, "content", "content"),
        (r#"{"type":"response.function_call_arguments.delta","delta":"{"}"#, "content", "content"),
        (r#"{"type":"response.output_text.annotation.added","annotation":{}}"#, "content", "content"),
        (r#"{"type":"response.output_item.done","item":{"type":"reasoning"}}"#, "content", "content"),
        (r#"{"type":"response.web_search_call.searching"}"#, "", "content"),
        (r#"{"type":"response.completed","response":{"usage":{"input_tokens":2,"output_tokens":3}}}"#, "content usage 2+3 end", "content usage 2+3 end"),
        (r#"{"type":"response.incomplete","response":{"usage":null}}"#, "content end", "content end"),
        (r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slow"}}}"#, "fault 429", "fault 429"),
        (r#"{"type":"response.failed","response":{"error":null}}"#, "fault 500", "fault 500"),
        (r#"{"type":"error","code":"server_error","message":"x","param":null}"#, "fault 500", "fault 500"),
        (r#"{"type":"error","error":{"type":"invalid_request_error","message":"x"}}"#, "fault 400", "fault 400"),
        (r#"{"type":"keepalive"}"#, "", ""),
        (r#"{"response":1}"#, "", ""),
        ("{broken", "", ""),
        ("[DONE]", "", ""),
    ];
    for (data, commit, meter) in cases {
        let name = serde_json::from_str::<serde_json::Value>(data).unwrap_or_default();
        let name = name["type"].as_str().unwrap_or_default();
        for block in [format!("event: {name}\ndata: {data}\n\n"), format!("data: {data}\n\n")] {
            assert_eq!(word(&look(Dialect::OpenAiResponses, &block, Look::Commit)), commit, "{block}");
            assert_eq!(word(&look(Dialect::OpenAiResponses, &block, Look::Meter)), meter, "{block}");
        }
    }
    let failed = "event: response.failed\ndata: {\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"It broke.\"}}}\n\n";
    let fault = look(Dialect::OpenAiResponses, failed, Look::Meter).fault.unwrap();
    assert_eq!((fault.message.as_str(), fault.code.as_deref()), ("It broke.", Some("server_error")));
}

#[test]
fn cohere_events() {
    let part = |kind: &str, message: &str| {
        format!(r#"{{"type":"{kind}","index":0,"delta":{{"message":{message}}}}}"#)
    };
    let end = |delta: &str| format!(r#"{{"type":"message-end","delta":{delta}}}"#);
    let usage = r#""usage":{"billed_units":{"input_tokens":2,"output_tokens":3},"tokens":{"input_tokens":60,"output_tokens":9}}"#;
    let cases = [
        (r#"{"type":"message-start","id":"i","delta":{"message":{"role":"assistant"}}}"#.to_owned(), "", ""),
        (part("content-start", r#"{"content":{"type":"text","text":""}}"#), "", "content"),
        (part("content-start", r#"{"content":{"type":"text","text":"a"}}"#), "content", "content"),
        (
            part("content-start", r#"{"content":{"type":"thinking","thinking":"","redacted":"a"}}"#),
            "content",
            "content",
        ),
        (part("content-start", r#"{"content":{"type":"new"}}"#), "content", "content"),
        (part("content-delta", r#"{"content":{"text":"message-end \"error\""}}"#), "content", "content"),
        (part("content-delta", r#"{"content":{"thinking":"a"}}"#), "content", "content"),
        (part("content-delta", r#"{"content":{"text":""}}"#), "", "content"),
        (part("tool-plan-delta", r#"{"tool_plan":"I will"}"#), "content", "content"),
        (part("tool-call-start", r#"{"tool_calls":{"id":"a"}}"#), "content", "content"),
        (part("tool-call-delta", r#"{"tool_calls":{}}"#), "content", "content"),
        (part("citation-start", r#"{"citations":{}}"#), "content", "content"),
        (r#"{"type":"content-end","index":0}"#.to_owned(), "", ""),
        (r#"{"type":"tool-call-end","index":0}"#.to_owned(), "", ""),
        (r#"{"type":"citation-end","index":0}"#.to_owned(), "", ""),
        (r#"{"type":"debug","prompt":"a"}"#.to_owned(), "", ""),
        (
            end(&format!(r#"{{"finish_reason":"COMPLETE",{usage}}}"#)),
            "content usage 2+3 end",
            "content usage 2+3 end",
        ),
        (end(r#"{"finish_reason":"TOOL_CALL"}"#), "content end", "content end"),
        (
            end(&format!(r#"{{"finish_reason":"ERROR","error":"x",{usage}}}"#)),
            "usage 2+3 fault 500",
            "usage 2+3 fault 500",
        ),
        (end(r#"{"finish_reason":"TIMEOUT"}"#), "fault 504", "fault 504"),
    ];
    for (data, commit, meter) in &cases {
        let name: serde_json::Value = serde_json::from_str(data).unwrap();
        let name = name["type"].as_str().unwrap();
        for block in [format!("event: {name}\ndata: {data}\n\n"), format!("data: {data}\n\n")] {
            assert_eq!(word(&look(Dialect::CohereChat, &block, Look::Commit)), *commit, "{block}");
            assert_eq!(word(&look(Dialect::CohereChat, &block, Look::Meter)), *meter, "{block}");
        }
    }
    let others = [
        ("data: [DONE]\n\n", ""),
        ("data: {broken\n\n", ""),
        ("event: message-end\ndata: {broken\n\n", "content end"),
        (": ping\n\n", ""),
        ("data: {\"message\":\"overloaded\"}\n\n", "fault 500"),
        ("event: error\ndata: no json\n\n", "fault 500"),
    ];
    for (block, expected) in others {
        for how in [Look::Commit, Look::Meter] {
            assert_eq!(word(&look(Dialect::CohereChat, block, how)), expected, "{block}");
        }
    }
}

#[test]
fn reports_of_one_stream_add_up() {
    let first = Usage { input: 30, cache_read: 20, output: 1, ..Usage::default() };
    let last = Usage { output: 9, ..Usage::default() };
    assert_eq!(first.merge(last), Usage { output: 9, ..first });
}
