//! Programs of two versions in one cluster.

use super::*;
use crate::consensus::{
    ClusterError, OpenError, ProposeError, Write, restore,
    tests::{Bench, command},
};
use openraft::storage::RaftStateMachine;
use trestle_proto::log::{Raise, command::Body};

/// An entity with something that came with a version.
fn introduced(version: u32, bytes: usize) -> Vec<Write> {
    vec![Write { introduced: version, ..write("key", &format!("of-{version}"), Some(&"v".repeat(bytes))) }]
}

impl Nodes {
    async fn restart_up_to(&mut self, name: &'static str, version: u32) {
        self.stop(name).await;
        self.start_up_to(name, version).await;
        self.at(name).caught_up(LONG).await.unwrap();
    }

    /// Why a node cannot start with a program that can up to a version.
    async fn refused_up_to(&self, name: &str, version: u32) -> String {
        let prepared = Prepared::open(&self.path(name)).await.unwrap().up_to(version);
        let channels = Channels::new(prepared.identity().clone(), Arc::new(crate::mesh::Tcp), None);
        let way = MeshWay { channels, address: self.places[name].to_string(), name: name.to_owned() };
        match prepared.join(way).await {
            Err(error @ OpenError::Version(_)) => error.to_string(),
            Err(error) => panic!("{error}"),
            Ok(_) => panic!("it starts"),
        }
    }

