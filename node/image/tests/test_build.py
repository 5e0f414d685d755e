"""The image by its archive: what it says, that it is the same each time, and what cannot become one."""

import json
import struct
import tarfile

import pytest
from conftest import ROOT, TIME, done, loaded, script, skopeo

# What an image may have, compressed.
BYTES_MAX = 25_000_000


def test_the_same_binary_gives_the_same_digest(program, tmp_path):
    archives = [tmp_path / "first.tar", tmp_path / "second.tar"]
    said = [done(script("build", "--binary", program, "--output", path)).split()[0] for path in archives]
    assert archives[0].read_bytes() == archives[1].read_bytes()
    assert said[0] == said[1] == json.loads(skopeo("inspect", f"oci-archive:{archives[0]}"))["Digest"]
    later = script("build", "--binary", program, "--output", archives[1], SOURCE_DATE_EPOCH=str(int(TIME) + 1))
    assert done(later).split()[0] != said[0]


def test_it_says_what_the_dockerfile_says(program, tmp_path):
    done(script("build", "--binary", program, "--output", tmp_path / "image.tar"))
    shown = json.loads(skopeo("inspect", "--config", f"oci-archive:{tmp_path}/image.tar"))
    assert (shown["os"], shown["architecture"], shown["created"]) == ("linux", "amd64", "2027-01-15T08:00:00Z")
    config = shown["config"]
    assert config["User"] == "65532:65532"
    assert (config["Entrypoint"], config["Cmd"]) == (["/trestle"], ["serve"])
    assert set(config["ExposedPorts"]) == {"8080/tcp", "8081/tcp", "10101/udp", "10102/tcp"}
    assert (set(config["Volumes"]), config["WorkingDir"]) == ({"/var/lib/trestle"}, "/var/lib/trestle")
    assert config["Env"] == ["TRESTLE_DATA_DIR=/var/lib/trestle"]
    raw = json.loads(skopeo("inspect", "--raw", f"oci-archive:{tmp_path}/image.tar"))
    for names in (config["Labels"], raw["annotations"]):
        assert names["org.opencontainers.image.title"] == "Trestle"
        assert names["org.opencontainers.image.licenses"] == "Apache-2.0"


def test_it_holds_a_program_a_licence_and_a_data_folder(program, tmp_path):
    done(script("build", "--binary", program, "--output", tmp_path / "image.tar"))
    # It checks each digest on the way.
    skopeo("copy", "--quiet", f"oci-archive:{tmp_path}/image.tar", f"dir:{tmp_path}/copied")
    manifest = json.loads((tmp_path / "copied/manifest.json").read_text())
    (layer,) = manifest["layers"]
    with tarfile.open(tmp_path / "copied" / layer["digest"].removeprefix("sha256:")) as root:
        held = {entry.name: (oct(entry.mode), entry.uid, entry.gid) for entry in root}
        assert root.extractfile("trestle").read() == program.read_bytes()
        assert root.extractfile("LICENSE").read() == (ROOT / "LICENSE").read_bytes()
    assert held == {
        "LICENSE": ("0o644", 0, 0),
        "trestle": ("0o755", 0, 0),
        "var": ("0o755", 0, 0),
        "var/lib": ("0o755", 0, 0),
        "var/lib/trestle": ("0o700", 65532, 65532),
    }


def other_machine(program, path, machine):
    """The program with another machine in its head."""
    binary = bytearray(program.read_bytes())
    struct.pack_into("<H", binary, 18, machine)
    path.write_bytes(binary)
    return path


def test_two_architectures_are_one_image(program, tmp_path):
    arm = other_machine(program, tmp_path / "arm", 0xB7)
    done(script("build", "--binary", program, "--binary", arm, "--output", tmp_path / "image.tar"))
    index = json.loads(skopeo("inspect", "--raw", f"oci-archive:{tmp_path}/image.tar"))
    assert [entry["platform"]["architecture"] for entry in index["manifests"]] == ["amd64", "arm64"]
    skopeo("copy", "--quiet", "--all", f"oci-archive:{tmp_path}/image.tar", f"dir:{tmp_path}/copied")
    for arch in ("amd64", "arm64"):
        of = ("--override-arch", arch, "inspect", "--config", f"oci-archive:{tmp_path}/image.tar")
        assert json.loads(skopeo(*of))["architecture"] == arch


def test_what_would_not_run_is_refused(program, tmp_path):
    (tmp_path / "text").write_text("#!/bin/sh\n")
    (tmp_path / "cut").write_bytes(program.read_bytes()[:100])
    for arguments, wanted in [
        (["--binary", tmp_path / "text"], "no binary for Linux"),
        (["--binary", tmp_path / "cut"], "is cut off"),
        (["--binary", "/bin/true"], "needs shared libraries"),
        (["--binary", other_machine(program, tmp_path / "riscv", 0xF3)], "another architecture than amd64 and arm64"),
        (["--binary", program, "--binary", program], "a second binary for amd64"),
        (["--binary", tmp_path / "none"], "No such file"),
    ]:
        ran = script("build", *arguments, "--output", tmp_path / "image.tar")
        assert ran.returncode == 1 and ran.stderr.startswith("error: ") and wanted in ran.stderr, (wanted, ran)
        assert "Traceback" not in ran.stderr and not (tmp_path / "image.tar").exists()
    ran = script("build", "--binary", program, "--output", tmp_path / "image.tar", SOURCE_DATE_EPOCH="now")
    assert ran.returncode == 1 and "SOURCE_DATE_EPOCH must be whole seconds" in ran.stderr


def test_a_dockerfile_that_it_does_not_know_is_refused():
    build, dockerfile = loaded("build"), (ROOT / "node/Dockerfile").read_text()
    build.last_stage(dockerfile)
    for text in [
        dockerfile + "RUN /trestle --version\n",
        dockerfile + "FROM debian\n",
        dockerfile.replace('version="0.1.0"', 'version="0.0.9"'),
        dockerfile.replace('CMD ["serve"]', "CMD serve"),
        dockerfile.replace("/image/ /", "/image/trestle /"),
    ]:
        with pytest.raises(build.Wrong, match="node/Dockerfile: "):
            build.last_stage(text)


def test_the_image_is_small(image):
    manifest = json.loads(skopeo("inspect", "--raw", f"oci-archive:{image}"))
    size = sum(layer["size"] for layer in manifest["layers"]) + manifest["config"]["size"]
    assert size < BYTES_MAX, f"the image has {size} bytes, compressed"
