//! `trestle keys`.

use crate::cli_shell::Shell;
use crate::{
    operator::Operator,
    support::{KEY, Node, Start, document},
};
use serde_json::json;
use std::time::{Duration, SystemTime};

fn node() -> (Node, Operator, Shell) {
    let node = Start::serve(&document("")).administered().start();
    let (operator, shell) = (Operator::of(&node), Shell::of(&node));
    (node, operator, shell)
}

#[test]
fn the_secret_alone_is_on_stdout_and_works() {
    let (node, operator, shell) = node();
    let ran = shell.sh("KEY=$(trestle keys create web --model 'mock/*' --tag a --tag b); echo \"[$KEY]\"");
    let key = ran.stdout.trim().trim_matches(['[', ']']).to_owned();
    assert_eq!(key.strip_prefix("sk-trestle-").map(str::len), Some(64), "{ran:?}");
    assert!(ran.stderr.contains("key `web` was made") && !ran.stderr.contains("sk-trestle-"), "{ran:?}");
    assert_eq!(node.chat(&key, "mock/echo").status, 200);
    let value = &operator.done("GET /api/keys/web", "")["value"];
    assert_eq!((&value["models"], &value["tags"]), (&json!(["mock/*"]), &json!(["a", "b"])));
    let stderr = shell.run(&["keys", "create", "web"]).failed(1);
    assert!(stderr.contains("there is keys/web already"), "{stderr}");

    let ran = shell.run(&["keys", "rotate", "web", "--grace", "1h"]);
    assert!(ran.stderr.contains("taken for 1h more") && !ran.stderr.contains("sk-trestle-"), "{ran:?}");
    let second = ran.ok();
    assert_eq!(node.chat(&key, "mock/echo").status, 200);
    assert_eq!(node.chat(second.trim(), "mock/echo").status, 200);
    let third = shell.run(&["keys", "rotate", "web", "--grace", "0s", "--json"]).json();
    assert_eq!(node.chat(second.trim(), "mock/echo").status, 401);
    assert_eq!(node.chat(third["secret"].as_str().unwrap(), "mock/echo").status, 200);

    assert!(shell.run(&["keys", "revoke", "web"]).ok().contains("changed  keys/web"));
    assert_eq!(node.chat(third["secret"].as_str().unwrap(), "mock/echo").status, 401);
    for command in ["rotate", "revoke"] {
        assert!(shell.run(&["keys", command, "none"]).failed(1).contains("there is no keys/none"));
    }
    assert_eq!(node.chat(KEY, "mock/echo").status, 200);
}

#[test]
fn a_secret_that_nobody_can_have_read_is_told() {
    let (_node, _operator, shell) = node();
    let ran = shell.sh("trestle keys create web > /dev/full");
    let stderr = ran.failed(1);
    assert!(stderr.contains("the key `web` was made, rotate it"), "{stderr}");
    assert!(!stderr.contains("sk-trestle-"), "{stderr}");
}

#[test]
fn keys_end() {
    let (_node, operator, shell) = node();
    shell.run(&["keys", "create", "in", "--expires-in", "30d"]).ok();
    let end = operator.done("GET /api/keys/in", "")["value"]["expires_at"].as_str().unwrap().to_owned();
    let end = humantime::parse_rfc3339(&end).unwrap().duration_since(SystemTime::now()).unwrap();
    let days = Duration::from_secs(24 * 3600);
    assert!(end > days * 29 && end <= days * 30, "{end:?}");
    shell.run(&["keys", "create", "at", "--expires-at", "2020-01-31T00:00:00Z"]).ok();
    let stderr = shell.run(&["keys", "create", "no", "--expires-at", "soon"]).failed(1);
    assert!(stderr.contains("keys.no.expires_at: "), "{stderr}");
    assert!(shell.run(&["keys", "create", "no", "--expires-in", "9999999y"]).failed(1).contains("too long"));
    shell.run(&["keys", "create", "no", "--expires-in", "soon"]).failed(2);
    let list = shell.run(&["keys", "list", "--state", "expired"]).ok();
    assert!(list.contains("at    expired  all     -     2020-01-31 00:00:00"), "{list}");
    assert!(!list.contains("active"), "{list}");
}

#[test]
fn all_pages_are_listed() {
    let (_node, operator, shell) = node();
    let keys: serde_json::Map<_, _> = (0..1100)
        .map(|n| {
            (
                format!("k{n:04}"),
                json!({"value": format!("sha256:{n:064x}"), "tags": [format!("t{}", n % 2)]}),
            )
        })
        .collect();
    operator.done("PATCH /api/document", &json!({"keys": keys}).to_string());
    let list = shell.run(&["keys", "list", "--search", "k"]).ok();
    assert_eq!(list.lines().count(), 1101);
    assert!(list.starts_with("NAME   STATE   MODELS  TAGS"), "{list}");
    assert!(list.contains("k1099  active  all     t1"), "{list}");
    let odd = shell.run(&["keys", "list", "--tag", "t1", "--json"]).json();
    assert_eq!(odd["items"].as_array().unwrap().len(), 550);
    assert_eq!(shell.run(&["keys", "list", "--search", "k109"]).ok().lines().count(), 11);
    // Who reads only the beginning is content.
    let ran = shell.sh("(trestle keys list; echo $? >&2) | head -n 1");
    assert_eq!((ran.stdout.lines().count(), ran.stderr.as_str()), (1, "0\n"));
}

#[test]
fn names_are_any_text() {
    let (_node, _operator, shell) = node();
    let name = "a/b c?d=ü%2F";
    shell.run(&["keys", "create", name]).ok();
    shell.run(&["keys", "rotate", name]).ok();
    shell.run(&["keys", "revoke", name]).ok();
    assert!(shell.run(&["keys", "list", "--search", "b c?"]).ok().contains(name));
}

#[test]
fn a_key_has_a_pair_to_sign_with() {
    let node = Start::serve(&document("")).administered().sealing().start();
    let shell = Shell::of(&node);
    let pair = || {
        let ran = shell.run(&["keys", "aws", "tests"]).ok();
        let lines: Vec<&str> = ran.lines().collect();
        let [id, secret] = lines[..] else { panic!("{ran}") };
        let secret = secret.strip_prefix("AWS_SECRET_ACCESS_KEY=").unwrap().to_owned();
        (id.strip_prefix("AWS_ACCESS_KEY_ID=TRESTLE").unwrap().to_owned(), secret)
    };
    let first = pair();
    assert_eq!(first, pair(), "it is made of the key");
    let log = node.log();
    assert!(log.contains("the signing pair of a key was shown") && !log.contains(&first.1), "{log}");
    shell.run(&["keys", "rotate", "tests"]).ok();
    let second = pair();
    assert!(first.0 != second.0 && first.1 != second.1);
    assert!(shell.run(&["keys", "aws", "none"]).failed(1).contains("there is no keys/none"));
    // Without a data key nothing can be derived.
    let (_node, _operator, shell) = self::node();
    assert!(shell.run(&["keys", "aws", "tests"]).failed(1).contains("key_encryption_key"));
}
