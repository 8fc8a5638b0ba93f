"""Kernels of infinite width: closed forms, quadrature, the recursion, finite networks, and the limits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from lineament.theory import dual_grid, kernels, twin
from lineament.theory.activations import NAMED, Activation, piecewise_linear, resolve
from lineament.theory.dual_activations import dual, quadrature, quadrature_dual
from lineament.theory.dual_grid import grid_dual

seeds = st.integers(0, 2**32 - 1)
clip = Activation(lambda z: np.clip(z, -1, 1), lambda z: np.where(np.abs(z) < 1, 1.0, 0.0), (-1.0, 1.0))
OVERLAPS = np.array([-1, -1 + 1e-7, -0.8, -0.1, 0, 0.3, 0.97, 1 - 1e-9, 1])


def naive_erf(x, y, depth):
    """Williams's arcsine kernel and its derivative, entry by entry, recursively."""
    if depth == 0:
        return (np.dot(x, y) / len(x),) * 2
    (c, theta), (p, _), (q, _) = naive_erf(x, y, depth - 1), naive_erf(x, x, depth - 1), naive_erf(y, y, depth - 1)
    nngp = 2 / np.pi * np.arcsin(2 * c / np.sqrt((1 + 2 * p) * (1 + 2 * q)))
    return nngp, nngp + theta * 4 / np.pi / np.sqrt((1 + 2 * p) * (1 + 2 * q) - 4 * c**2)


def naive_relu(x, y, depth):
    """The arc-cosine kernels of degree 1 and 0, halved: weights of unit variance, not √2."""
    if depth == 0:
        return (np.dot(x, y) / len(x),) * 2
    (c, theta), (p, _), (q, _) = naive_relu(x, y, depth - 1), naive_relu(x, x, depth - 1), naive_relu(y, y, depth - 1)
    a = np.arccos(np.clip(c / np.sqrt(p * q), -1, 1))
    nngp = np.sqrt(p * q) / (2 * np.pi) * (np.sin(a) + (np.pi - a) * np.cos(a))
    return nngp, nngp + theta * (np.pi - a) / (2 * np.pi)


def finite(x, hidden, width, activation, rng):
    """NNGP and NTK of one random network, layer by layer with back-propagated signals."""
    phi, post, weights, pre = resolve(activation), [x.T], [], []
    for _ in range(hidden):
        weights.append(rng.normal(size=(width, len(post[-1]))))
        pre.append(weights[-1] @ post[-1] / np.sqrt(len(post[-1])))
        post.append(phi.function(pre[-1]))
    nngp = post[-1].T @ post[-1] / len(post[-1])
    ntk, back = nngp, np.repeat(rng.normal(size=(width, 1)), len(x), axis=1) / np.sqrt(width)
    for layer in reversed(range(hidden)):
        back = back * phi.derivative(pre[layer])
        ntk = ntk + (back.T @ back) * (post[layer].T @ post[layer]) / len(post[layer])
        back = weights[layer].T @ back / np.sqrt(len(post[layer]))
    return nngp, ntk


def finite_cnn(x, size, width, activation, rng):
    """The same for eq. 12, from its Jacobian."""
    phi, (n, d) = resolve(activation), x.shape
    filters, readout = rng.normal(size=(width, size)), rng.normal(size=(width, d))
    patches = np.stack([[[row[(i + j) % d] for j in range(size)] for i in range(d)] for row in x])
    pre = patches @ filters.T / np.sqrt(size)
    by_readout = phi.function(pre).reshape(n, -1) / np.sqrt(width * d)
    by_filter = np.einsum("nir,ri,nij->nrj", phi.derivative(pre), readout, patches) / np.sqrt(width * d * size)
    nngp = by_readout @ by_readout.T
    return nngp, nngp + by_filter.reshape(n, -1) @ by_filter.reshape(n, -1).T


def mixed_inputs(rng):
    """Of different norms, with an opposite pair, a parallel pair and a zero."""
    x = rng.normal(size=(6, 5)) * np.array([0.3, 1, 1, 2, 1, 1])[:, None]
    x[2], x[4], x[5] = -x[1], 1.5 * x[0], 0
    return x


