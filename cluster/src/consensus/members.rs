//! Changes of the members, carried out by the leader, one at a time: those that `reconcile` decides, and removals that somebody
//! asks for.

use super::{
    forward::{Ask, ClusterError, Reply, Tried, answered, limited, unexpected},
    handle::{Consensus, request},
    reconcile::{Seen, Situation, Step, decide},
    types::{Node, NodeId},
};
use crate::membership::Members;
use openraft::ChangeMembers;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};
use trestle_proto::log::{Retire, command::Body};
use trestle_proto::status::{StatusQuestion, status_client::StatusClient};

/// How often the leader looks whether something is to be changed.
const LOOK: Duration = Duration::from_millis(500);
/// Longest time for one change; what is half done then is finished by the next one.
const CHANGE: Duration = Duration::from_secs(10);
/// Longest wait for a sign of life.
const ASK: Duration = Duration::from_secs(1);

impl Consensus {
    /// Keeps the members of consensus as gossip sees the nodes, while this node leads, until consensus ends.
    pub async fn reconcile(&self, members: watch::Receiver<Arc<Members>>) {
        self.reconcile_with(move || members.borrow().iter().map(Seen::from).collect()).await;
    }

    /// The same, with nodes that are looked up each time.
    pub(super) async fn reconcile_with(&self, seen: impl Fn() -> Vec<Seen> + Send) {
        let mut contested = false;
        while self.raft.metrics().borrow().running_state.is_ok() {
            sleep(LOOK).await;
            if !self.leads() {
                continue;
            }
            let changing = self.changing.lock().await;
            match self.situation(seen()) {
                Ok(situation) => {
                    let before = std::mem::replace(&mut contested, situation.is_contested());
                    if contested && !before {
                        tracing::warn!(
                            "another cluster that is not smaller gossips with the secret of this one: no new node is taken until \
                             either has another secret or other seeds"
                        );
                    }
                    if let Some(step) = decide(&situation) {
                        tracing::info!(?step, "the members of the cluster change");
                        self.carry_out(&step).await;
                    }
                }
                Err(error) => tracing::error!(%error, "the members of the cluster cannot be looked at"),
            }
            drop(changing);
        }
    }

    /// Removes a node from the cluster for good: it gets back in under a new number only. Also asked of a node that is not
    /// the leader.
    ///
    /// # Errors
    ///
    /// There is no such node, or without it the cluster would have no majority; or no leader has answered in time.
    pub async fn remove(&self, node: NodeId, deadline: Duration) -> Result<(), ClusterError> {
        match self.ask(Ask::Remove(node), Instant::now() + deadline).await? {
            Reply::Removed => Ok(()),
            Reply::Refused(why) => Err(ClusterError::Refused(why)),
            other => Err(unexpected(&other)),
        }
    }

    /// The same as the leader. Goes on to its end even if whoever asked waits no longer.
    pub(super) async fn remove_here(&self, node: NodeId) -> Tried {
        let consensus = self.clone();
        let removing = tokio::spawn(async move {
            let _changing = consensus.changing.lock().await;
            match consensus.refusal(node).await {
                Err(error) => Tried::Done(Reply::Refused(error.to_string())),
                Ok(Some(why)) => Tried::Done(Reply::Refused(why)),
                Ok(None) if consensus.members().contains(&node) => {
                    match consensus.carry_out(&Step::Remove(node)).await {
                        true => Tried::Done(Reply::Removed),
                        false => Tried::Unknown,
                    }
                }
                Ok(None) => Tried::Done(Reply::Removed),
            }
        });
        removing.await.unwrap_or(Tried::Unknown)
    }

    /// All members, with a vote or without.
    pub(crate) fn members(&self) -> BTreeSet<NodeId> {
        self.raft.metrics().borrow().membership_config.nodes().map(|(node, _)| *node).collect()
    }

    /// Why a node cannot be removed. One that is removed already can be.
    async fn refusal(&self, node: NodeId) -> Result<Option<String>, super::disk::DiskError> {
        if !self.members().contains(&node) {
            let retired = self.machine.retired()?.contains(&node);
            return Ok((!retired).then(|| format!("node {node} is not a member of the cluster")));
        }
        let mut left = self.voters();
        if !left.remove(&node) {
            return Ok(None);
        }
        if left.is_empty() {
            return Ok(Some(format!("node {node} is the only voter: without it there is no cluster")));
        }
        let answers = self.versions_of(&left).await;
        let answering = answers.iter().filter(|(_, answer)| answer.is_some()).count();
        let needed = left.len() / 2 + 1;
        Ok((answering < needed).then(|| {
            format!(
                "without node {node} the cluster would have {} voters, of which {answering} answer and {needed} must: start \
                 the others first, or remove one of those that do not answer",
                left.len()
            )
        }))
    }

