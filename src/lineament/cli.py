"""The command `lineament`: its options and its answers. The work is done in `lineament.report`.

Whatever is heavy is imported inside the commands, so that `lineament --help` answers at once.
"""

import sys
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

if TYPE_CHECKING:
    from lineament.claims.registry import Claim
    from lineament.report.batch import Failure
    from lineament.report.store import Stored

app = typer.Typer(
    name="lineament",
    help="How neural networks learn: forecast from theory, train, measure, and say how well the two agree.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
# Newer versions of typer carry their own copy of click, older ones use click itself: this is either's usage error.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]
INTERRUPTED = 130
LARGEST = 2**63 - 1


class Scale(StrEnum):
    """How large a claim is run."""

    quick = "quick"
    full = "full"


def _whole(least: int) -> Callable[[str], int]:
    def parse(given: str | int) -> int:
        try:
            number = int(given)
        except ValueError:
            number = least - 1
        if not least <= number <= LARGEST:
            raise typer.BadParameter(f"{given!r} is not a whole number from {least} to {LARGEST}")
        return number

    return parse


def _positive(given: str | float) -> float:
    try:
        number = float(given)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise typer.BadParameter(f"{given!r} is not a positive number")
    return number


Ids = Annotated[list[str] | None, typer.Argument(metavar="ID", help="Claims, by their id.", show_default=False)]
PaperOption = Annotated[str | None, typer.Option("--paper", metavar="KEY", help="Only the claims of this paper.")]
ScaleOption = Annotated[Scale, typer.Option(help="Seconds on two cores, or the paper's own size.")]
SeedOption = Annotated[int, typer.Option(parser=_whole(0), metavar="S", help="The seed of every random draw.")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; a mistake in the arguments is told in one line."""
    try:
        code = app(args=None if arguments is None else list(arguments), prog_name="lineament", standalone_mode=False)
    except UsageError as error:
        print(f"lineament: {error.format_message()}", file=sys.stderr)  # type: ignore[attr-defined]
        return 2
    except typer.Abort:
        return INTERRUPTED
    return code or 0


def _version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        typer.echo(f"lineament {metadata.version('lineament')}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """How neural networks learn: forecast from theory, train, measure, and say how well the two agree."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@app.command()
def claims(
    paper: PaperOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each claim, one a line.")] = False,
) -> None:
    """List the claims: what each states, where it is printed, and what it costs to check."""
    chosen = _choose((), paper)
    from lineament.report import console

    if as_json:
        for claim in chosen:
            typer.echo(console.claim_line(claim))
    else:
        console.claims(chosen)


@app.command()
def reproduce(
    ids: Ids = None,
    every: Annotated[bool, typer.Option("--all", help="All claims.")] = False,
    scale: ScaleOption = Scale.quick,
    seed: SeedOption = 0,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Store evidence and figures here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each result, one a line.")] = False,
) -> None:
    """Check claims and print what was found.

    The exit code is 0 when every claim ran and none failed, and 1 when one raised an error or has the verdict
    "fails". A claim that "differs" or "holds, corrected" is a finding, not an error.
    """
    if bool(ids) == every:
        _refuse("ID", "name at least one claim, or give --all for all of them, but not both")
    chosen = _choose(ids or (), None)
    if out is not None:
        _writable("--out", out)
    from lineament.report import batch, console, draw

    jobs = [batch.Job(claim.id, claim.check.__module__, scale.value, seed, out, draw.draw_files) for claim in chosen]
    outcomes = []
    interrupted = False
    with console.Watch(len(jobs)) as watch:
        try:
            for outcome in batch.run(jobs, begin=watch.begin):
                watch.end(outcome)
                outcomes.append(outcome)
                if as_json:
                    typer.echo(console.result_line(outcome, seed))
        except KeyboardInterrupt:
            interrupted = True
    if outcomes and not as_json:
        console.results(outcomes)
    if interrupted:
        _interrupted(f"{len(outcomes)} of {len(jobs)} claims were run")
    raise typer.Exit(_code(outcomes))


@app.command()
def atlas(
    ids: Ids = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the pages go.")] = Path("atlas"),
    paper: PaperOption = None,
    scale: ScaleOption = Scale.quick,
    seed: SeedOption = 0,
    fresh: Annotated[bool, typer.Option("--fresh", help="Run again what an earlier run has finished.")] = False,
    jobs: Annotated[
        int | None,
        typer.Option(parser=_whole(1), metavar="N", help="Worker processes.", show_default="one for each core"),
    ] = None,
    results: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Evidence from elsewhere to show too.", show_default="results, if there"),
    ] = None,
) -> None:
    """Run claims and write the atlas: a page for each claim, with its verdict, figure and numbers.

    Runs every claim, or those given. What an earlier run has finished with the same code, scale and seed is not run
    again. Ctrl-C loses nothing that is finished: pages are written for it, and the same command goes on from there.

    The exit code is 0 when every claim ran and none failed, 1 when one raised an error or has the verdict "fails",
    and 130 after Ctrl-C.
    """
    chosen = _choose(ids or (), paper)
    elsewhere = _elsewhere(results)
    _writable("--out", out)
    from lineament.report import batch, console
    from lineament.report.survey import survey

    workers = jobs or batch.cores()
    made = survey(chosen, out, scale.value, seed, fresh=fresh, workers=workers, elsewhere=elsewhere)
    for problem in made.unread:
        typer.echo(f"lineament: left out: {problem}", err=True)
    console.results(made.outcomes, total=True)
    typer.echo(made.index)
    if made.interrupted:
        kept = f"{len(made.outcomes)} of {made.wanted} claims are kept"
        _interrupted(f"{kept}; give the same command without --fresh to go on")
    raise typer.Exit(_code(made.outcomes))


@app.command()
def forecast(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A .npz or .csv file, or a bundled data set such as diabetes.")
    ],
    target: Annotated[
        str | None,
        typer.Option(metavar="COL", help="The column to predict: its name, or number.", show_default="the last"),
    ] = None,
    depth: Annotated[int, typer.Option(parser=_whole(1), metavar="N", help="Layers of the network.")] = 2,
    start: Annotated[float, typer.Option(parser=_positive, metavar="SCALE", help="Scale of the start.")] = 1e-3,
    lr: Annotated[
        float | None,
        typer.Option(parser=_positive, metavar="ETA", help="Step size.", show_default="a 20th of the largest stable"),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            parser=_whole(1), metavar="K", help="Steps to look ahead.", show_default="until 99.9 % is learnt"
        ),
    ] = None,
    whiten: Annotated[bool, typer.Option("--whiten", help="Whiten the inputs.")] = False,
    classes: Annotated[bool, typer.Option("--classes", help="Take the numbers of the target as classes.")] = False,
    train: Annotated[bool, typer.Option("--train", help="Train the network too, and compare.")] = False,
    seed: SeedOption = 0,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write a page with figures, and JSON, here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")] = False,
) -> None:
    """Forecast what a deep linear network will learn from a table, and when, before it is trained.

    Features are centred and standardised, targets centred; words as targets name classes. Rows with missing values and
    constant columns are left out, and it is said so. The exit code is 0 whatever training shows: a forecast that
    differs is a finding.
    """
    if out is not None:
        _writable("--out", out)
    from lineament.data import tables
    from lineament.forecasting import forecast_table

    try:
        table = tables.read(data, target)
        made = forecast_table(
            table, depth=depth, start=start, lr=lr, steps=steps, whiten=whiten, classes=classes or None, seed=seed
        )
    except ValueError as error:
        _refuse("DATA", str(error))
    run = None
    if train:
        from lineament.forecasting import train as train_network
        from lineament.report import batch

        batch.prepare()
        run = train_network(made)
    if as_json:
        from lineament.report import forecast_words

        typer.echo(forecast_words.to_json(made, run))
    else:
        from lineament.report import forecast_console

        forecast_console.show(made, run)
    if out is not None:
        from lineament.report import forecast_page

        named = {"target": target, "depth": depth, "start": start, "lr": lr, "steps": steps, "whiten": whiten}
        named |= {"classes": classes, "train": train, "seed": seed}
        page = forecast_page.write(out, made, run, forecast_page.command_line(data, named))
        if not as_json:
            typer.echo(page)


