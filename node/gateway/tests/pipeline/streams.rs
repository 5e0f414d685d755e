//! Streams after the commit point: what passes, what is cut out, and how they end when something breaks.

use crate::support::{Bed, CHAT, MESSAGES, chat, messages, only, until, whole};
use serde_json::{Value, json};
use std::time::Duration;
use trestle_dialect::ir::{Delta, Event};
use trestle_gateway::Chat;

fn streamed(mut body: Value) -> String {
    body["stream"] = json!(true);
    body.to_string()
}

#[tokio::test]
async fn usage_is_always_asked_for_and_stripped_for_those_who_did_not() {
    let bed = Bed::new("");
    let answer = bed.stream("a/gpt-4o-mini").await;
    assert_eq!(only(&bed.a).json()["stream_options"]["include_usage"], true);
    assert!(!answer.text().contains("prompt_tokens"), "{}", answer.text());
    until("tokens are counted", || bed.tokens() > 0.0).await;
    let mut body = chat("a/gpt-4o-mini");
    body["stream_options"] = json!({ "include_usage": true });
    let answer = bed.ask(CHAT, &[], streamed(body)).await;
    let with_usage: Vec<Value> = answer
        .data()
        .iter()
        .filter(|d| d.contains("prompt_tokens"))
        .map(|d| serde_json::from_str(d).unwrap())
        .collect();
    assert_eq!(with_usage.len(), 1, "{}", answer.text());
    assert_eq!(with_usage[0]["choices"], json!([]));
    // Some providers put a placeholder choice beside the usage, and clients count it.
    let mut body = chat("a/gpt-4o-mini+usage_placeholder");
    body["stream_options"] = json!({ "include_usage": true });
    let answer = bed.ask(CHAT, &[], streamed(body)).await;
    let data = answer.data();
    let usage: Value = serde_json::from_str(&data[data.len() - 2]).unwrap();
    assert_eq!((&usage["choices"], usage["usage"]["prompt_tokens"].is_u64()), (&json!([]), true), "{usage}");
    assert!(!bed.stream("a/gpt-4o-mini+usage_placeholder").await.text().contains("prompt_tokens"));
}

#[tokio::test]
async fn every_shape_of_the_grammar_comes_through() {
    let bed = Bed::new("");
    let plain = bed.stream("a/gpt-4o-mini").await;
    for odd in
        ["crlf", "cr", "nospace", "comment", "dribble", "last_chunk_without_delta", "no_usage", "burst=10"]
    {
        let answer = bed.stream(&format!("a/gpt-4o-mini+{odd}")).await;
        let text = answer
            .text()
            .replace("\r\n", "\n")
            .replace('\r', "\n")
            .replace("data:{", "data: {")
            .replace("data:[", "data: [");
        let events = |t: &str| t.lines().filter(|l| l.starts_with("data: ")).count();
        let expected = events(&plain.text());
        assert_eq!(events(&text), expected, "{odd}: {text}");
        assert!(text.trim_end().ends_with("data: [DONE]"), "{odd}: {text}");
        if odd == "comment" {
            assert!(text.contains("\n: processing\n") && !text.contains("data: : processing"), "{text}");
        }
        let answer = bed.ask(MESSAGES, &[], streamed(messages(&format!("a/gpt-4o-mini+{odd}")))).await;
        assert_eq!(answer.text().matches("event: message_stop").count(), 1, "{odd}: {}", answer.text());
    }
    until("all are settled", || bed.metric("trestle_in_flight") == 0.0).await;
}

/// After the first content nothing may be forged: the client hears an error in its dialect, or an error event of the
/// provider in the same dialect, and no end.
#[tokio::test]
async fn a_stream_that_breaks_ends_in_an_error_and_never_in_a_forged_end() {
    for broken in ["reset_mid=2", "cut_mid=2", "close_mid=2", "silent_mid=2", "error_event_mid=2"] {
        let bed = Bed::new(
            "settings: { require_keys: false, timeouts: { idle_ms: 300 } }
models: { spare: { targets: [{ model: b/claude-sonnet-4-5 }] } }",
        );
        for (provider, model) in [("a", "gpt-4o-mini"), ("b", "claude-sonnet-4-5")] {
            let model = format!("{provider}/{model}+tokens=20+gap_ms=2+{broken}");
            let mut body = chat(&model);
            body["fallbacks"] = json!(["spare"]);
            let answer = bed.ask(CHAT, &[], streamed(body)).await;
            let text = answer.text();
            assert_eq!(answer.status, 200);
            assert!(!text.contains("[DONE]"), "{model}: {text}");
            assert_eq!(text.matches("{\"error\":").count(), 1, "{model}: {text}");
            assert!(text.contains("\"delta\":{\"content\""), "{model}: {text}");
            let answer = bed.ask(MESSAGES, &[], streamed(messages(&model))).await;
            let text = answer.text();
            assert!(!text.contains("message_stop"), "{model}: {text}");
            assert_eq!(text.matches("event: error").count(), 1, "{model}: {text}");
        }
        until("all are settled", || bed.metric("trestle_errors_total") == 4.0).await;
    }
}

