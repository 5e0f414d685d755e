//! What calls come to in the end, however they end: reported or estimated, never twice, never for nothing.

use crate::{
    limits::{ask, document},
    support::{Bed, CHAT, MESSAGES, chat, messages, until},
};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use trestle_gateway::Answered;
use trestle_store::{Basis, Line, OutcomeKind};

const WEB: [(&str, &str); 1] = [("authorization", "Bearer sk-web")];

fn streamed(mut body: Value) -> String {
    body["stream"] = json!(true);
    body.to_string()
}

/// Reads until some text is there, and leaves.
async fn leave_after(mut answered: Answered, text: &str, times: usize) {
    let mut seen = String::new();
    while seen.matches(text).count() < times {
        let chunk = answered.chunk().await.unwrap().unwrap();
        seen.push_str(&String::from_utf8_lossy(&chunk));
    }
}

#[tokio::test]
async fn a_stream_that_reports_at_its_begin_is_estimated_by_what_followed() {
    let bed = Bed::with_ledger(&document("web: { budgets: [{ usd: 1, per: day }] }", ""));
    bed.b.script(None, &["tokens=200,gap_ms=5"]).unwrap();
    let mut body = messages("anthropic/claude-sonnet-4-5");
    body["max_tokens"] = json!(1_000);
    let answered = bed.send(MESSAGES, &[("x-api-key", "sk-web")], streamed(body)).await;
    leave_after(answered, "text_delta", 20).await;
    let lines = bed.lines().await;
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!((line.outcome, line.basis), (OutcomeKind::Cancelled, Basis::Estimated));
    assert!((20..150).contains(&line.tokens.output), "{line:?}");
    let account = bed.b.account();
    assert_eq!(line.tokens.input, account[0].input, "the input was reported");
    assert!(!account[0].reported);
}

#[tokio::test]
async fn a_stream_that_reports_at_its_end_is_reported_though_the_client_leaves_then() {
    let bed = Bed::with_ledger(&document("web: { budgets: [{ usd: 1, per: day }] }", ""));
    // The connection goes with the last event, which says nothing of usage.
    bed.b.script(None, &["tokens=20,burst=1000"]).unwrap();
    let body = messages("anthropic/claude-sonnet-4-5");
    let answered = bed.send(MESSAGES, &[("x-api-key", "sk-web")], streamed(body)).await;
    leave_after(answered, "message_delta", 1).await;
    let lines = bed.lines().await;
    assert_eq!((lines[0].basis, lines[0].tokens.output), (Basis::Reported, 20), "{lines:?}");
}

