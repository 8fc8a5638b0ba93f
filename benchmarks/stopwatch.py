"""A newcomer's stopwatch: how long the first figure, forecast and claim take from a fresh clone with nothing installed.

`python -m benchmarks.stopwatch` clones this repository into an empty folder, sets it up as `make` does, and runs what a
newcomer would type. What it measures goes to benchmarks/stopwatch.json, which the documentation shows.
"""

import json
import os
import re
import resource
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from .harness import environment

ROOT = Path(__file__).parents[1]
FIGURE = "figure.py"


@dataclass(frozen=True)
class Lap:
    """One thing a newcomer does: in words, as a command, the time that passed, and the CPU time it took."""

    what: str
    command: str
    seconds: float
    cpu: float


STEPS = (
    ("clone", "git clone --quiet {root} lineament"),
    ("set up an environment with everything", "make --quiet .venv/.installed PYTHON={python}"),
    ("first figure: the README's snippet", f".venv/bin/python {FIGURE}"),
    ("first own forecast, with its page", ".venv/bin/lineament forecast diabetes --out page"),
    ("train it and compare", ".venv/bin/lineament forecast diabetes --train"),
    ("first claim of a paper", ".venv/bin/lineament reproduce gissin-t1"),
    ("first own claim: write it", ".venv/bin/lineament new-claim mine-edge"),
    ("first own claim: run it", ".venv/bin/lineament reproduce mine-edge/mine_edge.py"),
    ("first own claim: test it", ".venv/bin/python -m pytest -q mine-edge"),
)


def main() -> None:
    """Run every step in a folder of its own, print the laps, and write them."""
    laps: list[Lap] = []
    with tempfile.TemporaryDirectory() as empty:
        folder = Path(empty)
        for what, command in STEPS:
            laps.append(_lap(what, command, folder))
            print(f"{laps[-1].seconds:7.1f} s  {laps[-1].cpu:7.1f} s of CPU  {what}", flush=True)
            if what == "clone":
                folder /= "lineament"
                (folder / FIGURE).write_text(_snippet(folder), encoding="utf-8")
    found = {"environment": environment() | {"load": f"{os.getloadavg()[2]:.1f}"}, "laps": list(map(asdict, laps))}
    (ROOT / "benchmarks" / "stopwatch.json").write_text(
        json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
    )


def _lap(what: str, command: str, folder: Path) -> Lap:
    settings = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    typed = command.format(root=shlex.quote(str(ROOT)), python=shlex.quote(sys.executable))
    before, begun = _cpu(), time.perf_counter()
    subprocess.run(typed, shell=True, cwd=folder, env=settings, check=True, stdout=subprocess.DEVNULL)
    told = command.format(root="URL", python="python3")
    return Lap(what, told, time.perf_counter() - begun, _cpu() - before)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _snippet(folder: Path) -> str:
    readme = (folder / "README.md").read_text(encoding="utf-8")
    (snippet,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    return f"import matplotlib\n\nmatplotlib.use('Agg')\n{snippet}\nmatplotlib.pyplot.savefig('first.png')\n"


if __name__ == "__main__":
    main()
