//! In turns: each run of the gateway between two of nginx.

use std::time::{Duration, Instant};

use anyhow::Context as _;

use super::cases::Case;
use super::command::Plan;
use super::duel::Point;
use super::side::Side;
use super::spread::Spread;
use super::stage::{LOAD_CPU, Sides};
use crate::load::{Closed, Latencies};

/// Load before anything counts.
const WARM: Duration = Duration::from_millis(400);

/// What one run gave.
pub(super) struct Run {
    /// CPU for each unit (request or event).
    pub(super) micros: f64,
    pub(super) answers_per_second: f64,
    pub(super) latencies: Latencies,
    pub(super) memory_bytes: u64,
}

/// What all runs gave.
pub(super) struct Turns {
    pub(super) ratio: Spread,
    pub(super) nginx_micros: Spread,
    pub(super) gateway_micros: Spread,
    pub(super) answers_per_second: Spread,
    pub(super) p50_us: u64,
    pub(super) p99_us: u64,
    pub(super) memory_bytes: u64,
}

/// Runs nginx, gateway, nginx, ... and compares each run of the gateway with its neighbours.
pub(super) fn run(sides: &Sides<'_>, case: &Case, plan: Plan) -> anyhow::Result<Turns> {
    let mut base = vec![one(sides.nginx, case, plan.time())?];
    let mut ours = Vec::new();
    for _ in 0..plan.rounds {
        ours.push(one(sides.gateway, case, plan.time())?);
        base.push(one(sides.nginx, case, plan.time())?);
    }
    let neighbours = base.windows(2).map(|pair| pair.iter().map(|run| run.micros).sum::<f64>() / 2.0);
    let ratios = ours.iter().zip(neighbours).map(|(run, nginx)| run.micros / nginx).collect();
    let mut latencies = Latencies::new(3)?;
    for run in &ours {
        latencies.add(&run.latencies)?;
    }
    let micros = |runs: &[Run]| Spread::of(runs.iter().map(|run| run.micros).collect());
    Ok(Turns {
        ratio: Spread::of(ratios),
        nginx_micros: micros(&base),
        gateway_micros: micros(&ours),
        answers_per_second: Spread::of(ours.iter().map(|run| run.answers_per_second).collect()),
        p50_us: latencies.value_at_quantile(0.5),
        p99_us: latencies.value_at_quantile(0.99),
        memory_bytes: ours.iter().map(|run| run.memory_bytes).max().unwrap_or(0),
    })
}

/// One run of one proxy by itself.
pub(super) fn one(side: &Side, case: &Case, time: Duration) -> anyhow::Result<Run> {
    let load = Closed::start(side.target(case), case.connections, LOAD_CPU)?;
    std::thread::sleep(WARM);
    let (begin, before) = (Instant::now(), Point::take(side, &load));
    std::thread::sleep(time);
    let (seconds, after) = (begin.elapsed().as_secs_f64(), Point::take(side, &load));
    let memory_bytes = side.process.memory_bytes();
    let latencies = load.finish().with_context(|| side.name)?;
    let micros = after.cost_since(before).with_context(|| format!("{} gave no answers", side.name))?;
    Ok(Run {
        micros: micros / f64::from(case.units),
        answers_per_second: after.answers_since(before) as f64 / seconds,
        latencies,
        memory_bytes,
    })
}
