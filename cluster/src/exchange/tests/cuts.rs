//! Ways that are cut and opened again: limits hold meanwhile, and all agree in the end.

use super::node::{Cluster, Node, YEAR, counter_id, until};

const LIMIT: u64 = 300;

fn spend_all(node: &Node) -> u64 {
    (0..).take_while(|_| node.charge(counter_id(1, YEAR), 1, LIMIT).is_ok()).count() as u64
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_are_cut_off_share_what_was_left_and_agree_once_it_heals() -> anyhow::Result<()> {
    let cluster = Cluster::start(3).await?;
    let id = counter_id(1, YEAR);
    cluster.nodes[0].charge(id, 30, LIMIT)?;
    for node in &cluster.nodes {
        until("it is seen", || node.used(id) == 30).await;
    }
    cluster.cut(1, 3, true);
    cluster.cut(2, 3, true);
    until("all have found out", || cluster.nodes.iter().all(Node::is_frozen)).await;
    assert_eq!(cluster.nodes.iter().map(spend_all).collect::<Vec<_>>(), [90, 90, 90]);
    until("the connected ones agree", || cluster.nodes[..2].iter().all(|node| node.used(id) == 210)).await;
    assert_eq!(cluster.nodes[2].used(id), 120);
    assert_eq!(cluster.nodes.iter().map(spend_all).sum::<u64>(), 0, "nothing is counted anew");

    cluster.cut(1, 3, false);
    cluster.cut(2, 3, false);
    cluster.until_reached().await;
    cluster.until_equal().await;
    assert!(cluster.nodes.iter().all(|node| node.used(id) == 300));
    Ok(())
}

/// The node between two that are cut off from each other sees both, and would spend what each of them left to the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_hears_of_a_cut_shares_too() -> anyhow::Result<()> {
    let cluster = Cluster::start(3).await?;
    cluster.cut(1, 2, true);
    until("all have found out", || cluster.nodes.iter().all(Node::is_frozen)).await;
    assert_eq!(cluster.nodes.iter().map(spend_all).collect::<Vec<_>>(), [100, 100, 100]);
    cluster.cut(1, 2, false);
    cluster.until_reached().await;
    cluster.until_equal().await;
    Ok(())
}
