"""Autoencoders with linear layers between encoder and decoder, after Jing et al. (2020), for Section 4.4."""

from itertools import pairwise
from typing import Any, NamedTuple

import equinox as eqx
import jax

from ...core import AbstractModel, Parameter


class Weights(NamedTuple):
    """Matrices and biases of encoder and decoder, and the matrices between them."""

    encoder: tuple[tuple[Any, Any], ...]
    linear: tuple[Any, ...]
    decoder: tuple[tuple[Any, Any], ...]


class Reconstruction(eqx.Module):
    """What an autoencoder computes: rows in, rows out, through a code."""

    weights: Weights

    def code(self, X: jax.Array) -> jax.Array:
        """What the decoder is given: the encoder's output, through all linear layers."""
        h = _dense(self.weights.encoder, X)
        for W in self.weights.linear:
            h = h @ W.T
        return h

    def decode(self, codes: jax.Array) -> jax.Array:
        """Rows from codes."""
        return _dense(self.weights.decoder, codes)

    def __call__(self, X: jax.Array) -> jax.Array:
        """The reconstruction of the rows of X."""
        return self.decode(self.code(X))


class Autoencoder(AbstractModel):
    """Dense layers with ReLU down to a code, linear layers on it, and dense layers with ReLU back up.

    Attributes:
        pixels: Entries of a row.
        hidden: Widths of the encoder's hidden layers; the decoder mirrors them.
        dimension: Of the code.
        added: How many linear layers lie between encoder and decoder.
    """

    pixels: int = eqx.field(static=True)
    hidden: tuple[int, ...] = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    added: int = eqx.field(static=True)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows come out as long as they go in."""
        return self.pixels, self.pixels

    def layout(self) -> Weights:
        """Matrices, with biases but for the linear layers."""
        down = (self.pixels, *self.hidden, self.dimension)
        square = Parameter((self.dimension,) * 2, self.dimension, self.dimension)
        return Weights(_parameters(down), (square,) * self.added, _parameters(down[::-1]))

    def end_to_end(self, parameters: Weights) -> Reconstruction:
        """The function that the weights compute."""
        return Reconstruction(parameters)


def _parameters(widths: tuple[int, ...]) -> tuple[tuple[Parameter, Parameter], ...]:
    return tuple((Parameter((b, a), a, b), Parameter((b,), a, b, kind="bias")) for a, b in pairwise(widths))


def _dense(layers: tuple[tuple[jax.Array, jax.Array], ...], X: jax.Array) -> jax.Array:
    """Dense layers with ReLU between them."""
    h = X
    for i, (W, b) in enumerate(layers):
        h = h @ W.T + b[None, :]
        h = jax.nn.relu(h) if i + 1 < len(layers) else h
    return h
