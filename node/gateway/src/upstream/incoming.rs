//! The body of an upstream answer: from a connection or from the built-in mock, expanded where it is compressed.

use super::{
    http1, http2,
    inflate::{Encoding, Inflate, InflateError},
    pool::{Pool, checkin},
};
use crate::{mock, state::Slot};
use bytes::Bytes;
use std::{
    cell::RefCell,
    rc::Rc,
    task::{Context, Poll, ready},
};

/// Where the bytes come from.
pub(crate) enum Source {
    /// A connection of our own; it goes back to its pool at the end of the body.
    Alone(Box<Alone>),
    /// A stream of an HTTP/2 connection.
    Shared(http2::Body),
    /// The built-in mock.
    Mock(Box<mock::Body>),
    /// All has been read.
    Done,
}

/// A body on an HTTP/1 connection.
pub(crate) struct Alone {
    body: http1::Body,
    pool: Rc<RefCell<Pool>>,
}

/// The body broke off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Broken {
    /// The connection did.
    #[error("the connection to the provider broke in the middle of its answer")]
    Connection,
    /// It cannot be expanded.
    #[error("the provider's answer cannot be decompressed: {0}")]
    Inflate(#[from] InflateError),
}

impl Source {
    /// A body on an HTTP/1 connection.
    pub(super) fn alone(body: http1::Body, pool: Rc<RefCell<Pool>>) -> Self {
        let mut source = Self::Alone(Box::new(Alone { body, pool }));
        source.release_at_end();
        source
    }

    /// A body on an HTTP/2 connection.
    pub(super) fn shared(body: http2::Body) -> Self {
        Self::Shared(body)
    }

    /// Lets the connection go as soon as it is known that the body has ended.
    fn release_at_end(&mut self) {
        let ended = match self {
            Self::Alone(alone) => alone.body.is_ended(),
            Self::Shared(body) => body.is_ended(),
            Self::Mock(_) | Self::Done => false,
        };
        if ended && let Self::Alone(alone) = std::mem::replace(self, Self::Done) {
            let Alone { body, pool } = *alone;
            if let Some(connection) = body.into_connection() {
                checkin(&pool, connection);
            }
        }
    }

    /// Whether all has been read.
    pub(crate) fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        let next = match self {
            Self::Done => Poll::Ready(None),
            Self::Mock(body) => body.poll(cx).map(|next| next.map(|chunk| chunk.ok_or(Broken::Connection))),
            Self::Shared(body) => body.poll_data(cx),
            Self::Alone(alone) => alone.body.poll_data(cx),
        };
        match next {
            Poll::Ready(Some(Ok(_)) | None) => self.release_at_end(),
            Poll::Ready(Some(Err(_))) => *self = Self::Done,
            Poll::Pending => {}
        }
        next
    }
}

/// The body of an answer, ready to be read.
pub(crate) struct Incoming {
    source: Source,
    // Boxed: few answers are compressed, and a decoder is large.
    inflate: Option<Box<Inflate>>,
    #[allow(dead_code, reason = "the call runs as long as its body")]
    slot: Slot,
}

impl Incoming {
    /// Reads from `source`; a compressed body is expanded up to `bytes_max`. The slot ends with the body.
    pub(crate) fn new(
        source: Source,
        encoding: Encoding,
        bytes_max: u64,
        slot: Slot,
    ) -> Result<Self, Broken> {
        Ok(Self { source, inflate: Inflate::new(encoding, bytes_max)?.map(Box::new), slot })
    }

    /// The next bytes; never empty ones.
    pub(crate) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        loop {
            let chunk = match ready!(self.source.poll(cx)) {
                Some(Ok(chunk)) => match &mut self.inflate {
                    None => chunk,
                    Some(inflate) => inflate.push(&chunk)?.into(),
                },
                Some(Err(broken)) => return Poll::Ready(Some(Err(broken))),
                None => match self.inflate.take() {
                    None => return Poll::Ready(None),
                    Some(mut inflate) => inflate.finish()?.into(),
                },
            };
            if !chunk.is_empty() {
                return Poll::Ready(Some(Ok(chunk)));
            }
        }
    }

    /// Whether all has been read, without waiting.
    pub(crate) fn is_done(&self) -> bool {
        self.source.is_done() && self.inflate.is_none()
    }

    /// The next bytes.
    pub(crate) async fn chunk(&mut self) -> Option<Result<Bytes, Broken>> {
        std::future::poll_fn(|cx| self.poll_chunk(cx)).await
    }
}
