//! Limits that are counted over all nodes: how far one is overshot, and what the nodes have counted against the mock's account.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use anyhow::ensure;
use serde::Serialize;

use super::ask::{chat, look, metric};
use super::nodes::until;

/// Requests that a limited key has in a year.
pub(super) const LIMIT: u64 = 400;
/// Clients of each node.
const CLIENTS: usize = 4;
/// Between a change and that others know it: nodes tell each other ten times a second, and it has to get there.
const DELAY: Duration = Duration::from_millis(150);

/// How far a limit was overshot.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Overshoot {
    pub(super) when: String,
    pub(super) limit: u64,
    pub(super) admitted: u64,
    pub(super) per_second: f64,
    /// By the formula.
    pub(super) over_max: u64,
}

impl Overshoot {
    /// What was admitted beyond the limit.
    pub(super) fn over(&self) -> u64 {
        self.admitted.saturating_sub(self.limit)
    }

    /// All of the limit could be used, and not more than by the formula beyond.
    pub(super) fn is_kept(&self) -> bool {
        self.admitted >= self.limit && self.over() <= self.over_max
    }
}

/// How nodes see each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// All see all.
    All,
    /// One is cut off, and all know it: each spends its share, and what is not a share's is not used.
    Shares,
}

/// Asks all nodes at once with a key until each of them refuses.
pub(super) fn exhaust(
    addresses: &[SocketAddr],
    key: &str,
    sight: Sight,
    when: String,
) -> anyhow::Result<Overshoot> {
    if sight == Sight::All {
        // A node that has just come makes all spend by shares until they have compared what they know.
        let peers = addresses.len().saturating_sub(1) as f64;
        let is = |address: &SocketAddr, name: &str, value: f64| {
            metric(*address, name, "").is_ok_and(|found| found == value)
        };
        let is_within_reach = |address: &SocketAddr| {
            is(address, "trestle_exchange_peers", peers) && is(address, "trestle_exchange_frozen", 0.0)
        };
        until("all nodes to be within reach of each other", || {
            addresses.iter().all(is_within_reach).then_some(())
        })?;
    }
    let (admitted, begun) = (AtomicU64::new(0), Instant::now());
    let counting = &admitted;
    std::thread::scope(|scope| {
        let clients: Vec<_> = addresses
            .iter()
            .flat_map(|address| std::iter::repeat_n(*address, CLIENTS))
            .map(|address| scope.spawn(move || until_refused(address, key, counting)))
            .collect();
        clients.into_iter().try_for_each(|client| client.join().unwrap_or_else(|_| Ok(())))
    })?;
    let (admitted, nodes) = (admitted.load(SeqCst), addresses.len() as u64);
    let per_second = admitted as f64 / begun.elapsed().as_secs_f64();
    // L * t * (N - 1) / N + N * c; no request is charged too little, so c is 0, and each node may be in the middle of one.
    let unseen = per_second * DELAY.as_secs_f64() * (nodes - 1) as f64 / nodes as f64;
    let over_max = match sight {
        Sight::All => unseen.ceil() as u64 + nodes,
        Sight::Shares => nodes,
    };
    Ok(Overshoot { when, limit: LIMIT, admitted, per_second, over_max })
}

fn until_refused(address: SocketAddr, key: &str, admitted: &AtomicU64) -> anyhow::Result<()> {
    loop {
        match chat(address, key, "openai/gpt-4o-mini+tokens=2")?.status {
            200 => admitted.fetch_add(1, SeqCst),
            429 => return Ok(()),
            status => anyhow::bail!("status {status} instead of 200 or 429"),
        };
    }
}

/// What all nodes count for the team of the load, once they agree.
pub(super) fn counted(addresses: &[SocketAddr]) -> anyhow::Result<u64> {
    let one = |address: &SocketAddr| {
        let told = look(*address, "/api/limits?owner_kind=team&owner=load").ok()?;
        let (used, held) = (told["items"][0]["used"].as_u64()?, told["items"][0]["held"].as_u64()?);
        (held == 0).then_some(used)
    };
    let mut last = None;
    let agreed = until("all nodes to count the same", || {
        let told: Vec<_> = addresses.iter().map(one).collect();
        let first = *told.first()?;
        let same = first.is_some() && told.iter().all(|other| *other == first);
        // Twice, with a round of telling in between.
        let again = same && last == first;
        last = first;
        std::thread::sleep(DELAY * 2);
        again.then_some(first)?
    })?;
    ensure!(agreed > 0, "nothing was counted");
    Ok(agreed)
}
