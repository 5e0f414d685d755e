//! TLS towards clients: a certificate that can be exchanged while connections run.

use crate::{
    files::{ReadFiles, SECRET_BYTES_MAX, Watched},
    settings::TlsFiles,
};
use anyhow::{Context, ensure};
use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};
use tokio_rustls::TlsAcceptor;
use trestle_cluster::certificate_end;

/// TLS towards clients.
pub(crate) struct Tls {
    files: TlsFiles,
    current: Arc<Current>,
    acceptor: TlsAcceptor,
    /// Only the reload looks at it.
    watched: Mutex<Watched>,
}

/// The certificate that new connections get.
#[derive(Debug)]
struct Current(ArcSwap<CertifiedKey>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl Tls {
    /// Reads the files.
    pub(crate) fn load(files: TlsFiles) -> anyhow::Result<Self> {
        let (certificate, read) = read(&files);
        let current = Arc::new(Current(ArcSwap::from_pointee(certificate?)));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        Ok(Self { files, current, acceptor, watched: Mutex::new(Watched::new(read)) })
    }

    /// For a new connection.
    pub(crate) fn acceptor(&self) -> &TlsAcceptor {
        &self.acceptor
    }

    /// When the certificate that new connections get ends.
    pub(crate) fn ends_at(&self) -> Option<SystemTime> {
        certificate_end(self.current.0.load().end_entity_cert().ok()?)
    }

    /// Whether the files differ from what was read last.
    pub(crate) fn changed(&self) -> bool {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner).changed()
    }

    /// Reads the files again; on an error new connections go on getting the certificate that was there.
    pub(crate) fn reload(&self) -> anyhow::Result<()> {
        let (certificate, read) = read(&self.files);
        *self.watched.lock().unwrap_or_else(PoisonError::into_inner) = Watched::new(read);
        self.current.0.store(Arc::new(certificate?));
        Ok(())
    }
}

fn read(files: &TlsFiles) -> (anyhow::Result<CertifiedKey>, ReadFiles) {
    let mut read = ReadFiles::default();
    let mut text =
        |path| read.text(path, SECRET_BYTES_MAX).with_context(|| format!("cannot read {}", path.display()));
    let texts = (text(&files.cert), text(&files.key));
    let certificate = match texts {
        (Ok(cert), Ok(key)) => certified(files, &cert, &key),
        (Err(error), _) | (_, Err(error)) => Err(error),
    };
    (certificate, read)
}

fn certified(files: &TlsFiles, cert: &str, key: &str) -> anyhow::Result<CertifiedKey> {
    let (cert_path, key_path) = (files.cert.display(), files.key.display());
    let chain = CertificateDer::pem_slice_iter(cert.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| anyhow::anyhow!("{cert_path} is not PEM: {error}"))?;
    ensure!(!chain.is_empty(), "{cert_path} holds no certificate in PEM");
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
        .map_err(|error| anyhow::anyhow!("{key_path} holds no private key in PEM: {error}"))?;
    CertifiedKey::from_der(chain, key, &ring::default_provider())
        .with_context(|| format!("{cert_path} and {key_path} do not make a pair"))
}
