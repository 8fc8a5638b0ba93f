"""The newcomer's stopwatch, as `python -m benchmarks.stopwatch` measured it last."""

import json
from pathlib import Path

HEAD = """# A newcomer's stopwatch

How long the first steps take, from a fresh clone with nothing installed but Python, git and make. `python -m
benchmarks.stopwatch` clones the repository into an empty folder and runs what a newcomer would type; run it on your own machine.

| | command | passed | of CPU |
| --- | --- | --- | --- |"""
FOOT = """
Set-up downloads every package once, so it depends on your network most. A first run of anything compiles what it trains; the second
is faster. What passed depends on what else the machine does (its load is given), the time of the CPU hardly.
"""


def page(measured: Path) -> str:
    """The page: a row for each step, and what it was measured on."""
    content = json.loads(measured.read_text(encoding="utf-8"))
    laps = content["laps"]
    rows = [f"| {lap['what']} | `{lap['command']}` | {lap['seconds']:.0f} s | {lap['cpu']:.0f} s |" for lap in laps]
    whole = [
        f"| **all** | | **{sum(lap['seconds'] for lap in laps):.0f} s** | **{sum(lap['cpu'] for lap in laps):.0f} s** |"
    ]
    versions = ", ".join(f"{name} {version}" for name, version in content["environment"].items())
    return "\n".join([HEAD, *rows, *whole, "", f"Measured on: {versions}.", FOOT])
