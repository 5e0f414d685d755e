"""A room: a process with a network of its own, where nothing but the loopback is, and mounts of its own, for programs of an image."""

import contextlib
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
import urllib.error
import urllib.request
from pathlib import Path

import pytest

CLONE_NEWNS, CLONE_NEWNET = 0x00020000, 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
ENTER = Path(__file__).with_name("enter.py")
# How long anything may take.
DEADLINE_SECONDS = 60
USER = 65532


def alone(work) -> None:
    """Runs `work` in a room; what it raises is raised here. Nothing of the room is left."""
    if os.geteuid() != 0 and os.environ.get("TRESTLE_REQUIRE_IMAGE") != "1":
        pytest.skip("only root may make a room")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS | CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "unshare: a room needs root")
            subprocess.run(["mount", "--make-rprivate", "/"], check=True)
            loopback_up()
            work()
            os._exit(0)
        except BaseException:
            os.write(writer, traceback.format_exc().encode())
            os._exit(1)
    os.close(writer)
    with os.fdopen(reader, "rb") as said:
        problem = said.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    assert status == 0, problem or f"the room ended with status {status}"


def loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sH22x", b"lo", 0)
        (flags,) = struct.unpack_from("H", fcntl.ioctl(any_socket, SIOCGIFFLAGS, asked), 16)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", flags | IFF_UP))


def bridged(addresses: dict[str, str], own: str) -> None:
    """For each name a network with its address, joined by a bridge at which this process has its own, as engines do it."""

    def ip(line: str) -> None:
        subprocess.run(["ip", *line.split()], check=True)

    # `ip netns` keeps its files there.
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    ip("link add name bridge type bridge")
    ip(f"address add {own}/24 dev bridge")
    ip("link set bridge up")
    for number, (name, address) in enumerate(addresses.items()):
        ip(f"netns add {name}")
        ip(f"link add name port{number} type veth peer name eth0 netns {name}")
        ip(f"link set port{number} master bridge up")
        ip(f"-netns {name} address add {address}/24 dev eth0")
        ip(f"-netns {name} link set eth0 up")
        ip(f"-netns {name} link set lo up")


def eventually(what: str, look):
    """What `look` gives once it gives something."""
    end = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited in vain for {what}")


class Container:
    """An image unpacked and mounted as an engine would do it: read-only but for its data folder, with files of the test in it."""

    def __init__(self, folder: Path, layer: Path, config: dict, files: dict[str, str], shared: dict[str, Path] | None = None) -> None:
        self.config, self.root, self.data = config, folder / "root", folder / "data"
        # What its programs are started by, to be in a network of their own.
        self.within: list[str] = []
        self.root.mkdir(parents=True)
        subprocess.run(["tar", "--extract", "--numeric-owner", "--same-owner", "--file", layer, "--directory", self.root], check=True)
        self.content = sorted(path.relative_to(self.root).as_posix() for path in self.root.rglob("*"))
        self.data.mkdir(mode=0o700)
        os.chown(self.data, USER, USER)
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            if name.startswith("run/secrets/"):
                os.chown(path, USER, USER)
                path.chmod(0o400)
        mounts = [("/proc", "proc"), ("/dev", "dev"), (self.data, "var/lib/trestle")]
        mounts += [(source, place) for place, source in (shared or {}).items()]
        for _, place in mounts:
            (self.root / place).mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "--bind", self.root, self.root], check=True)
        subprocess.run(["mount", "-o", "remount,bind,ro", self.root], check=True)
        for source, place in mounts:
            subprocess.run(["mount", "--bind", source, self.root / place], check=True)

    def command(self, arguments: list[str]) -> list[str]:
        user, _, _ = self.config["User"].partition(":")
        return self.within + [sys.executable, str(ENTER), str(self.root), self.config["WorkingDir"], user, *arguments]

    def environment(self, more: dict[str, str]) -> dict[str, str]:
        return dict(pair.split("=", 1) for pair in self.config["Env"]) | more

    def run(self, arguments: list[str], more: dict[str, str] | None = None) -> subprocess.CompletedProcess:
        """Runs a program of the image to its end."""
        environment = self.environment(more or {})
        return subprocess.run(self.command(arguments), env=environment, capture_output=True, text=True, timeout=DEADLINE_SECONDS)

    @contextlib.contextmanager
    def serving(self, more: dict[str, str], before: list[str] | None = None):
        """The image as it starts by itself, with these variables; ended at the end, as an engine ends it."""
        arguments = self.config["Entrypoint"] + self.config["Cmd"]
        with open(self.data.with_name("log"), "a+") as log:
            process = subprocess.Popen((before or []) + self.command(arguments), env=self.environment(more), stdout=log, stderr=log)
            try:
                yield process
                process.send_signal(signal.SIGTERM)
                status = process.wait(DEADLINE_SECONDS)
                assert status == 0, f"ended with status {status}"
            except BaseException as error:
                log.seek(0)
                error.add_note(log.read()[-10_000:])
                raise
            finally:
                process.kill()
                process.wait()


def ready(container: Container, process: subprocess.Popen, check: list[str], more: dict[str, str]) -> None:
    """Waits until a health check of a container that serves ends well."""

    def look() -> bool:
        assert process.poll() is None, f"the node ended with status {process.returncode}"
        return container.run(check, more).returncode == 0

    eventually("the node to be ready", look)


def ask(url: str, body: object = None, token: str = "") -> tuple[int, str]:
    """The status and the text of an answer; 0 where nobody answers."""
    request = urllib.request.Request(url, data=None if body is None else json.dumps(body).encode())
    request.add_header("content-type", "application/json")
    request.add_header("authorization", f"Bearer {token}")
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=DEADLINE_SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def chat(url: str, model: str, key: str) -> tuple[int, str]:
    """A chat request."""
    return ask(f"{url}/v1/chat/completions", {"model": model, "messages": [{"role": "user", "content": "Hello, room"}]}, key)


@contextlib.contextmanager
def names(known: dict[str, str], at: str = "127.0.0.1"):
    """A DNS server that knows these names and no others; gives the names that it was asked for."""
    asked: list[str] = []
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind((at, 53))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                query, client = server.recvfrom(512)
                if not query:
                    return
                labels, at = [], 12
                while query[at]:
                    labels.append(query[at + 1 : at + 1 + query[at]].decode())
                    at += 1 + query[at]
                name, (kind,) = ".".join(labels), struct.unpack_from(">H", query, at + 1)
                asked.append(name)
                # Of a name that is known there is no address of version 6; a name that is not known is said to be none.
                address = known.get(name) if kind == 1 else None
                flags = 0x8180 if name in known else 0x8183
                answer = query[:2] + struct.pack(">HHHHH", flags, 1, 1 if address else 0, 0, 0) + query[12 : at + 5]
                if address:
                    answer += struct.pack(">HHHIH", 0xC00C, 1, 1, 5, 4) + socket.inet_aton(address)
                server.sendto(answer, client)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield asked
    finally:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
            last.sendto(b"", (at, 53))
        thread.join()
        server.close()
