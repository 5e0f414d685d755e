//! The handle that others hold: propose a change, follow the revisions. How they look at the entities is in `look`.

use super::{
    apply::{ENTITY_BYTES_MAX, PARTS_MAX},
    folder::{Folder, OpenError, SetAside},
    log_store::LogStore,
    network::Network,
    record::Change,
    state_machine::StateMachine,
    types::{Answer, Node, Proposal, Raft},
};
use bytes::Bytes;
use openraft::{
    Config, SnapshotPolicy,
    error::{ClientWriteError, RaftError},
};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout_at},
};
use trestle_proto::log::{self, command::Body};
use trestle_proto::prost::Message;

/// Larger changes are sent in parts of this size.
const PART_BYTES: usize = 24 * 1024;
/// Largest change at all: its parts wait together for their commit.
const CHANGE_BYTES_MAX: usize = 64 * 1024 * 1024;
const _: () = assert!((CHANGE_BYTES_MAX / PART_BYTES) as u64 + 1 < PARTS_MAX);
/// Revisions whose records, and the values from before, are kept. All nodes must forget the same.
const REVISIONS_KEPT: u64 = 10_000;
/// A snapshot is made after so many entries, and so many are kept for those who lag.
const SNAPSHOT_AFTER: u64 = 2_000;
const KEPT_ENTRIES: u64 = 500;
/// A node without others leads at once; longer means that something is wrong.
const START: Duration = Duration::from_secs(30);
/// While nobody leads, a proposal is tried again after this long.
const PAUSE: Duration = Duration::from_millis(50);

/// Replicated entities. A clone is another handle to the same.
#[derive(Clone)]
pub struct Consensus {
    raft: Raft,
    pub(super) machine: StateMachine,
    // Keeps the folder locked.
    _folder: Arc<Folder>,
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
    /// Nobody knows whether it is or will be in effect. The same change may be proposed again if it expects
    /// a revision.
    #[error("it is not known whether the change took effect: the deadline has passed")]
    Unknown,
    /// Consensus has ended, for example because the disk failed.
    #[error("consensus has ended: {0}")]
    Ended(String),
}

impl Consensus {
    /// Largest value of an entity, in bytes.
    pub const ENTITY_BYTES_MAX: usize = ENTITY_BYTES_MAX;

    /// Opens a folder, or makes it, as a cluster of one.
    pub async fn open(path: &Path) -> Result<Opened, OpenError> {
        Self::open_keeping(path, REVISIONS_KEPT).await
    }

    /// The same, with so many revisions kept.
    pub(super) async fn open_keeping(path: &Path, revisions_kept: u64) -> Result<Opened, OpenError> {
        let path = path.to_owned();
        let start = |error: &dyn std::fmt::Display| OpenError::Start(error.to_string());
        let opening = tokio::task::spawn_blocking(move || Folder::open(&path));
        let folder = Arc::new(opening.await.map_err(|error| start(&error))??);
        let machine = StateMachine::new(folder.disk.clone(), folder.snapshots.clone(), revisions_kept)
            .map_err(|error| start(&error))?;
        let log = LogStore::new(folder.disk.clone());
        let config = Config {
            cluster_name: "trestle".to_owned(),
            heartbeat_interval: 300,
            election_timeout_min: 1_000,
            election_timeout_max: 2_000,
            snapshot_policy: SnapshotPolicy::LogsSinceLast(SNAPSHOT_AFTER),
            max_in_snapshot_log_to_keep: KEPT_ENTRIES,
            ..Config::default()
        };
        let config = Arc::new(config.validate().map_err(|error| start(&error))?);
        let raft = Raft::new(folder.node, config, Network, log, machine.clone());
        let raft = raft.await.map_err(|error| start(&error))?;
        if raft.is_initialized().await.map_err(|error| start(&error))? {
            // Nobody else could: waiting for a heartbeat would only delay the start.
            raft.trigger().elect().await.map_err(|error| start(&error))?;
        } else {
            let members = BTreeMap::from([(folder.node, Node::default())]);
            raft.initialize(members).await.map_err(|error| start(&error))?;
        }
        let waiting = raft.wait(Some(START));
        let leads = waiting.current_leader(folder.node, "the first election").await;
        leads.map_err(|error| start(&error))?;
        // What the log holds beyond the state is applied first: else a look would show less than was acknowledged, or find
        // half of a change and be refused.
        raft.ensure_linearizable().await.map_err(|error| start(&error))?;
        let set_aside = folder.set_aside.clone();
        Ok(Opened { consensus: Self { raft, machine, _folder: folder }, set_aside })
    }

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
        let body = if length > PART_BYTES {
            let encoded = change.encode_to_vec();
            // It may be large, and is read again from its parts.
            drop(change);
            self.stage(encoded, deadline).await?
        } else {
            Body::Change(change)
        };
        match self.command(body, deadline).await? {
            Answer::Applied(revision) => Ok(revision),
            Answer::Conflict(revision) => Err(ProposeError::Conflict { revision }),
            Answer::Refused(why) => Err(ProposeError::Refused(why)),
            Answer::Nothing | Answer::Staged => Err(ProposeError::Unknown),
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

    /// Writes a command to the log, with the same request id as often as it takes.
    async fn command(&self, body: Body, deadline: Instant) -> Result<Answer, ProposeError> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at_unix_ms = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
        let request_id = random()?;
        let command = log::Command { request_id, at_unix_ms, body: Some(body) }.encode_to_vec();
        loop {
            let writing = self.raft.client_write(Proposal(command.clone()));
            match timeout_at(deadline, writing).await {
                Err(_) => return Err(ProposeError::Unknown),
                Ok(Ok(written)) => return Ok(written.data),
                Ok(Err(RaftError::Fatal(fatal))) => return Err(ProposeError::Ended(fatal.to_string())),
                Ok(Err(RaftError::APIError(ClientWriteError::ForwardToLeader(_)))) => {
                    if Instant::now() + PAUSE >= deadline {
                        return Err(ProposeError::Unknown);
                    }
                    sleep(PAUSE).await;
                }
                Ok(Err(RaftError::APIError(error))) => return Err(ProposeError::Refused(error.to_string())),
            }
        }
    }

    /// The last revision that is in effect here, as it grows.
    pub fn revisions(&self) -> watch::Receiver<u64> {
        self.machine.revisions()
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

fn random() -> Result<Bytes, ProposeError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| ProposeError::Ended(error.to_string()))?;
    Ok(Bytes::copy_from_slice(&bytes))
}
