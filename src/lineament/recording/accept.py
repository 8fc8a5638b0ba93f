"""Checks of the arrays a recording is made of. Each error names the argument, what was given, and what is allowed."""

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core import arguments
from .top import Top

Floats = NDArray[np.floating]
Courses = Mapping[str, ArrayLike]


def steps(value: ArrayLike) -> NDArray[np.float64]:
    """When each record was made: rising numbers (step,)."""
    array = np.atleast_1d(arguments.numeric("steps", value).astype(np.float64))
    if array.ndim != 1 or not np.isfinite(array).all() or (np.diff(array) <= 0).any():
        raise ValueError(f"steps must be rising finite numbers, one for each record; got {value}")
    return array


def outputs(name: str, value: ArrayLike, T: int) -> Floats:
    """Outputs (step, example, output) of any framework's real numbers."""
    array = arguments.numeric(name, value)
    array = array if np.issubdtype(array.dtype, np.floating) else array.astype(np.float64)
    array = array[..., None] if array.ndim == 2 else array
    if array.ndim != 3 or len(array) != T or 0 in array.shape[1:]:
        raise ValueError(
            f"{name} must be (step, example) or (step, example, output) with {T} steps; got shape {np.shape(value)}"
        )
    return array


def linearised(value: ArrayLike, given: Floats | None, T: int) -> Floats:
    """Outputs of a network's linearisation, of the shape of its outputs."""
    array = outputs("linearised", value, T)
    if given is None or given.shape != array.shape:
        raise ValueError(f"linearised must have the shape of outputs; got {array.shape}")
    return array


def predictions(value: ArrayLike, T: int) -> NDArray[np.int64]:
    """Chosen classes (step, example)."""
    array = arguments.array("predictions", value)
    if array.ndim != 2 or len(array) != T or not array.shape[1] or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(
            f"predictions must be whole numbers (step, example) with {T} steps; got {array.dtype} {array.shape}"
        )
    return array.astype(np.int64)


def top(value: Top, T: int) -> Top:
    """The largest outputs and their classes (step, example, place), and the labelled outputs (step, example)."""
    arguments.instance("top", value, Top)
    classes, values = np.asarray(value.classes), np.asarray(value.values)
    values = values if np.issubdtype(values.dtype, np.floating) else values.astype(np.float64)
    labelled = None if value.labelled is None else np.asarray(value.labelled)
    if classes.ndim != 3 or classes.shape != values.shape or len(classes) != T or 0 in classes.shape[1:]:
        raise ValueError(
            f"top must hold classes and values (step, example, place) with {T} steps; got shapes {classes.shape} and "
            f"{values.shape}"
        )
    if not np.issubdtype(classes.dtype, np.integer) or classes.min() < 0:
        raise ValueError(f"top must hold classes that are whole numbers from 0; got {classes.dtype}")
    if labelled is not None and labelled.shape != classes.shape[:2]:
        raise ValueError(f"top must hold one labelled output for each of {classes.shape[:2]}; got {labelled.shape}")
    return Top(classes, values, labelled)


def inputs(value: ArrayLike, n: int) -> NDArray:
    """Probe inputs (example, …), of any dtype."""
    array = arguments.array("inputs", value)
    if array.ndim < 1 or len(array) != n:
        raise ValueError(f"inputs must hold the {n} probe examples along their first axis; got shape {array.shape}")
    return array


def labels(value: ArrayLike, n: int, given: Floats | None) -> NDArray:
    """Classes (example,) as whole numbers, or targets (example, output) as real ones."""
    array = arguments.array("labels", value)
    array = array if array.dtype == np.bool_ else arguments.numeric("labels", array)
    if array.ndim < 1 or len(array) != n:
        raise ValueError(f"labels must be one per probe example, {n} of them; got shape {array.shape}")
    k = None if given is None else given.shape[2]
    whole = array.dtype == np.bool_ or np.issubdtype(array.dtype, np.integer)
    # Classes as a column, as data sets of Keras have them; several outputs cannot have one target.
    array = array[:, 0] if whole and array.shape[1:] == (1,) and k != 1 else array
    # One output tells two classes apart: whole numbers beyond 0 and 1 are then targets.
    if whole and array.ndim == 1 and not (k == 1 and (array.min() < 0 or array.max() > 1)):
        return _class_numbers(array.astype(np.int64), k)
    return _targets(array, (n, k))


def _class_numbers(array: NDArray[np.int64], k: int | None) -> NDArray[np.int64]:
    if array.min() < 0 or (k is not None and k > 1 and array.max() >= k):
        last = "" if k is None else f" to {k - 1}"
        raise ValueError(f"labels must be classes from 0{last}; got {array.min()} to {array.max()}")
    return array


def _targets(array: NDArray, shape: tuple[int, int | None]) -> NDArray[np.float64]:
    targets = np.asarray(array, np.float64)
    targets = targets[:, None] if targets.ndim == 1 else targets
    if targets.shape != shape or not np.isfinite(targets).all():
        classes = array.size == len(array) and bool((array == np.rint(array)).all())
        hint = ": give classes as whole numbers" if classes and np.issubdtype(array.dtype, np.floating) else ""
        raise ValueError(
            f"labels that are no classes must be finite targets of shape {shape}; got {array.shape}{hint}"
        )
    return targets


def classes(given: Floats, truth: NDArray | None) -> NDArray[np.int64] | None:
    """The classes that outputs choose, or None where there is nothing to choose."""
    if truth is not None and not np.issubdtype(truth.dtype, np.integer):
        return None
    if given.shape[2] == 1:
        return None if truth is None else (given[..., 0] > 0).astype(np.int64)
    return np.argmax(given, axis=2)


def loss(given: Iterable[float | None] | None, T: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The loss at each record, NaN where there is none, and whether there is one."""
    if given is not None and (not isinstance(given, Iterable) or getattr(given, "ndim", 1) != 1):
        raise ValueError(f"loss must have one entry for each of the {T} steps; got {arguments.shown(given)}")
    values = [None] * T if given is None else list(given)
    if len(values) != T:
        raise ValueError(f"loss must have one entry for each of the {T} steps, None if not known; got {len(values)}")
    known = np.array([value is not None for value in values], bool)
    return np.array([np.nan if value is None else _number("loss", value) for value in values]), known


def _number(name: str, value: float) -> float:
    """One number, of any framework, that may be none: a run that diverged is recorded too."""
    array = arguments.numeric(name, value)
    if array.size != 1:
        raise ValueError(f"{name} must be one number at each step; got shape {array.shape}")
    return float(array.reshape(()))


def courses(name: str, given: Courses | None, T: int, ndim: int) -> dict[str, NDArray[np.float64]]:
    """A course for each name."""
    if given is not None and not isinstance(given, Mapping):
        raise ValueError(f"{name} must be a mapping of names to arrays; got {arguments.shown(given)}")
    return {key: course(f"{name}[{key!r}]", value, T, ndim) for key, value in (given or {}).items()}


def course(name: str, value: ArrayLike | None, T: int, ndim: int) -> NDArray[np.float64]:
    """One array along the steps; NaN where none is given."""
    array = np.full(T, np.nan) if value is None else arguments.numeric(name, value).astype(np.float64)
    if array.ndim != ndim or len(array) != T:
        raise ValueError(f"{name} must have {ndim} dimension(s), the first of {T} steps; got shape {array.shape}")
    return array
