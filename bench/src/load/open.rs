//! The open loop: requests start by the clock, and latency counts from the time they should have started.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail, ensure};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinSet, LocalSet};

use super::closed::micros;
use super::connection::Connection;
use super::requests::Target;
use super::{Latencies, pin_thread};

/// Requests that may wait for a connection.
const WAITING_MAX: usize = 100_000;

/// How fast, over how many connections, for how long.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    /// Requests each second.
    pub per_second: u32,
    /// Connections.
    pub connections: usize,
    /// How long.
    pub time: Duration,
    /// The CPU of the load.
    pub cpu: usize,
}

/// Runs a load at a fixed rate on the calling thread, which stays pinned; returns the latencies.
///
/// # Errors
/// Where an answer is bad or the target does not keep up.
pub fn at_rate(target: &Target, rate: Rate) -> anyhow::Result<Latencies> {
    pin_thread(rate.cpu)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, run(target, rate))
}

/// Requests that are due, by the time they should start.
#[derive(Default)]
struct Due {
    times: RefCell<VecDeque<Instant>>,
    arrived: Notify,
    over: RefCell<bool>,
}

async fn run(target: &Target, rate: Rate) -> anyhow::Result<Latencies> {
    let due = Rc::new(Due::default());
    let mut workers = JoinSet::new();
    for number in 0..rate.connections {
        let mut connection = Connection::new(target.clone(), number);
        connection.connect().await.map_err(anyhow::Error::msg)?;
        workers.spawn_local(work(connection, due.clone()));
    }
    let paced = pace(&due, rate).await;
    *due.over.borrow_mut() = true;
    due.arrived.notify_waiters();
    paced?;
    let mut all = Latencies::new(3)?;
    while let Some(done) = workers.join_next().await {
        all.add(done.context("a connection panicked")??)?;
    }
    Ok(all)
}

async fn work(mut connection: Connection, due: Rc<Due>) -> anyhow::Result<Latencies> {
    let mut latencies = Latencies::new(3)?;
    loop {
        let next = due.times.borrow_mut().pop_front();
        if let Some(start) = next {
            connection.exchange().await.map_err(anyhow::Error::msg)?;
            latencies.record(micros(start.elapsed()))?;
        } else if *due.over.borrow() {
            return Ok(latencies);
        } else {
            due.arrived.notified().await;
        }
    }
}

/// Makes requests due as the clock says.
async fn pace(due: &Due, rate: Rate) -> anyhow::Result<()> {
    let (sender, mut starts) = mpsc::channel(WAITING_MAX);
    let clock = std::thread::Builder::new().name("clock".into()).spawn(move || tick(&sender, rate))?;
    while let Some(start) = starts.recv().await {
        due.times.borrow_mut().push_back(start);
        due.arrived.notify_one();
        let waiting = due.times.borrow().len();
        ensure!(waiting < WAITING_MAX, "{waiting} requests wait: the target does not keep up");
    }
    clock.join().map_err(|_| anyhow!("the clock panicked"))?
}

/// The clock. The runtime's own timers are too coarse (1 ms), so a thread reads one of the kernel's.
fn tick(starts: &mpsc::Sender<Instant>, rate: Rate) -> anyhow::Result<()> {
    let gap = Duration::from_secs(1) / rate.per_second.max(1);
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::empty())?;
    let step = Timespec { tv_sec: gap.as_secs().cast_signed(), tv_nsec: i64::from(gap.subsec_nanos()) };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &Itimerspec { it_interval: step, it_value: step })?;
    let begin = Instant::now();
    let mut started = 0_u32;
    while begin.elapsed() < rate.time {
        let mut times = [0; 8];
        rustix::io::read(&timer, &mut times)?;
        for _ in 0..u64::from_ne_bytes(times) {
            started += 1;
            if starts.try_send(begin + gap * started).is_err() {
                bail!("the load does not keep up with {} requests each second", rate.per_second);
            }
        }
    }
    Ok(())
}
