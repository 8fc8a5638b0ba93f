"""Differences along tracked branches: when they have converged, and when they only seem to."""

import numpy as np
import pytest
from scipy.optimize import brentq

from lineament.claims.cohen import theorem_3
from lineament.claims.cohen.theorem_3 import AGREE, DIFFERENCES

OFFSETS = np.arange(-4, 5)


@pytest.mark.parametrize("order", DIFFERENCES)
def test_a_difference_is_exact_up_to_its_order_and_no_further(order: int):
    exact = [DIFFERENCES[order] @ (OFFSETS + 0.3) ** k - k * 0.3 ** (k - 1) for k in range(1, order + 2)]
    np.testing.assert_allclose(exact[:-1], 0, atol=1e-9)
    assert abs(exact[-1]) > 1


def avoided_crossing(time: float) -> np.ndarray:
    """Nine samples of W(t), one apart around a time, with values 10 ± √(t² + 1)."""
    return np.array([[[10 + t, 1], [1, 10 - t]] for t in time + OFFSETS])


def velocities(time: float, orders: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """By difference, and by the formula at depth 1 for the gradient −dW/dt."""
    return theorem_3._velocities(avoided_crossing(time)[None], 1.0, orders, lambda W: np.diag([-1.0, 1.0]), 1)


def test_at_an_avoided_crossing_two_orders_agree_by_chance_and_three_do_not():
    gap = lambda time: np.subtract(*velocities(time, (4, 6))[0][:, 0, 0])  # noqa: E731
    time = brentq(gap, 0.8, 2.4)
    by_order, forecast = velocities(time, (4, 6, 8))
    np.testing.assert_allclose(forecast[0], np.array([1, -1]) * time / np.hypot(time, 1), rtol=1e-12)
    assert abs(by_order[1] - by_order[0]).max() < AGREE
    assert abs(by_order[1] - forecast).max() > 100 * AGREE
    assert abs(by_order[2] - by_order[1]).max() > 100 * AGREE


def test_far_from_a_crossing_all_orders_give_the_forecast():
    by_order, forecast = velocities(60.0, (4, 6, 8))
    np.testing.assert_allclose(by_order, np.broadcast_to(forecast, by_order.shape), atol=1e-9)
