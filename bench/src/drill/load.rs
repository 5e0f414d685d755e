//! The load: requests by the clock to all nodes that are up, over connections that are kept; one in five is a stream.

use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use tokio::task::LocalSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::nodes::Ups;
use crate::load::{Api, Connection, Expect, Prompt, Target, requests};

/// What marks calls of the load in the account of the mock.
pub(super) const NAME: &str = "+name=load";
const CHAT: &str = "openai/gpt-4o-mini+bytes=700+delay_ms=20+name=load";
/// Eight tenths of a second.
const STREAM: &str = "openai/gpt-4o-mini+tokens=80+gap_ms=10+name=load";
/// One request in so many is a stream.
const STREAM_EVERY: u64 = 5;
/// A connection that was not used for longer is left; nodes close it after 75 s.
const IDLE_MAX: Duration = Duration::from_secs(20);
/// Requests in flight: more is a node that hangs.
const IN_FLIGHT_MAX: u64 = 4_000;
/// What runs at the end has so long.
const END: Duration = Duration::from_secs(15);

/// What became of requests so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Answers that were whole.
    pub(super) good: u64,
    /// Failed on a node that was just lost.
    pub(super) on_victim: u64,
    /// Failed elsewhere.
    pub(super) elsewhere: u64,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    running: AtomicU64,
    good: AtomicU64,
    on_victim: AtomicU64,
    elsewhere: AtomicU64,
    first: Mutex<Option<String>>,
}

/// A load that runs.
pub(super) struct Load {
    shared: Arc<Shared>,
    thread: JoinHandle<anyhow::Result<()>>,
}

impl Load {
    /// Starts so many requests each second.
    pub(super) fn start(addresses: &[SocketAddr], ups: &Ups, per_second: u32) -> anyhow::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (counting, ups, addresses) = (shared.clone(), ups.clone(), addresses.to_vec());
        let thread = std::thread::Builder::new().name("load".into()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            LocalSet::new().block_on(&runtime, run(&addresses, &ups, (counting, per_second)));
            Ok(())
        })?;
        Ok(Self { shared, thread })
    }

    /// What became of requests so far.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            good: self.shared.good.load(SeqCst),
            on_victim: self.shared.on_victim.load(SeqCst),
            elsewhere: self.shared.elsewhere.load(SeqCst),
        }
    }

    /// The first failure on a node that was not lost.
    pub(super) fn first_failure(&self) -> Option<String> {
        self.shared.first.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for so many more good answers: what is lost is seen by then.
    pub(super) fn goes_on(&self, answers: u64) -> anyhow::Result<()> {
        let wanted = self.counts().good + answers;
        super::nodes::until("answers", || (self.counts().good >= wanted).then_some(()))
    }

    /// Lets what runs finish; what became of all.
    pub(super) fn finish(self) -> anyhow::Result<(Counts, Option<String>)> {
        self.shared.stop.store(true, SeqCst);
        while !self.thread.is_finished() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let (counts, first) = (self.counts(), self.first_failure());
        self.thread.join().map_err(|_| anyhow!("the load panicked"))??;
        Ok((counts, first))
    }
}

/// Connections of one node that are not in use, each with the time of its last use.
#[derive(Default)]
struct Idle {
    chats: std::cell::RefCell<Vec<(Connection, Instant)>>,
    streams: std::cell::RefCell<Vec<(Connection, Instant)>>,
}

async fn run(addresses: &[SocketAddr], ups: &Ups, (shared, per_second): (Arc<Shared>, u32)) {
    let target = |model, stream, expect| {
        let requests = requests(Prompt { api: Api::Chat, model, bytes: 600, stream, gap_us: 0 });
        move |addr| Target { addr, requests: Arc::clone(&requests), expect }
    };
    let (chat, stream) = (target(CHAT, false, Expect::Json), target(STREAM, true, Expect::Stream));
    let idle: Vec<_> = addresses.iter().map(|_| Rc::new(Idle::default())).collect();
    let mut ticks = interval(Duration::from_secs(1) / per_second.max(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for number in 0_u64.. {
        ticks.tick().await;
        if shared.stop.load(SeqCst) {
            break;
        }
        for (_, idle) in idle.iter().enumerate().filter(|(node, _)| !ups.is_up(*node)) {
            idle.chats.borrow_mut().clear();
            idle.streams.borrow_mut().clear();
        }
        let up = ups.all();
        let Some(node) = up.get(number as usize % up.len().max(1)).copied() else { continue };
        let (Some(idle), Some(addr)) = (idle.get(node), addresses.get(node)) else { continue };
        if shared.running.load(SeqCst) >= IN_FLIGHT_MAX {
            failed(&shared, (node, ups), "too many requests are in flight".to_owned());
            continue;
        }
        let streams = (number / up.len().max(1) as u64).is_multiple_of(STREAM_EVERY);
        let target = if streams { stream(*addr) } else { chat(*addr) };
        shared.running.fetch_add(1, SeqCst);
        tokio::task::spawn_local(one(target, (node, ups.clone()), idle.clone(), shared.clone()));
    }
    let ended = async {
        while shared.running.load(SeqCst) > 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    if timeout(END, ended).await.is_err() {
        shared.elsewhere.fetch_add(shared.running.load(SeqCst), SeqCst);
    }
}

async fn one(target: Target, (node, ups): (usize, Ups), idle: Rc<Idle>, shared: Arc<Shared>) {
    let list = if target.expect == Expect::Stream { &idle.streams } else { &idle.chats };
    let kept = list.borrow_mut().pop().filter(|(_, used)| used.elapsed() < IDLE_MAX);
    let number = shared.good.load(SeqCst) as usize;
    let mut connection = kept.map_or_else(|| Connection::new(target, number), |(connection, _)| connection);
    match connection.exchange().await {
        Ok(()) => {
            shared.good.fetch_add(1, SeqCst);
            if ups.is_up(node) {
                list.borrow_mut().push((connection, Instant::now()));
            }
        }
        Err(problem) => failed(&shared, (node, &ups), problem),
    }
    shared.running.fetch_sub(1, SeqCst);
}

fn failed(shared: &Shared, (node, ups): (usize, &Ups), problem: String) {
    if ups.is_up(node) {
        shared.elsewhere.fetch_add(1, SeqCst);
        let mut first = shared.first.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert_with(|| format!("node {node}: {problem}"));
    } else {
        shared.on_victim.fetch_add(1, SeqCst);
    }
}
