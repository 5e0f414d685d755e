"""What the modules without a chart tell a node is what a node understands: the real binary starts with it."""

import json
import os
import queue
import re
import signal
import subprocess
import threading
import urllib.request
from pathlib import Path

import pytest
from terraform import ROOT
from test_modules import ECS, IMAGE, RUN

BINARY = Path(os.environ.get("TRESTLE_TEST_BINARY", ROOT.parent / "target" / "debug" / "trestle"))
DOCUMENT = "providers: {openai: {keys: [{name: main, value: 'env:OPENAI_API_KEY'}]}}\n"
KEYS = {"OPENAI_API_KEY": "sk-vendor", "GATEWAY_ROOT_TOKEN": "root-token-of-the-test-of-nodes", "GATEWAY_KEY_ENCRYPTION_KEY": "5a" * 32}
# Ports that are free, on this machine alone.
LOCAL = {name: "127.0.0.1:0" for name in ("TRESTLE_MESH_LISTEN", "TRESTLE_MESH_GOSSIP_LISTEN")}

pytestmark = pytest.mark.skipif(not BINARY.exists(), reason="no binary: cargo build -p trestle")


class Node:
    """A node that runs as long as the block."""

    def __init__(self, environment):
        self.process = subprocess.Popen(
            [BINARY, "serve"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        self.log, self.lines = [], queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def read(self):
        for line in self.process.stderr:
            self.log.append(line)
            self.lines.put(line)
        self.lines.put("")

    def url(self, what):
        """The address of a listener, once the log has it."""
        while line := self.lines.get(timeout=60):
            found = re.search(rf'"{what} on (http://[^"\s]+)', line)
            if found:
                return found[1]
        raise AssertionError("the node ended:\n" + "".join(self.log))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=60)


def settings():
    """The names of the settings in the environment, as docs/settings.md has them. A node says nothing of names that it does not know."""
    page = (ROOT.parent / "docs" / "settings.md").read_text()
    return {f"TRESTLE_{name.upper().replace('.', '_')}" for name in re.findall(r"^\| `([a-z_.]+)` \|", page, re.M)}


def strange(environment):
    return {name for name in environment if name.startswith("TRESTLE_")} - settings()


def overridden(environment):
    """What a module sets, though `environment` may name it: the module would win without a word."""
    core = (ROOT / "modules" / "core" / "main.tf").read_text()
    reserved = set(re.findall(r'"(TRESTLE_\w+)"', re.search(r"reserved = \[(.*?)\]", core, re.S)[1]))
    return {name for name in environment if name.startswith("TRESTLE_")} - reserved - {"TRESTLE_LEDGER_BYTES_MAX"}


def get(url, token=""):
    request = urllib.request.Request(url, headers={"authorization": f"Bearer {token}"} if token else {})
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as answer:
        return answer.status, answer.read().decode()


def placed(text, places):
    for there, here in places.items():
        text = text.replace(there, str(here))
    return text


def test_node_of_ecs(terraform, tmp_path):
    keys = {"OPENAI_API_KEY": "arn:aws:secretsmanager:r:1:secret:openai"}
    variables = {"image": IMAGE, "target": ECS, "replicas": 1, "document": DOCUMENT, "provider_keys": keys}
    terraform.must("modules/ecs", "init")
    resources, _ = terraform.deployed("modules/ecs", variables)
    files, node = json.loads(resources['aws_ecs_task_definition.node["trestle-0"]']["container_definitions"])
    (tmp_path / "run").mkdir()
    places = {"/run/trestle": tmp_path / "run", "/var/lib/trestle": tmp_path / "data", "65532:65532": f"{os.getuid()}:{os.getgid()}"}

    # The container that writes files, with what Secrets Manager would hold.
    subprocess.run([BINARY, "cluster", "init-tls", tmp_path / "tls", "--nodes", "ecs"], check=True, capture_output=True)
    made = {name: (tmp_path / "tls" / "ecs" / name).read_text() for name in ("tls.crt", "tls.key", "ca.crt")}
    kept = {
        ECS["cluster_secret"]: "the-secret-of-a-cluster-of-one-node-in-a-test",
        f"{ECS['mesh_certificate']}:tls_crt::": made["tls.crt"],
        f"{ECS['mesh_certificate']}:tls_key::": made["tls.key"],
        f"{ECS['mesh_certificate']}:ca_crt::": made["ca.crt"],
        ECS["root_token"]: KEYS["GATEWAY_ROOT_TOKEN"],
        ECS["key_encryption_key"]: KEYS["GATEWAY_KEY_ENCRYPTION_KEY"],
        keys["OPENAI_API_KEY"]: KEYS["OPENAI_API_KEY"],
    }
    environment = {one["name"]: one["value"] for one in files["environment"]} | {one["name"]: kept[one["valueFrom"]] for one in files["secrets"]}
    command = [placed(part, places) for part in files["command"]]
    subprocess.run(command, env=environment | {"PATH": os.environ["PATH"]}, check=True)
    assert (tmp_path / "run" / "gateway.yaml").read_text() == DOCUMENT
    assert (tmp_path / "run" / "mesh" / "tls.key").stat().st_mode & 0o777 == 0o600

    environment = {one["name"]: placed(one["value"], places) for one in node["environment"]}
    environment |= {one["name"]: kept[one["valueFrom"]] for one in node["secrets"]}
    assert not strange(environment) and strange({"TRESTLE_SEED": ""})
    assert not overridden(environment) and overridden({"TRESTLE_LOG": ""})
    environment |= LOCAL | {"TRESTLE_LISTEN": "127.0.0.1:0", "TRESTLE_ADMIN_LISTEN": "127.0.0.1:0"}
    with Node(environment) as running:
        admin = running.url("admin listening")
        assert get(f"{running.url('listening')}/readyz")[0] == 200
        members = json.loads(get(f"{admin}/api/cluster", KEYS["GATEWAY_ROOT_TOKEN"])[1])
        assert "trestle-0" in json.dumps(members)
        assert running.end() == 0


def test_node_of_cloud_run(terraform, tmp_path):
    variables = {"image": IMAGE, "target": RUN, "document": DOCUMENT, "provider_keys": {"OPENAI_API_KEY": "openai"}}
    terraform.must("modules/cloud_run", "init")
    resources, _ = terraform.deployed("modules/cloud_run", variables)
    template = resources["google_cloud_run_v2_service.this"]["template"][0]
    (tmp_path / "etc").mkdir()
    [volume] = [one["secret"][0] for one in template["volumes"] if one["secret"]]
    document = resources["google_secret_manager_secret_version.document"]["secret_data"]
    (tmp_path / "etc" / volume["items"][0]["path"]).write_text(document)
    places = {"/etc/trestle": tmp_path / "etc", "/var/lib/trestle": tmp_path / "data"}
    entries = template["containers"][0]["env"]
    environment = {one["name"]: placed(one["value"], places) if one["value"] else KEYS[one["name"]] for one in entries}
    assert set(KEYS) <= set(environment) and not strange(environment) and not overridden(environment)
    with Node(environment | {"TRESTLE_LISTEN": "127.0.0.1:0"}) as running:
        url = running.url("listening")
        for probe in ("startup_probe", "liveness_probe"):
            assert get(url + template["containers"][0][probe][0]["http_get"][0]["path"])[0] == 200
        assert "openai" in get(f"{url}/api/document", KEYS["GATEWAY_ROOT_TOKEN"])[1]
        assert running.end() == 0
