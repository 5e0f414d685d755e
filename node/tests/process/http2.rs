//! HTTP/2 by prior knowledge: many requests at once, and clients that take them back.

use crate::support::{KEY, Node, Start, document};
use bytes::Bytes;
use http::{Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::Incoming,
    client::conn::http2::{SendRequest, handshake},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::time::Duration;
use tokio::task::JoinHandle;

type Client = SendRequest<Full<Bytes>>;

/// More than any honest client takes back, less than would take long.
const TAKEN_BACK_MAX: usize = 5_000;

async fn connect(node: &Node) -> (Client, JoinHandle<hyper::Result<()>>) {
    let stream = tokio::net::TcpStream::connect(node.address).await.unwrap();
    let (client, connection) = handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    (client, tokio::spawn(connection))
}

fn health(node: &Node) -> Request<Full<Bytes>> {
    Request::get(format!("http://{}/healthz", node.address)).body(Full::default()).unwrap()
}

fn chat(node: &Node, model: &str, stream: &str) -> Request<Full<Bytes>> {
    chat_of(node, model, stream, 20)
}

fn chat_of(node: &Node, model: &str, stream: &str, words: u32) -> Request<Full<Bytes>> {
    let messages = r#"[{"role":"user","content":"Hello"}]"#;
    let body =
        format!(r#"{{"model":"{model}","messages":{messages},"max_tokens":{words},"stream":{stream}}}"#);
    Request::post(format!("http://{}/v1/chat/completions", node.address))
        .header("authorization", format!("Bearer {KEY}"))
        .header("content-type", "application/json")
        .body(Full::from(body))
        .unwrap()
}

async fn text(answer: Response<Incoming>) -> String {
    String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

/// Runs a test with a bound on its time.
fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.expect("it ends") });
}

#[test]
fn many_requests_share_a_connection() {
    let node = Start::serve(&document("")).start();
    run(async {
        let (client, _connection) = connect(&node).await;
        let requests = (0..100).map(|number| {
            let mut client = client.clone();
            let request = chat(&node, "mock/echo", if number % 2 == 0 { "true" } else { "false" });
            tokio::spawn(async move { client.send_request(request).await })
        });
        for request in requests.collect::<Vec<_>>() {
            let answer = request.await.unwrap().unwrap();
            assert_eq!((answer.status(), answer.version()), (StatusCode::OK, Version::HTTP_2));
            assert!(text(answer).await.contains("Hello"));
        }
    });
}

#[test]
fn a_client_that_takes_back_all_it_asks_is_dismissed() {
    let node = Start::serve(&document("delay_ms: 600000")).start();
    run(async {
        let (mut client, connection) = connect(&node).await;
        let mut taken_back = 0;
        while client.ready().await.is_ok() {
            assert!(taken_back < TAKEN_BACK_MAX, "still connected after {taken_back}");
            let asked = client.send_request(chat(&node, "mock/echo", "false"));
            // Long enough for the request to be on its way; dropped then, which resets the stream.
            let _ = tokio::time::timeout(Duration::from_millis(2), asked).await;
            taken_back += 1;
        }
        assert!(taken_back >= 100, "an ordinary number is no reason to close: {taken_back}");
        let _ = connection.await;
        let (mut client, _connection) = connect(&node).await;
        assert_eq!(client.send_request(health(&node)).await.unwrap().status(), 200);
    });
}

#[test]
fn a_panic_in_a_stream_ends_that_stream_alone() {
    let node = Start::serve(&document("gap_ms: 20, panic_after: 12")).start();
    run(async {
        let (mut client, _connection) = connect(&node).await;
        let sibling = client.send_request(chat_of(&node, "mock/lorem", "true", 4)).await.unwrap();
        let fragile = client.send_request(chat_of(&node, "mock/lorem", "true", 50)).await.unwrap();
        assert_eq!((sibling.status(), fragile.status()), (StatusCode::OK, StatusCode::OK));
        let broken = fragile.into_body().collect().await.map(|body| body.to_bytes());
        let forged = broken.is_ok_and(|body| body.windows(6).any(|part| part == b"[DONE]"));
        assert!(!forged, "no forged end");
        assert!(text(sibling).await.contains("[DONE]"));
        assert_eq!(client.send_request(chat(&node, "mock/echo", "false")).await.unwrap().status(), 200);
    });
    node.printed("\"message\":\"panic\"");
}

#[test]
fn idle_and_draining_connections_are_told_goodbye() {
    let mut node = Start::serve(&document("gap_ms: 20")).arguments(&["--idle-timeout-ms", "300"]).start();
    run(async {
        let (mut client, connection) = connect(&node).await;
        assert_eq!(client.send_request(chat(&node, "mock/echo", "false")).await.unwrap().status(), 200);
        connection.await.unwrap().expect("a goodbye, not a broken connection");

        let (mut client, connection) = connect(&node).await;
        let running = client.send_request(chat(&node, "mock/lorem", "true")).await.unwrap();
        node.signal("TERM");
        assert!(text(running).await.contains("[DONE]"));
        connection.await.unwrap().expect("a goodbye, not a broken connection");
    });
    assert_eq!(node.ended().code(), Some(0));
}
