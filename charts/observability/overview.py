"""How it goes as a whole: what callers see, and whether there is room."""

from . import objectives
from .panels import OF_CLUSTERS, TARGETS, Board, heatmap, nodes, of, per_second, quantile, quantiles, targets

CALLERS = f'cause=~"{objectives.CALLERS}"'
OURS = f'cause!~"{objectives.CALLERS}"'


def board():
    made = Board("overview", "Overview", "What callers see of the gateway, and whether there is room.", nodes() + targets())
    now(made)
    rates(made)
    errors(made)
    durations(made)
    saturation(made)
    return made


def now(made):
    requests = per_second("trestle_requests_total")
    failed = f"({per_second('trestle_errors_total', more=OURS)} or vector(0))"
    spoiled = f"({per_second('trestle_errors_total', more=CALLERS)} or vector(0))"
    made.row("Now")
    made.stat("Requests", "Requests that ended, each second.", per_second("trestle_requests_total", more=TARGETS), unit="reqps")
    made.stat(
        "Succeed", "Of requests that their callers did not spoil, those that did not fail. Of all endpoints, providers and models.",
        f"1 - {failed} / ({requests} - {spoiled} > 0)", unit="percentunit", max=1, decimals=3,
        thresholds=[(None, "red"), (objectives.AVAILABILITY, "yellow"), ((1 + objectives.AVAILABILITY) / 2, "green")],
    )
    made.stat("Request, p95", "From a request's head to the end of its answer.", quantile(0.95, "trestle_request_seconds", more=TARGETS), unit="s")
    made.stat(
        "First token, p95", "Of streams: from the request's head to the first content.",
        quantile(0.95, "trestle_stream_first_token_seconds", more=TARGETS), unit="s",
        thresholds=[(None, "green"), (objectives.FIRST_TOKEN_SECONDS, "red")],
    )
    made.stat("In flight", "Requests that run now.", f"sum({of('trestle_in_flight')})")
    made.stat("Spend", "By the catalog's prices, in US dollars each hour at the present rate.",
              f"3600 * {per_second('trestle_cost_usd_total', more=TARGETS)}", unit="currencyUSD", decimals=2)
    made.stat("Nodes", "Nodes that answer Prometheus.", f"count({of('trestle_build_info')})", graph=False)
    made.stat(
        "Leaders", "Nodes that lead: one in each cluster.", f"sum({of('trestle_raft_leads')})", graph=False,
        thresholds=[(None, "red"), (1, "green")],
    )


def rates(made):
    made.row("Rate")
    made.series("Requests by outcome", "How requests ended; `refused` by us, `fault` is an error of the provider that was passed on.",
                (per_second("trestle_requests_total", "outcome", TARGETS), "{{outcome}}"), unit="reqps", stack=True)
    made.series("Requests by endpoint", "What was asked for.",
                (per_second("trestle_requests_total", "endpoint", TARGETS), "{{endpoint}}"), unit="reqps", stack=True)
    made.series("Requests by model", "The ten that are asked for most.",
                (f"topk(10, {per_second('trestle_requests_total', 'provider, model', TARGETS)})", "{{provider}}/{{model}}"), unit="reqps")
    made.series("Tokens", "Tokens that providers reported, read and written.",
                (per_second("trestle_input_tokens_total", "kind", TARGETS), "input, {{kind}}"),
                (per_second("trestle_output_tokens_total", "kind", TARGETS), "output, {{kind}}"), unit="short", stack=True)
    made.series("Bodies", "Bytes of bodies from and to clients.",
                (per_second("trestle_body_bytes_total", "direction", TARGETS), "{{direction}}"), unit="Bps")
    made.series("Requests by node", "Strict limits have a share for each node, so requests should be spread evenly.",
                (per_second("trestle_requests_total", "instance", TARGETS), "{{instance}}"), unit="reqps")


def errors(made):
    made.row("Errors")
    made.series("What failed", "Requests that failed by our fault or a provider's, by cause.",
                (per_second("trestle_errors_total", "outcome, cause", OURS), "{{outcome}}: {{cause}}"), unit="reqps", stack=True)
    made.series("What callers spoiled", "Requests that cannot be served as they are, or that limits refuse, by cause.",
                (per_second("trestle_errors_total", "outcome, cause", CALLERS), "{{outcome}}: {{cause}}"), unit="reqps", stack=True)
    made.series("What limits did", "Requests that limits refused, and warnings that they gave.",
                (per_second("trestle_limits_total", "owner_kind, measure, what"), "{{owner_kind}} {{measure}}: {{what}}"), unit="reqps")
    for title, bad, all_, objective in (
        ("Failures", "trestle_requests_failed", "trestle_requests_valid", objectives.AVAILABILITY),
        ("Slow requests", "trestle_requests_slow", "trestle_requests_timed", objectives.LATENCY),
        ("Slow first tokens", "trestle_streams_slow", "trestle_streams_timed", objectives.FIRST_TOKEN),
    ):
        burns = [
            (f"sum({recorded(bad, w)}) / sum({recorded(all_, w)}) / {1 - objective:.6g}", f"over {w}") for w in objectives.WINDOWS
        ]
        made.series(f"{title}: budget burn", f"How many times faster than the objective of {100 * objective:g} % allows. Of recorded series.",
                    *burns, unit="none", thresholds=[(None, "green"), (1, "yellow"), (6, "orange"), (14.4, "red")])


def recorded(name, window):
    return f"namespace_job:{name}:rate{window}{{{OF_CLUSTERS}}}"


def durations(made):
    made.row("Duration")
    made.series("Request", "From a request's head to the end of its answer, or of its session.",
                *quantiles("trestle_request_seconds", TARGETS), unit="s")
    made.series("First token", "Of streams: from the request's head to the first content.",
                *quantiles("trestle_stream_first_token_seconds", TARGETS), unit="s")
    made.series("Between tokens", "Of streams: between two content events.", *quantiles("trestle_stream_inter_token_seconds", TARGETS), unit="s")
    made.add(heatmap("Requests by time", "How many requests took how long.", "trestle_request_seconds", TARGETS))
    made.series("Overhead", "What the gateway adds itself: without waiting for providers and clients.", *quantiles("trestle_overhead_seconds"), unit="s")
    made.series("Stages, p95", "Where the time of requests goes within the gateway.",
                (quantile(0.95, "trestle_stage_seconds", "stage"), "{{stage}}"), unit="s")


def saturation(made):
    made.row("Saturation")
    made.series("In flight by node", "Requests that run now.", (f"sum by (instance) ({of('trestle_in_flight')})", "{{instance}}"))
    made.series("Buffered bodies", "Bytes of bodies held now; beyond `buffered_bytes_max` requests are answered 503.",
                (f"sum by (instance) ({of('trestle_buffered_bytes')})", "{{instance}}"), unit="bytes")
    made.series("CPU", "Cores in use.", (per_second("process_cpu_seconds_total", "instance"), "{{instance}}"), unit="short")
    made.series("Memory", "Resident memory.", (of("process_resident_memory_bytes"), "{{instance}}"), unit="bytes")
    made.series("Waiting for providers", "Calls in a provider's queue.",
                (f"sum by (provider) ({of('trestle_provider_queue')})", "{{provider}}"))
    made.series("Connections", "Connections of clients that are open.", (of("trestle_connections"), "{{instance}}"))
