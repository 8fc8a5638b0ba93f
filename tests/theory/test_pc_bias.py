"""Eq. (10), Theorems 1, 3 and 4 against descent step by step, transcriptions and random starts."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.theory import pc_bias as theory

WIDTHS = st.lists(st.integers(1, 5), min_size=2, max_size=5)


def start(rng, widths, variances):
    return [
        np.sqrt(v) * rng.standard_normal((m, k)) for k, m, v in zip(widths[:-1], widths[1:], variances, strict=True)
    ]


def moments(rng, q, K, n=7):
    X, Y = rng.standard_normal((q, n)), rng.standard_normal((K, n))
    return X @ X.T, Y @ X.T


def descended(layers, sxx, syx, step):
    """One step of descent on every layer, by the chain rule (eq. 26)."""
    whole = np.linalg.multi_dot([*layers[::-1], sxx]) - syx if len(layers) > 1 else layers[0] @ sxx - syx
    new = []
    for i, W in enumerate(layers):
        after = np.eye(len(layers[-1]))
        for V in layers[:i:-1]:
            after = after @ V
        before = np.eye(layers[0].shape[1])
        for V in layers[:i]:
            before = V @ before
        new.append(W - step * after.T @ whole @ before.T)
    return new


def whole(layers):
    W = layers[0]
    for V in layers[1:]:
        W = V @ W
    return W


@given(WIDTHS, st.integers(0, 99))
def test_scale_matrices_transcribed(widths, seed):
    layers = start(np.random.default_rng(seed), widths, np.ones(len(widths) - 1))
    A, B = theory.scale_matrices(layers)
    L = len(layers)
    for layer in range(1, L + 1):
        P, Q = np.eye(widths[-1]), np.eye(widths[0])
        for j in range(L, layer, -1):
            P = P @ layers[j - 1]
        for j in range(1, layer):
            Q = layers[j - 1] @ Q
        np.testing.assert_allclose(A[layer - 1], P @ P.T, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(B[layer - 1], Q.T @ Q, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("widths", [(3, 2), (3, 4, 2), (4, 3, 5, 1), (2, 2, 2, 2, 3)])
def test_the_remainder_of_one_step_is_of_second_order(widths):
    rng = np.random.default_rng(0)
    layers = start(rng, widths, np.full(len(widths) - 1, 0.5))
    sxx, syx = moments(rng, widths[0], widths[-1])
    steps = np.array([1e-3, 1e-4])
    gaps = [
        np.linalg.norm(whole(descended(layers, sxx, syx, mu)) - theory.one_step(layers, sxx, syx, mu)) for mu in steps
    ]
    if len(layers) == 1:
        np.testing.assert_allclose(gaps, 0, atol=1e-14)
    else:
        assert np.log10(gaps[0] / gaps[1]) == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize(("uniform", "kurtosis"), [(False, 3.0), (True, 1.8)])
def test_means_and_variances_of_random_starts(uniform, kurtosis):
    rng = np.random.default_rng(0)
    widths, variances = (3, 4, 2, 5, 2), np.array([0.3, 0.5, 0.25, 0.4])
    draws = 40_000
    layers = []
    for k, m, v in zip(widths[:-1], widths[1:], variances, strict=True):
        unit = rng.uniform(-np.sqrt(3), np.sqrt(3), (draws, m, k)) if uniform else rng.standard_normal((draws, m, k))
        layers.append(np.sqrt(v) * unit)
    alpha, beta = theory.scale_means(widths, variances)
    spread = theory.scale_variances(widths, variances, kurtosis)
    right = [np.broadcast_to(np.eye(3), (draws, 3, 3))]
    for W in layers[:-1]:
        right.append(W @ right[-1])
    left = [np.broadcast_to(np.eye(2), (draws, 2, 2))]
    for W in layers[:0:-1]:
        left.append(left[-1] @ W)
    for layer in range(4):
        B = right[layer].swapaxes(1, 2) @ right[layer]
        A = left[3 - layer] @ left[3 - layer].swapaxes(1, 2)
        for found, mean, diagonal, off in (
            (A, alpha[layer], spread.A_diagonal[layer], spread.A_off[layer]),
            (B, beta[layer], spread.B_diagonal[layer], spread.B_off[layer]),
        ):
            error = 5 * np.sqrt(max(diagonal, off) / draws) + 1e-12
            np.testing.assert_allclose(found.mean(0), mean * np.eye(len(found[0])), atol=error)
            # The variance itself is known to a few per cent: fourth moments of these products are heavy.
            assert found[:, 0, 0].var() == pytest.approx(diagonal, rel=0.15, abs=1e-12)
            assert found[:, 0, 1].var() == pytest.approx(off, rel=0.15, abs=1e-12)


@pytest.mark.parametrize("kurtosis", [1.0, 1.8, 3.0, 6.0])
@pytest.mark.parametrize("widths", [(2, 2, 2, 3), (2, 1, 2, 1, 3), (2, 2, 2, 1, 3), (2, 1, 3, 1, 2)])
def test_variances_of_entries_of_three_values_by_enumeration(widths, kurtosis):
    """Entries 0 and ±√kσ, the latter with probability 1/(2k), have the kurtosis k: here every network is counted."""
    variances = np.linspace(0.3, 0.8, len(widths) - 1)
    chance = np.array([0.5, kurtosis - 1, 0.5]) / kurtosis
    levels, chance = np.sqrt(kurtosis) * np.array([-1.0, 0.0, 1.0])[chance > 0], chance[chance > 0]

    def exactly(widths, variances):
        """Variances of the diagonal and the other entries of QᵀQ, Q the product of the layers that end at each width."""
        sizes = [a * b for a, b in pairwise(widths)]
        grid = np.indices((len(levels),) * sum(sizes), dtype=np.int8).reshape(sum(sizes), -1)
        weight = np.prod(chance[grid], axis=0)
        Q, found = np.eye(widths[0])[None], [(0.0, 0.0)]
        for rows, (a, b), v in zip(np.split(grid, np.cumsum(sizes)[:-1]), pairwise(widths), variances, strict=True):
            Q = np.sqrt(v) * levels[rows].T.reshape(-1, b, a) @ Q
            M = Q.swapaxes(1, 2) @ Q
            spread = np.einsum("n,nab->ab", weight, (M - np.einsum("n,nab->ab", weight, M)) ** 2)
            found.append((spread[0, 0], spread[0, 1]))
        return np.array(found)

    spread = theory.scale_variances(widths, variances, kurtosis)
    B = exactly(widths[:-1], variances[:-1])
    A = exactly((2, *widths[-2:0:-1]), variances[:0:-1])[::-1]
    for found, exact in zip(spread, (*A.T, *B.T), strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-15)


def test_definition_3_has_unit_means_at_equal_widths_and_variances_of_order_one_over_width():
    spreads = []
    for m in (100, 1000):
        widths = (7, m, m, m, 3)
        variances = theory.isometric_variances(widths)
        for scales in theory.scale_means(widths, variances):
            np.testing.assert_allclose(scales, 1)
        spreads.append(np.stack(theory.scale_variances(widths, variances)))
    moving = spreads[0] > 0
    np.testing.assert_array_equal(moving.sum(axis=1), [3, 3, 3, 3])
    np.testing.assert_allclose(np.log10(spreads[0][moving] / spreads[1][moving]), 1, atol=0.02)
    # Unequal widths: the means miss 1 by O(1/m) only while their difference is bounded.
    alpha, beta = theory.scale_means((7, 100, 200, 3), theory.isometric_variances((7, 100, 200, 3)))
    np.testing.assert_allclose(beta, [1, 1, 4 / 3])
    np.testing.assert_allclose(alpha, [2 / 3, 1, 1])


def test_variances_of_networks_of_every_depth_by_hand():
    np.testing.assert_allclose(theory.isometric_variances((7, 5, 3)), [1 / 5, 1 / 5])
    np.testing.assert_allclose(theory.isometric_variances((7, 5, 4, 3)), [1 / 5, 2 / 9, 1 / 4])
    np.testing.assert_allclose(theory.isometric_variances((7, 5, 4, 6, 3)), [1 / 5, 2 / 9, 2 / 10, 1 / 6])
    np.testing.assert_allclose(theory.glorot_variances((7, 5)), [2 / 12])
    np.testing.assert_allclose(theory.glorot_variances((7, 5, 4, 3)), [2 / 12, 2 / 9, 2 / 7])


def test_glorot_leaves_the_first_and_last_layer_off_scale():
    widths = (768, 256, 10)
    alpha, beta = theory.scale_means(widths, theory.glorot_variances(widths))
    np.testing.assert_allclose(alpha, [256 * 2 / 266, 1])
    np.testing.assert_allclose(beta, [1, 256 * 2 / 1024])


@given(
    st.integers(1, 4), st.integers(1, 5), st.sampled_from([1e-12, 1e-3, 1.0]), st.floats(0.5, 5), st.integers(0, 99)
)
def test_convergence_is_the_recursion(outputs, q, size, scale, seed):
    rng = np.random.default_rng(seed)
    d = size * rng.uniform(0, 1, q)
    d[0] = 0.0
    W, M = rng.standard_normal((2, outputs, q))
    step = 1.9 / (size * scale)
    path = [W]
    for _ in range(6):
        path.append(path[-1] - step * scale * (path[-1] * d - M))
    found = theory.convergence(np.arange(7), d, W, M, step, scale)
    scale_of = np.abs(path).max()
    np.testing.assert_allclose(found, path, rtol=1e-9, atol=1e-12 * scale_of)


def test_convergence_ends_at_the_optimum_and_is_exact_for_one_layer():
    rng = np.random.default_rng(1)
    sxx, syx = moments(rng, 4, 2)
    d, U = np.linalg.eigh(sxx)
    W0 = rng.standard_normal((2, 4))
    step = 0.5 / d.max()
    layers = [W0]
    for _ in range(5):
        layers = descended(layers, sxx, syx, step)
    found = theory.convergence([5, 10**7], d, W0 @ U, syx @ U, step, 1.0)
    np.testing.assert_allclose(found[0] @ U.T, layers[0], rtol=1e-10)
    np.testing.assert_allclose(found[1] @ U.T, theory.optimum(sxx, syx), rtol=1e-8)
    np.testing.assert_allclose(theory.error_matrix(theory.optimum(sxx, syx), sxx, syx), 0, atol=1e-10)


def test_slow_components_keep_their_digits():
    found = theory.convergence([10], [1e-20], [[0.0]], [[1e-20]], 1.0, 1.0)
    np.testing.assert_allclose(found, 1e-19, rtol=1e-12)


def test_convergence_beyond_stability_grows_away_from_the_optimum_and_ends_infinite():
    d, moment = [1.0, 1.0, 1.0, 0.0], [[2.0, 2.0, 2.0, 2.0]]
    found = theory.convergence([3, 10**4, 10**4 + 1], d, [[3.0, 2.0, 1.0, 1.0]], moment, 4.0, 1.0)
    np.testing.assert_array_equal(found[0], [[2 - 27, 2, 2 + 27, 25]])
    np.testing.assert_array_equal(found[1:, 0, :3], [[np.inf, 2, -np.inf], [-np.inf, 2, np.inf]])
    np.testing.assert_array_equal(found[1, 0, 3], 1 + 8e4)
    # The power fits float64 and what it is taken of does not.
    huge = theory.convergence([4], [1.0], [[1e308]], [[-1e308]], 3.0, 1.0)
    np.testing.assert_array_equal(huge, [[[np.inf]]])
    np.testing.assert_array_equal(theory.convergence([0], [1e308], [[3.0]], [[2.0]], 1e10, 1.0), [[[3.0]]])


@pytest.mark.parametrize(("moment", "step"), [([[1e300]], 1.0), ([[1.0]], 1e300)])
def test_convergence_refuses_what_does_not_fit_float64(moment, step):
    with pytest.raises(ValueError, match="moment / d must fit float64; rescale the data"):
        theory.convergence([1], [1e-100], [[1.0]], moment, step, step)
    with pytest.raises(ValueError, match="moment / d must fit float64; rescale the data"):
        theory.convergence([1], [1e-100, 1.0], [[1.0, 1.0]], [[*moment[0], 1.0]], step, step)


def test_what_overflows_on_the_way_to_an_optimum_next_to_it_does_not():
    """Both the start's share and the moment's leave float64, their difference is the distance from the optimum."""
    optimum = 1e300
    start = np.nextafter(optimum, np.inf)
    for steps in (9, 10, 11):
        found = theory.convergence([steps], [1.0], [[start]], [[optimum]], 11.0, 1.0)
        expected = optimum + (-10.0) ** steps * (start - optimum)
        np.testing.assert_allclose(found[0, 0], expected, rtol=1e-14)


def test_the_paired_relu_update_transcribed():
    rng = np.random.default_rng(3)
    w, b = np.array([[1.0, 0.0, 2.0], [0.5, -1.0, 0.0]]), rng.standard_normal(2)
    W, a = np.stack([w, -w], axis=1).reshape(4, 3), np.stack([b, -b], axis=1).reshape(4)
    X, y = rng.standard_normal((7, 3)) + 0.5, rng.choice([-1.0, 1.0], 7)
    X[0], X[1] = (2.0, 3.0, -1.0), (2.0, 1.0, 5.0)  # each on the edge of two half-spaces, and counted in both
    expected = np.zeros((4, 3))
    for r in range(4):
        quarter = sum(a[r] * a[s] * W[s] @ np.outer(x, x) for s in range(4) for x in X) / 4
        inside = sum(a[r] * y[i] * X[i] for i in range(7) if X[i] @ W[r] >= 0)
        expected[r] = -0.3 * (quarter - inside)
    np.testing.assert_allclose(theory.paired_relu_update(W, a, X, y, 0.3), expected, rtol=1e-12, atol=1e-14)


def relu_step(W, a, X, y, step):
    hidden = X @ W.T
    error = np.maximum(hidden, 0) @ a - y
    return -step * a[:, None] * ((hidden >= 0) * error[:, None]).T @ X


def test_the_paired_relu_update_tends_to_descent_and_the_printed_one_does_not():
    rng = np.random.default_rng(0)
    w, b = rng.standard_normal((4, 3)), rng.standard_normal(4)
    W = np.stack([w, -w], axis=1).reshape(8, 3)
    a = np.stack([b, -b], axis=1).reshape(8)

    def gaps(n):
        X = rng.standard_normal((n, 3)) * [3, 1, 0.3]
        y = np.where(X @ [0.1, 1, 1] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
        exact = relu_step(W, a, X, y, 1e-3)
        sums = ((X @ W.T >= 0) * y[:, None]).T @ X
        printed = -1e-3 / 2 * (np.outer(a, a) @ W @ X.T @ X - a[:, None] * sums)
        found = theory.paired_relu_update(W, a, X, y, 1e-3)
        return [np.linalg.norm(guess - exact) / np.linalg.norm(exact) for guess in (found, printed)]

    ours, printed = zip(*(np.mean([gaps(n) for _ in range(40)], axis=0) for n in (1000, 100_000)), strict=True)
    assert np.log10(ours[0] / ours[1]) == pytest.approx(1, abs=0.15)  # one over the root of n
    assert min(printed) > 0.3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: theory.error_matrix(np.ones((2, 3)), np.eye(2), np.ones((2, 3))),
            r"sxx must be of shape \(3, 3\); got \(2, 2\)",
        ),
        (lambda: theory.optimum([[1.0, 5.0], [0.0, 1.0]], np.ones((1, 2))), "sxx must be symmetric, as XXᵀ is; got"),
        (lambda: theory.optimum(np.eye(2), np.ones((2, 3))), r"sxx must be of shape \(3, 3\); got \(2, 2\)"),
        (lambda: theory.isometric_variances((3, 2)), "needs a hidden layer"),
        (lambda: theory.isometric_variances((3, 0, 2)), r"widths\[1\] must be a whole number of at least 1; got 0"),
        (
            lambda: theory.scale_means((3, 2, 1), [1.0]),
            r"variances must be a vector of 2 number\(s\); got shape \(1,\)",
        ),
        (lambda: theory.scale_variances((3, 2), [1.0], 0.5), "kurtosis must be"),
        (lambda: theory.convergence([-1], [1.0], [[1.0]], [[1.0]], 0.1, 1), "steps must be"),
        (
            lambda: theory.convergence([1], [1.0, 2.0], [[1.0]], [[1.0]], 0.1, 1),
            r"d must be a vector of 1 number\(s\); got shape \(2,\)",
        ),
        (
            lambda: theory.paired_relu_update(np.ones((2, 1)), [1, -1], [[1.0]], [1], 1),
            "W must be opposite pairs: rows 1, 3, … the negatives of rows 0, 2, …",
        ),
        (
            lambda: theory.paired_relu_update(np.ones((2, 1)), [1], [[1.0]], [1], 1),
            r"a must be a vector of 2 number\(s\); got shape \(1,\)",
        ),
    ],
)
def test_what_is_wrong_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_moments_that_are_symmetric_to_the_rounding_of_float32(scale):
    """Relative to the largest entry, however small the others; moments of zeros have the optimum zero."""
    for off, taken in ((0.995e-4, True), (1.005e-4, False)):
        S = scale * np.array([[2.0, 2 * off, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.5]])
        if taken:
            found = theory.optimum(S, scale * np.array([[2.0, 1.0, 1.0]]))
            np.testing.assert_allclose(found, [[1.0, 1.0, 2.0]], atol=3e-4)
        else:
            with pytest.raises(ValueError, match="sxx must be symmetric"):
                theory.optimum(S, np.ones((1, 3)))
    np.testing.assert_array_equal(theory.optimum(np.zeros((2, 2)), np.zeros((3, 2))), np.zeros((3, 2)))


def test_the_error_matrix_from_lists_and_from_what_is_not_finite():
    listed = theory.error_matrix([[1, 2]], [[2, 0], [0, 1]], [[1, 1]])
    np.testing.assert_array_equal(listed, [[1.0, 1.0]])
    with pytest.raises(ValueError, match="W must be finite; got nan"):
        theory.error_matrix([[np.nan, 2.0]], np.eye(2), [[1.0, 1.0]])
