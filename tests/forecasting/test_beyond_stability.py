"""Steps above the largest that the balanced optimum bears: what the forecast says, and what descent does."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from lineament.forecasting import forecast, stability


def descend(made, ratio, steps):
    """Naive descent on a chain with one hidden unit, from a small balanced start; layers and the last losses."""
    w, d, N = made.target[0], made.variances, made.depth
    step = ratio * made.largest_stable
    a = np.full(N - 1, 1e-3 ** (1 / N))
    b = np.random.default_rng(0).standard_normal(len(d))
    b *= 1e-3 ** (1 / N) / np.linalg.norm(b)
    losses = []
    for _ in range(steps):
        A = np.prod(a)
        error = (A * b - w) * d
        a, b = a - step * A / a * (error @ b), b - step * A * error
        losses.append(0.5 * np.sum(d * (np.prod(a) * b - w) ** 2))
        if not losses[-1] < 1e12:
            return None, losses
    return (a, b), losses[-4:]


def hessian_top(a, b, d):
    """λmax at an optimum of such a chain, from its Jacobian in all parameters."""
    A = np.prod(a)
    J = np.sqrt(d)[:, None] * np.column_stack([A * np.eye(len(b)), *[A / each * b for each in a]])
    return np.linalg.norm(J, 2) ** 2


@pytest.mark.parametrize(("depth", "steps"), [(2, 6000), (3, 9000)])
def test_diabetes_settles_below_the_flattest_optimum_and_not_above_it(depth, steps):
    made = forecast(*load_diabetes(return_X_y=True), depth=depth)
    last = made.settles_below / made.largest_stable
    assert 1.4 < last < 1.5
    for ratio in (1.18, 0.97 * last):
        (a, b), losses = descend(made, ratio, steps)
        assert losses[-1] < 1e-6 * made.floor
        assert np.prod(a) ** 2 < 0.97 * np.linalg.norm(made.target) ** (2 - 2 / depth), "it is unbalanced"
        assert ratio * made.largest_stable * hessian_top(a, b, made.variances) < 2 + 1e-6, "and bears the step"
    _, losses = descend(made, 1.04 * last, steps)
    assert losses[-1] > 1e-3 * made.floor
    assert losses[-1] == pytest.approx(losses[-3], rel=1e-6), "a cycle of two"
    assert abs(losses[-1] / losses[-2] - 1) > 1e-3


def test_one_layer_diverges_above_its_largest_stable_step():
    made = forecast(*load_diabetes(return_X_y=True), depth=1)
    assert made.settles_below == pytest.approx(made.largest_stable)
    for ratio, settles in ((0.99, True), (1.01, False)):
        gap = np.abs(1 - ratio * made.largest_stable * made.variances)
        assert (gap < 1).all() == settles
    X, y = load_diabetes(return_X_y=True)
    assert "descent diverges" in forecast(X, y, depth=1, step_size=1.1 * made.largest_stable, steps=50).sentences[2]


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_the_flattest_is_the_least_over_scaled_layers(depth):
    rng = np.random.default_rng(depth)
    w, d = rng.standard_normal(5), rng.uniform(0.1, 3.0, 5)
    found = stability.flattest(w[None], d, depth)
    tops = []
    for _ in range(3000):
        a = np.exp(rng.normal(0, 0.3, depth - 1)) * np.linalg.norm(w) ** (1 / depth)
        tops.append(hessian_top(a, w / np.prod(a), d))
    assert found <= min(tops) * (1 + 1e-9)
    assert found == pytest.approx(min(tops), rel=0.1)
    balanced = np.full(depth - 1, np.linalg.norm(w) ** (1 / depth))
    assert stability.sharpness(w[None], d, depth) == pytest.approx(hessian_top(balanced, w / np.prod(balanced), d))


@pytest.mark.parametrize("depth", [2, 3])
def test_larger_maps_are_sharper_by_a_power_of_their_length(depth):
    """By 2 − 2/N, from maps of length one on."""
    d = np.array([4.0, 1.0, 0.2])
    for W in (np.array([[0.6, 0.0, 0.8]]), np.array([[0.6, 0.0, 0.8], [0.0, 0.5, 0.0]])):
        unit, twice = stability.flattest(W, d, depth), stability.flattest(2 * W, d, depth)
        assert unit < 0.99 * stability.sharpness(W, d, depth)
        assert twice == pytest.approx(2 ** (2 - 2 / depth) * unit, rel=1e-6)


def test_on_whitened_inputs_balanced_layers_are_the_flattest():
    W = np.random.default_rng(0).standard_normal((3, 4))
    for depth in (2, 3):
        assert stability.flattest(W, np.ones(4), depth) == pytest.approx(stability.sharpness(W, np.ones(4), depth))


def test_several_outputs_are_never_sharper_than_balanced_and_agree_with_one():
    rng = np.random.default_rng(1)
    W, d = rng.standard_normal((2, 4)), rng.uniform(0.1, 3.0, 4)
    assert stability.flattest(W, d, 3) <= stability.sharpness(W, d, 3) * (1 + 1e-9)
    w = rng.standard_normal((1, 4))
    assert stability._tilted(w, d, 2, 0.7) == pytest.approx(stability._one_output(w[0], d, 2, -0.7 / 2), rel=1e-9)


def test_what_is_said_follows_the_step():
    X, y = load_diabetes(return_X_y=True)
    plain = forecast(X, y)
    settle = forecast(X, y, step_size=1.2 * plain.largest_stable, steps=100)
    cycle = forecast(X, y, step_size=1.1 * plain.settles_below, steps=100)
    assert "Descent can still settle, at a flatter, unbalanced optimum" in " ".join(settle.sentences)
    assert "descent ends in a cycle of two or more maps, or diverges" in " ".join(cycle.sentences)
    assert "the forecast ends there" in settle.sentences[2]
    assert "The step size is 1.2 times the largest stable one." in settle.notices[-1]
    assert "above" not in plain.sentences[2]
