"""Many mutants, a few processes at a time, and what became of each."""

import hashlib
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from ..exercise import exercising, home, module_of
from . import lines, trial
from .loaded import Loaded
from .operators import Mutant, mutants, mutated
from .trial import Running, Verdict

SOURCES = Path("src/lineament")
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
PACKAGES = (
    "theory", "measure", "forecasting", "linearisation", "problems", "models", "starts", "train", "data", "recording",
    "core", "evidence", "torch",
)  # fmt: skip
"""Where the mathematics is."""
NUMPY = ("theory",)
"""Packages without JAX, which runs Python once a process and compiled programs thereafter."""


Name = TypeVar("Name")


class Trial(NamedTuple):
    """A mutant and what its tests said of it."""

    mutant: Mutant
    verdict: Verdict


def population(packages: Sequence[str]) -> list[tuple[Path, Mutant]]:
    """Every mutant of some packages that is not known to be equivalent, with its file."""
    known, statements = equivalent(), idle_statements()
    return [
        (path, mutant)
        for package in packages
        for path in sorted((SOURCES / package).rglob("*.py"))
        if path.name != "__init__.py"
        for mutant in mutants(path.read_text(), module_of(path))
        if mutant.key not in known and (mutant.module, mutant.function, mutant.statement) not in statements
    ]


def equivalent() -> dict[str, str]:
    """Mutants that change nothing that a user could see, by digest, each with its reason."""
    return {entry["key"]: entry["reason"] for entry in tomllib.loads(EQUIVALENT.read_text()).get("mutant", [])}


def idle_statements() -> dict[tuple[str, str, str], str]:
    """Statements no change of which a user could see: module, function and code, each with its reason."""
    listed = tomllib.loads(EQUIVALENT.read_text()).get("statement", [])
    return {(entry["module"], entry["function"], entry["code"]): entry["reason"] for entry in listed}


def sample(packages: Sequence[str], count: int | None, seed: int) -> list[tuple[Path, Mutant]]:
    """So many mutants of each package, drawn alike every time; all of them without a count.

    The seed and a mutant's own digest decide when it is drawn: an edit elsewhere, or a mutant found to be equivalent,
    leaves the others where they are, and a larger sample holds the smaller one.
    """

    def turn(pair: tuple[Path, Mutant]) -> str:
        return hashlib.sha256(f"{seed} {pair[1].key}".encode()).hexdigest()

    return [pair for package in packages for pair in sorted(population([package]), key=turn)[:count]]


def run(chosen: Sequence[tuple[Path, Mutant]], jobs: int, limit: float, others: bool = True) -> Iterator[Trial]:
    """Meet every mutant with the tests that run its lines: those of its own package, then perhaps those of others."""
    trial.load()
    waiting = list(chosen)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for own in (True, False)[: 1 + others]:
            files = {mutant.module: _files(mutant.module, own) for _, mutant in waiting}
            ran = _traced({test for tests in files.values() for test in tests}, Path(folder), jobs, limit)
            loaded = trial.gathered(sorted(ran), Path(folder)) if own and len(waiting) > 1 else None
            tasks = (
                _task(path, mutant, [ran[test] for test in files[mutant.module]], limit, loaded)
                for path, mutant in waiting
            )
            noticed = set()
            for mutant, verdict in _drive(tasks, Path(folder), jobs):
                if verdict.word != "survived" or own != others:
                    noticed.add(mutant.key)
                    yield Trial(mutant, verdict)
            waiting = [(path, mutant) for path, mutant in waiting if mutant.key not in noticed]


def _files(module: str, own: bool) -> list[str]:
    """The test files that exercise a module: in the directory of its package, or elsewhere."""
    return [str(test) for test in exercising(module) if (home(module) in test.parents) == own]


def _traced(tests: set[str], scratch: Path, jobs: int, limit: float) -> dict[str, dict[str, lines.Ran]]:
    """The lines that each test of some files runs. All of them must pass as long as nothing is changed."""
    unknown = sorted(test for test in tests if not lines.kept(test).exists())
    for test, _ in _drive((Task(test, partial(trial.trace, test=test), limit) for test in unknown), scratch, jobs):
        if not lines.kept(test).exists():
            raise RuntimeError(f"tests must end without a mutant; {test} did not")
    ran = {test: lines.read(test) for test in tests}
    if failing := [name for results in ran.values() for name, result in results.items() if not result.passed]:
        raise RuntimeError(f"tests must pass without a mutant; {', '.join(failing)} did not")
    return ran


class Task(NamedTuple, Generic[Name]):
    """What is to be done in a process, which is started in a folder, and the seconds after which it is ended."""

    name: Name
    start: Callable[[Path], int] | None
    limit: float


def _task(
    path: Path, mutant: Mutant, files: Sequence[dict[str, lines.Ran]], limit: float, loaded: Loaded | None
) -> Task[Mutant]:
    """A mutant with its tests, or without a process where no test runs its lines."""
    original = path.read_text()
    once = path.parts[2] not in NUMPY or "jax" in original
    chosen = lines.chosen(files, path, mutant.lines, once)
    if not chosen.tests:
        return Task(mutant, None, limit)
    source = mutated(original, mutant)
    return Task(
        mutant, partial(trial.begin, path=path, source=source, chosen=chosen, limit=limit, loaded=loaded), limit
    )


def _drive(waiting: Iterator[Task[Name]], scratch: Path, jobs: int) -> Iterator[tuple[Name, Verdict]]:
    """Keep so many processes busy; yield each name with its verdict, as they end."""
    running: dict[int, tuple[Task[Name], Running]] = {}
    task = None
    while True:
        for slot in set(range(jobs)) - running.keys():
            if (task := next(waiting, None)) is None:
                break
            if task.start is None:
                yield task.name, Verdict("survived", "no test runs it", 0.0)
                continue
            folder = scratch / str(slot)
            running[slot] = task, Running(task.start(folder), folder, time.monotonic())
        if not running and task is None:
            return
        time.sleep(0.05)
        for slot, (begun, process) in list(running.items()):
            if (verdict := trial.ended(process, begun.limit)) is not None:
                del running[slot]
                yield begun.name, verdict
