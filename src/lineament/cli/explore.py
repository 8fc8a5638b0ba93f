"""`lineament explore`: open the page that computes the theory live."""

from pathlib import Path
from typing import Annotated

import typer

from . import completion
from .options import refuse, tell, writable


def explore(
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Show the setting of a claim, such as gissin-f2.", autocompletion=completion.presets
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the page here.", show_default="the user's cache")
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Open the explorer: move a slider, see a network learn.

    One page that needs no server and no network. Its path is printed, so that it can be opened by hand or shared.
    """
    import webbrowser

    from platformdirs import user_cache_path

    from lineament.report import explorer

    if preset is not None and preset not in explorer.presets():
        refuse("--preset", f"{preset!r} is not one of {', '.join(explorer.presets())}")
    path = out or user_cache_path("lineament") / explorer.NAME
    writable("--out", path.parent)
    explorer.write(path, preset=preset)
    tell(path)
    if browser:
        webbrowser.open(path.resolve().as_uri())
