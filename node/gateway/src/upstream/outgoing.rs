//! The body of an upstream request: slices of the client's body and the pieces put between them.

use super::Keep;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    convert::Infallible,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll},
};
use trestle_dialect::Pieces;

/// Pieces to send, in order. A clone is a count: each attempt sends the same pieces.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pieces: Rc<[Bytes]>,
    next: usize,
    keep: Keep,
}

impl Outgoing {
    /// The pieces that are not empty.
    pub(crate) fn new(mut pieces: Pieces) -> Self {
        pieces.retain(|piece| !piece.is_empty());
        Self { pieces: pieces.into_iter().collect(), next: 0, keep: Keep::Needed }
    }

    /// Whose answer is passed on with its headers.
    #[must_use]
    pub(crate) fn keeping_all(mut self) -> Self {
        self.keep = Keep::All;
        self
    }

    /// What is kept of the headers of the answer.
    pub(super) fn keep(&self) -> Keep {
        self.keep
    }

    /// The pieces.
    pub(crate) fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }

    /// The bytes of all pieces.
    pub(crate) fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let me = self.get_mut();
        let piece = me.pieces.get(me.next).cloned();
        me.next += 1;
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }

    // Without this hyper needs one more poll to learn that the body has ended.
    fn is_end_stream(&self) -> bool {
        self.next >= self.pieces.len()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.pieces.iter().skip(self.next).map(|piece| piece.len() as u64).sum())
    }
}
