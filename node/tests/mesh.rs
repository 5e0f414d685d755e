//! Several real nodes of one cluster on loopback, before a mock upstream: they are killed, stopped, wiped and restarted while
//! requests and config writes go on.

#![cfg(target_os = "linux")] // each node has an address of its own of 127.0.0.0/8
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a panic is a failed test

#[path = "docs/catalogue.rs"]
mod catalogue;
#[path = "mesh/growth.rs"]
mod growth;
#[path = "mesh/limits.rs"]
mod limits;
#[path = "mesh/losses.rs"]
mod losses;
#[path = "mesh/measured.rs"]
mod measured;
#[path = "mesh/nodes.rs"]
mod nodes;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "process/operator.rs"]
mod operator;
#[path = "mesh/strangers.rs"]
mod strangers;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "process/support.rs"]
mod support;
#[path = "mesh/traffic.rs"]
mod traffic;
