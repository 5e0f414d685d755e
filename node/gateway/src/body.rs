//! Bodies: what a client sends and what it is answered.

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

/// The body of a request.
#[derive(Debug)]
pub enum RequestBody {
    /// From a connection.
    Incoming(Incoming),
    /// From this process.
    Bytes(Bytes),
}

/// The body of an answer. Lives on its data thread.
pub enum Answer {
    /// All of it.
    Full(Option<Bytes>),
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Full(bytes) => Poll::Ready(bytes.take().map(|b| Ok(Frame::data(b)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(bytes) => bytes.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |b| b.len() as u64)),
        }
    }
}
