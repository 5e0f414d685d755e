//! Certificate, key and authority in the layout that cert-manager writes, and what rustls makes of them.

use super::{tls_names::PeersOnly, validity::certificate_end};
use rustls::{
    CertificateError, ClientConfig, Error, RootCertStore, ServerConfig,
    client::{Resumption, WebPkiServerVerifier, danger::ServerCertVerifier},
    crypto::{CryptoProvider, ring},
    pki_types::{
        CertificateDer, DnsName, PrivateKeyDer, ServerName, UnixTime,
        pem::{self, PemObject},
    },
    server::{NoServerSessionStorage, VerifierBuilderError, WebPkiClientVerifier},
    version::TLS13,
};
use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const AUTHORITY: &str = "ca.crt";
/// Some certificates have a few KiB.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is not there or cannot be read.
    #[error("{0} cannot be read: {1}")]
    Read(PathBuf, #[source] io::Error),
    /// A file has not what it should have.
    #[error("{0} {1}")]
    Content(PathBuf, String),
    /// The name of the mesh is not one that a certificate may have.
    #[error("the name of the mesh, `{0}`, is not a DNS name")]
    Name(String),
    /// The certificate is of this authority but not of this mesh, or of another authority.
    #[error(
        "{0} is not a certificate of the mesh `{1}`: {2}; it must be signed by {AUTHORITY} beside it and have that DNS name"
    )]
    NotOfMesh(PathBuf, String, String),
}

/// The bytes of the three files. They are compared to find out what changed.
#[derive(PartialEq, Eq)]
pub(super) struct TlsFiles {
    certificate: Vec<u8>,
    key: Vec<u8>,
    authority: Vec<u8>,
}

impl TlsFiles {
    pub(super) fn read(folder: &Path) -> Result<Self, TlsError> {
        let read = |name: &str| {
            let path = folder.join(name);
            let mut bytes = Vec::new();
            let opened = File::open(&path).and_then(|file| file.take(FILE_BYTES_MAX).read_to_end(&mut bytes));
            opened.map(|_| bytes).map_err(|error| TlsError::Read(path, error))
        };
        Ok(Self { certificate: read(CERTIFICATE)?, key: read(KEY)?, authority: read(AUTHORITY)? })
    }
}

/// What new connections get.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) client: Arc<ClientConfig>,
    pub(super) server: Arc<ServerConfig>,
    /// The name of the mesh, which servers must have.
    pub(super) name: ServerName<'static>,
    /// When the certificate of this node ends, if that can be read.
    pub(super) ends_at: Option<SystemTime>,
}

impl Loaded {
    pub(super) fn new(folder: &Path, files: &TlsFiles, mesh_name: &str) -> Result<Self, TlsError> {
        let bad = |name: &str, why: String| TlsError::Content(folder.join(name), why);
        let name =
            DnsName::try_from(mesh_name.to_owned()).map_err(|_| TlsError::Name(mesh_name.to_owned()))?;
        let name = ServerName::DnsName(name);
        let provider = Arc::new(ring::default_provider());
        let chain = certificates(&files.certificate).map_err(|why| bad(CERTIFICATE, why))?;
        let ends_at = chain.first().and_then(certificate_end);
        let key = PrivateKeyDer::from_pem_slice(&files.key).map_err(|error| bad(KEY, key_error(&error)))?;
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&files.authority).map_err(|why| bad(AUTHORITY, why))? {
            roots
                .add(certificate)
                .map_err(|error| bad(AUTHORITY, format!("has a bad certificate: {error}")))?;
        }
        let roots = Arc::new(roots);
        let unusable = |error: VerifierBuilderError| bad(AUTHORITY, format!("cannot be used: {error}"));
        let servers = WebPkiServerVerifier::builder_with_provider(roots.clone(), provider.clone())
            .build()
            .map_err(unusable)?;
        let clients =
            WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build().map_err(unusable)?;
        let clients = Arc::new(PeersOnly::new(clients, name.clone()));
        own(folder, &chain, servers.as_ref(), &name)?;

        let mismatch = |error: Error| bad(KEY, format!("is not the key of {CERTIFICATE}: {error}"));
        let server = server(&provider, clients, (chain.clone(), key.clone_key())).map_err(mismatch)?;
        let client = client(&provider, servers, (chain, key)).map_err(mismatch)?;
        Ok(Self { client: Arc::new(client), server: Arc::new(server), name, ends_at })
    }
}

type Chain = Vec<CertificateDer<'static>>;

fn server(
    provider: &Arc<CryptoProvider>,
    clients: Arc<PeersOnly>,
    (chain, key): (Chain, PrivateKeyDer<'static>),
) -> Result<ServerConfig, Error> {
    let mut server = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(clients)
        .with_single_cert(chain, key)?;
    server.alpn_protocols = vec![b"h2".to_vec()];
    // A connection that is resumed would not be checked again.
    server.send_tls13_tickets = 0;
    server.session_storage = Arc::new(NoServerSessionStorage {});
    Ok(server)
}

fn client(
    provider: &Arc<CryptoProvider>,
    servers: Arc<WebPkiServerVerifier>,
    (chain, key): (Chain, PrivateKeyDer<'static>),
) -> Result<ClientConfig, Error> {
    let mut client = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(servers)
        .with_client_auth_cert(chain, key)?;
    client.alpn_protocols = vec![b"h2".to_vec()];
    client.resumption = Resumption::disabled();
    Ok(client)
}

fn certificates(pem: &[u8]) -> Result<Chain, String> {
    let read: Result<Chain, pem::Error> = CertificateDer::pem_slice_iter(pem).collect();
    match read {
        Ok(chain) if chain.is_empty() => Err("has no certificate in it".to_owned()),
        Ok(chain) => Ok(chain),
        Err(error) => Err(format!("has no readable certificate: {error}")),
    }
}

/// The text of the library may have a line of the file in it, which here is a secret.
fn key_error(error: &pem::Error) -> String {
    match error {
        pem::Error::NoItemsFound => "has no private key in it".to_owned(),
        _ => "has no readable private key".to_owned(),
    }
}

/// Checks the node's own certificate as peers will.
fn own(
    folder: &Path,
    chain: &[CertificateDer<'static>],
    servers: &WebPkiServerVerifier,
    name: &ServerName<'_>,
) -> Result<(), TlsError> {
    let path = || folder.join(CERTIFICATE);
    let Some((end, intermediates)) = chain.split_first() else {
        return Err(TlsError::Content(path(), "has no certificate in it".to_owned()));
    };
    match servers.verify_server_cert(end, intermediates, name, &[], UnixTime::now()) {
        Ok(_) => Ok(()),
        Err(Error::InvalidCertificate(error)) if is_of_another_time(&error) => {
            tracing::error!(path = %path().display(), %error, "peers refuse the certificate of this node");
            Ok(())
        }
        Err(error) => Err(TlsError::NotOfMesh(path(), name.to_str().into_owned(), error.to_string())),
    }
}

fn is_of_another_time(error: &CertificateError) -> bool {
    use CertificateError::{Expired, ExpiredContext, NotValidYet, NotValidYetContext};
    matches!(error, Expired | ExpiredContext { .. } | NotValidYet | NotValidYetContext { .. })
}
