"""The points of a sweep as one table: an `xarray.Dataset` with the grid's names as coordinates."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from .grid import Axis, Grid
from .parts import MISSING, STATES, Part
from .values import Variable

if TYPE_CHECKING:
    import xarray as xr


def table(grid: Grid, parts: Iterable[Part], **about: str) -> "xr.Dataset":
    """Put stored points where they stand in the grid.

    Points that were not run, or failed, are not-a-number; `status` says which of the two, `reason` why. Arrays that are
    shorter at some points end in not-a-number. A coordinate that differs from point to point, such as the time of flows
    that stop on their own, gets the grid's dimensions too.
    """
    import xarray as xr

    size = len(grid)
    state, seconds = np.full(size, MISSING, np.int8), np.full(size, np.nan)
    reason = np.full(size, "", object)
    columns: dict[str, _Column] = {}
    for part in parts:
        places = [grid.index(row.point) for row in part.rows]
        keep = [which for which, place in enumerate(places) if place is not None]
        if not keep:
            continue
        at = np.array([places[which] for which in keep], int)
        state[at] = [part.rows[which].state for which in keep]
        seconds[at] = [part.rows[which].seconds for which in keep]
        for which, place in zip(keep, at, strict=True):
            if part.rows[which].reason:
                reason[place] = part.rows[which].reason
        for name, variable in part.variables.items():
            column = columns.setdefault(name, _Column(size, variable))
            column.put(at, variable, keep)
    dims, shape = tuple(axis.dimension for axis in grid.axes), grid.shape
    variables: dict[str, Any] = {}
    coordinates: dict[str, Any] = {name: value for axis in grid.axes for name, value in _coordinates(axis).items()}
    # A dimension may not share its name with a coordinate that has other dimensions too.
    renamed = {name: f"{name}_index" for name, column in columns.items() if name in column.dims and column.varies}
    for name, column in columns.items():
        array, shared = column.finish()
        own = tuple(renamed.get(dim, dim) for dim in column.dims)
        name = f"{name}_" if name in coordinates else name  # what is returned under a name of the grid
        placed = (own, array) if shared else ((*dims, *own), array.reshape(*shape, *array.shape[1:]))
        (coordinates if column.coordinate else variables)[name] = placed
    variables["status"] = (dims, np.array(STATES)[state].reshape(shape))
    variables["reason"] = (dims, reason.reshape(shape))
    variables["seconds"] = (dims, seconds.reshape(shape))
    return xr.Dataset(variables, coordinates, about)


def _coordinates(axis: Axis) -> dict[str, tuple[str, np.ndarray]]:
    columns = zip(axis.names, zip(*axis.rows, strict=True), strict=True)
    return {name: (axis.dimension, _array(values)) for name, values in columns}


def _array(values: tuple[Any, ...]) -> np.ndarray:
    kinds = {bool: "b", int: "i", float: "f", str: "U"}
    if {type(value) for value in values} <= {int, float} or len({kinds.get(type(value)) for value in values}) == 1:
        plain = np.array(values) if not isinstance(values[0], tuple) and values[0] is not None else None
        if plain is not None:
            return plain
    mixed = np.empty(len(values), object)
    mixed[:] = values
    return mixed


class _Column:
    """One array of every point, growing to the largest."""

    def __init__(self, size: int, like: Variable) -> None:
        self.size, self.dims, self.coordinate = size, like.dims, like.coordinate
        self.filled = np.zeros(size, bool)
        self.common: np.ndarray | None = like.array[0] if like.coordinate else None  # while all points share it
        self.array = None if like.coordinate else np.zeros((size, *like.array.shape[1:]), like.array.dtype)

    def put(self, at: np.ndarray, variable: Variable, which: list[int]) -> None:
        new = variable.array[which]
        if self.common is not None:
            if new.shape[1:] == self.common.shape and (new == self.common).all():
                self.filled[at] = True
                return
            self.array = np.zeros((self.size, *self.common.shape), self.common.dtype)
            self.array[self.filled], self.common = self.common, None
        assert self.array is not None
        if variable.dims != self.dims:
            raise ValueError(f"an experiment must return arrays of the same dimensions; got {variable.dims} too")
        shape = tuple(np.maximum(self.array.shape[1:], new.shape[1:]))
        kind = np.result_type(self.array.dtype, new.dtype)
        self.array = _padded(self.array, shape, kind)
        self.array[at] = _padded(new, shape, self.array.dtype)
        self.filled[at] = True

    @property
    def varies(self) -> bool:
        """Whether points have arrays of their own."""
        return self.common is None

    def finish(self) -> tuple[np.ndarray, bool]:
        """The array, and whether all points share it."""
        if self.common is not None:
            return self.common, True
        assert self.array is not None
        if not self.filled.all():
            self.array = self.array.astype(np.result_type(self.array.dtype, np.float16), copy=False)
            self.array[~self.filled] = np.nan
        return self.array, False


def _padded(array: np.ndarray, shape: tuple[int, ...], kind: np.dtype) -> np.ndarray:
    if array.shape[1:] == shape:
        return array.astype(kind, copy=False)
    wider = np.full((len(array), *shape), np.nan, np.result_type(kind, np.float16))
    wider[(slice(None), *(slice(length) for length in array.shape[1:]))] = array
    return wider


def mark(found: np.ndarray, grid: Grid, part: Part) -> None:
    """Note which places of the grid a part holds."""
    for row in part.rows:
        place = grid.index(row.point)
        if place is not None:
            found[place] = True
