//! Polls a connection until it ends or is told to.

use crate::serve::vitals::{Order, Vitals};
use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll},
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
        loop {
            let order = vitals.order(context.waker());
            if order == Order::Close {
                return Poll::Ready(None);
            }
            asked |= ask(connection.as_mut(), order, vitals, asked);
            if let Poll::Ready(output) = connection.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            // The poll has written the goodbye.
            if order == Order::Dismiss {
                return Poll::Ready(None);
            }
            let came_of_age = order == Order::Finish && !asked && !vitals.is_opening();
            if !came_of_age {
                return Poll::Pending;
            }
        }
    })
    .await
}

/// Asks a connection to finish, once. One that has begun to send its first request is not asked before that is there:
/// hyper would close it, and the client would see a request fail that it sent in good time.
fn ask<C: Finish>(connection: Pin<&mut C>, order: Order, vitals: &Vitals, asked: bool) -> bool {
    let due = order == Order::Dismiss || (order == Order::Finish && !vitals.is_opening());
    if due && !asked {
        connection.finish();
    }
    due
}

/// Polls requests that come one after the other, to their end, between two of them once it is told to finish, or until
/// the order to close.
pub(super) async fn each<F: Future>(requests: F, vitals: &Vitals) -> Option<F::Output> {
    let mut requests = pin!(requests);
    let poll = |context: &mut Context<'_>| match vitals.order(context.waker()) {
        Order::Dismiss | Order::Close => Poll::Ready(None),
        order => match requests.as_mut().poll(context) {
            Poll::Pending if order == Order::Finish && vitals.is_idle() => Poll::Ready(None),
            polled => polled.map(Some),
        },
    };
    poll_fn(poll).await
}

/// Polls a step before there is a connection to finish, until it is told to close.
pub(super) async fn step<F: Future>(step: F, vitals: &Vitals) -> Option<F::Output> {
    let mut step = pin!(step);
    let poll = |context: &mut Context<'_>| match vitals.order(context.waker()) {
        Order::Serve | Order::Finish => step.as_mut().poll(context).map(Some),
        Order::Dismiss | Order::Close => Poll::Ready(None),
    };
    poll_fn(poll).await
}
