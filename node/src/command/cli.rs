//! The command line itself: which commands there are.

use super::{check, completions, dev, schema, serve};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// An AI gateway: applications keep their SDK and change one base URL.
#[derive(Debug, Parser)]
#[command(name = "trestle", version, max_term_width = 100, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  trestle dev                                  a gateway on 127.0.0.1:8080, no file needed
  trestle check gateway.yaml                   every problem of a document
  trestle serve --document gateway.yaml --watch
  trestle schema > gateway.schema.json         for completion in an editor

Logs go to stderr (TRESTLE_LOG sets the filter, such as `debug` or `trestle=debug,warn`), the request
log to stdout, one JSON object a line.";

#[derive(Debug, Subcommand)]
enum Command {
    Dev(dev::Dev),
    Serve(Box<serve::Serve>),
    Check(check::Check),
    Schema(schema::Schema),
    Completions(completions::Completions),
}

impl Cli {
    /// Runs the command. An error of any kind is printed here and nowhere else.
    pub(crate) fn run(self) -> ExitCode {
        let done = match self.command {
            Command::Dev(dev) => dev.run(),
            Command::Serve(serve) => serve.run(),
            Command::Check(check) => return check.run(),
            Command::Schema(schema) => schema.run(),
            Command::Completions(completions) => completions.run(),
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error:#}");
                ExitCode::FAILURE
            }
        }
    }
}
