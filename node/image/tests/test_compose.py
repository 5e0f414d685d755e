"""compose.yaml is as the Compose specification has it, and holds what a node needs."""

import json
import re

import pytest
import yaml
from compose_spec import PyCompose
from conftest import ROOT


def services() -> dict:
    """The services, with anchors followed and variables at their defaults."""
    return read()["services"]


def read() -> dict:
    text = (ROOT / "node/compose.yaml").read_text()
    return yaml.safe_load(re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text))


def test_it_is_of_the_specification():
    assert sorted(PyCompose.from_json(json.dumps(read())).service_names()) == sorted(services())
    for wrong in ("restrt", "cap_dropped"):
        broken = read()
        broken["services"]["trestle-0"][wrong] = "always"
        with pytest.raises(Exception, match=wrong):
            PyCompose.from_json(json.dumps(broken))


def test_containers_may_do_little():
    for name, service in services().items():
        assert service["read_only"] is True and service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"] and "privileged" not in service, name


def test_nodes_differ_in_their_names_alone():
    nodes = {name: service for name, service in services().items() if name.startswith("trestle-")}
    assert len(nodes) == 3
    alike = set()
    ports = []
    for name, node in nodes.items():
        environment = node["environment"]
        assert environment["TRESTLE_NODE_NAME"] == name
        assert f"{name}:10101" in environment["TRESTLE_SEEDS"].split(",")
        assert int(node["stop_grace_period"].removesuffix("s")) * 1000 > int(environment["TRESTLE_DRAIN_MS"])
        ports += [port.rpartition(":")[0] for port in node.pop("ports")]
        number = name.removeprefix("trestle-")
        seeds = environment.pop("TRESTLE_SEEDS")
        alike.add(json.dumps(node).replace(name, "NODE").replace(f"data-{number}", "DATA") + seeds)
    assert len(alike) == 1 and len(set(ports)) == len(ports) == 6
    # The admin API is for this machine alone.
    assert sum(port.startswith("127.0.0.1:") for port in ports) == 3


def test_what_it_names_is_declared():
    whole = read()
    for service in whole["services"].values():
        assert set(service.get("secrets", [])) <= set(whole["secrets"])
        assert {config["source"] for config in service.get("configs", [])} <= set(whole["configs"])
        assert {volume.split(":")[0] for volume in service["volumes"]} <= set(whole["volumes"])
        assert set(service.get("depends_on", {})) <= set(whole["services"])
