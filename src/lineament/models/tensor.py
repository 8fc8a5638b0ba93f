"""Tensor factorisations: sums of rank-one components, and trees of them.

A linear network factorises a matrix; a tensor of higher order factorised alike is a network with products for its
non-linearity (Cohen & Razin, Section 5). One hidden layer gives the CP factorisation `Σ_r w_r¹ ⊗ ··· ⊗ w_rᴺ` (Razin,
Maman & Cohen 2021), a hierarchy of layers the hierarchical one (Razin, Maman & Cohen 2022). Their parts are
*components*, and a component's norm, the product of its vectors' norms, plays the part of a singular value.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from ..core import checks

Factors: TypeAlias = tuple[Float[Array, "..."], ...]


def _sizes(shape: Sequence[int], least: int) -> tuple[int, ...]:
    if len(shape) < least or any(int(size) != size or size < 1 for size in shape):
        raise ValueError(f"shape must be at least {least} positive integers; got {tuple(shape)}")
    return tuple(int(size) for size in shape)


@dataclass(frozen=True)
class CP:
    """The sum of components `w_r¹ ⊗ ··· ⊗ w_rᴺ`.

    The parameters are N matrices of shape (size of the axis, components), whose columns are the vectors. Flow keeps
    the differences `‖w_rⁿ‖² − ‖w_rᵐ‖²`; from a balanced start a component's norm σ_r moves at `N σ_r^{2−2/N}` times
    its alignment with −∇ℓ, as a singular value of an N-layer network does (Razin et al. 2021, Theorem 1).

    Attributes:
        shape: The shape of the tensor, of order N ≥ 2.
        components: How many; by default so many that every tensor is such a sum: the product of all sizes but one.
    """

    shape: tuple[int, ...]
    components: int

    def __init__(self, shape: Sequence[int], components: int | None = None) -> None:
        object.__setattr__(self, "shape", _sizes(shape, 2))
        count = prod(self.shape) // max(self.shape) if components is None else components
        if int(count) != count or count < 1:
            raise ValueError(f"components must be a positive integer; got {components}")
        object.__setattr__(self, "components", int(count))

    @property
    def parameter_shapes(self) -> tuple[tuple[int, ...], ...]:
        """One matrix for each axis."""
        return tuple((size, self.components) for size in self.shape)

    def end_to_end(self, factors: Factors) -> Float[Array, "..."]:
        """The tensor: the first half of the axes against the second as one matrix product."""
        middle = len(self.shape) // 2
        left, right = _khatri_rao(factors[:middle]), _khatri_rao(factors[middle:])
        return (left @ right.T).reshape(self.shape)

    def component_norms(self, factors: Factors) -> Float[Array, " component"]:
        """`∏_n ‖w_rⁿ‖` in falling order."""
        norms = jnp.stack([jnp.sqrt(jnp.sum(factor**2, axis=0)) for factor in factors])
        return -jnp.sort(-jnp.prod(norms, axis=0))

    def start(self, key: jax.Array, deviation: float | ArrayLike) -> Factors:
        """Independent normal entries of the given standard deviation."""
        return _gaussian(key, self.parameter_shapes, deviation)

    def balanced_start(self, key: jax.Array, norm: float | ArrayLike) -> Factors:
        """Components all of the given norm, split evenly over vectors of random directions."""
        checks.positive("norm", norm)
        factors = _gaussian(key, self.parameter_shapes, 1.0)
        root = jnp.asarray(norm, float) ** (1 / len(self.shape))
        return tuple(root * factor / jnp.sqrt(jnp.sum(factor**2, axis=0, keepdims=True)) for factor in factors)

    def check(self, factors: Factors, members: bool = False) -> None:
        """Refuse parameters that are not this factorisation's."""
        _check(self, factors, members)


