//! Names of the metrics of the process; those of requests are the gateway's. Bounded labels, all listed here.

use metrics::{Unit, counter, describe_counter, describe_gauge, gauge};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use std::time::Duration;
use trestle_store::{Lag, Room};

const BUILD: &str = "trestle_build_info";
const CONNECTIONS: &str = "trestle_connections";
const ACCEPTED: &str = "trestle_connections_accepted_total";
const REFUSED: &str = "trestle_connections_refused_total";
const CLOSED: &str = "trestle_connections_closed_total";
const ACCEPT_ERRORS: &str = "trestle_accept_errors_total";
const RELOADS: &str = "trestle_reloads_total";
const REVISION: &str = "trestle_document_revision";
const STORE: &str = "trestle_store_up";
const BROKEN: &str = "trestle_document_broken";
const LEDGER_UNSYNCED: &str = "trestle_ledger_unsynced_bytes";
const LEDGER_LAG: &str = "trestle_ledger_lag_seconds";
const LEDGER_BYTES: &str = "trestle_ledger_bytes";
const LEDGER_BYTES_MAX: &str = "trestle_ledger_max_bytes";
const COPY_LAG_BYTES: &str = "trestle_ledger_copy_lag_bytes";
const COPY_LAG: &str = "trestle_ledger_copy_lag_seconds";
const COPIES_BYTES: &str = "trestle_ledger_copies_bytes";
const SPANS_SENT: &str = "trestle_spans_sent_total";
const SPANS_DROPPED: &str = "trestle_spans_dropped_total";
const LEASES_EXPIRED: &str = "trestle_leases_expired_total";
const EXPORTS: &str = "trestle_otlp_exports_total";

/// Upper ends of the buckets of histograms of the process, in seconds: disks and networks, not models.
const BOUNDS: [f64; 14] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0];

/// Installs the recorder and describes what it records.
pub(super) fn install() -> anyhow::Result<PrometheusHandle> {
    let handle = PrometheusBuilder::new().set_buckets(&BOUNDS)?.install_recorder()?;
    describe_gauge!(BUILD, "Always 1; the labels say which build this is.");
    describe_gauge!(CONNECTIONS, Unit::Count, "Connections of clients that are open.");
    describe_counter!(ACCEPTED, "Connections of clients that were accepted.");
    describe_counter!(REFUSED, "Connections closed at once because connections_max were open.");
    describe_counter!(CLOSED, "Connections that the node closed, by reason.");
    describe_counter!(ACCEPT_ERRORS, "Errors of accept, such as no free file descriptors.");
    describe_counter!(
        RELOADS,
        "Loads of the document or the certificate after the start, by what and result."
    );
    describe_gauge!(REVISION, "Number of the document that requests see.");
    describe_gauge!(
        STORE,
        "1 while the store of the document works; 0: requests are served on, changes are not taken."
    );
    describe_gauge!(BROKEN, "1 while the entities do not compile here and requests see an earlier revision.");
    describe_gauge!(LEDGER_UNSYNCED, Unit::Bytes, "Bytes of the ledger that a loss of power would take.");
    describe_gauge!(LEDGER_LAG, Unit::Seconds, "Since all of the ledger was on the disk; 0 if it is.");
    describe_gauge!(LEDGER_BYTES, Unit::Bytes, "Files of the ledger together, with what is prepared.");
    describe_gauge!(LEDGER_BYTES_MAX, Unit::Bytes, "What they may come to; beyond, calls are answered 503.");
    describe_gauge!(COPY_LAG_BYTES, Unit::Bytes, "Bytes of the ledger that no other node has a copy of.");
    describe_gauge!(COPY_LAG, Unit::Seconds, "Since others had copies of all of it; 0 if they have.");
    describe_gauge!(COPIES_BYTES, Unit::Bytes, "Copies of ledgers of other nodes that this one keeps.");
    describe_counter!(
        LEASES_EXPIRED,
        "Requests whose hold on limits ended before they did: what they held was given back."
    );
    describe_counter!(EXPORTS, "Messages for the collector of OpenTelemetry, by signal and result.");
    describe_counter!(SPANS_SENT, "Spans that the collector took.");
    describe_counter!(SPANS_DROPPED, "Spans that were lost, by reason.");
    counter!(LEASES_EXPIRED).absolute(0);
    gauge!(BUILD, "version" => env!("CARGO_PKG_VERSION")).set(1);
    Ok(handle)
}

pub(crate) fn connection_opened() {
    counter!(ACCEPTED).increment(1);
    gauge!(CONNECTIONS).increment(1);
}

pub(crate) fn connection_ended() {
    gauge!(CONNECTIONS).decrement(1);
}

pub(crate) fn connection_refused() {
    counter!(REFUSED).increment(1);
}

pub(crate) fn connection_closed(reason: &'static str) {
    counter!(CLOSED, "reason" => reason).increment(1);
}

pub(crate) fn accept_failed() {
    counter!(ACCEPT_ERRORS).increment(1);
}

/// What was loaded anew.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reloaded {
    Document,
    Secrets,
    Certificate,
}

pub(crate) fn reloaded(what: Reloaded, succeeded: Result<(), ()>) {
    let what = match what {
        Reloaded::Document => "document",
        Reloaded::Secrets => "secrets",
        Reloaded::Certificate => "certificate",
    };
    let result = if succeeded.is_ok() { "applied" } else { "refused" };
    counter!(RELOADS, "what" => what, "result" => result).increment(1);
}

/// What became of a message for the collector.
pub(crate) fn exported(signal: &'static str, result: &'static str) {
    counter!(EXPORTS, "signal" => signal, "result" => result).increment(1);
}

pub(crate) fn store(works: bool) {
    gauge!(STORE).set(if works { 1.0 } else { 0.0 });
}

pub(crate) fn broken(broken: bool) {
    gauge!(BROKEN).set(if broken { 1.0 } else { 0.0 });
}

pub(crate) fn revision(revision: u64) {
    gauge!(REVISION).set(revision as f64);
}

/// Of a node in a cluster.
pub(crate) fn copies(lag_bytes: u64, lag: Duration, kept_bytes: u64) {
    gauge!(COPY_LAG_BYTES).set(lag_bytes as f64);
    gauge!(COPY_LAG).set(lag.as_secs_f64());
    gauge!(COPIES_BYTES).set(kept_bytes as f64);
}

pub(crate) fn ledger(lag: &Lag, room: &Room, leases_expired: usize) {
    gauge!(LEDGER_UNSYNCED).set(lag.bytes as f64);
    gauge!(LEDGER_LAG).set(lag.time.as_secs_f64());
    gauge!(LEDGER_BYTES).set(room.bytes as f64);
    gauge!(LEDGER_BYTES_MAX).set(room.bytes_max as f64);
    counter!(LEASES_EXPIRED).increment(leases_expired as u64);
}

/// Where spans are sent to a collector.
pub(crate) fn spans_begin() {
    counter!(SPANS_SENT).absolute(0);
    for reason in ["queue_full", "not_taken", "rejected"] {
        counter!(SPANS_DROPPED, "reason" => reason).absolute(0);
    }
}

pub(crate) fn spans_sent(count: u64) {
    counter!(SPANS_SENT).increment(count);
}

pub(crate) fn spans_dropped(reason: &'static str, count: u64) {
    counter!(SPANS_DROPPED, "reason" => reason).increment(count);
}
