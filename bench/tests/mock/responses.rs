//! OpenAI Responses.

use serde_json::{Value, json};
use trestle_bench::mock::{Mock, Options};

use crate::http::{Answer, send};

fn start() -> Mock {
    Mock::start(Options::default()).unwrap()
}

fn post(mock: &Mock, settings: &str, body: &Value) -> Answer {
    let headers = [("authorization", "Bearer sk-test"), ("x-mock", settings)];
    send(mock, "POST /v1/responses", &headers, &body.to_string())
}

fn say(text: &str, more: Value) -> Value {
    let mut body = json!({"model": "gpt-5-mini", "input": text});
    for (name, value) in more.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

fn tools() -> Value {
    json!([
        {"type": "function", "name": "weather", "parameters":
            {"type": "object", "properties": {"city": {"type": "string"}}}},
        {"type": "function", "name": "now", "parameters": {"type": "object", "properties": {}}},
    ])
}

#[test]
fn answers_hold_items_and_usage() {
    let mock = start();
    let body = post(&mock, "cached=3", &say("hello 世界", json!({}))).json();
    assert_eq!((&body["object"], &body["status"]), (&json!("response"), &json!("completed")));
    assert_eq!(body["output"][0]["content"][0]["text"], "hello 世界");
    assert_eq!(body["usage"]["input_tokens_details"]["cached_tokens"], 3);
    let refused = post(&mock, "refusal", &say("x", json!({}))).json();
    assert_eq!(refused["output"][0]["content"][0]["type"], "refusal");
    let cut = post(&mock, "tokens=99", &say("x", json!({"max_output_tokens": 16}))).json();
    assert_eq!((&cut["status"], &cut["usage"]["output_tokens"]), (&json!("incomplete"), &json!(16)));
    let called = post(&mock, "", &say("call two tools", json!({"tools": tools()}))).json();
    let names: Vec<_> = called["output"].as_array().unwrap().iter().map(|item| &item["name"]).collect();
    assert_eq!(names, ["weather", "now"]);
    assert_eq!(called["output"][1]["arguments"], "{}");
}

#[test]
fn streams_have_the_whole_grammar() {
    let mock = start();
    let check = |settings: &str, more: Value, text: &str, expected: &[&str]| {
        let mut body = say(text, json!({"stream": true, "tools": tools()}));
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        let answer = post(&mock, settings, &body);
        let mut found = Vec::new();
        for (at, data) in answer.events().into_iter().enumerate() {
            let event: Value = serde_json::from_str(data).unwrap();
            assert_eq!(event["sequence_number"], at, "{event}");
            let name = event["type"].as_str().unwrap().trim_start_matches("response.").to_owned();
            assert!(answer.text().contains(&format!("event: {}\n", event["type"].as_str().unwrap())));
            found.push(name);
        }
        assert_eq!(found, expected, "{settings}");
    };
    let text = ["output_item.added", "content_part.added"];
    let done = ["output_text.done", "content_part.done", "output_item.done"];
    let start = ["created", "in_progress"];
    let plain = [&start[..], &text, &["output_text.delta"; 2], &done, &["completed"]].concat();
    check("", json!({}), "one two", &plain);
    check("error_event_mid=1", json!({}), "one two", &[&plain[..5], &["error"]].concat());
    check("error_event,cause=rate_limit", json!({}), "one", &[&plain[..4], &["failed"]].concat());
    let call = ["output_item.added", "function_call_arguments.delta", "function_call_arguments.done"];
    let called = [&start[..], &call, &["output_item.done", "completed"]].concat();
    check("", json!({}), "call empty tool", &called);
    let thought = [
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
    ];
    let all = [&start[..], &thought, &text, &["output_text.delta"], &done, &["completed"]].concat();
    check("", json!({"reasoning": {"effort": "low", "summary": "auto"}}), "one", &all);
}

#[test]
fn what_is_refused() {
    let mock = start();
    let check = |body: Value, param: Value, code: Value, message: &str| {
        let answer = post(&mock, "", &body);
        let error = answer.json()["error"].clone();
        assert_eq!((answer.status, &error["type"]), (400, &json!("invalid_request_error")), "{body}");
        assert_eq!((&error["param"], &error["code"]), (&param, &code), "{error}");
        assert!(error["message"].as_str().unwrap().contains(message), "{error}");
    };
    let check = |more: Value, param: &str, code: &str, message: &str| {
        let code = if code.is_empty() { Value::Null } else { json!(code) };
        let param = if param.is_empty() { Value::Null } else { json!(param) };
        check(say("x", more), param, code, message);
    };
    check(json!({"model": null}), "model", "missing_required_parameter", "'model'");
    check(json!({"stop": ["x"]}), "stop", "unknown_parameter", "'stop'");
    check(json!({"max_output_tokens": 5}), "max_output_tokens", "integer_below_min_value", ">= 16");
    check(json!({"temperature": 0.5}), "temperature", "unsupported_parameter", "not supported");
    let tool = json!({"type": "function", "function": {"name": "f"}});
    check(json!({"tools": [tool]}), "tools[0].function", "unknown_parameter", "");
    check(
        json!({"model": "gpt-4o", "reasoning": {"effort": "low"}}),
        "reasoning.effort",
        "unsupported_parameter",
        "",
    );
    check(json!({"text": {"format": {"type": "json_object"}}}), "input", "", "the word 'json'");
    let schema = json!({"type": "json_schema", "schema": {}});
    check(json!({"text": {"format": schema}}), "text.format.name", "missing_required_parameter", "");
    check(
        json!({"previous_response_id": "resp_x"}),
        "previous_response_id",
        "previous_response_not_found",
        "",
    );
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    let output = json!({"type": "function_call_output", "call_id": "c", "output": "x"});
    check(json!({"input": [output]}), "input", "", "No tool call found");
    check(json!({"input": [call]}), "input", "", "No tool output found");
    let long = json!({"type": "function_call", "call_id": "c".repeat(65), "name": "f", "arguments": "{}"});
    check(json!({"input": [long]}), "input[0].call_id", "string_above_max_length", "");
    let part = json!({"role": "user", "content": [{"type": "text", "text": "x"}]});
    check(json!({"input": [part]}), "input[0].content[0].type", "invalid_value", "'text'");
    let said = json!({"role": "assistant", "content": [{"type": "input_text", "text": "x"}]});
    check(json!({"input": [said]}), "input[0].content[0].type", "invalid_value", "'output_text'");
    check(json!({"input": [{"role": "tool", "content": "x"}]}), "input[0].role", "invalid_value", "'tool'");
}

#[test]
fn reasoning_must_come_back_as_it_was() {
    let mock = start();
    let asked = json!({"store": false, "include": ["reasoning.encrypted_content"], "tools": tools(),
        "reasoning": {"effort": "low", "summary": "auto"}});
    let first = post(&mock, "", &say("call tool", asked.clone())).json();
    let (thought, call) = (&first["output"][0], &first["output"][1]);
    assert_eq!(thought["type"], "reasoning");
    let output = json!({"type": "function_call_output", "call_id": call["call_id"], "output": "noon"});
    let question = json!({"role": "user", "content": "call tool"});
    let answer = |items: &[&Value]| {
        let mut body = say("", asked.clone());
        body["input"] = json!(items);
        post(&mock, "", &body)
    };
    let second = answer(&[&question, thought, call, &output]).json();
    assert_eq!(second["output"][1]["content"][0]["text"], "The tool said: noon", "{second}");
    let mut forged = thought.clone();
    forged["summary"][0]["text"] = json!("another thought");
    let refused = answer(&[&question, &forged, call, &output]);
    assert_eq!(
        (refused.status, &refused.json()["error"]["code"]),
        (400, &json!("invalid_encrypted_content"))
    );
    forged.as_object_mut().unwrap().remove("encrypted_content");
    assert_eq!(answer(&[&question, &forged, call, &output]).status, 404);
    let reference = json!({"type": "item_reference", "id": call["id"]});
    assert_eq!(answer(&[&question, &reference, call, &output]).status, 404, "it was not to be stored");
    let alone = answer(&[&question, call, &output, thought]);
    assert!(alone.text().contains("without its required following item"), "{}", alone.text());
}
