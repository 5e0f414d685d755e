"""The alerts, in groups; each has a heading in a page of `docs/operations`: its own name, or the one that it shares."""

import re

from . import objectives

CLUSTER = "by (namespace, job)"
NODE = "{{ $labels.instance }}"
DAY = 24 * 3600
# Alerts that have their runbook with another one; of burn rates all speeds have one.
SHARED = {
    "ProviderDown": "ProviderFailing",
    "BudgetSpent": "BudgetNearlySpent",
    "LedgerFilling": "LedgerNearlyFull",
    "CertificateEnds": "CertificateExpiring",
    "DiskFilling": "DiskLow",
    "DiskNearlyFull": "DiskLow",
}


def alert(name, severity, wait, expr, summary, description):
    """An alert without its group's page; `summary` is one line with its subject, `description` says what that means and what to do."""
    return {
        "alert": f"Trestle{name}",
        "expr": expr,
        "for": wait,
        "labels": {"severity": severity},
        "annotations": {"summary": summary, "description": description},
    }


def groups():
    pages = {
        "cluster": cluster() + counters() + mesh(),
        "objectives": objectives_spent(),
        "providers": providers() + credentials(),
        "limits": limits(),
        "ledger": ledger(),
        "nodes": documents() + certificates() + disks() + node(),
    }
    made = []
    for page, rules in pages.items():
        for rule in rules:
            rule["annotations"]["runbook_url"] = f"docs/operations/{page}.md#{heading(rule['alert']).lower()}"
        made.append({"name": f"trestle.{page}.alerts", "rules": rules})
    return made


def heading(name):
    """Below which the runbook of an alert stands."""
    name = name.removeprefix("Trestle")
    for speed, *_ in objectives.BURN_RATES:
        name = name.removesuffix(f"Burn{speed}") + ("Burn" if name.endswith(f"Burn{speed}") else "")
    return f"Trestle{SHARED.get(name, name)}"


def seen(counter, window):
    """It counted something lately. Of a family that is there only once it has, the first time is its own appearance."""
    grown = re.sub(r"(trestle_\w+(\{[^}]*\})?)", rf"increase(\1[{window}])", counter)
    before = re.sub(r"(trestle_\w+(\{[^}]*\})?)", rf"\1 offset {window}", counter)
    return f"{grown} > 0 or ({counter} unless {before}) > 0"


def missing():
    """How many members gossip does not hear of, by the node that misses most."""
    members = "sum by (namespace, job, instance) (trestle_cluster_members)"
    live = 'sum by (namespace, job, instance) (trestle_gossip_nodes{live="true"})'
    return f"max {CLUSTER} ({members} - {live})"


