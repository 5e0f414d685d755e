//! The answer on its way to the client after the commit point: an error from here on is told in the client's own
//! dialect, and an end is never forged.

use crate::{
    answer,
    body::Cut,
    cause::Failed,
    flight::Flight,
    meter::Tap,
    record::Outcome,
    stream::{Step, Stream},
    timer::{Expired, Timer},
    upstream::Incoming,
};
use bytes::Bytes;
use http_body::SizeHint;
use std::{
    collections::VecDeque,
    future::poll_fn,
    panic::AssertUnwindSafe,
    task::{Context, Poll},
    time::Duration,
};
use trestle_dialect::Dialect;

/// After the proper end, the rest of the upstream's body is awaited this long so that its connection can be kept.
const LINGER: Duration = Duration::from_millis(250);
/// Events that are there at once go on together, up to so many bytes.
const TOGETHER: usize = 16 * 1024;

/// An answer on its way. Settles the request when dropped.
pub struct Relay {
    inner: Option<Inner>,
}

struct Inner {
    flight: Box<Flight>,
    timer: Timer,
    idle: Duration,
    finish_alone: bool,
    kind: Kind,
}

enum Kind {
    /// Events.
    Events { stream: Box<Stream>, dialect: Dialect },
    /// A large answer that is not a stream: bytes as they come.
    Bytes { queue: VecDeque<Bytes>, body: Incoming, left: Option<u64>, tap: Box<Tap>, good: Outcome },
    /// Nothing more.
    Done,
}

impl Relay {
    /// Relays events.
    pub(crate) fn events(
        flight: Box<Flight>,
        stream: Stream,
        timer: Timer,
        (dialect, idle): (Dialect, Duration),
    ) -> Self {
        Self::new(flight, timer, idle, Kind::Events { stream: Box::new(stream), dialect })
    }

    /// Relays bytes: those that are there, then what comes. `length` is the whole length, where it is known; `good` is how
    /// the request ends once all of them have gone.
    pub(crate) fn bytes(
        flight: Box<Flight>,
        (queue, body, length): (VecDeque<Bytes>, Incoming, Option<u64>),
        (timer, idle): (Timer, Duration),
        (tap, good): (Tap, Outcome),
    ) -> Self {
        Self::new(flight, timer, idle, Kind::Bytes { queue, body, left: length, tap: Box::new(tap), good })
    }

    fn new(flight: Box<Flight>, mut timer: Timer, idle: Duration, kind: Kind) -> Self {
        timer.stage(idle);
        Self { inner: Some(Inner { flight, timer, idle, finish_alone: false, kind }) }
    }

    /// Goes on to the end of the answer even if the client leaves.
    #[must_use]
    pub(crate) fn finish_alone(mut self, finish: bool) -> Self {
        if let Some(inner) = &mut self.inner {
            inner.finish_alone = finish;
        }
        self
    }

    /// The next bytes for the client. A panic in here ends this answer alone.
    pub(crate) fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        std::panic::catch_unwind(AssertUnwindSafe(|| inner.poll(cx))).unwrap_or_else(|_| {
            inner.flight.record.outcome = Outcome::Panic;
            inner.kind = Kind::Done;
            Poll::Ready(Some(Err(Cut)))
        })
    }

    /// Whether nothing more comes.
    pub(crate) fn is_end(&self) -> bool {
        self.inner.as_ref().is_none_or(|inner| matches!(inner.kind, Kind::Done))
    }

    /// The length, where it is known.
    pub(crate) fn size_hint(&self) -> SizeHint {
        match self.inner.as_ref().map(|inner| &inner.kind) {
            Some(Kind::Bytes { left: Some(left), .. }) => SizeHint::with_exact(*left),
            None | Some(Kind::Done) => SizeHint::with_exact(0),
            _ => SizeHint::default(),
        }
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        drain_alone(self.inner.take());
    }
}

