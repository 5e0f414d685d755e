"""Each module by itself: form, validity, its own tests, and what it refuses."""

import json
from pathlib import Path

import pytest
from terraform import ROOT

PLATFORMS = sorted(path.name for path in (ROOT / "modules").iterdir() if path.name != "core")
PROVIDERS = {
    "kubernetes": {"helm", "kubernetes"},
    "eks": {"aws", "helm", "kubernetes"},
    "gke": {"google", "helm", "kubernetes"},
    "aks": {"azurerm", "helm", "kubernetes"},
    "ecs": {"aws"},
    "cloud_run": {"google"},
}
IMAGE = {"repository": "registry.example/trestle"}


def test_form(terraform):
    done = terraform.run(".", "fmt", "-check", "-recursive", "-diff", "-no-color")
    assert done.returncode == 0, done.said


def test_every_platform_has_a_module():
    assert set(PLATFORMS) == set(PROVIDERS)


def providers(terraform, folder):
    """The providers that an initialized folder asks for, by `terraform providers`."""
    said = terraform.must(folder, "providers")
    return {line.split("hashicorp/")[1].split("]")[0] for line in said.splitlines() if "/hashicorp/" in line}


@pytest.mark.parametrize("name", ["core", *PLATFORMS])
def test_module(terraform, name):
    folder = f"modules/{name}"
    terraform.must(folder, "init")
    assert providers(terraform, folder) == PROVIDERS.get(name, set())
    terraform.must(folder, "validate", "-no-color")
    said = terraform.must(folder, "test", "-no-color")
    assert "Success!" in said and " 0 failed" in said, said


@pytest.mark.parametrize("name", PLATFORMS)
def test_root_has_the_providers_of_one_platform(terraform, name):
    terraform.must(".", "init", variables={"platform": name, "image": IMAGE})
    assert providers(terraform, ".") == PROVIDERS[name]
    terraform.must(".", "validate", "-no-color")


def test_root_refuses_an_unknown_platform(terraform):
    done = terraform.run(".", "init", "-no-color", variables={"platform": "nomad", "image": IMAGE})
    assert done.returncode != 0
    assert 'platform is "nomad"; it must be eks, ecs, gke, cloud_run, aks or kubernetes.' in flat(done.said)


def test_root_takes_one_node_for_cloud_run(terraform):
    target = {"project": "p", "location": "l", "root_token": "r", "key_encryption_key": "k"}
    variables = {"platform": "cloud_run", "image": IMAGE, "document": "models: {}", "target": target}
    terraform.must(".", "init", variables=variables)
    _, outputs = terraform.deployed(".", variables)
    assert outputs["quorum"] == {"voters": 1, "quorum": 1, "losses": 0}


def flat(text):
    """Text without the breaks and frames of the terminal."""
    return " ".join(text.replace("│", " ").split())


