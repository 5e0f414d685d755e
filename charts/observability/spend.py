"""Money and limits: what is spent, on what, by whom, and what is left."""

from .panels import TARGETS, Board, bars, nodes, of, per_second, table, targets, variable

OWNERS = 'owner_kind=~"$owner_kind",owner=~"$owner"'
TEAMS = 'team=~"$team"'
LIMIT = "owner_kind, owner, limit, measure"
LEGEND = "{{owner_kind}} {{owner}}: {{limit}}"


def board():
    variables = nodes() + targets() + [
        variable("owner_kind", of("trestle_limit_amount")),
        variable("owner", of("trestle_limit_amount", 'owner_kind=~"$owner_kind"')),
        variable("team", of("trestle_key_requests_total")),
    ]
    made = Board("spend", "Spend", "What is spent, on what and by whom, and what is left of limits and budgets.", variables)
    money(made)
    tokens(made)
    limits(made)
    keys(made)
    return made


def grown(metric, by="", more=""):
    return f"sum{f' by ({by})' if by else ''} (increase({of(metric, more)}[$__range]))"


def money(made):
    cost, input_, output = "trestle_cost_usd_total", "trestle_input_tokens_total", "trestle_output_tokens_total"
    made.row("Money: by the catalog's prices, in US dollars; the exact sums are in the ledger")
    made.stat("Spent", "In the time that is shown.", grown(cost, more=TARGETS), unit="currencyUSD", instant=True, graph=False, width=4, decimals=4)
    made.stat("An hour", "At the present rate.", f"3600 * {per_second(cost, more=TARGETS)}", unit="currencyUSD", width=4, decimals=4)
    made.stat("A request", "Of requests in the time that is shown that reached a provider.",
              f"{grown(cost, more=TARGETS)} / {grown('trestle_requests_total', more=REACHED)}",
              unit="currencyUSD", instant=True, graph=False, width=4, decimals=6)
    made.stat("A million tokens", "Of all kinds, in the time that is shown.",
              f"1e6 * {grown(cost, more=TARGETS)} / ({grown(input_, more=TARGETS)} + {grown(output, more=TARGETS)})",
              unit="currencyUSD", instant=True, graph=False, width=4, decimals=4)
    made.stat("Read from caches", "Of input tokens, in the time that is shown.",
              f"""{grown(input_, more=TARGETS + ',kind="cache_read"')} / {grown(input_, more=TARGETS)}""",
              unit="percentunit", max=1, instant=True, graph=False, width=4, noValue="none")
    made.stat("Refused by limits", "Requests in the time that is shown.", grown("trestle_limits_total", more='what="refused"'),
              instant=True, graph=False, width=4, noValue="0")
    made.series("Dollars an hour by provider", "At the rate of the moment.", (f"3600 * {per_second(cost, 'provider', TARGETS)}", "{{provider}}"),
                unit="currencyUSD", stack=True)
    made.series("Dollars an hour by model", "The ten dearest.",
                (f"topk(10, 3600 * {per_second(cost, 'provider, model', TARGETS)})", "{{provider}}/{{model}}"), unit="currencyUSD")
    made.add(bars("Spent by model", "In the time that is shown, the ten dearest.",
                  [(f"topk(10, {grown(cost, 'provider, model', TARGETS)})", "{{provider}}/{{model}}")], unit="currencyUSD"))


REACHED = TARGETS + ',provider!=""'


def tokens(made):
    made.row("Tokens and other things that are charged")
    made.series("Input tokens by kind", "As reported; kinds do not overlap.",
                (per_second("trestle_input_tokens_total", "kind", TARGETS), "{{kind}}"), stack=True)
    made.series("Output tokens by kind", "As reported; kinds do not overlap.",
                (per_second("trestle_output_tokens_total", "kind", TARGETS), "{{kind}}"), stack=True)
    made.series("Other things", "Pictures made, milliseconds of sound heard, characters spoken.",
                (per_second("trestle_things_total", "kind", TARGETS), "{{kind}}"))


def limits(made):
    def most(metric, more=""):
        """All nodes of a cluster count the same limits; the one that has heard most is right."""
        return f"max by ({LIMIT}) ({of(metric, OWNERS + more)})"

    def share(more):
        return f"({most('trestle_limit_used', more)} + {most('trestle_limit_held', more)}) / ({most('trestle_limit_amount', more)} > 0)"

    usd, others = ',measure="usd"', ',measure!="usd"'
    full = [(None, "green"), (0.8, "orange"), (0.95, "red")]
    made.row("Limits and budgets of customers, teams, models and providers")
    made.add(bars("Budgets", "What is spent or held of each.", [(share(usd), LEGEND)], unit="percentunit", max=1, thresholds=full))
    made.add(bars("Other limits", "What is used or held of each.", [(share(others), LEGEND + " {{measure}}")], unit="percentunit", max=1, thresholds=full))
    left = f"{most('trestle_limit_amount', usd)} - {most('trestle_limit_used', usd)} - {most('trestle_limit_held', usd)}"
    made.series("Left of budgets", "In US dollars.", (left, LEGEND), unit="currencyUSD", min=None)
    made.series("Held", "What requests that run hold of limits, as a part of their amount.",
                (f"{most('trestle_limit_held')} / ({most('trestle_limit_amount')} > 0)", LEGEND + " {{measure}}"), unit="percentunit")
    made.series("Let in and refused", "Requests of callers or models with limits.",
                (per_second("trestle_limits_admitted_total"), "let in"),
                (per_second("trestle_limits_total", "owner_kind, measure, what"), "{{owner_kind}} {{measure}}: {{what}}"), unit="reqps")
    made.series("Counters", "Counters of limits that a node keeps, of 2,000,000 at most, and holds that ended before their requests.",
                (of("trestle_limit_counters"), "counters on {{instance}}"),
                (f"sum(increase({of('trestle_leases_expired_total')}[$__rate_interval]))", "holds that ended"))


def keys(made):
    made.row("Keys: only where the node setting metrics.keys_max allows series for them")
    by = "team, key"
    queries = [
        (grown("trestle_key_requests_total", by, TEAMS), ""),
        (grown("trestle_key_cost_usd_total", by, TEAMS), ""),
        (grown("trestle_key_input_tokens_total", by, TEAMS), ""),
        (grown("trestle_key_output_tokens_total", by, TEAMS), ""),
    ]
    columns = ["Requests", "US dollars", "Input tokens", "Output tokens"]
    names = {f"Value #{'ABCD'[number]}": column for number, column in enumerate(columns)} | {"team": "Team", "key": "Key"}
    made.add(table("Keys", "In the time that is shown.", queries, names, dict(zip(columns, ["short", "currencyUSD", "short", "short"]))), width=12)
    made.series("Dollars an hour by team", "At the rate of the moment.",
                (f"3600 * {per_second('trestle_key_cost_usd_total', 'team', TEAMS)}", "{{team}}"), unit="currencyUSD", stack=True, width=12)
