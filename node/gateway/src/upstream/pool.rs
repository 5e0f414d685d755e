//! The connections of one data thread to one provider. HTTP/1 connections are *spawned* (a task of their own drives
//! them) or *driven* (the request that uses one drives it inline): for streams driving saves a wake-up and a write
//! for each event, for single answers spawning is cheaper. HTTP/2 connections are shared and always spawned.

use super::{ConnectError, Outgoing, connect, connect::Io, incoming};
use crate::state::ProviderState;
use http::{Request, response::Parts};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::TokioIo;
use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    future::{Future, poll_fn},
    pin::{Pin, pin},
    rc::Rc,
    sync::{Arc, atomic::Ordering::Relaxed},
    task::{Context, Poll},
    time::{Duration, Instant},
};
use trestle_config::ProviderConfig;
use trestle_provider::Origin;

/// Idle HTTP/1 connections of each mode.
const IDLE_MAX: usize = 1024;
/// Servers close idle connections after a minute or so; ours go first.
const IDLE_FOR: Duration = Duration::from_secs(55);
/// Requests at once on one HTTP/2 connection before another is opened.
const STREAMS_MAX: u32 = 100;
/// Largest head of an answer.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Who drives an HTTP/1 connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A task of its own: for single answers.
    Spawned,
    /// The request that uses it: for streams.
    Driven,
}

/// The connections of one thread to one provider.
pub(crate) struct Pool {
    state: Arc<ProviderState>,
    identity: Option<Identity>,
    spawned: VecDeque<Link>,
    driven: VecDeque<Link>,
    shared: Vec<Shared>,
}

/// What must be the same for a connection to be used again after a change of the document.
#[derive(PartialEq, Eq)]
struct Identity {
    origin: Origin,
    ca: Option<Arc<str>>,
    server_name: Option<Box<str>>,
    http2: bool,
    private: bool,
}

/// An HTTP/1 connection.
pub(crate) struct Link {
    sender: http1::SendRequest<Outgoing>,
    drive: Option<Pin<Box<dyn Future<Output = ()>>>>,
    idle_since: Instant,
}

/// An HTTP/2 connection.
struct Shared {
    sender: http2::SendRequest<Outgoing>,
    streams: Rc<Cell<u32>>,
}

/// A stream on an HTTP/2 connection; counted until it is dropped.
pub(crate) struct Counted(Rc<Cell<u32>>);

