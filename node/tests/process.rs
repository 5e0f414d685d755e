//! The binary as its users see it: each test starts `trestle`, talks to it over sockets and signals, reads its output.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a panic is a failed test

#[path = "process/support.rs"]
mod support;

#[path = "process/commands.rs"]
mod commands;
#[path = "process/connections.rs"]
mod connections;
#[path = "process/dev.rs"]
mod dev;
#[path = "process/drain.rs"]
mod drain;
#[path = "process/http1.rs"]
mod http1;
#[path = "process/http2.rs"]
mod http2;
#[path = "process/reload.rs"]
mod reload;
#[path = "process/routes.rs"]
mod routes;
#[path = "process/tls.rs"]
mod tls;
