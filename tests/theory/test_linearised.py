"""Linearised training on square loss: against steps and exponentials in parameter space, and stored reference values."""

from fractions import Fraction
from pathlib import Path

import jax
import mpmath
import numpy as np
import optax
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from lineament.theory import kernel_modes, linearised, linearised_ensemble, spectral_filters

REFERENCE = Path(__file__).parents[1] / "reference" / "neural_tangents_predict.npz"
CASES = {
    # name: learning rate, regularisation relative to the mean diagonal, times
    "relu2": (1.0, 0.0, (0.5, 10.0, 1000.0, None)),
    "erf1": (0.3, 1e-3, (1.0, 50.0, None)),
}


def network(seed, n=5, m=3, k=2, p=7):
    """Jacobians of training and other outputs by p parameters, (points, outputs, p), and targets."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k, p)), rng.normal(size=(m, k, p)), rng.normal(size=(n, k))


def kernels(J, J_other):
    return np.einsum("iap,jbp->ijab", J, J), np.einsum("iap,jbp->ijab", J_other, J)


def flow_of_parameters(t, J, y, ridge):
    """θ(t) − θ₀ of the flow of ½ mean‖Jθ − y‖² + (ρ/2n)‖θ‖², by the exponential of a matrix of parameters."""
    n, k, p = J.shape
    A = J.reshape(n * k, p)
    H, b = (A.T @ A + ridge * np.eye(p)) / n, A.T @ y.ravel() / n
    block = expm(np.block([[-H, b[:, None]], [np.zeros((1, p + 1))]]) * t)
    return block[:p, p]


shapes = st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(1, 3), st.integers(1, 9))


@given(st.integers(0, 10**6), shapes, st.floats(0, 30), st.sampled_from([0.0, 0.1, 3.0]))
def test_flow_is_that_of_the_parameters(seed, shape, t, ridge):
    J, other, y = network(seed, *shape)
    K, cross = kernels(J, other)
    theta = flow_of_parameters(t, J, y, ridge)
    found = linearised.predict(t, K, y, cross, ridge)
    np.testing.assert_allclose(found.training, J @ theta, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(found.other, other @ theta, rtol=1e-8, atol=1e-9)


@given(st.integers(0, 10**6), shapes, st.integers(0, 40), st.sampled_from([0.0, 0.5]), st.floats(0.01, 1.9),
       st.sampled_from([0.0, 0.3, 0.9]))  # fmt: skip
def test_descent_is_that_of_the_parameters(seed, shape, steps, ridge, share, momentum):
    J, other, y = network(seed, *shape)
    K, cross = kernels(J, other)
    n = len(J)
    eta = share * n / (np.linalg.eigvalsh(np.einsum("iap,iaq->pq", J, J))[-1] + ridge)
    theta, v = np.zeros(J.shape[2]), np.zeros(J.shape[2])
    for _ in range(steps):
        v = momentum * v + (np.einsum("iap,ia->p", J, J @ theta - y) + ridge * theta) / n
        theta = theta - eta * v
    found = linearised.descend(steps, K, y, eta, momentum, cross, ridge)
    np.testing.assert_allclose(found.training, J @ theta, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(found.other, other @ theta, rtol=1e-7, atol=1e-8)


def test_momentum_is_that_of_optax():
    J, _, y = network(1)
    K = np.einsum("iap,jbp->ijab", J, J)
    optimiser = optax.sgd(0.05, momentum=0.9)
    with jax.enable_x64(True):  # with the flag off optax would step in float32, and be the less exact of the two
        theta, state = np.zeros(J.shape[2]), optimiser.init(np.zeros(J.shape[2]))
        for _ in range(25):
            updates, state = optimiser.update(np.einsum("iap,ia->p", J, J @ theta - y) / len(J), state)
            theta = np.asarray(optax.apply_updates(theta, updates))
    np.testing.assert_allclose(linearised.descend(25, K, y, 0.05, 0.9), J @ theta, rtol=1e-10)


@given(st.floats(1e-12, 3.9), st.integers(0, 200), st.floats(0.01, 0.99))
def test_momentum_along_one_direction(x, steps, momentum):
    """Over-damped, oscillating, critical and diverging alike, against the recursion itself."""
    c = v = 0.0
    for _ in range(steps):
        v = momentum * v + x * c - 1
        c = c - v
    filtered = spectral_filters.descent(np.array(steps), np.array([x]), 1, 1.0, momentum)
    np.testing.assert_allclose(filtered[0], c, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("momentum", [0.25, 0.81])
def test_momentum_at_its_critical_point(momentum):
    x = (1 - momentum**0.5) ** 2  # both roots are √μ
    c = v = 0.0
    for _ in range(30):
        v = momentum * v + x * c - 1
        c = c - v
    np.testing.assert_allclose(
        spectral_filters.descent(np.array(30), np.array([x]), 1, 1.0, momentum)[0], c, rtol=1e-6
    )


@pytest.mark.parametrize("momentum", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("off", [1e-2, 1e-5, 1e-8, 1e-12, 0.0, -1e-12, -1e-8, -1e-5, -1e-2])
def test_momentum_on_both_sides_of_its_critical_point(momentum, off):
    """The roots are nearly equal there, and neither a difference of geometric sums nor a ratio of sines may notice."""
    x = (1 - momentum**0.5) ** 2 * (1 - off)
    steps = np.array([0, 1, 2, 7, 40, 300])
    found = spectral_filters.descent(steps, np.array([x]), 1, 1.0, momentum)[:, 0]
    with mpmath.workdps(40):
        c, v, exact = mpmath.mpf(0), mpmath.mpf(0), []
        for step in range(301):
            if step in steps:
                exact.append(float(c))
            v = mpmath.mpf(momentum) * v + mpmath.mpf(float(x)) * c - 1
            c = c - v
    np.testing.assert_allclose(found, exact, rtol=1e-10, atol=0)


def test_a_direction_without_curvature_moves_at_constant_speed():
    still = spectral_filters.flow(np.array([0.0, 3.0, np.inf]), np.zeros(1), 2)
    np.testing.assert_allclose(still[:, 0], [0, 1.5, 0])  # at the end, nothing is ever learnt there
    c = v = 0.0
    for _ in range(9):
        v, c = 0.8 * v + 1, c + 0.8 * v + 1
    np.testing.assert_allclose(spectral_filters.descent(np.array(9), np.zeros(1), 1, 1.0, 0.8)[0], c)


def test_limits_in_time():
    J, other, y = network(2, n=4, k=1, p=9)
    K, cross = (each[:, :, 0, 0] for each in kernels(J, other))
    for ridge in (0.0, 0.7):
        begin, end = (linearised.predict(t, K, y, cross, ridge) for t in (0.0, np.inf))
        assert not np.any(begin.training)
        assert not np.any(begin.other)
        dual = np.linalg.solve(K + ridge * np.eye(4), y)
        np.testing.assert_allclose(end.training, K @ dual, atol=1e-10)
        np.testing.assert_allclose(end.other, cross @ dual, atol=1e-10)
        for momentum in (0.0, 0.9):
            settled = linearised.descend(np.inf, K, y, 0.1, momentum, cross, ridge)
            np.testing.assert_allclose(settled.other, end.other, atol=1e-10)


def test_what_the_kernel_does_not_reach_is_never_learnt():
    J, other, y = network(3, n=6, k=1, p=2)  # rank two
    K, cross = (each[:, :, 0, 0] for each in kernels(J, other))
    least = np.linalg.lstsq(J[:, 0], y[:, 0], rcond=None)[0]
    found = linearised.predict(np.inf, K, y[:, 0], cross)
    np.testing.assert_allclose(found.training, J[:, 0] @ least, atol=1e-9)
    np.testing.assert_allclose(found.other, other[:, 0] @ least, atol=1e-9)


def test_descent_tends_to_the_flow_in_proportion_to_the_step():
    J, _, y = network(4, k=1)
    K = np.einsum("iap,jap->ij", J, J)
    steps = 2 ** np.arange(4, 11)
    exact = linearised.predict(2.0, K, y)
    gaps = [np.abs(linearised.descend(s, K, y, 2.0 / s) - exact).max() for s in steps]
    slope = np.polyfit(np.log(2.0 / steps), np.log(gaps), 1)[0]
    assert 0.95 < slope < 1.1


def test_times_broadcast_and_targets_keep_their_shape():
    J, other, y = network(5, k=1)
    K, cross = (each[:, :, 0, 0] for each in kernels(J, other))
    t = np.array([[0.1, 1.0, 5.0], [0.0, np.inf, 2.0]])
    flat, table = linearised.predict(t, K, y[:, 0], cross), linearised.predict(t, K, y, cross)
    assert flat.training.shape == (2, 3, 5)
    assert table.other.shape == (2, 3, 3, 1)
    np.testing.assert_array_equal(flat.other, table.other[..., 0])
    np.testing.assert_allclose(flat.other[1, 2], linearised.predict(2.0, K, y[:, 0], cross).other)
    assert linearised.predict(1.0, K, y).shape == (5, 1)


def test_outputs_that_share_a_kernel_are_those_of_a_block_diagonal_one():
    J, other, _ = network(6, k=1)
    K, cross = (each[:, :, 0, 0] for each in kernels(J, other))
    Y = np.random.default_rng(0).normal(size=(5, 3))
    full = lambda A: A[:, :, None, None] * np.eye(3)  # noqa: E731
    shared, apart = linearised.predict(1.5, K, Y, cross), linearised.predict(1.5, full(K), Y, full(cross))
    np.testing.assert_allclose(shared.training, apart.training, atol=1e-12)
    np.testing.assert_allclose(shared.other, apart.other, atol=1e-12)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_krylov_space_gives_what_all_eigenvectors_give(momentum, dtype, monkeypatch):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(330, 4))
    G = (np.exp(-np.sum((X[:, None] - X[None]) ** 2, axis=2) / 8) + X @ X.T).astype(dtype)
    K, cross, Y = G[:300, :300], G[300:, :300], rng.normal(size=(300, 2))
    steps, eta = [3, 200], 0.2 * linearised.largest_step(K)
    whole = linearised.descend(steps, K, Y, eta, momentum, cross)
    monkeypatch.setattr(kernel_modes, "WHOLE", 0)
    monkeypatch.setattr(kernel_modes, "LARGEST_SHARE", 2)
    found = kernel_modes.modes(
        K, Y, lambda values: spectral_filters.descent(np.array(200.0), values / 300, 300, eta, 0)
    )
    assert found.basis.ndim == 3  # the space was used, not the eigenvectors
    assert found.basis.shape[1] < 150
    quick = linearised.descend(steps, K, Y, eta, momentum, cross)
    np.testing.assert_allclose(quick.training, whole.training, atol=1e-8 if dtype == np.float64 else 1e-5)
    np.testing.assert_allclose(quick.other, whole.other, atol=1e-8 if dtype == np.float64 else 1e-5)


def test_a_krylov_space_that_closes_early_is_exact(monkeypatch):
    J, other, y = network(8, n=64, k=1, p=3)  # three products exhaust a kernel of rank three
    K, cross = (each[:, :, 0, 0] for each in kernels(J, other))
    whole = linearised.predict(0.5, K, y, cross)
    monkeypatch.setattr(kernel_modes, "WHOLE", 0)
    found = linearised.predict(0.5, K, y, cross)
    np.testing.assert_allclose(found.training, whole.training, atol=1e-10)
    np.testing.assert_allclose(found.other, whole.other, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-10, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("modes", [1, 2, 5])
def test_outputs_whose_krylov_spaces_close_at_different_products(scale, modes, monkeypatch):
    """One residual lies along a few eigenvectors, one along many, and one is zero: each has what it has alone."""
    rng = np.random.default_rng(modes)
    Q = np.linalg.qr(rng.normal(size=(80, 80)))[0]
    values = scale * np.geomspace(1, 1e-3, 80)
    K = (Q * values) @ Q.T
    few = Q[:, :modes] @ np.arange(1.0, 1 + modes)
    Y = np.stack([few, rng.normal(size=80), np.zeros(80)], axis=1) / scale**2
    filtered = lambda h: spectral_filters.flow(np.array([200.0 / scale]), h, 1)  # noqa: E731
    monkeypatch.setattr(kernel_modes, "WHOLE", 0)
    monkeypatch.setattr(kernel_modes, "LARGEST_SHARE", 1)
    found = kernel_modes.modes(K, Y, filtered)
    assert found.basis.ndim == 3
    assert found.basis.shape[1] < 80
    exact = (Q * filtered(values)) @ Q.T @ Y
    np.testing.assert_allclose(
        found.combine(found.basis, filtered(found.values))[0], exact, atol=1e-9 * np.abs(exact).max()
    )
    np.testing.assert_array_equal(found.combine(found.basis, filtered(found.values))[0][:, 2], 0)


def test_the_largest_step_parts_settling_from_growing():
    J, _, y = network(9, k=1)
    K = np.einsum("iap,jap->ij", J, J)
    for momentum in (0.0, 0.6):
        most = linearised.largest_step(K, momentum, 0.3)
        below, above = (
            np.abs(linearised.descend([400, 4000], K, y, share * most, momentum, ridge=0.3)).max(axis=(1, 2))
            for share in (0.98, 1.02)
        )
        assert below[1] <= 1.01 * below[0]
        assert above[1] > 1e3 * above[0]
        for step_size in (most, 1.02 * most):
            with pytest.raises(ValueError, match="step_size must be below"):
                linearised.descend(np.inf, K, y, step_size, momentum, ridge=0.3)


@pytest.mark.parametrize("accuracy", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("time", [3.0, 300.0])
def test_a_krylov_space_ends_at_the_first_product_that_suffices(accuracy, time, monkeypatch):
    """φ(T)e₁ of the tridiagonal matrix T, written out: its last entries are small beside its first, for all outputs."""
    rng, n, look = np.random.default_rng(4), 90, 3
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    K, Y = (Q * np.geomspace(1, 1e-4, n)) @ Q.T, rng.normal(size=(n, 2)) * [1.0, 1e-3]
    filtered = lambda h: spectral_filters.flow(np.array([time / 9, time]), h, 1)  # noqa: E731
    for name, value in (("WHOLE", 0), ("LARGEST_SHARE", 1), ("LOOK", look), ("ACCURACY", accuracy)):
        monkeypatch.setattr(kernel_modes, name, value)
    found = kernel_modes.modes(K, Y, filtered).basis.shape[1]
    bases = [y[:, None] / np.linalg.norm(y) for y in Y.T]
    for size in range(1, n):
        last, first = [], []
        for o, y in enumerate(Y.T):
            V = bases[o]
            values, vectors = np.linalg.eigh(V.T @ K @ V)
            entries = np.abs(filtered(values) * (vectors.T @ V.T @ y) / np.linalg.norm(y) @ vectors.T)
            last.append(entries[:, -look:].max())
            first.append(entries[:, 0].max())
            new = K @ V[:, -1]
            for _ in range(3):
                new -= V @ (V.T @ new)
            bases[o] = np.column_stack([V, new / np.linalg.norm(new)])
        if size % look == 0 and max(last) <= accuracy * max(first):
            break
    assert found == size < n - 1


@pytest.mark.parametrize("n", [8, 40, 100])
def test_a_krylov_space_that_does_not_suffice_is_given_up_for_eigenvectors(n, monkeypatch):
    rng = np.random.default_rng(n)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values, Y = np.geomspace(1, 1e-6, n), rng.normal(size=(n, 2))
    K = (Q * values) @ Q.T
    monkeypatch.setattr(kernel_modes, "WHOLE", 0)
    filtered = lambda h: spectral_filters.flow(np.array([1e5]), h, 1)  # noqa: E731
    found = kernel_modes.modes(K, Y, filtered)
    assert found.basis.shape == (n, n)
    exact = (Q * filtered(values)) @ Q.T @ Y
    np.testing.assert_allclose(
        found.combine(found.basis, filtered(found.values))[0], exact, atol=1e-6 * np.abs(exact).max()
    )


@pytest.mark.parametrize("case", CASES)
def test_reference_values_of_neural_tangents(case):
    """Its loss is divided by the number of outputs too; its regularisation is jitter, so other points are compared."""
    rate, regularisation, times = CASES[case]
    stored = {name.split("/")[1]: value for name, value in np.load(REFERENCE).items() if name.startswith(case)}
    K, cross, Y, n = stored["K"], stored["KZ"], stored["Y"], len(stored["K"])
    ridge = regularisation * np.trace(K) / n
    nngp = _nngp(np.r_[stored["X"], stored["Z"]], case)
    np.testing.assert_allclose(nngp[:n, :n], stored["nngp"], atol=1e-12)
    for t in times:
        time = np.inf if t is None else t * rate / Y.shape[1]
        found = linearised.predict(time, K, Y, cross, ridge)
        np.testing.assert_allclose(found.other, stored[f"test_t{t}"], atol=1e-12)
        if not ridge:
            np.testing.assert_allclose(found.training, stored[f"train_t{t}"], atol=1e-12)
        over = linearised_ensemble.predict(time, K, stored["nngp"], Y, cross, nngp[n:, :n], nngp[n:, n:], ridge)
        np.testing.assert_allclose(over.mean, stored[f"mean_t{t}"], atol=1e-12)
        np.testing.assert_allclose(over.covariance, stored[f"cov_t{t}"], atol=1e-12)


def _nngp(x, case):
    """Two hidden layers of ReLU or one of erf, weights of deviation 1.4, biases of 0.1 (Cho & Saul; Williams)."""
    S = 1.96 * x @ x.T / x.shape[1] + 0.01
    for _ in range(2 if case == "relu2" else 1):
        v = np.diagonal(S)
        if case == "relu2":
            size = np.sqrt(np.outer(v, v))
            angle = np.arccos(np.clip(S / size, -1, 1))
            S = size * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / (2 * np.pi)
        else:
            S = 2 / np.pi * np.arcsin(2 * S / np.sqrt(np.outer(1 + 2 * v, 1 + 2 * v)))
        S = 1.96 * S + 0.01
    return S


def test_the_covariance_over_starts_is_that_of_many_starts():
    """Every start is carried along on its own; only then are mean and covariance taken."""
    rng = np.random.default_rng(10)
    J, other, y = network(11, n=4, m=2, k=1)
    K, cross = (each[:, :, 0, 0] for each in kernels(J, other))
    root = rng.normal(size=(6, 6))
    S = root @ root.T
    starts = root @ np.linalg.qr(rng.normal(size=(4000, 6)))[0].T * 4000**0.5  # covariance S, up to their mean
    f0, f0_other = starts[:4], starts[4:]
    ended = linearised.predict(0.8, K, y - f0, cross, 0.2)
    training, elsewhere = ended.training + f0, ended.other + f0_other
    here = linearised_ensemble.predict(0.8, K, S[:4, :4], y, ridge=0.2)
    there = linearised_ensemble.predict(0.8, K, S[:4, :4], y, cross, S[4:, :4], S[4:, 4:], 0.2)
    free = linearised.predict(0.8, K, y, cross, 0.2)
    np.testing.assert_allclose(here.mean, free.training)
    np.testing.assert_allclose(there.mean, free.other)
    for gaussian, values, mean in ((here, training, free.training), (there, elsewhere, free.other)):
        np.testing.assert_allclose(gaussian.covariance, (values - mean) @ (values - mean).T / 4000, atol=1e-9)


def test_the_covariance_at_its_limits():
    J, _, y = network(12, n=3, k=1)
    K, S = np.einsum("iap,jap->ij", J, J), np.eye(3) + 0.2
    begin, end = linearised_ensemble.predict([0.0, np.inf], K, S, y[:, 0]).covariance
    np.testing.assert_allclose(begin, S)
    np.testing.assert_allclose(end, 0, atol=1e-12)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kernel": np.ones((3, 2))}, r"kernel must be of shape \(n, n\)"),
        ({"kernel": np.eye(3) + np.eye(3, k=1)}, "kernel must be symmetric"),
        ({"kernel": np.ones((3, 3, 2, 2))}, r"kernel must be of shape \(…, 1, 1\)"),
        ({"y": np.ones(4)}, "y must be labels"),
        ({"cross": np.ones((2, 4))}, r"cross must be of shape \(m, 3\)"),
        ({"t": -1.0}, "t must be"),
        ({"ridge": -1.0}, "ridge must be"),
    ],
)
def test_what_cannot_be_used_is_refused(changed, message):
    good = {"t": 1.0, "kernel": np.eye(3), "y": np.ones(3), "cross": np.ones((2, 3)), "ridge": 0.0}
    with pytest.raises(ValueError, match=message):
        linearised.predict(**good | changed)
    with pytest.raises(ValueError, match="steps must be whole"):
        linearised.descend(1.5, np.eye(3), np.ones(3), 0.1)
    with pytest.raises(ValueError, match="must be given together"):
        linearised_ensemble.predict(1.0, np.eye(3), np.eye(3), np.ones(3), np.ones((2, 3)))


def test_kernels_are_decomposed_whole_unless_they_are_large_and_it_is_known_what_for(monkeypatch):
    """A Krylov space answers one filter alone; and small kernels take no time."""
    tried = []
    monkeypatch.setattr(kernel_modes, "_krylov", lambda *given: tried.append(given))
    monkeypatch.setattr(kernel_modes, "WHOLE", 5)
    for size, filtered, asked in ((5, None, 0), (6, None, 0), (5, np.sqrt, 0), (6, np.sqrt, 1)):
        tried.clear()
        K = np.diag(np.arange(1.0, size + 1))
        found = kernel_modes.modes(K, np.ones((size, 1)), filtered)
        np.testing.assert_allclose(found.values, np.arange(1.0, size + 1))
        assert len(tried) == asked, (size, filtered)


def test_a_krylov_space_ends_no_sooner_than_its_last_terms_vanish_whatever_their_sign(monkeypatch):
    """Looked at after every product, the last term of one output alternates in sign: below zero it is not yet small."""
    rng = np.random.default_rng(10)
    J = rng.normal(size=(120, 120)) * np.geomspace(1, 1e-3, 120)
    K, y = J @ J.T, rng.normal(size=(120, 1))
    filtered = lambda values: spectral_filters.flow(np.array([5.0]), values / 120, 120)  # noqa: E731
    exact = kernel_modes.modes(K, y)
    whole = exact.combine(exact.basis, filtered(exact.values))
    monkeypatch.setattr(kernel_modes, "WHOLE", 0)
    monkeypatch.setattr(kernel_modes, "LARGEST_SHARE", 1)
    monkeypatch.setattr(kernel_modes, "LOOK", 1)
    found = kernel_modes.modes(K, y, filtered)
    assert found.basis.shape[1] < 120
    np.testing.assert_allclose(
        found.combine(found.basis, filtered(found.values)), whole, atol=1e-8 * np.abs(whole).max()
    )


@pytest.mark.parametrize("momentum", [1 / 4, 9 / 16, 49 / 64])  # squares of floats: double roots are met exactly
def test_momentum_in_whole_fractions(momentum):
    """All kinds of roots: double ones of either sign, real, complex and of zero sum, for little and for much learnt."""
    root = momentum**0.5
    doubles = [(1 - root) ** 2, (1 + root) ** 2]
    x = np.array([1e-12, 1e-3, *doubles, 0.98 * doubles[0], 1.02 * doubles[0], 1.0, 1 + momentum, 1.01 * doubles[1]])
    steps = np.array([1, 2, 3, 7, 30])
    found = spectral_filters.descent(steps, x, 1, 1.0, momentum) * x
    assert np.abs(spectral_filters.descent(np.array(0), x, 1, 1.0, momentum) * x).max() < 1e-15
    for j, step in enumerate(map(Fraction, x)):
        left, velocity, learnt = Fraction(1), Fraction(0), []
        for _ in range(31):
            learnt.append(float(1 - left))
            velocity = Fraction(momentum) * velocity + step * left
            left -= velocity
        np.testing.assert_allclose(found[:, j], np.array(learnt)[steps], rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("t", [np.inf, 1e14])
def test_rounding_of_a_kernel_that_lacks_rank_is_never_learnt(t, dtype):
    """Noisy labels of 20 points in 5 dimensions: at the end least squares is known, whatever the kernel's precision."""
    rng = np.random.default_rng(0)
    X, X_other, y = rng.normal(size=(20, 5)), rng.normal(size=(4, 5)), rng.normal(size=20)
    fit = np.linalg.lstsq(X, y)[0]
    found = linearised.predict(t, (X @ X.T).astype(dtype), y, (X_other @ X.T).astype(dtype))
    np.testing.assert_allclose(found.training, X @ fit, atol=1e-5)
    np.testing.assert_allclose(found.other, X_other @ fit, atol=1e-5)


def test_small_eigenvalues_that_float32_can_tell_are_learnt():
    K = np.diag([1.0, 1e-6]).astype(np.float32)
    np.testing.assert_allclose(linearised.predict(np.inf, K, [1.0, 1.0]), [1.0, 1.0], rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_matrix_with_a_negative_eigenvalue_is_no_kernel(dtype):
    swap = np.array([[0.0, 1.0], [1.0, 0.0]], dtype)
    with pytest.raises(ValueError, match=r"kernel must be positive semi-definite.*from -1 to 1"):
        linearised.predict(1.0, swap, [1.0, 0.0])
    x = np.linspace(-1.0, 1.0, 40, dtype=dtype)[:, None]
    rounded = x @ x.T  # of rank one: rounding makes eigenvalues just below zero, which are none
    assert np.linalg.eigvalsh(rounded.astype(np.float64))[0] < 0
    np.testing.assert_allclose(linearised.predict(np.inf, rounded, x[:, 0]), x[:, 0], atol=1e-5)
