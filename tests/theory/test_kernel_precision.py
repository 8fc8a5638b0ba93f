"""Infinite kernels against the recursion in 60 digits: at every scale, for nearly equal and nearly opposite inputs."""

import mpmath as mp
import numpy as np
import pytest

from lineament.theory import kernels
from lineament.theory.activations import piecewise_linear
from lineament.theory.angles import between, lengths

BAR = 1e-13


def layer(slopes, p, q, c):
    """E[φφ] and E[φ′φ′] as printed: Williams (1997) without slopes, Cho & Saul (2009) with them."""
    if slopes is None:
        size = (1 + 2 * p) * (1 + 2 * q)
        return 2 / mp.pi * mp.asin(2 * c / mp.sqrt(size)), 4 / mp.pi / mp.sqrt(size - 4 * c**2)
    left, right = map(mp.mpf, slopes)
    size = mp.sqrt(p * q)
    theta = mp.acos(min(max(c / size, -1), 1))
    jump = (right - left) ** 2 / (2 * mp.pi)
    arc = size * (mp.sin(theta) + (mp.pi - theta) * mp.cos(theta))
    return left * right * c + jump * arc, left * right + jump * (mp.pi - theta)


def reference(slopes, x, y, depth):
    """NNGP, NTK and what they are on the diagonal, by the recursion of the module."""
    x, y = [mp.mpf(float(v)) for v in x], [mp.mpf(float(v)) for v in y]
    p, q, c = (mp.fdot(a, b) / len(a) for a, b in ((x, x), (y, y), (x, y)))
    ntk, ntk_x, ntk_y = c, p, q
    for _ in range(depth):
        value, slope = layer(slopes, p, q, c)
        value_x, slope_x = layer(slopes, p, p, p)
        value_y, slope_y = layer(slopes, q, q, q)
        ntk, ntk_x, ntk_y = value + slope * ntk, value_x + slope_x * ntk_x, value_y + slope_y * ntk_y
        p, q, c = value_x, value_y, value
    return c, ntk, mp.sqrt(p * q), mp.sqrt(ntk_x * ntk_y)


def pair(kind, rng):
    x = rng.normal(size=7)
    aside = rng.normal(size=7)
    return {
        "apart": (x, 0.3 * aside),
        "equal": (x, x),
        "nearly equal": (x, x + 1e-8 * aside),
        "nearly parallel": (x, 3.7 * (x + 1e-8 * aside)),
        "nearly opposite": (x, -x + 1e-8 * aside),
        "close": (x, x + 0.03 * aside),
        "orthogonal": (np.r_[x, 0 * x], np.r_[0 * x, aside]),
    }[kind]


