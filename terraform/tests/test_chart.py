"""The values that the modules pass are values that the chart has: it takes them by its schema, and renders what they say."""

import pytest
import yaml
from helm_python import Chart
from terraform import ROOT

CHART = ROOT.parent / "charts" / "trestle"
IMAGE = {"repository": "registry.example/trestle", "tag": "0.1.0"}
CLIENTS = {"public": True, "allowed_cidrs": ["192.0.2.0/24"], "host": "gateway.example.com"}
COMMON = {
    "image": IMAGE,
    "document": "providers: {openai: {keys: [{name: main, value: 'env:OPENAI_API_KEY'}]}}",
    "environment": {"TRESTLE_LOG": "debug"},
    "labels": {"team": "ai"},
    "size": {"cpu": 2, "memory_mib": 4096, "disk_gib": 50},
}
RELEASE = {
    "namespace": "ai",
    "secret": "own",
    "mesh_issuer": {"name": "mesh", "kind": "ClusterIssuer"},
    "storage_class": "fast",
    "pod_annotations": {"a": "b"},
    "monitoring": True,
    "values": {"antiAffinity": "required"},
}
CASES = {
    "kubernetes-least": ("kubernetes", {"image": IMAGE}),
    "kubernetes": (
        "kubernetes",
        COMMON | CLIENTS | {"certificate": "tls", "provider_keys": {"OPENAI_API_KEY": "vendors/openai"}, "target": RELEASE},
    ),
    "eks": (
        "eks",
        COMMON
        | CLIENTS
        | {
            "certificate": "arn:aws:acm:eu-west-1:1:certificate/c",
            "provider_keys": {"OPENAI_API_KEY": "vendors/openai"},
            "target": {"oidc_provider_arn": "arn:aws:iam::1:oidc-provider/x", "release": RELEASE},
        },
    ),
    "gke": (
        "gke",
        COMMON | {"provider_keys": {"OPENAI_API_KEY": "openai"}, "target": {"project": "p", "release": RELEASE | {"load_balancer": True}}},
    ),
    "aks": (
        "aks",
        COMMON
        | {
            "provider_keys": {"OPENAI_API_KEY": "openai"},
            "target": {
                "resource_group_name": "g",
                "location": "l",
                "oidc_issuer_url": "u",
                "key_vault_id": "v",
                "release": RELEASE | {"load_balancer": True},
            },
        },
    ),
}


def merged(documents):
    """Values as Helm merges them, one file over the other."""
    made = {}
    for document in documents:
        over(made, yaml.safe_load(document))
    return made


def over(under, values):
    for name, value in values.items():
        if isinstance(value, dict) and isinstance(under.get(name), dict):
            over(under[name], value)
        else:
            under[name] = value


def unknown(values, known, path=""):
    """Members of values that the chart's own values do not have. Where those are an empty map, anything goes."""
    for name, value in values.items():
        if name not in known:
            yield f"{path}{name}"
        elif isinstance(value, dict) and isinstance(known[name], dict) and known[name]:
            yield from unknown(value, known[name], f"{path}{name}.")


def rendered(values):
    """Objects of the chart by kind and name."""
    files = Chart.load(str(CHART)).render(values, name="trestle", namespace="ai")
    texts = [text for name, text in files.items() if name.endswith(".yaml")]
    objects = [one for text in texts for one in yaml.safe_load_all(text) if isinstance(one, dict) and "kind" in one]
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}


@pytest.mark.parametrize("case", CASES)
def test_chart_takes_the_values(terraform, case):
    module, variables = CASES[case]
    folder = f"modules/{module}"
    if module == "aks":
        (terraform.tree / folder / "provider.tf").write_text('provider "azurerm" {\n  features {}\n}\n')
    terraform.must(folder, "init")
    resources, outputs = terraform.deployed(folder, variables)
    [release] = [values for address, values in resources.items() if address.endswith("helm_release.this")]
    values = merged(release["values"])
    known = yaml.safe_load((CHART / "values.yaml").read_text())
    assert not list(unknown(values, known))
    Chart.load(str(CHART)).validate_schema(values)
    objects = rendered(values)
    nodes = objects["StatefulSet", "trestle"]["spec"]
    assert nodes["replicas"] == 3
    [node] = [one for one in nodes["template"]["spec"]["containers"] if one["image"].endswith("trestle:0.1.0")]
    assert node["image"] == "registry.example/trestle:0.1.0"
    assert objects["Service", "trestle-admin"]["spec"]["ports"][0]["port"] == int(outputs["admin_url"].rsplit(":", 1)[1])
    secrets = outputs["secret_names"]
    volumes = [one.get("secret", {}).get("secretName") for one in nodes["template"]["spec"]["volumes"]]
    assert secrets["mesh"] in str(volumes) + str(nodes) and secrets["node"] in str(nodes)
    if case == "kubernetes-least":
        assert objects["Service", "trestle"]["spec"]["type"] == "ClusterIP"
        return
    environment = {one["name"]: one for one in node["env"]}
    key = environment["OPENAI_API_KEY"]["valueFrom"]["secretKeyRef"]
    wanted = ("vendors", "openai") if module == "kubernetes" else ("trestle-provider-keys", "OPENAI_API_KEY")
    assert (key["name"], key["key"]) == wanted
    assert environment["TRESTLE_LOG"]["value"] == "debug"
    assert objects["Service", "trestle"]["spec"]["type"] == "LoadBalancer"
    account = objects["ServiceAccount", nodes["template"]["spec"]["serviceAccountName"]]
    assert account["metadata"]["name"] == "trestle"
    marks = str(account["metadata"].get("annotations", {}))
    assert {"eks": "eks.amazonaws.com/role-arn", "gke": "iam.gke.io/gcp-service-account", "aks": "azure.workload.identity/client-id"}.get(
        module, ""
    ) in marks
    assert nodes["volumeClaimTemplates"][0]["spec"]["storageClassName"] == "fast"


def test_a_value_that_the_chart_has_not_is_found():
    known = yaml.safe_load((CHART / "values.yaml").read_text())
    assert list(unknown({"replica": 1, "image": {"rgistry": ""}}, known)) == ["replica", "image.rgistry"]
