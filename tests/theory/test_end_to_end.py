"""Theorem 1 and Corollary 1 against dense transcriptions, and the end-to-end flow against the flow of the layers."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from lineament.theory import layers as layered
from lineament.theory.end_to_end import (
    eigensystem,
    field,
    field_one_output,
    field_symmetric,
    trajectory,
    trajectory_from_layers,
    trajectory_symmetric,
)

depths = st.integers(1, 6)
sides = st.integers(1, 5)
seeds = st.integers(0, 2**32 - 1)
scales = st.floats(-3, 3).map(lambda e: 10**e)


def orthogonal(rng, rows, columns):
    return (
        np.linalg.qr(rng.normal(size=(max(rows, columns), rows)))[0].T[:, :columns]
        if rows < columns
        else (np.linalg.qr(rng.normal(size=(rows, columns)))[0])
    )


def random_map(rng, outputs, inputs, rank):
    """A map of the given rank whose singular values may repeat."""
    U, V = orthogonal(rng, outputs, rank), orthogonal(rng, inputs, rank)
    return (U * rng.choice([0.7, 1.0, 1.0, 1.6], size=rank)) @ V.T


def power(X, exponent):
    """[X]^β of a positive semidefinite matrix; X⁰ = I, and eigenvalues that are rounding are zero."""
    if exponent == 0:
        return np.eye(len(X))
    values, Q = np.linalg.eigh(X)
    values[values < 1e-12 * values.max(initial=0)] = 0
    return (Q * np.clip(values, 0, None) ** exponent) @ Q.T


def naive_field(W, G, n):
    """Equation (3), as printed."""
    return -sum(power(W @ W.T, (j - 1) / n) @ G @ power(W.T @ W, (n - j) / n) for j in range(1, n + 1))


def kronecker(W, n):
    """The preconditioner in the proof of Corollary 1, as printed."""
    return sum(np.kron(power(W.T @ W, (n - j) / n), power(W @ W.T, (j - 1) / n)) for j in range(1, n + 1))


def vec(W):
    return W.T.ravel()  # column first


@given(depths, sides, sides, st.data(), seeds, scales)
def test_field_is_equation_3(n, outputs, inputs, data, seed, scale):
    rng = np.random.default_rng(seed)
    rank = data.draw(st.integers(0, min(outputs, inputs)))
    W, G = scale * random_map(rng, outputs, inputs, rank), rng.normal(size=(outputs, inputs))
    expected = naive_field(W, G, n)
    size = np.abs(expected).max(initial=scale ** (2 - 2 / n))
    assert np.abs(field(W, G, n, rank=rank) - expected).max() <= 1e-12 * size


@given(depths, st.integers(1, 4), st.integers(1, 4), seeds)
def test_eigensystem_is_that_of_the_kronecker_sum(n, outputs, inputs, seed):
    rng = np.random.default_rng(seed)
    W, G = random_map(rng, outputs, inputs, min(outputs, inputs)), rng.normal(size=(outputs, inputs))
    P = kronecker(W, n)
    values, U, V = eigensystem(W, n)
    assert np.abs(np.sort(values.ravel()) - np.linalg.eigvalsh(P)).max() <= 1e-10
    for r in range(outputs):
        for s in range(inputs):
            vector = vec(np.outer(U[:, r], V[:, s]))
            assert np.abs(P @ vector - values[r, s] * vector).max() <= 1e-10
    assert np.abs(vec(field(W, G, n)) + P @ vec(G)).max() <= 1e-10


def test_eigenvalues_as_printed():
    W = np.diag([3.0, 2.0])[:, [0, 1, 1]] * [1, 1, 0]  # 2 × 3, singular values 3, 2 and a null input
    n, s, t = 4, np.array([3.0, 2.0]), np.array([3.0, 2.0, 0.0])
    printed = [[sum(a ** (2 * (n - j) / n) * b ** (2 * (j - 1) / n) for j in range(1, n + 1)) for b in t] for a in s]
    assert np.allclose(eigensystem(W, n).values, printed, rtol=1e-14)


@pytest.mark.parametrize("n", range(1, 7))
def test_coinciding_and_vanishing_values_do_no_harm(n):
    rng = np.random.default_rng(n)
    U, V, G = orthogonal(rng, 4, 4), orthogonal(rng, 4, 4), rng.normal(size=(4, 4))
    exact = field(U @ np.diag([1.0, 1.0, 1.0, 0.5]) @ V.T, G, n)
    for nudge in (1e-15, 1e-13, 1e-9):
        close = field(U @ np.diag([1.0, 1.0 + nudge, 1.0 - nudge, 0.5]) @ V.T, G, n)
        assert np.abs(close - exact).max() <= 20 * n * max(nudge, 1e-15)
    assert np.array_equal(field(np.zeros((3, 2)), G[:3, :2], n), -G[:3, :2] if n == 1 else np.zeros((3, 2)))


@pytest.mark.parametrize("n", [3, 4, 6])
def test_the_field_is_holder_of_exponent_2_over_n_where_rank_is_lacking(n):
    """Why rank-deficient starts need care: the field moves by ε^{2/n} when a zero singular value becomes ε."""
    G = np.random.default_rng(0).normal(size=(2, 2))
    steps = np.array([1e-12, 1e-10, 1e-8])
    at_zero = field(np.diag([1.0, 0.0]), G, n, rank=1)
    moves = [np.linalg.norm(field(np.diag([1.0, e]), G, n) - at_zero) for e in steps]
    slope = np.polyfit(np.log(steps), np.log(moves), 1)[0]
    assert abs(slope - 2 / n) < 0.02


@given(depths, sides, sides, seeds)
def test_field_of_a_stack_is_the_stack_of_fields(n, outputs, inputs, seed):
    W, G = np.random.default_rng(seed).normal(size=(2, 3, outputs, inputs))
    assert np.allclose(field(W, G, n), [field(w, g, n) for w, g in zip(W, G, strict=True)], rtol=1e-12, atol=1e-13)
    assert eigensystem(W, n).values.shape == W.shape


@given(depths, st.integers(1, 8), seeds, scales)
def test_exercise_1_is_the_field_of_one_output(n, inputs, seed, scale):
    w, g = np.random.default_rng(seed).normal(size=(2, inputs))
    w = w * scale
    general = field(w[None], g[None], n)[0]
    assert np.abs(field_one_output(w, g, n) - general).max() <= 1e-10 * np.abs(general).max()
    assert np.array_equal(field_one_output(np.zeros(inputs), g, n), -g if n == 1 else 0 * g)
    stack = np.stack([w, 2 * g, g - w])[:, None]
    each = [[field_one_output(row[0], g, n)] for row in stack]
    np.testing.assert_allclose(field_one_output(stack, np.broadcast_to(g, stack.shape), n), each, rtol=1e-14)


def quartic(rng, outputs, inputs):
    """ℓ = ¼ Σ (⟨A_k, W⟩ − b_k)⁴ + ⅒ ‖W‖²: neither whitened nor quadratic."""
    A, b = rng.normal(size=(4, outputs, inputs)) / np.sqrt(outputs * inputs), rng.normal(size=4)

    def gradient(W):
        return np.einsum("k,koi->oi", (np.einsum("koi,oi->k", A, W) - b) ** 3, A) + 0.2 * W

    return gradient


def layer_flow(times, layers, gradient):
    """Equation (2), layer by layer, as printed in the proof of Lemma 1."""
    shapes, cuts = [W.shape for W in layers], np.cumsum([W.size for W in layers])[:-1]

    def unpack(y):
        return [part.reshape(shape) for part, shape in zip(np.split(y, cuts), shapes, strict=True)]

    def chained(parts, size):
        out = np.eye(size)
        for W in parts:
            out = W @ out
        return out

    def slope(_, y):
        Ws = unpack(y)
        G = gradient(chained(Ws, shapes[0][1]))
        out = []
        for j, W in enumerate(Ws):
            above = chained(Ws[j + 1 :], W.shape[0])
            below = chained(Ws[:j], shapes[0][1])
            out.append(-above.T @ G @ below.T)
        return np.concatenate([x.ravel() for x in out])

    y0 = np.concatenate([W.ravel() for W in layers])
    y = solve_ivp(slope, (0, times[-1]), y0, method="DOP853", t_eval=times, rtol=1e-11, atol=1e-13).y.T
    return np.stack([chained(unpack(row), shapes[0][1]) for row in y])


SHAPES = [(3, 3, 3), (2, 4, 2), (4, 2, 2), (1, 3, 1), (1, 1, 1), (4, 4, 2), (3, 5, 1), (5, 3, 2)]


@pytest.mark.parametrize("n", range(1, 7))
@pytest.mark.parametrize(("outputs", "inputs", "rank"), SHAPES)
def test_the_end_to_end_flow_is_the_flow_of_the_layers(outputs, inputs, rank, n):
    rng = np.random.default_rng(100 * n + 10 * outputs + inputs)
    W0, gradient = random_map(rng, outputs, inputs, rank), quartic(rng, outputs, inputs)
    times = np.linspace(0, 1.5, 7)
    layers = layered.balanced(W0, (inputs, *([max(outputs, inputs) + 1] * (n - 1)), outputs))
    measured = layer_flow(times, layers, gradient)
    forecast = trajectory_from_layers(times, layers, gradient)
    assert np.abs(measured[-1] - measured[0]).max() > 0.05  # something happened
    assert np.abs(forecast.W - measured).max() <= 1e-8 * np.abs(measured).max()
    assert forecast.unbalancedness < 1e-14
    if n > 1 and rank < min(outputs, inputs):
        assert np.linalg.svd(forecast.W, compute_uv=False)[:, rank:].max() < 1e-14


def test_without_care_rank_deficient_starts_go_astray():
    """Integrating the map as if it had full rank is slow and loses the digits that the thin form keeps."""
    rng = np.random.default_rng(3)
    W0, gradient, times = random_map(rng, 4, 4, 1), quartic(rng, 4, 4), np.array([0.0, 1.5])
    measured = layer_flow(times, layered.balanced(W0, (4,) * 5), gradient)[-1]
    errors, calls = {}, {1: 0, 4: 0}
    for rank in calls:

        def counted(W, rank=rank):
            calls[rank] += 1
            return gradient(W)

        errors[rank] = np.abs(trajectory(times, W0, counted, 4, rank=rank, rtol=1e-8)[-1] - measured).max()
    assert errors[1] < 1e-9
    assert errors[4] > 1e-7
    assert calls[4] > 5 * calls[1]


@pytest.mark.parametrize("n", [2, 3])
def test_near_zero_starts(n):
    """A start at 1e-4, through its plateau: relative agreement all the way."""
    rng = np.random.default_rng(5)
    target = rng.normal(size=(3, 3))
    times = np.linspace(0, 8 if n == 2 else 40, 9)
    layers = layered.balanced(1e-4 * np.eye(3), (3,) * (n + 1))
    measured = layer_flow(times, layers, lambda W: W - target)
    forecast = trajectory_from_layers(times, layers, lambda W: W - target).W
    gaps = np.linalg.norm(forecast - measured, axis=(1, 2)) / np.linalg.norm(measured, axis=(1, 2))
    assert gaps.max() <= 1e-6
    assert np.linalg.norm(measured[-1]) > 1e3 * np.linalg.norm(measured[0])


def test_exercise_2_is_the_flow_of_the_symmetric_network():
    rng = np.random.default_rng(0)
    C, A, W0 = rng.normal(size=(4, 4)), rng.normal(size=(4, 4)), rng.normal(size=(4, 2)) / 2

    def gradient(S):  # of ½‖S − C‖² + ¼⟨A, S⟩⁴, which is not symmetric
        return S - C + np.sum(A * S) ** 3 * A / 10

    def slope(_, y):
        W = y.reshape(4, 2)
        G = gradient(W @ W.T)
        return (-(G + G.T) @ W).ravel()

    times = np.linspace(0, 2, 6)
    flow = solve_ivp(slope, (0, 2), W0.ravel(), method="DOP853", t_eval=times, rtol=1e-11, atol=1e-13).y.T
    measured = np.stack([W @ W.T for W in flow.reshape(-1, 4, 2)])
    forecast = trajectory_symmetric(times, W0 @ W0.T, gradient)
    assert np.abs(forecast - measured).max() <= 1e-8
    # With a symmetric gradient, twice the two-layer field at WWᵀ.
    S, G = W0 @ W0.T, C + C.T
    assert np.allclose(field_symmetric(S, G), 2 * field(S, G, 2, rank=2), atol=1e-12)


def test_unbalanced_layers_are_refused_with_their_violation():
    layers = [2 * np.eye(2), 0.5 * np.eye(2)]  # W2ᵀW2 − W1W1ᵀ = −3.75 I
    with pytest.raises(ValueError, match=r"unbalancedness magnitude is 5\.3"):
        trajectory_from_layers([0, 1], layers, lambda W: W)
    forecast = trajectory_from_layers([0, 1], layers, lambda W: W, allow_unbalanced=True)
    assert forecast.unbalancedness == pytest.approx(3.75 * np.sqrt(2))
    measured = layer_flow(np.array([0.0, 1.0]), layers, lambda W: W)
    assert np.abs(forecast.W[-1] - measured[-1]).max() > 0.05


def test_times():
    W0 = np.diag([1.0, 0.5])
    W = trajectory([0, 0, 1, 1], W0, lambda W: W, 2)
    assert np.array_equal(W[0], W0)
    assert np.array_equal(W[2], W[3])
    assert np.allclose(W[2], np.diag([1 / 3, 1 / 4]), rtol=1e-9)  # σ̇ = −2σ², σ = σ0/(1 + 2σ0 t)
    assert np.array_equal(trajectory([0.0], W0, lambda W: W, 2), [W0])
    assert np.array_equal(trajectory([0.0, 5.0], np.zeros((2, 3)), lambda W: W - 1, 3), np.zeros((2, 2, 3)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: field(np.ones(3), np.ones(3), 2), "W must be a matrix"),
        (lambda: field(np.ones((2, 2)), np.ones((2, 3)), 2), r"grad must be of shape \(2, 2\); got \(2, 3\)"),
        (lambda: field(np.full((2, 2), np.nan), np.ones((2, 2)), 2), "W must be finite"),
        (lambda: field(np.ones((2, 2)), np.ones((2, 2)), 0), "depth must be a whole number of at least 1"),
        (lambda: field(np.ones((2, 2)), np.ones((2, 2)), 2.5), "depth must be a whole number"),
        (lambda: field_symmetric(np.ones((2, 3)), np.ones((2, 3))), "Ws must be square"),
        (lambda: field_one_output(np.ones(2), np.ones(3), 2), r"grad must be of the shape \(2,\) of w; got \(3,\)"),
        (lambda: trajectory([1, 0], np.eye(2), lambda W: W, 2), "times must be"),
        (
            lambda: trajectory([0, 1], np.eye(2), lambda W: W[:1], 2),
            r"gradient\(W0\) must be of shape \(2, 2\); got \(1, 2\)",
        ),
        (
            lambda: trajectory_symmetric([0, 1], np.eye(2), lambda W: W[:1]),
            r"gradient\(Ws0\) must be of shape \(2, 2\); got \(1, 2\)",
        ),
        (lambda: trajectory_symmetric([0, 1], np.eye(2), 3.0), "gradient must be"),
        (
            lambda: trajectory([0, 1], np.eye(2), lambda W: W, 2, rank=3),
            "rank must be a whole number of at least 0 and at most 2; got 3",
        ),
        (
            lambda: trajectory_from_layers([0, 1], [np.eye(2), np.eye(3)], lambda W: W),
            r"layers\[1\] must be a matrix of 2 columns to follow layers\[0\] of shape \(2, 2\)",
        ),
        (lambda: trajectory_from_layers([0, 1], [], lambda W: W), "at least one matrix"),
        (
            lambda: layered.balanced(np.eye(3), (3, 2, 3)),
            r"widths must be at least the rank of W, whose singular values are \[1\. 1\. 1\.\]",
        ),
        (
            lambda: layered.balanced(np.eye(3), (3, 2)),
            r"widths must be W's inputs, hidden widths and outputs \(3, 3\); got \(3, 2\)",
        ),
    ],
)
def test_wrong_use(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_flow_that_blows_up_says_so():
    with pytest.raises(RuntimeError, match="could not be followed"):
        trajectory([0, 10], np.eye(2), lambda W: -(W**3), 3)


@given(depths, sides, sides, st.data(), seeds)
def test_balanced_split(n, outputs, inputs, data, seed):
    rng = np.random.default_rng(seed)
    rank = data.draw(st.integers(0, min(outputs, inputs)))
    W = random_map(rng, outputs, inputs, rank)
    widths = (inputs, *(max(rank, 1) + int(k) for k in rng.integers(0, 3, size=n - 1)), outputs)
    layers = layered.balanced(W, widths)
    assert [X.shape for X in layers] == [(b, a) for a, b in pairwise(widths)]
    assert np.abs(layered.product(layers) - W).max() <= 1e-12
    assert layered.unbalancedness(layers) <= 1e-12


def test_symmetric_flow_from_lists_and_from_what_is_not_finite():
    target = np.array([[2.0, 0.5], [0.5, 1.0]])
    start = [[0.1, 0.0], [0.0, 0.2]]
    gradient = lambda W: W - target  # noqa: E731
    listed, arrayed = (trajectory_symmetric([0.0, 1.0], W, gradient) for W in (start, np.array(start)))
    np.testing.assert_array_equal(listed, arrayed)
    with pytest.raises(ValueError, match="Ws0 must be finite; got nan"):
        trajectory_symmetric([0.0, 1.0], [[np.nan, 0.0], [0.0, 1.0]], gradient)


def test_a_large_map_of_low_rank_fits_through_a_narrow_layer():
    """Rounding grows with the size of the map; what it leaves beyond the rank counts as zero."""
    rng = np.random.default_rng(0)
    W = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 300))
    made = layered.balanced(W, (300, 5, 300))
    np.testing.assert_allclose(layered.product(made), W, atol=1e-10 * np.abs(W).max())
    with pytest.raises(ValueError, match="widths must be at least the rank of W"):
        layered.balanced(W, (300, 1, 300))


@pytest.mark.parametrize("rank", [-1, 3, 1.5, True])
def test_an_impossible_rank_is_refused(rank):
    with pytest.raises(ValueError, match="rank must be a whole number of at least 0 and at most 2"):
        field(np.eye(2), np.eye(2), 2, rank=rank)
    with pytest.raises(ValueError, match="rank must be a whole number of at least 0 and at most 2"):
        field(np.ones((2, 3)), np.ones((2, 3)), 2, rank=3)
