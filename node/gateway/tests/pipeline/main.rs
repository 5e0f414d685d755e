//! The whole pipeline, driven from inside of the process against mock upstreams.

#![allow(clippy::unwrap_used, reason = "a panic here is a failed test")]

mod bad_input;
mod clouds;
mod costs;
mod counters;
mod dialects;
mod embed;
mod embedder;
mod failover;
mod feed;
mod files;
mod forms;
#[path = "../../../provider/tests/credentials/server.rs"]
mod issuer;
mod kept;
mod limits;
mod pass;
mod passthrough;
mod proofs;
mod proxies;
mod proxy;
mod realtime;
mod responses_and_cohere;
mod streams;
mod support;
mod transport;
mod uploads;
mod usage;
