"""Writes the tables of values in trestle/README.md from the comments of trestle/values.yaml. A test calls `current` and compares."""

import json
import pathlib
import re

import yaml

CHART = pathlib.Path(__file__).parent / "trestle"
BEGIN, END = "<!-- values: made by charts/readme.py -->\n", "<!-- end of values -->\n"
LINE = re.compile(r"^(?P<indent> *)(?:# == (?P<section>.*)|# -- (?P<begins>.*)|# (?P<goes_on>.*)|(?P<key>[A-Za-z]\w*):.*)$")


def described(text):
    """Sections, paths and descriptions of values, in their order: (section, path, description)."""
    section, words, above = "", [], []
    for line in text.splitlines():
        match = LINE.match(line)
        if match is None:
            words = []
        elif match["section"]:
            section = match["section"]
        elif match["begins"]:
            words = [match["begins"]]
        elif match["goes_on"] and words:
            words.append(match["goes_on"])
        elif match["key"]:
            depth = len(match["indent"]) // 2
            above = above[:depth] + [match["key"]]
            if words:
                yield section, ".".join(above), " ".join(words)
            words = []


def default(values, path):
    for name in path.split("."):
        values = values[name]
    return "" if values in ("", None) else f"`{json.dumps(values)}`"


def tables():
    text = (CHART / "values.yaml").read_text()
    values, lines, last = yaml.safe_load(text), [], None
    for section, path, description in described(text):
        if section != last:
            lines += ["", f"### {section}", "", "| value | default | what |", "|---|---|---|"]
            last = section
        lines.append(f"| `{path}` | {default(values, path)} | {description} |")
    return "\n".join(lines[1:]) + "\n"


def current():
    """The page as it should be."""
    page = (CHART / "README.md").read_text()
    head, rest = page.split(BEGIN)
    return f"{head}{BEGIN}\n{tables()}\n{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    (CHART / "README.md").write_text(current())
