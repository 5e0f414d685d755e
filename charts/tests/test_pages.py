"""The pages of the chart say what it has."""

import re
import sys

import yaml
from conftest import CHART, HERE

sys.path.insert(0, str(HERE.parent))
import readme  # noqa: E402


def test_the_tables_are_current():
    assert (CHART / "README.md").read_text() == readme.current(), "run charts/readme.py"


def leaves(values, path=""):
    for name, of in values.items():
        here = f"{path}.{name}" if path else name
        yield here
        if isinstance(of, dict):
            yield from leaves(of, here)


def test_every_value_is_described():
    text = (CHART / "values.yaml").read_text()
    described = {path for _, path, _ in readme.described(text)}
    values = list(leaves(yaml.safe_load(text)))
    assert described <= set(values)
    parents = {path.rsplit(".", 1)[0] for path in described if "." in path}
    parents |= {parent.rsplit(".", 1)[0] for parent in parents if "." in parent}
    for path in values:
        above = [".".join(path.split(".")[:depth]) for depth in range(1, path.count(".") + 2)]
        assert path in parents or any(of in described for of in above), f"values.yaml: {path} has no description"


def test_pages_name_values_that_there_are():
    values = set(leaves(yaml.safe_load((CHART / "values.yaml").read_text())))
    first = {path.split(".")[0] for path in values}
    for page in ("README.md", "UPGRADING.md", "templates/NOTES.txt", "templates/_validate.tpl"):
        text = (CHART / page).read_text()
        for path in re.findall(r"(?<![-\w./$])([a-z]\w+(?:\.[a-z]\w+)+)(?![\w/(])", text):
            if path.split(".")[0] in first and not path.endswith((".yaml", ".json", ".crt", ".key")):
                known = path in values or path.startswith(("values.", "document.content", "mesh.tls.crt"))
                assert known or path.rsplit(".", 1)[-1] == "name", f"{page}: there is no value {path}"
