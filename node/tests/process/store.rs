//! The data folder of a node: what survives, and what a node does that cannot use it.

use crate::{
    operator::Operator,
    support::{KEY, Node, Start, document, eventually, faulty_disk},
};
use std::{fs, path::Path};

const MODEL: &str = r#"{"targets":[{"model":"mock/echo"}]}"#;

fn start(folder: &Path) -> Start {
    Start::serve(&document("")).within(folder).administered()
}

fn model(operator: &Operator, id: &str) {
    operator.done("POST /api/models", &format!(r#"{{"id":"{id}","value":{MODEL}}}"#));
}

#[test]
fn what_was_answered_survives_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..5 {
        let node = start(folder.path()).start();
        let operator = Operator::of(&node);
        let kept = operator.document();
        for before in 0..round {
            assert!(kept["models"][format!("m{before}")].is_object(), "round {round} lost {before}");
        }
        model(&operator, &format!("m{round}"));
        node.signal("KILL");
    }
}

#[test]
fn a_folder_is_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path()).start();
    let log = start(folder.path()).try_start().err().expect("it does not start");
    assert!(log.contains("is used by another process"), "{log}");
    assert_eq!(node.chat(KEY, "mock/echo").status, 200);
}

#[test]
fn a_folder_that_cannot_be_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let log = start(&file).try_start().err().expect("it does not start");
    assert!(log.contains("cannot be used") && log.contains("must be a folder"), "{log}");
}

#[test]
fn data_that_cannot_be_read_is_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let node = start(folder.path()).start();
    model(&Operator::of(&node), "before");
    drop(node);
    let path = folder.path().join("consensus/db/db");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, vec![0x5a; bytes.len()]).unwrap();
    let node = start(folder.path()).start();
    node.printed("was set aside");
    let operator = Operator::of(&node);
    assert_eq!(operator.document()["models"].get("before"), None, "it begins anew, from the file");
    assert_eq!(node.chat(KEY, "mock/echo").status, 200);
    let aside = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("consensus.damaged-");
    assert!(fs::read_dir(folder.path()).unwrap().any(|entry| aside(&entry.unwrap())));
}

/// The request path awaits nothing of the store.
#[test]
fn requests_are_served_on_when_the_disk_is_full() {
    let folder = tempfile::tempdir().unwrap();
    let place = tempfile::tempdir().unwrap();
    let (library, marker) =
        (faulty_disk("../cluster/tests/refuse.c", place.path()), place.path().join("full"));
    let node = start(folder.path())
        .variable("LD_PRELOAD", library.to_str().unwrap())
        .variable("REFUSE_WHILE", marker.to_str().unwrap())
        .variable("REFUSE_IN", folder.path().to_str().unwrap())
        .variable("REFUSE_WITH", "28")
        .start();
    let operator = Operator::of(&node);
    model(&operator, "kept");
    assert!(!node.get("/readyz").body.contains("store"));
    fs::write(&marker, "").unwrap();
    let problem = operator.refused(503, "POST /api/models", &format!(r#"{{"id":"lost","value":{MODEL}}}"#));
    assert!(problem["detail"].as_str().unwrap().contains("store"), "{problem}");
    serves_on(&node, &operator);
    operator.refused(503, "PATCH /api/settings/all", r#"{"attempts_max":2}"#);
    node.signal("KILL");
    drop(node);
    fs::remove_file(&marker).unwrap();
    let node = start(folder.path()).start();
    let models = Operator::of(&node).document()["models"].clone();
    assert!(models["kept"].is_object(), "{models}");
    model(&Operator::of(&node), "after");
}

fn serves_on(node: &Node, operator: &Operator) {
    for _ in 0..20 {
        assert_eq!(node.chat(KEY, "kept").status, 200);
    }
    let ready = node.get("/readyz");
    assert!(ready.status == 200 && ready.body.contains(r#""store":"down""#), "{ready:?}");
    assert!(operator.document()["models"]["kept"].is_object(), "what is kept can be looked at");
    eventually("an alert", || node.get("/metrics").body.contains("trestle_store_up 0").then_some(()));
}
