"""What is recorded along a run: measures evaluated inside the compiled loop."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from .. import measure


class Record(NamedTuple):
    """A measure with its name and the names of its dimensions, computed from (model, problem, parameters)."""

    name: str
    measure: Callable[[Any, Any, Any], jax.Array]
    dims: tuple[str, ...] = ()


def _of_map(name: str, read: Callable[[jax.Array], jax.Array], dims: tuple[str, ...] = ()) -> Record:
    return Record(name, lambda model, problem, parameters: read(model.end_to_end(parameters)), dims)


BUILT_IN: Mapping[str, Record] = {
    record.name: record
    for record in (
        Record("loss", lambda model, problem, parameters: problem.loss(model.end_to_end(parameters))),
        _of_map("end_to_end", lambda W: W, ("output", "input")),
        _of_map("singular_values", measure.singular_values, ("mode",)),
        _of_map("frobenius_norm", measure.frobenius_norm),
        _of_map("nuclear_norm", measure.nuclear_norm),
        _of_map("spectral_norm", measure.spectral_norm),
        _of_map("effective_rank", measure.effective_rank),
        _of_map("stable_rank", measure.stable_rank),
        _of_map("numerical_rank", measure.numerical_rank),
        Record("unbalancedness", lambda model, problem, parameters: measure.unbalancedness(parameters)),
    )
}


def resolve(record: Sequence[str | Record | Callable[[Any], jax.Array]]) -> tuple[Record, ...]:
    """Turn what the user asked for into records: names of built-in ones, records, or functions of the parameters."""
    if isinstance(record, str):
        raise ValueError(f"record must be a sequence such as ({record!r},), not the bare string {record!r}")
    found = tuple(map(_resolve_one, record))
    names = [each.name for each in found]
    if len(set(names)) < len(names):
        raise ValueError(f"records must have different names; got {names}")
    return found


def _resolve_one(record: str | Record | Callable[[Any], jax.Array]) -> Record:
    if isinstance(record, Record):
        return record
    if callable(record):
        read = record
        return Record(getattr(read, "__name__", "record").strip("<>"), lambda model, problem, p: read(p))
    if record in BUILT_IN:
        return BUILT_IN[record]
    near = difflib.get_close_matches(record, BUILT_IN, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"unknown record {record!r}{hint} Known: {', '.join(BUILT_IN)}; or pass a function of the parameters"
    )


def evaluate(records: tuple[Record, ...], model: Any, problem: Any, parameters: Any) -> tuple[jax.Array, ...]:
    """All records at one point of the run."""
    return tuple(record.measure(model, problem, parameters) for record in records)
