//! The connections of one data thread to one provider. An HTTP/1 connection belongs to one call at a time and waits
//! here between two; HTTP/2 connections are shared.

use super::{
    ConnectError, Head, Outgoing,
    connect::{self, Connected, Io, Speaks},
    http1, http2,
    incoming::Source,
};
use crate::state::ProviderState;
use bytes::Bytes;
use http::{Request, StatusCode};
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    error::Error,
    future::poll_fn,
    rc::{Rc, Weak},
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};
use trestle_config::ProviderConfig;
use trestle_provider::{Origin, Proxy};

/// Idle HTTP/1 connections.
const IDLE_MAX: usize = 1024;
/// Servers close idle connections after a minute or so; ours go first.
const IDLE_FOR: Duration = Duration::from_secs(55);
/// How often idle connections are looked through.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

/// The connections of one thread to one provider.
pub(crate) struct Pool {
    state: Arc<ProviderState>,
    identity: Option<Identity>,
    idle: VecDeque<Idle>,
    shared: Vec<http2::Connection>,
    swept: bool,
}

/// What must be the same for a connection to be used again after a change of the document.
#[derive(PartialEq, Eq)]
struct Identity {
    origin: Origin,
    ca: Option<Arc<str>>,
    server_name: Option<Box<str>>,
    http2: bool,
    private: bool,
    proxy: Option<Arc<Proxy>>,
}

/// An HTTP/1 connection that waits for its next call.
struct Idle {
    connection: http1::Connection,
    since: Instant,
}

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// No connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection broke, or what came is not HTTP.
    #[error("the connection to the provider broke before its answer began")]
    Broken(#[source] Box<dyn Error + Send + Sync>),
}

impl Pool {
    /// An empty pool; what is opened counts in `state`.
    pub(crate) fn new(state: Arc<ProviderState>) -> Self {
        Self { state, identity: None, idle: VecDeque::new(), shared: Vec::new(), swept: false }
    }

    /// Forgets connections that were made for another address or trust.
    fn keep_for(&mut self, origin: &Origin, config: &ProviderConfig) {
        let same = self.identity.as_ref().is_some_and(|id| {
            id.origin == *origin
                && id.ca == config.tls_ca
                && id.server_name == config.tls_server_name
                && id.http2 == config.http2_prior_knowledge
                && id.private == config.private_addresses
                && id.proxy == config.proxy
        });
        if !same {
            *self = Self {
                identity: Some(Identity {
                    origin: origin.clone(),
                    ca: config.tls_ca.clone(),
                    server_name: config.tls_server_name.clone(),
                    http2: config.http2_prior_knowledge,
                    private: config.private_addresses,
                    proxy: config.proxy.clone(),
                }),
                swept: self.swept,
                ..Self::new(Arc::clone(&self.state))
            };
        }
    }

    /// A connection that is ready for a call.
    fn checkout(&mut self) -> Option<Ready> {
        self.shared.retain(|shared| !shared.is_closed());
        if let Some(free) = self.shared.iter().find(|shared| shared.is_free()) {
            return Some(Ready::Shared(free.clone(), free.count()));
        }
        let idle = self.idle.pop_back().filter(|idle| idle.since.elapsed() < IDLE_FOR)?;
        Some(Ready::Alone(idle.connection))
    }

    /// Drops idle connections that are too old or were closed by the other side.
    fn sweep(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        self.idle.retain_mut(|idle| idle.since.elapsed() < IDLE_FOR && idle.connection.is_idle(&mut cx));
    }
}

/// Takes a connection back whose answer has been read to its end.
pub(super) fn checkin(pool: &Rc<RefCell<Pool>>, connection: http1::Connection) {
    let mut inner = pool.borrow_mut();
    if inner.idle.len() < IDLE_MAX {
        inner.idle.push_back(Idle { connection, since: Instant::now() });
    }
    if !std::mem::replace(&mut inner.swept, true) {
        tokio::task::spawn_local(sweep(Rc::downgrade(pool)));
    }
}

/// Looks through the idle connections of a pool for as long as it has some.
async fn sweep(pool: Weak<RefCell<Pool>>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut pool = pool.borrow_mut();
        pool.sweep();
        if pool.idle.is_empty() {
            pool.swept = false;
            return;
        }
    }
}

