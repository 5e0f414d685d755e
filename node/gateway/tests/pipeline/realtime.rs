//! Sessions over WebSocket, against a mock upstream that speaks OpenAI's Realtime API.

#![allow(clippy::expect_used, clippy::panic, reason = "a panic here is a failed test")]

use crate::{
    support::{Bed, Whole, only, until},
    transport::tls_mock,
};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::{io::DuplexStream, sync::oneshot};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message,
        protocol::{
            CloseFrame, Role, WebSocketConfig,
            frame::{
                Frame,
                coding::{CloseCode, Data, OpCode},
            },
        },
    },
};
use trestle_gateway::{Gateway, Headers, RequestLine};

pub(crate) type Socket = WebSocketStream<DuplexStream>;

const HANDSHAKE: [(&str, &str); 4] = [
    ("connection", "Upgrade"),
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

/// Opens a session as the node does it, or gets the answer that refuses it.
async fn ask(
    gateway: &Gateway,
    target: &str,
    headers: &[(&str, &str)],
) -> Result<(HeaderMap, Socket), Whole> {
    let line = RequestLine::find(&Method::GET, target).unwrap().unwrap();
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(HeaderName::try_from(*name).unwrap(), HeaderValue::try_from(*value).unwrap());
    }
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (tell, told) = oneshot::channel();
    gateway.spawn(move |worker| async move {
        match worker.open_session(line, Headers::Map(map)).await {
            Ok((headers, session)) => {
                let _ = tell.send(Ok(headers));
                session.run(theirs).await;
            }
            Err(refused) => {
                let (head, body) = refused.into_parts();
                let body = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
                let _ = tell.send(Err(Whole { status: head.status, headers: head.headers, body }));
            }
        }
    });
    let headers = told.await.unwrap()?;
    let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
    Ok((headers, WebSocketStream::from_raw_socket(ours, Role::Client, Some(config)).await))
}

async fn open(bed: &Bed, model: &str) -> Socket {
    session(&bed.gateway, model).await
}

/// A session that has begun.
pub(crate) async fn session(gateway: &Gateway, model: &str) -> Socket {
    let target = format!("/v1/realtime?model={model}");
    let opened = ask(gateway, &target, &HANDSHAKE).await;
    let (_, mut socket) = opened.unwrap_or_else(|refused| panic!("{}", refused.text()));
    assert_eq!(event(&mut socket).await["type"], "session.created");
    socket
}

async fn refused(bed: &Bed, target: &str, more: &[(&str, &str)]) -> Whole {
    ask(&bed.gateway, target, &[&HANDSHAKE[..], more].concat()).await.err().unwrap()
}

async fn next(socket: &mut Socket) -> Option<Message> {
    tokio::time::timeout(Duration::from_secs(20), socket.next())
        .await
        .expect("nothing comes")
        .map(Result::unwrap)
}

async fn event(socket: &mut Socket) -> Value {
    match next(socket).await {
        Some(Message::Text(text)) => serde_json::from_str(text.as_str()).unwrap(),
        other => panic!("no event: {other:?}"),
    }
}

async fn say(socket: &mut Socket, event: Value) {
    socket.send(Message::text(event.to_string())).await.unwrap();
}

/// Asks for a response, to its end.
pub(crate) async fn respond(socket: &mut Socket) -> String {
    say(socket, json!({ "type": "response.create" })).await;
    let mut text = String::new();
    loop {
        let event = event(socket).await;
        text.push_str(event["delta"].as_str().unwrap_or_default());
        if event["type"] == "response.done" {
            return text;
        }
    }
}

/// The close frame that ends a session.
async fn end(socket: &mut Socket) -> (u16, String) {
    loop {
        match next(socket).await {
            Some(Message::Close(Some(frame))) => return (frame.code.into(), frame.reason.to_string()),
            Some(Message::Close(None)) => return (1005, String::new()),
            Some(_) => {}
            None => panic!("it ended without a goodbye"),
        }
    }
}

async fn outcome(bed: &Bed, outcome: &str) {
    let series = format!("endpoint=\"realtime\",provider=\"a\",model=\"other\",outcome=\"{outcome}\"}} 1");
    until(&series, || bed.gateway.metrics().contains(&series)).await;
}

