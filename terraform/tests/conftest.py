"""What the suites share: schemas once, providers without a cloud, Terraform."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import cloud  # noqa: E402
import schemas  # noqa: E402
from terraform import ROOT, Terraform, copy  # noqa: E402


@pytest.fixture(scope="session")
def shapes():
    """Schemas of the providers, below the target folder."""
    cache = os.environ.get("TRESTLE_TEST_SCHEMAS", ROOT.parent / "target" / "terraform-schemas")
    return schemas.build(ROOT, cache)


@pytest.fixture(scope="session")
def reattach(shapes, tmp_path_factory):
    """What Terraform has to be told of the providers that run here."""
    made = cloud.Cloud(shapes, tmp_path_factory.mktemp("providers"))
    yield made.reattach
    made.stop()


@pytest.fixture
def terraform(reattach, tmp_path):
    """Terraform in a fresh copy of the tree."""
    return Terraform(copy(tmp_path), reattach)
