//! What a key is told of its own usage, and operators of all limits.

use crate::support::{Bed, CHAT, chat, until, whole};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};
use trestle_config::{OwnerKind, hash_text};
use trestle_gateway::{LimitsAsked, RequestLine, kind_word};

const OWNERS: &str = "
customers: { acme: { budgets: [{ usd: 5, per: month }] } }
teams: { growth: { customer: acme, limits: [{ requests: 2, per: hour, warn_at: [50] }] } }
users: { ada: { team: growth, limits: [{ concurrent: 3 }] } }
";

/// A document with a key for each of two teams, and a provider that has prices.
fn document() -> String {
    let key = |name: &str, more: &str| {
        format!("  {name}: {{ value: \"{}\", {more} }}\n", hash_text(&format!("sk-{name}")))
    };
    format!(
        "
providers:
  openai:
    base_url: '$A/v1'
    dialects: [openai-chat]
    keys: [{{ name: main, value: sk-upstream-a }}]
    limits: [{{ tokens: 1000000, per: day }}]
models:
  chat: {{ targets: [{{ model: openai/gpt-4o-mini }}] }}
{OWNERS}
keys:
{}{}
settings: {{ require_keys: true }}
",
        key("web", "user: ada, provider_limits: { openai: { limits: [{ tokens: 9000, per: 1h }] } }"),
        key("other", "tags: [lone]"),
    )
}

/// The answer to a GET with this key, in `header`.
async fn get(bed: &Bed, path: &str, header: (&str, &str)) -> (u16, Value) {
    let line = RequestLine::find(&Method::GET, path).unwrap().unwrap();
    let (name, value) = header;
    let header = (HeaderName::try_from(name).unwrap(), HeaderValue::try_from(value).unwrap());
    let answer =
        whole(bed.client.send(line, HeaderMap::from_iter([header]), Bytes::new()).await.unwrap()).await;
    (answer.status.as_u16(), answer.json())
}

async fn ask(bed: &Bed, key: &str) -> f64 {
    let authorization = format!("Bearer sk-{key}");
    let answer = bed.ask(CHAT, &[("authorization", &authorization)], chat("chat").to_string()).await;
    assert_eq!(answer.status, 200, "{}", answer.text());
    until("the request to be settled", || bed.gateway.in_flight() == 0).await;
    answer.header("x-trestle-cost-usd").parse().unwrap()
}

#[tokio::test]
async fn a_key_is_told_its_limits_and_no_names_of_others() {
    let bed = Bed::with_ledger(&document());
    let cost = ask(&bed, "web").await;
    for (path, header) in [
        ("/v1/usage", ("authorization", "Bearer sk-web")),
        ("/anthropic/v1/usage", ("x-api-key", "sk-web")),
        ("/genai/usage", ("x-goog-api-key", "sk-web")),
        ("/litellm/usage", ("authorization", "Bearer sk-web")),
    ] {
        let (status, body) = get(&bed, path, header).await;
        assert_eq!((status, &body["object"], &body["key"]), (200, &json!("usage"), &json!("web")), "{path}");
        for name in ["acme", "growth", "ada"] {
            assert!(!body.to_string().contains(name), "{body}");
        }
        let limits = body["limits"].as_array().unwrap();
        let shown = |limit: &Value| {
            let of = |name: &str| limit[name].as_str().unwrap_or("-").to_owned();
            format!(
                "{} {} {} {} {}",
                of("owner_kind"),
                of("provider"),
                of("name"),
                of("measure"),
                of("window")
            )
        };
        assert_eq!(
            limits.iter().map(shown).collect::<Vec<_>>(),
            [
                "customer - usd/month usd month",
                "team - requests/hour requests hour",
                "user - concurrent concurrent -",
                "key openai tokens/1h tokens 1h",
            ]
        );
        let figures =
            |at: usize| ["amount", "used", "held", "remaining"].map(|name| limits[at][name].clone());
        assert_eq!(figures(1), [json!(2), json!(1), json!(0), json!(1)]);
        assert_eq!(figures(2), [json!(3), json!(0), json!(0), json!(3)]);
        let [amount, used, held, remaining] = figures(0).map(|money| money.as_str().unwrap().to_owned());
        assert_eq!((&*amount, &*held), ("5.00", "0.00"));
        let [used, remaining]: [f64; 2] = [used, remaining].map(|money| money.parse().unwrap());
        assert!(
            cost > 0.0 && (used - cost).abs() < 1e-12 && (used + remaining - 5.0).abs() < 1e-12,
            "{used}"
        );
        assert!(limits[0]["resets_at"].as_str().unwrap().ends_with("-01T00:00:00.000Z"), "{body}");
        assert_eq!(limits[2].get("resets_at"), None);
    }
    let (status, body) = get(&bed, "/v1/usage", ("authorization", "Bearer sk-other")).await;
    assert_eq!((status, body), (200, json!({"object": "usage", "key": "other", "limits": []})));
    assert_eq!(bed.lines().await.len(), 1, "to ask is no call");
    for (path, header) in [
        ("/v1/usage", ("authorization", "Bearer sk-wrong")),
        ("/v1/usage", ("accept", "*/*")),
        ("/anthropic/v1/usage", ("x-api-key", "")),
    ] {
        assert_eq!(get(&bed, path, header).await.0, 401, "{header:?}");
    }
}

