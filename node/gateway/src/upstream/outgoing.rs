//! The body of an upstream request: slices of the client's body and the pieces put between them, and perhaps the rest of the
//! client's body behind them, as it comes.

use super::Keep;
use crate::tail::Tail;
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use std::{
    io,
    pin::Pin,
    rc::Rc,
    task::{Context, Poll, ready},
};
use trestle_dialect::Pieces;

/// Pieces to send, in order, and what comes behind them. A clone is a count: each attempt sends the same pieces.
#[derive(Clone)]
pub(crate) struct Outgoing {
    pieces: Rc<[Bytes]>,
    next: usize,
    keep: Keep,
    rest: Option<Rest>,
}

/// The rest of a body, for one attempt.
#[derive(Clone)]
pub(crate) struct Rest {
    tail: Rc<Tail>,
    turn: u32,
    ended: bool,
}

impl Outgoing {
    /// The pieces that are not empty.
    pub(crate) fn new(mut pieces: Pieces) -> Self {
        pieces.retain(|piece| !piece.is_empty());
        Self { pieces: pieces.into_iter().collect(), next: 0, keep: Keep::Needed, rest: None }
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

    /// With a rest behind them.
    #[must_use]
    pub(crate) fn before(self, tail: &Rc<Tail>) -> Self {
        Self { rest: Some(Rest { tail: Rc::clone(tail), turn: 0, ended: false }), ..self }
    }

    /// The body of another attempt.
    #[must_use]
    pub(crate) fn again(&self) -> Self {
        let rest = |rest: &Rest| Rest { turn: rest.tail.begin(), ..rest.clone() };
        Self { rest: self.rest.as_ref().map(rest), ..self.clone() }
    }

    /// The pieces.
    pub(crate) fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }

    /// All of the body, if it is held.
    pub(crate) fn whole(&self) -> Option<&[Bytes]> {
        self.rest.is_none().then_some(&*self.pieces)
    }

    /// Whether something is behind the pieces, and goes on.
    pub(crate) fn is_moving(&self) -> bool {
        self.rest.as_ref().is_some_and(|rest| rest.tail.is_moving())
    }

    /// What is behind the pieces.
    pub(super) fn take_rest(&mut self) -> Option<Rest> {
        self.rest.take()
    }

    /// The bytes of all pieces.
    pub(crate) fn held(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }

    /// The bytes of all, if they are known.
    pub(super) fn length(&self) -> Option<u64> {
        match &self.rest {
            None => Some(self.held()),
            Some(rest) => Some(self.held() + rest.tail.length()?),
        }
    }
}

impl Rest {
    /// The next bytes; none after the end.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let next = ready!(self.tail.poll_next(self.turn, cx));
        self.ended = next.is_none();
        Poll::Ready(next)
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let me = self.get_mut();
        if let Some(piece) = me.pieces.get(me.next) {
            me.next += 1;
            return Poll::Ready(Some(Ok(Frame::data(piece.clone()))));
        }
        match &mut me.rest {
            None => Poll::Ready(None),
            Some(rest) => rest.poll_next(cx).map(|next| next.map(|data| data.map(Frame::data))),
        }
    }

    // Without this hyper needs one more poll to learn that the body has ended.
    fn is_end_stream(&self) -> bool {
        self.next >= self.pieces.len() && self.rest.as_ref().is_none_or(|rest| rest.ended)
    }

    // Asked at the begin alone.
    fn size_hint(&self) -> SizeHint {
        self.length().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
