//! Shares of strict limits: which windows need some, and the wait for them at a start.

use crate::ledger::now_ms;
use std::{sync::Arc, time::Duration};
use tokio::{task::block_in_place, time::sleep};
use trestle_cluster::{Cluster, SystemClock};
use trestle_gateway::Gateway;

/// A start waits so long for the shares of what runs.
const SETTLE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(50);

/// Has shares fixed from here on, and waits for those of what runs.
pub(crate) async fn share(cluster: &Cluster, gateway: &Gateway) {
    tokio::spawn(keep_shares(cluster.clone(), gateway.clone()));
    shares_settled(cluster, gateway).await;
}

/// As long as the node runs, if it leads.
async fn keep_shares(cluster: Cluster, gateway: Gateway) {
    let mut known = None;
    let windows = move || {
        // Where a change comes in between, its windows are there once more with the next look.
        let revision = gateway.snapshot().revision;
        match &known {
            Some((of, windows)) if *of == revision => Vec::clone(windows),
            _ => {
                let windows = block_in_place(|| gateway.strict_windows());
                known = Some((revision, windows.clone()));
                windows
            }
        }
    };
    cluster.keep_shares(Arc::new(SystemClock), windows).await;
}

/// Waits until it is known who spends of strict limits now: before, this node would refuse what they bind.
async fn shares_settled(cluster: &Cluster, gateway: &Gateway) {
    let windows = block_in_place(|| gateway.strict_windows());
    let settled = async {
        while !cluster.shares_are_fixed(&windows, now_ms()) {
            sleep(LOOK).await;
        }
    };
    if tokio::time::timeout(SETTLE, settled).await.is_err() {
        tracing::warn!(
            "no leader has fixed who spends of strict limits now: until then they admit nothing here"
        );
    }
}
