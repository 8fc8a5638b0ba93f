"""Linearised training on cross-entropy: against steps in parameter space, one at a time."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineament.theory import linearised_classes


def network(seed, n=6, m=3, k=3, p=8):
    rng = np.random.default_rng(seed)
    J, other = rng.normal(size=(n, k, p)), rng.normal(size=(m, k, p))
    f0, f0_other = rng.normal(size=(n, k)), rng.normal(size=(m, k))
    return J, other, np.eye(k)[rng.integers(0, k, n)], f0, f0_other


def kernels(J, other):
    return np.einsum("iap,jbp->ijab", J, J), np.einsum("iap,jbp->ijab", other, J)


def train(J, y, f0, eta, momentum, ridge, steps):
    """θ − θ₀ after steps of descent on the mean cross-entropy of f₀ + Jθ."""
    theta = v = np.zeros(J.shape[2])
    for _ in range(steps):
        f = f0 + J @ theta
        p = np.exp(f - f.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        v = momentum * v + (np.einsum("iap,ia->p", J, p - y) + ridge * theta) / len(J)
        theta = theta - eta * v
    return theta


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.9]), st.sampled_from([0.0, 0.4]))
def test_steps_are_those_of_the_parameters(seed, momentum, ridge):
    J, other, y, f0, f0_other = network(seed)
    K, cross = kernels(J, other)
    found = linearised_classes.descend([0, 17, 5], K, y, 0.3, momentum, f0, cross, f0_other, ridge)
    for place, steps in enumerate((0, 17, 5)):
        theta = train(J, y, f0, 0.3, momentum, ridge, steps)
        np.testing.assert_allclose(found.training[place], f0 + J @ theta, atol=1e-10)
        np.testing.assert_allclose(found.other[place], f0_other + other @ theta, atol=1e-10)


def test_outputs_that_share_a_kernel():
    J, other, y, f0, f0_other = network(0)
    K, cross = np.einsum("iap,jap->ij", J, J), np.einsum("iap,jap->ij", other, J)
    full = lambda A: A[:, :, None, None] * np.eye(3)  # noqa: E731
    shared = linearised_classes.descend(20, K, y, 0.1, 0.5, f0, cross, f0_other)
    apart = linearised_classes.descend(20, full(K), y, 0.1, 0.5, f0, full(cross), f0_other)
    np.testing.assert_allclose(shared.training, apart.training, atol=1e-12)
    np.testing.assert_allclose(shared.other, apart.other, atol=1e-12)


def test_steps_tend_to_the_flow_in_proportion_to_their_size():
    J, other, y, f0, _ = network(1)
    K, _ = kernels(J, other)
    exact = linearised_classes.flow([0.0, 2.0], K, y, f0)
    np.testing.assert_allclose(exact[0], f0)
    steps = np.array([64, 128, 256, 512])
    gaps = [np.abs(linearised_classes.descend(s, K, y, 2.0 / s, start=f0) - exact[1]).max() for s in steps]
    slope = np.polyfit(np.log(2.0 / steps), np.log(gaps), 1)[0]
    assert 0.97 < slope < 1.05


def test_float64_without_the_flag():
    J, other, y, f0, _ = network(2)
    K, _ = kernels(J, other)
    expected = linearised_classes.descend(50, K, y, 0.2, 0.9, f0)
    jax.config.update("jax_enable_x64", False)
    try:
        found = linearised_classes.descend(50, K, y, 0.2, 0.9, f0)
    finally:
        jax.config.update("jax_enable_x64", True)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y": np.ones((2, 2))}, "y must be shares"),
        ({"y": np.array([1.0, 0.0])}, "y must be shares"),
        ({"steps": 0.5}, "steps must be whole"),
        ({"start": np.ones((3, 2))}, "start must be of shape"),
        ({"start_cross": np.ones((3, 2))}, "start_cross must be left out"),
        ({"momentum": 1.0}, "momentum must be"),
    ],
)
def test_what_cannot_be_used_is_refused(changed, message):
    good = {"steps": 1, "kernel": np.eye(2), "y": np.eye(2), "step_size": 0.1}
    with pytest.raises(ValueError, match=message):
        linearised_classes.descend(**good | changed)


@pytest.mark.parametrize(
    ("t", "dtype"), [(1e15, np.float64), (1e50, np.float64), (1e9, np.float32), (1e12, np.float32)]
)
def test_late_flow_of_one_example_is_the_closed_form(t, dtype):
    """Of two classes logits differ by d, d + e^d − 1 = 2t, and sum to 0, even where 1 − p rounds to 0."""
    d = np.log(2 * t)
    for _ in range(50):
        d -= (d + np.exp(d) - 1 - 2 * t) / (1 + np.exp(d))
    found = linearised_classes.flow(t, np.ones((1, 1), dtype), [[1.0, 0.0]])
    np.testing.assert_allclose(found, [[d / 2, -d / 2]], rtol=1e-4)
