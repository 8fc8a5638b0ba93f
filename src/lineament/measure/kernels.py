"""The tangent kernel of a network as it is: `K(x, x')_{jk} = ⟨∂f_j(x)/∂θ, ∂f_k(x')/∂θ⟩` (Jacot et al. 2018).

Exact, in blocks of examples, and never the whole Jacobian. A network that can be tapped (`AbstractLayered`)
is contracted layer by layer from the inputs a of its products and the derivatives b of its outputs at their taps, one
backward pass for all layers. With positions p of an image, a layer contributes

    Σ_{p,p'} ⟨a_p, a'_p'⟩ ⟨b_p, b'_p'⟩ = ⟨G, G'⟩,    G = Σ_p b_p a_pᵀ.

The left form costs P²(fan_in + fan_out) per pair of examples, the right form fan_in · fan_out: each layer uses the
cheaper, dense layers always the left. In any other function dense layers are found in its trace (`traced`); by what is
left it is differentiated for a few of its parameters at a time.
"""

import importlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from numpy.typing import NDArray

from ..core import arguments, checks
from ..core.layered import AbstractLayered
from ..core.model import AbstractModel
from ..core.precision import full_precision
from .traced import Traced, traced

Outputs = Literal["all", "diagonal", "mean"]
SYMMETRIC = 1e-4  # how far a kernel may be from its transpose, relative to its largest entry: it may be of float32
BATCH = 32  # examples differentiated at a time on a CPU, so that what they need stays in its cache


@full_precision
def empirical(
    model: Any,
    parameters: Any,
    x: ArrayLike,
    y: ArrayLike | None = None,
    *,
    outputs: Outputs = "all",
    memory: float = 2**30,
) -> NDArray:
    """The empirical neural tangent kernel between the examples x and y.

    Args:
        model: A model whose maps are functions or matrices; any function f(parameters, x) of a batch of examples with
            values of shape (n,) or (n, k); an equinox module, which is called with one example; or a module of flax, of
            linen or nnx, which is called with a batch. Those that hold their parameters are asked in inference mode. An
            example's value must not depend on the rest of its batch, which is tried on the first two.
        parameters: Any tree of floating-point arrays. For a module of linen its variables, or its parameters alone. None
            for a module of equinox or nnx, which holds its own: all its floating-point arrays.
        x: Examples along the first axis, real numbers or whole ones, such as tokens, which stay whole.
        y: More examples; those of x by default, where only half of the kernel is computed.
        outputs: "all" gives (n, m, k, k), "diagonal" the entries K_jj as (n, m, k), "mean" their mean over j as (n, m):
            what the kernels of infinitely wide networks describe.
        memory: About how many bytes to use beyond the kernel itself; at least two examples are always held.

    Returns:
        A NumPy array of the shape that `outputs` says; (n, m) where there is one output.
    """
    checks.one_of("outputs", outputs, ("all", "diagonal", "mean"))
    memory = arguments.number("memory", memory, above=0)
    model, parameters = as_function(model, parameters)
    tapped = isinstance(model, AbstractModel)
    x = _examples("x", x, tapped)
    against = x if y is None else _examples("y", y, tapped)
    if against.shape[1:] != x.shape[1:]:
        raise ValueError(f"x and y must hold examples of one shape; got {x.shape[1:]} and {against.shape[1:]}")
    leaves = jax.tree.leaves(parameters)
    if not leaves or not all(eqx.is_array_like(leaf) and _is_floating(leaf) for leaf in leaves):
        raise ValueError(
            "parameters must hold floating-point arrays of JAX's types and nothing else, and at least one"
        )
    if not tapped and not callable(model):
        raise ValueError(
            f"model must be a model or a function of parameters and examples; got {arguments.shown(model)}"
        )
    if tapped:
        _refuse_unfit(model, parameters)
    if isinstance(model, AbstractLayered) and model.tap_shapes:
        if x.ndim != 2:
            raise ValueError(f"x must have one row for each example; got shape {x.shape}")
        parts = _Layers(model, parameters, x)
    else:
        parts = _any_function(model, parameters, x)
    return _in_blocks(parts, x, against, y is None, outputs, memory)


