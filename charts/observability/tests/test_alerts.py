"""Each alert fires when it should and not just before: Prometheus evaluates the rules over made-up series."""

import json

from conftest import CHARTS
from observability import objectives
from promtool import promtool

RULES = CHARTS / "trestle/alerts/trestle.yaml"
DAY = 24 * 3600


class Steady:
    """One value all the time, or another one from some minutes before the end."""

    def __init__(self, value, then=None, late=0):
        self.value, self.then, self.late = value, then, late

    def values(self, minutes):
        if self.then is None:
            return f"{self.value}x{minutes}"
        return f"{self.value}x{minutes - self.late} {self.then}x{self.late - 1}"


class Growing:
    """Grows by so much a minute."""

    def __init__(self, a_minute, start=0):
        self.a_minute, self.start = a_minute, start

    def values(self, minutes):
        return f"{self.start}{self.a_minute:+}x{minutes}"


class Absent:
    """Is not there before some minutes before the end."""

    def __init__(self, value, late):
        self.value, self.late = value, late

    def values(self, minutes):
        return f"_x{minutes - self.late} {self.value}x{self.late - 1}"


class Case:
    """What is otherwise than in a healthy cluster, for how long that was so, and which alerts fire."""

    def __init__(self, fires, minutes, changes):
        self.fires, self.minutes, self.changes = fires, minutes, changes


def on(metric, node="a", **labels):
    """The name of a series of a node."""
    labels = {"namespace": "prod", "job": "trestle", "instance": node} | labels
    return f"{metric}{{{','.join(f'{name}={json.dumps(value)}' for name, value in sorted(labels.items()))}}}"


def requests(node, outcome="ok"):
    return on("trestle_requests_total", node, endpoint="openai-chat", provider="openai", model="gpt", outcome=outcome)


def target(metric, node, **more):
    return on(metric, node, endpoint="openai-chat", provider="openai", model="gpt", **more)


def calls(cause, node="a"):
    return target("trestle_error_requests_total", node, cause=cause)


def refused(cause, node="a", outcome="refused"):
    return on("trestle_errors_total", node, outcome=outcome, cause=cause)


def budget(part, node="a"):
    return on(f"trestle_limit_{part}", node, owner_kind="team", owner="growth", limit="month", measure="usd")


FAST, BELOW = f"{objectives.LATENCY_SECONDS}", f"{objectives.FIRST_TOKEN_SECONDS}"