def cluster():
    voters = f'max {CLUSTER} (trestle_cluster_members{{votes="true"}})'
    term = "trestle_raft_term[15m]"
    return [
        alert(
            "NoLeader", "critical", "1m", f"sum {CLUSTER} (trestle_raft_leads) < 1",
            "No node of {{ $labels.job }} leads",
            "Requests are served on by the last document; no change of the document, of keys or of members is taken until a majority of "
            "the voters reach each other.",
        ),
        alert(
            "SeveralLeaders", "critical", "1m", f"sum {CLUSTER} (trestle_raft_leads) > 1",
            "{{ $value }} nodes of {{ $labels.job }} say that they lead",
            "Two clusters answer to one job, or a node that is cut off has not noticed yet that it leads no more. Only the one that a "
            "majority follows takes changes.",
        ),
        alert(
            "QuorumLost", "critical", "1m", "trestle_raft_quorum_ack_seconds > 10",
            f"{NODE} leads, but no majority has followed it for {{{{ $value | humanizeDuration }}}}",
            "The leader does not reach a majority of the voters: no changes are taken. Requests are served on.",
        ),
        alert(
            "NodeSeesNoLeader", "warning", "1m", "trestle_raft_has_leader == 0",
            f"{NODE} knows no leader",
            "This node is cut off from the majority, or there is none. It serves on by its last document; revoked keys are not known to it.",
        ),
        alert(
            "NodeDown", "warning", "2m", 'up{job=~".*trestle.*"} == 0',
            f"{NODE} does not answer Prometheus",
            "The node is down, or its metrics cannot be reached. Others serve on as long as the load balancer leaves it out.",
        ),
        alert(
            "MemberMissing", "warning", "2m", f"{missing()} > 0",
            "{{ $value }} members of {{ $labels.job }} are not heard of",
            "Members are down or cut off. Nothing is lost while a majority is there; a member that is gone for good has to be removed.",
        ),
        alert(
            "QuorumAtRisk", "critical", "15m", f"{missing()} > 0 and {missing()} >= floor(({voters} - 1) / 2) and {voters} > 1",
            "{{ $labels.job }} may not be able to lose one more voter",
            "So many members have been away for a quarter of an hour that with one more no changes are taken. Bring them back, or remove "
            "those that are gone for good.",
        ),
        alert(
            "Elections", "warning", "0m", f"max {CLUSTER} (max_over_time({term}) - min_over_time({term})) > 5",
            "{{ $value }} elections in {{ $labels.job }} within 15 minutes",
            "Nodes lose sight of each other, or are too slow to answer: look at the network, the processors and the disks.",
        ),
        alert(
            "RaftLag", "warning", "2m", "trestle_raft_apply_lag > 100 or trestle_raft_commit_lag > 100",
            f"{NODE} is {{{{ $value }}}} entries of the log behind",
            "Changes of the document are late on this node, or the majority is late with what it has.",
        ),
        alert(
            "RaftDiskSlow", "warning", "10m",
            "histogram_quantile(0.99, sum by (namespace, job, instance, le) (rate(trestle_raft_fsync_seconds_bucket[10m]))) > 0.5",
            f"The log of {NODE} takes {{{{ $value | humanizeDuration }}}} to reach the disk",
            "A slow disk delays each change of the document, and elections follow where it takes seconds.",
        ),
        alert(
            "RevisionLag", "warning", "2m", "trestle_document_revision_lag > 0",
            f"{NODE} serves a document {{{{ $value }}}} revisions old",
            "Others have a newer document: keys that were revoked since are still taken here.",
        ),
        alert(
            "VersionsMixed", "warning", "6h", f"count {CLUSTER} (count by (namespace, job, version) (trestle_build_info)) > 1",
            "{{ $labels.job }} runs {{ $value }} versions",
            "A rolling upgrade was begun and not ended. What is new stays off until all nodes have it and the upgrade is finalized.",
        ),
    ]


def counters():
    return [
        alert(
            "LimitsFrozen", "warning", "5m", f"max {CLUSTER} (trestle_exchange_frozen) == 1",
            "Limits of {{ $labels.job }} are spent by shares",
            "A member is out of reach, so each node has only a part of what was left of soft limits: callers may be refused early.",
        ),
        alert(
            "CountersLag", "warning", "2m", "trestle_exchange_lag_seconds > 5",
            f"A peer has not had the counters of {NODE} for {{{{ $value | humanizeDuration }}}}",
            "Limits may be passed by what is used on nodes that do not know of each other.",
        ),
        alert(
            "CounterRepairsFail", "warning", "15m", 'increase(trestle_exchange_repairs_total{result="failed"}[15m]) > 3',
            f"{NODE} cannot compare its counters with a peer",
            "Calls between nodes fail: certificates of the mesh, names, or the network.",
        ),
    ]


def mesh():
    refused = 'what=~"garbage|sealed|replayed|time|crowded"'
    return [
        alert(
            "ClockOffset", "warning", "2m", "abs(trestle_clock_offset_seconds) > 0.5",
            f"The clock of a peer is {{{{ $value | humanizeDuration }}}} from that of {NODE}",
            "Windows of limits are of the clock, and gossip refuses datagrams of a wrong time. Mend the time service of the machines.",
        ),
        alert(
            "GossipRefused", "warning", "5m",
            f"sum by (namespace, job, instance, what) (rate(trestle_gossip_datagrams_total{{{refused}}}[5m])) > 0.1",
            f"{NODE} refuses datagrams of gossip: {{{{ $labels.what }}}}",
            "Strangers send to the port of gossip, a node has another secret or a wrong clock, or datagrams are sent again.",
        ),
    ]


