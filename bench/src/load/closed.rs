//! The closed loop: each connection sends its next request when it has its answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use tokio::task::JoinSet;

use super::connection::Connection;
use super::requests::Target;
use super::tally::Tally;
use super::{Latencies, pin_thread};

/// Bad answers after which a load gives up.
const ERRORS_MAX: u64 = 50;
const ERROR_PAUSE: Duration = Duration::from_millis(20);

/// A running load on a thread of its own.
pub struct Closed {
    tally: Arc<Tally>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<anyhow::Result<Latencies>>,
}

impl Closed {
    /// Starts a load with so many connections on one CPU.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn start(target: Target, connections: usize, cpu: usize) -> anyhow::Result<Self> {
        let (tally, stop) = (Arc::new(Tally::default()), Arc::new(AtomicBool::new(false)));
        let shared = Shared { tally: tally.clone(), stop: stop.clone() };
        let thread = std::thread::Builder::new().name("load".into()).spawn(move || {
            pin_thread(cpu)?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(run(target, connections, shared))
        })?;
        Ok(Self { tally, stop, thread })
    }

    /// Complete answers so far.
    pub fn answers(&self) -> u64 {
        self.tally.answers()
    }

    /// Lets running requests finish; returns the latencies.
    ///
    /// # Errors
    /// Where any answer was bad.
    pub fn finish(self) -> anyhow::Result<Latencies> {
        self.stop.store(true, Ordering::Relaxed);
        let latencies = self.thread.join().map_err(|_| anyhow!("the load panicked"))??;
        match self.tally.first_error() {
            None => Ok(latencies),
            Some(first) => Err(anyhow!(
                "{} of {} answers were bad; the first: {first}",
                self.tally.errors(),
                self.tally.errors() + self.tally.answers()
            )),
        }
    }
}

#[derive(Clone)]
struct Shared {
    tally: Arc<Tally>,
    stop: Arc<AtomicBool>,
}

async fn run(target: Target, connections: usize, shared: Shared) -> anyhow::Result<Latencies> {
    let mut tasks = JoinSet::new();
    for number in 0..connections {
        let first = number * target.requests.len() / connections.max(1);
        tasks.spawn(repeat(Connection::new(target.clone(), first), shared.clone()));
    }
    let mut all = Latencies::new(3)?;
    while let Some(done) = tasks.join_next().await {
        all.add(done.context("a connection panicked")??)?;
    }
    Ok(all)
}

async fn repeat(mut connection: Connection, shared: Shared) -> anyhow::Result<Latencies> {
    let mut latencies = Latencies::new(3)?;
    while !shared.stop.load(Ordering::Relaxed) {
        let start = Instant::now();
        match connection.exchange().await {
            Ok(()) => {
                shared.tally.good();
                latencies.record(micros(start.elapsed()))?;
            }
            Err(problem) => {
                shared.tally.bad(problem);
                if shared.tally.errors() > ERRORS_MAX {
                    shared.stop.store(true, Ordering::Relaxed);
                }
                tokio::time::sleep(ERROR_PAUSE).await;
            }
        }
    }
    Ok(latencies)
}

/// Whole microseconds.
pub(super) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
