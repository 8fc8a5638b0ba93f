"""Starts of independent entries, normal or uniform, for every model whose layout is known."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array
from numpy.typing import ArrayLike

from ..core import arguments, checks
from ..core.keys import AnyKey, as_key
from ..core.model import AbstractModel, Parameter, require_model
from .fit import require_chain, require_standard

Distribution = Literal["uniform", "normal"]


def gaussian(
    model: AbstractModel,
    key: AnyKey,
    *,
    start_scale: float | ArrayLike | None = None,
    deviation: float | ArrayLike | None = None,
    variances: Sequence[float] | None = None,
    dtype: DTypeLike | None = None,
) -> Any:
    """Independent normal weights, biases of zero. Give one of the three scales.

    Args:
        model: What is trained; a chain of matrices for `start_scale`.
        key: The source of randomness.
        start_scale: The product's scale: layer j has standard deviation `start_scale^{1/N}/√(its inputs)`, so that
            `E‖Wx‖² = start_scale² (outputs/inputs) ‖x‖²`. Square networks then start with singular values around it.
        deviation: The standard deviation of every weight; 1 in the NTK parameterisation.
        variances: The variance of each layer's weights, first layer first.
        dtype: Of the parameters; JAX's default unless given.
    """
    require_model(model)
    given = {"start_scale": start_scale, "deviation": deviation, "variances": variances}
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) != 1:
        raise ValueError(f"one of start_scale, deviation and variances must be given; got {chosen or 'none'}")
    if variances is not None:
        count, given = len(_weights(model)), arguments.listed("variances", variances)
        if len(given) != count:
            raise ValueError(f"variances must have one entry for each of {count} layers; got {len(given)}")
        scales = [checks.scale(f"variances[{j}]", variance) for j, variance in enumerate(given)]
        return _draw(model, key, [jnp.sqrt(jnp.asarray(variance)) for variance in scales], dtype)
    if deviation is not None:
        return _draw(model, key, [jnp.asarray(checks.scale("deviation", deviation))] * len(_weights(model)), dtype)
    assert start_scale is not None
    chain = require_chain("gaussian with start_scale", model)
    root = jnp.asarray(checks.scale("start_scale", start_scale)) ** (1 / chain.depth)
    return _draw(model, key, [root / weight.fan_in**0.5 for weight in _weights(model)], dtype)


def he(model: AbstractModel, key: AnyKey, dtype: DTypeLike | None = None) -> Any:
    """Normal weights of variance gain/fan_in, gain 2 before rectifiers, else 1; biases of zero (He et al. 2015)."""
    require_standard("he", model)
    return _draw(model, key, [(weight.gain / weight.fan_in) ** 0.5 for weight in _weights(model)], dtype)


def glorot(
    model: AbstractModel, key: AnyKey, distribution: Distribution = "uniform", dtype: DTypeLike | None = None
) -> Any:
    """Weights of variance `2/(fan_in + fan_out)`, biases of zero (Glorot & Bengio 2010).

    A kernel's fans count its height and width, as everywhere.
    """
    require_standard("glorot", model)
    checks.one_of("distribution", distribution, ("uniform", "normal"))
    deviations = [(2 / (weight.fan_in + weight.fan_out)) ** 0.5 for weight in _weights(model)]
    return _draw(model, key, deviations, dtype, distribution)


def torch_default(model: AbstractModel, key: AnyKey, dtype: DTypeLike | None = None) -> Any:
    """Weights and biases uniform within ±1/√fan_in, as PyTorch gives them to `nn.Linear` and `nn.Conv2d`."""
    require_standard("torch_default", model)
    deviations = [(3 * parameter.fan_in) ** -0.5 for parameter in jax.tree.leaves(model.layout())]
    return _draw(model, key, deviations, dtype, "uniform", drawn=lambda parameter: True)


def _is_weight(parameter: Parameter) -> bool:
    return parameter.kind == "weight"


def _weights(model: AbstractModel) -> list[Parameter]:
    return [parameter for parameter in jax.tree.leaves(model.layout()) if _is_weight(parameter)]


def _draw(
    model: AbstractModel,
    key: AnyKey,
    deviations: Sequence[ArrayLike],
    dtype: DTypeLike | None,
    distribution: Distribution = "normal",
    drawn: Callable[[Parameter], bool] = _is_weight,
) -> Any:
    """Parameters whose drawn arrays have the given standard deviations, in the order of the layout; others are zero."""
    dtype = jnp.zeros(()).dtype if dtype is None else checks.dtype("dtype", dtype)
    leaves, structure = jax.tree.flatten(model.layout())
    chosen = [leaf for leaf in leaves if drawn(leaf)]
    # One draw, cut into layers: a generator per layer would take several times as long to compile.
    cuts = np.cumsum([prod(leaf.shape) for leaf in chosen])
    shape = (int(cuts[-1]),)
    if distribution == "normal":
        entries = jax.random.normal(as_key(key), shape, dtype)
    else:  # of variance 1
        entries = jax.random.uniform(as_key(key), shape, dtype, minval=-(3**0.5), maxval=3**0.5)
    parts = zip(deviations, jnp.split(entries, cuts[:-1]), strict=True)

    def array(leaf: Parameter) -> Array:
        if not drawn(leaf):
            return jnp.zeros(leaf.shape, dtype)
        deviation, part = next(parts)
        return jnp.asarray(deviation, dtype) * part.reshape(leaf.shape)

    return jax.tree.unflatten(structure, [array(leaf) for leaf in leaves])
