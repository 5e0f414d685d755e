//! The body of an answer: a list of steps that hyper polls; no task and no channel of its own.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use super::record::Ticket;
use super::tally::Told;

/// What happens next on the way out.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Hand these bytes over.
    Data(Bytes),
    /// Hand these bytes over one by one, each its own write.
    Dribble(Bytes),
    /// Enter into the account what the bytes that come next tell.
    Tell(Told),
    /// Let what was handed over be written.
    Flush,
    /// Wait.
    Wait(Duration),
    /// Send the same bytes for ever.
    Repeat(Bytes, Duration),
    /// Send nothing more and stay open.
    Silence,
    /// Reset the connection.
    Reset,
    /// Close the connection in the middle of the body.
    Cut,
}

/// Marks a connection that is to be reset (not closed) when it is dropped.
pub(crate) type ResetFlag = Arc<AtomicBool>;

/// A body that follows its steps and tells the ticket when the last byte was handed over.
pub(crate) struct Steps {
    steps: VecDeque<Step>,
    waiting: Option<Pin<Box<Sleep>>>,
    length: Option<u64>,
    ticket: Option<Ticket>,
    reset: ResetFlag,
}

impl Steps {
    /// A body of unknown length.
    pub(crate) fn new(steps: VecDeque<Step>, ticket: Option<Ticket>, reset: ResetFlag) -> Self {
        Self { steps, waiting: None, length: None, ticket, reset }
    }

    /// A body that announces its length.
    pub(crate) fn with_length(mut self, length: usize) -> Self {
        self.length = u64::try_from(length).ok();
        self.finish_at_end();
        self
    }

    fn finish_at_end(&mut self) {
        if self.steps.is_empty()
            && let Some(ticket) = &mut self.ticket
        {
            ticket.finish();
        }
    }

    fn hand_over(&mut self, data: Bytes) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Some(ticket) = &self.ticket {
            ticket.tally.handed_over(data.len());
        }
        self.finish_at_end();
        Poll::Ready(Some(Ok(Frame::data(data))))
    }
}

impl Body for Steps {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                ready!(waiting.as_mut().poll(cx));
                self.waiting = None;
            }
            match self.steps.pop_front() {
                None => {
                    self.finish_at_end();
                    return Poll::Ready(None);
                }
                Some(Step::Data(data)) => return self.hand_over(data),
                Some(Step::Dribble(mut data)) => {
                    let first = data.split_to(1.min(data.len()));
                    if !data.is_empty() {
                        self.steps.push_front(Step::Dribble(data));
                        self.steps.push_front(Step::Flush);
                    }
                    return self.hand_over(first);
                }
                Some(Step::Tell(told)) => {
                    if let Some(ticket) = &self.ticket {
                        ticket.tally.told(&told);
                    }
                }
                Some(Step::Flush) => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(Step::Wait(time)) => self.waiting = Some(Box::pin(sleep(time))),
                Some(Step::Repeat(data, gap)) => {
                    self.steps.push_front(Step::Repeat(data.clone(), gap));
                    self.steps.push_front(Step::Wait(gap));
                    return self.hand_over(data);
                }
                Some(Step::Silence) => {
                    self.steps.push_front(Step::Silence);
                    return Poll::Pending;
                }
                Some(Step::Reset) => {
                    self.reset.store(true, Ordering::Relaxed);
                    return Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into())));
                }
                Some(Step::Cut) => return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into()))),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.steps.is_empty() && self.waiting.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.length.map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}
