"""A campaign on a host that has JAX and little else.

`python -m lineament.execution.unattended --out results --minutes 25` runs what a folder of evidence lacks. The command
line asks for packages that a borrowed machine with a GPU may not have; this asks for none besides what claims compute
with. A claim that needs more fails by itself, and the others go on. Every run is stored when it ends, so that the same
command goes on where the last one was stopped. Figures are drawn later, from what is stored.

A GPU beside many cores is used whole by two campaigns at once: `--on gpu --jobs 2` runs two claims at a time that say
they are for a GPU (ensembles of convolutional networks fill one alone, small networks do not), and `--on cpu --jobs 12`
the others, each on a core.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from . import agenda, campaign
from .store import Stored, load_folder, summary

if TYPE_CHECKING:
    from lineament.claims import Size

    from .campaign import Failure, Job


def missing(
    out: Path,
    ids: Sequence[str] = (),
    size: "Size" = "full",
    seeds: Sequence[int] = (0, 1, 2),
    on: Literal["gpu", "cpu"] | None = None,
    numbers_only: bool = False,
) -> list[agenda.Item]:
    """What a folder lacks of some claims (of all, without ids), the most disputed first.

    Args:
        out: The folder of evidence.
        ids: Which claims.
        size: At which size.
        seeds: Which seeds; the figure is kept of the first.
        on: Only claims that are meant for a GPU, or only the others.
        numbers_only: Keep no figure, where one of another seed is there already.
    """
    from lineament.claims import all_claims, find

    claims = [find(id) for id in ids] or list(all_claims().values())
    claims = [claim for claim in claims if on is None or agenda.for_gpu(claim) == (on == "gpu")]
    wanted = [
        campaign.Job(claim, size, seed, out.resolve(), with_figure=seed == seeds[0] and not numbers_only)
        for claim in claims
        for seed in seeds
    ]
    there = campaign.standing(wanted)
    left = [job for job in wanted if job not in there]
    return agenda.agenda(left, load_folder(out)[0] if out.is_dir() else [])


def run(
    items: Sequence[agenda.Item], seconds: float, tell: Callable[["Stored | Failure"], None], jobs: int = 1
) -> int:
    """Run what still fits into the time that is left, by the clock, so many at a time; returns how many ended."""
    end, count = time.monotonic() + seconds, 0
    takes = {item.job: item.seconds for item in items}
    for outcome in campaign.run(list(takes), jobs, fits=lambda job: takes[job] <= end - time.monotonic()):
        tell(outcome)
        count += isinstance(outcome, Stored)
    return count


def line(outcome: "Stored | Failure") -> str:
    """An outcome as one line of JSON."""
    if isinstance(outcome, Stored):
        return json.dumps(summary(outcome))
    return json.dumps({"id": outcome.id, "seed": outcome.seed, "verdict": "error", "reason": outcome.message})


def planned(item: agenda.Item) -> str:
    """A line of the plan."""
    job: Job = item.job
    return f"{job.id:24} {job.size} {job.seed:3} {item.seconds:7.0f} s  {item.reason}"


def whole_range(given: str) -> list[int]:
    """Seeds such as 0-2 or 5."""
    first, _, last = given.partition("-")
    return list(range(int(first), int(last or first) + 1))


def main(arguments: Sequence[str] | None = None) -> None:
    """Plan or run what a folder of evidence lacks."""
    parser = argparse.ArgumentParser(prog="python -m lineament.execution.unattended", description=__doc__)
    parser.add_argument("ids", nargs="*", metavar="ID", help="claims (default: all)")
    parser.add_argument("--out", type=Path, required=True, help="the folder of evidence to complete")
    parser.add_argument("--size", choices=("quick", "full"), default="full")
    parser.add_argument("--seeds", type=whole_range, default=[0, 1, 2], metavar="A-B")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin only what should end in this time")
    parser.add_argument(
        "--on", choices=("gpu", "cpu"), help="only claims that are meant for a GPU, or only the others"
    )
    parser.add_argument("--numbers-only", action="store_true", help="keep no figures: those of another seed are there")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="claims at a time (default: 1)")
    parser.add_argument("--plan", action="store_true", help="say what is missing and how long it takes; run nothing")
    asked = parser.parse_args(arguments)
    if asked.on == "cpu":
        os.environ["JAX_PLATFORMS"] = "cpu"  # the GPU, if there is one, is left to those that need it
    items = missing(asked.out, asked.ids, asked.size, asked.seeds, asked.on, asked.numbers_only)
    if asked.plan:
        fitting = agenda.within(items, 60 * asked.minutes * asked.jobs)
        print(*map(planned, fitting), sep="\n")
        print(f"{len(fitting)} of {len(items)} missing runs, {sum(item.seconds for item in fitting) / 60:.0f} min")
        return
    ended = run(items, 60 * asked.minutes, lambda outcome: print(line(outcome), flush=True), asked.jobs)
    print(f"{ended} of {len(items)} missing runs are there now")


if __name__ == "__main__":
    main()
