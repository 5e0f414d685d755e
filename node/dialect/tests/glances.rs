//! What the meter and the commit point see of events that are passed on.

#![allow(clippy::unwrap_used)]

use trestle_dialect::{Dialect, Glance, Look, ir::Usage, outbound};

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
        ("[DONE]", "end", "end"),
        ("{broken", "", "content"),
    ];
    for (data, commit, meter) in cases {
        let block = format!("data: {data}\n\n");
        assert_eq!(word(&look(Dialect::OpenAiChat, &block, Look::Commit)), commit, "{data}");
        assert_eq!(word(&look(Dialect::OpenAiChat, &block, Look::Meter)), meter, "{data}");
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
