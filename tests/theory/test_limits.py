"""Limits that are documented, written out again: what lies just inside is taken, what lies just outside is not."""

import numpy as np
import pytest

from lineament.theory import (
    circulation,
    critical_points,
    dual_activations,
    end_to_end,
    integration,
    jump_times,
    kernel_shapes,
    label_noise,
    large_steps,
    layer_descent,
    learning_curves,
    linearised_classes,
    log_det,
    modes,
    narrowing,
    phase_bounds,
    phase_descent,
    phases,
    quadratic,
    silent_alignment,
    singular_flow,
    two_layer,
    wide_limit,
)

ONE, I2 = np.ones((1, 1)), np.eye(2)


def field(W):
    return W


BOWL = (lambda W: np.sum((W - 1) ** 2) / 2, lambda W: W - 1, lambda W, D: D)
"""½(w − 1)², whose gradient at w = 1 + δ is δ; its terms, by which it is measured, are of size 2."""


def unbalanced(violation):
    """Layers that miss the solvable class by so much, as `two_layer.balance` measures it."""
    first = np.diag([1.0, 1.0])
    off = 1.0
    for _ in range(8):  # the violation is nearly proportional to what the second layer is off by
        layers = first, np.diag([1.0, 1 + off * violation])
        off *= violation / two_layer.balance(*layers).violation
    return layers


def balanced_to(share):
    """Two layers whose unbalancedness is such a share of the larger of their squared norms."""
    return np.ones((1, 1)), np.full((1, 1), np.sqrt(1 - share))


def steps(count):
    return layer_descent.descend([count], [ONE], lambda W, _: W, 0.1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: steps(10**8 + 1), "steps must be"),
        (lambda: layer_descent.descend([0], [ONE], lambda W, _: W, 0.1, runs=10**10), "runs must lead to arrays"),
        (lambda: layer_descent.descend(np.zeros(10**6), [ONE], lambda W, _: W, 0.1, runs=10**4), "steps must lead to"),
        (lambda: linearised_classes.descend(10**9 + 1, I2, I2, 0.1), "steps must be"),
        (lambda: wide_limit.descent([1.0], ONE, 0.1, 10**5 + 1), "steps must be"),
        (lambda: phase_descent.windows(10**6 + 1, 2.0, 0.1, 0.9, 0.2), "steps must be"),
        (lambda: quadratic.trajectory([0.0, 1.001e6], [0.5], 0.5), "times must be at most 1e"),
        (lambda: circulation.circulation(field, I2, I2, I2, nodes=1001), "nodes must be"),
        (lambda: large_steps.advance(np.ones(1), 4.01, 2), "ratio must be"),
        (lambda: large_steps.two_cycle(1.5, 100.5), "depth must be"),
        (lambda: large_steps.advance(np.array([1.001e6]), 1.0, 2), "x must be"),
        (lambda: dual_activations.quadrature_dual("tanh", 1000.5**2, 1.0, 0.0), "s must be"),
        (lambda: learning_curves.effective_ridge(3, [1.005e100]), "eigenvalues must be"),
        (lambda: learning_curves.effective_ridge(0.995e-100, [1.0]), "n must be"),
        (lambda: phases.log_threshold(3, 2.0, 1.99e-300, 0.9), "s must be at least 1e-300 ratio"),
        (lambda: phases.is_incremental(1e-310, 2.0, 1.0, 1.99e-300, 0.9, 3), "s must be at least 1e-300"),
        (lambda: modes.trajectory(1.0, 1.0, 5e-306, 3.0), "start and target must be such"),
        (lambda: phase_bounds.log_bounds_descent(2.0, 0.1, 0.9, 0.8285), "c must be"),
        (lambda: silent_alignment.early(301.0, I2, np.ones(2), [1.0, 0.0]), "times must be"),
        (lambda: integration.integrate([0.0, 1.0], [I2], lambda W: [W], "DOP853", 2.99e-14, 1e-12), "rtol must be"),
        (lambda: integration.integrate([0.0, 1.0], [I2], lambda W: [W], "DOP853", 1e-6, 0.995e-100), "atol must be"),
        (lambda: integration.integrate([0.0, 1.0], [I2], lambda W: [W], "DOP853", 1.0, 1e-12), "rtol must be"),
        (lambda: label_noise.slow_flow([0.0, 1.0], I2, I2, I2, rtol=1.0), "rtol must be"),
        (lambda: label_noise.slow_flow([0.0, 1.0], I2, I2, I2, rtol=2.99e-14), "rtol must be"),
        (lambda: label_noise.slow_flow([0.0, 1.0], 1.01e150 * I2, I2, I2), "W1 must have entries of at most"),
        (lambda: label_noise.slow_flow([-1e-9, 1.0], I2, I2, I2), "t must be"),
        (lambda: log_det.least_objective([1.0], 0.5, 10**8 + 1), "input_size must be"),
        (lambda: narrowing.narrowed([ONE, ONE], 1001), "order must be"),
        (lambda: dual_activations.dual("relu", 4.0, 1.0, 2 * (1 + 1.005e-9)), "c must be covariances"),
        (lambda: dual_activations.dual("relu", 0.0, 1.0, 1.005e-300), "c must be covariances"),
        (lambda: label_noise.line([1.0, 1.0], [[2.0, 0.0], [2.01e-12, 1.0]]), "S must be symmetric"),
        (lambda: linearised_classes.flow(1.0, I2, (1 + 1.005e-6) * I2), "y must be shares"),
        (lambda: log_det.convex_objective([[2.0, 2.01e-10], [0.0, 1.0]], I2, 0.5), "M must be symmetric"),
        (lambda: log_det.minimum(np.ones((2, 1)), [[1.0], [1 + 2.01e-10]], 0.5), "Y must be in the range of X"),
        (lambda: silent_alignment.early(0.0, I2, np.ones(2), [0.99e-100, 0.0]), "target must be of a length"),
        (lambda: silent_alignment.early(0.0, I2, np.ones(2), [1.005e100, 0.0]), "target must be of a length"),
        (lambda: critical_points.classify_critical_point([(1 + 2.01e-8) * ONE], *BOWL, convex=True), "stationary"),
        (lambda: two_layer.trajectory(1.0, *unbalanced(1.005e-10), I2), "W1 and W2 must"),
        (lambda: two_layer.layers(1.0, *unbalanced(1.005e-10), I2), "W1 and W2 must"),
        (lambda: end_to_end.trajectory_from_layers([1.0], balanced_to(1.005e-8), field), "layers must be balanced"),
    ],
)
def test_just_outside(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: integration.integrate([0.0, 0.1], [I2], lambda W: [W], "DOP853", 3e-14, 1e-100)[0],
        lambda: large_steps.advance(np.ones(1), 4.0, 100),
        lambda: large_steps.advance(np.array([1e6]), 1.0, 2),
        lambda: learning_curves.effective_ridge(1e-100, [1e100]),
        lambda: phases.log_threshold(3, 2.0, 2.01e-300, 0.9),
        lambda: modes.trajectory(1.0, 1.0, 2e-304, 3.0),
        lambda: phase_bounds.log_bounds_descent(2.0, 0.1, 0.9, 0.8283),
        lambda: silent_alignment.early(300.0, I2, np.ones(2), [1.0, 0.0]).alignment,
        lambda: dual_activations.dual("relu", 4.0, 1.0, 2 * (1 + 0.995e-9)).value,
        lambda: dual_activations.dual("relu", 0.0, 1.0, 0.995e-300).value,
        lambda: label_noise.line([1.0, 1.0], [[2.0, 0.0], [1.99e-12, 1.0]]).rates,
        lambda: linearised_classes.flow(1.0, I2, (1 + 0.995e-6) * I2),
        lambda: log_det.convex_objective([[2.0, 1.99e-10], [0.0, 1.0]], I2, 0.5),
        lambda: log_det.minimum(np.ones((2, 1)), [[1.0], [1 + 1.99e-10]], 0.5).value,
        lambda: silent_alignment.early(0.0, I2, np.ones(2), [1.005e-100, 0.0]).alignment,
        lambda: silent_alignment.early(0.0, I2, np.ones(2), [0.995e100, 0.0]).alignment,
        lambda: critical_points.classify_critical_point([(1 + 1.99e-8) * ONE], *BOWL, convex=True).gradient,
        lambda: two_layer.trajectory(1.0, *unbalanced(0.995e-10), I2),
        lambda: end_to_end.trajectory_from_layers([1.0], balanced_to(0.995e-8), field).W,
    ],
)
def test_just_inside(call):
    assert np.isfinite(call()).all()


