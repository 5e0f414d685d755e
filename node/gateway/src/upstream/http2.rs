//! HTTP/2 towards providers: shared connections, each driven by a task of its own.

use super::{ConnectError, Head, Outgoing, connect::Io, incoming::Broken};
use bytes::Bytes;
use http::{Request, Uri, Version, header::HOST};
use hyper::{
    body::{Body as _, Incoming},
    client::conn::http2,
};
use hyper_util::rt::TokioIo;
use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
    time::Duration,
};
use trestle_provider::Origin;

/// Requests at once on one connection before another is opened.
const STREAMS_MAX: u32 = 100;
/// Largest head of an answer.
const HEAD_BYTES_MAX: u32 = 64 * 1024;

/// A connection. A clone is another handle to the same one.
#[derive(Clone)]
pub(super) struct Connection {
    sender: http2::SendRequest<Outgoing>,
    streams: Rc<Cell<u32>>,
}

/// A call on a connection; counted until it is dropped.
pub(super) struct Counted(Rc<Cell<u32>>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get().saturating_sub(1));
    }
}

/// The body of an answer.
pub(crate) struct Body {
    frames: Incoming,
    #[allow(dead_code, reason = "counted while it lives")]
    counted: Counted,
}

impl Body {
    /// Whether all of it has been handed out.
    pub(super) fn is_ended(&self) -> bool {
        self.frames.is_end_stream()
    }

    /// The next data. Trailers say nothing that we need.
    pub(super) fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        loop {
            match ready!(Pin::new(&mut self.frames).poll_frame(cx)) {
                None => return Poll::Ready(None),
                Some(Err(_)) => return Poll::Ready(Some(Err(Broken::Connection))),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
            }
        }
    }
}

/// Why a call has no answer.
pub(super) struct CallError {
    /// What hyper says.
    pub(super) error: hyper::Error,
    /// Nothing of the request was written: it may be sent again on another connection.
    pub(super) unsent: bool,
}

impl Connection {
    /// Begins HTTP/2 on a connection.
    pub(super) async fn handshake(io: Io) -> Result<Self, ConnectError> {
        let mut builder = http2::Builder::new(LocalExecutor);
        builder
            .timer(hyper_util::rt::TokioTimer::new())
            .keep_alive_interval(Duration::from_secs(20))
            .keep_alive_timeout(Duration::from_secs(10))
            .initial_stream_window_size(1 << 20)
            .initial_connection_window_size(4 << 20)
            .max_header_list_size(HEAD_BYTES_MAX);
        let (sender, connection) =
            builder.handshake(TokioIo::new(io)).await.map_err(ConnectError::Handshake)?;
        tokio::task::spawn_local(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "an upstream connection ended");
            }
        });
        Ok(Self { sender, streams: Rc::default() })
    }

    /// Whether it has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    /// Whether another call fits.
    pub(super) fn is_free(&self) -> bool {
        self.streams.get() < STREAMS_MAX
    }

    /// A place for a call.
    pub(super) fn count(&self) -> Counted {
        self.streams.set(self.streams.get() + 1);
        Counted(Rc::clone(&self.streams))
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn call(
        mut self,
        request: &Request<Outgoing>,
        (origin, counted): (&Origin, Counted),
    ) -> Result<(Head, Body), CallError> {
        match self.sender.try_send_request(retargeted(request, origin)).await {
            Ok(answer) => {
                let head = Head::with_headers(answer.status(), answer.headers(), request.body().keep());
                Ok((head, Body { frames: answer.into_body(), counted }))
            }
            Err(mut error) => {
                let unsent = error.take_message().is_some();
                Err(CallError { error: error.into_error(), unsent })
            }
        }
    }
}

/// HTTP/2 has the host in the target, not in a header.
fn retargeted(request: &Request<Outgoing>, origin: &Origin) -> Request<Outgoing> {
    let mut request = request.clone();
    let Some(host) = request.headers_mut().remove(HOST) else { return request };
    let scheme = if origin.tls { "https" } else { "http" };
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    parts.scheme = scheme.parse().ok();
    parts.authority = host.to_str().ok().and_then(|host| host.parse().ok());
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
    *request.version_mut() = Version::HTTP_2;
    request
}

/// Runs hyper's tasks on the data thread that they belong to.
#[derive(Debug, Clone, Copy)]
struct LocalExecutor;

impl<F: Future<Output = ()> + 'static> hyper::rt::Executor<F> for LocalExecutor {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(future);
    }
}
