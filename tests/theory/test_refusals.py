"""Arguments that do not fit each other are named, together, by every function that broadcasts; the smallest of cases."""

import numpy as np
import pytest

from lineament.theory import (
    analytic_svd,
    certificates,
    constant_alignment,
    critical_points,
    dual_activations,
    early_stopping,
    end_to_end,
    kernel_modes,
    layer_descent,
    learning_curves,
    linearised,
    linearised_classes,
    linearised_ensemble,
    pc_bias,
    quadratic,
    silent_alignment,
    twin,
    two_layer,
    units,
    wide_layers,
    wide_limit,
)
from lineament.theory.activations import NAMED
from lineament.theory.angles import between

TWO, THREE = np.full(2, 0.3), np.full(3, 0.3)
FIT = "must be of shapes that broadcast"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: units.clock_rate(1 + TWO, curvature=THREE), f"depth, curvature {FIT}"),
        (lambda: units.paper_time(TWO, THREE, 2), f"depth, step_size, times {FIT}"),
        (lambda: units.steps(TWO, THREE, 2), f"depth, step_size, times {FIT}"),
        (lambda: dual_activations.dual("erf", TWO, THREE, 0.1), f"p, q, c {FIT}"),
        (lambda: dual_activations.dual("tanh", TWO, 1.0, THREE), f"p, q, c {FIT}"),
        (lambda: constant_alignment.trajectory(TWO, THREE, 1.0, 3), f"times, alignment, start {FIT}"),
        (lambda: constant_alignment.log_ratio(0.1, TWO, THREE, 1.0, 3), f"first, second {FIT}"),
        (lambda: learning_curves.effective_ridge(1 + TWO, [1.0, 2.0], THREE), f"n, ridge {FIT}"),
        (
            lambda: end_to_end.trajectory([0.0, 1.0], np.eye(2), lambda W: W, 2, method="Euler"),
            "method must be one of",
        ),
        (
            lambda: analytic_svd.singular_value_velocity(np.ones((2, 1, 1)), np.ones(1), *np.ones((2, 3, 1, 1)), 2),
            f"U, s, V, grad {FIT}",
        ),
        (lambda: dual_activations.quadrature(NAMED["tanh"], 1.0, 1.0, 4.5), "theta must be .* at most 4"),
        (
            lambda: pc_bias.convergence([1, 1.5], [1.0], [[1.0]], [[1.0]], 0.1, 1.0),
            "steps must be whole numbers; got 1.5",
        ),
        (lambda: twin_of_three().predict([1, 0.5]), "t must be whole numbers of steps; got 0.5"),
    ],
)
def test_what_does_not_fit_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def twin_of_three():
    X = np.random.default_rng(0).normal(size=(3, 2))
    return twin.Twin(X, [1.0, -1.0, 1.0], twin.FeatureMap(1.0), step_size=0.1)


def test_features_of_one_number_have_the_kernel_of_the_inputs():
    X, Y = np.random.default_rng(1).normal(size=(2, 5, 3))
    np.testing.assert_allclose(twin.FeatureMap(np.sqrt(2.0)).kernel(X, Y), 2 * X @ Y.T / 3, rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 50, 60])
def test_the_largest_eigenvalue_of_kernels_small_and_large_and_of_zero(n):
    F = np.random.default_rng(n).normal(size=(n, 3))
    assert kernel_modes.top_value(F @ F.T) == pytest.approx(np.linalg.svd(F)[1][0] ** 2, rel=1e-10, abs=0)
    assert kernel_modes.top_value(np.zeros((n, n))) == 0


