//! Connections to the collector: TCP, and TLS where the endpoint says so.

use crate::settings::{Otlp, Protocol};
use anyhow::{Context, bail};
use http::Uri;
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use std::{io, path::Path, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::TlsConnector;

/// Bytes both ways, encrypted or not.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Where the collector is, and how a connection there is made.
#[derive(Clone)]
pub(super) struct Connector {
    host: Arc<str>,
    port: u16,
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl Connector {
    /// Reads the authorities. Errors name the setting.
    pub(super) fn new(settings: &Otlp) -> anyhow::Result<Self> {
        let uri = &settings.endpoint;
        let host = uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']');
        let encrypted = uri.scheme() == Some(&http::uri::Scheme::HTTPS);
        let tls = if encrypted {
            let name = ServerName::try_from(host.to_owned())
                .context("`otlp.endpoint`: the host is no name that a certificate can be for")?;
            let protocol: &[u8] = match settings.protocol {
                Protocol::Grpc => b"h2",
                Protocol::Http => b"http/1.1",
            };
            let config = config(settings.ca.as_deref(), protocol)?;
            Some((TlsConnector::from(Arc::new(config)), name))
        } else {
            None
        };
        let port = uri.port_u16().unwrap_or(if encrypted { 443 } else { 80 });
        Ok(Self { host: host.into(), port, tls })
    }

    /// A new connection.
    pub(super) async fn connect(self) -> io::Result<TokioIo<Box<dyn Stream>>> {
        let stream = TcpStream::connect((&*self.host, self.port)).await?;
        stream.set_nodelay(true)?;
        let stream: Box<dyn Stream> = match self.tls {
            Some((connector, name)) => Box::new(connector.connect(name, stream).await?),
            None => Box::new(stream),
        };
        Ok(TokioIo::new(stream))
    }
}

fn config(ca: Option<&Path>, protocol: &[u8]) -> anyhow::Result<ClientConfig> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = ca {
        let shown = path.display();
        let pem = std::fs::read(path).with_context(|| format!("`otlp.ca`: {shown} cannot be read"))?;
        let before = roots.len();
        for certificate in CertificateDer::pem_slice_iter(&pem) {
            let certificate = certificate.with_context(|| format!("`otlp.ca`: {shown} is not valid PEM"))?;
            roots.add(certificate).with_context(|| {
                format!("`otlp.ca`: {shown} holds a certificate that cannot be an authority")
            })?;
        }
        if roots.len() == before {
            bail!("`otlp.ca`: {shown} holds no certificate");
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("TLS towards the collector")?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    Ok(config)
}

/// The authority of a URL as a host header has it.
pub(super) fn authority(uri: &Uri) -> &str {
    uri.authority().map_or("", http::uri::Authority::as_str)
}
