"""What is left out means what the reference says: a factor of one, nothing added, the papers' own fractions."""

from functools import partial

import jax
import numpy as np
import pytest

from lineament.theory import (
    analytic_svd,
    certificates,
    critical_points,
    early_stopping,
    end_to_end,
    label_noise,
    lambda_modes,
    layer_descent,
    learning_curves,
    linearised,
    linearised_classes,
    nuclear,
    pc_bias,
    phase_bounds,
    phase_descent,
    phases,
    quadratic,
    singular_flow,
    training_time,
    twin,
    two_by_two,
    units,
)
from lineament.theory.activations import piecewise_linear
from lineament.theory.spectral_filters import largest_step

K, Y = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, -1.0])
CLASSES = np.eye(2)
LAYERS = (np.array([[0.5, 0.2]]), np.array([[0.7]]))
EYE, D = np.eye(2), [2.0, 1.0]
TASK = early_stopping.task(D, EYE, 0.5 * EYE, D, 0.1)
MEASURED = np.random.default_rng(0).normal(size=(3, 3, 2))
PAST = {"share": 1.0, "target": 1.0}
START, TOLERANCE = np.array([[0.5, 0.2]]), {"tolerance": 1e-8}
# Another tolerance makes other steps, and other last digits.
ADAPTIVE, FINE = {"rtol": 1e-10, "atol": 1e-14}, {"rtol": 1e-10, "atol": 1e-12}
SADDLE = ([0 * EYE] * 3, lambda W: np.sum((W - EYE) ** 2) / 2, lambda W: W - EYE, lambda W, A: A)


def drop(*given, **more):
    return critical_points.classify_critical_point(*given, convex=True, **more).drop


def pull(W):
    """The gradient of a loss that is least far away, where all values grow."""
    return W - np.diag([3.0, 2.0])


