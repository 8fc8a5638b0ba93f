"""A sweep as a file: what to run, over which values, and where to keep it."""

import importlib
import importlib.util
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from lineament.core import places
from lineament.core.arguments import count

from .grid import MOST_POINTS

KNOWN = ("experiment", "store", "grid", "zip", "where")
SPREADS = {"range": range, "linspace": np.linspace, "geomspace": np.geomspace}


def read(path: str | Path) -> dict[str, Any]:
    """Read the arguments of a sweep from a TOML file.

    ```toml
    experiment = "trial.py:experiment"
    store = "runs"

    [grid]
    depth = [1, 2, 3]
    start_scale = { geomspace = [1e-6, 1, 25] }
    seed = { range = [0, 20] }
    ```

    Functions are named as MODULE:FUNCTION, or FILE.py:FUNCTION with the file beside this one.
    """
    path = Path(path)
    places.refuse_to_read(path)
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not TOML: {error}") from error
    if unknown := [name for name in given if name not in KNOWN]:
        raise ValueError(f"{path} must have only {', '.join(KNOWN)}; got {', '.join(unknown)}")
    if missing := [name for name in ("experiment", "store", "grid") if name not in given]:
        raise ValueError(f"{path} must have {', '.join(missing)}")
    where = given.get("where")
    return {
        "experiment": load(given["experiment"], path.parent, "experiment"),
        "grid": {name: _values(name, values) for name, values in _mapping(given["grid"]).items()},
        "store": str(path.parent / str(given["store"])),
        "zip": given.get("zip", ()),
        "where": None if where is None else load(where, path.parent, "where"),
    }


def load(name: Any, beside: Path, what: str) -> Any:
    """Import a function that is named as MODULE:FUNCTION or FILE.py:FUNCTION."""
    home, colon, function = str(name).partition(":")
    if not colon or not function.isidentifier():
        raise ValueError(f"{what} must read MODULE:FUNCTION or FILE.py:FUNCTION; got {name!r}")
    file = (beside / home).resolve() if home.endswith(".py") else None
    folder = file.parent if file else beside.resolve()
    sys.path.insert(0, str(folder))  # so that it finds what stands beside it, as a script would
    try:
        module = importlib.import_module(file.stem if file else home)
    except (Exception, SystemExit) as error:  # whatever the module raises, it is to blame
        why = f"{type(error).__name__}: {error}"
        raise ValueError(f"{what} must name a module that can be imported; {home} cannot: {why}") from error
    if file is not None and not (module.__file__ and file.exists() and file.samefile(module.__file__)):
        raise ValueError(f"{what} must have a name of its own; there is another module {file.stem!r} than {home}")
    if not hasattr(module, function):
        raise ValueError(f"{what} must name a function of {home}; it has no {function!r}")
    return getattr(module, function)


def _mapping(grid: Any) -> dict[str, Any]:
    if not isinstance(grid, dict):
        raise ValueError(f"grid must be a table of names and their values; got {grid!r}")
    return grid


def _values(name: str, given: Any) -> Any:
    if not isinstance(given, dict):
        return given
    if len(given) != 1 or next(iter(given)) not in SPREADS:
        raise ValueError(f"grid[{name!r}] must be a list, or one of {', '.join(SPREADS)}; got {given!r}")
    ((kind, arguments),) = given.items()
    try:
        if kind != "range" and len(arguments) > 2:
            count(f"the number of values of grid[{name!r}]", arguments[2], 0, MOST_POINTS)
        return SPREADS[kind](*arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"grid[{name!r}] must be what {kind} takes; got {arguments!r}: {error}") from None
