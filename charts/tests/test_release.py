"""The life of a release in a cluster: what is kept, what hooks do, and when."""

import base64

import helm_python as helm
import pytest
import yaml
from conftest import CHART, NAMESPACE, RELEASE, helm_of
from kubernetes_api import KubernetesApi

NAME = "demo-trestle"


def job_log(cluster):
    """Jobs in the order of their creation among changes of the StatefulSet."""
    return [(verb, name) for verb, kind, name in cluster.log if kind in ("Job", "StatefulSet") and verb != "delete"]


def install(release, values=None):
    return release.install(CHART, RELEASE, values or {}, timeout=20)


def upgrade(release, values=None):
    """Without values Helm would take those of before."""
    return release.upgrade(CHART, RELEASE, values or {}, timeout=20, reset_values=True)


# For tests that are not about hooks.
QUIET = {"hooks": {"scaleIn": {"enabled": False}, "finalize": {"enabled": False}}}


def test_secrets_are_made_once(cluster, release):
    install(release, QUIET)
    kept = {name: cluster.get("Secret", f"{NAME}-{name}")["data"] for name in ("secrets", "mesh")}
    assert set(kept["secrets"]) == {"cluster-secret", "key-encryption-key", "root-token"}
    assert set(kept["mesh"]) == {"tls.crt", "tls.key", "ca.crt"}
    clear = {name: base64.b64decode(text) for name, text in kept["secrets"].items()}
    assert len(set(clear.values())) == 3 and all(len(base64.b64decode(text)) == 32 for text in clear.values())
    upgrade(release, QUIET | {"replicas": 5})
    upgrade(release, QUIET | {"node": {"threads": 3}})
    release.rollback(RELEASE, version=1, timeout=20)
    assert kept == {name: cluster.get("Secret", f"{NAME}-{name}")["data"] for name in kept}
    release.uninstall(RELEASE, timeout=20)
    assert kept == {name: cluster.get("Secret", f"{NAME}-{name}")["data"] for name in kept}, "they outlive the release"
    left = {of["kind"] for of in cluster.objects.values()}
    assert left == {"Secret"}
    install(release)
    assert kept == {name: cluster.get("Secret", f"{NAME}-{name}")["data"] for name in kept}, "a new release takes them up"


def test_secrets_that_are_rendered_without_a_look_are_refused_by_the_cluster(cluster, release, chart):
    """What a tool would do that applies what `helm template` says."""
    install(release)
    rendered = chart.render({}, name=RELEASE, namespace=NAMESPACE)
    for path in ("secret", "secret-mesh"):
        other = yaml.safe_load(rendered[f"trestle/templates/{path}.yaml"])
        key = ("api/v1", NAMESPACE, "secrets", other["metadata"]["name"])
        assert "immutable" in cluster.put(key, other)


def test_nodes_leave_the_cluster_before_their_pods_go(cluster, release):
    install(release, {"replicas": 5})
    assert job_log(cluster) == [("create", NAME)]
    cluster.log.clear()
    upgrade(release, {"replicas": 3})
    assert job_log(cluster) == [("create", f"{NAME}-scale-in"), ("change", NAME), ("create", f"{NAME}-finalize")]
    assert cluster.get("StatefulSet", NAME)["spec"]["replicas"] == 3
    assert cluster.get("PodDisruptionBudget", NAME)["spec"]["minAvailable"] == 2
    assert cluster.get("Job", f"{NAME}-scale-in") is None, "a job that went well is deleted"


