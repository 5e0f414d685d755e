//! What the mock saw.

use std::io::Read as _;
use std::time::{Duration, Instant};

use base64::Engine as _;
use serde_json::{Value, json};
use trestle_bench::mock::{Mock, Options};

use crate::http::{chat, messages, open, send};

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn bytes_and_headers_are_kept() {
    let mock = Mock::start(Options::default()).unwrap();
    let body = "{\"model\": \"m\",  \"messages\":[{\"role\":\"user\",\"content\":\"\\u00e9\"}]}";
    let headers = [("authorization", "Bearer k"), ("x-a", "1"), ("x-b", "2")];
    send(&mock, "POST /v1/chat/completions?q=1", &headers, body);
    send(&mock, "POST /v1/chat/completions", &headers, "no json");
    let list = send(&mock, "GET /_mock/requests", &[], "").json();
    assert_eq!((&list["in_flight"], &list["total"]), (&json!(0), &json!(2)));
    let first = &list["requests"][0];
    assert_eq!((&first["body"], &first["path"]), (&json!(body), &json!("/v1/chat/completions?q=1")));
    let encoded = base64::engine::general_purpose::STANDARD.encode(body);
    assert_eq!((&first["body_base64"], &first["aborted"]), (&json!(encoded), &json!(false)));
    assert!(first["headers"].as_array().unwrap().contains(&json!(["x-b", "2"])));
    assert_eq!(mock.requests()[0].header("x-a"), Some("1"));
    assert_eq!(mock.requests()[1].json(), Value::Null);
    send(&mock, "DELETE /_mock/requests", &[], "");
    assert!(mock.requests().is_empty());
}

#[test]
fn only_the_last_thousand_are_kept() {
    let mock = Mock::start(Options::default()).unwrap();
    for _ in 0..1_003 {
        chat(&mock, "", &json!({}));
    }
    let kept = mock.requests();
    assert_eq!((kept.len(), kept[0].id), (1_000, 3));
}

#[test]
fn a_client_that_leaves_is_seen() {
    let mock = Mock::start(Options::default()).unwrap();
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "a b c"}]});
    let body = body.to_string();
    for settings in ["silent", "silent_mid=1", "keepalive,gap_ms=1", "tokens=5000,gap_ms=10"] {
        mock.clear();
        let headers = [("authorization", "Bearer k"), ("x-mock", settings)];
        let mut stream = open(&mock, "POST /v1/chat/completions", &headers, &body);
        until("the request runs", || mock.in_flight() == 1);
        if settings != "silent" {
            assert!(stream.read(&mut [0; 64]).unwrap() > 0);
        }
        assert!(!mock.requests()[0].aborted);
        drop(stream);
        until("the request ends", || mock.in_flight() == 0);
        assert!(mock.requests()[0].aborted, "{settings}");
    }
}

#[test]
fn each_call_is_in_the_account() {
    let mock = Mock::start(Options::default()).unwrap();
    let body = |model: &str, stream: bool| json!({"model": model, "stream": stream, "max_tokens": 50, "messages": [{"role": "user", "content": "a b c"}]});
    chat(&mock, "", &body("m+tokens=4+name=whole", false));
    messages(&mock, "", &body("m+tokens=4+cached=1+name=stream", true));
    messages(&mock, "", &body("m+tokens=9+cut_mid=3+name=cut", true));
    chat(&mock, "", &body("m+tokens=9+error_event_mid=2+name=error", true));
    chat(&mock, "", &body("m+status=500+name=500", false));
    let account = send(&mock, "GET /_mock/account", &[], "").json();
    assert_eq!(account["left_out"], 0);
    let told: Vec<_> = account["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| {
            let number = |name: &str| call[name].as_u64().unwrap();
            let name = call["model"].as_str().unwrap().rsplit('=').next().unwrap();
            (name, number("status"), number("events"), call["reported"].as_bool().unwrap(), number("output"))
        })
        .collect();
    let expected = [
        ("whole", 200, 0, true, 4),
        ("stream", 200, 4, true, 4),
        // Anthropic tells of one token at the begin.
        ("cut", 200, 3, false, 1),
        ("error", 200, 2, false, 0),
        ("500", 500, 0, false, 0),
    ];
    assert_eq!(told, expected);
    assert_eq!((mock.account()[1].cached, mock.account()[1].input > 1), (1, true));
    send(&mock, "DELETE /_mock/account", &[], "");
    assert!(mock.account().is_empty() && mock.requests().len() == 5);
}