def as_function(model: Any, parameters: Any = None) -> tuple[Any, Any]:
    """Any kind of model as a function of parameters and a batch, with its parameters; models of ours stay as they are.

    Args:
        model: As in `empirical`.
        parameters: As in `empirical`.

    Returns:
        A function of parameters and a batch, and the parameters.
    """
    home = {base.__module__.split(".")[0] + "." + base.__name__ for base in type(model).__mro__}
    if isinstance(model, AbstractModel):
        return model, parameters
    if "flax.Module" in home and hasattr(model, "apply") and parameters is not None:  # linen
        variables = (
            parameters if isinstance(parameters, Mapping) and "params" in parameters else {"params": parameters}
        )
        rest = {name: value for name, value in variables.items() if name != "params"}
        return lambda p, x: model.apply({**rest, "params": p}, x), variables["params"]
    if parameters is not None:
        return model, parameters
    if isinstance(model, eqx.Module) and callable(model):
        # As a module is made it trains, and its dropout asks for a key.
        moving, fixed = eqx.partition(eqx.nn.inference_mode(model), eqx.is_inexact_array)
        if any(map(eqx.is_array, jax.tree.leaves(fixed))):  # arrays have no hash
            return lambda p, x: jax.vmap(eqx.combine(p, fixed))(x), moving
        return _Mapped(fixed), moving
    if "flax.Module" in home:  # nnx, which holds its own parameters
        nnx = importlib.import_module("flax.nnx")
        # A copy: how a module runs is part of it, and `eval` would change the one that is given.
        graph, held, others = nnx.split(_evaluating(nnx, model), nnx.Param, ...)
        return lambda p, x: nnx.merge(graph, p, others)(x), held
    raise ValueError(
        "parameters must be a tree of floating-point arrays; got None, which is for modules of equinox and flax.nnx that "
        f"hold their own, and not for a {type(model).__name__}"
    )


def _evaluating(nnx: Any, model: Any) -> Any:
    """A copy of a module of nnx that shares its arrays, in evaluation mode."""
    copied = nnx.merge(*nnx.split(model))
    copied.eval()
    return copied


class _Mapped(eqx.Module):
    """A module of equinox over a batch, without its parameters: equal to any other of its kind, so compiled once."""

    fixed: Any

    def __call__(self, parameters: Any, x: jax.Array) -> jax.Array:
        return jax.vmap(eqx.combine(parameters, self.fixed))(x)


def spectrum(kernel: ArrayLike) -> NDArray[np.float64]:
    """Eigenvalues of a kernel of shape (n, n) or (n, n, k, k), in falling order."""
    K = arguments.numeric("kernel", kernel).astype(float)
    if 0 in K.shape:
        raise ValueError(f"kernel must be of one example at least; got shape {K.shape}")
    if K.ndim not in (2, 4) or K.shape[0] != K.shape[1] or (K.ndim == 4 and K.shape[2] != K.shape[3]):
        raise ValueError(f"kernel must have shape (n, n) or (n, n, k, k); got {K.shape}")
    if not np.isfinite(K).all():
        raise ValueError("kernel must be finite")
    if K.ndim == 4:
        K = K.transpose(0, 2, 1, 3).reshape(K.shape[0] * K.shape[2], -1)
    if (off := np.abs(K - K.T).max()) > SYMMETRIC * np.abs(K).max():
        raise ValueError(f"kernel must be symmetric; its entries differ from its transpose's by up to {off:.3g}")
    return np.linalg.eigvalsh(K)[::-1]


def _in_blocks(parts: "_Parts", x: jax.Array, y: jax.Array, same: bool, outputs: Outputs, memory: float) -> NDArray:
    k = parts.outputs
    outputs = "mean" if k == 1 else outputs
    entries = {"all": (k, k), "diagonal": (k,), "mean": ()}[outputs]
    kernel = np.zeros((x.shape[0], y.shape[0], *entries), parts.dtype)
    length = max(1, parts.block(memory))
    cuts = lambda n: [slice(i, min(i + length, n)) for i in range(0, n, length)]  # noqa: E731
    for i in cuts(x.shape[0]):
        left = parts.prepare(x[i])
        for j in cuts(y.shape[0]):
            if same and j.start < i.start:
                continue
            diagonal = same and j.start == i.start
            right = left if diagonal else parts.prepare(y[j])
            total = sum(parts.contract(part, left, right, outputs) for part in range(parts.count))
            block = np.asarray(total).reshape(kernel[i, j].shape)
            kernel[i, j] = block
            if same and not diagonal:
                kernel[j, i] = block.transpose(1, 0, 3, 2) if block.ndim == 4 else block.swapaxes(0, 1)
    return kernel


