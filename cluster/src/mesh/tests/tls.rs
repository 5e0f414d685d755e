//! Real certificates: who gets a connection, who does not, and what a reload changes.

use super::{LOCAL, LONG, Running, channels, echo::call};
use crate::mesh::{Channels, InitTls, InitTlsError, Peer, Tls, TlsError, init_tls};
use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::ring,
    pki_types::{CertificateDer, ServerName, UnixTime},
    version::TLS13,
};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};
use tempfile::TempDir;
use tokio::{
    net::{TcpListener, TcpStream},
    time::{Instant, timeout},
};
use tokio_rustls::TlsConnector;

const NAME: &str = "trestle.mesh";
const DAY: Duration = Duration::from_secs(24 * 3600);

/// Makes a certificate for a node of a mesh, with the authority of a folder.
fn certificate(folder: &Path, mesh_name: &str, node: &str, now: SystemTime) -> Result<PathBuf, InitTlsError> {
    let nodes = [node.to_owned()];
    let made = init_tls(InitTls { folder, mesh_name, nodes: &nodes, days: 30, now })?;
    Ok(made.into_iter().next().unwrap_or_default())
}

fn open(folder: &TempDir, mesh_name: &str, node: &str) -> anyhow::Result<Tls> {
    Ok(Tls::open(&certificate(folder.path(), mesh_name, node, SystemTime::now())?, mesh_name)?)
}

/// Whether a call arrives; a failure must be one of the connection.
async fn arrives(peer: Peer) -> bool {
    match timeout(LONG, call(peer, "Raft/Ask")).await {
        Ok(Ok(text)) => text == "7",
        Ok(Err(status)) => {
            assert_eq!(status.code(), tonic::Code::Unavailable, "{status:?}");
            assert!(status.message().starts_with("node 7 at 127.0.0.1:"), "{status:?}");
            false
        }
        Err(_) => panic!("no answer"),
    }
}

async fn server(tls: Tls) -> anyhow::Result<Running> {
    Running::start(7, Some(1), LOCAL, Some(tls)).await
}

fn caller(tls: Option<Tls>) -> Channels {
    channels(9, Some(1), tls)
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    for name in ["tls.crt", "tls.key", "ca.crt"] {
        fs::copy(from.join(name), to.join(name))?;
    }
    Ok(())
}

#[tokio::test]
async fn nodes_of_a_mesh_reach_each_other_and_strangers_do_not() -> anyhow::Result<()> {
    let (folder, foreign) = (TempDir::new()?, TempDir::new()?);
    let server = server(open(&folder, NAME, "a")?).await?;
    let at = server.at();
    assert!(arrives(caller(Some(open(&folder, NAME, "b")?)).to(7, &at)).await);
    // No TLS, no certificate of this authority, one of it but of another mesh.
    assert!(!arrives(caller(None).to(7, &at)).await);
    assert!(!arrives(caller(Some(open(&foreign, NAME, "c")?)).to(7, &at)).await);
    assert!(!arrives(caller(Some(open(&folder, "other.mesh", "d")?)).to(7, &at)).await);
    // None of them hurt those who may.
    assert!(arrives(caller(Some(open(&folder, NAME, "e")?)).to(7, &at)).await);
    server.stop().await
}

/// A stranger who takes every server has to be refused by the server, whatever the client looks at.
#[tokio::test]
async fn a_server_looks_at_clients_by_itself() -> anyhow::Result<()> {
    let (folder, foreign) = (TempDir::new()?, TempDir::new()?);
    let ours = open(&folder, NAME, "a")?;
    let mut bare = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyServer))
        .with_no_client_auth();
    bare.alpn_protocols = vec![b"h2".to_vec()];
    let of = |tls: Tls| {
        let mut config = tls.client_config();
        config.dangerous().set_certificate_verifier(Arc::new(AnyServer));
        config
    };
    let friend = of(open(&folder, NAME, "b")?);
    let (other_mesh, other_authority) =
        (of(open(&folder, "other.mesh", "c")?), of(open(&foreign, NAME, "d")?));
    for (config, may) in [(friend, true), (bare, false), (other_mesh, false), (other_authority, false)] {
        let (client, server_side) = tokio::io::duplex(64 * 1024);
        let tls = ours.clone();
        let accepting = tokio::spawn(async move { tls.accept(server_side).await.map(drop) });
        let name = ServerName::try_from(NAME)?;
        let connected = TlsConnector::from(Arc::new(config)).connect(name, client).await;
        assert_eq!(timeout(LONG, accepting).await??.is_ok(), may, "{connected:?}");
    }
    Ok(())
}

