"""What the image and the bundle have in common: archives that are the same bytes whenever they hold the same."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# What a tar archive of ours holds: the name, its mode, its owner, and the bytes; a folder has none.
Entry = tuple[str, int, int, bytes | None]


class Wrong(Exception):
    """What cannot be done as asked, and how to mend it."""


def version() -> str:
    """The version of the workspace."""
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def target() -> Path:
    """Where builds are."""
    return Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")


def epoch() -> int:
    """The time that all files have: SOURCE_DATE_EPOCH, else that of the commit, else 1970."""
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        if not given.isdigit():
            raise Wrong(f"SOURCE_DATE_EPOCH must be whole seconds since 1970, not `{given}`")
        return int(given)
    try:
        log = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
        return int(subprocess.run(log, capture_output=True, check=True, text=True).stdout)
    except (OSError, subprocess.CalledProcessError, ValueError):
        return 0


def tar(entries: list[Entry], time: int) -> bytes:
    """A tar archive of entries in this order."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, mode, owner, content in entries:
            info = tarfile.TarInfo(name)
            info.mode, info.uid, info.gid, info.mtime = mode, owner, owner, time
            if content is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def gzipped(content: bytes) -> bytes:
    """Compressed, without the time at which that was done."""
    return gzip.compress(content, compresslevel=9, mtime=0)


def compact(value: object) -> bytes:
    """JSON that is the same for the same value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def write(path: Path, content: bytes) -> None:
    """Writes a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.replace(path)


def run(main) -> None:
    """Runs a script; what is wrong is said in one line."""
    try:
        main()
    except (Wrong, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"error: {error}")
