//! Anthropic's shapes.

use serde_json::{Value, json};
use trestle_bench::mock::{Mock, Options};

use crate::http::{messages, send};

fn start() -> Mock {
    Mock::start(Options::default()).unwrap()
}

fn say(text: &str) -> Value {
    turns(json!([{"role": "user", "content": text}]))
}

fn turns(messages: Value) -> Value {
    json!({"model": "claude-sonnet-4-5", "max_tokens": 4096, "messages": messages})
}

fn with(mut body: Value, more: Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn tools() -> Value {
    json!([
        {"name": "weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}},
        {"name": "now", "input_schema": {"type": "object", "properties": {}}},
    ])
}

#[test]
fn a_message_is_echoed_with_usage() {
    let answer = messages(&start(), "cached=2", &say("hello 🎉"));
    assert_eq!((answer.status, answer.complete), (200, true));
    assert!(answer.header("request-id").is_some());
    let body = answer.json();
    assert_eq!(body["content"], json!([{"type": "text", "text": "hello 🎉"}]));
    assert_eq!((&body["stop_reason"], &body["stop_sequence"]), (&json!("end_turn"), &Value::Null));
    assert_eq!(body["usage"]["input_tokens"], 5);
    assert_eq!(body["usage"]["cache_read_input_tokens"], 2);
}

#[test]
fn a_stream_has_the_lifecycle_of_the_vendor() {
    let mock = start();
    let check = |more: Value, expected: &[&str]| {
        let answer = messages(&mock, "", &with(with(say("one two"), json!({"stream": true})), more));
        let names: Vec<_> = answer.text().lines().filter_map(|line| line.strip_prefix("event: ")).collect();
        assert_eq!(names, expected);
        for (name, data) in names.iter().zip(answer.events()) {
            assert_eq!(serde_json::from_str::<Value>(data).unwrap()["type"], *name);
        }
        answer.text().to_owned()
    };
    let (start, delta, stop) = ("content_block_start", "content_block_delta", "content_block_stop");
    let (first, last, end) = ("message_start", "message_delta", "message_stop");
    let plain = check(json!({}), &[first, start, "ping", delta, delta, stop, last, end]);
    assert!(
        plain.contains(r#""stop_reason":"end_turn""#) && plain.contains(r#""output_tokens":2}"#),
        "{plain}"
    );
    let thinking = json!({"thinking": {"type": "enabled", "budget_tokens": 1024}});
    let deltas = [delta; 6];
    let thought =
        [&[first, start, "ping"], &deltas[..], &[stop, start, delta, delta, stop, last, end]].concat();
    let text = check(thinking, &thought);
    assert!(text.contains("signature_delta"), "{text}");
}

#[test]
fn tools_are_called_and_answered() {
    let mock = start();
    let content = |text: &str| {
        let body = messages(&mock, "", &with(say(text), json!({"tools": tools()}))).json();
        assert_eq!(body["stop_reason"], "tool_use");
        body["content"].clone()
    };
    let two = content("call two tools with text");
    assert_eq!(two[0]["type"], "text");
    assert_eq!((&two[1]["name"], &two[2]["name"]), (&json!("weather"), &json!("now")));
    assert_eq!(
        (&two[1]["input"]["city"], &two[2]["input"]),
        (&json!("call two tools with text"), &json!({}))
    );

    let result = |id: &Value, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": text});
    let history = |results: Value| {
        with(
            turns(json!([
                {"role": "user", "content": "call two tools"},
                {"role": "assistant", "content": two},
                {"role": "user", "content": results},
            ])),
            json!({"tools": tools()}),
        )
    };
    let both = json!([result(&two[1]["id"], "sunny"), result(&two[2]["id"], "noon")]);
    let body = messages(&mock, "", &history(both)).json();
    assert_eq!(body["content"][0]["text"], "The tool said: sunny and noon", "{body}");
    let one = messages(&mock, "", &history(json!([result(&two[1]["id"], "sunny")])));
    assert_eq!(one.status, 400);
    assert!(one.text().contains("`tool_use` ids were found without `tool_result` blocks"), "{}", one.text());
    let late = json!([{"type": "text", "text": "x"}, result(&two[1]["id"], "a"), result(&two[2]["id"], "b")]);
    assert_eq!(messages(&mock, "", &history(late)).status, 400);
}

#[test]
fn an_empty_tool_streams_one_empty_delta() {
    let body = with(say("call empty tool"), json!({"tools": tools(), "stream": true}));
    let answer = messages(&start(), "", &body);
    let deltas: Vec<_> = answer.events().into_iter().filter(|data| data.contains("partial_json")).collect();
    assert_eq!(deltas.len(), 1);
    assert!(deltas[0].contains(r#""partial_json":"""#) && answer.text().contains(r#""input":{}"#));
}

#[test]
fn signatures_must_come_back_as_they_were() {
    let mock = start();
    let thinking = json!({"thinking": {"type": "enabled", "budget_tokens": 1024}});
    let first = messages(&mock, "", &with(say("think redacted"), thinking.clone())).json()["content"].clone();
    assert_eq!((&first[0]["type"], &first[1]["type"]), (&json!("thinking"), &json!("redacted_thinking")));
    let again = |content: &Value| {
        let history = json!([
            {"role": "user", "content": "think redacted"},
            {"role": "assistant", "content": content},
            {"role": "user", "content": "more"},
        ]);
        messages(&mock, "", &with(turns(history), thinking.clone()))
    };
    assert_eq!(again(&first).status, 200);
    for (at, member) in [(0, "signature"), (0, "thinking"), (1, "data")] {
        let mut changed = first.clone();
        changed[at][member] = json!(format!("{}A", changed[at][member].as_str().unwrap()));
        let answer = again(&changed);
        assert_eq!(answer.status, 400, "{member}");
        assert!(answer.text().contains("Invalid `"), "{}", answer.text());
    }
}

#[test]
fn what_anthropic_refuses_is_refused() {
    let mock = start();
    let check = |body: Value, message: &str| {
        let answer = messages(&mock, "", &body);
        let json = answer.json();
        assert_eq!((answer.status, &json["type"]), (400, &json!("error")), "{body}");
        assert_eq!(json["error"]["type"], "invalid_request_error");
        assert_eq!(json["request_id"].as_str(), answer.header("request-id"));
        assert!(json["error"]["message"].as_str().unwrap().contains(message), "{json}");
    };
    check(json!({"max_tokens": 1, "messages": []}), "model: Field required");
    check(json!({"model": "m", "messages": []}), "max_tokens: Field required");
    check(json!({"model": "m", "max_tokens": 1}), "messages: Field required");
    check(with(say("x"), json!({"stream_options": {}})), "stream_options: Extra inputs are not permitted");
    check(turns(json!([{"role": "system", "content": "x"}])), "Unexpected role \"system\"");
    check(turns(json!([{"role": "tool", "content": "x"}])), "messages.0.role");
    check(turns(json!([{"role": "assistant", "content": "x"}])), "first message");
    check(turns(json!([{"role": "user", "content": ""}])), "non-empty content");
    let block = |block: Value| turns(json!([{"role": "user", "content": [block]}]));
    check(block(json!({"type": "text", "text": ""})), "text content blocks must be non-empty");
    check(
        block(json!({"type": "tool_result", "tool_use_id": "t", "content": "x"})),
        "unexpected `tool_use_id`",
    );
    let image = |kind: &str, data: &str| {
        block(json!({"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}))
    };
    check(image("image/png", "%%"), "invalid base64 data");
    check(image("image/tiff", "iVBORw0KGgo="), "media_type: Input should be");
    check(image("image/jpeg", "iVBORw0KGgo="), "does not match the provided media type");
    let mark = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
    check(
        turns(json!([{"role": "user", "content": vec![mark; 5]}])),
        "A maximum of 4 blocks with cache_control",
    );
    check(with(say("x"), json!({"tools": [{"name": "t"}]})), "tools.0.custom.input_schema: Field required");
}

#[test]
fn headers_are_required() {
    let mock = start();
    let body = say("x").to_string();
    let version = ("anthropic-version", "2023-06-01");
    let no_key = send(&mock, "POST /v1/messages", &[version], &body);
    assert_eq!((no_key.status, &no_key.json()["error"]["type"]), (401, &json!("authentication_error")));
    let no_version = send(&mock, "POST /v1/messages", &[("x-api-key", "k")], &body);
    assert!(no_version.text().contains("anthropic-version: header is required"));
    let bearer = send(&mock, "POST /v1/messages", &[version, ("authorization", "Bearer k")], &body);
    assert_eq!(bearer.status, 200);
    let models = send(&mock, "GET /v1/models", &[version, ("x-api-key", "k")], "").json();
    assert_eq!(models["data"][0]["type"], "model");
}
