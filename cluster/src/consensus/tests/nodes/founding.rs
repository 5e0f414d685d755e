//! How clusters begin, and begin again.

use super::*;
use crate::consensus::ClusterError;

#[tokio::test(flavor = "multi_thread")]
async fn three_begin_at_once_and_each_takes_writes() {
    let nodes = Nodes::founded(&["a", "b", "c"]).await;
    let clusters: Vec<_> =
        nodes.running.values().map(|running| running.consensus.identity().cluster()).collect();
    assert!(clusters[0].is_some() && clusters.windows(2).all(|two| two[0] == two[1]), "{clusters:?}");
    for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
        assert_eq!(nodes.set(name, "k", name).await, number as u64 + 1);
        nodes.all_have("k", name).await;
    }
    // A change in parts, by a follower.
    let follower = nodes.followers().await[0];
    let value = "v".repeat(1_000);
    let writes = (0..100).map(|number| write("many", &number.to_string(), Some(&value))).collect();
    assert_eq!(nodes.at(follower).propose(change(Some(3), writes), LONG).await.unwrap(), 4);
    assert_eq!(nodes.at(follower).page("many", None, 1_000).unwrap().1.len(), 100);

    let leader = nodes.leader().await;
    let status = nodes.status(leader).await;
    assert!(status.quorum_ack_ms_ago.is_some() && status.members.iter().all(|member| member.lag.is_some()));
    let names: Vec<_> = status.members.iter().map(|member| &member.name[..]).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, ["a", "b", "c"]);
    assert_eq!((status.revision, status.apply_lag(), status.commit_lag()), (4, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn too_few_found_nothing() {
    let mut nodes = Nodes::expecting(3);
    nodes.start("a").await;
    nodes.start("b").await;
    let proposed = nodes.at("a").propose(change(None, vec![write("key", "k", Some("1"))]), 4 * AGAIN).await;
    assert!(matches!(proposed, Err(crate::consensus::ProposeError::NoLeader)), "{proposed:?}");
    assert!(matches!(nodes.at("b").caught_up(4 * AGAIN).await, Err(ClusterError::NoLeader)));
    assert!(!nodes.status("a").await.initialized && !nodes.status("b").await.initialized);
    nodes.start("c").await;
    nodes.all_vote().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_of_one_becomes_the_first_of_three() {
    let mut nodes = Nodes::expecting(3);
    let alone = Consensus::open(&nodes.path("a")).await.unwrap().consensus;
    let (node, cluster) = (alone.node(), alone.identity().cluster());
    alone.propose(change(None, vec![write("key", "old", Some("1"))]), LONG).await.unwrap();
    alone.close().await.unwrap();
    // As a folder from before clusters had numbers.
    fs::remove_file(nodes.path("a").join("consensus/cluster")).unwrap();

    nodes.start("a").await;
    assert_eq!(nodes.node("a"), node);
    assert!(nodes.at("a").identity().cluster().is_some_and(|minted| Some(minted) != cluster));
    assert_eq!(nodes.status("a").await.members[0].address, nodes.places["a"].to_string());
    nodes.start("b").await;
    nodes.members(&[node], &[nodes.node("b")]).await;
    nodes.start("c").await;
    nodes.all_vote().await;
    nodes.all_have("old", "1").await;

    // From then on it is nothing without the others.
    nodes.stop("a").await;
    let alone = Consensus::open(&nodes.path("a")).await.err().unwrap();
    assert!(alone.to_string().contains("cluster with 3 voters"), "{alone}");
    nodes.start("a").await;
    nodes.set("a", "new", "2").await;
    nodes.all_have("new", "2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_start_again() {
    let mut nodes = Nodes::founded(&["a", "b", "c"]).await;
    nodes.set("a", "k", "1").await;
    let cluster = nodes.at("a").identity().cluster();
    for name in ["a", "b", "c"] {
        nodes.stop(name).await;
    }
    for name in ["c", "a", "b"] {
        nodes.start(name).await;
    }
    nodes.all_have("k", "1").await;
    assert_eq!(nodes.set("c", "k", "2").await, 2);
    nodes.all_have("k", "2").await;
    assert_eq!(nodes.at("b").identity().cluster(), cluster);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_founding_leaves_nothing_behind() {
    let folder = TempDir::new().unwrap();
    let prepared = Prepared::open(folder.path()).await.unwrap();
    let node = prepared.identity().node();
    drop(prepared);
    let data = folder.path().join("consensus");
    fs::write(data.join("founding"), "").unwrap();
    fs::write(data.join("cluster"), "1\n000000000000000000000000000000ab\n").unwrap();
    let prepared = Prepared::open(folder.path()).await.unwrap();
    assert_eq!((prepared.identity().node(), prepared.identity().cluster()), (node, None));
    drop(prepared);
    // Whoever was added is of that cluster.
    fs::write(data.join("cluster"), "1\n000000000000000000000000000000ab\n").unwrap();
    let prepared = Prepared::open(folder.path()).await.unwrap();
    assert!(prepared.identity().cluster().is_some());
    drop(prepared);
    fs::write(data.join("cluster"), "").unwrap();
    let prepared = Prepared::open(folder.path()).await.unwrap();
    assert!(prepared.set_aside().is_some());
    assert!(prepared.identity().node() != node && prepared.identity().cluster().is_none());
}
