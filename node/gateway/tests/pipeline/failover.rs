//! What happens when a target fails before its first content byte.

use crate::support::{Bed, CHAT, MESSAGES, chat, messages, until};
use serde_json::json;

/// Two targets in order; the first one fails in some way. The second must answer, and the headers say so.
async fn moves_on(failing: &str, calls: usize) {
    let bed = Bed::new(&format!(
        "models: {{ chat: {{ strategy: ordered, targets: [{{ model: 'a/{failing}', retries: {{ max: 1, backoff_ms: 1 }},
            timeouts: {{ first_token_ms: 300, idle_ms: 300 }} }}, {{ model: b/claude-sonnet-4-5 }}] }} }}"
    ));
    for stream in [false, true] {
        let mut body = chat("chat");
        body["stream"] = json!(stream);
        let answer = bed.ask(CHAT, &[], body.to_string()).await;
        assert_eq!(answer.status, 200, "{failing}: {}", answer.text());
        assert_eq!(answer.header("x-trestle-provider"), "b", "{failing}, stream {stream}: {}", answer.text());
        assert!(answer.text().contains("Hello"), "{}", answer.text());
        if stream {
            assert_eq!(answer.data().last().map(String::as_str), Some("[DONE]"));
        }
    }
    assert!(bed.a.requests().len() <= 2 * calls, "{failing}: {} calls", bed.a.requests().len());
}

#[tokio::test]
async fn server_errors_are_tried_again_and_then_move_on() {
    moves_on("gpt-4o-mini+status=500", 2).await;
    moves_on("gpt-4o-mini+status=503", 2).await;
    moves_on("gpt-4o-mini+html_error", 2).await;
}

#[tokio::test]
async fn rate_limits_and_bad_keys_move_on_at_once() {
    moves_on("gpt-4o-mini+status=429", 1).await;
    moves_on("gpt-4o-mini+status=429+retry_after=3600", 1).await;
    moves_on("gpt-4o-mini+status=401", 1).await;
    moves_on("gpt-4o-mini+status=429+cause=quota", 1).await;
}

#[tokio::test]
async fn causes_that_another_target_may_not_have_move_on() {
    moves_on("gpt-4o-mini+status=400+cause=context_length", 1).await;
    moves_on("gpt-4o-mini+status=400+cause=content_policy", 1).await;
    moves_on("gpt-4o-mini+status=404+cause=model_not_found", 1).await;
    moves_on("gpt-4o-mini+status=403", 1).await;
}

#[tokio::test]
async fn silence_and_broken_answers_move_on() {
    moves_on("gpt-4o-mini+silent", 1).await;
    moves_on("gpt-4o-mini+delay_ms=5000", 1).await;
}

#[tokio::test]
async fn a_whole_answer_that_is_not_json_or_breaks_off_moves_on() {
    for failing in ["malformed_json", "cut_mid", "reset_mid"] {
        let bed = Bed::new(&format!(
            "models: {{ chat: {{ strategy: ordered, targets: [{{ model: 'a/gpt-4o-mini+{failing}', retries: {{ max: 1, backoff_ms: 1 }} }},
                {{ model: b/claude-sonnet-4-5 }}] }} }}"
        ));
        let answer = bed.chat("chat").await;
        assert_eq!(answer.header("x-trestle-provider"), "b", "{failing}: {}", answer.text());
        assert_eq!(bed.a.requests().len(), 2);
    }
}

#[tokio::test]
async fn a_stream_that_fails_before_its_content_moves_on() {
    for failing in ["error_event", "keepalive", "silent"] {
        let bed = Bed::new(&format!(
            "models: {{ chat: {{ strategy: ordered, targets: [{{ model: 'a/gpt-4o-mini+{failing}', retries: {{ max: 0 }},
                timeouts: {{ first_token_ms: 300 }} }}, {{ model: b/claude-sonnet-4-5 }}] }},
                back: {{ strategy: ordered, targets: [{{ model: 'b/claude-sonnet-4-5+{failing}', retries: {{ max: 0 }},
                timeouts: {{ first_token_ms: 300 }} }}, {{ model: a/gpt-4o-mini }}] }} }}"
        ));
        let answer = bed.stream("chat").await;
        assert_eq!(answer.header("x-trestle-provider"), "b", "{failing}: {}", answer.text());
        assert_eq!(answer.header("x-trestle-attempts"), "2");
        assert_eq!(
            answer.text().matches("\"role\":\"assistant\"").count(),
            1,
            "{failing}: {}",
            answer.text()
        );
        assert_eq!(answer.data().last().map(String::as_str), Some("[DONE]"));
        let mut body = messages("back");
        body["stream"] = json!(true);
        let answer = bed.ask(MESSAGES, &[], body.to_string()).await;
        assert_eq!(answer.header("x-trestle-provider"), "a", "{failing}: {}", answer.text());
        assert_eq!(answer.text().matches("event: message_start").count(), 1, "{failing}: {}", answer.text());
        assert_eq!(answer.text().matches("event: message_stop").count(), 1, "{failing}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_malformed_request_is_told_as_the_upstream_told_it_and_tried_once() {
    let bed = Bed::new(
        "models: { chat: { strategy: ordered, targets: [{ model: a/gpt-4o-mini }, { model: b/claude-sonnet-4-5 }] } }",
    );
    let mut body = chat("chat");
    body["messages"][0]["role"] = json!("king");
    let answer = bed.ask(CHAT, &[], body.to_string()).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.json()["error"]["message"].as_str().unwrap().contains("king"), "{}", answer.text());
    assert_eq!((bed.a.requests().len(), bed.b.requests().len()), (1, 0));
}

