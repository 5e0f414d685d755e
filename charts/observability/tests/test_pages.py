"""The pages for operators name commands, settings and metrics that there are."""

import re

import pytest
from conftest import ROOT, family_of, selectors

PAGES = sorted((ROOT / "docs/operations").glob("*.md"))


def text_of(page):
    return page.read_text(encoding="utf-8")


def rows(page):
    """What stands in code at the begin of the rows of a page's tables."""
    return re.findall(r"^\| `([^`]+)`", text_of(ROOT / "docs" / page), flags=re.MULTILINE)


def code(page):
    """What is written as code: between marks, and in blocks."""
    blocks = re.findall(r"```\w*\n(.*?)```", text_of(page), flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return lines + re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL))


def commands():
    """The words that make each command."""
    found = re.findall(r"^\| `trestle ([a-z][a-z-]*(?: [a-z][a-z-]*)?)", text_of(ROOT / "docs/cli.md"), flags=re.MULTILINE)
    return {tuple(words.split()) for words in found}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_are_there(page):
    known = commands()
    for line in code(page):
        for rest in re.findall(r"(?:^|[ /])trestle ((?:[a-z-]+ ?)+)", line):
            words = rest.split()
            # Names of services and pods are no commands.
            if line.startswith(("systemctl", "helm", "kubectl", "journalctl", "cargo")):
                continue
            assert tuple(words[:1]) in known or tuple(words[:2]) in known, f"{page.name}: trestle {rest} is no command"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_options_and_settings_are_there(page):
    """Flags of `trestle serve` are its settings; those of other commands stand in the page of commands."""
    cli = text_of(ROOT / "docs/cli.md") + text_of(ROOT / "docs/benchmarks.md")
    settings = {"--" + name.replace("_", "-").replace(".", "-") for name in rows("settings.md")}
    for line in code(page):
        if "trestle " not in line and not line.startswith("--") or line.startswith(("systemctl", "helm", "kubectl", "curl", "cargo")):
            continue
        for flag in re.findall(r"(?<!\S)--[a-z][a-z-]+", line):
            assert flag in settings or f"`{flag}" in cli or f"{flag} " in cli, f"{page.name}: {flag} in {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_metrics_are_there(page, families, alerts):
    names = {rule["alert"] for rule in alerts}
    for name in re.findall(r"\b(?:trestle|process)_[a-z_]+", text_of(page)):
        assert family_of(name, families) in families, f"{page.name}: {name}"
    headings = {heading for other in PAGES for heading in re.findall(r"^## (Trestle\w+)", text_of(other), flags=re.MULTILINE)}
    for name in re.findall(r"\bTrestle[A-Z]\w+", text_of(page)):
        assert name in names | headings, f"{page.name}: no alert {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_queries_are_queries(page, series):
    for block in re.findall(r"```promql\n(.*?)```", text_of(page), flags=re.DOTALL):
        for query in block.strip().splitlines():
            for metric, labels in selectors(query):
                assert metric in series and labels <= series[metric], f"{page.name}: {query}"
