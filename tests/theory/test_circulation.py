"""Remark 1: closed curves around which the end-to-end field does work, and the cases in which it never does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.theory.circulation import circulation, curl, derivative
from lineament.theory.end_to_end import field

SHAPES = [(1, 1), (1, 3), (3, 1), (2, 2), (2, 4), (4, 2), (3, 3)]
seeds = st.integers(0, 2**32 - 1)


def linear(C):
    return lambda W: C, lambda W, D: np.zeros_like(D)


def whitened(C):
    return lambda W: W - C, lambda W, D: D


def quadratic(C, rng):
    """½⟨W − C, Q(W − C)⟩ with a random positive Q over all entries."""
    M = rng.normal(size=(C.size, C.size))
    Q = M @ M.T / C.size
    return lambda W: (Q @ (W - C).ravel()).reshape(C.shape), lambda W, D: (Q @ D.ravel()).reshape(C.shape)


def separable(C):
    """ℓ = Σ_r (σ_r²/2 + σ_r⁴/4) = ½‖W‖² + ¼‖WᵀW‖²; C only lends its shape."""
    return (
        lambda W: W + W @ W.T @ W,
        lambda W, D: D + D @ W.T @ W + W @ D.T @ W + W @ W.T @ D,
    )


def radial(C):
    """ℓ = ¼‖W‖⁴, which is no sum over singular values once there are two of them."""
    return (
        lambda W: np.sum(W**2) * W,
        lambda W, D: np.sum(W**2) * D + 2 * np.sum(W * D) * W,
    )


def plus(first, second):
    return lambda W: first[0](W) + second[0](W), lambda W, D: first[1](W, D) + second[1](W, D)


def place(rng, shape):
    """A well-conditioned map of full rank and two directions."""
    U, V = (np.linalg.qr(rng.normal(size=(d, min(shape))))[0] for d in shape)
    W = (U * rng.uniform(0.5, 1.5, size=min(shape))) @ V.T
    return W, *rng.normal(size=(2, *shape))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", range(1, 7))
def test_derivative_against_differences_converges_at_second_order(shape, n):
    rng = np.random.default_rng(n)
    W, A, _ = place(rng, shape)
    gradient, hvp = plus(quadratic(rng.normal(size=shape), rng), separable(W))
    exact = derivative(W, A, gradient, hvp, n)
    steps, errors = np.array([1e-2, 1e-3]), []
    for h in steps:
        ahead, behind = (field(W + s * h * A, gradient(W + s * h * A), n) for s in (1, -1))
        errors.append(np.linalg.norm((ahead - behind) / (2 * h) - exact) / np.linalg.norm(exact))
    assert errors[1] < 1e-3
    assert errors[1] < 1e-10 or np.log10(errors[0] / errors[1]) == pytest.approx(2, abs=0.25)


@pytest.mark.parametrize("n", [2, 3, 5])
@pytest.mark.parametrize("shape", [(1, 3), (2, 2), (2, 4)])
def test_circulation_of_small_loops_is_the_curl(shape, n):
    """Around a loop centred at W, (circulation / area) − curl falls with the square of the size of the loop."""
    rng = np.random.default_rng(n)
    W, A, B = place(rng, shape)
    A, B = A / np.linalg.norm(A), B / np.linalg.norm(B)
    gradient, hvp = quadratic(rng.normal(size=shape), rng)
    exact = curl(W, A, B, gradient, hvp, n)
    errors = []
    for h in (1e-2, 1e-3):
        loop = circulation(lambda X: field(X, gradient(X), n), W - h * (A + B) / 2, h * A, h * B, nodes=6)
        errors.append(abs(loop.value / h**2 - exact) / abs(exact))
        assert loop.error < 1e-6 * abs(loop.value)
    assert np.log10(errors[0] / errors[1]) == pytest.approx(2, abs=0.1)


@given(st.sampled_from(SHAPES), st.integers(1, 6), seeds)
def test_where_it_is_a_gradient_field(shape, n, seed):
    """n = 1; 1 × 1; sums over singular values; and n = 2 with one output (or input), linear plus radial."""
    rng = np.random.default_rng(seed)
    W, A, B = place(rng, shape)
    C = rng.normal(size=shape)
    if n == 1 or shape == (1, 1):
        losses = [linear(C), whitened(C), quadratic(C, rng)]
    elif n == 2 and 1 in shape:
        losses = [separable(C), radial(C), linear(C), whitened(C), plus(linear(C), radial(C))]
    else:
        losses = [separable(C), *([radial(C)] if 1 in shape else [])]
    for gradient, hvp in losses:
        along = np.linalg.norm(derivative(W, A, gradient, hvp, n))
        assert abs(curl(W, A, B, gradient, hvp, n)) <= 1e-11 * along * np.linalg.norm(B) * max(1, np.linalg.norm(A))
        loop = circulation(lambda X, g=gradient: field(X, g(X), n), W, 0.1 * A, 0.1 * B)
        assert abs(loop.value) <= max(1e-10, 10 * loop.error)


@pytest.mark.parametrize("n", range(2, 7))
@pytest.mark.parametrize("shape", SHAPES[1:])
def test_where_it_is_none(shape, n):
    """A closed curve along which the work is a thousand quadrature errors, in every other case."""
    rng = np.random.default_rng(n)
    W, A, B = place(rng, shape)
    C = rng.normal(size=shape)
    losses = {"quadratic": quadratic(C, rng)}
    if n > 2 or 1 not in shape:
        losses |= {"linear": linear(C), "whitened": whitened(C)}
    if 1 not in shape:
        losses |= {"radial": radial(C)}
    for gradient, hvp in losses.values():
        assert abs(curl(W, A, B, gradient, hvp, n)) > 1e-3
        loop = circulation(lambda X, g=gradient: field(X, g(X), n), W, 0.1 * A, 0.1 * B)
        assert abs(loop.value) > 1e3 * max(loop.error, 1e-13)


@given(st.integers(2, 6), st.integers(2, 5), seeds)
def test_curl_of_one_output_as_derived(n, inputs, seed):
    """The formula of the module's docstring, which decides all cases with one output."""
    rng = np.random.default_rng(seed)
    W, A, B = place(rng, (1, inputs))
    gradient, hvp = quadratic(rng.normal(size=(1, inputs)), rng)
    k = (n - 1) * (n - 2) / n * gradient(W) + (n - 1) * hvp(W, W)
    derived = np.linalg.norm(W) ** (-2 / n) * (np.sum(W * A) * np.sum(k * B) - np.sum(W * B) * np.sum(k * A))
    assert curl(W, A, B, gradient, hvp, n) == pytest.approx(derived, rel=1e-9, abs=1e-11)


