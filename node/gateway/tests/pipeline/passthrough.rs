//! Calls of a provider as it is: what is allowed, what goes on and what does not, and answers of any kind.

use crate::support::{Bed, Whole, chat, only, until, whole};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::json;
use std::{
    io::Read as _,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};
use trestle_bench::mock::Mock;
use trestle_gateway::{Answered, RequestLine};

/// A provider that allows these rules (in YAML), with one key.
fn with(rules: &str) -> Bed {
    Bed::new(&format!(
        "providers: {{ a: {{ base_url: '$A/v1', dialects: [openai-chat, openai-responses], passthrough: [{rules}],
           retries: {{ max: 1, backoff_ms: 1 }}, keys: [{{ name: main, value: sk-upstream-a }}] }} }}"
    ))
}

async fn send(bed: &Bed, call: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Answered {
    let (method, target) = call.split_once(' ').unwrap();
    let line = RequestLine::find(&method.parse().unwrap(), target).unwrap().unwrap();
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(HeaderName::try_from(*name).unwrap(), HeaderValue::try_from(*value).unwrap());
    }
    bed.client.send(line, map, body.into()).await.unwrap()
}

async fn call(bed: &Bed, call: &str, headers: &[(&str, &str)], body: impl Into<Bytes>) -> Whole {
    whole(send(bed, call, headers, body).await).await
}

fn paths(mock: &Mock) -> Vec<String> {
    mock.requests().iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect()
}

#[tokio::test]
async fn what_is_allowed_goes_through_with_its_query_and_a_key_of_ours() {
    let bed = with("GET /models, 'GET /models/*', 'DELETE /models/*', HEAD /models");
    let answer = call(&bed, "GET /passthrough/a/models?limit=2&after=x%2Fy", &[], "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["object"], "list");
    assert_eq!((answer.header("x-trestle-provider"), answer.header("x-trestle-model")), ("a", ""));
    assert_eq!(answer.header("x-trestle-attempts"), "1");
    let seen = only(&bed.a);
    assert_eq!((&*seen.method, &*seen.path), ("GET", "/v1/models?limit=2&after=x%2Fy"));
    assert_eq!(seen.header("authorization"), Some("Bearer sk-upstream-a"));
    assert_eq!((seen.header("content-length"), seen.header("content-type")), (None, None));
    bed.a.clear();
    // The version of the base URL may be written or not.
    let answer = call(&bed, "DELETE /passthrough/a/v1/models/ft%3Ax", &[], "").await;
    assert_eq!(answer.json()["deleted"], true, "{}", answer.text());
    let head = call(&bed, "HEAD /passthrough/a/models", &[], "").await;
    assert_eq!((head.status.as_u16(), head.text().as_str()), (200, ""));
    let whole = call(&bed, "GET /passthrough/a/models", &[], "").await;
    assert_eq!(head.header("content-length"), whole.body.len().to_string());
    assert_eq!(paths(&bed.a), ["DELETE /v1/models/ft%3Ax", "HEAD /v1/models", "GET /v1/models"]);
    // A HEAD has no body to wait for: its connection is good for the next call.
    for _ in 0..20 {
        call(&bed, "HEAD /passthrough/a/models", &[], "").await;
    }
    let threads = std::thread::available_parallelism().unwrap().get();
    assert!(bed.metric("trestle_upstream_connections_total") <= threads as f64);
}

#[tokio::test]
async fn what_is_not_allowed_stays_here_and_is_told_in_the_providers_shape() {
    let bed = Bed::new(
        "providers:
  a: { base_url: '$A/v1', dialects: [openai-chat], passthrough: [GET /models, 'GET /files/*'], auth: none }
  b: { base_url: '$B', like: anthropic, keys: [{ name: main, value: sk }] }",
    );
    for (path, status, says) in [
        ("POST /passthrough/a/models", 403, "`providers.a.passthrough`"),
        ("GET /passthrough/a/models/m", 403, "`GET /models/m` is not allowed"),
        ("GET /passthrough/a", 400, "cannot be passed on"),
        ("GET /passthrough/a/", 400, "cannot be passed on"),
        ("GET /passthrough/a/files/../models", 400, "cannot be passed on"),
        ("GET /passthrough/a/files/%2e%2E/admin", 400, "cannot be passed on"),
        ("GET /passthrough/a/files/..%2f..%2fadmin", 400, "cannot be passed on"),
        ("GET /passthrough/a/files/%252e%252e", 400, "cannot be passed on"),
        ("GET /passthrough/a/files/x%5c..%5cadmin", 400, "cannot be passed on"),
        ("GET /passthrough/a//evil.example/models", 400, "cannot be passed on"),
        ("GET /passthrough/a/files/x%2Fcontent", 403, "not allowed"),
        ("GET /passthrough/b/models", 403, "`providers.b.passthrough`"),
        ("GET /passthrough/nobody/models", 404, "there is no provider `nobody`"),
        ("GET /passthrough/mock/models", 400, "has no network"),
    ] {
        let answer = call(&bed, path, &[], "").await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text());
        assert!(answer.text().contains(says), "{path}: {}", answer.text());
        let anthropic = answer.json()["type"] == "error";
        assert_eq!(anthropic, path.contains("/b/"), "{path}: {}", answer.text());
    }
    assert!(bed.a.requests().is_empty() && bed.b.requests().is_empty());
    assert!(RequestLine::find(&Method::GET, "/passthrough/").is_none());
    assert!(RequestLine::find(&Method::GET, "/passthrough").is_none());
}

