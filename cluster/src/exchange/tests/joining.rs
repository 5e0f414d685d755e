//! Nodes that begin, end, and begin anew.

use super::node::{Cluster, Node, YEAR, counter_id, settings, until};
use crate::{Pulled, SystemClock};
use std::time::Duration;
use trestle_counters::{Settled, Settlement, Window};

const LONG: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_joins_pulls_all_before_it_begins() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(2).await?;
    // More than a message may have of either kind.
    for limit in 0..12_000 {
        cluster.nodes[(limit % 2) as usize].charge(counter_id(limit, YEAR), limit + 1, u64::MAX)?;
    }
    cluster.until_equal().await;
    let joining = Node::start((3, 1), &Settled::new(0), SystemClock, settings()).await?;
    assert_eq!(joining.exchange.pull(LONG).await, None, "nobody is around");
    cluster.nodes.push(joining);
    cluster.introduce().await?;
    let joining = &mut cluster.nodes[2];
    let pulled = joining.exchange.pull(LONG).await;
    assert!(matches!(pulled, Some(Pulled { from: 1 | 2, cells: 12_000 })), "{pulled:?}");
    assert!((0..12_000).all(|limit| joining.used(counter_id(limit, YEAR)) == limit + 1));
    assert!(joining.is_frozen(), "until all members were reached");
    assert_eq!(joining.charge(counter_id(0, YEAR), 34, 101).unwrap_err().left, 33);
    joining.run();
    cluster.until_reached().await;
    assert_eq!(cluster.nodes[2].charge(counter_id(0, YEAR), 34, 101), Ok(()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pull_from_nobody_ends_in_time() -> anyhow::Result<()> {
    let node = Node::start((1, 1), &Settled::new(0), SystemClock, settings()).await?;
    node.members.send_replace(vec![1, 2]);
    node.live.send_replace(vec![(2, "127.0.0.1:1".to_owned())]);
    assert_eq!(node.exchange.pull(Duration::from_millis(300)).await, None);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_was_killed_counts_once_and_its_concurrency_ends() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(3).await?;
    let (id, running) = (counter_id(1, YEAR), counter_id(2, Window::Standing));
    for (node, amount) in cluster.nodes.iter().zip([1, 10, 100]) {
        node.charge(id, amount, 1_000)?;
        node.charge(running, amount, 1_000)?;
    }
    cluster.until_equal().await;
    cluster.nodes.pop().unwrap().kill();
    // What its journal says: more than others had heard.
    let mut settled = Settled::new(10);
    let window_id = YEAR.id_at(crate::Clock::now_ms(&SystemClock));
    settled.add(Settlement { counter: id, window_id, amount: 150 })?;
    let again = Node::start((3, 2), &settled, SystemClock, settings()).await?;
    assert_eq!((again.used(id), again.used(running)), (150, 0));
    cluster.nodes.push(again);
    cluster.introduce().await?;
    assert!(cluster.nodes[2].exchange.pull(LONG).await.is_some());
    assert_eq!(cluster.nodes[2].used(id), 161);
    cluster.nodes[2].run();
    cluster.nodes[2].charge(id, 1_000, u64::MAX)?;
    cluster.nodes[2].charge(running, 1_000, u64::MAX)?;
    for node in &cluster.nodes {
        until("all agree", || (node.used(id), node.used(running)) == (1_161, 1_011)).await;
    }
    cluster.until_equal().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_ends_hands_over_and_is_not_missed() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(3).await?;
    let id = counter_id(1, YEAR);
    // Many, just before the end.
    for limit in 0..5_000 {
        cluster.nodes[2].charge(counter_id(limit, YEAR), 1, 1_000)?;
    }
    let flushed = cluster.nodes[2].exchange.flush(LONG).await;
    assert_eq!((flushed.peers, flushed.of), (2, 2));
    assert!(
        cluster.nodes[..2].iter().all(|node| (0..5_000).all(|limit| node.used(counter_id(limit, YEAR)) == 1))
    );
    cluster.nodes.pop().unwrap().kill();
    // Membership finds out, consensus keeps it.
    for node in &cluster.nodes {
        node.live.send_modify(|live| live.retain(|(peer, _)| *peer != 3));
    }
    for node in &cluster.nodes {
        let roster =
            || node.exchange.shared().roster().get(3).map(|known| known.ended && known.answered.is_none());
        until("it is gone", || roster() == Some(true)).await;
        until("and not missed", || !node.is_frozen()).await;
    }
    let freezes: Vec<_> = cluster.nodes.iter().map(|node| node.exchange.counts().freezes).collect();
    let silent_for = || {
        let roster = cluster.nodes[0].exchange.shared().roster();
        roster.get(3).and_then(|known| known.told).map(|told| told.elapsed())
    };
    until("it was silent for long", || silent_for() > Some(settings().unreachable_after * 3)).await;
    assert_eq!(cluster.nodes.iter().map(|node| node.exchange.counts().freezes).collect::<Vec<_>>(), freezes);
    assert_eq!(cluster.nodes[0].charge(id, 999, 1_000), Ok(()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_member_that_is_gone_without_a_word_is_missed_until_it_is_removed() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(3).await?;
    cluster.nodes.pop().unwrap().kill();
    until("it is missed", || cluster.nodes.iter().all(Node::is_frozen)).await;
    for node in &cluster.nodes {
        node.members.send_replace(vec![1, 2]);
    }
    until("it was removed", || cluster.nodes.iter().all(|node| !node.is_frozen())).await;
    Ok(())
}
