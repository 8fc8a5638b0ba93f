"""Proposition 4 and Theorem 3: branches that are known to be smooth are found again, and move as the theorem says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline
from scipy.linalg import expm

from lineament.theory.analytic_svd import singular_value_velocity, track
from lineament.theory.end_to_end import trajectory

SHAPES = [(3, 3), (3, 5), (5, 3), (4, 4)]
CROSSING = (lambda t: 1 - t, lambda t: t, lambda t: 0.2 + 0 * t)  # two meet at ½, one vanishes at either end
SIGNED = (lambda t: 1.5 - 2 * t, lambda t: 0.9 * np.cos(3 * t), lambda t: 0.3 - 0.4 * t)  # pass through zero
OPPOSED = (lambda t: 1 - t, lambda t: -t, lambda t: 2 + t)  # |σ| meet at ½ with opposite signs


def curve(t, outputs, inputs, values, seed=0):
    """A curve with a known analytic decomposition: rotating frames and given values, zeros where none are given."""
    rng = np.random.default_rng(seed)
    d = min(outputs, inputs)
    spins = [(K - K.T) / 2 for K in (rng.normal(size=(k, k)) for k in (outputs, inputs))]
    U, V = (np.stack([expm(x * K)[:, :d] for x in t]) for K in spins)
    s = np.zeros((t.size, d))
    for r, value in enumerate(values):
        s[:, r] = value(t)
    return U, s, V


def compose(U, s, V):
    return np.einsum("tor,tr,tir->toi", U, s, V)


def errors(found, truth):
    """Worst error of vectors and of values, after matching branches and their signs at one sample."""
    k = found.s.shape[0] // 3
    vectors, values = 0.0, 0.0
    for r in range(truth[1].shape[1]):
        overlap = np.einsum("o,os->s", truth[0][k, :, r], found.U[k]) * np.einsum(
            "i,is->s", truth[2][k, :, r], found.V[k]
        )
        b = int(np.argmax(np.abs(overlap)))
        u, v = np.sign(found.U[k, :, b] @ truth[0][k, :, r]), np.sign(found.V[k, :, b] @ truth[2][k, :, r])
        vectors = max(
            vectors,
            np.abs(u * found.U[..., b] - truth[0][..., r]).max(),
            np.abs(v * found.V[..., b] - truth[2][..., r]).max(),
        )
        values = max(values, np.abs(u * v * found.s[:, b] - truth[1][:, r]).max())
    return vectors, values


@pytest.mark.parametrize("shape", SHAPES[:3])
@pytest.mark.parametrize("values", [CROSSING, SIGNED, OPPOSED])
@pytest.mark.parametrize("count", [40, 83])
def test_branches_are_found_through_crossings(shape, values, count):
    """No sample falls on a crossing: everything is exact."""
    t = np.linspace(0.003, 0.995, count)
    truth = curve(t, *shape, values)
    found = track(compose(*truth), t)
    vectors, values_error = errors(found, truth)
    assert vectors < 1e-9
    assert values_error < 1e-13
    assert np.abs(compose(*found) - compose(*truth)).max() < 1e-13


@pytest.mark.parametrize("shape", SHAPES[:3])
@pytest.mark.parametrize("values", [CROSSING, OPPOSED])
def test_samples_on_a_crossing_cost_the_square_of_the_interval(shape, values):
    counts, found = [41, 81, 161], []
    for count in counts:
        t = (
            np.linspace(0, 1, count) ** 1.5
        )  # uneven, so that frames on either side of a crossing are not mirror images
        t[np.argmin(np.abs(t - 0.5))] = 0.5
        truth = curve(t, *shape, values)
        found.append(errors(track(compose(*truth), t), truth))
    vectors, values_error = np.array(found).T
    assert values_error.max() < 1e-4
    assert vectors[-1] < 5e-3
    assert np.polyfit(np.log(counts), np.log(vectors), 1)[0] < -1.7


@given(st.integers(0, 2**32 - 1), st.sampled_from(SHAPES))
def test_orthonormal_and_exact(seed, shape):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, min(shape)))
    t = np.linspace(0, 1, 60)
    W = compose(*curve(t, *shape, [lambda t, x=x, y=y: x + y * t for x, y in zip(a, b, strict=True)], seed))
    U, s, V = track(W, t)
    eye = np.eye(min(shape))
    assert np.abs(np.swapaxes(U, 1, 2) @ U - eye).max() < 1e-12
    assert np.abs(np.swapaxes(V, 1, 2) @ V - eye).max() < 1e-12
    assert np.abs(compose(U, s, V) - W).max() < 1e-9 * np.abs(W).max()
    sorted_values = -np.sort(-np.abs(s), axis=1)
    assert np.abs(sorted_values - np.linalg.svd(W, compute_uv=False)).max() < 1e-9 * np.abs(W).max()


def test_always_degenerate_and_always_zero_branches():
    """Multiples of an orthogonal matrix, and a curve of rank one in R^{4×3}: bases stay continuous all along."""
    t = np.linspace(0, 1, 50)
    K = np.random.default_rng(0).normal(size=(3, 3))
    turning = np.stack([(1 + x) * expm(x * (K - K.T)) for x in t])
    U, s, V = track(turning, t)
    assert np.allclose(np.abs(s), (1 + t)[:, None], rtol=1e-12)
    assert np.abs(np.diff(U, axis=0)).max() < 0.15
    assert np.abs(np.diff(V, axis=0)).max() < 0.15
    rank_one = compose(*curve(t, 4, 3, [lambda t: 1 + t]))
    U, s, V = track(rank_one, t)
    assert np.sort(np.abs(s), axis=1)[:, :2].max() < 1e-14
    assert np.abs(np.diff(U, axis=0)).max() < 0.15
    assert np.abs(np.diff(V, axis=0)).max() < 0.15
    zero = track(np.zeros((3, 2, 2)))
    assert np.array_equal(zero.s, np.zeros((3, 2)))
    assert np.allclose(zero.U, zero.U[:1])


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize(("outputs", "inputs"), [(3, 3), (2, 4), (4, 3)])
def test_theorem_3_along_a_flow(n, outputs, inputs):
    """σ̇ of tracked branches, by spline, against the theorem; from a degenerate start, for a loss not whitened."""
    rng = np.random.default_rng(10 * n + outputs)
    A, b = rng.normal(size=(6, outputs, inputs)) / 2, rng.normal(size=6)

    def gradient(W):
        return np.einsum("k,koi->oi", np.einsum("koi,oi->k", A, W) - b, A)

    t = np.linspace(0, 1.2, 601)
    W = trajectory(t, 0.5 * np.eye(outputs, inputs), gradient, n)
    U, s, V = track(W, t)
    theorem = singular_value_velocity(U, s, V, np.stack([gradient(X) for X in W]), n)
    measured = CubicSpline(t, s).derivative()(t)
    inner = slice(10, -10)
    assert np.abs(theorem - measured)[inner].max() <= 1e-5 * np.abs(theorem).max()
    assert np.abs(np.diff(U, axis=0)).max() < 0.2  # the identity's basis was chosen to meet what follows
    if n > 1:  # Lemma 2: no branch changes sign
        assert np.all(np.sign(s) == np.sign(s[:1]))


def test_signs_cancel_in_theorem_3():
    rng = np.random.default_rng(0)
    U, V, G = (np.linalg.qr(rng.normal(size=(3, 3)))[0] for _ in range(3))
    s = np.array([2.0, -1.0, 0.5])
    flipped = singular_value_velocity(-U, -s, V, G, 3)
    assert np.allclose(flipped, -singular_value_velocity(U, s, V, G, 3))
    printed = [3 * (x**2) ** (2 / 3) * np.sum(-G * np.outer(U[:, r], V[:, r])) for r, x in enumerate(s)]
    assert np.allclose(singular_value_velocity(U, s, V, G, 3), printed)


def test_one_by_one_and_a_single_sample():
    s = track(np.linspace(1, -1, 21)[:, None, None]).s[:, 0]
    assert np.allclose(s, np.linspace(1, -1, 21) * np.sign(s[0]), atol=1e-15)
    W = np.random.default_rng(0).normal(size=(1, 3, 2))
    assert np.allclose(compose(*track(W)), W, atol=1e-14)


def test_coarse_samples_are_refused():
    t = np.linspace(0, 3, 4)
    W = compose(*curve(t, 3, 3, [lambda t: 3 + t, lambda t: 2 + t, lambda t: 1 + t], seed=2))
    with pytest.raises(ValueError, match=r"too coarsely.*between t = \d and t = \d.*sample more often"):
        track(W, t)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: track(np.eye(2)), r"Ws must be the samples of a curve, \(T, outputs, inputs\); got shape \(2, 2\)"),
        (lambda: track(np.full((2, 2, 2), np.inf)), "Ws must be finite"),
        (lambda: track(np.ones((2, 2, 2)), [0, 0]), "times must be"),
        (lambda: track(np.ones((2, 2, 2)), [0, 1, 2]), "times must be"),
        (
            lambda: singular_value_velocity(np.eye(2), np.ones(2), np.eye(2), np.ones((2, 3)), 2),
            r"U, s, V and grad must be of shapes \(…, outputs, d\), \(…, d\), \(…, inputs, d\) ",
        ),
    ],
)
def test_wrong_use(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (3, 3)])
def test_a_line_through_the_zero_map_keeps_its_vectors(shape):
    A = np.random.default_rng(5).normal(size=shape)
    t = np.array([-2.0, -1.0, 0.0, 1.0, 3.0])
    U, s, V = track(t[:, None, None] * A, t)
    np.testing.assert_allclose(np.abs(s), np.abs(t[:, None]) * np.linalg.svd(A)[1], atol=1e-14)
    np.testing.assert_allclose(s[0], -s[3] * 2, atol=1e-14)
    np.testing.assert_allclose(U, U[:1].repeat(5, axis=0), atol=1e-13)
    np.testing.assert_allclose(V, V[:1].repeat(5, axis=0), atol=1e-13)


@pytest.mark.parametrize("values", [CROSSING, OPPOSED])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_three_samples_of_which_one_lies_on_a_crossing(values, place):
    """The two others suffice to choose its basis: the error is of second order or better, wherever it stands."""
    found, sizes = [], [0.1, 0.05, 0.025]
    for h in sizes:
        t = 0.5 + h * (np.array([0.0, 1.0, 2.5]) - [0.0, 1.0, 2.5][place])
        truth = curve(t, 3, 3, values)
        found.append(errors(track(compose(*truth), t), truth)[0])
    assert found[-1] < 0.02
    assert np.polyfit(np.log(sizes), np.log(found), 1)[0] > 1.8
