"""The application that the commands belong to."""

from typing import Annotated

import typer

app = typer.Typer(
    name="lineament",
    help="How neural networks learn: forecast from theory, train, measure, and say how well the two agree.",
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
INTERRUPTED = 130


def _version(wanted: bool) -> None:
    if wanted:
        from lineament.core.versions import version

        typer.echo(f"lineament {version('lineament')}")
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
