//! Connections to peers: made on first use, kept, and found out when they are dead.

use super::{
    check::{ANYBODY, CLUSTER, FROM, NODE},
    identity::{Identity, NodeId},
    network::{Network, Stream},
    tls::Tls,
};
use futures_util::future::BoxFuture;
use http::{HeaderValue, Request, Response, Uri};
use hyper_util::rt::TokioIo;
use std::{
    collections::HashMap,
    error::Error,
    fmt::Write,
    io,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};
use tonic::{
    Code, ConnectError, Status,
    body::Body,
    transport::{Channel, Endpoint},
};
use tower::{Service, service_fn};

/// Includes resolving and TLS.
const CONNECT: Duration = Duration::from_secs(1);
/// Without it one partition leaves a connection dead for good.
const KEEP_ALIVE: Duration = Duration::from_secs(1);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(2);
/// Many more than a cluster has nodes. At the bound all are let go: the next use connects again.
const PEERS_MAX: usize = 256;

/// A connection to a peer, for generated clients. Says with every call who calls and whom. A clone is the same connection.
#[derive(Clone)]
pub struct Peer {
    channel: Channel,
    identity: Identity,
    called: NodeId,
    address: Arc<str>,
}

impl Service<Request<Body>> for Peer {
    type Response = Response<Body>;
    type Error = Status;
    type Future = BoxFuture<'static, Result<Response<Body>, Status>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Status>> {
        self.channel.poll_ready(context).map_err(|error| unavailable(self.called, &self.address, error))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let headers = request.headers_mut();
        headers.insert(NODE, HeaderValue::from(self.called));
        headers.insert(FROM, HeaderValue::from(self.identity.node()));
        // Read at each call: a connection may be older than the cluster.
        let cluster = self.identity.cluster().map(|cluster| HeaderValue::try_from(cluster.to_string()));
        if let Some(Ok(cluster)) = cluster {
            headers.insert(CLUSTER, cluster);
        }
        let (calling, called, address) = (self.channel.call(request), self.called, self.address.clone());
        Box::pin(async move { calling.await.map_err(|error| unavailable(called, &address, error)) })
    }
}

/// A connection that fails is always `UNAVAILABLE` with its cause in the text; the library says `UNKNOWN` for some, such as
/// a certificate that the other side refuses. Whether a call that was sent has run is not known; `was_sent` says whether it was.
fn unavailable(node: NodeId, address: &str, error: tonic::transport::Error) -> Status {
    let mut causes = String::new();
    let mut cause: Option<&dyn Error> = Some(&error);
    let mut connected = true;
    while let Some(error) = cause {
        connected &= !error.is::<ConnectError>();
        // Writing to a string does not fail.
        let _ = write!(causes, ": {error}");
        cause = error.source();
    }
    let status = Status::from_error(error.into());
    match status.code() {
        Code::Unknown | Code::Unavailable => {
            let mut status = Status::unavailable(format!("node {node} at {address}{causes}"));
            if !connected {
                status.set_source(Arc::new(NotConnected));
            }
            status
        }
        _ => status,
    }
}

/// There was no connection that a call could have been sent over.
#[derive(Debug, thiserror::Error)]
#[error("there is no connection")]
struct NotConnected;

/// Whether a call that ended so may have reached the peer.
pub(crate) fn was_sent(status: &Status) -> bool {
    !status.source().is_some_and(|source| source.is::<NotConnected>())
}

/// Connections to peers. A clone has the same.
#[derive(Clone)]
pub struct Channels {
    shared: Arc<Shared>,
}

struct Shared {
    identity: Identity,
    network: Arc<dyn Network>,
    tls: Option<Tls>,
    peers: Mutex<Peers>,
}

#[derive(Default)]
struct Peers {
    nodes: HashMap<NodeId, (String, Peer)>,
    /// Whoever is at an address.
    anybody: HashMap<String, Peer>,
}

impl Channels {
    /// Without connections. With TLS each connection is checked on both sides; without, servers are on loopback addresses only.
    pub fn new(identity: Identity, network: Arc<dyn Network>, tls: Option<Tls>) -> Self {
        Self { shared: Arc::new(Shared { identity, network, tls, peers: Mutex::default() }) }
    }

    /// The connection to a node at `host:port`: the one that there is, or one that connects on first use. Node 0 is whoever
    /// is there, who can be asked for its status only. To be called inside of a Tokio runtime.
    pub fn to(&self, node: NodeId, address: &str) -> Peer {
        let mut peers = self.peers();
        if node == ANYBODY {
            if let Some(peer) = peers.anybody.get(address) {
                return peer.clone();
            }
            let peer = self.connection(node, address);
            make_room(&mut peers.anybody);
            peers.anybody.insert(address.to_owned(), peer.clone());
            return peer;
        }
        if let Some((at, peer)) = peers.nodes.get(&node)
            && at == address
        {
            return peer.clone();
        }
        let peer = self.connection(node, address);
        make_room(&mut peers.nodes);
        peers.nodes.insert(node, (address.to_owned(), peer.clone()));
        peer
    }

    /// Lets the connection to a node go. Calls that run on it run to their end.
    pub fn forget(&self, node: NodeId) {
        self.peers().nodes.remove(&node);
    }

    /// Who calls.
    pub fn identity(&self) -> &Identity {
        &self.shared.identity
    }

    fn peers(&self) -> MutexGuard<'_, Peers> {
        self.shared.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connection(&self, called: NodeId, address: &str) -> Peer {
        let (network, tls, address) =
            (self.shared.network.clone(), self.shared.tls.clone(), Arc::<str>::from(address));
        let text = address.clone();
        // Called for each connect: the address is resolved and the certificates are looked at anew.
        let connector = service_fn(move |_: Uri| {
            let (connecting, tls) = (network.connect(&address), tls.clone());
            async move {
                let stream = connecting.await?;
                let stream: Box<dyn Stream> = match tls {
                    Some(tls) => Box::new(tls.connect(stream).await?),
                    None => stream,
                };
                Ok::<_, io::Error>(TokioIo::new(stream))
            }
        });
        let channel = Endpoint::from_static("http://trestle.mesh")
            .connect_timeout(CONNECT)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
            .keep_alive_while_idle(true)
            .connect_with_connector_lazy(connector);
        Peer { channel, identity: self.shared.identity.clone(), called, address: text }
    }
}

fn make_room<K, V>(map: &mut HashMap<K, V>) {
    if map.len() >= PEERS_MAX {
        map.clear();
    }
}
