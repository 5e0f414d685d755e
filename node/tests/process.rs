//! The binary as its users see it: each test starts `trestle`, talks to it over sockets and signals, reads its output.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a panic is a failed test

#[path = "process/support.rs"]
mod support;

#[path = "process/operator.rs"]
mod operator;

#[path = "process/admin.rs"]
mod admin;
#[path = "process/commands.rs"]
mod commands;
#[path = "process/connections.rs"]
mod connections;
#[path = "process/dev.rs"]
mod dev;
#[path = "process/documents.rs"]
mod documents;
#[path = "process/drain.rs"]
mod drain;
#[path = "process/entities.rs"]
mod entities;
#[path = "process/history.rs"]
mod history;
#[path = "process/http1.rs"]
mod http1;
#[path = "process/http2.rs"]
mod http2;
#[path = "process/reload.rs"]
mod reload;
#[path = "process/routes.rs"]
mod routes;
#[path = "process/secrets.rs"]
mod secrets;
#[path = "process/store.rs"]
mod store;
#[path = "process/tls.rs"]
mod tls;
