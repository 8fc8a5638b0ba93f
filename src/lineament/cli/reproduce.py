"""`lineament reproduce`: check claims and print what was found."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Ids, SeedOption, SeedsOption, Size, SizeOption, choose, exit_code, interrupted, refuse, writable

if TYPE_CHECKING:
    from lineament.execution.batch import Job


def reproduce(
    ids: Ids = None,
    every: Annotated[bool, typer.Option("--all", help="All claims.")] = False,
    size: SizeOption = Size.quick,
    seed: SeedOption = 0,
    seeds: SeedsOption = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Store evidence and figures here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each result, one a line.")] = False,
) -> None:
    """Check claims and print what was found.

    The exit code is 0 when every claim ran and none failed, and 1 when one raised an error or has the verdict
    "fails". A claim that "differs", is "undecided" or "holds, corrected" is a finding, not an error.
    """
    if bool(ids) == every:
        refuse("ID", "name at least one claim, or give --all for all of them, but not both")
    chosen = choose(ids or (), None)
    numbers = [seed] if seeds is None else seeds.numbers
    if out is not None:
        writable("--out", out)
    from lineament.execution import batch
    from lineament.report import draw

    # One seed's figure is enough: the others differ in their numbers, which are kept.
    jobs = [
        batch.Job(claim, size.value, number, out, draw.draw_files if number == numbers[0] else None)
        for claim in chosen
        for number in numbers
    ]
    _run(jobs, as_json)


def _run(jobs: "list[Job]", as_json: bool) -> None:
    from lineament.execution import batch
    from lineament.report import console

    outcomes = []
    stopped = False
    with console.Watch(len(jobs)) as watch:
        try:
            for outcome in batch.run(jobs, begin=watch.begin):
                watch.end(outcome)
                outcomes.append(outcome)
                if as_json:
                    typer.echo(console.result_line(outcome))
        except KeyboardInterrupt:
            stopped = True
    if outcomes and not as_json:
        console.results(outcomes)
    if stopped:
        interrupted(f"{len(outcomes)} of {len(jobs)} runs were finished")
    raise typer.Exit(exit_code(outcomes))
