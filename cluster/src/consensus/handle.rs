//! The handle that others hold: propose a change, follow the revisions. How they look at the entities is in `look`.

use super::{
    apply::{ENTITY_BYTES_MAX, PARTS_MAX},
    folder::{Folder, SetAside},
    forward::{Ask, ClusterError, Reply},
    record::Change,
    start::{Pace, Watch},
    state_machine::StateMachine,
    types::{Answer, Node, NodeId, Raft},
};
use crate::mesh::{Channels, Identity};
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::{
    sync::{Mutex, watch},
    time::Instant,
};
use trestle_proto::log::{self, command::Body};
use trestle_proto::prost::Message;

/// Larger changes are sent in parts of this size.
const PART_BYTES: usize = 24 * 1024;
/// Largest change at all: its parts wait together for their commit.
const CHANGE_BYTES_MAX: usize = 64 * 1024 * 1024;
const _: () = assert!((CHANGE_BYTES_MAX / PART_BYTES) as u64 + 1 < PARTS_MAX);
/// Replicated entities. A clone is another handle to the same.
#[derive(Clone)]
pub struct Consensus {
    pub(super) raft: Raft,
    pub(super) machine: StateMachine,
    // Keeps the folder locked.
    pub(super) folder: Arc<Folder>,
    pub(super) identity: Identity,
    /// The way to other nodes; a node without a mesh has none.
    pub(super) channels: Option<Channels>,
    /// How others reach this node.
    pub(super) at: Node,
    pub(super) pace: Pace,
    /// The version of the cluster up to which this program can.
    pub(super) version_max: u32,
    /// Steps down from leading, or not.
    pub(super) stepping_down: Arc<AtomicBool>,
    /// One change of the members at a time.
    pub(super) changing: Arc<Mutex<()>>,
    pub(super) _watch: Arc<Watch>,
}

/// What opening a folder gave.
pub struct Opened {
    /// The handle.
    pub consensus: Consensus,
    /// Data that was there and could not be read; the node has begun anew.
    pub set_aside: Option<SetAside>,
}

/// Why a change is not, or may not be, in effect.
#[derive(Debug, thiserror::Error)]
pub enum ProposeError {
    /// Others have changed the state meanwhile: it has this revision instead of the expected one.
    #[error("others have changed the entities meanwhile: they are of revision {revision}")]
    Conflict {
        /// The last revision.
        revision: u64,
    },
    /// It cannot be applied.
    #[error("{0}")]
    Refused(String),
    /// It has something that came with a later version than the cluster is of.
    #[error(
        "the change needs version {needed} of the cluster, which is of version {version}: raise it with `trestle cluster finalize` \
         once all nodes have the program for that"
    )]
    Version {
        /// The version that it needs.
        needed: u32,
        /// The version that the cluster has.
        version: u32,
    },
    /// There is no leader: nothing was changed, nor will be.
    #[error("{}", ClusterError::NoLeader)]
    NoLeader,
    /// Nobody knows whether it is or will be in effect. The same change may be proposed again if it expects
    /// a revision.
    #[error("it is not known whether the change took effect: the deadline has passed")]
    Unknown,
    /// Consensus has ended, for example because the disk failed.
    #[error("consensus has ended: {0}")]
    Ended(String),
}

impl From<ClusterError> for ProposeError {
    fn from(error: ClusterError) -> Self {
        match error {
            ClusterError::Late => Self::Unknown,
            ClusterError::NoLeader => Self::NoLeader,
            ClusterError::Refused(why) => Self::Refused(why),
            ClusterError::Ended(why) => Self::Ended(why),
        }
    }
}

impl Consensus {
    /// Largest value of an entity, in bytes.
    pub const ENTITY_BYTES_MAX: usize = ENTITY_BYTES_MAX;