#[tokio::test]
async fn a_key_for_some_models_may_not_call_past_them() {
    let key = |name: &str, models: &str| {
        format!("  {name}: {{ value: '{}', models: [{models}] }}\n", trestle_config::hash_text(name))
    };
    let keys = [
        key("all", ""),
        key("whole", "'a/*'"),
        key("some", "'a/gpt-*'"),
        key("group", "chat"),
        key("other", "'b/*'"),
    ];
    let bed = Bed::new(&format!(
        "providers: {{ a: {{ base_url: '$A/v1', dialects: [openai-chat], passthrough: [GET /models], keys: [{{ name: main, value: sk }}] }} }}
models: {{ chat: {{ targets: [{{ model: a/gpt-4o-mini }}] }} }}
keys:\n{}settings: {{}}",
        keys.concat()
    ));
    for (key, status) in
        [("all", 200), ("whole", 200), ("some", 403), ("group", 403), ("other", 403), ("x", 401)]
    {
        for (header, value) in [("x-api-key", key.to_owned()), ("authorization", format!("Bearer {key}"))] {
            let answer = call(&bed, "GET /passthrough/a/models", &[(header, &value)], "").await;
            assert_eq!(answer.status, status, "{key}: {}", answer.text());
        }
    }
    let missing = call(&bed, "GET /passthrough/a/models", &[], "").await;
    assert_eq!(missing.status, 401);
    // A key in the query is taken, and does not go on.
    bed.a.clear();
    let answer = call(&bed, "GET /passthrough/a/models?key=all&x=1&%6bey=all", &[], "").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(paths(&bed.a), ["GET /v1/models?x=1"]);
}

#[tokio::test]
async fn headers_go_both_ways_by_allow_list() {
    let bed = Bed::new(
        "providers: { a: { base_url: '$A/v1', dialects: [openai-chat], passthrough: [POST /embeddings], forward_headers: [openai-beta],
           headers: { x-fixed: yes }, keys: [{ name: main, value: sk-upstream-a }] } }",
    );
    let leaks = [
        ("authorization", "Bearer client-secret"),
        ("x-api-key", "client-secret"),
        ("api-key", "client-secret"),
        ("x-bf-vk", "client-secret"),
        ("cookie", "session=client-secret"),
        ("x-forwarded-for", "client-10.1.1.1"),
        ("x-custom", "client-secret"),
        ("proxy-authorization", "client-secret"),
        ("te", "trailers"),
        ("connection", "x-custom"),
        ("accept-encoding", "gzip"),
        ("user-agent", "client-agent"),
        ("content-type", "application/json; charset=utf-8"),
        ("accept", "application/json"),
        ("openai-beta", "assistants=v2"),
    ];
    let body = json!({ "model": "text-embedding-3-small", "input": "x" }).to_string();
    let answer = call(&bed, "POST /passthrough/a/embeddings", &leaks, body.clone()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let seen = only(&bed.a);
    assert_eq!(seen.body, body);
    let allowed = [
        "host",
        "content-type",
        "content-length",
        "accept",
        "user-agent",
        "authorization",
        "openai-beta",
        "x-fixed",
    ];
    for (name, value) in &seen.headers {
        assert!(allowed.contains(&&**name) && !value.contains("client-"), "{name}: {value}");
    }
    assert_eq!(seen.header("content-type"), Some("application/json; charset=utf-8"));
    assert_eq!(seen.header("openai-beta"), Some("assistants=v2"));
    assert_eq!(answer.header("content-type"), "application/json");
    for name in
        ["openai-organization", "x-ratelimit-limit-requests", "openai-version", "set-cookie", "connection"]
    {
        assert_eq!(answer.header(name), "", "{name}");
    }
    assert_eq!(answer.header("x-request-id").len(), 32, "our own");
}