def _products(on_host: bool) -> Any:
    """NumPy on a CPU, whose product of a matrix with its own transpose does half the work; JAX elsewhere."""
    return np if on_host else jnp


class _Leaves:
    """Any function: a few leaves of the parameters at a time, none of them together larger than the largest.

    `known` are leaves that something else contracts.
    """

    def __init__(self, model: Any, parameters: Any, x: jax.Array, known: Collection[int] = ()) -> None:
        values = jax.eval_shape(partial(_value, model), parameters, x[:1])
        if not hasattr(values, "shape") or values.ndim not in (1, 2) or values.shape[0] != 1:
            raise ValueError(f"model must return (n,) or (n, k) values for n examples; one example gives {values}")
        self.model, self.outputs, self.dtype = model, prod(values.shape), values.dtype
        self.leaves, self.tree = jax.tree.flatten(parameters)
        left = [leaf for leaf in range(len(self.leaves)) if leaf not in known]
        groups = _groups([self.leaves[leaf].size for leaf in left])
        self.groups = [tuple(left[k] for k in group) for group in groups]
        self.on_host = _on_cpu(x)

    @property
    def count(self) -> int:
        return len(self.groups)

    def block(self, memory: float) -> int:
        largest = max((sum(self.leaves[leaf].size for leaf in group) for group in self.groups), default=1)
        return int(memory / (3 * self.outputs * largest * self.dtype.itemsize))

    def prepare(self, x: jax.Array) -> Any:
        return x

    def contract(self, part: int, left: Any, right: Any, outputs: Outputs) -> Any:
        J = self._rows(part, left)
        return _gram(J, J if right is left else self._rows(part, right), outputs, self.on_host)

    def _rows(self, part: int, x: jax.Array) -> Any:
        """The Jacobian (n, k, parameters) of one group of leaves."""
        group = self.groups[part]
        return _batched(lambda x: _leaf_jacobian(self.model, self.tree, group, self.leaves, x), x, self.on_host)


class _Both:
    """Any function with dense layers: these by their inputs and taps, all other leaves by their Jacobian."""

    def __init__(self, layers: "_Layers", leaves: _Leaves) -> None:
        self.layers, self.leaves, self.outputs, self.dtype = layers, leaves, leaves.outputs, leaves.dtype

    @property
    def count(self) -> int:
        return self.layers.count + self.leaves.count

    def block(self, memory: float) -> int:
        return min(self.layers.block(memory), self.leaves.block(memory))

    def prepare(self, x: jax.Array) -> Any:
        return self.layers.prepare(x), x

    def contract(self, part: int, left: Any, right: Any, outputs: Outputs) -> Any:
        own, side = (self.layers, 0) if part < self.layers.count else (self.leaves, 1)
        mine = left[side]
        theirs = mine if right is left else right[side]
        return own.contract(part - side * self.layers.count, mine, theirs, outputs)


def _any_function(model: Any, parameters: Any, x: jax.Array) -> "_Parts":
    """How to contract a function that no one says anything of: its dense layers, if its trace has some."""
    leaves = _Leaves(model, parameters, x)
    if len(x) > 1 and not isinstance(model, AbstractModel | _Mapped):
        _refuse_mixing(model, parameters, x[:2])
    layers = None if isinstance(model, AbstractModel) else traced(model, parameters, x)
    if layers is None:
        return leaves
    return _Both(_Layers(layers, parameters, x), _Leaves(model, parameters, x, layers.leaves))


