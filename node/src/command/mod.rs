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
mod cluster_view;
mod document;
mod dry_run;
mod edit;
mod finalize;
mod health;
mod keys;
mod ledger;
mod limits;
mod revisions;
mod scale_in;
mod usage;

// Commands that ask as applications do.
mod ask;

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
mod wait;
