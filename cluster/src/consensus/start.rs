//! How a node starts: alone, or as one of a mesh. One node is a cluster of one; what differs is whether it knows a way to
//! others.

use super::{
    folder::{Folder, OpenError, SetAside},
    handle::{Consensus, Opened},
    kept_cluster,
    log_store::LogStore,
    network::Network,
    state_machine::StateMachine,
    types::{Node, NodeId, Raft},
    version::Mismatch,
};
use crate::mesh::{Channels, Identity};
use openraft::{ChangeMembers, Config, SnapshotPolicy};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    io,
    path::Path,
    sync::Arc,
    time::Duration,
};
use tokio::{task::AbortHandle, time::sleep};

/// A node without others leads at once; longer means that something is wrong.
const START: Duration = Duration::from_secs(30);
/// How often a node looks whether a snapshot is due.
const LOOK: Duration = Duration::from_secs(5);

/// How soon things happen, and how much is kept. All nodes must have the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// A leader is heard of so often. Well above what a sync of the disk takes.
    pub(super) heartbeat_ms: u64,
    /// Followers elect another one after the longest of these without the leader, and then so long.
    pub(super) election_ms_min: u64,
    pub(super) election_ms_max: u64,
    /// A snapshot is made after so many entries, and so many are kept for those who lag.
    pub(super) snapshot_after: u64,
    pub(super) kept_entries: u64,
    /// Revisions whose records, and the values from before, are kept. All nodes must forget the same.
    pub(super) revisions_kept: u64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            heartbeat_ms: 300,
            election_ms_min: 1_000,
            election_ms_max: 2_000,
            snapshot_after: 2_000,
            kept_entries: 500,
            revisions_kept: 10_000,
        }
    }
}

impl Pace {
    fn config(&self) -> Config {
        Config {
            cluster_name: "trestle".to_owned(),
            heartbeat_interval: self.heartbeat_ms,
            election_timeout_min: self.election_ms_min,
            election_timeout_max: self.election_ms_max,
            snapshot_policy: SnapshotPolicy::LogsSinceLast(self.snapshot_after),
            max_in_snapshot_log_to_keep: self.kept_entries,
            ..Config::default()
        }
    }
}

/// How a node is one of a mesh.
pub struct MeshWay {
    /// The way to others; made with the identity that `Prepared` has.
    pub channels: Channels,
    /// Where others reach this node: host and port.
    pub address: String,
    /// Its stable name: a node that comes with a name that another one had takes that one's place. Empty if it has none.
    pub name: String,
}

/// A folder that is open, before consensus runs: who the node is can be known already.
pub struct Prepared {
    folder: Folder,
    identity: Identity,
    pace: Pace,
    version_max: u32,
}

impl Prepared {
    /// Opens a folder, or makes it.
    ///
    /// # Errors
    ///
    /// Another process has it, the file system refuses, or a later version wrote it.
    pub async fn open(path: &Path) -> Result<Self, OpenError> {
        let path = path.to_owned();
        let opening = tokio::task::spawn_blocking(move || {
            let folder = Folder::open(&path)?;
            let refused = |error| OpenError::Refused(path.clone(), error);
            let initialized = LogStore::new(folder.disk.clone()).is_initialized().map_err(failed)?;
            match initialized {
                true => folder.cluster.founded().map_err(refused)?,
                false => folder.cluster.forget_founding().map_err(refused)?,
            }
            let identity = Identity::new(folder.node, folder.cluster.read().map_err(refused)?);
            let kept = folder.cluster.clone();
            identity.on_join(move |cluster| kept.write(cluster));
            Ok(Self { folder, identity, pace: Pace::default(), version_max: Consensus::VERSION })
        });
        opening.await.map_err(failed)?
    }

    /// The same with another pace.
    #[cfg(test)]
    pub(super) fn at_pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }

    /// The same in a program that can up to this version of the cluster: how two versions get on is tested before there are two.
    #[cfg(test)]
    pub(super) fn up_to(self, version_max: u32) -> Self {
        Self { version_max, ..self }
    }

    /// Who this node is: its number, and its cluster once it has one.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The version of the cluster up to which it can.
    pub(crate) fn version_max(&self) -> u32 {
        self.version_max
    }

    /// Data that was there and could not be read; the node is another one than it was.
    pub fn set_aside(&self) -> Option<&SetAside> {
        self.folder.set_aside.as_ref()
    }

    /// Starts as a cluster of one.
    ///
    /// # Errors
    ///
    /// The folder is of a cluster of more than this node, or cannot be used.
    pub async fn alone(self) -> Result<Opened, OpenError> {
        self.start(None, Node::default()).await
    }

    /// Starts as a node of a mesh. One that was alone in its cluster leads when this returns. Any other waits for others: for
    /// a leader, or for `found`, or to be added.
    ///
    /// # Errors
    ///
    /// The folder cannot be used.
    pub async fn join(self, way: MeshWay) -> Result<Opened, OpenError> {
        let at = Node { address: way.address, name: way.name };
        self.start(Some(way.channels), at).await
    }

    async fn start(self, channels: Option<Channels>, at: Node) -> Result<Opened, OpenError> {
        let Self { folder, identity, pace, version_max } = self;
        let (disk, snapshots) = (folder.disk.clone(), folder.snapshots.clone());
        let machine = StateMachine::new(disk.clone(), snapshots, pace.revisions_kept).map_err(failed)?;
        let machine = machine.up_to(version_max);
        if let Some(version) = machine.begun_version() {
            Mismatch::of(version_max, version)?;
        }
        let config = Arc::new(pace.config().validate().map_err(failed)?);
        let network = Network { channels: channels.clone() };
        let raft = Raft::new(folder.node, config, network, LogStore::new(disk), machine.clone());
        let raft = raft.await.map_err(failed)?;
        let set_aside = folder.set_aside.clone();
        let consensus = Consensus {
            _watch: Arc::new(Watch::begin(raft.clone(), pace)),
            raft,
            machine,
            folder: Arc::new(folder),
            identity,
            channels,
            at,
            pace,
            version_max,
            stepping_down: Arc::default(),
            changing: Arc::default(),
        };
        consensus.begin().await?;
        Ok(Opened { consensus, set_aside })
    }
}

