"""`lineament reproduce`: check claims and print what was found."""

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import (
    EngineOption,
    Ids,
    SeedOption,
    SeedsOption,
    Size,
    SizeOption,
    choose,
    exit_code,
    interrupted,
    refuse,
    whole,
    writable,
)

if TYPE_CHECKING:
    from lineament.execution.campaign import Failure, Job
    from lineament.execution.store import Stored


def reproduce(
    ids: Ids = None,
    every: Annotated[bool, typer.Option("--all", help="All claims.")] = False,
    size: SizeOption = Size.quick,
    seed: SeedOption = 0,
    seeds: SeedsOption = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Store evidence and figures here.")] = None,
    missing: Annotated[
        bool, typer.Option("--missing", help="Run only what --out does not hold yet from these settings.")
    ] = False,
    jobs: Annotated[
        int | None,
        typer.Option(parser=whole(1), metavar="N", help="Worker processes.", show_default="1, or all of the engine"),
    ] = None,
    engine: EngineOption = "local",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each result, one a line.")] = False,
) -> None:
    """Check claims and print what was found; several seeds give one verdict.

    The exit code is 0 when every claim ran and none failed, and 1 when one raised an error or has the verdict
    "fails". A claim that "differs", is "undecided" or "holds, corrected" is a finding, not an error.
    """
    if bool(ids) == every:
        refuse("ID", "name at least one claim, or give --all for all of them, but not both")
    chosen = choose(ids or (), None)
    numbers = [seed] if seeds is None else seeds.numbers
    if out is not None:
        writable("--out", out)
    elif missing:
        refuse("--missing", "give --out too: the folder whose evidence is to be completed")
    from lineament.execution import campaign
    from lineament.execution.engines import EngineError
    from lineament.report import draw

    # One seed's figure is enough: the others differ in their numbers, which are kept.
    wanted = [
        campaign.Job(
            claim, size.value, number, out and out.resolve(), draw.draw_files, with_figure=number == numbers[0]
        )
        for claim in chosen
        for number in numbers
    ]
    workers = jobs or (1 if engine == "local" else None)
    try:
        _run(wanted, campaign.standing(wanted) if missing else {}, workers, engine, as_json)
    except (EngineError, ValueError) as error:
        refuse("--engine", f"{error}; with --out and --missing the same command goes on from there")


def _run(jobs: "list[Job]", done: "dict[Job, Stored]", workers: int | None, engine: str, as_json: bool) -> None:
    from lineament.execution import campaign
    from lineament.report import console

    left = [job for job in jobs if job not in done]
    outcomes: list[Stored | Failure] = list(done.values())
    stopped = False
    with (
        console.Watch(len(jobs), len(done)) as watch,
        contextlib.closing(campaign.run(left, workers, watch.begin, engine)) as run,
    ):
        try:
            for outcome in run:
                watch.end(outcome)
                outcomes.append(outcome)
                if as_json:
                    typer.echo(console.result_line(outcome))
        except KeyboardInterrupt:
            stopped = True
    if outcomes and not as_json:
        console.results(outcomes)
        console.pooled_results(outcomes)
    if stopped:
        interrupted(f"{len(outcomes)} of {len(jobs)} runs were finished")
    raise typer.Exit(exit_code(outcomes))
