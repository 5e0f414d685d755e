//! Limits and budgets: what is let in, what it is charged, what the ledger says of it.

use crate::support::{Bed, CHAT, MESSAGES, Whole, chat, messages, until, whole};
use http::HeaderMap;
use serde_json::json;
use trestle_config::hash_text;
use trestle_gateway::RequestLine;
use trestle_store::{Basis, OutcomeKind};

/// A document with two providers that have prices, and keys with these entries.
fn document(keys: &str, more: &str) -> String {
    let keys = keys.lines().filter_map(|line| line.trim().split_once(": "));
    let keys: String = keys
        .map(|(name, rest)| {
            let rest = rest.trim_start_matches("{ ").trim_start_matches('{');
            format!("  {name}: {{ value: \"{}\", {rest}\n", hash_text(&format!("sk-{name}")))
        })
        .collect();
    format!(
        "
providers:
  openai: {{ base_url: '$A/v1', dialects: [openai-chat], keys: [{{ name: main, value: sk-upstream-a }}] }}
  anthropic: {{ base_url: '$B/v1', keys: [{{ name: main, value: sk-upstream-b }}] }}
models:
  chat: {{ strategy: ordered, targets: [{{ model: openai/gpt-4o-mini, retries: {{ max: 0 }} }}], fallbacks: [anthropic/claude-sonnet-4-5] }}
  cheap: {{ targets: [{{ model: openai/gpt-4o-mini }}] }}
keys:
{keys}
{more}
settings: {{ require_keys: true }}
"
    )
}

async fn ask(bed: &Bed, key: &str, model: &str) -> Whole {
    let authorization = format!("Bearer sk-{key}");
    bed.ask(CHAT, &[("authorization", &authorization)], chat(model).to_string()).await
}

#[tokio::test]
async fn requests_are_counted_and_the_one_too_many_is_refused_with_a_reason() {
    let bed = Bed::with_ledger(&document("web: { limits: [{ requests: 2, per: 1h }] }", ""));
    for left in ["1", "0"] {
        let answer = ask(&bed, "web", "chat").await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("x-ratelimit-limit-requests"), "2");
        assert_eq!(answer.header("x-ratelimit-remaining-requests"), left);
    }
    let refused = ask(&bed, "web", "chat").await;
    assert_eq!(refused.status, 429, "{}", refused.text());
    let error = &refused.json()["error"];
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("limit `requests/1h` of key `web`") && message.contains("are used up"),
        "{message}"
    );
    assert!(refused.header("retry-after").parse::<u64>().unwrap() > 1);
    assert_eq!(refused.header("x-ratelimit-remaining-requests"), "0");
    let authorization = [("x-api-key", "sk-web")];
    let refused = bed.ask(MESSAGES, &authorization, messages("chat").to_string()).await;
    assert_eq!(
        (refused.status.as_u16(), &refused.json()["error"]["type"]),
        (429, &json!("rate_limit_error"))
    );
    assert_eq!(refused.header("anthropic-ratelimit-requests-remaining"), "0");
    assert_eq!((bed.a.requests().len(), bed.lines().await.len()), (2, 2));
    let metrics = bed.gateway.metrics();
    let counted = r#"trestle_limits_total{owner_kind="key",measure="requests",what="refused"} 2"#;
    assert!(metrics.contains(counted), "{metrics}");
}

#[tokio::test]
async fn a_limit_warns_once_for_each_percent() {
    let bed =
        Bed::with_ledger(&document("web: { limits: [{ requests: 4, per: 1h, warn_at: [50, 100] }] }", ""));
    let mut warned = Vec::new();
    for _ in 0..4 {
        assert_eq!(ask(&bed, "web", "chat").await.status, 200);
        bed.lines().await;
        warned.push(bed.metric("trestle_limits_total"));
    }
    // Each of two threads may tell of 50.
    assert_eq!(warned[0], 0.0);
    assert!(warned[1] >= 1.0 && warned[3] > warned[1] && warned[3] <= 3.0, "{warned:?}");
}

