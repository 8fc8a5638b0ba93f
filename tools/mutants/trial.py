"""One mutant met by its tests, in a process of its own that begins as a copy of one where all packages are loaded.

Starting Python and importing JAX takes longer than most tests that notice something. A forked process has done so
already. Where tests are collected too, the mutant takes the place of a function that is loaded; else the package is
imported, from a folder of its own that holds the mutant.
"""

import importlib.util
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from . import lines
from .loaded import First, Loaded

LOADED = (
    "beartype", "cvxpy", "diffrax", "equinox", "jax.experimental", "jaxtyping", "lineax", "numpy", "optax", "pandas",
    "scipy.integrate", "scipy.optimize", "scipy.sparse.linalg", "scipy.special", "scipy.stats", "sklearn.svm",
    "sklearn.decomposition", "typer.testing", "xarray", "zarr", "torch",
)  # fmt: skip
ALONE = ("-p", "no:cacheprovider", "-p", "no:xdist")
TOUCHED = 1_000_000_000
"""Time stamp of a mutated file: bytecode kept of the original must not pass for it."""


SLACK, QUICK, SLOWER = 20.0, 3.0, 3.0
"""CPU seconds tests may take: some to begin, fewer where all is loaded, and so many times what they took before."""
BROKEN = 70
"""Exit status of a process in which not a test failed, but what runs the tests."""


class Verdict(NamedTuple):
    """What the tests said: "noticed" with the test that failed, "survived", or "hangs"."""

    word: str
    test: str
    seconds: float


def load() -> None:
    """Import all that tests use but the package itself, which each process imports with its own mutant."""
    for name in LOADED:
        if importlib.util.find_spec(name.partition(".")[0]) is not None:
            importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "lineament"]:
        del sys.modules[name]


def begin(folder: Path, path: Path, source: str, chosen: lines.Chosen, limit: float, loaded: Loaded | None) -> int:
    """Start a process that runs tests on the package with one file changed, until they take too long."""
    seconds = round(min(limit, SLACK + SLOWER * chosen.seconds))
    exchange = loaded.exchange(path, source) if loaded else None
    if exchange:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    else:
        copied(folder)
        mutated = folder / path
        mutated.write_text(source)
        os.utime(mutated, (TOUCHED, TOUCHED))

    def meet() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        if loaded and exchange:
            function, function.__code__ = exchange
            failed = loaded.run(chosen.tests, QUICK + SLOWER * chosen.longest)
        else:
            if loaded:
                loaded.forget()
            first = First()
            code = pytest.main(["-x", "-q", "--tb=line", *ALONE, *chosen.tests], plugins=[first])
            failed = first.failed or ("" if code in (0, 5) else f"pytest ended with {code}")
        (folder / "failed").write_text(failed)

    return started(folder, meet)


def gathered(files: Sequence[str], scratch: Path) -> Loaded | None:
    """Tests collected in this process, unless that makes JAX compute: a process may not be forked then."""
    folder = scratch / "gathered"
    folder.mkdir()

    def look() -> None:
        (folder / "sound").write_text("yes" if Loaded(files, ALONE).sound else "")

    os.waitpid(started(folder, look), 0)
    sound = folder / "sound"
    return Loaded(files, ALONE) if sound.exists() and sound.read_text() else None


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
    status = BROKEN
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        sys.stdout.flush()
        os._exit(status)


class Running(NamedTuple):
    """A process, its folder, and when it began."""

    child: int
    folder: Path
    began: float


def ended(running: Running, limit: float) -> Verdict | None:
    """What a process found, or None while it runs; one that takes too long is ended, with all that it started."""
    child, status = os.waitpid(running.child, os.WNOHANG)
    seconds = time.monotonic() - running.began
    if child and os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL, signal.SIGPROF):
        return Verdict("hangs", "", seconds)
    if child and os.WIFEXITED(status) and os.WEXITSTATUS(status) == BROKEN:
        raise RuntimeError(f"a trial broke:\n{(running.folder / 'log').read_text()}")
    if child:
        failed = running.folder / "failed"
        test = failed.read_text() if failed.exists() else "the process died"
        return Verdict("noticed" if test else "survived", test, seconds)
    if seconds > limit:
        os.killpg(running.child, signal.SIGKILL)
        os.waitpid(running.child, 0)
        return Verdict("hangs", "", seconds)
    return None
