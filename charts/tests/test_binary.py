"""What the chart gives to the binary, given to the binary: documents, settings, certificates, and the commands of hooks."""

import base64
import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

import pytest
import yaml
from conftest import HERE, SETS

DOCS = HERE.parents[1] / "docs"
# As in the image, where the tests may become somebody else.
USER = 65532
# Of an application.
KEY = "sk-trestle-application-of-the-chart-tests"
# How long nodes may take to be ready; they take a few seconds.
DEADLINE = 60


@pytest.mark.parametrize("name", SETS)
def test_every_setting_is_one_of_the_binary(render, name):
    page = (DOCS / "settings.md").read_text()
    members = re.findall(r"(?m)^\| `([\w.]+)` \|", page)
    known = {f"TRESTLE_{member.upper().replace('.', '_')}" for member in members} | {"TRESTLE_NODE", "TRESTLE_LOG"}
    for variable in render(SETS[name]).environment():
        assert variable in known or not variable.startswith("TRESTLE_"), f"{variable} is no setting of docs/settings.md"


@pytest.mark.parametrize("name", SETS)
def test_every_command_is_one_of_the_binary(render, trestle, name):
    seen = 0
    for args in commands(render(SETS[name])):
        seen += 1
        # With --help nothing is done, and an unknown command or flag before it is refused.
        done = subprocess.run([trestle, *args, "--help"], capture_output=True, text=True)
        assert done.returncode == 0, f"{args}: {done.stderr}"
        for flag in (of for of in args if of.startswith("--")):
            assert flag in done.stdout, f"{args}: there is no {flag}"
    assert seen >= 4


def commands(manifests):
    """What containers of the image are told to do."""
    for text in manifests.texts.values():
        for manifest in yaml.safe_load_all(text):
            yield from found_args(manifest)


def found_args(value):
    if isinstance(value, dict):
        if "trestle" in str(value.get("image")) and "args" in value:
            yield value["args"]
        for of in value.values():
            yield from found_args(of)
    if isinstance(value, list):
        for of in value:
            yield from found_args(of)


@pytest.mark.parametrize("name", [name for name, of in SETS.items() if of.get("document", {}).get("content")])
def test_every_document_is_valid(trestle, name, tmp_path):
    file = tmp_path / "gateway.yaml"
    file.write_text(yaml.safe_dump(SETS[name]["document"]["content"]))
    done = subprocess.run([trestle, "check", file], capture_output=True, text=True, env={"OPENAI_API_KEY": "x", "WEB_KEY": "x"})
    assert done.returncode == 0, done.stderr