#[tokio::test]
async fn a_session_passes_both_ways_and_each_response_is_counted() {
    let bed = Bed::new(
        "providers: { a: { like: openai, base_url: '$A/v1', keys: [{ name: main, value: sk-upstream-a }] } }
keys: { web: { value: 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad' } }
settings: {}",
    );
    let sent = [
        ("authorization", "Bearer abc"),
        ("openai-beta", "realtime=v1"),
        ("openai-organization", "org-client"),
        ("cookie", "client-secret"),
        ("origin", "https://client.example"),
        ("sec-websocket-extensions", "permessage-deflate"),
    ];
    let headers = [&HANDSHAKE[..], &sent].concat();
    let (accepted, mut socket) =
        ask(&bed.gateway, "/openai/v1/realtime?model=a/gpt-realtime", &headers).await.unwrap();
    assert_eq!(accepted["sec-websocket-accept"], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    assert_eq!(
        (&accepted["x-trestle-provider"], &accepted["x-trestle-model"]),
        (&"a".parse().unwrap(), &"gpt-realtime".parse().unwrap())
    );
    assert!(!accepted.contains_key("sec-websocket-extensions") && !accepted.contains_key("content-type"));
    let seen = only(&bed.a);
    assert_eq!((&*seen.method, &*seen.path), ("GET", "/v1/realtime?model=gpt-realtime"));
    assert_eq!(seen.header("authorization"), Some("Bearer sk-upstream-a"));
    assert_eq!(seen.header("openai-beta"), Some("realtime=v1"));
    for (name, value) in &seen.headers {
        assert!(!value.contains("client") && !value.contains("abc"), "{name}: {value}");
    }
    assert_eq!(event(&mut socket).await["session"]["model"], "gpt-realtime");
    say(&mut socket, json!({ "type": "input_audio_buffer.append", "audio": "AAAA" })).await;
    for _ in 0..2 {
        assert_eq!(respond(&mut socket).await, "HelloHelloHello");
    }
    assert_eq!(bed.metric("trestle_in_flight"), 1.0);
    let goodbye = CloseFrame { code: CloseCode::Normal, reason: "bye".into() };
    socket.send(Message::Close(Some(goodbye))).await.unwrap();
    assert_eq!(end(&mut socket).await.0, 1000);
    outcome(&bed, "ok").await;
    until("the upstream has heard the goodbye", || only(&bed.a).done).await;
    let text = bed.gateway.metrics();
    for (kind, tokens) in [("uncached", 32), ("cache_read", 8), ("text", 20)] {
        let line = format!("endpoint=\"realtime\",provider=\"a\",model=\"other\",kind=\"{kind}\"}} {tokens}");
        assert!(text.contains(&line), "{line}: {text}");
    }
    assert_eq!(bed.metric("trestle_provider_in_flight"), 0.0);
}

#[tokio::test]
async fn a_browser_presents_its_key_as_a_protocol() {
    let bed = Bed::new(
        "providers: { a: { base_url: '$A/v1', dialects: [openai-chat], keys: [{ name: main, value: sk-upstream-a }] } }
keys: { web: { value: 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad' } }
settings: {}",
    );
    let protocols = |list| [&HANDSHAKE[..], &[("sec-websocket-protocol", list)]].concat();
    let target = "/v1/realtime?model=a/gpt-realtime";
    let good = protocols("realtime, openai-insecure-api-key.abc, openai-beta.realtime-v1");
    let (accepted, _socket) = ask(&bed.gateway, target, &good).await.unwrap();
    assert_eq!(accepted["sec-websocket-protocol"], "realtime");
    assert_eq!(only(&bed.a).header("sec-websocket-protocol"), Some("realtime, openai-beta.realtime-v1"));
    for list in ["realtime, openai-insecure-api-key.wrong", "realtime", "openai-insecure-api-key."] {
        let refused = ask(&bed.gateway, target, &protocols(list)).await.err().unwrap();
        assert_eq!(refused.status, 401, "{list}: {}", refused.text());
    }
}

#[tokio::test]
async fn what_cannot_be_opened_is_an_ordinary_error() {
    let bed = Bed::new(
        "providers:
  a: { base_url: '$A/v1', dialects: [openai-chat], keys: [{ name: main, value: sk }], retries: { max: 0 } }
  b: { base_url: '$B', like: anthropic, keys: [{ name: main, value: sk }] }
keys:
  some: { value: 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', models: ['a/*', 'b/*', 'mock/*'] }
settings: {}",
    );
    let key = ("x-api-key", "abc");
    for (target, status, says) in [
        ("/v1/realtime", 400, "names no model"),
        ("/v1/realtime?model=", 400, "names no model"),
        ("/v1/realtime?model=nobody", 404, "no model `nobody`"),
        ("/v1/realtime?model=b%2Fclaude", 400, "does not offer realtime"),
        ("/v1/realtime?model=mock/echo", 400, "has no network"),
        ("/v1/realtime?model=a/m%2Bstatus=400", 400, "error"),
        ("/v1/realtime?model=a/m%2Bstatus=404%2Bcause=model_not_found", 404, "error"),
        ("/v1/realtime?model=a/m%2Bstatus=500", 502, "server_error"),
        ("/v1/realtime?model=a/m%2Bhtml_error", 502, "server_error"),
        ("/v1/realtime?model=a/m%2Bstatus=429", 429, "rate_limited"),
    ] {
        let refused = refused(&bed, target, &[key]).await;
        assert_eq!(refused.status, status, "{target}: {}", refused.text());
        assert!(refused.text().contains(says), "{target}: {}", refused.text());
        assert!(refused.json()["error"]["message"].is_string());
        if status == 429 {
            assert!(refused.headers.contains_key("retry-after"));
        }
    }
    let target = "/v1/realtime?model=a/m";
    let plain = ask(&bed.gateway, target, &[key, HANDSHAKE[0], HANDSHAKE[1]]).await.err().unwrap();
    assert_eq!(
        (plain.status.as_u16(), plain.json()["error"]["param"].as_str()),
        (400, Some("sec-websocket-version"))
    );
    let line = RequestLine::find(&Method::GET, target).unwrap().unwrap();
    let headers =
        HeaderMap::from_iter([(HeaderName::from_static("x-api-key"), HeaderValue::from_static("abc"))]);
    let elsewhere = bed.client.send(line, headers, Bytes::new()).await.unwrap();
    assert_eq!(elsewhere.status, 400);
    assert!(RequestLine::find(&Method::POST, target).unwrap().is_err());
    let other = Bed::new(
        "keys: { other: { value: 'sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad', models: ['b/*'] } }
settings: {}",
    );
    let refused = self::refused(&other, target, &[key]).await;
    assert_eq!(refused.status, 403, "{}", refused.text());
    assert!(other.a.requests().is_empty());
}

#[tokio::test]
async fn targets_and_keys_are_tried_before_the_client_hears_of_anything() {
    let bed = Bed::new(
        "providers:
  a: { base_url: '$A/v1', dialects: [openai-chat], retries: { max: 0 }, keys: [{ name: bad, value: 'mock:status=401', weight: 1000000 },
       { name: good, value: sk-good }] }
  b: { base_url: '$B/v1', dialects: [openai-chat], retries: { max: 0 }, keys: [{ name: main, value: sk }] }
models: { voice: { strategy: ordered, targets: [{ model: b/gpt-realtime+status=500 }, { model: a/gpt-realtime }] } }",
    );
    let target = "/v1/realtime?model=voice";
    let (accepted, _socket) = ask(&bed.gateway, target, &HANDSHAKE).await.unwrap();
    assert_eq!(
        (&accepted["x-trestle-provider"], &accepted["x-trestle-attempts"]),
        (&"a".parse().unwrap(), &"3".parse().unwrap())
    );
    assert_eq!((bed.b.requests().len(), bed.a.requests().len()), (1, 2));
    drop(open(&bed, "a/gpt-realtime").await);
    assert_eq!(bed.a.requests().len(), 3, "the refused key stays out");
}

#[tokio::test]
async fn messages_of_any_kind_and_size_pass() {
    let bed = Bed::new("");
    let mut socket = open(&bed, "a/gpt-realtime").await;
    for size in [0, 1, 125, 126, 65_535, 65_536, 5_000_000] {
        let bytes = Bytes::from(vec![b'x'; size]);
        socket.send(Message::Binary(bytes.clone())).await.unwrap();
        assert_eq!(next(&mut socket).await, Some(Message::Binary(bytes)), "{size}");
    }
    // In fragments, with a ping between.
    let text =
        json!({ "type": "conversation.item.create", "item": { "text": "é".repeat(1000) } }).to_string();
    let parts: Vec<_> = text.as_bytes().chunks(700).map(Bytes::copy_from_slice).collect();
    let last = parts.len() - 1;
    for (index, part) in parts.into_iter().enumerate() {
        let code = if index == 0 { Data::Text } else { Data::Continue };
        let frame = Frame::message(part, OpCode::Data(code), index == last);
        socket.send(Message::Frame(frame)).await.unwrap();
        socket.send(Message::Ping(Bytes::from(vec![index as u8]))).await.unwrap();
    }
    let mut pongs = 0;
    let added = loop {
        match next(&mut socket).await.unwrap() {
            Message::Pong(_) => pongs += 1,
            Message::Text(text) => break serde_json::from_str::<Value>(text.as_str()).unwrap(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(added["item"]["text"], "é".repeat(1000));
    assert!(pongs > 0);
    drop(socket);
    let mut socket = open(&bed, "a/gpt-realtime%2Btokens=3%2Bbytes=3000000").await;
    assert_eq!(respond(&mut socket).await.len(), 9_000_000);
}

#[tokio::test]
async fn a_slow_client_slows_the_upstream() {
    let bed = Bed::new("");
    let mut socket = open(&bed, "a/gpt-realtime%2Btokens=4000%2Bbytes=10000").await;
    say(&mut socket, json!({ "type": "response.create" })).await;
    // Nobody reads; what does not fit into the sockets between waits at the upstream, and all of it comes in the end.
    say(&mut socket, json!({ "type": "response.create" })).await;
    let mut text = 0;
    let mut done = 0;
    while done < 2 {
        let event = event(&mut socket).await;
        text += event["delta"].as_str().unwrap_or_default().len();
        done += usize::from(event["type"] == "response.done");
    }
    assert_eq!(text, 2 * 4000 * 10_000);
}

#[tokio::test]
async fn a_session_stays_with_its_model() {
    let bed = Bed::new("models: { voice: { targets: [{ model: a/gpt-realtime }] } }");
    let mut socket = open(&bed, "voice").await;
    let update = |model: &str| json!({ "type": "session.update", "event_id": "e1", "session": { "model": model, "voice": "ash" } });
    for model in ["voice", "gpt-realtime"] {
        say(&mut socket, update(model)).await;
        let updated = event(&mut socket).await;
        assert_eq!(
            (&updated["type"], &updated["session"]["model"]),
            (&json!("session.updated"), &json!("gpt-realtime"))
        );
        assert_eq!(updated["session"]["voice"], "ash");
    }
    say(&mut socket, update("gpt-realtime-2")).await;
    let refused = event(&mut socket).await;
    assert_eq!((&refused["type"], &refused["error"]["event_id"]), (&json!("error"), &json!("e1")));
    assert!(refused["error"]["message"].as_str().unwrap().contains("open another session"), "{refused}");
    assert_eq!(respond(&mut socket).await, "HelloHelloHello", "the session goes on");
}

#[tokio::test]
async fn goodbyes_and_breaks_of_the_upstream_reach_the_client() {
    let bed = Bed::new("");
    let mut socket = open(&bed, "a/gpt-realtime%2Bclose_mid=1").await;
    say(&mut socket, json!({ "type": "response.create" })).await;
    assert_eq!(end(&mut socket).await, (4001, "session expired".to_owned()));
    outcome(&bed, "ok").await;
    for fault in ["cut_mid", "reset_mid"] {
        let bed = Bed::new("");
        let mut socket = open(&bed, &format!("a/gpt-realtime%2B{fault}=1")).await;
        say(&mut socket, json!({ "type": "response.create" })).await;
        assert_eq!(end(&mut socket).await, (1011, "the connection to the provider broke".to_owned()));
        outcome(&bed, "broken").await;
    }
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_session() {
    let bed = Bed::new("");
    let mut socket = open(&bed, "a/gpt-realtime").await;
    respond(&mut socket).await;
    drop(socket);
    outcome(&bed, "cancelled").await;
    until("the upstream is let go", || bed.a.in_flight() == 0).await;
    assert_eq!(bed.tokens(), 30.0, "what was said is counted");
    let bed = Bed::new("");
    let socket = open(&bed, "a/gpt-realtime").await;
    // As large as the limit and a byte; the answer may come before all of it is taken.
    let large = Message::Binary(Bytes::from(vec![0; 16 * 1024 * 1024 + 1]));
    let (mut to, from) = socket.split();
    let (_, (code, _)) = tokio::join!(async { to.send(large).await.is_ok() }, async {
        let mut from = from;
        loop {
            match from.next().await {
                Some(Ok(Message::Close(Some(frame)))) => {
                    break (u16::from(frame.code), frame.reason.to_string());
                }
                Some(Ok(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    });
    assert_eq!(code, 1009);
    until("the upstream is let go", || bed.a.in_flight() == 0).await;
}

#[tokio::test]
async fn a_session_takes_a_place_at_its_provider() {
    let bed = Bed::new(
        "providers: { a: { base_url: '$A/v1', dialects: [openai-chat], keys: [{ name: main, value: sk }], concurrency: 1, queue: 0 } }",
    );
    let socket = open(&bed, "a/gpt-realtime").await;
    let full = refused(&bed, "/v1/realtime?model=a/gpt-realtime", &[]).await;
    assert_eq!(full.status, 503, "{}", full.text());
    drop(socket);
    until("the place is free", || bed.metric("trestle_provider_in_flight") == 0.0).await;
    drop(open(&bed, "a/gpt-realtime").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_goes_says_goodbye() {
    let bed = Bed::new("");
    let mut socket = open(&bed, "a/gpt-realtime").await;
    respond(&mut socket).await;
    let gateway = bed.gateway.clone();
    let stopping = tokio::task::spawn_blocking(move || gateway.stop());
    let (code, reason) = end(&mut socket).await;
    assert_eq!(code, 1001, "{reason}");
    while next(&mut socket).await.is_some() {}
    stopping.await.unwrap();
    until("the upstream is let go", || bed.a.in_flight() == 0).await;
}

#[tokio::test]
async fn a_session_goes_over_tls_and_stays_with_http1() {
    let (mock, cert) = tls_mock();
    let indented = cert.trim_end().replace('\n', "\n        ");
    let gateway = Gateway::open(&format!(
        "
providers:
  a:
    base_url: 'https://localhost:{}/v1'
    dialects: [openai-chat]
    keys: [{{ name: main, value: sk }}]
    tls:
      ca: |
        {indented}
settings: {{ require_keys: false }}
",
        mock.addr().port()
    ))
    .unwrap();
    let mut socket = session(&gateway, "a/gpt-realtime").await;
    assert_eq!(respond(&mut socket).await, "HelloHelloHello");
    assert_eq!(only(&mock).version, "HTTP/1.1");
    drop(socket);
    gateway.stop();
}

#[tokio::test]
async fn messages_count_among_the_bytes_in_flight() {
    let bed =
        Bed::new("settings: { require_keys: false, body_bytes_max: 100000, buffered_bytes_max: 100000 }");
    let mut socket = open(&bed, "a/gpt-realtime").await;
    for _ in 0..3 {
        socket.send(Message::Binary(vec![0; 90_000].into())).await.unwrap();
        assert!(matches!(next(&mut socket).await, Some(Message::Binary(_))));
    }
    socket.send(Message::Binary(vec![0; 100_001].into())).await.unwrap();
    assert_eq!(end(&mut socket).await.0, 1013);
    outcome(&bed, "broken").await;
    assert_eq!(bed.metric("trestle_buffered_bytes"), 0.0);
}
