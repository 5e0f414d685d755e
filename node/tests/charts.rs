//! The Helm chart: rendered, validated, installed into an API in memory, and its settings given to real nodes.
//!
//! Needs python3 with `venv`, and the package index. Where they are missing the test says so and passes; with
//! `TRESTLE_REQUIRE_CLIENTS=1` it fails.

#![allow(clippy::expect_used, clippy::panic)] // a panic is a failed test

#[path = "python/environment.rs"]
mod environment;

use environment::Environment;

#[test]
fn the_chart_is_what_it_says() {
    let Some(environment) = Environment::of("charts-venv", "charts/tests") else { return };
    environment.run(&[("TRESTLE_TEST_BINARY", env!("CARGO_BIN_EXE_trestle").into())]);
}
