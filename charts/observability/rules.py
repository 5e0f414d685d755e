"""The file of Prometheus rules: recorded series, and alerts with links to their runbooks."""

import json

from . import alerts, objectives

HEAD = """\
# Rules for Prometheus, made by charts/generate.py: change them there. `runbook_url` is a path of the repository; the chart puts
# prometheusRule.runbookBaseUrl before it.
"""


def recorded():
    """How requests went over each window, by cluster, so that alerts and dashboards need not ask for it again and again."""
    rules = []
    for window in objectives.WINDOWS:
        rules += [
            record("trestle_requests_valid", window, valid(window)),
            record("trestle_requests_failed", window, failed(window)),
            record("trestle_requests_timed", window, within("trestle_request_seconds", window, "count")),
            record("trestle_requests_slow", window, slow("trestle_request_seconds", window, objectives.LATENCY_SECONDS)),
            record("trestle_streams_timed", window, within("trestle_stream_first_token_seconds", window, "count")),
            record(
                "trestle_streams_slow",
                window,
                slow("trestle_stream_first_token_seconds", window, objectives.FIRST_TOKEN_SECONDS),
            ),
        ]
    return rules


def record(name, window, expr):
    return {"record": f"namespace_job:{name}:rate{window}", "expr": expr}


def total(selector, window):
    return f"sum by (namespace, job) (rate({selector}[{window}]))"


def requests(window):
    return total("trestle_requests_total", window)


def errors(window, causes):
    """Families of errors are there only once something failed."""
    return f"({total(f'trestle_errors_total{{{causes}}}', window)} or 0 * {requests(window)})"


def valid(window):
    """All requests but those that their callers spoiled."""
    return f"""{requests(window)} - {errors(window, f'cause=~"{objectives.CALLERS}"')}"""


def failed(window):
    panics = total('trestle_requests_total{outcome="panic"}', window)
    ours = errors(window, f'cause!~"{objectives.CALLERS}"')
    return f"{ours} + ({panics} or 0 * {requests(window)})"


def within(family, window, part, bound=""):
    return total(f'{family}_{part}{{provider!="",endpoint!="{objectives.SESSIONS}"{bound}}}', window)


def slow(family, window, seconds):
    return f"""{within(family, window, "count")} - {within(family, window, "bucket", f',le="{seconds}"')}"""


def groups():
    return [{"name": "trestle.objectives", "rules": recorded()}] + alerts.groups()


def text():
    """As YAML. Written here, as the standard library has no writer: texts are JSON's, queries stand on lines of their own."""
    lines = [HEAD + "groups:"]
    for group in groups():
        lines += [f"  - name: {group['name']}", "    rules:"]
        for rule in group["rules"]:
            kind = "record" if "record" in rule else "alert"
            lines += [f"      - {kind}: {rule[kind]}", "        expr: |-", f"          {rule['expr']}"]
            if rule.get("for", "0m") != "0m":
                lines.append(f"        for: {rule['for']}")
            for table in ("labels", "annotations"):
                if table in rule:
                    lines.append(f"        {table}:")
                    lines += [f"          {name}: {json.dumps(value)}" for name, value in rule[table].items()]
    return "\n".join(lines) + "\n"
