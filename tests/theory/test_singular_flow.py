"""The flow in singular coordinates: equal to the flow of the map, and right where the map has lost its digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.theory import modes
from lineament.theory.end_to_end import field, trajectory
from lineament.theory.singular_flow import singular_flow


def start(rng, outputs, inputs, rank):
    U, V = (np.linalg.qr(rng.normal(size=(d, rank)))[0] for d in (outputs, inputs))
    return (U * (0.5 + np.arange(rank))) @ V.T


@pytest.mark.parametrize("n", range(2, 7))
@pytest.mark.parametrize(("outputs", "inputs", "rank"), [(3, 3, 3), (2, 4, 2), (4, 2, 2), (4, 4, 2), (1, 1, 1)])
def test_it_is_the_flow_of_the_map(outputs, inputs, rank, n):
    rng = np.random.default_rng(n)
    W0, C = start(rng, outputs, inputs, rank), rng.normal(size=(outputs, inputs))
    times = np.linspace(0, 0.4, 5)

    def gradient(W):
        return W - C + 0.1 * W**3

    flow = singular_flow(times, W0, gradient, n)
    expected = trajectory(times, W0, gradient, n)
    assert np.abs(flow.W - expected).max() <= 1e-7
    assert np.abs(np.swapaxes(flow.U, 1, 2) @ flow.U - np.eye(rank)).max() < 1e-8
    values = np.linalg.svd(expected, compute_uv=False)[:, :rank]
    assert np.abs(-np.sort(-np.exp(flow.log_s), axis=1) - values).max() < 1e-7


@given(st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_velocity_is_that_of_theorem_1(n, seed):
    """The first step of the flow, by a difference of second order, against the field."""
    rng = np.random.default_rng(seed)
    W0, G = start(rng, 3, 4, 2), rng.normal(size=(3, 4))
    h = 1e-4
    ahead, behind = (singular_flow([h], W0, lambda W, s=s: s * G, n, method="DOP853").W[0] for s in (1, -1))
    expected = field(W0, G, n, rank=2)
    assert np.abs((ahead - behind) / (2 * h) - expected).max() <= 1e-5 * np.abs(expected).max()


def test_values_far_below_rounding():
    """Two layers, ℓ = ½(w₁₁ − 1)² + w₂₂ on the diagonal: σ₂ = σ₂(0) e^{−2t}, down to e^{−200} (Lemma 2)."""
    times = np.linspace(0, 100, 11)
    flow = singular_flow(times, np.diag([0.5, 1e-3]), lambda W: np.diag([W[0, 0] - 1, 1.0]), 2)
    assert np.allclose(flow.log_s[:, 1], np.log(1e-3) - 2 * times, rtol=1e-8)
    sign, log_det = flow.sign_and_log_det
    assert np.all(sign == 1)
    assert np.allclose(log_det, flow.log_s.sum(axis=1))


def test_wrong_use():
    with pytest.raises(ValueError, match="depth must be a whole number of at least 2 and at most 10000; got 1"):
        singular_flow([0, 1], np.eye(2), lambda W: W, 1)
    with pytest.raises(ValueError, match="distinct singular values"):
        singular_flow([0, 1], np.eye(2), lambda W: W, 2)
    with pytest.raises(ValueError, match="W0 must be a map other than zero, which has no singular vectors; got zero"):
        singular_flow([0, 1], np.zeros((2, 2)), lambda W: W, 2)
    with pytest.raises(ValueError, match="square and of full rank"):
        _ = singular_flow([0, 1], np.diag([1.0, 0.5])[:, :1], lambda W: W, 2).sign_and_log_det


def test_a_small_start_with_distinct_values_is_followed():
    target = np.diag([2.0, 1.0])
    found = singular_flow([0.0, 1.0], np.diag([1e-4, 5e-5]), lambda W: W - target, 2)
    expected = modes.trajectory(2.0, [2.0, 1.0], [1e-4, 5e-5], 2)
    np.testing.assert_allclose(np.exp(found.log_s[-1]), expected, rtol=1e-7)