#[tokio::test]
async fn an_estimate_is_never_more_than_was_held() {
    // One answer costs all of it, and what is sent for it a bit.
    let bed =
        Bed::with_ledger(&document("web: { budgets: [{ usd: '0.0001', per: day, mode: strict }] }", ""));
    let mut body = chat("openai/gpt-4o-mini@+tokens=60+gap_ms=2");
    body["max_tokens"] = json!(60);
    let answered = bed.send(CHAT, &WEB, streamed(body)).await;
    assert_eq!(answered.status, 200);
    leave_after(answered, r#""content":""#, 55).await;
    let lines = bed.lines().await;
    assert_eq!((lines[0].outcome, lines[0].basis), (OutcomeKind::Cancelled, Basis::Estimated));
    assert!((54..=60).contains(&lines[0].tokens.output), "{lines:?}");
}

#[tokio::test]
async fn a_provider_that_cannot_be_reached_costs_nothing() {
    let keys = "web: { budgets: [{ usd: '0.01', per: day, mode: strict }] }";
    let document = document(keys, "").replace("'$A/v1'", "'http://127.0.0.1:9/v1'");
    let bed = Bed::with_ledger(&document);
    let answer = ask(&bed, "web", "cheap").await;
    assert_eq!(answer.status, 502, "{}", answer.text());
    let lines = bed.lines().await;
    assert!(!lines.is_empty());
    for line in lines {
        assert_eq!((line.outcome, line.nano_usd, line.tokens.input), (OutcomeKind::ProviderError, 0, 0));
    }
}

#[tokio::test]
async fn retries_are_held_for_on_top_of_what_failed_calls_have_come_to() {
    let keys = "web: { budgets: [{ usd: '0.0003', per: day, mode: strict }] }";
    let retrying = "cheap: { targets: [{ model: openai/gpt-4o-mini, retries: { max: 5, backoff_ms: 1 } }] }";
    let bed = Bed::with_ledger(
        &document(keys, "").replace("cheap: { targets: [{ model: openai/gpt-4o-mini }] }", retrying),
    );
    // Most of a worst case is its output here; a body that breaks off is charged for its input at least.
    let mut body = chat("cheap");
    let words = "word ".repeat(300);
    body["messages"][0]["content"] = json!(words);
    body["max_tokens"] = json!(60);
    bed.a.script(None, &["cut_mid"; 6]).unwrap();
    for _ in 0..4 {
        let _ = bed.ask(CHAT, &WEB, body.to_string()).await;
    }
    let spent: u64 = bed.lines().await.iter().map(|line| line.nano_usd).sum();
    assert!(spent <= 300_000, "{spent}");
    // With 60,000 for each broken call no more than one worst case of 270,000 was ever held beside them.
    let calls = bed.a.account().len();
    assert!((1..5).contains(&calls), "{calls} calls");
}

#[tokio::test]
async fn after_hundreds_of_cancelled_requests_all_that_is_left_can_be_spent() {
    let budget = 10_000_000;
    let bed = Bed::with_ledger(&document("web: { budgets: [{ usd: '0.01', per: day, mode: strict }] }", ""));
    let mut body = chat("cheap");
    body["max_tokens"] = json!(60);
    let (mut seed, mut cancelled) = (1_u64, 0);
    while cancelled < 500 {
        let mut some = tokio::task::JoinSet::new();
        for _ in 0..20 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let (client, leave) = (bed.gateway.client(None), Duration::from_micros((seed >> 33) % 12_000));
            let mut body = body.clone();
            body["model"] = json!("openai/gpt-4o-mini@+tokens=20+first_ms=2+gap_ms=1");
            body["stream"] = json!(seed.count_ones() % 2 == 0);
            some.spawn(async move {
                let headers = WEB.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
                let asked = async {
                    let headers = headers.into_iter().collect();
                    let answered = client.send(CHAT, headers, body.to_string().into()).await.unwrap();
                    assert_eq!(answered.status, 200);
                    answered.bytes().await.unwrap()
                };
                tokio::time::timeout(leave, asked).await.is_err()
            });
        }
        while let Some(left) = some.join_next().await {
            cancelled += usize::from(left.unwrap());
        }
    }
    until("all calls to end", || bed.gateway.in_flight() == 0).await;
    let last = loop {
        let answer = bed.ask(CHAT, &WEB, body.to_string()).await;
        if answer.status != 200 {
            break answer;
        }
    };
    assert_eq!(last.status, 402, "{}", last.text());
    let lines = bed.lines().await;
    let spent: u64 = lines.iter().map(|line| line.nano_usd).sum();
    assert!(spent <= budget, "{spent}");
    // A request of 130 bytes with 60 tokens of output.
    let worst = 60 * 600 + 150 * 150;
    assert!(spent + worst >= budget, "{} cannot be spent", budget - spent);
    // A provider may not have looked at what was just being sent to it when the client left.
    let seen = bed.a.account().len();
    let unsure = lines.iter().filter(|line| line.nano_usd == 0 || is_unanswered(line)).count();
    assert!(seen <= lines.len() && seen + unsure >= lines.len(), "{seen} were seen, {} lines", lines.len());
}

fn is_unanswered(line: &Line) -> bool {
    (line.outcome, line.status, line.tokens.output) == (OutcomeKind::Cancelled, 0, 0)
}