#[derive(Debug)]
struct AnyServer;

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

#[tokio::test]
async fn a_client_refuses_servers_of_others() -> anyhow::Result<()> {
    let (folder, foreign) = (TempDir::new()?, TempDir::new()?);
    let ours = open(&folder, NAME, "a")?;
    for theirs in [open(&folder, "other.mesh", "b")?, open(&foreign, NAME, "c")?] {
        let (client, server_side) = tokio::io::duplex(64 * 1024);
        let accepting = tokio::spawn(async move { theirs.accept(server_side).await.map(drop) });
        let error = timeout(LONG, ours.connect(client)).await?.err().map(|error| error.to_string());
        assert!(error.as_deref().is_some_and(|text| text.contains("certificate")), "{error:?}");
        assert!(timeout(LONG, accepting).await??.is_err());
    }
    Ok(())
}

#[tokio::test]
async fn what_is_out_of_date_is_refused_by_both_sides() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let good = open(&folder, NAME, "a")?;
    let long_ago = SystemTime::now() - 40 * DAY;
    // It opens: the node serves its clients, and says in the log what is wrong.
    let expired = Tls::open(&certificate(folder.path(), NAME, "b", long_ago)?, NAME)?;
    let running = server(good.clone()).await?;
    assert!(!arrives(caller(Some(expired.clone())).to(7, &running.at())).await);
    assert!(arrives(caller(Some(good.clone())).to(7, &running.at())).await);
    let out_of_date = server(expired).await?;
    assert!(!arrives(caller(Some(good)).to(7, &out_of_date.at())).await);
    running.stop().await?;
    out_of_date.stop().await
}

#[tokio::test]
async fn a_reload_changes_new_connections_and_cuts_none() -> anyhow::Result<()> {
    let (old, new) = (TempDir::new()?, TempDir::new()?);
    let used = certificate(old.path(), NAME, "a", SystemTime::now())?;
    let tls = Tls::open(&used, NAME)?;
    let server = server(tls.clone()).await?;
    let at = server.at();
    let running = caller(Some(open(&old, NAME, "b")?)).to(7, &at);
    assert!(arrives(running.clone()).await);
    assert!(!tls.reload()?, "nothing changed");

    // A broken file: what was there stays in use, and it is told once.
    let (certificate_file, authority) = (used.join("tls.crt"), fs::read(used.join("ca.crt"))?);
    let whole = fs::read(&certificate_file)?;
    fs::write(&certificate_file, &whole[..whole.len() / 2])?;
    assert!(tls.reload().is_err());
    assert_eq!((tls.look(), tls.look()), (true, false));
    assert!(arrives(caller(Some(open(&old, NAME, "c")?)).to(7, &at)).await);
    fs::write(&certificate_file, &whole)?;
    assert!(!tls.look(), "as it was");

    // Another authority.
    copy(&certificate(new.path(), NAME, "a", SystemTime::now())?, &used)?;
    assert!(tls.reload()?);
    assert!(arrives(running.clone()).await, "a running connection was cut");
    assert!(!arrives(caller(Some(open(&old, NAME, "d")?)).to(7, &at)).await);
    assert!(arrives(caller(Some(open(&new, NAME, "e")?)).to(7, &at)).await);

    // Both, as in a change of authorities that leaves nobody out.
    let mut both = fs::read(used.join("ca.crt"))?;
    both.extend(authority);
    fs::write(used.join("ca.crt"), both)?;
    assert!(tls.reload()?);
    assert!(arrives(caller(Some(open(&new, NAME, "f")?)).to(7, &at)).await);
    server.stop().await
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_let_go() -> anyhow::Result<()> {
    use tokio::io::AsyncReadExt;
    let folder = TempDir::new()?;
    let server = server(open(&folder, NAME, "a")?).await?;
    let mut silent = TcpStream::connect(server.address).await?;
    let begun = Instant::now();
    let read = timeout(LONG, silent.read(&mut [0])).await?;
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?} after {:?}", begun.elapsed());
    server.stop().await
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let silent = TcpListener::bind(LOCAL).await?;
    let at = silent.local_addr()?.to_string();
    assert!(!arrives(caller(Some(open(&folder, NAME, "a")?)).to(7, &at)).await);
    Ok(())
}