def healthy():
    """Three nodes with 600 requests a minute each."""
    made = {}
    for node in "abc":
        steady = {
            on("up", node): 1,
            on("process_open_fds", node): 300,
            on("process_max_fds", node): 1024,
            on("trestle_build_info", node, version="0.1.0"): 1,
            on("trestle_raft_leads", node): int(node == "a"),
            on("trestle_raft_has_leader", node): 1,
            on("trestle_raft_term", node): 4,
            on("trestle_raft_commit_lag", node): 2,
            on("trestle_raft_apply_lag", node): 1,
            on("trestle_raft_quorum_ack_seconds", node): 0.05 if node == "a" else 0,
            on("trestle_cluster_members", node, votes="true"): 3,
            on("trestle_cluster_members", node, votes="false"): 0,
            on("trestle_gossip_nodes", node, live="true"): 3,
            on("trestle_gossip_nodes", node, live="false"): 0,
            on("trestle_exchange_frozen", node): 0,
            on("trestle_exchange_lag_seconds", node): 0.2,
            on("trestle_clock_offset_seconds", node): -0.02,
            on("trestle_document_revision_lag", node): 0,
            on("trestle_document_broken", node): 0,
            on("trestle_store_up", node): 1,
            on("trestle_ledger_lag_seconds", node): 0.4,
            on("trestle_ledger_bytes", node): 9e9,
            on("trestle_ledger_max_bytes", node): 17179869184,
            on("trestle_ledger_copy_lag_seconds", node): 0.9,
            on("trestle_data_free_bytes", node): 30e9,
            on("trestle_data_bytes", node): 100e9,
            on("trestle_certificate_expires_seconds", node, certificate="mesh"): 60 * DAY,
            on("trestle_provider_queue", node, provider="openai"): 0,
            on("trestle_credential_ready", node, provider="vertex", key="main"): 1,
            on("trestle_credential_expires_seconds", node, provider="vertex", key="main"): 1800,
            on("trestle_limit_counters", node): 5000,
            budget("amount", node): 100,
            budget("used", node): 60,
            budget("held", node): 1,
        }
        growing = {
            on("trestle_gossip_datagrams_total", node, what="received"): 300,
            on("trestle_gossip_datagrams_total", node, what="sealed"): 0,
            on("trestle_exchange_repairs_total", node, result="failed"): 0,
            on("trestle_leases_expired_total", node): 0,
            on("trestle_records_dropped_total", node): 0,
            on("trestle_otlp_exports_total", node, signal="metrics", result="ok"): 4,
            on("trestle_otlp_exports_total", node, signal="metrics", result="failed"): 0,
            target("trestle_success_requests_total", node): 600,
            on("trestle_raft_fsync_seconds_bucket", node, le="0.01"): 60,
            on("trestle_raft_fsync_seconds_bucket", node, le="1"): 60,
            on("trestle_raft_fsync_seconds_bucket", node, le="+Inf"): 60,
            requests(node): 600,
            # Whoever has no key is no failure of ours, however many they are.
            requests(node, "refused"): 400,
            refused("unauthenticated", node): 400,
            target("trestle_request_seconds_count", node): 600,
            target("trestle_request_seconds_bucket", node, le=FAST): 599,
            target("trestle_stream_first_token_seconds_count", node): 300,
            target("trestle_stream_first_token_seconds_bucket", node, le=BELOW): 299,
            target("trestle_upstream_requests_total", node): 610,
            calls("invalid_request", node): 200,
            calls("server_error", node): 1,
        }
        made |= {name: Steady(value) for name, value in steady.items()}
        made |= {name: Growing(value) for name, value in growing.items()}
    return made


def all_nodes(make, thing):
    return {make(node): thing for node in "abc"}


def failing(a_minute, cause="upstream_failed"):
    return all_nodes(lambda node: refused(cause, node), Growing(a_minute)) | all_nodes(lambda node: requests(node, "fault"), Growing(a_minute))


def quick(family, count, bound, a_minute):
    return all_nodes(lambda node: target(f"{family}_bucket", node, le=bound), Growing(a_minute))


REQUEST, FIRST = "trestle_request_seconds", "trestle_stream_first_token_seconds"
BURNS = ["Fast", "High", "Slow"]


def burns(kind, count):
    return {f"{kind}Burn{name}" for name in BURNS[:count]}