@pytest.mark.parametrize(("name", "naive"), [("erf", naive_erf), ("relu", naive_relu)])
@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_closed_forms_entry_by_entry(name, naive, depth):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4, 3)), 2 * rng.normal(size=(5, 3))
    expected = np.array([[naive(a, b, depth) for b in y] for a in x])
    found = kernels.infinite(x, y, activation=name, hidden_layers=depth)
    np.testing.assert_allclose(found.nngp, expected[..., 0], atol=1e-13)
    np.testing.assert_allclose(found.ntk, expected[..., 1], atol=1e-13)
    itself = kernels.infinite(x, activation=name, hidden_layers=depth)
    np.testing.assert_allclose(itself.ntk, kernels.infinite(x, x, activation=name, hidden_layers=depth).ntk, atol=1e-7)


@pytest.mark.parametrize("deviations", [(1.0, 1.0), (0.2, 1.7), (4.0, 4.0), (0.0, 1.0)])
def test_quadrature_is_the_closed_form(deviations):
    s, t = deviations
    arguments = s**2, t**2, OVERLAPS * s * t
    for name in ("erf", "relu", "leaky_relu", "linear"):
        closed, found = dual(name, *map(np.asarray, arguments)), quadrature_dual(name, *map(np.asarray, arguments))
        np.testing.assert_allclose(found.value, closed.value, atol=1e-11)
        if s and t:  # φ′ of a zero input is a matter of convention at a kink
            np.testing.assert_allclose(found.slope, closed.slope, atol=1e-11)


@pytest.mark.parametrize("activation", ["tanh", "gelu", "elu", "softplus", "sigmoid", clip])
def test_quadrature_at_the_ends_and_at_zero_overlap(activation):
    """u = v, u = −v and independent u, v leave integrals over one normal."""
    phi = resolve(activation)

    def mean(function):
        return twin.quadrature(Activation(function, phi.derivative, (*phi.kinks, *(-k for k in phi.kinks)))).theta0

    even = mean(lambda z: phi.function(z) ** 2), mean(lambda z: phi.derivative(z) ** 2)
    odd = mean(lambda z: phi.function(z) * phi.function(-z)), mean(lambda z: phi.derivative(z) * phi.derivative(-z))
    apart = mean(phi.function) ** 2, mean(phi.derivative) ** 2
    for overlap, expected in {1.0: even, -1.0: odd, 0.0: apart}.items():
        found = quadrature_dual(phi, np.array(1.0), np.array(1.0), np.array(overlap))
        np.testing.assert_allclose(found, expected, atol=1e-11)


def test_quadrature_with_kinks_elsewhere_is_nested_adaptive_quadrature():
    """E[φ(u)φ(v)] = E_u[φ(u) E[φ(v)|u]], both levels by adaptive rules, where θ is not small."""
    activation = Activation(lambda z: np.clip(z, -0.5, 1), np.sign, (-0.5, 1.0))
    s, t, overlap = 1.2, 0.7, 0.6
    rest = np.sqrt(1 - overlap**2)

    def inner(g):
        shifted = Activation(
            lambda z: activation.function(t * (overlap * g + rest * z)),
            activation.derivative,
            tuple(sorted((kink / t - overlap * g) / rest for kink in activation.kinks)),
        )
        return twin.quadrature(shifted).theta0

    scaled = tuple(kink / s for kink in activation.kinks)
    outer = Activation(
        lambda z: np.array([activation.function(np.array(s * g)) * inner(g) for g in z]), activation.derivative, scaled
    )
    found = quadrature_dual(activation, np.array(s**2), np.array(t**2), np.array(overlap * s * t))
    assert found.value == pytest.approx(twin.quadrature(outer).theta0, abs=1e-10)


@settings(max_examples=15)
@given(st.floats(0.1, 3), st.floats(0.1, 3), st.floats(-0.98, 0.98), st.sampled_from(["tanh", "elu", "gelu", clip]))
def test_price_theorem(s, t, overlap, activation):
    """The slope is the derivative of the value in the covariance."""
    h = 1e-4 * s * t
    c = overlap * s * t + h * np.array([-2, -1, 0, 1, 2])
    found = quadrature_dual(activation, np.array(s**2), np.array(t**2), c)
    a, b, _, d, e = found.value
    assert (a - 8 * b + 8 * d - e) / (12 * h) == pytest.approx(found.slope[2], abs=1e-6)


