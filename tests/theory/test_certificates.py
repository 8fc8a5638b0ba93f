"""Definition 3, Exercise 3, Theorem 2 and Remark 2: formulae against minimisation, guarantees against runs."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

from lineament.theory import certificates as c
from lineament.theory.end_to_end import eigensystem, trajectory
from lineament.theory.layers import balanced, product, unbalancedness

seeds = st.integers(0, 2**32 - 1)
sides = st.integers(1, 4)
depths = st.integers(1, 5)


def least(W):
    return np.linalg.svd(W, compute_uv=False)[-1]


def widths(shape, n):
    return (shape[1], *([min(shape)] * (n - 1)), shape[0])


def admissible(rng, shape, fraction):
    """A well-conditioned target and a start that uses up a fraction of its least singular value."""
    U, V = (np.linalg.qr(rng.normal(size=(d, min(shape))))[0] for d in shape)
    target = (U * rng.uniform(0.5, 2, size=min(shape))) @ V.T
    D = rng.normal(size=shape)
    return target, target + fraction * least(target) * D / np.linalg.norm(D)


@given(sides, sides, st.floats(0, 1.5), seeds)
def test_exercise_3_is_attained_and_never_beaten(outputs, inputs, delta, seed):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(outputs, inputs))
    distance, nearest = c.distance_to_deficient(W, delta), c.nearest_deficient(W, delta)
    assert distance == pytest.approx(max(0.0, least(W) - delta), abs=1e-14)
    assert least(nearest) <= delta + 1e-12
    assert np.linalg.norm(W - nearest) == pytest.approx(distance, abs=1e-12)
    for _ in range(20):  # deficient maps in all directions
        X = rng.normal(size=W.shape) * rng.uniform(0.1, 2) + rng.choice([0, 1]) * W
        assert np.linalg.norm(W - c.nearest_deficient(X, delta)) >= distance - 1e-12


@pytest.mark.parametrize("shape", [(2, 2), (3, 2), (1, 3)])
def test_exercise_3_by_numerical_minimisation(shape):
    """Maps A diag(s) Bᵀ with least s at most δ, minimised over everything."""
    rng = np.random.default_rng(sum(shape))
    W, delta, d = rng.normal(size=shape) + np.eye(*shape), 0.2, min(shape)

    def distance(z):
        A, B = (
            np.linalg.qr(part.reshape(k, d))[0] for part, k in zip(np.split(z[d:], [shape[0] * d]), shape, strict=True)
        )
        s = np.append(z[: d - 1], delta * np.sin(z[d - 1]))
        return np.linalg.norm(W - (A * s) @ B.T)

    best = min(minimize(distance, rng.normal(size=d + d * sum(shape))).fun for _ in range(8))
    assert best == pytest.approx(c.distance_to_deficient(W, delta), abs=1e-5)


@given(sides, sides, st.floats(0.05, 1.5), seeds)
def test_example_1_is_definition_3(outputs, inputs, fraction, seed):
    """W beats every deficient map exactly for margins below δ*."""
    rng = np.random.default_rng(seed)
    target, W = admissible(rng, (outputs, inputs), fraction)
    supremum = c.deficiency_margin(W, target)
    assert supremum == pytest.approx(least(target) * (1 - fraction), abs=1e-12)
    own = np.linalg.norm(W - target)
    assume(abs(supremum) > 1e-9)
    for delta in (0.5 * supremum, 0.999999 * supremum):
        if supremum > 0:
            assert own < np.linalg.norm(c.nearest_deficient(target, delta) - target)
    beyond = max(supremum, 0) + 1e-6
    assert own >= np.linalg.norm(c.nearest_deficient(target, beyond) - target)


@given(sides, sides, st.floats(0.1, 0.9), seeds)
def test_margin_of_strongly_convex_losses(outputs, inputs, fraction, seed):
    """½⟨D, QD⟩ with Q ≥ αI: no map with σ_min ≤ δ has a loss as low; for Q = αI the margin is that of Example 1."""
    rng = np.random.default_rng(seed)
    target, W = admissible(rng, (outputs, inputs), fraction)
    alpha, M = 0.7, rng.normal(size=(W.size, W.size))
    Q = alpha * np.eye(W.size) + M @ M.T / W.size

    def loss(X):
        return (X - target).ravel() @ Q @ (X - target).ravel() / 2

    white = alpha / 2 * np.sum((W - target) ** 2)
    assert c.margin_from_excess(white, target, alpha) == pytest.approx(c.deficiency_margin(W, target), abs=1e-12)
    delta = c.margin_from_excess(loss(W), target, alpha)
    assume(delta > 1e-3)
    for _ in range(20):
        X = c.nearest_deficient(target + rng.normal(size=W.shape) * rng.choice([0, 0.3, 1]), 0.999 * delta)
        assert loss(W) < loss(X)


@given(sides, sides, depths, st.floats(0.1, 0.9), seeds)
def test_least_eigenvalue_behind_theorem_2(outputs, inputs, n, fraction, seed):
    """λ_min(P) ≥ σ_min^{2(n−1)/n}, attained by rectangular maps; n times that for square ones."""
    W = admissible(np.random.default_rng(seed), (outputs, inputs), fraction)[1]
    found = eigensystem(W, n).values.min()
    bound = least(W) ** (2 - 2 / n)
    factor = n if outputs == inputs else 1
    assert found == pytest.approx(factor * bound, rel=1e-9, abs=0)


@given(sides, sides, st.integers(2, 5), st.floats(0.1, 0.95), seeds)
def test_theorem_2_along_flows(outputs, inputs, n, fraction, seed):
    """φ(t) − φ* under its envelope, for whitened and for other quadratic losses; n times faster where W is square."""
    rng = np.random.default_rng(seed)
    target, W = admissible(rng, (outputs, inputs), fraction)
    scales = rng.uniform(1, 1.5, size=W.shape)  # α = 1

    for weight in (np.ones(W.shape), scales):
        excess = np.sum(weight * (W - target) ** 2) / 2
        report = c.certify(balanced(W, widths(W.shape, n)), target, excess=excess)
        if not report.holds:
            assert report.margin <= 0
            continue
        times = np.linspace(0, 3 / report.rate, 5)
        flow = trajectory(times, W, lambda X, w=weight: w * (X - target), n, rtol=1e-8)
        measured = np.sum(weight * (flow - target) ** 2, axis=(1, 2)) / 2
        assert np.all(measured <= report.envelope(times) * (1 + 1e-6))
        if outputs == inputs:
            assert np.all(measured <= excess * np.exp(-n * report.rate * times) * (1 + 1e-6) + 1e-14 * excess)
        epsilon = excess / 7
        assert np.exp(-report.rate * report.guarantee(epsilon)) == pytest.approx(1 / 7)
        assert report.guarantee(epsilon) == pytest.approx(c.guaranteed_time(epsilon, excess, n, report.margin))


def test_the_rate_of_theorem_2_is_met_by_rectangular_flows_near_the_end():
    """With one output and many inputs, displacement orthogonal to w falls at the printed rate when δ → ‖w‖."""
    target = np.array([[1.0, 0.0, 0.0]])
    W = target + np.array([[0.0, 1e-4, 0.0]])
    report = c.certify(balanced(W, (3, 1, 1, 1)), target)
    t = np.array([0.0, 1.0])
    flow = trajectory(t, W, lambda X: X - target, 3)
    measured = np.log(np.sum((flow[0] - target) ** 2) / np.sum((flow[1] - target) ** 2))
    assert measured == pytest.approx(report.rate, rel=1e-3, abs=0)


def test_without_balance_theorem_2_is_violated():
    a = 4.0
    layers = [np.diag([a, 1 / a]), np.diag([1 / a, a])]  # product I
    target = np.eye(2) + 0.1 * np.array([[0, 1], [0, 0]])  # the displacement meets the eigenvalue 2/a²
    report = c.certify(layers, target)
    assert not report.holds
    with pytest.raises(ValueError, match=r"nothing is guaranteed: unbalancedness: .* ≤ .* FAILS"):
        report.guarantee(1e-3)
    assert np.all(np.isinf(report.envelope([0, 1])))

    def slope(_, y):
        W1, W2 = y.reshape(2, 2, 2)
        G = W2 @ W1 - target
        return -np.stack([W2.T @ G, G @ W1.T]).ravel()

    rate = c.guaranteed_rate(2, report.margin)
    y = solve_ivp(slope, (0, 2), np.stack(layers).ravel(), rtol=1e-10, atol=1e-12).y[:, -1].reshape(2, 2, 2)
    left = np.sum((y[1] @ y[0] - target) ** 2) / 2
    assert left > 10 * report.excess * np.exp(-2 * rate)


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (1, 3), (3, 2)])
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("unbalanced", [False, True])
def test_remark_2_along_descent(shape, n, unbalanced):
    """Under its envelope at every iteration, from exactly balanced layers and from the most unbalance admitted."""
    rng = np.random.default_rng(10 * n + sum(shape))
    target, W = admissible(rng, shape, 0.2)
    layers, margin = list(balanced(W, widths(shape, n))), c.deficiency_margin(W, target)
    if (
        unbalanced
    ):  # rescale two layers so that unbalancedness, linear in small rescalings, is 0.99 of what is admitted
        tried = unbalancedness([layers[0] * (1 + 1e-7), layers[1] / (1 + 1e-7), *layers[2:]])
        r = 1 + 1e-7 * 0.99 * c.admissible_unbalancedness(target, n, margin) / tried
        layers[0], layers[1] = layers[0] * r, layers[1] / r
    step = c.guaranteed_step(target, n, margin)
    report = c.certify(layers, target, step_size=step * 0.999)
    assert report.holds, str(report)
    assert report.guarantee(report.excess / 5) == c.guaranteed_iterations(
        report.excess / 5, report.excess, step * 0.999, n, report.margin
    )
    count, losses = 2000, []
    for _ in range(count):
        G = product(layers) - target
        losses.append(np.sum(G**2) / 2)
        above = [product(layers[j + 1 :]) if j + 1 < n else np.eye(shape[0]) for j in range(n)]
        below = [product(layers[:j]) if j else np.eye(shape[1]) for j in range(n)]
        layers = [X - report.step_size * a.T @ G @ b.T for X, a, b in zip(layers, above, below, strict=True)]
    assert np.all(np.array(losses) <= report.envelope(np.arange(count)) * (1 + 1e-12))


def test_printed_constants():
    target, n, delta = np.diag([3.0, 4.0]), 3, 0.5  # ‖Λ‖ = 5
    step, admitted = delta ** (10 / 3) / (6144 * 27 * 5 ** (14 / 3)), delta**2 / (256 * 27 * 5 ** (4 / 3))
    assert c.guaranteed_step(target, n, delta) == pytest.approx(step, rel=1e-12, abs=0)
    assert c.admissible_unbalancedness(target, n, delta) == pytest.approx(admitted, rel=1e-12, abs=0)
    assert c.guaranteed_time(0.1, 1.0, n, delta, 2.0) == pytest.approx(np.log(10) / (4 * delta ** (4 / 3)))
    expected = np.log(10) / (1e-3 * delta ** (4 / 3))
    assert c.guaranteed_iterations(0.1, 1.0, 1e-3, n, delta) == np.ceil(expected)
    assert c.guaranteed_time(2.0, 1.0, n, delta) == 0
    assert c.guaranteed_iterations(2.0, 1.0, 1e-3, n, delta) == 0


@given(st.integers(1, 6), st.floats(-3, 3), seeds)
def test_guarantees_scale_as_the_network_does(n, exponent, seed):
    """W → sW is layers → s^{1/n}: time scales as s^{2/n−2}, unbalancedness as s^{2/n}, iterations not at all."""
    s = 10**exponent
    target, W = admissible(np.random.default_rng(seed), (2, 3), 0.3)
    one, many = c.deficiency_margin(W, target), c.deficiency_margin(s * W, s * target)
    assert many == pytest.approx(s * one, rel=1e-9, abs=0)
    step, unit = c.guaranteed_step(s * target, n, many), c.guaranteed_step(target, n, one)
    assert step == pytest.approx(s ** (2 / n - 2) * unit, rel=1e-8, abs=0)
    ratio = c.admissible_unbalancedness(s * target, n, many) / c.admissible_unbalancedness(target, n, one)
    assert ratio == pytest.approx(s ** (2 / n), rel=1e-8, abs=0)
    assert step * c.guaranteed_rate(n, many) == pytest.approx(unit * c.guaranteed_rate(n, one), rel=1e-8, abs=0)


@pytest.mark.parametrize("step_size", [None, 1e-7])
def test_what_holds_at_the_start_takes_no_time(step_size):
    target = np.diag([1.0, 0.5])
    report = c.certify(balanced(0.9 * target, (2, 2, 2)), target, step_size=step_size)
    for epsilon in (report.excess, 2 * report.excess, 1e300):
        assert report.guarantee(epsilon) == 0
    assert report.guarantee(0.999 * report.excess) > 0


def test_reports_name_what_fails():
    target, W = np.diag([1.0, 0.5]), np.diag([0.1, 0.1])
    report = c.certify(balanced(W, (2, 2, 2)), target)
    assert [a.name for a in report.assumptions if not a.holds] == ["deficiency margin"]
    with pytest.raises(ValueError, match=r"deficiency margin: -0\.48.* > 0 FAILS"):
        report.guarantee(1e-3)
    near = balanced(0.95 * target, (2, 2, 2))
    large = c.certify(near, target, step_size=0.1)
    assert [a.name for a in large.assumptions if not a.holds] == ["step size"]
    assert "gradient descent (Remark 2): nothing is guaranteed" in str(large)
    assert "gradient flow (Theorem 2): φ − φ* ≤" in str(c.certify(near, target))
    narrow = c.certify([np.ones((1, 2)), np.ones((2, 1))], np.ones((2, 2)) + np.eye(2))
    assert "least hidden width" in [a.name for a in narrow.assumptions if not a.holds]
    assert c.certify([target], target).guarantee(1e-3) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: c.guaranteed_rate(2, 0.0), "margin must be a finite number above 0; got 0"),
        (lambda: c.guaranteed_rate(2, 1.0, -1.0), "strong_convexity must be a finite number above 0; got -1"),
        (lambda: c.guaranteed_time(0.0, 1.0, 2, 1.0), "epsilon must be a finite number above 0; got 0"),
        (lambda: c.guaranteed_iterations(0.1, 1.0, 0.0, 2, 1.0), "step_size must be a finite number above 0; got 0"),
        (lambda: c.margin_from_excess(-1.0, np.eye(2), 1.0), "excess must be a finite number of at least 0; got -1"),
        (lambda: c.distance_to_deficient(np.eye(2), -1.0), "delta must be a finite number of at least 0; got -1"),
        (lambda: c.deficiency_margin(np.eye(2), np.eye(3)), r"target must be of shape \(2, 2\); got \(3, 3\)"),
        (
            lambda: c.certify([np.eye(2)], np.eye(2), step_size=0.1, excess=1.0),
            "strong_convexity and excess must be left out with a step_size: Remark 2 is ",
        ),
    ],
)
def test_wrong_use(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("step_size", [None, 0.1])
def test_without_a_margin_no_rate_is_promised(step_size):
    report = c.certify([np.eye(2), np.eye(2)], 10 * np.eye(2), step_size=step_size)
    assert report.margin < 0
    assert report.rate == 0.0
    if step_size is not None:  # nothing unbalanced and no step is admitted
        assert [assumption.bound for assumption in report.assumptions[2:]] == [0.0, 0.0]
    assert np.all(report.envelope([0.0, 1.0]) == np.inf)


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_the_rate_of_square_maps_is_that_of_the_least_eigenvalue_of_the_preconditioner(depth):
    """At W = δI all n terms of every eigenvalue are as small as they may be; beside a null space one of them is left."""
    delta, alpha = 0.3, 0.7
    slowest = eigensystem(delta * np.eye(3), depth).values.min()
    assert c.guaranteed_rate(depth, delta, alpha, square=True) == pytest.approx(2 * alpha * slowest, rel=1e-13, abs=0)
    slowest = eigensystem(delta * np.eye(3, 4), depth).values.min()
    assert c.guaranteed_rate(depth, delta, alpha) == pytest.approx(2 * alpha * slowest, rel=1e-13, abs=0)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_the_envelope_of_a_flow_comes_down_to_what_is_guaranteed_when_it_is(depth):
    target = np.diag([1.0, 0.5])
    report = c.certify(balanced(0.9 * target, (2,) * (depth + 1)), target)
    for share in (1.0, 0.5, 1e-3, 1e-12):
        assert report.envelope(report.guarantee(share * report.excess)) == pytest.approx(
            share * report.excess, rel=1e-11, abs=0
        )
    assert report.envelope(np.inf) == 0


def test_a_flow_counts_as_balanced_relative_to_its_largest_layer():
    layers = [np.full((1, 2), 3.0), np.full((1, 1), 0.1), np.full((2, 1), 2.0)]
    found = c.certify(layers, np.ones((2, 2)), tolerance=1e-3).assumptions[2]
    assert found.bound == pytest.approx(18e-3, rel=1e-12, abs=0)
    assert found.value == pytest.approx(unbalancedness(layers), rel=1e-12, abs=0)


@pytest.mark.parametrize("step_size", [None, 0.1])
def test_a_margin_of_nothing_is_none(step_size):
    report = c.certify([np.zeros((1, 1)), np.ones((1, 1))], np.ones((1, 1)), step_size=step_size)
    assert (report.margin, report.rate) == (0.0, 0.0)
    assert not report.holds