# Each alert once as it fires, beside what fires with it, and once as it does not yet.
CASES = {
    "NoLeader": (
        Case({"NoLeader"}, 10, {on("trestle_raft_leads"): Steady(1, 0, 3)}),
        Case(set(), 10, {on("trestle_raft_leads"): Steady(1, 0, 1)}),
    ),
    "SeveralLeaders": (
        Case({"SeveralLeaders"}, 10, {on("trestle_raft_leads", "b"): Steady(0, 1, 3)}),
        # An election: for a moment the former leader does not know it.
        Case(set(), 10, {on("trestle_raft_leads", "b"): Steady(0, 1, 1)}),
    ),
    "QuorumLost": (
        Case({"QuorumLost"}, 10, {on("trestle_raft_quorum_ack_seconds"): Steady(0.1, 60, 3)}),
        Case(set(), 10, {on("trestle_raft_quorum_ack_seconds"): Steady(0.1, 9, 5)}),
    ),
    "NodeSeesNoLeader": (
        Case({"NodeSeesNoLeader"}, 10, {on("trestle_raft_has_leader", "c"): Steady(1, 0, 3)}),
        Case(set(), 10, {on("trestle_raft_has_leader", "c"): Steady(1, 0, 1)}),
    ),
    "NodeDown": (
        Case({"NodeDown"}, 10, {on("up", "c"): Steady(1, 0, 4)}),
        Case(set(), 10, {on("up", "c"): Steady(1, 0, 2)}),
    ),
    "MemberMissing": (
        Case({"MemberMissing"}, 10, {on("trestle_gossip_nodes", live="true"): Steady(3, 2, 4)}),
        Case(set(), 10, {on("trestle_gossip_nodes", live="true"): Steady(3, 2, 2)}),
    ),
    "QuorumAtRisk": (
        Case({"QuorumAtRisk", "MemberMissing"}, 30, {on("trestle_gossip_nodes", live="true"): Steady(3, 2, 18)}),
        # Of five voters one may be away.
        Case(
            {"MemberMissing"}, 30,
            all_nodes(lambda node: on("trestle_cluster_members", node, votes="true"), Steady(5))
            | all_nodes(lambda node: on("trestle_gossip_nodes", node, live="true"), Steady(4)),
        ),
    ),
    "Elections": (
        Case({"Elections"}, 20, {on("trestle_raft_term"): Growing(0.5, 4)}),
        Case(set(), 20, {on("trestle_raft_term"): Growing(0.3, 4)}),
    ),
    "RaftLag": (
        Case({"RaftLag"}, 10, {on("trestle_raft_apply_lag", "b"): Steady(0, 500, 4)}),
        Case(set(), 10, {on("trestle_raft_apply_lag", "b"): Steady(100)}),
    ),
    "RaftDiskSlow": (
        Case({"RaftDiskSlow"}, 30, {on("trestle_raft_fsync_seconds_bucket", le="0.01"): Growing(10)}),
        Case(set(), 30, {on("trestle_raft_fsync_seconds_bucket", le="0.01"): Growing(59.9)}),
    ),
    "RevisionLag": (
        Case({"RevisionLag"}, 10, {on("trestle_document_revision_lag", "c"): Steady(0, 1, 4)}),
        Case(set(), 10, {on("trestle_document_revision_lag", "c"): Steady(0, 1, 2)}),
    ),
    "VersionsMixed": (
        Case({"VersionsMixed"}, 400, {on("trestle_build_info", "c", version="0.1.0"): Steady("_"), on("trestle_build_info", "c", version="0.2.0"): Steady(1)}),
        Case(set(), 200, {on("trestle_build_info", "c", version="0.1.0"): Steady("_"), on("trestle_build_info", "c", version="0.2.0"): Steady(1)}),
    ),
    "LimitsFrozen": (
        Case({"LimitsFrozen"}, 15, {on("trestle_exchange_frozen"): Steady(0, 1, 7)}),
        Case(set(), 15, {on("trestle_exchange_frozen"): Steady(0, 1, 4)}),
    ),
    "CountersLag": (
        Case({"CountersLag"}, 10, {on("trestle_exchange_lag_seconds"): Steady(0.1, 30, 4)}),
        Case(set(), 10, {on("trestle_exchange_lag_seconds"): Steady(4.9)}),
    ),
    "CounterRepairsFail": (
        Case({"CounterRepairsFail"}, 60, {on("trestle_exchange_repairs_total", result="failed"): Growing(1)}),
        Case(set(), 60, {on("trestle_exchange_repairs_total", result="failed"): Growing(0.15)}),
    ),
    "ClockOffset": (
        Case({"ClockOffset"}, 10, {on("trestle_clock_offset_seconds", "b"): Steady(-0.6)}),
        Case(set(), 10, {on("trestle_clock_offset_seconds", "b"): Steady(-0.4)}),
    ),
    "GossipRefused": (
        Case({"GossipRefused"}, 20, {on("trestle_gossip_datagrams_total", what="sealed"): Growing(60)}),
        Case(set(), 20, {on("trestle_gossip_datagrams_total", what="sealed"): Growing(3)}),
    ),
    # Of 600 a minute that are no caller's fault.
    "ErrorsBurnFast": (
        Case(burns("Errors", 3), 75, failing(60)),
        Case(burns("Errors", 3) - burns("Errors", 1), 75, failing(40)),
    ),
    "ErrorsBurnHigh": (
        Case(burns("Errors", 3) - burns("Errors", 1), 75, failing(25)),
        Case(burns("Errors", 3) - burns("Errors", 2), 75, failing(10)),
    ),
    "ErrorsBurnSlow": (
        Case({"ErrorsBurnSlow"}, 75, failing(5)),
        Case(set(), 75, failing(2)),
    ),
    "LatencyBurnFast": (
        Case(burns("Latency", 3), 75, quick(REQUEST, 600, FAST, 100)),
        Case(burns("Latency", 3) - burns("Latency", 1), 75, quick(REQUEST, 600, FAST, 300)),
    ),
    "LatencyBurnHigh": (
        Case(burns("Latency", 3) - burns("Latency", 1), 75, quick(REQUEST, 600, FAST, 400)),
        Case(burns("Latency", 3) - burns("Latency", 2), 75, quick(REQUEST, 600, FAST, 500)),
    ),
    "LatencyBurnSlow": (
        Case({"LatencyBurnSlow"}, 75, quick(REQUEST, 600, FAST, 560)),
        Case(set(), 75, quick(REQUEST, 600, FAST, 580)),
    ),
    "FirstTokenBurnFast": (
        Case(burns("FirstToken", 3), 75, quick(FIRST, 300, BELOW, 50)),
        Case(burns("FirstToken", 3) - burns("FirstToken", 1), 75, quick(FIRST, 300, BELOW, 150)),
    ),
    "FirstTokenBurnHigh": (
        Case(burns("FirstToken", 3) - burns("FirstToken", 1), 75, quick(FIRST, 300, BELOW, 200)),
        Case(burns("FirstToken", 3) - burns("FirstToken", 2), 75, quick(FIRST, 300, BELOW, 250)),
    ),
    "FirstTokenBurnSlow": (
        Case({"FirstTokenBurnSlow"}, 75, quick(FIRST, 300, BELOW, 280)),
        Case(set(), 75, quick(FIRST, 300, BELOW, 290)),
    ),
    "ProviderFailing": (
        Case({"ProviderFailing"}, 30, all_nodes(lambda node: calls("server_error", node), Growing(250))),
        Case(set(), 30, all_nodes(lambda node: calls("server_error", node), Growing(100))),
    ),
    "ProviderDown": (
        Case({"ProviderDown", "ProviderFailing"}, 30, all_nodes(lambda node: calls("connect_failed", node), Growing(9000))),
        Case({"ProviderFailing"}, 30, all_nodes(lambda node: calls("connect_failed", node), Growing(500))),
    ),
    "ProviderRateLimited": (
        Case({"ProviderRateLimited"}, 40, {calls("rate_limited"): Growing(5)}),
        Case(set(), 40, {calls("rate_limited"): Growing(0.5)}),
    ),
    "ProviderKeyRefused": (
        Case({"ProviderKeyRefused"}, 40, {calls("bad_credentials"): Growing(1)}),
        Case(set(), 40, {calls("bad_credentials"): Steady(12)}),
    ),
    "QueueSaturated": (
        Case({"QueueSaturated"}, 20, {on("trestle_provider_queue", provider="openai"): Steady(0, 12, 12)}),
        Case(set(), 20, {on("trestle_provider_queue", provider="openai"): Steady(0, 12, 5)}),
    ),
    "CredentialNotReady": (
        Case({"CredentialNotReady"}, 10, {on("trestle_credential_ready", provider="vertex", key="main"): Steady(1, 0, 4)}),
        Case(set(), 10, {on("trestle_credential_ready", provider="vertex", key="main"): Steady(1, 0, 2)}),
    ),
    "CredentialExpiring": (
        Case({"CredentialExpiring"}, 10, {on("trestle_credential_expires_seconds", provider="vertex", key="main"): Steady(170)}),
        Case(set(), 10, {on("trestle_credential_expires_seconds", provider="vertex", key="main"): Steady(190)}),
    ),
    "BudgetNearlySpent": (
        Case({"BudgetNearlySpent"}, 20, {budget("used", "b"): Steady(60, 90, 8)}),
        Case(set(), 20, {budget("used", "b"): Steady(88)}),
    ),
    "BudgetSpent": (
        Case({"BudgetSpent", "BudgetNearlySpent"}, 20, {budget("used"): Steady(99)}),
        Case({"BudgetNearlySpent"}, 20, {budget("used"): Steady(98)}),
    ),
    "LimitCountersNearlyFull": (
        Case({"LimitCountersNearlyFull"}, 20, {on("trestle_limit_counters"): Steady(1900000)}),
        Case(set(), 20, {on("trestle_limit_counters"): Steady(1700000)}),
    ),
    "LeasesExpired": (
        Case({"LeasesExpired"}, 90, {on("trestle_leases_expired_total"): Growing(1)}),
        Case(set(), 90, {on("trestle_leases_expired_total"): Growing(0.1)}),
    ),
    "LedgerLag": (
        Case({"LedgerLag"}, 10, {on("trestle_ledger_lag_seconds"): Steady(0.5, 20, 3)}),
        Case(set(), 10, {on("trestle_ledger_lag_seconds"): Steady(4)}),
    ),
    "LedgerNearlyFull": (
        Case({"LedgerNearlyFull"}, 30, {on("trestle_ledger_bytes"): Steady(15e9)}),
        Case(set(), 30, {on("trestle_ledger_bytes"): Steady(14e9)}),
    ),
    "LedgerFilling": (
        Case({"LedgerFilling"}, 75, {on("trestle_ledger_bytes"): Growing(3e6, 9e9)}),
        Case(set(), 75, {on("trestle_ledger_bytes"): Growing(1e6, 9e9)}),
    ),
    "LedgerFull": (
        Case({"LedgerFull"}, 20, {refused("ledger_full", outcome="fault"): Growing(0.01)}),
        Case(set(), 20, {refused("ledger_full", outcome="fault"): Steady(7)}),
    ),
    "LedgerCopyLag": (
        Case({"LedgerCopyLag"}, 20, {on("trestle_ledger_copy_lag_seconds"): Steady(1, 90, 8)}),
        Case(set(), 20, {on("trestle_ledger_copy_lag_seconds"): Steady(1, 90, 4)}),
    ),
    "StoreDown": (
        Case({"StoreDown"}, 10, {on("trestle_store_up", "b"): Steady(1, 0, 3)}),
        Case(set(), 10, {on("trestle_store_up", "b"): Steady(1, 0, 1)}),
    ),
    "DocumentBroken": (
        Case({"DocumentBroken"}, 10, {on("trestle_document_broken", "b"): Steady(0, 1, 3)}),
        Case(set(), 10, {on("trestle_document_broken", "b"): Steady(0, 1, 1)}),
    ),
    "ReloadRefused": (
        Case({"ReloadRefused"}, 30, {on("trestle_reloads_total", what="secrets", result="refused"): Absent(1, 5)}),
        Case(set(), 30, {on("trestle_reloads_total", what="secrets", result="applied"): Absent(1, 5)}),
    ),
    "CertificateExpiring": (
        Case({"CertificateExpiring"}, 90, {on("trestle_certificate_expires_seconds", certificate="mesh"): Steady(13 * DAY)}),
        Case(set(), 90, {on("trestle_certificate_expires_seconds", certificate="mesh"): Steady(15 * DAY)}),
    ),
    "CertificateEnds": (
        Case({"CertificateEnds", "CertificateExpiring"}, 90, {on("trestle_certificate_expires_seconds", certificate="clients"): Steady(DAY)}),
        Case({"CertificateExpiring"}, 90, {on("trestle_certificate_expires_seconds", certificate="clients"): Steady(3 * DAY)}),
    ),
    "DiskFilling": (
        Case({"DiskFilling"}, 75, {on("trestle_data_free_bytes"): Growing(-30e6, 39e9)}),
        Case(set(), 75, {on("trestle_data_free_bytes"): Growing(-5e6, 40e9)}),
    ),
    "DiskLow": (
        Case({"DiskLow"}, 20, {on("trestle_data_free_bytes"): Steady(14e9)}),
        Case(set(), 20, {on("trestle_data_free_bytes"): Steady(16e9)}),
    ),
    "DiskNearlyFull": (
        Case({"DiskNearlyFull", "DiskLow"}, 20, {on("trestle_data_free_bytes"): Steady(4e9)}),
        Case({"DiskLow"}, 20, {on("trestle_data_free_bytes"): Steady(6e9)}),
    ),
    "Panics": (
        Case({"Panics"}, 30, {requests("a", "panic"): Absent(1, 5)}),
        Case(set(), 60, {requests("a", "panic"): Absent(1, 40)}),
    ),
    "RecordsDropped": (
        Case({"RecordsDropped"}, 20, {on("trestle_records_dropped_total"): Growing(2)}),
        Case(set(), 20, {on("trestle_records_dropped_total"): Steady(40)}),
    ),
    "TelemetryFails": (
        Case({"TelemetryFails"}, 30, {on("trestle_otlp_exports_total", signal="metrics", result="failed"): Growing(1)}),
        Case(set(), 30, {on("trestle_otlp_exports_total", signal="metrics", result="failed"): Steady(9)}),
    ),
    "FileDescriptorsLow": (
        Case({"FileDescriptorsLow"}, 20, {on("process_open_fds"): Steady(900)}),
        # Of another program.
        Case(set(), 20, {'process_open_fds{job="other",instance="x"}': Steady(900), 'process_max_fds{job="other",instance="x"}': Steady(1000)}),
    ),
    "ConnectionsRefused": (
        Case({"ConnectionsRefused"}, 20, {on("trestle_connections_refused_total"): Growing(2)}),
        Case(set(), 20, {on("trestle_connections_refused_total"): Steady(3)}),
    ),
    "AcceptErrors": (
        Case({"AcceptErrors"}, 20, {on("trestle_accept_errors_total"): Growing(2)}),
        Case(set(), 20, {on("trestle_accept_errors_total"): Steady(3)}),
    ),
}


def test_each_alert_has_a_case(alerts):
    assert {f"Trestle{name}" for name in CASES} == {rule["alert"] for rule in alerts}
    for name, (fires, calm) in CASES.items():
        assert name in fires.fires and name not in calm.fires, name


def of_promtool(name, case):
    """The form of `promtool test rules`."""
    series = healthy() | case.changes
    return {
        "name": name,
        "interval": "1m",
        "input_series": [{"series": key, "values": thing.values(case.minutes)} for key, thing in series.items()],
        "promql_expr_test": [
            {
                "expr": 'group by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": f"{case.minutes}m",
                "exp_samples": [{"labels": f'{{alertname="Trestle{alert}"}}', "value": 1} for alert in sorted(case.fires)],
            }
        ],
    }


def test_alerts_fire_when_they_should_and_not_before(tmp_path):
    tests = [of_promtool(f"{name}: {word}", case) for name, pair in CASES.items() for word, case in zip(("fires", "does not fire"), pair)]
    tests.append(of_promtool("healthy", Case(set(), 60, {})))
    path = tmp_path / "tests.yaml"
    path.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}), encoding="utf-8")
    promtool("test", "rules", str(path))
