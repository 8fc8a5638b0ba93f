"""The limit of infinite width of two-layer linear networks: its roots, its recursion, and that flow keeps to them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from lineament.theory import wide_limit


def _layers(rng: np.random.Generator, q: int, K: int) -> tuple[np.ndarray, np.ndarray]:
    """W₁ and W₂ with W₁ᵀW₁ = I, W₂W₂ᵀ = I and W₂W₁ = 0, in q + K hidden units."""
    frame = np.linalg.qr(rng.normal(size=(q + K, q + K)))[0]
    return frame[:, :q], frame[:, q:].T


@given(st.integers(0, 100), st.integers(1, 5), st.integers(1, 4), st.floats(0.01, 10.0))
def test_scales_are_symmetric_roots_that_pass_through_the_map(seed, q, K, size):
    W = size * np.random.default_rng(seed).normal(size=(K, q))
    A, B = wide_limit.scales(W)
    assert_allclose(A @ A, np.eye(K) + W @ W.T, atol=1e-11 * size**2 + 1e-12)
    assert_allclose(B @ B, np.eye(q) + W.T @ W, atol=1e-11 * size**2 + 1e-12)
    assert_allclose(A, A.T, atol=1e-12 * (1 + size))
    assert np.linalg.eigvalsh(A).min() >= 1 - 1e-12
    assert_allclose(A @ W, W @ B, atol=1e-11 * size**2 + 1e-12)


def test_scales_of_a_stack_are_those_of_each():
    W = np.random.default_rng(0).normal(size=(4, 2, 3))
    A, B = wide_limit.scales(W)
    assert_allclose(A[2], wide_limit.scales(W[2])[0], atol=1e-14)
    assert_allclose(B[2], wide_limit.scales(W[2])[1], atol=1e-14)


def test_one_input_and_one_output_by_hand():
    A, B = wide_limit.scales([[np.sinh(0.7)]])
    assert_allclose([A[0, 0], B[0, 0]], np.cosh(0.7))


@pytest.mark.parametrize("size", [0.1, 2.0])
def test_the_recursion_is_descent_of_layers_that_begin_there(size):
    rng = np.random.default_rng(1)
    d, target = np.geomspace(1, 0.3, 5), size * rng.normal(size=(2, 5))
    W1, W2 = _layers(rng, 5, 2)
    limit = wide_limit.descent(d, target, 0.02, 40)
    for step in range(41):
        assert_allclose(limit.W[step], W2 @ W1, atol=1e-12)
        assert_allclose(limit.A[step], W2 @ W2.T, atol=1e-12)
        assert_allclose(limit.B[step], W1.T @ W1, atol=1e-12)
        Er = (W2 @ W1 - target) * d
        W1, W2 = W1 - 0.02 * W2.T @ Er, W2 - 0.02 * Er @ W1.T


def test_descent_nears_the_roots_as_the_first_power_of_the_step_size():
    rng = np.random.default_rng(2)
    d, target = np.geomspace(1, 0.3, 4), 3 * rng.normal(size=(2, 4))
    gaps = []
    for halvings in range(4):
        limit = wide_limit.descent(d, target, 4e-3 / 2**halvings, 500 * 2**halvings)
        A, B = wide_limit.scales(limit.W[-1])
        gaps.append(np.linalg.norm(A - limit.A[-1]) + np.linalg.norm(B - limit.B[-1]))
        assert np.linalg.norm(limit.W[-1]) > 3
    rates = np.log2(np.divide(gaps[:-1], gaps[1:]))
    assert_allclose(rates, 1.0, atol=0.1)


def test_a_wrong_number_of_eigenvalues_is_refused():
    with pytest.raises(ValueError, match=r"d must be a vector of 3 number\(s\); got shape \(2,\)"):
        wide_limit.descent(np.ones(2), np.ones((2, 3)), 0.1, 1)


def test_scales_of_a_large_map_of_rank_one():
    """Eigenvalues that should be zero come out as rounding of the largest, of either sign."""
    u, v = np.random.default_rng(6).normal(size=(2, 5))
    W = 1e12 * np.outer(u, v)
    for root, square in zip(wide_limit.scales(W), (W @ W.T, W.T @ W), strict=True):
        np.testing.assert_allclose(root @ root, np.eye(5) + square, rtol=0, atol=1e-13 * np.abs(square).max())


def test_descent_is_refused_once_a_single_entry_is_not_finite():
    d, target, step = np.array([100.0, 1e-3]), np.diag([1.0, 0.5]), 1.0
    A, B, W, steps = np.eye(2), np.eye(2), np.zeros((2, 2)), 0
    with np.errstate(over="ignore", invalid="ignore"):
        while np.isfinite(W).all():
            Er = (W - target) * d
            A, B, W = (
                A - step * (Er @ W.T + W @ Er.T) + step**2 * Er @ B @ Er.T,
                B - step * (W.T @ Er + Er.T @ W) + step**2 * Er.T @ A @ Er,
                W - step * (Er @ B + A @ Er) + step**2 * Er @ W.T @ Er,
            )
            steps += 1
    assert np.isfinite(W).any(), "the other direction is still finite"
    assert len(wide_limit.descent(d, target, step, steps - 1).W) == steps
    with pytest.raises(ValueError, match="step_size must be so small that descent stays finite"):
        wide_limit.descent(d, target, step, steps)
