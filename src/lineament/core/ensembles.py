"""Many networks as one compiled program: anything with a leading `member` axis."""

import operator
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp


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
    lengths = {axis.shape[0] for axis in axes}
    if len(lengths) != 1:
        raise ValueError(f"the arrays of an ensemble must be equally long; got lengths {[a.shape[0] for a in axes]}")
    return Ensemble(eqx.filter_jit(eqx.filter_vmap(make))(*axes))  # one program, not one per operation


def stack(members: Sequence[Any]) -> Ensemble:
    """Stack members that were made one by one, such as problems on different data of the same shape."""
    if not members:
        raise ValueError("an ensemble needs at least one member")
    arrays, structures = zip(*(eqx.partition(member, eqx.is_array) for member in members), strict=True)
    if any(not eqx.tree_equal(structure, structures[0]) for structure in structures):
        raise ValueError("the members of an ensemble must differ only in their arrays")
    return Ensemble(eqx.combine(jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays), structures[0]))