#[tokio::test]
async fn errors_pass_as_they_are_but_for_those_of_our_key() {
    let bed = Bed::new(
        "providers: { a: { base_url: '$A/v1', dialects: [openai-chat], passthrough: ['* /**'], forward_headers: [x-mock],
           retries: { max: 3, backoff_ms: 1 }, keys: [{ name: main, value: sk-upstream-a }] } }",
    );
    for (mock, status) in
        [("status=400", 400), ("status=404", 404), ("status=500", 500), ("status=503,retry_after=7", 503)]
    {
        bed.a.clear();
        let answer = call(&bed, "GET /passthrough/a/models", &[("x-mock", mock)], "").await;
        assert_eq!(answer.status, status, "{mock}: {}", answer.text());
        assert!(answer.json()["error"]["message"].is_string(), "{}", answer.text());
        assert!(!answer.text().contains("attempts"), "{}", answer.text());
        assert_eq!(answer.header("retry-after"), if status == 503 { "7" } else { "" });
        assert_eq!(bed.a.requests().len(), 1, "{mock}: an answer is an answer");
    }
    let answer = call(&bed, "GET /passthrough/a/models", &[("x-mock", "html_error")], "").await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (502, "text/html"));
    assert!(answer.text().contains("cloudflare"), "{}", answer.text());
    let answer = call(&bed, "GET /passthrough/a/models", &[("x-mock", "status=401")], "").await;
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(answer.text().contains("upstream_failed"), "{}", answer.text());
    let text = bed.gateway.metrics();
    assert!(
        text.contains("endpoint=\"passthrough\",provider=\"a\",model=\"other\",outcome=\"fault\""),
        "{text}"
    );
}

#[tokio::test]
async fn a_refused_key_is_left_out_and_the_next_one_is_tried() {
    let bed = Bed::new(
        "providers: { a: { base_url: '$A/v1', dialects: [openai-chat], passthrough: ['* /**'], retries: { max: 0 }, keys: [
           { name: bad, value: 'mock:status=401', weight: 1000000 }, { name: limited, value: 'mock:status=429', weight: 1000 },
           { name: good, value: sk-good }] } }",
    );
    for (method, seen) in [("POST", 3), ("DELETE", 1)] {
        bed.a.clear();
        let body = if method == "POST" { chat("gpt-4o-mini").to_string() } else { String::new() };
        let path = if method == "POST" { "chat/completions" } else { "models/m" };
        let answer = call(&bed, &format!("{method} /passthrough/a/{path}"), &[], body).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(bed.a.requests().len(), seen, "{method}: {:?}", paths(&bed.a));
        assert_eq!(answer.header("x-trestle-attempts"), seen.to_string());
    }
    assert_eq!(bed.metric("trestle_error_requests_total"), 2.0);
    // All keys out: what the provider says of the last goes on, with its hint.
    let bed = Bed::new(
        "providers: { a: { base_url: '$A/v1', dialects: [openai-chat], passthrough: ['* /**'], retries: { max: 0 }, keys: [
           { name: one, value: 'mock:status=429;retry_after=9;name=1' }, { name: two, value: 'mock:status=429;retry_after=9;name=2' }] } }",
    );
    let answer = call(&bed, "GET /passthrough/a/models", &[], "").await;
    assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (429, "9"), "{}", answer.text());
    assert_eq!(bed.a.requests().len(), 2);
    let again = call(&bed, "GET /passthrough/a/models", &[], "").await;
    assert_eq!((again.status.as_u16(), bed.a.requests().len()), (429, 2), "{}", again.text());
}

