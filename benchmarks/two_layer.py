"""(d) The exact two-layer flow of a 100×100 problem, against integrating it."""

from collections.abc import Callable

import jax
import numpy as np

import lineament as la
from lineament.theory import lambda_modes, two_layer

from .harness import Row, compare, cpu_seconds

SIZE, TIMES, SCALE, RTOL, BAR = 100, 1000, 1e-3, 1e-10, 100.0
PRODUCTS_BAR = 10.0
# What the formula asks for while no mode has settled, in dense products of this size: half of one of twice the rows for
# the normal equations, a triangular solve of twice the rows, two to leave the modes, and the product of the layers.
PRODUCTS = 5
UNTIL = 300.0  # a millionth of the loss is left by then


def _flow(start: tuple, target: np.ndarray, times: np.ndarray, record: str) -> Callable[[], la.Run]:
    """Gradient flow at its best, compiled beforehand."""
    net, problem = la.models.DeepLinear((SIZE,) * 3), la.problems.whitened(target)
    work = lambda: la.flow(net, problem, start, times=times, record=(record,), rtol=RTOL, tolerance=0.0)  # noqa: E731
    work()
    return work


def _seconds_of_products() -> float:
    """CPU seconds of as many dense products as there are times, the least of three."""
    A = np.random.default_rng(1).normal(size=(TIMES, SIZE, SIZE))
    out = np.empty_like(A)
    return min(cpu_seconds(lambda: np.matmul(A, A, out=out)) for _ in range(3))


def rows() -> list[Row]:
    """Random target, small start: products at many times, the product at one late time, and an aligned start."""
    target = np.random.default_rng(0).normal(size=(SIZE, SIZE)) / np.sqrt(SIZE)
    net, times = la.models.DeepLinear((SIZE,) * 3), np.linspace(0, UNTIL, TIMES)
    start = la.starts.balanced(net, jax.random.key(0), start_scale=SCALE)
    first, second = (np.asarray(layer) for layer in start)
    case = f"two layers, {SIZE}×{SIZE}"

    exact, flow = lambda: two_layer.trajectory(times, first, second, target), _flow(start, target, times, "end_to_end")
    gap = np.abs(exact() - flow().end_to_end.values).max()
    least = PRODUCTS * _seconds_of_products()
    bound = min(cpu_seconds(flow) for _ in range(3)) / least
    every = compare(
        f"{case}, any balanced start",
        (f"products at {TIMES} times", exact, float(TIMES)),
        (f"flow, rtol {RTOL:g}", flow, float(TIMES)),
        bar=PRODUCTS_BAR,
        unit="products",
        note=f"they agree to {gap:.0e}; all modes at every time, {PRODUCTS} dense products for each, would allow at most "
        f"{bound:.1f}×",
    )
    late = compare(
        f"{case}, any balanced start",
        (f"the product at t = {UNTIL:g}", lambda: two_layer.trajectory(UNTIL, first, second, target), 1.0),
        (f"flow, rtol {RTOL:g}", _flow(start, target, times[[0, -1]], "end_to_end"), 1.0),
        unit="products",
    )

    def residuals() -> np.ndarray:
        return lambda_modes.residual(times[:, None], np.linalg.svd(target, compute_uv=False), 0.0, -SCALE)

    flow = _flow(la.starts.shaped(net, jax.random.key(0), SCALE / 2), target, times, "loss")
    gap = np.abs(0.5 * np.sum(residuals() ** 2, axis=1) - flow().loss.values).max()
    modes = compare(
        f"{case}, W1 = √(2γ)P, W2 = 0",
        (f"all modes at {TIMES} times", residuals, float(TIMES)),
        (f"flow, rtol {RTOL:g}", flow, float(TIMES)),
        bar=BAR,
        unit="times",
        note=f"losses agree to {gap:.0e}",
    )
    return [every, late, modes]
