"""Checks of what users pass to functions of NumPy: one for every kind of argument, called where it enters.

Used by `theory` and by what `measure` does outside compiled loops; `checks` has what takes JAX arrays. It imports no JAX.

One rule: an argument that cannot be used raises a `ValueError` that reads "name must be …; got …", whether its type, its
shape or its value is at fault. Nothing is converted in silence. Integers and shorter floats become float64; complex
numbers, truth values, dates, text, objects and arrays with masked entries are refused rather than turned into numbers,
and so is what is not a number. Infinity is allowed only where a function says so.
"""

import math
import operator
import os
from collections.abc import Callable, Collection, Sequence, Set
from itertools import pairwise
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Layers = tuple[Array, ...]
Word = TypeVar("Word", bound=str)

LARGEST = 2**63 - 1
"""The largest whole number: what 64 bits count."""
MOST_LAYERS = 10_000
"""Layers of a network, where every one is a pass."""
MOST_NUMBERS = 2**30
"""Numbers in an array that is made to a size asked for: 8 GiB."""
SQUARED = 1e150
"""What is larger overflows when it is squared."""


def real(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    infinite: bool = False,
) -> Array:
    """Return an array of any shape as float64, all of it within the bounds.

    Args:
        name: what the caller calls it.
        value: a number or an array of them.
        least: every entry must be at least this.
        above: every entry must be above this.
        most: every entry must be at most this.
        below: every entry must be below this.
        infinite: whether infinity, too, is within the bounds.
    """
    array = _floats(name, value)
    good = ~np.isnan(array) if infinite else np.isfinite(array)
    for bound, holds in ((least, np.greater_equal), (above, np.greater), (most, np.less_equal), (below, np.less)):
        if bound is not None:
            good &= holds(array, bound)
    if not good.all():
        words = _range("numbers" if array.ndim else "a number", least, above, most, below, infinite)
        raise ValueError(f"{name} must be {words}; got {_first(array, ~good)}")
    return array


def number(name: str, value: Any, **bounds: Any) -> float:
    """Return one real number; the bounds are those of :func:`real`."""
    array = real(name, value, **bounds)
    if array.ndim:
        raise ValueError(f"{name} must be one number; got shape {array.shape}")
    return float(array)


def count(name: str, value: Any, least: int = 1, most: int = LARGEST) -> int:
    """Return a whole number between two bounds, both allowed."""
    try:
        n = operator.index(value)
    except TypeError:
        n = None
    if n is None or isinstance(value, bool) or n < least or n > most:
        limits = f"a whole number of at least {least}"
        bounded = most != LARGEST or (n is not None and n > most)  # a bound that is out of the way is not told
        raise ValueError(f"{name} must be {limits}{f' and at most {most}' if bounded else ''}; got {shown(value)}")
    return n


def depth(name: str, value: Any, least: int = 1) -> int:
    """Return a number of layers that are gone through one by one."""
    return count(name, value, least, MOST_LAYERS)


def held(name: str, *shape: int) -> tuple[int, ...]:
    """Return the shape of an array that a size leads to, if the array is one that memory can hold."""
    if (numbers := math.prod(shape)) > MOST_NUMBERS:
        raise ValueError(f"{name} must lead to arrays of at most {MOST_NUMBERS} numbers; got {numbers}, shape {shape}")
    return shape


def counts(name: str, value: Any, least: int = 1) -> tuple[int, ...]:
    """Return a row of whole numbers, such as the widths of a network."""
    if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray) or np.ndim(value) != 1:
        raise ValueError(f"{name} must be a row of whole numbers; got {shown(value)}")
    return tuple(count(f"{name}[{i}]", entry, least) for i, entry in enumerate(value))


def vector(name: str, value: Any, length: int | None = None, **bounds: Any) -> Array:
    """Return a vector of at least one number, or of exactly `length`; the bounds are those of :func:`real`."""
    array = real(name, value, **bounds)
    if array.ndim != 1 or array.size == 0 or (length is not None and array.size != length):
        raise ValueError(f"{name} must be a vector of {length or 'at least one'} number(s); got shape {array.shape}")
    return array


def rising(name: str, value: Any, length: int | None = None, *, strictly: bool = True, **bounds: Any) -> Array:
    """Return a vector that rises, without repeats if `strictly`."""
    array = vector(name, value, length, **bounds)
    gaps = np.diff(array)
    if not (gaps > 0 if strictly else gaps >= 0).all():
        k = int(np.argmax(gaps <= 0 if strictly else gaps < 0))
        raise ValueError(f"{name} must be rising numbers; got {array[k]:g} before {array[k + 1]:g}")
    return array


