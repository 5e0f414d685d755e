//! The version of the cluster: what its nodes may write to the log and say to each other. It is a part of the replicated state.
//! A program can two versions, its own and the one before, so that the nodes of a cluster can be replaced one by one; until
//! the cluster's version is raised, going back works.

use super::{
    forward::{Ask, ClusterError, Reply, Tried, unexpected},
    handle::{Consensus, ProposeError, request},
    types::Answer,
};
use std::{collections::BTreeSet, time::Duration};
use tokio::time::Instant;
use trestle_proto::log::{self, Raise, command::Body};

/// The version of a cluster that was never raised.
pub(super) const FIRST: u32 = 1;
/// A new cluster waits so long for its first version; without an answer it begins with the first one there is.
const BEGIN: Duration = Duration::from_secs(10);

/// A program and a cluster that do not fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// The program is too old.
    #[error(
        "the cluster is of version {cluster}, this program can up to {can}: start a later one; once a version is finalized there \
         is no way back"
    )]
    Older {
        /// The version of the cluster.
        cluster: u32,
        /// What the program can.
        can: u32,
    },
    /// The program is too new.
    #[error(
        "the cluster is of version {cluster}, this program can {} and {can}: start the program before it on all nodes, run \
         `trestle cluster finalize`, then come back to this one",
        can - 1
    )]
    Newer {
        /// The version of the cluster.
        cluster: u32,
        /// What the program can.
        can: u32,
    },
}

impl Mismatch {
    /// Whether a program that can up to a version cannot serve in a cluster of one.
    pub(super) fn of(can: u32, cluster: u32) -> Result<(), Self> {
        match can > cluster + 1 {
            true => Err(Self::Newer { cluster, can }),
            false => Self::older(can, cluster),
        }
    }

    /// Whether a program that can up to a version cannot do what a cluster of one has.
    pub(super) fn older(can: u32, cluster: u32) -> Result<(), Self> {
        match cluster > can {
            true => Err(Self::Older { cluster, can }),
            false => Ok(()),
        }
    }
}

/// The version that the cluster must have before this is written to its log. A body that comes later says its own here.
fn needed(body: &Body) -> u32 {
    match body {
        Body::Change(change) => needed_by(change),
        Body::Part(_) | Body::Commit(_) | Body::Retire(_) | Body::FixShares(_) | Body::Raise(_) => FIRST,
    }
}

/// The highest version that introduced something in a change.
pub(super) fn needed_by(change: &log::Change) -> u32 {
    change.writes.iter().map(|write| write.introduced).max().unwrap_or(FIRST)
}

/// What the cluster's version becomes, by what each member can; `None` for one that does not answer.
fn raised(version: u32, members: &[(String, Option<u32>)]) -> Result<u32, String> {
    let can = members.iter().filter_map(|(_, can)| *can).max().unwrap_or(version);
    if can <= version {
        return Ok(version);
    }
    let behind = members.iter().filter_map(|(name, able)| match able {
        None => Some(format!("{name} does not answer")),
        Some(able) if *able < can => Some(format!("{name} can up to {able}")),
        Some(_) => None,
    });
    let behind: Vec<_> = behind.collect();
    match behind.is_empty() {
        true => Ok(can),
        false => Err(format!(
            "the cluster stays at version {version}, as not all of its members can {can}: {}; replace their program, start them, \
             or remove them first",
            behind.join(", ")
        )),
    }
}

impl Consensus {
    /// The version of the cluster formats up to which this program can: of frames, commands and snapshots.
    pub const VERSION: u32 = 1;

    /// The version of the cluster, as it is in effect here.
    pub fn version(&self) -> u32 {
        self.machine.version()
    }

    /// The version up to which this node can.
    pub fn version_max(&self) -> u32 {
        self.version_max
    }

    /// Raises the version of the cluster to what all its members can, for good; the version that it has then. Also asked of a
    /// node that is not the leader.
    ///
    /// # Errors
    ///
    /// A member does not answer or cannot what others can, or no leader has answered in time.
    pub async fn finalize(&self, deadline: Duration) -> Result<u32, ClusterError> {
        let deadline = Instant::now() + deadline;
        match self.ask(Ask::Finalize, deadline).await? {
            Reply::Version(version) => {
                self.caught_up(deadline.saturating_duration_since(Instant::now())).await?;
                Ok(version)
            }
            Reply::Refused(why) => Err(ClusterError::Refused(why)),
            other => Err(unexpected(&other)),
        }
    }

