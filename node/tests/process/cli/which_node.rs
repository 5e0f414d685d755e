//! Which node is asked and with which token; and what is said where that fails.

use crate::cli_shell::Shell;
use crate::{
    operator::TOKEN,
    support::{Start, document},
};
use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt};

const LIST: [&str; 2] = ["keys", "list"];

#[test]
fn without_a_node_or_a_token_it_is_said_what_to_do() {
    let shell = Shell::bare();
    assert!(shell.run(&LIST).failed(2).contains("error: no node to ask: give --url URL"));
    let shell = shell.set("TRESTLE_URL", "http://127.0.0.1:1");
    assert!(shell.run(&LIST).failed(2).contains("no admin token for http://127.0.0.1:1"));
    let shell = shell.set("TRESTLE_ADMIN_TOKEN", TOKEN);
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let stderr = shell.run(&["keys", "list", "--url", &format!("http://{free}")]).failed(2);
    assert!(stderr.contains(&format!("cannot reach http://{free}: ")), "{stderr}");
    assert!(stderr.contains("check that a node runs there") && !stderr.contains("not known"), "{stderr}");
    let stderr = shell.run(&["keys", "list", "--url", "http://no-such-host.invalid"]).failed(2);
    assert!(stderr.contains("cannot reach http://no-such-host.invalid"), "{stderr}");
    let stderr = shell.run(&["keys", "list", "--url", "localhost:8080"]).failed(2);
    assert!(stderr.contains("must be `http://HOST:PORT`"), "{stderr}");
}

#[test]
fn a_token_that_is_none_or_may_not_is_refused_by_the_node() {
    let node = Start::serve(&document("")).administered().start();
    let shell = Shell::of(&node);
    let viewer = shell.run(&["admin-token", "create", "v", "--role", "viewer"]).ok();
    let shell = shell.set("TRESTLE_ADMIN_TOKEN", viewer.trim());
    shell.run(&LIST).ok();
    let stderr = shell.run(&["keys", "create", "web"]).failed(1);
    assert!(
        stderr.contains("this needs the role operator, and the token `v` has the role viewer"),
        "{stderr}"
    );
    let shell = shell.set("TRESTLE_ADMIN_TOKEN", "trestle-admin-of-nobody");
    let stderr = shell.run(&LIST).failed(1);
    assert!(stderr.contains("error: this admin token is not known here"), "{stderr}");
    assert!(!stderr.contains("of-nobody"), "{stderr}");
    let shell = shell.set("TRESTLE_ADMIN_TOKEN", "two\nlines");
    assert!(shell.run(&LIST).failed(2).contains("it has odd letters"));
}

#[test]
fn tokens_come_from_files() {
    let node = Start::serve(&document("")).administered().start();
    let shell = Shell::of(&node).set("TRESTLE_ADMIN_TOKEN", "");
    shell.file("token", &format!("{TOKEN}\n"));
    shell.run(&["keys", "list", "--token-file", "token"]).ok();
    assert!(shell.run(&["keys", "list", "--token-file", "none"]).failed(2).contains("none cannot be read"));
}

#[test]
fn profiles_name_nodes() {
    let node = Start::serve(&document("")).administered().start();
    let shell = Shell::bare().set("PROD", TOKEN);
    let path = shell.file(
        "home/.config/trestle/config.toml",
        &format!(
            "default = \"prod\"\n[profiles.prod]\nurl = \"http://{0}\"\ntoken = \"env:PROD\"\n\
             [profiles.wrong]\nurl = \"http://{0}\"\ntoken = \"file:token\"\n",
            node.address
        ),
    );
    shell.file("home/.config/trestle/token", "trestle-admin-of-nobody");
    shell.run(&LIST).ok();
    shell.run(&["keys", "list", "--profile", "wrong"]).failed(1);
    shell.sh("TRESTLE_PROFILE=wrong trestle keys list").failed(1);
    assert!(shell.run(&["keys", "list", "--profile", "none"]).failed(2).contains("there are: prod, wrong"));
    // The token of a profile goes to its own node alone.
    let stderr = shell.run(&["keys", "list", "--url", "http://127.0.0.1:1"]).failed(2);
    assert!(stderr.contains("no admin token for http://127.0.0.1:1"), "{stderr}");

    let clear = format!("[profiles.prod]\nurl = \"http://{}\"\ntoken = \"{TOKEN}\"\n", node.address);
    fs::write(&path, clear).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let stderr = shell.run(&["keys", "list", "--profile", "prod"]).failed(2);
    assert!(stderr.contains("profiles.prod.token: ") && stderr.contains("`chmod 600`"), "{stderr}");
    assert!(!stderr.contains(TOKEN), "{stderr}");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    shell.run(&["keys", "list", "--profile", "prod"]).ok();

    fs::write(&path, format!("[profiles.prod]\ntokne = \"{TOKEN}\"\n")).unwrap();
    let stderr = shell.run(&["keys", "list", "--profile", "prod"]).failed(2);
    assert!(stderr.contains("config.toml: profiles.prod.tokne: unknown member"), "{stderr}");
    assert!(!stderr.contains(TOKEN), "{stderr}");
}

