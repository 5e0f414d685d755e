//! What a node says of itself to the others, as it changes; and what is measured of the cluster.

use super::{cooldowns, measure};
use crate::ledger::now_ms;
use std::{net::SocketAddr, time::Duration};
use tokio::{sync::watch, time::timeout};
use trestle_cluster::{Cluster, Standing};
use trestle_gateway::Gateway;

/// How often it is looked at.
const EVERY: Duration = Duration::from_millis(500);

/// Says how the node stands, until it has said that it leaves, and measures.
pub(crate) async fn tell(
    cluster: Cluster,
    gateway: Gateway,
    mut draining: watch::Receiver<bool>,
    http: Option<SocketAddr>,
) {
    let http = http.map(|address| address.to_string()).unwrap_or_default();
    measure::describe();
    loop {
        let leaving = *draining.borrow_and_update();
        let revision = gateway.snapshot().revision;
        let load = gateway.in_flight() as u64;
        cluster.publish(&Standing {
            http: http.clone(),
            ready: !leaving && revision > 0,
            leaving,
            load,
            revision,
        });
        if leaving {
            return;
        }
        share_cooldowns(&cluster, &gateway);
        measure::look(&cluster).await;
        // Sooner where it leaves.
        let _ = timeout(EVERY, draining.changed()).await;
    }
}

/// Keys of providers that one node has found to be out need not be tried by the others.
fn share_cooldowns(cluster: &Cluster, gateway: &Gateway) {
    let now_ms = now_ms();
    for texts in cluster.health().values() {
        let told: Vec<_> = texts.iter().flat_map(|text| cooldowns::read(text)).collect();
        gateway.keep_out(&told, now_ms);
    }
    cluster.publish_health(cooldowns::write(&gateway.cooldowns(now_ms)));
}
