"""`lineament why`: what changed since a point was run before."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .options import refuse, tell


def why(
    point: Annotated[str, typer.Argument(metavar="POINT", help="Its address, or its values: depth=2,seed=0.")],
    store: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the sweep.")] = Path("runs"),
) -> None:
    """Say why a point was run again, or would be: what changed in its source, constants, versions or device."""
    from lineament.execution.stores import Store

    try:
        tell(Store(store).why(_values(point) if "=" in point else point))
    except ValueError as error:
        refuse("POINT" if store.is_dir() else "--store", str(error))


def _values(point: str) -> dict[str, Any]:
    """The values of a point by name; what reads as a number, a truth value, None or a tuple is one."""
    import ast

    found: dict[str, Any] = {}
    for part in point.replace(", ", ",").split(","):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"point must read name=value,name=value; got {point!r}")
        try:
            found[name.strip()] = ast.literal_eval(value)
        except (SyntaxError, ValueError):
            found[name.strip()] = value
    return found