def test_nodes_that_cannot_leave_hold_up_the_upgrade(cluster, release):
    install(release, {"replicas": 5})
    cluster.failing.add(f"{NAME}-scale-in")
    with pytest.raises(helm.HelmError, match="pre-upgrade"):
        upgrade(release, {"replicas": 3})
    assert cluster.get("StatefulSet", NAME)["spec"]["replicas"] == 5
    left = cluster.get("Job", f"{NAME}-scale-in")
    assert left is not None, "a job that went wrong stays to be looked at"
    (container,) = left["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["cluster", "scale-in", "--stateful-set", NAME, "--replicas", "3"]


def test_nobody_leaves_where_more_are_wanted(cluster, release):
    install(release)
    cluster.log.clear()
    upgrade(release, {"replicas": 5})
    assert job_log(cluster) == [("change", NAME), ("create", f"{NAME}-finalize")]


def test_a_rollback_to_fewer_nodes(cluster, release):
    install(release)
    upgrade(release, QUIET | {"replicas": 5})
    cluster.log.clear()
    release.rollback(RELEASE, version=1, timeout=20)
    assert job_log(cluster) == [("change", NAME), ("create", f"{NAME}-scale-in")]
    assert cluster.get("StatefulSet", NAME)["spec"]["replicas"] == 3
    assert cluster.get("ConfigMap", f"{NAME}-node")["data"]["node.toml"] == "bootstrap_expect = 3\n"


def test_hooks_can_be_left_out(cluster, release):
    install(release, {"replicas": 5})
    cluster.log.clear()
    upgrade(release, QUIET)
    assert job_log(cluster) == [("change", NAME)]


def test_monitors_come_and_go(cluster, release):
    install(release)
    upgrade(release, QUIET | {"serviceMonitor": {"enabled": True}, "prometheusRule": {"enabled": True, "extraGroups": [{"name": "x", "rules": []}]}})
    assert cluster.get("ServiceMonitor", NAME) and cluster.get("PrometheusRule", NAME)
    upgrade(release, QUIET)
    assert cluster.get("ServiceMonitor", NAME) is None and cluster.get("PrometheusRule", NAME) is None


ASKED = {"tests": {"request": {"model": "chat", "keySecret": {"name": "clients", "key": "test"}}}}


def test_helm_test_asks_for_the_quorum_and_a_model(cluster, release):
    install(release, ASKED)
    cluster.log.clear()
    release.test(RELEASE, timeout=20)
    made = [name for verb, kind, name in cluster.log if (verb, kind) == ("create", "Pod")]
    assert made == [f"{NAME}-test-quorum", f"{NAME}-test-request"]


def test_helm_test_fails_with_its_pods(cluster, release):
    install(release, ASKED)
    cluster.failing.add(f"{NAME}-test-quorum")
    with pytest.raises(helm.HelmError):
        release.test(RELEASE, timeout=20)
    (container,) = cluster.get("Pod", f"{NAME}-test-quorum")["spec"]["containers"]
    assert container["args"] == ["cluster", "status", "--wait", "60"]


def test_what_can_be_changed_later_changes_nothing_that_cannot(cluster, release):
    """A StatefulSet refuses changes of its claims, selector and service."""
    install(release)
    upgrade(release, QUIET | {
        "replicas": 7,
        "commonLabels": {"team": "a"},
        "commonAnnotations": {"team": "a"},
        "podLabels": {"x": "y"},
        "persistence": {"whenDeleted": "Delete"},
        "updateStrategy": {"rollingUpdate": {"partition": 1}},
        "minReadySeconds": 5,
        "tls": {"enabled": True, "existingSecret": "x"},
        "service": {"type": "LoadBalancer"},
    })
    with pytest.raises(helm.HelmError, match="volumeClaimTemplates"):
        upgrade(release, QUIET | {"persistence": {"size": "40Gi"}})


@pytest.mark.parametrize(("version", "sleeps"), [("1.29.15", False), ("1.30.0-gke.1", True), ("1.37.0", True)])
def test_an_older_kubernetes_has_no_step_before_the_end(version, sleeps):
    with KubernetesApi(version) as api, helm_of(api) as config:
        install(config)
        (container,) = api.get("StatefulSet", NAME)["spec"]["template"]["spec"]["containers"]
    assert ("lifecycle" in container) == sleeps


def test_a_kubernetes_that_is_too_old_is_refused():
    with KubernetesApi("1.28.9") as api, helm_of(api) as config, pytest.raises(helm.HelmError, match="kubeVersion: >=1.29"):
        install(config)


def test_the_package_has_all_that_its_pages_name(tmp_path):
    packaged = helm.package(str(CHART), destination=str(tmp_path))
    assert packaged.endswith("trestle-0.1.0.tgz")
    with helm.Chart.load(packaged) as chart:
        names = {of["name"] for of in chart.files}
    examples = {f"examples/{path.name}" for path in (CHART / "examples").iterdir()}
    assert {"README.md", "UPGRADING.md"} | examples <= names
