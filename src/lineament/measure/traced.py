"""Dense layers of a plain JAX function, found in its trace.

A function f(parameters, x) says nothing of layers. Its trace does: wherever an array of parameters is contracted with
something that has an axis of examples, `z = W a` at every position, what is added to z moves the outputs as a change of W
would. That is all a tangent kernel needs (`core.layered`). An array counts as a layer only if nothing else reads it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.core import eval_jaxpr
from jax.extend.core import ClosedJaxpr, DropVar, Jaxpr, Literal, Var

Shape = tuple[int, ...]


class Product(NamedTuple):
    """A contraction of a leaf of the parameters with activations, as the trace has it.

    Attributes:
        leaf: Which leaf.
        first: Whether the activations are the first factor.
        contracted: Axes of the activations that are summed over.
        free: The other axes of the activations.
        shape: Of the activations.
        fan_out: How many outputs there are at each position.
        sides: Axes of the leaf that are summed over, and the others: a leaf is one layer only where these agree.
    """

    leaf: int
    first: bool
    contracted: Shape
    free: Shape
    shape: Shape
    fan_out: int
    sides: tuple[Shape, Shape]


@dataclass(frozen=True)
class Traced:
    """A function whose dense layers can be tapped: what `AbstractLayered` offers, for all that was found.

    Attributes:
        function: f(parameters, x) of a batch, with values (n, k).
        leaves: Which leaves are layers.
        tap_shapes: Positions and outputs of each.
    """

    function: Callable[[Any, jax.Array], jax.Array]
    leaves: Shape
    tap_shapes: tuple[tuple[int, int], ...]

    def tapped(
        self, parameters: Any, x: jax.Array, taps: Sequence[jax.Array]
    ) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        """The values when taps (n, positions, outputs) are added to the products, and their inputs."""
        n = x.shape[0]
        places, _ = _products(self.function, parameters, n, x)
        used = dict.fromkeys(self.leaves, 0)
        inputs: dict[int, list[jax.Array]] = {leaf: [] for leaf in self.leaves}
        given = dict(zip(self.leaves, taps, strict=True))
        order = iter(places)

        def meet(product: Product, activations: jax.Array, z: jax.Array) -> jax.Array:
            _, axis = next(order)
            if product.leaf not in given:
                return z
            others = [k for k in product.free if k != axis]
            rows = activations.transpose(axis, *others, *product.contracted).reshape(
                n, -1, prod(product.shape[k] for k in product.contracted)
            )
            begin = used[product.leaf]
            used[product.leaf] = end = begin + rows.shape[1]
            inputs[product.leaf].append(rows)
            added = given[product.leaf][:, begin:end].reshape(n, *(product.shape[k] for k in others), product.fan_out)
            added = jnp.moveaxis(added, 0, product.free.index(axis))  # examples where the activations have them
            if not product.first:
                added = jnp.moveaxis(added, -1, 0)
            return z + added.reshape(z.shape)

        closed = _trace(self.function, parameters, x)
        values = _Walk(meet).run(closed, [*jax.tree.leaves(parameters), x], len(jax.tree.leaves(parameters)))
        return values[0].reshape(n, -1), tuple(jnp.concatenate(inputs[leaf], 1) for leaf in self.leaves)

    def rows(self, layer: int, inputs: jax.Array) -> jax.Array:
        """The inputs as they are: `tapped` has put them into rows."""
        return inputs


def traced(function: Callable[[Any, jax.Array], jax.Array], parameters: Any, x: jax.Array) -> Traced | None:
    """The function with its dense layers known; None where there are none.

    Args:
        function: f(parameters, x) of a batch.
        parameters: Any tree of arrays.
        x: Examples along the first axis; their values do not matter.
    """
    places, spoiled = _products(function, parameters, 1, x)
    shapes: dict[int, list[tuple[int, int]]] = {}
    for product, axis in places:
        positions = prod(product.shape[k] for k in product.free if k != axis)
        shapes.setdefault(product.leaf, []).append((positions, product.fan_out))
    leaves = tuple(sorted(leaf for leaf in shapes if leaf not in spoiled))
    if not leaves:
        return None
    return Traced(function, leaves, tuple((sum(p for p, _ in shapes[leaf]), shapes[leaf][0][1]) for leaf in leaves))


def _trace(function: Callable, parameters: Any, x: Any) -> ClosedJaxpr:
    leaves, tree = jax.tree.flatten(parameters)
    return jax.make_jaxpr(lambda leaves, x: function(jax.tree.unflatten(tree, leaves), x))(leaves, x)


def _products(function: Callable, parameters: Any, n: int, x: jax.Array) -> tuple[list[tuple[Product, int]], set[int]]:
    """The contractions of n examples in their order, each with its axis of examples, and leaves that are not layers.

    The axis of examples is the one that grows when there is one example more.
    """
    size = len(jax.tree.leaves(parameters))
    (here, spoiled), (more, _) = (
        _met(_trace(function, parameters, jax.ShapeDtypeStruct((count, *x.shape[1:]), x.dtype)), size)
        for count in (n, n + 1)
    )
    if len(here) != len(more):  # the function takes another way for another number of examples
        return [], set()
    places, sides = [], {product.leaf: product.sides for product in here}
    for product, larger in zip(here, more, strict=True):
        if product.sides != sides[product.leaf]:
            spoiled.add(product.leaf)
        grown = [k for k in product.free if product.shape[k] != larger.shape[k]]
        if len(grown) != 1 or product.shape[grown[0]] != n:  # examples and positions in one axis, say
            spoiled.add(product.leaf)
        places.append((product, grown[0] if grown else 0))
    return places, spoiled


def _met(closed: ClosedJaxpr, leaves: int) -> tuple[list[Product], set[int]]:
    """The contractions of a trace, and leaves that anything else reads; nothing is computed."""
    met: list[Product] = []

    def meet(product: Product, activations: jax.Array, z: jax.Array) -> jax.Array:
        met.append(product)
        return z

    walk = _Walk(meet)
    jax.eval_shape(
        lambda *values: walk.run(closed, list(values), leaves),
        *(jax.ShapeDtypeStruct(var.aval.shape, var.aval.dtype) for var in closed.jaxpr.invars),
    )
    return met, walk.spoiled


class _Walk:
    """Runs a trace equation by equation, and calls `meet` where a leaf is contracted with activations.

    `spoiled` are leaves that anything else reads.
    """

    def __init__(self, meet: Callable[[Product, Any, Any], Any]) -> None:
        self.meet, self.spoiled = meet, set[int]()

    def run(self, closed: ClosedJaxpr, values: list[Any], leaves: int) -> list[Any]:
        """The outputs of a trace whose first inputs are the leaves."""
        sources = {var: (k, tuple(range(var.aval.ndim))) for k, var in enumerate(closed.jaxpr.invars[:leaves])}
        return self._jaxpr(closed.jaxpr, closed.consts, values, sources)

    def _jaxpr(self, jaxpr: Jaxpr, consts: Any, values: Sequence[Any], sources: dict[Var, tuple[int, Shape]]) -> list:
        held: dict[Var, Any] = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *values), strict=True))
        read = lambda var: var.val if isinstance(var, Literal) else held[var]  # noqa: E731
        source = lambda var: None if isinstance(var, Literal) else sources.get(var)  # noqa: E731
        for equation in jaxpr.eqns:
            given, from_leaves = [read(var) for var in equation.invars], [source(var) for var in equation.invars]
            name = equation.primitive.name
            if name in ("jit", "pjit") and any(from_leaves):
                inner: ClosedJaxpr = equation.params["jaxpr"]
                passed = {var: s for var, s in zip(inner.jaxpr.invars, from_leaves, strict=True) if s is not None}
                results = self._jaxpr(inner.jaxpr, inner.consts, given, passed)
            else:
                results = _evaluated(jaxpr, equation, held)
                if name == "transpose" and from_leaves[0] is not None:
                    leaf, axes = from_leaves[0]
                    turned = tuple(axes[k] for k in equation.params["permutation"])
                    sources[equation.outvars[0]] = (leaf, turned)
                elif any(from_leaves):
                    product = _product(equation, from_leaves) if name == "dot_general" else None
                    if product is None:
                        self.spoiled |= {s[0] for s in from_leaves if s is not None}
                    else:
                        results = [self.meet(product, given[0 if product.first else 1], results[0])]
            held.update(zip(equation.outvars, results, strict=True))
        self.spoiled |= {s[0] for s in map(source, jaxpr.outvars) if s is not None}
        return [read(var) for var in jaxpr.outvars]


def _evaluated(jaxpr: Jaxpr, equation: Any, held: dict[Var, Any]) -> list[Any]:
    """The results of one equation, by JAX: how a primitive is called differs from version to version."""
    used = list(dict.fromkeys(var for var in equation.invars if not isinstance(var, Literal)))
    kept = [var for var in equation.outvars if not isinstance(var, DropVar)]
    alone = jaxpr.replace(constvars=[], invars=used, outvars=kept, eqns=[equation])
    results = dict(zip(kept, eval_jaxpr(alone, [], *(held[var] for var in used)), strict=True))
    return [results.get(var) for var in equation.outvars]


def _product(equation: Any, from_leaves: list) -> Product | None:
    """What a `dot_general` contracts, if one factor is a leaf and the other is not."""
    (contracted, batch) = equation.params["dimension_numbers"]
    if any(batch) or all(from_leaves):
        return None
    first = from_leaves[0] is None
    activations, weight = (equation.invars if first else equation.invars[::-1])[:2]
    axes, weight_axes = (contracted if first else contracted[::-1])[:2]
    shape = tuple(activations.aval.shape)
    free = tuple(k for k in range(len(shape)) if k not in axes)
    rest = [k for k in range(weight.aval.ndim) if k not in weight_axes]
    leaf, names = from_leaves[1 if first else 0]
    sides = tuple(names[k] for k in weight_axes), tuple(names[k] for k in rest)
    return Product(leaf, first, tuple(axes), free, shape, prod(weight.aval.shape[k] for k in rest), sides)
