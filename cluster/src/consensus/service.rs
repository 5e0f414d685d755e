//! What this node answers to others. The mesh has checked already that a call is for this node and from one of its cluster;
//! the status alone is told to whoever asks.

use super::{
    forward::{Ask, Reply, Tried},
    frame,
    handle::Consensus,
    record,
    snapshot::SnapshotFile,
    types::{SnapshotMeta, Vote},
};
use openraft::{ServerState, Snapshot};
use std::time::Duration;
use tokio::{
    fs::File,
    io::AsyncWriteExt,
    time::{Instant, timeout},
};
use tonic::{Request, Response, Status, Streaming, async_trait, service::Routes};
use trestle_proto::raft::{
    Committed, ElectNow, Electing, FinalizeAnswer, Finalizing, Frame, NotLeader, Proposal, ProposalAnswer,
    ReadIndexAnswer, ReadIndexQuestion, Removal, RemovalAnswer, Removed, SnapshotHead, SnapshotPiece,
    Unknown, finalize_answer,
    forward_server::{Forward, ForwardServer},
    leadership_server::{Leadership, LeadershipServer},
    proposal_answer,
    raft_server::{Raft, RaftServer},
    read_index_answer, removal_answer,
    snapshot_piece::Piece,
};
use trestle_proto::status::{
    StatusAnswer, StatusQuestion,
    status_server::{Status as StatusService, StatusServer},
};

/// Longest silence within a snapshot.
const PIECE: Duration = Duration::from_secs(30);
/// A snapshot above this is refused before it fills the disk.
const SNAPSHOT_BYTES_MAX: u64 = 16 * 1024 * 1024 * 1024;
/// Longest wait for something to be done here as the leader; who asked asks again.
const LEAD: Duration = Duration::from_secs(10);

#[derive(Clone)]
struct Service(Consensus);

impl Consensus {
    /// What this node answers to others, for the server of the mesh.
    pub fn routes(&self) -> Routes {
        let service = Service(self.clone());
        Routes::new(RaftServer::new(service.clone()))
            .add_service(ForwardServer::new(service.clone()))
            .add_service(LeadershipServer::new(service.clone()))
            .add_service(StatusServer::new(service))
    }
}

fn unreadable(error: impl std::fmt::Display) -> Status {
    Status::invalid_argument(format!("the frame cannot be read: {error}"))
}

/// Consensus has ended here. What it was is in the log of this node, not in the answer.
fn ended(error: impl std::fmt::Display) -> Status {
    tracing::debug!(%error, "a call came after the end of consensus");
    Status::unavailable("consensus has ended on this node")
}

fn full(error: std::io::Error) -> Status {
    tracing::error!(%error, "a snapshot could not be received");
    Status::unavailable("the snapshot cannot be kept here")
}

fn framed(content: &impl serde::Serialize) -> Result<Response<Frame>, Status> {
    Ok(Response::new(frame::write(content).map_err(|error| Status::internal(error.to_string()))?))
}

#[async_trait]
impl Raft for Service {
    async fn vote(&self, request: Request<Frame>) -> Result<Response<Frame>, Status> {
        let vote = frame::read(&request.into_inner()).map_err(unreadable)?;
        framed(&self.0.raft.vote(vote).await.map_err(ended)?)
    }

    async fn append(&self, request: Request<Frame>) -> Result<Response<Frame>, Status> {
        let append = frame::read_append(&request.into_inner()).map_err(unreadable)?;
        framed(&self.0.raft.append_entries(append).await.map_err(ended)?)
    }

    async fn snapshot(&self, request: Request<Streaming<SnapshotPiece>>) -> Result<Response<Frame>, Status> {
        let mut pieces = request.into_inner();
        let Some(Piece::Head(head)) = next(&mut pieces).await? else {
            return Err(Status::invalid_argument("a snapshot begins with its head"));
        };
        let received = Received(SnapshotFile::to_receive(&self.0.folder.snapshots).map_err(full)?);
        receive(&received.0, &head, &mut pieces).await?;
        let vote: Vote = frame::read(&Frame { content: head.vote }).map_err(unreadable)?;
        let meta = check(&received.0).await?;
        let (raft, snapshot) = (self.0.raft.clone(), Box::new(received.0.clone()));
        // It goes on to its end even if whoever sent it waits no longer: the file must be there until then.
        let installing = tokio::spawn(async move {
            let installed = raft.install_full_snapshot(vote, Snapshot { meta, snapshot }).await;
            drop(received);
            installed
        });
        framed(&installing.await.map_err(ended)?.map_err(ended)?)
    }
}

/// Is removed once it is installed, or will not be.
struct Received(SnapshotFile);

impl Drop for Received {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0.path());
    }
}

async fn next(pieces: &mut Streaming<SnapshotPiece>) -> Result<Option<Piece>, Status> {
    let piece = timeout(PIECE, pieces.message()).await;
    let piece = piece.map_err(|_| Status::deadline_exceeded("the snapshot did not go on"))??;
    Ok(piece.and_then(|piece| piece.piece))
}

