//! What is sent to an OpenTelemetry collector, and how.

mod collector;
mod connect;
mod headers;
mod send;

pub(crate) use collector::Collector;
pub(crate) use send::Export;
