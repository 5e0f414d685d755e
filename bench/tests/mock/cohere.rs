//! Cohere's shapes.

use serde_json::{Value, json};
use trestle_bench::mock::{Mock, Options};

use crate::http::{Answer, send};

fn start() -> Mock {
    Mock::start(Options::default()).unwrap()
}

fn post(mock: &Mock, path: &str, settings: &str, body: &Value) -> Answer {
    let headers = [("authorization", "Bearer k"), ("x-mock", settings)];
    send(mock, &format!("POST {path}"), &headers, &body.to_string())
}

fn say(text: &str, more: Value) -> Value {
    let mut body = json!({"model": "command-a-03-2025", "messages": [{"role": "user", "content": text}]});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn tools() -> Value {
    json!([{"type": "function", "function": {"name": "weather", "parameters":
        {"type": "object", "properties": {"city": {"type": "string"}}}}}])
}

#[test]
fn answers_hold_content_calls_and_citations() {
    let mock = start();
    let chat = |more: Value, text: &str| post(&mock, "/v2/chat", "cached=2", &say(text, more)).json();
    let body = chat(json!({}), "hello 世界");
    assert_eq!(body["message"]["content"][0]["text"], "hello 世界");
    assert_eq!(body["finish_reason"], "COMPLETE");
    assert_eq!(body["usage"]["billed_units"]["input_tokens"], 7);
    let called = chat(json!({"tools": tools()}), "call tool with plan");
    assert_eq!(called["message"]["tool_calls"][0]["function"]["name"], "weather");
    assert_eq!(
        (&called["message"]["tool_plan"], &called["finish_reason"]),
        (&json!("I will use a tool."), &json!("TOOL_CALL"))
    );
    let thought = chat(json!({"thinking": {"type": "enabled"}}), "x");
    assert_eq!(thought["message"]["content"][0]["thinking"], "The user wrote: x");
    let cited = chat(json!({"documents": [{"id": "d", "data": {"text": "t"}}]}), "one two");
    let citation = &cited["message"]["citations"][0];
    assert_eq!((&citation["text"], &citation["sources"][0]["id"]), (&json!("one"), &json!("d")));
}

#[test]
fn streams_have_the_whole_grammar() {
    let mock = start();
    let check = |settings: &str, more: Value, text: &str, expected: &[&str]| {
        let mut body = say(text, more);
        body["stream"] = json!(true);
        let answer = post(&mock, "/v2/chat", settings, &body);
        let kind =
            |data: &str| serde_json::from_str::<Value>(data).unwrap()["type"].as_str().unwrap().to_owned();
        let found: Vec<_> = answer.events().into_iter().map(kind).collect();
        assert_eq!(found, expected, "{settings}");
    };
    let plain =
        ["message-start", "content-start", "content-delta", "content-delta", "content-end", "message-end"];
    check("", json!({}), "one two", &plain);
    check("error_event_mid=1", json!({}), "one two", &[&plain[..3], &["message-end"]].concat());
    let cited = [&plain[..3], &["citation-start", "citation-end"], &plain[3..]].concat();
    check("", json!({"documents": ["d"]}), "one two", &cited);
    let called =
        ["message-start", "tool-plan-delta", "tool-plan-delta", "tool-plan-delta", "tool-call-start"];
    let called = [&called[..], &["tool-call-delta"; 5], &["tool-call-end", "message-end"]].concat();
    check("", json!({"tools": tools()}), "call tool with plan", &called);
}

#[test]
fn what_is_refused() {
    let mock = start();
    let check = |more: Value, status: u16, message: &str| {
        let answer = post(&mock, "/v2/chat", "", &say("x", more));
        assert_eq!(answer.status, status, "{}", answer.text());
        let body = answer.json();
        assert!(body["id"].is_string() && body["message"].as_str().unwrap().contains(message), "{body}");
    };
    check(json!({"top_p": 0.5}), 422, "parameter 'top_p' is not a valid field");
    check(json!({"model": ""}), 400, "model is required");
    check(json!({"temperature": 1.5}), 400, "temperature must be between 0 and 1 inclusive");
    check(json!({"k": 501}), 400, "k must be");
    check(json!({"frequency_penalty": 0.5, "presence_penalty": 0.5}), 400, "cannot specify both");
    check(json!({"tool_choice": "AUTO"}), 400, "REQUIRED, NONE");
    check(json!({"tool_choice": "NONE"}), 400, "with tools");
    check(json!({"tools": []}), 400, "list of tools must not be empty");
    check(
        json!({"tools": tools(), "response_format": {"type": "json_object"}}),
        400,
        "not supported with tools",
    );
    check(
        json!({"documents": ["d"], "response_format": {"type": "json_object"}}),
        400,
        "not supported with RAG",
    );
    check(json!({"messages": [{"role": "user", "content": ""}]}), 400, "message must not be empty");
    check(json!({"messages": [{"role": "developer", "content": "x"}]}), 400, "role must be one of");
    let late = json!([{"role": "user", "content": "x"}, {"role": "system", "content": "y"}]);
    check(json!({"messages": late}), 400, "system turn must be the first");
    let orphan = json!({"role": "tool", "tool_call_id": "c", "content": "x"});
    check(json!({"messages": [orphan]}), 400, "'c' was not found");
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,%%"}});
    check(json!({"messages": [{"role": "user", "content": [image]}]}), 400, "image_url must be");
}

#[test]
fn texts_are_embedded_and_ranked() {
    let mock = start();
    let embed = json!({"model": "embed-v4.0", "input_type": "search_query", "texts": ["a", "b"]});
    let body = post(&mock, "/v2/embed", "", &embed).json();
    assert_eq!(body["embeddings"]["float"].as_array().unwrap().len(), 2);
    assert_eq!(post(&mock, "/v2/embed", "", &json!({"model": "e", "texts": ["a"]})).status, 400);
    let rank = json!({"model": "rerank-v3.5", "query": "big city", "documents": ["small", "big city", "city"], "top_n": 2});
    for (path, version) in [("/v2/rerank", "2"), ("/v1/rerank", "1")] {
        let body = post(&mock, path, "", &rank).json();
        let order: Vec<_> =
            body["results"].as_array().unwrap().iter().map(|result| &result["index"]).collect();
        assert_eq!(
            (order, &body["meta"]["api_version"]["version"]),
            (vec![&json!(1), &json!(2)], &json!(version))
        );
    }
    let answer = send(&mock, "POST /v2/chat", &[], "{}");
    assert_eq!((answer.status, &answer.json()["message"]), (401, &json!("no api key supplied")));
}
