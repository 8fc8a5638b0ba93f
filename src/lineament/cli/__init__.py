"""The command `lineament`: one module for each command. The work is done in `execution` and `report`.

Whatever is heavy is imported inside the commands, so that `lineament --help` answers at once.
"""

import errno
import io
import os
import sys
from collections.abc import Sequence

import typer

from lineament.core.words import harmless

from . import (
    atlas,
    cite,
    claims,
    data,
    explore,
    forecast,
    interrupts,
    new_claim,
    reproduce,
    runs,
    scoreboard,
    show,
    sweep,
    watch,
    why,
)
from .app import INTERRUPTED, app

__all__ = ["app", "main"]

app.command()(claims.claims)
app.command()(show.show)
app.command()(reproduce.reproduce)
app.command()(atlas.atlas)
app.command()(new_claim.new_claim)
app.command()(forecast.forecast)
app.command()(scoreboard.scoreboard)
app.command()(sweep.sweep)
app.command()(runs.runs)
app.command()(why.why)
app.command()(watch.watch)
app.command()(explore.explore)
app.add_typer(data.sets, name="data")
app.command()(cite.cite)

# Newer versions of typer carry their own copy of click, older ones use click itself: this is either's usage error.
UsageError: type[Exception] = typer.BadParameter.__bases__[0]

UNPRINTED = (errno.ENOSPC, errno.EIO)
"""What the system says where standard output is a disk that is full or broken."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; a mistake in the arguments is told in one line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal's alphabet lacks is no reason to end
    try:
        with interrupts.kept():
            code = app(
                args=None if arguments is None else list(arguments), prog_name="lineament", standalone_mode=False
            )
    except UsageError as error:
        print(f"lineament: {harmless(error.format_message())}", file=sys.stderr)  # type: ignore[attr-defined]
        return 2
    except OSError as error:
        if error.errno in UNPRINTED and error.filename is None:
            return _unprinted(error)
        if error.filename is None:
            raise
        reason = error.strerror or type(error).__name__
        print(f"lineament: {harmless(f'{reason}: {str(error.filename)[:200]!r}')}", file=sys.stderr)
        return 2
    except typer.Abort:
        return INTERRUPTED
    return code or 0


def _unprinted(error: OSError) -> int:
    """The exit code where what was printed cannot be written; what is left of it must not fail again at the end."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    print(f"lineament: {error.strerror}: standard output", file=sys.stderr)
    return 1