def indices(name: str, value: Any, length: int, below: int) -> NDArray[np.int64]:
    """Return `length` whole numbers, all at least 0 and below the bound."""
    array = vector(name, value, length, least=0, below=below)
    if np.asarray(value).dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers; got {np.asarray(value).dtype}")
    return array.astype(np.int64)


def matrices(
    name: str, value: Any, shape: tuple[int, ...] | None = None, *, most: float = np.finfo(np.float64).max
) -> Array:
    """Return a finite matrix, or a stack of them along leading axes; of the given shape, if one is given.

    No entry may be larger in size than `most`: `SQUARED` where squares are taken.
    """
    array = _floats(name, value)
    if array.ndim < 2 or 0 in array.shape:
        raise ValueError(f"{name} must be a matrix with at least one row and column; got shape {array.shape}")
    if shape is not None and array.shape != shape:
        raise ValueError(f"{name} must be of shape {shape}; got {array.shape}")
    finite = np.isfinite(array)
    if not finite.all():
        raise ValueError(f"{name} must be finite; got {_first(array, ~finite)}")
    if (large := np.abs(array) > most).any():
        raise ValueError(f"{name} must have entries of at most {most:g} in size; got {_first(array, large)}")
    return array


def matrix(name: str, value: Any, shape: tuple[int, ...] | None = None, **bounds: Any) -> Array:
    """Return one matrix; what else is asked of it is that of :func:`matrices`."""
    array = matrices(name, value, shape, **bounds)
    if array.ndim != 2:
        raise ValueError(f"{name} must be one matrix; got shape {array.shape}")
    return array


def square(name: str, value: Any) -> Array:
    """Return a square matrix, or a stack of them."""
    array = matrices(name, value)
    if array.shape[-1] != array.shape[-2]:
        raise ValueError(f"{name} must be square; got shape {array.shape}")
    return array


def examples(name: str, value: Any, least: int = 1) -> np.ndarray:
    """Return a matrix of examples in the real type it comes in, not yet looked at: it may be too large to convert."""
    array = numeric(name, value)
    if array.ndim != 2 or len(array) < least or array.shape[1] == 0:
        raise ValueError(f"{name} must be a matrix of at least {least} example(s), one a row; got shape {array.shape}")
    return array


def labels(name: str, value: Any, examples: int) -> Array:
    """Return finite labels of the given number of examples, (n,) or (n, k)."""
    y = real(name, value)
    if y.ndim not in (1, 2) or len(y) != examples or 0 in y.shape:
        raise ValueError(f"{name} must be labels (n,) or (n, k) of n = {examples} examples; got shape {y.shape}")
    return y


def classes(name: str, value: Any) -> np.ndarray:
    """Return names or numbers of classes, of any shape: whole numbers, truth values or text."""
    if _masked(value):
        raise ValueError(f"{name} must be classes without a mask; got masked entries")
    try:
        array = np.asarray(value)
    except Exception as problem:  # whatever a foreign array or a ragged list raises, the argument is at fault
        raise ValueError(f"{name} must be an array of classes; got {shown(value)} ({problem})") from None
    whole = array.dtype.kind == "f" and bool((array == np.round(array)).all())
    if array.dtype.kind not in "iubUS" and not whole:
        raise ValueError(f"{name} must be whole numbers, truth values or text; got {shown(array)}")
    return array


def layers(value: Any, name: str = "layers") -> Layers:
    """Return layers (W_1, …, W_n), first layer first, as matrices that can be multiplied: W_j is (d_j, d_{j−1})."""
    listed = isinstance(value, Sequence) or (isinstance(value, np.ndarray) and value.ndim > 0)
    if isinstance(value, str | bytes) or not listed or len(value) == 0:
        raise ValueError(f"{name} must be a sequence of at least one matrix; got {shown(value)}")
    Ws = tuple(matrix(f"{name}[{j}]", W) for j, W in enumerate(value))
    for j, (before, after) in enumerate(pairwise(Ws), start=1):
        if after.shape[1] != before.shape[0]:
            raise ValueError(
                f"{name}[{j}] must be a matrix of {before.shape[0]} columns to follow {name}[{j - 1}] of shape "
                f"{before.shape}; got shape {after.shape}"
            )
    return Ws


def together(**arrays: Array | np.floating) -> tuple[int, ...]:
    """Return the shape that arrays broadcast to."""
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = ", ".join(str(array.shape) for array in arrays.values())
        raise ValueError(f"{', '.join(arrays)} must be of shapes that broadcast; got {shapes}") from None


def one_of(name: str, value: Any, allowed: Collection[Word], besides: str = "") -> Word:
    """Return a word that is among those allowed; `besides` names what else the caller would take."""
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(map(repr, allowed)) + (f" or {besides}" if besides else "")
        raise ValueError(f"{name} must be one of {words}; got {shown(value)}")
    return cast(Word, value)


