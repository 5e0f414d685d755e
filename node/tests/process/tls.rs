//! TLS towards clients: versions, and the certificate exchanged while connections run.

use crate::support::{KEY, Node, Start, chat, document, exchange, read_to_end};
use rcgen::{CertifiedKey, KeyPair};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, ServerName},
};
use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    sync::Arc,
};

type Certificate = CertifiedKey<KeyPair>;

fn certificate() -> Certificate {
    rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap()
}

fn start(certificate: &Certificate, more: &[&str]) -> Node {
    Start::serve(&document(""))
        .file("cert.pem", &certificate.cert.pem())
        .file("key.pem", &certificate.signing_key.serialize_pem())
        .arguments(&["--tls-cert", "cert.pem", "--tls-key", "key.pem"])
        .arguments(more)
        .start()
}

fn client(trusted: &[&Certificate], protocols: &[&str]) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in trusted {
        roots.add(certificate.cert.der().clone()).unwrap();
    }
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    Arc::new(config)
}

type Tls = StreamOwned<ClientConnection, TcpStream>;

fn connect(node: &Node, config: &Arc<ClientConfig>) -> Tls {
    let name = ServerName::try_from("localhost").unwrap();
    let mut stream =
        StreamOwned::new(ClientConnection::new(Arc::clone(config), name).unwrap(), node.connect());
    stream.conn.complete_io(&mut stream.sock).unwrap();
    stream
}

fn shown(stream: &Tls) -> CertificateDer<'static> {
    stream.conn.peer_certificates().unwrap()[0].clone().into_owned()
}

#[test]
fn the_version_is_negotiated() {
    let certificate = certificate();
    let node = start(&certificate, &[]);
    assert!(node.log().contains("listening on https://"));
    for (offered, chosen) in
        [(&["h2", "http/1.1"][..], Some(&b"h2"[..])), (&["http/1.1"], Some(b"http/1.1")), (&[], None)]
    {
        let mut stream = connect(&node, &client(&[&certificate], offered));
        assert_eq!(stream.conn.alpn_protocol(), chosen);
        if chosen == Some(b"h2") {
            // The first frame of a server is SETTINGS.
            stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
            let mut frame = [0; 9];
            stream.read_exact(&mut frame).unwrap();
            assert_eq!(frame[3], 4);
        } else {
            let reply = exchange(&mut stream, &chat(KEY, "mock/echo", ""));
            assert_eq!(reply.status, 200);
            assert!(reply.body.contains("Hello, bridge"));
        }
    }
}

#[test]
fn a_new_certificate_is_applied_and_a_bad_one_refused() {
    let (first, second) = (certificate(), certificate());
    let node = start(&first, &[]);
    // Each time a new one: a session that is taken up again shows no certificate.
    let config = || client(&[&first, &second], &[]);
    let mut old = connect(&node, &config());
    assert_eq!(shown(&old), *first.cert.der());
    assert_eq!(exchange(&mut old, "GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n").status, 200);

    node.put("cert.pem", "no certificate");
    node.printed("the certificate was refused");
    assert_eq!(shown(&connect(&node, &config())), *first.cert.der());

    node.put("key.pem", &second.signing_key.serialize_pem());
    node.put("cert.pem", &second.cert.pem());
    node.printed("the certificate was applied");
    assert_eq!(shown(&connect(&node, &config())), *second.cert.der());
    assert_eq!(exchange(&mut old, "GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n").status, 200, "it lives on");
    assert!(!node.log().contains("PRIVATE KEY"));
}

#[test]
fn a_slow_handshake_is_closed() {
    let certificate = certificate();
    let node = start(&certificate, &["--head-timeout-ms", "200"]);
    let mut stream = node.connect();
    stream.write_all(b"\x16\x03\x01\x02\x00").unwrap();
    assert_eq!(read_to_end(&mut stream), "");
    let mut stream = connect(&node, &client(&[&certificate], &[]));
    assert_eq!(exchange(&mut stream, "GET /healthz HTTP/1.1\r\nhost: test\r\n\r\n").status, 200);
}

#[test]
fn files_that_make_no_pair_keep_the_node_from_starting() {
    let (first, second) = (certificate(), certificate());
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (cert, key) =
        (path("cert.pem", first.cert.pem()), path("key.pem", second.signing_key.serialize_pem()));
    let output = crate::support::trestle(&["serve", "--listen", "127.0.0.1:0", "--tls-cert", &cert])
        .args(["--tls-key", &key, "--data-dir"])
        .arg(folder.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("do not make a pair") && !stderr.contains("PRIVATE"), "{stderr}");
}
