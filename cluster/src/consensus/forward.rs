//! What only the leader can do, asked on any node: done here if this is the leader, else forwarded to it, one hop. Tried
//! again until the deadline: a command has a request id, so it is applied once however often it is sent.

use super::{
    handle::Consensus,
    record,
    types::{Answer, Metrics, Node, NodeId, Proposal},
};
use crate::mesh::was_sent;
use bytes::Bytes;
use openraft::{
    ServerState,
    error::{CheckIsLeaderError, ClientWriteError, RaftError},
};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tonic::Request;
use trestle_proto::raft::{
    self, FinalizeAnswer, ProposalAnswer, ReadIndexAnswer, RemovalAnswer, finalize_answer,
    forward_client::ForwardClient, proposal_answer, read_index_answer, removal_answer,
};

/// While nobody leads, something is tried again after this long.
const PAUSE: Duration = Duration::from_millis(50);
/// Longest wait for the leader's answer before it is asked again, or another one is.
const HOP: Duration = Duration::from_secs(5);
/// So long without a leader in sight nobody is being elected who will be in a moment.
const ELECTION: Duration = Duration::from_secs(3);
/// How often a leader looks whether a majority still follows it.
const LOOK: Duration = Duration::from_millis(100);

/// Why something is not known to be done.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No leader has confirmed it.
    #[error("no leader of the cluster has answered before the deadline")]
    Late,
    /// There is no leader, and none was asked: nothing was done.
    #[error(
        "no node leads the cluster, as far as this one knows, so nothing was done: try again once a majority of its voters reach \
         each other"
    )]
    NoLeader,
    /// It cannot be.
    #[error("{0}")]
    Refused(String),
    /// Consensus has ended, for example because the disk failed.
    #[error("consensus has ended: {0}")]
    Ended(String),
}

/// Something that only the leader can do.
#[derive(Debug, Clone)]
pub(super) enum Ask {
    /// Write an encoded command to the log.
    Propose(Bytes),
    /// Say what is committed.
    ReadIndex,
    /// Remove a member.
    Remove(NodeId),
    /// Raise the version of the cluster.
    Finalize,
}

/// What that led to.
#[derive(Debug)]
pub(super) enum Reply {
    /// Applied at this place of the log.
    Committed(u64, Answer),
    /// This is committed.
    Index(u64),
    Removed,
    /// The cluster is of this version.
    Version(u32),
    Refused(String),
}

/// What one try led to.
#[derive(Debug)]
pub(super) enum Tried {
    Done(Reply),
    /// Nothing was done.
    NotLeader,
    /// Something may have been done.
    Unknown,
    Ended(String),
}

impl Consensus {
    /// Has something done by the leader, whoever that is.
    pub(super) async fn ask(&self, ask: Ask, deadline: Instant) -> Result<Reply, ClusterError> {
        let (mut taken, mut leaderless) = (false, None);
        loop {
            let tried = match self.leader() {
                Some((node, _)) if node == self.node() => self.lead(&ask, deadline).await,
                Some((node, at)) => {
                    let hop = deadline.min(Instant::now() + HOP);
                    tokio::select! {
                        tried = timeout_at(hop, self.forward(&ask, (node, &at), hop)) => {
                            tried.unwrap_or(Tried::Unknown)
                        }
                        // It will not answer any more, or not as the leader.
                        () = self.leads_no_more(node) => Tried::Unknown,
                    }
                }
                None => self.running(),
            };
            match tried {
                Tried::Done(reply) => return Ok(reply),
                Tried::Ended(why) => return Err(ClusterError::Ended(why)),
                Tried::NotLeader => {}
                Tried::Unknown => taken = true,
            }
            let now = Instant::now();
            leaderless = self.sees_no_leader().then(|| leaderless.unwrap_or(now));
            let is_long = leaderless.is_some_and(|since| now.duration_since(since) >= ELECTION);
            let is_late = now + PAUSE >= deadline;
            if !taken && (is_long || is_late) {
                return Err(ClusterError::NoLeader);
            }
            if is_late {
                return Err(ClusterError::Late);
            }
            sleep(PAUSE).await;
        }
    }

    /// Waits until this node has applied all that the cluster had committed when it was asked.
    ///
    /// # Errors
    ///
    /// No leader was found in time, or what it has did not come in time.
    pub async fn caught_up(&self, deadline: Duration) -> Result<(), ClusterError> {
        let deadline = Instant::now() + deadline;
        match self.ask(Ask::ReadIndex, deadline).await? {
            Reply::Index(index) => self.applied(index, deadline).await,
            other => Err(unexpected(&other)),
        }
    }

