"""Arguments and options that several commands share, how they are read, and how a wrong one is refused."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, NoReturn

import typer

from lineament.core.words import harmless

from . import completion
from .app import INTERRUPTED

if TYPE_CHECKING:
    from lineament.claims import Claim
    from lineament.execution.campaign import Failure
    from lineament.execution.store import Stored

LARGEST = 2**63 - 1
MOST_SEEDS = 10_000


class Size(StrEnum):
    """How large a claim is run."""

    quick = "quick"
    full = "full"


def whole(least: int) -> Callable[[str], int]:
    """A parser of whole numbers from `least` on."""

    def parse(given: str | int) -> int:
        try:
            number = int(given)
        except ValueError:
            number = least - 1
        if not least <= number <= LARGEST:
            raise typer.BadParameter(f"{given!r} is not a whole number from {least} to {LARGEST}")
        return number

    return parse


def positive(given: str | float) -> float:
    """Parse a positive number."""
    try:
        number = float(given)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise typer.BadParameter(f"{given!r} is not a positive number")
    return number


def at_least_zero(given: str | float) -> float:
    """Parse a number that is positive or zero."""
    try:
        number = float(given)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise typer.BadParameter(f"{given!r} is not a number of at least 0")
    return number


class Seeds(NamedTuple):
    """Seeds, each once and in order."""

    numbers: list[int]


def seed_range(given: str | Seeds) -> Seeds:
    """Parse seeds such as 0-4 or 0,3,7."""
    if isinstance(given, Seeds):
        return given
    numbers: set[int] = set()
    for part in given.split(","):
        first, dash, last = part.partition("-")
        low, high = whole(0)(first.strip()), whole(0)((last if dash else first).strip())
        if not low <= high < low + MOST_SEEDS:
            raise typer.BadParameter(f"{part!r} is not a range A-B of at most {MOST_SEEDS} seeds with A ≤ B")
        numbers |= set(range(low, high + 1))
    return Seeds(sorted(numbers))


Ids = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="ID",
        help="Claims: ids, or files (.py) of your own.",
        show_default=False,
        autocompletion=completion.claims,
    ),
]
PaperOption = Annotated[
    str | None,
    typer.Option("--paper", metavar="KEY", help="Only the claims of this paper.", autocompletion=completion.papers),
]
SizeOption = Annotated[
    Size,
    typer.Option(help="Seconds on two cores, or the paper's size, or near it."),
]
SeedOption = Annotated[int, typer.Option(parser=whole(0), metavar="S", help="The seed of every random draw.")]
SeedsOption = Annotated[
    Seeds | None,
    typer.Option(parser=seed_range, metavar="A-B", help="Several seeds, such as 0-4 or 0,3,7, instead of one."),
]
EngineOption = Annotated[
    str,
    typer.Option(metavar="WHERE", help="local, or the address of a dask scheduler such as tcp://10.0.0.1:8786."),
]


def choose(ids: Sequence[str], paper: str | None, option: str = "--paper") -> list["Claim"]:
    """The claims that the arguments name, each once; all of them if none is named. `option` gave the paper."""
    from lineament.claims import all_claims, find, in_file

    known = all_claims()
    papers = dict.fromkeys(claim.paper for claim in known.values())
    if paper is not None and paper not in papers:
        refuse(option, f"{paper!r} is not one of {', '.join(papers)}")
    try:
        named = [in_file(Path(id)) if id.endswith(".py") else (find(id),) for id in dict.fromkeys(ids)]
    except (TypeError, ValueError) as error:
        refuse("ID", str(error))
    chosen = [claim for claims in named for claim in claims] or list(known.values())
    chosen = [claim for claim in chosen if paper in (None, claim.paper)]
    if not chosen:
        refuse("ID", f"none of {', '.join(ids)} is a claim of the paper {paper!r}")
    return chosen


def refuse_unwritten(claims: Sequence["Claim"]) -> None:
    """Refuse claims whose check no source shows: they have no page."""
    for claim in claims:
        try:
            _ = claim.source
        except (ImportError, SyntaxError, ValueError) as error:
            refuse("ID", f"{claim.id}: {error}")


def evidence_folders(results: Path | None) -> list[Path]:
    """Where stored evidence is looked for: the folder given, or those that `atlas` and `results` make here."""
    if results is not None and not results.is_dir():
        refuse("--results", f"{str(results)!r} is not a folder")
    folders = [results] if results is not None else [Path("results"), Path("atlas", "evidence")]
    return [folder for folder in folders if folder.is_dir()]


def writable(option: str, folder: Path) -> None:
    """Refuse a folder that cannot be written to."""
    from lineament.execution import files

    try:
        files.writable(folder)
    except ValueError as error:
        refuse(option, str(error))


def refuse(argument: str, message: str) -> NoReturn:
    """End with a usage error that names the argument."""
    raise typer.BadParameter(message, param_hint=f"'{argument}'")


def tell(what: object, err: bool = False) -> None:
    """Print what holds a path or a name, either of which may hold characters that would steer the terminal."""
    typer.echo(harmless(str(what)), err=err)


def interrupted(message: str) -> NoReturn:
    """End as after Ctrl-C, saying what is kept."""
    typer.echo(f"lineament: interrupted; {message}", err=True)
    raise typer.Exit(INTERRUPTED)


def exit_code(outcomes: Sequence["Stored | Failure"]) -> int:
    """0 when every claim ran and none failed, else 1."""
    from lineament.evidence import Verdict

    return int(any(getattr(outcome, "verdict", Verdict.FAILS) == Verdict.FAILS for outcome in outcomes))