/// A connection that is ready for a call.
enum Ready {
    Alone(http1::Connection),
    Shared(http2::Connection, http2::Counted),
}

/// Sends a request and waits for the head of the answer. A kept connection that turns out to be closed before
/// anything was written is replaced without further notice. `begun` tells whether a connection has the request, for whoever
/// stops to wait.
pub(crate) async fn send(
    pool: &Rc<RefCell<Pool>>,
    (origin, config): (&Origin, &ProviderConfig),
    request: &Request<Outgoing>,
    begun: &Cell<bool>,
) -> Result<(Head, Source), SendError> {
    pool.borrow_mut().keep_for(origin, config);
    // Each round takes one kept connection, so the loop is bounded by their number, and ends with a new one.
    loop {
        let kept = pool.borrow_mut().checkout();
        let reused = kept.is_some();
        let ready = match kept {
            Some(ready) => ready,
            // Boxed: it is rare, and large, and would make each request's future as large.
            None => Box::pin(open(pool, (origin, config))).await?,
        };
        let (error, unsent): (Box<dyn Error + Send + Sync>, bool) = match ready {
            Ready::Alone(mut connection) => {
                if reused && !poll_fn(|cx| Poll::Ready(connection.is_idle(cx))).await {
                    continue;
                }
                begun.set(true);
                match connection.call(request).await {
                    Ok((head, body)) => return Ok((head, Source::alone(body, Rc::clone(pool)))),
                    Err(error) => {
                        let unsent = matches!(error, http1::CallError::Unsent(_));
                        (error.into(), unsent)
                    }
                }
            }
            Ready::Shared(connection, counted) => {
                begun.set(true);
                match connection.call(request, (origin, counted)).await {
                    Ok((head, body)) => return Ok((head, Source::shared(body))),
                    Err(http2::CallError { error, unsent }) => (error.into(), unsent),
                }
            }
        };
        begun.set(!unsent);
        if !(reused && unsent) {
            return Err(SendError::Broken(error));
        }
    }
}

/// What an answer made of a connection that was asked to switch.
pub(crate) enum Switched {
    /// It speaks the other protocol; what was read of that already.
    Yes(Io, Bytes),
    /// It does not; the body of the answer.
    No(Source),
}

/// Asks on a connection of its own to switch to WebSocket.
pub(crate) async fn switch(
    pool: &Rc<RefCell<Pool>>,
    (origin, config): (&Origin, &ProviderConfig),
    request: &Request<Outgoing>,
    begun: &Cell<bool>,
) -> Result<(Head, Switched), SendError> {
    pool.borrow_mut().keep_for(origin, config);
    let connecting = connect::connect(origin, config, Speaks::WebSocket);
    let connected = tokio::time::timeout(config.times.connect, connecting).await;
    let Connected { io, via, .. } = connected.unwrap_or(Err(ConnectError::Timeout))?;
    pool.borrow().state.connections.fetch_add(1, Relaxed);
    begun.set(true);
    let called = http1::Connection::new(io, via).call(request).await;
    let (head, body) = called.map_err(|error| SendError::Broken(error.into()))?;
    if head.status == StatusCode::SWITCHING_PROTOCOLS {
        let (io, first) = body.into_io();
        return Ok((head, Switched::Yes(io, first)));
    }
    Ok((head, Switched::No(Source::alone(body, Rc::clone(pool)))))
}

async fn open(
    pool: &Rc<RefCell<Pool>>,
    (origin, config): (&Origin, &ProviderConfig),
) -> Result<Ready, ConnectError> {
    let connecting = async {
        let Connected { io, http2, via } = connect::connect(origin, config, Speaks::Http).await?;
        pool.borrow().state.connections.fetch_add(1, Relaxed);
        if !http2 {
            return Ok(Ready::Alone(http1::Connection::new(io, via)));
        }
        let connection = http2::Connection::handshake(io).await?;
        let counted = connection.count();
        pool.borrow_mut().shared.push(connection.clone());
        Ok(Ready::Shared(connection, counted))
    };
    tokio::time::timeout(config.times.connect, connecting).await.unwrap_or(Err(ConnectError::Timeout))
}
