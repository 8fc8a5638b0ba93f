"""The fuzz campaign: `python -m tools.fuzz --calls 10000 --files 2000 --commands 500`, or `make fuzz`.

With `--every` calls are not drawn: every hostile value takes the place of every argument once.

Counted are tracebacks (errors that are not ours), silent wrong answers (what can never be right was taken, damage of a
sealed file went unseen, control characters reached the terminal) and hangs (more than 10 s of processor time). The exit
code is 0 when there are none.
"""

import argparse
import collections
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from . import calls, commands, files
from .surface import PARTS, surface

FAULTS = ("traceback", "silent", "hang")
MEMORY = 8 * 2**30
"""Bytes: what asks for more is refused by the system, with a MemoryError, on machines of any size."""


def campaign(kind: str, number: int, seed: int, parts: Iterable[str] = PARTS) -> Iterator[Any]:
    """Trials of one kind, in a working folder of their own; of the kind "every" there are as many as there are."""
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        try:
            if kind == "every":
                yield from calls.every(surface(tuple(parts)))
            elif kind == "calls":
                yield from calls.draw(surface(tuple(parts)), number, seed)
            elif kind == "files":
                (folder / "whole").mkdir()
                yield from files.draw(files.whole_files(folder / "whole"), number, seed, folder)
            else:
                os.environ["XDG_CACHE_HOME"] = str(folder / "cache")  # no command may touch the user's own
                commands.prepare(folder)
                yield from commands.draw(number, seed)
        finally:
            os.chdir(home)


def settle() -> None:
    """Compute in float64, draw on no display, keep data sets out of it, and bound the memory."""
    import resource

    import jax
    import matplotlib

    jax.config.update("jax_enable_x64", True)
    matplotlib.use("agg")
    os.environ.pop("LINEAMENT_DATA", None)
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def main() -> int:
    """Run the campaign, and tell what was found."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    for kind, number in (("calls", 10_000), ("files", 2000), ("commands", 500)):
        parser.add_argument(f"--{kind}", type=int, default=number, metavar="N")
    parser.add_argument(
        "--every", action="store_true", help="every hostile value for every argument, not a number of calls"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S")
    parser.add_argument("--part", action="append", choices=PARTS, help="only the functions of this part")
    given = parser.parse_args()
    settle()
    total: collections.Counter[str] = collections.Counter()
    for kind in ("every" if given.every else "calls", "files", "commands"):
        begun, number = time.process_time(), getattr(given, kind)
        found: collections.Counter[str] = collections.Counter()
        for trial in campaign(kind, number, given.seed, given.part or PARTS) if number else ():
            found[trial.fault] += 1
            if trial.fault:
                print(trial, flush=True)
        told = ", ".join(f"{found[fault]} {fault}" for fault in FAULTS)
        print(f"{found.total()} {kind}: {told} ({time.process_time() - begun:.0f} s of processor time)", flush=True)
        total += found
    return int(any(total[fault] for fault in FAULTS))


if __name__ == "__main__":
    sys.exit(main())
