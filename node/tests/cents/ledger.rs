//! A ledger that is full, a disk that is full, a file that is damaged: what clients and operators see of it.

use crate::support::{Node, Reply, Start, chat, eventually, exchange, get};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};
use trestle_config::hash_text;

/// The smallest ledger that can be set: four files.
const BYTES_MAX: &str = "16777216";
const KEY: &str = "sk-fat";
/// Calls that no such ledger has room for.
const CALLS_MAX: usize = 12_000;

/// A caller with so many tags that a line takes kilobytes.
fn document() -> String {
    let tags = (10..26).map(|tag| format!("{tag}{}", "é".repeat(62))).collect::<Vec<_>>().join("', '");
    format!("keys:\n  fat: {{ value: '{}', tags: ['{tags}'] }}\n", hash_text(KEY))
}

fn serve(data: &Path) -> Start {
    Start::serve(&document()).within(data).arguments(&["--threads", "1"])
}

/// Calls until one is refused: how many were not, and the refusal.
fn until_refused(node: &Node) -> (usize, Reply) {
    let mut stream = node.connect();
    for calls in 0..CALLS_MAX {
        let reply = exchange(&mut stream, &chat(KEY, "mock/echo", ""));
        if reply.status != 200 {
            return (calls, reply);
        }
    }
    panic!("{CALLS_MAX} calls found room");
}

fn messages(node: &Node) -> Reply {
    let body = r#"{"model":"mock/echo","max_tokens":9,"messages":[{"role":"user","content":"Hi"}]}"#;
    let request = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: test\r\nx-api-key: {KEY}\r\nanthropic-version: 2023-06-01\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    exchange(&mut node.connect(), &request)
}

/// Refused in the words of the client's dialect, with a time to come back; all else goes on.
fn refuses(node: &Node, refusal: &Reply) {
    assert_eq!(refusal.status, 503, "{refusal:?}");
    assert!(refusal.body.contains(r#""cause":"ledger_full""#), "{refusal:?}");
    assert!(refusal.head.contains("\r\nretry-after: "), "{refusal:?}");
    let refusal = messages(node);
    assert!(matches!(refusal.status, 503 | 529), "{refusal:?}");
    assert!(refusal.body.contains(r#""type":"overloaded_error""#), "{refusal:?}");
    assert!(refusal.head.contains("\r\nretry-after: "), "{refusal:?}");
    assert_eq!(get(node.address, "/readyz").status, 200);
    assert_eq!(get(node.address, "/healthz").status, 200);
    eventually("metrics of the ledger", || {
        get(node.address, "/metrics").body.contains("trestle_ledger").then_some(())
    });
}

fn stop(mut node: Node) {
    node.signal("TERM");
    assert!(node.ended().success());
}

#[test]
fn a_full_ledger_refuses_calls_and_nothing_else() {
    let data = tempfile::tempdir().unwrap();
    let start = || serve(data.path()).arguments(&["--ledger-bytes-max", BYTES_MAX]);
    let node = start().start();
    let (mut calls, refusal) = until_refused(&node);
    // Room may just have been prepared again.
    for _ in 0..10 {
        node.printed("no room is left for the ledger");
        calls += until_refused(&node).0;
    }
    refuses(&node, &refusal);
    stop(node);
    assert_eq!(crate::lines(&data.path().join("ledger")).len(), calls, "each call has its line");
    // A start alone makes no room, and is no failure.
    let node = start().start();
    let (_, refusal) = until_refused(&node);
    refuses(&node, &refusal);
    stop(node);
    // With more room it serves again.
    let node = serve(data.path()).start();
    assert_eq!(node.chat(KEY, "mock/echo").status, 200);
    stop(node);
}

#[test]
fn a_full_disk_refuses_calls_until_there_is_room() {
    let data = tempfile::tempdir().unwrap();
    let (marker, library) = (data.path().join("full"), refusing_disk());
    let node = serve(data.path())
        .arguments(&["--ledger-bytes-max", "20000000"])
        .variable("LD_PRELOAD", library.to_str().unwrap())
        .variable("REFUSE_WHILE", marker.to_str().unwrap())
        .variable("REFUSE_IN", data.path().join("ledger").to_str().unwrap())
        .variable("REFUSE_WITH", "28")
        .start();
    assert_eq!(node.chat(KEY, "mock/echo").status, 200);
    fs::write(&marker, "").unwrap();
    let (_, refusal) = until_refused(&node);
    node.printed("no room is left for the ledger");
    refuses(&node, &refusal);
    fs::remove_file(&marker).unwrap();
    eventually("room for calls", || (node.chat(KEY, "mock/echo").status == 200).then_some(()));
    node.printed("there is room for the ledger again");
}

#[test]
fn a_damaged_file_is_told_and_no_reason_not_to_serve() {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("ledger");
    let node = serve(data.path()).start();
    for _ in 0..20 {
        assert_eq!(node.chat(KEY, "mock/echo").status, 200);
    }
    node.signal("KILL");
    drop(node);
    let segment = |file: &PathBuf| file.extension().is_some_and(|extension| extension == "ledger");
    let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let written = files.filter(segment).min().unwrap();
    let mut bytes = fs::read(&written).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    // Behind the two copies of the header, and in the middle of the lines.
    let middle = 8192 + (end - 8192) / 2;
    bytes[middle..middle + 64].fill(0x55);
    fs::write(&written, bytes).unwrap();
    let node = serve(data.path()).start();
    node.printed("parts of the ledger are damaged");
    assert_eq!(node.chat(KEY, "mock/echo").status, 200);
    stop(node);
    // All but what was hit is there: one or two lines.
    let (ledger, _) = trestle_store::Ledger::open(&folder, trestle_store::Options::default()).unwrap();
    let lines = ledger.query(&trestle_store::Query::default(), None, 100).unwrap().lines.len();
    assert!((19..=21).contains(&lines), "{lines} lines");
}

/// A disk that can be made to refuse, in C.
fn refusing_disk() -> PathBuf {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join("refuse.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../cluster/tests/refuse.c");
    let made = Command::new("cc").args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    assert!(made.expect("a C compiler").success(), "{source} cannot be compiled");
    library
}