def objectives_spent():
    kinds = [
        ("Errors", "trestle_requests_failed", "trestle_requests_valid", objectives.AVAILABILITY, "requests fail"),
        ("Latency", "trestle_requests_slow", "trestle_requests_timed", objectives.LATENCY,
         f"requests take more than {objectives.LATENCY_SECONDS} s"),
        ("FirstToken", "trestle_streams_slow", "trestle_streams_timed", objectives.FIRST_TOKEN,
         f"streams have no content within {objectives.FIRST_TOKEN_SECONDS} s"),
    ]
    return [burn(kind, rate) for kind in kinds for rate in objectives.BURN_RATES]


def burn(kind, rate):
    """The share of bad ones is beyond a multiple of what the objective allows, over a long window and over a short one."""
    what, bad, all_, objective, words = kind
    name, factor, long, short, wait, severity = rate
    share_max = factor * (1 - objective)
    ratio = "namespace_job:{bad}:rate{window} / namespace_job:{all_}:rate{window}"
    over = " and ".join(f"{ratio.format(bad=bad, all_=all_, window=w)} > {share_max:.6g}" for w in (long, short))
    seconds = {"1h": 3600, "6h": 6 * 3600, "3d": 3 * DAY}[long]
    return alert(
        f"{what}Burn{name}", severity, wait, f"{over} and namespace_job:{bad}:rate{long} * {seconds} > {objectives.BAD_MIN}",
        f"{{{{ $value | humanizePercentage }}}} of {words} in {{{{ $labels.job }}}}",
        f"Over {long} and over {short} that is {factor:g} times what the objective of {100 * objective:g} % allows. Requests that their callers "
        "spoiled are not counted.",
    )


def providers():
    by = "by (namespace, job, provider)"
    failed = f'sum {by} (rate(trestle_error_requests_total{{cause!~"{objectives.CALLERS}"}}[5m]))'
    bad, good = (f"sum {by} (rate(trestle_{kind}_requests_total[5m]))" for kind in ("error", "success"))
    # Some attempts fail before a call is made, so that calls are no measure.
    made = f"({bad} + ({good} or 0 * {bad}))"
    caused = "sum {by} (increase(trestle_error_requests_total{{cause=~\"{causes}\"}}[10m])) > {least}"
    provider = "{{ $labels.provider }}"
    return [
        alert(
            "ProviderFailing", "warning", "5m", f"{failed} / {made} > 0.2 and {made} > 0.05",
            f"{{{{ $value | humanizePercentage }}}} of attempts at {provider} fail",
            "Other targets take over where models have any; where not, callers see errors.",
        ),
        alert(
            "ProviderDown", "critical", "5m", f"{failed} / {made} > 0.9 and {made} > 0.05",
            f"Nearly all attempts at {provider} fail",
            "The provider is down, its key is refused, or it cannot be reached from here. Requests without another target fail.",
        ),
        alert(
            "ProviderRateLimited", "warning", "10m",
            caused.format(by="by (namespace, job, provider, cause)", causes="rate_limited|quota_exhausted", least=10),
            f"{provider} refuses calls: {{{{ $labels.cause }}}}",
            "The account's rate or money is used up. Keys are left out for a while; with all of them out callers are answered 429.",
        ),
        alert(
            "ProviderKeyRefused", "warning", "5m",
            caused.format(by="by (namespace, job, provider, cause)", causes="bad_credentials|no_key|bad_configuration", least=0),
            f"{provider} cannot be called: {{{{ $labels.cause }}}}",
            "A key was revoked or is missing on a node, or the provider's settings cannot be used.",
        ),
        alert(
            "QueueSaturated", "warning", "5m",
            "sum by (namespace, job, instance, provider) (min_over_time(trestle_provider_queue[2m])) > 0 or "
            'sum by (namespace, job, instance, provider) (rate(trestle_error_requests_total{cause="queue_full"}[2m])) > 0',
            f"Calls of {provider} wait all the time on {NODE}",
            "More calls come than the provider's `concurrency` allows; once its queue is full callers are answered 503.",
        ),
    ]


