"""Evidence as strict JSON values, and back."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from lineament.evidence import Check, Figure, Mark, Panel

DIGITS = 8  # of what is drawn: more than any eye or download needs, and half the size of a file
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def plain(value: Any) -> Any:
    """Any setting as values that JSON has; what JSON has no form for is kept as its text."""
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, tuple) and (fields := getattr(value, "_fields", None)):  # a table of settings in another
        return plain(dict(zip(fields, value, strict=True)))
    if isinstance(value, list | tuple | range | set | frozenset):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):  # arrays and scalars of NumPy and JAX
        return plain(value.tolist())
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)


def encode(value: Any) -> Any:
    """Values for strict JSON: a float that is not finite becomes its name."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, np.ndarray):  # of a figure: all else that is stored are numbers by name
        return encode(_short(value.tolist()))
    if isinstance(value, Mapping):
        return {name: encode(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [encode(part) for part in value]
    if isinstance(value, Check | Mark | Panel | Figure):
        return {name: encode(getattr(value, name)) for name in value.__dataclass_fields__}
    return value


def _short(value: Any) -> Any:
    """Floats, and lists of them, rounded to the digits that a figure keeps."""
    if isinstance(value, list):
        return [_short(part) for part in value]
    return float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def decode(value: Any) -> Any:
    """Undo `encode`. The words nan, inf and -inf come back as numbers, also where a setting had them as text."""
    if isinstance(value, str):
        return NOT_FINITE.get(value, value)
    if isinstance(value, dict):
        return {name: decode(part) for name, part in value.items()}
    if isinstance(value, list):
        return [decode(part) for part in value]
    return value


def checks(values: list[dict[str, Any]]) -> tuple[Check, ...]:
    """Checks from their JSON values."""
    return tuple(map(_check, values))


def _check(fields: dict[str, Any]) -> Check:
    value, low, high = (float(fields[name]) for name in ("value", "low", "high"))
    return Check(fields["name"], value, low, high, fields.get("origin", ""), fields.get("void", ""))


def figure(fields: dict[str, Any] | None) -> Figure | None:
    """A figure from its JSON values."""
    return None if fields is None else Figure(**{**fields, "panels": tuple(map(_panel, fields["panels"]))})


def _panel(fields: dict[str, Any]) -> Panel:
    limits = fields["y_limits"]
    marks = tuple(map(_mark, fields["marks"]))
    return Panel(**{**fields, "marks": marks, "y_limits": None if limits is None else tuple(decode(limits))})


def _mark(fields: dict[str, Any]) -> Mark:
    return Mark(**{**fields, **{name: _array(fields[name]) for name in ("x", "y", "z", "high")}})


def _array(values: list[Any] | None) -> np.ndarray | None:
    return None if values is None else np.asarray(decode(values), dtype=float)
