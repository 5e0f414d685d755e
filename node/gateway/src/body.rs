//! Bodies: what a client sends and what it is answered.

use crate::relay::Relay;
use bytes::Bytes;
use http::Response;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};
use tokio::sync::{mpsc, oneshot};

/// Chunks on their way from one thread to another.
const REMOTE_CHUNKS: usize = 8;

/// A body that is read on the data thread of its connection.
pub trait LocalBody {
    /// The next data.
    fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>>;

    /// Whether all of it has been read.
    fn is_end(&self) -> bool;
}

/// The body of a request.
pub enum RequestBody {
    /// From a connection that hyper serves.
    Incoming(Incoming),
    /// From another connection, as it comes.
    Local(Box<dyn LocalBody>),
    /// All of it.
    Bytes(Bytes),
}

impl From<Incoming> for RequestBody {
    fn from(body: Incoming) -> Self {
        Self::Incoming(body)
    }
}

impl From<Bytes> for RequestBody {
    fn from(body: Bytes) -> Self {
        Self::Bytes(body)
    }
}

impl RequestBody {
    /// The next data of the body.
    pub(crate) fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        match self {
            Self::Local(body) => body.poll_data(cx),
            Self::Bytes(bytes) if bytes.is_empty() => Poll::Ready(None),
            Self::Bytes(bytes) => Poll::Ready(Some(Ok(std::mem::take(bytes)))),
            Self::Incoming(body) => loop {
                match ready!(Pin::new(&mut *body).poll_frame(cx)) {
                    None => return Poll::Ready(None),
                    Some(Ok(frame)) => {
                        if let Ok(data) = frame.into_data() {
                            return Poll::Ready(Some(Ok(data)));
                        }
                    }
                    Some(Err(error)) => return Poll::Ready(Some(Err(io::Error::other(error)))),
                }
            },
        }
    }

    /// Whether all of it has been read.
    pub(crate) fn is_end(&self) -> bool {
        match self {
            Self::Incoming(body) => body.is_end_stream(),
            Self::Local(body) => body.is_end(),
            Self::Bytes(bytes) => bytes.is_empty(),
        }
    }
}

/// An answer that cannot be completed: the connection must be cut so that the client does not take it for whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the answer broke off")]
pub struct Cut;

/// The body of an answer. Lives on its data thread.
pub enum Answer {
    /// All of it.
    Full(Option<Bytes>),
    /// From an upstream, as it comes.
    Relay(Box<Relay>),
    /// From another data thread.
    Remote(mpsc::Receiver<Result<Bytes, Cut>>),
}

impl Answer {
    /// All of it.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        Self::Full(Some(bytes.into()).filter(|b: &Bytes| !b.is_empty()))
    }

    pub(crate) fn from_remote(body: RemoteBody) -> Self {
        match body {
            RemoteBody::Full(bytes) => Self::Full(bytes),
            RemoteBody::Chunks(chunks) => Self::Remote(chunks),
        }
    }
}

/// The body of an answer on its way to another thread.
#[derive(Debug)]
pub(crate) enum RemoteBody {
    Full(Option<Bytes>),
    Chunks(mpsc::Receiver<Result<Bytes, Cut>>),
}

impl RemoteBody {
    /// The next bytes.
    pub(crate) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        match self {
            Self::Full(bytes) => Poll::Ready(bytes.take().map(Ok)),
            Self::Chunks(chunks) => chunks.poll_recv(cx),
        }
    }
}

/// Sends an answer to another thread, its body chunk by chunk as that thread takes them. Ends, and with it the
/// upstream call, when nobody listens any more.
pub(crate) async fn send_remote(response: Response<Answer>, reply: oneshot::Sender<Response<RemoteBody>>) {
    let (head, body) = response.into_parts();
    let mut body = match body {
        Answer::Full(bytes) => {
            let _ = reply.send(Response::from_parts(head, RemoteBody::Full(bytes)));
            return;
        }
        streamed => streamed,
    };
    let (chunks, receiver) = mpsc::channel(REMOTE_CHUNKS);
    if reply.send(Response::from_parts(head, RemoteBody::Chunks(receiver))).is_err() {
        return;
    }
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            () = chunks.closed() => return,
        };
        let Some(frame) = frame else { return };
        let data = match frame.map(Frame::into_data) {
            Ok(Ok(data)) => Ok(data),
            Ok(Err(_trailers)) => continue,
            Err(cut) => Err(cut),
        };
        if chunks.send(data).await.is_err() {
            return;
        }
    }
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        match self.get_mut() {
            Self::Full(bytes) => Poll::Ready(bytes.take().map(|b| Ok(Frame::data(b)))),
            Self::Remote(chunks) => chunks.poll_recv(cx).map(|next| next.map(|chunk| chunk.map(Frame::data))),
            Self::Relay(relay) => relay.poll_chunk(cx).map(|next| next.map(|chunk| chunk.map(Frame::data))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_none(),
            Self::Relay(relay) => relay.is_end(),
            Self::Remote(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64)),
            Self::Relay(relay) => relay.size_hint(),
            Self::Remote(_) => SizeHint::default(),
        }
    }
}