    /// Waits until this node has applied a place of the log.
    pub(super) async fn applied(&self, index: u64, deadline: Instant) -> Result<(), ClusterError> {
        let mut metrics = self.raft.metrics();
        let reached = metrics.wait_for(|metrics| {
            metrics.running_state.is_err() || metrics.last_applied.is_some_and(|last| last.index >= index)
        });
        match timeout_at(deadline, reached).await {
            Err(_) => Err(ClusterError::Late),
            Ok(Err(_)) => Err(ClusterError::Ended("it was closed".to_owned())),
            Ok(Ok(metrics)) => match &metrics.running_state {
                Ok(()) => Ok(()),
                Err(fatal) => Err(ClusterError::Ended(fatal.to_string())),
            },
        }
    }

    /// The leader as this node sees it.
    pub(super) fn leader(&self) -> Option<(NodeId, Node)> {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow();
        let leader = metrics.current_leader?;
        let at = metrics.membership_config.membership().get_node(&leader)?;
        Some((leader, at.clone()))
    }

    /// Whether there is nobody to ask, and nobody who is about to take over.
    fn sees_no_leader(&self) -> bool {
        match self.leader() {
            Some((node, _)) => node == self.node() && !self.leads() && !self.stepping_down(),
            None => true,
        }
    }

    /// Resolves once this node no longer sees another one as the leader.
    async fn leads_no_more(&self, leader: NodeId) {
        let mut metrics = self.raft.metrics();
        let changed = |metrics: &Metrics| metrics.current_leader != Some(leader);
        // An error: consensus has ended, which the next try finds.
        let _ = metrics.wait_for(changed).await;
    }

    /// Whether this node leads, as far as it knows, and means to.
    pub(crate) fn leads(&self) -> bool {
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow();
        metrics.state == ServerState::Leader && !self.is_forsaken(&metrics) && !self.stepping_down()
    }

    /// Whether this node leads and no majority has followed it for longer than it takes to elect another one.
    pub(super) fn is_forsaken(&self, metrics: &Metrics) -> bool {
        metrics.state == ServerState::Leader
            && metrics.millis_since_quorum_ack.is_some_and(|ms| ms > self.pace.election_ms_max)
    }

    fn running(&self) -> Tried {
        match &self.raft.metrics().borrow().running_state {
            Ok(()) => Tried::NotLeader,
            Err(fatal) => Tried::Ended(fatal.to_string()),
        }
    }

    /// Resolves once no majority has followed this leader for longer than it takes to elect another one.
    async fn forsaken(&self) {
        let followed_max = Duration::from_millis(self.pace.election_ms_max);
        let metrics = self.raft.metrics();
        let mut followed = Instant::now();
        loop {
            let since = metrics.borrow().millis_since_quorum_ack;
            if let Some(followed_now) =
                since.and_then(|ms| Instant::now().checked_sub(Duration::from_millis(ms)))
            {
                followed = followed.max(followed_now);
            }
            if followed.elapsed() > followed_max {
                return;
            }
            sleep(LOOK).await;
        }
    }

    /// Does something as the leader, if this node is.
    pub(super) async fn lead(&self, ask: &Ask, deadline: Instant) -> Tried {
        if !self.leads() {
            return self.running();
        }
        let leading = async {
            match ask {
                Ask::Propose(command) => self.write(command).await,
                Ask::ReadIndex => self.read_index().await,
                Ask::Remove(node) => self.remove_here(*node).await,
                Ask::Finalize => self.finalize_here().await,
            }
        };
        tokio::select! {
            tried = timeout_at(deadline, leading) => tried.unwrap_or(Tried::Unknown),
            () = self.forsaken() => Tried::Unknown,
        }
    }

    /// Writes a command to the log; done once it is applied here.
    pub(super) async fn write(&self, command: &Bytes) -> Tried {
        match self.raft.client_write(Proposal(command.to_vec())).await {
            Ok(written) => Tried::Done(Reply::Committed(written.log_id.index, written.data)),
            Err(RaftError::Fatal(fatal)) => Tried::Ended(fatal.to_string()),
            Err(RaftError::APIError(ClientWriteError::ForwardToLeader(_))) => Tried::NotLeader,
            Err(RaftError::APIError(error)) => Tried::Done(Reply::Refused(error.to_string())),
        }
    }

