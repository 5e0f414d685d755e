//! What a node tells of itself to Prometheus and to a collector of OpenTelemetry: real nodes, traffic, and what comes out.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a panic is a failed test

#[path = "telemetry/collector.rs"]
mod collector;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "python/environment.rs"]
mod environment;
#[path = "telemetry/flat.rs"]
mod flat;
#[path = "telemetry/metrics.rs"]
mod metrics;
#[path = "telemetry/outside.rs"]
mod outside;
#[path = "telemetry/receiver.rs"]
mod receiver;
#[path = "telemetry/spans.rs"]
mod spans;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "process/support.rs"]
mod support;
