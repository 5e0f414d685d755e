//! A new connection to a provider: resolve, check the address, connect, TLS.

use super::{
    io::Stream,
    proxy::{self, Via},
    tls,
};
use rustls::pki_types::ServerName;
use std::{
    io,
    net::{IpAddr, SocketAddr},
    rc::Rc,
};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::{TlsConnector, client::TlsStream};
use trestle_config::ProviderConfig;
use trestle_provider::{Origin, is_forbidden_address, is_private_address};

/// A connection to a provider, or to a proxy.
pub(crate) type Io = Stream<TlsStream<TcpStream>>;

/// Why there is no connection. The text is public: it names no address of the inside network.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConnectError {
    /// The name does not resolve.
    #[error("the provider's name does not resolve")]
    Resolve(#[source] io::Error),
    /// The address may not be called.
    #[error("{0}")]
    Refused(&'static str),
    /// TCP or TLS failed.
    #[error("the provider cannot be reached")]
    Connect(#[source] io::Error),
    /// The configuration makes no sense.
    #[error("{0}")]
    Config(&'static str),
    /// The proxy between does not let it pass, and says so with this status.
    #[error("the proxy answered {0}")]
    Proxy(u16),
    /// It took too long.
    #[error("the provider did not accept the connection in time")]
    Timeout,
    /// HTTP could not begin.
    #[error("the provider does not speak HTTP")]
    Handshake(#[source] hyper::Error),
}

/// A new connection.
pub(crate) struct Connected {
    /// The connection.
    pub(crate) io: Io,
    /// HTTP/2 was negotiated, or is known ahead.
    pub(crate) http2: bool,
    /// What requests say to the proxy between.
    pub(crate) via: Option<Rc<Via>>,
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    /// Requests, by any version of HTTP.
    Http,
    /// HTTP/1 until it switches to WebSocket.
    WebSocket,
}

/// Connects, through the proxy of the provider if it has one.
pub(crate) async fn connect(
    origin: &Origin,
    config: &ProviderConfig,
    speaks: Speaks,
) -> Result<Connected, ConnectError> {
    let ca = config.tls_ca.as_deref();
    // What is no HTTP any more goes through a proxy in a tunnel.
    let tunnelled = origin.tls || speaks == Speaks::WebSocket;
    let (mut io, via) = match &config.proxy {
        None => {
            let tcp = connect_tcp(origin, config.private_addresses).await?;
            tcp.set_nodelay(true).map_err(ConnectError::Connect)?;
            (Stream::Plain(tcp), None)
        }
        Some(proxy) => {
            let via = (!tunnelled).then(|| Rc::new(proxy::via(proxy, origin)));
            (proxy::dial(proxy, ca).await?, via)
        }
    };
    if let Some(proxy) = config.proxy.as_ref().filter(|_| tunnelled) {
        proxy::tunnel(&mut io, proxy, origin).await?;
    }
    if !origin.tls {
        return Ok(Connected { io, http2: config.http2_prior_knowledge, via });
    }
    let name = config.tls_server_name.as_deref().unwrap_or(&origin.host).to_owned();
    let name =
        ServerName::try_from(name).map_err(|_| ConnectError::Config("tls.server_name is not a host name"))?;
    let client = match speaks {
        Speaks::Http => tls::client_config(ca),
        Speaks::WebSocket => tls::http1_config(ca),
    };
    let client = TlsConnector::from(client.map_err(ConnectError::Config)?);
    let (io, http2) = match io {
        Stream::Plain(tcp) => {
            let stream = client.connect(name, tcp).await.map_err(ConnectError::Connect)?;
            let http2 = is_http2(&stream);
            (Stream::Tls(Box::new(stream)), http2)
        }
        outer => {
            let stream = client.connect(name, outer).await.map_err(ConnectError::Connect)?;
            let http2 = is_http2(&stream);
            (Stream::Nested(Box::new(stream)), http2)
        }
    };
    Ok(Connected { io, http2, via: None })
}

fn is_http2<T>(stream: &TlsStream<T>) -> bool {
    stream.get_ref().1.alpn_protocol() == Some(b"h2")
}

pub(super) async fn connect_tcp(origin: &Origin, private_allowed: bool) -> Result<TcpStream, ConnectError> {
    let addresses: Vec<SocketAddr> = match origin.host.parse::<IpAddr>() {
        Ok(ip) => vec![SocketAddr::new(ip, origin.port)],
        Err(_) => lookup_host((&*origin.host, origin.port)).await.map_err(ConnectError::Resolve)?.collect(),
    };
    let mut last = ConnectError::Resolve(io::Error::from(io::ErrorKind::NotFound));
    for address in addresses {
        if is_forbidden_address(address.ip()) {
            last = ConnectError::Refused("link-local and metadata addresses are never called");
            continue;
        }
        if !private_allowed && is_private_address(address.ip()) {
            last = ConnectError::Refused(
                "the name resolves to a private address: set private_addresses for this provider if that is meant",
            );
            continue;
        }
        match TcpStream::connect(address).await {
            Ok(tcp) => return Ok(tcp),
            Err(error) => last = ConnectError::Connect(error),
        }
    }
    Err(last)
}
