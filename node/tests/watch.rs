//! What operators see: the suite of the dashboards, alerts and runbooks; and a real Prometheus that watches a real cluster, of which it
//! is asked all that the dashboards ask, and that tells when a node is lost.
//!
//! Needs python3 with `venv` and the package index, and Prometheus. Where they are missing the tests say so and pass; with
//! `TRESTLE_REQUIRE_CLIENTS=1` they fail.

#![cfg(target_os = "linux")] // each node has an address of its own of 127.0.0.0/8
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a panic is a failed test

#[path = "watch/boards.rs"]
mod boards;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "python/environment.rs"]
mod environment;
#[path = "watch/load.rs"]
mod load;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "mesh/nodes.rs"]
mod nodes;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "process/operator.rs"]
mod operator;
#[path = "watch/prometheus.rs"]
mod prometheus;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "process/support.rs"]
mod support;
#[allow(dead_code, reason = "other tests use the rest")]
#[path = "mesh/ups.rs"]
mod ups;

use environment::Environment;
use load::{Counts, Load};
use nodes::Mesh;
use prometheus::{Program, Prometheus};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};
use support::eventually;

/// Until all that is asked has values.
const PATIENCE: Duration = Duration::from_secs(60);
/// What is asked about series that nothing here makes: it has to be free of errors, and has no values.
const QUIET: [&str; 7] = [
    // No credential is fetched.
    "trestle_credential_",
    // No picture is made, no sound heard.
    "trestle_things_total",
    // Nodes close no connection, and refuse none.
    "trestle_connections_closed_total",
    "trestle_connections_refused_total",
    "trestle_accept_errors_total",
    // There is no collector.
    "trestle_otlp_exports_total",
    "trestle_spans_",
];

#[test]
fn dashboards_alerts_and_runbooks_fit_together() {
    if let Some(environment) = Environment::of("observability-venv", "charts/observability/tests") {
        environment.run(&[]);
    }
}

#[test]
fn a_real_prometheus_sees_what_a_cluster_does_and_that_a_node_is_lost() {
    let Some(program) = Program::find() else { return };
    let mut mesh = Mesh::of(3).certified().with("TRESTLE_METRICS_KEYS_MAX", "10");
    mesh.start_all();
    mesh.all_vote(&[]);
    load::prepare(&mesh);
    let prometheus = program.watch(&mesh);
    let load = Load::start(&mesh);
    load.goes_on();
    prometheus.is_calm();
    prometheus.evaluates_all_rules();

    load.fail_too();
    load.goes_on();
    for node in 0..3 {
        mesh.node(node).signal("HUP");
    }
    all_queries_have_values(&prometheus, &mesh);
    prometheus.tells("TrestleProviderDown");
    prometheus.tells("TrestleErrorsBurnFast");
    let counts = load.end();
    counters_are_as_counted(&prometheus, &counts);

    mesh.kill(2);
    for alert in ["TrestleNodeDown", "TrestleMemberMissing", "TrestleLimitsFrozen"] {
        prometheus.tells(alert);
    }
    mesh.start(2);
    for alert in ["TrestleNodeDown", "TrestleMemberMissing", "TrestleLimitsFrozen"] {
        prometheus.tells_no_more(alert);
    }
}

/// All that the dashboards ask, and all values that can be chosen there.
fn all_queries_have_values(prometheus: &Prometheus, mesh: &Mesh) {
    let (queries, variables) = (boards::queries(), boards::variables());
    assert!(queries.len() > 150 && variables.len() > 20, "{} {}", queries.len(), variables.len());
    let (quiet, mut waiting): (Vec<_>, Vec<_>) =
        queries.iter().partition(|query| QUIET.iter().any(|name| query.text.contains(name)));
    let (mut passes, end) = (0, Instant::now() + PATIENCE);
    while !waiting.is_empty() {
        let places =
            || waiting.iter().map(|query| format!("{}: {}\n", query.panel, query.text)).collect::<String>();
        assert!(Instant::now() < end, "no values for\n{}", places());
        // Something for the log to do.
        passes += 1;
        mesh.operator(0).done(&format!("PUT /api/teams/noted-{passes}"), "{}");
        waiting.retain(|query| prometheus.values(&query.text).is_empty());
    }
    let silent: BTreeSet<_> = quiet
        .iter()
        .filter(|query| prometheus.values(&query.text).is_empty())
        .filter_map(|query| QUIET.iter().find(|name| query.text.contains(**name)))
        .collect();
    assert_eq!(silent.len(), QUIET.len(), "no longer silent, but listed: only {silent:?} are");
    for variable in variables {
        eventually(&format!("choices of {variable:?}"), || {
            (!prometheus.choices(&variable).is_empty()).then_some(())
        });
    }
}

/// The counters of all nodes together, as Prometheus has them, are what was sent and answered.
fn counters_are_as_counted(prometheus: &Prometheus, counts: &Counts) {
    let answered = counts.chats + counts.streams;
    let money = 1e-6 * (answered as f64);
    for (query, expected) in [
        (r#"sum(trestle_requests_total{provider="priced",outcome="ok"})"#, answered + counts.admitted),
        (r#"sum(trestle_success_requests_total{provider="priced"})"#, answered + counts.admitted),
        (r#"sum(trestle_stream_first_token_seconds_count{provider="priced"})"#, counts.streams),
        (r#"sum(trestle_errors_total{outcome="refused",cause="unauthenticated"})"#, counts.strangers),
        (r#"sum(trestle_limits_total{owner_kind="team",what="refused"})"#, counts.limited),
        (r#"sum(trestle_errors_total{outcome="refused",cause="rate_limited"})"#, counts.limited),
        (r#"sum(trestle_error_requests_total{provider="broken",cause="server_error"})"#, counts.failed),
        (r#"sum(trestle_upstream_requests_total{provider="broken"})"#, counts.failed),
        (r#"sum(trestle_key_requests_total{team="watched"})"#, answered),
        (r#"count(trestle_build_info{job="trestle"})"#, 3),
    ] {
        eventually(&format!("{query} to be {expected}"), || {
            (prometheus.values(query) == [expected as f64]).then_some(())
        });
    }
    let cost = prometheus.values(r#"sum(trestle_cost_usd_total{provider="priced"})"#);
    assert!(cost[0] > money, "{cost:?}");
    let used = prometheus.values(r#"max(trestle_limit_used{owner="watched",measure="usd"})"#);
    assert!(used[0] > 0.0, "{used:?}");
}
