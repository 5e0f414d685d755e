//! The command line: one file a command.

mod cli;
pub(crate) use cli::Cli;

// Commands by themselves.
mod check;
mod completions;
mod import;
mod schema;

// Commands that start a node.
mod dev;
mod dev_nodes;
mod serve;
mod start;
mod telemetry;

// Commands that ask a running node.
mod admin_token;
mod audit;
mod cluster;
mod document;
mod dry_run;
mod edit;
mod health;
mod keys;
mod ledger;
mod limits;
mod revisions;
mod usage;

// What those have in common: which node, how it is asked, what is shown.
mod changes;
mod client;
mod failure;
mod filter;
mod print;
mod profile;
mod remote;
mod silent;
mod table;
mod verify;