sets = typer.Typer(help="List, fetch, verify and show data sets.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(sets, name="data")
Names = Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Data sets by name; all if none.")]


@sets.command("list")
def list_data(names: Names = None) -> None:
    """List the data sets, what they are and whether they are at hand; with names, all that is known of each."""
    from lineament.report import datasets

    if not names:
        datasets.list_sets()
    for name in _sets(names or ()):
        datasets.describe(name)


@sets.command()
def fetch(names: Annotated[list[str], typer.Argument(metavar="NAME", help="Data sets by name.")]) -> None:
    """Download what data sets lack into the user's cache, checking every file; those at hand are left alone."""
    from lineament.report import datasets

    try:
        datasets.fetch(_sets(names))
    except (ValueError, FileNotFoundError) as error:
        _refuse("NAME", str(error))


@sets.command()
def verify(names: Names = None) -> None:
    """Check the files of data sets against their checksums. The exit code is 1 when one is missing or altered."""
    from lineament.data import catalogue
    from lineament.report import datasets

    raise typer.Exit(0 if datasets.verify(_sets(names or catalogue.names())) else 1)


@sets.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A data set by name.")],
    out: Annotated[Path, typer.Option(metavar="FILE.png", help="Where to save the contact sheet.")],
    partial: Annotated[bool, typer.Option("--partial", help="Make do with the training batches at hand.")] = False,
) -> None:
    """Save a contact sheet: the first training images of every class."""
    from lineament.data import catalogue
    from lineament.report import datasets

    _sets([name])
    try:
        typer.echo(datasets.show(catalogue.load(name, partial=partial), out))
    except (ValueError, FileNotFoundError) as error:
        _refuse("NAME" if out.suffix.lower() == ".png" else "--out", str(error))


