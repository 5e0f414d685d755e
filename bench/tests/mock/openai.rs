//! OpenAI's shapes.

use serde_json::{Value, json};
use trestle_bench::mock::{Mock, Options};

use crate::http::{chat, send};

fn start() -> Mock {
    Mock::start(Options::default()).unwrap()
}

fn say(text: &str) -> Value {
    json!({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}]})
}

fn with(mut body: Value, more: Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn tools() -> Value {
    json!([
        {"type": "function", "function": {"name": "weather", "parameters":
            {"type": "object", "properties": {"city": {"type": "string"}}}}},
        {"type": "function", "function": {"name": "now"}},
    ])
}

#[test]
fn a_chat_is_echoed_with_usage() {
    let answer = chat(&start(), "", &say("hello 世界"));
    assert_eq!((answer.status, answer.complete), (200, true));
    assert!(answer.header("x-request-id").unwrap().starts_with("req_"));
    let body = answer.json();
    assert_eq!(body["choices"][0]["message"]["content"], "hello 世界");
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    assert_eq!((&body["object"], &body["model"]), (&json!("chat.completion"), &json!("gpt-4o-mini")));
    assert_eq!(body["usage"]["prompt_tokens"], json!(7));
    assert_eq!(body["usage"]["prompt_tokens_details"]["cached_tokens"], json!(0));
}

#[test]
fn a_stream_has_role_content_finish_usage_and_end() {
    let mock = start();
    let check = |options: Value, settings: &str, expected: &[&str]| {
        let answer = chat(&mock, settings, &with(say("one two"), options));
        assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
        let found: Vec<_> = answer.events().into_iter().map(kind).collect();
        assert_eq!(found, expected, "{settings}");
    };
    let usage = json!({"stream": true, "stream_options": {"include_usage": true}});
    check(json!({"stream": true}), "", &["role", "one ", "two", "stop", "[DONE]"]);
    check(usage.clone(), "", &["role", "one ", "two", "stop", "usage", "[DONE]"]);
    check(usage.clone(), "no_usage", &["role", "one ", "two", "stop", "[DONE]"]);
    check(usage, "usage_placeholder", &["role", "one ", "two", "stop", "usage with a choice", "[DONE]"]);
    check(json!({"stream": true}), "tokens=1", &["role", "word0 ", "stop", "[DONE]"]);
}

fn kind(data: &str) -> String {
    let Ok(event) = serde_json::from_str::<Value>(data) else { return data.to_owned() };
    assert_eq!(event["object"], "chat.completion.chunk");
    if event["usage"].is_object() {
        let none = event["choices"] == json!([]);
        return if none { "usage".into() } else { "usage with a choice".into() };
    }
    let choice = &event["choices"][0];
    match (&choice["finish_reason"], &choice["delta"]) {
        (Value::String(reason), _) => reason.clone(),
        (_, delta) if delta["role"] == "assistant" && delta["content"] == "" => "role".into(),
        (_, delta) => delta["content"].as_str().unwrap_or("?").to_owned(),
    }
}

#[test]
fn tools_are_called() {
    let mock = start();
    let check = |text: &str, expected: Value| {
        let body = chat(&mock, "", &with(say(text), json!({"tools": tools()}))).json();
        assert_eq!(body["choices"][0]["finish_reason"], "tool_calls");
        let calls = body["choices"][0]["message"]["tool_calls"].as_array().unwrap();
        let found: Vec<_> = calls.iter().map(|call| call["function"].clone()).collect();
        assert_eq!(json!(found), expected);
    };
    let weather = |text: &str| json!({"name": "weather", "arguments": json!({"city": text}).to_string()});
    check("call tool", json!([weather("call tool")]));
    check("call empty tool", json!([{"name": "now", "arguments": "{}"}]));
    let second = json!({"name": "now", "arguments": "{}"});
    check("call two tools", json!([weather("call two tools"), second]));
}

#[test]
fn tool_arguments_stream_as_deltas() {
    let body = with(say("call two tools"), json!({"tools": tools(), "stream": true}));
    let answer = chat(&start(), "", &body);
    let mut arguments = [String::new(), String::new()];
    let mut ids = Vec::new();
    for event in answer.events().into_iter().filter_map(|data| serde_json::from_str::<Value>(data).ok()) {
        for call in event["choices"][0]["delta"]["tool_calls"].as_array().into_iter().flatten() {
            let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
            arguments[index].push_str(call["function"]["arguments"].as_str().unwrap());
            ids.extend(call["id"].as_str().map(str::to_owned));
        }
    }
    assert_eq!(arguments, [r#"{"city":"call two tools"}"#, "{}"]);
    assert_eq!(ids.len(), 2);
}

#[test]
fn a_tool_result_is_answered() {
    let call =
        json!({"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}});
    let messages = json!([
        {"role": "user", "content": "call tool"},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny"},
    ]);
    let body = chat(&start(), "", &json!({"model": "m", "messages": messages, "tools": tools()})).json();
    assert_eq!(body["choices"][0]["message"]["content"], "The tool said: sunny");
}

#[test]
fn images_stops_and_schemas() {
    let mock = start();
    let content = |body: &Value| chat(&mock, "", body).json()["choices"][0]["message"]["content"].clone();
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let parts = json!([{"type": "text", "text": "look"}, image("data:image/png;base64,iVBORw0KGgo="),
        image("https://example.com/a.png")]);
    assert_eq!(
        content(&json!({"model": "m", "messages": [{"role": "user", "content": parts}]})),
        "look (saw 2 images)"
    );
    assert_eq!(content(&with(say("a STOP b"), json!({"stop": ["STOP"]}))), "a ");
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
    assert_eq!(content(&with(say("x"), json!({"response_format": format}))), r#"{"n":1}"#);
}

#[test]
fn what_openai_refuses_is_refused() {
    let mock = start();
    let check = |body: Value, param: Value, code: Value, message: &str| {
        let answer = chat(&mock, "", &body);
        let error = answer.json()["error"].clone();
        assert_eq!((answer.status, &error["type"]), (400, &json!("invalid_request_error")), "{body}");
        assert_eq!((&error["param"], &error["code"]), (&param, &code), "{error}");
        assert!(error["message"].as_str().unwrap().contains(message), "{error}");
    };
    let none = Value::Null;
    check(json!({"messages": []}), none.clone(), none.clone(), "you must provide a model parameter");
    check(json!({"model": "m"}), json!("messages"), json!("missing_required_parameter"), "'messages'");
    check(
        with(say("x"), json!({"x": 1})),
        none.clone(),
        none.clone(),
        "Unrecognized request argument supplied: x",
    );
    check(
        json!({"model": "m", "messages": [{"role": "boss", "content": "x"}]}),
        json!("messages[0].role"),
        json!("invalid_value"),
        "'boss'",
    );
    for model in ["gpt-5-mini", "o3"] {
        check(
            with(say("x"), json!({"model": model, "max_tokens": 5})),
            json!("max_tokens"),
            json!("unsupported_parameter"),
            "Use 'max_completion_tokens' instead",
        );
    }
    let orphan = json!({"role": "tool", "tool_call_id": "c", "content": "x"});
    check(
        json!({"model": "m", "messages": [orphan]}),
        json!("messages.[0].role"),
        none.clone(),
        "preceeding",
    );
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    check(
        json!({"model": "m", "messages": [{"role": "assistant", "tool_calls": [call]}]}),
        json!("messages.[1].role"),
        none,
        "did not have response messages: c",
    );
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,%%"}});
    check(
        json!({"model": "m", "messages": [{"role": "user", "content": [image]}]}),
        json!("messages[0].content[0].image_url.url"),
        json!("invalid_value"),
        "invalid base64",
    );
}

#[test]
fn a_key_is_required() {
    let mock = start();
    for headers in [&[][..], &[("authorization", "Bearer ")], &[("x-api-key", "sk")]] {
        let answer = send(&mock, "POST /v1/chat/completions", headers, &say("x").to_string());
        assert_eq!(answer.status, 401, "{headers:?}");
        assert_eq!(answer.json()["error"]["type"], "invalid_request_error");
    }
}

#[test]
fn the_other_endpoints_answer() {
    let mock = start();
    let key = [("authorization", "Bearer k")];
    let post = |path: &str, body: Value| {
        let answer = send(&mock, &format!("POST /v1/{path}"), &key, &body.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    let embedded = post("embeddings", json!({"model": "e", "input": ["a", "b"], "dimensions": 3}));
    assert_eq!(embedded["data"][1]["embedding"].as_array().unwrap().len(), 3);
    let packed =
        post("embeddings", json!({"model": "e", "input": "a", "dimensions": 3, "encoding_format": "base64"}));
    assert_eq!(packed["data"][0]["embedding"].as_str().unwrap().len(), 16);
    assert_eq!(post("completions", json!({"model": "c", "prompt": "hi"}))["choices"][0]["text"], "hi");
    assert_eq!(send(&mock, "GET /v1/models", &key, "").json()["object"], "list");
    assert_eq!(send(&mock, "GET /v1/models/gpt-4o", &key, "").json()["id"], "gpt-4o");
    assert_eq!(send(&mock, "GET /healthz", &[], "").status, 200);
    assert_eq!(send(&mock, "GET /v1/nothing", &key, "").status, 404);
}
