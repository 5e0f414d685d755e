"""The image as it runs: in an empty root that is read-only, as nobody, with nothing but the loopback."""

import contextlib
import http.server
import json
import os
import re
import threading
from pathlib import Path

import yaml
from room import Container, alone, ask, bridged, chat, eventually, names, ready
from test_compose import services

KEY = "sk-trestle-application-of-the-image-tests"
ADMIN = "trestle-admin-00000000000000000000000000000000000000000000000000000000000000aa"
URL = "http://127.0.0.1:8080"
# An address of which nobody is (RFC 5737).
NOWHERE = "192.0.2.1"


def document(**providers: dict) -> dict[str, str]:
    """The files of a node: its document, with these providers."""
    held = {"providers": providers, "keys": {"web": {"value": "env:WEB_KEY"}}}
    return {"etc/trestle/gateway.yaml": yaml.safe_dump(held)}


def settings(**more: str) -> dict[str, str]:
    """Variables of a node."""
    return {"TRESTLE_DOCUMENT": "/etc/trestle/gateway.yaml", "WEB_KEY": KEY, "UPSTREAM_KEY": "sk-upstream"} | more


def provider(url: str) -> dict:
    keys = [{"name": "main", "value": "env:UPSTREAM_KEY"}]
    return {"base_url": url, "dialects": ["openai-chat"], "keys": keys}


CHECK = ["/trestle", "health"]


def test_it_serves_from_a_read_only_root_as_nobody(layer, tmp_path):
    def work():
        container = Container(tmp_path / "node", *layer, document())
        assert os.statvfs(container.root).f_flag & os.ST_RDONLY
        assert container.run(CHECK).returncode == 2
        with container.serving(settings()) as process:
            ready(container, process, CHECK, {})
            status, text = chat(URL, "mock/echo", KEY)
            assert status == 200 and "Hello, room" in text, (status, text)
            said = Path(f"/proc/{process.pid}/status").read_text()
            (uid,), (gid,) = (set(re.search(rf"^{name}:(.*)", said, re.M).group(1).split()) for name in ("Uid", "Gid"))
            assert (uid, gid) == ("65532", "65532")
            assert re.search(r"^CapEff:\s*0+$", said, re.M) and re.search(r"^NoNewPrivs:\s*1$", said, re.M)
        assert container.run(CHECK).returncode == 2
        kept = [path for path in container.data.rglob("*") if path.is_file()]
        assert kept and all(path.stat().st_uid == 65532 for path in kept)

    alone(work)


def test_it_keeps_its_state_in_the_data_folder(layer, tmp_path):
    def work():
        container = Container(tmp_path / "node", *layer, document())
        with container.serving(settings()) as process:
            ready(container, process, CHECK, {})
        with container.serving({"WEB_KEY": KEY}) as process:
            ready(container, process, CHECK, {})
            assert chat(URL, "mock/echo", KEY)[0] == 200

    alone(work)


class Upstream(http.server.BaseHTTPRequestHandler):
    """A provider that says one thing."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": f"from {self.headers['host']}"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = json.dumps({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def upstream():
    """The port of that provider."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_names_are_looked_up_without_a_file_of_the_system(layer, tmp_path):
    """The C library is in the binary and the root has neither its modules nor nsswitch.conf."""

    def work():
        with names({"upstream.test": "127.0.0.1"}) as asked, upstream() as port:
            providers = {name: provider(f"http://{name}.test:{port}/v1") for name in ("upstream", "nobody", "hosts")}
            files = document(**providers)
            # Both are what engines put into a container.
            files["etc/resolv.conf"] = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n"
            files["etc/hosts"] = "127.0.0.1 localhost hosts.test\n"
            container = Container(tmp_path / "node", *layer, files)
            assert not {"etc", "lib", "lib64", "usr"} & set(container.content)
            with container.serving(settings()) as process:
                ready(container, process, CHECK, {})
                status, text = chat(URL, "upstream/m", KEY)
                assert status == 200 and f"from upstream.test:{port}" in text, (status, text)
                assert "upstream.test" in asked
                status, text = chat(URL, "hosts/m", KEY)
                assert status == 200 and "hosts.test" not in asked, (status, text, asked)
                status, text = chat(URL, "nobody/m", KEY)
                assert status == 502 and "nobody.test" in asked, (status, text, asked)

    alone(work)


