"""How providers do: calls of them, apart from what callers see of it."""

from .panels import RATE, TARGETS, Board, nodes, of, per_second, quantile, quantiles, table, targets


def board():
    made = Board("providers", "Providers", "Calls of providers: how many, how they end, how long they take.", nodes() + targets())
    made.row("All providers")
    made.add(summary(), width=24, height=9)
    rates(made)
    errors(made)
    durations(made)
    saturation(made)
    credentials(made)
    return made


def summary():
    by = "provider"
    queries = [
        (per_second("trestle_upstream_requests_total", by, TARGETS), ""),
        (failing(by), ""),
        (quantile(0.95, "trestle_upstream_latency_seconds", by, TARGETS), ""),
        (quantile(0.95, "trestle_stream_first_token_seconds", by, TARGETS), ""),
        (f"sum by ({by}) ({of('trestle_provider_in_flight', PROVIDER)})", ""),
        (f"3600 * {per_second('trestle_cost_usd_total', by, TARGETS)}", ""),
    ]
    columns = ["Calls", "Fail", "Latency, p95", "First token, p95", "In flight", "Spend an hour"]
    names = {f"Value #{'ABCDEF'[number]}": column for number, column in enumerate(columns)} | {"provider": "Provider"}
    units = dict(zip(columns, ["reqps", "percentunit", "s", "s", "short", "currencyUSD"]))
    return table("Providers", "Each provider at the present rate.", queries, names, units)


PROVIDER = 'provider=~"$provider"'


def failing(by):
    """Of attempts; some of them fail before a call is made, so that calls are no measure."""
    bad, good = per_second("trestle_error_requests_total", by, TARGETS), per_second("trestle_success_requests_total", by, TARGETS)
    return f"{bad} / ({bad} + ({good} or 0 * {bad}))"


def rates(made):
    made.row("Rate")
    made.series("Calls by provider", "Calls of providers as they end, those that were tried again among them.",
                (per_second("trestle_upstream_requests_total", "provider", TARGETS), "{{provider}}"), unit="reqps", stack=True)
    made.series("Calls by model", "The ten models that are called most.",
                (f"topk(10, {per_second('trestle_upstream_requests_total', 'provider, model', TARGETS)})", "{{provider}}/{{model}}"), unit="reqps")
    made.series("Calls that ended well", "By provider.",
                (per_second("trestle_success_requests_total", "provider", TARGETS), "{{provider}}"), unit="reqps", stack=True)
    made.series("Input tokens", "As reported; kinds do not overlap.",
                (per_second("trestle_input_tokens_total", "provider, kind", TARGETS), "{{provider}}, {{kind}}"), unit="short", stack=True)
    made.series("Output tokens", "As reported; kinds do not overlap.",
                (per_second("trestle_output_tokens_total", "provider, kind", TARGETS), "{{provider}}, {{kind}}"), unit="short", stack=True)
    made.series("Calls for a request", "Beyond 1 calls are tried again, or elsewhere.",
                (f'{per_second("trestle_upstream_requests_total", more=TARGETS)} / {per_second("trestle_requests_total", more=ANSWERED)}', "calls"),
                unit="none")


ANSWERED = TARGETS + ',provider!=""'


def errors(made):
    made.row("Errors")
    made.series("Share that fails", "Of attempts at a provider, but for those that were given up as the client left.",
                (failing("provider"), "{{provider}}"), unit="percentunit", max=1, thresholds=[(None, "green"), (0.2, "orange"), (0.9, "red")])
    made.series("Failed attempts by cause", "Words of docs/errors.md.",
                (per_second("trestle_error_requests_total", "provider, cause", TARGETS), "{{provider}}: {{cause}}"), unit="reqps", stack=True)
    made.series("Failed attempts by model", "The ten models that fail most.",
                (f"topk(10, {per_second('trestle_error_requests_total', 'provider, model', TARGETS)})", "{{provider}}/{{model}}"), unit="reqps")


def durations(made):
    made.row("Duration")
    made.series("Latency", "From a request sent to the head of the provider's answer.", *quantiles("trestle_upstream_latency_seconds", TARGETS), unit="s")
    made.series("Latency by provider, p95", "The same by provider.",
                (quantile(0.95, "trestle_upstream_latency_seconds", "provider", TARGETS), "{{provider}}"), unit="s")
    made.series("Latency by model, p95", "The ten slowest.",
                (f"topk(10, {quantile(0.95, 'trestle_upstream_latency_seconds', 'provider, model', TARGETS)})", "{{provider}}/{{model}}"), unit="s")
    made.series("First token by provider, p95", "Of streams: from the request's head to the first content.",
                (quantile(0.95, "trestle_stream_first_token_seconds", "provider", TARGETS), "{{provider}}"), unit="s")
    made.series("Between tokens by provider, p95", "Of streams: between two content events.",
                (quantile(0.95, "trestle_stream_inter_token_seconds", "provider", TARGETS), "{{provider}}"), unit="s")
    made.series("Request by provider, p95", "From a request's head to the end of its answer.",
                (quantile(0.95, "trestle_request_seconds", "provider", ANSWERED), "{{provider}}"), unit="s")


def saturation(made):
    made.row("Saturation")
    made.series("In flight", "Calls that run now.", (f"sum by (provider) ({of('trestle_provider_in_flight', PROVIDER)})", "{{provider}}"))
    made.series("Queue", "Calls that wait for others to end.", (f"sum by (provider) ({of('trestle_provider_queue', PROVIDER)})", "{{provider}}"),
                thresholds=[(None, "green"), (1, "orange")])
    made.series("Connections opened", "New connections to a provider; many mean that it does not keep them.",
                (per_second("trestle_upstream_connections_total", "provider", PROVIDER), "{{provider}}"), unit="cps")


def credentials(made):
    made.row("Credentials that are fetched")
    lowest = f"min by (provider, key) ({of('trestle_credential_ready', PROVIDER)})"
    made.series("Ready", "1 while a credential can be used on all nodes.", (lowest, "{{provider}}/{{key}}"), max=1)
    ends = f"min by (provider, key) ({of('trestle_credential_expires_seconds', PROVIDER)})"
    made.series("Time left", "Until a credential ends, on the node where that is soonest.", (ends, "{{provider}}/{{key}}"), unit="s",
                thresholds=[(None, "red"), (180, "green")])
    fetches = f"sum by (provider, key, result) (increase({of('trestle_credential_fetches_total', PROVIDER)}[{RATE}]))"
    made.series("Fetches", "How often they were fetched, by result.", (fetches, "{{provider}}/{{key}}: {{result}}"))
