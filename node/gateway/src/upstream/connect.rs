//! A new connection to a provider: resolve, check the address, connect, TLS.

use super::io::Stream;
use super::tls;
use rustls::pki_types::ServerName;
use std::{io, net::IpAddr, net::SocketAddr};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::{TlsConnector, client::TlsStream};
use trestle_config::ProviderConfig;
use trestle_provider::{Origin, is_forbidden_address, is_private_address};

/// A connection to a provider.
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
    /// It took too long.
    #[error("the provider did not accept the connection in time")]
    Timeout,
    /// HTTP could not begin.
    #[error("the provider does not speak HTTP")]
    Handshake(#[source] hyper::Error),
}

/// Connects; true if HTTP/2 was negotiated.
pub(crate) async fn connect(origin: &Origin, config: &ProviderConfig) -> Result<(Io, bool), ConnectError> {
    let tcp = connect_tcp(origin, config.private_addresses).await?;
    tcp.set_nodelay(true).map_err(ConnectError::Connect)?;
    if !origin.tls {
        return Ok((Stream::Plain(tcp), config.http2_prior_knowledge));
    }
    let name = config.tls_server_name.as_deref().unwrap_or(&origin.host).to_owned();
    let name =
        ServerName::try_from(name).map_err(|_| ConnectError::Config("tls.server_name is not a host name"))?;
    let client = tls::client_config(config.tls_ca.as_deref()).map_err(ConnectError::Config)?;
    let stream = TlsConnector::from(client).connect(name, tcp).await.map_err(ConnectError::Connect)?;
    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    Ok((Stream::Tls(Box::new(stream)), http2))
}

async fn connect_tcp(origin: &Origin, private_allowed: bool) -> Result<TcpStream, ConnectError> {
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