KINDS = ["apart", "equal", "nearly equal", "nearly parallel", "nearly opposite", "close", "orthogonal"]
ACTIVATIONS = {"erf": None, "relu": (0.0, 1.0), "leaky": (0.2, 1.0), "linear": (1.0, 1.0), "absolute": (-1.0, 1.0)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_scale_and_angle(name, kind):
    slopes = ACTIVATIONS[name]
    activation = "erf" if slopes is None else piecewise_linear(*slopes)
    rng = np.random.default_rng(1)
    with mp.workdps(700):  # 1e-300 squared beside 1
        for scale in (1e-200, 1e-150, 1e-8, 1.0, 1e4, 1e7, 1e8, 1e16, 1e150, 1e300):
            if slopes is not None and scale > 1e150:
                continue  # a kernel of 1e600
            x, y = (scale * z for z in pair(kind, rng))
            for depth in (1, 3):
                nngp, ntk, size, ntk_size = reference(slopes, x, y, depth)
                made = kernels.infinite(x[None], y[None], activation=activation, hidden_layers=depth)
                for ours, exact, unit in ((made.nngp, nngp, size), (made.ntk, ntk, ntk_size)):
                    error = abs(mp.mpf(float(ours[0, 0])) - exact)
                    assert error <= BAR * unit + mp.mpf("1e-307"), (
                        scale,
                        depth,
                        float(ours[0, 0]),
                        mp.nstr(exact, 17),
                    )


def test_erf_on_both_sides_of_where_its_series_begins():
    x = np.full(3, 1.0)
    for scale in (3e-5, 9e-5, 1.1e-4):
        with mp.workdps(60):
            exact = [float(value) for value in reference(None, scale * x, scale * x, 2)[:2]]
        ours = kernels.infinite(scale * x[None], activation="erf", hidden_layers=2)
        np.testing.assert_allclose([ours.nngp[0, 0], ours.ntk[0, 0]], exact, rtol=BAR)


def test_relu_between_opposite_inputs_keeps_its_digits():
    """There K is (π − θ)³/6π of its size, and a difference of nearly equal numbers as printed."""
    x = np.random.default_rng(2).normal(size=9)
    for distance in (1e-3, 1e-5, 1e-7):
        y = -x + distance * np.random.default_rng(3).normal(size=9)
        with mp.workdps(60):
            exact = reference((0.0, 1.0), x, y, 1)[0]
        assert kernels.infinite(x[None], y[None], activation="relu", hidden_layers=1).nngp[0, 0] == pytest.approx(
            float(exact), rel=1e-11, abs=0
        )


def test_with_itself_and_with_a_copy():
    x = np.random.default_rng(4).normal(size=(5, 6)) * np.array([1e-100, 1e-3, 1, 1e6, 1e100])[:, None]
    for activation in ("erf", "relu"):
        alone = kernels.infinite(x, activation=activation, hidden_layers=2)
        copied = kernels.infinite(x, x.copy(), activation=activation, hidden_layers=2)
        np.testing.assert_allclose(alone.nngp, copied.nngp, rtol=1e-13)
        np.testing.assert_allclose(alone.ntk, copied.ntk, rtol=1e-13)
        np.testing.assert_array_equal(alone.ntk, alone.ntk.T)


@pytest.mark.parametrize("distance", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
def test_angles_of_nearly_parallel_rows(distance):
    rng = np.random.default_rng(5)
    x, aside = rng.normal(size=(2, 30))
    for y in (2.5 * x + distance * aside, -(1 + distance) * x + distance * aside):
        with mp.workdps(60):
            a, b = [mp.mpf(float(v)) for v in x], [mp.mpf(float(v)) for v in y]
            cosine = mp.fdot(a, b) / mp.sqrt(mp.fdot(a, a) * mp.fdot(b, b))
            theta = float(mp.acos(abs(cosine)))
        angles = between(x[None], y[None])
        short = angles.theta if cosine > 0 else angles.supplement
        assert short[0, 0] == pytest.approx(theta, rel=1e-13, abs=0)
        assert angles.theta + angles.supplement == pytest.approx(np.pi, rel=1e-15, abs=0)


@pytest.mark.parametrize("itself", [True, False])
def test_angles_of_many_rows_that_lie_close_together(itself):
    """One more product serves most of them; two rows are nearer to each other than that resolves."""
    rng = np.random.default_rng(6)
    x = 30 + rng.normal(size=(60, 20))
    x[1], x[2] = x[0] + 1e-7 * rng.normal(size=20), -x[0] + 1e-6 * rng.normal(size=20)
    theta = between(x, None if itself else x[::-1]).theta
    others = x if itself else x[::-1]
    for i, j in [(0, 1), (0, 2), (1, 0), (59, 58), (58, 59), (5, 17), (17, 5), (40, 3), (3, 40)]:
        with mp.workdps(60):
            a, b = ([mp.mpf(float(v)) for v in row] for row in (x[i], others[j]))
            exact = float(mp.acos(mp.fdot(a, b) / mp.sqrt(mp.fdot(a, a) * mp.fdot(b, b))))
        assert theta[i, j] == pytest.approx(exact, rel=2e-13, abs=0)


@pytest.mark.parametrize("opposite", [False, True])
@pytest.mark.parametrize("spread", [1e-7, 1e-4, 1e-2, 0.3])
def test_angles_of_rows_that_all_lie_as_close_to_each_other(spread, opposite):
    """However close: from distances of unit rows that are known to rounding, a small angle would have few digits."""
    rng = np.random.default_rng(9)
    x = 1 + spread * rng.normal(size=(50, 6))
    if opposite:  # two clusters: their middle is as far from every row as it can be
        x[::2] *= np.array([-1.0, -1.0, 1.0, 1.0, 1.0, 1.0])
    with mp.workdps(40):
        rows = [[mp.mpf(float(v)) for v in row] for row in x]
        units = [[v / mp.sqrt(mp.fdot(row, row)) for v in row] for row in rows]
        exact = np.zeros((50, 50))
        for i in range(50):
            for j in range(i):
                chord = mp.sqrt(mp.fsum((a - b) ** 2 for a, b in zip(units[i], units[j], strict=True)))
                exact[i, j] = exact[j, i] = 2 * mp.asin(chord / 2)
    np.testing.assert_allclose(between(x).theta, exact, rtol=2e-13, atol=0)
    np.testing.assert_allclose(between(x, x[::-1]).theta[:25, 25:], exact[:25, 24::-1], rtol=2e-13, atol=1e-300)
    np.testing.assert_allclose(between(x, -x[:7]).supplement[9:], exact[9:, :7], rtol=2e-13, atol=0)


def test_lengths_at_the_ends_of_the_floats():
    for scale in (1e-320, 1e-300, 1.0, 1e300):
        assert lengths(np.array([[3 * scale, 4 * scale]]))[0] == pytest.approx(
            np.sqrt(12.5) * scale, rel=1e-15 + 1e-320 / scale, abs=0
        )
    assert lengths(np.zeros((1, 3)))[0] == 0


def test_a_kernel_that_no_float_holds_is_refused():
    with pytest.raises(ValueError, match="x must be inputs whose kernel a float can hold"):
        kernels.infinite([[1e200]], activation="relu", hidden_layers=1)


def test_a_row_of_zeros_is_at_a_right_angle_to_all_and_to_itself():
    x = np.array([[0.0, 0.0], [1.0, 2.0]])
    for angles in (between(x), between(x, x[:1]), between(x[:1], x)):
        zero = angles.theta[0] if angles.theta.shape[0] == 1 else angles.theta[:, 0]
        np.testing.assert_allclose(zero, np.pi / 2, rtol=1e-15)
    assert between(x).theta[1, 1] == 0


@pytest.mark.parametrize("scales", [(1e200, 1.0), (1.0, 1e200), (1e-200, 1e200), (1e80, 1e-80)])
def test_erf_of_inputs_of_very_different_sizes(scales):
    rng = np.random.default_rng(8)
    x, y = (scale * row for scale, row in zip(scales, rng.normal(size=(2, 5)), strict=True))
    with mp.workdps(900):
        nngp, ntk, size, ntk_size = reference(None, x, y, 2)
        made = kernels.infinite(x[None], y[None], activation="erf", hidden_layers=2)
        for ours, exact, unit in ((made.nngp, nngp, size), (made.ntk, ntk, ntk_size)):
            assert abs(mp.mpf(float(ours[0, 0])) - exact) <= BAR * unit