#[tokio::test]
async fn a_call_is_a_line_with_what_it_cost() {
    let bed = Bed::with_ledger(&document(
        "web: { team: growth, tags: [blue] }",
        "teams: { growth: { tags: [green] } }",
    ));
    let answer = ask(&bed, "web", "chat").await;
    let usage = &answer.json()["usage"];
    let (input, output) =
        (usage["prompt_tokens"].as_u64().unwrap(), usage["completion_tokens"].as_u64().unwrap());
    let lines = bed.lines().await;
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(&*line.request_id, answer.header("x-request-id"));
    assert_eq!((&*line.owner.team, &*line.owner.key, &*line.owner.customer), ("growth", "web", ""));
    let mut tags: Vec<&str> = line.tags.iter().map(|tag| &**tag).collect();
    tags.sort_unstable();
    assert_eq!(tags, ["blue", "green"]);
    assert_eq!(
        (&*line.model, &*line.provider, &*line.credential, &*line.vendor_model),
        ("chat", "openai", "main", "gpt-4o-mini")
    );
    assert_eq!((line.outcome, line.basis, line.status), (OutcomeKind::Ok, Basis::Reported, 200));
    assert_eq!((line.tokens.input, line.tokens.output), (input, output));
    assert_eq!(line.nano_usd, input * 150 + output * 600);
    let told: f64 = answer.header("x-trestle-cost-usd").parse().unwrap();
    assert!((told * 1e9 - line.nano_usd as f64).abs() < 0.5, "{told}");
    assert_ne!(line.price_version, 0);
}

#[tokio::test]
async fn each_attempt_is_a_line_and_only_what_was_used_is_charged() {
    let bed = Bed::with_ledger(&document("web: { budgets: [{ usd: 1, per: day }] }", ""));
    bed.a.script(None, &["status=500"]).unwrap();
    let answer = ask(&bed, "web", "chat").await;
    assert_eq!((answer.status.as_u16(), answer.header("x-trestle-provider")), (200, "anthropic"));
    let lines = bed.lines().await;
    let ends: Vec<_> = lines.iter().map(|line| (&*line.provider, line.outcome, line.nano_usd > 0)).collect();
    assert_eq!(ends, [("openai", OutcomeKind::ProviderError, false), ("anthropic", OutcomeKind::Ok, true)]);
    assert!(lines.iter().all(|line| &*line.request_id == answer.header("x-request-id")));
    assert_eq!(lines.iter().map(|line| line.attempt).collect::<Vec<_>>(), [1, 2]);
}

#[tokio::test]
async fn a_strict_budget_holds_the_worst_case_and_gives_the_rest_back() {
    // A call of 60 tokens may cost some 50,000 nano-USD, and costs a tenth of it.
    let bed =
        Bed::with_ledger(&document("web: { budgets: [{ usd: '0.0002', per: day, mode: strict }] }", ""));
    let body = |most: u64| {
        let mut body = chat("cheap");
        body["max_tokens"] = json!(most);
        body.to_string()
    };
    let headers = [("authorization", "Bearer sk-web")];
    let refused = bed.ask(CHAT, &headers, body(16_000)).await;
    assert_eq!(refused.status, 402, "{}", refused.text());
    let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("budget `usd/day` of key `web`") && message.contains("may take $"), "{message}");
    assert!(bed.a.requests().is_empty());
    let mut spent = 0;
    loop {
        let answer = bed.ask(CHAT, &headers, body(60)).await;
        if answer.status == 402 {
            break;
        }
        assert_eq!(answer.status, 200, "{}", answer.text());
        spent = bed.lines().await.iter().map(|line| line.nano_usd).sum();
        assert!(spent <= 200_000, "{spent}");
    }
    // What a call may come to is all that was left in the end.
    assert!(spent > 140_000, "only {spent} could be spent");
}