    /// These nodes with the version up to which each says it can; `None` for one that gives no sign of life.
    pub(super) async fn versions_of(&self, nodes: &BTreeSet<NodeId>) -> Vec<(NodeId, Option<u32>)> {
        let membership = self.raft.metrics().borrow().membership_config.membership().clone();
        let asking = nodes.iter().map(|node| async {
            if *node == self.node() {
                return (*node, Some(self.version_max));
            }
            let (Some(channels), Some(at)) = (&self.channels, membership.get_node(node)) else {
                return (*node, None);
            };
            let mut client = StatusClient::new(channels.to(*node, &at.address));
            let answer = answered(client.get(limited(StatusQuestion {}, ASK)), ASK).await;
            (*node, answer.map(|answer| answer.version))
        });
        futures_util::future::join_all(asking).await
    }

    fn situation(&self, seen: Vec<Seen>) -> Result<Situation, super::disk::DiskError> {
        let retired = self.machine.retired()?.into_iter().collect();
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow();
        let membership = metrics.membership_config.membership();
        let matched = metrics.replication.iter().flatten();
        Ok(Situation {
            leader: self.node(),
            cluster: self.identity.cluster(),
            voters: membership.get_joint_config().clone(),
            nodes: membership.nodes().map(|(node, at)| (*node, at.clone())).collect(),
            matched: matched.filter_map(|(node, id)| Some((*node, (*id)?.index))).collect(),
            last_log: metrics.last_log_index.unwrap_or_default(),
            version: self.version(),
            retired,
            seen,
        })
    }

    /// Makes a change; whether it is made. To be called by one at a time.
    async fn carry_out(&self, step: &Step) -> bool {
        match timeout(CHANGE, self.change_members(step)).await {
            Ok(Ok(())) => return true,
            Ok(Err(error)) => {
                tracing::warn!(%error, ?step, "the members of the cluster could not be changed")
            }
            Err(_) => {
                tracing::warn!(?step, "a change of the members of the cluster was not confirmed in time")
            }
        }
        false
    }

    async fn change_members(&self, step: &Step) -> Result<(), ClusterError> {
        let one = |node: &NodeId, at: &Node| BTreeMap::from([(*node, at.clone())]);
        match step {
            Step::Settle(voters) => self.change(ChangeMembers::ReplaceAllVoters(voters.clone())).await,
            Step::Promote(nodes) => self.change(ChangeMembers::AddVoterIds(nodes.clone())).await,
            Step::Demote(nodes) => self.change(ChangeMembers::RemoveVoters(nodes.clone())).await,
            Step::Learn(node, at) => self.change(ChangeMembers::AddNodes(one(node, at))).await,
            Step::Move(node, at) => self.change(ChangeMembers::SetNodes(one(node, at))).await,
            Step::Remove(node) => self.retire(*node, None).await,
            Step::Replace { old, new } => self.retire(*old, Some(*new)).await,
        }
    }

    /// A node goes for good; another one may take its place. It is remembered first: else it would be let in again.
    async fn retire(&self, node: NodeId, instead: Option<NodeId>) -> Result<(), ClusterError> {
        if !self.machine.retired().map_err(refused)?.contains(&node) {
            let command = request(Body::Retire(Retire { node })).map_err(refused)?;
            match self.write(&command).await {
                Tried::Done(Reply::Committed(..)) => {}
                other => return Err(ClusterError::Refused(format!("{other:?}"))),
            }
        }
        let mut voters = self.voters();
        if voters.remove(&node) {
            voters.extend(instead);
            // Not `change`: who votes no more goes.
            self.raft.change_membership(voters, false).await.map_err(refused)?;
            return Ok(());
        }
        self.change(ChangeMembers::RemoveNodes(BTreeSet::from([node]))).await
    }

    /// Changes the members; who votes no more learns on.
    async fn change(&self, change: ChangeMembers<NodeId, Node>) -> Result<(), ClusterError> {
        self.raft.change_membership(change, true).await.map_err(refused)?;
        Ok(())
    }
}

fn refused(error: impl Display) -> ClusterError {
    ClusterError::Refused(error.to_string())
}