#[tokio::test]
async fn keep_alives_do_not_keep_a_stream_alive() {
    let bed = Bed::new("settings: { require_keys: false, timeouts: { first_token_ms: 300 } }");
    let answer = bed.stream("a/gpt-4o-mini+keepalive+gap_ms=10").await;
    assert_eq!(answer.status, 504, "{}", answer.text());
}

#[tokio::test]
async fn the_first_event_arrives_before_the_last_is_sent() {
    let bed = Bed::new("");
    for model in ["a/gpt-4o-mini", "b/claude-sonnet-4-5"] {
        let model = format!("{model}+tokens=2+gap_ms=4000");
        let mut answer = bed.send(CHAT, &[], streamed(chat(&model))).await;
        let first =
            tokio::time::timeout(Duration::from_millis(3500), answer.chunk()).await.expect("held back");
        assert!(first.unwrap().unwrap().starts_with(b"data: "));
    }
}

#[tokio::test]
async fn a_client_that_leaves_a_stream_ends_the_upstream_call() {
    let bed = Bed::new("");
    for (model, mock) in [
        ("a/gpt-4o-mini+tokens=100000+gap_ms=5", &bed.a),
        ("b/claude-sonnet-4-5+tokens=100000+gap_ms=5", &bed.b),
    ] {
        let mut answer = bed.send(CHAT, &[], streamed(chat(model))).await;
        answer.chunk().await.unwrap().unwrap();
        drop(answer);
        until("the upstream call is aborted", || {
            mock.in_flight() == 0 && mock.requests().iter().all(|r| r.aborted)
        })
        .await;
    }
    until("both are settled", || bed.metric("trestle_in_flight") == 0.0).await;
    until("the slots are free", || bed.metric("trestle_provider_in_flight") == 0.0).await;
}

#[tokio::test]
async fn a_buffered_call_finishes_although_its_client_left_unless_told_otherwise() {
    for (setting, finishes) in [("auto", true), ("abort", false)] {
        let bed = Bed::new(&format!("settings: {{ require_keys: false, on_disconnect: {setting} }}"));
        let body = chat("a/gpt-4o-mini+delay_ms=400").to_string();
        let asking = bed.send(CHAT, &[], body);
        assert!(tokio::time::timeout(Duration::from_millis(100), asking).await.is_err());
        until("the call has ended", || {
            bed.a.in_flight() == 0 && bed.a.requests().iter().any(|r| r.aborted || r.done)
        })
        .await;
        assert_eq!(only(&bed.a).aborted, !finishes, "{setting}");
        until("it is settled", || bed.metric("trestle_in_flight") == 0.0).await;
        assert_eq!(bed.tokens() > 0.0, finishes, "{setting}");
    }
}

#[tokio::test]
async fn a_stream_finishes_alone_where_the_document_says_so() {
    let bed = Bed::new("settings: { require_keys: false, on_disconnect: finish }");
    let mut answer = bed.send(CHAT, &[], streamed(chat("a/gpt-4o-mini+tokens=50+gap_ms=5"))).await;
    answer.chunk().await.unwrap().unwrap();
    drop(answer);
    until("it is settled", || bed.metric("trestle_in_flight") == 0.0 && bed.a.in_flight() == 0).await;
    assert!(only(&bed.a).done && !only(&bed.a).aborted);
}