class Pods:
    """Nodes as Kubernetes would start them, each with an address of its own on this machine."""

    def __init__(self, binary, manifests):
        self.manifests = manifests
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="trestle-chart-"))
        self.folder.chmod(0o755)
        self.binary = self.folder / "trestle"
        shutil.copy(binary, self.binary)
        self.ports = {name: free_port() for name in (8080, 8081, 10101, 10102)}
        self.processes = {}
        self.logs = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes.values():
            process.kill()
            process.wait()
        shutil.rmtree(self.folder)

    def address(self, number):
        return f"127.101.0.{number + 1}"

    def here(self, text, number, replicas):
        """A setting of a pod, for this machine: its paths, addresses and ports."""
        text = text.replace("/etc/trestle", f"{self.folder}/etc").replace("/var/lib/trestle", f"{self.folder}/data-{number}")
        text = text.replace("$(POD_NAME).demo-trestle-headless.prod.svc", self.address(number)).replace("0.0.0.0", self.address(number))
        text = text.replace("$(POD_NAME)", f"demo-trestle-{number}").replace("$(POD_IP)", self.address(number))
        seeds = "demo-trestle-headless.prod.svc:10101"
        text = text.replace(seeds, ",".join(f"{self.address(other)}:10101" for other in range(replicas)))
        for port, taken in self.ports.items():
            text = text.replace(f":{port}", f":{taken}")
        return text

    def mount(self):
        """Volumes as the kubelet makes them: of root, for the group of the process."""
        for volume in self.manifests.pod()["spec"]["volumes"]:
            (mount,) = [of for of in self.manifests.container()["volumeMounts"] if of["name"] == volume["name"]]
            folder = pathlib.Path(self.here(mount["mountPath"], 0, 1))
            folder.mkdir(parents=True, exist_ok=True)
            secret = volume.get("secret")
            name = secret["secretName"] if secret else volume["configMap"]["name"]
            (made,) = [of for of in self.manifests.all if of["metadata"]["name"] == name and "data" in of]
            for file, text in made["data"].items():
                (folder / file).write_bytes(base64.b64decode(text) if secret else text.encode())
                if secret:
                    # fsGroup adds the bits of the group to those of `defaultMode`.
                    (folder / file).chmod(secret["defaultMode"] | 0o040 if os.geteuid() == 0 else secret["defaultMode"])
                if os.geteuid() == 0:
                    os.chown(folder / file, 0, USER)

    def start(self, number, replicas):
        data = self.folder / f"data-{number}"
        if not data.exists():
            data.mkdir()
            if os.geteuid() == 0:
                os.chown(data, 0, USER)
                data.chmod(0o2775)
        environment = {name: self.here(text, number, replicas) for name, text in self.manifests.environment().items()}
        log = self.folder / f"log-{number}"
        with log.open("ab") as lines:
            self.processes[number] = subprocess.Popen(
                [self.binary, *self.manifests.container()["args"]], env=environment, stdout=lines, stderr=lines, **somebody()
            )
        self.logs[number] = log

    def get(self, number, path, port=8081, headers=None):
        connection = http.client.HTTPConnection(self.address(number), self.ports[port], timeout=5)
        try:
            connection.request("GET", path, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def ready(self, *numbers):
        """Waits until the probes of these nodes say that they are ready."""
        probe = self.manifests.container()["readinessProbe"]["httpGet"]
        end = time.monotonic() + DEADLINE
        for number in numbers:
            while self.status(number, probe["path"]) != 200:
                log = self.logs[number].read_text()[-4000:]
                assert self.processes[number].poll() is None, f"node {number} ended:\n{log}"
                assert time.monotonic() < end, f"node {number} is not ready:\n{log}"
                time.sleep(0.05)

    def status(self, number, path):
        try:
            return self.get(number, path)[0]
        except OSError:
            return None

    def members(self):
        status, body = self.get(1, "/api/cluster", headers={"authorization": f"Bearer {self.token()}"})
        assert status == 200
        return {of["name"] for of in json.loads(body)["members"]}

    def token(self):
        return base64.b64decode(self.manifests.of("Secret", "-secrets")["data"]["root-token"]).decode()

    def command(self, container, **more):
        """Runs a container of a job against node 0."""
        environment = {of["name"]: of["value"] for of in container["env"] if "value" in of} | {"TRESTLE_ADMIN_TOKEN": self.token()} | more
        port = environment["TRESTLE_URL"].rsplit(":", 1)[1]
        environment["TRESTLE_URL"] = f"http://{self.address(0)}:{self.ports[int(port)]}"
        args = [re.sub(r"\$\((\w+)\)", lambda of: environment[of[1]], arg) for arg in container["args"]]
        return subprocess.run([self.binary, *args], env=environment, capture_output=True, text=True, timeout=DEADLINE)


def somebody():
    """The user of the image, where we may become anybody."""
    return {"user": USER, "group": USER, "extra_groups": []} if os.geteuid() == 0 else {}


def free_port():
    """A port that is free for TCP and UDP at all addresses."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            tcp.bind(("0.0.0.0", 0))
            try:
                udp.bind(tcp.getsockname())
            except OSError:
                continue
            return tcp.getsockname()[1]


@pytest.fixture(scope="module")
def pods(render, trestle):
    """Three nodes that have founded a cluster with what the chart gave them."""
    hashed = hashlib.sha256(KEY.encode()).hexdigest()
    document = {"models": {"chat": {"targets": [{"model": "mock/echo"}]}}, "keys": {"test": {"value": f"sha256:{hashed}"}}}
    request = {"model": "chat", "keySecret": {"name": "clients", "key": "test"}}
    manifests = render({"backup": {"enabled": True}, "document": {"content": document}, "tests": {"request": request}})
    with Pods(trestle, manifests) as started:
        started.mount()
        for number in range(3):
            started.start(number, 3)
        started.ready(0, 1, 2)
        yield started


def test_nodes_of_the_chart_found_a_cluster(pods):
    headers = {"authorization": f"Bearer {pods.token()}"}
    status, body = pods.get(1, "/api/cluster", headers=headers)
    members = json.loads(body)["members"]
    assert status == 200
    assert {of["name"] for of in members} == {f"demo-trestle-{number}" for number in range(3)}
    assert all(of["votes"] for of in members)
    status, body = pods.get(2, "/api/models/chat", headers=headers)
    assert status == 200 and b"mock/echo" in body, "the document of the chart is that of the cluster"


def test_clients_reach_neither_metrics_nor_the_admin_api(pods):
    headers = {"authorization": f"Bearer {pods.token()}"}
    for path in ("/metrics", "/api/cluster", "/api/document"):
        assert pods.get(0, path, headers=headers)[0] == 200
        assert pods.get(0, path, port=8080, headers=headers)[0] in (401, 404)


def test_a_node_starts_again_with_what_it_kept(pods):
    pods.processes[2].terminate()
    assert pods.processes[2].wait(DEADLINE) == 0
    # What the kubelet does to a disk whose group it does not find right.
    subprocess.run(["chmod", "-R", "g+rwX", pods.folder / "data-2"], check=True)
    pods.start(2, 3)
    pods.ready(2)


def test_hooks_backups_and_tests_do_what_they_should(pods):
    manifests = pods.manifests
    container = lambda kind, suffix: manifests.of(kind, suffix)["spec"]["template"]["spec"]["containers"][0]
    quorum = manifests.of("Pod", "-test-quorum")["spec"]["containers"][0]
    for of in (quorum, container("Job", "-scale-in"), container("Job", "-finalize")):
        done = pods.command(of)
        assert done.returncode == 0, f"{of['args']}: {done.stderr}"
    request = manifests.of("Pod", "-test-request")["spec"]["containers"][0]
    done = pods.command(request, TRESTLE_KEY=KEY)
    assert done.returncode == 0 and done.stdout.strip(), done.stderr
    assert pods.command(request, TRESTLE_KEY="sk-another").returncode == 1
    backup = manifests.of("CronJob", "-backup")["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]
    file = pods.folder / "one.backup"
    done = pods.command(backup, BACKUP_FILE=str(file))
    assert done.returncode == 0 and file.stat().st_size > 0, done.stderr
    assert pods.command(backup, BACKUP_FILE=str(file)).returncode != 0, "no file is written over"


def test_more_nodes_come_and_go_again(pods, render):
    """As an upgrade to five and back to three does it: the file of the number changes, and no node that runs is touched."""
    five = render({"replicas": 5})
    assert five.pod() == pods.manifests.pod()
    (pods.folder / "etc/node/node.toml").write_text(five.of("ConfigMap", "-node")["data"]["node.toml"])
    for number in (3, 4):
        pods.start(number, 5)
    pods.ready(3, 4)
    assert pods.members() == {f"demo-trestle-{number}" for number in range(5)}
    hook = pods.manifests.of("Job", "-scale-in")["spec"]["template"]["spec"]["containers"][0]
    done = pods.command(hook)
    assert done.returncode == 0, done.stderr
    assert pods.members() == {f"demo-trestle-{number}" for number in range(3)}
