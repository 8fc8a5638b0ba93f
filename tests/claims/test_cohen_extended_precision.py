"""Layers in extended precision: against mpmath, against float64, and balanced to the last bit."""

from itertools import pairwise

import mpmath
import numpy as np
import pytest

from lineament.claims.cohen import extended_precision as extended
from lineament.claims.instances import rotation
from lineament.theory import end_to_end


def start(rng, d, n):
    values = rng.uniform(0.2, 1.5, d)
    return [rotation(rng, d) for _ in range(n + 1)], values


@pytest.mark.parametrize(("d", "n"), [(2, 2), (3, 3), (2, 4)])
def test_the_start_is_balanced_to_the_last_bits(d, n):
    turns, values = start(np.random.default_rng(0), d, n)
    layers = extended.balanced(turns, values)
    for before, after in pairwise(layers):
        gap = (after.T @ after - before @ before.T) >> extended.BITS
        assert max(abs(int(entry)) for entry in gap.ravel()) < 2**8  # of 2^256
    W = extended.Extended([layers], extended.BITS).maps[0]
    np.testing.assert_allclose(W, (turns[-1] * values) @ turns[0].T, atol=1e-15)


@pytest.mark.parametrize("n", [2, 3])
def test_the_map_is_that_of_the_end_to_end_equation(n):
    rng = np.random.default_rng(n)
    turns, values = start(rng, 3, n)
    target, mask = rng.normal(size=(3, 3)), rng.uniform(size=(3, 3)) < 0.7
    loss = extended.Quadratic(mask, target, 0.3)
    times = np.array([0.0, 0.5, 2.0])
    maps = extended.follow(times, extended.balanced(turns, values), loss).maps
    forecast = end_to_end.trajectory(times, maps[0], lambda W: 0.3 * np.where(mask, W - target, 0), n)
    np.testing.assert_allclose(maps, forecast, atol=1e-9)


def test_thirty_digits_agree_with_mpmath():
    # Scalar layers: (a, b) with ȧ = −(ab − t)b, ḃ = −(ab − t)a, by mpmath's own Taylor method.
    t, begin = -0.5, 0.75
    layers = extended.balanced([np.eye(1)] * 3, np.array([begin**2]))
    times = np.array([0.0, 1.0, 3.0])
    run = extended.follow(times, layers, extended.Quadratic(np.ones((1, 1)), np.array([[t]]), 1.0))
    with mpmath.workdps(45):
        flow = mpmath.odefun(
            lambda _, w: [-(w[0] * w[1] - t) * w[1], -(w[0] * w[1] - t) * w[0]], 0, [mpmath.mpf(begin)] * 2, tol=1e-40
        )
        for time, (first, second) in zip(times, run.layers, strict=True):
            for ours, theirs in zip((first, second), flow(mpmath.mpf(time)), strict=True):
                assert abs(mpmath.mpf(int(ours[0, 0])) / mpmath.mpf(2) ** run.bits - theirs) < mpmath.mpf(10) ** -30


def test_sign_and_logarithm_of_the_determinant_see_what_float64_cannot():
    values = np.array([1.0, 2.0**-80])
    layers = extended.balanced([np.eye(2), np.eye(2), np.diag([1.0, -1.0])], values)
    sign, log = extended.Extended([layers], extended.BITS).sign_and_log_det
    assert sign[0] == -1
    assert log[0] == pytest.approx(-80 * np.log(2), abs=1e-10)
