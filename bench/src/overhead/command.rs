//! The command line of `overhead`, and the order of things.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Args;

use super::cases::{CASES, Case};
use super::report::{CaseReport, Report};
use super::stage::Stage;
use super::{duel, gateway, in_process, latency, memory, sizes, turns};
use crate::load::raise_file_limit;

/// Measures what the gateway costs against nginx.
#[derive(Args, Debug)]
pub struct Command {
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// The gateway's binary, or `nginx` to compare nginx with itself. Without it the release build is made and used.
    #[arg(long)]
    gateway: Option<PathBuf>,
    /// Rounds of each measurement.
    #[arg(long, default_value_t = 4)]
    rounds: usize,
    /// Seconds of each round.
    #[arg(long, default_value_t = 4)]
    secs: u64,
    /// Only these: chat-1k, chat-100k, stream-spaced, stream-burst, translate, messages, gemini, bedrock, cohere,
    /// responses (translated, too), sizes, latency, memory, in-flight, in-process.
    #[arg(long)]
    only: Vec<String>,
    /// A program that embeds the gateway. Called as `PATH UPSTREAM_URL SECONDS`, it sends chats in process for so
    /// long, 32 at a time, and prints `{"requests":N}`. Without it the example of the gateway is built and used, but
    /// not where --gateway is given and the case is not asked for by name.
    #[arg(long)]
    in_process: Option<PathBuf>,
}

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    pub(super) rounds: usize,
    pub(super) secs: u64,
}

impl Plan {
    pub(super) fn time(self) -> Duration {
        Duration::from_secs(self.secs)
    }
}

const OTHERS: [&str; 5] = ["sizes", "latency", "memory", "in-flight", "in-process"];

impl Command {
    /// Measures and prints.
    ///
    /// # Errors
    /// Where something is missing, a process does not start, or any answer was bad.
    pub fn run(&self) -> anyhow::Result<()> {
        let plan = Plan { rounds: self.rounds.max(1), secs: self.secs.max(1) };
        let known: Vec<_> = CASES.iter().map(|case| case.name).chain(OTHERS).collect();
        for name in &self.only {
            ensure!(known.contains(&name.as_str()), "no case `{name}`; there are {}", known.join(", "));
        }
        let cpus = std::thread::available_parallelism()?.get();
        ensure!(cpus >= 2, "two CPUs are needed: one for the proxies, one for load and upstream");
        raise_file_limit();
        let embedded = self.embedded()?;
        let stage = Stage::set(self.gateway.as_deref())?;
        let mut report = Report::new(&stage);
        self.measure(&stage, plan, &mut report);
        if let Some(program) = embedded {
            let measured = in_process::measure(&stage, &program, plan);
            report.in_process = report.failures.unless_failed("in-process", measured);
        }
        report.loaded(&stage);
        if self.json {
            println!("{}", serde_json::to_string_pretty(&report)?);
        } else {
            print!("{}", report.table());
        }
        ensure!(report.failures.is_empty(), "{} of the cases failed", report.failures.len());
        Ok(())
    }

    /// A case that fails does not keep the others from being measured; it is reported, and the command fails.
    fn measure(&self, stage: &Stage, plan: Plan, report: &mut Report) {
        let cases = CASES.iter().filter(|case| self.wants(case.name));
        for case in cases {
            let measured = measure(stage, case, plan);
            report.cases.extend(report.failures.unless_failed(case.name, measured));
        }
        if self.wants("sizes") {
            let measured = sizes::measure(stage, plan);
            report.sizes = report.failures.unless_failed("sizes", measured).unwrap_or_default();
        }
        if self.wants("latency") {
            report.latency = report.failures.unless_failed("latency", latency::measure(stage, plan));
        }
        if self.wants("memory") {
            report.memory.extend(report.failures.unless_failed("memory", memory::streams(stage)));
        }
        if self.wants("in-flight") {
            report.memory.extend(report.failures.unless_failed("in-flight", memory::in_flight(stage, plan)));
        }
    }

    /// The program for the case `in-process`, where that is wanted.
    fn embedded(&self) -> anyhow::Result<Option<PathBuf>> {
        let by_name = self.only.iter().any(|name| name == "in-process");
        match &self.in_process {
            _ if !self.wants("in-process") => Ok(None),
            Some(program) => Ok(Some(program.clone())),
            None if by_name || self.gateway.is_none() => gateway::build(gateway::EMBEDDED).map(Some),
            None => Ok(None),
        }
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == name)
    }
}

fn measure(stage: &Stage, case: &Case, plan: Plan) -> anyhow::Result<CaseReport> {
    eprintln!("{}: {}", case.name, case.what);
    let sides = stage.sides();
    let duel = duel::run(&sides, case, plan).context("duel")?;
    let turns = turns::run(&sides, case, plan).context("in turns")?;
    Ok(CaseReport::new(case, duel, turns))
}