class _Layers:
    """A network of products: the inputs of its layers and the derivatives at its taps, contracted layer by layer."""

    def __init__(self, model: AbstractLayered | Traced, parameters: Any, x: jax.Array) -> None:
        self.model, self.parameters, self.taps = model, parameters, model.tap_shapes
        shaped_factors, shaped_rows = _shaped(model)
        inputs, derivatives = shaped_factors(parameters, x[:1])
        self.outputs, self.dtype = derivatives[0].shape[1], derivatives[0].dtype
        rows = [shaped_rows(layer, a).shape for layer, a in enumerate(inputs)]
        self.fans = [(shape[2], fan_out) for shape, (_, fan_out) in zip(rows, self.taps, strict=True)]
        self.held = sum(prod(leaf.shape) for leaf in (*inputs, *derivatives))
        self.largest = max([prod(self.fans[part]) for part in range(self.count) if not self.paired(part)], default=0)
        self.on_host, self.space = _on_cpu(x), {}

    @property
    def count(self) -> int:
        return len(self.taps)

    def paired(self, layer: int) -> bool:
        """Whether pairs of positions cost less than the layer's Jacobian."""
        (positions, _), (fan_in, fan_out) = self.taps[layer], self.fans[layer]
        return positions**2 * (fan_in + fan_out) <= fan_in * fan_out or positions == 1

    def block(self, memory: float) -> int:
        def linear(layer: int) -> int:  # numbers held for each example of a block
            (positions, _), (fan_in, fan_out) = self.taps[layer], self.fans[layer]
            return positions * (fan_in + fan_out) if self.paired(layer) else fan_in * fan_out

        layers = range(self.count)
        budget = memory / self.dtype.itemsize
        positions = max([self.taps[layer][0] for layer in layers if self.paired(layer)], default=1)
        by_pairs = (budget / 6) ** 0.5 / positions
        return int(min(by_pairs, budget / (2 * (self.outputs * max(map(linear, layers)) + self.held))))

    def prepare(self, x: jax.Array) -> Any:
        return _batched(lambda x: _jitted_factors(self.model, self.parameters, x), x, self.on_host)

    def contract(self, part: int, left: Any, right: Any, outputs: Outputs) -> Any:
        if self.paired(part):
            A, B = self._rows(part, left), left[1][part]
            factors = (A, B) if right is left else (self._rows(part, right), right[1][part])
            return _pairs((A, B), factors, outputs, self.on_host)
        G = self._jacobian(part, left, 0)
        return _gram(G, G if right is left else self._jacobian(part, right, 1), outputs, self.on_host)

    def _rows(self, part: int, factors: tuple[list, list]) -> Any:
        return _batched(lambda a: _jitted_rows(self.model, part, a), factors[0][part], self.on_host)

    def _jacobian(self, part: int, factors: tuple[list, list], side: int) -> Any:
        """G of one layer, (n, k, fan_out · fan_in)."""
        inputs, derivatives = factors[0][part], factors[1][part]
        if not self.on_host:
            return _layer_jacobian(self.model, part, inputs, derivatives)
        n = len(inputs)
        G = self._space(side, (n, self.outputs, prod(self.fans[part])))
        # By JAX, not by NumPy: the threads of BLAS would wait for each other at thousands of small products.
        for batch in _batches(n):
            G[batch] = _layer_jacobian(self.model, part, inputs[batch], derivatives[batch])
        return G

    def _space(self, side: int, shape: tuple[int, ...]) -> NDArray:
        """The same memory for every layer: asking the system for it again costs as much as filling it."""
        if side not in self.space or self.space[side].size < prod(shape):
            self.space[side] = np.empty(max(prod(shape), shape[0] * self.outputs * self.largest), self.dtype)
        return self.space[side][: prod(shape)].reshape(shape)


_Parts = _Layers | _Leaves | _Both


def _is_floating(leaf: Any) -> bool:
    try:
        return bool(jnp.issubdtype(jnp.result_type(leaf), jnp.floating))
    except TypeError:  # of a type that JAX does not know, such as numbers of the other byte order
        return False


def _refuse_unfit(model: AbstractModel, parameters: Any) -> None:
    try:
        model.check(parameters)
    except ValueError as error:
        raise ValueError(str(error).replace("start", "parameters", 1)) from None


def _value(model: Any, parameters: Any, x: jax.Array) -> jax.Array:
    if not isinstance(model, AbstractModel):
        return model(parameters, x)
    map = model.end_to_end(parameters)
    return map(x) if callable(map) else x @ map.T