@pytest.mark.parametrize("scale", [0.01, 300.0])
@pytest.mark.parametrize(("share", "taken"), [(0.99e-8, True), (1.01e-8, False)])
def test_layers_of_any_size_are_balanced_to_a_share_of_their_squared_norms(share, taken, scale):
    layers = [scale * W for W in balanced_to(share)]
    if taken:
        found = end_to_end.trajectory_from_layers([0.0], layers, field)
        assert found.unbalancedness == pytest.approx(share * scale**2, rel=1e-6, abs=0)
    else:
        with pytest.raises(ValueError, match="layers must be balanced"):
            end_to_end.trajectory_from_layers([0.0], layers, field)


@pytest.mark.parametrize(("gap", "taken"), [(0.99e-6, False), (1.01e-6, True)])
@pytest.mark.parametrize("scale", [1e-5, 1.0, 50.0])
def test_values_of_a_start_that_coincide(gap, taken, scale):
    W = scale * np.diag([1.0, 1 - gap])
    if taken:
        assert singular_flow.singular_flow([0.0], W, field, 2).log_s.shape == (1, 2)
    else:
        with pytest.raises(ValueError, match="distinct singular values"):
            singular_flow.singular_flow([0.0], W, field, 2)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("off", "taken"), [(0.99e-5, True), (1.01e-5, False)])
def test_kernels_that_are_symmetric_to_the_rounding_of_float32(sign, off, taken):
    """Relative to the largest entry, whatever its sign, and also where it stands far from the diagonal."""
    for n in (2, 1030):
        K = np.eye(n)
        K[0, -1], K[-1, 0] = sign * 3.0, sign * 3.0 * (1 - off)
        if taken:
            assert kernel_shapes.matrix_of(K)[1] == n
        else:
            with pytest.raises(ValueError, match="kernel must be symmetric"):
                kernel_shapes.matrix_of(K)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_coordinates_that_jump_together(scale):
    """Two features whose times differ by less than a billionth jump as one; by more, one after the other."""
    X = np.sqrt(2) * np.eye(2)
    assert len(jump_times.saddles(X, scale * np.array([1.0, 1 - 0.995e-9])).times) == 1
    assert len(jump_times.saddles(X, scale * np.array([1.0, 1 - 1.005e-9])).times) == 2
    assert len(jump_times.saddles(X, scale * np.array([1.0, 0.995e-9])).times) == 1  # a gradient that is none
    assert len(jump_times.saddles(X, scale * np.array([1.0, 1.005e-9])).times) == 2
