"""Run many claims: in this process or in several, keeping each result the moment it is there.

This module and what it imports at the top stay light. A worker process imports it first, and must set its thread
limits before anything brings in NumPy or JAX.
"""

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lineament.claims import Claim, Size

    from .store import Stored


@dataclass(frozen=True)
class Failure:
    """A claim whose check did not come to an end: an error in the code or the machine, not a verdict."""

    id: str
    size: str
    seed: int
    message: str
    seconds: float


@dataclass(frozen=True, eq=False)
class Job:
    """One claim to run, in terms that travel to another process.

    Attributes:
        claim: The claim.
        size: At which size to run it.
        seed: With which seed.
        folder: Where its evidence is stored, if it is.
        draw: Called with what was found and the folder before the evidence is stored, to draw its figure.
        with_figure: Whether the data of its figure are stored with the evidence.
    """

    claim: "Claim"
    size: "Size"
    seed: int
    folder: Path | None = None
    draw: "Callable[[Stored, Path], object] | None" = None
    with_figure: bool = True

    @property
    def id(self) -> str:
        """The claim's id."""
        return self.claim.id

    def run(self) -> "Stored | Failure":
        """Run the claim and store what it found; an error becomes a `Failure` that names its place."""
        from . import store
        from .reproduce import reproduce

        begun = time.perf_counter()
        try:
            stored = store.record(reproduce(self.claim, self.size, self.seed))
            if not self.with_figure:
                stored = replace(stored, figure=None)
            if self.folder is not None:
                if self.draw is not None:
                    self.draw(stored, self.folder)
                store.save(stored, self.folder)
            return stored
        except Exception as error:  # whatever one claim raises, the others are still to be run
            last = traceback.extract_tb(error.__traceback__)[-1]
            what = ": ".join(filter(None, (type(error).__name__, str(error))))
            message = f"{what} ({Path(last.filename).name}, line {last.lineno})"
            return Failure(self.id, self.size, self.seed, message, time.perf_counter() - begun)


def finished(jobs: Sequence[Job]) -> "dict[Job, Stored]":
    """What an earlier run has stored for these jobs with the same source: nothing of it needs to run again."""
    from .fingerprint import fingerprint

    return {job: stored for job, stored in _stored(jobs) if stored.fingerprint == fingerprint()}


def standing(jobs: Sequence[Job]) -> "dict[Job, Stored]":
    """What is stored for these jobs from a committed source with the settings that the code has now."""
    from .reproduce import stands

    return {job: stored for job, stored in _stored(jobs) if stands(stored, job.claim)}


def _stored(jobs: Sequence[Job]) -> "Generator[tuple[Job, Stored]]":
    from . import store

    for job in jobs:
        if job.folder is None:
            continue
        with contextlib.suppress(FileNotFoundError, ValueError):  # absent, or unreadable: it is to be run
            yield job, store.load(store.path_of(job.folder, job.id, job.size, job.seed))


def forget(jobs: Sequence[Job]) -> None:
    """Remove what is stored for these jobs."""
    from . import store

    for job in jobs:
        if job.folder is not None:
            store.path_of(job.folder, job.id, job.size, job.seed).unlink(missing_ok=True)


def cores() -> int:
    """How many cores this process may use; a cluster often lends fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    jobs: Sequence[Job], workers: int = 1, begin: Callable[[str], None] = lambda id: None
) -> "Generator[Stored | Failure]":
    """Run the jobs and yield each outcome as it comes.

    Args:
        jobs: What to run.
        workers: How many processes run them; with one, they run here.
        begin: Called with a claim's id when it is started.
    """
    if workers > 1 and len(jobs) > 1:
        yield from _run_apart(jobs, min(workers, len(jobs)), begin)
        return
    prepare()
    for job in jobs:
        begin(job.id)
        yield job.run()


def prepare() -> None:
    """Ready JAX for claims: float64, and compiled programs kept from one run to the next.

    The cache lies in the user's cache folder. JAX_COMPILATION_CACHE_DIR, if set, is left to say otherwise.
    """
    import jax
    import platformdirs

    jax.config.update("jax_enable_x64", True)
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    folder = Path(platformdirs.user_cache_dir("lineament")) / "jax"
    with contextlib.suppress(OSError):  # a home that cannot be written to costs time, not results
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            jax.config.update("jax_compilation_cache_dir", str(folder))
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
            jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def _run_apart(jobs: Sequence[Job], workers: int, begin: Callable[[str], None]) -> "Generator[Stored | Failure]":
    # A pool of one process for each worker: the death of a process breaks its pool, and so only its own claim.
    threads = max(1, cores() // workers)
    others = multiprocessing.active_children()
    idle = [_worker(threads) for _ in range(workers)]
    waiting = deque(jobs)
    running: dict[Future, tuple[Job, ProcessPoolExecutor, float]] = {}
    try:
        while waiting or running:
            while waiting and idle:
                job, pool = waiting.popleft(), idle.pop()
                begin(job.id)
                running[pool.submit(Job.run, job)] = job, pool, time.perf_counter()
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                job, pool, begun = running.pop(future)
                try:
                    outcome = future.result()
                except BrokenProcessPool:
                    pool = _worker(threads)
                    message = "its process died, perhaps for want of memory"
                    outcome = Failure(job.id, job.size, job.seed, message, time.perf_counter() - begun)
                idle.append(pool)
                yield outcome
    finally:
        for pool in idle:
            pool.shutdown()
        for _, pool, _ in running.values():  # none, unless this run was interrupted
            pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            if process not in others:
                process.terminate()


def _worker(threads: int) -> ProcessPoolExecutor:
    # Spawned, because a forked JAX hangs.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(1, mp_context=context, initializer=_settle, initargs=(threads,))


def _settle(threads: int) -> None:
    """Make a new process a good worker: no more threads than its share of cores, and no life after its parent."""
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"), str(threads))
    for name, value in {**limits, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}.items():
        os.environ.setdefault(name, value)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends its workers
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    prepare()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