    /// The same as the leader. Goes on to its end even if whoever asked waits no longer.
    pub(super) async fn finalize_here(&self) -> Tried {
        let consensus = self.clone();
        let finalizing = tokio::spawn(async move {
            // Nobody becomes a member meanwhile.
            let _changing = consensus.changing.lock().await;
            let version = consensus.version();
            match raised(version, &consensus.versions().await) {
                Err(why) => Tried::Done(Reply::Refused(why)),
                Ok(same) if same == version => Tried::Done(Reply::Version(version)),
                Ok(version) => consensus.raise(version).await,
            }
        });
        finalizing.await.unwrap_or(Tried::Unknown)
    }

    async fn raise(&self, version: u32) -> Tried {
        match request(Body::Raise(Raise { version })) {
            Err(error) => Tried::Done(Reply::Refused(error.to_string())),
            Ok(command) => match self.write(&command).await {
                Tried::Done(Reply::Committed(_, Answer::Raised(version))) => {
                    tracing::info!(version, "the version of the cluster was raised");
                    Tried::Done(Reply::Version(version))
                }
                other => other,
            },
        }
    }

    /// The members by name, with what each says it can.
    async fn versions(&self) -> Vec<(String, Option<u32>)> {
        let membership = self.raft.metrics().borrow().membership_config.membership().clone();
        let nodes: BTreeSet<_> = membership.nodes().map(|(node, _)| *node).collect();
        let answers = self.versions_of(&nodes).await.into_iter();
        let named = answers.map(|(node, can)| {
            let name = membership.get_node(&node).map(|at| at.name.clone()).unwrap_or_default();
            (if name.is_empty() { format!("node {node}") } else { name }, can)
        });
        named.collect()
    }

    /// A cluster that holds nothing yet, of which this node is the leader, begins with what all its nodes can: there is no program
    /// that anybody could go back to.
    pub(crate) async fn begin_version(&self) {
        if self.version_max == FIRST || self.version() > FIRST || self.revision() > 0 {
            return;
        }
        if let Err(error) = self.finalize(BEGIN).await {
            tracing::info!("the cluster begins with version {FIRST}: {error}");
        }
    }

    /// Refuses what the cluster is not ready for.
    pub(super) async fn is_ready_for(&self, body: &Body, deadline: Instant) -> Result<(), ProposeError> {
        let needed = needed(body);
        if needed > self.version() {
            // It may have been raised a moment ago, and not here yet.
            self.caught_up(deadline.saturating_duration_since(Instant::now())).await?;
        }
        match self.version() {
            version if needed > version => Err(ProposeError::Version { needed, version }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_can_two_versions() {
        for (can, cluster, fits) in [
            (1, 1, true),
            (1, 2, false),
            (2, 1, true),
            (2, 2, true),
            (2, 3, false),
            (3, 1, false),
            (3, 2, true),
        ] {
            assert_eq!(Mismatch::of(can, cluster).is_ok(), fits, "{can} {cluster}");
        }
        let newer = Mismatch::of(3, 1).unwrap_err().to_string();
        assert!(newer.contains("can 2 and 3") && newer.contains("finalize"), "{newer}");
    }

    #[test]
    fn a_version_is_raised_once_all_members_can() {
        // What each member can, `-` if it does not answer.
        for (version, members, expected) in [
            (1, "1 1 1", Ok(1)),
            (1, "2 2 2", Ok(2)),
            (1, "2", Ok(2)),
            (2, "2 2 2", Ok(2)),
            (1, "2 1 2", Err("b can up to 1")),
            (1, "2 2 -", Err("c does not answer")),
            (1, "1 - -", Ok(1)),
            (2, "3 2 -", Err("b can up to 2, c does not answer")),
        ] {
            let names = ["a", "b", "c"].map(ToOwned::to_owned);
            let members: Vec<_> =
                names.into_iter().zip(members.split(' ').map(|can| can.parse().ok())).collect();
            match (raised(version, &members), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{members:?}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{members:?}: {found}"),
                (found, _) => panic!("{version} {members:?}: {found:?}"),
            }
        }
    }
}
