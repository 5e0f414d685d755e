//! Providers behind a proxy.

use crate::{
    issuer::{Answer, Server},
    proxy::Proxy,
    realtime,
    support::{Whole, chat, until, whole},
};
use http::HeaderMap;
use std::time::Duration;
use trestle_bench::mock::{Mock, Options, Pem};
use trestle_gateway::{Endpoint, Gateway, HostSecrets};

fn mock(tls: bool) -> (Mock, String, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let cert = made.cert.pem();
    let pem = Pem { cert: cert.clone().into(), key: made.signing_key.serialize_pem().into() };
    let mock = Mock::start(Options { tls: tls.then_some(pem), ..Options::default() }).unwrap();
    let scheme = if tls { "https" } else { "http" };
    let url = format!("{scheme}://localhost:{}", mock.addr().port());
    (mock, url, if tls { cert } else { String::new() })
}

/// A document with the provider `a` behind a proxy; both certificates are trusted.
fn document(url: &str, proxy: &str, certs: &str) -> String {
    let ca = certs.trim().replace('\n', "\n        ");
    let tls = if ca.is_empty() { String::new() } else { format!("    tls:\n      ca: |\n        {ca}\n") };
    format!(
        "providers:\n  a:\n    base_url: '{url}/v1'\n    dialects: [openai-chat]\n    proxy: '{proxy}'\n    retries: {{ max: 0 }}\n    \
         timeouts: {{ connect_ms: 5000 }}\n    keys: [{{ name: main, value: sk }}]\n{tls}settings: {{ require_keys: false }}\n"
    )
}

async fn ask(gateway: &Gateway, stream: bool) -> Whole {
    let mut body = chat("a/gpt-4o-mini");
    body["stream"] = stream.into();
    let chat = Endpoint::Generate(trestle_dialect::Dialect::OpenAiChat);
    whole(gateway.client(None).send(chat, HeaderMap::new(), body.to_string().into()).await.unwrap()).await
}

#[tokio::test]
async fn requests_go_through_proxies_of_each_kind_to_providers_of_each_kind() {
    for through_tls in [false, true] {
        let proxy = if through_tls { Proxy::with_tls().await } else { Proxy::plain().await };
        for to_tls in [false, true] {
            let (mock, url, cert) = mock(to_tls);
            let before = proxy.heads().len();
            let certs = format!("{cert}{}", proxy.cert);
            let gateway = Gateway::open(&document(&url, &proxy.url("pass%20word"), &certs)).unwrap();
            for stream in [false, true, false] {
                let answer = ask(&gateway, stream).await;
                assert_eq!(answer.status, 200, "{through_tls} {to_tls}: {}", answer.text());
                assert!(answer.text().contains("Hello"), "{}", answer.text());
            }
            let heads = proxy.heads();
            let host = url.split("://").nth(1).unwrap();
            let start = match to_tls {
                true => format!("CONNECT {host} HTTP/1.1\r\nhost: {host}\r\n"),
                false => format!("POST {url}/v1/chat/completions HTTP/1.1\r\n"),
            };
            assert!(
                heads.len() > before && heads[before..].iter().all(|head| head.starts_with(&start)),
                "{heads:?}"
            );
            let seen = mock.requests();
            let version = if to_tls { "HTTP/2.0" } else { "HTTP/1.1" };
            assert!(seen.len() == 3 && seen.iter().all(|request| request.version == version), "{seen:?}");
            assert_eq!(seen[0].header("proxy-authorization"), None);
            gateway.stop();
        }
    }
}

#[tokio::test]
async fn a_proxy_that_says_no_is_told_without_its_password() {
    let proxy = Proxy::plain().await;
    for (to_tls, cause) in [(true, "bad_configuration"), (false, "")] {
        let (mock, url, cert) = mock(to_tls);
        let gateway = Gateway::open(&document(&url, &proxy.url("wrong-one"), &cert)).unwrap();
        let answer = ask(&gateway, false).await;
        let text = answer.text();
        assert!(!answer.status.is_success() && text.contains(cause) && !text.contains("wrong-one"), "{text}");
        assert!(mock.requests().is_empty());
        gateway.stop();
    }
}

#[tokio::test]
async fn a_silent_proxy_runs_into_the_limit() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("http://127.0.0.1:{}", silent.local_addr().unwrap().port());
    let document = document("https://localhost:1", &proxy, "").replace("connect_ms: 5000", "connect_ms: 200");
    let gateway = Gateway::open(&document).unwrap();
    let answer = ask(&gateway, false).await;
    assert_eq!(answer.status, 504, "{}", answer.text());
    assert!(answer.text().contains("connect_timeout"), "{}", answer.text());
    gateway.stop();
}

#[tokio::test]
async fn another_proxy_means_other_connections() {
    let (first, second) = (Proxy::plain().await, Proxy::plain().await);
    let (mock, url, cert) = mock(true);
    let with = |proxy: &Proxy| document(&url, &proxy.url("pass%20word"), &cert);
    let gateway = Gateway::open(&with(&first)).unwrap();
    assert_eq!(ask(&gateway, false).await.status, 200);
    assert_eq!((first.heads().len(), second.heads().len()), (1, 0));
    gateway.replace(trestle_config::load(&with(&second), 2, &HostSecrets).unwrap().snapshot);
    assert_eq!(ask(&gateway, false).await.status, 200);
    assert_eq!((first.heads().len(), second.heads().len()), (1, 1));
    assert_eq!(mock.requests().len(), 2);
    gateway.stop();
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_are_fetched_through_the_proxy_as_well() {
    let issuer = Server::start(|_, _| Answer::ok(r#"{"access_token":"t","expires_in":3600}"#));
    let proxy = Proxy::plain().await;
    let (_mock, url, _) = mock(false);
    let entra =
        format!("entra: {{ tenant: t, client_id: c, client_secret: s, authority: '{}' }}", issuer.url());
    let document = document(&url, &proxy.url("pass%20word"), "").replace("value: sk", &entra);
    let gateway = Gateway::open(&document).unwrap();
    gateway.credentials_settled(Duration::from_secs(20)).await;
    until("a head at the proxy", || !proxy.heads().is_empty()).await;
    let host = issuer.url().replace("http://", "");
    assert!(proxy.heads()[0].contains(&host), "{:?}", proxy.heads());
    let answer = ask(&gateway, false).await;
    assert_eq!(answer.status, 200, "{} {:?}", answer.text(), proxy.heads());
    gateway.stop();
}

#[tokio::test]
async fn sessions_go_through_a_tunnel_whatever_the_provider_speaks() {
    for to_tls in [false, true] {
        let proxy = Proxy::plain().await;
        let (mock, url, cert) = mock(to_tls);
        let gateway = Gateway::open(&document(&url, &proxy.url("pass%20word"), &cert)).unwrap();
        let mut socket = realtime::session(&gateway, "a/gpt-realtime").await;
        assert_eq!(realtime::respond(&mut socket).await, "HelloHelloHello");
        let heads = proxy.heads();
        let host = url.split("://").nth(1).unwrap();
        assert!(heads.len() == 1 && heads[0].starts_with(&format!("CONNECT {host} ")), "{heads:?}");
        assert_eq!(mock.requests().len(), 1);
        drop(socket);
        gateway.stop();
    }
}