impl Consensus {
    /// Opens a folder, or makes it, as a cluster of one.
    ///
    /// # Errors
    ///
    /// The folder is of a cluster of more than this node, or cannot be used.
    pub async fn open(path: &Path) -> Result<Opened, OpenError> {
        Prepared::open(path).await?.alone().await
    }

    /// Does what a node can do by itself at its start.
    async fn begin(&self) -> Result<(), OpenError> {
        if !self.initialized().await.map_err(failed)? {
            if self.channels.is_some() {
                return Ok(());
            }
            self.found_with(BTreeMap::from([(self.node(), self.at.clone())])).await.map_err(failed)?;
        } else if self.voters() == BTreeSet::from([self.node()]) {
            // Nobody else could: waiting for a heartbeat would only delay the start.
            self.raft.trigger().elect().await.map_err(failed)?;
        } else if self.channels.is_none() {
            let others = self.voters().len();
            let why = format!(
                "this folder is of a node of a cluster with {others} voters, which it cannot be without: set up the mesh"
            );
            return Err(OpenError::Start(why));
        } else {
            return Ok(());
        }
        let waiting = self.raft.wait(Some(START));
        waiting.current_leader(self.node(), "the first election").await.map_err(failed)?;
        // What the log holds beyond the state is applied first: else a look would show less than was acknowledged, or find
        // half of a change and be refused.
        self.raft.ensure_linearizable().await.map_err(failed)?;
        self.mint_if_none().await.map_err(failed)?;
        self.begin_version().await;
        self.say_where().await.map_err(failed)
    }

    /// Whether this node is, or ever was, a member.
    pub(super) async fn initialized(&self) -> Result<bool, openraft::error::Fatal<NodeId>> {
        self.raft.is_initialized().await
    }

    pub(super) fn voters(&self) -> BTreeSet<NodeId> {
        self.raft.metrics().borrow().membership_config.voter_ids().collect()
    }

    /// A folder from before clusters had numbers gets one, now that this node leads alone.
    async fn mint_if_none(&self) -> io::Result<()> {
        if self.identity.cluster().is_some() {
            return Ok(());
        }
        let identity = self.identity.clone();
        let joining = tokio::task::spawn_blocking(move || {
            let cluster = kept_cluster::mint()?;
            identity.join(cluster).map_err(io::Error::other)
        });
        joining.await.map_err(io::Error::other)?
    }

    /// Others must find this node where it is now.
    async fn say_where(&self) -> Result<(), OpenError> {
        let known =
            self.raft.metrics().borrow().membership_config.membership().get_node(&self.node()).cloned();
        if self.channels.is_none() || known.as_ref() == Some(&self.at) {
            return Ok(());
        }
        let at = ChangeMembers::SetNodes(BTreeMap::from([(self.node(), self.at.clone())]));
        self.raft.change_membership(at, true).await.map_err(failed)?;
        Ok(())
    }
}

fn failed(error: impl Display) -> OpenError {
    OpenError::Start(error.to_string())
}

/// Looks now and then whether a snapshot is due: the consensus library may drop the trigger of one, and then waits for as many
/// entries again.
pub(super) struct Watch(AbortHandle);

impl Watch {
    fn begin(raft: Raft, pace: Pace) -> Self {
        let watching = async move {
            loop {
                sleep(LOOK).await;
                let due = {
                    let metrics = raft.metrics();
                    let metrics = metrics.borrow();
                    if metrics.running_state.is_err() {
                        return;
                    }
                    snapshot_is_due(
                        metrics.last_applied.map(|id| id.index),
                        metrics.snapshot.map(|id| id.index),
                        pace.snapshot_after,
                    )
                };
                if due && raft.trigger().snapshot().await.is_err() {
                    return;
                }
            }
        };
        Self(tokio::spawn(watching).abort_handle())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Half as many entries again as should have triggered it.
fn snapshot_is_due(applied: Option<u64>, snapshot: Option<u64>, after: u64) -> bool {
    let count = |last: Option<u64>| last.map_or(0, |index| index + 1);
    count(applied).saturating_sub(count(snapshot)) > after + after / 2
}

#[cfg(test)]
mod tests {
    use super::snapshot_is_due;

    #[test]
    fn a_snapshot_is_due_where_its_trigger_was_lost() {
        for (applied, snapshot, due) in [
            (None, None, false),
            (Some(149), None, false),
            (Some(150), None, true),
            (Some(250), Some(100), false),
            (Some(251), Some(100), true),
            (Some(10), Some(100), false),
        ] {
            assert_eq!(snapshot_is_due(applied, snapshot, 100), due, "{applied:?} {snapshot:?}");
        }
    }
}
