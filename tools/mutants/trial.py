"""One mutant met by its tests, in a process of its own that begins as a copy of one where all packages are loaded.

Starting Python and importing JAX takes longer than most tests that notice something. A forked process has done so
already; only the package itself is imported there, from a folder of its own that holds the mutant.
"""

import importlib.util
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import Phase, settings

from . import lines

LOADED = (
    "beartype", "cvxpy", "diffrax", "equinox", "jax.experimental", "jaxtyping", "lineax", "numpy", "optax", "pandas",
    "scipy.integrate", "scipy.optimize", "scipy.sparse.linalg", "scipy.special", "scipy.stats", "sklearn.svm",
    "sklearn.decomposition", "typer.testing", "xarray", "zarr", "torch",
)  # fmt: skip
ALONE = ("-p", "no:cacheprovider", "-p", "no:xdist")
TOUCHED = 1_000_000_000
"""Time stamp of a mutated file: bytecode kept of the original must not pass for it."""


class Verdict(NamedTuple):
    """What the tests said: "noticed" with the test that failed, "survived", or "hangs"."""

    word: str
    test: str
    seconds: float


class First:
    """A plugin that keeps the first test that failed, and does not look for the smallest case where a property fails."""

    def __init__(self) -> None:
        self.failed = ""

    def pytest_configure(self) -> None:
        """Generate examples as always; shrink none."""
        settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate))
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test, or its set-up, that failed."""
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot even be imported."""
        if report.failed and not self.failed:
            self.failed = report.nodeid


def load() -> None:
    """Import all that tests use but the package itself, which each process imports with its own mutant."""
    for name in LOADED:
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "lineament"]:
        del sys.modules[name]


def begin(folder: Path, path: Path, source: str, tests: Sequence[str], seconds: int) -> int:
    """Start a process that runs tests on a copy of the package with one file changed, for so many CPU seconds at most."""
    copied(folder)
    mutated = folder / path
    mutated.write_text(source)
    os.utime(mutated, (TOUCHED, TOUCHED))

    def meet() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        first = First()
        code = pytest.main(["-x", "-q", "--tb=line", *ALONE, *tests], plugins=[first])
        (folder / "failed").write_text(first.failed or ("" if code in (0, 5) else f"pytest ended with {code}"))

    return started(folder, meet)


def trace(folder: Path, test: str) -> int:
    """Start a process that runs a test file on a copy of the package as it is, and keeps which lines each test runs."""
    copied(folder)
    out = lines.kept(test)
    out.parent.mkdir(parents=True, exist_ok=True)

    def watch() -> None:
        pytest.main(["-q", "--tb=short", *ALONE, test], plugins=[First(), lines.Tracer(folder, out)])

    return started(folder, watch)


def copied(folder: Path) -> None:
    """A copy of the package."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree("src", folder / "src")


def started(folder: Path, work: Callable[[], None]) -> int:
    """Do work in a process of its own, where the package is the copy in a folder; the number of the process."""
    sys.stdout.flush()
    if child := os.fork():
        return child
    os.setsid()
    with (folder / "log").open("w") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    sys.path.insert(0, str(folder / "src"))
    os.environ["PYTHONPATH"] = str(folder / "src")
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    sys.dont_write_bytecode = True
    try:
        work()
    finally:
        sys.stdout.flush()
        os._exit(0)


class Running(NamedTuple):
    """A process, its folder, and when it began."""

    child: int
    folder: Path
    began: float


def ended(running: Running, limit: float) -> Verdict | None:
    """What a process found, or None while it runs; one that takes too long is ended, with all that it started."""
    child, status = os.waitpid(running.child, os.WNOHANG)
    seconds = time.monotonic() - running.began
    if child and os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        return Verdict("hangs", "", seconds)
    if child:
        failed = running.folder / "failed"
        test = failed.read_text() if failed.exists() else "the process died"
        return Verdict("noticed" if test else "survived", test, seconds)
    if seconds > limit:
        os.killpg(running.child, signal.SIGKILL)
        os.waitpid(running.child, 0)
        return Verdict("hangs", "", seconds)
    return None
