//! TLS towards providers.

use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::sync::{Arc, LazyLock};

static PUBLIC: LazyLock<Arc<ClientConfig>> = LazyLock::new(|| Arc::new(config(public_roots())));

fn public_roots() -> RootCertStore {
    RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() }
}

#[allow(clippy::expect_used)]
fn config(roots: RootCertStore) -> ClientConfig {
    // The only way for this to fail is a provider without the default protocol versions, which ring is not.
    let mut config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring has the default versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}

/// The same for what speaks HTTP/1 alone: proxies, and what switches from there to WebSocket.
pub(crate) fn http1_config(extra: Option<&str>) -> Result<Arc<ClientConfig>, &'static str> {
    let mut config = ClientConfig::clone(&*client_config(extra)?);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The configuration that trusts the public authorities and those in `extra` (PEM).
pub(crate) fn client_config(extra: Option<&str>) -> Result<Arc<ClientConfig>, &'static str> {
    let Some(pem) = extra else { return Ok(Arc::clone(&PUBLIC)) };
    let mut roots = public_roots();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|_| "tls.ca is not valid PEM")?;
        roots.add(certificate).map_err(|_| "tls.ca holds a certificate that cannot be an authority")?;
    }
    if roots.len() == webpki_roots::TLS_SERVER_ROOTS.len() {
        return Err("tls.ca holds no certificate");
    }
    Ok(Arc::new(config(roots)))
}
