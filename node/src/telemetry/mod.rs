//! What is sent to an OpenTelemetry collector, and how.

mod collector;
mod connect;
mod headers;
mod send;
mod spans;
mod tracer;

pub(crate) use collector::Collector;
pub(crate) use send::Export;
pub(crate) use tracer::Tracer;
