"""The bundle for machines without a network: it is whole, it is the same each time, and its lists are true."""

import json
import re
import subprocess
import tarfile
import tomllib

import helm_python
import pytest
from conftest import ROOT, done, loaded, script, skopeo
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator


@pytest.fixture(scope="module")
def bundle(program, tmp_path_factory):
    """A bundle and where it is unpacked."""
    folder = tmp_path_factory.mktemp("bundle")
    done(script("build", "--binary", program, "--output", folder / "image.tar"))
    done(script("bundle", "--image", folder / "image.tar", "--output", folder / "bundle.tar"))
    with tarfile.open(folder / "bundle.tar") as archive:
        archive.extractall(folder, filter="data")
    return folder / "bundle.tar", folder / "trestle-0.1.0"


def test_the_same_image_gives_the_same_bundle(bundle, tmp_path):
    path, unpacked = bundle
    image = unpacked / "trestle-0.1.0-image.tar"
    done(script("bundle", "--image", image, "--output", tmp_path / "again.tar"))
    assert (tmp_path / "again.tar").read_bytes() == path.read_bytes()


def test_all_files_have_their_sums(bundle):
    _, unpacked = bundle
    done(subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=unpacked, capture_output=True, text=True))
    listed = {line.split("  ")[1] for line in (unpacked / "SHA256SUMS").read_text().splitlines()}
    assert listed | {"SHA256SUMS"} == {path.name for path in unpacked.iterdir()}
    assert (unpacked / "models.jsonl").read_bytes() == (ROOT / "node/catalog/models.jsonl").read_bytes()


def test_its_page_names_the_files_and_the_image(bundle):
    _, unpacked = bundle
    page = (unpacked / "README.md").read_text()
    assert "VERSION" not in page and "DIGEST" not in page
    assert json.loads(skopeo("inspect", f"oci-archive:{unpacked}/trestle-0.1.0-image.tar"))["Digest"] in page
    named = set(re.findall(r"^\| `([^`]+)`", page, re.MULTILINE))
    packed = {path.name for path in unpacked.iterdir()} - {"LICENSE", "LICENSE-litellm", "README.md"}
    assert named == packed | {"trestle-0.1.0.tgz"}


def test_its_list_of_parts_is_valid_and_true(bundle):
    _, unpacked = bundle
    text = (unpacked / "trestle-0.1.0.cdx.json").read_text()
    problem = JsonStrictValidator(SchemaVersion.V1_5).validate_str(text)
    assert problem is None, problem
    sbom = json.loads(text)
    scopes = {part["name"]: part["scope"] for part in sbom["components"]}
    # In the binary; only in the compiler; only in tests.
    assert [scopes.get(name) for name in ("rustls", "ring", "trestle-gateway")] == ["required"] * 3
    assert [scopes.get(name) for name in ("serde_derive", "cc", "protox")] == ["excluded"] * 3
    assert not scopes.keys() & {"trestle", "trestle-bench", "proptest", "criterion"}
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(crate["name"], crate["version"]): crate.get("checksum") for crate in locked}
    for part in sbom["components"]:
        wanted = checksums[part["name"], part["version"]]
        assert [held["content"] for held in part.get("hashes", [])] == ([wanted] if wanted else []), part
        assert part.get("licenses"), part
    known = {part["bom-ref"] for part in sbom["components"]} | {sbom["metadata"]["component"]["bom-ref"]}
    for edge in sbom["dependencies"]:
        assert {edge["ref"], *edge["dependsOn"]} <= known
    assert len(known) == len(sbom["components"]) + 1 == len(sbom["dependencies"])
    image = json.loads(skopeo("inspect", f"oci-archive:{unpacked}/trestle-0.1.0-image.tar"))["Digest"]
    assert f"sha256:{sbom['metadata']['component']['hashes'][0]['content']}" == image


def test_the_chart_is_packed_so_that_helm_reads_it(bundle, tmp_path):
    _, unpacked = bundle
    packed = unpacked / "trestle-0.1.0.tgz"
    if not packed.exists():
        pytest.skip("no chart in this checkout")
    chart = helm_python.Chart.load(str(packed))
    assert chart.name == "trestle"
    digest = json.loads(skopeo("inspect", f"oci-archive:{unpacked}/trestle-0.1.0-image.tar"))["Digest"]
    rendered = json.dumps(chart.render({"image": {"registry": "registry.example", "digest": digest}}, name="t", namespace="n"))
    assert f"registry.example/trestle@{digest}" in rendered, rendered


def test_files_that_helm_ignores_are_left_out():
    ignored = loaded("bundle").ignored
    patterns = ["*.golden", "tests/", "/ci", "docs/draft.md"]
    for name, wanted in [
        ("Chart.yaml", False),
        ("templates/a.golden", True),
        ("tests/a.yaml", True),
        ("templates/tests/a.yaml", True),
        ("templates/tests", False),
        ("ci/values.yaml", True),
        ("templates/ci", False),
        ("docs/draft.md", True),
        ("other/docs/draft.md", False),
    ]:
        assert ignored(name, patterns) == wanted, name


def test_what_is_no_image_is_refused(tmp_path):
    (tmp_path / "image.tar").write_text("no archive")
    ran = script("bundle", "--image", tmp_path / "image.tar", "--output", tmp_path / "bundle.tar")
    assert ran.returncode == 1 and "no archive of one image" in ran.stderr, ran
    assert not (tmp_path / "bundle.tar").exists()
