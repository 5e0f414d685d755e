//! The door to the pipeline on a data thread: panics are caught, requests spread over the threads, and buffered calls
//! finish although their client has left.

use crate::{
    Answer, Headers, RequestBody, RequestLine, answer,
    body::{self, RemoteBody},
    handle,
    thread::Seat,
    worker::Worker,
};
use futures_util::FutureExt;
use http::Response;
use std::{
    cell::Cell,
    future::Future,
    panic::AssertUnwindSafe,
    pin::Pin,
    rc::Rc,
    sync::atomic::Ordering::Relaxed,
    task::{Context, Poll},
};
use tokio::sync::oneshot;

/// A thread sends requests of shared connections elsewhere once it has so many more in flight than the idlest.
const SPREAD_BEYOND: usize = 4;

impl Worker {
    /// Serves one request here. Never fails: errors are answers. A panic ends this request alone.
    pub async fn handle(
        self: &Rc<Self>,
        line: RequestLine,
        request: (Headers, RequestBody),
    ) -> Response<Answer> {
        let endpoint = line.endpoint;
        let finish = Rc::new(Cell::new(false));
        let worker = Rc::clone(self);
        let keep = Rc::clone(&finish);
        let future = Box::pin(async move {
            let caught = AssertUnwindSafe(handle::handle(&worker, line, request, &keep)).catch_unwind().await;
            caught.unwrap_or_else(|_| answer::panicked(&worker, endpoint))
        });
        Detachable { future: Some(future), finish }.await
    }

    /// Serves one request here, or on the least loaded thread if this one is busier by a threshold: for connections
    /// that carry many requests at once (HTTP/2).
    pub async fn handle_spread(
        self: &Rc<Self>,
        line: RequestLine,
        (headers, body): (Headers, impl Into<RequestBody> + Send + 'static),
    ) -> Response<Answer> {
        let endpoint = line.endpoint;
        let idlest = self.shared.idlest();
        let here = self.seat().in_flight.load(Relaxed);
        if idlest == self.index || here <= self.shared.seats[idlest].in_flight.load(Relaxed) + SPREAD_BEYOND {
            return self.handle(line, (headers, body.into())).await;
        }
        match handle_on(&self.shared.seats[idlest], line, (headers, body)).await {
            Some(response) => response.map(Answer::from_remote),
            None => answer::panicked(self, endpoint),
        }
    }

    /// Answers a request to `path` that is no inference request with an error of ours (404, 405, ...) in JSON.
    pub fn refuse(&self, path: &str, status: http::StatusCode, message: &str) -> Response<Answer> {
        answer::plain(self.random(), path, (status, message))
    }
}

/// Runs a request on the thread of another seat; the body of the answer comes back through a bounded channel.
/// `None` if that thread has ended.
pub(crate) async fn handle_on(
    seat: &Seat,
    line: RequestLine,
    (headers, body): (Headers, impl Into<RequestBody> + Send + 'static),
) -> Option<Response<RemoteBody>> {
    let (reply, answer) = oneshot::channel();
    // Counted there from now on, so that of many that are sent at once not all go to the same thread.
    seat.in_flight.fetch_add(1, Relaxed);
    seat.send(Box::new(move |worker| {
        worker.seat().in_flight.fetch_sub(1, Relaxed);
        tokio::task::spawn_local(async move {
            let mut reply = reply;
            let response = tokio::select! {
                response = worker.handle(line, (headers, body.into())) => response,
                () = reply.closed() => return,
            };
            body::send_remote(response, reply).await;
        });
    }));
    answer.await.ok()
}

type BoxedResponse = Pin<Box<dyn Future<Output = Response<Answer>>>>;

/// A request that goes on in a task of its own where its client leaves but it was told to finish.
struct Detachable {
    future: Option<BoxedResponse>,
    finish: Rc<Cell<bool>>,
}

impl Future for Detachable {
    type Output = Response<Answer>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.future else { return Poll::Pending };
        let response = std::task::ready!(future.as_mut().poll(cx));
        self.future = None;
        Poll::Ready(response)
    }
}

impl Drop for Detachable {
    fn drop(&mut self) {
        finish_alone(self.future.take().filter(|_| self.finish.get()));
    }
}

fn finish_alone(future: Option<BoxedResponse>) {
    if let Some(future) = future {
        // Bounded by the request's own total limit.
        tokio::task::spawn_local(async move { drop(future.await) });
    }
}
