//! Vendors that take more than a key: signatures, tokens that are fetched, and what happens while there are none.

use crate::{
    issuer::{Answer, Server},
    support::{Bed, CHAT, MESSAGES, chat, messages, only, until},
};
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::SeqCst},
};

/// A provider whose tokens come from `$T`, for the upstream `$A`.
const ENTRA: &str = "entra: { tenant: t, client_id: c, client_secret: hush, authority: '$T' }";

fn bed(document: &str, issuer: &Server) -> Bed {
    Bed::new(&document.replace("$T", &issuer.url()))
}

fn token(before: usize) -> Answer {
    Answer::ok(format!(r#"{{"access_token":"token-{before}","expires_in":3600}}"#))
}

fn azure(entry: &str) -> String {
    format!("providers: {{ a: {{ like: azure, base_url: '$A/v1', keys: [{entry}] }} }}")
}

#[tokio::test]
async fn requests_to_bedrock_are_signed() {
    let bed = Bed::new(
        "providers: { a: { like: bedrock, base_url: '$A', dialects: [openai-chat], endpoints: { chat: '/v1/chat/completions' },
           variables: { region: eu-west-1 }, keys: [{ name: main, aws: { access_key_id: AKID, secret_access_key: S,
           session_token: T } }] } }",
    );
    let answer = bed.chat("a/gpt-4o-mini+no_auth").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let seen = only(&bed.a);
    let signature = seen.header("authorization").unwrap_or_default();
    let signed = "/eu-west-1/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=";
    assert!(
        signature.starts_with("AWS4-HMAC-SHA256 Credential=AKID/") && signature.contains(signed),
        "{signature}"
    );
    assert_eq!(seen.header("x-amz-security-token"), Some("T"));
}

#[tokio::test]
async fn tokens_are_bearers_and_values_stay_what_they_are() {
    let issuer = Server::start(|_, before| token(before));
    let bed = bed(&azure(&format!("{{ name: main, {ENTRA} }}")), &issuer);
    bed.gateway.credentials_settled(std::time::Duration::from_secs(20)).await;
    assert_eq!(bed.chat("a/gpt-4o-mini").await.status, 200);
    let seen = only(&bed.a);
    assert_eq!((seen.header("authorization"), seen.header("api-key")), (Some("Bearer token-0"), None));
    assert_eq!(bed.metric("trestle_credential_ready"), 1.0);
    assert!(bed.metric("trestle_credential_expires_seconds") > 3000.0);
    let bed = self::bed(&azure("{ name: main, value: k }"), &issuer);
    assert_eq!(bed.chat("a/gpt-4o-mini+no_auth").await.status, 200);
    let seen = only(&bed.a);
    assert_eq!((seen.header("authorization"), seen.header("api-key")), (None, Some("k")));
}

#[tokio::test]
async fn a_refused_token_is_fetched_anew_once() {
    let refused = Answer::ok(r#"{"access_token":"mock:status=401","expires_in":3600}"#);
    let refused = std::sync::Mutex::new(Some(refused));
    let issuer =
        Server::start(move |_, before| refused.lock().unwrap().take().unwrap_or_else(|| token(before)));
    let entry = format!("{{ name: main, {ENTRA} }}");
    let bed = bed(&azure(&entry).replace("keys:", "retries: { max: 8, backoff_ms: 50 }, keys:"), &issuer);
    bed.gateway.credentials_settled(std::time::Duration::from_secs(20)).await;
    // The first token is refused, the second is taken: the client sees nothing of it.
    let answer = bed.chat("a/gpt-4o-mini").await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!((issuer.asked().len(), bed.a.requests().len()), (2, 2));
}

#[tokio::test]
async fn what_is_not_there_yet_is_waited_for_only_where_there_is_no_other() {
    let open = Arc::new(AtomicBool::new(false));
    let issuer = Server::start({
        let open = Arc::clone(&open);
        move |_, before| if open.load(SeqCst) { token(before) } else { Answer::failed(503) }
    });
    let document = format!(
        "providers:
  a: {{ like: azure, base_url: '$A/v1', retries: {{ max: 2, backoff_ms: 1 }}, keys: [{{ name: main, {ENTRA} }}] }}
  b: {{ base_url: '$B/v1', like: anthropic, keys: [{{ name: main, value: sk }}] }}
models: {{ both: {{ strategy: ordered, targets: [{{ model: a/gpt-4o-mini }}, {{ model: b/claude-sonnet-4-5 }}] }} }}"
    );
    let bed = bed(&document, &issuer);
    let answer = bed.chat("both").await;
    assert_eq!(
        (answer.status.as_u16(), answer.header("x-trestle-provider")),
        (200, "b"),
        "{}",
        answer.text()
    );
    bed.gateway.credentials_settled(std::time::Duration::from_secs(20)).await;
    let answer = bed.chat("a/gpt-4o-mini").await;
    assert_eq!(answer.status, 502, "{}", answer.text());
    let text = answer.text();
    assert!(text.contains("credentials_failed") && text.contains("main") && !text.contains("hush"), "{text}");
    assert_eq!(bed.metric("trestle_credential_ready"), 0.0);
    open.store(true, SeqCst);
    until("the credential is there", || bed.metric("trestle_credential_ready") == 1.0).await;
    assert_eq!(bed.chat("a/gpt-4o-mini").await.status, 200);
}

#[tokio::test]
async fn claude_on_vertex_has_its_model_in_the_path() {
    let bed = Bed::new(
        "providers: { b: { like: vertex-anthropic, base_url: '$B', variables: { project: p }, auth: { header: x-api-key }, keys: [{ name: main, value: k }],
           endpoints: { messages: '/v1/messages', stream_messages: '/v1/messages?streamed={model}' } } }",
    );
    for (stream, path) in [(false, "/v1/messages"), (true, "/v1/messages?streamed=claude-sonnet-4-5")] {
        for (endpoint, mut body) in
            [(CHAT, chat("b/claude-sonnet-4-5")), (MESSAGES, messages("b/claude-sonnet-4-5"))]
        {
            body["stream"] = json!(stream);
            bed.ask(endpoint, &[], body.to_string()).await;
            let seen = bed.b.requests().pop().unwrap();
            let body: serde_json::Value = serde_json::from_slice(&seen.body).unwrap();
            assert!(body.get("model").is_none(), "{body}");
            assert_eq!((seen.path.as_str(), &body["anthropic_version"]), (path, &json!("vertex-2023-10-16")));
        }
    }
}
