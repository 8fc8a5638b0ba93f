"""The points of a sweep: a product of axes, some of them walked together, some points left out."""

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

MOST_POINTS = 10**7
"""Points of a grid, and values of one name: what is walked through, and told apart, in a process."""

Value: TypeAlias = bool | int | float | str | tuple["Value", ...] | None
Point: TypeAlias = dict[str, Value]


@dataclass(frozen=True)
class Axis:
    """One dimension of a grid: the values of one name, or of several that are walked together."""

    names: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    @property
    def dimension(self) -> str:
        """The name of the dimension in the table."""
        return "_".join(self.names)

    @cached_property
    def places(self) -> dict[tuple[Value, ...], int]:
        """Where each row of values stands."""
        return {row: place for place, row in enumerate(self.rows)}


@dataclass(frozen=True)
class Grid:
    """All points of a sweep, numbered in the order of a nested loop; none of them is held.

    Attributes:
        axes: The dimensions, slowest first.
        where: A function of some of the names; points at which it is false are left out.
    """

    axes: tuple[Axis, ...]
    where: Callable[..., Any] | None = field(default=None, compare=False)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names, axis by axis."""
        return tuple(name for axis in self.axes for name in axis.names)

    @property
    def shape(self) -> tuple[int, ...]:
        """How long each axis is."""
        return tuple(len(axis.rows) for axis in self.axes)

    def __len__(self) -> int:
        return math.prod(self.shape)

    def point(self, index: int) -> Point:
        """The values at one place of the grid."""
        places = np.unravel_index(index, self.shape)
        rows = [axis.rows[place] for axis, place in zip(self.axes, places, strict=True)]
        return dict(zip(self.names, itertools.chain.from_iterable(rows), strict=True))

    def index(self, point: Mapping[str, Value]) -> int | None:
        """Where a point stands in the grid; None if it is no point of it."""
        if len(point) != len(self.names):
            return None
        index = 0
        try:
            for names, places, size in self._places:
                value = point[names[0]] if len(names) == 1 else tuple([point[name] for name in names])
                index = index * size + places[value]
        except KeyError:
            return None
        return index

    @cached_property
    def _places(self) -> list[tuple[tuple[str, ...], dict[Any, int], int]]:
        """Where each value stands on its axis; of an axis of one name without the tuple around it."""
        return [
            (a.names, {row[0]: i for row, i in a.places.items()} if len(a.names) == 1 else dict(a.places), len(a.rows))
            for a in self.axes
        ]

    def wanted(self) -> np.ndarray:
        """Which places of the grid hold a point: all of them, unless `where` leaves some out."""
        if self.where is None:
            return np.ones(len(self), bool)
        keep = taking(self.where, self.names, "where")
        return np.fromiter((bool(keep(self.point(i))) for i in range(len(self))), bool, len(self))

    def __iter__(self) -> Iterator[Point]:
        return (self.point(int(i)) for i in np.flatnonzero(self.wanted()))


def grid(
    values: Mapping[str, Iterable[Any]],
    zip: Sequence[str] | Sequence[Sequence[str]] = (),
    where: Callable[..., Any] | None = None,
) -> Grid:
    """Make a grid from the values of each name.

    Args:
        values: The values of each name: numbers, words, truth values, None, or tuples of these.
        zip: Names that are walked together instead of crossed: one group of names, or several groups.
        where: A function of some of the names; points at which it is false are left out.
    """
    if not isinstance(values, Mapping) or not values:
        raise ValueError(f"grid must be a mapping of at least one name to its values; got {values!r}")
    rows = {_name(name): _values(name, given) for name, given in values.items()}
    together = _groups(zip, rows)
    axes: list[Axis] = []
    for name in rows:
        names = next((group for group in together if name in group), (name,))
        if name == names[0]:
            axes.append(_axis(names, [rows[each] for each in names]))
    if where is not None and not callable(where):
        raise ValueError(f"where must be a function of names of the grid; got {where!r}")
    if where is not None:
        taking(where, list(rows), "where")
    made = Grid(tuple(axes), where)
    if (points := math.prod(made.shape)) > MOST_POINTS:
        raise ValueError(f"grid must have at most {MOST_POINTS} points; got {points}")
    return made


def taking(function: Callable[..., Any], names: Sequence[str], what: str) -> Callable[[Mapping[str, Any]], Any]:
    """Call a function with those of the names that it takes; refused if it asks for another."""
    asked = asked_for(function, what)
    if asked is None:
        return lambda point: function(**point)
    if unknown := [name for name, needed in asked.items() if needed and name not in names]:
        raise ValueError(f"{what} must be a function of {', '.join(names)}; got one that takes {', '.join(unknown)}")
    taken = [name for name in asked if name in names]
    return lambda point: function(**{name: point[name] for name in taken})


def asked_for(function: Callable[..., Any], what: str) -> dict[str, bool] | None:
    """The arguments of a function by name, and whether each is needed; None if it takes any."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be a function whose arguments have names; got {function!r}") from None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return {p.name: p.default is p.empty for p in named}


def plain_value(name: str, value: Any) -> Value:
    """A value of a grid as Python has it, so that it can be compared, written and read back."""
    if isinstance(value, np.generic) or (hasattr(value, "tolist") and getattr(value, "ndim", None) == 0):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(plain_value(name, part) for part in value)
    if (value is None or isinstance(value, bool | int | float | str)) and value == value:
        return value
    raise ValueError(f"grid[{name!r}] must hold numbers, words, truth values, None, or tuples of these; got {value!r}")


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError(f"grid must have names that a function's arguments can have; got {name!r}")
    return name


def _values(name: str, given: Any) -> list[Value]:
    if isinstance(given, str | bytes) or not isinstance(given, Iterable):
        raise ValueError(f"grid[{name!r}] must be a list, range or vector of values; got {given!r}")
    values = [plain_value(name, value) for value in itertools.islice(given, MOST_POINTS + 1)]
    if len(values) > MOST_POINTS:
        raise ValueError(f"grid[{name!r}] must hold at most {MOST_POINTS} values; got more")
    if not values:
        raise ValueError(f"grid[{name!r}] must hold at least one value; got none")
    return values


def _groups(zip: Any, rows: Mapping[str, list[Value]]) -> list[tuple[str, ...]]:
    if not isinstance(zip, Sequence) or not all(isinstance(group, Sequence) for group in zip):
        raise ValueError(f"zip must be groups of names of the grid; got {zip!r}")
    groups = [tuple(zip)] if zip and all(isinstance(name, str) for name in zip) else [tuple(group) for group in zip]
    seen = [name for group in groups for name in group]
    unknown = [name for name in seen if not isinstance(name, str) or name not in rows]
    if unknown or len(set(seen)) < len(seen) or any(len(group) < 2 for group in groups):
        raise ValueError(f"zip must be groups of at least two names of the grid, each name once; got {zip!r}")
    for group in groups:
        lengths = [len(rows[name]) for name in group]
        if len(set(lengths)) > 1:
            raise ValueError(f"zip must name axes that are equally long; {', '.join(group)} have lengths {lengths}")
    return [tuple(name for name in rows if name in group) for group in groups]  # in the grid's order


def _axis(names: tuple[str, ...], columns: list[list[Value]]) -> Axis:
    axis = Axis(names, tuple(zip(*columns, strict=True)))
    if len(axis.places) < len(axis.rows):
        twice = next(row for place, row in enumerate(axis.rows) if axis.places[row] != place)
        raise ValueError(f"grid[{names[0]!r}] must hold each value once; got {', '.join(map(repr, twice))} twice")
    return axis