def test_layers_of_zeros_are_aligned_with_nothing():
    found = silent_alignment.early([0.0, 2.0], np.zeros((2, 3)), np.zeros(2), [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(found.alignment, 0)
    np.testing.assert_array_equal(found.learnt, 0)


K, CLASSES, ONES, EYES = np.diag([2.0, 1.0]), np.eye(2), np.ones(2), (np.eye(2), np.eye(2))
GRADIENT = lambda W, *_: W  # noqa: E731
BALANCED = (0.3 * np.eye(2), 0.3 * np.eye(2))
CALLS = {
    "linearised.predict": (linearised.predict, {"t": 1.0, "kernel": K, "y": ONES, "ridge": 0.0}),
    "linearised.descend": (
        linearised.descend,
        {"steps": 2, "kernel": K, "y": ONES, "step_size": 0.1, "momentum": 0.0, "ridge": 0.0},
    ),
    "linearised.largest_step": (linearised.largest_step, {"kernel": K, "momentum": 0.0, "ridge": 0.0}),
    "classes.descend": (
        linearised_classes.descend,
        {"steps": 2, "kernel": K, "y": CLASSES, "step_size": 0.1, "momentum": 0.0, "ridge": 0.0},
    ),
    "classes.flow": (linearised_classes.flow, {"t": 1.0, "kernel": K, "y": CLASSES, "ridge": 0.0}),
    "ensemble.predict": (linearised_ensemble.predict, {"t": 1.0, "ntk": K, "nngp": K, "y": ONES, "ridge": 0.0}),
    "layer_descent.descend": (
        layer_descent.descend,
        {
            "steps": [0, 2],
            "layers": EYES,
            "gradient": GRADIENT,
            "step_size": 0.1,
            "momentum": 0.0,
            "weight_decay": 0.0,
            "runs": None,
        },
    ),
    "two_layer.trajectory": (
        two_layer.trajectory,
        {"t": 1.0, "W1": BALANCED[0], "W2": BALANCED[1], "target": np.eye(2), "tolerance": 0.0},
    ),
    "early_stopping.task": (
        early_stopping.task,
        {"d": [2.0, 0.0], "truth": CLASSES, "start": CLASSES, "gamma": [1.0, 1.0], "noise": 0.0},
    ),
    "early_stopping.flow_rates": (early_stopping.flow_rates, {"d": [0.0, 1.0], "scale": 1.0}),
    "early_stopping.descent_rates": (early_stopping.descent_rates, {"d": [0.0, 1.0], "step_size": 0.1, "scale": 1.0}),
    "pc_bias.convergence": (
        pc_bias.convergence,
        {"steps": [0, 1], "d": [0.0, 1.0], "start": [ONES], "moment": [ONES], "step_size": 0.1, "scale": 1.0},
    ),
    "pc_bias.one_step": (pc_bias.one_step, {"layers": EYES, "sxx": CLASSES, "syx": CLASSES, "step_size": 0.1}),
    "pc_bias.scale_variances": (
        pc_bias.scale_variances,
        {"widths": [2, 3, 2], "variances": [0.5, 0.5], "kurtosis": 1.0},
    ),
    "wide_limit.descent": (wide_limit.descent, {"d": [0.0, 1.0], "target": CLASSES, "step_size": 0.1, "steps": 0}),
    "twin.feature_map": (
        lambda **given: twin.feature_map("relu", **given),
        {"spread": 0.0, "first": 0.0, "second": 0.0},
    ),
    "twin.Twin": (
        lambda **given: twin.Twin(CLASSES, ONES, twin.FeatureMap(1.0), **given).rates,
        {"step_size": 0.1},
    ),
    "quadratic.trajectory": (
        quadratic.trajectory,
        {"times": [0.0, 1.0], "target": [0.0, 1.0], "start": 0.1, "bias_rate": 0.0},
    ),
    "critical_points": (
        lambda **given: critical_points.classify_critical_point(
            EYES, lambda W: 0.0, lambda W: 0 * W, lambda W, D: 0 * D, convex=True, **given
        ),
        {"radius": 0.3, "tolerance": 0.0, "seed": 0},
    ),
    "analytic_svd.track": (
        analytic_svd.track,
        {"Ws": [np.diag([2.0, 1.0])] * 2, "times": [0.0, 1.0], "coincidence": 0.0, "overlap": 0.0},
    ),
    "end_to_end.from_layers": (
        lambda **given: end_to_end.trajectory_from_layers(layers=EYES, gradient=GRADIENT, **given),
        {"times": [0.0, 1.0], "tolerance": 0.0},
    ),
    "certificates.certify": (
        lambda **given: certificates.certify(EYES, np.eye(2), **given),
        {"tolerance": 0.0, "strong_convexity": 1.0, "excess": 0.0},
    ),
}
"""Calls with arguments at the closed ends of their ranges, which are taken."""

BEYOND = {
    "t": -1e-300, "steps": -1, "times": [-1e-300, 1.0], "ridge": -1e-300, "step_size": 0.0, "momentum": (-1e-300, 1.0),
    "weight_decay": -1e-300, "runs": 0, "tolerance": -1e-300, "noise": -1e-300, "d": [-1e-300, 1.0], "scale": 0.0,
    "kurtosis": 1 - 1e-15, "variances": [0.0, 0.5], "spread": -1e-300, "first": -1e-300, "second": -1e-300,
    "target": [-1e-300, 1.0], "start": 0.0, "bias_rate": -1e-300, "radius": 0.0, "seed": -1,
    "coincidence": (-1e-300, 1.0), "overlap": (-1e-300, 1 + 1e-15), "strong_convexity": 0.0, "excess": -1e-300,
}  # fmt: skip
"""What lies just beyond them, and at their open ends."""
OTHER = {
    ("early_stopping.task", "start"), ("pc_bias.convergence", "start"), ("wide_limit.descent", "target"),
    ("two_layer.trajectory", "target"), ("layer_descent.descend", "steps"), ("analytic_svd.track", "times"),
}  # fmt: skip
"""Arguments of the same name that are matrices, rows, or may be negative."""


@pytest.mark.parametrize("name", CALLS)
def test_the_ends_of_every_range(name):
    """What is at a closed end is taken; what is at an open one or just beyond is refused by name."""
    function, given = CALLS[name]
    function(**given)
    for argument in given.keys() & BEYOND.keys():
        if (name, argument) in OTHER:
            continue
        beyond = BEYOND[argument]
        for value in beyond if isinstance(beyond, tuple) else (beyond,):
            with pytest.raises(ValueError, match=f"{argument} must"):
                function(**given | {argument: value})


@pytest.mark.parametrize("size", [0.1, 2.0, 1e50])
def test_silent_phases_may_be_as_long_as_their_exponentials_fit(size):
    call = lambda t: silent_alignment.early(t, np.eye(2), ONES, [0.0, size])  # noqa: E731
    assert np.isfinite(call(300 / size).alignment)
    with pytest.raises(ValueError, match="times must be"):
        call(301 / size)


def test_a_layer_of_an_activation_that_is_zero_has_deviations_of_zero():
    found = wide_layers.piecewise_linear_layer(
        0.0, 0.0, np.ones((2, 1)), np.ones((1, 3)), between(np.eye(2), np.ones((3, 2)))
    )
    for part in (found.s, found.t, found.cos, found.gain):
        np.testing.assert_array_equal(part, 0)