#[tokio::test]
async fn when_all_fail_the_client_hears_of_every_attempt_in_its_dialect() {
    let bed = Bed::new(
        "models: { chat: { strategy: ordered, targets: [{ model: a/gpt-4o-mini+status=429+retry_after=7, retries: { max: 0 } },
            { model: b/claude-x+status=500, retries: { max: 0 } }], fallbacks: [{ model: b/claude-y+status=529, retries: { max: 0 } }] } }",
    );
    let answer = bed.chat("chat").await;
    assert_eq!(answer.status, 503, "{}", answer.text());
    assert!(answer.headers.contains_key("retry-after"));
    let attempts = answer.json()["error"]["attempts"].as_array().unwrap().clone();
    let told: Vec<_> = attempts
        .iter()
        .map(|a| (a["target"].as_str().unwrap(), a["status"].as_u64().unwrap(), a["cause"].as_str().unwrap()))
        .collect();
    assert_eq!(
        told,
        [
            ("a/gpt-4o-mini+status=429+retry_after=7", 429, "rate_limited"),
            ("b/claude-x+status=500", 500, "server_error"),
            ("b/claude-y+status=529", 529, "overloaded"),
        ]
    );
    let answer = bed.ask(MESSAGES, &[], messages("chat").to_string()).await;
    assert_eq!(answer.json()["type"], "error", "{}", answer.text());
    assert!(answer.text().contains("b/claude-x+status=500"), "{}", answer.text());
}

#[tokio::test]
async fn a_lone_rate_limit_reaches_the_client_with_its_hint() {
    let bed = Bed::new("");
    let answer = bed.chat("a/gpt-4o-mini+status=429+retry_after=7").await;
    assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (429, "7"), "{}", answer.text());
    // The key is benched now: the next request does not even reach the provider, and is told when to come back.
    let answer = bed.chat("a/gpt-4o-mini").await;
    assert_eq!(answer.status, 429, "{}", answer.text());
    assert!(matches!(answer.header("retry-after").parse(), Ok(1..=7)));
    assert_eq!(bed.a.requests().len(), 1);
}

#[tokio::test]
async fn keys_rotate_past_one_that_is_limited() {
    let bed = Bed::new(
        "providers:
  a:
    base_url: '$A/v1'
    dialects: [openai-chat]
    keys: [{ name: one, value: 'mock:status=429' }, { name: two, value: 'mock:status=401' }, { name: three, value: sk-good }]",
    );
    for _ in 0..20 {
        assert_eq!(bed.chat("a/gpt-4o-mini").await.status, 200);
    }
    let with = |key: &str| {
        let presented = format!("Bearer {key}");
        bed.a.requests().iter().filter(|r| r.header("authorization") == Some(&presented)).count()
    };
    assert!(with("mock:status=429") <= 1 && with("mock:status=401") <= 1);
    assert_eq!(with("sk-good"), 20);
}

#[tokio::test]
async fn a_short_rate_limit_on_the_last_target_is_waited_for() {
    let bed = Bed::new("");
    bed.a.script(None, &["status=429;retry_after=1"]).unwrap();
    let answer = bed.chat("a/gpt-4o-mini").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("x-trestle-attempts"), "2");
}

#[tokio::test]
async fn fallbacks_of_the_request_are_used_and_never_sent_on() {
    let bed = Bed::new("");
    let mut body = chat("a/gpt-4o-mini+status=500");
    body["fallbacks"] = json!(["b/claude-sonnet-4-5"]);
    let answer = bed.ask(CHAT, &[], body.to_string()).await;
    assert_eq!(answer.header("x-trestle-provider"), "b", "{}", answer.text());
    let header = ("x-trestle-fallbacks", "b/claude-x+status=500 , a/gpt-4o");
    let answer = bed.ask(CHAT, &[header], chat("a/gpt-4o-mini+status=500").to_string()).await;
    assert_eq!(answer.header("x-trestle-model"), "gpt-4o", "{}", answer.text());
    for seen in bed.a.requests().iter().chain(&bed.b.requests()) {
        assert!(!String::from_utf8_lossy(&seen.body).contains("fallbacks"));
        assert!(seen.header("x-trestle-fallbacks").is_none());
    }
    body["fallbacks"] = json!("b/claude-sonnet-4-5");
    assert_eq!(bed.ask(CHAT, &[], body.to_string()).await.status, 400);
    body["fallbacks"] = json!(["nobody/knows"]);
    assert_eq!(bed.ask(CHAT, &[], body.to_string()).await.status, 404);
}

