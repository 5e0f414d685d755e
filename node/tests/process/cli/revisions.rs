//! `trestle revisions`.

use crate::cli_shell::Shell;
use crate::{
    operator::Operator,
    support::{Node, Start, document},
};

const MODEL: &str = r#"{"targets":[{"model":"mock/echo"}]}"#;

/// A node with a model that came in revision 2, was changed in 3 and is gone since 4.
fn node() -> (Node, Operator, Shell) {
    let node = Start::serve(&document("")).administered().start();
    let operator = Operator::of(&node);
    operator.done("POST /api/models", &format!(r#"{{"id":"m","value":{MODEL}}}"#));
    operator.done("PATCH /api/models/m", r#"{"strategy":"ordered"}"#);
    operator.done("DELETE /api/models/m", "");
    let shell = Shell::of(&node);
    (node, operator, shell)
}

#[test]
fn revisions_are_listed_and_shown() {
    let (_node, _operator, shell) = node();
    let ran = shell.run(&["revisions", "list", "--limit", "2"]);
    assert!(ran.stderr.contains("--limit N"), "{ran:?}");
    let list = ran.ok();
    let rows: Vec<Vec<&str>> = list.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows.len(), 3, "{list}");
    assert_eq!(rows[0][..4], ["REVISION", "AT", "(UTC)", "WHO"]);
    assert_eq!((rows[1][0], &rows[1][3..]), ("4", &["settings", "DELETE", "/api/models/m", "models/m"][..]));
    let ran = shell.run(&["revisions", "list"]);
    assert_eq!((ran.stderr.as_str(), ran.stdout.lines().count()), ("", 5));
    assert_eq!(shell.run(&["revisions", "list", "--json"]).json()["items"].as_array().unwrap().len(), 4);

    let shown = shell.run(&["revisions", "show", "3"]).ok();
    assert!(shown.contains("by       settings (admin) from 127.0.0.1\n"), "{shown}");
    assert!(shown.contains("asked    PATCH /api/models/m\n"), "{shown}");
    assert!(
        shown.contains("--- models/m\n+++ models/m\n") && shown.contains("\n+strategy: ordered\n"),
        "{shown}"
    );
    assert_eq!(shell.run(&["revisions", "show", "3", "--json"]).json()["revision"], 3);
    assert!(shell.run(&["revisions", "show", "9"]).failed(1).contains("there is no revision 9"));
}

#[test]
fn revisions_are_compared_and_gone_back_to() {
    let (_node, operator, shell) = node();
    let diff = shell.run(&["revisions", "diff", "2", "3"]).ok();
    assert_eq!(
        diff,
        "--- models/m\n+++ models/m\n@@ -1,2 +1,3 @@\n+strategy: ordered\n targets:\n - model: mock/echo\n"
    );
    assert!(shell.run(&["revisions", "diff", "2"]).ok().contains("+++ /dev/null"));
    assert_eq!(shell.run(&["revisions", "diff", "1", "4"]).ok(), "");
    assert_eq!(shell.run(&["revisions", "diff", "1", "4", "--json"]).json()["to"], 4);
    assert!(shell.run(&["revisions", "diff", "99"]).failed(1).contains("revision 99 is not kept"));

    let dry = shell.run(&["revisions", "rollback", "3", "--dry-run"]).ok();
    assert_eq!(dry, "would change, from revision 4 on:\n  created  models/m\n");
    let other = shell.run(&["revisions", "rollback", "3", "--kind", "settings", "--kind", "keys"]).ok();
    assert_eq!(other, "nothing changes: revision 4 is the same\n");
    assert_eq!(shell.run(&["revisions", "rollback", "3"]).ok(), "revision 5:\n  created  models/m\n");
    assert_eq!(operator.document()["models"]["m"]["strategy"], "ordered");
    shell.run(&["revisions", "rollback", "3", "--kind", "projects"]).failed(2);
    assert!(shell.run(&["revisions", "rollback", "99"]).failed(1).contains("revision 99"));
}
