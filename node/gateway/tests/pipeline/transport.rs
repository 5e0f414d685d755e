//! Connections to upstreams: TLS, HTTP/2, reuse, limits in time, and the spreading of requests over threads.

use crate::support::{Bed, CHAT, chat, until, whole};
use bytes::Bytes;
use http::HeaderMap;
use serde_json::json;
use std::net::TcpListener;
use trestle_bench::mock::{Mock, Options, Pem};
use trestle_gateway::{Gateway, Headers};

pub(crate) fn tls_mock() -> (Mock, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let cert = made.cert.pem();
    let pem = Pem { cert: cert.clone().into(), key: made.signing_key.serialize_pem().into() };
    (Mock::start(Options { tls: Some(pem), ..Options::default() }).unwrap(), cert)
}

fn port(mock: &Mock) -> u16 {
    mock.addr().port()
}

async fn ask(gateway: &Gateway, model: &str, stream: bool) -> crate::support::Whole {
    let mut body = chat(model);
    body["stream"] = json!(stream);
    whole(gateway.client(None).send(CHAT, HeaderMap::new(), body.to_string().into()).await.unwrap()).await
}

#[tokio::test]
async fn tls_negotiates_http2_and_trusts_only_whom_it_is_told_to() {
    let (mock, cert) = tls_mock();
    let indented = cert.trim_end().replace('\n', "\n        ");
    let port = port(&mock);
    let gateway = Gateway::open(&format!(
        "
providers:
  trusted:
    base_url: 'https://localhost:{port}/v1'
    dialects: [openai-chat]
    keys: [{{ name: main, value: sk }}]
    tls:
      ca: |
        {indented}
  strange: {{ base_url: 'https://localhost:{port}/v1', dialects: [openai-chat], keys: [{{ name: main, value: sk }}], retries: {{ max: 0 }} }}
  renamed:
    base_url: 'https://127.0.0.1:{port}/v1'
    dialects: [openai-chat]
    keys: [{{ name: main, value: sk }}]
    tls:
      server_name: localhost
      ca: |
        {indented}
settings: {{ require_keys: false }}
"
    ))
    .unwrap();
    for stream in [false, true, false, true] {
        for model in ["trusted/gpt-4o-mini", "renamed/gpt-4o-mini"] {
            let answer = ask(&gateway, model, stream).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert!(answer.text().contains("Hello"), "{}", answer.text());
        }
    }
    assert!(mock.requests().iter().all(|request| request.version == "HTTP/2.0"));
    let answer = ask(&gateway, "strange/gpt-4o-mini", false).await;
    assert_eq!(answer.status, 502, "{}", answer.text());
    assert!(answer.text().contains("connect_failed"), "{}", answer.text());
    gateway.stop();
}

#[tokio::test]
async fn http2_without_tls_by_prior_knowledge() {
    let bed = Bed::new(
        "providers: { a: { base_url: '$A/v1', dialects: [openai-chat], keys: [{ name: main, value: sk }], http2: true } }",
    );
    let many =
        futures_util::future::join_all((0..250).map(|_| ask(&bed.gateway, "a/gpt-4o-mini", true))).await;
    assert!(many.iter().all(|answer| answer.status == 200 && answer.text().trim_end().ends_with("[DONE]")));
    assert!(bed.a.requests().iter().all(|request| request.version == "HTTP/2.0"));
}

#[tokio::test]
async fn a_kept_connection_that_the_upstream_closed_is_not_an_error() {
    let bed = Bed::new("");
    for stream in [false, true] {
        for _ in 0..3 {
            // The mock ends the connection in the middle of an answer; the next request must not meet its remains.
            ask(&bed.gateway, "a/gpt-4o-mini", stream).await;
            ask(&bed.gateway, "a/gpt-4o-mini+close_mid=1+tokens=3", true).await;
            ask(&bed.gateway, "a/gpt-4o-mini+reset_mid=1+tokens=3", true).await;
            let answer = ask(&bed.gateway, "a/gpt-4o-mini", stream).await;
            assert_eq!(
                (answer.status.as_u16(), answer.header("x-trestle-attempts")),
                (200, "1"),
                "{}",
                answer.text()
            );
        }
    }
}

#[tokio::test]
async fn connections_are_used_again() {
    let bed = Bed::new("");
    for stream in [false, true] {
        for _ in 0..20 {
            let answer = ask(&bed.gateway, "a/gpt-4o-mini+tokens=3", stream).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
    }
    // Each data thread opens at most one for streams and one for the rest.
    let threads = std::thread::available_parallelism().unwrap().get();
    assert!(bed.metric("trestle_upstream_connections_total") <= (2 * threads) as f64);
}

#[tokio::test]
async fn limits_in_time_are_told_by_their_name() {
    // Accepts connections, by the kernel, and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let bed = Bed::new(&format!(
        "providers:
  tls: {{ base_url: 'https://localhost:{port}/v1', dialects: [openai-chat], keys: [{{ name: main, value: sk }}], timeouts: {{ connect_ms: 200 }}, retries: {{ max: 0 }} }}
  a: {{ base_url: '$A/v1', dialects: [openai-chat], keys: [{{ name: main, value: sk }}], timeouts: {{ total_ms: 400 }}, retries: {{ max: 0 }} }}"
    ));
    for (model, status, cause) in
        [("tls/x", 504, "connect_timeout"), ("a/gpt-4o-mini+silent", 504, "total_timeout")]
    {
        let answer = bed.chat(model).await;
        assert_eq!(answer.status, status, "{model}: {}", answer.text());
        assert!(answer.text().contains(cause), "{model}: {}", answer.text());
    }
    let answer = bed.stream("a/gpt-4o-mini+tokens=1000+gap_ms=20").await;
    assert_eq!(answer.status, 200);
    assert!(answer.text().contains("total limit") && !answer.text().contains("[DONE]"), "{}", answer.text());
}

#[tokio::test]
async fn requests_of_one_connection_spread_over_the_threads() {
    let document = trestle_config::parse(
        "providers: { mock: { mock: { delay_ms: 3000 } } }\nsettings: { require_keys: false }",
    )
    .unwrap();
    let snapshot = trestle_config::compile(&document, 1, &trestle_gateway::HostSecrets).unwrap().snapshot;
    let gateway =
        Gateway::start(snapshot, trestle_gateway::Options { threads: 3, ..Default::default() }).unwrap();
    gateway.spawn(|worker| async move {
        let asking = (0..30).map(|_| {
            let body = Bytes::from(chat("mock/echo").to_string());
            worker.handle_spread(CHAT.into(), (Headers::Map(HeaderMap::new()), body))
        });
        futures_util::future::join_all(asking).await;
    });
    let loads = || -> Vec<f64> {
        let text = gateway.metrics();
        let lines = text.lines().filter(|line| line.starts_with("trestle_thread_in_flight{"));
        lines.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect()
    };
    let shared = |loads: &[f64]| loads.iter().all(|load| (5.0..20.0).contains(load));
    until("every thread has its share", || shared(&loads()) && loads().iter().sum::<f64>() == 30.0).await;
    gateway.stop();
}
