//! Latency that the gateway adds at half of what it can do.

use std::time::Duration;

use anyhow::{Context as _, anyhow};
use serde::Serialize;

use super::cases::chat;
use super::command::Plan;
use super::stage::{LOAD_CPU, Stage};
use super::turns;
use crate::load::{Latencies, Rate, Target, at_rate};

/// The load that finds out how much the gateway can do: the least of so many looks.
const SATURATE: Duration = Duration::from_secs(2);
const SATURATIONS: usize = 3;
const CONNECTIONS: usize = 64;

/// Latency through one path, in microseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Path {
    pub(super) p50_us: u64,
    pub(super) p99_us: u64,
}

impl Path {
    /// The medians of the rounds: one in which the machine stood still does not count for the others.
    fn of(rounds: &[Latencies]) -> Self {
        let median = |quantile| {
            let mut all: Vec<_> = rounds.iter().map(|round| round.value_at_quantile(quantile)).collect();
            all.sort_unstable();
            all.get(all.len() / 2).copied().unwrap_or_default()
        };
        Self { p50_us: median(0.5), p99_us: median(0.99) }
    }
}

/// All paths at the same rate.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Latency {
    pub(super) per_second: u32,
    pub(super) direct: Path,
    pub(super) nginx: Path,
    pub(super) gateway: Path,
}

/// Finds the rate, then measures direct, nginx and gateway in turns.
pub(super) fn measure(stage: &Stage, plan: Plan) -> anyhow::Result<Latency> {
    eprintln!("latency: at half of saturation, open loop");
    let case = chat();
    // The machine may be twice as fast for a while: the rate must suit all rounds.
    let mut most = f64::INFINITY;
    for _ in 0..SATURATIONS {
        most = most.min(turns::one(&stage.gateway, case, SATURATE)?.answers_per_second);
    }
    // A rate is far below what a u32 holds.
    let per_second = (most / 2.0).max(1.0) as u32;
    let paths = [stage.direct(case), stage.nginx.target(case), stage.gateway.target(case)];
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    let rate = Rate { per_second, connections: CONNECTIONS, time: plan.time(), cpu: LOAD_CPU };
    for _ in 0..plan.rounds {
        for (path, latencies) in paths.iter().zip(&mut all) {
            latencies.push(run(path, rate)?);
        }
    }
    let [direct, nginx, gateway] = all.each_ref().map(|rounds| Path::of(rounds));
    Ok(Latency { per_second, direct, nginx, gateway })
}

/// Runs at a rate on a thread of its own, which is pinned.
pub(super) fn run(target: &Target, rate: Rate) -> anyhow::Result<Latencies> {
    std::thread::scope(|scope| {
        let load = scope.spawn(|| at_rate(target, rate));
        load.join().map_err(|_| anyhow!("the load panicked"))?.context("open loop")
    })
}
