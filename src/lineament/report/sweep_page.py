"""The page of a sweep: one self-contained HTML file that draws any value over any pair of axes."""

import json
import math
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from lineament.execution import files

from . import site

if TYPE_CHECKING:
    import xarray as xr

MOST_NUMBERS = 2_000_000  # that a page holds; a value with more is left out, and it is said so
DIGITS = 6


def write(table: "xr.Dataset", path: str | Path) -> Path:
    """Write the page.

    Args:
        table: What `lineament.sweep` returned.
        path: The file to write, such as `sweep.html`; its folder is made if it is missing.

    Returns:
        The path of the page.
    """
    path = Path(path)
    files.writable(path.parent)
    return files.write(path, page(table))


def page(table: "xr.Dataset") -> str:
    """The page as text."""
    shown, left_out = _values(table)
    text = json.dumps({"axes": _axes(table, shown), "variables": shown}, allow_nan=False)
    script = resources.files("lineament.report") / "templates" / "sweep.js"
    return site.templates().get_template("sweep.html.j2").render(
        title=f"A sweep of {table.attrs.get('experiment', 'an experiment')}",
        facts=_facts(table, left_out),
        reasons=_reasons(table),
        data=Markup(text.replace("<", "\\u003c")),  # so that no text can end the element it stands in
        drawing=Markup(script.read_text(encoding="utf-8")),
    )  # fmt: skip


def _values(table: "xr.Dataset") -> tuple[list[dict[str, Any]], list[str]]:
    """The values to choose from, row by row, and those that are too large for a page."""
    names = [str(n) for n, v in table.data_vars.items() if v.dtype.kind in "biuf" and v.ndim and n != "seconds"]
    fit = [name for name in names if table[name].size <= MOST_NUMBERS]
    fit = fit or (["seconds"] if "seconds" in table else [])
    found = [
        {"name": name, "dims": list(map(str, table[name].dims)), "values": _numbers(table[name].values)}
        for name in fit
    ]
    return found, [name for name in names if name not in fit]


def _numbers(values: np.ndarray) -> list[float | None]:
    return [float(f"{v:.{DIGITS}g}") if math.isfinite(v) else None for v in values.astype(float).ravel().tolist()]


def _axes(table: "xr.Dataset", shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every dimension with its values; `own` marks those of what a point returned, such as the steps of a run."""
    grid = set(map(str, table["status"].dims))
    names = dict.fromkeys(dim for one in shown for dim in one["dims"])
    return [{"name": name, "values": _along(table, name), "own": name not in grid} for name in names]


def _along(table: "xr.Dataset", name: str) -> list[Any]:
    if name in table.coords and table[name].dims == (name,):
        return [_plain(value) for value in table[name].values.tolist()]
    together = [str(c) for c, v in table.coords.items() if v.dims == (name,)]  # names that were walked together
    if together:
        rows = zip(*(table[c].values.tolist() for c in together), strict=True)
        return [", ".join(f"{c}={value}" for c, value in zip(together, row, strict=True)) for row in rows]
    return list(range(table.sizes[name]))


def _plain(value: Any) -> Any:
    fine = isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))
    return value if fine else str(value)


def _facts(table: "xr.Dataset", left_out: list[str]) -> dict[str, str]:
    states, counts = np.unique(table["status"].values, return_counts=True)
    facts = {
        "Grid": " × ".join(f"{table.sizes[dim]} {dim}" for dim in table["status"].dims),
        "Points": ", ".join(f"{count} {state}" for state, count in zip(states, counts, strict=True)),
        "Time": site.prose.duration(float(np.nansum(table["seconds"].values))),
        "Address": str(table.attrs.get("address", ""))[:12],
    }
    return facts | ({"Not shown, for their size": ", ".join(left_out)} if left_out else {})


def _reasons(table: "xr.Dataset") -> list[tuple[str, int, str]]:
    """Why points failed: each reason with how many there are, and one of them."""
    reasons = table["reason"].values
    found: dict[str, list[Any]] = {}
    for place in zip(*np.nonzero(reasons != ""), strict=True):
        found.setdefault(str(reasons[place]), []).append(place)
    dims = [str(dim) for dim in table["status"].dims]
    values = {dim: _along(table, dim) for dim in dims}
    example = lambda place: ", ".join(f"{d} {values[d][i]}" for d, i in zip(dims, place, strict=True))  # noqa: E731
    listed = sorted(found.items(), key=lambda one: -len(one[1]))[:20]
    return [(reason, len(places), example(places[0])) for reason, places in listed]
