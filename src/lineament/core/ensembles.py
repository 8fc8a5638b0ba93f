"""Many networks as one compiled program: anything with a leading `member` axis."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from . import arguments


class Ensemble(eqx.Module):
    """Parameters or problems stacked along a leading `member` axis.

    Hand one to `flow` or `descend` in place of a single start, problem, or both, and every member is trained at once.
    """

    stacked: Any

    @property
    def members(self) -> int:
        """How many members there are."""
        return jax.tree.leaves(eqx.filter(self.stacked, eqx.is_array))[0].shape[0]

    def __getitem__(self, member: int) -> Any:
        """One member on its own."""
        index = operator.index(member)
        if not -self.members <= index < self.members:
            raise IndexError(f"member must lie in {-self.members}..{self.members - 1}; got {member}")
        return _member(self.stacked, jnp.asarray(index % self.members))


@eqx.filter_jit  # one program for all members, not two for each array
def _member(stacked: Any, member: jax.Array) -> Any:
    return jax.tree.map(lambda leaf: leaf[member] if eqx.is_array(leaf) else leaf, stacked)


def ensemble(make: Callable[..., Any], *axes: jax.Array) -> Ensemble:
    """Make one member for each entry of the given arrays, which must be equally long.

    ```python
    keys = jax.random.split(key, 100)
    start = la.ensemble(lambda key: la.starts.gaussian(model, key, start_scale=1e-3), keys)
    start = la.ensemble(lambda key, scale: la.starts.gaussian(model, key, start_scale=scale), keys, scales)
    ```
    """
    arguments.function("make", make)
    arrays = [axis if isinstance(axis, jax.Array) else arguments.numeric("axes", axis) for axis in axes]
    if not arrays or any(
        array.ndim == 0 or array.shape != (*arrays[0].shape[:1], *array.shape[1:]) for array in arrays
    ):
        shapes = ", ".join(str(array.shape) for array in arrays) or "none"
        raise ValueError(f"axes must be equally long, one entry for each member; got arrays of shapes {shapes}")
    return Ensemble(eqx.filter_jit(eqx.filter_vmap(make))(*arrays))  # one program, not one per operation


def stack(members: Sequence[Any]) -> Ensemble:
    """Stack members that were made one by one, such as problems on different data of the same shape."""
    if not isinstance(members, Sequence) or isinstance(members, str | bytes) or not members:
        raise ValueError(f"members must be a sequence of at least one member; got {arguments.shown(members)}")
    arrays, structures = zip(*(eqx.partition(member, eqx.is_array) for member in members), strict=True)
    if any(not eqx.tree_equal(structure, structures[0]) for structure in structures):
        raise ValueError("the members of an ensemble must differ only in their arrays")
    return Ensemble(eqx.combine(jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays), structures[0]))
