//! Data threads: each a `LocalRuntime` with pools, metric shard and record ring of its own.

use crate::{
    Answer, Endpoint, RequestBody, answer,
    body::{self, RemoteBody},
    budget::Budget,
    gateway::Shared,
    handle,
    metrics::Shard,
    record::Record,
    state::{KeyHealth, ProviderState},
    upstream::Pool,
};
use arc_swap::ArcSwap;
use futures_util::FutureExt;
use http::{Request, Response};
use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    future::Future,
    hash::BuildHasherDefault,
    panic::AssertUnwindSafe,
    pin::Pin,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
    task::{Context, Poll},
};
use tokio::sync::{mpsc, oneshot};
use trestle_config::{FirstBytes, Snapshot};

/// A thread sends requests of shared connections elsewhere once it has so many more in flight than the idlest.
const SPREAD_BEYOND: usize = 4;
/// Records that may wait for the writer, per thread.
const RING: usize = 8192;

/// A task for a data thread.
pub(crate) type Job = Box<dyn FnOnce(Rc<Worker>) + Send>;

/// What the rest of the process sees of a data thread.
#[derive(Debug)]
pub(crate) struct Seat {
    jobs: mpsc::UnboundedSender<Job>,
    /// Requests in flight.
    pub(crate) in_flight: AtomicUsize,
    /// Tasks (connections) that live there.
    pub(crate) tasks: AtomicUsize,
    /// Records that were lost because the writer did not keep up.
    pub(crate) records_dropped: AtomicU64,
    /// Its metrics.
    pub(crate) shard: Shard,
}

impl Seat {
    /// A seat, and the jobs for the thread that will sit there.
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Job>) {
        // Unbounded, but each job is a connection or a request that is bounded where it comes in.
        let (jobs, receiver) = mpsc::unbounded_channel();
        let seat = Self {
            jobs,
            in_flight: AtomicUsize::new(0),
            tasks: AtomicUsize::new(0),
            records_dropped: AtomicU64::new(0),
            shard: Shard::default(),
        };
        (seat, receiver)
    }

    /// Hands a job over; it is dropped if the thread has ended.
    pub(crate) fn send(&self, job: Job) {
        let _ = self.jobs.send(job);
    }

    /// What decides who gets the next connection: requests first, then connections.
    pub(crate) fn load(&self) -> (usize, usize) {
        (self.in_flight.load(Relaxed), self.tasks.load(Relaxed))
    }
}

/// Runs a data thread until it is told to stop.
pub(crate) fn run(
    worker_parts: WorkerParts,
    jobs: mpsc::UnboundedReceiver<Job>,
    stop: oneshot::Receiver<()>,
) {
    let built = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default());
    let runtime = match built {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "a data thread cannot start");
            return;
        }
    };
    runtime.block_on(async move {
        let worker = Rc::new(Worker::new(worker_parts));
        let mut jobs = jobs;
        let mut stop = stop;
        loop {
            tokio::select! {
                job = jobs.recv() => match job {
                    Some(job) => job(Rc::clone(&worker)),
                    None => break,
                },
                _ = &mut stop => break,
            }
        }
    });
}

/// What a worker is made of; sent to its thread.
pub(crate) struct WorkerParts {
    /// The process's part.
    pub(crate) shared: Arc<Shared>,
    /// Which seat it takes.
    pub(crate) index: usize,
    /// Where its records go.
    pub(crate) records: rtrb::Producer<Record>,
    /// Seeds its ids.
    pub(crate) seed: u128,
}

impl WorkerParts {
    /// The two ends of a record ring.
    pub(crate) fn ring() -> (rtrb::Producer<Record>, rtrb::Consumer<Record>) {
        rtrb::RingBuffer::new(RING)
    }
}

/// What one data thread owns. Never leaves its thread.
pub struct Worker {
    shared: Arc<Shared>,
    index: usize,
    records: RefCell<rtrb::Producer<Record>>,
    ids: Cell<u128>,
    providers: RefCell<HashMap<Box<str>, Rc<ProviderLocal>>>,
}

/// A provider as one thread knows it.
pub(crate) struct ProviderLocal {
    /// Shared by all threads.
    pub(crate) state: Arc<ProviderState>,
    /// This thread's connections.
    pub(crate) pool: Rc<RefCell<Pool>>,
    keys: RefCell<HashMap<[u8; 32], Arc<KeyHealth>, BuildHasherDefault<FirstBytes>>>,
}

impl ProviderLocal {
    /// The health of a key by its fingerprint.
    pub(crate) fn key(&self, fingerprint: &[u8; 32]) -> Arc<KeyHealth> {
        if let Some(health) = self.keys.borrow().get(fingerprint) {
            return Arc::clone(health);
        }
        let health = self.state.key(fingerprint);
        self.keys.borrow_mut().insert(*fingerprint, Arc::clone(&health));
        health
    }
}

