"""Four routes along the completion task of Proposition 5: each gives the map and its loss at recorded times."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from ... import models, problems, starts, train
from ...core import ensembles
from ...theory import layers as layers_theory
from ...theory import two_by_two
from ...theory.singular_flow import singular_flow
from ..instances import rotation
from . import extended_precision

# In units of the observations m: how long layers are followed by the package's flow, before rounding takes their least
# singular value at depth 2, and how long it takes until the loss is below 1e-8.
LAYERS_UNTIL = 30.0
VANISHING = {2: 2e10, 3: 1e9}

LAYERS = train.Record("layers", lambda model, problem, layers: jnp.stack(layers), ("layer", "row", "column"))


class Route(NamedTuple):
    """One flow: its start, the task's sign, and the map with its loss at recorded times."""

    depth: int
    sign: two_by_two.Sign
    start: np.ndarray
    time: np.ndarray
    W: np.ndarray
    loss: np.ndarray
    kept: bool

    def excess(self, norm: two_by_two.Norm) -> np.ndarray:
        """By how much the norm exceeds its bound; the theory refuses a start of the wrong sign."""
        return two_by_two.size(self.W, norm) - two_by_two.norm_bound(self.start, self.loss, norm, self.sign)


def _start(rng: np.random.Generator, d: int, sign: int) -> np.ndarray:
    """A random map whose determinant has the given sign, of random scale."""
    W = 10 ** rng.uniform(np.log10(0.05), np.log10(0.5)) * rng.normal(size=(d, d))
    if np.linalg.det(W) * sign < 0:
        W[rng.integers(d)] *= -1
    return W


def _problem(d: int, sign: two_by_two.Sign) -> problems.Completion:
    observed, values = two_by_two.completion(d, sign)
    rows, columns = np.nonzero(observed)
    return problems.completion(rows, columns, values[rows, columns], (d, d))


