//! The ledger as operators read it: lines, sums, limits; and what a key is told of itself.

use crate::{
    operator::Operator,
    support::{KEY, Node, Reply, Start, chat, connect, document, eventually, exchange, get},
};
use serde_json::{Value, json};
use std::io::Write;
use trestle_bench::mock::{Mock, Options};
use trestle_config::hash_text;

/// Keys of two teams of one customer, and a provider whose models have prices.
pub(crate) fn priced(mock: &Mock) -> String {
    let key = |name: &str, more: &str| {
        format!("  {name}: {{ value: \"{}\", {more} }}\n", hash_text(&format!("sk-{name}")))
    };
    format!(
        "
providers:
  openai: {{ base_url: '{}/v1', dialects: [openai-chat], keys: [{{ name: main, value: env:UPSTREAM }}] }}
models:
  chat: {{ targets: [{{ model: openai/gpt-4o-mini, retries: {{ max: 0 }} }}] }}
customers: {{ acme: {{ budgets: [{{ usd: 5, per: month, warn_at: [80] }}] }} }}
teams:
  growth: {{ customer: acme, limits: [{{ requests: 100, per: hour }}], tags: [eu] }}
  'r&d': {{ customer: acme }}
keys:
{}{}",
        mock.url(),
        key("web", "team: growth, tags: [web], limits: [{ concurrent: 9 }]"),
        key("lab", "team: r&d"),
    )
}

pub(crate) fn node(mock: &Mock) -> (Node, Operator) {
    let node = Start::serve(&priced(mock)).variable("UPSTREAM", "sk-upstream").administered().start();
    let operator = Operator::of(&node);
    (node, operator)
}

/// A call by a key, and its request id.
pub(crate) fn ask(node: &Node, key: &str) -> String {
    let reply = node.chat(&format!("sk-{key}"), "chat");
    let id = reply.head.lines().find_map(|line| line.strip_prefix("x-request-id: ")).unwrap().to_owned();
    // The line is written before the answer ends, and its request is settled after.
    eventually("the end of the request", || {
        node.get("/metrics").body.lines().any(|line| line == "trestle_in_flight 0").then_some(())
    });
    id
}

fn items(answer: &Value) -> &[Value] {
    answer["items"].as_array().unwrap()
}

fn ids(answer: &Value) -> Vec<&str> {
    items(answer).iter().map(|line| line["request_id"].as_str().unwrap()).collect()
}

fn usd(of: &Value) -> f64 {
    of["cost_usd"].as_str().unwrap().parse().unwrap()
}

#[test]
fn each_call_is_a_line_that_filters_find() {
    let mock = Mock::start(Options::default()).unwrap();
    let (node, operator) = node(&mock);
    let first = ask(&node, "web");
    mock.script(None, &["status=500"]).unwrap();
    let failed = ask(&node, "lab");
    let last = ask(&node, "lab");
    let all = operator.done("GET /api/ledger", "");
    assert_eq!(ids(&all), [&*last, &failed, &first]);
    assert!(all.get("next").is_none() && all.get("skipped").is_none(), "{all}");
    let line = &items(&all)[2];
    for (name, value) in [
        ("customer", json!("acme")),
        ("team", json!("growth")),
        ("key", json!("web")),
        ("model", json!("chat")),
        ("provider", json!("openai")),
        ("credential", json!("main")),
        ("vendor_model", json!("gpt-4o-mini")),
        ("attempt", json!(1)),
        ("outcome", json!("ok")),
        ("status", json!(200)),
        ("basis", json!("reported")),
    ] {
        assert_eq!(line[name], value, "{name} of {line}");
    }
    assert_eq!((line.get("user"), line.get("batch")), (None, None), "{line}");
    let tokens = line["tokens"].as_object().unwrap();
    assert_eq!(tokens.keys().collect::<Vec<_>>(), ["input", "output"]);
    let [input, output] = ["input", "output"].map(|kind| tokens[kind].as_u64().unwrap());
    assert!((usd(line) * 1e9 - (input * 150 + output * 600) as f64).abs() < 0.5, "{line}");
    assert!(!all.to_string().contains("sk-"), "{all}");

    let call = line["call"].as_str().unwrap();
    let at = line["ended_at"].as_str().unwrap();
    for (query, expected) in [
        ("team=growth".to_owned(), vec![&first]),
        ("team=r%26d&outcome=ok".to_owned(), vec![&last]),
        ("outcome=provider_error".to_owned(), vec![&failed]),
        ("customer=acme&model=chat&provider=openai".to_owned(), vec![&last, &failed, &first]),
        ("key=lab".to_owned(), vec![&last, &failed]),
        ("tag=eu".to_owned(), vec![&first]),
        ("user=".to_owned(), vec![&last, &failed, &first]),
        ("user=ada".to_owned(), vec![]),
        (format!("request_id={failed}"), vec![&failed]),
        (format!("call={call}"), vec![&first]),
        (format!("from={at}&key=web"), vec![&first]),
        (format!("until={at}&key=web"), vec![]),
        ("from=2020-01-01&until=2020-02-01".to_owned(), vec![]),
    ] {
        let found = operator.done(&format!("GET /api/ledger?{query}"), "");
        assert_eq!(ids(&found), expected, "{query}");
    }
}

