//! The limits in time of one request on one timer: it is armed once, and moved only when it fires too early.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll},
    time::{Duration, Instant},
};
use tokio::time::{Sleep, sleep_until};

/// Which limit has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expired {
    /// The whole request took too long.
    Total,
    /// The stage that it is in took too long.
    Stage,
}

/// One timer for the total and for the stage of a request.
pub(crate) struct Timer {
    total: Instant,
    stage: Option<Instant>,
    armed: Instant,
    sleep: Pin<Box<Sleep>>,
}

impl Timer {
    /// A timer whose request ends at `total` at the latest.
    pub(crate) fn new(total: Instant) -> Self {
        Self { total, stage: None, armed: total, sleep: Box::pin(sleep_until(total.into())) }
    }

    /// The stage that begins now may take so long; a later call replaces it. Costs nothing until the timer fires,
    /// unless the new limit is before the one that is armed.
    pub(crate) fn stage(&mut self, limit: Duration) {
        let at = Instant::now() + limit;
        self.stage = Some(at);
        if at < self.armed {
            self.arm(at);
        }
    }

    /// What is left of the total.
    pub(crate) fn left(&self) -> Duration {
        self.total.saturating_duration_since(Instant::now())
    }

    fn arm(&mut self, at: Instant) {
        self.armed = at;
        self.sleep.as_mut().reset(at.into());
    }

    /// Ready when a limit has passed.
    pub(crate) fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Expired> {
        while self.sleep.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if now >= self.total {
                return Poll::Ready(Expired::Total);
            }
            if self.stage.is_some_and(|at| now >= at) {
                return Poll::Ready(Expired::Stage);
            }
            self.arm(self.stage.map_or(self.total, |at| at.min(self.total)));
        }
        Poll::Pending
    }

    /// Runs a future within the limits. It is pinned by the caller: passed by value it would lie there twice.
    pub(crate) async fn within<F: Future>(&mut self, mut future: Pin<&mut F>) -> Result<F::Output, Expired> {
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => self.poll_expired(cx).map(Err),
        })
        .await
    }

    /// The same, but the stage, of that length, begins anew for as long as something else is waited for.
    pub(crate) async fn within_but<F: Future>(
        &mut self,
        mut future: Pin<&mut F>,
        limit: Duration,
        waits: impl Fn() -> bool,
    ) -> Result<F::Output, Expired> {
        poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => {
                if waits() {
                    self.stage(limit);
                }
                self.poll_expired(cx).map(Err)
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::pin::pin;

    #[tokio::test]
    async fn the_earlier_limit_is_armed() {
        let mut timer = Timer::new(Instant::now() + Duration::from_secs(10));
        timer.stage(Duration::from_secs(60));
        timer.stage(Duration::from_secs(2));
        assert!(timer.armed < timer.total);
        assert!(timer.left() <= Duration::from_secs(10));
        assert_eq!(timer.within(pin!(async { 7 })).await, Ok(7));
    }

    #[tokio::test]
    async fn a_stage_does_not_end_while_something_else_is_waited_for() {
        let limit = Duration::from_millis(5);
        let mut timer = Timer::new(Instant::now() + Duration::from_secs(30));
        timer.stage(limit);
        let looks = std::cell::Cell::new(0);
        let waits = || looks.replace(looks.get() + 1) < 3;
        assert_eq!(
            timer.within_but(pin!(std::future::pending::<()>()), limit, waits).await,
            Err(Expired::Stage)
        );
        assert!(looks.get() > 3);
    }

    #[tokio::test]
    async fn a_limit_ends_what_never_ends() {
        let mut timer = Timer::new(Instant::now() + Duration::from_secs(30));
        timer.stage(Duration::from_millis(5));
        assert_eq!(timer.within(pin!(std::future::pending::<()>())).await, Err(Expired::Stage));
        let mut timer = Timer::new(Instant::now() + Duration::from_millis(5));
        assert_eq!(timer.within(pin!(std::future::pending::<()>())).await, Err(Expired::Total));
    }
}