@pytest.mark.parametrize(
    ("function", "given", "left_out"),
    [
        (certificates.guaranteed_rate, (3, 0.4), {"strong_convexity": 1.0, "square": False}),
        (certificates.guaranteed_time, (1e-3, 2.0, 3, 0.4), {"strong_convexity": 1.0}),
        (lambda *given, **more: certificates.certify(*given, **more).assumptions[2].bound, (LAYERS, START), TOLERANCE),
        (partial(drop, *SADDLE), (), {"radius": 0.3}),
        (end_to_end.trajectory, ([0.5, 2.0], START.T @ START, pull, 3), ADAPTIVE | {"method": "DOP853"}),
        (end_to_end.trajectory, ([0.5, 2.0], 0.3 * EYE + START.T, pull, 3), ADAPTIVE | {"rank": 2}),
        (end_to_end.trajectory_symmetric, ([0.5, 2.0], START.T @ START, pull), ADAPTIVE),
        (end_to_end.trajectory_from_layers, ([0.5, 2.0], (EYE, EYE), pull), ADAPTIVE | TOLERANCE),
        (singular_flow.singular_flow, ([2.0], START.T + EYE, pull, 2), FINE | {"method": "LSODA"}),
        (label_noise.slow_flow, ([3.0], EYE + START, EYE, np.diag(D)), {"rtol": 1e-9}),
        (early_stopping.flow_rates, (D,), {"scale": 1.0}),
        (early_stopping.descent_rates, (D, 0.1), {"scale": 1.0}),
        (early_stopping.best_stopping, (TASK, D), {"end": np.inf}),
        (lambda_modes.laziness, (2.0, 0.1, 0.7), {"change": 0.1}),
        (layer_descent.descend, ([3], LAYERS, lambda W, _: W - 1, 0.1), {"momentum": 0.0}),
        (learning_curves.effective_ridge, (1.5, D), {"ridge": 0.0}),
        (learning_curves.expected_errors, (1.5, D, D), {"noise": 0.0, "ridge": 0.0}),
        (linearised.predict, (0.4, K, Y), {"ridge": 0.0}),
        (linearised.descend, (3, K, Y, 0.1), {"momentum": 0.0, "ridge": 0.0}),
        (linearised.largest_step, (K,), {"momentum": 0.0, "ridge": 0.0}),
        (linearised_classes.descend, (3, K, CLASSES, 0.1), {"momentum": 0.0, "ridge": 0.0}),
        (linearised_classes.flow, (0.4, K, CLASSES), {"ridge": 0.0}),
        (largest_step, (2.0,), {"momentum": 0.0}),
        (nuclear.least_nuclear_sensing, (MEASURED, [1.0, 0.5, -1.0]), {"accuracy": 1e-5}),
        (
            nuclear.least_nuclear_completion,
            ([0, 0, 1, 2], [0, 1, 0, 2], [1.0, 0.4, -0.7, 2.0], (3, 3)),
            {"accuracy": 1e-5},
        ),
        (pc_bias.scale_variances, ([2, 3, 2], [0.5, 0.5]), {"kurtosis": 3.0}),
        (phase_bounds.log_bounds, (3, 2.0, 0.1, 0.9), {"target": 1.0}),
        (phase_bounds.log_bounds_corrected, (3, 2.0, 0.1, 0.9), {"target": 1.0}),
        (phase_bounds.descent_exponents, (2.0, 0.3), {"share": 1.0}),
        (phase_bounds.log_bounds_descent, (2.0, 0.1, 0.9, 0.2), PAST),
        (phase_descent.threshold_descent, (2.0, 0.1, 0.9, 0.2), PAST | {"depth": 2.0}),
        (phase_descent.log_threshold_descent, (2.0, 0.1, 0.9, 0.2), PAST | {"depth": 2.0}),
        (phase_descent.windows, (3, 2.0, 0.1, 0.9, 0.2), PAST | {"depth": 2.0}),
        (phases.threshold, (3, 2.0, 0.1, 0.9), {"target": 1.0}),
        (phases.log_threshold, (3, 2.0, 0.1, 0.9), {"target": 1.0}),
        (phases.timetable, (D, 0.01, 3), {"s": 0.1, "f": 0.9}),
        (piecewise_linear, (0.5,), {"right": 1.0}),
        (quadratic.trajectory, ([0.0, 0.5], D, 0.1), {"bias_target": 0.0}),
        (quadratic.trajectory, ([0.0, 0.5], D, 0.1), {"bias_rate": 1 / 8}),
        (training_time.singular_values, ([0.0, 0.5], D, 0.1, 3), {"curvature": 1.0}),
        (training_time.time_to, (0.7, 1.0, 0.1, 3), {"curvature": 1.0}),
        (partial(twin.feature_map, "relu", spread=0.3), (), {"first": 1.0, "second": 1.0}),
        (two_by_two.loss, (EYE,), {"determinant": 1}),
        (two_by_two.constants, (3,), {"norm": "frobenius"}),
        (two_by_two.least_corner, (1e-3,), {"dimension": 2}),
        (two_by_two.norm_bound, (EYE, 1e-3), {"norm": "frobenius", "determinant": 1}),
        (units.clock_rate, (3,), {"parameterisation": "factors", "loss": "half", "curvature": 1.0}),
        (units.paper_time, (10, 0.1, 3), {"parameterisation": "factors", "loss": "half", "curvature": 1.0}),
        (units.steps, (10.0, 0.1, 3), {"parameterisation": "factors", "loss": "half", "curvature": 1.0}),
    ],
)
def test_what_is_left_out(function, given, left_out):
    short, full = (jax.tree.leaves(call) for call in (function(*given), function(*given, **left_out)))
    for one, other in zip(short, full, strict=True):
        if isinstance(one, float | np.ndarray | np.floating):
            np.testing.assert_array_equal(one, other)
    assert any(isinstance(one, float | np.ndarray | np.floating) for one in short)


def test_a_branch_must_overlap_with_itself_by_half():
    def turned(cosine):
        sine = np.sqrt(1 - cosine**2)
        return [np.diag([2.0, 1.0]), np.array([[cosine, -sine], [sine, cosine]]) @ np.diag([2.0, 1.0])]

    assert analytic_svd.track(turned(0.502)).s == pytest.approx(np.array([[2.0, 1.0]] * 2))
    with pytest.raises(ValueError, match="sampled too coarsely"):
        analytic_svd.track(turned(0.498))
