"""Limits that are documented, written out again: what lies just inside is taken, what lies just outside is not."""

import numpy as np
import pytest

from lineament.theory import (
    circulation,
    dual_activations,
    integration,
    jump_times,
    kernel_shapes,
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
    wide_limit,
)

ONE, I2 = np.ones((1, 1)), np.eye(2)


def field(W):
    return W


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
        (lambda: log_det.least_objective([1.0], 0.5, 10**8 + 1), "input_size must be"),
        (lambda: narrowing.narrowed([ONE, ONE], 1001), "order must be"),
    ],
)
def test_just_outside(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: large_steps.advance(np.ones(1), 4.0, 100),
        lambda: large_steps.advance(np.array([1e6]), 1.0, 2),
        lambda: learning_curves.effective_ridge(1e-100, [1e100]),
        lambda: phases.log_threshold(3, 2.0, 2.01e-300, 0.9),
        lambda: modes.trajectory(1.0, 1.0, 2e-304, 3.0),
        lambda: phase_bounds.log_bounds_descent(2.0, 0.1, 0.9, 0.8283),
        lambda: silent_alignment.early(300.0, I2, np.ones(2), [1.0, 0.0]).alignment,
    ],
)
def test_just_inside(call):
    assert np.isfinite(call()).all()


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
    assert len(jump_times.saddles(X, scale * np.array([1.0, 1 - 0.5e-9])).times) == 1
    assert len(jump_times.saddles(X, scale * np.array([1.0, 1 - 2e-9])).times) == 2
    assert len(jump_times.saddles(X, scale * np.array([1.0, 0.5e-9])).times) == 1  # a gradient that is none
    assert len(jump_times.saddles(X, scale * np.array([1.0, 2e-9])).times) == 2
