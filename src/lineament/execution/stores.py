"""A store as a whole: which experiments it holds, their tables, what changed between two of them."""

import difflib
import json
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lineament.core import arguments

from . import sources
from .grid import Point, plain_value
from .parts import STATES, Row
from .points import About, address
from .shelf import Shelf
from .tables import table
from .values import Variables

if TYPE_CHECKING:
    import xarray as xr

SHORTEST = 4  # letters of an address that are enough to name one


class Summary(NamedTuple):
    """One experiment of a store in short."""

    address: str
    name: str
    points: int
    states: dict[str, int]
    seconds: float
    device: str
    written: str


class Found(NamedTuple):
    """One stored point: where it is kept, how it ended, and what it returned."""

    shelf: Shelf
    about: About
    row: Row
    variables: Variables

    @property
    def address(self) -> str:
        """The address of the point."""
        return address(self.about.address, self.row.point)


class Store:
    """A folder of sweeps, which may be read while they run.

    Args:
        folder: What was given to `sweep` as its store.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = arguments.path("folder", folder)
        if not self.folder.is_dir():
            raise ValueError(f"folder must be the path of a folder that a sweep made; got {str(folder)!r}")

    def __repr__(self) -> str:
        """The folder and the names of its experiments; how many points each holds is not read for this."""
        held = ", ".join(f"{about.name} ({about.address[:8]})" for _, about in self.shelves())
        return f"<Store {str(self.folder)!r}: {held or 'empty'}>"

    def shelves(self) -> list[tuple[Shelf, About]]:
        """The experiments, the one that was begun last first; a folder that is none is passed over."""
        found = []
        for path in self.folder.glob("*/about.json"):
            shelf = Shelf(path.parent)
            try:
                found.append((path.stat().st_mtime_ns, shelf, shelf.about))
            except (OSError, TypeError, ValueError, RecursionError):
                continue
        return [(shelf, about) for _, shelf, about in sorted(found, key=lambda one: -one[0])]

    def experiments(self) -> list[Summary]:
        """Each experiment in short."""
        return [_summary(shelf, about) for shelf, about in self.shelves()]

    def open(self, experiment: str | None = None) -> "xr.Dataset":
        """The table of an experiment over the grid that was swept last, as far as it is run.

        Args:
            experiment: Its address, or the beginning of it, or its name (default: the one that was begun last).
        """
        shelf, about = self._shelf(experiment)
        told = {"experiment": about.name, "address": about.address, "store": str(self.folder)}
        return table(shelf.grid, shelf.parts(), **told)

    def points(self, experiment: str | None = None) -> "list[tuple[str, Row]]":
        """Every stored point of an experiment, with its address."""
        shelf, about = self._shelf(experiment)
        rows = [(address(about.address, row.point), row) for part in shelf.parts() for row in part.rows]
        return sorted(dict(rows).items(), key=lambda one: str(list(one[1].point.values())))

    def find(self, point: str | Mapping[str, Any]) -> list[Found]:
        """Stored points with an address that begins so, or with these values; those begun last first."""
        if isinstance(point, str) and len(point) < SHORTEST:
            raise ValueError(f"point must be at least {SHORTEST} letters of an address, or name=value; got {point!r}")
        if not isinstance(point, str | Mapping):
            raise ValueError(f"point must be an address, or values by name; got {arguments.shown(point)}")
        wanted: Point | None = None if isinstance(point, str) else {n: plain_value(n, v) for n, v in point.items()}
        found: dict[str, Found] = {}
        for shelf, about in self.shelves():
            for part in shelf.parts():
                for place, row in enumerate(part.rows):
                    if wanted is None:
                        assert isinstance(point, str)
                        same = address(about.address, row.point).startswith(point)
                    else:
                        same = row.point == wanted
                    if same:
                        own = {name: v._replace(array=v.array[place]) for name, v in part.variables.items()}
                        one = Found(shelf, about, row, own)
                        found.setdefault(one.address, one)
        return list(found.values())

    def why(self, point: str | Mapping[str, Any]) -> str:
        """Say why a point was run again, or would be: what changed since it was run before.

        Args:
            point: Its values by name, or its address, or the beginning of it.
        """
        found = self.find(point)
        if not found:
            return f"no stored point is {arguments.shown(point)}; `lineament runs {self.folder}` lists them"
        if isinstance(point, str) and len(found) == 1:  # by its address: compare with the same point run elsewhere
            found += [o for o in self.find(found[0].row.point) if o.address != found[0].address]
        newest, *older = found
        lines = [f"{_words(newest.row.point)}: {newest.about.name}, {newest.address[:12]}, {_state(newest.row)}"]
        for other in older:
            lines.append(f"differs from {other.address[:12]} ({_state(other.row)}) in")
            lines += [f"  {line}" for line in changes(other.about, newest.about)] or ["  nothing that is known"]
        since = _since(newest.about)
        if since:
            lines += [
                "the source has changed since it was run, so that it would run again:",
                *(f"  {s}" for s in since),
            ]
        elif not older:
            lines.append("nothing has changed: it was run once, and the same sweep takes it from the store")
        return "\n".join(lines)

    def compare(self, one: str, other: str) -> str:
        """Say how two points differ: in their settings, and in what they gave."""
        a, b = self._one("one", one), self._one("other", other)
        lines = [f"{f.address[:12]}  {f.about.name}  {_words(f.row.point)}  {_state(f.row)}" for f in (a, b)]
        settings = [
            f"{name}: {a.row.point.get(name)} → {b.row.point.get(name)}"
            for name in dict.fromkeys((*a.row.point, *b.row.point))
            if a.row.point.get(name) != b.row.point.get(name)
        ]
        if a.about.address != b.about.address:
            settings += changes(a.about, b.about)
        lines += ["settings", *(f"  {line}" for line in settings or ["the same"]), "results"]
        for name in dict.fromkeys((*a.variables, *b.variables)):
            lines.append(f"  {name}: {_difference(name, a.variables, b.variables)}")
        return "\n".join(lines)

    def delete(self, name: str) -> str:
        """Delete an experiment or a point, by the beginning of its address. Returns what was deleted, in words."""
        if len(name) < SHORTEST:
            raise ValueError(
                f"what to delete must be named by at least {SHORTEST} letters of its address; got {name!r}"
            )
        whole = [(shelf, about) for shelf, about in self.shelves() if about.address.startswith(name)]
        if len(whole) == 1:
            shutil.rmtree(whole[0][0].folder)
            return f"the experiment {whole[0][1].name} ({whole[0][1].address[:12]}) with all its points"
        found = self._one("name", name)
        found.shelf.drop(lambda row: row.point == found.row.point)
        return f"the point {found.address[:12]} ({_words(found.row.point)}) of {found.about.name}"

    def _one(self, argument: str, name: str) -> Found:
        if not isinstance(name, str) or len(name) < SHORTEST:
            raise ValueError(
                f"{argument} must be at least {SHORTEST} letters of an address; got {arguments.shown(name)}"
            )
        found = self.find(name)
        if len(found) != 1:
            raise ValueError(f"{argument} must begin the address of one point; {name!r} begins {len(found)}")
        return found[0]

    def _shelf(self, name: str | None) -> tuple[Shelf, About]:
        if name is not None and not isinstance(name, str):
            raise ValueError(f"experiment must be a name or an address; got {arguments.shown(name)}")
        shelves = self.shelves()
        for shelf, about in shelves:
            if name is None or about.name == name or (len(name) >= SHORTEST and about.address.startswith(name)):
                return shelf, about
        known = ", ".join(f"{about.name} ({about.address[:12]})" for _, about in shelves) or "none"
        raise ValueError(f"experiment must be one that the store holds: {known}; got {name!r}")


def changes(old: About, new: About) -> list[str]:
    """What differs between two experiments, in lines: constants, source, versions, device and precision."""
    lines = [f"the experiment: {old.name} → {new.name}"] if old.name != new.name else []
    for name in dict.fromkeys((*old.code, *new.code)):
        if old.code.get(name) != new.code.get(name):
            lines += _changed_code(name, old, new)
    for name in dict.fromkeys((*old.modules, *new.modules)):
        if old.modules.get(name) != new.modules.get(name):
            how = "no longer used" if name not in new.modules else "not used before" if name not in old.modules else ""
            lines.append(f"the module {name}" + (f": {how}" if how else ""))
    for name in dict.fromkeys((*old.versions, *new.versions)):
        if old.versions.get(name) != new.versions.get(name):
            lines.append(f"{name}: {old.versions.get(name)} → {new.versions.get(name)}")
    for name in ("device", "precision"):
        if getattr(old, name) != getattr(new, name):
            lines.append(f"the {name}: {getattr(old, name)} → {getattr(new, name)}")
    return lines


def _changed_code(name: str, old: About, new: About) -> list[str]:
    before, after = old.text.get(name, ""), new.text.get(name, "")
    if not before or not after:
        return [f"the {'source' if before or after else 'value'} of {name}"]
    diff = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=0)
    return [
        f"the source of {name}",
        *(f"  {line}" for line in diff if line[:3] not in ("---", "+++") and line[0] != "@"),
    ]


def _since(about: About) -> list[str]:
    """Modules whose source on this machine is no longer the one that was run."""
    now = {name: sources.read(name) for name in about.modules}
    return [
        f"the module {name}" for name, code in now.items() if code is not None and code.digest != about.modules[name]
    ]


def _difference(name: str, a: Variables, b: Variables) -> str:
    if name not in a or name not in b:
        return f"only in the {'first' if name in a else 'second'}"
    one, other = a[name].array, b[name].array
    if one.shape != other.shape:
        return f"of shape {one.shape} and {other.shape}"
    if np.array_equal(one, other, equal_nan=True):
        return "the same"
    gap = np.abs(one.astype(complex) - other.astype(complex))
    if not np.isfinite(gap).any():
        return "not finite in one of them"
    if not one.ndim:
        return f"{one:g} → {other:g}"
    worst = np.unravel_index(np.nanargmax(gap), gap.shape)
    scale = max(float(np.nanmax(np.abs(one))), float(np.nanmax(np.abs(other))))
    where = ", ".join(f"{dim} {place}" for dim, place in zip(a[name].dims, worst, strict=True))
    last = f"; at the end {one.flat[-1]:g} → {other.flat[-1]:g}"
    return f"largest difference {gap[worst]:.3g} ({gap[worst] / scale:.1%} of the largest value) at {where}{last}"


def _summary(shelf: Shelf, about: About) -> Summary:
    states: dict[str, int] = {}
    seconds, points = 0.0, set[str]()
    for part in shelf.parts():
        for row in part.rows:
            key = json.dumps(list(row.point.values()))
            if key not in points:
                points.add(key)
                states[STATES[row.state]] = states.get(STATES[row.state], 0) + 1
                seconds += 0.0 if np.isnan(row.seconds) else row.seconds
    written = datetime.fromtimestamp((shelf.folder / "about.json").stat().st_mtime, UTC)
    return Summary(about.address, about.name, len(points), states, seconds, about.device, f"{written:%Y-%m-%d %H:%M}")


def _words(point: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())


def _state(row: Row) -> str:
    return STATES[row.state] + (f" ({row.reason})" if row.reason else "")
