//! The whole document over the admin API: got, replaced, patched, and who comes too late.

use crate::{
    operator::{Operator, paths},
    support::{KEY, Start, document, eventually},
};
use serde_json::{Value, json};

const MODEL: &str = r#"{"targets":[{"model":"mock/echo"}]}"#;

/// The document as it is, and its ETag.
fn got(operator: &Operator) -> (Value, String) {
    let reply = operator.send("GET /api/document", "", "");
    let tag = reply.head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    (serde_json::from_str(&reply.body).unwrap(), tag)
}

#[test]
fn what_a_file_held_is_edited_and_dumped_without_loss() {
    let sample = include_str!("../../config/samples/full.yaml");
    let node = Start::serve(sample).administered().start();
    let operator = Operator::of(&node);
    let (whole, tag) = got(&operator);
    assert_eq!(whole["providers"]["inhouse"]["endpoints"]["messages"], "//anthropic/v1/messages");
    let yaml = operator.send("GET /api/document?format=yaml", "", "").body;
    // Sent back as it came, in either form, it changes nothing.
    for body in [&yaml, &whole.to_string()] {
        let done = operator.done_if("PUT /api/document", &format!("if-match: {tag}\r\n"), body);
        assert_eq!((done["changes"].as_array().unwrap().len(), &done["revision"]), (0, &json!(1)), "{done}");
    }
    let mut edited = whole.clone();
    edited["settings"]["attempts_max"] = 3.into();
    edited["keys"].as_object_mut().unwrap().remove("old");
    let done = operator.done_if("PUT /api/document", &format!("if-match: {tag}\r\n"), &edited.to_string());
    let changes: Vec<_> =
        done["changes"].as_array().unwrap().iter().map(|c| format!("{} {}", c["action"], c["id"])).collect();
    assert_eq!(changes, [r#""changed" "all""#, r#""removed" "old""#]);
    assert_eq!(operator.document(), edited);
}

#[test]
fn a_change_is_in_effect_when_it_is_answered() {
    let node = Start::serve(&document("")).administered().start();
    let operator = Operator::of(&node);
    for round in 0..5 {
        assert_eq!(node.chat(KEY, "new").status, 404, "round {round}");
        operator.done("PATCH /api/document", &format!(r#"{{"models":{{"new":{MODEL}}}}}"#));
        assert_eq!(node.chat(KEY, "new").status, 200, "round {round}");
        operator.done("PATCH /api/document", r#"{"models":{"new":null}}"#);
    }
    let metrics = node.get("/metrics").body;
    assert!(metrics.contains("trestle_document_revision 11\n"), "{metrics}");
}

#[test]
fn a_patch_keeps_what_it_does_not_name() {
    let node = Start::serve(&document("")).administered().start();
    let operator = Operator::of(&node);
    operator.done("PATCH /api/document", r#"{"settings":{"attempts_max":3,"timeouts":{"total_ms":9000}}}"#);
    operator.done("PATCH /api/document", r#"{"settings":{"timeouts":{"idle_ms":8000}}}"#);
    assert_eq!(
        operator.document()["settings"],
        json!({"attempts_max": 3, "timeouts": {"idle_ms": 8000, "total_ms": 9000}})
    );
    operator.done("PATCH /api/document", r#"{"settings":null}"#);
    assert_eq!(operator.document().get("settings"), None);
    assert!(operator.document()["keys"]["tests"].is_object());
}

#[test]
fn all_problems_are_told_and_nothing_is_applied() {
    let node = Start::serve(&document("")).administered().start();
    let operator = Operator::of(&node);
    let before = operator.document();
    let problem = operator.refused(
        422,
        "PATCH /api/document",
        r#"{"models":{"good":{"targets":[{"model":"mock/echo"}]},"bad":{"targets":[{"model":"nobody/x"}],"fallbacks":["gone"]},
            "circle":{"targets":[{"model":"mock/a"}],"fallbacks":["circle"]}},
            "keys":{"typo":{"valu":"x"},"clear":{"value":"plain"}},"settings":{"attempts_max":"many"}}"#,
    );
    assert_eq!(
        paths(&problem),
        ["keys.typo.valu", "keys.typo.value", "settings.attempts_max", "keys.clear.value",].as_slice(),
        "{problem:#}"
    );
    for (status, line, body) in [
        (400, "PATCH /api/document", "{"),
        (400, "PATCH /api/document", r#"{"models":{"a":null,"a":null}}"#),
        (405, "POST /api/document", "{}"),
        (422, "PATCH /api/document", "[]"),
        (422, "PATCH /api/document", r#"{"modles":{}}"#),
        (422, "PATCH /api/document", r#"{"models":[]}"#),
        (422, "PUT /api/document", "a: [1"),
        (422, "PUT /api/document", "a: 1\na: 2"),
        (422, "PUT /api/document", ""),
    ] {
        operator.refused_if(status, line, "if-match: *\r\n", body);
    }
    operator.refused(428, "PUT /api/document", "{}");
    operator.refused_if(400, "PUT /api/document", "if-match: soon\r\n", "{}");
    assert_eq!(operator.document(), before);
}

#[test]
fn an_oversized_body_or_entity_is_refused() {
    let node = Start::serve(&document("")).administered().start();
    let operator = Operator::of(&node);
    let long = "x".repeat(3 << 20);
    operator.refused(413, "POST /api/models", &format!("{{\"id\":\"{long}\"}}"));
    let models: Vec<_> = (0..20_000)
        .map(|i| format!("\"a-model-with-quite-a-long-name-{i:06}-{}\"", "y".repeat(30)))
        .collect();
    let large = format!(
        r#"{{"providers":{{"big":{{"base_url":"http://127.0.0.1:1","dialects":["openai-chat"],"models":[{}]}}}}}}"#,
        models.join(",")
    );
    let problem = operator.refused(422, "PATCH /api/document", &large);
    assert_eq!(paths(&problem), ["providers.big"].as_slice());
    // A large one that is not too large is kept.
    let large = large.replace(&"y".repeat(30), "");
    operator.done("PATCH /api/document", &large);
    assert_eq!(operator.document()["providers"]["big"]["models"].as_array().unwrap().len(), 20_000);
}

#[test]
fn only_who_changed_the_same_entity_comes_too_late() {
    let node = Start::serve(&document("")).administered().start();
    let operator = Operator::of(&node);
    operator.done("PATCH /api/document", &format!(r#"{{"models":{{"a":{MODEL},"b":{MODEL}}}}}"#));
    let (mine, tag) = got(&operator);
    let seen = format!("if-match: {tag}\r\n");
    // Somebody else changes another entity, and one is new.
    operator.done("PATCH /api/models/b", r#"{"strategy":"ordered"}"#);
    operator.done("POST /api/models", &format!(r#"{{"id":"c","value":{MODEL}}}"#));
    let mut edited = mine.clone();
    edited["models"]["a"]["strategy"] = "ordered".into();
    let done = operator.done_if("PUT /api/document", &seen, &edited.to_string());
    assert_eq!(done["changes"].as_array().unwrap().len(), 1, "{done}");
    let now = operator.document();
    for id in ["a", "b"] {
        assert_eq!(now["models"][id]["strategy"], "ordered", "{id}");
    }
    assert!(now["models"]["c"].is_object(), "what others made stays");
    // Now the same entity.
    edited["models"]["a"]["fallbacks"] = json!(["mock/x"]);
    let problem = operator.refused_if(412, "PUT /api/document", &seen, &edited.to_string());
    assert!(problem["detail"].as_str().unwrap().contains("models/a"), "{problem}");
    operator.refused_if(412, "PATCH /api/document", &seen, r#"{"models":{"b":{"fallbacks":["mock/x"]}}}"#);
    operator.done_if("PATCH /api/document", &seen, r#"{"settings":{"attempts_max":2}}"#);
    operator.refused_if(412, "PATCH /api/models/a", "if-match: \"2\"\r\n", r#"{"fallbacks":["mock/x"]}"#);
    operator.refused_if(412, "PUT /api/document", "if-match: \"999\"\r\n", "{}");
    operator.done_if("PUT /api/document", "if-match: *\r\n", &mine.to_string());
    assert_eq!(operator.document(), mine);
}

/// Whoever changes different entities at once never comes too late.
#[test]
fn many_change_at_once() {
    let node = Start::serve(&document("")).administered().start();
    let operator = Operator::of(&node);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let operator = operator.clone();
            scope.spawn(move || {
                for i in 0..10 {
                    operator
                        .done("POST /api/models", &format!(r#"{{"id":"m{thread}-{i}","value":{MODEL}}}"#));
                }
            });
        }
    });
    assert_eq!(operator.document()["models"].as_object().unwrap().len(), 40);
    let revisions = operator.done("GET /api/revisions?limit=500", "");
    assert_eq!(revisions["items"].as_array().unwrap().len(), 41);
}

#[test]
fn a_dry_run_changes_nothing() {
    let node = Start::serve(&document("")).administered().start();
    let operator = Operator::of(&node);
    let before = operator.document();
    let would =
        operator.done("PATCH /api/document?dry_run=true", &format!(r#"{{"models":{{"a":{MODEL}}}}}"#));
    assert_eq!((&would["dry_run"], &would["changes"][0]["action"]), (&json!(true), &json!("created")));
    operator.refused(422, "PATCH /api/document?dry_run=true", r#"{"models":{"a":{}}}"#);
    let would = operator.done("POST /api/keys?dry_run=true", r#"{"id":"k"}"#);
    assert_eq!(would.get("secret"), None);
    assert_eq!(operator.document(), before);
}

#[test]
fn a_file_that_is_the_only_source_is_changed_there() {
    let text = document("");
    let node = Start::serve(&text).administered().arguments(&["--authoritative", "--watch"]).start();
    let operator = Operator::of(&node);
    let problem = operator.refused(409, "PATCH /api/document", &format!(r#"{{"models":{{"a":{MODEL}}}}}"#));
    assert!(problem["detail"].as_str().unwrap().contains("gateway.yaml"), "{problem}");
    operator.refused(409, "POST /api/keys/tests/revoke", "");
    operator.refused(409, "DELETE /api/keys/tests", "");
    // What would change may be asked, and tokens are not the document's.
    operator.done("PATCH /api/document?dry_run=true", &format!(r#"{{"models":{{"a":{MODEL}}}}}"#));
    operator.done("POST /api/admin-tokens", r#"{"name":"x","role":"viewer"}"#);
    node.put("gateway.yaml", &format!("{text}models: {{ a: {MODEL} }}\n"));
    eventually("the change of the file", || operator.document()["models"]["a"].is_object().then_some(()));
    let last = operator.done("GET /api/revisions?limit=1", "");
    assert_eq!(last["items"][0]["origin"]["via"], "file", "{last}");
}

#[test]
fn a_file_fills_an_empty_folder_alone_or_at_each_start() {
    let folder = tempfile::tempdir().unwrap();
    let text = document("");
    let start = |text: &str, more: &[&str]| {
        Start::serve(text).administered().within(folder.path()).arguments(more).start()
    };
    let node = start(&text, &[]);
    Operator::of(&node).done("POST /api/models", &format!(r#"{{"id":"kept","value":{MODEL}}}"#));
    drop(node);
    let other = format!("{text}models: {{ other: {MODEL} }}\n");
    let node = start(&other, &[]);
    let models = Operator::of(&node).document()["models"].clone();
    assert_eq!(models.as_object().unwrap().keys().collect::<Vec<_>>(), ["kept"]);
    node.printed("was for the first start");
    drop(node);
    for (text, more) in
        [(&*other, "the document was applied"), ("modles: {}", "refused whole"), ("a: [", "refused whole")]
    {
        let node = start(text, &["--authoritative"]);
        node.printed(more);
        let models = Operator::of(&node).document()["models"].clone();
        assert_eq!(models.as_object().unwrap().keys().collect::<Vec<_>>(), ["other"]);
        assert_eq!(node.chat(KEY, "other").status, 200);
    }
}
