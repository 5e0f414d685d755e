//! `trestle dev`, and `trestle serve` without a document.

use crate::{
    operator::Operator,
    support::{Node, Start, trestle},
};
use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

struct DevFile {
    url: String,
    key: String,
    admin_token: String,
}

fn dev_file(folder: &Path) -> DevFile {
    let text = fs::read_to_string(folder.join("dev.json")).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let member = |name: &str| value[name].as_str().unwrap().to_owned();
    DevFile { url: member("url"), key: member("key"), admin_token: member("admin_token") }
}

fn dev(folder: &Path) -> Node {
    Start::bare("dev").arguments(&["--data-dir", folder.to_str().unwrap()]).start()
}

#[test]
fn the_key_is_private_and_lasts() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("deeper");
    let node = dev(&data);
    let first = dev_file(&data);
    assert_eq!(first.url, format!("http://{}", node.address));
    assert_eq!(first.key.strip_prefix("sk-trestle-").map(str::len), Some(64));
    assert_eq!(fs::metadata(data.join("dev.json")).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(node.chat(&first.key, "mock/echo").status, 200);
    assert_eq!(node.chat("sk-trestle-another", "mock/echo").status, 401);
    drop(node);

    let node = dev(&data);
    let second = dev_file(&data);
    assert_eq!((&second.key, &second.admin_token), (&first.key, &first.admin_token));
    assert_eq!(second.url, format!("http://{}", node.address));
    assert_eq!(node.chat(&first.key, "mock/echo").status, 200);
}

#[test]
fn what_is_changed_stays_and_keys_of_the_environment_join() {
    let folder = tempfile::tempdir().unwrap();
    let start = |more: &[&str]| {
        let data = folder.path().to_str().unwrap();
        Start::bare("dev")
            .arguments(&["--data-dir", data])
            .arguments(more)
            .variable("GROQ_API_KEY", "gsk-1")
            .start()
    };
    let node = dev(folder.path());
    let operator = |node: &Node| Operator::of(node).with(&dev_file(folder.path()).admin_token);
    let sealed = r#"{"providers":{"openai":{"keys":[{"name":"main","value":"sk-entered"}]}}}"#;
    operator(&node).done("PATCH /api/document", sealed);
    drop(node);
    let node = start(&[]);
    let document = operator(&node).document();
    let providers: Vec<_> = document["providers"].as_object().unwrap().keys().collect();
    assert_eq!(providers, ["groq", "openai"]);
    operator(&node).done("PATCH /api/providers/groq", r#"{"concurrency":3}"#);
    drop(node);
    let node = start(&[]);
    assert_eq!(operator(&node).document()["providers"]["groq"]["concurrency"], 3, "what was changed stays");
    drop(node);
    let node = start(&["--mock"]);
    assert_eq!(operator(&node).document().get("providers"), None, "nobody real is called");
    drop(node);
    assert!(!is_kept(folder.path(), "sk-entered"));
}

#[test]
fn a_key_that_others_may_read_or_that_is_damaged_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dev.json");
    let key = format!("sk-trestle-{}", "a".repeat(64));
    for (text, mode, wanted) in [
        (format!(r#"{{"url":"http://x","key":"{key}"}}"#), 0o644, "chmod 600"),
        (r#"{"url":"http://x","key":"short"}"#.to_owned(), 0o600, "is damaged"),
        (r#"{"url":"#.to_owned(), 0o600, "is damaged"),
    ] {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let output =
            trestle(&["dev", "--listen", "127.0.0.1:0", "--data-dir", folder.path().to_str().unwrap()])
                .output()
                .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(wanted) && !stderr.contains(&key), "{stderr}");
    }
}

#[test]
fn the_curl_line_works_when_pasted() {
    let folder = tempfile::tempdir().unwrap();
    let node = dev(folder.path());
    node.printed("curl http");
    let log = node.log();
    let line = log.lines().find(|line| line.trim_start().starts_with("curl ")).unwrap();
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("SKIPPED: there is no curl here");
        return;
    }
    let output = Command::new("sh").args(["-c", line]).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let answer: serde_json::Value =
        serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{line}\n{stdout}"));
    assert_eq!(answer["choices"][0]["message"]["content"], "Hello", "{stdout}");
}

#[test]
fn keys_of_the_environment_are_used_and_never_shown() {
    let folder = tempfile::tempdir().unwrap();
    let start = |mock: &[&str]| {
        Start::bare("dev")
            .arguments(&["--data-dir", folder.path().to_str().unwrap()])
            .arguments(mock)
            .variable("OPENAI_API_KEY", "sk-of-a-vendor")
            .start()
    };
    let node = start(&[]);
    node.printed("Providers       openai, mock");
    node.printed("openai/gpt-4o-mini");
    assert!(!node.log().contains("sk-of-a-vendor"));
    drop(node);
    let node = start(&["--mock"]);
    node.printed("Providers       mock");
    assert!(!node.log().contains("openai/"));
}

#[test]
fn a_node_without_a_document_shows_its_key_once() {
    let folder = tempfile::tempdir().unwrap();
    let start = || Start::bare("serve").arguments(&["--data-dir", folder.path().to_str().unwrap()]).start();
    let node = start();
    node.printed("shown only now");
    let log = node.log();
    let key = log.split_whitespace().find(|word| word.starts_with("sk-trestle-")).unwrap().to_owned();
    assert!(log.contains(&format!("URL          http://{}", node.address)), "{log}");
    assert_eq!(node.chat(&key, "mock/echo").status, 200);
    drop(node);

    let token = log.split_whitespace().find(|word| word.starts_with("trestle-admin-")).unwrap();
    for secret in [&key, token] {
        assert!(!is_kept(folder.path(), secret), "the secret itself is kept nowhere");
    }
    let node = start();
    assert_eq!(node.chat(&key, "mock/echo").status, 200);
    assert!(!node.log().contains("sk-trestle-") && !node.log().contains("trestle-admin-"), "{}", node.log());
}

/// Whether any file in a folder holds a text.
pub(crate) fn is_kept(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().any(|entry| {
        let path = entry.unwrap().path();
        if path.is_dir() {
            return is_kept(&path, text);
        }
        let bytes = fs::read(path).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}