async fn receive(
    to: &SnapshotFile,
    head: &SnapshotHead,
    pieces: &mut Streaming<SnapshotPiece>,
) -> Result<(), Status> {
    if head.length_bytes > SNAPSHOT_BYTES_MAX {
        return Err(Status::invalid_argument("the snapshot is too large"));
    }
    let mut file = File::create(to.path()).await.map_err(full)?;
    let mut left = head.length_bytes;
    while let Some(Piece::Data(data)) = next(pieces).await? {
        let over = || Status::invalid_argument("the snapshot is longer than its head says");
        left = left.checked_sub(data.len() as u64).ok_or_else(over)?;
        file.write_all(&data).await.map_err(full)?;
    }
    if left > 0 {
        return Err(Status::invalid_argument("the snapshot is shorter than its head says"));
    }
    file.flush().await.map_err(full)?;
    file.sync_all().await.map_err(full)
}

/// Looks at all of a snapshot before it takes the place of anything: one that was damaged on the way ends nothing here.
async fn check(received: &SnapshotFile) -> Result<SnapshotMeta, Status> {
    let file = received.clone();
    let checked = tokio::task::spawn_blocking(move || file.meta()).await;
    let checked = checked.map_err(|error| Status::internal(error.to_string()))?;
    checked.map_err(|error| Status::invalid_argument(error.to_string()))
}

#[async_trait]
impl Forward for Service {
    async fn propose(&self, request: Request<Proposal>) -> Result<Response<ProposalAnswer>, Status> {
        use proposal_answer::Outcome;
        let ask = Ask::Propose(request.into_inner().command);
        let outcome = match self.0.lead(&ask, Instant::now() + LEAD).await {
            Tried::Done(Reply::Committed(index, answer)) => {
                let answer =
                    record::write_json(&answer).map_err(|error| Status::internal(error.to_string()))?;
                Outcome::Committed(Committed { index, answer: answer.into() })
            }
            Tried::Done(_) | Tried::Unknown => Outcome::Unknown(Unknown {}),
            Tried::NotLeader => Outcome::NotLeader(NotLeader {}),
            Tried::Ended(why) => return Err(ended(why)),
        };
        Ok(Response::new(ProposalAnswer { outcome: Some(outcome) }))
    }

    async fn read_index(&self, _: Request<ReadIndexQuestion>) -> Result<Response<ReadIndexAnswer>, Status> {
        use read_index_answer::Outcome;
        let outcome = match self.0.lead(&Ask::ReadIndex, Instant::now() + LEAD).await {
            Tried::Done(Reply::Index(index)) => Outcome::Index(index),
            Tried::Done(_) | Tried::Unknown => Outcome::Unknown(Unknown {}),
            Tried::NotLeader => Outcome::NotLeader(NotLeader {}),
            Tried::Ended(why) => return Err(ended(why)),
        };
        Ok(Response::new(ReadIndexAnswer { outcome: Some(outcome) }))
    }

    async fn remove(&self, request: Request<Removal>) -> Result<Response<RemovalAnswer>, Status> {
        use removal_answer::Outcome;
        let ask = Ask::Remove(request.into_inner().node);
        let outcome = match self.0.lead(&ask, Instant::now() + LEAD).await {
            Tried::Done(Reply::Removed) => Outcome::Removed(Removed {}),
            Tried::Done(Reply::Refused(why)) => Outcome::Refused(why),
            Tried::Done(_) | Tried::Unknown => Outcome::Unknown(Unknown {}),
            Tried::NotLeader => Outcome::NotLeader(NotLeader {}),
            Tried::Ended(why) => return Err(ended(why)),
        };
        Ok(Response::new(RemovalAnswer { outcome: Some(outcome) }))
    }

    async fn finalize(&self, _: Request<Finalizing>) -> Result<Response<FinalizeAnswer>, Status> {
        use finalize_answer::Outcome;
        let outcome = match self.0.lead(&Ask::Finalize, Instant::now() + LEAD).await {
            Tried::Done(Reply::Version(version)) => Outcome::Version(version),
            Tried::Done(Reply::Refused(why)) => Outcome::Refused(why),
            Tried::Done(_) | Tried::Unknown => Outcome::Unknown(Unknown {}),
            Tried::NotLeader => Outcome::NotLeader(NotLeader {}),
            Tried::Ended(why) => return Err(ended(why)),
        };
        Ok(Response::new(FinalizeAnswer { outcome: Some(outcome) }))
    }
}

#[async_trait]
impl Leadership for Service {
    async fn elect(&self, request: Request<ElectNow>) -> Result<Response<Electing>, Status> {
        let term = request.into_inner().term;
        let begun = {
            let metrics = self.0.raft.metrics();
            let metrics = metrics.borrow();
            metrics.current_term == term && metrics.state == ServerState::Follower
        };
        if begun {
            self.0.raft.trigger().elect().await.map_err(ended)?;
        }
        Ok(Response::new(Electing { begun }))
    }
}

#[async_trait]
impl StatusService for Service {
    async fn get(&self, _: Request<StatusQuestion>) -> Result<Response<StatusAnswer>, Status> {
        let initialized = self.0.initialized().await.map_err(ended)?;
        let cluster = self.0.identity.cluster().map(|cluster| cluster.to_string()).unwrap_or_default();
        let metrics = self.0.raft.metrics();
        let metrics = metrics.borrow();
        Ok(Response::new(StatusAnswer {
            node: self.0.node(),
            cluster,
            initialized,
            leader: metrics.current_leader.unwrap_or_default(),
            term: metrics.current_term,
            applied: metrics.last_applied.map_or(0, |last| last.index),
            version: self.0.version_max(),
            address: self.0.at.address.clone(),
            name: self.0.at.name.clone(),
            cluster_version: self.0.machine.begun_version().unwrap_or_default(),
        }))
    }
}