def test_a_piecewise_linear_function_is_a_mixture():
    arguments = np.array(1.3), np.array(0.4), 0.7 * OVERLAPS
    for slopes in ((0.01, 1.0), (-1.0, 1.0), (2.0, -0.5)):
        phi = piecewise_linear(*slopes)
        bare = resolve(phi.function)
        np.testing.assert_allclose(dual(phi, *arguments), quadrature_dual(bare, *arguments), atol=1e-9)
    absolute = dual(piecewise_linear(-1.0), *arguments).value
    angle = np.arccos(np.clip(0.7 * OVERLAPS / np.sqrt(0.52), -1, 1))
    np.testing.assert_allclose(
        absolute, 2 * np.sqrt(0.52) / np.pi * (np.sin(angle) + (np.pi / 2 - angle) * np.cos(angle)), atol=1e-13
    )


@pytest.mark.parametrize("name", ["tanh", "elu"])
@pytest.mark.parametrize("equal", [True, False])
def test_the_grid_is_quadrature(name, equal):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(200, 40)), rng.normal(size=(150, 40))
    if equal:
        x, y = (np.sqrt(40) * z / np.linalg.norm(z, axis=1, keepdims=True) for z in (x, y))
    p, q, c = np.mean(x**2, axis=1), np.mean(y**2, axis=1), x @ y.T / 40
    theta = np.arccos(c / np.sqrt(p[:, None] * q))
    found = grid_dual(NAMED[name], np.sqrt(p), np.sqrt(q), theta)
    rows, columns = rng.integers(200, size=50), rng.integers(150, size=50)
    exact = quadrature_dual(name, p[rows], q[columns], c[rows, columns])
    np.testing.assert_allclose(found.value[rows, columns], exact.value, atol=3e-10)
    np.testing.assert_allclose(found.slope[rows, columns], exact.slope, atol=3e-10)


@pytest.mark.parametrize("activation", ["erf", "relu", "tanh", "elu", "sigmoid"])
@pytest.mark.parametrize("hidden", [0, 1, 3])
def test_kernels_are_symmetric_and_positive(activation, hidden):
    x = mixed_inputs(np.random.default_rng(2))
    for kernel in kernels.infinite(x, activation=activation, hidden_layers=hidden):
        np.testing.assert_allclose(kernel, kernel.T, atol=1e-13)
        assert np.linalg.eigvalsh(kernel)[0] > -1e-12
    for kernel in kernels.circular_cnn(x, filter_size=2, activation=activation):
        np.testing.assert_allclose(kernel, kernel.T, atol=1e-13)
        assert np.linalg.eigvalsh(kernel)[0] > -1e-12


def test_limits():
    x = mixed_inputs(np.random.default_rng(3))
    data = x @ x.T / 5
    for kernel in kernels.infinite(x, activation="tanh", hidden_layers=0):
        np.testing.assert_allclose(kernel, data, atol=1e-15)
    nngp, ntk = kernels.infinite(x, activation="linear", hidden_layers=3)
    np.testing.assert_allclose(nngp, data, atol=1e-14)
    np.testing.assert_allclose(ntk, 4 * data, atol=1e-14)
    for name in ("erf", "tanh"):  # odd: an opposite input has the opposite output, a zero input none
        for kernel in kernels.infinite(x, activation=name, hidden_layers=2):
            np.testing.assert_allclose(kernel[2], -kernel[1], atol=1e-12)
            np.testing.assert_allclose(kernel[5], 0, atol=1e-12)
    for kernel in kernels.infinite(x, activation="relu", hidden_layers=2):  # homogeneous of degree 1
        np.testing.assert_allclose(kernel[4], 1.5 * kernel[0], atol=1e-7)
        np.testing.assert_allclose(kernel[5], 0, atol=1e-12)
    nngp, ntk = kernels.infinite(np.zeros((1, 2)), activation="sigmoid", hidden_layers=1)
    assert nngp[0, 0] == ntk[0, 0] == pytest.approx(0.25, abs=1e-12)


def test_equal_inputs_have_the_variance_of_one():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(3, 50))
    nngp, ntk = kernels.infinite(x, activation="relu", hidden_layers=2)
    np.testing.assert_allclose(np.diag(nngp), np.mean(x**2, axis=1) / 4, rtol=1e-13)
    np.testing.assert_allclose(np.diag(ntk), 3 * np.mean(x**2, axis=1) / 4, rtol=1e-13)


