"""Gradient flow of a linear network's layers in extended precision.

Where a singular value falls below float64's reach, layers in float64 cross det W = 0 by rounding, and logarithms of
singular values cannot cross it by construction. Neither can test whether the sign of det W is kept. Here the layers
themselves are followed, with as many digits as asked for: nothing but precision forbids them to cross.

The flow Ẇ_j = −W_{n:j+1}ᵀ ∇ℓ(W) W_{j−1:1}ᵀ of a quadratic loss, ∇ℓ(W) = c M∘(W − T) with a mask M of observed entries,
is polynomial in the layers: the Taylor coefficients of all layers follow from one another by Cauchy products. Numbers
are integers that count units of 2^{−bits}, which Python adds and multiplies exactly.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

BITS = 256  # 77 decimal digits
Series = list[np.ndarray]  # Taylor coefficients of a matrix, whole numbers of units


class Quadratic(NamedTuple):
    """The loss ½ c ‖M∘(W − T)‖²: observed entries M (zeros and ones), their values T, and a factor c."""

    observed: np.ndarray
    values: np.ndarray
    factor: float


class Extended(NamedTuple):
    """Layers at recorded times, exact to the digits asked for.

    Attributes:
        layers: Whole numbers of units, `layers[time][layer]`.
        bits: A unit is 2^{−bits}.
    """

    layers: list[list[np.ndarray]]
    bits: int

    @property
    def sign_and_log_det(self) -> tuple[np.ndarray, np.ndarray]:
        """The sign and the logarithm of |det W| of the product of square layers, at each time."""
        rows = [_sign_and_log(layers, self.bits) for layers in self.layers]
        signs, logs = zip(*rows, strict=True)
        return np.array(signs), np.array(logs)

    @property
    def maps(self) -> np.ndarray:
        """The end-to-end map at each time, rounded to float64."""
        return np.stack([_rounded(_product(layers, self.bits), self.bits) for layers in self.layers])


def balanced(turns: Sequence[np.ndarray], values: np.ndarray, bits: int = BITS) -> list[np.ndarray]:
    """Layers that are balanced to the last bit, in whole numbers of units, with product Q_n diag(values) Q_0ᵀ.

    Layers that are balanced to float64's rounding only would be an unbalance of 1e-16, which matters where the least
    singular value falls below that.

    Args:
        turns: Q_0, …, Q_n, orthogonal to float64's rounding; they are made orthogonal to the last bit.
        values: The singular values; their n-th roots are taken in float64 and are then exact.
        bits: Binary digits after the point.
    """
    frames = [_orthogonal(Q, bits) for Q in turns]
    roots = _units(np.asarray(values) ** (1 / (len(turns) - 1)), bits)
    return [((after * roots >> bits) @ before.T) >> bits for before, after in pairwise(frames)]


def follow(
    times: np.ndarray, layers: Sequence[np.ndarray], loss: Quadratic, *, bits: int = BITS, order: int = 40
) -> Extended:
    """Follow the layers from time 0 through rising times by Taylor steps.

    A step is so long that the last term of the polynomials is 2^{−2/3 bits}: what is left out is a little less.

    Args:
        times: When to record, rising from 0.
        layers: (W_1, …, W_n) at time 0, in whole numbers of units; see `balanced`.
        loss: The quadratic loss.
        bits: Binary digits after the point.
        order: The degree of the Taylor polynomials.
    """
    state = list(layers)
    mask = np.asarray(loss.observed).astype(int).astype(object)
    target, factor = _units(loss.values, bits), round(loss.factor * 2**64)
    recorded, reached = [], 0
    for time in times:
        end = round(float(time) * 2**64)  # whole numbers, so that no time is lost in adding up steps
        while reached < end:
            series = _taylor(state, mask, target, factor, bits, order)
            length = min(end - reached, round(_longest_step(series, bits) * 2**64))
            state = _advance(series, length)
            reached += length
        recorded.append(state)
    return Extended(recorded, bits)


def _longest_step(series: list[Series], bits: int) -> float:
    """The step at which the last Taylor term is 2^{−2/3 bits}."""
    order = len(series[0]) - 1
    largest = max(int(abs(coefficients[-1]).max()).bit_length() for coefficients in series) - bits
    return 2.0 ** (-(2 * bits / 3 + largest) / order)


def _taylor(
    state: list[np.ndarray], mask: np.ndarray, target: np.ndarray, factor: int, bits: int, order: int
) -> list[Series]:
    """Taylor coefficients of all layers up to the order, by the recursion (k + 1) W_{k+1} = −(gradient)_k."""
    n = len(state)
    series: list[Series] = [[W] for W in state]
    below: list[Series] = [[] for _ in range(n + 1)]  # below[j] = W_j ⋯ W_1
    above: list[Series] = [[] for _ in range(n + 1)]  # above[j] = W_n ⋯ W_{j+1}
    slopes: Series = []
    inner: list[Series] = [[] for _ in range(n)]  # above[j]ᵀ ∇ℓ
    for k in range(order):
        below[1].append(series[0][k])
        for j in range(2, n + 1):
            below[j].append(_cauchy(series[j - 1], below[j - 1], k, bits))
        above[n - 1].append(series[n - 1][k])
        for j in range(n - 2, 0, -1):
            above[j].append(_cauchy(above[j + 1], series[j], k, bits))
        residual = below[n][k] - target if k == 0 else below[n][k]
        slopes.append((mask * residual * factor) >> 64)
        for j in range(n):
            if j + 1 < n:
                inner[j].append(_cauchy([A.T for A in above[j + 1]], slopes, k, bits))
            else:
                inner[j].append(slopes[k])
            gradient = inner[j][k] if j == 0 else _cauchy(inner[j], [B.T for B in below[j]], k, bits)
            series[j].append(-gradient // (k + 1))
    return series


def _cauchy(A: Series, B: Series, k: int, bits: int) -> np.ndarray:
    """The k-th coefficient of a product of series, as one product of block matrices."""
    left = np.concatenate([A[i] for i in range(k + 1)], axis=1)
    right = np.concatenate([B[k - i] for i in range(k + 1)], axis=0)
    return (left @ right) >> bits


def _advance(series: list[Series], length: int) -> list[np.ndarray]:
    """The Taylor polynomials at a time given in units of 2^{−64}, by Horner's rule."""
    moved = []
    for coefficients in series:
        total = coefficients[-1]
        for coefficient in reversed(coefficients[:-1]):
            total = coefficient + ((total * length) >> 64)
        moved.append(total)
    return moved


