"""What is recorded along a run: measures evaluated inside the compiled loop."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias

import equinox as eqx
import jax
from jaxtyping import Array

from .. import measure
from ..core import arguments
from ..core.model import AbstractModel, map_shape
from ..problems.base import AbstractProblem, predict

Reads = Literal["anything", "matrix", "layers", "examples"]


class Record(NamedTuple):
    """A measure with its name and the names of its dimensions, computed from (model, problem, parameters).

    `reads` says what it needs: a "matrix" for the map, parameters that are "layers", a problem with "examples".
    """

    name: str
    measure: Callable[[Any, Any, Any], Array]
    dims: tuple[str, ...] = ()
    reads: Reads = "anything"


Records: TypeAlias = Sequence[str | Record | Callable[[Any], Array]]


def _of_map(name: str, read: Callable[[Any], Array], dims: tuple[str, ...] = ()) -> Record:
    return Record(name, lambda model, problem, parameters: read(model.end_to_end(parameters)), dims, "matrix")


def _outputs(model: AbstractModel, problem: AbstractProblem, parameters: Any) -> Array:
    inputs = problem.example_inputs
    assert inputs is not None  # the record is refused otherwise
    return predict(model.end_to_end(parameters), inputs)


BUILT_IN: Mapping[str, Record] = {
    record.name: record
    for record in (
        Record("loss", lambda model, problem, parameters: problem.loss(model.end_to_end(parameters))),
        Record("outputs", _outputs, ("example", "output"), "examples"),
        _of_map("end_to_end", lambda W: W, ("output", "input")),
        _of_map("singular_values", measure.singular_values, ("mode",)),
        _of_map("frobenius_norm", measure.frobenius_norm),
        _of_map("nuclear_norm", measure.nuclear_norm),
        _of_map("spectral_norm", measure.spectral_norm),
        _of_map("effective_rank", measure.effective_rank),
        _of_map("stable_rank", measure.stable_rank),
        _of_map("numerical_rank", measure.numerical_rank),
        Record("unbalancedness", lambda model, problem, parameters: measure.unbalancedness(parameters), (), "layers"),
    )
}


def resolve(record: Records, model: AbstractModel, problem: AbstractProblem, parameters: Any) -> tuple[Record, ...]:
    """Turn what the user asked for into records that fit: built-in names, records, or functions of the parameters."""
    if isinstance(record, str):
        raise ValueError(f"record must be a sequence such as ({record!r},); got the bare string {record!r}")
    if not isinstance(record, Sequence):
        raise ValueError(f'record must be a sequence such as ("loss",); got {arguments.shown(record)}')
    records = tuple(_resolve_one(wanted) for wanted in record)
    names = [resolved.name for resolved in records]
    if len(set(names)) < len(names):
        raise ValueError(f"records must have different names; got {names}")
    for resolved in records:
        _refuse_unfit(resolved, model, problem, parameters)
    return records


def _resolve_one(record: str | Record | Callable[[Any], Array]) -> Record:
    if isinstance(record, Record):
        return record
    if callable(record):
        read = record
        return Record(getattr(read, "__name__", "record").strip("<>"), lambda model, problem, p: read(p))
    if isinstance(record, str) and record in BUILT_IN:
        return BUILT_IN[record]
    near = difflib.get_close_matches(str(record), BUILT_IN, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"record must name one of {', '.join(BUILT_IN)}, or be a function of the parameters; got "
        f"{arguments.shown(record)}{hint}"
    )


def _refuse_unfit(record: Record, model: AbstractModel, problem: AbstractProblem, parameters: Any) -> None:
    """Refuse a record that cannot be read off this run, before anything is run."""
    lacking = _lacking(record.reads, model, problem, parameters)
    if lacking is not None:
        instead = "take 'loss', 'outputs', or a function of the parameters"
        raise ValueError(f"record {record.name!r} must fit what is trained; {lacking}: {instead}")
    value = eqx.filter_eval_shape(record.measure, model, problem, parameters)
    if not isinstance(value, jax.ShapeDtypeStruct):
        raise ValueError(f"record {record.name!r} must return one array; got {type(value).__name__}")
    if record.dims and len(record.dims) != len(value.shape):
        raise ValueError(f"record {record.name!r} must have the dimensions {record.dims}; got shape {value.shape}")


def _lacking(reads: Reads, model: AbstractModel, problem: AbstractProblem, parameters: Any) -> str | None:
    """What a record reads and is not there, in words; None if all is."""
    if reads == "matrix":
        map = map_shape(model, parameters)
        if map is None:
            return f"it reads a matrix, but the map of {model} is a function of examples"
        return None if len(map.shape) == 2 else f"it reads a matrix, but the map of {model} has shape {map.shape}"
    if reads == "layers":
        layers = parameters if isinstance(parameters, tuple | list) else ()
        chained = layers and all(getattr(layer, "ndim", 0) == 2 for layer in layers)
        if not chained or any(after.shape[1] != before.shape[0] for before, after in pairwise(layers)):
            return f"it reads a tuple of layers, but the parameters of {model} are something else"
    if reads == "examples" and problem.example_inputs is None:
        return f"it reads examples, but {type(problem).__name__} has none"
    return None


def evaluate(
    records: tuple[Record, ...], model: AbstractModel, problem: AbstractProblem, parameters: Any
) -> tuple[Array, ...]:
    """All records at one point of the run."""
    return tuple(record.measure(model, problem, parameters) for record in records)
