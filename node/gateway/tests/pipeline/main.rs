//! The whole pipeline, driven from inside of the process against mock upstreams.

#![allow(clippy::unwrap_used, reason = "a panic here is a failed test")]

mod bad_input;
mod failover;
mod pass;
mod responses_and_cohere;
mod streams;
mod support;
mod transport;
