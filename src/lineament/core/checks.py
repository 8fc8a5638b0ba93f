"""Checks of what users pass in. Each error names the argument, what was given, and what is allowed."""

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from numpy.typing import ArrayLike

from . import arguments

LARGEST = 2**31 - 1
"""The longest axis of an array, and the most steps of a run: what 32 bits count."""


def real_array(name: str, value: Any, ndim: int) -> jax.Array:
    """Return `value` as a floating-point array of the asked dimension, all of it finite.

    Values inside a transformation such as `vmap` cannot be looked at; only their shape is checked.
    """
    array = floating(name, value)
    if array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s); got shape {array.shape}")
    if not isinstance(array, Tracer) and not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite; entry {where} is {np.asarray(array)[where]}")
    return array


def floating(name: str, value: Any) -> jax.Array:
    """Return `value` as a floating-point array of any shape; integers are converted, nothing else is."""
    array = value if isinstance(value, jax.Array) else taken(name, arguments.numeric(name, value), whole=False)
    if not jnp.issubdtype(array.dtype, jnp.floating):
        if not jnp.issubdtype(array.dtype, jnp.integer):
            raise ValueError(f"{name} must be real numbers; got {array.dtype}")
        array = array.astype(jnp.zeros(()).dtype)
    return array


def taken(name: str, array: np.ndarray, *, whole: bool) -> jax.Array:
    """Return an array of real numbers as JAX's, where its numbers fit what JAX computes in at the moment.

    With its 64-bit flag off JAX would cut whole numbers off at 32 bits, and turn what float32 cannot hold into infinity
    or zero, without a word. Byte orders and precisions that it does not know become those that it does.

    Args:
        name: what the caller calls it.
        array: as NumPy has it.
        whole: whether integers stay whole.
    """
    if (array.dtype.kind == "f" and array.dtype.itemsize > 8) or (array.dtype.kind in "iu" and not whole):
        array = array.astype(np.float64)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    kept = jax.dtypes.canonicalize_dtype(array.dtype)
    if kept != array.dtype and array.size:
        _refuse_unheld(name, array, kept)
    return jnp.asarray(array)


def _refuse_unheld(name: str, array: np.ndarray, kept: np.dtype) -> None:
    """Refuse numbers that a shorter type does not hold; infinities and what is no number stay as they are."""
    if array.dtype.kind == "f":
        sizes = np.abs(array[np.isfinite(array)])
        largest, smallest = float(sizes.max(initial=0.0)), float(np.finfo(kept).tiny)
        fits = largest == 0 or smallest <= largest <= float(np.finfo(kept).max)
        range_ = f"sizes from {smallest:.2g} to {float(np.finfo(kept).max):.2g}"
    else:
        bounds = np.iinfo(kept)
        largest = max(int(array.max()), int(array.min()), key=abs)
        fits = int(array.min()) >= bounds.min and int(array.max()) <= bounds.max
        range_ = f"{bounds.min} to {bounds.max}"
    if not fits:
        raise ValueError(
            f"{name} must fit {kept}, {range_}, while JAX's 64-bit flag is off; got {largest:.6g}. Rescale it, or call "
            'jax.config.update("jax_enable_x64", True) first'
        )


def matrices(name: str, value: Any) -> jax.Array:
    """Return a floating-point matrix, or a stack of them along leading axes; its values are not looked at."""
    array = floating(name, value)
    if array.ndim < 2 or 0 in array.shape:
        raise ValueError(f"{name} must be a matrix with at least one row and column; got shape {array.shape}")
    return array


def matrix(name: str, value: Any) -> jax.Array:
    """Return one floating-point matrix; its values are not looked at."""
    array = matrices(name, value)
    if array.ndim != 2:
        raise ValueError(f"{name} must be one matrix; got shape {array.shape}")
    return array


def layers(value: Any) -> tuple[jax.Array, ...]:
    """Return layers (W_1, …, W_n), first layer first, whose shapes (d_j, d_{j−1}) fit together."""
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) == 0:
        raise ValueError(f"layers must be a sequence of at least one matrix; got {arguments.shown(value)}")
    matrices = tuple(matrix(f"layers[{j}]", W) for j, W in enumerate(value))
    for j, (before, after) in enumerate(pairwise(matrices), start=1):
        if after.shape[1] != before.shape[0]:
            raise ValueError(f"layers[{j}] must be of {before.shape[0]} columns; got shape {after.shape}")
    return matrices


