"""Tables of layers: rows to compute with, that print as text."""

from collections.abc import Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

import numpy as np


class Row(Protocol):
    """A NamedTuple with the layer's name first and a note on why it was left alone, if it was."""

    @property
    def layer(self) -> str: ...  # noqa: D102

    @property
    def note(self) -> str: ...  # noqa: D102

    @property
    def done(self) -> bool: ...  # noqa: D102

    def _asdict(self) -> dict[str, Any]: ...


R = TypeVar("R", bound=Row)


class Table(Generic[R]):
    """One row per layer, found by place or by the layer's name."""

    def __init__(self, rows: Iterable[R]):
        self.rows = tuple(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    def __getitem__(self, key: int | str) -> R:
        if isinstance(key, int):
            return self.rows[key]
        for row in self.rows:
            if key in row.layer.split(" = "):
                return row
        raise KeyError(f"no layer {key!r}; there are {', '.join(repr(row.layer) for row in self.rows)}")

    @property
    def done(self) -> tuple[R, ...]:
        """The layers that were worked on."""
        return tuple(row for row in self.rows if row.done)

    @property
    def skipped(self) -> tuple[R, ...]:
        """The layers that were left alone; the note of each says why."""
        return tuple(row for row in self.rows if not row.done)

    def __repr__(self) -> str:
        return f"Table({list(self.rows)})"

    def __str__(self) -> str:
        if not self.rows:
            return "no layers"
        columns = [_column(name, [row._asdict()[name] for row in self.rows]) for name in self.rows[0]._asdict()]
        return "\n".join("  ".join(line).rstrip() for line in zip(*filter(None, columns), strict=True))


def _column(name: str, values: list[Any]) -> list[str]:
    """A column of equally long cells under its name; none if no row has anything to show in it."""
    if not any(map(_shown, values)):
        return []
    cells = [name.replace("_", " "), *(_text(value) if _shown(value) else "" for value in values)]
    width = max(map(len, cells))
    return [cell.ljust(width) for cell in cells]


def _shown(value: Any) -> bool:
    return value is not None and not isinstance(value, np.ndarray)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple):
        return "×".join(map(str, value))
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
