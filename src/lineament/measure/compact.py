"""The compact representation of a network: the one matrix a linear network computes (Hacohen & Weinshall, §2.1).

A map takes rows of flattened examples (n, inputs) to rows of outputs (n, outputs), in NumPy, JAX or anything that
turns into a NumPy array: `model.end_to_end(parameters)` of any of this library's networks.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike as JaxLike
from numpy.typing import ArrayLike, DTypeLike

from ..core import arguments, checks
from ..core.model import AbstractModel

Model = TypeVar("Model", bound=AbstractModel)


class Directions(Protocol):
    """A centre and orthonormal rows, as `lineament.data.Components` has."""

    @property
    def mean(self) -> np.ndarray:
        """(inputs,)."""
        ...

    @property
    def directions(self) -> np.ndarray:
        """(components, inputs)."""
        ...


class Compact(NamedTuple):
    """`f(x) = weights · coordinates(x) + offset`; the coordinates are x itself, or its principal ones."""

    weights: np.ndarray
    offset: np.ndarray


def compact(
    map: Callable[[Any], Any],
    inputs: int,
    components: Directions | None = None,
    *,
    batch: int = 256,
    dtype: DTypeLike = np.float32,
) -> Compact:
    """The matrix and offset of an affine map, from its outputs on unit vectors; convolutional maps too.

    Memory is bounded by one batch and the matrix. The result is tried on random inputs.

    Args:
        map: The map of a linear network.
        inputs: How many numbers an example has.
        components: Principal components: then the columns of the weights are w_j of Definition 1, one for each, and
            the offset is the output on the centre of the data.
        batch: How many vectors are pushed at a time.
        dtype: Of the vectors.

    Raises:
        ValueError: If the map is not affine.
    """
    arguments.function("map", map)
    inputs, batch = arguments.count("inputs", inputs), arguments.count("batch", batch)
    arguments.held("inputs", min(batch, inputs), inputs)
    dtype = checks.dtype("dtype", dtype)
    if components is not None:
        _refuse_other_components(components)
    if components is not None and components.directions.shape[1] != inputs:
        raise ValueError(f"components must be of {inputs} inputs; they are of {components.directions.shape[1]}")
    centre = np.zeros(inputs, dtype) if components is None else components.mean.astype(dtype)
    offset = _outputs(map, centre[None])[0]
    number = inputs if components is None else len(components.directions)
    weights = np.empty((len(offset), number), offset.dtype)
    for begin in range(0, number, batch):
        columns = slice(begin, min(begin + batch, number))
        if components is None:
            vectors = np.eye(columns.stop - begin, inputs, begin, dtype=dtype)
        else:
            vectors = components.directions[columns].astype(dtype)
        weights[:, columns] = (_outputs(map, centre + vectors) - offset).T
    _refuse_bent(map, weights, offset, centre, components)
    return Compact(weights, offset)


def tangent(map: Callable[[Any], Any], at: JaxLike) -> Compact:
    """The tangent of a JAX map at an example, `f(x) ≈ weights · x + offset`: the map itself if that is affine.

    One backward pass for each output, so for maps of few outputs quicker than pushing every unit vector through.

    Args:
        map: The map of a network.
        at: One example, (inputs,).
    """
    arguments.function("map", map)
    x = at if isinstance(at, jax.Array) else checks.taken("at", arguments.numeric("at", at), whole=True)
    if x.ndim != 1 or not x.size or not jnp.issubdtype(x.dtype, jnp.floating):
        raise ValueError(f"at must be one example, a vector of floating-point numbers; got {x.dtype} {x.shape}")
    value, pull = jax.vjp(lambda example: _applied(map, example[None])[0], x)
    weights = np.asarray(jax.lax.map(lambda unit: pull(unit)[0], jnp.eye(value.size, dtype=value.dtype)))
    return Compact(weights, np.asarray(value) - weights @ np.asarray(x))


def activation_free(model: Model) -> Model:
    """The same network without its activations, average pooling in place of maximum pooling (§3.3, Appendix D.2).

    Its parameters are the original's: `compact(activation_free(model).end_to_end(parameters), inputs)` is the paper's
    linear approximation of a non-linear network.
    """
    names = {field.name for field in fields(model)} if is_dataclass(model) else set[str]()
    if "activation" not in names:
        raise ValueError(f"model must be a network with an activation, such as MLP or ConvNet; got {model!r}")
    changes = {"activation": "linear", **({"pooling": "average"} if "pooling" in names else {})}
    return replace(model, **changes)  # type: ignore[type-var]


def principal(weights: ArrayLike, components: Directions) -> np.ndarray:
    """A matrix (outputs, inputs) in principal coordinates, (outputs, components): its columns are w_j."""
    _refuse_other_components(components)
    W = arguments.numeric("weights", weights)
    W = W.astype(np.float64) if W.dtype.kind in "iu" else W  # in whole numbers directions would all be zero
    if W.ndim != 2 or W.shape[1] != components.directions.shape[1]:
        raise ValueError(f"weights must be (outputs, {components.directions.shape[1]}); got shape {W.shape}")
    return W @ components.directions.T.astype(W.dtype)


def _refuse_other_components(components: Directions) -> None:
    if not all(isinstance(getattr(components, name, None), np.ndarray) for name in ("mean", "directions")):
        got = arguments.shown(components)
        raise ValueError(f"components must be principal components, as data.fit makes them; got {got}")


def _outputs(map: Callable[[Any], Any], rows: np.ndarray) -> np.ndarray:
    outputs = np.asarray(_applied(map, rows))
    if outputs.ndim != 2 or len(outputs) != len(rows):
        raise ValueError(f"map must take rows {rows.shape} to rows of outputs; it gave shape {outputs.shape}")
    return outputs


def _applied(map: Callable[[Any], Any], rows: Any) -> Any:
    try:
        return map(rows)
    except Exception as error:  # whatever a map of one's own raises, with its own traceback
        raise ValueError(f"map must take rows {rows.shape}; it raised {type(error).__name__}: {error}") from error


def _refuse_bent(
    map: Callable[[Any], Any], weights: np.ndarray, offset: np.ndarray, centre: np.ndarray, components: Any
) -> None:
    probes = np.random.default_rng(0).standard_normal((4, weights.shape[1])).astype(centre.dtype)
    steps = probes if components is None else probes @ components.directions.astype(centre.dtype)
    expected = probes @ weights.T + offset
    gap = np.abs(_outputs(map, centre + steps) - expected).max()
    scale = np.abs(expected).max() + np.abs(probes).max() * np.linalg.norm(weights)
    # Differences of outputs lose the digits of the offset; rounding grows with the root of the inputs at most.
    if not gap <= 100 * np.sqrt(weights.shape[1]) * np.finfo(weights.dtype).eps * (scale + np.abs(offset).max()):
        raise ValueError(
            f"map must be affine, but on random inputs it misses its own matrix by {gap:.2g} of {scale:.2g}; "
            "take away its activations with activation_free, or take its tangent"
        )
