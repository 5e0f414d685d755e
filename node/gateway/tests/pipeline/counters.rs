//! What is counted of calls and tokens: each call once, each token of one kind.

use crate::support::{Bed, CHAT, MESSAGES, chat, messages, until};
use serde_json::json;

/// The lines of a metric, without its name, in order.
fn lines(bed: &Bed, name: &str) -> Vec<String> {
    let text = bed.gateway.metrics();
    let lines = text.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
    lines.map(|line| line.trim_start_matches(name).to_owned()).collect()
}

#[tokio::test]
async fn calls_are_counted_where_they_went_by_how_they_ended() {
    let bed = Bed::new(
        "models: { chat: { strategy: ordered, targets: [{ model: 'a/gpt-4o-mini+status=500', retries: { max: 1, backoff_ms: 1 } },
           { model: b/claude-sonnet-4-5 }] }, broken: { targets: [{ model: 'a/gpt-4o-mini+reset_mid=2' }] } }",
    );
    assert_eq!(bed.chat("chat").await.status, 200);
    let mut body = chat("broken");
    body["stream"] = json!(true);
    bed.ask(CHAT, &[], body.to_string()).await;
    until("all is settled", || bed.gateway.in_flight() == 0).await;
    let [failing, good, broken] =
        [("a", "gpt-4o-mini+status=500"), ("b", "claude-sonnet-4-5"), ("a", "gpt-4o-mini+reset_mid=2")].map(
            |(provider, model)| {
                format!("{{endpoint=\"openai-chat\",provider=\"{provider}\",model=\"{model}\"")
            },
        );
    assert_eq!(
        lines(&bed, "trestle_upstream_requests_total"),
        [format!("{broken}}} 1"), format!("{failing}}} 2"), format!("{good}}} 1")]
    );
    assert_eq!(lines(&bed, "trestle_success_requests_total"), [format!("{good}}} 1")]);
    assert_eq!(
        lines(&bed, "trestle_error_requests_total"),
        [
            format!("{broken},cause=\"connection_broken\"}} 1"),
            format!("{failing},cause=\"server_error\"}} 2")
        ]
    );
    // What the client saw is counted where the last attempt was.
    assert_eq!(
        lines(&bed, "trestle_requests_total"),
        [format!("{broken},outcome=\"broken\"}} 1"), format!("{good},outcome=\"ok\"}} 1")]
    );
}

#[tokio::test]
async fn each_token_is_of_one_kind() {
    let bed = Bed::new("");
    let answer = bed.ask(MESSAGES, &[], messages("b/claude-sonnet-4-5+cached=3").to_string()).await;
    let usage = &answer.json()["usage"];
    let count = |name: &str| usage[name].as_f64().unwrap_or(0.0);
    assert_eq!(count("cache_read_input_tokens"), 3.0, "{}", answer.text());
    let input =
        count("input_tokens") + count("cache_read_input_tokens") + count("cache_creation_input_tokens");
    until("it is counted", || bed.metric("trestle_input_tokens_total") == input).await;
    assert_eq!(bed.metric("trestle_output_tokens_total"), count("output_tokens"));
    assert_eq!(lines(&bed, "trestle_input_tokens_total").len(), 2);
}
