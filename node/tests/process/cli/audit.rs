//! `trestle audit`: records that are whole are good, records that somebody touched are not.

use crate::cli_shell::Shell;
use crate::{
    operator::Operator,
    support::{Node, Start, document},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

/// More revisions than the records of one request.
const REVISIONS: usize = 60;

fn node() -> (Node, Shell) {
    let node = Start::serve(&document("")).administered().sealing().start();
    let operator = Operator::of(&node);
    let provider = json!({"id": "openai", "value": {"keys": [{"name": "main", "value": "sk-in-clear"}]}});
    operator.done("POST /api/providers", &provider.to_string());
    for n in 3..=REVISIONS {
        let model = json!({"targets": [{"model": "mock/echo", "weight": n}]});
        operator.done("PUT /api/models/m", &model.to_string());
    }
    let shell = Shell::of(&node);
    (node, shell)
}

#[test]
fn records_are_listed_exported_and_good() {
    let (_node, shell) = node();
    let list = shell.run(&["audit", "list", "--limit", "1"]).ok();
    assert!(list.contains("settings  admin  127.0.0.1  PUT /api/models/m  changed models/m"), "{list}");
    assert_eq!(shell.run(&["audit", "list", "--json"]).json()["items"].as_array().unwrap().len(), 20);

    let good = shell.run(&["audit", "verify"]).ok();
    assert!(good.starts_with(&format!("good from revision 1 to {REVISIONS}; ")), "{good}");
    assert!(good.contains("values hold secrets, are masked, and were not compared"), "{good}");
    let ran = shell.run(&["audit", "export", "audit.jsonl"]);
    let head = ran.stderr.trim().rsplit(' ').next().unwrap().to_owned();
    assert!(ran.stderr.starts_with(&format!("{REVISIONS} revisions up to {REVISIONS}; ")), "{ran:?}");
    assert_eq!(ran.ok(), "");
    assert!(good.contains(&head), "{good}");
    let exported = std::fs::read_to_string(shell.folder().join("audit.jsonl")).unwrap();
    assert_eq!(shell.run(&["audit", "export"]).ok(), exported);
    let numbers: Vec<u64> = exported
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["revision"].as_u64().unwrap())
        .collect();
    assert!(numbers.into_iter().eq(1..=REVISIONS as u64));
    shell.run(&["audit", "verify", "audit.jsonl"]).ok();
    shell.run(&["audit", "verify", "audit.jsonl", "--head", &head]).ok();
    shell.run_with(&["audit", "verify", "-"], &exported).ok();
    let wrong = "0".repeat(64);
    let stderr = shell.run(&["audit", "verify", "audit.jsonl", "--head", &wrong]).failed(1);
    assert!(stderr.contains(&format!("revision {REVISIONS}: it is not the head")), "{stderr}");
    assert!(shell.run(&["audit", "verify", "none.jsonl"]).failed(1).contains("cannot read none.jsonl"));
    assert!(shell.run_with(&["audit", "verify", "-"], "").failed(1).contains("there are no records"));
}

/// Changes one record of an export; the revision that is named as wrong, and why.
fn tampered(shell: &Shell, lines: &[Value], touch: impl FnOnce(&mut Vec<Value>)) -> (String, String) {
    let mut lines = lines.to_vec();
    touch(&mut lines);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let ran = shell.run_with(&["audit", "verify", "-"], &text);
    assert_eq!(ran.code, 1, "{ran:?}");
    (ran.stdout.lines().next().unwrap_or_default().to_owned(), ran.stderr)
}

