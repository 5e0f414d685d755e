//! Requests that stay in their dialect: only what must change does.

#![allow(clippy::unwrap_used)]

use trestle_dialect::{Dialect, Envelope, MaxTokensMember, Quirks, Target, ir::Json, outbound};

/// The body after the edits, and what quirks dropped.
fn edit(dialect: Dialect, body: &str, target: &Target<'_>) -> (String, Vec<String>) {
    let envelope = Envelope::parse(body.to_owned().into()).unwrap();
    let (edits, dropped) = outbound(dialect).edit_request(&envelope, target).unwrap();
    (String::from_utf8(edits.apply(&envelope).concat()).unwrap(), dropped)
}

fn check(dialect: Dialect, quirks: &Quirks, body: &str, expected: &str, expected_dropped: &[&str]) {
    let target = Target { model: "up", quirks, params: &[], wants_max_completion_tokens: false };
    let (edited, dropped) = edit(dialect, body, &target);
    assert_eq!(edited, expected, "{body}");
    assert_eq!(dropped, expected_dropped, "{body}");
}

/// Dialects whose model stands in the body.
fn in_body() -> impl Iterator<Item = Dialect> {
    Dialect::ALL.into_iter().filter(|dialect| !dialect.model_in_path())
}

#[test]
fn nothing_changes_where_the_path_names_the_model() {
    let none = Quirks::default();
    for dialect in Dialect::ALL.into_iter().filter(|dialect| dialect.model_in_path()) {
        let body = r#"{ "contents" : [{"parts":[{"text":"a\/b"}]}], "model": "chat", "x_new": [1.0] }"#;
        check(dialect, &none, body, body, &[]);
        check(dialect, &none, r#"{"fallbacks":["a"],"b":1}"#, r#"{"b":1}"#, &[]);
    }
}

#[test]
fn both_spellings_of_gemini_are_one_member() {
    let quirks = Quirks { drop: vec!["safetySettings".to_owned(), "labels".to_owned()], ..Quirks::default() };
    let params = [("generationConfig".to_owned(), Json::fixed(r#"{"topK":1}"#))];
    let target = Target { model: "up", quirks: &quirks, params: &params, wants_max_completion_tokens: false };
    let body = r#"{"contents":[],"safety_settings":[],"generation_config":{"topK":2}}"#;
    let (edited, dropped) = edit(Dialect::Gemini, body, &target);
    assert_eq!(edited, r#"{"contents":[],"generationConfig":{"topK":1}}"#);
    assert_eq!(dropped, ["safety_settings"]);
}

#[test]
fn only_the_model_changes() {
    let none = Quirks::default();
    for dialect in in_body() {
        let body = r#"{ "model" : "chat", "messages":[{"role":"developer","content":[{"type":"text","text":"a\/b"}]}], "x_new": [1.0] }"#;
        let model = "\"up\"";
        check(dialect, &none, body, &body.replace("\"chat\"", model), &[]);
        check(dialect, &none, r#"{"model":"up","fallbacks":["a"],"b":1}"#, r#"{"model":"up","b":1}"#, &[]);
        let target = Target { model: "up", quirks: &none, params: &[], wants_max_completion_tokens: true };
        let envelope = Envelope::parse(r#"{"model":"up","messages":[]}"#.into()).unwrap();
        assert!(outbound(dialect).edit_request(&envelope, &target).unwrap().0.is_empty());
    }
}

#[test]
fn what_cohere_alone_has_stays() {
    let body = r#"{"model":"up","stream":true,"documents":[ {"id":"a","data":{"text":"b"}} ],"raw_prompting":true,"stream_options":1,"messages":[{"role":"tool","content":[{"type":"document","document":{}}]},{"role":"assistant","tool_plan":"p","content":[{"type":"thinking","thinking":"t"}]}]}"#;
    let quirks = Quirks { flatten_content: true, stream_usage: false, ..Quirks::default() };
    check(Dialect::CohereChat, &quirks, body, body, &[]);
}

#[test]
fn a_model_that_stands_in_the_path_leaves_the_body() {
    let quirks = Quirks { model_in_path: true, ..Quirks::default() };
    for dialect in [Dialect::OpenAiChat, Dialect::AnthropicMessages] {
        check(dialect, &quirks, r#"{"model":"chat","messages":[]}"#, r#"{"messages":[]}"#, &[]);
        check(dialect, &quirks, r#"{"messages":[]}"#, r#"{"messages":[]}"#, &[]);
        let params = [("version".to_owned(), Json::from_valid("\"v\"".into()))];
        let target =
            Target { model: "up", quirks: &quirks, params: &params, wants_max_completion_tokens: false };
        let request = trestle_dialect::ir::Request::default();
        let encoded = outbound(dialect).encode_request(&request, &target).unwrap();
        let body: serde_json::Value = serde_json::from_slice(&encoded.body).unwrap();
        assert!(body.get("model").is_none() && body["version"] == "v", "{body}");
    }
}

#[test]
fn usage_is_asked_for_in_openai_streams() {
    let (none, dialect) = (Quirks::default(), Dialect::OpenAiChat);
    let cases = [
        (
            r#"{"model":"up","stream":true}"#,
            r#"{"model":"up","stream":true,"stream_options":{"include_usage":true}}"#,
        ),
        (
            r#"{"model":"up","stream":true,"stream_options":{"include_usage":false,"include_obfuscation":false}}"#,
            r#"{"model":"up","stream":true,"stream_options":{"include_obfuscation":false,"include_usage":true}}"#,
        ),
        (
            r#"{"model":"up","stream":true,"stream_options":null}"#,
            r#"{"model":"up","stream":true,"stream_options":{"include_usage":true}}"#,
        ),
        (
            r#"{"model":"up","stream":true,"stream_options":{ "include_usage": true }}"#,
            r#"{"model":"up","stream":true,"stream_options":{ "include_usage": true }}"#,
        ),
        (r#"{"model":"up","stream":false}"#, r#"{"model":"up","stream":false}"#),
    ];
    for (body, expected) in cases {
        check(dialect, &none, body, expected, &[]);
    }
    let quirks = Quirks { stream_usage: false, ..Quirks::default() };
    let body = r#"{"model":"up","stream":true,"stream_options":{"include_usage":true}}"#;
    check(dialect, &quirks, body, r#"{"model":"up","stream":true}"#, &["stream_options"]);
}

#[test]
fn the_limit_goes_by_the_name_that_the_target_knows() {
    let limit = |member, wants, body: &str| {
        let quirks = Quirks { max_tokens_member: member, ..Quirks::default() };
        let target = Target { model: "up", quirks: &quirks, params: &[], wants_max_completion_tokens: wants };
        edit(Dialect::OpenAiChat, body, &target).0
    };
    let old = r#"{"model":"up","max_tokens": 5}"#;
    let new = r#"{"model":"up","max_completion_tokens": 5}"#;
    let both = r#"{"model":"up","max_tokens": 9,"max_completion_tokens": 5}"#;
    assert_eq!(limit(MaxTokensMember::AsSent, false, old), old);
    assert_eq!(limit(MaxTokensMember::AsSent, true, old), new);
    assert_eq!(limit(MaxTokensMember::AsSent, true, both), new);
    assert_eq!(limit(MaxTokensMember::MaxCompletionTokens, false, old), new);
    assert_eq!(limit(MaxTokensMember::MaxTokens, true, new), old);
    assert_eq!(limit(MaxTokensMember::MaxTokens, false, both), r#"{"model":"up","max_tokens": 9}"#);
}

#[test]
fn quirks_reach_into_messages() {
    let dialect = Dialect::OpenAiChat;
    let quirks = Quirks { developer_role: false, ..Quirks::default() };
    check(
        dialect,
        &quirks,
        r#"{"model":"up","messages":[{"role":"developer","content":"developer"},{"content":"b","role": "\u0064eveloper"},{"role":"user"}]}"#,
        r#"{"model":"up","messages":[{"role":"system","content":"developer"},{"content":"b","role": "\u0064eveloper"},{"role":"user"}]}"#
            .replace(r#""\u0064eveloper""#, r#""system""#)
            .as_str(),
        &[],
    );
    let quirks = Quirks { flatten_content: true, ..Quirks::default() };
    // Content is never a string in the others.
    for dialect in [Dialect::OpenAiChat, Dialect::AnthropicMessages] {
        check(
            dialect,
            &quirks,
            r#"{"model":"up","messages":[{"role":"user","content":[{"type":"text","text":"a\""},{"type":"text","text":"b","cache_control":{}}]},{"content":[{"type":"image_url"}]},{"content":"c"}]}"#,
            r#"{"model":"up","messages":[{"role":"user","content":"a\"\nb"},{"content":[{"type":"image_url"}]},{"content":"c"}]}"#,
            &["messages[].content[].cache_control"],
        );
    }
}

#[test]
fn members_are_dropped_renamed_and_set() {
    let quirks = Quirks {
        drop: vec!["logit_bias".to_owned(), "absent".to_owned(), "seed".to_owned()],
        rename: [("seed_old".to_owned(), "random_seed".to_owned())].into(),
        ..Quirks::default()
    };
    let params = [
        ("temperature".to_owned(), Json::fixed("0.1")),
        ("seed".to_owned(), Json::fixed("7")),
        ("random_seed".to_owned(), Json::fixed("8")),
    ];
    let target = Target { model: "up", quirks: &quirks, params: &params, wants_max_completion_tokens: false };
    for dialect in Dialect::ALL {
        let body = r#"{"model":"up","logit_bias":{},"temperature":1,"seed_old":3,"seed":1}"#;
        let (edited, dropped) = edit(dialect, body, &target);
        let mut value: serde_json::Value = serde_json::from_str(&edited).unwrap();
        // Where the path names the model, the body is left alone; it says the same here.
        value["model"] = "up".into();
        let expected = serde_json::json!({"model": "up", "temperature": 0.1, "seed": 7, "random_seed": 8});
        assert_eq!(value, expected, "{edited}");
        assert_eq!(edited.matches("seed").count(), 2, "no member twice: {edited}");
        assert_eq!(dropped, ["logit_bias"]);
    }
}

#[test]
fn what_was_carried_for_others_stays_here() {
    let none = Quirks::default();
    check(
        Dialect::AnthropicMessages,
        &none,
        r#"{"model":"up","thinking":{"type":"enabled","budget_tokens":2000},"messages":[{"role":"user","content":"\"trestle:"},{"content":[{"type":"thinking","thinking":"a","signature":"trestle:openai-chat:x"}],"role":"assistant"},{"role":"assistant","content":[ {"type":"redacted_thinking","data":"trestle:openai-chat:y"},{"type":"text","text":"b"},{"type":"tool_use","id":"c","signature":"trestle:openai-chat:z","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}]}"#,
        r#"{"model":"up","messages":[{"role":"user","content":"\"trestle:"},{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}]}"#,
        &["messages[].content[].thinking", "messages[].content[].signature", "thinking"],
    );
    let own = r#"{"model":"up","thinking":{"type":"enabled"},"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"\"trestle:","signature":"sig"},{"type":"tool_use","id":"c","name":"f","input":{}}]}]}"#;
    check(Dialect::AnthropicMessages, &none, own, own, &[]);
    check(
        Dialect::AnthropicMessages,
        &none,
        r#"{"model":"up","messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"trestle:anthropic-messages:x"}]}]}"#,
        r#"{"model":"up","messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"trestle:anthropic-messages:x"}]}]}"#,
        &[],
    );
    check(
        Dialect::OpenAiChat,
        &none,
        r#"{"model":"up","messages":[{"role":"assistant","content":"a","thinking_blocks":[{"type":"thinking","thinking":"b","signature":"s"},{"type":"thinking","thinking":"c","signature":"trestle:openai-chat:x"}]}]}"#,
        r#"{"model":"up","messages":[{"role":"assistant","content":"a","thinking_blocks":[{"type":"thinking","thinking":"b","signature":"s"}]}]}"#,
        &["messages[].thinking_blocks"],
    );
}

#[test]
fn quirks_reach_into_items() {
    let dialect = Dialect::OpenAiResponses;
    let quirks = Quirks { developer_role: false, ..Quirks::default() };
    check(
        dialect,
        &quirks,
        r#"{"model":"up","input":[{"role":"developer","content": "developer"}, {"type":"item_reference","id":"a"}]}"#,
        r#"{"model":"up","input":[{"role":"system","content":"developer"},{"type":"item_reference","id":"a"}]}"#,
        &[],
    );
    let unchanged = r#"{"model":"up","input":[ {"role":"user","content":"developer"} ]}"#;
    check(dialect, &quirks, unchanged, unchanged, &[]);
    let quirks = Quirks { flatten_content: true, ..Quirks::default() };
    check(
        dialect,
        &quirks,
        r#"{"model":"up","input":[{"role":"user","content":[{"type":"input_text","text":"a\""},{"type":"input_text","text":"b","x":{}}]},{"type":"function_call_output","output":[{"type":"input_image"}]},{"content":"c"}]}"#,
        r#"{"model":"up","input":[{"role":"user","content":"a\"\nb"},{"type":"function_call_output","output":[{"type":"input_image"}]},{"content":"c"}]}"#,
        &["input[].content[].x"],
    );
}

#[test]
fn what_other_vendors_sealed_stays_here() {
    check(
        Dialect::OpenAiResponses,
        &Quirks::default(),
        r#"{"model":"up","input":[{"type":"reasoning","id":"rs_trestle_1","summary":[{"type":"summary_text","text":"Hm."}]},{"type":"reasoning","id":"rs_a","summary":[],"encrypted_content":"trestle:anthropic-messages:s"},{"type":"reasoning","id":"rs_b","summary":[],"encrypted_content":"gAAA"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}","signature":"trestle:gemini:s"},{"role":"assistant","content":[{"type":"output_text","text":"x","signature":"trestle:gemini:s"}]}]}"#,
        r#"{"model":"up","input":[{"type":"reasoning","id":"rs_b","summary":[],"encrypted_content":"gAAA"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"},{"role":"assistant","content":[{"type":"output_text","text":"x"}]}]}"#,
        &["input[].summary", "input[].encrypted_content", "input[].signature", "input[].content[].signature"],
    );
}
