//! Config writes that go on all the while, by one node after the other: what was acknowledged must be there in the end.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};

use super::ask::admin;
use super::nodes::Ups;

/// Between two writes.
const PAUSE: Duration = Duration::from_millis(50);

/// What became of writes so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// Teams whose making was acknowledged.
    pub(super) acknowledged: Vec<String>,
    /// Writes that failed on a node that was up.
    pub(super) failed: u64,
    /// The first of them.
    pub(super) first: Option<String>,
    /// The longest that one took that was acknowledged.
    pub(super) longest: Duration,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// One more than the node that none is sent to.
    avoided: AtomicUsize,
    written: Mutex<Written>,
}

/// Writes that go on.
pub(super) struct Writes {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
}

impl Writes {
    /// Starts them.
    pub(super) fn start(addresses: &[SocketAddr], ups: &Ups) -> Self {
        let shared = Arc::new(Shared::default());
        let (writing, ups, addresses) = (shared.clone(), ups.clone(), addresses.to_vec());
        Self { shared, thread: std::thread::spawn(move || run(&writing, &addresses, &ups)) }
    }

    /// So many were acknowledged so far.
    pub(super) fn acknowledged(&self) -> usize {
        self.shared.written.lock().unwrap_or_else(PoisonError::into_inner).acknowledged.len()
    }

    /// Sends none to this node, which is cut off.
    pub(super) fn avoid(&self, node: Option<usize>) {
        self.shared.avoided.store(node.map_or(0, |node| node + 1), SeqCst);
    }

    /// Waits for so many more to be acknowledged.
    pub(super) fn go_on(&self, writes: usize) -> anyhow::Result<()> {
        let wanted = self.acknowledged() + writes;
        super::nodes::until("writes to be acknowledged", || (self.acknowledged() >= wanted).then_some(()))
    }

    /// Ends them.
    pub(super) fn finish(self) -> anyhow::Result<Written> {
        self.shared.stop.store(true, SeqCst);
        self.thread.join().map_err(|_| anyhow!("the writer panicked"))?;
        Ok(std::mem::take(&mut self.shared.written.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn run(shared: &Shared, addresses: &[SocketAddr], ups: &Ups) {
    for number in 0_usize.. {
        if shared.stop.load(SeqCst) {
            return;
        }
        std::thread::sleep(PAUSE);
        let node = number % addresses.len().max(1);
        let Some(address) = addresses.get(node).filter(|_| ups.is_up(node)) else { continue };
        if shared.avoided.load(SeqCst) == node + 1 {
            continue;
        }
        let (team, begun) = (format!("t{number}"), Instant::now());
        let answer =
            admin(*address, &format!("PUT /api/teams/{team}"), "{}").and_then(|answer| answer.json());
        let may_fail = !ups.is_up(node) || shared.avoided.load(SeqCst) == node + 1;
        let mut written = shared.written.lock().unwrap_or_else(PoisonError::into_inner);
        match answer {
            Ok(_) => {
                written.longest = written.longest.max(begun.elapsed());
                written.acknowledged.push(team);
            }
            Err(_) if may_fail => {}
            Err(error) => {
                written.failed += 1;
                written.first.get_or_insert_with(|| format!("node {node}: {error:#}"));
            }
        }
    }
}

/// How many of these teams a node does not have.
pub(super) fn lost(address: SocketAddr, teams: &[String]) -> anyhow::Result<usize> {
    let document = admin(address, "GET /api/document", "")?.json()?;
    let there = document["teams"].as_object().context("there are no teams")?;
    Ok(teams.iter().filter(|team| !there.contains_key(*team)).count())
}
