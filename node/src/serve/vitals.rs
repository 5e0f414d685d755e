//! What a connection is doing and since when, and what it is told. One for each connection, on its data thread.

use crate::serve::Limits;
use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    task::Waker,
    time::Duration,
};

/// Requests that a client may take back before they are answered, beyond those that were answered.
const ABANDONED_MAX: u32 = 100;
/// How long a connection without a request has to go after it was told to finish.
const FAREWELL: Duration = Duration::from_secs(5);

/// Milliseconds by the clock of the thread's sweep: it stands still between two sweeps, so reading it costs nothing.
#[derive(Debug, Default)]
pub(super) struct Clock(Cell<u64>);

impl Clock {
    pub(super) fn set(&self, now_ms: u64) {
        self.0.set(now_ms);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// TLS handshake, choice of the version, and with HTTP/1 the first head.
    Opening,
    /// Between two requests.
    Idle,
    /// With HTTP/1: a part of a head is there.
    Head,
    /// At least one request runs.
    Busy,
}

/// What a connection is told, in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    /// Go on.
    Serve,
    /// Finish what runs, then close.
    Finish,
    /// Say goodbye, close without waiting for what runs.
    Dismiss,
    /// Close.
    Close,
}

/// See above.
#[derive(Debug)]
pub(super) struct Vitals {
    clock: Rc<Clock>,
    phase: Cell<Phase>,
    /// When the phase began, or, between two requests, when the last was written.
    since: Cell<u64>,
    /// When writing got stuck.
    stuck_since: Cell<Option<u64>>,
    /// Several requests at once (HTTP/2).
    multiplexed: Cell<bool>,
    running: Cell<u32>,
    answered: Cell<u32>,
    abandoned: Cell<u32>,
    order: Cell<Order>,
    told_at: Cell<u64>,
    waker: RefCell<Option<Waker>>,
}

impl Vitals {
    pub(super) fn new(clock: Rc<Clock>) -> Self {
        let now = clock.0.get();
        Self {
            clock,
            phase: Cell::new(Phase::Opening),
            since: Cell::new(now),
            stuck_since: Cell::new(None),
            multiplexed: Cell::new(false),
            running: Cell::new(0),
            answered: Cell::new(0),
            abandoned: Cell::new(0),
            order: Cell::new(Order::Serve),
            told_at: Cell::new(0),
            waker: RefCell::new(None),
        }
    }

    fn enter(&self, phase: Phase) {
        self.phase.set(phase);
        self.since.set(self.clock.0.get());
    }

    /// The client speaks HTTP/2: parts of heads cannot be told from other frames, the library bounds them.
    pub(super) fn multiplex(&self) {
        self.multiplexed.set(true);
        self.enter(Phase::Idle);
    }

    /// No request has come yet.
    pub(super) fn is_opening(&self) -> bool {
        self.phase.get() == Phase::Opening
    }

    /// Bytes came.
    pub(super) fn on_read(&self) {
        if self.phase.get() == Phase::Idle && !self.multiplexed.get() {
            self.enter(Phase::Head);
        }
    }

    /// Bytes went.
    pub(super) fn on_written(&self) {
        self.stuck_since.set(None);
        if self.phase.get() == Phase::Idle {
            self.since.set(self.clock.0.get());
        }
    }

    /// Nothing waits to go any more.
    pub(super) fn on_flushed(&self) {
        self.stuck_since.set(None);
    }

    /// The client does not take more at the moment.
    pub(super) fn on_stuck(&self) {
        if self.stuck_since.get().is_none() {
            self.stuck_since.set(Some(self.clock.0.get()));
        }
    }

    /// A request's head is complete.
    pub(super) fn begin(self: &Rc<Self>) -> Running {
        self.running.set(self.running.get() + 1);
        self.enter(Phase::Busy);
        Running { vitals: Rc::clone(self), answered: false }
    }

    fn end(&self, answered: bool) {
        let count = if answered { &self.answered } else { &self.abandoned };
        count.set(count.get().saturating_add(1));
        self.running.set(self.running.get() - 1);
        if self.running.get() == 0 {
            self.enter(Phase::Idle);
        }
        if self.abandoned.get() > self.answered.get().saturating_add(ABANDONED_MAX) {
            self.tell(Order::Dismiss);
        }
    }

    /// Tells the connection; an order stands until a stronger one comes.
    pub(super) fn tell(&self, order: Order) {
        if order <= self.order.get() {
            return;
        }
        self.order.set(order);
        self.told_at.set(self.clock.0.get());
        let waker = self.waker.borrow_mut().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Whether it was told to end, at once or with what runs.
    pub(super) fn is_told(&self) -> bool {
        self.order.get() > Order::Serve
    }

    /// Nothing runs, and nothing of a next request has come.
    pub(super) fn is_idle(&self) -> bool {
        self.phase.get() == Phase::Idle
    }

    /// What the connection is told; `waker` is woken when that changes.
    pub(super) fn order(&self, waker: &Waker) -> Order {
        let mut known = self.waker.borrow_mut();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
        self.order.get()
    }

    /// What to tell the connection now, and why; `slack` is how far the clock may lag behind.
    pub(super) fn examine(&self, limits: &Limits, slack: Duration) -> Option<(Order, &'static str)> {
        let over = |since: u64, limit: Duration| {
            let elapsed = Duration::from_millis(self.clock.0.get().saturating_sub(since));
            elapsed >= limit + slack
        };
        let told = self.order.get();
        if told == Order::Finish
            && self.running.get() == 0
            && over(self.told_at.get().max(self.since.get()), FAREWELL)
        {
            return Some((Order::Close, "finished"));
        }
        if self.stuck_since.get().is_some_and(|since| over(since, limits.idle)) {
            return Some((Order::Close, "stuck"));
        }
        let (limit, reason) = match self.phase.get() {
            Phase::Busy => return None,
            Phase::Opening | Phase::Head => (limits.head, "slow_head"),
            Phase::Idle => (limits.idle, "idle"),
        };
        // HTTP/1 has no word for goodbye, and a request may have come in the meantime: `Finish` suits both.
        let order = if reason == "idle" { Order::Finish } else { Order::Close };
        (told < order && over(self.since.get(), limit)).then_some((order, reason))
    }
}

/// One request, from its complete head to the end of its answer.
#[derive(Debug)]
pub(super) struct Running {
    vitals: Rc<Vitals>,
    answered: bool,
}

impl Running {
    /// The answer's head is known.
    pub(super) fn answered(&mut self) {
        self.answered = true;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.vitals.end(self.answered);
    }
}

#[cfg(test)]
mod tests;
