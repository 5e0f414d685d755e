//! The mock upstream as a process: `trestle-mock --listen 127.0.0.1:0`.

use clap::Parser;
use trestle_bench::mock::Command;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    command: Command,
}

fn main() -> anyhow::Result<()> {
    Arguments::parse().command.run()
}
