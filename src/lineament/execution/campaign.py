"""Campaigns: many claims on an engine, each piece of evidence kept the moment it is there.

This module and what it imports at the top stay light. A worker process imports it first, and must set its thread limits
before anything brings in NumPy or JAX.
"""

import contextlib
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import engines, mappings, worker

if TYPE_CHECKING:
    from lineament.claims import Claim, Size

    from .store import Stored

TRIES = 2  # a claim whose worker was lost is given to a second one


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
    """One claim to run, in terms that travel to another process or machine.

    Attributes:
        claim: The claim.
        size: At which size to run it.
        seed: With which seed.
        folder: Where its evidence is stored, if it is; a worker must be able to reach it.
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
        worker.prepare(short=self.size == "quick")
        mappings.relieve()
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
        except (Exception, SystemExit) as error:  # whatever one claim raises, the others are still to be run
            return self.failed(worker.told(error), time.perf_counter() - begun)

    def failed(self, message: str, seconds: float) -> Failure:
        """The failure of this claim."""
        return Failure(self.id, self.size, self.seed, message, seconds)


def finished(jobs: Sequence[Job]) -> "dict[Job, Stored]":
    """What an earlier run has stored for these jobs from the source that each depends on: it need not run again."""
    from .fingerprint import fingerprint

    return {job: stored for job, stored in _stored(jobs) if stored.fingerprint == fingerprint(job.claim)}


def standing(jobs: Sequence[Job]) -> "dict[Job, Stored]":
    """What is stored for these jobs from a committed source with the settings that the code has now."""
    from .reproduce import stands

    return {job: stored for job, stored in _stored(jobs) if stands(stored, job.claim)}


def _stored(jobs: Sequence[Job]) -> "Generator[tuple[Job, Stored]]":
    from . import store

    for job in jobs:
        if job.folder is None:
            continue
        with contextlib.suppress(OSError, ValueError):  # absent, or unreadable: it is to be run
            yield job, store.load(store.path_of(job.folder, job.id, job.size, job.seed))


def forget(jobs: Sequence[Job]) -> None:
    """Remove what is stored for these jobs."""
    from . import store

    for job in jobs:
        if job.folder is not None:
            store.path_of(job.folder, job.id, job.size, job.seed).unlink(missing_ok=True)


class _Queue:
    def __init__(self, jobs: Sequence[Job], begin: Callable[[str], None], fits: Callable[[Job], bool]) -> None:
        self.waiting, self.begin, self.fits = deque(jobs), begin, fits
        self.begun: dict[Job, float] = {}
        self.tries: dict[Job, int] = {}

    def take(self) -> Job | None:
        while self.waiting and not self.fits(self.waiting[0]):
            self.waiting.popleft()
        if not self.waiting:
            return None
        job = self.waiting.popleft()
        if job not in self.begun:
            self.begin(job.id)
        self.begun[job] = time.perf_counter()
        return job

    def again(self, job: Job) -> bool:
        """Whether a job whose worker was lost is tried again; if so, it is queued."""
        self.tries[job] = self.tries.get(job, 0) + 1
        if self.tries[job] < TRIES:
            self.waiting.append(job)
        return self.tries[job] < TRIES


def run(
    jobs: Sequence[Job],
    workers: int | None = 1,
    begin: Callable[[str], None] = lambda id: None,
    engine: Any = "local",
    fits: Callable[[Job], bool] = lambda job: True,
) -> "Generator[Stored | Failure]":
    """Run the jobs on an engine and yield each outcome as it comes.

    Args:
        jobs: What to run.
        workers: How many processes or tasks at a time; with one on this machine, they run in this process.
        begin: Called with a claim's id when it is started.
        engine: Where to run them, as `lineament.sweep` takes it.
        fits: Asked of each job when a worker is free for it; one that does not fit is passed over.
    """
    if not jobs:
        return
    near = isinstance(engine, str) and engine == "local"
    with engines.engine(engine, min(workers or engines.cores(), len(jobs)) if near else workers) as on:
        queue = _Queue(jobs, begin, fits)
        for job, outcome in engines.Drive(on, Job.run, queue):
            if isinstance(outcome, engines.Lost):
                if not queue.again(job):
                    yield job.failed(outcome.reason, time.perf_counter() - queue.begun[job])
            else:
                yield outcome if on.near else _of_this_source(job, outcome)


def _of_this_source(job: Job, outcome: "Stored | Failure") -> "Stored | Failure":
    """Refuse what a worker with another source has found."""
    from .fingerprint import fingerprint

    if isinstance(outcome, Failure) or outcome.fingerprint == fingerprint(job.claim):
        return outcome
    forget([job])
    return job.failed("the worker has another source of it; bring it up to date and restart it", outcome.seconds)