#[test]
fn the_node_of_dev_is_found() {
    let shell = Shell::bare();
    let state = shell.folder().join("home/.local/state");
    let node = Start::bare("dev").variable("XDG_STATE_HOME", state.to_str().unwrap()).start();
    node.printed("Admin token");
    let ran = shell.run(&LIST);
    assert!(ran.stderr.contains(&format!("asking the node of `trestle dev` at http://{}", node.address)));
    assert!(ran.ok().contains("application"));
    // A token is for a node: it goes to none that was only found.
    let shell = shell.set("TRESTLE_ADMIN_TOKEN", TOKEN);
    assert!(shell.run(&LIST).failed(2).contains("no node to ask"));
}

#[test]
fn an_authority_of_ones_own_is_trusted_when_it_is_named() {
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let node = Start::serve(&document(""))
        .administered()
        .file("cert.pem", &certificate.cert.pem())
        .file("key.pem", &certificate.signing_key.serialize_pem())
        .arguments(&["--tls-cert", "cert.pem", "--tls-key", "key.pem"])
        .start();
    let shell = Shell::of(&node).set("TRESTLE_URL", &format!("https://localhost:{}", node.address.port()));
    let stderr = shell.run(&LIST).failed(2);
    assert!(stderr.contains("--ca FILE"), "{stderr}");
    shell.file("ca.pem", &certificate.cert.pem());
    assert!(shell.run(&["keys", "list", "--ca", "ca.pem"]).ok().contains("tests"));
    shell.file("empty.pem", "");
    let stderr = shell.run(&["keys", "list", "--ca", "empty.pem"]).failed(2);
    assert!(stderr.contains("empty.pem: holds no certificate"), "{stderr}");
}

#[test]
fn plain_http_to_elsewhere_is_warned_of() {
    let node = Start::serve(&document("")).administered().start();
    let shell = Shell::of(&node);
    assert_eq!(shell.run(&LIST).stderr, "");
    // The same listener by an address that is not that of loopback.
    let url = format!("http://0.0.0.0:{}", node.address.port());
    let stderr = shell.run(&["keys", "list", "--url", &url]).stderr;
    assert!(stderr.contains("warning: the admin token goes to http://0.0.0.0"), "{stderr}");
}

#[test]
fn what_is_no_admin_api_is_said() {
    let node =
        Start::serve(&document("")).administered().arguments(&["--admin-listen", "127.0.0.1:0"]).start();
    let shell = Shell::of(&node);
    let stderr = shell.run(&LIST).failed(2);
    assert!(stderr.contains("not as an admin API does") && stderr.contains("--admin-listen"), "{stderr}");
    let admin = node.address_after("admin listening on http").unwrap();
    shell.run(&["keys", "list", "--url", &format!("http://{admin}")]).ok();
}

#[test]
fn output_that_nobody_reads_is_an_ordinary_end() {
    let node = Start::serve(&document("")).administered().start();
    let shell = Shell::of(&node);
    shell.file("gateway.yaml", "{}\n");
    for line in [
        "schema",
        "completions bash",
        "check gateway.yaml",
        "document get",
        "keys list",
        "revisions list",
        "audit list",
        "audit export",
        "audit verify",
        "admin-token list",
    ] {
        let arguments: Vec<_> = line.split(' ').collect();
        let ran = shell.run_unread(&arguments);
        assert!(ran.code == 0 && !ran.stderr.contains("error"), "{line}: {ran:?}");
    }
    // But not where it was a secret.
    let stderr = shell.run_unread(&["admin-token", "create", "t", "--role", "viewer"]).failed(1);
    assert!(stderr.contains("the admin token `t` was made, revoke it"), "{stderr}");
}
