"""Arguments that do not fit each other are named, together, by every function that broadcasts; the smallest of cases."""

import numpy as np
import pytest

from lineament.theory import (
    analytic_svd,
    constant_alignment,
    dual_activations,
    end_to_end,
    kernel_modes,
    learning_curves,
    pc_bias,
    silent_alignment,
    twin,
    units,
)
from lineament.theory.activations import NAMED

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
