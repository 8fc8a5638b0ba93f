"""The slow flow of label noise: what it keeps, what it lowers, where it ends and how fast."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineament.theory import label_noise
from lineament.theory.label_noise import line, slow_flow

sizes = st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 3))
seeds = st.integers(0, 10_000)


def instance(shape, seed):
    d, h, k = shape
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * d + 2, d))
    return rng.normal(size=(h, d)), rng.normal(size=(k, h)), X.T @ X


def turned(S, Q):
    return (Q @ S @ Q.T + (Q @ S @ Q.T).T) / 2


def risk(W1, W2, S):
    """A quarter of the sum over examples and outputs of the squared gradient of the output."""
    return 0.25 * (np.trace(S) * np.sum(W2**2) + len(W2) * np.trace(W1 @ S @ W1.T))


def hessian_trace(W1, W2, X):
    """The trace of the Hessian of ½‖Y − X(W2W1)ᵀ‖² at an interpolator, by the Jacobian of the outputs."""
    total = 0.0
    for x in X:
        for o in range(len(W2)):
            total += np.sum(np.outer(W2[o], x) ** 2) + np.sum((W1 @ x) ** 2)
    return total


@settings(max_examples=15)
@given(sizes, seeds)
def test_the_product_stays_and_a_quarter_of_the_trace_of_the_hessian_falls(shape, seed):
    W1, W2, S = instance(shape, seed)
    times = np.linspace(0, 1 / np.trace(S), 6)
    path = slow_flow(times, W1, W2, S)
    np.testing.assert_allclose(path.W1[0], W1)
    products = path.W2 @ path.W1
    np.testing.assert_allclose(products, np.broadcast_to(W2 @ W1, products.shape), atol=1e-7 * np.abs(W2 @ W1).max())
    risks = [risk(A, B, S) for A, B in zip(*path, strict=True)]
    assert np.all(np.diff(risks) < 1e-9 * risks[0])
    X = np.linalg.cholesky(S).T
    assert risks[0] == pytest.approx(hessian_trace(W1, W2, X) / 4)


@settings(max_examples=15)
@given(sizes, seeds)
def test_the_imbalance_obeys_its_law(shape, seed):
    """d/dt (W1W1ᵀ − W2ᵀW2) = tr(S) W2ᵀW2 − k W1SW1ᵀ, by central differences."""
    W1, W2, S = instance(shape, seed)
    h = 1e-4 / np.trace(S)
    path = slow_flow([0, h, 2 * h], W1, W2, S, rtol=1e-12)
    D = path.W1 @ path.W1.swapaxes(1, 2) - path.W2.swapaxes(1, 2) @ path.W2
    A, B = path.W1[1], path.W2[1]
    law = np.trace(S) * B.T @ B - len(B) * A @ S @ A.T
    np.testing.assert_allclose((D[2] - D[0]) / (2 * h), law, atol=1e-5 * np.abs(law).max())


def test_the_field_is_the_projected_gradient():
    """−∇R less its part along the gradients of the constraint W2W1 = const, by dense linear algebra."""
    W1, W2, S = instance((3, 4, 2), 0)
    h, (k, d) = 1e-6, (2, 3)
    path = slow_flow([0, h], W1, W2, S, rtol=1e-12)
    moved = np.concatenate([(path.W1[1] - W1).ravel(), (path.W2[1] - W2).ravel()]) / h
    gradient = np.concatenate([(k / 2 * W1 @ S).ravel(), (np.trace(S) / 2 * W2).ravel()])
    rows = []
    for o in range(k):
        for i in range(d):
            first, second = np.zeros_like(W1), np.zeros_like(W2)
            first[:, i], second[o] = W2[o], W1[:, i]
            rows.append(np.concatenate([first.ravel(), second.ravel()]))
    J = np.array(rows)
    projected = gradient - J.T @ np.linalg.solve(J @ J.T, J @ gradient)
    np.testing.assert_allclose(moved, -projected, rtol=1e-3, atol=1e-3 * np.abs(projected).max())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_neurons_end_on_the_line_at_the_rate_of_alignment(seed):
    W1, W2, S = instance((4, 6, 1), seed)
    beta = (W2 @ W1)[0]
    end = line(beta, S)
    low = np.linalg.eigvalsh(S)
    assert low[0] / 2 <= end.rates[0] <= low[1] / 2
    assert np.all(np.diff(end.rates) >= 0)
    times = np.array([0.0, 12.0, 14.0]) / end.rates[0]
    path = slow_flow(times, W1, W2, S, rtol=1e-11)
    values = np.linalg.svd(path.W1, compute_uv=False)
    assert values[-1, 0] == pytest.approx(end.first, rel=1e-6, abs=0)
    assert np.linalg.norm(path.W2[-1]) == pytest.approx(end.second, rel=1e-6, abs=0)
    assert values[-1, 1] < 1e-4 * values[-1, 0]
    rate = np.log(values[1, 1] / values[2, 1]) / (times[2] - times[1])
    assert rate == pytest.approx(end.rates[0], rel=1e-2, abs=0)


def test_white_inputs_align_at_half_their_second_moment():
    """S = sI: ‖b‖² = dα², and every direction beside the line decays at s/2 but one, at (d + 1)s/2."""
    beta = np.array([3.0, 0.0, 4.0])
    end = line(beta, 7.0 * np.eye(3))
    np.testing.assert_allclose(end.rates, [3.5, 3.5, 14.0])
    assert end.first**2 == pytest.approx(3 * end.second**2)
    assert end.first * end.second == pytest.approx(5.0)


@pytest.mark.parametrize(("size", "speed"), [(1e200, 1e200), (1e-200, 1e200), (1e200, 1e-200), (1e-200, 1e-200)])
def test_the_line_follows_the_scales_of_target_and_inputs(size, speed):
    rng = np.random.default_rng(3)
    X, beta = rng.normal(size=(9, 4)), rng.normal(size=4)
    plain, scaled = line(beta, X.T @ X), line(size * beta, speed * (X.T @ X))
    np.testing.assert_allclose(scaled.first, np.sqrt(size) * plain.first, rtol=1e-12)
    np.testing.assert_allclose(scaled.second, np.sqrt(size) * plain.second, rtol=1e-12)
    np.testing.assert_allclose(scaled.rates, speed * plain.rates, rtol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_the_line_does_not_know_the_sign_of_the_target(seed):
    """Nor which way the inputs are turned."""
    rng = np.random.default_rng(seed)
    X, beta = rng.normal(size=(9, 4)), -np.abs(rng.normal(size=4))
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    plain = line(beta, X.T @ X)
    for other in (line(-beta, X.T @ X), line(Q @ beta, turned(X.T @ X, Q))):
        assert (other.first, other.second) == pytest.approx((plain.first, plain.second), rel=1e-12, abs=0)
        np.testing.assert_allclose(other.rates, plain.rates, rtol=1e-10)


def test_one_input_is_already_aligned():
    end = line([2.0], [[3.0]])
    assert end.first == pytest.approx(np.sqrt(2))
    assert end.second == pytest.approx(np.sqrt(2))
    np.testing.assert_allclose(end.rates, [3.0])


def test_time_zero_alone_is_the_start():
    W1, W2, S = instance((2, 3, 1), 0)
    path = slow_flow([0.0], W1, W2, S)
    np.testing.assert_array_equal(path.W1, W1[None])
    np.testing.assert_array_equal(path.W2, W2[None])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: slow_flow([0.0, 1.0], np.ones((2, 3)), np.ones((1, 4)), np.eye(3)),
            r"W1, W2 and S must be h × d, k × h and d × d; got \(2, 3\), \(1, 4\) and \(3, 3\)",
        ),
        (lambda: slow_flow([1.0, 0.5], np.ones((2, 3)), np.ones((1, 2)), np.eye(3)), "t must be rising"),
        (lambda: slow_flow([0.0, 1.0], np.ones((2, 2)), np.ones((1, 2)), np.diag([1.0, 0.0])), "positive definite"),
        (lambda: slow_flow([0.0, 1.0], np.full((2, 2), np.nan), np.ones((1, 2)), np.eye(2)), "W1 must be"),
        (lambda: line(np.zeros(2), np.eye(2)), "beta must be numbers of which one is not zero; got zeros"),
        (lambda: line(np.ones(3), np.eye(2)), r"beta must be a vector of 2 number\(s\); got shape \(3,\)"),
        (lambda: line(np.ones(2), [[1.0, 1.0], [0.0, 1.0]]), "S must be symmetric"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_slow_flow_follows_the_scale_of_its_layers(scale):
    W1, W2, S = instance((2, 4, 2), 5)
    times = np.array([0.0, 0.3, 2.0]) / np.trace(S)
    plain, scaled = slow_flow(times, W1, W2, S), slow_flow(times, scale * W1, scale * W2, S)
    np.testing.assert_allclose(scaled.W1 / scale, plain.W1, rtol=0, atol=1e-9 * np.abs(W1).max())
    np.testing.assert_allclose(scaled.W2 / scale, plain.W2, rtol=0, atol=1e-9 * np.abs(W2).max())


def test_a_flow_that_the_integrator_gives_up_is_an_error(monkeypatch):
    failed = SimpleNamespace(success=False, message="no step is small enough", y=np.zeros((4, 1)))
    monkeypatch.setattr(label_noise, "solve_ivp", lambda *given, **named: failed)
    with pytest.raises(RuntimeError, match="could not be followed to t = 2: no step is small enough"):
        slow_flow([0.0, 2.0], np.ones((1, 1)), np.ones((1, 1)), np.ones((1, 1)))


def test_inputs_that_are_all_zero_are_symmetric_and_not_definite():
    with pytest.raises(ValueError, match="S must be positive definite"):
        line(np.ones(2), np.zeros((2, 2)))
