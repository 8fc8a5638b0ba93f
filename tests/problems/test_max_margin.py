"""Max-margin against what defines it, and against an independent solver."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from lineament.problems import max_margin


def separable(seed, n, d):
    r = np.random.default_rng(seed)
    X = r.normal(size=(n, d)) * 10.0 ** r.integers(-3, 4)
    return X, np.where(X @ r.normal(size=d) > 0, 1.0, -1.0)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 12))
def test_it_is_feasible_and_satisfies_the_optimality_conditions(seed, n, d):
    X, y = separable(seed, n, d)
    w, Z = max_margin(X, y), y[:, None] * X
    margins = Z @ w
    assert margins.min() == pytest.approx(1, abs=1e-8)
    support = Z[margins < 1 + 1e-8]  # w = Σ α_i y_i x_i with α ≥ 0 on the support, and ‖w‖² = Σ α_i
    alpha = np.linalg.lstsq(support.T, w, rcond=None)[0]
    np.testing.assert_allclose(support.T @ alpha, w, atol=1e-8 * np.abs(w).max())
    assert alpha.min() > -1e-8 * alpha.max()


def test_it_is_the_machine_of_mirrored_examples_and_not_the_plain_one():
    X, y = separable(3, 60, 20)
    w = max_margin(X, y)
    mirrored = SVC(kernel="linear", C=1e12, tol=1e-9).fit(np.r_[X, -X], np.r_[y, -y])
    np.testing.assert_allclose(mirrored.coef_[0], w, atol=1e-5 * np.linalg.norm(w))
    plain = SVC(kernel="linear", C=1e12).fit(X, y).coef_[0]
    assert plain @ w / np.linalg.norm(plain) / np.linalg.norm(w) < 1 - 1e-4


def test_bad_examples_are_refused():
    with pytest.raises(ValueError, match="cannot be separated"):
        max_margin([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0]], [1, -1, 1])
    with pytest.raises(ValueError, match="labels −1 and \\+1"):
        max_margin([[1.0], [2.0]], [0, 1])
    with pytest.raises(ValueError, match=r"y must be a vector of 2 number\(s\); got shape \(3,\)"):
        max_margin([[1.0], [2.0]], [1, 1, 1])


@pytest.mark.parametrize("scale", [1e-170, 1e-9, 1e160])
def test_it_scales_as_one_over_the_examples(scale):
    """Also where an entry of X is zero and its squares leave the floats."""
    X, y = separable(3, 12, 4)
    X[0, 0], X[1, 1] = 0.0, 1e-12
    np.testing.assert_allclose(max_margin(scale * X, y) * scale, max_margin(X, y), rtol=1e-8)