#[tokio::test]
async fn a_stream_arrives_event_by_event_and_its_usage_is_counted() {
    let bed = with("POST /chat/completions, POST /responses");
    let mut body = chat("gpt-4o-mini+silent_mid=2+usage_always");
    body["stream"] = json!(true);
    let mut answered = send(&bed, "POST /passthrough/a/chat/completions", &[], body.to_string()).await;
    assert_eq!(answered.headers["content-type"], "text/event-stream; charset=utf-8");
    let mut seen = String::new();
    // The upstream says nothing more, and what it said is here.
    while seen.matches("\"content\":\"").count() < 2 {
        let chunk = tokio::time::timeout(Duration::from_secs(20), answered.chunk()).await.unwrap();
        seen.push_str(std::str::from_utf8(&chunk.unwrap().unwrap()).unwrap());
    }
    drop(answered);
    until("the upstream is let go", || bed.a.in_flight() == 0).await;
    assert_eq!(bed.tokens(), 0.0);
    for (path, body) in [
        (
            "chat/completions",
            json!({ "model": "gpt-4o-mini+usage_always", "stream": true, "messages": [{ "role": "user", "content": "hi" }] }),
        ),
        ("chat/completions", chat("gpt-4o-mini")),
        ("responses", json!({ "model": "gpt-4o-mini", "stream": true, "input": "hi" })),
        ("responses", json!({ "model": "gpt-4o-mini", "input": "hi" })),
    ] {
        let before = bed.tokens();
        let answer = call(&bed, &format!("POST /passthrough/a/{path}"), &[], body.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        until("its usage is counted", || bed.tokens() > before).await;
    }
}

#[tokio::test]
async fn large_answers_pass_in_parts_and_compressed_ones_within_a_bound() {
    let large = with("POST /chat/completions");
    let body = chat("gpt-4o-mini+bytes=8000000").to_string();
    let answered = send(&large, "POST /passthrough/a/chat/completions", &[], body).await;
    assert!(large.metric("trestle_buffered_bytes") < 100_000.0, "it is not held");
    let answer = whole(answered).await;
    assert!(answer.body.len() > 8_000_000);
    assert!(answer.json()["usage"]["total_tokens"].as_u64().unwrap() > 0);
    until("its usage is counted", || large.tokens() > 0.0).await;
    let bed = Bed::new(
        "providers: { a: { base_url: '$A/v1', dialects: [openai-chat], passthrough: ['* /**'], auth: none } }
settings: { require_keys: false, body_bytes_max: 100000 }",
    );
    for (model, fits) in
        [("gpt-4o-mini+gzip+no_auth", true), ("gpt-4o-mini+gzip+no_auth+bytes=8000000", false)]
    {
        let answered = send(&bed, "POST /passthrough/a/chat/completions", &[], chat(model).to_string()).await;
        assert!(!answered.headers.contains_key("content-encoding"));
        let body = answered.bytes().await;
        assert_eq!(body.is_ok_and(|body| body.starts_with(b"{")), fits, "{model}");
    }
    let answer = call(&bed, "POST /passthrough/a/chat/completions", &[], vec![b'x'; 100_001]).await;
    assert_eq!(answer.status, 413, "{}", answer.text());
}

#[tokio::test]
async fn calls_of_amazon_are_signed_with_their_method() {
    let bed = Bed::new(
        "providers: { a: { like: bedrock, base_url: '$A', variables: { region: eu-west-1 }, passthrough: ['POST /model/**', 'GET /**'],
           keys: [{ name: main, aws: { access_key_id: AKID, secret_access_key: S, session_token: T } }] } }",
    );
    let body = json!({ "messages": [{ "role": "user", "content": [{ "text": "hi" }] }] }).to_string();
    let json = [("content-type", "application/json")];
    let path = "POST /passthrough/a/model/arn%3Aaws%3Ax%2Fm/converse";
    let answer = call(&bed, path, &json, body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    until("its usage is counted", || bed.tokens() > 0.0).await;
    let seen = only(&bed.a);
    assert_eq!(seen.path, "/model/arn%3Aaws%3Ax%2Fm/converse");
    let signature = seen.header("authorization").unwrap();
    assert!(
        signature.contains("AKID/") && signature.contains("SignedHeaders=content-type;host;x-amz-date;"),
        "{signature}"
    );
    assert_eq!(seen.header("x-amz-security-token"), Some("T"));
    bed.a.clear();
    call(&bed, "GET /passthrough/a/guardrails?x=1", &[], "").await;
    assert!(only(&bed.a).header("authorization").unwrap().contains("SignedHeaders=host;x-amz-date;"));
}