@pytest.mark.parametrize(("name", "hidden"), [("erf", 1), ("relu", 2), ("tanh", 1), ("gelu", 2)])
def test_finite_networks_approach_the_limit_as_the_square_root_of_the_width(name, hidden):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4, 6))
    limit = kernels.infinite(x, activation=name, hidden_layers=hidden)
    widths = np.array([50, 200, 800])
    errors = []
    for width in widths:
        draws = [finite(x, hidden, width, name, rng) for _ in range(24 if width < 800 else 12)]
        errors.append(np.sqrt(np.mean([np.sum((np.array(draw) - limit) ** 2, axis=(1, 2)) for draw in draws], axis=0)))
        # The mean of two layers is unbiased.
        if hidden == 1:
            assert np.all(np.abs(np.mean(draws, axis=0) - limit) < 6 * np.std(draws, axis=0) / np.sqrt(len(draws)))
    slopes = np.polyfit(np.log(widths), np.log(errors), 1)[0]
    np.testing.assert_allclose(slopes, -0.5, atol=0.15)


@pytest.mark.parametrize("name", ["tanh", "relu"])
def test_finite_cnn_approaches_the_limit_as_the_square_root_of_the_width(name):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(4, 6))
    limit = kernels.circular_cnn(x, filter_size=4, activation=name)
    widths = np.array([50, 200, 800])
    draws = [[finite_cnn(x, 4, width, name, rng) for _ in range(24)] for width in widths]
    errors = [np.sqrt(np.mean(np.sum((np.array(some) - limit) ** 2, axis=(2, 3)), axis=0)) for some in draws]
    np.testing.assert_allclose(np.polyfit(np.log(widths), np.log(errors), 1)[0], -0.5, atol=0.15)
    np.testing.assert_allclose(np.mean(draws[-1], axis=0), limit, atol=6 * errors[-1].max() / np.sqrt(24))


@given(st.integers(1, 9), st.integers(0, 8), seeds)
def test_cnn_on_the_hypercube(d, less, seed):
    """Unit patches leave a function of the overlaps alone."""
    size, rng = max(1, d - less), np.random.default_rng(seed)
    x, y = np.sign(rng.normal(size=(3, d))), np.sign(rng.normal(size=(2, d)))
    expected = np.zeros((3, 2))
    for a in range(3):
        for b in range(2):
            for i in range(d):
                rho = np.mean([x[a, (i + j) % d] * y[b, (i + j) % d] for j in range(size)])
                expected[a, b] += 4 / np.pi * rho / np.sqrt(9 - 4 * rho**2) + 2 / np.pi * np.arcsin(2 * rho / 3)
    found = kernels.circular_cnn(x, y, filter_size=size, activation="erf").ntk
    np.testing.assert_allclose(found, expected / d, atol=1e-13)
    if size == d:  # every patch is the whole input, turned
        full = kernels.infinite(x, y, activation="erf", hidden_layers=1).ntk
        np.testing.assert_allclose(found, full, atol=1e-13)


@pytest.mark.parametrize("activation", ["erf", "relu", "tanh", "elu", "gelu", "sigmoid", clip])
@pytest.mark.parametrize("hidden", [0, 1, 4])
def test_expansion_is_that_of_the_kernel_of_nearly_orthogonal_inputs(activation, hidden):
    basis = np.sqrt(40) * np.eye(40)[:2]
    overlaps = np.array([-2e-2, -1e-2, 0, 1e-2, 2e-2])
    y = np.stack([c * basis[0] + np.sqrt(1 - c**2) * basis[1] for c in overlaps])
    a, b, at, c, e = kernels.infinite(basis[:1], y, activation=activation, hidden_layers=hidden).ntk[0]
    constant, linear = kernels.expansion(activation, hidden)
    assert constant == pytest.approx(at, abs=1e-12)
    assert linear == pytest.approx((a - 8 * b + 8 * c - e) / 0.12, abs=2e-7)