/// Reads an answer to its end although its client has left, if the document says so; else aborts the upstream.
fn drain_alone(inner: Option<Inner>) {
    let unfinished = inner.filter(|inner| inner.finish_alone && !matches!(inner.kind, Kind::Done));
    if let Some(mut inner) = unfinished {
        tokio::task::spawn_local(
            async move { while let Some(Ok(_)) = poll_fn(|cx| inner.poll(cx)).await {} },
        );
    }
}

impl Inner {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        let next = match &mut self.kind {
            Kind::Done => return Poll::Ready(None),
            Kind::Events { .. } => self.poll_events(cx),
            Kind::Bytes { .. } => self.poll_bytes(cx),
        };
        if let Poll::Ready(Some(Ok(bytes))) = &next {
            self.flight.record.bytes_out += bytes.len() as u64;
        }
        next
    }

    /// What is there at once goes on as one piece: a burst of events costs one write, a lone event waits for nothing.
    fn poll_events(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        loop {
            let Kind::Events { stream, dialect } = &mut self.kind else { return Poll::Ready(None) };
            if stream.queued_bytes() >= TOGETHER && !stream.is_ended() {
                return Poll::Ready(stream.take().map(Ok));
            }
            let step = match stream.poll_step(&mut self.flight, cx) {
                Poll::Ready(step) => step,
                Poll::Pending if stream.queued_bytes() > 0 => return Poll::Ready(stream.take().map(Ok)),
                Poll::Pending => match self.timer.poll_expired(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(expired) => Step::Failed { failed: timed_out(expired), told: false },
                },
            };
            match step {
                Step::Events { content: true } => self.timer.stage(self.idle),
                Step::Events { .. } => {}
                Step::Ended => {
                    self.flight.record.outcome = Outcome::Ok;
                    let last = stream.take_last();
                    linger(std::mem::replace(&mut self.kind, Kind::Done));
                    return Poll::Ready(last.map(Ok));
                }
                Step::Failed { failed, told } => {
                    self.flight.record.outcome = Outcome::Broken(failed.cause);
                    if !told {
                        stream.push(answer::failure_event(&self.flight, *dialect, &failed));
                    }
                    let last = stream.take_last();
                    self.kind = Kind::Done;
                    return Poll::Ready(last.map(Ok));
                }
            }
        }
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Cut>>> {
        let Kind::Bytes { queue, body, left, tap, good } = &mut self.kind else {
            return Poll::Ready(None);
        };
        let next = match queue.pop_front() {
            Some(bytes) => Poll::Ready(Some(Ok(bytes))),
            None => body.poll_chunk(cx),
        };
        let cause = match next {
            Poll::Ready(Some(Ok(bytes))) => {
                *left = left.map(|left| left.saturating_sub(bytes.len() as u64));
                if tap.take(&bytes, &mut self.flight) {
                    self.timer.stage(self.idle);
                }
                return Poll::Ready(Some(Ok(bytes)));
            }
            Poll::Ready(None) => {
                tap.end(&mut self.flight);
                self.flight.record.outcome = *good;
                self.kind = Kind::Done;
                return Poll::Ready(None);
            }
            Poll::Ready(Some(Err(_))) => "connection_broken",
            Poll::Pending => match self.timer.poll_expired(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(expired) => timed_out(expired).cause,
            },
        };
        self.flight.record.outcome = Outcome::Broken(cause);
        self.kind = Kind::Done;
        Poll::Ready(Some(Err(Cut)))
    }
}

fn timed_out(expired: Expired) -> Failed {
    match expired {
        Expired::Total => Failed::total_timeout(),
        Expired::Stage => Failed::idle_timeout(),
    }
}

/// Reads what is left of the upstream's body after the proper end, so that its connection can be used again.
fn linger(kind: Kind) {
    let Kind::Events { stream, .. } = kind else { return };
    if stream.is_drained() {
        return;
    }
    tokio::task::spawn_local(async move {
        let mut body = stream.into_body();
        let _ = tokio::time::timeout(LINGER, async { while let Some(Ok(_)) = body.chunk().await {} }).await;
    });
}
