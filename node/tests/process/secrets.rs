//! Secrets of providers: sealed, referred to, and never seen again.

use crate::{
    dev::is_kept,
    operator::{Operator, paths},
    support::{Start, document},
};
use std::path::Path;

const SECRET: &str = "sk-a-secret-of-a-vendor-0123456789";

fn start(folder: &Path) -> Start {
    Start::serve(&document("")).within(folder).administered()
}

fn provider(value: &str) -> String {
    format!(r#"{{"id":"vendor","value":{{"like":"openai","keys":[{{"name":"main","value":"{value}"}}]}}}}"#)
}

#[test]
fn a_secret_in_clear_is_sealed_and_seen_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path()).sealing().start();
    let operator = Operator::of(&node);
    operator.done("POST /api/providers", &provider(SECRET));
    let shown = operator.done("GET /api/providers/vendor", "");
    let handle = shown["value"]["keys"][0]["value"].as_str().unwrap().to_owned();
    assert!(handle.starts_with("sealed:") && handle.len() == 23, "{handle}");
    for line in
        ["GET /api/document", "GET /api/document?format=yaml", "GET /api/audit", "GET /api/revisions/2"]
    {
        let reply = operator.send(line, "", "");
        assert!(!reply.body.contains(SECRET) && !reply.body.contains("sealed:v1."), "{line}: {}", reply.body);
    }
    // It is a key of the provider: dry runs say that it would be used.
    let found = operator.done("POST /api/dry-run", r#"{"key":"tests","body":{"model":"vendor/x"}}"#);
    assert_eq!(found["targets"][0]["tried"], true, "{found}");
    // The handle stands for it, wherever it is sent to.
    let same = operator.done(
        "PATCH /api/providers/vendor",
        &format!(r#"{{"keys":[{{"name":"main","value":"{handle}"}}]}}"#),
    );
    assert!(same["changes"].as_array().unwrap().is_empty(), "{same}");
    let again = operator.done(
        "PATCH /api/providers/vendor",
        &format!(r#"{{"keys":[{{"name":"main","value":"{SECRET}"}}]}}"#),
    );
    assert!(again["changes"].as_array().unwrap().is_empty(), "the same secret: {again}");
    operator.done("POST /api/providers", &provider(&handle).replace("vendor", "copy"));
    for (id, value) in [("a", "sealed:0123456789abcdef"), ("b", "sk-...6789"), ("c", "****"), ("d", "")] {
        let problem = operator.refused(422, "POST /api/providers", &provider(value).replace("vendor", id));
        assert_eq!(paths(&problem)[0], format!("providers.{id}.keys[0].value"), "{problem}");
    }
    assert!(!node.log().contains(SECRET));
    drop(node);
    assert!(!is_kept(folder.path(), SECRET));
    let node = start(folder.path()).sealing().start();
    let found = Operator::of(&node).done("POST /api/dry-run", r#"{"key":"tests","body":{"model":"copy/x"}}"#);
    assert_eq!(found["targets"][0]["tried"], true, "{found}");
}

#[test]
fn secrets_of_clouds_are_sealed_wherever_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path()).sealing().start();
    let operator = Operator::of(&node);
    let secrets = ["aws", "session", "entra", "proxy"].map(|whose| format!("hush-of-{whose}-0123456789"));
    let keys = format!(
        r#"[{{"name":"a","aws":{{"access_key_id":"AKID","secret_access_key":"{}","session_token":"{}"}}}}]"#,
        secrets[0], secrets[1]
    );
    let bedrock = format!(
        r#"{{"id":"bedrock","value":{{"dialects":["openai-chat"],"variables":{{"region":"eu-west-1"}},"keys":{keys}}}}}"#
    );
    operator.done("POST /api/providers", &bedrock);
    // Nobody is asked in a test: the address of the authority refuses connections.
    let entra = format!(
        r#"{{"tenant":"t","client_id":"c","client_secret":"{}","authority":"http://127.0.0.1:1"}}"#,
        secrets[2]
    );
    let azure = format!(
        r#"{{"id":"azure","value":{{"variables":{{"resource":"r"}},"proxy":"http://u:{}@127.0.0.1:1","keys":[{{"name":"a","entra":{entra}}}]}}}}"#,
        secrets[3]
    );
    operator.done("POST /api/providers", &azure);
    let shown = operator.done("GET /api/providers/bedrock", "");
    let aws = &shown["value"]["keys"][0]["aws"];
    assert_eq!(aws["access_key_id"], "AKID");
    let handle = aws["secret_access_key"].as_str().unwrap();
    assert!(handle.starts_with("sealed:") && handle.len() == 23, "{handle}");
    for line in ["GET /api/document", "GET /api/audit", "GET /api/revisions/2", "GET /api/revisions/3"] {
        let body = operator.send(line, "", "").body;
        let clean =
            secrets.iter().all(|secret| !body.contains(secret.as_str())) && !body.contains("sealed:v1.");
        assert!(clean, "{line}: {body}");
    }
    let shown_proxy = operator.done("GET /api/providers/azure", "");
    assert!(shown_proxy["value"]["proxy"].as_str().unwrap().starts_with("sealed:"), "{shown_proxy}");
    let same = operator.done("PUT /api/providers/bedrock", &shown["value"].to_string());
    assert!(same["changes"].as_array().unwrap().is_empty(), "{same}");
    // Static keys are there at once; what cannot be fetched is told where an operator looks.
    let found = operator.done("POST /api/dry-run", r#"{"key":"tests","body":{"model":"bedrock/x"}}"#);
    assert_eq!(found["targets"][0]["tried"], true, "{found}");
    node.printed("the credentials cannot be fetched");
    let found = operator.done("POST /api/dry-run", r#"{"key":"tests","body":{"model":"azure/x"}}"#);
    let why = found["targets"][0].to_string();
    assert!(why.contains("the credentials a of the provider azure could not be fetched"), "{found}");
    assert!(secrets.iter().all(|secret| !node.log().contains(secret.as_str())));
    drop(node);
    assert!(secrets.iter().all(|secret| !is_kept(folder.path(), secret)));
}

#[test]
fn without_a_key_only_references_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path()).start();
    let operator = Operator::of(&node);
    let problem = operator.refused(422, "POST /api/providers", &provider(SECRET));
    assert!(problem["detail"].as_str().unwrap().contains("key_encryption_key"), "{problem}");
    assert!(!problem.to_string().contains(SECRET));
    operator.done("POST /api/providers", &provider("env:NO_SUCH_VARIABLE"));
    let document =
        format!("{}  vendor: {{ like: openai, keys: [{{ name: a, value: {SECRET} }}] }}\n", "providers:\n");
    let log = Start::serve(&document).try_start().err().expect("it does not start");
    assert!(
        log.contains("providers.vendor.keys[0].value: is a secret in clear") && !log.contains(SECRET),
        "{log}"
    );
}

#[test]
fn the_key_encryption_key_is_changed_and_checked() {
    let folder = tempfile::tempdir().unwrap();
    let with = |now: &str, before: Option<&str>| {
        let start = start(folder.path())
            .arguments(&["--key-encryption-key", "env:NOW"])
            .variable("NOW", &now.repeat(32));
        match before {
            Some(before) => start
                .arguments(&["--key-encryption-key-previous", "env:BEFORE"])
                .variable("BEFORE", &before.repeat(32)),
            None => start,
        }
    };
    let usable = |operator: &Operator| {
        let found = operator.done("POST /api/dry-run", r#"{"key":"tests","body":{"model":"vendor/x"}}"#);
        found["targets"][0]["tried"] == true
    };
    let node = with("11", None).start();
    Operator::of(&node).done("POST /api/providers", &provider(SECRET));
    drop(node);
    let log = with("22", None).try_start().err().expect("it does not start");
    assert!(log.contains("key_encryption_key_previous"), "{log}");
    let node = with("22", Some("11")).start();
    assert!(usable(&Operator::of(&node)));
    drop(node);
    let node = with("22", None).start();
    assert!(usable(&Operator::of(&node)));
    drop(node);
    // Without a key at all the node serves what does not need one, and says so.
    let node = start(folder.path()).start();
    node.printed("there are sealed secrets");
    assert!(!usable(&Operator::of(&node)));
    drop(node);
    for (kek, wanted) in [("short", "32 random bytes"), ("", "is empty")] {
        let start = start(folder.path()).arguments(&["--key-encryption-key", "env:NOW"]).variable("NOW", kek);
        let log = start.try_start().err().expect("it does not start");
        assert!(log.contains(wanted), "{log}");
    }
}
