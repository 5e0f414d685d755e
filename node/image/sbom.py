"""The parts of the binary as CycloneDX 1.5, by what cargo says of the workspace."""

import json
import os
import subprocess
import tomllib
import uuid
from datetime import UTC, datetime

from archive import ROOT, compact, sha256, version

TRIPLES = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"]


def metadata(triple: str) -> dict:
    """What cargo knows of the crates for a target."""
    command = [os.environ.get("CARGO", "cargo"), "metadata", "--locked", "--format-version=1", "--filter-platform", triple]
    said = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return json.loads(said.stdout)


def reached(crates: dict, first: str, kinds: set[str | None]) -> set[str]:
    """The crates that one uses by edges of these kinds; what only runs in the compiler (macros) is entered for builds alone."""
    nodes = {node["id"]: node for node in crates["resolve"]["nodes"]}
    macros = {package["id"] for package in crates["packages"] if any("proc-macro" in of["kind"] for of in package["targets"])}
    found, waiting = set(), [first]
    while waiting:
        crate = waiting.pop()
        if crate in found or (crate in macros and "build" not in kinds):
            continue
        found.add(crate)
        edges = nodes[crate]["deps"]
        waiting += [edge["pkg"] for edge in edges if any(kind["kind"] in kinds for kind in edge["dep_kinds"])]
    return found


def reference(package: dict) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package: dict, checksums: dict, scope: str) -> dict:
    """One crate. Its hash is that of the archive that the registry gives, as Cargo.lock has it."""
    made = {
        "bom-ref": reference(package),
        "name": package["name"],
        "purl": reference(package),
        "scope": scope,
        "type": "library",
        "version": package["version"],
    }
    if licence := package.get("license"):
        # Crates of long ago wrote a slash.
        made["licenses"] = [{"expression": " OR ".join(part.strip() for part in licence.split("/"))}]
    if description := package.get("description"):
        made["description"] = " ".join(description.split())
    if checksum := checksums.get((package["name"], package["version"])):
        made["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if (package.get("repository") or "").startswith("https://"):
        made["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return made


def sbom(digest: str, time: int) -> bytes:
    """The parts of the image with this digest. Crates that are in the binary are `required`; those that only its build used, such as
    macros, are `excluded`."""
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    checksums = {(crate["name"], crate["version"]): crate.get("checksum") for crate in lock["package"]}
    packages, linked, built, edges = {}, set(), set(), {}
    for crates in map(metadata, TRIPLES):
        of = {package["id"]: package for package in crates["packages"]}
        (first,) = [package["id"] for package in crates["packages"] if package["name"] == "trestle"]
        linked |= {reference(of[crate]) for crate in reached(crates, first, {None})}
        here = reached(crates, first, {None, "build"})
        built |= {reference(of[crate]) for crate in here}
        packages |= {reference(of[crate]): of[crate] for crate in here}
        for node in crates["resolve"]["nodes"]:
            if node["id"] in here:
                used = {reference(of[edge["pkg"]]) for edge in node["deps"] if edge["pkg"] in here}
                edges.setdefault(reference(of[node["id"]]), set()).update(used)
    (root,) = [name for name, package in packages.items() if package["name"] == "trestle"]
    parts = [
        component(packages[name], checksums, "required" if name in linked else "excluded")
        for name in sorted(built - {root})
    ]
    subject = {
        "bom-ref": root,
        "hashes": [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}],
        "licenses": [{"license": {"id": "Apache-2.0"}}],
        "name": "trestle",
        "purl": f"pkg:oci/trestle@{digest.replace(':', '%3A')}?tag={version()}",
        "type": "container",
        "version": version(),
    }
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "components": parts,
        "dependencies": [{"dependsOn": sorted(uses), "ref": name} for name, uses in sorted(edges.items())],
        "metadata": {
            "component": subject,
            "timestamp": datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
        "specVersion": "1.5",
        "version": 1,
    }
    document["serialNumber"] = f"urn:uuid:{uuid.UUID(sha256(compact(document))[:32], version=5)}"
    return json.dumps(document, sort_keys=True, indent=1).encode() + b"\n"
