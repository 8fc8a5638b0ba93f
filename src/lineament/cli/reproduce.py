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
    positive,
    refuse,
    whole,
    writable,
)

if TYPE_CHECKING:
    from lineament.execution.agenda import Item
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
    plan: Annotated[
        bool,
        typer.Option("--plan", help="With --missing: say what is missing and how long it will take; run nothing."),
    ] = False,
    minutes: Annotated[
        float | None,
        typer.Option(
            parser=positive, metavar="M", help="With --missing: begin only what should be done in this time."
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(parser=whole(1), metavar="N", help="Worker processes.", show_default="1, or all of the engine"),
    ] = None,
    engine: EngineOption = "local",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each result, one a line.")] = False,
) -> None:
    """Check claims and print what was found; several seeds give one verdict.

    With --missing the most disputed come first: claims whose verdict is open or whose seeds disagree, then those never
    run, then those whose evidence is of an earlier form, then further seeds; cheap ones before long ones.

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
    if (plan or minutes is not None) and not missing:
        refuse("--plan" if plan else "--minutes", "give --missing too: only what is missing can be planned")
    from lineament.execution import campaign
    from lineament.execution.engines import EngineError
    from lineament.execution.sources import SourceError
    from lineament.report import console, draw

    # One seed's figure is enough: the others differ in their numbers, which are kept.
    wanted = [
        campaign.Job(
            claim, size.value, number, out and out.resolve(), draw.draw_files, with_figure=number == numbers[0]
        )
        for claim in chosen
        for number in numbers
    ]
    workers = jobs or (1 if engine == "local" else None)
    done = campaign.standing(wanted) if missing else {}
    left = [job for job in wanted if job not in done]
    if missing and out is not None:
        items = _agenda(left, out, minutes)
        if plan:
            console.agenda(items, len(done), len(left))
            return
        left = [item.job for item in items]
    try:
        _run(left, done, workers, engine, as_json)
    except SourceError as error:
        refuse("ID", str(error))
    except (EngineError, ValueError) as error:
        refuse("--engine", f"{error}; with --out and --missing the same command goes on from there")


def _agenda(jobs: "list[Job]", out: Path, minutes: float | None) -> "list[Item]":
    """What is missing, the most disputed first; no more of it than should be done in the time given."""
    from lineament.execution import agenda
    from lineament.execution.store import load_folder

    items = agenda.agenda(jobs, load_folder(out)[0] if out.is_dir() else [])
    return items if minutes is None else agenda.within(items, 60 * minutes)


def _run(left: "list[Job]", done: "dict[Job, Stored]", workers: int | None, engine: str, as_json: bool) -> None:
    from lineament.execution import campaign
    from lineament.report import console

    outcomes: list[Stored | Failure] = list(done.values())
    count, stopped = len(left) + len(done), False
    with (
        console.Watch(count, len(done)) as watch,
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
        interrupted(f"{len(outcomes)} of {count} runs were finished")
    raise typer.Exit(exit_code(outcomes))
