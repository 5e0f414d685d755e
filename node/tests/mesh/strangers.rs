//! What does not belong to a cluster and comes to its ports: it changes nothing.

use crate::{
    nodes::{GOSSIP_PORT, MESH_PORT, Mesh, private},
    support::{KEY, eventually},
    traffic::Traffic,
};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream, UdpSocket},
    time::Duration,
};

/// Datagrams that are heard and sent again.
const REPLAYED: usize = 8;

#[test]
fn noise_at_the_ports_of_a_cluster_changes_nothing() {
    let ear = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut mesh = Mesh::of(3).seeded(ear.local_addr().unwrap());
    mesh.start_all();
    let traffic = Traffic::start(&mesh);
    let gossip: Vec<_> = (0..3).map(|node| mesh.net.at(node, GOSSIP_PORT)).collect();
    let mut heard = Vec::new();
    ear.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    for number in 0..REPLAYED {
        let mut bytes = vec![0; 65_536];
        let (length, _) = ear.recv_from(&mut bytes).unwrap();
        bytes.truncate(length);
        heard.push(bytes);
        noise(&ear, &gossip, number);
        for old in heard.iter().chain(&heard) {
            let mut broken = old.clone();
            let at = number % broken.len();
            broken[at] ^= 1 << (number % 8);
            for to in &gossip {
                ear.send_to(old, to).unwrap();
                ear.send_to(&broken, to).unwrap();
            }
        }
    }
    // Held open while the rest goes on.
    let open: Vec<_> = (0..3).flat_map(|node| garbage(mesh.net.at(node, MESH_PORT))).collect();
    traffic.goes_on();
    for (node, mut stream) in open.into_iter().enumerate() {
        let _ = stream.write_all(b"\0\0\0\0 more of it \xff\xff");
        let mut answer = [0; 512];
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let length = stream.read(&mut answer).unwrap_or(0);
        assert!(!answer[..length].starts_with(b"HTTP/1.1 200"), "{node}");
    }
    let leader = mesh.leader();
    mesh.kill(leader);
    traffic.goes_on();
    mesh.start(leader);
    traffic.goes_on();
    traffic.end();
}

/// Datagrams of all lengths, some that begin as real ones do.
fn noise(from: &UdpSocket, gossip: &[SocketAddr], seed: usize) {
    for length in [0, 1, 2, 16, 25, 26, 41, 42, 100, 1_400, 60_000, 65_000] {
        let byte = |at: usize| (at.wrapping_mul(31).wrapping_add(seed * 7) % 251) as u8;
        let mut bytes: Vec<u8> = (0..length).map(byte).collect();
        if let (Some(first), true) = (bytes.first_mut(), seed.is_multiple_of(2)) {
            *first = 1;
        }
        for to in gossip {
            let _ = from.send_to(&bytes, to);
        }
    }
}

/// Connections with what no peer sends.
fn garbage(address: SocketAddr) -> Vec<TcpStream> {
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice();
    let call = b"POST /trestle.cluster.v1.Raft/Vote HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n\0\0\0\0";
    let mut sent = Vec::new();
    for bytes in [
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\n".to_vec(),
        call.to_vec(),
        preface.to_vec(),
        [preface, &[0xff; 4_096]].concat(),
        [preface, &[0, 0, 0, 4, 0, 0, 0, 0, 0], &[0; 2_000]].concat(),
        vec![0x16, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3],
        vec![0; 100_000],
        Vec::new(),
    ] {
        let mut stream = TcpStream::connect(address).unwrap();
        // It may have been closed before all was taken.
        let _ = stream.write_all(&bytes);
        sent.push(stream);
    }
    sent
}

#[test]
fn strangers_do_not_get_in() {
    let mut mesh = Mesh::of(3);
    mesh.start_all();
    // One more name and address, and all that it takes but the secret.
    let others = Mesh::of(2);
    let wrong = mesh.folder.path().join("wrong-secret");
    private(&wrong, &"6f".repeat(32));
    let without = others
        .meshed(others.alone(0), 1, &wrong)
        .arguments(&["--seeds", mesh.seeds(), "--bootstrap-expect", "4"])
        .spawn();
    // One of another cluster with the same secret and even the same name, which takes up these seeds.
    let start = || others.meshed(others.alone(1), 0, &mesh.secret());
    let mut other = start().start();
    assert_eq!(put(&other.address, "of-the-other"), 200);
    other.signal("TERM");
    assert!(other.ended().success());
    let other = start().arguments(&["--seeds", mesh.seeds()]).start();
    let traffic = Traffic::start(&mesh);
    traffic.goes_on();
    // A node that is new meanwhile comes to the cluster whose node it is, whatever others are called.
    let lost = 0;
    mesh.kill(lost);
    mesh.wipe(lost);
    mesh.start(lost);
    mesh.kill(1);
    traffic.goes_on();
    mesh.start(1);
    let written = traffic.end();
    let document = mesh.operator(2).document();
    assert!(document["teams"].get("of-the-other").is_none(), "{document}");
    let document = crate::operator::Operator::of(&other).document();
    let there = document["teams"].as_object().unwrap();
    assert_eq!(there.keys().collect::<Vec<_>>(), ["of-the-other"]);
    assert!(!written.is_empty());
    assert_eq!(put(&other.address, "another"), 200);
    assert_eq!(other.chat(KEY, "openai/gpt-4o-mini+tokens=2").status, 200);
    eventually("the stranger to wait", || without.log().contains("waiting for a cluster").then_some(()));
    assert!(without.listening().is_none(), "{}", without.log());
}

fn put(address: &SocketAddr, team: &str) -> u16 {
    crate::nodes::put_team(*address, team, Duration::from_secs(60)).unwrap().status
}