def credentials():
    of = "{{ $labels.provider }}/{{ $labels.key }}"
    return [
        alert(
            "CredentialNotReady", "critical", "2m", "trestle_credential_ready == 0",
            f"The credential {of} cannot be fetched on {NODE}",
            "Calls of the provider go elsewhere or fail with `credentials_failed`; the log of the node says why.",
        ),
        alert(
            "CredentialExpiring", "warning", "2m", "trestle_credential_expires_seconds < 180 and trestle_credential_ready == 1",
            f"The credential {of} ends in {{{{ $value | humanizeDuration }}}} and is not renewed on {NODE}",
            "Credentials are fetched ahead of their end; one that comes this close could not be.",
        ),
    ]


def limits():
    by = "by (namespace, job, owner_kind, owner, limit)"
    used = f'(max {by} (trestle_limit_used{{measure="usd"}}) + max {by} (trestle_limit_held{{measure="usd"}}))'
    amount = f'(max {by} (trestle_limit_amount{{measure="usd"}}) > 0)'
    of = "{{ $labels.owner_kind }} {{ $labels.owner }}"
    return [
        alert(
            "BudgetNearlySpent", "warning", "5m", f"{used} / {amount} > 0.9",
            f"{{{{ $value | humanizePercentage }}}} of a budget of {of} is spent or held",
            "Beyond the budget requests are refused with 402 until its window ends.",
        ),
        alert(
            "BudgetSpent", "warning", "5m", f"{used} / {amount} >= 1",
            f"A budget of {of} is spent",
            "Requests are refused with 402 until its window ends or the budget is raised.",
        ),
        alert(
            "LimitCountersNearlyFull", "warning", "10m", "trestle_limit_counters > 1800000",
            f"{NODE} keeps {{{{ $value | humanize }}}} counters of limits",
            "Of 2,000,000 that may be: beyond, requests that need another one are answered 503.",
        ),
        alert(
            "LeasesExpired", "warning", "0m", "increase(trestle_leases_expired_total[1h]) > 10",
            f"Holds on limits ended before their requests on {NODE}",
            "Requests run longer than their hold on limits lasts, so limits may be passed by what they cost.",
        ),
    ]


def ledger():
    full = "trestle_ledger_bytes / (trestle_ledger_max_bytes > 0)"
    return [
        alert(
            "LedgerLag", "critical", "1m", "trestle_ledger_lag_seconds > 5",
            f"The ledger of {NODE} was last whole on the disk {{{{ $value | humanizeDuration }}}} ago",
            "A loss of power would take the lines since then. The disk is slow, full or failing.",
        ),
        alert(
            "LedgerNearlyFull", "warning", "10m", f"{full} > 0.85",
            f"The ledger of {NODE} has {{{{ $value | humanizePercentage }}}} of what it may have",
            "Once it is full all calls of providers are answered 503. Raise `ledger_bytes_max`, or keep lines for fewer days.",
        ),
        alert(
            "LedgerFilling", "warning", "1h",
            f"predict_linear(trestle_ledger_bytes[6h], {3 * DAY}) > trestle_ledger_max_bytes and {full} > 0.5",
            f"The ledger of {NODE} will be full within three days",
            "As it grew over the last six hours. Once it is full all calls of providers are answered 503.",
        ),
        alert(
            "LedgerFull", "critical", "0m", 'sum by (namespace, job, instance) (rate(trestle_errors_total{cause="ledger_full"}[5m])) > 0 '
            f"or max by (namespace, job, instance) ({full}) >= 0.99",
            f"The ledger of {NODE} is full",
            "Calls of providers are answered 503 until there is room: on the disk, below `ledger_bytes_max`, or as files grow too old.",
        ),
        alert(
            "LedgerCopyLag", "warning", "5m", "trestle_ledger_copy_lag_seconds > 60",
            f"No other node has had all of the ledger of {NODE} for {{{{ $value | humanizeDuration }}}}",
            "If its disk is lost, so are the lines since then.",
        ),
    ]