def _orthogonal(Q: np.ndarray, bits: int) -> np.ndarray:
    """The orthogonal matrix next to one that is orthogonal to rounding, by Newton's iteration Q(3I − QᵀQ)/2."""
    X, three = _units(Q, bits), 3 * _units(np.eye(len(Q)), bits)
    for _ in range(5):  # the error is squared each time, from 1e-16 on
        X = (X @ (three - ((X.T @ X) >> bits))) >> (bits + 1)
    return X


def _units(W: np.ndarray, bits: int) -> np.ndarray:
    """Float64 numbers as whole numbers of units, exactly."""
    mantissa, exponent = np.frexp(np.asarray(W, dtype=float))
    whole = (mantissa * 2.0**53).astype(np.int64)
    shifts = exponent.astype(int) - 53 + bits
    convert = np.frompyfunc(lambda m, s: int(m) << int(s) if s >= 0 else int(m) >> int(-s), 2, 1)
    return np.asarray(convert(whole, shifts), dtype=object)


def _rounded(W: np.ndarray, bits: int) -> np.ndarray:
    return np.array([[int(w) / 2**bits for w in row] for row in W])


def _product(layers: Sequence[np.ndarray], bits: int) -> np.ndarray:
    W = layers[0]
    for layer in layers[1:]:
        W = (layer @ W) >> bits
    return W


def _sign_and_log(layers: Sequence[np.ndarray], bits: int) -> tuple[float, float]:
    """Sign and logarithm of the product of determinants, each by expansion, in whole numbers."""
    sign, log = 1.0, 0.0
    for W in layers:
        value = _determinant(W)
        if value == 0:
            return 0.0, -np.inf
        shift = max(abs(value).bit_length() - 60, 0)
        sign *= 1.0 if value > 0 else -1.0
        log += np.log(abs(value) >> shift) + (shift - len(W) * bits) * np.log(2)
    return sign, float(log)


def _determinant(W: np.ndarray) -> int:
    """The determinant of a small matrix of whole numbers, exactly."""
    if len(W) == 1:
        return int(W[0, 0])
    minors = (np.delete(W[1:], column, axis=1) for column in range(len(W)))
    return sum((-1) ** column * int(W[0, column]) * _determinant(minor) for column, minor in enumerate(minors))
