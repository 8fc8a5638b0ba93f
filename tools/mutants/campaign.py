"""Many mutants, a few processes at a time, and what became of each."""

import random
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from ..exercise import exercising, module_of
from . import trial
from .operators import Mutant, mutants
from .trial import Running, Verdict

SOURCES = Path("src/lineament")
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
PACKAGES = (
    "theory", "measure", "forecasting", "linearisation", "problems", "models", "starts", "train", "data", "recording",
    "core", "evidence", "torch",
)  # fmt: skip
"""Where the mathematics is."""


Name = TypeVar("Name")


class Trial(NamedTuple):
    """A mutant and what its tests said of it."""

    mutant: Mutant
    verdict: Verdict


def population(packages: Sequence[str]) -> list[tuple[Path, Mutant]]:
    """Every mutant of some packages that is not known to be equivalent, with its file."""
    known = equivalent()
    return [
        (path, mutant)
        for package in packages
        for path in sorted((SOURCES / package).rglob("*.py"))
        if path.name != "__init__.py"
        for mutant in mutants(path.read_text(), module_of(path))
        if mutant.key not in known
    ]


def equivalent() -> dict[str, str]:
    """Mutants that change nothing that a user could see, by digest, each with its reason."""
    return {entry["key"]: entry["reason"] for entry in tomllib.loads(EQUIVALENT.read_text()).get("mutant", [])}


def sample(packages: Sequence[str], count: int | None, seed: int) -> list[tuple[Path, Mutant]]:
    """So many mutants of each package, drawn alike every time; all of them without a count."""
    chosen = []
    for package in packages:
        everything = population([package])
        drawn = everything if count is None else random.Random(seed).sample(everything, min(count, len(everything)))
        chosen += sorted(drawn, key=lambda pair: (pair[0], pair[1].line))
    return chosen


def run(chosen: Sequence[tuple[Path, Mutant]], jobs: int, limit: float, tell: Callable[[Trial], None]) -> list[Trial]:
    """Meet every mutant with its tests. A test that fails without the mutant has noticed nothing: an error."""
    trial.load()
    trials: list[Trial] = []
    sound: dict[str, Verdict] = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        waiting = ((mutant, path, mutant.source, exercising_names(mutant.module)) for path, mutant in chosen)
        for mutant, verdict in _drive(waiting, Path(scratch), jobs, limit):
            trials.append(Trial(mutant, verdict))
            tell(trials[-1])
        noticing = sorted({t.verdict.test for t in trials if t.verdict.word == "noticed"})
        unchanged = ((test, SOURCES, None, [test]) for test in noticing if "::" in test)
        for test, verdict in _drive(unchanged, Path(scratch), jobs, limit):
            sound[test] = verdict
    if failing := [test for test, verdict in sound.items() if verdict.word != "survived"]:
        raise RuntimeError(f"tests must pass without a mutant; {', '.join(failing)} did not")
    return trials


def exercising_names(module: str) -> list[str]:
    """The test files of a module, for the command line of pytest."""
    return [str(path) for path in exercising(module)]


def _drive(
    waiting: Iterator[tuple[Name, Path, str | None, list[str]]], scratch: Path, jobs: int, limit: float
) -> Iterator[tuple[Name, Verdict]]:
    """Keep so many processes busy; yield each name with its verdict, as they end."""
    running: dict[int, tuple[Name, Running]] = {}
    task = None
    while True:
        for slot in set(range(jobs)) - running.keys():
            if (task := next(waiting, None)) is None:
                break
            name, path, source, tests = task
            if not tests:
                yield name, Verdict("survived", "", 0.0)
                continue
            folder = scratch / str(slot)
            running[slot] = name, Running(trial.begin(folder, path, source, tests), folder, time.monotonic())
        if not running and task is None:
            return
        time.sleep(0.05)
        for slot, (name, process) in list(running.items()):
            if (verdict := trial.ended(process, limit)) is not None:
                del running[slot]
                yield name, verdict
