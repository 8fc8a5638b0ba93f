"""Exercise 5 and its like at other depths, against integration of Theorem 3 and of the layers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from lineament.theory.constant_alignment import escape_time, log_ratio, trajectory
from lineament.theory.layers import balanced, product

depths = st.integers(1, 6)
starts = st.floats(-4, 0.5).map(lambda e: 10.0**e)
alignments = st.floats(-2, 2)


def integrated(t, c, s0, n):
    """Theorem 3 with its inner product fixed at c, in the signed value itself."""
    run = solve_ivp(lambda _, s: n * (s**2) ** (1 - 1 / n) * c, (0, t), [s0], "DOP853", rtol=1e-11, atol=1e-13 * s0)
    return run.y[0, -1]


@given(depths, starts, alignments, st.floats(0, 0.9))
def test_closed_form_solves_theorem_3(n, s0, c, share):
    t = share * min(float(escape_time(c, s0, n)), 3.0)
    assert trajectory(t, c, s0, n) == pytest.approx(integrated(t, c, s0, n), rel=1e-7, abs=1e-11)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_layers_on_a_linear_loss_follow_it(n):
    rng = np.random.default_rng(n)
    U, V = (np.linalg.qr(rng.normal(size=(d, 3)))[0] for d in (4, 3))
    c, s0 = np.array([1.0, 0.4, -0.6]), 0.3
    C, widths = (U * c) @ V.T, (3, *[3] * (n - 1), 4)
    layers = balanced(s0 * U @ V.T, widths)
    cuts = np.cumsum([W.size for W in layers])[:-1]

    def velocity(_, y):
        Ws = [part.reshape(W.shape) for part, W in zip(np.split(y, cuts), layers, strict=True)]
        out = []
        for j in range(n):
            above = product(Ws[j + 1 :]) if j + 1 < n else np.eye(4)
            below = product(Ws[:j]) if j else np.eye(3)
            out.append((above.T @ C @ below.T).ravel())
        return np.concatenate(out)

    t = 0.5 if n <= 2 else 0.5 * float(escape_time(1.0, s0, n))
    y = solve_ivp(velocity, (0, t), np.concatenate([W.ravel() for W in layers]), rtol=1e-11, atol=1e-13).y[:, -1]
    W = product([part.reshape(X.shape) for part, X in zip(np.split(y, cuts), layers, strict=True)])
    assert np.allclose(np.diag(U.T @ W @ V), trajectory(t, c, s0, n), rtol=1e-7)


@given(starts, alignments, alignments, st.floats(0, 5))
def test_ratio_is_exponential_at_two_layers(s0, c, other, t):
    assert log_ratio(t, c, other, s0, 2) == pytest.approx(2 * (c - other) * t, abs=1e-12)


@given(st.integers(3, 6), starts, alignments, alignments, st.floats(0, 0.9))
def test_ratio_is_that_of_the_values(n, s0, c, other, share):
    t = share * min(float(escape_time(c, s0, n)), float(escape_time(other, s0, n)), 10.0)
    ratio = trajectory(t, c, s0, n) / trajectory(t, other, s0, n)
    assert np.exp(log_ratio(t, c, other, s0, n)) == pytest.approx(ratio, rel=1e-10, abs=0)


def test_deeper_ratios_explode_or_saturate():
    rising = log_ratio((1 - 10.0 ** -np.arange(1, 9)) * escape_time(1.0, 0.1, 3), 1.0, 0.9, 0.1, 3)
    # 1 − t/t_e falls tenfold each time, the ratio gains 10^{n/(n−2)} = 10³
    assert np.allclose(np.diff(rising)[4:], 3 * np.log(10), rtol=1e-3)
    assert log_ratio(1e9, -0.5, -1.0, 0.1, 3) == pytest.approx(3 * np.log(2), rel=1e-6, abs=0)
    assert log_ratio(1e9, -0.5, -1.0, 0.1, 4) == pytest.approx(2 * np.log(2), rel=1e-6, abs=0)


def test_limits():
    assert trajectory(0.0, 1.3, 0.2, 4) == pytest.approx(0.2, rel=1e-15, abs=0)
    assert trajectory(7.0, 0.0, 0.2, 5) == pytest.approx(0.2, rel=1e-15, abs=0)
    assert trajectory(1.0, -1.0, 0.25, 1) == pytest.approx(-0.75)  # one layer: the value changes sign
    assert escape_time(1.0, 0.5, 2) == np.inf
    assert escape_time(-1.0, 0.5, 3) == np.inf
    assert escape_time(1.0, 0.125, 3) == pytest.approx(2.0)


def test_refusals():
    with pytest.raises(ValueError, match=r"infinity, at t = 2; got 2.5"):
        trajectory(2.5, 1.0, 0.125, 3)
    with pytest.raises(ValueError, match="start must be a finite number above 0; got 0"):
        trajectory(1.0, 1.0, 0.0, 2)
    with pytest.raises(ValueError, match="times must be a finite number of at least 0; got -1"):
        trajectory(-1.0, 1.0, 0.1, 2)
    with pytest.raises(ValueError, match="alignment must be a finite number; got nan"):
        trajectory(1.0, np.nan, 0.1, 2)
    with pytest.raises(ValueError, match="depth must be a whole number"):
        trajectory(1.0, 1.0, 0.1, 2.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="depth must be at least 2"):
        log_ratio(1.0, 1.0, 0.5, 0.1, 1)


def test_the_first_of_several_escapes_and_the_last_of_several_times_are_told():
    first = float(escape_time(2.0, 0.5, 3))
    with pytest.raises(ValueError, match=f"at t = {first:.6g}; got {2 * first:.6g}$"):
        trajectory([0.0, 2 * first, first], [[0.5], [2.0], [1.0]], 0.5, 3)


def test_a_value_at_or_past_its_escape_is_refused_among_others_too():
    escape = float(escape_time(2.0, 0.5, 3))
    for alignment in (2.0, [0.1, 2.0], [2.0, -1.0]):
        with pytest.raises(ValueError, match="must lie before a value escapes"):
            trajectory(escape, alignment, 0.5, 3)
        with pytest.raises(ValueError, match="must lie before a value escapes"):
            trajectory(2 * escape, alignment, 0.5, 3)
        assert np.all(np.isfinite(trajectory(escape * (1 - 1e-9), alignment, 0.5, 3)))
