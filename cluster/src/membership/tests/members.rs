//! Members, made of what gossip knows.

use crate::{
    membership::{
        Facts, Members,
        facts::write,
        health,
        members::{Seen, collect, id},
    },
    mesh::ClusterId,
};
use std::{collections::BTreeMap, net::SocketAddr};

const AT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 1);

/// A run of a node: its number, generation, whether it is live, its name, and its health.
type Run = (u64, u64, bool, &'static str, &'static [&'static str]);

fn members(runs: &[Run]) -> (Members, BTreeMap<u64, Vec<String>>) {
    let said: Vec<_> = runs
        .iter()
        .map(|(node, _, _, name, said)| {
            let said: Vec<String> = said.iter().map(|value| (*value).to_owned()).collect();
            let facts = Facts { name: (*name).to_owned(), ..Facts::default() };
            (id(*node), write(&facts).into_iter().chain(health::write(&said, 0)).collect::<Vec<_>>())
        })
        .collect();
    let seen = runs.iter().zip(&said).map(|((_, generation, live, ..), (id, values))| Seen {
        id,
        generation: *generation,
        gossip: AT,
        live: *live,
        values: values.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect(),
    });
    collect(seen, 1)
}

#[test]
fn what_a_node_says_is_read_as_it_was_said() {
    let facts = Facts {
        name: "gateway-0".to_owned(),
        address: "gateway-0.mesh:10102".to_owned(),
        http: "10.0.0.1:8080".to_owned(),
        zone: "a".to_owned(),
        build: "1.2.3".to_owned(),
        version: 3,
        cluster: Some(ClusterId(7)),
        ready: true,
        leaving: true,
        load: u64::MAX,
        revision: 12,
    };
    for facts in [facts, Facts::default()] {
        let written = write(&facts);
        let values = |written: &[(String, String)]| {
            let values: BTreeMap<&str, &str> =
                written.iter().map(|(key, value)| (&**key, &**value)).collect();
            crate::membership::facts::read(&values)
        };
        assert_eq!(values(&written), Some(facts));
        // Until the last has come nothing counts.
        for length in 0..written.len() {
            assert_eq!(values(&written[..length]), None);
        }
    }
    let long = Facts { name: "\u{e9}".repeat(200), ..Facts::default() };
    assert_eq!(write(&long)[0].1, "\u{e9}".repeat(127));
}

#[test]
fn the_last_run_of_a_node_counts_alone() {
    let (members, health) = members(&[
        (1, 10, true, "a", &["own"]),
        (2, 20, true, "b", &["old"]),
        (2, 21, false, "b", &["new"]),
        (3, 31, true, "c", &["new"]),
        (3, 30, true, "c", &["old"]),
        (4, 40, true, "d", &[]),
    ]);
    let seen: Vec<_> = members.iter().map(|member| (member.node, member.generation, member.live)).collect();
    assert_eq!(seen, [(1, 10, true), (2, 21, false), (3, 31, true), (4, 40, true)]);
    assert_eq!(members.live().map(|member| member.node).collect::<Vec<_>>(), [1, 3, 4]);
    assert_eq!(health, BTreeMap::from([(3, vec!["new".to_owned()])]));
    assert!(members.get(5).is_none());
}

#[test]
fn a_node_that_lost_its_disk_replaces_itself() {
    let (members, _) = members(&[
        (1, 10, true, "a", &[]),
        (2, 30, true, "a", &[]),
        (3, 20, false, "a", &[]),
        (4, 40, true, "", &[]),
    ]);
    for (node, by) in [(1, Some(2)), (2, None), (3, Some(2)), (4, None), (5, None)] {
        assert_eq!(members.replaced_by(node), by, "{node}");
    }
}

#[test]
fn health_keeps_its_places_and_its_bounds() {
    let text = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
    let read = |written: &[(String, String)]| {
        health::read(&written.iter().map(|(key, value)| (&**key, &**value)).collect())
    };
    let said = text(&["a", "", "c"]);
    assert_eq!(read(&health::write(&said, 0)), said);
    // What is no longer said becomes empty.
    let fewer = health::write(&text(&["a"]), 3);
    assert_eq!((fewer.len(), read(&fewer)), (3, text(&["a"])));
    assert!(health::check(&vec!["x".repeat(1024); 16]).is_ok());
    assert!(health::check(&vec![String::new(); 17]).is_err());
    assert!(health::check(&["x".repeat(1025)]).is_err());
}
