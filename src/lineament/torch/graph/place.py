"""Where the examples are in a tensor: which of its axes they lie along, whatever views and products did to it."""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from torch import Tensor


class UnknownError(Exception):
    """There is something in a graph that no rule knows, or that no rule is sure of."""


class Place(NamedTuple):
    """Examples along an axis of `before · examples · after` numbers, those after an example next to each other."""

    axis: int
    before: int = 1
    after: int = 1


# A tensor that has no axis of examples has no place (None): it is the same for all, or there is but one example. Its
# derivatives differ from example to example nevertheless, and have them along their first axis, before the outputs.
Somewhere = Place | None


def viewed(place: Somewhere, shape: Sequence[int], new: Sequence[int], n: int) -> Somewhere:
    """Where the n examples are once a tensor is viewed as another shape."""
    if place is None:
        return None
    ahead = prod(shape[: place.axis]) * place.before  # numbers along all that varies more slowly than examples do
    passed = 1
    for axis, size in enumerate(new):
        before, left = divmod(ahead, passed)
        if not left and before and not size % (before * n):
            return Place(axis, before, size // (before * n))
        passed *= size
    raise UnknownError("a view that splits examples")


def apart(d: Tensor, place: Place, n: int) -> Tensor:
    """Derivatives (outputs, …) with their examples first: (examples, outputs, …), the axis they leave kept."""
    axis = place.axis + 1
    if place.before == 1:
        return d.unflatten(axis, (n, place.after)).movedim(axis, 0)
    split = d.unflatten(axis, (place.before, n, place.after)).movedim(axis + 1, 0)
    return split.flatten(axis + 1, axis + 2)


def few(d: Tensor, place: Somewhere, n: int, count: int) -> Tensor:
    """Derivatives at the first examples."""
    if place is None:
        return d.unflatten(0, (n, -1))[:count]
    if place.before == 1:
        return d.narrow(place.axis + 1, 0, min(count, n) * place.after)
    return d.unflatten(place.axis + 1, (place.before, n, place.after)).narrow(place.axis + 2, 0, min(count, n))


def onto(d: Tensor, place: Somewhere, shape: Sequence[int], n: int) -> tuple[Tensor, Somewhere]:
    """Derivatives by a tensor of some shape that was broadcast: sums over what it was broadcast to, but over examples."""
    if list(d.shape[1:]) == list(shape):
        return d, place
    extra = d.ndim - 1 - len(shape)
    grown = [axis for axis, size in enumerate(shape, extra) if size == 1 and d.shape[axis + 1] != 1]
    summed = [*range(extra), *grown]
    if place is not None and place.axis in summed:
        # Sums first, then examples before outputs in memory: sums are small.
        return apart(d, place, n).sum([axis + 2 for axis in summed]).reshape(-1, *shape), None
    if place is not None:
        place = place._replace(axis=place.axis - extra)
    return d.sum([axis + 1 for axis in summed]).reshape(d.shape[0], *shape), place


def refuse_along(place: Somewhere, *axes: int) -> None:
    """Refuse a function that works along the examples."""
    if place is not None and place.axis in axes:
        raise UnknownError("a function along the examples")
