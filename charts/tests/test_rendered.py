"""What each set of values renders: valid for every version of Kubernetes, and as it was when somebody last looked."""

import copy
import functools
import os
import re

import helm_python as helm
import kubernetes_validate
import pytest
import yaml
from conftest import CHART, HERE, NAMESPACE, SETS
from custom_resources import problems

VERSIONS = [f"1.{minor}" for minor in range(29, 38)]
# Files of others, wrapped: compared by their own suite, not here.
WRAPPED = {"dashboards.yaml", "prometheusrule.yaml"}
REWRITE = os.environ.get("TRESTLE_TEST_REWRITE") == "1"

# The schemas of a version are megabytes: read once.
kubernetes_validate.utils.schema_contents = functools.lru_cache(maxsize=None)(kubernetes_validate.utils.schema_contents)


def golden(manifests):
    """All texts in the order of their paths; secrets that are made are not the same twice."""
    parts = [("NOTES.txt", manifests.notes), *sorted(manifests.texts.items())]
    text = "".join(f"# == {path}\n{of.strip()}\n" for path, of in parts if path not in WRAPPED)
    masked = re.sub(r"(?m)^(  (?:cluster-secret|key-encryption-key|root-token|tls\.crt|tls\.key|ca\.crt): )[\w+/=]{20,}$", r"\1(made)", text)
    return "\n".join(line.rstrip() for line in masked.splitlines()) + "\n"


@pytest.mark.parametrize("name", SETS)
def test_is_as_it_was(render, name):
    path = HERE / "golden" / f"{name}.yaml"
    now = golden(render(SETS[name]))
    if REWRITE:
        path.write_text(now)
    assert path.read_text() == now, f"{path.name}: look at the difference, then run again with TRESTLE_TEST_REWRITE=1"


def test_every_golden_file_is_of_a_set():
    assert {path.stem for path in (HERE / "golden").iterdir()} == set(SETS)


@pytest.mark.parametrize("name", SETS)
def test_nothing_is_random_but_secrets(render, name):
    assert golden(render(SETS[name])) == golden(render(SETS[name]))


@pytest.mark.parametrize("name", SETS)
def test_is_valid(render, name):
    checked, custom = 0, 0
    for manifest in render(SETS[name]).all:
        if "." in manifest["apiVersion"] and not manifest["apiVersion"].split("/")[0].endswith("k8s.io") or manifest["kind"] == "HTTPRoute":
            assert problems(manifest) == []
            custom += 1
            continue
        for version in VERSIONS:
            try:
                assert kubernetes_validate.validate(manifest, version, strict=True) == version
            except kubernetes_validate.ValidationError as error:
                pytest.fail(f"{manifest['kind']} {manifest['metadata']['name']}, {version}: {list(error.path)}: {error.message}")
            checked += 1
    assert checked >= 11 * len(VERSIONS)
    rules = (CHART / "alerts/trestle.yaml").exists()
    assert custom == {"large": 6 + rules, "gke": 2, "aks": 1}.get(name, 0)


def test_the_validator_finds_what_is_wrong(render):
    manifest = copy.deepcopy(render().of("StatefulSet"))
    manifest["spec"]["template"]["spec"]["containers"][0]["imagePullPolicies"] = "Always"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifest, "1.34", strict=True)


@pytest.mark.parametrize("name", SETS)
def test_lint_is_content(name):
    found = helm.lint(str(CHART), SETS[name], strict=True, namespace=NAMESPACE)
    assert found["errors"] == []
    assert {of["error"] for of in found["messages"]} <= {"icon is recommended"}


@pytest.mark.parametrize("name", SETS)
def test_every_object_is_in_its_place(render, name):
    manifests = render(SETS[name])
    for manifest in manifests.all:
        metadata = manifest["metadata"]
        if metadata["name"].endswith("internal-authority"):
            continue
        assert metadata["labels"]["app.kubernetes.io/instance"] == "demo"
        assert metadata["labels"]["helm.sh/chart"] == "trestle-0.1.0"
        assert len(metadata["name"]) <= 52
        assert metadata["namespace"] == ("monitoring" if "-dashboard-" in metadata["name"] else NAMESPACE)
    names = [(of["kind"], of["metadata"]["namespace"], of["metadata"]["name"]) for of in manifests.all if "namespace" in of["metadata"]]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", SETS)
def test_every_pod_is_restricted(render, name):
    """The profile `restricted` of the Pod Security Standards."""
    seen = 0
    for pod in pods(render(SETS[name])):
        seen += 1
        assert pod["automountServiceAccountToken"] is False and pod["enableServiceLinks"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
        for container in pod["containers"] + pod.get("initContainers", []):
            context = container["securityContext"]
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert context["allowPrivilegeEscalation"] is False and context["readOnlyRootFilesystem"] is True
            assert "hostPort" not in yaml.safe_dump(container)
        for volume in pod.get("volumes", []):
            assert set(volume) - {"name"} <= {"configMap", "secret", "persistentVolumeClaim", "emptyDir"}
    assert seen >= 4


def pods(manifests):
    for manifest in manifests.all:
        spec = manifest.get("spec", {})
        if manifest["kind"] == "Pod":
            yield spec
        if manifest["kind"] in ("StatefulSet", "Job"):
            yield spec["template"]["spec"]
        if manifest["kind"] == "CronJob":
            yield spec["jobTemplate"]["spec"]["template"]["spec"]
