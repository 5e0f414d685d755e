//! The whole pipeline, driven from inside of the process against mock upstreams.

mod bad_input;
mod failover;
mod pass;
mod streams;
mod support;
