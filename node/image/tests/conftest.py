"""The scripts that make the image and the bundle, and the image itself where one was built."""

import importlib.util
import json
import os
import platform
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

IMAGE_FOLDER = Path(__file__).resolve().parent.parent
ROOT = IMAGE_FOLDER.parent.parent
TIME = "1800000000"

sys.path[:0] = [str(IMAGE_FOLDER), str(Path(__file__).parent)]


def script(name: str, *arguments: object, **variables: str) -> subprocess.CompletedProcess:
    """Runs one of the scripts."""
    environment = os.environ | {"SOURCE_DATE_EPOCH": TIME} | variables
    command = [sys.executable, IMAGE_FOLDER / name, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def done(ran: subprocess.CompletedProcess) -> str:
    """What a command printed, if it ended well."""
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def skopeo(*arguments: object) -> str:
    return done(subprocess.run(["skopeo", *map(str, arguments)], capture_output=True, text=True))


def loaded(name: str):
    """A script as a module, without running it."""
    loader = SourceFileLoader(f"{name}_script", str(IMAGE_FOLDER / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    module.__dict__["__name__"] = loader.name
    loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def program(tmp_path_factory) -> Path:
    """A static program that is none of ours: what the scripts do with it they do with ours."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "main.c").write_text("int main(void) { return 0; }\n")
    made = folder / "program"
    done(subprocess.run(["cc", "-static", "-o", made, folder / "main.c"], capture_output=True, text=True))
    return made


@pytest.fixture(scope="session")
def image() -> Path:
    """The image that was built for this machine; where it is not required the test passes by without."""
    path = Path(os.environ.get("TRESTLE_TEST_IMAGE", ""))
    if path.is_file() and platform.machine() == "x86_64":
        return path
    if os.environ.get("TRESTLE_REQUIRE_IMAGE") == "1":
        pytest.fail(f"no image at {path}: node/image/build makes it")
    pytest.skip("no image was built")


@pytest.fixture(scope="session")
def layer(image, tmp_path_factory) -> tuple[Path, dict]:
    """The one layer of the image, and its config."""
    folder = tmp_path_factory.mktemp("image")
    skopeo("copy", "--quiet", f"oci-archive:{image}", f"dir:{folder}")
    manifest = json.loads((folder / "manifest.json").read_text())
    (layer,) = manifest["layers"]
    config = json.loads(skopeo("inspect", "--config", f"oci-archive:{image}"))["config"]
    return folder / layer["digest"].removeprefix("sha256:"), config
