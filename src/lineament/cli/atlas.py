"""`lineament atlas`: run claims and write the pages."""

from pathlib import Path
from typing import Annotated

import typer

from .options import (
    EngineOption,
    Ids,
    PaperOption,
    SeedOption,
    Size,
    SizeOption,
    choose,
    exit_code,
    interrupted,
    refuse,
    refuse_unwritten,
    tell,
    whole,
    writable,
)


def atlas(
    ids: Ids = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the pages go.")] = Path("atlas"),
    paper: PaperOption = None,
    size: SizeOption = Size.quick,
    seed: SeedOption = 0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what an earlier run has finished.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(parser=whole(1), metavar="N", help="Worker processes.", show_default="one for each core"),
    ] = None,
    engine: EngineOption = "local",
    results: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Evidence from elsewhere to show too.", show_default="results, if there"),
    ] = None,
) -> None:
    """Run claims and write the atlas: a page for each claim, with its verdict, figure and numbers.

    Runs every claim, or those given. What an earlier run has finished with the same code, size and seed is not run
    again. Ctrl-C loses nothing that is finished: pages are written for it, and the same command goes on from there.

    The exit code is 0 when every claim ran and none failed, 1 when one raised an error or has the verdict "fails",
    and 130 after Ctrl-C.
    """
    chosen = choose(ids or (), paper)
    refuse_unwritten(chosen)
    elsewhere = _elsewhere(results)
    writable("--out", out)
    from lineament.core.words import several
    from lineament.execution.engines import EngineError
    from lineament.execution.sources import SourceError
    from lineament.report import console
    from lineament.report.survey import survey

    try:
        made = survey(chosen, out, size.value, seed, fresh=fresh, workers=jobs, engine=engine, elsewhere=elsewhere)
    except SourceError as error:
        refuse("ID", str(error))
    except (EngineError, ValueError) as error:
        refuse("--engine", str(error))
    for problem in made.unread:
        tell(f"lineament: left out: {problem}", err=True)
    console.results(made.outcomes, total=True)
    tell(made.index)
    if made.interrupted:
        are = "is" if len(made.outcomes) == 1 else "are"
        kept = f"{len(made.outcomes)} of {several(made.wanted, 'claim')} {are} kept"
        interrupted(f"{kept}; give the same command without --fresh to go on")
    raise typer.Exit(exit_code(made.outcomes))


def _elsewhere(results: Path | None) -> list[Path]:
    if results is not None and not results.is_dir():
        refuse("--results", f"{str(results)!r} is not a folder")
    folder = results or Path("results")
    return [folder] if folder.is_dir() else []
