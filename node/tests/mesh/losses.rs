//! Nodes that are killed, stand still, lose their disk, or are restarted: the others go on, and nothing acknowledged is lost.

use crate::{
    nodes::{Mesh, put_team, revision_at},
    support::{self, KEY},
    traffic::Traffic,
};
use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::SocketAddr,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    time::Duration,
};

#[test]
fn three_nodes_go_on_whichever_is_lost() {
    let mut mesh = Mesh::of(3);
    mesh.start_all();
    mesh.all_vote(&[]);
    for node in 0..3 {
        mesh.write(node, &format!("by-{node}"));
    }
    let traffic = Traffic::start(&mesh);
    traffic.goes_on();
    a_follower_is_killed(&mut mesh, &traffic);
    the_leader_is_killed(&mut mesh, &traffic);
    each_stands_still(&mesh, &traffic);
    the_leader_is_told_to_end(&mut mesh, &traffic);
    all_are_restarted_one_by_one(&mut mesh, &traffic);
    let acknowledged = traffic.end();
    all_have(&mesh, &acknowledged);
    two_of_three_are_killed(&mut mesh);
    all_have(&mesh, &acknowledged);
}

#[test]
fn a_node_that_lost_its_disk_is_replaced() {
    let mut mesh = Mesh::of(3);
    mesh.start_all();
    let traffic = Traffic::start(&mesh);
    traffic.goes_on();
    let mut gone = Vec::new();
    for lost in [mesh.follower(), mesh.leader()] {
        gone.push(mesh.number(lost));
        mesh.kill(lost);
        mesh.leader();
        mesh.wipe(lost);
        mesh.start(lost);
        // The new one votes and the old one does not: else two would be no majority. And not before that it was ready.
        let other = (lost + 1) % 3;
        mesh.kill(other);
        traffic.goes_on();
        mesh.start(other);
        traffic.goes_on();
        mesh.all_vote(&gone);
    }
    all_have(&mesh, &traffic.end());
}

fn a_follower_is_killed(mesh: &mut Mesh, traffic: &Traffic) {
    let follower = mesh.follower();
    mesh.kill(follower);
    traffic.goes_on();
    mesh.start(follower);
    mesh.is_level();
    traffic.goes_on();
}

fn the_leader_is_killed(mesh: &mut Mesh, traffic: &Traffic) {
    let leader = mesh.leader();
    mesh.kill(leader);
    assert_ne!(mesh.leader(), leader);
    traffic.goes_on();
    mesh.start(leader);
    mesh.is_level();
    traffic.goes_on();
}

/// A process that stops for a while finds that time has gone on without it.
fn each_stands_still(mesh: &Mesh, traffic: &Traffic) {
    let leader = mesh.leader();
    for node in [mesh.follower(), leader] {
        mesh.freeze(node);
        mesh.leader();
        traffic.goes_on();
        mesh.thaw(node);
        mesh.is_level();
        traffic.goes_on();
    }
}

fn the_leader_is_told_to_end(mesh: &mut Mesh, traffic: &Traffic) {
    let leader = mesh.leader();
    let mut stream = support::connect(mesh.http(leader));
    let request = support::chat(KEY, "openai/gpt-4o-mini+tokens=60+gap_ms=30", r#","stream":true"#);
    stream.write_all(request.as_bytes()).unwrap();
    let head = support::read_head(&mut stream).unwrap();
    assert!(head.starts_with("http/1.1 200"), "{head}");
    std::thread::scope(|scope| {
        let rest = scope.spawn(move || {
            let mut text = String::new();
            stream.read_to_string(&mut text).map(|_| text)
        });
        mesh.terminate(leader);
        let rest = rest.join().unwrap().unwrap();
        assert!(rest.contains("data: [DONE]") && rest.ends_with("0\r\n\r\n"), "{rest}");
    });
    assert_ne!(mesh.leader(), leader);
    traffic.goes_on();
    mesh.start(leader);
    traffic.goes_on();
}

/// One node after the other; another one that was ready stays so.
fn all_are_restarted_one_by_one(mesh: &mut Mesh, traffic: &Traffic) {
    let addresses: Vec<_> = (0..3).map(|node| mesh.http(node)).collect();
    let (over, most) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(SeqCst) {
                most.fetch_max(unready(&addresses), SeqCst);
            }
        });
        for node in 0..3 {
            mesh.terminate(node);
            mesh.start(node);
            traffic.goes_on();
        }
        over.store(true, SeqCst);
    });
    assert_eq!(most.load(SeqCst), 1, "so many were not ready at once");
}

/// How many nodes say twice that they are not ready, or nothing: between two looks one may have become so.
fn unready(addresses: &[SocketAddr]) -> usize {
    let away: Vec<_> = addresses.iter().filter(|address| revision_at(**address).is_none()).collect();
    if away.len() < 2 {
        return away.len();
    }
    away.iter().filter(|address| revision_at(***address).is_none()).count()
}

fn two_of_three_are_killed(mesh: &mut Mesh) {
    let lasting = mesh.follower();
    let others: Vec<_> = (0..3).filter(|node| *node != lasting).collect();
    for node in &others {
        mesh.kill(*node);
    }
    assert_eq!(mesh.chat(lasting, KEY).status, 200);
    // Its deadline is a sixth of that.
    let refused = put_team(mesh.http(lasting), "by-nobody", Duration::from_secs(60)).unwrap();
    assert!(matches!(refused.status, 503 | 504), "{refused:?}");
    assert!(refused.head.contains("content-type: application/problem+json"), "{refused:?}");
    assert_eq!(mesh.chat(lasting, KEY).status, 200);
    assert!(mesh.revision(lasting).is_some(), "a node that loses the others stays ready");
    mesh.start(others[0]);
    mesh.write(lasting, "by-two");
    mesh.start(others[1]);
    mesh.is_level();
    mesh.write(others[1], "by-three");
}

pub(crate) fn all_have(mesh: &Mesh, teams: &BTreeSet<String>) {
    assert!(teams.len() >= 10, "{} writes", teams.len());
    mesh.is_level();
    for node in mesh.up() {
        let document = mesh.operator(node).document();
        let there = document["teams"].as_object().unwrap();
        let lost: Vec<_> = teams.iter().filter(|team| !there.contains_key(*team)).collect();
        assert!(lost.is_empty(), "node {node} has lost {lost:?}");
    }
}