def columns(name: str, value: Any) -> jax.Array:
    """Return `value` as a matrix of rows of examples; a vector becomes one column."""
    array = floating(name, value)
    return real_array(name, array[:, None] if array.ndim == 1 else array, 2)


def same_length(**named: jax.Array) -> None:
    """Refuse arrays whose first axes differ."""
    lengths = {name: array.shape[0] for name, array in named.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(
            f"{' and '.join(named)} must have equally many rows; got {', '.join(f'{k} {v}' for k, v in lengths.items())}"
        )
    if not all(lengths.values()):
        raise ValueError(f"{' and '.join(named)} must hold at least one example; got none")


def positive(name: str, value: Any) -> None:
    """Refuse anything but positive finite numbers."""
    if isinstance(value, Tracer):
        return
    array = arguments.numeric(name, value).astype(np.float64)
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise ValueError(f"{name} must be positive and finite; got {arguments.shown(value)}")


def scale(name: str, value: Any) -> jax.Array | float:
    """Return one positive finite number; members have their own inside `vmap`."""
    positive(name, value)
    if np.ndim(value):
        raise ValueError(f"{name} must be one positive number; got shape {np.shape(value)}")
    return value if isinstance(value, jax.Array) else float(arguments.numeric(name, value))


def rate(name: str, value: ArrayLike) -> None:
    """Refuse anything but a positive finite number, or one for each member."""
    positive(name, value)
    _for_members(name, value)


def not_negative(name: str, value: ArrayLike) -> None:
    """Refuse anything but a number, or one for each member, that is finite and not negative."""
    array = arguments.numeric(name, value).astype(np.float64)
    if not (np.isfinite(array).all() and (array >= 0).all()):
        raise ValueError(f"{name} must be finite and not negative; got {arguments.shown(value)}")
    _for_members(name, value)


def _for_members(name: str, value: ArrayLike) -> None:
    if np.ndim(value) > 1 or not np.size(value):
        raise ValueError(f"{name} must be one number, or one for each member; got shape {np.shape(value)}")


def whole(name: str, value: Any, least: int = 1) -> int:
    """Return a whole number that is not below `least`; a float that is one, such as 1e4, counts as one."""
    number = int(value) if isinstance(value, float | np.floating) and float(value).is_integer() else value
    try:
        return arguments.count(name, number, least, LARGEST)
    except ValueError:
        kind = "positive integer" if least == 1 else f"whole number of at least {least}"
        bound = f" up to {LARGEST}" if isinstance(number, int) and number > LARGEST else ""
        raise ValueError(f"{name} must be a {kind}{bound}; got {arguments.shown(value)}") from None


def sizes(name: str, value: Any, least: int = 1) -> tuple[int, ...]:
    """Return positive integers, at least `least` of them."""
    listed = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | Set)
    try:
        checked = tuple(whole(name, number) for number in value) if listed else None
    except (IndexError, TypeError, ValueError):  # arrays without axes and sparse ones cannot be walked through
        checked = None
    if checked is None or len(checked) < least:
        raise ValueError(f"{name} must be at least {least} positive integers; got {arguments.shown(value)}")
    return checked


def share(name: str, value: Any) -> float:
    """Return a number of [0, 1), such as a rate of dropout."""
    number = arguments.number(name, value)
    if not 0 <= number < 1:
        raise ValueError(f"{name} must lie in [0, 1); got {number:g}")
    return number


def rising(name: str, value: ArrayLike) -> np.ndarray:
    """Return at least two rising, finite numbers from 0 on."""
    array = arguments.numeric(name, value).astype(np.float64)
    good = array.ndim == 1 and array.size >= 2 and bool(np.isfinite(array).all()) and array[0] >= 0
    if not good or (np.diff(array) <= 0).any():
        raise ValueError(f"{name} must be at least two rising, finite numbers from 0 on; got {array}")
    return array


def dtype(name: str, value: Any) -> np.dtype:
    """Return a floating-point type."""
    try:
        found = jnp.dtype(value)
    except (TypeError, ValueError):
        found = None
    if found is None or not jnp.issubdtype(found, jnp.floating):
        raise ValueError(f"{name} must be a floating-point type, such as float; got {arguments.shown(value)}")
    return found


def one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    """Refuse a word that is not among those allowed."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {arguments.shown(value)}")