def by_flow(rng: np.random.Generator, d: int, n: int, count: int, key: jax.Array) -> list[Route]:
    """Follow the flow of balanced networks on both tasks; the last quarter starts with the wrong sign."""
    model = models.DeepLinear((d,) * (n + 1))
    signs: list[two_by_two.Sign] = [1 if member % 2 == 0 else -1 for member in range(count)]
    away = [1 if member < 3 * count // 4 else -1 for member in range(count)]
    maps = np.stack([_start(rng, d, s * a) for s, a in zip(signs, away, strict=True)])
    split = ensembles.ensemble(
        lambda key, W: starts.balanced(model, key, map=W), jax.random.split(key, count), jnp.asarray(maps)
    )
    times = (d * d - 1) * np.r_[0, np.geomspace(1e-2, LAYERS_UNTIL, 120)]
    run = train.flow(
        model, ensembles.stack([_problem(d, s) for s in signs]), split, times=times,
        record=("loss", "end_to_end", LAYERS), rtol=1e-9, atol=1e-13, tolerance=1e-12,
    )  # fmt: skip
    sign = np.prod(np.sign(np.linalg.det(run.layers.values)), axis=-1)
    # Once the least value has been near the solver's accuracy, float64 layers no longer know the sign.
    values = np.linalg.svd(run.end_to_end.values, compute_uv=False)
    known = np.logical_and.accumulate(values[..., -1] > 1e-6 * values[..., 0], axis=1)
    kept = np.all((sign == sign[:, :1]) | ~known, axis=1)
    return [
        Route(n, signs[i], maps[i], times, run.end_to_end.values[i], run.loss.values[i], bool(kept[i]))
        for i in range(count)
    ]


def _away_from_crossings(rng: np.random.Generator, d: int, sign: two_by_two.Sign) -> np.ndarray:
    """A start on whose way singular values stay apart, as coordinates in singular values need it from d = 3 on."""
    if d == 2:
        return _start(rng, d, sign)
    start = np.diag(np.linspace(0.5, 0.65, d)) + 0.05 * rng.normal(size=(d, d))
    start[0] *= sign
    return start


def _late_times(d: int, n: int) -> np.ndarray:
    return (d * d - 1) * np.r_[0, np.geomspace(1e-2, VANISHING[n], 160)]


def in_logarithms(rng: np.random.Generator, d: int, n: int, sign: two_by_two.Sign) -> Route:
    """One flow of singular values and vectors until the loss is below 1e-8."""
    observed, values = two_by_two.completion(d, sign)
    m, start, times = d * d - 1, _away_from_crossings(rng, d, sign), _late_times(d, n)
    flow = singular_flow(times, start, lambda W: np.where(observed, W - values, 0) / m, n, rtol=1e-7, atol=1e-9)
    kept = bool(np.all(flow.sign_and_log_det[0] == sign))
    return Route(n, sign, start, times, flow.W, two_by_two.loss(flow.W, sign), kept)


def by_stiff_solver(rng: np.random.Generator, d: int, n: int, sign: two_by_two.Sign) -> Route:
    """One flow of layers in float64, each along its own gradient, by a stiff solver until the loss is below 1e-8."""
    observed, values = two_by_two.completion(d, sign)
    m, start, times = d * d - 1, _away_from_crossings(rng, d, sign), _late_times(d, n)

    def velocity(_: float, flat: np.ndarray) -> np.ndarray:
        layers = flat.reshape(*flat.shape[:-1], n, d, d)
        below = [np.eye(d)]
        for j in range(n):
            below.append(layers[..., j, :, :] @ below[-1])
        G, above, moves = np.where(observed, below[-1] - values, 0) / m, np.eye(d), np.empty_like(layers)
        for j in reversed(range(n)):
            moves[..., j, :, :] = -np.swapaxes(above, -1, -2) @ G @ np.swapaxes(below[j], -1, -2)
            above = above @ layers[..., j, :, :]
        return moves.reshape(flat.shape)

    def jacobian(_: float, flat: np.ndarray) -> np.ndarray:
        """By an imaginary step, exact for a polynomial: by differences the solver would need 35 times as many slopes."""
        return np.imag(velocity(0, flat + 1e-100j * np.eye(flat.size))).T / 1e-100

    begin = np.stack(layers_theory.balanced(start, (d,) * (n + 1))).ravel()
    run = solve_ivp(velocity, (0, times[-1]), begin, "LSODA", times, jac=jacobian, rtol=1e-10, atol=1e-13)
    layers = run.y.T.reshape(-1, n, d, d)
    W = np.stack([layers_theory.product(list(split)) for split in layers])
    kept = run.success and bool(np.all((np.prod(np.sign(np.linalg.det(layers)), axis=1) == sign) | ~resolved(layers)))
    return Route(n, sign, start, times, W, two_by_two.loss(W, sign), kept)


def resolved(layers: np.ndarray) -> np.ndarray:
    """Up to which record layers (record, layer, row, column) know the sign of their determinants.

    Balanced layers share their singular values (Lemma 1). Once the least ones differ by more than half of the largest of
    them, the solver's error has reached them, and one may pass zero by that error alone.
    """
    least = np.linalg.svd(layers, compute_uv=False)[..., -1]
    return np.logical_and.accumulate(least.min(axis=1) > 0.5 * least.max(axis=1))


def in_extended_precision(
    rng: np.random.Generator, d: int, n: int, sign: two_by_two.Sign, until: float
) -> tuple[Route, float]:
    """One flow of layers with 77 digits, and how far its log σ_min is from that of the flow in logarithms."""
    observed, values = two_by_two.completion(d, sign)
    m, start = d * d - 1, _away_from_crossings(rng, d, sign)
    times = m * np.r_[0, np.geomspace(1e-2, until, 30)]
    U, s, Vt = np.linalg.svd(start)
    turns = [Vt.T, *(rotation(rng, d) for _ in range(n - 1)), U]
    loss = extended_precision.Quadratic(observed, values, 1 / m)
    run = extended_precision.follow(times, extended_precision.balanced(turns, s), loss)
    flow = singular_flow(times, start, lambda W: np.where(observed, W - values, 0) / m, n)
    signs, log_det = run.sign_and_log_det
    log_others = np.log(np.linalg.svd(run.maps, compute_uv=False)[:, :-1]).sum(axis=1)
    gap = np.abs(log_det - log_others - flow.log_s.min(axis=1)).max()
    return Route(n, sign, start, times, run.maps, two_by_two.loss(run.maps, sign), bool((signs == sign).all())), gap
