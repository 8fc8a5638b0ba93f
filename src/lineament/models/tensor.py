"""Tensor factorisations: sums of rank-one components, and trees of them.

A linear network factorises a matrix; a tensor of higher order factorised alike is a network with products for its
non-linearity (Cohen & Razin, Section 5). One hidden layer gives the CP factorisation `Σ_r w_r¹ ⊗ ··· ⊗ w_rᴺ` (Razin,
Maman & Cohen 2021), a hierarchy of layers the hierarchical one (Razin, Maman & Cohen 2022). Their parts are
*components*, and a component's norm, the product of its vectors' norms, plays the part of a singular value.
"""

import abc
from collections.abc import Sequence
from functools import partial
from math import prod
from typing import TypeAlias

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import checks
from ..core.model import AbstractModel, Parameter

Factors: TypeAlias = tuple[Float[Array, "..."], ...]


class AbstractFactorisation(AbstractModel):
    """A tensor made of matrices: one for each axis, and whatever joins them.

    Attributes:
        sizes: The shape of the tensor.
    """

    sizes: eqx.AbstractVar[tuple[int, ...]]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return self.sizes

    @property
    @abc.abstractmethod
    def parameter_shapes(self) -> tuple[tuple[int, int], ...]:
        """The shape of each matrix."""

    def layout(self) -> tuple[Parameter, ...]:
        """One matrix after the other, (size, components)."""
        return tuple(Parameter(shape, fan_in=shape[1], fan_out=shape[0]) for shape in self.parameter_shapes)


class CP(AbstractFactorisation):
    """The sum of components `w_r¹ ⊗ ··· ⊗ w_rᴺ`.

    The parameters are N matrices of shape (size of the axis, components), whose columns are the vectors. Flow keeps
    the differences `‖w_rⁿ‖² − ‖w_rᵐ‖²`; from a balanced start a component's norm σ_r moves at `N σ_r^{2−2/N}` times
    its alignment with −∇ℓ, as a singular value of an N-layer network does (Razin et al. 2021, Theorem 1).

    Attributes:
        sizes: The shape of the tensor, of order N ≥ 2.
        components: How many; by default so many that every tensor is such a sum: the product of all sizes but one.
    """

    sizes: tuple[int, ...] = eqx.field(static=True)
    components: int = eqx.field(static=True)

    def __init__(self, sizes: Sequence[int], components: int | None = None) -> None:
        self.sizes = checks.sizes("sizes", sizes, 2)
        enough = prod(self.sizes) // max(self.sizes)
        self.components = checks.whole("components", enough if components is None else components)

    @property
    def parameter_shapes(self) -> tuple[tuple[int, int], ...]:
        """One matrix for each axis."""
        return tuple((length, self.components) for length in self.shape)

    def end_to_end(self, parameters: Factors) -> Float[Array, "..."]:
        """The tensor: the first half of the axes against the second as one matrix product."""
        middle = len(self.shape) // 2
        left, right = _khatri_rao(parameters[:middle]), _khatri_rao(parameters[middle:])
        return (left @ right.T).reshape(self.shape)

    def component_norms(self, parameters: Factors) -> Float[Array, " component"]:
        """`∏_n ‖w_rⁿ‖` in falling order."""
        norms = jnp.stack([jnp.sqrt(jnp.sum(factor**2, axis=0)) for factor in parameters])
        return -jnp.sort(-jnp.prod(norms, axis=0))


class TreeTensor(AbstractFactorisation):
    """The hierarchical factorisation over a balanced binary tree: axes are joined in pairs, pairs in pairs.

    A leaf n holds vectors w_rⁿ, r = 1 … width. A node with children a, b holds a matrix V of shape (width, width) and
    computes the tensors `T_q = Σ_r V[q, r] T_r^a ⊗ T_r^b`; the root has one row. The hierarchical rank of a tensor at
    a node is the rank of its matricisation, the axes below the node against the others. Component r of a node consists
    of V[:, r] and what its children feed it, row r of theirs; a child's rank is at most the number of its parent's
    components that are not zero.

    The parameters are the leaves' matrices (size, width), in the order of the axes, then the nodes' matrices level by
    level, the root last.

    Attributes:
        sizes: The shape of the tensor, of order 2, 4, 8, …
        width: How many components each node has: a bound on the hierarchical rank.
    """

    sizes: tuple[int, ...] = eqx.field(static=True, converter=partial(checks.sizes, "sizes", least=2))
    width: int = eqx.field(static=True, converter=partial(checks.whole, "width"))

    def __check_init__(self) -> None:
        if len(self.sizes) & (len(self.sizes) - 1):
            raise ValueError(f"sizes must have 2, 4, 8, … axes for a balanced binary tree; got {len(self.sizes)}")

    @property
    def parameter_shapes(self) -> tuple[tuple[int, int], ...]:
        """The leaves' matrices, then the nodes'."""
        leaves = tuple((length, self.width) for length in self.shape)
        inner = ((self.width, self.width),) * (len(self.shape) - 2)
        return (*leaves, *inner, (1, self.width))

    def end_to_end(self, parameters: Factors) -> Float[Array, "..."]:
        """The tensor, joined from the leaves up to the root."""
        order = len(self.shape)
        level, nodes = list(parameters[:order]), list(parameters[order:])  # tensors flattened to (entries, width)
        while len(level) > 2:
            pairs = zip(level[::2], level[1::2], strict=True)
            level = [_khatri_rao(pair) @ nodes.pop(0).T for pair in pairs]
        left, right = level  # at the root Σ_r V[r] T_r^a ⊗ T_r^b is one matrix product
        return (left * nodes[0] @ right.T).reshape(self.shape)

    def component_norms(self, parameters: Factors) -> tuple[Float[Array, " _"], ...]:
        """For each node, in the order of the parameters: the norms of its components in falling order.

        Component r's norm is the product of the norms of its weights: ‖V[:, r]‖ and, for each child, that of the r-th
        vector of a leaf or the r-th row of a node (Razin et al. 2022, the norm of a local component).
        """
        order = len(self.shape)
        below = [jnp.sqrt(jnp.sum(factor**2, axis=0)) for factor in parameters[:order]]
        norms, nodes = [], list(parameters[order:])
        while len(below) > 1:
            above = []
            for left, right in zip(below[::2], below[1::2], strict=True):
                V = nodes.pop(0)
                norms.append(-jnp.sort(-left * right * jnp.sqrt(jnp.sum(V**2, axis=0))))
                above.append(jnp.sqrt(jnp.sum(V**2, axis=1)))
            below = above
        return tuple(norms)


def matricisation_values(tensor: Float[Array, "..."], rows: Sequence[int]) -> Float[Array, " mode"]:
    """Singular values of the tensor as a matrix, the axes `rows` against all others."""
    columns = [axis for axis in range(tensor.ndim) if axis not in rows]
    matrix = jnp.transpose(tensor, (*rows, *columns)).reshape(prod(tensor.shape[axis] for axis in rows), -1)
    return jnp.linalg.svd(matrix, compute_uv=False)


def _khatri_rao(factors: Sequence[Float[Array, "_ rank"]]) -> Float[Array, "entries rank"]:
    """Columns are the flattened outer products of the factors' columns."""
    joined = factors[0]
    for factor in factors[1:]:
        joined = (joined[:, None, :] * factor[None, :, :]).reshape(-1, factor.shape[-1])
    return joined
