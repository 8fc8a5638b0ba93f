"""The counter-examples that the claims on errata give to check by hand, worked out as a reader would."""

import math

import numpy as np
import pytest

from lineament.claims.gissin import theorem_2, theorem_3


def test_theorem_2_has_an_incremental_start_above_its_upper_bound():
    def g(x):  # the integral of s^{−4/3}/(1 − s), term by term
        return sum(x ** (k - 1 / 3) / (k - 1 / 3) for k in range(200))

    depth, ratio, s, f = theorem_2.SIMPLE
    start = 1 / 25
    first = ratio ** (-4 / 3) * (g(f) - g(start / ratio))
    second = g(s) - g(start)
    assert first < second, "the larger value is learnt before the smaller one has begun"
    bound = s * ((ratio - 1) / (ratio - s)) ** (depth / (depth - 2))
    assert bound == pytest.approx((1 / 5) * (5 / 9) ** 3)
    assert start > bound
    told = " ".join(theorem_2._remarks(0.0416, bound))
    assert f"t = {first:.4f}" in told
    assert f"t = {second:.4f}" in told


def test_theorem_3_has_a_lower_bound_above_every_incremental_start():
    ratio, s, f, c = (theorem_3.SIMPLE[name] for name in ("ratio", "s", "f", "c"))
    A = math.log(1 - c + c**2) / math.log(1 - c / ratio - (c / ratio) ** 2 / 4)
    assert pytest.approx(math.log(3 / 4) / math.log(47 / 64)) == A
    assert A < 1
    base = (1 - f) / (2 * ratio * f) * s / (1 - s)
    assert base == pytest.approx(1 / 64)
    lower = 0.5 * s / (1 - s) * base ** (1 / (A - 1))
    assert lower > 9 * ratio * s > s, "no start above s is incremental, by Definition 1"


def test_appendix_c_has_equal_first_updates():
    step, start = 0.01, 0.01
    grown = []
    for target in (4.0, 1.0):
        w = start**0.5
        w = w + step / 2 * w * (target - start)
        grown.append((w**2 - start) / target)
    assert grown[0] == pytest.approx(1.0075e-4, rel=1e-4)
    assert grown[1] == pytest.approx(0.9925e-4, rel=1e-4)
    assert grown[0] / grown[1] == pytest.approx(1.015, rel=1e-3)


def test_appendix_f_has_a_bias_eight_times_too_fast():
    nodes, weights = np.polynomial.hermite_e.hermegauss(8)
    weights = weights / weights.sum()

    def loss(w, b, target=1.3, goal=-0.4):
        error = target * nodes**2 + goal - w**2 * nodes**2 - b
        return weights @ error**2 / 16

    w, b, small = 0.7, 0.5, 1e-6
    u = (1.3 - w**2) + (-0.4 - b)
    descent_b = -(loss(w, b + small) - loss(w, b - small)) / (2 * small)
    descent_w = -(loss(w + small, b) - loss(w - small, b)) / (2 * small)
    assert descent_b == pytest.approx(u / 8, rel=1e-6)
    assert 2 * w * descent_w == pytest.approx(w**2 * (1.3 - w**2 + u / 2), rel=1e-6)


def test_theorem_5_speaks_of_the_values_of_the_gram_matrix():
    w, target, small = 1.0, 2.0, 1e-6

    def loss(w):
        return (target**2 - w**2) ** 2 / 8  # Var x² = 2, over 16

    descent = -(loss(w + small) - loss(w - small)) / (2 * small)
    assert descent == pytest.approx(3 / 2, rel=1e-6)
    assert 2 * w * descent == pytest.approx(w**2 * (target**2 - w**2), rel=1e-6)  # w² follows the equation
    assert w * (target - w) == 1.0  # w does not


def test_the_corollary_lacks_a_square():
    w1, w2, beta, gamma = 2.0, 1.0, 2.0, 1.5
    assert w1 * w2 == beta
    assert w1**2 - w2**2 == 2 * gamma
    assert math.sqrt(math.sqrt(beta**2 + gamma**2) + gamma) == w1
    assert math.sqrt(math.sqrt(beta + gamma**2) + gamma) == pytest.approx(1.887, abs=1e-3)


@pytest.mark.parametrize(("p", "q"), [(1.0, 2.0), (-0.5, 3.0), (1.0, 0.0)])
def test_the_printed_determinant_is_zero(p, q):
    W1 = np.array([[p, q]])
    assert np.linalg.det(W1.T @ W1) == pytest.approx(0, abs=1e-12)
    assert np.linalg.det(W1 @ W1.T) == pytest.approx(p**2 + q**2)


def test_the_frobenius_norm_is_below_every_multiple_of_n_over_d():
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    u, v, both = nodes[:, None], nodes[None, :], np.outer(weights, weights) / weights.sum() ** 2

    def apart(rho):  # ρ E erf'(u) erf'(ρu + √(1 − ρ²)v), less ρ (E erf')²
        slopes = 4 / math.pi * np.exp(-(u**2) - (rho * u + math.sqrt(1 - rho**2) * v) ** 2)
        return rho * float(np.sum(both * slopes)) - 4 * rho / (3 * math.pi)

    for rho in (0.1, 0.5, 1.0):
        assert apart(rho) == pytest.approx(4 * rho / math.pi / math.sqrt(9 - 4 * rho**2) - 4 * rho / (3 * math.pi))
    assert apart(1.0) == pytest.approx(0.145, abs=5e-4)
    assert apart(0.05) == pytest.approx(0.0943 * 0.05**3, rel=5e-3)
    d = 1000
    signs = np.arange(-d, d + 1, 2) / d  # what ρ can be, with its chances
    log_chance = [
        math.lgamma(d + 1) - math.lgamma(k + 1) - math.lgamma(d - k + 1) - d * math.log(2) for k in range(d + 1)
    ]
    sixth = float(np.exp(log_chance) @ signs**6)
    assert sixth == pytest.approx(15 / d**3, rel=5e-3)
    n = d**3
    frobenius = math.sqrt(0.145**2 * n + 0.0943**2 * sixth * n**2)
    assert frobenius / (n / d) == pytest.approx(0.39 * d**-0.5, rel=0.01)


@pytest.mark.parametrize("w", [-2.0, 0.1, 3.0])
def test_white_inputs_do_not_make_shuffled_labels_easy(w):
    x = np.array([1.0, 1.0, -1.0, -1.0])
    assert np.mean(x) == 0
    assert np.mean(x**2) == 1
    assert np.mean(np.sign(w * x) == [1, -1, 1, -1]) == 0.5
    assert np.mean(np.sign(w * x) == [1, 1, -1, -1]) == (w > 0)
