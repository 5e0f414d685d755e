//! What all connections of clients share.

use crate::{
    admin::{Admin, Health},
    metric,
    serve::Tls,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::watch;
use trestle_gateway::Gateway;

/// Bounds on connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// For a TLS handshake, and for each head of a request.
    pub(crate) head: Duration,
    /// For a connection without a request, and for a client that does not take what is written to it.
    pub(crate) idle: Duration,
    /// How many; beyond, new ones are closed at once.
    pub(crate) connections_max: usize,
}

/// What all connections of clients share.
pub(crate) struct Front {
    /// Serves the requests.
    pub(crate) gateway: Gateway,
    /// If clients speak TLS.
    pub(crate) tls: Option<Arc<Tls>>,
    /// If there is no listener of its own for it.
    pub(crate) admin: Option<Admin>,
    /// Always answered here.
    pub(crate) health: Health,
    /// Bounds on connections.
    pub(crate) limits: Limits,
    /// True from SIGTERM on.
    pub(crate) draining: watch::Receiver<bool>,
    /// Connections that are open.
    pub(crate) open: AtomicUsize,
}

impl Front {
    /// Connections that are open.
    pub(crate) fn connections(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    /// A place for one more connection; `None` if all are taken.
    pub(crate) fn admit(self: &Arc<Self>) -> Option<Place> {
        let admitted = self.open.fetch_update(Ordering::AcqRel, Ordering::Acquire, |open| {
            (open < self.limits.connections_max).then_some(open + 1)
        });
        if admitted.is_err() {
            metric::connection_refused();
            return None;
        }
        metric::connection_opened();
        Some(Place { front: Arc::clone(self) })
    }
}

/// One connection's place among `connections_max`, given back on drop.
pub(crate) struct Place {
    /// What all connections share.
    pub(crate) front: Arc<Front>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.front.open.fetch_sub(1, Ordering::AcqRel);
        metric::connection_ended();
    }
}
