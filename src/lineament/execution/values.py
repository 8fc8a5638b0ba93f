"""What an experiment returns, as named arrays: the one form in which it is stored and put into a table."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

RESERVED = ("status", "reason", "seconds", "point")
KINDS = "biufc"  # truth values and numbers; anything else would need a format of its own


class Variable(NamedTuple):
    """One array with the names of its dimensions; a coordinate says where on them the others stand."""

    dims: tuple[str, ...]
    array: np.ndarray
    coordinate: bool = False


Variables = dict[str, Variable]


def variables(returned: Any) -> Variables:
    """Name the arrays of what an experiment returned: a number, an array, a mapping of these, a run or a dataset.

    Of a run what was recorded is kept, not its final parameters.
    """
    dataset = _dataset(returned)
    if dataset is not None:
        coordinates = set(dataset.coords)
        found = {
            str(name): Variable(tuple(map(str, one.dims)), np.asarray(one.values), name in coordinates)
            for name, one in dataset.variables.items()
        }
    elif isinstance(returned, Mapping):
        found = {str(name): _variable(str(name), value) for name, value in returned.items()}
    else:
        found = {"value": _variable("value", returned)}
    for name, one in found.items():
        if name in RESERVED:
            raise ValueError(f"an experiment must return other names than {', '.join(RESERVED)}; got {name!r}")
        if one.array.dtype.kind not in KINDS:
            raise ValueError(f"an experiment must return numbers or arrays of them; {name} is {one.array.dtype}")
    return found


def divergence(returned: Any) -> str:
    """Why a run that was kept to its end is not to be trusted; empty if it is."""
    dataset = _dataset(returned)
    if dataset is None or "diverged_at" not in dataset or dataset["diverged_at"].ndim:
        return ""
    at = int(dataset["diverged_at"])
    return f"diverged at step {at}" if at >= 0 else ""


def _dataset(returned: Any) -> Any:
    """A run's or a data array's dataset, or the dataset itself; None for plain numbers and arrays."""
    if hasattr(returned, "data_vars"):
        return returned
    if hasattr(returned, "to_recording"):
        return returned.data
    if hasattr(returned, "to_dataset"):
        return returned.to_dataset(name=returned.name or "value")
    return None


def _variable(name: str, value: Any) -> Variable:
    if hasattr(value, "dims") and hasattr(value, "values"):
        return Variable(tuple(map(str, value.dims)), np.asarray(value.values))
    try:
        array = np.asarray(value)
    except ValueError as error:  # a ragged list
        raise ValueError(f"an experiment must return numbers or arrays of them; {name} is none: {error}") from None
    return Variable(tuple(f"{name}_{axis}" for axis in range(array.ndim)), array)
