"""What a worker does: run points one after the other and store them as they come.

This module and what it imports at the top stay light. A worker process imports it first, and must set its thread limits
before anything brings in NumPy or JAX.
"""

import contextlib
import functools
import hashlib
import os
import platform
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import mappings

if TYPE_CHECKING:
    from .grid import Point
    from .parts import Row
    from .points import Where
    from .shelf import Shelf
    from .values import Variables

INTERVAL = 0.25
"""Seconds of work after which a worker stores what it has: no more is lost when it is killed."""
MOST_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Task:
    """Points for one worker, in terms that travel to another machine.

    Attributes:
        experiment: The function, as bytes: by name where a worker can import it, by value where it cannot.
        points: Which points to run.
        folder: The shelf to store them on, which the worker must be able to reach.
        where: What the worker must be: versions, device and precision.
        modules: A digest of each module that the experiment depends on, as the worker must have it.
        together: Whether the points are members of one shape, to be trained as one program.
    """

    experiment: bytes
    points: "Sequence[Point]"
    folder: str
    where: "Where"
    modules: Mapping[str, str]
    together: bool = False


@dataclass
class Report:
    """What came of a task: how many points are stored, which failed and why, and what kept the worker from going on."""

    stored: int = 0
    failures: "list[tuple[Point, str]]" = field(default_factory=list)
    seconds: float = 0.0
    parts: list[str] = field(default_factory=list)
    broken: str = ""


def run(task: Task) -> Report:
    """Run the points of a task and store them. An error of the experiment is a row; one of the store ends the task."""
    from .shelf import Shelf, StoreError

    mappings.relieve()
    begun = time.perf_counter()
    report = Report()
    try:
        report.broken = unlike(task)
        if not report.broken:
            experiment = _experiment(task.experiment)
            begun = time.perf_counter()  # what a worker does once says nothing of how long points take
            keeper = Keeper(Shelf(Path(task.folder)), report)
            if task.together:
                experiment.run(task.points, keeper)
            else:
                for point in task.points:
                    keeper.add(*attempt(experiment, point))
            keeper.flush()
    except StoreError as error:
        report.broken = str(error)
    report.seconds = time.perf_counter() - begun
    return report


def attempt(experiment: Callable[..., Any], point: "Point") -> "tuple[Row, Variables]":
    """Run one point; an error becomes a row that names its place."""
    from .parts import DIVERGED, DONE, FAILED, Row
    from .values import divergence, variables

    begun = time.perf_counter()
    try:
        returned = experiment(**point)
        found, reason = variables(returned), divergence(returned)
        state = DIVERGED if reason else DONE
    except (Exception, SystemExit) as error:  # whatever one point raises, the others are still to be run
        found, reason = {}, told(error)
        state = DIVERGED if type(error).__name__ == "Diverged" else FAILED
    return Row(dict(point), state, reason, time.perf_counter() - begun), found


