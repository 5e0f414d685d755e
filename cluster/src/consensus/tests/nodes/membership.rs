//! Who comes, goes, and comes back.

use super::*;
use crate::consensus::ClusterError;

fn is_refused(result: Result<(), ClusterError>, why: &str) {
    match result {
        Err(ClusterError::Refused(message)) => assert!(message.contains(why), "{message}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wiped_node_is_another_one_in_the_same_place() {
    let mut nodes = Nodes::founded(&["a", "b", "c"]).await;
    nodes.set("a", "k", "1").await;
    let wiped = nodes.followers().await[0];
    let old = nodes.node(wiped);
    nodes.stop(wiped).await;
    nodes.wipe(wiped);
    nodes.start(wiped).await;
    assert_ne!(nodes.node(wiped), old);
    nodes.all_vote().await;
    nodes.all_have("k", "1").await;
    let status = nodes.status(wiped).await;
    assert_eq!(status.retired, [old]);
    nodes.set(wiped, "k", "2").await;
    nodes.all_have("k", "2").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_removed_by_command_and_stays_away() {
    let mut nodes = Nodes::founded(&["a", "b", "c"]).await;
    let followers = nodes.followers().await;
    let leader = nodes.leader().await;
    let (stays, goes) = (followers[0], followers[1]);
    is_refused(nodes.at(stays).remove(1, LONG).await, "not a member");
    let gone = nodes.node(goes);
    nodes.at(stays).remove(gone, LONG).await.unwrap();
    // It runs on, and is seen, but is not let in again. Two nodes are one voter and one learner.
    let removed = nodes.running.remove(goes).unwrap();
    nodes.members(&[nodes.node(leader)], &[nodes.node(stays)]).await;
    assert_eq!(nodes.status(stays).await.retired, [gone]);
    nodes.at(stays).remove(gone, LONG).await.unwrap();
    is_refused(nodes.at(stays).remove(nodes.node(leader), LONG).await, "the only voter");
    nodes.set(stays, "k", "1").await;
    nodes.start("d").await;
    nodes.all_vote().await;
    nodes.running.insert(goes, removed);
    nodes.stop(goes).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_would_lose_the_majority_is_refused() {
    let mut nodes = Nodes::founded(&["a", "b", "c"]).await;
    let leader = nodes.leader().await;
    let (silent, healthy) = {
        let followers = nodes.followers().await;
        (followers[0], followers[1])
    };
    let gone = nodes.node(silent);
    nodes.stop(silent).await;
    is_refused(nodes.at(leader).remove(nodes.node(healthy), LONG).await, "1 answer and 2 must");
    nodes.set(healthy, "k", "1").await;
    nodes.at(healthy).remove(gone, LONG).await.unwrap();
    nodes.members(&[nodes.node(nodes.leader().await)], &[nodes.node(nodes.followers().await[0])]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_found_where_it_is_now() {
    let mut nodes = Nodes::founded(&["a", "b", "c"]).await;
    let moved = nodes.followers().await[0];
    nodes.stop(moved).await;
    let old = nodes.places.remove(moved).unwrap();
    // Nobody else takes the old place.
    let _old = std::net::TcpListener::bind(old);
    nodes.start(moved).await;
    let (node, place) = (nodes.node(moved), nodes.running[moved].address.to_string());
    until("the new place", async || {
        let members = nodes.status(moved).await.members;
        members.iter().any(|member| member.node == node && member.address == place).then_some(())
    })
    .await;
    nodes.set(moved, "k", "1").await;
    nodes.all_have("k", "1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn five_vote_and_two_may_go() {
    let mut nodes = Nodes::founded(&["a", "b", "c"]).await;
    nodes.set("b", "k", "1").await;
    nodes.start("d").await;
    nodes.start("e").await;
    nodes.all_vote().await;
    for round in 2..4 {
        let leader = nodes.leader().await;
        nodes.stop(leader).await;
        let name = *nodes.running.keys().next().unwrap();
        nodes.set(name, "k", &round.to_string()).await;
        nodes.all_have("k", &round.to_string()).await;
    }
    // Nobody has lost a vote by that.
    let status = nodes.status(nodes.leader().await).await;
    assert_eq!(status.members.iter().filter(|member| member.votes).count(), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_leader_itself_is_removed() {
    let mut nodes = Nodes::founded(&["a", "b", "c"]).await;
    nodes.set("a", "k", "1").await;
    let (leader, follower) = (nodes.leader().await, nodes.followers().await[0]);
    nodes.at(follower).remove(nodes.node(leader), LONG).await.unwrap();
    let removed = nodes.running.remove(leader).unwrap();
    let next = nodes.leader().await;
    nodes.members(&[nodes.node(next)], &[nodes.node(nodes.followers().await[0])]).await;
    nodes.set(follower, "k", "2").await;
    nodes.all_have("k", "2").await;
    nodes.running.insert(leader, removed);
    nodes.stop(leader).await;
}
