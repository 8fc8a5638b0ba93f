"""Measures against NumPy, and at the limits."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament import measure


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 1000))
def test_norms_and_ranks_of_random_matrices(rows, columns, seed):
    W = np.random.default_rng(seed).normal(size=(rows, columns))
    s = np.linalg.svd(W, compute_uv=False)
    p = s / s.sum()
    J = jnp.asarray(W)
    np.testing.assert_allclose(measure.singular_values(J), s, atol=1e-12)
    np.testing.assert_allclose(measure.frobenius_norm(J), np.linalg.norm(W), rtol=1e-12)
    np.testing.assert_allclose(measure.nuclear_norm(J), np.linalg.norm(W, "nuc"), rtol=1e-12)
    np.testing.assert_allclose(measure.spectral_norm(J), np.linalg.norm(W, 2), rtol=1e-12)
    np.testing.assert_allclose(measure.effective_rank(J), np.exp(-np.sum(p * np.log(p))), rtol=1e-10)
    np.testing.assert_allclose(measure.stable_rank(J), np.sum(s**2) / s[0] ** 2, rtol=1e-12)
    assert int(measure.numerical_rank(J)) == np.linalg.matrix_rank(W)


@pytest.mark.parametrize("rank", [0, 1, 2, 4])
def test_ranks_of_projectors_are_their_ranks(rank):
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(5, 5)))[0][:, :rank]
    P = jnp.asarray(3.0 * Q @ Q.T)
    assert measure.numerical_rank(P) == rank
    np.testing.assert_allclose(measure.effective_rank(P), rank, atol=1e-10)
    np.testing.assert_allclose(measure.stable_rank(P), rank, atol=1e-10)


def test_numerical_rank_obeys_its_threshold():
    W = jnp.diag(jnp.array([1.0, 1e-2, 1e-5]))
    assert [int(measure.numerical_rank(W, threshold)) for threshold in (0.5, 1e-3, 1e-6)] == [1, 2, 3]


def test_conserved_matrices_and_unbalancedness_by_hand():
    layers = (jnp.array([[1.0, 2.0], [0.0, 1.0]]), jnp.array([[3.0, 1.0]]))
    expected = np.array([[9.0, 3.0], [3.0, 1.0]]) - np.array([[5.0, 2.0], [2.0, 1.0]])
    (found,) = measure.conserved(layers)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(measure.unbalancedness(layers), np.linalg.norm(expected))
    assert measure.unbalancedness(layers[:1]) == 0.0


def test_alignment_is_one_in_the_modes_of_the_target_and_zero_across_them():
    target = jnp.diag(jnp.array([3.0, 2.0]))
    np.testing.assert_allclose(
        measure.mode_strengths(jnp.diag(jnp.array([0.5, -0.1])), target), [0.5, -0.1], atol=1e-14
    )
    assert measure.alignment(jnp.array([[0.0, 1.0], [2.0, 0.0]]), target) == 0.0
    np.testing.assert_allclose(measure.alignment(jnp.diag(jnp.array([1.0, 5.0])), target), 1.0)
    assert measure.alignment(jnp.zeros((2, 2)), target) == 0.0
