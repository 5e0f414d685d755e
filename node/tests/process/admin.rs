//! Who may use the admin API, and what it says of itself.

use crate::{
    operator::Operator,
    support::{KEY, Start, document, get},
};
use serde_json::Value;

#[test]
fn nothing_is_told_without_a_token() {
    let node = Start::serve(&document("")).administered().start();
    let operator = Operator::of(&node);
    for line in [
        "GET /api/document",
        "PUT /api/document",
        "PATCH /api/document",
        "GET /api/keys",
        "POST /api/keys",
        "GET /api/keys/tests",
        "DELETE /api/keys/tests",
        "POST /api/keys/tests/rotate",
        "POST /api/keys/tests/aws",
        "GET /api/revisions",
        "GET /api/revisions/diff?from=1",
        "POST /api/revisions/1/rollback",
        "GET /api/audit",
        "GET /api/ledger",
        "GET /api/usage?by=team",
        "GET /api/limits",
        "POST /api/dry-run",
        "GET /api/admin-tokens",
        "DELETE /api/admin-tokens/x",
    ] {
        for token in ["", "trestle-admin-another", KEY] {
            operator.with(token).refused(401, line, "{}");
        }
    }
    let bare = get(node.address, "/api/document");
    assert!(bare.status == 401 && bare.head.contains("www-authenticate: bearer"), "{bare:?}");
    // The key of an operator is none of an application.
    assert_eq!(node.chat(crate::operator::TOKEN, "mock/echo").status, 401);
}

#[test]
fn roles_bound_what_a_token_may() {
    let node = Start::serve(&document("")).administered().start();
    let admin = Operator::of(&node);
    let make = |name: &str, role: &str| {
        let made = admin.done("POST /api/admin-tokens", &format!(r#"{{"name":"{name}","role":"{role}"}}"#));
        admin.with(made["secret"].as_str().unwrap())
    };
    let (viewer, operator) = (make("eve", "viewer"), make("otto", "operator"));
    let model = r#"{"id":"m","value":{"targets":[{"model":"mock/echo"}]}}"#;
    viewer.done("GET /api/models", "");
    viewer.done("POST /api/dry-run", r#"{"key":"tests","body":{"model":"mock/echo"}}"#);
    let problem = viewer.refused(403, "POST /api/models", model);
    assert_eq!(problem["detail"], "this needs the role operator, and the token `eve` has the role viewer");
    viewer.refused(403, "PATCH /api/document", "{}");
    viewer.refused(403, "POST /api/keys/tests/aws", "");
    viewer.refused(403, "POST /api/revisions/1/rollback", "");
    operator.done("POST /api/models", model);
    for line in ["GET /api/admin-tokens", "POST /api/admin-tokens", "DELETE /api/admin-tokens/eve"] {
        operator.refused(403, line, r#"{"name":"x","role":"admin"}"#);
    }
    let list = admin.done("GET /api/admin-tokens", "").to_string();
    assert!(list.contains(r#""name":"eve""#) && !list.contains("trestle-admin-"), "{list}");
    admin.refused(409, "POST /api/admin-tokens", r#"{"name":"eve","role":"admin"}"#);
    let expired = r#"{"name":"past","role":"admin","expires_at":"2020-01-01T00:00:00Z"}"#;
    let expired = admin.done("POST /api/admin-tokens", expired);
    admin.with(expired["secret"].as_str().unwrap()).refused(401, "GET /api/models", "");
    assert_eq!(admin.send("DELETE /api/admin-tokens/eve", "", "").status, 204);
    viewer.refused(401, "GET /api/models", "");
    admin.refused(404, "DELETE /api/admin-tokens/eve", "");
}

#[test]
fn the_first_token_is_shown_once_and_lasts() {
    let folder = tempfile::tempdir().unwrap();
    let start = || Start::serve(&document("")).within(folder.path()).start();
    let node = start();
    node.printed("Admin token");
    let log = node.log();
    let token = log.split_whitespace().find(|word| word.starts_with("trestle-admin-")).unwrap();
    Operator::of(&node).with(token).done("GET /api/admin-tokens", "");
    drop(node);
    let node = start();
    Operator::of(&node).with(token).done("GET /api/document", "");
    assert!(!node.log().contains("trestle-admin-"), "{}", node.log());
    assert!(!crate::dev::is_kept(folder.path(), token));
}

#[test]
fn the_admin_listener_has_the_api_alone() {
    let node =
        Start::serve(&document("")).administered().arguments(&["--admin-listen", "127.0.0.1:0"]).start();
    let admin = node.address_after("admin listening on http").unwrap();
    Operator::of(&node).at(admin).done("GET /api/document", "");
    assert_eq!(node.get("/api/document").status, 404);
    assert_eq!(node.get("/api/docs").status, 404);
}

#[test]
fn the_description_is_of_what_is_served() {
    let node = Start::serve(&document("")).administered().start();
    let described: Value = serde_json::from_str(&node.get("/api/openapi.json").body).unwrap();
    assert!(described["openapi"].as_str().unwrap().starts_with("3.1"));
    let operator = Operator::of(&node);
    let page = include_str!("../../../docs/admin.md");
    let mut operations = 0;
    for (path, item) in described["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            operations += 1;
            let names = [
                ("{kind}", "KIND"),
                ("{id}", "ID"),
                ("{revision}", "N"),
                ("{name}", "NAME"),
                ("{node}", "NODE"),
            ];
            let named = names.iter().fold(path.clone(), |path, (from, to)| path.replace(from, to));
            assert!(
                page.contains(&format!("{named}`")) || page.contains(&format!("{named}?")),
                "{named} is not in docs/admin.md"
            );
            assert!(
                operation["tags"][0].is_string() && operation["responses"].is_object(),
                "{method} {path}"
            );
            // Whatever it answers to nonsense, it is there.
            let path = path.replace("{kind}", "models").replace("{revision}", "9").replace(['{', '}'], "");
            let reply = operator.send(&format!("{} {path}", method.to_uppercase()), "", "{}");
            assert!(
                reply.status != 405 && !reply.body.contains("see /api/docs"),
                "{method} {path}: {reply:?}"
            );
        }
    }
    assert!(operations >= 20, "{operations}");
    let text = described.to_string();
    for reference in text.split("\"$ref\":\"#/components/schemas/").skip(1) {
        let name = reference.split('"').next().unwrap();
        assert!(described["components"]["schemas"][name].is_object(), "{name} is described nowhere");
    }
    let page = node.get("/api/docs");
    assert!(page.head.contains("content-type: text/html") && page.head.contains("default-src 'none'"));
    for part in ["/api/keys/{id}/rotate", "id=\"CallerKey\"", "JSON Merge Patch"] {
        assert!(page.body.contains(part), "no {part}");
    }
    for elsewhere in ["http://", "https://", "<script", "src="] {
        assert!(!page.body.replace("http://vllm", "").contains(elsewhere), "{elsewhere}");
    }
}
