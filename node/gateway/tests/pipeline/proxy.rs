//! A small forward proxy inside of a test: tunnels, and absolute targets; with or without TLS to itself.

#![allow(clippy::unwrap_used, reason = "a panic here is a failed test")]

use rustls::{ServerConfig, pki_types::PrivateKeyDer};
use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;

/// `user:pass word`, as a proxy is told.
const AUTHORIZATION: &str = "proxy-authorization: Basic dXNlcjpwYXNzIHdvcmQ=";

/// The proxy. Its tasks end with the test's runtime.
pub(crate) struct Proxy {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
    /// The certificate of one with TLS.
    pub(crate) cert: String,
}

impl Proxy {
    pub(crate) async fn plain() -> Self {
        Self::start(None, String::new()).await
    }

    pub(crate) async fn with_tls() -> Self {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        Self::start(Some(TlsAcceptor::from(Arc::new(config))), made.cert.pem()).await
    }

    async fn start(tls: Option<TlsAcceptor>, cert: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Self { address: listener.local_addr().unwrap(), heads: Arc::default(), cert };
        let heads = Arc::clone(&proxy.heads);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (heads, tls) = (Arc::clone(&heads), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => serve(stream, &heads).await,
                        Some(tls) => serve(tls.accept(stream).await?, &heads).await,
                    }
                });
            }
        });
        proxy
    }

    /// Its URL with the right password, or another one.
    pub(crate) fn url(&self, password: &str) -> String {
        let scheme = if self.cert.is_empty() { "http" } else { "https" };
        format!("{scheme}://user:{password}@localhost:{}", self.address.port())
    }

    /// The heads of all requests to it.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn serve(
    mut client: impl AsyncRead + AsyncWrite + Unpin,
    heads: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await?);
    }
    let head = String::from_utf8(head).unwrap();
    heads.lock().unwrap().push(head.clone());
    if !head.lines().any(|line| line.eq_ignore_ascii_case(AUTHORIZATION)) {
        return client.write_all(b"HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\n\r\n").await;
    }
    let mut words = head.splitn(3, ' ');
    let (method, target, rest) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    if method == "CONNECT" {
        let mut upstream = TcpStream::connect(target).await?;
        client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await?;
        copy_bidirectional(&mut client, &mut upstream).await?;
        return Ok(());
    }
    let (host, path) = target.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut upstream = TcpStream::connect(host).await?;
    let rest = rest.replace(&format!("{AUTHORIZATION}\r\n"), "");
    upstream.write_all(format!("{method} /{path} {rest}").as_bytes()).await?;
    copy_bidirectional(&mut client, &mut upstream).await?;
    Ok(())
}
