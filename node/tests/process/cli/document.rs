//! `trestle document get`, `diff` and `apply`.

use crate::cli_shell::Shell;
use crate::{
    operator::Operator,
    support::{Node, Start, document},
};
use serde_json::{Value, json};
use std::fs;

const MODEL: &str = r#"{"targets":[{"model":"mock/echo"}]}"#;

fn node() -> (Node, Operator, Shell) {
    let node = Start::serve(&document("")).administered().sealing().start();
    let (operator, shell) = (Operator::of(&node), Shell::of(&node));
    (node, operator, shell)
}

/// The document of the tests with a model.
fn with_model(name: &str) -> String {
    format!("{}models:\n  {name}: {MODEL}\n", document(""))
}

#[test]
fn the_document_is_printed_as_it_is_and_as_it_was() {
    let (_node, operator, shell) = node();
    operator.done("POST /api/models", &format!(r#"{{"id":"m","value":{MODEL}}}"#));
    let ran = shell.run(&["document", "get"]);
    assert_eq!(ran.stderr, "revision 2\n");
    assert!(ran.stdout.contains("models:\n  m:\n"), "{}", ran.stdout);
    shell.file("same.yaml", &ran.stdout);
    let read = shell.run(&["document", "get", "--format", "json"]).json();
    assert_eq!(read, operator.document());
    assert_eq!(shell.run(&["document", "get", "--json"]).json(), read);
    let then = shell.run(&["document", "get", "--json", "--revision", "1"]).json();
    assert_eq!(then.get("models"), None);
    assert!(shell.run(&["document", "get", "--revision", "9"]).failed(1).contains("revision 9 is not kept"));
    assert_eq!(shell.run(&["document", "diff", "same.yaml"]).ok(), "");
}

#[test]
fn a_file_is_compared_then_applied() {
    let (_node, operator, shell) = node();
    shell.file("gateway.yaml", &with_model("m"));
    let ran = shell.run(&["document", "diff", "gateway.yaml"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (1, "--- /dev/null\n+++ models/m\n@@ -0,0 +1,2 @@\n+targets:\n+- model: mock/echo\n")
    );
    let dry = shell.run(&["document", "apply", "gateway.yaml", "--dry-run"]).ok();
    assert_eq!(dry, "would change, from revision 1 on:\n  created  models/m\n");
    assert_eq!(operator.document().get("models"), None);
    let applied = shell.run(&["document", "apply", "gateway.yaml"]).ok();
    assert_eq!(applied, "revision 2:\n  created  models/m\n");
    let again = shell.run(&["document", "apply", "gateway.yaml"]).ok();
    assert_eq!(again, "nothing changes: revision 2 is the same\n");
    assert_eq!(shell.run(&["document", "diff", "gateway.yaml"]).code, 0);
    let applied = shell.run_with(&["document", "apply", "-", "--json"], &with_model("n")).json();
    assert_eq!((&applied["revision"], &applied["changes"][0]["id"]), (&json!(3), &json!("n")));
    let diff = shell.run_with(&["document", "diff", "-", "--json"], &with_model("m"));
    assert_eq!(diff.code, 1);
    let diff: Value = serde_json::from_str(&diff.stdout).unwrap();
    assert_eq!(diff["dry_run"], true);
}

#[test]
fn what_is_wrong_is_told_with_its_places() {
    let (_node, operator, shell) = node();
    let before = operator.document();
    shell.file("wrong.yaml", "models:\n  m: { tragets: [] }\nkeys:\n  k: { value: \"sha256:short\" }\n");
    let stderr = shell.run(&["document", "apply", "wrong.yaml"]).failed(1);
    assert!(stderr.starts_with("error: The document would not be valid\n"), "{stderr}");
    for path in ["models.m.tragets: ", "models.m.targets: ", "keys.k.value: "] {
        assert!(stderr.lines().any(|line| line.starts_with(path)), "{path}: {stderr}");
    }
    shell.run(&["document", "diff", "wrong.yaml"]).failed(2);
    shell.file("empty.yaml", "\n");
    for command in ["apply", "diff"] {
        let ran = shell.run(&["document", command, "empty.yaml"]);
        assert!(ran.stderr.contains("empty.yaml is empty") && ran.code != 0, "{ran:?}");
        let ran = shell.run(&["document", command, "none.yaml"]);
        assert!(ran.stderr.contains("cannot read none.yaml") && ran.code != 0, "{ran:?}");
    }
    assert!(shell.run(&["document", "diff", "wrong.yaml", "--url", "http://127.0.0.1:1"]).code == 2);
    assert_eq!(operator.document(), before);
}

#[test]
fn what_others_changed_is_not_undone() {
    let (_node, operator, shell) = node();
    operator.done("POST /api/models", &format!(r#"{{"id":"m","value":{MODEL}}}"#));
    let mine = shell.run(&["document", "get"]).ok().replace("mock/echo", "mock/lorem");
    shell.file("mine.yaml", &mine);
    operator.done("POST /api/models", &format!(r#"{{"id":"other","value":{MODEL}}}"#));
    shell.run(&["document", "apply", "mine.yaml", "--revision", "2"]).ok();
    assert!(operator.document()["models"]["other"].is_object(), "another entity stays");
    operator.done("PATCH /api/models/m", r#"{"strategy":"ordered"}"#);
    shell.file("mine.yaml", &mine.replace("mock/lorem", "mock/lorem2"));
    let stderr = shell.run(&["document", "apply", "mine.yaml", "--revision", "4"]).failed(1);
    assert!(stderr.contains("others have changed models/m meanwhile"), "{stderr}");
    shell.run(&["document", "apply", "mine.yaml", "--force"]).ok();
    let now = operator.document();
    assert_eq!(now["models"]["m"]["targets"][0]["model"], "mock/lorem2");
    assert_eq!(now["models"].get("other"), None);
}

#[test]
fn secrets_in_clear_are_never_printed() {
    let (_node, _operator, shell) = node();
    let provider =
        "providers:\n  mock: { mock: {} }\n  openai: { keys: [{ name: main, value: sk-in-clear }] }\n";
    shell.file("gateway.yaml", provider);
    let mut seen = String::new();
    for arguments in [
        &["document", "diff", "gateway.yaml"][..],
        &["document", "apply", "gateway.yaml"],
        &["document", "get"],
        &["revisions", "show", "2"],
        &["audit", "export"],
        &["document", "apply", "gateway.yaml", "--json"],
    ] {
        let ran = shell.run(arguments);
        seen.push_str(&format!("{}{}", ran.stdout, ran.stderr));
    }
    assert!(seen.contains("sealed:") && !seen.contains("sk-in-clear"), "{seen}");
    assert!(fs::read_to_string(shell.folder().join("gateway.yaml")).unwrap().contains("sk-in-clear"));
}
