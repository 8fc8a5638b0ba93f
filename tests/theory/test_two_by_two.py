"""Proposition 5 and Exercise 4: the norm bound over random maps, along flows, and in its exponent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.theory import two_by_two as t
from lineament.theory.singular_flow import singular_flow

seeds = st.integers(0, 2**32 - 1)
signs = st.sampled_from([1, -1])
NORMS = ["spectral", "frobenius", "nuclear"]
OTHERS = {
    "largest entry": lambda W: np.abs(W).max(),
    "entries": lambda W: np.abs(W).sum(),
    "weighted": lambda W: np.linalg.norm(W * (1 + np.arange(W.size).reshape(W.shape))),
}


def maps(rng, d, sign, count=200):
    """Maps of the required determinant: anywhere, and near the observed values, where the bound is tight."""
    observed, values = t.completion(d, sign)
    W = rng.normal(size=(count, d, d)) * 10 ** rng.uniform(-1, 1, size=(count, 1, 1))
    near = values + np.where(observed, rng.normal(size=W.shape) * 10 ** rng.uniform(-4, 0, size=(count, 1, 1)), 0)
    # det is affine in the corner: choose it just beyond its zero.
    base, slope = np.linalg.det(near), np.linalg.det(near[:, 1:, 1:])
    near[:, 0, 0] = -base / slope + sign * np.sign(slope) * np.abs(base / slope) * 10 ** rng.uniform(-3, 0, size=count)
    both = np.concatenate([W, near])
    return both[np.linalg.det(both) * sign > 0]


@given(st.integers(2, 5), signs, seeds)
def test_every_map_of_the_right_determinant_obeys_the_bound(d, sign, seed):
    W = maps(np.random.default_rng(seed), d, sign)
    loss = t.loss(W, sign)
    assert len(W) > 100
    assert np.all(np.abs(W[:, 0, 0]) >= t.least_corner(loss, d) * (1 - 1e-9))
    for norm in [*NORMS, *OTHERS.values()]:
        bound = t.norm_bound(W[0], loss, norm, sign)
        assert np.all(t.size(W, norm) >= bound - 1e-9 * np.abs(bound))


@pytest.mark.parametrize("d", [2, 3, 4])
def test_the_bound_is_tight(d):
    """w₂₂ = e and a corner just above 1/e: ‖W‖ √ℓ tends to c for every norm, so the log-log slope is −½."""
    c, _ = t.constants(d)
    W = np.repeat(t.completion(d).values[None], 4, axis=0)
    e = np.array([1e-2, 1e-3, 1e-4, 1e-5])
    W[:, 1, 1], W[:, 0, 0] = e, (1 + 1e-6) / e
    assert np.all(np.linalg.det(W) > 0)
    loss = t.loss(W)
    for norm in NORMS:
        size = t.size(W, norm)
        assert size[-1] * np.sqrt(loss[-1]) == pytest.approx(c, rel=1e-4, abs=0)
        assert np.polyfit(np.log(loss[-2:]), np.log(size[-2:]), 1)[0] == pytest.approx(-0.5, abs=2e-3)


def test_loss_and_constants_as_printed():
    W = np.array([[5.0, 0.7], [1.2, 0.1]])
    assert t.loss(W) == pytest.approx((0.3**2 + 0.2**2 + 0.1**2) / 6)  # equation (15)
    c, offset = t.constants(2)
    assert c == pytest.approx(1 / np.sqrt(6))
    for printed in (1 / (2 * np.sqrt(6)), 1 / np.sqrt(6)):  # what the notes state, and what their proof gives
        assert printed <= c + 1e-15
    assert offset >= -2 * 4  # theirs, for norms with ‖e_ie_jᵀ‖ = 1
    assert np.array_equal(t.completion(3).values, [[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    assert np.array_equal(t.completion(2, -1).values, [[0, 1], [-1, 0]])
    assert not t.completion(3).observed[0, 0]
    assert t.completion(3).observed.sum() == 8


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("d", "n"), [(2, 2), (2, 3), (2, 4), (3, 2), (3, 3)])
def test_along_flows(d, n, sign):
    """From a start of the right sign the bound holds all the way, and norms grow as ℓ^{−1/2} as the loss vanishes."""
    rng = np.random.default_rng(d + n)
    observed, values = t.completion(d, sign)
    start = 0.5 * np.diag(np.linspace(1, 1.3, d)) + 0.05 * rng.normal(size=(d, d))
    start[0] *= sign
    m = observed.size - 1
    times = m * np.concatenate([np.linspace(0, 10, 20), np.linspace(30, 150, 5)])
    flow = singular_flow(times, start, lambda X: np.where(observed, X - values, 0) / m, n, rtol=1e-8)
    loss = t.loss(flow.W, sign)
    assert np.all(flow.sign_and_log_det[0] == sign)
    assert loss[-1] < 1e-2 * loss[0]
    for norm in NORMS:
        size = t.size(flow.W, norm)
        assert np.all(size >= t.norm_bound(start, loss, norm, sign))
        if norm != "nuclear" or d == 2:  # further singular values, near 1, delay the nuclear norm
            assert np.polyfit(np.log(loss[-3:]), np.log(size[-3:]), 1)[0] == pytest.approx(-0.5, abs=0.05)


def test_starts_of_the_wrong_determinant_are_refused():
    with pytest.raises(ValueError, match=r"start must be of a positive determinant \(Proposition 5\); got -1$"):
        t.norm_bound(np.diag([1.0, -1.0]), 0.1)
    with pytest.raises(ValueError, match=r"start must be of a positive determinant \(Proposition 5\); got 0$"):
        t.norm_bound(np.zeros((2, 2)), 0.1)
    with pytest.raises(ValueError, match="negative determinant"):
        t.norm_bound(np.eye(2), 0.1, determinant=-1)
    # And rightly: the completion with corner 0 has loss 0 and finite norm.
    W = t.completion(2).values + 1e-6
    assert np.linalg.det(W) < 0
    assert t.size(W, "frobenius") < t.norm_bound(np.eye(2), t.loss(W))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: t.completion(1), "dimension must be a whole number of at least 2 and at most 10000; got 1"),
        (lambda: t.completion(2, 0), "determinant must be 1 or −1, the sign of the start's; got 0"),  # type: ignore[arg-type]
        (lambda: t.loss(np.ones((2, 3))), "W must be square"),
        (lambda: t.least_corner(0.0), "loss must be"),
        (lambda: t.norm_bound(np.eye(2), [0.1, -1.0]), "loss must be"),
        (lambda: t.norm_bound(np.ones((2, 3)), 0.1), r"start must be square; got shape \(2, 3\)"),
        (lambda: t.size(np.eye(2), "max"), "norm must be one of 'spectral', 'frobenius', 'nuclear' or a function"),  # type: ignore[arg-type]
    ],
)
def test_wrong_use(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_the_least_corner_is_attained(dimension):
    """Observed residual e at (2, 2) alone: the determinant is positive for w₁₁ above 1/e, within e of the bound."""
    for e in (0.01, 0.3, 0.9):
        ell = e**2 / (2 * (dimension**2 - 1))
        assert t.least_corner(ell, dimension) == pytest.approx(1 / e - e, rel=1e-12, abs=0)
        W = t.completion(dimension).values.copy()
        W[1, 1], W[0, 0] = e, (1 + 1e-9) / e
        assert t.loss(W) == pytest.approx(ell)
        assert np.linalg.det(W) > 0
        assert 1 / e - e <= W[0, 0] <= t.least_corner(ell, dimension) + e + 1e-6
    assert t.least_corner(1.0, dimension) == 0.0


def test_constants_refuse_an_unknown_norm():
    with pytest.raises(ValueError, match="norm must be one of"):
        t.constants(2, "taxicab")  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_the_sign_of_a_determinant_that_does_not_fit_float64_is_known(scale):
    assert t.norm_bound(scale * np.eye(150), 0.1) == t.norm_bound(np.eye(150), 0.1)
    with pytest.raises(ValueError, match=r"start must be of a negative determinant .*; got 1·exp\(-?1036.16\)"):
        t.norm_bound(scale * np.eye(150), 0.1, determinant=-1)


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_constants_of_any_norm_transcribed(dimension):
    """c = ‖e₁e₁ᵀ‖/√(2m) and −c′ = ‖e₁e₁ᵀ‖ + ‖values‖ + (Σ ‖e_ie_jᵀ‖²)^½, by loops over the observed entries."""
    weights = np.random.default_rng(dimension).uniform(0.5, 2, size=(dimension, dimension))
    norm = lambda W: np.abs(weights * W).sum()  # noqa: E731
    values = np.eye(dimension)
    values[:2, :2] = [[0, 1], [1, 0]]
    squares = 0.0
    for i in range(dimension):
        for j in range(dimension):
            unit = np.zeros((dimension, dimension))
            unit[i, j] = 1.0
            if (i, j) == (0, 0):
                corner = norm(unit)
            else:
                squares += norm(unit) ** 2
    expected = corner / np.sqrt(2 * (dimension**2 - 1)), -(corner + norm(values) + np.sqrt(squares))
    assert t.constants(dimension, norm) == pytest.approx(expected, rel=1e-13, abs=0)