@dataclass(frozen=True)
class TreeTensor:
    """The hierarchical factorisation over a balanced binary tree: axes are joined in pairs, pairs in pairs.

    A leaf n holds vectors w_rⁿ, r = 1 … width. A node with children a, b holds a matrix V of shape (width, width) and
    computes the tensors `T_q = Σ_r V[q, r] T_r^a ⊗ T_r^b`; the root has one row. The hierarchical rank of a tensor at
    a node is the rank of its matricisation, the axes below the node against the others. Component r of a node consists
    of V[:, r] and what its children feed it, row r of theirs; a child's rank is at most the number of its parent's
    components that are not zero.

    The parameters are the leaves' matrices (size, width), in the order of the axes, then the nodes' matrices level by
    level, the root last.

    Attributes:
        shape: The shape of the tensor, of order 2, 4, 8, …
        width: How many components each node has: a bound on the hierarchical rank.
    """

    shape: tuple[int, ...]
    width: int

    def __init__(self, shape: Sequence[int], width: int) -> None:
        object.__setattr__(self, "shape", _sizes(shape, 2))
        if len(self.shape) & (len(self.shape) - 1):
            raise ValueError(f"shape must have 2, 4, 8, … axes for a balanced binary tree; got {len(self.shape)}")
        if int(width) != width or width < 1:
            raise ValueError(f"width must be a positive integer; got {width}")
        object.__setattr__(self, "width", int(width))

    @property
    def parameter_shapes(self) -> tuple[tuple[int, ...], ...]:
        """The leaves' matrices, then the nodes'."""
        leaves = tuple((size, self.width) for size in self.shape)
        inner = ((self.width, self.width),) * (len(self.shape) - 2)
        return (*leaves, *inner, (1, self.width))

    def end_to_end(self, factors: Factors) -> Float[Array, "..."]:
        """The tensor, joined from the leaves up to the root."""
        order = len(self.shape)
        level, nodes = list(factors[:order]), list(factors[order:])  # tensors flattened to (entries, width)
        while len(level) > 2:
            pairs = zip(level[::2], level[1::2], strict=True)
            level = [_khatri_rao(pair) @ nodes.pop(0).T for pair in pairs]
        left, right = level  # at the root Σ_r V[r] T_r^a ⊗ T_r^b is one matrix product
        return (left * nodes[0] @ right.T).reshape(self.shape)

    def component_norms(self, factors: Factors) -> tuple[Float[Array, " component"], ...]:
        """For each node, in the order of the parameters: the norms of its components in falling order.

        Component r's norm is the product of the norms of its weights: ‖V[:, r]‖ and, for each child, that of the r-th
        vector of a leaf or the r-th row of a node (Razin et al. 2022, the norm of a local component).
        """
        order = len(self.shape)
        below = [jnp.sqrt(jnp.sum(factor**2, axis=0)) for factor in factors[:order]]
        norms, nodes = [], list(factors[order:])
        while len(below) > 1:
            above = []
            for left, right in zip(below[::2], below[1::2], strict=True):
                V = nodes.pop(0)
                norms.append(-jnp.sort(-left * right * jnp.sqrt(jnp.sum(V**2, axis=0))))
                above.append(jnp.sqrt(jnp.sum(V**2, axis=1)))
            below = above
        return tuple(norms)

    def start(self, key: jax.Array, deviation: float | ArrayLike) -> Factors:
        """Independent normal entries of the given standard deviation."""
        return _gaussian(key, self.parameter_shapes, deviation)

    def check(self, factors: Factors, members: bool = False) -> None:
        """Refuse parameters that are not this factorisation's."""
        _check(self, factors, members)


def matricisation_values(tensor: Float[Array, "..."], rows: Sequence[int]) -> Float[Array, " mode"]:
    """Singular values of the tensor as a matrix, the axes `rows` against all others."""
    others = [axis for axis in range(tensor.ndim) if axis not in rows]
    matrix = jnp.transpose(tensor, (*rows, *others)).reshape(prod(tensor.shape[axis] for axis in rows), -1)
    return jnp.linalg.svd(matrix, compute_uv=False)


def _khatri_rao(factors: Sequence[Float[Array, "size rank"]]) -> Float[Array, "entries rank"]:
    """Columns are the flattened outer products of the factors' columns."""
    joined = factors[0]
    for factor in factors[1:]:
        joined = (joined[:, None, :] * factor[None, :, :]).reshape(-1, factor.shape[-1])
    return joined


def _gaussian(key: jax.Array, shapes: Sequence[tuple[int, ...]], deviation: float | ArrayLike) -> Factors:
    checks.positive("deviation", deviation)
    keys = jax.random.split(key, len(shapes))
    return tuple(
        jnp.asarray(deviation, float) * jax.random.normal(k, shape) for k, shape in zip(keys, shapes, strict=True)
    )


def _check(model: CP | TreeTensor, factors: Factors, members: bool) -> None:
    shapes = tuple(factor.shape[members:] for factor in factors)
    if shapes != model.parameter_shapes:
        raise ValueError(f"start has factors of shape {shapes}; {model} has {model.parameter_shapes}")
