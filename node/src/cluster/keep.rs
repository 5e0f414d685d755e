//! Keeps copies of the ledgers of others, and says what it has.

use super::wire::MESSAGE_BYTES_MAX;
use crate::ledger::room_for_copies;
use tokio::task::spawn_blocking;
use trestle_cluster::{NodeId, Peer};
use trestle_proto::{
    copies::{
        AppendAnswer, AppendQuestion, HeldAnswer, HeldQuestion, HeldSegment, NodesAnswer, NodesQuestion,
        copies_client::CopiesClient,
        copies_server::{self, CopiesServer},
    },
    tonic::{Request, Response, Status, async_trait, metadata::MetadataMap, service::Routes},
};
use trestle_store::{Chunk, Copied, Copies, CopyError, Ledger, Name};

/// Segments of one answer: some 20 bytes each.
const HELD_MAX: usize = 20_000;

/// Who keeps copies.
#[derive(Clone)]
pub(super) struct Keep {
    pub(super) copies: Copies,
    /// Its own ledger goes first.
    pub(super) ledger: Ledger,
}

impl Keep {
    /// Answers peers, beside other services.
    pub(super) fn routes(self, routes: Routes) -> Routes {
        let server = CopiesServer::new(self)
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX);
        routes.add_service(server)
    }
}

#[async_trait]
impl copies_server::Copies for Keep {
    async fn append(&self, request: Request<AppendQuestion>) -> Result<Response<AppendAnswer>, Status> {
        // A node adds to copies of its own ledger alone.
        let node = caller(request.metadata())?;
        let question = request.into_inner();
        let (copies, room) = (self.copies.clone(), room_for_copies(&self.ledger));
        let adding = spawn_blocking(move || {
            let chunk = Chunk {
                name: Name { sequence: question.sequence, thread: question.thread },
                offset: question.offset,
                bytes: &question.bytes,
                crc: question.crc,
                is_sealed: question.sealed,
                crc_of_all: question.crc_of_all,
            };
            copies.append(node, &chunk, room)
        });
        let added = adding.await.map_err(|_| Status::internal("the copy could not be written"))?;
        let Copied { bytes, is_sealed, .. } = added.map_err(refused)?;
        Ok(Response::new(AppendAnswer { bytes, sealed: is_sealed }))
    }

    async fn nodes(&self, _: Request<NodesQuestion>) -> Result<Response<NodesAnswer>, Status> {
        Ok(Response::new(NodesAnswer { nodes: self.copies.nodes() }))
    }

    async fn held(&self, request: Request<HeldQuestion>) -> Result<Response<HeldAnswer>, Status> {
        let HeldQuestion { node, from_sequence } = request.into_inner();
        let mut held = self.copies.held(node);
        held.retain(|copied| copied.name.sequence >= from_sequence);
        let more = held.len() > HELD_MAX;
        held.truncate(HELD_MAX);
        let segments = held.into_iter().map(|Copied { name, bytes, is_sealed }| HeldSegment {
            sequence: name.sequence,
            thread: name.thread,
            bytes,
            sealed: is_sealed,
        });
        Ok(Response::new(HeldAnswer { segments: segments.collect(), more }))
    }
}

fn caller(metadata: &MetadataMap) -> Result<NodeId, Status> {
    let from = metadata.get("trestle-from").and_then(|from| from.to_str().ok()?.parse().ok());
    from.ok_or_else(|| Status::invalid_argument("the call does not say who makes it"))
}

fn refused(error: CopyError) -> Status {
    match error {
        CopyError::Malformed(_) => Status::invalid_argument(error.to_string()),
        CopyError::Full => Status::resource_exhausted(error.to_string()),
        CopyError::Disk(_) | CopyError::Open(_) => {
            tracing::error!(%error, "a copy of the ledger of a peer cannot be kept");
            Status::internal("the copy cannot be kept: the log of the node says why")
        }
    }
}

/// What a peer holds of a node, all pages of it.
pub(super) async fn held_by(mut client: CopiesClient<Peer>, node: NodeId) -> Result<Vec<Copied>, Status> {
    let (mut all, mut from_sequence) = (Vec::new(), 0);
    loop {
        let answer = client.held(HeldQuestion { node, from_sequence }).await?.into_inner();
        all.extend(answer.segments.into_iter().map(|held| Copied {
            name: Name { sequence: held.sequence, thread: held.thread },
            bytes: held.bytes,
            is_sealed: held.sealed,
        }));
        let last = all.last().map_or(0, |copied: &Copied| copied.name.sequence);
        // Each page goes on, so that there is an end.
        if !answer.more || last < from_sequence {
            return Ok(all);
        }
        from_sequence = last + 1;
    }
}