ECS = {name: f"arn:aws:secretsmanager:r:1:secret:{name}" for name in ("cluster_secret", "mesh_certificate", "root_token", "key_encryption_key")}
ECS |= {"region": "r", "cluster_arn": "arn:aws:ecs:r:1:cluster/c", "vpc_id": "v", "subnet_ids": ["s"], "balancer_subnet_ids": ["s"]}
RUN = {"project": "p", "location": "l", "root_token": "r", "key_encryption_key": "k"}
EKS = {"oidc_provider_arn": "arn:aws:iam::1:oidc-provider/x"}
REFUSED = {
    "several nodes on Cloud Run": ("cloud_run", {"target": RUN, "document": "{}", "replicas": 3}, "on cloud_run it must be 1"),
    "addresses on Cloud Run": ("cloud_run", {"target": RUN, "document": "{}", "allowed_cidrs": ["10.0.0.0/8"]}, "allowed_cidrs is not for"),
    "no node": ("kubernetes", {"replicas": 0}, "it must be a whole number from 1 to 32"),
    "public without a certificate": ("eks", {"target": EKS, "public": True, "allowed_cidrs": ["0.0.0.0/0"]}, "public needs a certificate"),
    "a key in the document": ("eks", {"target": EKS, "document": "providers: {a: {keys: [{value: sk-1}]}}"}, "keys of vendors in clear"),
    "a size that Fargate has not": ("ecs", {"target": ECS, "size": {"cpu": 3}}, "Fargate has no size of 3 processors"),
    "a long document on ECS": ("ecs", {"target": ECS, "document": f"models: {{}} #{'x' * 16384}"}, "more than 16 KiB"),
    "a misspelt member of target": ("ecs", {"target": ECS | {"regoin": "r"}}, "members that this platform does not know: regoin"),
    "a member of target that is missing": ("gke", {"target": {}}, "target lacks project"),
    "a misspelt member of target.release": ("eks", {"target": EKS | {"release": {"chrat": "x"}}}, "does not know: chrat"),
    "keys without a Key Vault": (
        "aks",
        {"target": {"resource_group_name": "g", "location": "l", "oidc_issuer_url": "u"}, "provider_keys": {"A": "a"}},
        "target.key_vault_id has to say of which",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(terraform, case):
    module, variables, expected = REFUSED[case]
    folder = f"modules/{module}"
    if module == "aks":
        (terraform.tree / folder / "provider.tf").write_text('provider "azurerm" {\n  features {}\n}\n')
    terraform.must(folder, "init")
    done = terraform.run(folder, "plan", "-no-color", variables={"image": IMAGE} | variables)
    assert done.returncode != 0, done.said
    assert expected in flat(done.said), done.said


def test_even_number_is_told(terraform):
    terraform.must("modules/kubernetes", "init")
    said = terraform.must("modules/kubernetes", "plan", "-no-color", variables={"image": IMAGE, "replicas": 4})
    assert "Check block assertion failed" in said and "no more than with 3 nodes" in flat(said)


# The schemas can say no: each is a way to get a resource wrong.
WRONG = {
    "a misspelt argument": ("ecs", "disks.tf", "throughput_mode", "troughput_mode", "Unsupported argument"),
    "a wrong type": ("ecs", "network.tf", 'matcher             = "200"\n    interval            = 5', 'matcher = "200"\n    interval = "soon"', "a number is required"),
    "a missing argument": ("ecs", "disks.tf", "subnet_id       = each.value", "", 'The argument "subnet_id" is required'),
    "a misspelt block": ("cloud_run", "main.tf", "startup_probe {", "start_probe {", "Unsupported block type"),
    "an attribute that is not there": ("eks", "outputs.tf", "aws_iam_role.this.arn", "aws_iam_role.this.arm", "Unsupported attribute"),
    "an unknown resource": ("aks", "main.tf", '"azurerm_role_assignment"', '"azurerm_role_assignments"', "Invalid resource type"),
    "an argument of an ephemeral resource": ("aks", "main.tf", "key_vault_id = local", "vault_id = local", "Unsupported argument"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_code_is_found(terraform, case):
    module, file, right, wrong, expected = WRONG[case]
    path = Path(terraform.tree) / "modules" / module / file
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong))
    terraform.must(f"modules/{module}", "init")
    done = terraform.run(f"modules/{module}", "validate", "-json")
    problems = json.loads(done.stdout)["diagnostics"]
    assert any(expected in f"{one['summary']} {one['detail']}" for one in problems), problems


def test_secret_on_its_way_into_the_state_is_found(terraform):
    path = Path(terraform.tree) / "modules" / "eks" / "main.tf"
    path.write_text(path.read_text().replace("  data_wo          =", "  data             ="))
    terraform.must("modules/eks", "init")
    variables = {"image": IMAGE, "target": EKS, "provider_keys": {"OPENAI_API_KEY": "vendors/openai"}}
    done = terraform.run("modules/eks", "plan", "-no-color", variables=variables)
    assert done.returncode != 0 and "phemeral" in done.said, done.said
