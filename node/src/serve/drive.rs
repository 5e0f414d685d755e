//! Polls a connection until it ends or is told to.

use crate::serve::vitals::{Order, Vitals};
use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::Poll,
};

/// A connection that can be asked to finish what runs and then end.
pub(super) trait Finish: Future {
    /// Asks; the connection has to be polled on.
    fn finish(self: Pin<&mut Self>);
}

/// Polls to the end, or until the order to close: then the connection is dropped where it stands.
pub(super) async fn drive<C: Finish>(connection: C, vitals: &Vitals) -> Option<C::Output> {
    let mut connection = pin!(connection);
    let mut asked = false;
    poll_fn(|context| {
        let order = vitals.order(context.waker());
        if order == Order::Close {
            return Poll::Ready(None);
        }
        if order >= Order::Finish && !asked {
            asked = true;
            connection.as_mut().finish();
        }
        match connection.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            // The poll has written the goodbye.
            Poll::Pending if order == Order::Dismiss => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Polls a step before there is a connection to finish; any order ends it.
pub(super) async fn step<F: Future>(step: F, vitals: &Vitals) -> Option<F::Output> {
    let mut step = pin!(step);
    poll_fn(|context| match vitals.order(context.waker()) {
        Order::Serve => step.as_mut().poll(context).map(Some),
        Order::Finish | Order::Dismiss | Order::Close => Poll::Ready(None),
    })
    .await
}
