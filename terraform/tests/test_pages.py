"""Each README names every variable, output and member of `target` of its module, and none that is not there."""

import re

import pytest
from terraform import ROOT

MODULES = ["."] + sorted(f"modules/{path.name}" for path in (ROOT / "modules").iterdir())
PLATFORMS = [name for name in MODULES if name not in (".", "modules/core")]


def declared(module, kind):
    texts = [path.read_text() for path in sorted((ROOT / module).glob("*.tf"))]
    return {name for text in texts for name in re.findall(rf'^{kind} "(\w+)"', text, re.M)}


def rows(module, heading):
    """The first cells of the table below a heading."""
    page = (ROOT / module / "README.md").read_text()
    found = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", page, re.M | re.S)
    assert found, f"{module}/README.md has no heading {heading}"
    return set(re.findall(r"^\| `(\w+)` \|", found[1], re.M))


def members(module):
    """The members of `target`, as locals.tf has them."""
    text = (ROOT / module / "locals.tf").read_text()
    required = re.search(r"required = \[(.*?)\]", text, re.S)[1]
    defaults = re.search(r"defaults = \{\n(.*?)^  \}", text, re.M | re.S)[1]
    return set(re.findall(r'"(\w+)"', required)) | set(re.findall(r"^    (\w+)\s+=", defaults, re.M))


@pytest.mark.parametrize("module", MODULES)
def test_page_has_what_the_module_has(module):
    assert rows(module, "Inputs") == declared(module, "variable")
    assert rows(module, "Outputs") == declared(module, "output")


@pytest.mark.parametrize("module", PLATFORMS)
def test_page_has_the_members_of_target(module):
    assert rows(module, "Target") == members(module)


def declaration(module, kind, name):
    text = "".join(path.read_text() for path in sorted((ROOT / module).glob("*.tf")))
    return re.search(rf'^{kind} "{name}" \{{.*?^\}}\n', text, re.M | re.S)[0]


def test_platforms_take_the_same():
    """So that a move from the root to a module is a change of its source."""
    first = declared(PLATFORMS[0], "variable")
    for module in PLATFORMS:
        assert declared(module, "variable") == first, module
        assert declared(module, "output") == declared(".", "output"), module
    assert declared(".", "variable") == first | {"platform"}
    alike = first - {"provider_keys", "certificate", "replicas", "target"}
    for name in alike:
        texts = {declaration(module, "variable", name) for module in [*PLATFORMS, "."]}
        assert len(texts) == 1, f"variable {name} is not declared alike: {texts}"


@pytest.mark.parametrize("module", MODULES)
def test_everything_is_described(module):
    for kind in ("variable", "output"):
        for name in declared(module, kind):
            assert "description" in declaration(module, kind, name), f"{module}: {kind} {name}"