def told(error: BaseException) -> str:
    """An error in one line: its kind, its message, and where it was raised."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    what = ": ".join(filter(None, (type(error).__name__, str(error))))
    return f"{what} ({Path(last.filename).name}, line {last.lineno})"


class Keeper:
    """Stores points as they come, a few at a time: those of a quarter of a second, or of 32 MiB."""

    def __init__(self, shelf: "Shelf", report: Report) -> None:
        self.shelf, self.report = shelf, report
        self.waiting: list[tuple[Row, Variables]] = []
        self.bytes, self.since = 0, time.monotonic()
        self.last = self.since

    def lap(self) -> float:
        """Seconds since the last lap."""
        last, self.last = self.last, time.monotonic()
        return self.last - last

    def add(self, row: "Row", variables: "Variables") -> None:
        """Take a point that has ended."""
        self.waiting.append((row, variables))
        self.bytes += sum(one.array.nbytes for one in variables.values())
        if time.monotonic() - self.since > INTERVAL or self.bytes > MOST_BYTES:
            self.flush()

    def flush(self) -> None:
        """Store what has been taken."""
        if self.waiting:
            self.report.parts += self.shelf.write(self.waiting)
            self.report.stored += len(self.waiting)
            self.report.failures += [(row.point, row.reason) for row, _ in self.waiting if row.reason]
        self.waiting, self.bytes, self.since = [], 0, time.monotonic()


_known: dict[bytes, Any] = {}


def remember(content: bytes, experiment: Any) -> None:
    """Keep an experiment for the tasks to come, the same object for all, so that what it compiled stays compiled."""
    _known.clear()  # a process works on one sweep at a time
    _known[content] = experiment


def _experiment(content: bytes) -> Any:
    if content not in _known:
        import cloudpickle

        remember(content, cloudpickle.loads(content))
    return _known[content]


def unlike(task: Task) -> str:
    """In what this worker differs from what the sweep was addressed for, in one line; empty if in nothing."""
    asked = hashlib.sha256(repr((task.where, sorted(task.modules.items()), task.folder)).encode()).hexdigest()
    if asked not in _alike:
        if difference := _difference(task):
            return difference
        _alike.add(asked)
    return ""


_alike: set[str] = set()
"""What this process has found itself to be like, so that it looks once and not at every task."""


def _difference(task: Task) -> str:
    from . import sources

    host = platform.node()
    if not Path(task.folder, "about.json").is_file():
        return f"the worker on {host} cannot reach the store {task.folder!r}; give a folder that every worker shares"
    mine = describe(tuple(name for name in task.where.versions if name != "python"), task.where.precision)
    for name in ("device", "precision"):
        if getattr(mine, name) != getattr(task.where, name):
            return f"the worker on {host} has the {name} {getattr(mine, name)!r}, not {getattr(task.where, name)!r}"
    for name, version in task.where.versions.items():
        if mine.versions.get(name) != version:
            return f"the worker on {host} has {name} {mine.versions.get(name)}, not {version}"
    for name, digest in task.modules.items():
        code = sources.read(name)
        if code is None or code.digest != digest:
            return f"the worker on {host} has another source of {name}; bring it up to date and restart it"
    return ""


def describe(packages: tuple[str, ...], precision: str) -> "Where":
    """What this worker is, once JAX has the precision of the process that sweeps."""
    from .points import here

    if "jax" in packages:
        if "jax" not in sys.modules:  # a process of our own, not the user's
            keep_compiled()
        import jax

        jax.config.update("jax_enable_x64", "x64 on" in precision)
        products = precision.partition(", products ")[2]
        if products:
            jax.config.update("jax_default_matmul_precision", products)
    return here(packages)


def prepare(*, short: bool = False) -> None:
    """Ready JAX for claims: float64, and compiled programs kept from one run to the next.

    Args:
        short: Whether the work is short, so that most of it is compiling: then the compiler is not to try hard.
    """
    import jax

    if short:
        compile_quickly()
        lower_in_one_context()
    jax.config.update("jax_enable_x64", True)
    keep_compiled()


def compile_quickly() -> None:
    """Have XLA compile in half the time for a CPU; what is compiled runs a little slower.

    XLA reads its flags once, when the first program is compiled; later calls change nothing. Flags that are set already
    are left as they are, and so is a machine with a GPU.
    """
    if "XLA_FLAGS" in os.environ or any(Path("/dev").glob("nvidia[0-9]*")):
        return
    import jax

    flags = ["--xla_backend_optimization_level=1"]
    # XLA ends the process over a flag that it does not know, so this one is for releases that have it.
    if (0, 8) <= jax.__version_info__ < (0, 11):
        flags.append("--xla_cpu_use_fusion_emitters=false")
    os.environ["XLA_FLAGS"] = " ".join(flags)


def lower_in_one_context() -> None:
    """Have JAX write programs in one MLIR context, where it would load its dialects into a new one for each.

    That is four milliseconds of a program, a sixth of what a small one costs. Types and places that a context has once
    held stay as long as it does, so this is for processes that end soon. A program that is compiled while another is
    being written gets a context of its own: in the same one it would become a part of the other. A JAX that makes
    contexts elsewhere is left as it is, and so is one that keeps them itself, as 0.12 does for ten programs.
    """
    from jax._src.interpreters import mlir
    from jax._src.lib.mlir import ir  # type: ignore[reportPrivateImportUsage]

    make = getattr(mlir, "make_ir_context", None)
    if make is None or hasattr(make, "shared") or hasattr(mlir, "_thread_local_context"):
        return
    shared = functools.cache(make)

    def context() -> Any:
        return shared() if ir.Context.current is None else make()

    context.shared = shared  # type: ignore[attr-defined]
    mlir.make_ir_context = context


def keep_compiled() -> None:
    """Keep compiled programs from one run to the next, in the user's cache folder.

    JAX_COMPILATION_CACHE_DIR, if set, is left to say otherwise.
    """
    import jax

    if "JAX_COMPILATION_CACHE_DIR" in os.environ or jax.config.jax_compilation_cache_dir:  # type: ignore[attr-defined]
        return
    # A home that cannot be written to, or a borrowed machine that lacks the package, costs time, not results.
    with contextlib.suppress(OSError, ImportError):
        import platformdirs

        folder = Path(platformdirs.user_cache_dir("lineament")) / "jax"
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            jax.config.update("jax_compilation_cache_dir", str(folder))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
            jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def settle(threads: int, device: int | None = None) -> None:
    """Make a new process a good worker: no more threads than its share of cores, and no life after its parent."""
    import multiprocessing

    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"), str(threads))
    for name, value in {**limits, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}.items():
        os.environ.setdefault(name, value)
    if device is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = str(device)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends its workers

    def leave_with_parent() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=leave_with_parent, daemon=True).start()
