//! Sessions over WebSocket on the listener of clients: beside other requests, to their end, and when the node goes.

use crate::support::{KEY, Node, Start, chat, eventually, exchange};
use serde_json::{Value, json};
use std::net::TcpStream;
use tokio_tungstenite::tungstenite::{
    self, Error, HandshakeError, Message, WebSocket,
    client::IntoClientRequest,
    http::Response,
    protocol::{CloseFrame, frame::coding::CloseCode},
};
use trestle_bench::mock::{Mock, Options};

type Socket = WebSocket<TcpStream>;

fn start(arguments: &[&str]) -> (Node, Mock) {
    let mock = Mock::start(Options::default()).unwrap();
    let document = format!(
        "providers:\n  a: {{ base_url: '{}/v1', dialects: [openai-chat], keys: [{{ name: main, value: env:UPSTREAM }}] }}\n\
         keys:\n  tests: {{ value: env:TRESTLE_TEST_KEY }}\n",
        mock.url()
    );
    (Start::serve(&document).variable("UPSTREAM", "sk-upstream").arguments(arguments).start(), mock)
}

/// Switches a connection to a session, or gets the answer that refuses it.
fn switch(stream: TcpStream, model: &str) -> Result<Socket, Box<Response<Option<Vec<u8>>>>> {
    let mut request = format!("ws://test/v1/realtime?model={model}").into_client_request().unwrap();
    request.headers_mut().insert("authorization", format!("Bearer {KEY}").parse().unwrap());
    match tungstenite::client(request, stream) {
        Ok((socket, _)) => Ok(socket),
        Err(HandshakeError::Failure(Error::Http(answer))) => Err(answer),
        Err(error) => panic!("{error}"),
    }
}

fn event(socket: &mut Socket) -> Value {
    serde_json::from_str(socket.read().unwrap().to_text().unwrap()).unwrap()
}

fn respond(socket: &mut Socket) {
    socket.send(Message::text(json!({ "type": "response.create" }).to_string())).unwrap();
    while event(socket)["type"] != "response.done" {}
}

#[test]
fn a_connection_carries_requests_and_then_a_session() {
    let (node, mock) = start(&[]);
    let mut stream = node.connect();
    assert_eq!(exchange(&mut stream, &chat(KEY, "mock/echo", "")).status, 200);
    let refused = switch(stream.try_clone().unwrap(), "nobody").unwrap_err();
    assert_eq!(refused.status(), 404);
    assert_eq!(exchange(&mut stream, &chat(KEY, "mock/echo", "")).status, 200);
    let mut socket = switch(stream, "a/gpt-realtime").unwrap();
    assert_eq!(event(&mut socket)["type"], "session.created");
    respond(&mut socket);
    respond(&mut socket);
    socket.close(Some(CloseFrame { code: CloseCode::Normal, reason: "".into() })).unwrap();
    while socket.read().is_ok() {}
    node.printed("\"endpoint\":\"realtime\",\"key\":\"tests\",\"model\":\"a/gpt-realtime\",\"target\":\"a/gpt-realtime\",\"status\":101,\"outcome\":\"ok\"");
    node.printed(
        "\"tokens\":{\"input\":40,\"output\":20,\"cache_read\":8,\"audio_input\":24,\"audio_output\":14}",
    );
    eventually("the connection to end", || {
        node.get("/metrics").body.contains("\ntrestle_connections 1\n").then_some(())
    });
    assert!(mock.requests()[0].done);
}

#[test]
fn a_session_goes_on_while_the_node_drains_and_is_told_when_it_goes() {
    let (mut node, _mock) = start(&["--drain-ms", "700"]);
    let mut socket = switch(node.connect(), "a/gpt-realtime").unwrap();
    assert_eq!(event(&mut socket)["type"], "session.created");
    node.signal("TERM");
    node.printed("draining");
    respond(&mut socket);
    let Ok(Message::Close(Some(frame))) = socket.read() else { panic!("no goodbye") };
    assert_eq!(frame.code, CloseCode::Away, "{frame}");
    while socket.read().is_ok() {}
    assert_eq!(node.ended().code(), Some(0));
    node.printed("\"outcome\":\"cancelled\"");
}

#[test]
fn what_is_no_handshake_is_told_so() {
    let (node, _mock) = start(&[]);
    let ask = |lines: &str| {
        let request =
            format!("GET /v1/realtime?model=a/m HTTP/1.1\r\nhost: test\r\nx-api-key: {KEY}\r\n{lines}\r\n");
        exchange(&mut node.connect(), &request)
    };
    for lines in ["", "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n"] {
        let answer = ask(lines);
        assert_eq!(answer.status, 400, "{}", answer.body);
        assert!(answer.body.contains("upgrade: websocket"), "{}", answer.body);
    }
    let key = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: short\r\n";
    let answer = ask(key);
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert!(answer.body.contains("sec-websocket-key"), "{}", answer.body);
}