#[tokio::test]
async fn who_needs_no_key_has_no_usage() {
    let bed = Bed::new("models: { chat: { targets: [{ model: a/gpt-4o-mini }] } }");
    let (status, body) = get(&bed, "/v1/usage", ("accept", "*/*")).await;
    assert_eq!((status, &body["error"]["code"]), (401, &json!("unauthenticated")), "{body}");
}

#[tokio::test]
async fn operators_see_all_limits_and_the_scrape_those_of_few_owners() {
    let bed = Bed::with_ledger(&document());
    ask(&bed, "web").await;
    ask(&bed, "web").await;
    let now_ms =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    let page = bed.gateway.limits(&LimitsAsked { max: 100, ..LimitsAsked::default() }, now_ms);
    let shown: Vec<_> = page
        .limits
        .iter()
        .map(|now| format!("{} {} {}", kind_word(now.limit.owner.kind), now.limit.owner.name, now.limit.name))
        .collect();
    assert_eq!(
        shown,
        [
            "customer acme usd/month",
            "team growth requests/hour",
            "user ada concurrent",
            "key_provider web@openai tokens/1h",
            "provider openai tokens/day",
        ]
    );
    let team = &page.limits[1];
    assert_eq!((team.amount, team.used, team.held, team.warned()), (2, 2, 0, Some(50)));
    let kinds = &[OwnerKind::Team][..];
    let asked = LimitsAsked { kinds, owner: Some("growth"), max: 1, ..LimitsAsked::default() };
    assert_eq!(bed.gateway.limits(&asked, now_ms).limits.len(), 1);

    let metrics = bed.gateway.metrics();
    let series: Vec<_> = metrics.lines().filter(|line| line.starts_with("trestle_limit_")).collect();
    let team = "{owner_kind=\"team\",owner=\"growth\",limit=\"requests/hour\",measure=\"requests\"}";
    for wanted in [
        format!("trestle_limit_used{team} 2"),
        format!("trestle_limit_held{team} 0"),
        format!("trestle_limit_amount{team} 2"),
        "trestle_limit_amount{owner_kind=\"customer\",owner=\"acme\",limit=\"usd/month\",measure=\"usd\"} 5"
            .to_owned(),
    ] {
        assert!(series.contains(&&*wanted), "no {wanted} in {series:#?}");
    }
    let used = bed.metric("trestle_limit_used");
    assert!(used > 2.0, "tokens of the provider, and some money: {used}");
    assert_eq!(series.len(), 3 * 3 + 1, "none of users and keys: {series:#?}");
}
