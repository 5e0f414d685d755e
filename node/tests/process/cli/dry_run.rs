//! `trestle dry-run`.

use crate::cli_shell::Shell;
use crate::support::{Start, document};

#[test]
fn targets_are_shown_and_nothing_is_sent() {
    let models = "catalog: { mock/echo: { output_max: 10, price: { input: 0, output: 1000000 } } }\nmodels:\n  chat: { strategy: ordered, targets: [{ model: mock/echo }, { model: mock/lorem }], \
                  fallbacks: [mock/last] }\n";
    let node = Start::serve(&format!("{}{models}", document(""))).administered().start();
    let shell = Shell::of(&node);
    let text = shell.run(&["dry-run", "chat", "--key", "tests"]).ok();
    assert!(text.contains("caller    tests\ngroup     chat\n"), "{text}");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let row = |number: &str| rows.iter().find(|row| row.first() == Some(&number)).unwrap()[1..4].to_vec();
    assert_eq!(row("1"), ["mock/echo", "target", "100%"]);
    assert_eq!(row("3"), ["mock/last", "fallback", "0%"]);
    let json = shell.run(&["dry-run", "chat", "--key", "tests", "--json"]).json();
    assert_eq!(json["targets"].as_array().unwrap().len(), 3);
    shell.file(
        "request.json",
        r#"{"model":"other","max_tokens":5,"messages":[{"role":"user","content":"x"}]}"#,
    );
    let json =
        ["dry-run", "chat", "--key", "tests", "--path", "/v1/messages", "--body", "request.json", "--json"];
    assert_eq!(shell.run(&json).json()["model"], "chat");
    let shown = shell.run(&json[..json.len() - 1]).ok();
    assert!(shown.contains("COST USD") && shown.contains(" 0.000005 "), "{shown}");
}

#[test]
fn a_request_that_would_be_refused_is_told() {
    let node = Start::serve(&document("")).administered().start();
    let shell = Shell::of(&node);
    let ran = shell.run(&["dry-run", "none", "--key", "tests"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("refused   404 "), "{ran:?}");
    assert!(shell.run(&["dry-run", "chat"]).stdout.contains("refused   401 "));
    assert!(shell.run(&["dry-run", "chat", "--path", "/none"]).failed(1).contains("there is no POST /none"));
    shell.file("list.json", "[]");
    assert!(shell.run(&["dry-run", "chat", "--body", "list.json"]).failed(1).contains("must be a map"));
    assert!(
        shell.run(&["dry-run", "chat", "--body", "none.json"]).failed(1).contains("cannot read none.json")
    );
}
