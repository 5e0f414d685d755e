//! What was: revisions, the way back, who did it; and what would be done.

use crate::{
    operator::Operator,
    support::{KEY, Node, Start, document},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const MODEL: &str = r#"{"targets":[{"model":"mock/echo"}]}"#;

fn node() -> (Node, Operator) {
    let node = Start::serve(&document("")).administered().start();
    let operator = Operator::of(&node);
    (node, operator)
}

#[test]
fn a_revision_tells_who_changed_what() {
    let (_node, operator) = node();
    operator.done("POST /api/models", &format!(r#"{{"id":"m","value":{MODEL}}}"#));
    operator.done("PATCH /api/models/m", r#"{"strategy":"ordered"}"#);
    operator.done("DELETE /api/models/m", "");
    let list = operator.done("GET /api/revisions", "");
    let actions: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|item| &item["origin"]["action"]).collect();
    assert_eq!(actions, ["DELETE /api/models/m", "PATCH /api/models/m", "POST /api/models", "first start"]);
    let newest = &list["items"][0];
    assert_eq!(newest["origin"]["actor"], "settings");
    assert_eq!(newest["origin"]["from"], "127.0.0.1");
    assert_eq!(newest["entities"], json!(["models/m"]));
    let second = operator.done("GET /api/revisions/3", "");
    let change = &second["changes"][0];
    assert_eq!((&change["action"], &change["before"].get("strategy")), (&json!("changed"), &None));
    assert_eq!(change["after"]["strategy"], "ordered");
    let page = operator.done("GET /api/revisions?limit=2", "");
    assert_eq!((page["items"].as_array().unwrap().len(), &page["next"]), (2, &json!(3)));
    let page = operator.done("GET /api/revisions?limit=2&before=3", "");
    assert_eq!((&page["items"][0]["revision"], page.get("next")), (&json!(2), None));
    operator.refused(404, "GET /api/revisions/99", "");
    operator.refused(412, "GET /api/document?revision=99", "");
    let then = operator.done("GET /api/document?revision=3", "");
    assert_eq!(then["models"]["m"]["strategy"], "ordered");
}

#[test]
fn differences_and_the_way_back() {
    let (node, operator) = node();
    operator.done("PATCH /api/document", &format!(r#"{{"models":{{"a":{MODEL},"b":{MODEL}}}}}"#));
    let key = operator.done("POST /api/keys", r#"{"id":"k"}"#)["secret"].as_str().unwrap().to_owned();
    operator.done(
        "PATCH /api/document",
        r#"{"models":{"a":null,"b":{"strategy":"ordered"}},"settings":{"attempts_max":2}}"#,
    );
    operator.done("POST /api/keys/k/revoke", "");
    let diff = operator.done("GET /api/revisions/diff?from=3", "");
    let changes: Vec<_> = diff["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| format!("{} {}/{}", c["action"], c["kind"], c["id"]))
        .collect();
    assert_eq!(
        changes,
        [
            r#""changed" "models"/"b""#,
            r#""changed" "keys"/"k""#,
            r#""created" "settings"/"all""#,
            r#""removed" "models"/"a""#
        ]
    );
    assert!(
        operator.done("GET /api/revisions/diff?from=3&to=3", "")["changes"].as_array().unwrap().is_empty()
    );
    let would = operator.done("POST /api/revisions/3/rollback?dry_run=true", "");
    assert_eq!(would["changes"].as_array().unwrap().len(), 3);
    operator.done("POST /api/revisions/3/rollback", "");
    let now = operator.document();
    assert!(now["models"]["a"].is_object() && now.get("settings").is_none());
    assert_eq!(node.chat(&key, "mock/echo").status, 401, "a key that was revoked stays so");
    operator.done("POST /api/revisions/3/rollback", r#"{"kinds":["keys"]}"#);
    assert_eq!(node.chat(&key, "mock/echo").status, 200, "unless it is asked for");
    operator.refused(400, "POST /api/revisions/3/rollback", r#"{"kinds":["tokens"]}"#);
    operator.refused(412, "POST /api/revisions/99/rollback", "");
    assert_eq!(node.chat(KEY, "a").status, 200);
}

#[test]
fn audit_records_are_a_chain() {
    let (_node, operator) = node();
    for i in 0..40 {
        operator.done("POST /api/models", &format!(r#"{{"id":"m{i}","value":{MODEL}}}"#));
    }
    // One revision of many records.
    let models: serde_json::Map<String, Value> =
        (0..100).map(|i| (format!("n{i}"), serde_json::from_str(MODEL).unwrap())).collect();
    operator.done("PATCH /api/document", &json!({"models": models}).to_string());
    let page = operator.done("GET /api/audit?limit=500", "");
    let mut revisions = page["items"].as_array().unwrap().clone();
    revisions.reverse();
    let records: Vec<_> = revisions
        .iter()
        .flat_map(|revision| revision["records"].as_array().unwrap())
        .map(|record| BASE64_STANDARD.decode(record.as_str().unwrap()).unwrap())
        .collect();
    assert!(revisions.len() == 42 && records.len() > 44, "{} {}", revisions.len(), records.len());
    for pair in records.windows(2) {
        let link = Sha256::digest(&pair[0]);
        assert!(pair[1].windows(32).any(|bytes| bytes == &link[..]), "a record without its link");
    }
    let last: String =
        Sha256::digest(records.last().unwrap()).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(page["head"], json!({"revision": 42, "sha256": last}));
    let lines = operator.send("GET /api/audit?format=jsonl&limit=500", "", "");
    assert!(lines.head.contains("content-type: application/jsonl"));
    let lines: Vec<Value> = lines.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(&lines[..], &page["items"].as_array().unwrap()[..]);
}

#[test]
fn a_dry_run_tells_the_route_and_why() {
    let text = "providers:\n  mock: {}\n  keyless: { like: openai, keys: [{ name: a, value: env:TRESTLE_TEST_NONE }] }\n\
                models:\n  chat:\n    targets: [{ model: mock/a, weight: 3 }, { model: keyless/b, weight: 1 }, { model: mock/c, weight: 1 }]\n    \
                fallbacks: [mock/d]\n\
                keys:\n  tests: { value: env:TRESTLE_TEST_KEY }\n  narrow: { value: \"sha256:0000000000000000000000000000000000000000000000000000000000000000\", models: [\"mock/a\", \"mock/d\"] }\n";
    let node = Start::serve(text).administered().start();
    let operator = Operator::of(&node);
    let ask = |body: &str| operator.done("POST /api/dry-run", body);
    let found = ask(r#"{"key":"tests","body":{"model":"chat"}}"#);
    assert_eq!(
        (&found["caller"], &found["group"], &found["refusal"]),
        (&json!("tests"), &json!("chat"), &Value::Null)
    );
    let target = |name: &str| {
        let targets = found["targets"].as_array().unwrap();
        targets.iter().find(|target| target["target"] == name).unwrap().clone()
    };
    assert_eq!(
        (&target("mock/a")["first_share"], &target("mock/d")["because"]),
        (&json!(0.75), &json!("fallback"))
    );
    assert_eq!(target("keyless/b")["why_not"], "no key is set for the provider keyless");
    let found = ask(r#"{"key":"narrow","body":{"model":"chat"}}"#).to_string();
    assert_eq!(found.matches("this key may not use it").count(), 2, "{found}");
    let header = format!(
        r#"{{"headers":{{"authorization":"Bearer {KEY}"}},"body":{{"model":"mock/x","fallbacks":["mock/y"]}}}}"#
    );
    let found = ask(&header);
    assert_eq!((&found["caller"], &found["targets"][1]["because"]), (&json!("tests"), &json!("named")));
    for (body, status) in [
        (r#"{"key":"narrow","body":{"model":"mock/z"}}"#, 403),
        (r#"{"key":"tests","body":{"model":"none"}}"#, 404),
        (r#"{"key":"nobody","body":{"model":"chat"}}"#, 400),
        (r#"{"body":{"model":"chat"}}"#, 401),
        (r#"{"key":"tests","body":{}}"#, 400),
    ] {
        assert_eq!(ask(body)["refusal"]["status"], status, "{body}");
    }
    operator.refused(400, "POST /api/dry-run", r#"{"path":"/v1/nothing","body":{}}"#);
    let metrics = node.get("/metrics").body;
    assert!(!metrics.contains("trestle_requests_total{"), "nothing was asked: {metrics}");
}

#[test]
fn a_dry_run_tells_the_cost_where_prices_are_known() {
    let text = "providers:\n  mock: {}\n  \
                vendor: { like: openai, keys: [{ name: a, value: env:TRESTLE_TEST_KEY }] }\n  \
                cohere: { keys: [{ name: a, value: env:TRESTLE_TEST_KEY }] }\n\
                catalog:\n  mock/priced: { output_max: 100, price: { input: 1000000, output: 2000000 } }\n  \
                mock/endless: { price: { input: 1, output: 1 } }\n  \
                openai/vectors: { kind: embedding, price: { input: 1000000 } }\n  \
                cohere/ranks: { kind: rerank, price: { per_query: 2000000 } }\n\
                models:\n  chat: { strategy: ordered, targets: [{ model: mock/priced }, { model: mock/unknown }] }\n\
                keys: { tests: { value: env:TRESTLE_TEST_KEY } }\n";
    let node = Start::serve(text).administered().start();
    let operator = Operator::of(&node);
    let ask = |path: &str, body: &Value| {
        operator.done("POST /api/dry-run", &json!({"key": "tests", "path": path, "body": body}).to_string())
    };
    let chat = |model: &str, content: Value, more: Value| {
        let mut body = json!({"model": model, "messages": [{"role": "user", "content": content}]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ask("/v1/chat/completions", &body)
    };
    let text = "word".repeat(100);
    let found = chat("chat", json!(text), json!({"max_tokens": 50}));
    let cost = &found["targets"][0]["cost"];
    let input = cost["input_tokens"].as_u64().unwrap();
    assert!((100..130).contains(&input), "{found}");
    assert_eq!(cost["output_tokens"], 50);
    assert_eq!((&cost["usd"], &found["cost_usd"]), (&json!((input + 100) as f64 / 1e6), &cost["usd"]));
    assert_eq!(found["targets"][1]["cost"], Value::Null, "nobody knows its price");
    // The model's own limit holds where the request names none, or more.
    for more in [json!({}), json!({"max_tokens": 5000})] {
        assert_eq!(chat("chat", json!("x"), more)["targets"][0]["cost"]["output_tokens"], 100);
    }
    let url = format!("data:image/png;base64,{}", "A".repeat(40_000));
    let picture = json!([{"type": "text", "text": text}, {"type": "image_url", "image_url": {"url": url}}]);
    let with_picture = chat("chat", picture, json!({}));
    let tokens = with_picture["targets"][0]["cost"]["input_tokens"].as_u64().unwrap();
    assert!((100..160).contains(&tokens), "{with_picture}");
    assert_eq!(chat("mock/endless", json!("x"), json!({}))["cost_usd"], Value::Null, "no end is known");
    let found = ask("/v1/embeddings", &json!({"model": "vendor/vectors", "input": text}));
    let cost = &found["targets"][0]["cost"];
    let input = cost["input_tokens"].as_u64().unwrap();
    assert!((100..130).contains(&input) && cost["output_tokens"] == 0, "{found}");
    assert_eq!(cost["usd"], json!(input as f64 / 1e6));
    let found = ask("/v1/rerank", &json!({"model": "cohere/ranks", "query": "x", "documents": ["a", "b"]}));
    assert_eq!(found["cost_usd"], json!(0.002), "{found}");
}