#[test]
fn files_that_cannot_be_used_are_named() -> anyhow::Result<()> {
    let (folder, foreign) = (TempDir::new()?, TempDir::new()?);
    let now = SystemTime::now();
    let (made, other) =
        (certificate(folder.path(), NAME, "a", now)?, certificate(foreign.path(), NAME, "a", now)?);
    let used = TempDir::new()?;
    let opened = || Tls::open(used.path(), NAME).err().map(|error| error.to_string()).unwrap_or_default();
    let expect = |name: &str, text: &str| {
        let error = opened();
        assert!(error.contains(name) && error.contains(text), "{error}");
        assert!(!error.contains("PRIVATE"), "{error}");
    };
    expect("tls.crt", "cannot be read");
    for (name, content, text) in [
        ("tls.crt", "", "no certificate"),
        ("tls.key", "", "no private key"),
        ("tls.key", "-----BEGIN PRIVATE KEY-----\n!\n-----END PRIVATE KEY-----\n", "no readable private key"),
        ("ca.crt", "hello", "no certificate"),
    ] {
        copy(&made, used.path())?;
        fs::write(used.path().join(name), content)?;
        expect(name, text);
    }
    copy(&made, used.path())?;
    fs::copy(other.join("tls.key"), used.path().join("tls.key"))?;
    expect("tls.key", "is not the key of tls.crt");
    copy(&made, used.path())?;
    fs::copy(other.join("ca.crt"), used.path().join("ca.crt"))?;
    expect("tls.crt", "not a certificate of the mesh");
    copy(&made, used.path())?;
    assert!(matches!(Tls::open(used.path(), "other.mesh"), Err(TlsError::NotOfMesh(..))));
    assert!(matches!(Tls::open(used.path(), "no name"), Err(TlsError::Name(_))));
    assert!(Tls::open(used.path(), NAME).is_ok());
    Ok(())
}

#[test]
fn an_authority_overwrites_nothing_and_signs_further_nodes() -> anyhow::Result<()> {
    let folder = TempDir::new()?;
    let make = |nodes: &[&str], days| {
        let nodes: Vec<String> = nodes.iter().map(|node| (*node).to_owned()).collect();
        let now = SystemTime::now();
        init_tls(InitTls { folder: folder.path(), mesh_name: NAME, nodes: &nodes, days, now })
    };
    assert_eq!(make(&["a", "b"], 30)?.len(), 2);
    let key = folder.path().join("a/tls.key");
    let (before, mode) = (fs::read(&key)?, fs::metadata(&key)?.permissions().mode());
    assert_eq!(mode & 0o777, 0o600);
    let authority = folder.path().join("authority/ca.key");
    assert_eq!(fs::metadata(&authority)?.permissions().mode() & 0o777, 0o600);
    assert!(matches!(make(&["c", "a"], 30), Err(InitTlsError::Exists(path)) if path.ends_with("a")));
    assert!(!folder.path().join("c").exists());
    assert_eq!(fs::read(&key)?, before);
    for nodes in [&["../x"][..], &["x/y"], &[".x"], &[""], &["authority"], &["x y"]] {
        assert!(matches!(make(nodes, 30), Err(InitTlsError::Name(_))), "{nodes:?}");
    }
    assert!(matches!(make(&[], 30), Err(InitTlsError::Amount)));
    assert!(matches!(make(&["x", "x"], 30), Err(InitTlsError::Amount)));
    assert!(matches!(make(&["x"], 0), Err(InitTlsError::Amount)));
    // A node of later is one of the same mesh.
    assert_eq!(make(&["c"], 30)?.len(), 1);
    Tls::open(&folder.path().join("c"), NAME)?;
    assert_eq!(fs::read(folder.path().join("c/ca.crt"))?, fs::read(folder.path().join("a/ca.crt"))?);
    Ok(())
}
