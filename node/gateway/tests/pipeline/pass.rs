//! What goes through unchanged, and what must not go through.

use crate::support::{Bed, CHAT, MESSAGES, chat, messages, only, whole};
use bytes::Bytes;
use http::{HeaderMap, Method, header::AUTHORIZATION};
use serde_json::json;
use trestle_dialect::{Dialect, embed::Api};
use trestle_gateway::{Endpoint, Named, RequestLine};
use trestle_provider::Operation;

const EMBEDDINGS: Endpoint = Endpoint::Embed(Api::OpenAi);
const COMPLETIONS: Endpoint = Endpoint::Pass(Operation::Completions);

#[tokio::test]
async fn the_same_dialect_leaves_the_body_as_it_came_but_for_the_model() {
    let bed = Bed::new("models: { chat: { targets: [{ model: a/gpt-4o-mini }] } }");
    let body = "{ \"messages\" : [ {\"role\":\"user\",\"content\":\"caf\\u00e9 \u{1F600}\"} ],\n\t\"model\":\"chat\", \"temperature\":0.70, \"seed\":1e0 , \"fallbacks\":[] }";
    let answer = bed.ask(CHAT, &[], body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let expected = body
        .replace("\"chat\"", "\"gpt-4o-mini\"")
        .replace(" , \"fallbacks\":[]", "")
        .replace(", \"fallbacks\":[]", "");
    let sent = String::from_utf8(only(&bed.a).body.to_vec()).unwrap();
    assert_eq!(sent.replace(' ', ""), expected.replace(' ', ""));
    assert!(sent.contains("\"temperature\":0.70, \"seed\":1e0"), "{sent}");
}

#[tokio::test]
async fn an_anthropic_body_is_not_touched_either() {
    let bed = Bed::new("");
    let body = "{\"model\":\"b/claude-sonnet-4-5\",\"max_tokens\":100 ,\"system\":[{\"type\":\"text\",\"text\":\"s\",\"cache_control\":{\"type\":\"ephemeral\"}}],\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}";
    let answer = bed.ask(MESSAGES, &[("anthropic-version", "2023-06-01")], body).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(only(&bed.b).body, body.replace("b/claude", "claude"));
    assert_eq!(answer.header("request-id"), answer.header("x-request-id"));
}

#[tokio::test]
async fn headers_of_the_client_stay_here() {
    let bed = Bed::new("");
    let leaks = [
        ("authorization", "Bearer client-secret"),
        ("x-api-key", "client-secret"),
        ("api-key", "client-secret"),
        ("x-goog-api-key", "client-secret"),
        ("x-bf-vk", "client-secret"),
        ("x-bf-direct-key", "client-secret"),
        ("x-bf-eh-tenant", "client-secret"),
        ("cookie", "session=client-secret"),
        ("x-forwarded-for", "10.1.1.1"),
        ("x-custom", "client-secret"),
        ("x-request-id", "client-id-1"),
    ];
    let answer = bed.ask(CHAT, &leaks, chat("a/gpt-4o-mini").to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let seen = only(&bed.a);
    let names: Vec<_> = seen.headers.iter().map(|(name, _)| &**name).collect();
    assert!(seen.headers.iter().all(|(_, value)| !value.contains("client-")), "{:?}", seen.headers);
    assert_eq!(seen.header("authorization"), Some("Bearer sk-upstream-a"));
    for name in names {
        let allowed = ["host", "content-type", "content-length", "accept", "user-agent", "authorization"];
        assert!(allowed.contains(&name), "{name} went through");
    }
    assert_eq!(answer.header("x-client-request-id"), "client-id-1");
    assert_eq!(answer.header("x-request-id").len(), 32);
}

#[tokio::test]
async fn headers_of_a_vendor_go_only_to_that_vendor() {
    let bed = Bed::new("");
    let beta =
        [("anthropic-beta", "tools-2024"), ("anthropic-version", "2023-06-01"), ("openai-beta", "x=1")];
    for (model, forwarded) in [("a/gpt-4o-mini", false), ("b/claude-sonnet-4-5", true)] {
        let answer = bed.ask(MESSAGES, &beta, messages(model).to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let seen = only(if forwarded { &bed.b } else { &bed.a });
        assert_eq!(seen.header("anthropic-beta"), forwarded.then_some("tools-2024"));
        assert_eq!(seen.header("anthropic-version"), forwarded.then_some("2023-06-01"));
        assert_eq!(seen.header("openai-beta"), None);
    }
}

#[tokio::test]
async fn the_answer_says_who_gave_it() {
    let bed = Bed::new("models: { chat: { targets: [{ model: a/gpt-4o-mini }] } }");
    let answer = bed.chat("chat").await;
    assert_eq!(answer.header("x-trestle-provider"), "a");
    assert_eq!(answer.header("x-trestle-model"), "gpt-4o-mini");
    assert_eq!(answer.header("x-trestle-attempts"), "1");
    assert_eq!(answer.header("content-type"), "application/json");
    let content = answer.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    assert!(content.contains("Hello there, gateway."), "{content}");
}

#[tokio::test]
async fn ids_of_models_are_opaque() {
    let bed = Bed::new("");
    for model in ["meta-llama/llama-3:free", "ft:gpt-4o:org::id", "a/b?c#d%2F", "arn:aws:bedrock:x/y"] {
        bed.a.clear();
        let answer = bed.chat(&format!("a/{model}")).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(only(&bed.a).json()["model"], model);
        assert_eq!(only(&bed.a).path, "/v1/chat/completions");
    }
}

#[tokio::test]
async fn embeddings_and_completions_are_passed_on_to_those_who_have_them() {
    let bed = Bed::new("");
    let body = json!({ "model": "a/text-embedding-3-small", "input": ["one", "two"] });
    let answer = bed.ask(EMBEDDINGS, &[], body.to_string()).await;
    assert_eq!(answer.json()["data"].as_array().unwrap().len(), 2, "{}", answer.text());
    assert_eq!(only(&bed.a).json(), json!({ "model": "text-embedding-3-small", "input": ["one", "two"] }));
    bed.a.clear();
    let body =
        json!({ "model": "a/gpt-3.5-turbo-instruct", "prompt": "Say", "stream": true, "max_tokens": 5 });
    let answer = bed.ask(COMPLETIONS, &[], body.to_string()).await;
    assert_eq!(answer.data().last().map(String::as_str), Some("[DONE]"), "{}", answer.text());
    let body = json!({ "model": "b/claude-sonnet-4-5", "input": "x" });
    let refused = bed.ask(EMBEDDINGS, &[], body.to_string()).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(refused.text().contains("does not offer embeddings"), "{}", refused.text());
    assert!(bed.b.requests().is_empty());
}

#[tokio::test]
async fn params_of_a_target_win_and_other_targets_do_not_see_them() {
    let bed = Bed::new(
        "models: { chat: { strategy: ordered, targets: [
            { model: a/gpt-4o-mini+status=500, params: { temperature: 0.1, seed: 7 }, retries: { max: 0 } }, { model: a/gpt-4o }] } }",
    );
    let mut body = chat("chat");
    body["temperature"] = json!(0.9);
    let answer = bed.ask(CHAT, &[], body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let seen = bed.a.requests();
    assert_eq!((&seen[0].json()["temperature"], &seen[0].json()["seed"]), (&json!(0.1), &json!(7)));
    assert_eq!((&seen[1].json()["temperature"], &seen[1].json()["seed"]), (&json!(0.9), &json!(null)));
}

#[tokio::test]
async fn models_lists_what_the_caller_may_use() {
    let bed = Bed::new(
        "models: { chat: { targets: [{ model: a/gpt-4o-mini }] }, other: { targets: [{ model: b/claude-x }] } }
keys:
  web: { value: 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', models: [chat, mock/echo] }
settings: {}",
    );
    let ids = |answer: &crate::support::Whole| -> Vec<String> {
        answer.json()["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|m| m["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let key = ("authorization", "Bearer abc");
    let answer = bed.ask(Endpoint::Models(Dialect::OpenAiChat), &[key], "").await;
    assert_eq!(ids(&answer), ["chat", "mock/echo"]);
    assert_eq!(answer.json()["object"], "list");
    let answer = bed
        .ask(
            Endpoint::Models(Dialect::OpenAiChat),
            &[("x-api-key", "abc"), ("anthropic-version", "2023-06-01")],
            "",
        )
        .await;
    assert_eq!(answer.json()["data"][0]["type"], "model");
    for (path, id) in [
        ("/v1/models/chat", Some("chat")),
        ("/v1/models/mock/echo", Some("mock/echo")),
        ("/v1/models/mock/lorem", None),
        ("/v1/models/nothing", None),
    ] {
        let line = RequestLine::find(&Method::GET, path).unwrap().unwrap();
        let headers = HeaderMap::from_iter([(AUTHORIZATION, "Bearer abc".parse().unwrap())]);
        let answer = whole(bed.client.send(line, headers, Bytes::new()).await.unwrap()).await;
        assert_eq!(answer.json()["id"].as_str(), id, "{path}: {}", answer.text());
        assert_eq!(answer.status, if id.is_some() { 200 } else { 404 }, "{path}");
    }
    let refused =
        bed.ask(Endpoint::Models(Dialect::OpenAiChat), &[("authorization", "Bearer wrong")], "").await;
    assert_eq!(refused.status, 401);
    for (model, status) in
        [("chat", 200), ("mock/echo", 200), ("other", 403), ("a/gpt-4o-mini", 403), ("mock/lorem", 403)]
    {
        let answer = bed.ask(CHAT, &[key], chat(model).to_string()).await;
        assert_eq!(answer.status, status, "{model}: {}", answer.text());
    }
    let mut body = chat("chat");
    body["fallbacks"] = json!(["b/claude-x"]);
    assert_eq!(bed.ask(CHAT, &[key], body.to_string()).await.status, 403);
}

#[tokio::test]
async fn a_request_in_another_dialect_is_translated_both_ways() {
    let bed = Bed::new("");
    let answer = bed.chat("b/claude-sonnet-4-5").await;
    assert_eq!(answer.json()["object"], "chat.completion", "{}", answer.text());
    assert_eq!(only(&bed.b).path, "/v1/messages");
    assert_eq!(only(&bed.b).header("x-api-key"), Some("sk-upstream-b"));
    let answer = bed.ask(MESSAGES, &[], messages("a/gpt-4o-mini").to_string()).await;
    assert_eq!(answer.json()["type"], "message", "{}", answer.text());
    assert_eq!(only(&bed.a).path, "/v1/chat/completions");
    let mut body = chat("b/claude-sonnet-4-5");
    body["frequency_penalty"] = json!(0.5);
    body["x_unknown"] = json!({ "a": 1 });
    let answer = bed.ask(CHAT, &[], body.to_string()).await;
    let dropped = answer.header("x-trestle-dropped");
    assert!(dropped.contains("frequency_penalty") && dropped.contains("x_unknown"), "{dropped}");
    // In the words of the client.
    let body = json!({"contents": [{"parts": [{"text": "hi"}]}], "generationConfig": {"seed": 1}});
    let named = Some(Named { model: "b/claude-sonnet-4-5".into(), stream: Some(false) });
    let line = RequestLine { named, ..Endpoint::Generate(Dialect::Gemini).into() };
    let answered = bed.client.send(line, HeaderMap::new(), body.to_string().into()).await.unwrap();
    let answer = whole(answered).await;
    assert_eq!(answer.header("x-trestle-dropped"), "generationConfig.seed", "{}", answer.text());
}

#[tokio::test]
async fn compressed_bodies_are_understood_both_ways() {
    use std::io::Write as _;
    let bed = Bed::new("");
    for model in ["a/gpt-4o-mini+gzip", "a/gpt-4o-mini+br"] {
        let answer = bed.chat(model).await;
        assert!(!answer.headers.contains_key("content-encoding"));
        assert!(answer.json()["usage"]["total_tokens"].as_u64().unwrap() > 0, "{model}: {}", answer.text());
        let answer = bed.stream(model).await;
        assert_eq!(answer.data().last().map(String::as_str), Some("[DONE]"), "{model}: {}", answer.text());
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(chat("mock/echo").to_string().as_bytes()).unwrap();
    let answer = bed.ask(CHAT, &[("content-encoding", "gzip")], gzip.finish().unwrap()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn a_strict_request_is_told_whole_or_not_at_all() {
    let key = "value: 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'";
    let bed = Bed::new(&format!(
        "models: {{ chat: {{ strategy: ordered, targets: [{{ model: b/claude-sonnet-4-5 }}, {{ model: a/gpt-4o-mini }}] }} }}\n\
         keys: {{ whole: {{ {key}, strict: true }} }}"
    ));
    let ask =
        json!({"model": "chat", "seed": 7, "messages": [{"role": "user", "content": "hi"}]}).to_string();
    let answer = bed.ask(CHAT, &[], ask.clone()).await;
    assert_eq!(
        (answer.header("x-trestle-model"), answer.header("x-trestle-dropped")),
        ("claude-sonnet-4-5", "seed")
    );
    // The next target can be told all.
    for strict in [("x-trestle-strict", "true"), ("x-api-key", "abc")] {
        let answer = bed.ask(CHAT, &[strict], ask.clone()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("x-trestle-model"), "gpt-4o-mini");
    }
    let only = ask.replace("\"chat\"", "\"b/claude-sonnet-4-5\"");
    let answer = bed.ask(CHAT, &[("x-trestle-strict", "true")], only.clone()).await;
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("cannot be told seed"), "{}", answer.text());
    let answer = bed.ask(CHAT, &[("x-trestle-strict", "yes")], only).await;
    assert!(answer.text().contains("must be `true` or `false`"), "{}", answer.text());
}

#[tokio::test]
async fn other_operations_are_passed_on_to_those_who_have_them() {
    let bed = Bed::new("models: { any: { strategy: ordered, targets: [{ model: a/gpt-4o-mini }] } }");
    let pass = |operation| Endpoint::Pass(operation);
    let body = json!({"model": "any", "input": ["good", "harm"]}).to_string();
    let answer = bed.ask(pass(Operation::Moderations), &[], body).await;
    assert_eq!(answer.json()["results"][1]["flagged"], true, "{}", answer.text());

    let body = json!({"model": "any", "prompt": "a cat", "n": 2}).to_string();
    let answer = bed.ask(pass(Operation::ImageGenerations), &[], body).await;
    assert_eq!(answer.json()["data"].as_array().unwrap().len(), 2, "{}", answer.text());

    let body = json!({"model": "any", "input": "Hello there", "voice": "alloy"}).to_string();
    let answer = bed.ask(pass(Operation::Speech), &[], body).await;
    assert_eq!((answer.status, answer.header("content-type")), (http::StatusCode::OK, "audio/mpeg"));
    assert!(answer.body.starts_with(b"ID3") && answer.body.ends_with(b"Hello there"));
    assert_eq!(answer.header("x-trestle-model"), "gpt-4o-mini");

    let body =
        json!({"model": "b/claude-sonnet-4-5", "messages": [{"role": "user", "content": "Hello there"}]});
    let answer = bed.ask(pass(Operation::CountTokens), &[], body.to_string()).await;
    assert!(answer.json()["input_tokens"].as_u64().is_some_and(|tokens| tokens > 2), "{}", answer.text());
    let refused =
        bed.ask(pass(Operation::CountTokens), &[], body.to_string().replace("b/claude", "a/gpt")).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert!(refused.text().contains("does not offer count_tokens"), "{}", refused.text());
    assert!(bed.metric("trestle_requests_total") >= 5.0);
}
