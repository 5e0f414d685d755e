//! Commands that print something and end.

use crate::support::trestle;
use std::{collections::BTreeSet, fs, path::Path, process::Output};

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = trestle(arguments).output().unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

fn check(document: &str) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gateway.yaml");
    fs::write(&path, document).unwrap();
    run(&["check", path.to_str().unwrap()])
}

#[test]
fn a_valid_document_is_summed_up() {
    let hash = "ab".repeat(32);
    let (code, stdout, stderr) = check(&format!(
        "providers:\n  openai: {{ keys: [{{ name: main, value: env:NO_SUCH_VARIABLE }}] }}\n\
         models:\n  chat: {{ targets: [{{ model: openai/gpt-4o-mini }}] }}\n\
         keys:\n  web: {{ value: \"sha256:{hash}\" }}\n"
    ));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("is valid") && stdout.contains("1 model, 1 key"), "{stdout}");
    let warning = stderr.lines().find(|line| line.starts_with("warning: providers.openai.keys"));
    assert!(warning.is_some_and(|line| line.contains("NO_SUCH_VARIABLE")), "{stderr}");
}

#[test]
fn every_problem_has_a_line_with_its_path() {
    let (code, stdout, stderr) = check(
        "providers:\n  openai: { base_ulr: \"https://x\", concurrency: many }\n\
         models:\n  chat: { targets: [{ model: 5 }] }\n\
         keys:\n  web: { value: \"sha256:short\", modles: [] }\nextra: 1\n",
    );
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    for path in [
        "providers.openai.base_ulr: ",
        "providers.openai.concurrency: ",
        "models.chat.targets[0].model: ",
        "keys.web.modles: ",
        "extra: ",
    ] {
        assert!(stderr.lines().any(|line| line.starts_with(path)), "no line for {path} in\n{stderr}");
    }
    assert_eq!(stdout, "");
}

#[test]
fn a_document_that_cannot_be_read_is_another_status() {
    let (code, _, stderr) = run(&["check", "/nonexistent/gateway.yaml"]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("cannot read /nonexistent/gateway.yaml"), "{stderr}");
}

#[test]
fn the_schema_is_json() {
    let (code, stdout, _) = run(&["schema"]);
    assert_eq!(code, Some(0));
    let schema: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    for member in ["providers", "models", "keys", "settings"] {
        assert!(schema["properties"][member].is_object(), "{member}");
    }
}

#[test]
fn shells_get_completions() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (code, stdout, _) = run(&["completions", shell]);
        assert_eq!(code, Some(0), "{shell}");
        assert!(stdout.contains("data-dir"), "{shell}");
    }
}

#[test]
fn help_shows_examples() {
    // That of each command is held by the page of the command line.
    let (code, stdout, _) = run(&["--help"]);
    assert_eq!(code, Some(0));
    assert!(stdout.contains("Examples:\n  trestle "), "{stdout}");
}

#[test]
fn the_page_of_settings_is_the_help() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/settings.md");
    let page = fs::read_to_string(page).unwrap();
    let written: BTreeSet<String> = page
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| `")?.split('`').next()?.replace(['_', '.'], "-")))
        .collect();
    let (_, help, _) = run(&["serve", "--help"]);
    let mut flags: BTreeSet<String> = help
        .lines()
        .filter_map(|line| Some(line.trim_start().strip_prefix("--")?.split(' ').next()?.to_owned()))
        .collect();
    assert!(flags.remove("node"));
    assert_eq!(written, flags);
}

#[test]
fn wrong_settings_are_refused_all_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let node = folder.path().join("node.toml");
    fs::write(&node, "listne = \"127.0.0.1:0\"\n[tls]\ncert = \"c.pem\"\n").unwrap();
    let output = trestle(&["serve", "--threads", "some", "--node", node.to_str().unwrap()])
        .env("TRESTLE_DRAIN_MS", "soon")
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    for problem in [
        "node.toml: listne: unknown",
        "node.toml: tls.cert: needs",
        "--threads: is `some`",
        "TRESTLE_DRAIN_MS: is `soon`",
    ] {
        assert!(stderr.contains(problem), "no `{problem}` in\n{stderr}");
    }
}

#[test]
fn a_wrong_document_keeps_the_node_from_starting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gateway.yaml");
    fs::write(&path, "modles: {}\n").unwrap();
    let output = trestle(&["serve", "--listen", "127.0.0.1:0", "--document", path.to_str().unwrap()])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("\nmodles: "), "{stderr}");
}

#[test]
fn an_address_in_use_is_said() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let output = trestle(&["dev", "--listen", &address, "--data-dir", folder.path().to_str().unwrap()])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains(&format!("{address} is in use")), "{stderr}");
}

#[test]
fn certificates_of_nodes_are_made_once_and_what_is_missing_later() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("mesh");
    let init = |nodes: &str, more: &[&str]| {
        let arguments = ["cluster", "init-tls", place.to_str().unwrap(), "--nodes", nodes];
        run(&[&arguments, more].concat())
    };
    let read = |name: &str| fs::read_to_string(place.join(name)).unwrap();
    assert_eq!(init("a,b", &[]).0, Some(0));
    let (key, authority) = (read("a/tls.key"), read("a/ca.crt"));
    let (code, _, stderr) = init("a,c", &[]);
    assert!(code == Some(1) && stderr.contains("is not overwritten"), "{stderr}");
    let (code, stdout, stderr) = init("a,b,c", &["--missing"]);
    assert!(code == Some(0) && stdout.contains("mesh/c") && !stdout.contains("mesh/a"), "{stdout}{stderr}");
    let (code, stdout, stderr) = init("a,b,c", &["--missing"]);
    assert!(code == Some(0) && stdout.contains("each node has its folder already"), "{stdout}{stderr}");
    assert_eq!((read("a/tls.key"), read("c/ca.crt")), (key, authority));
}
