"""A part of a store: some points of an experiment and what they returned, as one zarr group in one zip file.

Any reader of zarr opens it. Points stand along the first axis of every array; where each point lies in the grid, how it
ended and how long it took are columns in the group's attributes. Nothing is pickled.
"""

import io
import math
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .grid import Point, Value
from .values import Variable, Variables

FORMAT = 1
STATES = ("missing", "done", "failed", "diverged")
MISSING, DONE, FAILED, DIVERGED = range(4)
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # the same content gives the same bytes
NOT_FINITE = {math.inf: "inf", -math.inf: "-inf"}


class Row(NamedTuple):
    """How one point ended: its values, its state, the reason if it failed, and the seconds it took."""

    point: Point
    state: int
    reason: str
    seconds: float


@dataclass(frozen=True, eq=False)
class Part:
    """Points that returned arrays of the same names, shapes and types."""

    rows: tuple[Row, ...]
    variables: Variables

    @property
    def layout(self) -> tuple[Any, ...]:
        """What points must share to be kept in one part."""
        names = tuple(self.rows[0].point)
        return _layout({name: v._replace(array=v.array[0]) for name, v in self.variables.items()}), names


def group(rows: Iterable[tuple[Row, Variables]]) -> list[Part]:
    """Put points together whose arrays have the same names, shapes and types."""
    alike: dict[tuple[Any, ...], list[tuple[Row, Variables]]] = {}
    for row, variables in rows:
        alike.setdefault((_layout(variables), tuple(row.point)), []).append((row, variables))
    return [_stack(members) for members in alike.values()]


def _stack(members: Sequence[tuple[Row, Variables]]) -> Part:
    first = members[0][1]
    return Part(
        tuple(row for row, _ in members),
        {name: v._replace(array=np.stack([own[name].array for _, own in members])) for name, v in first.items()},
    )


def join(parts: Sequence[Part]) -> Part:
    """Several parts of one layout as one, each point once; of several runs of a point the first part's stands."""
    seen: dict[tuple[Value, ...], tuple[int, int]] = {}
    for which, part in enumerate(parts):
        for place, row in enumerate(part.rows):
            seen.setdefault(tuple(row.point.values()), (which, place))
    keep = [[place for which, place in seen.values() if which == i] for i in range(len(parts))]
    rows = [part.rows[place] for part, places in zip(parts, keep, strict=True) for place in places]
    joined = {
        name: v._replace(
            array=np.concatenate([p.variables[name].array[places] for p, places in zip(parts, keep, strict=True)])
        )
        for name, v in parts[0].variables.items()
    }
    return Part(tuple(rows), joined)


def pack(part: Part) -> bytes:
    """A part as the bytes of a zip file that holds a zarr group."""
    import zarr
    from zarr.storage import MemoryStore

    names = list(part.rows[0].point)
    columns = {
        "format": FORMAT,
        "names": names,
        "values": {name: [to_json(row.point[name]) for row in part.rows] for name in names},
        "state": [row.state for row in part.rows],
        "reason": {str(place): row.reason for place, row in enumerate(part.rows) if row.reason},
        "seconds": [float(f"{row.seconds:.3g}") for row in part.rows],
        "dims": {name: list(v.dims) for name, v in part.variables.items()},
        "coordinates": [name for name, v in part.variables.items() if v.coordinate],
    }
    held: dict[str, Any] = {}
    with zarr.config.set({"json_indent": None}):
        root = zarr.create_group(store=MemoryStore(held), attributes={"lineament": columns})
        for name, v in part.variables.items():
            # One chunk, one compressor: curves of a thousand runs compress well, a handful of numbers do not.
            how: dict[str, Any] = {} if v.array.nbytes > 2**16 else {"compressors": None}
            chunks = tuple(max(1, length) for length in v.array.shape)
            root.create_array(name, data=v.array, chunks=chunks, dimension_names=("point", *v.dims), **how)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name in sorted(held):
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), held[name].to_bytes())
    return content.getvalue()


def unpack(content: bytes) -> Part:
    """Read what `pack` wrote.

    Raises:
        ValueError: If it is something else.
    """
    import zarr
    from zarr.core.buffer import default_buffer_prototype
    from zarr.storage import MemoryStore

    make = default_buffer_prototype().buffer.from_bytes
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            held: dict[str, Any] = {name: make(archive.read(name)) for name in archive.namelist()}
        root = zarr.open_group(MemoryStore(held), mode="r")
        columns: Any = root.attrs["lineament"]
        if columns["format"] != FORMAT:
            raise ValueError(f"its format is {columns['format']}, not {FORMAT}")
        rows = _rows(columns)
        coordinates = set(columns["coordinates"])
        read = {name: np.asarray(root[name][...]) for name in columns["dims"]}  # type: ignore[index]
        found = {name: Variable(tuple(columns["dims"][name]), a, name in coordinates) for name, a in read.items()}
        if any(len(v.array) != len(rows) or v.array.ndim != len(v.dims) + 1 for v in found.values()):
            raise ValueError("its arrays are not as long as its list of points")
    except (AttributeError, EOFError, KeyError, TypeError, zipfile.BadZipFile) as error:
        raise ValueError(f"it is no zarr group of points: {error}") from error
    return Part(rows, found)


def _rows(columns: dict[str, Any]) -> tuple[Row, ...]:
    names = columns["names"]
    values = zip(*(map(from_json, columns["values"][name]) for name in names), strict=True)
    points = [dict(zip(names, at)) for at in values]  # noqa: B905 (as long as each other, and this is the inner loop)
    reasons = [""] * len(points)
    for place, reason in columns["reason"].items():
        reasons[int(place)] = reason
    return tuple(map(Row._make, zip(points, columns["state"], reasons, columns["seconds"], strict=True)))


def _layout(variables: Variables) -> tuple[Any, ...]:
    return tuple((name, v.dims, v.array.shape, v.array.dtype.str, v.coordinate) for name, v in variables.items())


def to_json(value: Value) -> Any:
    """A value of a grid as JSON has it."""
    if isinstance(value, tuple):
        return [to_json(part) for part in value]
    return {"float": NOT_FINITE[value]} if isinstance(value, float) and value in NOT_FINITE else value


def from_json(value: Any) -> Value:
    """Undo `to_json`."""
    if isinstance(value, list):
        return tuple(from_json(part) for part in value)
    return float(value["float"]) if isinstance(value, dict) else value
