"""What `flow` and `descend` share: who the members are, and the dataset that comes out."""

import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from ..core.ensembles import Ensemble
from ..problems import Problem
from .records import Record


class Members(eqx.Module):
    """A problem and a start, with the axes along which they are batched. `count` is None for a single run."""

    problem: Problem
    start: Any
    problem_axis: int | None = eqx.field(static=True)
    count: int | None = eqx.field(static=True)


def members(model: Any, problem: Problem | Ensemble, start: Any, **axes: jax.Array) -> Members:
    """Find the member axis, if anything has one; a single start is then copied to every member."""
    counts = {name: axis.shape[0] for name, axis in axes.items() if axis.ndim == 1}
    counts |= {name: x.members for name, x in (("problem", problem), ("start", start)) if isinstance(x, Ensemble)}
    if len(set(counts.values())) > 1:
        raise ValueError(
            "ensembles must have equally many members: " + ", ".join(f"{k} {v}" for k, v in counts.items())
        )
    count = next(iter(counts.values()), None)
    each = problem.stacked if isinstance(problem, Ensemble) else problem
    parameters = start.stacked if isinstance(start, Ensemble) else start
    check = getattr(model, "check", None)
    if check is not None:
        check(parameters, isinstance(start, Ensemble))
    if getattr(model, "shape", each.shape) != each.shape:
        raise ValueError(f"the network's maps have (outputs, inputs) = {model.shape}; the problem's have {each.shape}")
    if count is not None and not isinstance(start, Ensemble):
        parameters = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (count, *leaf.shape)), parameters)
    return Members(each, parameters, 0 if isinstance(problem, Ensemble) else None, count)


def over_members(function: Any, who: Members, *axes: int | None, in_turn: bool = False) -> Any:
    """Batch `function(problem, …)` over the members, or take one after the other; a single run is left alone."""
    if who.count is None:
        return function
    every = (who.problem_axis, *axes)
    if not in_turn:
        return eqx.filter_vmap(function, in_axes=tuple(None if axis is None else eqx.if_array(axis) for axis in every))

    def one_by_one(*arguments: Any) -> Any:
        own = {i: argument for i, argument in enumerate(arguments) if every[i] is not None}
        with_shared = lambda own: [own.get(i, argument) for i, argument in enumerate(arguments)]  # noqa: E731
        return jax.lax.map(lambda own: function(*with_shared(own)), own)

    return one_by_one


def in_turn(model: Any) -> bool:
    """Whether members are better trained one after the other: large networks on a CPU, whose cache holds but one."""
    return jax.default_backend() == "cpu" and getattr(model, "large", False)


def dataset(
    records: Sequence[Record],
    values: Sequence[np.ndarray],
    who: Members,
    along: tuple[str, np.ndarray],
    final: Any,
    settings: Mapping[str, object],
) -> xr.Dataset:
    """Named dimensions for what was recorded, the final parameters, and the settings and versions as attributes."""
    dim, coordinate = along
    lead = ("member",) if who.count is not None else ()
    variables = {}
    for record, value in zip(records, values, strict=True):
        dims = record.dims or tuple(f"{record.name}_{i}" for i in range(value.ndim - len(lead) - 1))
        variables[record.name] = ((*lead, dim, *dims), value)
    for name, leaf in zip(_leaf_names(final), jax.tree.leaves(final), strict=True):
        dims = tuple(f"{name}_{i}" for i in range(leaf.ndim - len(lead)))
        variables[name] = ((*lead, *dims), np.asarray(leaf))
    device = jax.devices()[0]
    versions = {f"version_{package}": metadata.version(package) for package in ("jax", "diffrax", "numpy")}
    attributes = {key: str(value) for key, value in settings.items()}
    attributes |= versions | {
        "python": platform.python_version(),
        "device": f"{device.platform}: {device.device_kind}",
    }
    return xr.Dataset(variables, coords={dim: coordinate}, attrs=attributes)


def _leaf_names(tree: Any) -> list[str]:
    paths = jax.tree_util.tree_flatten_with_path(tree)[0]
    return ["final" + "".join(f"_{getattr(k, 'idx', getattr(k, 'name', k))}" for k in path) for path, _ in paths]


def final(run: xr.Dataset, like: Any) -> Any:
    """The parameters at the end of a run, in the structure of `like` (the start it was given).

    ```python
    run = la.descend(net, problem, start, step=0.1, steps=1000)
    layers = la.final(run, like=start)
    ```
    """
    tree = like.stacked if isinstance(like, Ensemble) else like
    names = _leaf_names(tree)
    if not all(name in run for name in names):
        raise ValueError(
            f"the run has no final parameters of this structure; it lacks {[n for n in names if n not in run]}"
        )
    leaves = [jnp.asarray(run[name].values) for name in names]
    whole = jax.tree.unflatten(jax.tree.structure(tree), leaves)
    return Ensemble(whole) if "member" in run.sizes else whole
