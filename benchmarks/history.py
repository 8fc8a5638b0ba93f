"""What was measured before, one line for each run, and what has become slower since by more than its spread.

Ratios are compared, never seconds: both sides of a ratio are timed in turn in one run, so that a busy or a slower machine
moves them alike. Runs on other machines are left out all the same, since a ratio depends on the caches and the cores.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from .harness import Row

MACHINE = ("processor", "machine", "cores")
"""What must agree for two runs to be of one machine."""
BEFORE = 5
"""How many earlier runs are looked at: one alone may have been a lucky one."""


def read(path: Path) -> list[dict]:
    """The runs so far, oldest first."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def entry(rows: Sequence[Row], environment: Mapping[str, str]) -> dict:
    """One run as it is kept."""
    when = datetime.now(UTC).isoformat(timespec="seconds")
    return {"when": when, "commit": commit(), "environment": dict(environment), "rows": [asdict(row) for row in rows]}


def append(path: Path, run: dict) -> None:
    """Add one run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(run, ensure_ascii=False) + "\n")


def slower(run: dict, earlier: Sequence[dict]) -> list[str]:
    """A sentence for each ratio whose whole spread lies below that of the last runs on this machine (their median)."""
    same = [old for old in earlier if all(old["environment"].get(k) == run["environment"].get(k) for k in MACHINE)]
    said = []
    for row in run["rows"]:
        before = [old for past in same for old in past["rows"] if _name(old) == _name(row)][-BEFORE:]
        if before and row["high"] < (low := median(old["low"] for old in before)):
            ratio = median(old["ratio"] for old in before)
            said.append(
                f"{row['case']}: {row['ours']} against {row['other']} was {ratio:.2f}× (from {low:.2f}) "
                f"and is {row['ratio']:.2f}× (up to {row['high']:.2f})"
            )
    return said


def _name(row: Mapping[str, object]) -> tuple[object, ...]:
    return row["case"], row["ours"], row["other"]


def commit() -> str:
    """The commit that was measured, with a plus if files differ from it; empty outside a repository."""
    described = subprocess.run(
        ("git", "describe", "--always", "--abbrev=12", "--dirty=+"), capture_output=True, text=True, check=False
    )
    return described.stdout.strip()
