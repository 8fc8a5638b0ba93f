"""Who is trained: one start on one problem, or the members of an ensemble."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from ..core import arguments
from ..core.ensembles import Ensemble
from ..core.keys import AnyKey, as_key
from ..core.model import AbstractModel, require_model
from ..problems.base import AbstractProblem, require_problem


class Members(eqx.Module):
    """A problem and a start, with the axes along which they are batched. `count` is None for a single run."""

    problem: AbstractProblem
    start: Any
    problem_axis: int | None = eqx.field(static=True)
    count: int | None = eqx.field(static=True)

    @property
    def first(self) -> tuple[AbstractProblem, Any]:
        """The problem and the start of the first member."""
        problem = self.problem if self.problem_axis is None else Ensemble(self.problem)[0]
        return problem, self.start if self.count is None else Ensemble(self.start)[0]


def members(model: AbstractModel, problem: AbstractProblem | Ensemble, start: Any, **axes: Array) -> Members:
    """Find the member axis, if anything has one; a single start is then copied to every member."""
    require_model(model)
    dtype_of(start)
    counts = {name: axis.shape[0] for name, axis in axes.items() if axis.ndim == 1}
    counts |= {name: x.members for name, x in (("problem", problem), ("start", start)) if isinstance(x, Ensemble)}
    if len(set(counts.values())) > 1:
        given = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise ValueError(f"{' and '.join(counts)} must have equally many members; got {given}")
    count = next(iter(counts.values()), None)
    stacked = problem.stacked if isinstance(problem, Ensemble) else problem
    require_problem(stacked)
    parameters = start.stacked if isinstance(start, Ensemble) else start
    model.check(parameters, isinstance(start, Ensemble))
    if model.shape != stacked.shape:
        raise ValueError(
            f"model must have maps of the problem's shape (outputs, inputs) = {stacked.shape}; got {model.shape}"
        )
    if count is not None and not isinstance(start, Ensemble):
        parameters = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (count, *leaf.shape)), parameters)
    return Members(stacked, parameters, 0 if isinstance(problem, Ensemble) else None, count)


def dtype_of(start: Any) -> jnp.dtype:
    """The type of the numbers of a start; refused unless it is a tree of floating-point arrays."""
    leaves = jax.tree.leaves(start)
    if not leaves or not all(eqx.is_inexact_array_like(leaf) and hasattr(leaf, "dtype") for leaf in leaves):
        raise ValueError(
            "start must be the parameters of the model, floating-point arrays such as the functions of "
            f"lineament.starts make; got {arguments.shown(start)}"
        )
    if any(jnp.issubdtype(leaf.dtype, jnp.complexfloating) for leaf in leaves):
        raise ValueError("start must hold real numbers; got complex ones")
    return leaves[0].dtype


def over_members(
    function: Callable[..., Any], who: Members, *axes: int | None, in_turn: bool = False
) -> Callable[..., Any]:
    """Batch `function(problem, …)` over the members, or take one after the other; a single run is left alone."""
    if who.count is None:
        return function
    all_axes = (who.problem_axis, *axes)
    if not in_turn:
        return eqx.filter_vmap(
            function, in_axes=tuple(None if axis is None else eqx.if_array(axis) for axis in all_axes)
        )

    def one_by_one(*arguments: Any) -> Any:
        own = {i: argument for i, argument in enumerate(arguments) if all_axes[i] is not None}
        with_shared = lambda own: [own.get(i, argument) for i, argument in enumerate(arguments)]  # noqa: E731
        return jax.lax.map(lambda own: function(*with_shared(own)), own)

    return one_by_one


def in_turn(model: AbstractModel) -> bool:
    """Whether members are better trained one after the other: large networks on a CPU, whose cache holds only one."""
    return jax.default_backend() == "cpu" and model.large


def member_keys(key: AnyKey | Ensemble | None, count: int | None) -> Array:
    """A key for each member, or the key itself for a single run; without a key one that nothing is drawn from."""
    if isinstance(key, Ensemble):
        if key.members != count:
            raise ValueError(f"key must be one key, or have one for each of {count or 1} members; got {key.members}")
        return key.stacked
    key = as_key(0 if key is None else key)
    return key if count is None else jax.random.split(key, count)


def axis_of(values: Array) -> int | None:
    """The member axis of numbers of which each member may have its own."""
    return 0 if values.ndim else None
