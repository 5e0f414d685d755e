#!/usr/bin/env python3
"""Writes the Grafana dashboards and the Prometheus rules of the chart.

    python3 charts/generate.py            writes charts/trestle/dashboards/*.json and charts/trestle/alerts/trestle.yaml
    python3 charts/generate.py --check    says which of them are not as they would be written; exit status 1 if any

What is in them stands in `charts/observability`: one file for each dashboard, one for the rules.
"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True

from observability import mesh, node, overview, providers, rules, spend  # noqa: E402

CHART = Path(__file__).resolve().parent / "trestle"


def files():
    """Each file with its text."""
    made = {CHART / "alerts" / "trestle.yaml": rules.text()}
    for module in (overview, providers, spend, mesh, node):
        board = module.board()
        made[CHART / "dashboards" / f"{board.name}.json"] = board.text()
    return made


def main():
    stale = []
    for path, text in files().items():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(str(path))
        if "--check" not in sys.argv[1:]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    print("\n".join(stale) if stale else "nothing to write")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