def text(name: str, value: Any) -> str:
    """Return text."""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text; got {shown(value)}")
    return value


def truth(name: str, value: Any) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False; got {shown(value)}")
    return bool(value)


def function(name: str, value: Any) -> Callable[..., Any]:
    """Return something that can be called."""
    if not callable(value):
        raise ValueError(f"{name} must be a function; got {shown(value)}")
    return value


def instance(name: str, value: Any, kind: type) -> Any:
    """Return an object of one of this package's own types."""
    if not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}; got {shown(value)}")
    return value


def path(name: str, value: Any) -> Path:
    """Return the path of a file or folder, given as text or as a path; nothing is looked up."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else b""
    if not isinstance(text, str) or not text or "\0" in text:
        raise ValueError(f"{name} must be a path, as text or a pathlib.Path; got {shown(value)}")
    return Path(text)


def words(name: str, value: Any) -> tuple[str, ...]:
    """Return a sequence of words, such as names of columns."""
    listed = isinstance(value, Sequence | Set) or (isinstance(value, np.ndarray) and value.ndim == 1)
    if isinstance(value, str | bytes) or not listed or not all(isinstance(word, str) for word in value):
        raise ValueError(f"{name} must be a sequence of words; got {shown(value)}")
    return tuple(map(str, value))


def listed(name: str, value: Any) -> list[Any]:
    """Return what can be walked through as a list; text is taken for one word, not for its letters."""
    try:
        found = None if isinstance(value, str | bytes) else list(value)
    except Exception:  # whatever a foreign array raises that only looks like a sequence
        found = None
    if found is None:
        raise ValueError(f"{name} must be a sequence; got {shown(value)}")
    return found


def array(name: str, value: Any) -> np.ndarray:
    """Return an array of any type, without a mask; neither its type nor its values are looked at."""
    if _masked(value):
        raise ValueError(f"{name} must be an array without a mask; got masked entries")
    try:
        return np.asarray(value)
    except Exception as problem:  # whatever a foreign array or a ragged list raises, the argument is at fault
        raise ValueError(f"{name} must be an array; got {shown(value)} ({problem})") from None


def numeric(name: str, value: Any) -> np.ndarray:
    """Return an array of real numbers in the type it comes in, its values not yet looked at."""
    if type(value) is float:
        return np.array(value)
    if type(value) is not np.ndarray:
        if _masked(value):
            raise ValueError(f"{name} must be numbers without a mask; got masked entries")
        try:
            value = np.asarray(value)
        except Exception as problem:  # whatever a foreign array or a ragged list raises, the argument is at fault
            raise ValueError(f"{name} must be real numbers in an array; got {shown(value)} ({problem})") from None
    # Floating-point types from outside NumPy, such as bfloat16, are of kind V but have a scalar type of their own.
    if value.dtype.kind in "iuf" or (value.dtype.kind == "V" and value.dtype.type is not np.void):
        return value
    if _all_real(value):
        try:
            return value.astype(np.float64)
        except (OverflowError, TypeError, ValueError):
            pass
    raise ValueError(f"{name} must be real numbers; got {shown(value)}")


def _floats(name: str, value: Any) -> Array:
    """The argument as float64, its values not yet looked at."""
    array = numeric(name, value)
    return array if array.dtype == np.float64 else array.astype(np.float64)


def _all_real(array: np.ndarray) -> bool:
    """Whether an array of objects holds numbers, such as integers beyond 64 bits or fractions, and nothing else."""
    return array.dtype.kind == "O" and all(isinstance(x, Real) and not isinstance(x, bool) for x in array.flat)


def _masked(value: Any) -> bool:
    if isinstance(value, np.ma.MaskedArray):
        return bool(np.ma.getmaskarray(value).any())
    return isinstance(value, list | tuple) and any(_masked(entry) for entry in value if not isinstance(entry, Real))


def _range(
    noun: str, least: float | None, above: float | None, most: float | None, below: float | None, infinite: bool
) -> str:
    limits = {"of at least": least, "above": above, "at most": most, "below": below}
    bounds = " and ".join(f"{words} {bound:g}" for words, bound in limits.items() if bound is not None)
    article, plain = ("a ", noun[2:]) if noun.startswith("a ") else ("", noun)
    return f"{article}{'' if infinite else 'finite '}{plain}{' ' + bounds if bounds else ''}"


def _first(array: Array, bad: Any) -> str:
    """The first bad entry, and where it is."""
    where = tuple(int(i) for i in np.argwhere(bad)[0]) if array.ndim else ()
    return f"{array[where]:g}" + (f" at entry {where}" if where else "")


def shown(value: Any) -> str:
    """Return a short description of a value for an error message, on one line and without control characters."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} of shape {value.shape}" if value.ndim else f"{value.dtype} {value}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{type(value).__name__} {text[:50]}…"