#[tokio::test]
async fn a_budget_that_is_short_clamps_the_answer() {
    let budget = "web: { budgets: [{ usd: '0.002', per: day, mode: strict, on_short: clamp }] }";
    let bed = Bed::with_ledger(&document(budget, ""));
    let mut body = chat("cheap");
    body["max_tokens"] = json!(16_000);
    let answer = bed.ask(CHAT, &[("authorization", "Bearer sk-web")], body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    let sent = bed.a.requests()[0].json()["max_tokens"].as_u64().unwrap();
    assert!((1_000..3_400).contains(&sent), "{sent}");
    let told = answer.header("x-trestle-clamped");
    assert_eq!(told, format!("{sent} tokens for the budget `usd/day` of key `web`"));
}

#[tokio::test]
async fn a_limit_can_send_requests_to_a_cheaper_model() {
    let keys = "web: { limits: [{ requests: 1, per: 1h, at_limit: { downgrade: cheap } }] }";
    let bed = Bed::with_ledger(&document(keys, ""));
    let dear = "anthropic/claude-sonnet-4-5";
    let first = ask(&bed, "web", dear).await;
    assert_eq!((first.header("x-trestle-provider"), first.header("x-trestle-downgraded")), ("anthropic", ""));
    for _ in 0..2 {
        let next = ask(&bed, "web", dear).await;
        assert_eq!(next.status, 200, "{}", next.text());
        assert_eq!(
            (next.header("x-trestle-provider"), next.header("x-trestle-downgraded")),
            ("openai", "cheap")
        );
    }
}

#[tokio::test]
async fn a_fallback_that_is_too_dear_is_not_tried() {
    // Enough for the first target, not for the second one.
    let keys = "web: { budgets: [{ usd: '0.0005', per: day, mode: strict }] }";
    let bed = Bed::with_ledger(&document(keys, ""));
    let mut body = chat("chat");
    body["max_tokens"] = json!(60);
    bed.a.script(None, &["status=500"]).unwrap();
    let answer = bed.ask(CHAT, &[("authorization", "Bearer sk-web")], body.to_string()).await;
    // The failure that may pass is told, with the reason why the other target was left out.
    assert_eq!(answer.status, 502, "{}", answer.text());
    let attempts = &answer.json()["error"]["attempts"];
    assert_eq!(attempts[1]["cause"], "budget_exceeded", "{attempts}");
    assert!(bed.b.requests().is_empty(), "it was tried");
    assert_eq!(bed.lines().await.len(), 1);
    // Nothing is held any more: the first target alone still serves.
    let answer = bed.ask(CHAT, &[("authorization", "Bearer sk-web")], body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

#[tokio::test]
async fn limits_of_team_model_and_provider_hold_for_all_of_their_keys() {
    let more = "teams: { growth: { limits: [{ concurrent: 1 }] } }";
    let keys = "web: { team: growth }\napp: { team: growth }\nother: { }";
    let bed = Bed::with_ledger(&document(keys, more));
    bed.a.script(None, &["delay_ms=400"]).unwrap();
    let (first, second) = tokio::join!(ask(&bed, "web", "cheap"), async {
        until("a call to run", || bed.a.requests().len() == 1).await;
        let team = ask(&bed, "app", "cheap").await;
        (team, ask(&bed, "other", "cheap").await)
    });
    assert_eq!(first.status, 200, "{}", first.text());
    assert_eq!(second.0.status, 429, "{}", second.0.text());
    assert!(second.0.text().contains("limit `concurrent` of team `growth`"), "{}", second.0.text());
    assert_eq!(second.1.status, 200, "{}", second.1.text());
    assert_eq!(ask(&bed, "app", "cheap").await.status, 200, "the slot is free again");
}

#[tokio::test]
async fn a_client_that_leaves_pays_for_what_ran_and_nothing_stays_held() {
    let bed = Bed::with_ledger(&document("web: { budgets: [{ usd: '0.01', per: day, mode: strict }] }", ""));
    let mut body = chat("cheap");
    body["stream"] = json!(true);
    body["max_tokens"] = json!(9_000);
    for round in 0..5 {
        bed.a.script(None, &["tokens=200,gap_ms=5"]).unwrap();
        let answered = bed.send(CHAT, &[("authorization", "Bearer sk-web")], body.to_string()).await;
        assert_eq!(answered.status, 200, "round {round}");
        let mut answered = answered;
        for _ in 0..4 {
            answered.chunk().await.unwrap().unwrap();
        }
        drop(answered);
        let lines = bed.lines().await;
        let line = &lines[round];
        assert_eq!((line.outcome, line.basis), (OutcomeKind::Cancelled, Basis::Estimated), "{line:?}");
        assert!((3..60).contains(&line.tokens.output), "{line:?}");
    }
}

#[tokio::test]
async fn an_unknown_price_is_no_way_around_a_strict_budget() {
    let bed = Bed::with_ledger(&document("web: { budgets: [{ usd: 5, per: day, mode: strict }] }", ""));
    let refused = ask(&bed, "web", "openai/nobody-knows-this").await;
    assert_eq!(refused.status, 402, "{}", refused.text());
    assert!(refused.text().contains("is strict"), "{}", refused.text());
    assert!(bed.a.requests().is_empty());
}

#[tokio::test]
async fn who_may_gets_told_why_it_went_so() {
    let keys = "web: { team: growth, trace: true, budgets: [{ usd: 5, per: day }], models: [chat, 'openai/*'] }\nother: { }";
    let bed = Bed::with_ledger(&document(keys, "teams: { growth: { limits: [{ requests: 9, per: 1m }] } }"));
    bed.a.script(None, &["status=500"]).unwrap();
    let trace = |key: &'static str| {
        let bed = &bed;
        async move {
            let authorization = format!("Bearer sk-{key}");
            let headers = [("authorization", &*authorization), ("x-trestle-trace", "true")];
            bed.ask(CHAT, &headers, chat("chat").to_string()).await
        }
    };
    let answer = trace("web").await;
    let told: serde_json::Value = serde_json::from_str(answer.header("x-trestle-trace")).unwrap();
    assert_eq!(told["request_id"], answer.header("x-request-id"));
    assert_eq!(told["caller"], json!({ "key": "web", "team": "growth" }));
    let limits: Vec<_> = told["limits"].as_array().unwrap().iter().map(|limit| &limit["limit"]).collect();
    assert_eq!(limits, ["requests/1m", "usd/day"], "{told}");
    assert_eq!((&told["limits"][0]["amount"], &told["limits"][0]["spent"]), (&json!(9), &json!(1)), "{told}");
    let became: Vec<_> = told["candidates"].as_array().unwrap().iter().map(|c| &c["became"]).collect();
    assert_eq!(became, ["failed", "answered"], "{told}");
    assert_eq!(told["candidates"][0]["attempts"][0]["cause"], "server_error");
    assert_eq!(told["cost"]["usd"], answer.header("x-trestle-cost-usd"));
    assert_eq!(trace("other").await.header("x-trestle-trace"), "");
}

#[tokio::test]
async fn keys_are_bound_to_addresses_headers_and_providers() {
    let keys =
        "web: { ip_allow: ['198.51.100.0/24'], required_headers: { x-app: billing }, providers: [openai] }";
    let bed = Bed::with_ledger(&document(keys, ""));
    let ask = async |peer: &str, app: &str, model: &str| {
        let line = RequestLine { peer: Some(peer.parse().unwrap()), ..CHAT.into() };
        let mut headers = HeaderMap::new();
        headers.insert("authorization", "Bearer sk-web".parse().unwrap());
        headers.insert("x-app", app.parse().unwrap());
        let answered = bed.client.send(line, headers, chat(model).to_string().into()).await.unwrap();
        whole(answered).await
    };
    assert_eq!(ask("198.51.100.7", "billing", "cheap").await.status, 200);
    for (peer, app, model, said) in [
        ("203.0.113.9", "billing", "cheap", "address"),
        ("198.51.100.7", "other", "cheap", "x-app"),
        ("198.51.100.7", "billing", "anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
    ] {
        let refused = ask(peer, app, model).await;
        assert_eq!(refused.status, 403, "{}", refused.text());
        assert!(refused.text().contains(said), "{}", refused.text());
    }
    // A group is used as far as the key may.
    assert_eq!(ask("198.51.100.7", "billing", "chat").await.header("x-trestle-provider"), "openai");
}
