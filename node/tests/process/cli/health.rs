//! `trestle health`: what health checks of images without a shell are told.

use crate::{
    cli_shell::Shell,
    support::{KEY, Start, chat, document, eventually, read_head},
};
use std::{io::Write, net::TcpListener};

#[test]
fn a_node_is_asked_whether_it_takes_requests() {
    let mut node =
        Start::serve(&document("gap_ms: 20")).arguments(&["--admin-listen", "127.0.0.1:0"]).start();
    let admin = node.address_after("admin listening on http").unwrap();
    let shell = Shell::bare().set("TRESTLE_URL", &format!("http://{admin}"));
    // Not asked for the node itself.
    let shell = shell.set("HTTP_PROXY", "http://127.0.0.1:1");
    assert!(shell.run(&["health"]).ok().contains("ready"));
    let clients = format!("http://{}/", node.address);
    assert!(shell.run(&["health", "--url", &clients]).ok().contains("ready"));

    let mut stream = node.connect();
    let members = r#","stream":true,"max_tokens":200"#;
    stream.write_all(chat(KEY, "mock/lorem", members).as_bytes()).unwrap();
    read_head(&mut stream).unwrap();
    node.signal("TERM");
    let reason = eventually("not ready", || Some(shell.run(&["health"])).filter(|ran| ran.code != 0));
    let reason = reason.failed(1);
    assert!(reason.contains("takes no requests now: 503") && reason.contains("draining"), "{reason}");
    drop(stream);
    assert_eq!(node.ended().code(), Some(0));
}

#[test]
fn no_node_is_another_status() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let shell = Shell::bare().set("TRESTLE_URL", &format!("http://{free}"));
    assert!(shell.run(&["health"]).failed(2).contains(&format!("cannot reach http://{free}")));
    assert!(shell.run(&["health", "--url", "127.0.0.1:1"]).failed(2).contains("must be `http://HOST:PORT`"));
}
