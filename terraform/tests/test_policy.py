"""Static analysis by checkov: what clouds hold to be unsafe. An exception stands in the code, with its reason."""

import json
import subprocess
import sys


def checked(folder):
    """(passed, failed checks) of a folder."""
    command = [sys.executable, "-m", "checkov.main", "--directory", str(folder), "--framework", "terraform"]
    command += ["--skip-download", "--quiet", "--output", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    report = json.loads(done.stdout)
    return report["summary"]["passed"], [f"{one['check_id']} {one['resource']}" for one in report["results"]["failed_checks"]]


def test_nothing_is_unsafe(terraform):
    passed, failed = checked(terraform.tree)
    assert failed == []
    assert passed > 50


def test_what_is_unsafe_is_found(terraform):
    folder = terraform.tree / "modules" / "ecs"
    disks = folder / "disks.tf"
    disks.write_text(disks.read_text().replace("encrypted        = true", "encrypted        = false"))
    assert "CKV_AWS_42 aws_efs_file_system.this" in checked(folder)[1]
