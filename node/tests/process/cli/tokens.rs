//! `trestle admin-token`.

use crate::cli_shell::Shell;
use crate::support::{Start, document};

#[test]
fn admin_tokens_are_made_listed_and_revoked() {
    let node = Start::serve(&document("")).administered().start();
    let shell = Shell::of(&node);
    let ran = shell.run(&["admin-token", "create", "ci", "--role", "operator", "--expires-in", "90d"]);
    assert!(ran.stderr.contains("admin token `ci` was made, shown only now (revision 2)"), "{ran:?}");
    assert!(!ran.stderr.contains("trestle-admin-"), "{ran:?}");
    let token = ran.ok().trim().to_owned();
    assert_eq!(token.strip_prefix("trestle-admin-").map(str::len), Some(64), "{token}");
    let list = shell.run(&["admin-token", "list"]).ok();
    assert!(list.starts_with("NAME  ROLE      EXPIRES (UTC)"), "{list}");
    assert!(list.contains("\nci    operator  20") && !list.contains("trestle-admin-"), "{list}");
    let json = shell.run(&["admin-token", "list", "--json"]).json();
    assert_eq!(json["items"][0]["role"], "operator");
    let stderr = shell.run(&["admin-token", "create", "ci", "--role", "admin"]).failed(1);
    assert!(stderr.contains("there is an admin token `ci` already"), "{stderr}");
    shell.run(&["admin-token", "create", "x", "--role", "king"]).failed(2);

    let theirs = Shell::of(&node).set("TRESTLE_ADMIN_TOKEN", &token);
    theirs.run(&["keys", "create", "web"]).ok();
    let stderr = theirs.run(&["admin-token", "list"]).failed(1);
    assert!(stderr.contains("this needs the role admin"), "{stderr}");
    let ran = shell.run(&["admin-token", "revoke", "ci"]);
    assert!(ran.stderr.contains("admin token `ci` is revoked"), "{ran:?}");
    assert_eq!(ran.ok(), "");
    theirs.run(&["keys", "list"]).failed(1);
    assert!(shell.run(&["admin-token", "revoke", "ci"]).failed(1).contains("there is no admin token `ci`"));
}
