"""The rules are Prometheus's, ask only for what there is, and lead to a page that says what to do."""

import re

from conftest import CHARTS, ROOT, selectors
from observability import objectives
from promtool import promtool

SEVERITIES = {"critical", "warning"}
# The questions that each runbook answers.
PARTS = ["**What it means.**", "**See it.**", "**Do.**", "**Over when.**"]


def anchor(heading):
    """As GitHub makes them."""
    kept = heading.strip().lower().replace(" ", "-")
    return re.sub(r"[^\w-]", "", kept)


def runbooks():
    """The text below each heading of an alert, by page and anchor."""
    found = {}
    for page in sorted((ROOT / "docs/operations").glob("*.md")):
        for part in re.split(r"^(?=#+ )", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
            heading = part.split("\n")[0].lstrip("#").strip()
            if heading.startswith("Trestle") and " " not in heading:
                found[f"docs/operations/{page.name}#{anchor(heading)}"] = part
    return found


def test_prometheus_takes_them():
    promtool("check", "rules", str(CHARTS / "trestle/alerts/trestle.yaml"))


def test_alerts_say_what_and_where(alerts):
    names = [rule["alert"] for rule in alerts]
    assert len(set(names)) == len(names)
    for rule in alerts:
        assert rule["labels"]["severity"] in SEVERITIES
        assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}, rule["alert"]
        assert rule["annotations"]["description"].endswith("."), rule["alert"]


def test_each_alert_has_a_runbook_and_each_runbook_an_alert(alerts):
    there = runbooks()
    wanted = {rule["annotations"]["runbook_url"] for rule in alerts}
    assert wanted - set(there) == set(), "alerts without a runbook"
    assert set(there) - wanted == set(), "runbooks of no alert"
    for place, text in there.items():
        missing = [part for part in PARTS if part not in text]
        assert not missing, f"{place} lacks {missing}"


def test_rules_ask_for_what_there_is(groups, series):
    for group in groups:
        for rule in group["rules"]:
            name = rule.get("alert") or rule["record"]
            for metric, labels in selectors(rule["expr"]):
                assert metric in series, f"{name}: no metric {metric}"
                assert labels <= series[metric], f"{name}: {metric} has no labels {labels - series[metric]}"


def test_recorded_series_are_used(groups, recorded):
    asked = {metric for group in groups for rule in group["rules"] for metric, _ in selectors(rule["expr"])}
    # Those of all windows are shown on the overview; a window that no alert needs would be for it alone.
    assert recorded <= asked


def test_causes_are_those_of_the_page():
    page = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    words = set(re.findall(r"^\| `(\w+)`", page, flags=re.MULTILINE))
    assert set(objectives.CALLERS_CAUSES) <= words