#[test]
fn pages_do_not_move_while_calls_end() {
    let mock = Mock::start(Options::default()).unwrap();
    let (node, operator) = node(&mock);
    let mut asked: Vec<_> = (0..5).map(|_| ask(&node, "web")).collect();
    asked.reverse();
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    for _ in 0..10 {
        let page = operator.done(&format!("GET /api/ledger?limit=2{cursor}"), "");
        seen.extend(ids(&page).into_iter().map(str::to_owned));
        ask(&node, "web");
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    assert_eq!(seen, asked);
}

#[test]
fn calls_are_summed_up_by_what_they_have_in_common() {
    let mock = Mock::start(Options::default()).unwrap();
    let (node, operator) = node(&mock);
    for key in ["web", "lab", "web"] {
        ask(&node, key);
    }
    mock.script(None, &["status=500"]).unwrap();
    ask(&node, "lab");
    let lines = operator.done("GET /api/ledger", "");
    let total: f64 = items(&lines).iter().map(usd).sum();
    let all = operator.done("GET /api/usage", "");
    let [sum] = items(&all) else { panic!("{all}") };
    assert_eq!((&sum["calls"], &sum["group"]), (&json!(4), &json!({})));
    assert!(total > 0.0 && (usd(sum) - total).abs() < 1e-12, "{sum}");
    assert!(
        all["from"].as_str().unwrap().ends_with("-01T00:00:00.000Z") && all.get("until").is_none(),
        "{all}"
    );
    let sums = operator.done("GET /api/usage?by=team,model,day", "");
    let day = &items(&lines)[0]["ended_at"].as_str().unwrap()[..10];
    let shown: Vec<_> = items(&sums).iter().map(|sum| (&sum["group"]["team"], &sum["calls"])).collect();
    assert_eq!(shown, [(&json!("growth"), &json!(2)), (&json!("r&d"), &json!(2))]);
    assert_eq!(items(&sums)[0]["group"], json!({"team": "growth", "model": "chat", "day": day}));
    let tags = operator.done("GET /api/usage?by=tag&team=growth", "");
    let shown: Vec<_> = items(&tags).iter().map(|sum| (&sum["group"]["tag"], &sum["calls"])).collect();
    assert_eq!(shown, [(&json!("eu"), &json!(2)), (&json!("web"), &json!(2))]);
    let failed = operator.done("GET /api/usage?by=vendor_model,provider&outcome=provider_error", "");
    let [failed] = items(&failed) else { panic!("{failed}") };
    assert_eq!(failed["group"], json!({"vendor_model": "gpt-4o-mini", "provider": "openai"}));
    assert_eq!((&failed["calls"], &failed["cost_usd"]), (&json!(1), &json!("0.00")));
}

#[test]
fn what_makes_no_sense_is_named() {
    let node = Start::serve(&document("")).administered().start();
    let operator = Operator::of(&node);
    for (line, wanted) in [
        ("GET /api/usage?by=team,colour", "`by`: `colour` is none of customer, team, user, key, model,"),
        ("GET /api/usage?by=day,day", "`by`: `day` is there twice"),
        (
            "GET /api/usage?by=day&costumer=acme",
            "`costumer`: there is no such parameter; there are by, from,",
        ),
        ("GET /api/usage?until=2020-01-01", "`until`: must be after `from`, which is 20"),
        ("GET /api/ledger?from=yesterday", "`from`: must be a time in UTC such as"),
        ("GET /api/ledger?outcome=good", "`outcome`: `good` is none of ok, client_error,"),
        ("GET /api/ledger?call=7", "`call`: must be an id of 32 hexadecimal digits"),
        ("GET /api/ledger?cursor=x", "`cursor`: must be the `next` of a page"),
        ("GET /api/ledger?by=day", "`by`: there is no such parameter; there are from,"),
        ("GET /api/ledger?team=a&team=b", "duplicate field `team`"),
        ("GET /api/limits?owner_kind=human", "`owner_kind`: `human` is none of customer, team,"),
        ("GET /api/limits?cursor=team", "`cursor`: must be the `next` of a page"),
    ] {
        let problem = operator.refused(400, line, "");
        assert!(problem["detail"].as_str().unwrap().contains(wanted), "{line}: {problem}");
    }
}

#[test]
fn viewers_read_limits_with_what_they_count() {
    let mock = Mock::start(Options::default()).unwrap();
    let (node, operator) = node(&mock);
    let made = operator.done("POST /api/admin-tokens", r#"{"name":"eve","role":"viewer"}"#);
    let viewer = operator.with(made["secret"].as_str().unwrap());
    ask(&node, "web");
    let cost = usd(&items(&viewer.done("GET /api/ledger", ""))[0]);
    viewer.done("GET /api/usage?by=key", "");
    let mut seen = Vec::new();
    let mut cursor = String::new();
    for _ in 0..10 {
        let page = viewer.done(&format!("GET /api/limits?limit=1{cursor}"), "");
        seen.extend(items(&page).iter().cloned());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let names: Vec<_> =
        seen.iter().map(|limit| format!("{} {}", limit["owner_kind"], limit["name"])).collect();
    assert_eq!(names, [r#""customer" "usd/month""#, r#""team" "requests/hour""#, r#""key" "concurrent""#]);
    let (budget, limit) = (&seen[0], &seen[1]);
    assert_eq!((&budget["amount"], &budget["held"]), (&json!("5.00"), &json!("0.00")));
    assert_eq!(
        (&budget["warn_at"], budget.get("warned"), &budget["mode"]),
        (&json!([80]), None, &json!("strict"))
    );
    let used: f64 = budget["used"].as_str().unwrap().parse().unwrap();
    assert!((used - cost).abs() < 1e-12, "{budget}");
    let figures = ["amount", "used", "held", "remaining"].map(|name| &limit[name]);
    assert_eq!(figures, [&json!(100), &json!(1), &json!(0), &json!(99)]);
    assert_eq!(
        (&limit["owner"], &limit["window"], &limit["mode"]),
        (&json!("growth"), &json!("hour"), &json!("soft"))
    );
    let of_team = viewer.done("GET /api/limits?owner_kind=team&owner=growth", "");
    assert_eq!(items(&of_team), &seen[1..2]);
    let nobody = viewer.done("GET /api/limits?owner=nobody", "");
    assert_eq!(nobody, json!({"items": []}));
}

fn usage(node: &Node, path: &str, header: &str) -> Reply {
    exchange(&mut node.connect(), &format!("GET {path} HTTP/1.1\r\nhost: test\r\n{header}\r\n"))
}

#[test]
fn a_key_is_told_its_own_usage() {
    let mock = Mock::start(Options::default()).unwrap();
    let (node, _) = node(&mock);
    ask(&node, "web");
    let reply = usage(&node, "/v1/usage", "authorization: Bearer sk-web\r\n");
    let told: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!((reply.status, &told["key"]), (200, &json!("web")), "{reply:?}");
    assert!(!["acme", "growth"].iter().any(|name| reply.body.contains(name)), "{reply:?}");
    assert_eq!(told["limits"][1]["remaining"], 99);
    let theirs = usage(&node, "/anthropic/v1/usage", "x-api-key: sk-lab\r\n");
    assert!(theirs.status == 200 && theirs.body.contains(r#""owner_kind":"customer""#), "{theirs:?}");
    for header in [
        "",
        "authorization: Bearer sk-none\r\n",
        "authorization: Bearer trestle-admin-of-the-process-tests\r\n",
    ] {
        assert_eq!(usage(&node, "/v1/usage", header).status, 401, "{header}");
    }
    let posted =
        exchange(&mut node.connect(), "POST /v1/usage HTTP/1.1\r\nhost: test\r\ncontent-length: 0\r\n\r\n");
    assert!(posted.status == 405 && posted.head.contains("allow: get"), "{posted:?}");
}

#[test]
fn a_call_of_a_killed_process_has_its_line_and_limits_count_on() {
    let folder = tempfile::tempdir().unwrap();
    let text = document("delay_ms: 60000").replace(
        "{ value: env:TRESTLE_TEST_KEY }",
        "{ value: env:TRESTLE_TEST_KEY, limits: [{ tokens: 100000, per: day }] }",
    );
    let start = || Start::serve(&text).within(folder.path()).administered().start();
    let mut node = start();
    let mut stream = connect(node.address);
    stream.write_all(chat(KEY, "mock/echo", "").as_bytes()).unwrap();
    eventually("the call", || {
        get(node.address, "/metrics").body.lines().any(|line| line == "trestle_in_flight 1").then_some(())
    });
    let limits = Operator::of(&node).done("GET /api/limits?owner_kind=key", "");
    let limit = &items(&limits)[0];
    let [used, held, remaining] = ["used", "held", "remaining"].map(|name| limit[name].as_u64().unwrap());
    assert!(used == 0 && held > 0 && held + remaining == 100_000, "{limit}");
    node.signal("KILL");
    node.ended();
    let node = start();
    let operator = Operator::of(&node);
    let lines = operator.done("GET /api/ledger?outcome=killed", "");
    let line = &items(&lines)[0];
    assert_eq!((&line["key"], &line["basis"]), (&json!("tests"), &json!("estimated")), "{lines}");
    let sum = operator.done("GET /api/usage", "");
    let sum = &items(&sum)[0];
    assert_eq!((&sum["calls"], &sum["estimated"]["calls"]), (&json!(1), &json!(1)), "{sum}");
    assert_eq!(sum["tokens"], sum["estimated"]["tokens"], "all of it is estimated");
    let limits = operator.done("GET /api/limits?owner_kind=key", "");
    assert!(items(&limits)[0]["used"].as_u64().unwrap() > 0, "{limits}");
}
