"""A survey: run many claims, keep each result the moment it is there, and write the atlas of all that is kept."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineament.claims import Claim, Size, all_claims
from lineament.execution import campaign, files, store
from lineament.execution.campaign import Failure, Job
from lineament.execution.store import Stored

from . import atlas, drawings
from .console import Watch


@dataclass(frozen=True, eq=False)
class Survey:
    """What came of a survey.

    Attributes:
        outcomes: One for each claim that was wanted and came to an end, now or in an earlier run.
        wanted: How many claims were wanted.
        index: The first page of the atlas.
        unread: Stored evidence that could not be read, and why.
        interrupted: Whether Ctrl-C ended it early.
    """

    outcomes: Sequence[Stored | Failure]
    wanted: int
    index: Path
    unread: Sequence[str]
    interrupted: bool


def survey(
    claims: Sequence[Claim],
    folder: Path,
    size: Size = "quick",
    seed: int = 0,
    *,
    fresh: bool = False,
    workers: int | None = 1,
    engine: Any = "local",
    elsewhere: Sequence[Path] = (),
) -> Survey:
    """Run claims, except those finished before by the same source, and write the atlas.

    Args:
        claims: What to run. The pages list all registered claims, run or not.
        folder: Where the pages go; evidence goes to `evidence` in it.
        size: At which size to run them.
        seed: With which seed.
        fresh: Whether to drop what is stored for them and run them again.
        workers: How many processes or tasks at a time.
        engine: Where to run them, as `lineament.sweep` takes it.
        elsewhere: Folders with evidence from other runs, to be shown too.
    """
    kept = files.writable(folder / "evidence").resolve()
    jobs = [Job(claim, size, seed, kept, drawings.draw_ahead) for claim in claims]
    if fresh:
        campaign.forget(jobs)
    outcomes, interrupted = _run(jobs, workers, engine)
    records, unread = [], []
    for source in (kept, *elsewhere):
        read, problems = store.load_folder(source)
        records, unread = records + read, unread + problems
    failures = [outcome for outcome in outcomes.values() if isinstance(outcome, Failure)]
    listed = all_claims() | {claim.id: claim for claim in claims}  # those of a file are not registered
    index = atlas.write(folder, records, listed, failures, workers)
    return Survey([outcomes[job.id] for job in jobs if job.id in outcomes], len(jobs), index, unread, interrupted)


def _run(jobs: Sequence[Job], workers: int | None, engine: Any) -> tuple[dict[str, Stored | Failure], bool]:
    """What came of each claim, in this run or an earlier one, and whether Ctrl-C ended it early."""
    done = campaign.finished(jobs)
    outcomes: dict[str, Stored | Failure] = {job.id: stored for job, stored in done.items()}
    left = [job for job in jobs if job not in done]
    with (
        Watch(len(jobs), len(done)) as watch,
        contextlib.closing(campaign.run(left, workers, watch.begin, engine)) as run,
    ):
        try:
            for outcome in run:
                watch.end(outcome)
                outcomes[outcome.id] = outcome
        except KeyboardInterrupt:
            return outcomes, True
    return outcomes, False