#[tokio::test]
async fn streamed_or_not_the_same_answer_costs_the_same() {
    for (endpoint, model, key) in [
        (CHAT, "openai/gpt-4o-mini@+tokens=30+cached=4", "authorization"),
        (MESSAGES, "openai/gpt-4o-mini@+tokens=30+cached=4", "x-api-key"),
        (CHAT, "anthropic/claude-sonnet-4-5@+tokens=30+cached=4", "authorization"),
        (MESSAGES, "anthropic/claude-sonnet-4-5@+tokens=30+cached=4", "x-api-key"),
    ] {
        let bed = Bed::with_ledger(&document("web: { budgets: [{ usd: 1, per: day }] }", ""));
        let value = if key == "x-api-key" { "sk-web" } else { "Bearer sk-web" };
        let mut body = messages(model);
        body["max_tokens"] = json!(100);
        for body in [body.to_string(), streamed(body)] {
            let answer = bed.ask(endpoint, &[(key, value)], body).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        let lines = bed.lines().await;
        let [whole, stream] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(
            (whole.tokens, whole.nano_usd, whole.basis),
            (stream.tokens, stream.nano_usd, Basis::Reported)
        );
        let account = [bed.a.account(), bed.b.account()].concat();
        let [first, second] = &account[..] else { panic!("{account:?}") };
        assert_eq!((first.input, first.cached, first.output), (second.input, second.cached, second.output));
        // What is cached has its own rate, a half or a tenth.
        let (input, cached, output) =
            if model.starts_with("openai") { (150, 75, 600) } else { (3000, 300, 15_000) };
        assert_eq!(first.cached, 4);
        let expected = (first.input - 4) * input + 4 * cached + first.output * output;
        assert_eq!(whole.nano_usd, expected, "{model}");
        assert_eq!((whole.tokens.input, whole.tokens.cached_read), (first.input - 4, 4));
    }
}

#[tokio::test]
async fn a_service_tier_has_its_own_price() {
    let bed = Bed::with_ledger(&document("web: { budgets: [{ usd: 1, per: day }] }", ""));
    let tiers = [("default", 250, 2_000), ("flex", 125, 1_000), ("priority", 450, 3_600)];
    for (tier, ..) in tiers {
        let mut body = chat("openai/gpt-5-mini");
        (body["service_tier"], body["max_completion_tokens"]) = (json!(tier), json!(50));
        let answer = bed.ask(CHAT, &WEB, body.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    for (line, (tier, input, output)) in bed.lines().await.iter().zip(tiers) {
        let expected = line.tokens.input * input + (line.tokens.output + line.tokens.reasoning) * output;
        assert_eq!(line.nano_usd, expected, "{tier}: {line:?}");
        assert_eq!(&*line.service_tier, if tier == "default" { "" } else { tier });
    }
}

#[tokio::test]
async fn what_hangs_beyond_its_time_gives_back_what_it_held() {
    let keys = "web: { limits: [{ concurrent: 1 }], budgets: [{ usd: '0.0001', per: day, mode: strict }] }";
    let bed = Bed::with_ledger(
        &document(keys, "").replace("settings: {", "settings: { timeouts: { total_ms: 300 },"),
    );
    let mut body = chat("openai/gpt-4o-mini@+silent");
    body["max_tokens"] = json!(60);
    let hung = bed.ask(CHAT, &WEB, body.to_string()).await;
    assert_eq!(hung.status, 504, "{}", hung.text());
    let lines = bed.lines().await;
    assert_eq!((lines[0].outcome, lines[0].basis), (OutcomeKind::Timeout, Basis::Estimated), "{lines:?}");
    // Nothing is left to be swept: what was held went back with the request, and another one fits.
    assert_eq!(bed.gateway.sweep(u64::MAX / 2), 0);
    body["model"] = json!("openai/gpt-4o-mini");
    let answer = bed.ask(CHAT, &WEB, body.to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// The only one that waits for a lease: it ends a minute after the time of its request, by a clock that nobody sets.
#[tokio::test]
async fn a_request_that_nobody_reads_gives_back_what_it_held_when_its_lease_ends() {
    let keys = "web: { limits: [{ concurrent: 1 }], budgets: [{ usd: '0.00057', per: day, mode: strict }] }";
    let bed = Bed::with_ledger(
        &document(keys, "").replace("settings: {", "settings: { timeouts: { total_ms: 1000 },"),
    );
    let mut body = chat("openai/gpt-4o-mini@+tokens=900+gap_ms=20");
    body["max_tokens"] = json!(900);
    let unread = bed.send(CHAT, &WEB, streamed(body)).await;
    assert_eq!(unread.status, 200);
    let mut small = chat("cheap");
    small["max_tokens"] = json!(60);
    assert_eq!(bed.ask(CHAT, &WEB, small.to_string()).await.status, 429, "it runs");
    let deadline = Instant::now() + Duration::from_secs(100);
    while bed.gateway.sweep(0) == 0 {
        assert!(Instant::now() < deadline, "its lease never ends");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(bed.gateway.in_flight(), 1, "it hangs still");
    assert_eq!(bed.ask(CHAT, &WEB, small.to_string()).await.status, 200);
    // What it comes to is charged, late as it is, and once.
    drop(unread);
    let lines = bed.lines().await;
    let hung = lines.iter().find(|line| line.outcome == OutcomeKind::Cancelled).unwrap();
    assert!(hung.nano_usd > 0 && lines.len() == 2, "{lines:?}");
}