impl Counted {
    fn new(streams: &Rc<Cell<u32>>) -> Self {
        streams.set(streams.get() + 1);
        Self(Rc::clone(streams))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// No connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The connection broke, or what came is not HTTP.
    #[error("the connection to the provider broke before its answer began")]
    Broken(#[source] hyper::Error),
}

/// An answer: its head, and its body on the way.
type Response = (Parts, incoming::Source);

impl Link {
    /// Moves a driven connection on.
    pub(crate) fn poll_drive(&mut self, cx: &mut Context<'_>) {
        if let Some(drive) = &mut self.drive
            && drive.as_mut().poll(cx).is_ready()
        {
            self.drive = None;
        }
    }

    /// Finishes the last message and notices an end that came while the connection was idle.
    async fn usable(&mut self) -> bool {
        poll_fn(|cx| {
            self.poll_drive(cx);
            if self.sender.is_closed() {
                return Poll::Ready(false);
            }
            self.sender.poll_ready(cx).map(|ready| ready.is_ok())
        })
        .await
    }

    async fn send(
        &mut self,
        request: Request<Outgoing>,
    ) -> Result<http::Response<hyper::body::Incoming>, TryError> {
        let mut answer = pin!(self.sender.try_send_request(request));
        let drive = &mut self.drive;
        poll_fn(|cx| {
            if let Some(running) = drive
                && running.as_mut().poll(cx).is_ready()
            {
                *drive = None;
            }
            answer.as_mut().poll(cx)
        })
        .await
        .map_err(TryError::from)
    }
}

/// A failed send: the request comes back if nothing of it was written.
struct TryError {
    error: hyper::Error,
    unsent: Option<Request<Outgoing>>,
}

impl From<hyper::client::conn::TrySendError<Request<Outgoing>>> for TryError {
    fn from(mut error: hyper::client::conn::TrySendError<Request<Outgoing>>) -> Self {
        let unsent = error.take_message();
        Self { error: error.into_error(), unsent }
    }
}

impl Pool {
    /// An empty pool; what is opened counts in `state`.
    pub(crate) fn new(state: Arc<ProviderState>) -> Self {
        Self { state, identity: None, spawned: VecDeque::new(), driven: VecDeque::new(), shared: Vec::new() }
    }

    /// Forgets connections that were made for another address or trust.
    fn keep_for(&mut self, origin: &Origin, config: &ProviderConfig) {
        let same = self.identity.as_ref().is_some_and(|id| {
            id.origin == *origin
                && id.ca == config.tls_ca
                && id.server_name == config.tls_server_name
                && id.http2 == config.http2_prior_knowledge
                && id.private == config.private_addresses
        });
        if !same {
            *self = Self {
                identity: Some(Identity {
                    origin: origin.clone(),
                    ca: config.tls_ca.clone(),
                    server_name: config.tls_server_name.clone(),
                    http2: config.http2_prior_knowledge,
                    private: config.private_addresses,
                }),
                ..Self::new(Arc::clone(&self.state))
            };
        }
    }

    fn idle(&mut self, mode: Mode) -> &mut VecDeque<Link> {
        match mode {
            Mode::Spawned => &mut self.spawned,
            Mode::Driven => &mut self.driven,
        }
    }

    fn take_shared(&mut self) -> Option<(http2::SendRequest<Outgoing>, Counted)> {
        self.shared.retain(|shared| !shared.sender.is_closed());
        let free = self.shared.iter().find(|shared| shared.streams.get() < STREAMS_MAX)?;
        Some((free.sender.clone(), Counted::new(&free.streams)))
    }

    /// Takes a connection back whose answer has been read to its end.
    pub(crate) fn checkin(&mut self, mut link: Link) {
        if link.sender.is_closed() {
            return;
        }
        let now = Instant::now();
        link.idle_since = now;
        let mode = if link.drive.is_some() { Mode::Driven } else { Mode::Spawned };
        let idle = self.idle(mode);
        while idle.front().is_some_and(|old| now.duration_since(old.idle_since) > IDLE_FOR) {
            idle.pop_front();
        }
        if idle.len() < IDLE_MAX {
            idle.push_back(link);
        }
    }
}

/// A connection that is ready for a request.
enum Ready {
    Alone(Link),
    Shared(http2::SendRequest<Outgoing>, Counted),
}

/// Sends a request and waits for the head of the answer. A kept connection that turns out to be closed before
/// anything was written is replaced without further notice.
pub(crate) async fn send(
    pool: &Rc<RefCell<Pool>>,
    (origin, config): (&Origin, &ProviderConfig),
    mut request: Request<Outgoing>,
    mode: Mode,
) -> Result<Response, SendError> {
    pool.borrow_mut().keep_for(origin, config);
    // Each round takes one kept connection, so the loop is bounded by their number, and ends with a new one.
    loop {
        let kept = checkout(pool, mode).await;
        let reused = kept.is_some();
        let ready = match kept {
            Some(ready) => ready,
            // Boxed: it is rare, and large, and would make each request's future as large.
            None => Box::pin(open(pool, (origin, config), mode)).await?,
        };
        let sent = match ready {
            Ready::Alone(mut link) => link.send(request).await.map(|answer| {
                let (head, frames) = answer.into_parts();
                (head, incoming::Source::alone(frames, link, Rc::clone(pool)))
            }),
            Ready::Shared(mut sender, counted) => {
                to_http2(&mut request, origin);
                sender.try_send_request(request).await.map_err(TryError::from).map(|answer| {
                    let (head, frames) = answer.into_parts();
                    (head, incoming::Source::shared(frames, counted))
                })
            }
        };
        match sent {
            Ok(response) => return Ok(response),
            Err(TryError { unsent: Some(unsent), .. }) if reused => request = unsent,
            Err(TryError { error, .. }) => return Err(SendError::Broken(error)),
        }
    }
}

/// HTTP/2 has the host in the target, not in a header.
fn to_http2(request: &mut Request<Outgoing>, origin: &Origin) {
    if request.uri().authority().is_some() {
        return;
    }
    let Some(host) = request.headers_mut().remove(http::header::HOST) else { return };
    let scheme = if origin.tls { "https" } else { "http" };
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    parts.scheme = scheme.parse().ok();
    parts.authority = host.to_str().ok().and_then(|host| host.parse().ok());
    if let Ok(uri) = http::Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    *request.version_mut() = http::Version::HTTP_2;
}

async fn checkout(pool: &Rc<RefCell<Pool>>, mode: Mode) -> Option<Ready> {
    if let Some((sender, counted)) = pool.borrow_mut().take_shared() {
        return Some(Ready::Shared(sender, counted));
    }
    loop {
        let mut link = pool.borrow_mut().idle(mode).pop_back()?;
        if link.idle_since.elapsed() < IDLE_FOR && link.usable().await {
            return Some(Ready::Alone(link));
        }
    }
}

async fn open(
    pool: &Rc<RefCell<Pool>>,
    (origin, config): (&Origin, &ProviderConfig),
    mode: Mode,
) -> Result<Ready, ConnectError> {
    let connecting = async {
        let (io, http2) = connect::connect(origin, config).await?;
        pool.borrow().state.connections.fetch_add(1, Relaxed);
        if http2 { handshake_http2(pool, io).await } else { handshake_http1(io, mode).await }
    };
    tokio::time::timeout(config.times.connect, connecting).await.unwrap_or(Err(ConnectError::Timeout))
}

async fn handshake_http1(io: Io, mode: Mode) -> Result<Ready, ConnectError> {
    let mut builder = http1::Builder::new();
    builder.max_header_size(HEAD_BYTES_MAX);
    let (sender, connection) = builder.handshake(TokioIo::new(io)).await.map_err(ConnectError::Handshake)?;
    let run = async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "an upstream connection ended");
        }
    };
    let drive: Option<Pin<Box<dyn Future<Output = ()>>>> = match mode {
        Mode::Driven => Some(Box::pin(run)),
        Mode::Spawned => {
            tokio::task::spawn_local(run);
            None
        }
    };
    Ok(Ready::Alone(Link { sender, drive, idle_since: Instant::now() }))
}

async fn handshake_http2(pool: &Rc<RefCell<Pool>>, io: Io) -> Result<Ready, ConnectError> {
    let mut builder = http2::Builder::new(LocalExecutor);
    builder
        .timer(hyper_util::rt::TokioTimer::new())
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(10))
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(4 << 20)
        .max_header_list_size(HEAD_BYTES_MAX as u32);
    let (sender, connection) = builder.handshake(TokioIo::new(io)).await.map_err(ConnectError::Handshake)?;
    tokio::task::spawn_local(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "an upstream connection ended");
        }
    });
    let streams = Rc::new(Cell::new(0));
    let counted = Counted::new(&streams);
    pool.borrow_mut().shared.push(Shared { sender: sender.clone(), streams });
    Ok(Ready::Shared(sender, counted))
}

/// Runs hyper's tasks on the data thread that they belong to.
#[derive(Debug, Clone, Copy)]
struct LocalExecutor;

impl<F: Future<Output = ()> + 'static> hyper::rt::Executor<F> for LocalExecutor {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}
