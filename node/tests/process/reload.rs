//! Changes of the document and its secrets while the node serves.

use crate::support::{KEY, Node, Start, eventually};
use std::{fs, os::unix::fs::symlink};

fn with_key(value: &str) -> String {
    format!("keys:\n  tests: {{ value: \"{value}\" }}\n")
}

fn accepted(node: &Node, key: &str) {
    eventually("the key to be accepted", || (node.chat(key, "mock/echo").status == 200).then_some(()));
}

fn applied(node: &Node, revision: u32) {
    let wanted = format!("\"revision\":{revision}}}");
    eventually(&format!("revision {revision}"), || node.get("/readyz").body.contains(&wanted).then_some(()));
}

#[test]
fn a_good_change_is_applied_and_a_bad_one_refused_whole() {
    let node = Start::serve(&with_key("env:TRESTLE_TEST_KEY"))
        .arguments(&["--authoritative", "--watch"])
        .variable("TRESTLE_TEST_OTHER", "sk-other")
        .start();
    accepted(&node, KEY);

    node.put("gateway.yaml", &with_key("env:TRESTLE_TEST_OTHER"));
    accepted(&node, "sk-other");
    assert_eq!(node.chat(KEY, "mock/echo").status, 401, "the key before is gone");
    applied(&node, 2);

    node.put(
        "gateway.yaml",
        &format!("{}modles: {{}}\nsettings: {{ attempts_max: x }}\n", with_key("env:TRESTLE_TEST_KEY")),
    );
    node.printed("refused whole");
    for path in ["modles", "settings.attempts_max"] {
        node.printed(&format!("\"path\":\"{path}\""));
    }
    assert_eq!(node.chat(KEY, "mock/echo").status, 401, "no part of it is applied");
    assert_eq!(node.chat("sk-other", "mock/echo").status, 200);
    applied(&node, 2);

    node.put("gateway.yaml", &with_key("env:TRESTLE_TEST_KEY"));
    accepted(&node, KEY);
    applied(&node, 3);
    let metrics = node.get("/metrics").body;
    for wanted in [
        "trestle_reloads_total{what=\"document\",result=\"applied\"} 2",
        "trestle_reloads_total{what=\"document\",result=\"refused\"} 1",
        "trestle_document_revision 3",
    ] {
        assert!(metrics.contains(wanted), "no {wanted} in\n{metrics}");
    }
}

#[test]
fn a_document_that_is_gone_for_a_while_changes_nothing() {
    let node =
        Start::serve(&with_key("env:TRESTLE_TEST_KEY")).arguments(&["--authoritative", "--watch"]).start();
    fs::remove_file(node.folder().join("gateway.yaml")).unwrap();
    node.printed("refused whole");
    assert_eq!(node.chat(KEY, "mock/echo").status, 200);
    node.put(
        "gateway.yaml",
        &format!(
            "{}models: {{ back: {{ targets: [{{ model: mock/echo }}] }} }}\n",
            with_key("env:TRESTLE_TEST_KEY")
        ),
    );
    applied(&node, 2);
}

#[test]
fn a_signal_applies_what_changed_without_watching() {
    let node = Start::serve(&with_key("env:TRESTLE_TEST_KEY"))
        .arguments(&["--authoritative"])
        .variable("TRESTLE_TEST_OTHER", "sk-other")
        .start();
    node.put("gateway.yaml", &with_key("env:TRESTLE_TEST_OTHER"));
    assert_eq!(node.chat(KEY, "mock/echo").status, 200, "nobody said so yet");
    node.signal("HUP");
    accepted(&node, "sk-other");
    applied(&node, 2);
}

/// As a mounted Kubernetes secret changes: a link to a folder is swapped.
#[test]
fn a_secret_in_a_file_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    for (name, key) in [("first", "sk-first\n"), ("second", "sk-second\n")] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("key"), key).unwrap();
    }
    let current = folder.path().join("current");
    symlink("first", &current).unwrap();
    let secret = current.join("key");
    let node = Start::serve(&with_key(&format!("file:{}", secret.display()))).start();
    accepted(&node, "sk-first");
    symlink("second", folder.path().join("next")).unwrap();
    fs::rename(folder.path().join("next"), &current).unwrap();
    accepted(&node, "sk-second");
    assert_eq!(node.chat("sk-first", "mock/echo").status, 401);
}
