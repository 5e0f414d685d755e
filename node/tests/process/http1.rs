//! HTTP/1 on the inference endpoints: in any cuts, ahead of time, with what is unusual, and with clients that leave.

use crate::support::{KEY, Start, chat, document, eventually, exchange, read_head, read_to_end, reply};
use std::{io::Write, time::Duration};

const BODY: &str = r#"{"model":"mock/echo","messages":[{"role":"user","content":"Hello, bridge"}]}"#;

fn head(lines: &str) -> String {
    format!("POST /v1/chat/completions HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {KEY}\r\n{lines}\r\n")
}

#[test]
fn requests_may_come_in_any_cuts() {
    let node = Start::serve(&document("")).start();
    let request = chat(KEY, "mock/echo", "");
    let body_at = request.find("\r\n\r\n").unwrap() + 4;
    let mut stream = node.connect();
    for cut in [1, 30, body_at - 2, body_at, body_at + 1, request.len() - 1] {
        stream.write_all(&request.as_bytes()[..cut]).unwrap();
        std::thread::sleep(Duration::from_millis(30));
        let reply = exchange(&mut stream, &request[cut..]);
        assert!(reply.status == 200 && reply.body.contains("Hello, bridge"), "cut at {cut}: {}", reply.body);
    }
    for byte in request.as_bytes() {
        stream.write_all(std::slice::from_ref(byte)).unwrap();
    }
    assert_eq!(reply(&mut stream).unwrap().status, 200);
}

#[test]
fn requests_sent_ahead_are_answered_in_their_order() {
    let node = Start::serve(&document("delay_ms: 100")).start();
    let request = |word: &str| chat(KEY, "mock/echo", "").replace("bridge", word);
    let mut stream = node.connect();
    let ahead = ["first!", "second", "third!"];
    stream.write_all(ahead.map(request).concat().as_bytes()).unwrap();
    for word in ahead {
        let reply = reply(&mut stream).unwrap();
        assert!(reply.status == 200 && reply.body.contains(word), "{word}: {}", reply.body);
    }
    // Also behind a streamed answer, and with a request of another kind among them.
    let streamed = chat(KEY, "mock/echo", r#","stream":true"#);
    let health = "GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n".to_owned();
    stream.write_all([streamed, health, request("fourth")].concat().as_bytes()).unwrap();
    let replies = [(); 3].map(|()| reply(&mut stream).unwrap());
    assert!(replies.iter().all(|reply| reply.status == 200));
    assert!(replies[0].head.contains("transfer-encoding: chunked") && replies[0].body.contains("[DONE]"));
    assert!(replies[1].body.contains("ok") && replies[2].body.contains("fourth"));
}

#[test]
fn what_is_unusual_is_served_on_the_same_connection() {
    let node = Start::serve(&document("")).start();
    let length = BODY.len();
    let usual = head(&format!("content-length: {length}\r\n")) + BODY;
    let (first, second) = BODY.split_at(20);
    let chunked = head("transfer-encoding: chunked\r\n")
        + &format!("{:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n", first.len(), second.len());
    let long = head(&format!("x-long: {}\r\ncontent-length: {length}\r\n", "x".repeat(50_000))) + BODY;
    for unusual in [chunked, long, usual.replace("HTTP/1.1", "HTTP/1.0\r\nconnection: keep-alive")] {
        let mut stream = node.connect();
        for request in [&usual, &unusual, &usual] {
            let reply = exchange(&mut stream, request);
            assert!(reply.status == 200 && reply.body.contains("Hello, bridge"), "{}", reply.body);
        }
    }

    let mut stream = node.connect();
    stream
        .write_all(head(&format!("expect: 100-continue\r\ncontent-length: {length}\r\n")).as_bytes())
        .unwrap();
    assert!(read_head(&mut stream).unwrap().starts_with("http/1.1 100 "));
    assert_eq!(exchange(&mut stream, BODY).status, 200);

    let last = head(&format!("connection: close\r\ncontent-length: {length}\r\n")) + BODY;
    assert_eq!(exchange(&mut stream, &last).status, 200);
    assert_eq!(read_to_end(&mut stream), "");
}

#[test]
fn a_length_that_can_be_read_in_two_ways_is_refused() {
    let node = Start::serve(&document("")).start();
    let length = BODY.len();
    for lines in [
        format!("content-length: {length}\r\ncontent-length: {}\r\n", length - 1),
        format!("content-length: +{length}\r\n"),
        format!("content-length: {length}\r\ntransfer-encoding: gzip\r\n"),
        "content-length: 99999999999999999999\r\n".to_owned(),
        format!("content-length : {length}\r\n"),
    ] {
        let mut stream = node.connect();
        stream.write_all((head(&lines) + BODY).as_bytes()).unwrap();
        let answer = read_to_end(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{lines:?}: {answer}");
    }
}

#[test]
fn a_client_that_is_refused_while_it_sends_can_read_why() {
    let node = Start::serve(&document("")).start();
    let mut stream = node.connect();
    stream.write_all(head("content-length: 50000000\r\n").replace(KEY, "sk-nobody").as_bytes()).unwrap();
    let sender = {
        let mut stream = stream.try_clone().unwrap();
        std::thread::spawn(move || while stream.write_all(&[b' '; 65_536]).is_ok() {})
    };
    let refused = reply(&mut stream).unwrap();
    assert_eq!(refused.status, 401, "{}", refused.body);
    assert!(refused.head.contains("connection: close"), "{}", refused.head);
    assert_eq!(read_to_end(&mut stream), "");
    sender.join().unwrap();
}

#[test]
fn a_client_that_leaves_its_stream_is_noticed() {
    let node = Start::serve(&document("gap_ms: 50")).start();
    let request = chat(KEY, "mock/lorem", r#","stream":true,"max_tokens":10000"#);
    let mut waiting = node.connect();
    waiting.write_all(request.as_bytes()).unwrap();
    assert!(read_head(&mut waiting).unwrap().contains("text/event-stream"));
    drop(waiting);
    let cancelled = r#"outcome="cancelled"} 1"#;
    eventually("the end of the stream", || node.get("/metrics").body.contains(cancelled).then_some(()));
}
