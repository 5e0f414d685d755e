//! The rest of a form that is not held: it goes from the client to one provider, checked on its way.

use crate::{intake::Intake, upload::unacceptable};
use bytes::Bytes;
use std::{
    cell::{Cell, RefCell},
    io,
    task::{Context, Poll, Waker, ready},
};
use trestle_dialect::{
    Refusal, RefusalKind,
    ir::Json,
    multipart::{Scanner, is_early},
};

/// The rest of a form. One attempt at a time sends it.
pub(crate) struct Tail {
    source: RefCell<Option<Source>>,
    length: Option<u64>,
    taken: Cell<u64>,
    /// What was taken when somebody last looked whether it moves.
    seen: Cell<u64>,
    waiting: Cell<bool>,
    turn: Cell<u32>,
    refusal: RefCell<Option<Refusal>>,
    waker: RefCell<Option<Waker>>,
}

struct Source {
    intake: Intake,
    scanner: Scanner,
    /// Parts that are known.
    parts: usize,
    params: Vec<(String, Json)>,
    ended: bool,
}

impl Tail {
    /// What comes behind `held` bytes that the scanner has seen.
    pub(crate) fn new(intake: Intake, scanner: Scanner, held: u64) -> Self {
        let length = intake.length().and_then(|length| length.checked_sub(held));
        let parts = scanner.parts().len();
        let source = Source { intake, scanner, parts, params: Vec::new(), ended: false };
        Self {
            source: RefCell::new(Some(source)),
            length,
            taken: Cell::default(),
            seen: Cell::default(),
            waiting: Cell::default(),
            turn: Cell::default(),
            refusal: RefCell::default(),
            waker: RefCell::default(),
        }
    }

    /// The bytes to come at the beginning, if that is known.
    pub(crate) fn length(&self) -> Option<u64> {
        self.length
    }

    /// Bytes that were sent on: they are gone.
    pub(crate) fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Why it was given up, if that is the client's fault.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refusal.borrow().clone()
    }

    /// The next target sets these members: what comes must not hold them.
    pub(crate) fn watch(&self, params: &[(String, Json)]) {
        if let Some(source) = &mut *self.source.borrow_mut() {
            source.params = params.to_vec();
        }
    }

    /// Another attempt begins: those before it get no more.
    pub(crate) fn begin(&self) -> u32 {
        self.turn.set(self.turn.get() + 1);
        self.turn.get()
    }

    /// Nobody gets any more.
    pub(crate) fn stop(&self) {
        self.source.borrow_mut().take();
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }

    /// Whether the client is waited for, or bytes went on since the last look.
    pub(crate) fn is_moving(&self) -> bool {
        self.waiting.get() || self.seen.replace(self.taken.get()) != self.taken.get()
    }

    /// The next bytes, for the attempt of this turn. An error ends the call: not all of the body went out.
    pub(crate) fn poll_next(&self, turn: u32, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let mut source = self.source.borrow_mut();
        let Some(source) =
            source.as_mut().filter(|_| self.turn.get() == turn && self.refusal.borrow().is_none())
        else {
            return Poll::Ready(Some(Err(io::ErrorKind::ConnectionAborted.into())));
        };
        self.waker.replace(Some(cx.waker().clone()));
        self.waiting.set(true);
        let next = ready!(source.poll_next(cx));
        self.waiting.set(false);
        let more = next.as_ref().and_then(|next| next.as_ref().ok()).map_or(0, |data| data.len() as u64);
        let taken = self.taken.get() + more;
        // More than was announced would be another request to the provider, less would make it wait for ever.
        let wrong = |length: u64| taken > length || (next.is_none() && taken < length);
        let next = if self.length.is_some_and(wrong) { Some(Err(not_as_announced())) } else { next };
        Poll::Ready(match next {
            None => None,
            Some(Ok(data)) => {
                self.taken.set(taken);
                Some(Ok(data))
            }
            Some(Err(refusal)) => {
                self.refusal.replace(Some(refusal));
                Some(Err(io::ErrorKind::InvalidData.into()))
            }
        })
    }
}

fn not_as_announced() -> Refusal {
    Refusal::new(RefusalKind::InvalidRequest, "the body does not have its announced length")
}

impl Source {
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Refusal>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        let next = ready!(self.intake.poll_next(cx));
        let checked = next.map(|data| data.and_then(|data| self.check(data)));
        // What is wrong at the end must be known before the last bytes have gone.
        self.ended = checked.is_none() || self.intake.is_end();
        match (checked, self.ended) {
            (Some(Err(refusal)), _) => Poll::Ready(Some(Err(refusal))),
            (checked, false) => Poll::Ready(checked),
            (checked, true) => match self.scanner.finish() {
                Ok(()) => Poll::Ready(checked),
                Err(error) => Poll::Ready(Some(Err(unacceptable(error)))),
            },
        }
    }

    fn check(&mut self, data: Bytes) -> Result<Bytes, Refusal> {
        self.scanner.feed(&data).map_err(unacceptable)?;
        let parts = self.scanner.parts();
        let late = parts[self.parts..].iter().find(|part| is_early(&part.name, &self.params));
        self.parts = parts.len();
        match late {
            None => Ok(data),
            Some(part) => {
                let message =
                    format!("the part `{}` comes too late or twice: put it before the files", part.name);
                Err(Refusal::invalid(&*part.name, message))
            }
        }
    }
}