def documents():
    return [
        alert(
            "StoreDown", "critical", "1m", "trestle_store_up == 0",
            f"The store of the document does not work on {NODE}",
            "Requests are served on; this node takes no changes. Look at its disk, then restart it.",
        ),
        alert(
            "DocumentBroken", "critical", "1m", "trestle_document_broken == 1",
            f"{NODE} serves an earlier document than it has",
            "What is kept does not compile on this node: most often another version of the program, or a file or variable that is missing.",
        ),
        alert(
            "ReloadRefused", "warning", "0m", seen('trestle_reloads_total{result="refused"}', "15m"),
            f"{NODE} has refused a new {{{{ $labels.what }}}}",
            "What was there before is used on. The log says what is wrong.",
        ),
    ]


def certificates():
    name = f"The certificate for {{{{ $labels.certificate }}}} of {NODE}"
    return [
        alert(
            "CertificateExpiring", "warning", "1h", f"trestle_certificate_expires_seconds < {14 * DAY}",
            f"{name} ends in {{{{ $value | humanizeDuration }}}}",
            "It should have been renewed by now. Nodes read the new one by themselves.",
        ),
        alert(
            "CertificateEnds", "critical", "5m", f"trestle_certificate_expires_seconds < {2 * DAY}",
            f"{name} ends in {{{{ $value | humanizeDuration }}}}",
            "After that clients, or other nodes, refuse it.",
        ),
    ]


def disks():
    free = "trestle_data_free_bytes / (trestle_data_bytes > 0)"
    return [
        alert(
            "DiskFilling", "warning", "1h", f"predict_linear(trestle_data_free_bytes[6h], {DAY}) < 0 and {free} < 0.4",
            f"The disk of {NODE} will be full within a day",
            "As it filled over the last six hours. With a full disk changes and calls of providers are refused.",
        ),
        alert(
            "DiskLow", "warning", "5m", f"{free} < 0.15",
            f"{{{{ $value | humanizePercentage }}}} of the disk of {NODE} are free",
            "With a full disk changes and calls of providers are refused.",
        ),
        alert(
            "DiskNearlyFull", "critical", "1m", f"{free} < 0.05",
            f"{{{{ $value | humanizePercentage }}}} of the disk of {NODE} are free",
            "With a full disk changes and calls of providers are refused.",
        ),
    ]


def node():
    return [
        alert(
            "Panics", "warning", "0m", seen('sum by (namespace, job, instance) (trestle_requests_total{outcome="panic"})', "15m"),
            f"Requests ended in a bug of the gateway on {NODE}",
            "Each takes its own request alone. The log has where: please report it.",
        ),
        alert(
            "RecordsDropped", "warning", "0m", "increase(trestle_records_dropped_total[5m]) > 0",
            f"{NODE} has lost lines of its request log",
            "The writer does not keep up: whoever reads the log is slow, or the node has too little CPU. The ledger is not concerned.",
        ),
        alert(
            "TelemetryFails", "warning", "5m",
            'sum by (namespace, job, instance, signal) (increase(trestle_otlp_exports_total{result!="ok"}[10m])) > 0',
            f"The collector does not take the {{{{ $labels.signal }}}} of {NODE}",
            "Messages are given up after several tries; metrics come later, spans are lost. Requests are not concerned.",
        ),
        alert(
            "FileDescriptorsLow", "warning", "5m", "process_open_fds / (process_max_fds > 0) > 0.8 and on (job, instance) trestle_build_info",
            f"{{{{ $value | humanizePercentage }}}} of the file descriptors of {NODE} are open",
            "With none left it accepts no connections and opens none to providers.",
        ),
        alert(
            "ConnectionsRefused", "warning", "0m", seen("trestle_connections_refused_total", "5m"),
            f"{NODE} closes new connections",
            "`connections_max` are open.",
        ),
        alert(
            "AcceptErrors", "warning", "0m", seen("trestle_accept_errors_total", "5m"),
            f"{NODE} cannot accept connections",
            "Most often there are no file descriptors left.",
        ),
    ]
