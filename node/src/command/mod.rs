//! The command line: one file a command.

mod cli;
pub(crate) use cli::Cli;

mod check;
mod completions;
mod dev;
mod schema;
mod serve;
mod start;
