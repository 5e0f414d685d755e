//! What operators ask a node over HTTP; an axum router on the admin runtime.

mod health;
pub(crate) use health::Health;

// What requests of the admin API carry, and how answers look.
mod asker;
mod body;
mod filter;
mod problem;
mod shown;
mod strict;
use problem::Problem;

// The admin API, one file a resource.
mod audit;
mod cluster;
pub(crate) use cluster::Place;
mod document;
mod dry_run;
mod entities;
mod keys;
pub(crate) use keys::KeyState;
mod ledger;
mod limits;
mod requests;
mod revisions;
mod tokens;
mod usage;

mod api;
mod openapi;

mod router;
pub(crate) use router::{Admin, serves};

mod listen;
pub(crate) use listen::listen;
