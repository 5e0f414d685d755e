"""What all suites of the chart share: the chart, sets of values, rendered manifests, a cluster in memory."""

import os
import pathlib

import helm_python as helm
import pytest
import yaml

from kubernetes_api import KubernetesApi

HERE = pathlib.Path(__file__).parent
CHART = HERE.parent / "trestle"
NAMESPACE = "prod"
RELEASE = "demo"
# Every set of values that operators are shown, and none at all.
SETS = {"default": {}} | {path.stem: yaml.safe_load(path.read_text()) for path in sorted((CHART / "examples").glob("*.yaml"))}


class Manifests:
    """Objects that a chart renders, by kind and name."""

    def __init__(self, rendered):
        self.texts = {path.removeprefix("trestle/templates/"): text for path, text in rendered.items() if text.strip()}
        self.notes = self.texts.pop("NOTES.txt", "")
        self.all = [of for text in self.texts.values() for of in yaml.safe_load_all(text) if of]

    def of(self, kind, suffix=""):
        """The one of this kind with the name of the release and this suffix; None if there is none."""
        name = f"{RELEASE}-trestle{suffix}"
        found = [of for of in self.all if of["kind"] == kind and of["metadata"]["name"] == name]
        assert len(found) < 2, f"two of {kind} {name}"
        return found[0] if found else None

    def kinds(self):
        return {of["kind"] for of in self.all}

    def pod(self):
        return self.of("StatefulSet")["spec"]["template"]

    def container(self):
        return self.pod()["spec"]["containers"][0]

    def environment(self):
        """Variables of a node that are plain text."""
        return {of["name"]: of["value"] for of in self.container()["env"] if "value" in of}


@pytest.fixture(scope="session")
def chart():
    with helm.Chart.load(CHART) as loaded:
        yield loaded


@pytest.fixture(scope="session")
def render(chart):
    return lambda values=None, **more: Manifests(chart.render(values or {}, name=RELEASE, namespace=NAMESPACE, **more))


@pytest.fixture(scope="session")
def refused(render):
    """What Helm says to values that cannot be rendered."""

    def check(values):
        with pytest.raises(helm.HelmError) as error:
            render(values)
        return str(error.value)

    return check


@pytest.fixture
def cluster():
    with KubernetesApi() as api:
        yield api


@pytest.fixture
def release(cluster):
    """Helm, with that cluster."""
    with helm_of(cluster) as config:
        yield config


def helm_of(cluster):
    """Helm slows itself down to spare a cluster; this one needs no sparing."""
    config = cluster.kubeconfig(NAMESPACE)
    return helm.Config(namespace=NAMESPACE, storage_driver="memory", kubeconfig_content=config, qps=10_000, burst_limit=10_000)


@pytest.fixture(scope="session")
def trestle():
    """The binary, which the Rust test has built."""
    path = os.environ.get("TRESTLE_TEST_BINARY")
    if not path:
        pytest.skip("TRESTLE_TEST_BINARY names no binary")
    return path
