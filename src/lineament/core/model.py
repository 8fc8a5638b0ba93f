"""What can be trained: a model turns parameters into a map.

A *map* is what is learnt: for linear networks the end-to-end matrix of shape (outputs, inputs), for tensor
factorisations the tensor, for other networks a function that takes rows of examples to rows of outputs.
"""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from . import checks
from .arguments import shown

Rows: TypeAlias = Float[Array, "n in"] | Float[np.ndarray, "n in"]
"""A matrix of examples, one in each row."""
Map: TypeAlias = Float[Array, "..."] | Callable[[Float[Array, "n in"]], Float[Array, "n out"]]


@dataclass(frozen=True)
class Parameter:
    """What a start needs to know of one array of a model's parameters.

    Attributes:
        shape: Of the array.
        fan_in: How many numbers enter each output of the layer that it belongs to.
        fan_out: How many outputs each of these numbers reaches.
        kind: "weight", or "bias" for what is added.
        gain: The variance, times fan_in, of weights that keep the size of a signal: 2 before a rectifier, else 1.
    """

    shape: tuple[int, ...]
    fan_in: int
    fan_out: int
    kind: Literal["weight", "bias"] = "weight"
    gain: float = 1.0

    def __post_init__(self) -> None:
        checks.sizes("shape", self.shape, 0)
        checks.whole("fan_in", self.fan_in)
        checks.whole("fan_out", self.fan_out)
        checks.one_of("kind", self.kind, ("weight", "bias"))
        checks.positive("gain", self.gain)


class AbstractModel(eqx.Module):
    """What can be trained. A model of one's own has the property `shape` and two methods, `layout` and `end_to_end`.

    It holds no parameters: they travel as a tree of arrays of their own, so that many can be trained at once. Whatever
    it holds, such as widths, is marked as static: `widths: tuple[int, ...] = eqx.field(static=True)`.

    """

    @property
    @abc.abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of its maps: outputs and inputs, or that of a tensor."""

    @abc.abstractmethod
    def layout(self) -> Any:
        """The tree of its parameters, a `Parameter` in place of each array."""

    @abc.abstractmethod
    def end_to_end(self, parameters: Any) -> Map:
        """The map that the parameters compute."""

    def dropped(self, parameters: Any, key: Array) -> Map:
        """The map in one step of training, for a model with dropout; without it, the map itself."""
        return self.end_to_end(parameters)

    @property
    def drops(self) -> bool:
        """Whether there is dropout: training then needs a key."""
        return False

    @property
    def rank(self) -> int | None:
        """The largest rank the end-to-end matrix can have; None where the model does not bound it."""
        return None

    @property
    def large(self) -> bool:
        """Whether one member of an ensemble fills a CPU's cache, so that members are better trained in turn."""
        return False

    def check(self, parameters: Any, members: bool = False) -> None:
        """Refuse parameters that are not this model's; with `members`, every array has a member axis before its own."""
        if not all(hasattr(leaf, "shape") for leaf in jax.tree.leaves(parameters)):
            raise ValueError(f"start must be a tree of arrays, the parameters of {self}; got {shown(parameters)}")
        layout = self.layout()
        expected = jax.tree.map(lambda leaf: leaf.shape, layout)
        shapes = jax.tree.map(lambda leaf: tuple(leaf.shape[members:]), parameters)
        if jax.tree.structure(parameters) != jax.tree.structure(layout) or shapes != expected:
            raise ValueError(f"start must have the shapes {expected} of {self}; got {shapes}")

    def __repr__(self) -> str:
        return eqx.tree_pformat(self, width=10_000, short_arrays=True)


def require_model(model: object) -> None:
    """Refuse what is no model, naming what it lacks."""
    if isinstance(model, AbstractModel):
        return
    names = ("shape", "layout", "end_to_end")
    lacks = [name for name in names if not hasattr(model, name)]
    raise TypeError(
        f"model must be a lineament.core.AbstractModel; got {type(model).__name__}, "
        + (f"which lacks {', '.join(lacks)}" if lacks else "which does not derive from it")
    )


def map_shape(model: AbstractModel, parameters: Any) -> jax.ShapeDtypeStruct | None:
    """The shape of the model's maps, or None where they are functions of examples. Nothing is computed."""

    def shape(parameters: Any) -> Any:
        map = model.end_to_end(parameters)
        return None if callable(map) else map

    return jax.eval_shape(shape, parameters)