#[tokio::test]
async fn a_call_waits_its_turn_and_fails_as_others_do() {
    let bed = Bed::new(
        "providers: { a: { base_url: '$A/v1', dialects: [openai-chat], passthrough: ['* /**'], forward_headers: [x-mock], auth: none,
             concurrency: 1, queue: 0, timeouts: { first_token_ms: 2000 }, retries: { max: 2, backoff_ms: 1 } },
           gone: { base_url: 'http://127.0.0.1:1/v1', dialects: [openai-chat], passthrough: ['* /**'], auth: none, retries: { max: 1, backoff_ms: 1 } } }",
    );
    let silent = [("x-mock", "silent,no_auth")];
    let (silent, full) = tokio::join!(call(&bed, "GET /passthrough/a/models", &silent, ""), async {
        until("the first call is there", || bed.a.in_flight() == 1).await;
        call(&bed, "GET /passthrough/a/models", &[], "").await
    });
    assert_eq!(
        (silent.status.as_u16(), full.status.as_u16()),
        (504, 503),
        "{} {}",
        silent.text(),
        full.text()
    );
    assert!(full.text().contains("queue") && full.headers.contains_key("retry-after"), "{}", full.text());
    // Nothing was sent, so even a POST may be tried again.
    let answer = call(&bed, "POST /passthrough/gone/x", &[], "{}").await;
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(
        answer.text().contains("connect_failed") && answer.text().contains("after 2 attempts"),
        "{}",
        answer.text()
    );
}

#[tokio::test]
async fn what_may_have_been_done_is_not_done_twice() {
    // Takes requests and hangs up.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let taken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&taken);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            count.fetch_add(1, SeqCst);
        }
    });
    let bed = Bed::new(&format!(
        "providers: {{ a: {{ base_url: 'http://{address}', dialects: [openai-chat], passthrough: ['* /**'], auth: none,
           retries: {{ max: 2, backoff_ms: 1 }} }} }}"
    ));
    for (method, calls) in [("POST", 1), ("PATCH", 1), ("GET", 3), ("PUT", 3)] {
        taken.store(0, SeqCst);
        let answer = call(&bed, &format!("{method} /passthrough/a/x"), &[], "{}").await;
        assert_eq!(answer.status, 502, "{}", answer.text());
        assert_eq!(taken.load(SeqCst), calls, "{method}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_client_that_leaves_ends_what_only_reads() {
    let bed = with("'* /**'");
    let body = chat("gpt-4o-mini+delay_ms=500").to_string();
    for (method, path, ends) in [("POST", "chat/completions", "done"), ("GET", "models/m+silent", "aborted")]
    {
        bed.a.clear();
        let asked = format!("{method} /passthrough/a/{path}");
        tokio::select! {
            answered = call(&bed, &asked, &[], body.clone()) => panic!("{}", answered.text()),
            () = until("the call is there", || bed.a.in_flight() == 1) => {}
        }
        until("it ends", || bed.a.in_flight() == 0).await;
        let seen = only(&bed.a);
        assert_eq!((seen.done, seen.aborted), (ends == "done", ends == "aborted"), "{method}");
    }
}