    /// Proposes a change and waits until it is in effect here; the revision that it made. A deadline that passes leaves
    /// the outcome open.
    pub async fn propose(&self, change: Change, deadline: Duration) -> Result<u64, ProposeError> {
        let deadline = Instant::now() + deadline;
        let change = log::Change::from(change);
        let length = change.encoded_len();
        if length > CHANGE_BYTES_MAX {
            let message = format!("the change has {length} bytes, at most {CHANGE_BYTES_MAX} are taken");
            return Err(ProposeError::Refused(message));
        }
        let body = Body::Change(change);
        self.is_ready_for(&body, deadline).await?;
        let body = match body {
            Body::Change(change) if length > PART_BYTES => {
                let encoded = change.encode_to_vec();
                // It may be large, and is read again from its parts.
                drop(change);
                self.stage(encoded, deadline).await?
            }
            body => body,
        };
        match self.command(body, deadline).await? {
            Answer::Applied(revision) => Ok(revision),
            Answer::Conflict(revision) => Err(ProposeError::Conflict { revision }),
            Answer::Refused(why) => Err(ProposeError::Refused(why)),
            Answer::Nothing | Answer::Staged | Answer::Retired | Answer::Fixed | Answer::Raised(_) => {
                Err(ProposeError::Unknown)
            }
        }
    }

    /// Sends a large change in parts; what makes them take effect.
    async fn stage(&self, change: Vec<u8>, deadline: Instant) -> Result<Body, ProposeError> {
        let stage_id = random()?;
        let mut parts = 0;
        for data in change.chunks(PART_BYTES) {
            let data = Bytes::copy_from_slice(data);
            let part = log::StagePart { stage_id: stage_id.clone(), part: parts, data };
            self.command(Body::Part(part), deadline).await?;
            parts += 1;
        }
        let sha256 = Bytes::copy_from_slice(&Sha256::digest(&change));
        Ok(Body::Commit(log::StageCommit { stage_id, parts, sha256 }))
    }

    /// Has a command written to the log, with the same request id as often as it takes, and waits until it is applied here.
    pub(super) async fn command(&self, body: Body, deadline: Instant) -> Result<Answer, ProposeError> {
        self.is_ready_for(&body, deadline).await?;
        match self.ask(Ask::Propose(request(body)?), deadline).await? {
            Reply::Committed(index, answer) => {
                self.applied(index, deadline).await?;
                Ok(answer)
            }
            Reply::Refused(why) => Err(ProposeError::Refused(why)),
            Reply::Index(_) | Reply::Removed | Reply::Version(_) => Err(ProposeError::Unknown),
        }
    }

    /// The node's number.
    pub fn node(&self) -> NodeId {
        self.identity.node()
    }

    /// Who this node is to others.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    pub(super) fn stepping_down(&self) -> bool {
        self.stepping_down.load(Ordering::Acquire)
    }

    /// The last revision that is in effect here, as it grows.
    pub fn revisions(&self) -> watch::Receiver<u64> {
        self.machine.revisions()
    }

    pub(crate) fn is_running(&self) -> bool {
        self.raft.metrics().borrow().running_state.is_ok()
    }

    /// Waits until consensus has ended, for example because the disk failed; why.
    pub async fn ended(&self) -> String {
        let mut metrics = self.raft.metrics();
        loop {
            if let Err(fatal) = &metrics.borrow_and_update().running_state {
                return fatal.to_string();
            }
            if metrics.changed().await.is_err() {
                return "it was closed".to_owned();
            }
        }
    }

    /// Makes a snapshot now, so that a start need not read the log.
    pub async fn snapshot(&self) -> Result<(), ProposeError> {
        let triggered = self.raft.trigger().snapshot().await;
        triggered.map_err(|error| ProposeError::Ended(error.to_string()))
    }

    /// Ends it. What was acknowledged is on the disk already.
    pub async fn close(self) -> Result<(), ProposeError> {
        self.raft.shutdown().await.map_err(|error| ProposeError::Ended(error.to_string()))
    }
}

/// A command with a request id of its own.
pub(super) fn request(body: Body) -> Result<Bytes, ProposeError> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let at_unix_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let command = log::Command { request_id: random()?, at_unix_ms, body: Some(body) };
    Ok(command.encode_to_vec().into())
}

fn random() -> Result<Bytes, ProposeError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| ProposeError::Ended(error.to_string()))?;
    Ok(Bytes::copy_from_slice(&bytes))
}
