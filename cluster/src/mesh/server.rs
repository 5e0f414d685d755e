//! Serves calls of peers at an address, each connection and each call checked first.

use super::{
    check::Check,
    identity::Identity,
    network::{Listener, Network, Stream},
    tls::Tls,
};
use hyper::server::conn::http2::Builder;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use std::{
    future::Future,
    io,
    net::SocketAddr,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{sync::watch, task::JoinSet, time::timeout};
use tonic::service::Routes;

/// More than all nodes of a large cluster have to one, twice. Further ones are closed at once.
const CONNECTIONS_MAX: usize = 512;
/// Calls at once on one connection; peers wait for their turn.
const STREAMS_MAX: u32 = 1024;
const HANDSHAKE: Duration = Duration::from_secs(2);
/// Lets go of peers that are gone without a word.
const KEEP_ALIVE: Duration = Duration::from_secs(5);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);
/// For calls that run when the server is stopped. Streams between nodes never end by themselves.
const DRAIN: Duration = Duration::from_secs(2);
/// After an accept that failed, most likely for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The system refuses.
    #[error("{0} cannot be listened at for peers: {1}")]
    Bind(SocketAddr, #[source] io::Error),
    /// Strangers could connect.
    #[error(
        "{0} can be reached by strangers, so peers are served there with TLS only: set up certificates for the mesh, or listen at a loopback address"
    )]
    NeedsTls(SocketAddr),
}

/// Serves calls of peers.
pub struct Server {
    listener: Box<dyn Listener>,
    address: SocketAddr,
    tls: Option<Tls>,
}

impl Server {
    /// Listens at an address; port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// The address is taken or not one of this machine; or there is no TLS and strangers could reach it.
    pub async fn bind(
        address: SocketAddr,
        network: &dyn Network,
        tls: Option<Tls>,
    ) -> Result<Self, ServerError> {
        if tls.is_none() && !network.is_private(address) {
            return Err(ServerError::NeedsTls(address));
        }
        let refused = |error| ServerError::Bind(address, error);
        let listener = network.bind(address).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        Ok(Self { listener, address, tls })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` resolves. Calls that run then have 2 s to end.
    pub async fn serve(mut self, routes: Routes, identity: Identity, stop: impl Future<Output = ()>) {
        let service = Check { identity, inner: routes.prepare() };
        let serving = Serving { tls: self.tls.clone(), service, refused: Arc::default() };
        let (stopping, stopped) = watch::channel(());
        let mut connections = JoinSet::new();
        let mut stop = pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                // Only takes the ended ones out.
                Some(_) = connections.join_next() => {}
                accepted = self.listener.accept() => match accepted {
                    Ok((_, from)) if connections.len() >= CONNECTIONS_MAX => {
                        tracing::warn!(%from, "a peer was turned away: {CONNECTIONS_MAX} connections are open");
                    }
                    Ok((stream, from)) => {
                        connections.spawn(connection(serving.clone(), stream, from, stopped.clone()));
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a connection of a peer could not be taken");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
            }
        }
        drop(self.listener);
        drop(stopping);
        let drained = async { while connections.join_next().await.is_some() {} };
        // What is left ends with the set.
        let _ = timeout(DRAIN, drained).await;
    }
}

/// What all connections have.
#[derive(Clone)]
struct Serving {
    tls: Option<Tls>,
    service: Check<Routes>,
    /// Connections without the certificate of a peer.
    refused: Arc<AtomicU64>,
}

impl Serving {
    /// Tells of the first, the second, the fourth and so on: strangers cannot fill the log.
    fn refuse(&self, from: SocketAddr, error: &io::Error) {
        let count = self.refused.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if count.is_power_of_two() {
            tracing::warn!(%from, %error, count, "a connection without the certificate of a peer was refused");
        }
    }
}

/// One connection, until the peer ends it or the server stops.
async fn connection(
    with: Serving,
    stream: Box<dyn Stream>,
    from: SocketAddr,
    mut stopped: watch::Receiver<()>,
) {
    let stream = match &with.tls {
        None => stream,
        Some(tls) => match timeout(HANDSHAKE, tls.accept(stream)).await {
            Ok(Ok(stream)) => Box::new(stream) as Box<dyn Stream>,
            Ok(Err(error)) => {
                with.refuse(from, &error);
                return;
            }
            Err(_) => {
                tracing::debug!(%from, "a connection said nothing");
                return;
            }
        },
    };
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(KEEP_ALIVE)
        .keep_alive_timeout(KEEP_ALIVE_TIMEOUT)
        .max_concurrent_streams(STREAMS_MAX);
    let mut serving =
        pin!(builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(with.service)));
    let ended = tokio::select! {
        ended = &mut serving => ended,
        // An error: the sender is gone.
        _ = stopped.changed() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%from, %error, "a connection of a peer ended");
    }
}
