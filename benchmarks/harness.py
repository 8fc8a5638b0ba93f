"""Timing, mostly in CPU seconds, interleaved, with the spread of the ratio."""

import json
import os
import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Row:
    """One comparison: how much more of the work ours does per second, and the bar it should clear."""

    case: str
    ours: str
    other: str
    ratio: float
    low: float
    high: float
    bar: float | None
    unit: str
    ours_per_second: float
    other_per_second: float
    note: str = ""


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one call, all threads of the process together."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def wall_seconds(work: Callable[[], object]) -> float:
    """Seconds that pass during one call: where a device works, or both sides use all cores well."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def compare(
    case: str,
    ours: tuple[str, Callable[[], object], float],
    other: tuple[str, Callable[[], object], float],
    *,
    bar: float | None = None,
    unit: str = "steps",
    repeats: int = 5,
    note: str = "",
    seconds: Callable[[Callable[[], object]], float] = cpu_seconds,
) -> Row:
    """Time both in turn, `repeats` times, after a call of ours that compiles; each has the work one call does."""
    first = seconds(ours[1])
    rates = np.array([[work / max(seconds(call), 1e-9) for _, call, work in (ours, other)] for _ in range(repeats)])
    ratio = rates[:, 0] / rates[:, 1]
    compiled = first - ours[2] / np.median(rates[:, 0])
    note = f"{note}{'; ' if note else ''}compiling ours took {max(compiled, 0):.1f} s"
    middle = np.median(rates, axis=0)
    return Row(
        case, ours[0], other[0], float(np.median(ratio)), float(ratio.min()), float(ratio.max()), bar, unit,
        float(middle[0]), float(middle[1]), note,
    )  # fmt: skip


def environment() -> dict[str, str]:
    """What the numbers were measured on."""
    packages = ("lineament", "jax", "numpy", "scipy", "torch")
    found = {name: metadata.version(name) for name in packages if _installed(name)}
    machine = {"processor": processor(), "cores": str(os.cpu_count()), "machine": platform.machine()}
    return found | {"python": platform.python_version()} | machine


def processor() -> str:
    """The name of the processor; Linux gives it in a file only."""
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _installed(name: str) -> bool:
    return any(True for _ in metadata.distributions(name=name))


def show(rows: list[Row]) -> None:
    """Print the table."""
    from rich.console import Console
    from rich.table import Table

    table = Table("case", "ours", "against", "ratio (spread)", "bar", "ours per second", "note")
    for row in rows:
        bar = "" if row.bar is None else f"≥ {row.bar:g} {'✓' if row.ratio >= row.bar else '✗'}"
        spread = f"{row.ratio:.1f}× ({row.low:.1f}–{row.high:.1f})"
        table.add_row(row.case, row.ours, row.other, spread, bar, f"{row.ours_per_second:.3g} {row.unit}", row.note)
    Console(width=200).print(table)


def write(rows: list[Row], path: Path, extra: Mapping[str, object] | None = None) -> None:
    """Write the rows and the environment as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"environment": environment(), "rows": [asdict(row) for row in rows], **(extra or {})}
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
