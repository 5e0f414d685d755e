//! The way through a proxy: a tunnel to providers with TLS (RFC 9110, section 9.3.6), absolute targets for plain ones.

use super::{
    connect::{ConnectError, Io, connect_tcp},
    io::{Duplex, Stream},
    tls,
};
use http::HeaderValue;
use rustls::pki_types::ServerName;
use std::{fmt::Write as _, io};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use trestle_provider::{Origin, Proxy};

/// Largest head of a proxy's answer.
const HEAD_BYTES_MAX: usize = 8 * 1024;

/// What each request on a connection through a proxy says to it.
pub(crate) struct Via {
    /// Before the path: `http://host:port`.
    pub(super) target: String,
    /// Who we are.
    pub(super) authorization: Option<HeaderValue>,
}

/// A connection to a proxy; `ca` is trusted beside the public authorities.
pub(super) async fn dial(proxy: &Proxy, ca: Option<&str>) -> Result<Io, ConnectError> {
    // The operator wrote it, so it may be in the inside network.
    let tcp = connect_tcp(&proxy.origin, true).await?;
    tcp.set_nodelay(true).map_err(ConnectError::Connect)?;
    if !proxy.origin.tls {
        return Ok(Stream::Plain(tcp));
    }
    let name = ServerName::try_from(proxy.origin.host.to_string())
        .map_err(|_| ConnectError::Config("proxy has a name that no certificate can have"))?;
    let client = tls::http1_config(ca).map_err(ConnectError::Config)?;
    let stream = TlsConnector::from(client).connect(name, tcp).await.map_err(ConnectError::Connect)?;
    Ok(Stream::Tls(Box::new(stream)))
}

/// What requests to a plain provider say to a proxy.
pub(super) fn via(proxy: &Proxy, origin: &Origin) -> Via {
    Via { target: format!("http://{}", authority(origin, 80)), authorization: proxy.authorization.clone() }
}

/// Asks for a tunnel. What comes through it is the provider's.
pub(super) async fn tunnel(io: &mut impl Duplex, proxy: &Proxy, origin: &Origin) -> Result<(), ConnectError> {
    let target = authority(origin, 0);
    let mut head = format!("CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n");
    if let Some(authorization) = &proxy.authorization {
        // Made of base64, so that it always is text.
        let _ = write!(head, "proxy-authorization: {}\r\n", authorization.to_str().unwrap_or_default());
    }
    head.push_str("\r\n");
    io.write_all(head.as_bytes()).await.map_err(ConnectError::Connect)?;
    io.flush().await.map_err(ConnectError::Connect)?;
    let mut read = Vec::with_capacity(512);
    // Bounded by the size, and in time by the connection's limit.
    loop {
        if io.read_buf(&mut read).await.map_err(ConnectError::Connect)? == 0 {
            return Err(ConnectError::Connect(io::ErrorKind::UnexpectedEof.into()));
        }
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut parsed = httparse::Response::new(&mut headers);
        match parsed.parse(&read) {
            // Nothing has been asked of the provider yet: what comes with the head is not its.
            Ok(httparse::Status::Complete(length)) if length == read.len() || !is_good(parsed.code) => {
                return match parsed.code {
                    code if is_good(code) => Ok(()),
                    code => Err(ConnectError::Proxy(code.unwrap_or_default())),
                };
            }
            Ok(httparse::Status::Partial) if read.len() < HEAD_BYTES_MAX => {}
            _ => return Err(ConnectError::Config("what is at `proxy` does not speak HTTP as a proxy does")),
        }
    }
}

fn is_good(code: Option<u16>) -> bool {
    code.is_some_and(|code| (200..300).contains(&code))
}

/// `host:port`, without the port where it is the usual one.
fn authority(origin: &Origin, usual: u16) -> String {
    let host = if origin.host.contains(':') { format!("[{}]", origin.host) } else { origin.host.to_string() };
    if origin.port == usual { host } else { format!("{host}:{}", origin.port) }
}
