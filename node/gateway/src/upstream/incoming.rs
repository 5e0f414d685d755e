//! The body of an upstream answer: from a connection or from the built-in mock, expanded where it is compressed.

use super::{
    inflate::{Inflate, InflateError},
    pool::{Counted, Link, Pool},
};
use crate::{mock, state::Slot};
use bytes::Bytes;
use http::HeaderMap;
use http_body::Body;
use std::{
    cell::RefCell,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};

/// Where the bytes come from.
pub(crate) enum Source {
    /// A connection of our own; it goes back to its pool at the end of the body.
    Alone(Box<Alone>),
    /// A stream of an HTTP/2 connection.
    Shared(hyper::body::Incoming, #[allow(dead_code, reason = "counted while it lives")] Counted),
    /// The built-in mock.
    Mock(Box<mock::Body>),
    /// All has been read.
    Done,
}

/// A body on an HTTP/1 connection.
pub(crate) struct Alone {
    frames: hyper::body::Incoming,
    link: Link,
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
    pub(crate) fn alone(frames: hyper::body::Incoming, link: Link, pool: Rc<RefCell<Pool>>) -> Self {
        let mut source = Self::Alone(Box::new(Alone { frames, link, pool }));
        source.release_at_end();
        source
    }

    /// A body on an HTTP/2 connection.
    pub(crate) fn shared(frames: hyper::body::Incoming, counted: Counted) -> Self {
        Self::Shared(frames, counted)
    }

    /// Gives the connection back as soon as it is known that the body has ended: with a length after its last byte,
    /// in chunks only once the end itself was read.
    fn release_at_end(&mut self) {
        let ended = match self {
            Self::Alone(alone) => alone.frames.is_end_stream(),
            Self::Shared(frames, _) => frames.is_end_stream(),
            Self::Mock(_) | Self::Done => false,
        };
        if ended {
            self.release();
        }
    }

    fn release(&mut self) {
        if let Self::Alone(alone) = std::mem::replace(self, Self::Done) {
            let Alone { frames, link, pool } = *alone;
            drop(frames);
            pool.borrow_mut().checkin(link);
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        loop {
            let next = match self {
                Self::Done => return Poll::Ready(None),
                Self::Mock(body) => {
                    return body.poll(cx).map(|next| next.map(|chunk| chunk.ok_or(Broken::Connection)));
                }
                Self::Shared(frames, _) => Pin::new(frames).poll_frame(cx),
                Self::Alone(alone) => {
                    let mut next = Pin::new(&mut alone.frames).poll_frame(cx);
                    if next.is_pending() {
                        alone.link.poll_drive(cx);
                        next = Pin::new(&mut alone.frames).poll_frame(cx);
                    }
                    next
                }
            };
            match ready!(next) {
                None => {
                    self.release();
                    return Poll::Ready(None);
                }
                Some(Err(_)) => {
                    *self = Self::Done;
                    return Poll::Ready(Some(Err(Broken::Connection)));
                }
                Some(Ok(frame)) => {
                    self.release_at_end();
                    // Trailers say nothing that we need.
                    if let Ok(data) = frame.into_data() {
                        return Poll::Ready(Some(Ok(data)));
                    }
                }
            }
        }
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
        headers: &HeaderMap,
        bytes_max: u64,
        slot: Slot,
    ) -> Result<Self, Broken> {
        Ok(Self { source, inflate: Inflate::for_headers(headers, bytes_max)?.map(Box::new), slot })
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
        matches!(self.source, Source::Done) && self.inflate.is_none()
    }

    /// The next bytes.
    pub(crate) async fn chunk(&mut self) -> Option<Result<Bytes, Broken>> {
        std::future::poll_fn(|cx| self.poll_chunk(cx)).await
    }
}
