//! Nodes that stop, lag, or are cut off.

use super::*;
use crate::consensus::ProposeError;

#[tokio::test(flavor = "multi_thread")]
async fn another_node_leads_and_a_proposal_meanwhile_is_applied_once() {
    let mut nodes = Nodes::founded(&["a", "b", "c"]).await;
    let revision = nodes.set("a", "k", "1").await;
    let followers = nodes.followers().await;
    let leader = nodes.leader().await;
    // Some are proposed to a leader that goes meanwhile, some while there is none.
    let mut proposing = Vec::new();
    for number in 0..10 {
        let consensus = nodes.at(followers[number % 2]).clone();
        proposing.push(tokio::spawn(async move {
            let id = format!("n{number}");
            consensus.propose(change(None, vec![write("key", &id, Some("1"))]), LONG).await
        }));
    }
    nodes.stop(leader).await;
    let mut revisions = Vec::new();
    for proposed in proposing {
        revisions.push(proposed.await.unwrap().unwrap());
    }
    revisions.sort_unstable();
    assert_eq!(revisions, (revision + 1..=revision + 10).collect::<Vec<_>>());
    for name in &followers {
        nodes.at(name).caught_up(LONG).await.unwrap();
        assert_eq!(nodes.at(name).revision(), revision + 10, "each of them once");
    }
    nodes.start(leader).await;
    nodes.all_have("n9", "1").await;
    nodes.all_have("k", "1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_lags_far_gets_a_snapshot() {
    let mut nodes = Nodes::founded(&["a", "b", "c"]).await;
    let lagging = nodes.followers().await[0];
    nodes.set(lagging, "first", "1").await;
    let had = nodes.status(lagging).await.last_log;
    nodes.stop(lagging).await;
    let leader = nodes.leader().await;
    // Larger than one piece.
    let value = "v".repeat(20_000);
    for number in 0..120 {
        nodes.set(leader, &format!("n{number}"), &value).await;
    }
    nodes.at(leader).snapshot().await.unwrap();
    until("a log without what the node lacks", async || {
        let purged = nodes.at(leader).raft.metrics().borrow().purged.map(|id| id.index);
        (purged > Some(had)).then_some(())
    })
    .await;
    nodes.start(lagging).await;
    nodes.all_have("n119", &value).await;
    nodes.all_have("n0", &value).await;
    nodes.all_have("first", "1").await;
    assert!(nodes.status(lagging).await.snapshot > Some(had));
    let snapshots = fs::read_dir(nodes.path(lagging).join("consensus/snapshots")).unwrap();
    let left: Vec<_> = snapshots.map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().ends_with("tmp")), "{left:?}");
    // What it got it keeps.
    nodes.stop(lagging).await;
    nodes.start(lagging).await;
    nodes.all_have("n60", &value).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minority_refuses_writes_and_serves_reads() {
    let nodes = Nodes::founded(&["a", "b", "c"]).await;
    nodes.set("a", "k", "1").await;
    nodes.all_have("k", "1").await;
    let (leader, followers) = (nodes.leader().await, nodes.followers().await);
    nodes.cut.off(nodes.node(leader));
    let deadline = Duration::from_secs(5);
    let begun = Instant::now();
    let alone = change(None, vec![write("key", "k", Some("alone"))]);
    let proposed = nodes.at(leader).propose(alone, deadline).await;
    assert!(matches!(proposed, Err(ProposeError::Unknown)), "{proposed:?}");
    assert!(begun.elapsed() <= deadline + LONG / 6);
    assert!(!nodes.at(leader).leads());
    // What came when it knew that already was taken by nobody, and that is known long before the deadline.
    let again = change(None, vec![write("key", "never", Some("alone"))]);
    let proposed =
        timeout(LONG / 2, nodes.at(leader).propose(again, LONG)).await.expect("known before the deadline");
    assert!(matches!(proposed, Err(ProposeError::NoLeader)), "{proposed:?}");
    assert!(nodes.at(leader).caught_up(4 * AGAIN).await.is_err());
    assert_eq!(get(nodes.at(leader), "k").as_deref(), Some("1"));
    // The others go on.
    nodes.set(followers[0], "k", "2").await;
    nodes.set(followers[1], "other", "3").await;
    nodes.cut.heal();
    nodes.all_have("k", "2").await;
    nodes.all_have("other", "3").await;
    nodes.set(leader, "k", "4").await;
    nodes.all_have("k", "4").await;
    assert_eq!(get(nodes.at(followers[0]), "never"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_steps_down() {
    let nodes = Nodes::founded(&["a", "b", "c"]).await;
    nodes.set("a", "k", "1").await;
    let leader = nodes.leader().await;
    let followers = nodes.followers().await;
    // Whoever does not lead has nothing to give up.
    nodes.at(followers[0]).step_down(LONG).await.unwrap();
    assert_eq!(nodes.leader().await, leader);
    let meanwhile = nodes.at(followers[1]).clone();
    let stepping = nodes.at(leader).step_down(LONG);
    let proposing = meanwhile.propose(change(None, vec![write("key", "k", Some("2"))]), LONG);
    let (stepped, proposed) = tokio::join!(stepping, proposing);
    stepped.unwrap();
    proposed.unwrap();
    assert!(nodes.leader().await != leader);
    nodes.all_have("k", "2").await;
    // It votes on, and may lead again.
    nodes.set(leader, "k", "3").await;
    assert_eq!(nodes.status(leader).await.members.iter().filter(|member| member.votes).count(), 3);
    for _ in 0..2 {
        let now = nodes.leader().await;
        nodes.at(now).step_down(LONG).await.unwrap();
        assert!(nodes.leader().await != now);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_steps_down_for_nobody() {
    let mut nodes = Nodes::expecting(1);
    nodes.start("a").await;
    nodes.all_vote().await;
    nodes.set("a", "k", "1").await;
    let refused = nodes.at("a").step_down(LONG).await;
    assert!(refused.unwrap_err().to_string().contains("no other voter"));
    nodes.set("a", "k", "2").await;
}
