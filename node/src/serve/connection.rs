//! One connection of a client, on its data thread: handshake, version, HTTP.

use crate::serve::{
    drive::{Finish, drive, each, step},
    front::Place,
    service::Shared,
    stream::{Stream, Transport, Version},
    sweep,
    vitals::Vitals,
};
use http::{Request, Response};
use http_body::Body;
use hyper::{
    body::Incoming,
    rt::{Executor, bounds::Http2ServerConnExec},
    server::conn::{http1, http2},
    service::{Service, service_fn},
};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{io, net, pin::Pin, rc::Rc, time::Duration};
use tokio::net::TcpStream;
use trestle_gateway::Worker;

/// Largest head of a request, in bytes; beyond, 431.
const HEAD_BYTES_MAX: u32 = 64 * 1024;
/// HTTP/2 streams that one client may have open.
const STREAMS_MAX: u32 = 256;
/// Streams that were reset before hyper saw them, and streams that we reset: beyond, the connection ends.
const RESET_STREAMS_MAX: usize = 64;
/// Bytes that wait in the connection for a slow reader of a stream.
const SEND_BUFFER_MAX: usize = 128 * 1024;
/// Finds out whether a silent HTTP/2 client is still there.
const PING_INTERVAL: Duration = Duration::from_secs(30);
const PING_TIMEOUT: Duration = Duration::from_secs(20);

/// Serves a connection to its end. Its place is free when this returns.
pub(super) async fn serve(stream: net::TcpStream, place: Place, worker: Rc<Worker>) {
    let Ok(peer) = stream.peer_addr() else { return };
    let vitals = sweep::register(&place.front);
    let prepared = step(prepare(stream, &place, Rc::clone(&vitals)), &vitals).await;
    let (stream, version) = match prepared {
        Some(Ok(prepared)) => prepared,
        Some(Err(error)) => {
            tracing::debug!(%error, "a connection ended before its first request");
            return;
        }
        None => return,
    };
    let shared = Shared::new(place, worker, Rc::clone(&vitals), peer);
    let stream = match version {
        Version::Http2 => Some(stream),
        Version::Http1 => each(super::http1::serve(stream, &shared), &vitals).await.flatten(),
    };
    let Some(stream) = stream else { return };
    // A plain function: its future lies in the connection, a named service would box one for each request.
    let service = service_fn(move |request| Rc::clone(&shared).serve(request));
    let ended = match version {
        Version::Http1 => {
            drive(http1_builder().serve_connection(TokioIo::new(stream), service), &vitals).await
        }
        Version::Http2 => {
            vitals.multiplex();
            drive(http2_builder().serve_connection(TokioIo::new(stream), service), &vitals).await
        }
    };
    if let Some(Err(error)) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}

async fn prepare(stream: net::TcpStream, place: &Place, vitals: Rc<Vitals>) -> io::Result<(Stream, Version)> {
    let stream = TcpStream::from_std(stream)?;
    let transport = match &place.front.tls {
        None => Transport::Plain(stream),
        Some(tls) => Transport::Tls(Box::new(tls.acceptor().accept(stream).await?)),
    };
    let mut stream = Stream::new(transport, vitals);
    let version = stream.version().await?;
    Ok((stream, version))
}

fn http1_builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    // Slow heads are the sweep's.
    builder.header_read_timeout(None).max_header_size(HEAD_BYTES_MAX as usize);
    builder
}

fn http2_builder() -> http2::Builder<Here> {
    let mut builder = http2::Builder::new(Here);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX)
        .max_pending_accept_reset_streams(RESET_STREAMS_MAX)
        .max_local_error_reset_streams(RESET_STREAMS_MAX)
        .max_send_buf_size(SEND_BUFFER_MAX)
        .keep_alive_interval(PING_INTERVAL)
        .keep_alive_timeout(PING_TIMEOUT);
    builder
}

/// Runs the streams of an HTTP/2 connection on its data thread. A panic in one ends its task alone.
#[derive(Debug, Clone, Copy)]
struct Here;

impl<F> Executor<F> for Here
where
    F: Future + 'static,
    F::Output: 'static,
{
    fn execute(&self, stream: F) {
        tokio::task::spawn_local(stream);
    }
}

type Cause = Box<dyn std::error::Error + Send + Sync>;

impl<S, B> Finish for http1::Connection<TokioIo<Stream>, S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error: Into<Cause>>,
    B: Body<Error: Into<Cause>> + 'static,
{
    fn finish(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<S, B> Finish for http2::Connection<TokioIo<Stream>, S, Here>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error: Into<Cause>>,
    B: Body<Error: Into<Cause>> + 'static,
    Here: Http2ServerConnExec<S::Future, B>,
{
    fn finish(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}
