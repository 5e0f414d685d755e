"""The dashboards have a form that Grafana takes, and ask only for what there is."""

import json
import re

import generate
from conftest import CHARTS, family_of, selectors
from observability.panels import BOARDS, SCHEMA_VERSION

# Variables of Grafana's own.
BUILT_IN = {"__rate_interval": "5m", "__range": "1h", "__all": "x", "datasource": "x"}

# Families that no dashboard shows, and why not.
NOT_SHOWN = {"process_virtual_memory_bytes": "most of it is mapped and never touched"}


def panels(board):
    return [panel for panel in board["panels"] if panel["type"] != "row"]


def queries(board):
    """All queries with the name of what asks."""
    for panel in panels(board):
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for annotation in board["annotations"]["list"]:
        yield annotation["name"], annotation["expr"]
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"])[1]


def filled(query):
    for name, value in BUILT_IN.items():
        query = query.replace(f"${name}", value)
    return re.sub(r"\$\w+", ".*", query)


def test_files_are_as_they_are_made():
    made = generate.files()
    stale = [path.name for path, text in made.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    assert not stale, f"run python3 charts/generate.py: {stale}"
    there = set((CHARTS / "trestle/dashboards").iterdir()) | set((CHARTS / "trestle/alerts").iterdir())
    assert there == set(made), "files that nothing makes"


def test_names_and_numbers_are_unique(boards):
    assert {name.removesuffix(".json") for name in boards} == set(BOARDS)
    assert len({board["uid"] for board in boards.values()}) == len(boards)
    assert len({board["title"] for board in boards.values()}) == len(boards)
    for name, board in boards.items():
        assert board["schemaVersion"] == SCHEMA_VERSION
        numbers = [panel["id"] for panel in board["panels"]]
        assert len(set(numbers)) == len(numbers), name
        titles = [panel["title"] for panel in panels(board)]
        assert len(set(titles)) == len(titles), f"{name}: {titles}"
        for panel in panels(board):
            letters = [target["refId"] for target in panel["targets"]]
            assert len(set(letters)) == len(letters)


def test_panels_say_what_they_show(boards):
    for name, board in boards.items():
        for panel in panels(board):
            where = f"{name}: {panel['title']}"
            assert panel["description"].endswith("."), where
            assert panel["datasource"]["uid"] == "${datasource}", where
            assert panel["targets"], where
            if panel["type"] not in ("table", "heatmap"):
                assert "unit" in panel["fieldConfig"]["defaults"], where
            first, *others = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
            assert first["value"] is None, where
            values = [step["value"] for step in others]
            assert values == sorted(values), where


def test_panels_do_not_overlap(boards):
    for name, board in boards.items():
        taken = {}
        for panel in board["panels"]:
            at = panel["gridPos"]
            assert at["x"] + at["w"] <= 24, name
            for cell in ((x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])):
                assert cell not in taken, f"{name}: {panel['title']} lies over {taken.get(cell)}"
                taken[cell] = panel["title"]


def test_dashboards_are_linked(boards):
    uids = {board["uid"] for board in boards.values()}
    for board in boards.values():
        linked = {link["url"].removeprefix("/d/") for link in board["links"]}
        assert linked == uids - {board["uid"]}


def test_variables_are_there_and_used(boards):
    for name, board in boards.items():
        declared = [variable["name"] for variable in board["templating"]["list"]]
        assert {"datasource", "namespace", "job", "instance"} <= set(declared), name
        used = set(re.findall(r"\$\{?(\w+)", json.dumps(board)))
        assert used - set(BUILT_IN) - set(declared) == set(), name
        assert set(declared) - used == set(), f"{name}: variables that nothing uses"
        # A variable may only use those before it.
        for number, variable in enumerate(board["templating"]["list"]):
            earlier = set(declared[:number])
            inner = set(re.findall(r"\$\{?(\w+)", json.dumps(variable.get("query", ""))))
            assert inner <= earlier, f"{name}: {variable['name']}"


def test_queries_ask_for_what_there_is(boards, series):
    asked = 0
    for name, board in boards.items():
        for title, query in queries(board):
            for metric, labels in selectors(filled(query)):
                asked += 1
                assert metric in series, f"{name}: {title}: no metric {metric}"
                strange = labels - series[metric]
                assert not strange, f"{name}: {title}: {metric} has no labels {strange}"
                assert {"namespace", "job"} <= labels or title in ("namespace", "job"), f"{name}: {title}: {metric} of all jobs"
    assert asked > 200


def test_each_family_is_shown(boards, families):
    shown = {
        family_of(metric, families)
        for board in boards.values()
        for panel in panels(board)
        for target in panel["targets"]
        for metric, _ in selectors(filled(target["expr"]))
    }
    hidden = set(families) - shown
    assert hidden == set(NOT_SHOWN), f"not shown: {sorted(hidden - set(NOT_SHOWN))}; shown by now: {sorted(set(NOT_SHOWN) - hidden)}"
