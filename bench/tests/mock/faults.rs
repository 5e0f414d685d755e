//! Misbehaviour on demand.

use std::io::{ErrorKind, Read as _};

use serde_json::{Value, json};
use trestle_bench::mock::{Mock, Options};

use crate::http::{chat, messages, send};

fn start() -> Mock {
    Mock::start(Options::default()).unwrap()
}

fn request(stream: bool) -> Value {
    json!({"model": "gpt-4o-mini", "stream": stream, "max_tokens": 100,
           "messages": [{"role": "user", "content": "one two three four"}]})
}

#[test]
fn errors_have_the_vendors_shape() {
    let mock = start();
    let check = |settings: &str, openai: (u16, Value), anthropic: (u16, &str)| {
        let answer = chat(&mock, settings, &request(true));
        assert_eq!((answer.status, answer.json()["error"]["code"].clone()), openai, "{settings}");
        let answer = messages(&mock, settings, &request(true));
        assert_eq!(
            (answer.status, answer.json()["error"]["type"].as_str().unwrap()),
            anthropic,
            "{settings}"
        );
    };
    let none = Value::Null;
    check("status=500", (500, none.clone()), (500, "api_error"));
    check("status=429", (429, json!("rate_limit_exceeded")), (429, "rate_limit_error"));
    check("status=401", (401, json!("invalid_api_key")), (401, "authentication_error"));
    check("cause=context_length", (400, json!("context_length_exceeded")), (400, "invalid_request_error"));
    check("cause=content_policy", (400, json!("content_policy_violation")), (400, "invalid_request_error"));
    check("cause=model_not_found", (404, json!("model_not_found")), (404, "not_found_error"));
    check("cause=quota", (429, json!("insufficient_quota")), (400, "invalid_request_error"));
    check("cause=overloaded", (503, none), (529, "overloaded_error"));
}

#[test]
fn settings_come_by_key_model_and_script() {
    let mock = start();
    let status = |key: &str, model: &str| {
        let mut body = request(false);
        body["model"] = json!(model);
        let key = format!("Bearer {key}");
        let answer = send(&mock, "POST /v1/chat/completions", &[("authorization", &key)], &body.to_string());
        (answer.status, answer.header("retry-after").map(str::to_owned))
    };
    assert_eq!(status("mock:status=429;retry_after=2", "m"), (429, Some("2".into())));
    assert_eq!(status("k", "m+status=503"), (503, None));
    assert_eq!(status("k", "m+staus=503").0, 418);
    mock.script(Some("a"), &["status=500", ""]).unwrap();
    mock.script(None, &["status=502"]).unwrap();
    assert_eq!([status("b", "m").0, status("b", "m").0], [502, 200]);
    assert_eq!([status("a", "m").0, status("a", "m").0, status("a", "m").0], [500, 200, 200]);
    let script = r#"{"key": "c", "steps": ["status=500", {"status": 429, "retry_after": 7}]}"#;
    assert_eq!(send(&mock, "POST /_mock/script", &[], script).json()["waiting"], 2);
    assert_eq!([status("c", "m"), status("c", "m")], [(500, None), (429, Some("7".into()))]);
    assert_eq!(send(&mock, "POST /_mock/script", &[], r#"["staus=1"]"#).status, 400);
}

#[test]
fn streams_end_in_every_wrong_way() {
    let mock = start();
    let check = |settings: &str, complete: bool, error: Option<ErrorKind>| {
        let answer = chat(&mock, settings, &request(true));
        assert_eq!((answer.complete, answer.error), (complete, error), "{settings}");
        assert!(answer.text().contains(r#""content":"two ""#), "{settings}");
        assert!(!answer.text().contains("three"), "{settings}");
        assert!(!answer.text().contains("[DONE]"), "{settings}");
    };
    check("close_mid=2", true, None);
    check("cut_mid=2", false, None);
    check("reset_mid=2", false, Some(ErrorKind::ConnectionReset));
}

#[test]
fn error_events_come_inside_a_200() {
    let mock = start();
    let early = chat(&mock, "error_event", &request(true));
    assert_eq!(early.status, 200);
    let events = early.events();
    assert!(events[1].starts_with(r#"{"error":{"message":"The server had an error"#), "{events:?}");
    assert_eq!((events.len(), events[2]), (3, "[DONE]"));
    let status = chat(&mock, "error_event_mid=2,status=502", &request(true));
    assert!(status.events()[3].contains(r#""code":502"#), "{}", status.text());
    let late = messages(&mock, "error_event_mid=2", &request(true));
    assert!(late.text().ends_with(
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
    ));
    assert!(late.text().contains(r#""text":"two ""#) && !late.text().contains("three"));
}

#[test]
fn the_grammar_of_events_varies() {
    let mock = start();
    let check = |settings: &str, wanted: &str, unwanted: &str| {
        let text = chat(&mock, settings, &request(true)).text().to_owned();
        assert!(text.contains(wanted) && !text.contains(unwanted), "{settings}: {text}");
    };
    check("nospace", "data:{\"id\"", "data: ");
    check("crlf", "[DONE]\r\n\r\n", "}\n");
    check("cr", "[DONE]\r\r", "\n");
    check("comment", ": processing\n\ndata: {", "}data");
    check("last_chunk_without_delta", r#""index":0,"logprobs":null,"finish_reason":"stop""#, "delta\":{}");
    check("reasoning", r#""reasoning_content":"think.""#, "\u{0}");
    check("usage_always", r#""choices":[],"usage":{"#, "\u{0}");
}

#[test]
fn whole_bodies_break_too() {
    let mock = start();
    let malformed = chat(&mock, "malformed_json", &request(false));
    assert!(malformed.complete && serde_json::from_slice::<Value>(&malformed.body).is_err());
    let html = chat(&mock, "html_error", &request(false));
    assert_eq!((html.status, html.header("content-type")), (502, Some("text/html")));
    let reset = chat(&mock, "reset_mid", &request(false));
    assert_eq!((reset.complete, reset.error), (false, Some(ErrorKind::ConnectionReset)));
}

#[test]
fn compressed_and_dribbled_bodies_decode() {
    let mock = start();
    for stream in [false, true] {
        let answer = chat(&mock, "gzip", &request(stream));
        assert_eq!(answer.header("content-encoding"), Some("gzip"));
        let mut text = String::new();
        flate2::read::GzDecoder::new(&answer.body[..]).read_to_string(&mut text).unwrap();
        assert!(text.contains("one ") && answer.complete);
    }
    let dribbled = chat(&mock, "dribble", &request(true));
    assert_eq!(dribbled.events().len(), 7);
    for stream in [false, true] {
        let answer = chat(&mock, "br", &request(stream));
        assert_eq!(answer.header("content-encoding"), Some("br"));
        let mut text = String::new();
        brotli_decompressor::Decompressor::new(&answer.body[..], 4096).read_to_string(&mut text).unwrap();
        assert!(text.contains("one ") && answer.complete);
    }
}

#[test]
fn sizes_are_exact() {
    let mock = start();
    let mut body = request(true);
    body["max_tokens"] = Value::Null;
    let answer = chat(&mock, "tokens=500,burst=10", &body);
    assert_eq!(answer.events().len(), 503);
    let answer = chat(&mock, "bytes=100000", &request(false));
    assert_eq!(answer.json()["choices"][0]["finish_reason"], "length");
    body["stream"] = json!(false);
    let content = chat(&mock, "bytes=100000", &body).json()["choices"][0]["message"]["content"].clone();
    assert_eq!(content.as_str().unwrap().len(), 100_000);
}