def test_expansion_in_closed_form():
    q, product = 1.0, 1.0
    for hidden in range(5):
        assert kernels.expansion("erf", hidden).linear == pytest.approx((hidden + 1) * product, rel=1e-12, abs=0)
        product *= 4 / np.pi / (1 + 2 * q)
        q = 2 / np.pi * np.arcsin(2 * q / (1 + 2 * q))
    zeta, theta0, *_ = twin.constants("relu")
    assert kernels.expansion("relu", 1) == pytest.approx((theta0**2, 2 * zeta**2), abs=1e-14)
    assert kernels.expansion(lambda z: 0 * z + 2.0, 2) == pytest.approx((4.0, 0.0), abs=1e-13)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kernels.infinite(np.ones(3), activation="erf", hidden_layers=1), "x must be"),
        (lambda: kernels.infinite([[np.inf]], activation="erf", hidden_layers=1), "x must be"),
        (lambda: kernels.infinite(np.eye(2), np.eye(3), activation="erf", hidden_layers=1), "as many columns"),
        (lambda: kernels.infinite(np.eye(2), activation="erf", hidden_layers=-1), "hidden_layers must be a whole"),
        (lambda: kernels.infinite(np.eye(2), activation="erf", hidden_layers=1.5), "hidden_layers must be a whole"),
        (lambda: kernels.infinite(np.eye(2), activation="step", hidden_layers=1), "activation must be one of"),
        (lambda: kernels.circular_cnn(np.eye(3), filter_size=4, activation="erf"), "at least 1 and at most 3"),
        (lambda: kernels.circular_cnn(np.eye(3), filter_size=0, activation="erf"), "filter_size must be a whole"),
        (lambda: kernels.expansion("erf", -1), "hidden_layers must be a whole"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_derivative_of_a_callable_takes_numbers_and_lists_and_is_finite_at_a_kink():
    phi = resolve(lambda z: np.minimum(z, 1.0))
    (kink,) = phi.kinks
    assert kink == pytest.approx(1.0, abs=1e-9)
    assert phi.derivative(0.5) == pytest.approx(1.0)
    np.testing.assert_allclose(phi.derivative([-3.0, 0.0, 2.0]), [1.0, 1.0, 0.0], atol=1e-9)
    at = phi.derivative(np.array([kink]))
    assert 0 <= at[0] <= 1


@pytest.mark.parametrize("mirrored", [False, True])
def test_kinks_on_one_side_of_zero(mirrored):
    """E min(g, 1), E min(g, 1)² and the like in closed form, where u = v and where u, v are independent."""
    sign = -1.0 if mirrored else 1.0
    phi = Activation(lambda z: sign * np.minimum(sign * z, 1.0), lambda z: (sign * z < 1) * 1.0, (sign,))
    below, density = ndtr(1.0), np.exp(-0.5) / np.sqrt(2 * np.pi)
    mean, square = (1 - below) - density, (1 - below) + below - density
    apart, same = (quadrature_dual(phi, 1.0, 1.0, c) for c in (0.0, 1.0))
    assert apart.value == pytest.approx(mean**2, abs=1e-10)
    assert apart.slope == pytest.approx(below**2, abs=1e-10)
    assert same.value == pytest.approx(square, abs=1e-10)
    assert same.slope == pytest.approx(below, abs=1e-10)


def test_quadrature_at_a_large_deviation_tends_to_the_sign():
    """tanh(sg) → sign g: (2/π) arcsin ρ, with an error of order 1/s; beyond the largest deviation it is refused."""
    s = 800.0
    assert quadrature_dual("tanh", s**2, s**2, 0.5 * s**2).value == pytest.approx(1 / 3, abs=2 / s)
    with pytest.raises(ValueError, match=r"s must be .* at most 1000"):
        quadrature_dual("tanh", 1e8, 1.0, 0.0)


@pytest.mark.parametrize("activation", ["relu", "erf", "tanh"])
@pytest.mark.parametrize("others", [None, 5])
def test_parts_make_the_whole(monkeypatch, activation, others):
    """Whatever goes through together: more inputs than are mirrored at a time, and a few pairs in the place of many."""
    X = np.random.default_rng(0).normal(size=(70 if activation != "tanh" else 7, 3))
    X[1] = 0
    Y = None if others is None else X[:others] + 0.1
    whole = kernels.infinite(X, Y, activation=activation, hidden_layers=2)
    monkeypatch.setattr(kernels, "BLOCK", 200)
    parts = kernels.infinite(X, Y, activation=activation, hidden_layers=2)
    apart = kernels.infinite(X, X if Y is None else Y, activation=activation, hidden_layers=2)
    for part, one, pairs in zip(parts, whole, apart, strict=True):
        np.testing.assert_array_equal(part, one)
        np.testing.assert_allclose(part, pairs, atol=1e-8 if activation == "tanh" else 1e-14)
        assert Y is not None or np.array_equal(part, part.T)


@pytest.mark.parametrize(("name", "nodes"), [("tanh", (7, 24)), ("softplus", (7, 16))])
def test_the_grid_itself_interpolates_over_both_ranges(name, nodes):
    """Without the comparison that would refine it: u and v of ranges that do not meet, angles up to both ends."""
    rng = np.random.default_rng(2)
    s, t = rng.uniform(0.9, 1.0, size=6), rng.uniform(1.2, 1.3, size=5)
    theta = rng.uniform(0, np.pi, size=(6, 5))
    theta[0, 0], theta[1, 1] = 0, np.pi
    found = dual_grid._interpolated(NAMED[name], s, t, theta, nodes)
    turned = dual_grid._interpolated(NAMED[name], t, s, theta.T, nodes)
    exact = quadrature(NAMED[name], s[:, None], t[None], theta)
    for one, other, value in zip(found, turned, exact, strict=True):
        np.testing.assert_allclose(one, value, rtol=0, atol=1e-8)
        np.testing.assert_allclose(other, value.T, rtol=0, atol=1e-8)
    alike = dual_grid._interpolated(NAMED[name], np.full(6, 0.7), np.full(5, 0.7), theta, (1, nodes[1]))
    np.testing.assert_allclose(alike, quadrature(NAMED[name], 0.7, 0.7, theta), rtol=0, atol=1e-8)


def test_many_pairs_are_read_off_a_grid_and_not_integrated_one_by_one(monkeypatch):
    integrated = []

    def counted(activation, *arguments):
        integrated.append(np.broadcast(*arguments).size)
        return quadrature(activation, *arguments)

    monkeypatch.setattr(dual_grid, "quadrature", counted)
    theta = np.random.default_rng(3).uniform(0, np.pi, size=(40, 30))
    grid_dual(NAMED["sigmoid"], np.ones(40), np.ones(30), theta)
    assert integrated == [24, 200]
    integrated.clear()
    grid_dual(NAMED["sigmoid"], np.ones(8), np.ones(12), theta[:8, :12])  # as many as four of the coarsest grid
    assert integrated == [24, 200]
    integrated.clear()
    grid_dual(NAMED["sigmoid"], np.ones(5), np.ones(19), theta[:5, :19])  # one pair less: a grid would not pay
    assert integrated == [95]


def test_quadrature_takes_its_order_from_the_larger_deviation_whichever_it_is():
    one, other = quadrature(NAMED["tanh"], 0.5, 40.0, 1.1), quadrature(NAMED["tanh"], 40.0, 0.5, 1.1)
    np.testing.assert_allclose(one.value, other.value, rtol=1e-12)
    np.testing.assert_allclose(one.slope, other.slope, rtol=1e-12)
    np.testing.assert_allclose(one.value, quadrature(NAMED["tanh"], [0.5, 9.0], [40.0, 90.0], 1.1).value[0], rtol=1e-9)


@pytest.mark.parametrize("activation", ["erf", "relu", "tanh"])
@pytest.mark.parametrize(("n", "m"), [(2, 5), (5, 2), (1, 7)])
def test_kernels_of_two_sets_are_each_others_transposes(activation, n, m):
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(n, 4)), rng.normal(size=(m, 4))
    for kernel in (
        lambda a, b: kernels.infinite(a, b, activation=activation, hidden_layers=2),
        lambda a, b: kernels.circular_cnn(a, b, filter_size=3, activation=activation),
    ):
        whole = kernel(np.concatenate([x, y]), None)
        for one, other, both in zip(kernel(x, y), kernel(y, x), whole, strict=True):
            np.testing.assert_allclose(one, other.T, rtol=0, atol=1e-12)
            np.testing.assert_allclose(one, both[:n, n:], rtol=0, atol=1e-9)


@pytest.mark.parametrize("activation", ["erf", "relu", "tanh"])
def test_expectations_broadcast_whichever_argument_is_a_number(activation):
    whole = dual(activation, np.full(3, 1.5), np.full(3, 1.5), np.full(3, 0.4))
    for p, q, c in ((np.full(3, 1.5), 1.5, 0.4), (1.5, np.full((1, 3), 1.5), 0.4), (1.5, 1.5, np.full((2, 3), 0.4))):
        found = dual(activation, p, q, c)
        for one, part in zip(found, whole, strict=True):
            assert one.shape == np.broadcast_shapes(np.shape(p), np.shape(q), np.shape(c))
            np.testing.assert_allclose(one, np.broadcast_to(part, one.shape), rtol=1e-13)
