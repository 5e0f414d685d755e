//! The way to other nodes. There are none yet: a cluster of one asks nobody.

use super::types::{Node, NodeId, Types};
use openraft::{
    OptionalSend, RaftNetwork, RaftNetworkFactory, Snapshot, Vote,
    error::{Fatal, RPCError, RaftError, ReplicationClosed, StreamingError, Unreachable},
    network::RPCOption,
    raft::{AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse},
};
use std::future::Future;

/// A node without others.
#[derive(Debug, thiserror::Error)]
#[error("this node knows no way to others")]
struct Alone;

/// The way to other nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Network;

type Failed = RPCError<NodeId, Node, RaftError<NodeId>>;

fn alone() -> Failed {
    RPCError::Unreachable(Unreachable::new(&Alone))
}

impl RaftNetworkFactory<Types> for Network {
    type Network = Self;

    async fn new_client(&mut self, _: NodeId, _: &Node) -> Self {
        *self
    }
}

impl RaftNetwork<Types> for Network {
    async fn append_entries(
        &mut self,
        _: AppendEntriesRequest<Types>,
        _: RPCOption,
    ) -> Result<AppendEntriesResponse<NodeId>, Failed> {
        Err(alone())
    }

    async fn vote(&mut self, _: VoteRequest<NodeId>, _: RPCOption) -> Result<VoteResponse<NodeId>, Failed> {
        Err(alone())
    }

    async fn full_snapshot(
        &mut self,
        _: Vote<NodeId>,
        _: Snapshot<Types>,
        _: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _: RPCOption,
    ) -> Result<SnapshotResponse<NodeId>, StreamingError<Types, Fatal<NodeId>>> {
        Err(StreamingError::Unreachable(Unreachable::new(&Alone)))
    }
}