    async fn stays(&self, name: &str, why: &str) {
        match self.at(name).finalize(LONG).await {
            Err(ClusterError::Refused(text)) => assert!(text.contains(why), "{text}"),
            other => panic!("{why}: {other:?}"),
        }
        assert_eq!(self.at(name).version(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_used_once_it_is_finalized() {
    let mut nodes = Nodes::founded(&["a", "b", "c"]).await;
    nodes.set("a", "k", "1").await;
    assert_eq!(nodes.at("b").finalize(LONG).await.unwrap(), 1, "there is nothing to raise");
    for name in ["a", "b"] {
        nodes.restart_up_to(name, 2).await;
    }
    // Both versions take and give what the earlier one can, and nothing else.
    for (name, value) in [("a", "2"), ("c", "3")] {
        nodes.set(name, "k", value).await;
        nodes.all_have("k", value).await;
    }
    for bytes in [1, 100_000] {
        let refused = nodes.at("a").propose(change(None, introduced(2, bytes)), LONG).await.unwrap_err();
        assert!(matches!(refused, ProposeError::Version { needed: 2, version: 1 }), "{refused:?}");
        assert!(refused.to_string().contains("trestle cluster finalize"), "{refused}");
    }
    nodes.stays("a", "c can up to 1").await;

    // Until then there is a way back.
    nodes.restart_up_to("a", 1).await;
    nodes.set("a", "k", "4").await;
    nodes.restart_up_to("a", 2).await;

    nodes.stop("c").await;
    nodes.stays("b", "c does not answer").await;
    nodes.start_up_to("c", 2).await;
    nodes.at("c").caught_up(LONG).await.unwrap();
    let (leader, follower) = (nodes.leader().await, nodes.followers().await[0]);
    for name in [follower, leader] {
        assert_eq!(nodes.at(name).finalize(LONG).await.unwrap(), 2);
    }
    for name in ["a", "b", "c"] {
        nodes.at(name).propose(change(None, introduced(2, 1)), LONG).await.unwrap();
        assert_eq!((nodes.status(name).await.version, nodes.status(name).await.version_max), (2, 2));
    }
    let refused = nodes.at(follower).propose(change(None, introduced(3, 1)), LONG).await.unwrap_err();
    assert!(matches!(refused, ProposeError::Version { needed: 3, version: 2 }), "{refused:?}");
    who_cannot_is_refused(nodes, follower).await;
}

/// After a version is finalized no program starts that cannot do it, or that has left it behind.
async fn who_cannot_is_refused(mut nodes: Nodes, name: &'static str) {
    nodes.stop(name).await;
    let older = nodes.refused_up_to(name, 1).await;
    assert!(older.contains("is of version 2, this program can up to 1"), "{older}");
    let newer = nodes.refused_up_to(name, 4).await;
    assert!(newer.contains("can 3 and 4"), "{newer}");
    nodes.start_up_to(name, 3).await;
    nodes.set(name, "k", "5").await;

    // A new node that is too old says so, and is not taken.
    nodes.start_up_to("d", 1).await;
    let seen = nodes.seen.clone();
    let peers = move || seen.lock().unwrap().iter().map(|seen| seen.address.clone()).collect();
    let founding = Founding { expect: 3, peers: Box::new(peers) };
    let refused = nodes.at("d").found(&founding).await.unwrap_err().to_string();
    assert!(refused.contains("cannot join") && refused.contains("is of version 2"), "{refused}");
    nodes.start_up_to("e", 2).await;
    nodes.at("e").caught_up(LONG).await.unwrap();
    assert_eq!(nodes.at("e").version(), 2);
    let members = nodes.status("e").await.members;
    assert!(members.iter().all(|member| member.name != "d"), "{members:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_cluster_begins_with_what_all_can() {
    for (versions, expected) in [([2, 2, 2], 2), ([2, 1, 2], 1), ([3, 3, 3], 3)] {
        let mut nodes = Nodes::expecting(3);
        for (name, version) in ["a", "b", "c"].into_iter().zip(versions) {
            nodes.start_up_to(name, version).await;
        }
        nodes.all_vote().await;
        for name in ["a", "b", "c"] {
            nodes.at(name).begin_version().await;
        }
        assert_eq!(nodes.at(nodes.leader().await).version(), expected, "{versions:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_node_finalizes_by_itself_and_its_backup_is_of_that_version() {
    let folder = TempDir::new().unwrap();
    let open = async |name: &str, version| {
        let prepared = Prepared::open(&folder.path().join(name)).await.unwrap().up_to(version);
        prepared.alone().await.map(|opened| opened.consensus)
    };
    let old = open("old", 1).await.unwrap();
    old.propose(change(None, introduced(1, 1)), LONG).await.unwrap();
    old.close().await.unwrap();
    let new = open("old", 2).await.unwrap();
    assert_eq!(new.version(), 1, "there is a way back");
    assert_eq!(new.finalize(LONG).await.unwrap(), 2);
    new.propose(change(None, introduced(2, 1)), LONG).await.unwrap();
    let file = folder.path().join("file");
    new.backup(&file).await.unwrap();
    new.close().await.unwrap();
    assert!(matches!(open("old", 1).await, Err(OpenError::Version(_))));
    let refused = restore(&file, &folder.path().join("restored")).await.unwrap_err().to_string();
    assert!(refused.contains("is of version 2"), "{refused}");

    for version in [2, 3] {
        let name = format!("new-{version}");
        assert_eq!(open(&name, version).await.unwrap().version(), version, "there is nobody to go back to");
    }
}

#[tokio::test]
async fn what_a_program_cannot_is_left_for_a_later_one() {
    let mut bench = Bench::new();
    let raise = command(1, 1, 0, Body::Raise(Raise { version: 2 }));
    let later = command(2, 2, 0, Body::Change(change(None, introduced(2, 1)).into()));
    let refused = bench.machine.apply_all(std::slice::from_ref(&raise)).unwrap_err();
    assert!(refused.to_string().contains("is of version 2, this program can up to 1"), "{refused}");
    assert_eq!((bench.machine.version(), bench.head()), (1, Default::default()), "nothing is done of it");
    bench.machine = bench.machine.clone().up_to(2);
    bench.machine.apply_all(&[raise, later]).unwrap();
    assert_eq!((bench.machine.version(), bench.head().revision), (2, 1));

    let snapshot = bench.machine.snapshot().unwrap();
    let mut other = Bench::new();
    let installed = other.machine.install_snapshot(&snapshot.meta, snapshot.snapshot.clone()).await;
    assert!(installed.unwrap_err().to_string().contains("is of version 2"));
    assert_eq!((other.machine.version(), other.head()), (1, Default::default()));
    other.machine = other.machine.clone().up_to(2);
    other.machine.install_snapshot(&snapshot.meta, snapshot.snapshot).await.unwrap();
    assert_eq!((other.machine.version(), other.head()), (2, bench.head()));
}

#[test]
fn a_version_never_falls() {
    let mut bench = Bench::new();
    bench.machine = bench.machine.clone().up_to(3);
    for (request, version, becomes) in [(1, 2, 2), (2, 1, 2), (3, 3, 3), (4, 2, 3)] {
        let answer = bench.apply(request, 0, Body::Raise(Raise { version }));
        assert_eq!(answer, crate::consensus::types::Answer::Raised(becomes));
    }
    let refused = bench.apply(5, 0, Body::Change(change(None, introduced(4, 1)).into()));
    assert!(
        matches!(&refused, crate::consensus::types::Answer::Refused(why) if why.contains("version 4")),
        "{refused:?}"
    );
}