#[tokio::test]
async fn a_target_that_lacks_a_feature_is_not_tried_and_the_refusal_says_why() {
    let bed = Bed::new(
        "providers:
  a: { base_url: '$A/v1', dialects: [openai-chat], keys: [{ name: main, value: sk }], quirks: { lacks: [images, tools] } }
  b: { base_url: '$B/v1', like: anthropic, keys: [{ name: main, value: sk }] }
models: { chat: { strategy: ordered, targets: [{ model: a/gpt-4o-mini }, { model: b/claude-sonnet-4-5 }] } }",
    );
    let image = json!([{ "type": "text", "text": "see" }, { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgo=" } }]);
    let mut body = chat("chat");
    body["messages"][0]["content"] = image;
    let answer = bed.ask(CHAT, &[], body.to_string()).await;
    assert_eq!(answer.header("x-trestle-provider"), "b", "{}", answer.text());
    assert!(bed.a.requests().is_empty());
    body["model"] = json!("a/gpt-4o-mini");
    let answer = bed.ask(CHAT, &[], body.to_string()).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains("images"), "{}", answer.text());
    let mut body = chat("b/claude-sonnet-4-5");
    body["n"] = json!(2);
    let answer = bed.ask(CHAT, &[], body.to_string()).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    assert!(answer.text().contains("choices"), "{}", answer.text());
}

#[tokio::test]
async fn max_tokens_is_learned_from_the_400_once() {
    let bed = Bed::new("");
    let mut body = chat("a/gpt-5-mini");
    body["max_tokens"] = json!(50);
    for calls in [2, 3] {
        let answer = bed.ask(CHAT, &[], body.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(bed.a.requests().len(), calls);
    }
    assert_eq!(bed.a.requests()[2].json()["max_completion_tokens"], 50);
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_is_an_honest_502() {
    let bed = Bed::new(
        "providers: { gone: { base_url: 'http://127.0.0.1:9/v1', dialects: [openai-chat], auth: none, retries: { max: 1, backoff_ms: 1 } },
            inside: { base_url: 'http://localhost:9/v1', dialects: [openai-chat], auth: none, private_addresses: false } }",
    );
    let answer = bed.chat("gone/x").await;
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert_eq!(answer.json()["error"]["attempts"].as_array().unwrap().len(), 2);
    let answer = bed.chat("inside/x").await;
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(answer.text().contains("private address"), "{}", answer.text());
}

#[tokio::test]
async fn a_slow_provider_fills_its_own_queue_and_nobody_elses() {
    let bed = Bed::new(
        "providers:
  a: { base_url: '$A/v1', dialects: [openai-chat], keys: [{ name: main, value: sk }], concurrency: 2, queue: 3 }
  b: { base_url: '$B/v1', like: anthropic, keys: [{ name: main, value: sk }] }",
    );
    let held: Vec<_> = (0..5)
        .map(|_| {
            let client = bed.client.clone();
            let body = chat("a/gpt-4o-mini+delay_ms=1500").to_string();
            tokio::spawn(async move {
                crate::support::whole(client.send(CHAT, http::HeaderMap::new(), body.into()).await.unwrap())
                    .await
            })
        })
        .collect();
    until("two run and three wait", || {
        bed.metric("trestle_provider_in_flight") == 2.0 && bed.metric("trestle_provider_queue") == 3.0
    })
    .await;
    let refused = bed.chat("a/gpt-4o-mini").await;
    assert_eq!(refused.status, 503, "{}", refused.text());
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(bed.chat("b/claude-sonnet-4-5").await.status, 200);
    for answer in held {
        assert_eq!(answer.await.unwrap().status, 200);
    }
    assert_eq!((bed.metric("trestle_provider_in_flight"), bed.metric("trestle_provider_queue")), (0.0, 0.0));
}

#[tokio::test]
async fn a_rate_limit_that_ends_at_once_is_not_asked_again_without_end() {
    let bed = Bed::new("");
    let answer = bed.chat("a/gpt-4o-mini+status=429+retry_after=0").await;
    assert_eq!(answer.status, 429, "{}", answer.text());
    assert_eq!(bed.a.requests().len(), 3, "once, and two retries");
}