def test_potential_of_two_layers_and_one_output():
    """The field of ℓ = ⟨c, w⟩ at n = 2 is −∇(‖w‖⟨c, w⟩): the work along a path is a difference of potentials."""
    rng = np.random.default_rng(0)
    w, v, c = rng.normal(size=(3, 1, 4))
    x, weight = np.polynomial.legendre.leggauss(40)
    path = [w + (1 + s) / 2 * (v - w) for s in x]
    work = sum(q / 2 * np.sum(field(p, c, 2) * (v - w)) for p, q in zip(path, weight, strict=True))
    potential = [np.linalg.norm(z) * np.sum(c * z) for z in (w, v)]
    assert work == pytest.approx(potential[0] - potential[1], rel=1e-10, abs=0)


def test_printed_two_by_two_example():
    e = np.eye(2)
    for s1, s2 in [(2.0, 1.0), (1.0, 3.0), (1.0, 1.0)]:
        found = curl(np.diag([s1, s2]), np.outer(e[0], e[0]), np.outer(e[0], e[1]), *linear(np.outer(e[0], e[1])), 2)
        assert found == pytest.approx(-s2 / (s1 + s2), rel=1e-13, abs=0)


def test_wrong_use():
    gradient, hvp = whitened(np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"W must be of full rank; got singular values from"):
        derivative(np.ones((2, 2)), np.eye(2), gradient, hvp, 3)
    with pytest.raises(ValueError, match=r"B must be of shape \(2, 2\); got \(2, 3\)"):
        circulation(gradient, np.eye(2), np.eye(2), np.ones((2, 3)))
    with pytest.raises(ValueError, match="nodes must be a whole number of at least 1 and at most 1000; got 0"):
        circulation(gradient, np.eye(2), np.eye(2), np.eye(2), nodes=0)


def test_the_error_is_how_much_the_value_moved():
    turn = lambda W: np.array([[-np.exp(W[0, 1]), np.sin(W[0, 0])]])  # noqa: E731
    corner, A, B = np.zeros((1, 2)), np.array([[1.0, 0.3]]), np.array([[0.2, 1.5]])
    forwards, backwards = circulation(turn, corner, A, B, nodes=1), circulation(turn, corner, B, A, nodes=1)
    finer = circulation(turn, corner, A, B, nodes=2)
    assert forwards.value == pytest.approx(-backwards.value)
    assert forwards.error == pytest.approx(backwards.error)
    assert forwards.error > 0
    assert finer.error == pytest.approx(abs(finer.value - forwards.value))
