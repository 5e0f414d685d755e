//! What a drill has shown, beside what is promised.

use std::fmt::Write as _;

use serde::Serialize;

use super::limit::Overshoot;
use super::rounds::{Loss, Round};

/// Another leader is there by then.
const LEADER_MS_MAX: u64 = 5_000;
/// Others see a dead node by then.
const DEAD_MS_MAX: u64 = 4_000;
/// A key that was removed is refused by then.
const REVOKED_MS_MAX: u64 = 200;
/// A change that cannot be is refused by then: they have ten seconds.
const REFUSED_MS_MAX: u64 = 12_000;

/// Requests as nodes have counted them, and as the mock has.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Truth {
    pub(super) counted: u64,
    pub(super) seen: u64,
    /// In flight on a node that was killed: announced, and the mock may not have looked at them.
    pub(super) in_flight: u64,
    /// Counted on a disk that was deleted before others were told.
    pub(super) forgotten_max: u64,
}

/// All that was seen.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) place: &'static str,
    pub(super) rounds: Vec<Round>,
    pub(super) overshoots: Vec<Overshoot>,
    pub(super) answers: u64,
    pub(super) acknowledged: usize,
    pub(super) writes_failed: u64,
    pub(super) longest_write_ms: u64,
    pub(super) writes_lost: usize,
    pub(super) truth: Truth,
    pub(super) first_failures: Vec<String>,
}

impl Report {
    /// Promises that were broken.
    pub(super) fn broken(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for round in &self.rounds {
            let Round { loss, node, .. } = round;
            let mut told = |what: String| broken.push(format!("node {node} {loss:?}: {what}"));
            if round.failed_elsewhere > 0 {
                told(format!("{} requests failed that were not on it", round.failed_elsewhere));
            }
            if *loss == Loss::ToldToEnd && round.failed_there > 0 {
                told(format!("{} requests failed that were in flight on it", round.failed_there));
            }
            if round.unready_max > 1 {
                told(format!("{} nodes were not ready at once", round.unready_max));
            }
            for (what, value, most) in [
                ("another leader", round.leader_ms, LEADER_MS_MAX),
                ("seen dead", round.dead_ms, DEAD_MS_MAX),
                ("a removed key refused", Some(round.revoked_ms), REVOKED_MS_MAX),
                ("a change refused", round.refused_ms, REFUSED_MS_MAX),
            ] {
                if let Some(value) = value.filter(|value| *value > most) {
                    told(format!("{what} after {value} ms, at most {most} are promised"));
                }
            }
            if let Some(cut) = round.overshoot.as_ref().filter(|cut| cut.over() > cut.over_max) {
                told(format!("{} of {} requests were admitted", cut.admitted, cut.limit));
            }
        }
        for limit in self.overshoots.iter().filter(|limit| !limit.is_kept()) {
            let Overshoot { when, limit, admitted, over_max, .. } = limit;
            broken.push(format!("{when}: {admitted} of {limit} were admitted, {over_max} more may be"));
        }
        if self.writes_lost > 0 {
            broken.push(format!("{} acknowledged writes were lost", self.writes_lost));
        }
        if self.writes_failed > 0 {
            broken.push(format!("{} writes failed on nodes that were there", self.writes_failed));
        }
        let Truth { counted, seen, in_flight, forgotten_max } = self.truth;
        if counted + forgotten_max < seen || counted > seen + in_flight {
            broken.push(format!("{counted} requests were counted, the upstream saw {seen}"));
        }
        broken
    }

    /// The table.
    pub(super) fn table(&self) -> String {
        let mut out = format!("{}; times in ms\n\n", self.place);
        let _ = writeln!(
            out,
            "{:<11} {:>4} {:>5} {:>14} {:>9} {:>11} {:>9} {:>8} {:>7} {:>7}",
            "loss",
            "node",
            "led",
            "failed there",
            "elsewhere",
            "new leader",
            "seen dead",
            "revoked",
            "back",
            "writes"
        );
        let shown = |ms: Option<u64>| ms.map_or_else(|| "-".to_owned(), |ms| ms.to_string());
        for round in &self.rounds {
            let _ = writeln!(
                out,
                "{:<11} {:>4} {:>5} {:>14} {:>9} {:>11} {:>9} {:>8} {:>7} {:>7}",
                format!("{:?}", round.loss),
                round.node,
                if round.led { "yes" } else { "" },
                round.failed_there,
                round.failed_elsewhere,
                shown(round.leader_ms),
                shown(round.dead_ms),
                round.revoked_ms,
                round.back_ms,
                round.acknowledged
            );
        }
        let _ = writeln!(
            out,
            "{:<11} {:>4} {:>5} {:>14} {:>9} {LEADER_MS_MAX:>11} {DEAD_MS_MAX:>9} {REVOKED_MS_MAX:>8}",
            "promised", "", "", "in flight", 0
        );
        self.sums(&mut out);
        out
    }

    fn sums(&self, out: &mut String) {
        let cut = self.rounds.iter().filter_map(|round| round.overshoot.as_ref());
        let _ = writeln!(
            out,
            "\n{:<28} {:>8} {:>10} {:>6} {:>9} {:>10}",
            "limit", "amount", "admitted", "over", "by formula", "requests/s"
        );
        for limit in self.overshoots.iter().chain(cut) {
            let _ = writeln!(
                out,
                "{:<28} {:>8} {:>10} {:>6} {:>9} {:>10.0}",
                limit.when,
                limit.limit,
                limit.admitted,
                limit.over(),
                limit.over_max,
                limit.per_second
            );
        }
        for round in self.rounds.iter().filter(|round| round.refused_ms.is_some()) {
            let refused_ms = round.refused_ms.unwrap_or_default();
            let _ = writeln!(out, "node {}, cut off, refused a change after {refused_ms} ms", round.node);
        }
        let _ = writeln!(
            out,
            "\n{} answers; config writes: {} acknowledged, {} lost, {} failed, the longest took {} ms",
            self.answers, self.acknowledged, self.writes_lost, self.writes_failed, self.longest_write_ms
        );
        let Truth { counted, seen, in_flight, .. } = self.truth;
        let _ = writeln!(
            out,
            "requests: {counted} counted by each node, {seen} seen by the upstream, {in_flight} in flight on nodes that were lost"
        );
        for failure in &self.first_failures {
            let _ = writeln!(out, "the first failure: {failure}");
        }
        for broken in self.broken() {
            let _ = writeln!(out, "BROKEN {broken}");
        }
    }
}
