//! A leader that steps down, so that a planned stop costs no election by surprise. The library has no transfer of leadership:
//! the leader takes no more writes, lets its lease end, and asks a follower that has all it has to be elected.

use super::{
    forward::{ClusterError, answered, limited},
    handle::Consensus,
    types::NodeId,
};
use openraft::ServerState;
use std::{collections::BTreeMap, sync::atomic::Ordering, time::Duration};
use tokio::time::{Instant, sleep, timeout_at};
use trestle_proto::raft::{ElectNow, leadership_client::LeadershipClient};

/// Until a follower has all.
const LOOK: Duration = Duration::from_millis(20);
/// Longest wait for a follower to begin.
const ASK: Duration = Duration::from_secs(1);
/// Clocks of nodes run a little apart.
const MORE: Duration = Duration::from_millis(50);

/// While it is there the node takes no writes as a leader and calls no follower.
struct SteppingDown<'a>(&'a Consensus);

impl Drop for SteppingDown<'_> {
    fn drop(&mut self) {
        self.0.lead_again();
    }
}

impl Consensus {
    /// Lets another node lead, if this one does. Writes that are proposed meanwhile wait for the next leader.
    ///
    /// # Errors
    ///
    /// There is no other voter, or none was seen to lead in time; unless it was, this node may go on.
    pub async fn step_down(&self, deadline: Duration) -> Result<(), ClusterError> {
        let deadline = Instant::now() + deadline;
        if !self.is_leader() {
            return Ok(());
        }
        if self.voters().len() < 2 {
            return Err(ClusterError::Refused("there is no other voter to lead the cluster".to_owned()));
        }
        if self.stepping_down.swap(true, Ordering::AcqRel) {
            return Err(ClusterError::Refused("this node is stepping down already".to_owned()));
        }
        let _stepping_down = SteppingDown(self);
        // Where the first election of another one fails, this one does not stand in the next.
        self.raft.runtime_config().elect(false);
        loop {
            while self.is_leader() {
                self.hand_over(deadline).await?;
            }
            let mut metrics = self.raft.metrics();
            let node = self.node();
            // It leads again only if those that it had asked before elect it after all.
            let decided = metrics.wait_for(|metrics| {
                metrics.state == ServerState::Leader
                    || metrics.current_leader.is_some_and(|leader| leader != node)
            });
            match timeout_at(deadline, decided).await {
                Err(_) => return Err(ClusterError::Late),
                Ok(Err(_)) => return Err(ClusterError::Ended("it was closed".to_owned())),
                Ok(Ok(metrics)) if metrics.state == ServerState::Leader => {}
                Ok(Ok(_)) => return Ok(()),
            }
        }
    }

    /// One try. Followers elect nobody while their lease with this leader lasts, which each of its calls renews.
    async fn hand_over(&self, deadline: Instant) -> Result<(), ClusterError> {
        self.raft.runtime_config().heartbeat(true);
        let (next, term) = loop {
            if let Some(found) = self.next_leader() {
                break found;
            }
            if Instant::now() >= deadline {
                return Err(ClusterError::Late);
            }
            sleep(LOOK).await;
        };
        self.raft.runtime_config().heartbeat(false);
        let lease = Duration::from_millis(self.pace.election_ms_max) + MORE;
        timeout_at(deadline, sleep(lease)).await.map_err(|_| ClusterError::Late)?;
        let at = self.raft.metrics().borrow().membership_config.membership().get_node(&next).cloned();
        if let (Some(channels), Some(at)) = (&self.channels, at) {
            let mut client = LeadershipClient::new(channels.to(next, &at.address));
            let asked = answered(client.elect(limited(ElectNow { term }, ASK)), ASK).await;
            tracing::info!(
                node = next,
                begun = asked.is_some_and(|asked| asked.begun),
                "another node is to lead"
            );
        }
        // What was not elected by then is asked again.
        let elected = (Instant::now() + ASK).min(deadline);
        let mut metrics = self.raft.metrics();
        let led = metrics.wait_for(|metrics| metrics.state != ServerState::Leader);
        match timeout_at(elected, led).await {
            Ok(_) => Ok(()),
            Err(_) if Instant::now() >= deadline => Err(ClusterError::Late),
            Err(_) => Ok(()),
        }
    }

    fn is_leader(&self) -> bool {
        self.raft.metrics().borrow().state == ServerState::Leader
    }

    /// A voter that has all of the log, and the term.
    fn next_leader(&self) -> Option<(NodeId, u64)> {
        let voters = self.voters();
        let metrics = self.raft.metrics();
        let metrics = metrics.borrow();
        let matched: BTreeMap<_, _> = metrics.replication.iter().flatten().collect();
        let has_all = |node: &&NodeId| {
            let index = matched.get(node).and_then(|id| id.as_ref()).map(|id| id.index);
            **node != self.node() && index.is_some() && index >= metrics.last_log_index
        };
        Some((*voters.iter().find(has_all)?, metrics.current_term))
    }

    fn lead_again(&self) {
        self.raft.runtime_config().heartbeat(true);
        self.raft.runtime_config().elect(true);
        self.stepping_down.store(false, Ordering::Release);
    }
}
