//! `trestle-bench overhead`: what Trestle costs. `drill`: what becomes of requests when nodes are lost. `mesh`: what a mesh costs.
//! `mock`: the upstream that they are measured with.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures Trestle.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// CPU, latency and memory of the gateway against nginx `proxy_pass`.
    #[cfg(target_os = "linux")]
    Overhead(trestle_bench::overhead::Command),
    /// Three nodes under load, which are killed in turn.
    #[cfg(target_os = "linux")]
    Drill(trestle_bench::drill::Command),
    /// What a mesh costs: config changes, bytes, CPU.
    #[cfg(target_os = "linux")]
    Mesh(trestle_bench::drill::MeshCommand),
    /// The mock upstream (as `trestle-mock`).
    Mock(trestle_bench::mock::Command),
}

fn main() -> ExitCode {
    let done = match Arguments::parse().task {
        #[cfg(target_os = "linux")]
        Task::Overhead(command) => command.run(),
        #[cfg(target_os = "linux")]
        Task::Drill(command) => command.run(),
        #[cfg(target_os = "linux")]
        Task::Mesh(command) => command.run(),
        Task::Mock(command) => command.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Without a backtrace: what is wrong is mostly of the machine, not of this program.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
