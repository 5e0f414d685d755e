//! The types that the consensus library is instantiated with.

use super::snapshot::SnapshotFile;
use serde::{Deserialize, Serialize};

pub(super) use crate::mesh::NodeId;

/// Where a node is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Node {
    /// Host and port; empty for a node that nobody needs to reach.
    pub(super) address: String,
    /// Its stable name: another node that comes with it takes its place. Empty if it has none.
    #[serde(default)]
    pub(super) name: String,
}

/// An encoded command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Proposal(pub(super) Vec<u8>);

/// What a command led to; remembered for its request id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Answer {
    /// Nothing was asked.
    Nothing,
    /// It made this revision.
    Applied(u64),
    /// A part of a larger change is kept.
    Staged,
    /// The state has this revision instead of the expected one.
    Conflict(u64),
    /// It cannot be applied.
    Refused(String),
    /// A node is gone for good.
    Retired,
    /// Who spends in some windows is fixed.
    Fixed,
    /// The cluster is of this version.
    Raised(u32),
}

openraft::declare_raft_types!(
    pub(super) Types:
        D = Proposal,
        R = Answer,
        NodeId = NodeId,
        Node = Node,
        SnapshotData = SnapshotFile,
);

pub(super) type Raft = openraft::Raft<Types>;
pub(super) type Entry = openraft::Entry<Types>;
pub(super) type LogId = openraft::LogId<NodeId>;
pub(super) type Vote = openraft::Vote<NodeId>;
pub(super) type Membership = openraft::StoredMembership<NodeId, Node>;
pub(super) type SnapshotMeta = openraft::SnapshotMeta<NodeId, Node>;
pub(super) type Metrics = openraft::RaftMetrics<NodeId, Node>;
pub(super) type StorageError = openraft::StorageError<NodeId>;
