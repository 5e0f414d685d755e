//! The shares of this node: what is fixed in the log, as counters ask for it at each charge.

use super::decide::is_fixed;
use crate::{Consensus, NodeId, ShareRun};
use std::sync::Arc;
use tokio::sync::watch;
use trestle_counters::{FixedShares, Rights, Share, Window};

/// How this node spends of strict limits. A clone is the same.
#[derive(Clone)]
pub(crate) struct OwnShares {
    pub(super) consensus: Consensus,
    /// So many nodes found a cluster; none without a mesh.
    pub(super) expect: Option<u32>,
    /// It has a mesh and is the only member: it may have spent, as a node alone does, of all windows that run.
    pub(super) was_alone: bool,
    is_shared: bool,
    fixed: Arc<FixedShares>,
    /// What runs was fixed by this node as the leader.
    pub(super) first_pass: Arc<watch::Sender<bool>>,
}

impl OwnShares {
    /// Those of a node that has begun; `expect` where it has a mesh.
    ///
    /// Without a mesh it has the whole of each limit, unless others may still spend: there are other members, or shares that were
    /// fixed.
    pub(crate) fn new(consensus: &Consensus, expect: Option<u32>) -> Self {
        let members = consensus.members();
        let was_fixed = !consensus.shares().borrow().is_empty();
        Self {
            consensus: consensus.clone(),
            expect,
            was_alone: expect.is_some() && members.iter().eq([&consensus.node()]),
            is_shared: expect.is_some() || was_fixed || members.len() > 1,
            fixed: Arc::new(FixedShares::new(ShareRun::RUNS_MAX)),
            first_pass: Arc::default(),
        }
    }

    /// Whether this node has shares, and not the whole.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Counters spend by them from here on, also by those that are fixed later. Before the first charge.
    pub(crate) fn give(&self, rights: &Rights) {
        if !self.is_shared {
            return;
        }
        self.apply();
        if !rights.share_by(self.fixed.clone()) {
            tracing::error!("these counters have their shares from elsewhere");
        }
        let (node, fixed, mut runs) = (self.consensus.node(), self.fixed.clone(), self.consensus.shares());
        // It holds nothing of consensus, and ends with it.
        tokio::spawn(async move {
            while runs.changed().await.is_ok() {
                apply(node, &runs.borrow_and_update(), &fixed);
            }
        });
    }

    /// Takes all that is fixed at the moment.
    pub(crate) fn apply(&self) {
        apply(self.consensus.node(), &self.consensus.shares().borrow(), &self.fixed);
    }

    /// Whether it is known who spends of these windows now.
    pub(crate) fn are_fixed(&self, windows: &[Window], now_ms: u64) -> bool {
        !self.is_shared || is_fixed(windows, &self.consensus.shares().borrow(), now_ms)
    }

    /// Waits until others may become members: a node that was alone first has all fixed for itself that it may have spent.
    pub(crate) async fn before_others(&self) {
        if self.was_alone {
            // Nobody can say so any more: then nobody is added either.
            let _ = self.first_pass.subscribe().wait_for(|done| *done).await;
        }
    }
}

/// Whoever calls it looks at `runs` meanwhile, so that there are no newer ones before it is done.
fn apply(node: NodeId, runs: &[ShareRun], fixed: &FixedShares) {
    let own = runs.iter().filter_map(|run| {
        let share = Share::new(u32::from(run.nodes.contains(&node)), u32::try_from(run.nodes.len()).ok()?)?;
        Some((run.window, run.from, run.until, share))
    });
    if let Err(error) = fixed.replace(own) {
        tracing::error!(%error, "shares of strict limits stay as they were");
    }
}