impl Worker {
    fn new(parts: WorkerParts) -> Self {
        Self {
            shared: parts.shared,
            index: parts.index,
            records: RefCell::new(parts.records),
            ids: Cell::new(parts.seed | 1),
            providers: RefCell::default(),
        }
    }

    /// Serves one request here. Never fails: errors are answers. A panic ends this request alone.
    pub async fn handle(
        self: &Rc<Self>,
        endpoint: Endpoint,
        request: Request<RequestBody>,
    ) -> Response<Answer> {
        let finish = Rc::new(Cell::new(false));
        let worker = Rc::clone(self);
        let keep = Rc::clone(&finish);
        let future = Box::pin(async move {
            let caught =
                AssertUnwindSafe(handle::handle(&worker, endpoint, request, &keep)).catch_unwind().await;
            caught.unwrap_or_else(|_| answer::panicked(&worker, endpoint))
        });
        Detachable { future: Some(future), finish }.await
    }

    /// Serves one request here, or on the least loaded thread if this one is busier by a threshold: for connections
    /// that carry many requests at once (HTTP/2).
    pub async fn handle_spread(
        self: &Rc<Self>,
        endpoint: Endpoint,
        request: Request<RequestBody>,
    ) -> Response<Answer> {
        let idlest = self.shared.idlest();
        let here = self.seat().in_flight.load(Relaxed);
        if idlest == self.index || here <= self.shared.seats[idlest].in_flight.load(Relaxed) + SPREAD_BEYOND {
            return self.handle(endpoint, request).await;
        }
        match handle_on(&self.shared.seats[idlest], endpoint, request).await {
            Some(response) => response.map(Answer::from_remote),
            None => answer::panicked(self, endpoint),
        }
    }

    /// Answers a request that is no inference request with an error of ours (404, 405, ...) in JSON.
    pub fn refuse(
        &self,
        request: &Request<RequestBody>,
        status: http::StatusCode,
        message: &str,
    ) -> Response<Answer> {
        answer::plain(request.uri().path(), status, message)
    }

    /// The snapshot that requests see now.
    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.snapshot.load_full()
    }

    /// Its place among the threads.
    pub(crate) fn seat(&self) -> &Seat {
        &self.shared.seats[self.index]
    }

    /// The bound on held bytes.
    pub(crate) fn budget(&self) -> &Arc<Budget> {
        &self.shared.budget
    }

    /// A number nobody else has; good as an id and for chance, not for secrets.
    pub(crate) fn random(&self) -> u128 {
        // xorshift128 with a Weyl step.
        let mut x = self.ids.get();
        x ^= x << 23;
        x ^= x >> 17;
        x ^= x << 26;
        self.ids.set(x);
        x.wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
    }

    /// A number from 0 up to and without 1.
    pub(crate) fn chance(&self) -> f64 {
        ((self.random() >> 75) as f64) / ((1u64 << 53) as f64)
    }

    /// What this thread knows of a provider.
    pub(crate) fn provider(&self, name: &str) -> Rc<ProviderLocal> {
        if let Some(local) = self.providers.borrow().get(name) {
            return Rc::clone(local);
        }
        let local = Rc::new(ProviderLocal {
            state: self.shared.provider(name),
            pool: Rc::default(),
            keys: RefCell::default(),
        });
        self.providers.borrow_mut().insert(name.into(), Rc::clone(&local));
        local
    }

    /// Hands a record to the writer, or counts it as lost.
    pub(crate) fn log(&self, record: Record) {
        if self.shared.logging && self.records.borrow_mut().push(record).is_err() {
            self.seat().records_dropped.fetch_add(1, Relaxed);
        }
    }
}

/// Runs a request on the thread of another seat; the body of the answer comes back through a bounded channel.
/// `None` if that thread has ended.
pub(crate) async fn handle_on(
    seat: &Seat,
    endpoint: Endpoint,
    request: Request<RequestBody>,
) -> Option<Response<RemoteBody>> {
    let (reply, answer) = oneshot::channel();
    // Counted there from now on, so that of many that are sent at once not all go to the same thread.
    seat.in_flight.fetch_add(1, Relaxed);
    seat.send(Box::new(move |worker| {
        worker.seat().in_flight.fetch_sub(1, Relaxed);
        tokio::task::spawn_local(async move {
            let mut reply = reply;
            let response = tokio::select! {
                response = worker.handle(endpoint, request) => response,
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

/// A snapshot that can be swapped.
pub(crate) type CurrentSnapshot = ArcSwap<Snapshot>;
