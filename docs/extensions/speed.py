"""The page of speed, written from the table that `make bench` writes."""

import json
from pathlib import Path
from typing import Any

HEAD = """# Speed

`make bench` measures each case against what one would otherwise do, side by side in one process and mostly in CPU seconds,
so that a busy machine changes little. These are the cases of its last table that is kept here; the note says what compiling
took, which comes on top once.

"""
FOOT = """
A ratio above 1 means that lineament does that much more of the work per second. The spread is that of the repeats. Run a case of
your choice by `python -m benchmarks modes`; `python -m benchmarks --help` lists them. The page computed in the browser has bars of
its own, among the cases of `make bench`. A new table is taken into this page by
`cp bench/results.json benchmarks/measured.json`.
"""


def page(measured: Path) -> str:
    """The page: every row of the table, and what it was measured on."""
    content = json.loads(measured.read_text(encoding="utf-8"))
    lines = [HEAD, "| case | ours | against | ratio (spread) | note |", "| --- | --- | --- | --- | --- |"]
    lines += map(_row, content["rows"])
    versions = ", ".join(f"{name} {version}" for name, version in content["environment"].items())
    return "\n".join([*lines, f"\nMeasured on: {versions}.", FOOT])


def _row(row: dict[str, Any]) -> str:
    ratio, low, high = (_told(row[name]) for name in ("ratio", "low", "high"))
    return f"| {row['case']} | {row['ours']} | {row['other']} | {ratio}× ({low}–{high}) | {row['note']} |"


def _told(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.3g}"
