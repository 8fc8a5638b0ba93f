"""A reference value in 40 digits for numbers that are exact in float64, and how much it depends on them.

A row is (arguments, value, condition). The condition number is Σ |x ∂f/∂x| / |f| over the arguments that are floats, by
differences of the reference itself, in the largest entry where f has several: a result that is exact for arguments that
are changed by k units in the last place is within k × condition units of the value.
"""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mpmath as mp

DIGITS = 40
SHOWN = 25
STEP = mp.mpf(10) ** -13
FOLDER = Path(__file__).parent

Row = dict[str, Any]


def rows(reference: Callable[..., Any], cases: list[dict[str, Any]]) -> list[Row]:
    """The table of one function."""
    with mp.workdps(DIGITS):
        return [row(reference, case) for case in cases]


def row(reference: Callable[..., Any], given: dict[str, Any]) -> Row:
    """Value and condition at one set of arguments."""
    exact = {name: lifted(value) for name, value in given.items()}
    value = entries(reference(**exact))
    size = max(map(abs, value))
    condition = mp.mpf(0)
    for changed in nearby(exact):
        there = entries(reference(**changed))
        condition += max(abs(a - b) for a, b in zip(there, value, strict=True)) / (STEP * size)
    return {
        "given": given,
        "value": [mp.nstr(entry, SHOWN, strip_zeros=False) for entry in value],
        "condition": float(mp.nstr(condition, 3)),
    }


def entries(value: Any) -> list[Any]:
    """A number, or all numbers of nested rows, in a list."""
    if isinstance(value, list | tuple):
        return [entry for part in value for entry in entries(part)]
    return [mp.mpf(value)]


def lifted(value: Any) -> Any:
    """Floats as what they are in binary, whole numbers and words as they are."""
    if isinstance(value, list):
        return [lifted(entry) for entry in value]
    return mp.mpf(value) if isinstance(value, float) else value


def nearby(exact: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The arguments with one float changed by a tiny share of itself, for each of them."""
    for name, value in exact.items():
        for other in shifted(value):
            yield exact | {name: other}


def shifted(value: Any) -> Iterator[Any]:
    """A number, or rows of numbers, with one of them changed."""
    if isinstance(value, list):
        for i, entry in enumerate(value):
            for other in shifted(entry):
                yield [*value[:i], other, *value[i + 1 :]]
    elif isinstance(value, mp.mpf) and value != 0 and not math.isinf(value):
        yield value * (1 + STEP)


def write(name: str, table: dict[str, list[Row]]) -> None:
    """One line a row, so that a change shows as one."""
    lines = ",\n".join(
        f'  "{function}": [\n' + ",\n".join(f"    {json.dumps(row)}" for row in rows) + "\n  ]"
        for function, rows in table.items()
    )
    (FOLDER / f"{name}.json").write_text("{\n" + lines + "\n}\n")
