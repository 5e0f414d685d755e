//! The way to other nodes: what the consensus library here says to that there. Each call has a timeout; a node that does not
//! answer, or answers with an error, is unreachable, which the library takes as a reason to wait before it tries again.

use super::{
    frame,
    snapshot::SnapshotFile,
    types::{Node, NodeId, Types, Vote},
};
use crate::mesh::{Channels, Peer};
use bytes::Bytes;
use futures_util::{Stream, stream};
use openraft::{
    OptionalSend, RaftNetwork, RaftNetworkFactory, Snapshot,
    error::{Fatal, RPCError, RaftError, ReplicationClosed, StreamingError, Unreachable},
    network::{Backoff, RPCOption},
    raft::{AppendEntriesRequest, AppendEntriesResponse, SnapshotResponse, VoteRequest, VoteResponse},
};
use serde::de::DeserializeOwned;
use std::{fs::File, future::Future, io::Read, time::Duration};
use tokio::{sync::mpsc, time::timeout};
use tonic::{Request, Response, Status};
use trestle_proto::raft::{
    Frame, SnapshotHead, SnapshotPiece, raft_client::RaftClient, snapshot_piece::Piece,
};

/// A piece of a snapshot.
pub(super) const PIECE_BYTES: usize = 64 * 1024;
/// Pieces that wait to be sent.
const PIECES_MAX: usize = 8;
/// Sending a snapshot and installing it there.
const SNAPSHOT: Duration = Duration::from_secs(600);
/// Between tries to reach a node that was unreachable.
const AGAIN: Duration = Duration::from_millis(200);

/// Why a call led to nothing.
#[derive(Debug, thiserror::Error)]
enum NoAnswer {
    #[error("this node knows no way to others")]
    Alone,
    #[error("it did not answer in time")]
    Late,
    #[error("it did not answer: {0}")]
    Refused(#[from] Box<Status>),
    #[error("what is to be said cannot be written, or what was answered cannot be read: {0}")]
    Unreadable(String),
}

fn unreadable(error: impl ToString) -> NoAnswer {
    NoAnswer::Unreadable(error.to_string())
}

/// The way to other nodes.
#[derive(Clone)]
pub(super) struct Network {
    /// None for a cluster of one: it asks nobody.
    pub(super) channels: Option<Channels>,
}

/// The way to one node.
pub(super) struct Connection {
    peer: Option<Peer>,
}

type Failed = RPCError<NodeId, Node, RaftError<NodeId>>;

impl RaftNetworkFactory<Types> for Network {
    type Network = Connection;

    async fn new_client(&mut self, node: NodeId, at: &Node) -> Connection {
        // There is never a call to this node itself: it would wait for itself.
        let channels = self.channels.as_ref().filter(|channels| channels.identity().node() != node);
        Connection { peer: channels.map(|channels| channels.to(node, &at.address)) }
    }
}

impl Connection {
    fn client(&self) -> Result<RaftClient<Peer>, NoAnswer> {
        Ok(RaftClient::new(self.peer.clone().ok_or(NoAnswer::Alone)?))
    }
}

/// Waits for an answer, so long.
async fn answer<T: DeserializeOwned>(
    asking: impl Future<Output = Result<Response<Frame>, Status>>,
    within: Duration,
) -> Result<T, NoAnswer> {
    let answered = timeout(within, asking).await.map_err(|_| NoAnswer::Late)?;
    let answered = answered.map_err(|status| NoAnswer::Refused(Box::new(status)))?;
    frame::read(&answered.into_inner()).map_err(unreadable)
}

fn unreachable(error: NoAnswer) -> Failed {
    RPCError::Unreachable(Unreachable::new(&error))
}

impl RaftNetwork<Types> for Connection {
    async fn append_entries(
        &mut self,
        append: AppendEntriesRequest<Types>,
        option: RPCOption,
    ) -> Result<AppendEntriesResponse<NodeId>, Failed> {
        let mut client = self.client().map_err(unreachable)?;
        let frame = frame::write_append(append).map_err(|error| unreachable(unreadable(error)))?;
        answer(client.append(frame), option.hard_ttl()).await.map_err(unreachable)
    }

    async fn vote(
        &mut self,
        vote: VoteRequest<NodeId>,
        option: RPCOption,
    ) -> Result<VoteResponse<NodeId>, Failed> {
        let mut client = self.client().map_err(unreachable)?;
        let frame = frame::write(&vote).map_err(|error| unreachable(unreadable(error)))?;
        answer(client.vote(frame), option.hard_ttl()).await.map_err(unreachable)
    }

    async fn full_snapshot(
        &mut self,
        vote: Vote,
        snapshot: Snapshot<Types>,
        cancel: impl Future<Output = ReplicationClosed> + OptionalSend + 'static,
        _: RPCOption,
    ) -> Result<SnapshotResponse<NodeId>, StreamingError<Types, Fatal<NodeId>>> {
        let unreachable = |error| StreamingError::Unreachable(Unreachable::new(&error));
        let mut client = self.client().map_err(unreachable)?;
        let pieces = pieces(vote, snapshot).await.map_err(unreachable)?;
        tokio::select! {
            closed = cancel => Err(StreamingError::Closed(closed)),
            installed = answer(client.snapshot(Request::new(pieces)), SNAPSHOT) => installed.map_err(unreachable),
        }
    }

    fn backoff(&self) -> Backoff {
        Backoff::new(std::iter::repeat(AGAIN))
    }
}

/// A snapshot in pieces, read as they are sent. Its file stays readable if a newer one takes its place meanwhile.
async fn pieces(
    vote: Vote,
    snapshot: Snapshot<Types>,
) -> Result<impl Stream<Item = SnapshotPiece> + Send + 'static, NoAnswer> {
    let file: SnapshotFile = *snapshot.snapshot;
    let opening = tokio::task::spawn_blocking(move || {
        let file = File::open(file.path())?;
        let length_bytes = file.metadata()?.len();
        Ok::<_, std::io::Error>((file, length_bytes))
    });
    let (mut file, length_bytes) = opening.await.map_err(unreadable)?.map_err(unreadable)?;
    let head = SnapshotHead { vote: frame::write(&vote).map_err(unreadable)?.content, length_bytes };
    let (sender, receiver) = mpsc::channel(PIECES_MAX);
    tokio::task::spawn_blocking(move || {
        let mut piece = Piece::Head(head);
        // It ends with the file, or with whom it is for. One that ends early has not the length that its head says.
        while sender.blocking_send(SnapshotPiece { piece: Some(piece) }).is_ok() {
            let mut data = Vec::with_capacity(PIECE_BYTES);
            match file.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut data) {
                Ok(read) if read > 0 => piece = Piece::Data(Bytes::from(data)),
                _ => break,
            }
        }
    });
    Ok(stream::unfold(receiver, |mut receiver| async {
        receiver.recv().await.map(|piece| (piece, receiver))
    }))
}