#[test]
fn what_somebody_touched_is_found() {
    let (_node, shell) = node();
    let exported = shell.run(&["audit", "export"]).ok();
    let lines: Vec<Value> = exported.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Index 9 is revision 10.
    let fields: [(&str, Value); 9] = [
        ("/revision", json!(11)),
        ("/at", json!("2020-01-01T00:00:00.000Z")),
        ("/origin/actor", json!("somebody")),
        ("/origin/from", json!("10.0.0.1")),
        ("/changes/0/id", json!("other")),
        ("/changes/0/kind", json!("keys")),
        ("/changes/0/action", json!("created")),
        ("/changes/0/after/targets/0/weight", json!(1)),
        ("/changes/0/before", json!({})),
    ];
    for (pointer, value) in fields {
        let (good, wrong) = tampered(&shell, &lines, |lines| {
            *lines[9].pointer_mut(pointer).unwrap() = value;
        });
        assert!(good.starts_with("good from revision 1 to 9; "), "{pointer}: {good}");
        assert!(wrong.starts_with("error: revision 1"), "{pointer}: {wrong}");
    }
    let (_, wrong) = tampered(&shell, &lines, |lines| drop(lines.remove(9)));
    assert!(wrong.contains("revision 11: it comes after revision 9: something is missing"), "{wrong}");
    let (_, wrong) = tampered(&shell, &lines, |lines| lines.swap(9, 10));
    assert!(wrong.contains("revision 11: it comes after revision 9"), "{wrong}");
    let (good, wrong) = tampered(&shell, &lines, |lines| {
        // The address in the record itself, and in what is shown: only the next record can tell.
        let mut raw = BASE64_STANDARD.decode(lines[9]["records"][0].as_str().unwrap()).unwrap();
        let at = raw.windows(9).position(|window| window == b"127.0.0.1").unwrap();
        raw[at..at + 9].copy_from_slice(b"127.0.0.9");
        lines[9]["records"][0] = BASE64_STANDARD.encode(raw).into();
        lines[9]["origin"]["from"] = json!("127.0.0.9");
    });
    assert!(good.starts_with("good from revision 1 to 10; "), "{good}");
    assert!(wrong.contains("revision 11: it does not hold the SHA-256 of the one before"), "{wrong}");
    let (_, wrong) = tampered(&shell, &lines, |lines| lines[9]["changes"] = json!([]));
    assert!(wrong.contains("revision 10: 0 changes are shown, the record has 1"), "{wrong}");
    let (_, wrong) = tampered(&shell, &lines, |lines| lines[9]["records"] = json!(["AAAA"]));
    assert!(wrong.contains("revision 10: a record cannot be read"), "{wrong}");
    let (_, wrong) = tampered(&shell, &lines, |lines| lines[9] = json!("x"));
    assert!(wrong.contains("after revision 9: a line is no audit record"), "{wrong}");
}

#[test]
fn what_is_missing_at_the_ends_is_told() {
    let (_node, shell) = node();
    let ran = shell.run(&["audit", "export", "audit.jsonl"]);
    let head = ran.stderr.trim().rsplit(' ').next().unwrap().to_owned();
    let shorter = shell.sh("sed '$d' audit.jsonl > shorter.jsonl; trestle audit verify shorter.jsonl");
    assert!(shorter.ok().contains(&format!("to {}; ", REVISIONS - 1)), "nobody can know without the head");
    shell.run(&["audit", "verify", "shorter.jsonl", "--head", &head]).failed(1);
    let later = shell.sh("sed 1,5d audit.jsonl | trestle audit verify -").ok();
    assert!(later.starts_with("good from revision 6 to "), "{later}");
    assert!(later.contains("nothing can be said of what was before revision 6"), "{later}");
}

#[test]
fn large_revisions_are_read_one_by_one() {
    let node = Start::serve(&document("")).administered().start();
    let (operator, shell) = (Operator::of(&node), Shell::of(&node));
    for round in 0..4 {
        let keys =
            (0..2000).map(|n| (format!("k{n}"), json!({"value": format!("sha256:{:064x}", n * 4 + round)})));
        let keys: serde_json::Map<_, _> = keys.collect();
        operator.done("PATCH /api/document", &json!({"keys": keys}).to_string());
    }
    let good = shell.run(&["audit", "verify"]).ok();
    assert!(good.starts_with("good from revision 1 to 5; "), "{good}");
    let lines = shell.run(&["audit", "export"]).ok();
    assert_eq!(lines.lines().count(), 5);
    let shown = shell.run(&["revisions", "rollback", "2", "--kind", "keys", "--dry-run"]).ok();
    assert!(shown.ends_with("\n  and 1000 more\n"), "{shown}");
    shell.file("gateway.yaml", &document(""));
    let ran = shell.run(&["document", "diff", "gateway.yaml"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, "and 1000 entities more\n"));
}
