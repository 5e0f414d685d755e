//! What a node can say of the cluster, and how it stands in it.

use super::{forward::ClusterError, handle::Consensus, types::NodeId};
use crate::mesh::ClusterId;
use std::collections::BTreeSet;

/// A member of the cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberStatus {
    /// Its number.
    pub node: NodeId,
    /// Its stable name, if it has one.
    pub name: String,
    /// Where others reach it.
    pub address: String,
    /// Whether it votes; otherwise it learns.
    pub votes: bool,
    /// The entries that it does not have yet, as the leader knows; none if this node does not lead.
    pub lag: Option<u64>,
}

/// How a node stands in its cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// Its number.
    pub node: NodeId,
    /// Its cluster, once it is of one.
    pub cluster: Option<ClusterId>,
    /// Whether it is, or ever was, a member.
    pub initialized: bool,
    /// The version of the cluster, as it is in effect here.
    pub version: u32,
    /// The version up to which this node can.
    pub version_max: u32,
    /// The leader as it sees it; none if that is this node and no majority follows it.
    pub leader: Option<NodeId>,
    /// Counts elections.
    pub term: u64,
    /// All members, in the order of their numbers.
    pub members: Vec<MemberStatus>,
    /// Nodes that were removed for good, the latest last.
    pub retired: Vec<NodeId>,
    /// The last entry of its log.
    pub last_log: u64,
    /// The last entry that it knows to be on a majority.
    pub committed: u64,
    /// The last entry that is in effect here.
    pub applied: u64,
    /// The last revision that is in effect here.
    pub revision: u64,
    /// As a leader: when a majority followed it last. None if it does not lead.
    pub quorum_ack_ms_ago: Option<u64>,
    /// The last entry in its snapshot, if it has one.
    pub snapshot: Option<u64>,
}

impl Status {
    /// Entries that are on this disk and not known to be on a majority.
    pub fn commit_lag(&self) -> u64 {
        self.last_log.saturating_sub(self.committed)
    }

    /// Entries that are on a majority and not in effect here.
    pub fn apply_lag(&self) -> u64 {
        self.committed.saturating_sub(self.applied)
    }
}

impl Consensus {
    /// How this node stands in its cluster.
    ///
    /// # Errors
    ///
    /// Consensus has ended.
    pub async fn status(&self) -> Result<Status, ClusterError> {
        let ended = |error: &dyn std::fmt::Display| ClusterError::Ended(error.to_string());
        let asking = self.raft.with_raft_state(|state| state.committed);
        let committed = asking.await.map_err(|error| ended(&error))?;
        let initialized = self.initialized().await.map_err(|error| ended(&error))?;
        let retired = self.machine.retired().map_err(|error| ended(&error))?;
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow();
        let membership = metrics.membership_config.membership();
        let voters: BTreeSet<_> = membership.voter_ids().collect();
        let last_log = metrics.last_log_index.unwrap_or_default();
        let members = membership.nodes().map(|(node, at)| {
            let matched = metrics.replication.as_ref().map(|matched| matched.get(node).copied().flatten());
            MemberStatus {
                node: *node,
                name: at.name.clone(),
                address: at.address.clone(),
                votes: voters.contains(node),
                lag: matched.map(|matched| last_log.saturating_sub(matched.map_or(0, |id| id.index))),
            }
        });
        Ok(Status {
            node: self.node(),
            cluster: self.identity.cluster(),
            initialized,
            version: self.version(),
            version_max: self.version_max(),
            leader: metrics.current_leader.filter(|_| !self.is_forsaken(&metrics)),
            // The one that the leader is of: both as they were at one moment.
            term: metrics.current_term,
            members: members.collect(),
            retired,
            last_log,
            committed: committed.map_or(0, |id| id.index),
            applied: metrics.last_applied.map_or(0, |id| id.index),
            revision: self.revision(),
            quorum_ack_ms_ago: metrics.millis_since_quorum_ack,
            snapshot: metrics.snapshot.map(|id| id.index),
        })
    }
}
