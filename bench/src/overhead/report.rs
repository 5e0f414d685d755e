//! The figures, as a table beside their targets and as JSON.

use std::fmt::Write as _;

use serde::Serialize;

use super::cases::Case;
use super::in_process::InProcess;
use super::latency::Latency;
use super::memory::Memory;
use super::sizes::{Size, table as sizes_table};
use super::spread::Spread;
use super::stage::Stage;
use super::turns::Turns;

/// Added latency at half of saturation, in microseconds.
const ADDED_P50_US: u64 = 200;
const ADDED_P99_US: u64 = 1_000;
/// Memory of one idle node.
const IDLE_MIB: u64 = 24;

/// One case.
#[derive(Debug, Serialize)]
pub(super) struct CaseReport {
    case: &'static str,
    what: &'static str,
    /// CPU of the gateway over CPU of nginx.
    duel: Spread,
    in_turns: Spread,
    target: f64,
    nginx_us: Spread,
    gateway_us: Spread,
    gateway_answers_per_second: Spread,
    closed_loop_p50_us: u64,
    closed_loop_p99_us: u64,
    memory_bytes: u64,
}

impl CaseReport {
    pub(super) fn new(case: &Case, duel: Spread, turns: Turns) -> Self {
        Self {
            case: case.name,
            what: case.what,
            duel,
            in_turns: turns.ratio,
            target: case.target,
            nginx_us: turns.nginx_micros,
            gateway_us: turns.gateway_micros,
            gateway_answers_per_second: turns.answers_per_second,
            closed_loop_p50_us: turns.p50_us,
            closed_loop_p99_us: turns.p99_us,
            memory_bytes: turns.memory_bytes,
        }
    }
}

/// All figures.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    gateway: String,
    pub(super) cases: Vec<CaseReport>,
    pub(super) sizes: Vec<Size>,
    pub(super) latency: Option<Latency>,
    pub(super) in_process: Option<InProcess>,
    pub(super) memory: Vec<Memory>,
    pub(super) failures: Failures,
}

/// Cases that failed, each with its reason.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub(super) struct Failures(Vec<String>);

impl Failures {
    /// The measurement; where it failed the reason is kept, and shown at once.
    pub(super) fn unless_failed<T>(&mut self, case: &str, measured: anyhow::Result<T>) -> Option<T> {
        measured
            .inspect_err(|error| {
                let failure = format!("{case}: {error:#}");
                eprintln!("FAILED {failure}");
                self.0.push(failure);
            })
            .ok()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Report {
    pub(super) fn new(stage: &Stage) -> Self {
        let idle = Memory::new("idle", stage.gateway_idle_bytes, Some(IDLE_MIB));
        Self {
            gateway: stage.gateway_path.clone(),
            cases: Vec::new(),
            sizes: Vec::new(),
            latency: None,
            in_process: None,
            memory: vec![idle],
            failures: Failures::default(),
        }
    }

    /// Adds the memory after and during load.
    pub(super) fn loaded(&mut self, stage: &Stage) {
        if let Some(most) = self.cases.iter().map(|case| case.memory_bytes).max() {
            self.memory.insert(1, Memory::new("under load, most", most, None));
        }
        self.memory.push(Memory::new("at the end", stage.gateway.process.memory_bytes(), None));
    }

    /// The table.
    pub(super) fn table(&self) -> String {
        let mut out = format!("gateway: {}\nCPU against nginx, median (quartiles)\n\n", self.gateway);
        let _ = writeln!(
            out,
            "{:14} {:>8} {:>9} {:>21} {:>21} {:>7} {:>9}  p50/p99 ms closed",
            "case", "nginx us", "ours us", "duel", "in turns", "target", "answers/s"
        );
        for case in &self.cases {
            let _ = writeln!(
                out,
                "{:14} {:8.2} {:9.2} {:>21} {:>21} {:>7} {:9.0}  {:.2}/{:.2}  {}",
                case.case,
                case.nginx_us.median,
                case.gateway_us.median,
                ratio(case.duel),
                ratio(case.in_turns),
                within(case.duel.median, case.target, format!("{:.2}", case.target)),
                case.gateway_answers_per_second.median,
                millis(case.closed_loop_p50_us),
                millis(case.closed_loop_p99_us),
                case.what
            );
        }
        if let Some(in_process) = &self.in_process {
            let (micros, ratio) = (in_process.micros.median, ratio(in_process.ratio));
            let what = "pass-through chat in a program, no listener";
            let _ = writeln!(
                out,
                "{:14} {:8} {micros:9.2} {:>21} {ratio:>21} {:>7} {:9}  {what}",
                "in-process", "", "", "", ""
            );
        }
        if !self.sizes.is_empty() {
            out.push_str(&sizes_table(&self.sizes));
        }
        if let Some(latency) = &self.latency {
            out.push_str(&latency_table(latency));
        }
        out.push_str("\nmemory of the gateway, MiB\n");
        for memory in &self.memory {
            let mib = memory.bytes as f64 / f64::from(1 << 20);
            let target = memory.target_mib.map(|most| within(mib, most as f64, most.to_string()));
            let _ = writeln!(out, "{mib:8.1}  {:>6}  {}", target.unwrap_or_default(), memory.what);
        }
        for failure in &self.failures.0 {
            let _ = writeln!(out, "\nFAILED {failure}");
        }
        out
    }
}

fn latency_table(latency: &Latency) -> String {
    let mut out = format!(
        "\nlatency at {} requests/s (half of saturation, open loop), ms\n{:14} {:>8} {:>8}\n",
        latency.per_second, "", "p50", "p99"
    );
    let paths = [("direct", latency.direct), ("nginx", latency.nginx), ("gateway", latency.gateway)];
    for (name, path) in paths {
        let _ = writeln!(out, "{name:14} {:8.3} {:8.3}", millis(path.p50_us), millis(path.p99_us));
    }
    let p50 = latency.gateway.p50_us.saturating_sub(latency.direct.p50_us);
    let p99 = latency.gateway.p99_us.saturating_sub(latency.direct.p99_us);
    let target = |most, added| within(millis(added), millis(most), format!("{:.1}", millis(most)));
    let _ = writeln!(
        out,
        "{:14} {:8.3} {:8.3}  targets {} / {}",
        "added",
        millis(p50),
        millis(p99),
        target(ADDED_P50_US, p50),
        target(ADDED_P99_US, p99)
    );
    out
}

fn ratio(spread: Spread) -> String {
    format!("{:.3} ({:.3}-{:.3})", spread.median, spread.low, spread.high)
}

fn millis(micros: u64) -> f64 {
    micros as f64 / 1000.0
}

/// The target, marked where it is missed.
fn within(value: f64, most: f64, text: String) -> String {
    if value <= most { text } else { format!("{text} !") }
}
