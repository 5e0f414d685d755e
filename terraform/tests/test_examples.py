"""Each example is applied to providers without a cloud, and what it makes is looked at."""

import json

import pytest
from cloud import SECRET

A = "arn:aws:secretsmanager:eu-west-1:1:secret:"
REPOSITORY = {"repository": "registry.example/trestle"}
INPUTS = {
    "any_platform": {},
    "kubernetes": {},
    "eks": {"region": "eu-west-1", "cluster": "prod", "certificate": "arn:aws:acm:eu-west-1:1:certificate/c"},
    "gke": {"project": "p", "location": "europe-west1", "cluster": "prod"},
    "aks": {"subscription": "s", "resource_group": "g", "cluster": "prod", "key_vault": "vault"},
    "cloud_run": {"project": "p", "location": "europe-west1"},
    "ecs": {
        "region": "eu-west-1",
        "cluster_arn": "arn:aws:ecs:eu-west-1:1:cluster/prod",
        "vpc_id": "vpc-1",
        "private_subnet_ids": ["subnet-1", "subnet-2", "subnet-3"],
        "public_subnet_ids": ["subnet-4", "subnet-5", "subnet-6"],
        "certificate": "arn:aws:acm:eu-west-1:1:certificate/c",
        "secrets": {
            name: f"{A}{name}" for name in ("cluster_secret", "mesh_certificate", "root_token", "key_encryption_key", "openai")
        },
    },
}


@pytest.mark.parametrize("name", INPUTS)
def test_example(terraform, name):
    folder = f"examples/{name}"
    terraform.must(folder, "init")
    _, outputs = terraform.deployed(folder, INPUTS[name] | REPOSITORY)
    assert outputs["client_url"].startswith("http"), outputs
    state = (terraform.tree / folder / "terraform.tfstate").read_text()
    assert SECRET not in state
    # A second apply has nothing to do.
    again = terraform.run(folder, "plan", "-detailed-exitcode", "-no-color")
    assert again.returncode == 0, again.said
    assert json.loads(state)["resources"]