    async fn read_index(&self) -> Tried {
        match self.raft.get_read_log_id().await {
            Ok((index, _)) => Tried::Done(Reply::Index(index.map_or(0, |id| id.index))),
            Err(RaftError::Fatal(fatal)) => Tried::Ended(fatal.to_string()),
            Err(RaftError::APIError(CheckIsLeaderError::ForwardToLeader(_))) => Tried::NotLeader,
            Err(RaftError::APIError(CheckIsLeaderError::QuorumNotEnough(_))) => Tried::Unknown,
        }
    }

    /// Asks another node, which is the leader as this one sees it.
    async fn forward(&self, ask: &Ask, (node, at): (NodeId, &Node), hop: Instant) -> Tried {
        let Some(channels) = &self.channels else { return Tried::NotLeader };
        let mut client = ForwardClient::new(channels.to(node, &at.address));
        let within = hop.saturating_duration_since(Instant::now());
        let answered = match ask {
            Ask::Propose(command) => {
                let asking = client.propose(limited(raft::Proposal { command: command.clone() }, within));
                asking.await.map(|answer| proposed(answer.into_inner()))
            }
            Ask::ReadIndex => {
                let asking = client.read_index(limited(raft::ReadIndexQuestion {}, within));
                asking.await.map(|answer| read(answer.into_inner()))
            }
            Ask::Remove(node) => {
                let asking = client.remove(limited(raft::Removal { node: *node }, within));
                asking.await.map(|answer| removed(answer.into_inner()))
            }
            Ask::Finalize => {
                let asking = client.finalize(limited(raft::Finalizing {}, within));
                asking.await.map(|answer| finalized(answer.into_inner()))
            }
        };
        answered.unwrap_or_else(|status| {
            tracing::debug!(node, %status, "the leader did not answer");
            if was_sent(&status) { Tried::Unknown } else { Tried::NotLeader }
        })
    }
}

/// A call that the other side gives up as well.
pub(super) fn limited<T>(message: T, within: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(within);
    request
}

/// Waits for an answer, so long; none is as good as a failure.
pub(super) async fn answered<T>(
    asking: impl Future<Output = Result<tonic::Response<T>, tonic::Status>>,
    within: Duration,
) -> Option<T> {
    timeout(within, asking).await.ok()?.ok().map(tonic::Response::into_inner)
}

pub(super) fn unexpected(reply: &Reply) -> ClusterError {
    ClusterError::Refused(format!("the leader has answered something else: {reply:?}"))
}

fn proposed(answer: ProposalAnswer) -> Tried {
    use proposal_answer::Outcome;
    match answer.outcome {
        Some(Outcome::Committed(committed)) => match record::read_json(&committed.answer) {
            Ok(answer) => Tried::Done(Reply::Committed(committed.index, answer)),
            Err(error) => Tried::Done(Reply::Refused(error.to_string())),
        },
        Some(Outcome::NotLeader(_)) => Tried::NotLeader,
        Some(Outcome::Unknown(_)) | None => Tried::Unknown,
    }
}

fn read(answer: ReadIndexAnswer) -> Tried {
    use read_index_answer::Outcome;
    match answer.outcome {
        Some(Outcome::Index(index)) => Tried::Done(Reply::Index(index)),
        Some(Outcome::NotLeader(_)) => Tried::NotLeader,
        Some(Outcome::Unknown(_)) | None => Tried::Unknown,
    }
}

fn removed(answer: RemovalAnswer) -> Tried {
    use removal_answer::Outcome;
    match answer.outcome {
        Some(Outcome::Removed(_)) => Tried::Done(Reply::Removed),
        Some(Outcome::NotLeader(_)) => Tried::NotLeader,
        Some(Outcome::Refused(why)) => Tried::Done(Reply::Refused(why)),
        Some(Outcome::Unknown(_)) | None => Tried::Unknown,
    }
}

fn finalized(answer: FinalizeAnswer) -> Tried {
    use finalize_answer::Outcome;
    match answer.outcome {
        Some(Outcome::Version(version)) => Tried::Done(Reply::Version(version)),
        Some(Outcome::NotLeader(_)) => Tried::NotLeader,
        Some(Outcome::Refused(why)) => Tried::Done(Reply::Refused(why)),
        Some(Outcome::Unknown(_)) | None => Tried::Unknown,
    }
}
