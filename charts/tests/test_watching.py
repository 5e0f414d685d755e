"""Alerts and dashboards that come with the chart, wrapped for the operators of Prometheus and Grafana: none, some, and ours."""

import json
import shutil

import helm_python as helm
import pytest
import yaml
from conftest import CHART, NAMESPACE, RELEASE, Manifests
from custom_resources import problems

ON = {"prometheusRule": {"enabled": True, "runbookBaseUrl": "https://git.example/main/", "alertLabels": {"team": "x"}}, "dashboards": {"enabled": True}}
RULES = {
    "groups": [
        {
            "name": "one",
            "rules": [
                {
                    "alert": "A",
                    "expr": "up == 0",
                    "labels": {"severity": "page"},
                    "annotations": {"summary": "{{ $labels.pod }} of {{ $value }}", "runbook_url": "docs/operations/a.md"},
                },
                {"alert": "B", "expr": "up == 1"},
                {"record": "c", "expr": "up"},
            ],
        }
    ]
}


@pytest.fixture
def render_with(tmp_path):
    """Renders the chart with other files for alerts and dashboards."""

    def render(rules=None, dashboards=(), values=None):
        folder = tmp_path / "trestle"
        shutil.copytree(CHART, folder, ignore=shutil.ignore_patterns("dashboards", "alerts"))
        if rules:
            (folder / "alerts").mkdir()
            (folder / "alerts/trestle.yaml").write_text(yaml.safe_dump(rules))
        for name, dashboard in dashboards:
            (folder / "dashboards").mkdir(exist_ok=True)
            (folder / f"dashboards/{name}.json").write_text(json.dumps(dashboard, indent=2))
        with helm.Chart.load(folder) as chart:
            return Manifests(chart.render(values or ON, name=RELEASE, namespace=NAMESPACE))

    return render


def dashboards(manifests):
    return [of for of in manifests.all if of["kind"] == "ConfigMap" and "-dashboard-" in of["metadata"]["name"]]


def test_nothing_to_wrap(render_with):
    manifests = render_with()
    assert manifests.of("PrometheusRule") is None and dashboards(manifests) == []


def test_alerts_keep_what_they_say(render_with):
    rule = render_with(rules=RULES).of("PrometheusRule")
    assert problems(rule) == []
    (group,) = rule["spec"]["groups"]
    alert, other, recorded = group["rules"]
    assert alert["labels"] == {"severity": "page", "team": "x"} and other["labels"] == {"team": "x"}
    assert alert["annotations"]["summary"] == "{{ $labels.pod }} of {{ $value }}"
    assert alert["annotations"]["runbook_url"] == "https://git.example/main/docs/operations/a.md"
    assert recorded == {"record": "c", "expr": "up"}


def test_rules_of_the_operator_come_beside(render_with):
    own = {"name": "own", "rules": [{"record": "x", "expr": "up"}]}
    rule = render_with(rules=RULES, values={"prometheusRule": {"enabled": True, "extraGroups": [own]}}).of("PrometheusRule")
    assert [group["name"] for group in rule["spec"]["groups"]] == ["one", "own"]
    assert rule["spec"]["groups"][0]["rules"] == RULES["groups"][0]["rules"]


def test_dashboards_are_what_their_files_say(render_with):
    given = [("a", {"title": "{{ job }}", "panels": [{"text": 'a "quoted" line\n$job'}]}), ("b", {"title": "B"})]
    made = dashboards(render_with(dashboards=given))
    assert [of["metadata"]["name"] for of in made] == ["demo-trestle-dashboard-a", "demo-trestle-dashboard-b"]
    assert [json.loads(of["data"][f"trestle-{name}.json"]) for of, (name, _) in zip(made, given)] == [of for _, of in given]
    assert made[0]["metadata"]["labels"]["grafana_dashboard"] == "1"


def test_those_of_the_chart(render):
    manifests = render(ON)
    files = {path.stem: json.loads(path.read_text()) for path in (CHART / "dashboards").glob("*.json")}
    made = {of["metadata"]["name"].removeprefix("demo-trestle-dashboard-"): of for of in dashboards(manifests)}
    assert {name: json.loads(of["data"][f"trestle-{name}.json"]) for name, of in made.items()} == files
    # A ConfigMap has at most a megabyte.
    assert all(len(json.dumps(of)) < 900_000 for of in made.values())
    rule = manifests.of("PrometheusRule")
    path = CHART / "alerts/trestle.yaml"
    assert (rule is not None) == path.exists()
    if rule:
        assert problems(rule) == []
        named = [of.get("alert") for group in yaml.safe_load(path.read_text())["groups"] for of in group["rules"]]
        assert [of.get("alert") for group in rule["spec"]["groups"] for of in group["rules"]] == named
