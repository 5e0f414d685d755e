//! Where peers may be before any of them is known: names, looked up again and again.

use super::{datagrams::Datagrams, members::Members};
use chitchat::ChitchatHandle;
use std::{collections::BTreeSet, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout},
};

/// While fewer nodes are live than should be, and how often that is looked at.
const SOON: Duration = Duration::from_secs(5);
const LATER: Duration = Duration::from_secs(60);
const LOOKUP: Duration = Duration::from_secs(2);
/// Of all names together.
const ADDRESSES_MAX: usize = 64;

/// Where to look for peers.
pub(super) struct Seeds {
    pub(super) names: Vec<String>,
    pub(super) expected: usize,
    pub(super) own: SocketAddr,
    pub(super) datagrams: Arc<dyn Datagrams>,
}

impl Seeds {
    /// Says hello to all addresses of all names: at once, every 5 s until the expected number of nodes is live, then every
    /// 60 s: a part of the mesh that was cut off is found again.
    pub(super) async fn watch(self, gossip: Arc<ChitchatHandle>, members: watch::Receiver<Arc<Members>>) {
        loop {
            for address in self.addresses().await {
                // The queue of the gossip library has no bound; this is all that goes into it.
                if gossip.gossip(address).is_err() {
                    return;
                }
            }
            let looked = Instant::now();
            loop {
                sleep(SOON).await;
                let is_due = looked.elapsed() >= LATER || members.borrow().live().count() < self.expected;
                if is_due {
                    break;
                }
            }
        }
    }

    async fn addresses(&self) -> BTreeSet<SocketAddr> {
        let mut addresses = BTreeSet::new();
        for name in &self.names {
            match timeout(LOOKUP, self.datagrams.resolve(name)).await {
                Ok(Ok(found)) => addresses.extend(found),
                Ok(Err(error)) => tracing::debug!(%name, %error, "the name of a seed was not found"),
                Err(_) => tracing::debug!(%name, "the name of a seed was not found in time"),
            }
        }
        addresses.remove(&self.own);
        // At the bound the lowest are taken; a few peers are enough to hear of all.
        addresses.into_iter().take(ADDRESSES_MAX).collect()
    }
}
