"""Least nuclear norm: known answers, a naive splitting solver, and the certificate."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineament.theory import nuclear
from lineament.theory.nuclear import least_nuclear_completion, least_nuclear_sensing


def naive_splitting(rows, columns, values, shape, steps=6000):
    """Douglas–Rachford: shrink singular values by ½, reflect, put the observed entries back, reflect."""
    Z = np.zeros(shape)
    for _ in range(steps):
        U, s, Vt = np.linalg.svd(Z, full_matrices=False)
        X = U @ np.diag(np.maximum(s - 0.5, 0)) @ Vt
        Y = 2 * X - Z
        Y[rows, columns] = values
        Z = Z + Y - X
    return Y


def observed(rng, shape, rank, count):
    W = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
    flat = rng.choice(shape[0] * shape[1], count, replace=False)
    rows, columns = np.unravel_index(flat, shape)
    return W, rows, columns, W[rows, columns]


def test_what_is_fully_observed_is_returned():
    W, rows, columns, values = observed(np.random.default_rng(0), (4, 3), 2, 12)
    found = least_nuclear_completion(rows, columns, values, (4, 3))
    np.testing.assert_array_equal(found.matrix, W)
    assert found.residual == 0
    assert found.norm == pytest.approx(np.linalg.norm(W, "nuc"))
    assert found.gap <= 1e-5


@pytest.mark.parametrize(("a", "b", "c"), [(1.0, 1.0, 1.0), (2.0, -1.0, 1.5), (1e-5, 2e-5, 3e-5), (1e4, 1e4, 3e4)])
def test_two_by_two_with_one_entry_missing(a, b, c):
    """[[x, b], [c, a]]: rank one, x = bc/a, is best if |bc| ≤ a²; else x = ±a, where both singular values count."""
    best = b * c / a if abs(b * c) <= a * a else np.sign(b * c / a) * abs(a)
    found = least_nuclear_completion([0, 1, 1], [1, 0, 1], [b, c, a], (2, 2))
    assert found.norm == pytest.approx(np.linalg.norm([[best, b], [c, a]], "nuc"), rel=2e-5, abs=0)
    grid = np.linspace(-3, 3, 2001) * max(abs(a), abs(b), abs(c))
    norms = [np.linalg.norm([[x, b], [c, a]], "nuc") for x in grid]
    assert found.norm <= min(norms) * (1 + 1e-5)
    assert found.bound <= min(norms) * (1 + 1e-12)


@settings(max_examples=8)
@given(st.integers(2, 7), st.integers(2, 7), st.integers(1, 3), st.floats(0.3, 0.9), st.integers(0, 99))
def test_completion_agrees_with_a_naive_solver(m, n, rank, share, seed):
    _, rows, columns, values = observed(np.random.default_rng(seed), (m, n), rank, max(1, round(share * m * n)))
    found = least_nuclear_completion(rows, columns, values, (m, n))
    naive = naive_splitting(rows, columns, values, (m, n))
    assert found.bound <= np.linalg.norm(naive, "nuc") * (1 + 1e-9)
    assert found.norm <= np.linalg.norm(naive, "nuc") * (1 + 1e-5)
    np.testing.assert_array_equal(found.matrix[rows, columns], values)


@settings(max_examples=6)
@given(st.integers(2, 5), st.integers(2, 5), st.integers(0, 99))
def test_sensing_of_single_entries_is_completion_and_the_multipliers_are_admissible(m, n, seed):
    rng = np.random.default_rng(seed)
    _, rows, columns, values = observed(rng, (m, n), 1, max(1, m * n // 2))
    A = np.zeros((len(rows), m, n))
    A[np.arange(len(rows)), rows, columns] = 1
    by_entries = least_nuclear_completion(rows, columns, values, (m, n))
    for measurements, y in ((A, values), _mixed(rng, A, values)):
        found = least_nuclear_sensing(measurements, y)
        assert found.norm == pytest.approx(by_entries.norm, rel=3e-5, abs=0)
        assert np.linalg.norm(np.einsum("k,kij->ij", found.multipliers, measurements), 2) <= 1 + 1e-9
        assert found.bound == pytest.approx(found.multipliers @ y)
        assert found.residual <= 1e-9 * max(1, np.abs(y).max())


def _mixed(rng, A, values):
    """The same constraints in other words."""
    M = np.linalg.qr(rng.normal(size=(len(A), len(A))))[0]
    return np.einsum("kl,lij->kij", M, A), M @ values


def test_enough_gaussian_measurements_recover_a_low_rank_matrix():
    rng = np.random.default_rng(1)
    W = np.outer(rng.normal(size=8), rng.normal(size=8))
    A = rng.normal(size=(48, 8, 8))
    found = least_nuclear_sensing(A, np.einsum("kij,ij->k", A, W), accuracy=1e-7)
    np.testing.assert_allclose(found.matrix, W, atol=1e-4 * np.abs(W).max())
    assert found.gap <= 1e-7


def test_zero_values_give_zero():
    found = least_nuclear_completion([0, 1], [0, 1], [0.0, 0.0], (2, 2))
    sensed = least_nuclear_sensing(np.eye(4).reshape(4, 2, 2)[:3], np.zeros(3))
    for solution in (found, sensed):
        np.testing.assert_array_equal(solution.matrix, np.zeros((2, 2)))
        assert (solution.norm, solution.bound, solution.gap, solution.residual) == (0, 0, 0, 0)
    np.testing.assert_array_equal(sensed.multipliers, np.zeros(3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 0], [1, 1], [1.0, 1.0], (2, 2)), "more than once"),
        (([2], [0], [1.0], (2, 2)), r"rows must be finite numbers of at least 0 and below 2; got 2 at entry \(0,\)"),
        (([0.0], [0], [1.0], (2, 2)), "rows must be whole numbers; got float64"),
        (([0], [0], [np.nan], (2, 2)), "values must be finite"),
        (([], [], [], (2, 2)), "rows must be 0 integers|at least one"),
    ],
)
def test_bad_completions_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        least_nuclear_completion(*arguments)


def test_bad_sensing_is_refused():
    A = np.zeros((2, 2, 2))
    A[:, 0, 0] = 1
    with pytest.raises(ValueError, match="no matrix fits"):
        least_nuclear_sensing(A, [1.0, 2.0])
    with pytest.raises(ValueError, match="no matrix fits"):  # what is missed may all lie on one side
        least_nuclear_sensing([A[0], -A[0]], [1.0, 1.0])
    with pytest.raises(ValueError, match=r"A must be 1 measurements \(m, outputs, inputs\), one for each of y"):
        least_nuclear_sensing(A, [1.0])
    with pytest.raises(ValueError, match="accuracy"):
        least_nuclear_sensing(A, [1.0, 1.0], accuracy=0.0)


def test_a_zero_among_the_values_changes_nothing_about_the_others():
    found = least_nuclear_completion([0, 0, 1], [0, 1, 0], [1.0, 0.0, 0.5], (2, 2))
    np.testing.assert_allclose(found.matrix[[0, 0, 1], [0, 1, 0]], [1.0, 0.0, 0.5], atol=1e-9)
    assert found.norm > 1
    assert found.gap <= 1e-5


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e6])
def test_measurements_that_contradict_each_other_are_refused_at_every_scale(scale):
    """The same entry measured twice: a matrix fits both to half of their difference."""
    A = np.zeros((3, 2, 2))
    A[:2, 0, 0] = A[2, 1, 1] = 1.0
    found = least_nuclear_sensing(A, scale * np.array([1.0, 1 + 1.99e-9, 0.0]))
    assert found.norm == pytest.approx(scale, rel=1e-5, abs=0)
    with pytest.raises(ValueError, match="y must be measurements of some matrix"):
        least_nuclear_sensing(A, scale * np.array([1.0, 1 + 2.01e-9, 0.0]))


@pytest.mark.parametrize("scale", [-1e-6, -1.0, 1e6])
def test_the_solution_follows_the_sign_and_the_scale_of_the_values(scale):
    A = np.random.default_rng(3).normal(size=(3, 2, 3))
    y = np.array([0.2, 1.0, 0.6])
    plain, scaled = least_nuclear_sensing(A, y), least_nuclear_sensing(A, scale * y)
    assert scaled.norm == pytest.approx(abs(scale) * plain.norm, rel=2e-5, abs=0)
    assert scaled.bound == pytest.approx(abs(scale) * plain.bound, rel=2e-5, abs=0)
    np.testing.assert_allclose(scaled.matrix / scale, plain.matrix, atol=1e-2)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_bound_that_is_off_either_way_is_no_certificate(factor, monkeypatch):
    certify = nuclear._certify

    def off(*arguments):
        solution = certify(*arguments)
        return solution._replace(bound=factor * solution.bound)

    monkeypatch.setattr(nuclear, "_certify", off)
    with pytest.raises(RuntimeError, match="only within a relative gap of"):
        least_nuclear_completion([0, 1, 1], [0, 0, 1], [1.0, 2.0, 3.0], (2, 2))