def _refuse_mixing(model: Any, parameters: Any, two: jax.Array) -> None:
    """Refuse a function whose value for an example depends on the rest of its batch: each is differentiated alone.

    Derivatives are compared, not values: of a mirrored start all values are zero, but for rounding.
    """
    apart, size = _together_and_alone(model, parameters, two)
    # Batches of another size may add in another order: rounding leaves far less than the root of the precision.
    coarsest = max(float(jnp.finfo(leaf).eps) for leaf in [*jax.tree.leaves(parameters), apart])
    if apart > coarsest**0.5 * size:
        raise ValueError(
            "model must give an example the same value whatever else is in its batch; it gives another for the first two "
            "together than for each alone, as normalisation over the batch does while training"
        )


@eqx.filter_jit
def _together_and_alone(model: Any, parameters: Any, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Of a random sum of what examples give: how far gradients are apart, as a batch and one by one, and their size."""

    def total(p: Any, parts: list[jax.Array]) -> jax.Array:
        values = jnp.concatenate([_value(model, p, part) for part in parts])
        return jnp.sum(values * jax.random.normal(jax.random.key(0), values.shape, values.dtype))

    together, alone = (
        jax.tree.leaves(jax.grad(total)(parameters, parts)) for parts in ([x], [one[None] for one in x])
    )
    norm = lambda leaves: jnp.sqrt(sum(jnp.sum(jnp.abs(leaf) ** 2) for leaf in leaves))  # noqa: E731
    return norm([a - b for a, b in zip(together, alone, strict=True)]), norm(alone)


@eqx.filter_jit
def _leaf_jacobian(model: Any, tree: Any, group: tuple[int, ...], leaves: list, x: jax.Array) -> jax.Array:
    """Derivatives (n, k, parameters) of every output with respect to some of the leaves."""

    def outputs_of(replaced: list, x: jax.Array) -> jax.Array:
        merged = dict(enumerate(leaves)) | dict(zip(group, replaced, strict=True))
        return _value(model, jax.tree.unflatten(tree, [merged[i] for i in range(len(leaves))]), x[None]).reshape(-1)

    J = jax.vmap(jax.jacrev(outputs_of), (None, 0))([leaves[leaf] for leaf in group], x)
    return jnp.concatenate([leaf.reshape(*leaf.shape[:2], -1) for leaf in J], axis=2)


def _factors(model: AbstractLayered | Traced, parameters: Any, x: jax.Array) -> tuple[list, list]:
    """Inputs of the layers, and derivatives (n, k, positions, fan_out) of every output at every tap."""
    n = x.shape[0]
    dtype = jnp.result_type(*jax.tree.leaves(parameters))
    taps = [jnp.zeros((n, *shape), dtype) for shape in model.tap_shapes]
    values, pull_back, inputs = jax.vjp(lambda taps: model.tapped(parameters, x, taps), taps, has_aux=True)
    k = values.shape[1]
    # Examples do not meet in a forward pass, so that one cotangent for the whole batch serves them all at once.
    cotangents = jnp.broadcast_to(jnp.eye(k, dtype=values.dtype)[:, None, :], (k, n, k))
    if k == 1:
        return list(inputs), [leaf[:, None] for leaf in pull_back(cotangents[0])[0]]
    derivatives = jax.vmap(lambda cotangent: pull_back(cotangent)[0])(cotangents)
    return list(inputs), [jnp.moveaxis(leaf, 0, 1) for leaf in derivatives]


_jitted_factors = eqx.filter_jit(_factors)


@eqx.filter_jit
def _layer_jacobian(
    model: AbstractLayered | Traced, layer: int, inputs: jax.Array, derivatives: jax.Array
) -> jax.Array:
    G = jnp.einsum("nkpo,npi->nkoi", derivatives, model.rows(layer, inputs), precision=jax.lax.Precision.HIGHEST)
    return G.reshape(*G.shape[:2], -1)


_jitted_rows = eqx.filter_jit(lambda model, layer, a: model.rows(layer, a))
_traced_factors = jax.jit(_factors, static_argnums=0)
_traced_rows = jax.jit(lambda model, layer, a: model.rows(layer, a), static_argnums=(0, 1))


def _shaped(model: AbstractLayered | Traced) -> tuple[Callable, Callable]:
    """Shapes of factors and of rows. Those of a model, which is a constant, are traced once, not at every kernel."""
    if isinstance(model, AbstractLayered):
        return partial(_traced_factors.eval_shape, model), partial(_traced_rows.eval_shape, model)

    def rows(layer: int, a: jax.Array) -> Any:
        return jax.eval_shape(partial(model.rows, layer), a)

    return partial(jax.eval_shape, partial(_factors, model)), rows


def _gram(J: Any, J_right: Any, outputs: Outputs, on_host: bool) -> Any:
    """Inner products of Jacobians (n, k, parameters), in the form that is asked for."""
    xp = _products(on_host)
    (n, k, _), m = J.shape, J_right.shape[0]
    if outputs == "diagonal":
        return _matmul(J.transpose(1, 0, 2), J_right.transpose(1, 2, 0), xp).transpose(1, 2, 0)
    if outputs == "mean":
        A = J.reshape(n, -1)
        return _matmul(A, (A if J_right is J else J_right.reshape(m, -1)).T, xp) / k
    A = J.reshape(n * k, -1)
    product = _matmul(A, (A if J_right is J else J_right.reshape(m * k, -1)).T, xp)
    return product.reshape(n, k, m, k).transpose(0, 2, 1, 3)


def _pairs(left: tuple[Any, Any], right: tuple[Any, Any], outputs: Outputs, on_host: bool) -> Any:
    """`Σ_{p,p'} ⟨a_p, a'_p'⟩⟨b_p, b'_p'⟩` for inputs (n, p, fan_in) and derivatives (n, k, p, fan_out)."""
    xp = _products(on_host)
    (A, B), (C, D) = left, right
    (n, k, p, _), m = B.shape, D.shape[0]
    flat = lambda F: F.reshape(F.shape[0] * p, -1)  # noqa: E731
    inner = _matmul(flat(A), flat(C).T, xp)
    over = lambda T: (inner * T).reshape(n, p, m, p).sum(axis=(1, 3)) if p > 1 else inner * T  # noqa: E731
    if outputs == "mean":
        return over(_matmul(flat(B.swapaxes(1, 2)), flat(D.swapaxes(1, 2)).T, xp)) / k
    entry = lambda i, j: over(_matmul(flat(B[:, i]), flat(D[:, j]).T, xp))  # noqa: E731
    if outputs == "diagonal":
        return xp.stack([entry(i, i) for i in range(k)], -1)
    return xp.stack([xp.stack([entry(i, j) for j in range(k)], -1) for i in range(k)], axis=2)


def _matmul(A: Any, B: Any, xp: Any) -> Any:
    # A GPU would multiply float32 in TF32, three digits of it, unless asked not to.
    return np.matmul(A, B) if xp is np else jnp.matmul(A, B, precision=jax.lax.Precision.HIGHEST)


def _batched(function: Callable[[Any], Any], x: Any, on_host: bool) -> Any:
    """`function` of a few examples at a time, the results stacked as NumPy arrays; all at once off the host."""
    if not on_host:
        return function(x)
    n, results = x.shape[0], None
    for batch in _batches(n):
        values = jax.tree.map(np.asarray, function(x[batch]))
        if results is None:
            results = jax.tree.map(lambda leaf: np.empty((n, *leaf.shape[1:]), leaf.dtype), values)
        for array, rows in zip(jax.tree.leaves(results), jax.tree.leaves(values), strict=True):
            array[batch] = rows
    return results


def _batches(n: int) -> list[slice]:
    """Parts of one size, so that they are compiled once: the last reaches back into the one before."""
    length = min(n, BATCH)
    return [slice(min(begin, n - length), min(begin, n - length) + length) for begin in range(0, n, length)]


def _groups(sizes: Sequence[int]) -> list[tuple[int, ...]]:
    """Neighbouring leaves together, as long as they are not larger than the largest leaf."""
    groups, left = [], 0
    for leaf, count in enumerate(sizes):
        if count > left:
            groups.append(())
            left = max(sizes)
        groups[-1] += (leaf,)
        left -= count
    return groups


def _on_cpu(x: jax.Array) -> bool:
    return next(iter(x.devices())).platform == "cpu"


def _examples(name: str, value: ArrayLike, real: bool) -> jax.Array:
    array = (
        value if isinstance(value, jax.Array) else checks.taken(name, arguments.numeric(name, value), whole=not real)
    )
    if array.ndim == 0 or array.shape[0] == 0:
        raise ValueError(f"{name} must hold at least one example along its first axis; got shape {array.shape}")
    if not real and jnp.issubdtype(array.dtype, jnp.integer):
        return array
    return checks.real_array(name, array, array.ndim)
