//! The duel: both proxies loaded at once on the same core, compared second by second.

use std::time::Duration;

use anyhow::{Context as _, ensure};

use super::cases::Case;
use super::command::Plan;
use super::side::Side;
use super::spread::Spread;
use super::stage::{LOAD_CPU, Sides};
use crate::load::Closed;

/// Load before anything counts.
const WARM: Duration = Duration::from_millis(700);

/// CPU of the gateway over CPU of nginx, for the same work at the same time.
pub(super) fn run(sides: &Sides<'_>, case: &Case, plan: Plan) -> anyhow::Result<Spread> {
    let mut ratios = Vec::new();
    for round in 0..plan.rounds {
        let start = |side: &Side| Closed::start(side.target(case), case.connections / 2, LOAD_CPU);
        // Who starts first may fare better: they take turns.
        let (nginx, gateway) = if round % 2 == 0 {
            let nginx = start(sides.nginx)?;
            (nginx, start(sides.gateway)?)
        } else {
            let gateway = start(sides.gateway)?;
            (start(sides.nginx)?, gateway)
        };
        std::thread::sleep(WARM);
        let mut before = (Point::take(sides.nginx, &nginx), Point::take(sides.gateway, &gateway));
        for _ in 0..plan.secs {
            std::thread::sleep(Duration::from_secs(1));
            let now = (Point::take(sides.nginx, &nginx), Point::take(sides.gateway, &gateway));
            if let (Some(base), Some(ours)) = (now.0.cost_since(before.0), now.1.cost_since(before.1)) {
                ratios.push(ours / base);
            }
            before = now;
        }
        nginx.finish().with_context(|| sides.nginx.name)?;
        gateway.finish().with_context(|| sides.gateway.name)?;
    }
    ensure!(!ratios.is_empty(), "no second in which both answered");
    Ok(Spread::of(ratios))
}

/// A moment: CPU time used and answers given so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    cpu: Duration,
    answers: u64,
}

impl Point {
    pub(super) fn take(side: &Side, load: &Closed) -> Self {
        Self { cpu: side.process.cpu(), answers: load.answers() }
    }

    /// Microseconds for each answer since then; nothing where there was none.
    pub(super) fn cost_since(self, before: Self) -> Option<f64> {
        let answers = self.answers - before.answers;
        let micros = (self.cpu - before.cpu).as_secs_f64() * 1e6;
        (answers > 0 && micros > 0.0).then(|| micros / answers as f64)
    }

    pub(super) fn answers_since(self, before: Self) -> u64 {
        self.answers - before.answers
    }
}
