//! HTTP/2, TLS and the canned mode.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Version};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use trestle_bench::mock::{Mock, Options, Pem};

use crate::http::{chat, messages, send};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

async fn two_streams<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(stream: S) {
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let ask = |settings: &'static str| {
        let mut sender = sender.clone();
        let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "a b"}]});
        async move {
            let request = Request::post("http://mock/v1/chat/completions")
                .version(Version::HTTP_2)
                .header("authorization", "Bearer k")
                .header("x-mock", settings)
                .body(Full::new(Bytes::from(body.to_string())))
                .unwrap();
            sender.send_request(request).await.unwrap().into_body().collect().await
        }
    };
    // A stream that is reset takes no other stream of its connection with it.
    let (fine, broken) = tokio::join!(ask("gap_ms=10"), ask("reset_mid=1"));
    assert!(fine.unwrap().to_bytes().ends_with(b"data: [DONE]\n\n"));
    assert!(broken.is_err());
}

#[test]
fn http2_by_prior_knowledge() {
    let mock = Mock::start(Options::default()).unwrap();
    block_on(async { two_streams(TcpStream::connect(mock.addr()).await.unwrap()).await });
    assert_eq!(mock.requests()[0].version, "HTTP/2.0");
}

#[test]
fn http2_over_tls_by_alpn() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let pem = Pem { cert: made.cert.pem().into_bytes(), key: made.signing_key.serialize_pem().into_bytes() };
    let mock = Mock::start(Options { tls: Some(pem), ..Options::default() }).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    block_on(async {
        let stream = TcpStream::connect(mock.addr()).await.unwrap();
        let stream = connector.connect("localhost".try_into().unwrap(), stream).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        two_streams(stream).await;
    });
}

#[test]
fn canned_answers() {
    let mock = Mock::start(Options { canned: true, ..Options::default() }).unwrap();
    let say = |more: serde_json::Value| {
        let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "x"}]});
        for (name, value) in more.as_object().unwrap() {
            body[name] = value.clone();
        }
        body
    };
    let whole = chat(&mock, "", &say(json!({})));
    assert!((950..1_100).contains(&whole.body.len()), "{}", whole.body.len());
    assert_eq!(whole.json()["object"], "chat.completion");
    assert_eq!(messages(&mock, "", &say(json!({}))).json()["type"], "message");
    for more in [json!({"stream": true}), json!({"stream": true, "user": "gap_us=100"})] {
        let stream = chat(&mock, "", &say(more));
        assert!(stream.complete);
        assert_eq!(stream.events().len(), 101);
    }
    let usage = chat(&mock, "", &say(json!({"stream": true, "stream_options": {"include_usage": true}})));
    assert_eq!(usage.events().len(), 102);
    assert_eq!(send(&mock, "GET /healthz", &[], "").status, 200);
}
