//! Connections that take too long, send too much, or are too many.

use crate::support::{KEY, Start, chat, connect, document, eventually, exchange, read_to_end, reply};
use std::{
    io::{Read, Write},
    net::{Shutdown, TcpStream},
};

/// Bytes that trickle in, one every few milliseconds, until the other side has closed.
fn trickle_until_closed(mut stream: TcpStream) {
    let mut reader = stream.try_clone().unwrap();
    let closed = std::thread::spawn(move || read_to_end(&mut reader));
    eventually("the end of a connection that trickles", || {
        let refused = stream.write_all(b"x").is_err();
        (refused || closed.is_finished()).then_some(())
    });
    assert_eq!(closed.join().unwrap(), "");
}

#[test]
fn slow_heads_are_closed_and_running_requests_are_not() {
    let node = Start::serve(&document("delay_ms: 1500"))
        .arguments(&["--head-timeout-ms", "300", "--idle-timeout-ms", "600"])
        .start();
    let mut running = node.connect();
    running.write_all(chat(KEY, "mock/echo", "").as_bytes()).unwrap();

    let mut first_head = node.connect();
    first_head.write_all(b"POST /v1/chat/completions HTTP/1.1\r\nx-slow: ").unwrap();
    trickle_until_closed(first_head);

    let mut second_head = node.connect();
    assert_eq!(exchange(&mut second_head, "GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n").status, 200);
    second_head.write_all(b"GET /healthz HTTP/1.1\r\nx-slow: ").unwrap();
    trickle_until_closed(second_head);

    assert_eq!(read_to_end(&mut node.connect()), "", "a client that says nothing");

    // It took longer than either bound.
    let answer = reply(&mut running).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(exchange(&mut running, "GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n").status, 200);
    let metrics = node.get("/metrics").body;
    assert!(metrics.contains("trestle_connections_closed_total{reason=\"slow_head\"} 3"), "{metrics}");
}

#[test]
fn idle_connections_are_closed() {
    let node = Start::serve(&document("")).arguments(&["--idle-timeout-ms", "200"]).start();
    let mut stream = node.connect();
    assert_eq!(exchange(&mut stream, "GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n").status, 200);
    assert_eq!(read_to_end(&mut stream), "");
    assert!(node.get("/metrics").body.contains("trestle_connections_closed_total{reason=\"idle\"} 1"));
}

#[test]
fn a_large_head_is_refused() {
    let node = Start::serve(&document("")).start();
    let mut stream = node.connect();
    let request = format!("GET /healthz HTTP/1.1\r\nhost: test\r\nx-large: {}\r\n\r\n", "x".repeat(70_000));
    // The answer may come before all is written.
    let _ = stream.write_all(request.as_bytes());
    assert_eq!(reply(&mut stream).unwrap().status, 431);

    let many = "x-many: 1\r\n".repeat(200);
    let reply = exchange(&mut node.connect(), &format!("GET /healthz HTTP/1.1\r\nhost: test\r\n{many}\r\n"));
    assert_eq!(reply.status, 431);

    let most = format!("GET /healthz HTTP/1.1\r\nhost: test\r\nx-large: {}\r\n\r\n", "x".repeat(60_000));
    assert_eq!(exchange(&mut node.connect(), &most).status, 200);
}

#[test]
fn what_is_no_http_is_refused() {
    let node = Start::serve(&document("")).start();
    let mut stream = node.connect();
    stream.write_all(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03").unwrap();
    assert!(read_to_end(&mut stream).starts_with("HTTP/1.1 400 "));
    assert_eq!(node.get("/healthz").status, 200);
}

#[test]
fn connections_beyond_the_bound_are_closed_at_once() {
    let node = Start::serve(&document(""))
        .arguments(&["--connections-max", "2", "--admin-listen", "127.0.0.1:0"])
        .start();
    let admin = node.address_after("admin listening on http").unwrap();
    let mut first = node.connect();
    let mut second = node.connect();
    for stream in [&mut first, &mut second] {
        assert_eq!(exchange(stream, "GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n").status, 200);
    }
    assert_eq!(read_to_end(&mut node.connect()), "");
    assert!(crate::support::get(admin, "/metrics").body.contains("trestle_connections_refused_total 1"));
    assert_eq!(exchange(&mut first, "GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n").status, 200);

    second.shutdown(Shutdown::Both).unwrap();
    eventually("a place for another connection", || {
        let mut third = connect(node.address);
        third.write_all(b"GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n").ok()?;
        let mut byte = [0];
        (third.read(&mut byte).ok()? == 1).then_some(())
    });
}
