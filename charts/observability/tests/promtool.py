"""Prometheus's own checker of rules, of the Debian package `prometheus`."""

import os
import shutil
import subprocess

import pytest


def promtool(*arguments):
    """Runs it; fails with what it said where it is not content."""
    program = shutil.which("promtool")
    if not program:
        if os.environ.get("TRESTLE_REQUIRE_CLIENTS") == "1":
            pytest.fail("promtool is required: install Prometheus")
        pytest.skip("promtool is missing")
    done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
