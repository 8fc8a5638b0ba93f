"""Measures against NumPy, and at the limits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament import measure

SHAPES = [(1, 1), (1, 4), (3, 1), (3, 3), (2, 5), (5, 3)]  # every shape compiles anew


@given(st.sampled_from(SHAPES), st.integers(0, 1000))
def test_norms_and_ranks_of_random_matrices(shape, seed):
    W = np.random.default_rng(seed).normal(size=shape)
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
    small = [jnp.ones((2, 2), jnp.float32)]
    assert measure.unbalancedness(small).dtype == jnp.float32
    assert measure.unbalancedness(layers[:1]) == 0.0


def test_alignment_is_one_in_the_modes_of_the_target_and_zero_across_them():
    target = jnp.diag(jnp.array([3.0, 2.0]))
    np.testing.assert_allclose(
        measure.mode_strengths(jnp.diag(jnp.array([0.5, -0.1])), target), [0.5, -0.1], atol=1e-14
    )
    assert measure.alignment(jnp.array([[0.0, 1.0], [2.0, 0.0]]), target) == 0.0
    np.testing.assert_allclose(measure.alignment(jnp.diag(jnp.array([1.0, 5.0])), target), 1.0)
    assert measure.alignment(jnp.zeros((2, 2)), target) == 0.0


MEASURES = (
    measure.singular_values,
    measure.frobenius_norm,
    measure.nuclear_norm,
    measure.spectral_norm,
    measure.effective_rank,
    measure.stable_rank,
    measure.numerical_rank,
)


@pytest.mark.parametrize("of", MEASURES)
def test_a_stack_is_measured_one_by_one(of):
    stack = jnp.asarray(np.random.default_rng(0).normal(size=(2, 3, 4, 5)))
    whole = np.asarray(of(stack))
    assert whole.shape[:2] == (2, 3)
    for i, j in np.ndindex(2, 3):
        np.testing.assert_allclose(whole[i, j], of(np.asarray(stack)[i, j]), rtol=1e-12)


@pytest.mark.parametrize("of", MEASURES)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_a_number_has_no_rank(of, bad):
    """A run that diverged must not look like one whose rank collapsed."""
    W = jnp.eye(3).at[1, 2].set(bad)
    assert not np.isfinite(of(W)).any()
    stack = of(jnp.stack([W, 2 * jnp.eye(3)]))
    assert np.isfinite(stack[1]).all()


@pytest.mark.parametrize("scale", [1e-200, 1e-3, 1e200])
def test_ranks_do_not_depend_on_scale_and_norms_are_proportional(scale):
    W = jnp.asarray(np.random.default_rng(1).normal(size=(4, 6)))
    for of in (measure.effective_rank, measure.stable_rank, measure.numerical_rank):
        np.testing.assert_allclose(of(scale * W), of(W), rtol=1e-12)
    for of in (measure.frobenius_norm, measure.nuclear_norm, measure.spectral_norm):
        np.testing.assert_allclose(of(scale * W), scale * of(W), rtol=1e-12)
    np.testing.assert_allclose(measure.alignment(scale * W, W), 1.0, rtol=1e-12)


def test_the_threshold_of_rank_is_rounding_times_the_larger_side():
    eps = np.finfo(float).eps
    wide = jnp.zeros((2, 1000)).at[0, 0].set(1.0).at[1, 1].set(100 * eps)
    for W in (wide, wide.T, 7 * wide, wide / 7):
        assert measure.numerical_rank(W) == 1
        assert measure.numerical_rank(W, 10 * eps) == 2


def test_the_threshold_of_rank_is_that_of_one_matrix_of_a_stack_and_must_be_exceeded():
    eps = np.finfo(float).eps
    stack = jnp.tile(jnp.diag(jnp.array([1.0, 100 * eps])), (1000, 1, 1))
    np.testing.assert_array_equal(measure.numerical_rank(stack), 2)
    W = jnp.diag(jnp.array([2.0, 1.0, 0.0]))
    assert measure.numerical_rank(W, 0.5) == 1
    assert measure.numerical_rank(W, 0.0) == 2
    traced = jax.jit(measure.numerical_rank)
    assert [int(traced(W, threshold)) for threshold in (0.5, 0.4)] == [1, 2]


SIGNED = {"below zero": [[-1.0, -2.0], [-4.0, -0.5]], "with a zero": [[0.0, 3.0], [-1.0, 2.0]], "small": [[0.3, 0.2]]}


@pytest.mark.parametrize("entries", SIGNED.values(), ids=SIGNED)
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_lengths_are_scaled_by_the_largest_entry_whatever_its_sign(entries, scale):
    W = np.array(entries)
    U, _, Vt = np.linalg.svd(W[:, ::-1], full_matrices=False)
    share = sum((u @ W @ v) ** 2 for u, v in zip(U.T, Vt, strict=True)) / np.sum(W**2)
    np.testing.assert_allclose(measure.frobenius_norm(scale * W), scale * np.linalg.norm(W), rtol=1e-13)
    np.testing.assert_allclose(measure.alignment(scale * W, W[:, ::-1]), share, rtol=1e-12)
    assert measure.frobenius_norm(0 * W) == 0


def test_unbalancedness_of_several_layers_is_the_largest():
    layers = [jnp.eye(2), 2 * jnp.eye(2), 2 * jnp.eye(2), jnp.eye(2)]
    np.testing.assert_allclose(
        [jnp.linalg.norm(D) for D in measure.conserved(layers)], np.sqrt(2) * np.array([3, 0, 3])
    )
    for some in (layers, layers[:3], layers[1:]):
        np.testing.assert_allclose(measure.unbalancedness(some), 3 * np.sqrt(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: measure.singular_values(jnp.ones(3)), "W must be a matrix"),
        (lambda: measure.singular_values(np.ones((2, 2), complex)), "W must be real numbers; got complex128"),
        (lambda: measure.effective_rank(jnp.ones((2, 2), bool)), "W must be real numbers; got bool"),
        (lambda: measure.numerical_rank(jnp.eye(2), np.nan), "threshold must be a finite number"),
        (lambda: measure.numerical_rank(jnp.eye(2), -1.0), "threshold must be a finite number of at least 0"),
        (lambda: measure.numerical_rank(jnp.eye(2), 1.0), "threshold must be a finite number of at least 0"),
        (lambda: measure.mode_strengths(jnp.eye(2), jnp.eye(3)), "target must be of the shape"),
        (lambda: measure.conserved([]), "layers must be a sequence"),
        (lambda: measure.conserved([jnp.eye(2), jnp.eye(3)]), r"layers\[1\] must be of 2 columns"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.float16, np.int64])
def test_linear_predictions_of_short_numbers_do_not_overflow(dtype):
    W, C = np.array([[100, 100], [1, 1]], dtype), np.array([[100, 100]], dtype)
    assert measure.critical.linear_predictions(W, 10 * C if dtype is np.float16 else C, (1, 2)).tolist() == [[0], [0]]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_linear_predictions_of_long_numbers_do_not_overflow(dtype):
    """The first class by far; 2⁶⁴ is zero, or less than one, to whole numbers of 64 bits."""
    W = np.array([[2**30, 2**30], [1, 1]]).astype(dtype)
    C = np.array([[2**30, 2**30]], dtype) if W.itemsize == 4 else np.array([[2**34, 2**34]], dtype)
    assert measure.critical.linear_predictions(W, C, (1, 2)).tolist() == [[0], [0]]


def test_names_are_not_compared_with_numbers():
    """No number equals a text, so that no example would ever be right."""
    for score in (measure.critical.critical_pc, measure.critical.critical_frequency):
        with pytest.raises(
            ValueError, match="labels must be of the kind of predictions, int64, to equal them; got <U1"
        ):
            score([[0, 1], [0, 1]], ["0", "1"])
        assert score([["a", "b"]], ["a", "bc"])[0] >= 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("share", [0.1, 0.26, 0.5, 0.9])
@pytest.mark.parametrize("compiled", [False, True])
def test_maps_up_to_the_largest_float_have_the_ranks_of_small_ones(dtype, share, compiled):
    """The reciprocal of what is beyond a quarter of it is no normal float."""
    rng = np.random.default_rng(0)
    W = (rng.normal(size=(4, 2)) @ rng.normal(size=(2, 3))).astype(dtype)
    W /= np.linalg.norm(W)
    huge = dtype(share) * np.finfo(dtype).max * W
    target = jnp.asarray(rng.normal(size=(4, 3)).astype(dtype))
    measures = [
        measure.effective_rank,
        measure.stable_rank,
        measure.numerical_rank,
        lambda W: measure.alignment(W, target),
    ]
    for of in measures:
        found = (jax.jit(of) if compiled else of)(jnp.asarray(huge))
        np.testing.assert_allclose(found, of(jnp.asarray(W)), rtol=100 * np.finfo(dtype).eps)
    norm = jax.jit(measure.frobenius_norm) if compiled else measure.frobenius_norm
    np.testing.assert_allclose(norm(jnp.asarray(huge)) / np.finfo(dtype).max, share, rtol=100 * np.finfo(dtype).eps)
