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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Settings;
    use std::{collections::BTreeMap, time::Duration};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio_rustls::TlsAcceptor;

    fn connector(port: u16, protocol: &'static str, ca: Option<&Path>) -> anyhow::Result<Connector> {
        let flags =
            [("otlp.endpoint", format!("https://localhost:{port}")), ("otlp.protocol", protocol.to_owned())];
        let mut flags = BTreeMap::from(flags);
        flags.extend(ca.map(|path| ("otlp.ca", path.display().to_string())));
        Connector::new(&Settings::load(None, flags)?.otlp.unwrap())
    }

    /// A connection to a server whose certificate only `ca` knows of; the protocol that was agreed on.
    async fn connected(protocol: &'static str, is_known: bool) -> io::Result<Vec<u8>> {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let ca = folder.path().join("ca.pem");
        std::fs::write(&ca, made.cert.pem()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let key = made.signing_key.serialize_der().try_into().unwrap();
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let listener = tokio::net::TcpListener::bind("localhost:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = tokio::spawn(async move {
            let (stream, _) = listener.accept().await?;
            let mut stream = TlsAcceptor::from(Arc::new(config)).accept(stream).await?;
            let agreed = stream.get_ref().1.alpn_protocol().unwrap_or_default().to_vec();
            stream.write_all(b"!").await?;
            stream.shutdown().await?;
            io::Result::Ok(agreed)
        });
        let connector = connector(port, protocol, is_known.then_some(&*ca)).unwrap();
        let mut stream = connector.connect().await?.into_inner();
        assert_eq!(stream.read_u8().await?, b'!');
        served.await.unwrap()
    }

    #[tokio::test]
    async fn a_collector_is_known_by_its_authority() {
        for (protocol, wanted) in [("grpc", "h2"), ("http", "http/1.1")] {
            let limit = Duration::from_secs(60);
            let agreed = tokio::time::timeout(limit, connected(protocol, true)).await.unwrap().unwrap();
            assert_eq!(String::from_utf8(agreed).unwrap(), wanted);
            let error = tokio::time::timeout(limit, connected(protocol, false)).await.unwrap().unwrap_err();
            assert!(error.to_string().contains("UnknownIssuer"), "{error}");
        }
    }

    #[test]
    fn authorities_that_are_none_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let error = format!("{:#}", connector(1, "grpc", Some(&file)).err().unwrap());
        assert!(error.contains("`otlp.ca`: ") && error.contains("cannot be read"), "{error}");
        std::fs::write(&file, "nothing").unwrap();
        let error = format!("{:#}", connector(1, "grpc", Some(&file)).err().unwrap());
        assert!(error.contains("holds no certificate"), "{error}");
    }
}
