//! Data threads: each a `LocalRuntime` that runs the jobs it is sent.

use crate::{
    metrics::Shard,
    worker::{Worker, WorkerParts},
};
use std::{
    rc::Rc,
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
};
use tokio::sync::{mpsc, oneshot};

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
