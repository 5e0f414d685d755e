//! Entities over the admin API: each kind alike, and what keys can do beside.

use crate::{
    operator::{Operator, paths},
    support::{KEY, Node, Start, document},
};
use serde_json::{Value, json};

fn node() -> (Node, Operator) {
    let node = Start::serve(&document("")).administered().start();
    let operator = Operator::of(&node);
    (node, operator)
}

#[test]
fn every_kind_is_made_changed_and_removed_alike() {
    let (_node, operator) = node();
    let samples = [
        (
            "providers",
            json!({"base_url": "http://127.0.0.1:9/v1", "dialects": ["openai-chat"]}),
            json!({"concurrency": 3}),
        ),
        ("models", json!({"targets": [{"model": "mock/echo"}]}), json!({"strategy": "ordered"})),
        ("customers", json!({"tags": ["eu"]}), json!({"budgets": [{"usd": 12.5, "per": "month"}]})),
        ("teams", json!({"limits": [{"concurrent": 4}]}), json!({"tags": ["x"]})),
        (
            "users",
            json!({}),
            json!({"limits": [{"requests": 600, "per": "1m", "at_limit": {"downgrade": "mock/echo"}}]}),
        ),
        ("keys", json!({"value": "env:TRESTLE_TEST_NONE", "models": ["mock/*"]}), json!({"tags": ["x"]})),
    ];
    for (kind, value, patch) in samples {
        let id = "a name/with \"odd\" parts: ä";
        // A provider's name is the front of what clients ask for.
        let id = if kind == "providers" { "plain" } else { id };
        let encoded: String = id.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let one = format!("/api/{kind}/{encoded}");
        operator.refused(404, &format!("GET {one}"), "");
        operator.refused(404, &format!("PATCH {one}"), "{}");
        operator.refused(404, &format!("DELETE {one}"), "");
        let new = json!({"id": id, "value": value}).to_string();
        let reply = operator.send(&format!("POST /api/{kind}"), "", &new);
        assert_eq!(reply.status, 201, "{reply:?}");
        let location = reply.head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap();
        operator.refused(409, &format!("POST /api/{kind}"), &new);
        let shown = operator.done(&format!("GET {location}"), "");
        assert_eq!((&shown["id"], &shown["value"], &shown["introduced"]), (&json!(id), &value, &json!(1)));
        operator.done(&format!("PATCH {one}"), &patch.to_string());
        let mut patched = value.clone();
        patched.as_object_mut().unwrap().extend(patch.as_object().unwrap().clone());
        let shown = operator.done(&format!("GET {one}"), "");
        assert_eq!(shown["value"], patched);
        let seen = format!("if-match: \"{}\"\r\n", shown["revision"]);
        operator.refused_if(412, &format!("PUT {one}"), "if-none-match: *\r\n", &value.to_string());
        operator.done_if(&format!("PUT {one}"), &seen, &value.to_string());
        operator.refused_if(412, &format!("DELETE {one}"), &seen, "");
        operator.done(&format!("DELETE {one}"), "");
        operator.refused(404, &format!("GET {one}"), "");
        operator.done_if(&format!("PUT {one}"), "if-none-match: *\r\n", &value.to_string());
        operator.refused_if(412, &format!("DELETE {one}"), "if-match: \"1\"\r\n", "");
        operator.done(&format!("DELETE {one}"), "");
    }
    assert_eq!(operator.done("GET /api/settings/all", "")["value"], json!({}));
    operator.done("PUT /api/settings/all", r#"{"attempts_max":2}"#);
    operator.refused(422, "PATCH /api/settings/all", r#"{"attempts_max":0}"#);
    operator.done("DELETE /api/settings/all", "");
    assert_eq!(operator.done("GET /api/settings/all", "")["revision"], 0);
    operator.refused(404, "GET /api/nothing", "");
    operator.refused(404, "GET /api/settings/other", "");
}

#[test]
fn names_that_cannot_be_are_refused() {
    let (_node, operator) = node();
    let value = json!({"targets": [{"model": "mock/echo"}]});
    for id in ["", " x", "x\n", "mock/x", "a*b*c", &"x".repeat(200), &"x".repeat(600)] {
        let problem =
            operator.refused(422, "POST /api/models", &json!({"id": id, "value": value}).to_string());
        assert!(paths(&problem)[0].starts_with("models"), "{problem}");
    }
    for (kind, value) in [("settings", json!({})), ("settings", json!({"attempts_max": 2}))] {
        operator.refused(
            422,
            &format!("POST /api/{kind}"),
            &json!({"id": "other", "value": value}).to_string(),
        );
    }
}

#[test]
fn what_others_need_is_not_removed() {
    let (_node, operator) = node();
    operator.done(
        "POST /api/providers",
        r#"{"id":"p","value":{"base_url":"http://127.0.0.1:9/v1","dialects":["openai-chat"]}}"#,
    );
    operator.done("POST /api/models", r#"{"id":"a","value":{"targets":[{"model":"p/x"}]}}"#);
    operator
        .done("POST /api/models", r#"{"id":"b","value":{"targets":[{"model":"mock/x"}],"fallbacks":["a"]}}"#);
    let problem = operator.refused(422, "DELETE /api/providers/p", "");
    assert_eq!(paths(&problem), ["models.a.targets[0].model"].as_slice());
    let problem = operator.refused(422, "DELETE /api/models/a", "");
    assert_eq!(paths(&problem), ["models.b.fallbacks[0]"].as_slice());
    let problem = operator.refused(422, "PATCH /api/models/a", r#"{"fallbacks":["b"]}"#);
    assert_eq!(paths(&problem), ["models.a.fallbacks"].as_slice(), "a circle");
    operator.done("PATCH /api/document", r#"{"models":{"a":null,"b":null},"providers":{"p":null}}"#);
    operator.done("POST /api/customers", r#"{"id":"c","value":{}}"#);
    operator.done("POST /api/teams", r#"{"id":"t","value":{"customer":"c"}}"#);
    operator.done("POST /api/keys", r#"{"id":"k","value":{"team":"t"}}"#);
    let problem = operator.refused(422, "DELETE /api/teams/t", "");
    assert_eq!(paths(&problem), ["keys.k.team"].as_slice());
    let problem = operator.refused(422, "DELETE /api/customers/c", "");
    assert_eq!(paths(&problem), ["teams.t.customer"].as_slice());
    operator.done("PATCH /api/document", r#"{"keys":{"k":null},"teams":{"t":null},"customers":{"c":null}}"#);
}

#[test]
fn lists_have_pages_and_filters() {
    let (_node, operator) = node();
    let keys: serde_json::Map<String, Value> = (0..250)
        .map(|i| {
            let mut value = json!({"value": format!("sha256:{i:064x}")});
            if i % 10 == 0 {
                value["tags"] = json!(["ten"]);
            }
            if i % 50 == 1 {
                value["disabled"] = true.into();
            }
            if i % 50 == 2 {
                value["expires_at"] = "2020-01-01T00:00:00Z".into();
            }
            (format!("key-{i:03}"), value)
        })
        .collect();
    operator.done("PATCH /api/document", &json!({"keys": keys}).to_string());
    let all = |query: &str| {
        let (mut found, mut after, mut pages) = (Vec::new(), None::<String>, 0);
        loop {
            let more = after.map(|after| format!("&after={after}")).unwrap_or_default();
            let page = operator.done(&format!("GET /api/keys?{query}{more}"), "");
            found.extend(
                page["items"].as_array().unwrap().iter().map(|item| item["id"].as_str().unwrap().to_owned()),
            );
            pages += 1;
            match page["next"].as_str() {
                Some(next) => after = Some(next.to_owned()),
                None => return (found, pages),
            }
        }
    };
    let (found, pages) = all("limit=100");
    assert_eq!((found.len(), pages), (251, 3));
    assert!(found.is_sorted());
    assert_eq!(all("tag=ten").0.len(), 25);
    assert_eq!(all("state=disabled").0.len(), 5);
    assert_eq!(all("state=expired&limit=2").0.len(), 5);
    assert_eq!(all("state=active").0.len(), 241);
    assert_eq!(all("search=-24").0.len(), 10);
    assert_eq!(all("search=nothing").0.len(), 0);
    operator.refused(400, "GET /api/keys?state=odd", "");
}

#[test]
fn a_key_is_made_rotated_and_revoked() {
    let (node, operator) = node();
    let made = operator.done("POST /api/keys", r#"{"id":"web","value":{"models":["mock/*"]}}"#);
    let first = made["secret"].as_str().unwrap().to_owned();
    assert_eq!(node.chat(&first, "mock/echo").status, 200);
    for line in ["GET /api/keys/web", "GET /api/document", "GET /api/audit", "GET /api/revisions/2"] {
        assert!(!operator.done(line, "").to_string().contains(&first), "{line}");
    }
    let second = operator.done("POST /api/keys/web/rotate", r#"{"grace_seconds":3600}"#)["secret"].clone();
    let second = second.as_str().unwrap().to_owned();
    assert_eq!((node.chat(&first, "mock/echo").status, node.chat(&second, "mock/echo").status), (200, 200));
    let third = operator.done("POST /api/keys/web/rotate", r#"{"grace_seconds":0}"#)["secret"].clone();
    let third = third.as_str().unwrap().to_owned();
    for (key, status) in [(&first, 401), (&second, 401), (&third, 200)] {
        assert_eq!(node.chat(key, "mock/echo").status, status);
    }
    operator.done("POST /api/keys/web/rotate", "");
    assert_eq!(node.chat(&third, "mock/echo").status, 200, "a day of grace");
    operator.done("POST /api/keys/web/revoke", "");
    for key in [&first, &second, &third] {
        assert_eq!(node.chat(key, "mock/echo").status, 401);
    }
    assert_eq!(operator.done("GET /api/keys/web", "")["value"]["disabled"], true);
    operator.refused(404, "POST /api/keys/nobody/rotate", "");
    operator.refused(404, "POST /api/keys/nobody/revoke", "");
    operator.refused(400, "POST /api/keys/web/rotate", r#"{"grace_seconds":99999999}"#);
    operator.refused(400, "POST /api/keys/web/rotate", r#"{"grace":1}"#);
    assert_eq!(node.chat(KEY, "mock/echo").status, 200, "others go on");
}

#[test]
fn a_key_ends_when_it_says() {
    let (node, operator) = node();
    let made =
        operator.done("POST /api/keys", r#"{"id":"web","value":{"expires_at":"2999-01-01T00:00:00Z"}}"#);
    let key = made["secret"].as_str().unwrap();
    assert_eq!(node.chat(key, "mock/echo").status, 200);
    operator.done("PATCH /api/keys/web", r#"{"expires_at":"2020-01-01T00:00:00Z"}"#);
    let reply = node.chat(key, "mock/echo");
    assert!(reply.status == 401 && reply.body.contains("expired"), "{reply:?}");
    operator.refused(422, "PATCH /api/keys/web", r#"{"expires_at":"tomorrow"}"#);
    let same = operator.done("GET /api/keys/web", "")["value"]["value"].clone();
    let twin = json!({"id": "twin", "value": {"value": same}}).to_string();
    assert_eq!(paths(&operator.refused(422, "POST /api/keys", &twin)), ["keys.twin.value"].as_slice());
}
