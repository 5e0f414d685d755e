//! How a new cluster begins: only if all nodes that are expected say that they are of none, and then by one of them.
//!
//! It begins with as many of them as voters as it will have. So what is acknowledged is on a majority from the first change on:
//! a founder that began alone could lose its disk before it had added others, and with it what it had acknowledged.

use super::{
    forward::{ClusterError, answered, limited},
    handle::Consensus,
    kept_cluster,
    reconcile::voters_wanted,
    types::{Node, NodeId},
    version::Mismatch,
};
use std::{collections::BTreeMap, io, time::Duration};
use tokio::time::sleep;
use trestle_proto::status::{StatusAnswer, StatusQuestion, status_client::StatusClient};

/// Longest wait for what a node says of itself.
const ASK: Duration = Duration::from_secs(1);
/// Between two rounds of asking.
const AGAIN: Duration = Duration::from_millis(500);
/// The reason for waiting is told once in so many rounds.
const TOLD_EVERY: u32 = 20;
/// Peers that are asked at most; there are never so many nodes.
const PEERS_MAX: usize = 64;

/// How a new cluster begins.
pub struct Founding {
    /// So many nodes, this one included, must be there and all be new.
    pub expect: u32,
    /// The addresses of the others, host and port, as they are known at the moment. All of them must answer. This node's
    /// own may be among them.
    pub peers: Box<dyn Fn() -> Vec<String> + Send + Sync>,
}

/// What to do about a cluster.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// To be founded by this node, with these as voters.
    Found(BTreeMap<NodeId, Node>),
    /// By another node, or later, or it is there already.
    Wait(String),
}

/// Decides whether this node founds the cluster: all peers must have answered, none may be of a cluster, there must be enough of
/// them, and this node must have the lowest number.
fn decide(own: (NodeId, &Node), expect: u32, answers: &[(String, Option<StatusAnswer>)]) -> Verdict {
    let mut nodes = BTreeMap::from([(own.0, own.1.clone())]);
    for (address, answer) in answers {
        let Some(answer) = answer else { return Verdict::Wait(format!("{address} does not answer")) };
        if answer.node == own.0 {
            continue;
        }
        if answer.initialized || !answer.cluster.is_empty() {
            return Verdict::Wait(format!("{address} is of a cluster already, which adds this node"));
        }
        let address = if answer.address.is_empty() { address } else { &answer.address };
        nodes.insert(answer.node, Node { address: address.clone(), name: answer.name.clone() });
    }
    if nodes.len() < expect as usize {
        return Verdict::Wait(format!("{} of {expect} nodes are there", nodes.len()));
    }
    match nodes.keys().next() {
        Some(first) if *first != own.0 => Verdict::Wait(format!("node {first} founds the cluster")),
        _ => {
            let voters = voters_wanted(nodes.len());
            Verdict::Found(nodes.into_iter().take(voters).collect())
        }
    }
}

/// Why a program that can up to a version cannot be of the cluster that is there.
fn mismatch(can: u32, answers: &[(String, Option<StatusAnswer>)]) -> Result<(), String> {
    for (address, answer) in answers {
        if let Some(answer) = answer.as_ref().filter(|answer| answer.cluster_version > 0) {
            let fits = Mismatch::of(can, answer.cluster_version);
            fits.map_err(|mismatch| {
                format!("{address} is of a cluster that this node cannot join: {mismatch}")
            })?;
        }
    }
    Ok(())
}

