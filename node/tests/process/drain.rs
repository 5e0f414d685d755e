//! The end of a node: what runs is finished, new work is not taken.

use crate::support::{KEY, Node, Start, chat, document, eventually, exchange, get, read_head, read_to_end};
use std::{
    io::{Read, Write},
    net::TcpStream,
};

/// A stream that has begun.
fn begun(node: &Node, words: u32) -> TcpStream {
    let mut stream = node.connect();
    let members = format!(r#","stream":true,"max_tokens":{words}"#);
    stream.write_all(chat(KEY, "mock/lorem", &members).as_bytes()).unwrap();
    let head = read_head(&mut stream).unwrap();
    assert!(head.starts_with("http/1.1 200"), "{head}");
    stream.read_exact(&mut [0; 16]).unwrap();
    stream
}

/// Waits for a request to run.
fn running(node: &Node) {
    eventually("a request to run", || {
        node.get("/metrics").body.contains("\ntrestle_in_flight 1\n").then_some(())
    });
}

#[test]
fn a_running_stream_is_finished_and_then_the_process_ends() {
    let mut node =
        Start::serve(&document("gap_ms: 20")).arguments(&["--admin-listen", "127.0.0.1:0"]).start();
    let admin = node.address_after("admin listening on http").unwrap();
    let mut idle = node.connect();
    assert_eq!(exchange(&mut idle, "GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n").status, 200);
    let mut stream = begun(&node, 100);

    node.signal("TERM");
    eventually("not ready", || (get(admin, "/readyz").status == 503).then_some(()));
    assert_eq!(get(admin, "/healthz").status, 200);
    assert_eq!(read_to_end(&mut idle), "", "an idle connection is closed");
    eventually("no new connections", || TcpStream::connect(node.address).is_err().then_some(()));

    let rest = read_to_end(&mut stream);
    assert!(rest.contains("data: [DONE]"), "the stream is whole: {rest}");
    let status = node.ended();
    assert_eq!(status.code(), Some(0), "{status}");
    node.printed("stopped");
    // The request log is written before the end.
    node.printed("mock/lorem");
}

#[test]
fn a_request_that_runs_is_answered_with_a_goodbye() {
    let mut node = Start::serve(&document("delay_ms: 1500")).start();
    let mut stream = node.connect();
    stream.write_all(chat(KEY, "mock/echo", "").as_bytes()).unwrap();
    running(&node);
    node.signal("INT");
    let answer = read_to_end(&mut stream).to_lowercase();
    assert!(answer.starts_with("http/1.1 200"), "{answer}");
    assert!(answer.contains("connection: close"), "{answer}");
    assert!(answer.contains("hello, bridge"), "{answer}");
    assert_eq!(node.ended().code(), Some(0));
}

#[test]
fn a_first_request_that_has_begun_is_answered() {
    let mut node = Start::serve(&document("")).start();
    let request = chat(KEY, "mock/echo", "");
    let (begin, rest) = request.split_at(40);
    let mut stream = node.connect();
    stream.write_all(begin.as_bytes()).unwrap();
    eventually("the connection", || {
        node.get("/metrics").body.contains("\ntrestle_connections 2\n").then_some(())
    });
    node.signal("TERM");
    node.printed("draining");
    stream.write_all(rest.as_bytes()).unwrap();
    let answer = read_to_end(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("Hello, bridge"), "{answer}");
    assert_eq!(node.ended().code(), Some(0));
}

/// The provider bills it anyway, so it is finished and written down.
#[test]
fn a_call_whose_client_has_left_is_finished() {
    let mut node = Start::serve(&document("delay_ms: 1500")).start();
    let mut stream = node.connect();
    stream.write_all(chat(KEY, "mock/echo", "").as_bytes()).unwrap();
    running(&node);
    drop(stream);
    eventually("the connection to end", || {
        // The one that asks is the only one.
        node.get("/metrics").body.contains("\ntrestle_connections 1\n").then_some(())
    });
    node.signal("TERM");
    assert_eq!(node.ended().code(), Some(0));
    node.printed("\"target\":\"mock/echo\",\"status\":200");
}

#[test]
fn what_takes_too_long_is_cut_off() {
    let mut node = Start::serve(&document("gap_ms: 20")).arguments(&["--drain-ms", "200"]).start();
    let mut stream = begun(&node, 1_000_000);
    node.signal("TERM");
    let rest = read_to_end(&mut stream);
    assert!(!rest.contains("[DONE]"), "no forged end");
    assert_eq!(node.ended().code(), Some(0));
    node.printed("cut off");
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let mut node = Start::serve(&document("gap_ms: 20")).start();
    let _stream = begun(&node, 1_000_000);
    node.signal("TERM");
    node.printed("draining");
    node.signal("TERM");
    assert_eq!(node.ended().code(), Some(130));
}