#[tokio::test]
async fn tool_arguments_and_thinking_come_through_translation() {
    let bed = Bed::new("");
    let mut body = messages("a/gpt-4o-mini");
    body["tools"] =
        json!([{ "name": "get_weather", "input_schema": { "type": "object", "properties": {} } }]);
    for (text, calls) in
        [("please call tool", 1), ("please call two tools", 2), ("please call empty tool", 1)]
    {
        body["messages"][0]["content"] = json!(text);
        let whole = bed.ask(MESSAGES, &[], body.to_string()).await;
        let uses =
            whole.json()["content"].as_array().unwrap().iter().filter(|b| b["type"] == "tool_use").count();
        assert_eq!(uses, calls, "{text}: {}", whole.text());
        assert_eq!(whole.json()["stop_reason"], "tool_use");
        let answer = bed.ask(MESSAGES, &[], streamed(body.clone())).await;
        assert_eq!(
            answer.text().matches("\"type\":\"tool_use\"").count(),
            calls,
            "{text}: {}",
            answer.text()
        );
    }
}

#[tokio::test]
async fn a_panic_in_one_stream_ends_that_stream_alone() {
    let bed = Bed::new("providers: { mock: { mock: { panic_after: 3 } } }");
    let mut answer = bed.send(CHAT, &[], streamed(chat("mock/lorem"))).await;
    assert_eq!(answer.status, 200);
    let mut last = answer.chunk().await;
    while let Some(Ok(_)) = last {
        last = answer.chunk().await;
    }
    assert!(matches!(last, Some(Err(_))), "the panic must cut the answer off");
    until("it is settled", || bed.metric("trestle_in_flight") == 0.0).await;
    assert!(bed.gateway.metrics().contains("outcome=\"panic\""), "{}", bed.gateway.metrics());
    // The thread lives on.
    assert_eq!(bed.ask(CHAT, &[], chat("mock/nothing").to_string()).await.status, 404);
}

#[tokio::test]
async fn the_mock_answers_without_a_network() {
    let bed = Bed::new("");
    let answer = bed.chat("mock/echo").await;
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "Hello there, gateway.");
    let mut body = messages("mock/lorem");
    body["max_tokens"] = json!(7);
    let answer = bed.ask(MESSAGES, &[], body.to_string()).await;
    assert_eq!(answer.json()["content"][0]["text"].as_str().unwrap().split(' ').count(), 7);
    assert_eq!(answer.json()["stop_reason"], "max_tokens");
    let answer = bed.ask(MESSAGES, &[], streamed(messages("mock/echo"))).await;
    assert_eq!(answer.text().matches("event: content_block_delta").count(), 3, "{}", answer.text());
}

#[tokio::test]
async fn typed_calls_go_through_the_same_pipeline() {
    let bed = Bed::new("");
    for model in ["a/gpt-4o-mini", "b/claude-sonnet-4-5", "mock/echo"] {
        let answer = bed
            .client
            .generate(Chat::new(model).system("Be brief.").user("Hello there").max_tokens(50))
            .await
            .unwrap();
        assert!(answer.usage.is_some_and(|usage| usage.output > 0), "{model}");
        let mut events = bed.client.stream(Chat::new(model).user("Hello there")).await.unwrap();
        let mut text = String::new();
        let mut ended = false;
        while let Some(event) = events.next().await {
            match event.unwrap() {
                Event::Delta { delta: Delta::Text(more), .. } => text.push_str(&more.plain()),
                Event::End => ended = true,
                _ => {}
            }
        }
        assert!(ended && text.contains("Hello there"), "{model}: {text}");
    }
    let error = bed.client.generate(Chat::new("nobody/x").user("x")).await.unwrap_err();
    assert!(error.to_string().starts_with("404"), "{error}");
    let mut events =
        bed.client.stream(Chat::new("a/gpt-4o-mini+tokens=20+close_mid=2").user("x")).await.unwrap();
    let mut last = Ok(());
    while let Some(event) = events.next().await {
        last = event.map(drop);
    }
    assert!(last.is_err(), "a stream that broke off must not look whole");
}

#[tokio::test]
async fn a_large_answer_is_relayed_in_parts() {
    let bed = Bed::new("");
    let answer = bed.chat("a/gpt-4o-mini+bytes=5000000").await;
    assert_eq!(answer.status, 200);
    assert!(answer.body.len() > 5_000_000);
    assert!(answer.json()["usage"]["prompt_tokens"].is_u64());
    until("tokens are counted", || bed.tokens() > 0.0).await;
    // Broken off in its middle it must not look whole.
    let cut = bed.send(CHAT, &[], chat("a/gpt-4o-mini+bytes=5000000+cut_mid").to_string()).await;
    if cut.status == 200 {
        assert!(cut.bytes().await.is_err());
    } else {
        assert_eq!(whole(cut).await.status, 502);
    }
}