impl Consensus {
    /// Founds a cluster with others that are new as well, if it falls to this node; returns once the node is a member of one,
    /// however that came. What it waits for is told in the log.
    ///
    /// # Errors
    ///
    /// Consensus has ended, the disk refuses, or the cluster that is there is not one for this program.
    pub async fn found(&self, founding: &Founding) -> Result<(), ClusterError> {
        let ended = |error: openraft::error::Fatal<NodeId>| ClusterError::Ended(error.to_string());
        let mut rounds = 0;
        while !self.initialized().await.map_err(ended)? {
            let mut peers = (founding.peers)();
            peers.retain(|address| *address != self.at.address);
            peers.truncate(PEERS_MAX);
            let answers = self.ask_all(peers).await;
            mismatch(self.version_max(), &answers).map_err(ClusterError::Refused)?;
            match decide((self.node(), &self.at), founding.expect, &answers) {
                // A leader that has called meanwhile has made this node one of its own.
                _ if self.identity.cluster().is_some() => {}
                Verdict::Found(voters) => {
                    tracing::info!(voters = voters.len(), "this node founds the cluster");
                    self.found_with(voters)
                        .await
                        .map_err(|error| ClusterError::Refused(error.to_string()))?;
                }
                Verdict::Wait(why) if rounds % TOLD_EVERY == 0 => {
                    tracing::info!("waiting for a cluster: {why}")
                }
                Verdict::Wait(_) => {}
            }
            rounds += 1;
            sleep(AGAIN).await;
        }
        Ok(())
    }

    async fn ask_all(&self, peers: Vec<String>) -> Vec<(String, Option<StatusAnswer>)> {
        let Some(channels) = &self.channels else { return Vec::new() };
        let asking = peers.into_iter().map(|address| async {
            let mut client = StatusClient::new(channels.to(0, &address));
            let answer = answered(client.get(limited(StatusQuestion {}, ASK)), ASK).await;
            (address, answer)
        });
        futures_util::future::join_all(asking).await
    }

    /// Founds a cluster with these as voters. Its number is on the disk before the members are, so that this node is of no
    /// other cluster from then on; and marked until they are, so that an interrupted founding leaves nothing behind.
    pub(super) async fn found_with(&self, voters: BTreeMap<NodeId, Node>) -> io::Result<()> {
        let (kept, identity) = (self.folder.cluster.clone(), self.identity.clone());
        let minting = tokio::task::spawn_blocking(move || {
            kept.founding()?;
            let cluster = kept_cluster::mint()?;
            identity.join(cluster).or_else(|error| {
                kept.founded()?;
                Err(io::Error::other(error))
            })
        });
        minting.await.map_err(io::Error::other)??;
        self.raft.initialize(voters).await.map_err(io::Error::other)?;
        let kept = self.folder.cluster.clone();
        tokio::task::spawn_blocking(move || kept.founded()).await.map_err(io::Error::other)?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(node: NodeId) -> Node {
        Node { address: format!("node-{node}:1"), name: format!("n{node}") }
    }

    /// What a node answers: its number, or `!` and that if it is of a cluster, or nothing.
    fn answer(text: &str) -> (String, Option<StatusAnswer>) {
        let number = text.trim_start_matches('!').parse::<u64>();
        let answer = number.ok().map(|node| StatusAnswer {
            node,
            initialized: text.starts_with('!'),
            address: at(node).address,
            name: at(node).name,
            ..StatusAnswer::default()
        });
        (text.to_owned(), answer)
    }

    #[test]
    fn one_founds_if_all_are_new() {
        for (own, expect, answers, expected) in [
            (1, 1, "", "1"),
            (1, 3, "2 3", "1 2 3"),
            (1, 3, "1 2 3", "1 2 3"),
            (1, 2, "2", "1"),
            (1, 4, "2 3 4", "1 2 3"),
            (1, 3, "2 3 4 5", "1 2 3 4 5"),
            (2, 3, "1 3", "node 1 founds"),
            (1, 3, "2", "2 of 3"),
            (1, 3, "2 2", "2 of 3"),
            (1, 3, "2 ?", "does not answer"),
            (1, 2, "2 ?", "does not answer"),
            (1, 3, "2 !3", "of a cluster already"),
            (1, 1, "!3", "of a cluster already"),
        ] {
            let answers: Vec<_> = answers.split_whitespace().map(answer).collect();
            match decide((own, &at(own)), expect, &answers) {
                Verdict::Found(voters) => {
                    let numbers: Vec<_> = voters.keys().map(ToString::to_string).collect();
                    assert_eq!(numbers.join(" "), expected, "{own} {answers:?}");
                    assert!(voters.iter().all(|(node, found)| *found == at(*node)));
                }
                Verdict::Wait(why) => assert!(why.contains(expected), "{own} {answers:?}: {why}"),
            }
        }
    }
}
