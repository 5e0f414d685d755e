//! What is where: unknown paths, wrong methods, health, and the split of the admin listener.

use crate::support::{KEY, Start, chat, connect, document, exchange, get};

#[test]
fn an_unknown_path_lists_what_exists() {
    let node = Start::serve(&document("")).start();
    for path in ["/", "/v1/nothing", "/v1/chat/completions/", "/admin"] {
        let reply = node.get(path);
        assert_eq!(reply.status, 404, "{path}");
        assert!(reply.head.contains("content-type: application/json"), "{}", reply.head);
        let body: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
        let message = body["error"]["message"].as_str().unwrap();
        for wanted in ["POST /v1/chat/completions", "POST /v1/messages", "GET /v1/models", "/healthz"] {
            assert!(message.contains(wanted), "{message}");
        }
    }
}

#[test]
fn a_wrong_method_says_the_right_one() {
    let node = Start::serve(&document("")).start();
    for (method, path, wanted) in [
        ("GET", "/v1/chat/completions", "allow: post"),
        ("DELETE", "/v1/models", "allow: get"),
        ("POST", "/healthz", "allow: get"),
        ("PUT", "/metrics", "allow: get"),
    ] {
        let request = format!("{method} {path} HTTP/1.1\r\nhost: test\r\ncontent-length: 0\r\n\r\n");
        let reply = exchange(&mut node.connect(), &request);
        assert_eq!(reply.status, 405, "{method} {path}");
        assert!(reply.head.lines().any(|line| line == wanted), "{}", reply.head);
    }
}

#[test]
fn one_connection_serves_many_requests() {
    let node = Start::serve(&document("")).start();
    let mut stream = node.connect();
    for _ in 0..5 {
        let reply = exchange(&mut stream, &chat(KEY, "mock/echo", ""));
        assert_eq!(reply.status, 200);
        assert!(reply.body.contains("Hello, bridge"), "{}", reply.body);
        assert_eq!(exchange(&mut stream, "GET /readyz HTTP/1.1\r\nhost: test\r\n\r\n").status, 200);
    }
    let pipelined = "GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n";
    let first = exchange(&mut stream, &pipelined.repeat(2));
    let second = exchange(&mut stream, "");
    assert_eq!((first.status, second.status), (200, 200));
}

/// A body larger than any buffer on its way.
#[test]
fn a_large_body_comes_back_whole() {
    let node = Start::serve(&document("")).start();
    let text = "0123456789abcdef".repeat(200_000);
    let body = format!(r#"{{"model":"mock/echo","messages":[{{"role":"user","content":"{text}"}}]}}"#);
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {KEY}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let reply = exchange(&mut node.connect(), &request);
    assert_eq!(reply.status, 200);
    let answer: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    assert!(answer["choices"][0]["message"]["content"] == text.as_str());
}

#[test]
fn metrics_are_with_the_clients_unless_they_have_a_listener() {
    let node = Start::serve(&document("")).start();
    assert_eq!(node.chat(KEY, "mock/echo").status, 200);
    let metrics = node.get("/metrics");
    assert_eq!(metrics.status, 200);
    for wanted in [
        "trestle_build_info{version=\"",
        "trestle_connections ",
        "trestle_connections_accepted_total ",
        "trestle_document_revision 1",
        "trestle_requests_total",
    ] {
        assert!(metrics.body.contains(wanted), "no {wanted} in\n{}", metrics.body);
    }
    assert!(!metrics.body.contains(KEY));
}

#[test]
fn an_admin_listener_takes_the_metrics_along() {
    let node = Start::serve(&document("")).arguments(&["--admin-listen", "127.0.0.1:0"]).start();
    let admin = node.address_after("admin listening on http").unwrap();
    assert_ne!(admin, node.address);
    for path in ["/healthz", "/readyz"] {
        assert_eq!(node.get(path).status, 200, "{path}");
        assert_eq!(get(admin, path).status, 200, "{path}");
    }
    assert_eq!(node.get("/metrics").status, 404);
    assert!(get(admin, "/metrics").body.contains("trestle_build_info"));
    let reply = exchange(&mut connect(admin), &chat(KEY, "mock/echo", ""));
    assert_eq!(reply.status, 404, "the admin listener serves no inference");
    assert!(reply.body.contains("/metrics"), "{}", reply.body);
}
