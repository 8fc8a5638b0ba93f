"""The linear twin: its constants, its features, and descent in closed form against descent step by step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.theory import kernels, twin
from lineament.theory.activations import NAMED, Activation, find_kinks, piecewise_linear, resolve

seeds = st.integers(0, 2**32 - 1)
sizes = st.tuples(st.integers(2, 12), st.integers(1, 8))


def gauss_hermite(function, order=200):
    """E[f(g)] by the plain rule, for smooth f."""
    node, weight = np.polynomial.hermite_e.hermegauss(order)
    return np.sum(weight * function(node)) / np.sqrt(2 * np.pi)


def printed_constants(activation):
    """Eqs. 5 and 9 as printed, with φ′; for smooth φ."""
    phi = NAMED[activation]
    return (
        gauss_hermite(phi.derivative),
        gauss_hermite(phi.function),
        gauss_hermite(lambda g: g * phi.derivative(g)),
        gauss_hermite(lambda g: (g**3 / 2 - g) * phi.derivative(g)),
    )


def naive_descent(psi, y, step, steps):
    """Weights at every step of gradient descent from zero."""
    weights = [np.zeros((psi.shape[1], *y.shape[1:]))]
    for _ in range(steps):
        weights.append(weights[-1] - step * psi.T @ (psi @ weights[-1] - y) / len(y))
    return np.stack(weights)


@pytest.mark.parametrize("name", ["erf", "gelu", "sigmoid", "softplus", "tanh", "linear"])
def test_constants_are_the_printed_integrals(name):
    np.testing.assert_allclose(twin.constants(name), printed_constants(name), atol=1e-9)


@pytest.mark.parametrize("name", list(NAMED))
def test_closed_forms_quadrature_and_bare_callables_agree(name):
    np.testing.assert_allclose(twin.constants(name), twin.quadrature(name), rtol=0, atol=1e-12)
    np.testing.assert_allclose(twin.constants(name), twin.constants(NAMED[name].function), rtol=0, atol=1e-12)


def test_known_values():
    assert twin.constants("erf").zeta == pytest.approx(2 / np.sqrt(3 * np.pi), rel=1e-15, abs=0)
    np.testing.assert_allclose(
        twin.constants("relu"), (0.5, 1 / np.sqrt(2 * np.pi), 1 / np.sqrt(2 * np.pi), 0), atol=1e-15
    )
    # A box: E of clip(g, −1, 1) in closed form through erf.
    zeta, *rest = twin.constants(lambda z: np.clip(z, -1, 1))
    assert zeta == pytest.approx(0.6826894921370859, abs=1e-12)
    np.testing.assert_allclose(rest, 0, atol=1e-12)
    assert twin.constants(np.sin).zeta == pytest.approx(np.exp(-0.5), abs=1e-12)


@given(st.floats(-2, 2), st.floats(-2, 2))
def test_constants_are_linear_in_the_activation(a, b):
    mixed = twin.constants(Activation(lambda z: a * np.tanh(z) + b * np.maximum(z, 0), np.cos, (0.0,)))
    parts = a * np.array(twin.constants("tanh")) + b * np.array(twin.constants("relu"))
    np.testing.assert_allclose(mixed, parts, atol=1e-11)


@pytest.mark.parametrize("name", ["relu", "gelu", "elu", "softplus", "tanh"])
def test_thetas_are_taylor_coefficients_in_the_norm(name):
    """E φ(sg) − (ϑ0 + ϑ1ρ + ϑ2ρ²) falls as ρ³."""
    phi, (_, *theta) = NAMED[name], twin.constants(name)
    left = []
    rho = np.array([0.2, 0.1, 0.05])
    for s in 1 + rho:
        value = twin.quadrature(Activation(lambda z, s=s: phi.function(s * z), phi.derivative, phi.kinks)).theta0
        left.append(abs(value - np.polynomial.polynomial.polyval(s - 1, theta)))
    assert max(left) < 1e-12 or np.polyfit(np.log(rho), np.log(left), 1)[0] > 2.7


@given(st.floats(-5, 5), st.floats(-5, 5))
def test_kinks_are_found_where_they_are(a, b):
    low, high = sorted((a, b))
    if high - low < 0.2:
        return
    found = find_kinks(lambda z: np.tanh(z) + 0.3 * np.maximum(z - low, 0) - np.maximum(z - high, 0))
    np.testing.assert_allclose(found, (low, high), atol=1e-7)


def test_smooth_functions_have_no_kinks_and_differences_are_derivatives():
    z = np.linspace(-6, 6, 997)
    for name, phi in NAMED.items():
        # Only the second derivative of ELU jumps: not seen, and felt by differences within their step of 0.
        bare, at = resolve(phi.function), z[np.abs(z) > 0.01] if name == "elu" else z + 1e-4
        assert bare.kinks == pytest.approx(phi.kinks if name != "elu" else (), abs=1e-9)
        np.testing.assert_allclose(bare.derivative(at), phi.derivative(at), atol=2e-10)


def test_printed_features():
    rng = np.random.default_rng(0)
    d, spread = 7, 1.3
    x = rng.normal(size=(5, d))
    zeta, theta0, theta1, theta2 = twin.constants("gelu")
    nu, rho = theta1 * np.sqrt(spread), np.linalg.norm(x, axis=1) / np.sqrt(d) - 1
    norm, one = theta0 + theta1 * rho + theta2 * rho**2, np.ones(5)
    psi1 = np.column_stack([zeta * x / np.sqrt(d), nu * one / np.sqrt(d), 0 * one])
    psi2 = np.column_stack([zeta * x / np.sqrt(d), nu * one / np.sqrt(2 * d), norm])
    psi = np.column_stack([np.sqrt(2 / d) * zeta * x, np.sqrt(3 / (2 * d)) * nu * one, norm])
    naive = np.column_stack([psi[:, :-1], theta0 * one])
    for weights, printed in {(1, 0): psi1, (0, 1): psi2, (1, 1): psi}.items():
        made = twin.feature_map("gelu", spread=spread, first=weights[0], second=weights[1])
        np.testing.assert_allclose(made(x), printed, atol=1e-14)
        np.testing.assert_allclose(made.kernel(x), printed @ printed.T, atol=1e-13)
    np.testing.assert_allclose(twin.feature_map("gelu", spread=spread).naive()(x), naive, atol=1e-14)
    np.testing.assert_allclose(psi @ psi.T, psi1 @ psi1.T + psi2 @ psi2.T, atol=1e-13)


@pytest.mark.parametrize("weights", [(1, 0), (0, 1), (1, 1)])
def test_features_approximate_the_kernel_in_spectral_norm_and_nothing_else_does(weights):
    """‖Θ − Θ_lin‖·d/n off the diagonal falls with d; with another constant or norm feature it does not."""
    rng, errors = np.random.default_rng(1), []
    sizes = np.array([20, 40, 80, 160])
    for d in sizes:
        scale = np.linspace(0.2, 1.8, d)
        x = rng.normal(size=(5 * d, d)) * np.sqrt(scale)
        nngp, ntk = kernels.infinite(x, activation="relu", hidden_layers=1)
        target = weights[0] * (ntk - nngp) + weights[1] * nngp
        psi = twin.feature_map("relu", spread=float(np.mean(scale**2)), first=weights[0], second=weights[1])
        wrong = [psi._replace(constant=0.0), psi._replace(constant=psi.constant * np.sqrt(2))]
        wrong += [psi.naive()] if weights[1] else []
        gaps = [target - made.kernel(x) for made in (psi, *wrong)]
        errors.append([np.linalg.norm(gap - np.diag(np.diag(gap)), 2) / 5 for gap in gaps])
    slopes = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert slopes[0] < -0.4
    assert np.all(slopes[1:] > -0.2)
    assert np.all(np.array(errors)[-1, 1:] > 3 * errors[-1][0])


def test_covariance_spread_is_the_mean_squared_overlap_and_unbiased():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(6, 4))
    pairs = [np.dot(x[i], x[j]) ** 2 for i in range(6) for j in range(6) if i != j]
    assert twin.covariance_spread(x) == pytest.approx(np.mean(pairs) / 4, rel=1e-12, abs=0)
    assert twin.covariance_spread(x.T) == pytest.approx(
        np.mean([np.dot(a, b) ** 2 for i, a in enumerate(x.T) for j, b in enumerate(x.T) if i != j]) / 6,
        rel=1e-12,
        abs=0,
    )
    draws = [twin.covariance_spread(rng.normal(size=(30, 20))) for _ in range(300)]
    assert np.mean(draws) == pytest.approx(1, abs=4 * np.std(draws) / np.sqrt(300))
    assert twin.covariance_spread(np.eye(3)) == 0


def test_covariance_spread_refuses_inputs_whose_fourth_powers_overflow():
    x = np.random.default_rng(0).normal(size=(6, 4))
    assert twin.covariance_spread(1e60 * x) == pytest.approx(1e240 * twin.covariance_spread(x), rel=1e-12)
    with pytest.raises(ValueError, match=r"x must .* 1e\+70"):
        twin.covariance_spread(1e200 * x)


@given(sizes, seeds, st.sampled_from([(1.0, 0.0), (0.0, 0.7), (1.0, 1.0), (0.2, 1.5)]), st.integers(0, 2))
def test_trajectory_is_descent_step_by_step(shape, seed, steps, outputs):
    """On train and fresh points, for n < d and n > d, rank deficient too; weights, outputs and losses."""
    (n, d), rng = shape, np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) @ np.diag(rng.integers(0, 2, size=d)) + 0.1
    y = rng.normal(size=(n, outputs) if outputs else n)
    fresh, labels = rng.normal(size=(5, d)), rng.normal(size=(5, outputs) if outputs else 5)
    made = twin.two_layer(x, y, activation="softplus", first_step_size=steps[0], second_step_size=steps[1], spread=0.8)
    # η1Θ1 + η2Θ2, built from the two layers' own kernels, is what a step applies.
    one = twin.feature_map("softplus", spread=0.8, second=0.0)
    two = twin.feature_map("softplus", spread=0.8, first=0.0)
    np.testing.assert_allclose(
        made.step_size * made.features.kernel(x), steps[0] * one.kernel(x) + steps[1] * two.kernel(x), atol=1e-12
    )
    t = np.array([[0, 1, 2], [5, 17, 40]])
    weights = naive_descent(made.features(x), y, made.step_size, 40)[t]
    np.testing.assert_allclose(made.coefficients(t), weights, atol=1e-11)
    for inputs, targets, given_ in ((x, y, ()), (fresh, labels, (fresh, labels))):
        out = made.features(inputs) @ weights.reshape(2, 3, d + 2, -1)
        out = out.reshape(2, 3, *targets.shape)
        np.testing.assert_allclose(made.predict(t, *given_[:1]), out, atol=1e-11)
        naive = np.sum((out - targets) ** 2, axis=tuple(range(2, out.ndim))) / (2 * len(targets))
        np.testing.assert_allclose(made.loss(t, *given_), naive, rtol=1e-11, atol=1e-12)


@given(sizes, seeds)
def test_limits(shape, seed):
    (n, d), rng = shape, np.random.default_rng(seed)
    x, y = rng.normal(size=(n, d)), rng.normal(size=n)
    made = twin.two_layer(x, y, activation="relu", first_step_size=0.3, second_step_size=0.3, spread=1.0)
    psi = made.features(x)
    np.testing.assert_array_equal(made.predict(0), 0)
    assert made.loss(0) == pytest.approx(np.mean(y**2) / 2)
    least = np.linalg.pinv(psi) @ y
    size = np.linalg.cond(psi) ** 2
    np.testing.assert_allclose(made.optimum(), least, atol=1e-13 * size * (1 + np.abs(least).max()))
    np.testing.assert_allclose(made.predict(np.inf), psi @ least, atol=1e-11 * size)
    assert made.loss(np.inf) <= made.loss(10**6) * (1 + 1e-12) + 1e-15
    assert np.all(np.diff(made.loss(np.arange(50))) <= 1e-15)


def test_rates_at_one_above_one_and_beyond_two():
    x = np.sqrt(2) * np.eye(2)  # with n = 2 every rate equals step
    y = np.array([1.0, -2.0])
    for rate, expected in ((1.0, [0, 1, 1, 1]), (1.5, [0, 1.5, 0.75, 1.125]), (3.0, [0, 3, -3, 9])):
        made = twin.Twin(x, y, twin.FeatureMap(np.sqrt(2)), step_size=rate)
        np.testing.assert_allclose(made.rates, rate)
        np.testing.assert_allclose(made.predict(np.arange(4)), np.outer(expected, y), atol=1e-12)
        assert made.stable == (rate < 2)
    with pytest.raises(ValueError, match="t must be finite where descent does not converge; got inf at a rate 3"):
        made.predict(np.inf)


def test_a_tiny_rate_is_not_lost():
    made = twin.Twin([[1.0]], [1.0], twin.FeatureMap(1e-10), step_size=1.0)
    assert made.predict(10) == pytest.approx(1e-19, rel=1e-10, abs=0)
    assert made.predict(10**22) == pytest.approx(-np.expm1(-100), rel=1e-10, abs=0)
    assert made.predict(np.inf) == 1


def test_zero_inputs_learn_nothing():
    made = twin.two_layer(np.zeros((3, 2)), np.ones(3), activation="erf", first_step_size=1.0, second_step_size=1.0)
    assert made.rates.size == 0
    np.testing.assert_array_equal(made.predict([0, 5, np.inf]), np.zeros((3, 3)))
    np.testing.assert_allclose(made.loss([0, np.inf]), 0.5)


def test_horizon():
    made = twin.two_layer(np.eye(50), np.ones(50), activation="erf", first_step_size=0.25, second_step_size=0.1)
    assert made.horizon() == pytest.approx(50 * np.log(50) / 0.25)
    assert made.horizon(0.5) == pytest.approx(25 * np.log(50) / 0.25)


def test_the_norm_feature_learns_what_the_naive_twin_cannot():
    rng = np.random.default_rng(3)
    d = 20
    x = rng.normal(size=(4000, d))
    y = np.linalg.norm(x, axis=1) / np.sqrt(d)
    psi = twin.feature_map("relu", spread=1.0)
    full, naive = (twin.Twin(x, y, features, step_size=0.5) for features in (psi, psi.naive()))
    assert full.loss(np.inf) < 1e-20
    assert naive.loss(np.inf) == pytest.approx(np.var(y) / 2, rel=0.02, abs=0)


@pytest.mark.parametrize(
    ("activation", "steps", "power"), [("erf", (1, 1), 1), ("relu", (1, 0), 1), ("relu", (1, 1), 2)]
)
def test_the_slowest_mode(activation, steps, power):
    """Of order 1/d, but 1/d² along the norm where the second layer trains with ϑ0ϑ1 ≠ 0."""
    rng, sizes, rates = np.random.default_rng(5), np.array([20, 40, 80, 160]), []
    for d in sizes:
        x = rng.normal(size=(30 * d, d))
        made = twin.two_layer(
            x, x[:, 0], activation=activation, first_step_size=steps[0], second_step_size=steps[1], spread=1.0
        )
        rates.append(made.rates[-1])
    assert np.polyfit(np.log(sizes), np.log(rates), 1)[0] == pytest.approx(-power, abs=0.1)
    if power == 2:
        _, theta0, theta1, _ = twin.constants(activation)
        predicted = (steps[0] + steps[1] / 2) * theta1**4 / (2 * theta0**2 * sizes[-1] ** 2)
        # In a sample the inputs explain d/n = 1/30 of anything; the variance of the norms is known to √(2/n) = 2 %.
        assert rates[-1] == pytest.approx(predicted * (1 - 1 / 30), rel=0.06, abs=0)
        # So at T the twin has learnt little of a label that follows the norm.
        y = np.clip(np.sqrt(2 * sizes[-1]) * (np.linalg.norm(x, axis=1) / np.sqrt(sizes[-1]) - 1), -1, 1)
        late = twin.two_layer(
            x, y, activation=activation, first_step_size=steps[0], second_step_size=steps[1], spread=1.0
        )
        gap = np.mean((late.predict(round(late.horizon(4))) - late.predict(np.inf)) ** 2)
        assert gap > 0.5 * np.mean(y**2)


def test_ten_thousand_times_come_from_one_decomposition(monkeypatch):
    """How much less time that takes than stepping is measured by `make bench`, case `twin`."""
    rng = np.random.default_rng(4)
    x, t = rng.normal(size=(400, 50)), np.arange(10_000)
    y = np.sign(x[:, 0])
    decompose, decomposed = np.linalg.svd, []
    monkeypatch.setattr(np.linalg, "svd", lambda A, **how: decomposed.append(A.shape) or decompose(A, **how))
    made = twin.two_layer(x, y, activation="erf", first_step_size=0.25, second_step_size=0.25)
    losses = made.loss(t)
    assert decomposed == [(53, 52)], "one, of the triangle that is left of features and label"
    psi = made.features(x)
    naive = naive_descent(psi, y, 0.25, 100)
    np.testing.assert_allclose(losses[:101], np.mean((psi @ naive.T - y[:, None]) ** 2, axis=0) / 2, rtol=1e-12)


X, Y = np.eye(3), np.ones(3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: twin.constants("swish"), "activation must be one of"),
        (lambda: twin.constants(3), "activation must be one of 'elu', 'erf', 'gelu', 'leaky_relu', 'linear', 're"),
        (lambda: twin.constants(lambda z: z.astype(np.float32)), "float64"),
        (lambda: twin.constants(lambda z: z[:1]), "same shape"),
        (lambda: twin.constants(lambda z: z / 0 * np.inf), "finite"),
        (lambda: piecewise_linear(np.nan), "left must be a finite number; got nan"),
        (
            lambda: twin.covariance_spread(np.ones((1, 3))),
            r"x must be a matrix of at least 2 example\(s\), one a row; got shape \(1, 3\)",
        ),
        (
            lambda: twin.covariance_spread(np.ones(3)),
            r"x must be a matrix of at least 2 example\(s\), one a row; got shape \(3,\)",
        ),
        (lambda: twin.feature_map("erf", spread=-1), "spread must be a finite number of at least 0; got -1"),
        (
            lambda: twin.two_layer(X, Y, activation="erf", first_step_size=0, second_step_size=0),
            "first_step_size and second_step_size must be numbers of which one is above ",
        ),
        (
            lambda: twin.two_layer(X, Y, activation="erf", first_step_size=-1, second_step_size=1),
            "first_step_size must be a finite number of at least 0; got -1",
        ),
        (
            lambda: twin.Twin(X, Y, twin.FeatureMap(1.0), step_size=0),
            "step_size must be a finite number above 0; got 0",
        ),
        (lambda: twin.Twin(X, np.ones(2), twin.FeatureMap(1.0), step_size=1), "y must be"),
        (lambda: twin.Twin(X, np.full(3, np.nan), twin.FeatureMap(1.0), step_size=1), "y must be"),
        (lambda: twin.Twin(X, Y, twin.FeatureMap(1.0), step_size=1).predict(0.5), "t must be"),
        (lambda: twin.Twin(X, Y, twin.FeatureMap(1.0), step_size=1).predict(-1), "t must be"),
        (lambda: twin.Twin(X, Y, twin.FeatureMap(1.0), step_size=1).predict(np.nan), "t must be"),
        (
            lambda: twin.Twin(X, Y, twin.FeatureMap(1.0), step_size=1).predict(1, np.eye(2)),
            r"x must be of 3 columns as in training; got shape \(2, 2\)",
        ),
        (lambda: twin.Twin(X, Y, twin.FeatureMap(1.0), step_size=1).loss(1, X), "given together"),
        (lambda: twin.Twin(X, Y, twin.FeatureMap(1.0), step_size=1).loss(1, X, np.ones((3, 1))), "as in training"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_jump_is_found_where_it_is_though_the_tangents_meet_elsewhere(side):
    for slopes in ((1.0, 3.0), (3.0, 1.0)):
        jump = lambda z, slopes=slopes: np.where(z < 0.3, slopes[0] * z, side + slopes[1] * z)  # noqa: E731
        assert find_kinks(jump) == pytest.approx((0.3,), abs=4e-6)


def test_a_function_of_two_slopes_has_its_kink_at_zero_and_one_of_one_slope_has_none():
    assert piecewise_linear(0.5, 2.0).kinks == NAMED["relu"].kinks == (0.0,)
    assert piecewise_linear(2.0, 2.0).kinks == NAMED["linear"].kinks == ()


@pytest.mark.parametrize(("step_size", "stable"), [(1.99, True), (2.0, False), (2.01, False)])
def test_descent_converges_below_a_rate_of_two_and_not_at_it(step_size, stable):
    found = twin.Twin([[1.0]], [1.0], twin.FeatureMap(1.0), step_size=step_size)
    assert found.rates == pytest.approx([step_size])
    assert found.stable == stable
    if not stable:
        with pytest.raises(ValueError, match="t must be finite"):
            found.predict(np.inf)


@pytest.mark.parametrize("side", [1, -1])
def test_kinks_are_looked_for_between_minus_eight_and_eight(side):
    assert find_kinks(lambda z: np.abs(z - 7.9 * side)) == pytest.approx((7.9 * side,), abs=1e-7)
    assert find_kinks(lambda z: np.abs(z - 8.5 * side)) == ()


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (4, 7), (6, 6)])
def test_examples_at_right_angles_have_no_spread_and_rounding_makes_none_below_zero(shape):
    for seed in range(20):
        Q = np.linalg.qr(np.random.default_rng(seed).normal(size=shape[::-1]))[0].T
        assert 0 <= twin.covariance_spread(Q) < 1e-15


@pytest.mark.parametrize("kink", [-3.1, -0.7, 0.3, 2.5])
def test_the_derivative_of_a_callable_stays_on_its_side_of_a_kink_wherever_it_is(kink):
    phi = resolve(lambda z: np.abs(z - kink) * (2 + np.sin(z)))
    assert phi.kinks == pytest.approx((kink,), abs=1e-9)
    for distance in (1e-6, 1e-5, 1e-4, 1e-3, 4e-3, 0.1):
        z = kink + distance * np.array([-1.0, 1.0])
        exact = np.sign(z - kink) * (2 + np.sin(z)) + np.abs(z - kink) * np.cos(z)
        np.testing.assert_allclose(phi.derivative(z), exact, rtol=0, atol=3e-15 / distance + 1e-10)


@pytest.mark.parametrize("activation", ["relu", "gelu", "elu", "tanh"])
def test_the_kernel_of_the_twin_is_linear_in_the_weights_of_both_layers(activation):
    x = np.random.default_rng(8).normal(size=(5, 3))
    alone = [twin.feature_map(activation, spread=0.7, first=first, second=1 - first).kernel(x) for first in (1.0, 0.0)]
    for first, second in ((0.25, 1.0), (1.0, 0.25), (3.0, 4.0), (0.0, 1e-3)):
        both = twin.feature_map(activation, spread=0.7, first=first, second=second).kernel(x)
        np.testing.assert_allclose(both, first * alone[0] + second * alone[1], rtol=1e-12, atol=1e-14)
