"""What the suites read: the files that were made, and what the pages say there is."""

import json
import re
import sys
from pathlib import Path

import promql_parser
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
CHARTS = ROOT / "charts"
sys.path.insert(0, str(CHARTS))

# What Prometheus itself adds to each series, and what it makes.
SCRAPED = {"namespace", "job", "instance"}
OWN = {"up": SCRAPED}


@pytest.fixture(scope="session")
def boards():
    """The dashboards by file name."""
    paths = sorted((CHARTS / "trestle/dashboards").glob("*.json"))
    return {path.name: json.loads(path.read_text(encoding="utf-8")) for path in paths}


@pytest.fixture(scope="session")
def groups():
    return yaml.safe_load((CHARTS / "trestle/alerts/trestle.yaml").read_text(encoding="utf-8"))["groups"]


@pytest.fixture(scope="session")
def alerts(groups):
    return [rule for group in groups for rule in group["rules"] if "alert" in rule]


@pytest.fixture(scope="session")
def recorded(groups):
    return {rule["record"] for group in groups for rule in group["rules"] if "record" in rule}


@pytest.fixture(scope="session")
def families():
    """The families of docs/metrics.md, each with its type and its labels."""
    row = re.compile(r"^\| `(\w+)` \| (\w+)[^|]*\| ([^|]*)\|", re.MULTILINE)
    page = (ROOT / "docs/metrics.md").read_text(encoding="utf-8")
    found = {name: (kind, set(re.findall(r"`(\w+)`", labels))) for name, kind, labels in row.findall(page)}
    assert len(found) > 50, "docs/metrics.md does not look as expected"
    return found


@pytest.fixture(scope="session")
def series(families, recorded):
    """The names of series that there are, each with the labels that it may have."""
    known = dict(OWN) | {name: {"namespace", "job"} for name in recorded}
    for name, (kind, labels) in families.items():
        if kind == "histogram":
            known[f"{name}_bucket"] = labels | SCRAPED | {"le"}
            known[f"{name}_sum"] = known[f"{name}_count"] = labels | SCRAPED
        else:
            known[name] = labels | SCRAPED
    return known


def selectors(query):
    """The names that a query asks for, each with the labels that it chooses by; fails where it does not parse."""
    found = []

    def visit(node):
        if isinstance(node, promql_parser.MatrixSelector):
            node = node.vector_selector
            found.append((node.name, {matcher.name for matcher in node.matchers.matchers}))
        elif isinstance(node, promql_parser.VectorSelector):
            found.append((node.name, {matcher.name for matcher in node.matchers.matchers}))
        return True

    promql_parser.walk(promql_parser.parse(query), visit)
    return found


def family_of(name, families):
    """The family that a series belongs to."""
    if name in families:
        return name
    return re.sub(r"_(bucket|sum|count)$", "", name)
