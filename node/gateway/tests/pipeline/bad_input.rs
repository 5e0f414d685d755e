//! What strangers send: each gets its own clear error, in its dialect, and costs bounded memory.

use crate::support::{Bed, CHAT, MESSAGES, chat, until};
use serde_json::json;

async fn check(bed: &Bed, body: impl Into<bytes::Bytes>, status: u16, message: &str) {
    let body = body.into();
    for endpoint in [CHAT, MESSAGES] {
        let answer = bed.ask(endpoint, &[], body.clone()).await;
        let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
        assert_eq!(answer.status, status, "{shown}: {}", answer.text());
        let told = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(told.contains(message), "{shown}: {told}");
        assert_eq!(answer.header("content-type"), "application/json");
        assert!(answer.text().contains(answer.header("x-request-id")), "{}", answer.text());
    }
    assert!(bed.a.requests().is_empty() && bed.b.requests().is_empty());
}

#[tokio::test]
async fn bodies_that_are_not_acceptable_say_where_and_why() {
    let bed =
        Bed::new("settings: { require_keys: false, body_bytes_max: 100000, buffered_bytes_max: 150000 }");
    check(&bed, "", 400, "line 1, column 1").await;
    check(&bed, "[]", 400, "object").await;
    check(&bed, "{\"model\":\"mock/echo\"", 400, "line 1, column").await;
    check(&bed, "{\n\"model\":\"mock/echo\",\n\"model\":\"x\"}", 400, "duplicate member `model` at line 3")
        .await;
    check(&bed, "{\"model\":\"mock/echo\",\"mo\\u0064el\":\"x\"}", 400, "duplicate member `model`").await;
    check(&bed, "{\"model\":\"mock/echo\"} x", 400, "line 1, column 23").await;
    check(&bed, b"{\"model\":\"mock/\xff\"}".to_vec(), 400, "UTF-8").await;
    check(
        &bed,
        format!("{{\"model\":\"mock/echo\",\"x\":{}{}}}", "[".repeat(40_000), "]".repeat(40_000)),
        400,
        "128 levels",
    )
    .await;
    check(&bed, "{\"messages\":[]}", 400, "`model` is missing").await;
    check(&bed, "{\"model\":7}", 400, "`model` must be a string").await;
    check(&bed, "{\"model\":\" \"}", 400, "`model` is empty").await;
    check(&bed, "{\"model\":\"mock/echo\",\"stream\":\"yes\"}", 400, "`stream` must be true or false").await;
    check(&bed, "{\"model\":\"nobody/x\"}", 404, "no model `nobody/x`").await;
    check(&bed, "{\"model\":\"gpt-4o\"}", 404, "no model `gpt-4o`").await;
    check(&bed, format!("{{\"model\":\"{}\"}}", "x".repeat(50_000)), 404, "no model `xxx").await;
    check(&bed, vec![b' '; 100_001], 413, "larger than 100000 bytes").await;
}

#[tokio::test]
async fn wrong_types_inside_are_named_where_somebody_must_read_them() {
    let bed = Bed::new("");
    for (endpoint, body, param) in [
        (CHAT, json!({ "model": "b/claude-x", "messages": "hi" }), "messages"),
        (
            CHAT,
            json!({ "model": "b/claude-x", "messages": [{ "role": "king", "content": "x" }] }),
            "messages[0].role",
        ),
        (
            CHAT,
            json!({ "model": "b/claude-x", "messages": [{ "role": "user", "content": [{ "type": "text", "text": 7 }] }] }),
            "messages[0].content[0].text",
        ),
        (
            MESSAGES,
            json!({ "model": "a/gpt-4o", "max_tokens": 10, "messages": [{ "role": "user", "content": 7 }] }),
            "messages[0].content",
        ),
        (MESSAGES, json!({ "model": "a/gpt-4o", "max_tokens": "x", "messages": [] }), "max_tokens"),
    ] {
        let answer = bed.ask(endpoint, &[], body.to_string()).await;
        assert_eq!(answer.status, 400, "{body}: {}", answer.text());
        assert!(answer.text().contains(param), "{body}: {}", answer.text());
    }
    assert!(bed.a.requests().is_empty() && bed.b.requests().is_empty());
}

