//! How soon a config change that was acknowledged is in effect on all nodes.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use super::ask::{admin, revision};
use crate::load::Latencies;

/// Changes; what others do between two of them is over by the next.
const CHANGES: usize = 100;
const PAUSE: Duration = Duration::from_millis(50);
/// Between two looks at a node: they must not take the CPU that a change needs.
const LOOK: Duration = Duration::from_millis(1);
/// In effect by then, or never.
const PATIENCE: Duration = Duration::from_secs(10);

/// Microseconds from the acknowledgement to the last node, and the whole change as its client sees it.
pub(super) struct Visible {
    pub(super) after: Latencies,
    pub(super) change: Latencies,
}

/// Changes a team by each node in turn, while all nodes are asked for their revision again and again.
pub(super) fn measure(addresses: &[SocketAddr]) -> anyhow::Result<Visible> {
    let over = AtomicBool::new(false);
    let seen: Vec<_> = addresses.iter().map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for (address, seen) in addresses.iter().zip(&seen) {
            let over = &over;
            scope.spawn(move || {
                while !over.load(SeqCst) {
                    seen.fetch_max(revision(*address).unwrap_or(0), SeqCst);
                    std::thread::sleep(LOOK);
                }
            });
        }
        let measured = changes(addresses, &seen);
        over.store(true, SeqCst);
        measured
    })
}

fn changes(addresses: &[SocketAddr], seen: &[AtomicU64]) -> anyhow::Result<Visible> {
    let (mut after, mut change) = (Latencies::new(3)?, Latencies::new(3)?);
    for number in 0..CHANGES {
        std::thread::sleep(PAUSE);
        let address = addresses.get(number % addresses.len().max(1)).context("there are no nodes")?;
        let begun = Instant::now();
        let body = format!(r#"{{"tags":["v{number}"]}}"#);
        let answer = admin(*address, "PUT /api/teams/visible", &body)?.json()?;
        let acknowledged = Instant::now();
        change.record(micros(begun.elapsed()))?;
        let revision = answer["revision"].as_u64().context("the answer has no revision")?;
        while seen.iter().any(|seen| seen.load(SeqCst) < revision) {
            ensure!(acknowledged.elapsed() < PATIENCE, "a node has not got revision {revision}");
            std::thread::sleep(Duration::from_micros(100));
        }
        after.record(micros(acknowledged.elapsed()))?;
    }
    Ok(Visible { after, change })
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
