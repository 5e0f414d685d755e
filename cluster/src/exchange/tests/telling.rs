//! Changes that are told: seen by all, in time, once.

use super::node::{Ahead, Cluster, Node, YEAR, counter_id, settings, until};
use crate::{ExchangeSettings, SystemClock};
use std::{sync::atomic::Ordering::Relaxed, time::Duration};
use trestle_counters::{Settled, Window};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn charges_on_each_are_seen_by_all() -> anyhow::Result<()> {
    let cluster = Cluster::start(3).await?;
    let ids = [counter_id(1, YEAR), counter_id(2, Window::Standing)];
    for (node, amount) in cluster.nodes.iter().zip([1, 10, 100]) {
        ids.iter().for_each(|id| node.charge(*id, amount, 1_000).unwrap());
    }
    for node in &cluster.nodes {
        until("all is seen", || ids.iter().all(|id| node.used(*id) == 111)).await;
    }
    // Nothing more is told once all know all, but that nodes are there.
    until("all acknowledged", || cluster.nodes.iter().all(Node::is_even)).await;
    let before: Vec<_> = cluster.nodes.iter().map(|node| node.exchange.counts()).collect();
    until("heartbeats", || {
        let counts = cluster.nodes.iter().map(|node| node.exchange.counts());
        counts.zip(&before).all(|(now, before)| now.bytes_sent > before.bytes_sent + 200)
    })
    .await;
    for (node, before) in cluster.nodes.iter().zip(before) {
        let now = node.exchange.counts();
        assert_eq!((now.cells_sent, now.cells_full), (before.cells_sent, 0));
        assert_eq!((now.peers.len(), now.frozen), (2, false));
        assert!(now.peers.iter().all(|peer| peer.connected && peer.lag_ms == 0), "{now:?}");
        assert!(now.bytes_received > 0 && now.cells_new > 0 && now.repairs >= 2, "{now:?}");
    }
    Ok(())
}

/// With N nodes, each of which has at most `UNTOLD` charged that others have not heard of, the rate times the delay of the
/// formula is N times `UNTOLD`: so a limit is passed by at most (N - 1) times that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_that_all_charge_at_once_is_passed_by_no_more_than_is_said() -> anyhow::Result<()> {
    const UNTOLD: u64 = 7;
    const LIMIT: u64 = 300;
    let cluster = Cluster::start(3).await?;
    let id = counter_id(1, YEAR);
    let spend = async |node: &Node| {
        let mut spent = 0;
        loop {
            for _ in 0..UNTOLD {
                if node.charge(id, 1, LIMIT).is_err() {
                    return spent;
                }
                spent += 1;
            }
            until("others have heard", || node.is_even()).await;
        }
    };
    let [one, two, three] = &cluster.nodes[..] else { panic!("three") };
    let (one, two, three) = tokio::join!(spend(one), spend(two), spend(three));
    let all = one + two + three;
    assert!((LIMIT..=LIMIT + 2 * UNTOLD).contains(&all), "{one} + {two} + {three}");
    for node in &cluster.nodes {
        until("all is seen", || node.used(id) == all).await;
        assert!(node.charge(id, 1, LIMIT).is_err());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_lost_is_found_by_a_comparison() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(2).await?;
    let id = counter_id(1, YEAR);
    cluster.nodes[1].exchange.shared().lose.store(1, Relaxed);
    cluster.nodes[0].charge(id, 5, 100)?;
    until("it was lost", || cluster.nodes[1].exchange.shared().lose.load(Relaxed) == 0).await;
    until("it was acknowledged though", || cluster.nodes[0].is_even()).await;
    assert_eq!(cluster.nodes[1].used(id), 0);
    // Another node, which never heard of it, compares with both, often.
    let often = ExchangeSettings { repair_every: Duration::from_millis(50), ..settings() };
    cluster.nodes.push(Node::start((3, 1), &Settled::new(0), SystemClock, often).await?);
    cluster.nodes[2].run();
    cluster.introduce().await?;
    cluster.until_equal().await;
    assert_eq!(cluster.nodes.iter().map(|node| node.used(id)).collect::<Vec<_>>(), [5, 5, 5]);
    let differed = cluster.nodes.iter().map(|node| node.exchange.counts().buckets_differed);
    assert!(differed.sum::<u64>() > 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_off_is_told() -> anyhow::Result<()> {
    let mut cluster = Cluster::start(1).await?;
    cluster.nodes.push(Node::start((2, 1), &Settled::new(0), Ahead(60_000), settings()).await?);
    cluster.nodes[1].run();
    cluster.introduce().await?;
    let offset = |node: &Node| node.exchange.counts().peers.first().and_then(|peer| peer.clock_offset_ms);
    for (node, sign) in cluster.nodes.iter().zip([1, -1]) {
        until("the offset is known", || offset(node).is_some()).await;
        // The machine may stall between two readings, though not for so long.
        let off = offset(node).unwrap() * sign;
        assert!((40_000..80_000).contains(&off), "{off}");
    }
    Ok(())
}