#[tokio::test]
async fn bombs_and_lies_about_the_encoding_are_refused() {
    use std::io::Write as _;
    let bed = Bed::new("settings: { require_keys: false, body_bytes_max: 1000000 }");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&vec![b' '; 20_000_000]).unwrap();
    let bomb = gzip.finish().unwrap();
    assert!(bomb.len() < 1_000_000);
    let answer = bed.ask(CHAT, &[("content-encoding", "gzip")], bomb).await;
    assert_eq!(answer.status, 413, "{}", answer.text());
    for (encoding, body) in [("gzip", "not gzip"), ("zstd", "x"), ("deflate", "x")] {
        let answer = bed.ask(CHAT, &[("content-encoding", encoding)], body).await;
        assert_eq!(answer.status, 400, "{encoding}: {}", answer.text());
        assert!(answer.text().contains("content-encoding"), "{}", answer.text());
    }
    until("all is given back", || bed.metric("trestle_buffered_bytes") == 0.0).await;
}

#[tokio::test]
async fn all_bodies_together_stay_within_the_bound() {
    let bed = Bed::new(
        "settings: { require_keys: false, body_bytes_max: 60000, buffered_bytes_max: 100000 }
providers:
  a: { base_url: '$A/v1', dialects: [openai-chat], keys: [{ name: main, value: sk }] }",
    );
    let padded = |model: &str| {
        let mut body = chat(model);
        body["messages"][0]["content"] = json!("x".repeat(50_000));
        body.to_string()
    };
    let first = tokio::spawn({
        let (client, body) = (bed.client.clone(), padded("a/gpt-4o-mini+delay_ms=1500+bytes=100"));
        async move {
            crate::support::whole(client.send(CHAT, http::HeaderMap::new(), body.into()).await.unwrap()).await
        }
    });
    until("the first is held", || bed.metric("trestle_buffered_bytes") > 50_000.0).await;
    let second = bed.ask(CHAT, &[], padded("mock/echo")).await;
    assert_eq!(second.status, 503, "{}", second.text());
    assert!(second.headers.contains_key("retry-after"));
    assert_eq!(first.await.unwrap().status, 200);
    until("all is given back", || bed.metric("trestle_buffered_bytes") == 0.0).await;
    // Not an echo: the answer would not fit beside the request.
    assert_eq!(bed.ask(CHAT, &[], padded("a/gpt-4o-mini+bytes=100")).await.status, 200);
}

#[tokio::test]
async fn answers_that_are_read_whole_count_among_the_bodies() {
    let bed =
        Bed::new("settings: { require_keys: false, body_bytes_max: 1000000, buffered_bytes_max: 1000000 }");
    for model in ["a/gpt-4o-mini", "b/claude-sonnet-4-5"] {
        for (bytes, status) in [(400_000, 200), (900_000, 503)] {
            let mut body = chat(&format!("{model}+bytes={bytes}"));
            body["messages"][0]["content"] = json!("x".repeat(200_000));
            body["max_tokens"] = json!(1_000_000);
            let answer = bed.ask(CHAT, &[], body.to_string()).await;
            assert_eq!(answer.status, status, "{model}, {bytes}: {:.300}", answer.text());
            assert_eq!(answer.headers.contains_key("retry-after"), status == 503);
        }
    }
    until("all is given back", || bed.metric("trestle_buffered_bytes") == 0.0).await;
}

#[tokio::test]
async fn labels_of_metrics_do_not_grow_with_what_clients_name() {
    let bed = Bed::new("models: { chat: { targets: [{ model: a/gpt-4o-mini }] } }");
    bed.chat("chat").await;
    for i in 0..50 {
        bed.chat(&format!("a/made-up-{i}")).await;
        bed.chat(&format!("nobody/made-up-{i}")).await;
    }
    let text = bed.gateway.metrics();
    assert!(!text.contains("made-up"), "{text}");
    assert!(
        text.contains("model=\"gpt-4o-mini\"") && text.contains("provider=\"a\",model=\"other\""),
        "{text}"
    );
}