def _sets(names: Sequence[str]) -> Sequence[str]:
    from lineament.data import catalogue

    try:
        return [catalogue.entry(name).name for name in names]
    except ValueError as error:
        _refuse("NAME", str(error))


@app.command()
def cite(
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID|PAPER", help="Claims or papers; all papers if none.", show_default=False),
    ] = None,
) -> None:
    """Print BibTeX for the papers whose claims are checked."""
    from lineament.claims import PAPERS, all_claims

    known = all_claims()
    wanted = {}
    for key in keys or dict.fromkeys(claim.paper for claim in known.values()):
        if key not in PAPERS and key not in known:
            _refuse("ID|PAPER", f"{key!r} is neither a claim nor one of the papers {', '.join(PAPERS)}")
        wanted[key if key in PAPERS else known[key].paper] = None
    typer.echo("\n\n".join(PAPERS[key].bibtex for key in wanted))


def _choose(ids: Sequence[str], paper: str | None) -> list["Claim"]:
    """The claims that the arguments name, each once; all of them if none is named."""
    from lineament.claims import all_claims, find

    known = all_claims()
    papers = dict.fromkeys(claim.paper for claim in known.values())
    if paper is not None and paper not in papers:
        _refuse("--paper", f"{paper!r} is not one of {', '.join(papers)}")
    try:
        chosen = [find(id) for id in dict.fromkeys(ids)] or list(known.values())
    except ValueError as error:
        _refuse("ID", str(error))
    chosen = [claim for claim in chosen if paper in (None, claim.paper)]
    if not chosen:
        _refuse("ID", f"none of {', '.join(ids)} is a claim of the paper {paper!r}")
    return chosen


def _writable(option: str, folder: Path) -> None:
    from lineament.report import files

    try:
        files.writable(folder)
    except ValueError as error:
        _refuse(option, str(error))


def _elsewhere(results: Path | None) -> list[Path]:
    if results is not None and not results.is_dir():
        _refuse("--results", f"{str(results)!r} is not a folder")
    folder = results or Path("results")
    return [folder] if folder.is_dir() else []


def _refuse(argument: str, message: str) -> NoReturn:
    raise typer.BadParameter(message, param_hint=f"'{argument}'")


def _interrupted(message: str) -> NoReturn:
    typer.echo(f"lineament: interrupted; {message}", err=True)
    raise typer.Exit(INTERRUPTED)


def _code(outcomes: Sequence["Stored | Failure"]) -> int:
    from lineament.claims import Verdict

    return int(any(getattr(outcome, "verdict", Verdict.FAILS) == Verdict.FAILS for outcome in outcomes))