def reached(log: str) -> set[str]:
    """The addresses of others in a log of strace: what a program connected to or sent something to."""
    shown = re.findall(r'(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"', log)
    return {address for address in shown if not address.startswith("127.") and address != "::1"}


def watched(layer, folder: Path, providers: dict, model: str) -> tuple[int, set[str]]:
    """The status that a request of a model is answered with, and whom the node tried to reach from its start to its end."""
    log = folder / "strace"
    calls = "trace=connect,sendto,sendmsg,sendmmsg"
    files = document(**providers) | {"etc/resolv.conf": f"nameserver {NOWHERE}\noptions timeout:1 attempts:1\n"}
    container = Container(folder / "node", *layer, files)
    # With -D the node is our child and strace looks on from elsewhere: signals go to the node.
    with container.serving(settings(), ["strace", "-D", "-f", "-q", "-o", str(log), "-e", calls]) as process:
        ready(container, process, CHECK, {})
        status, _ = chat(URL, model, KEY)
    eventually("the end of the watch", lambda: "+++ exited with 0 +++" in log.read_text())
    return status, reached(log.read_text())


def test_nothing_phones_home(layer, tmp_path):
    def work():
        status, whom = watched(layer, tmp_path, {}, "mock/echo")
        assert status == 200 and whom == set(), (status, whom)

    alone(work)


def test_whoever_phones_is_seen(layer, tmp_path):
    """Without this the test above could not fail."""

    def by_address():
        status, whom = watched(layer, tmp_path / "address", {"far": provider("http://192.0.2.7:9/v1")}, "far/m")
        assert status == 502 and whom == {"192.0.2.7"}, (status, whom)

    def by_name():
        status, whom = watched(layer, tmp_path / "name", {"far": provider("http://far.test/v1")}, "far/m")
        assert status == 502 and whom == {NOWHERE}, (status, whom)

    for work, name in ((by_address, "address"), (by_name, "name")):
        (tmp_path / name).mkdir()
        alone(work)


def test_the_nodes_of_compose_are_a_cluster(layer, tmp_path):
    """The services of compose.yaml with their own settings, each with an address of its own."""
    composed, own = services(), "10.77.0.1"
    nodes = [name for name in composed if name.startswith("trestle-")]
    addresses = {name: f"10.77.0.{number}" for number, name in enumerate(nodes, start=2)}

    def work():
        bridged(addresses, own)
        certificates = Container(tmp_path / "certificates", *layer, {})
        for made in ("trestle-0", "each node has its folder already"):
            ran = certificates.run(["/trestle", *composed["mesh-certificates"]["command"]])
            assert ran.returncode == 0 and made in ran.stdout, ran

        files = document() | {
            "run/secrets/cluster-secret": "5a" * 32,
            "run/secrets/kek": "a5" * 32,
            "run/secrets/root-token": ADMIN,
            "etc/resolv.conf": f"nameserver {own}\n",
        }
        with names(addresses, own) as asked, contextlib.ExitStack() as stack:
            started = {}
            for name, address in addresses.items():
                files["etc/hosts"] = f"127.0.0.1 localhost\n{address} {name}\n"
                container = Container(tmp_path / name, *layer, files, {"etc/trestle/mesh": certificates.data})
                container.within = ["nsenter", f"--net=/run/netns/{name}"]
                here = composed[name]["environment"] | {"WEB_KEY": KEY}
                started[name] = container, stack.enter_context(container.serving(here))
            for name, address in addresses.items():
                (first, *check) = composed[name]["healthcheck"]["test"]
                assert first == "CMD"
                ready(*started[name], check, {"TRESTLE_URL": composed[name]["environment"]["TRESTLE_URL"]})
                status, text = chat(f"http://{address}:8080", "mock/echo", KEY)
                assert status == 200, (name, status, text)
            assert set(nodes) <= set(asked)

            def whole() -> bool:
                _, text = ask(f"http://{addresses[nodes[0]]}:8081/api/cluster", token=ADMIN)
                members = {member["name"]: member["votes"] and member["live"] for member in json.loads(text)["members"]}
                return members == dict.fromkeys(nodes, True)

            eventually("all nodes to vote and be heard of", whole)

    alone(work)
