"""Agreement of a network and its twin, on curves whose answer is known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.measure.agreement import linear_phase, relative_mse, split, split_mse

RNG = np.random.default_rng(0)


def test_relative_mse_is_a_quotient_of_means():
    f, g = RNG.normal(size=(2, 4, 5, 3))
    expected = [((a - b) ** 2).sum() / (b**2).sum() for a, b in zip(f, g, strict=True)]
    np.testing.assert_allclose(relative_mse(f, g), expected)
    np.testing.assert_allclose(relative_mse(f, g, scale=2.0), ((f - g) ** 2).mean(axis=(1, 2)) / 2)
    np.testing.assert_allclose(relative_mse(f[..., 0], g[..., 0]), relative_mse(f[..., :1], g[..., :1]))


@pytest.mark.parametrize("tiny", [0.0, 1e-200, -1e-300])
@pytest.mark.parametrize("scale", [1e-100, 1.0, -1.0, 1e200])
def test_outputs_of_very_different_sizes_are_measured_by_the_largest(tiny, scale):
    g = scale * np.array([[tiny, 1.0], [1.0, tiny]])
    np.testing.assert_allclose(relative_mse(1.5 * g, g), [0.25, 0.25])
    np.testing.assert_allclose(linear_phase([0, 1], 1.5 * g, g).gap, [0.25, 0.25])


def test_nothing_divided_by_nothing_is_no_error():
    f, g = np.zeros((3, 2)), np.zeros((3, 2))
    f[1] = 1e-9
    np.testing.assert_array_equal(relative_mse(f, g), [0, np.inf, 0])


@given(st.integers(1, 8), st.integers(1, 6), st.integers(1, 6))
def test_parts_are_orthogonal_projections(n, features, rank):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, features))
    values = rng.normal(size=(4, n, 2))
    linear, rest = split(values, X)
    np.testing.assert_allclose(linear + rest, values, atol=1e-12)
    np.testing.assert_allclose(np.einsum("ni,tnk->tik", X, rest), 0, atol=1e-9)
    fitted = np.stack([X @ np.linalg.lstsq(X, v, rcond=1e-12)[0] for v in values])
    np.testing.assert_allclose(linear, fitted, atol=1e-9)
    np.testing.assert_allclose(split(values[..., 0], X).linear, linear[..., 0], atol=1e-12)
    np.testing.assert_allclose(split(values[0, :, 0], X).linear, linear[0, :, 0], atol=1e-12)
    parts = split_mse(values, X)
    np.testing.assert_allclose(parts.linear + parts.rest, (values**2).mean(axis=(1, 2)), atol=1e-12)


def test_the_space_of_features_depends_neither_on_their_scale_nor_on_rounding():
    """Columns below rounding × the larger side × the largest count as none, as NumPy's rank has it."""
    rng = np.random.default_rng(0)
    X, values = rng.normal(size=(6, 2)) @ rng.normal(size=(2, 4)), rng.normal(size=(3, 6))
    for scale in (1e-200, 1e-9, 1e9, 1e200):
        np.testing.assert_allclose(split(values, scale * X).linear, split(values, X).linear, atol=1e-12)
    eps = np.finfo(float).eps
    tall = np.zeros((1000, 2))
    tall[0, 0], ones = 1.0, np.ones((1, 1000))
    for size, rank in ((100 * eps, 1), (2000 * eps, 2)):
        for sides in (1.0, 7.0, 1 / 7):
            tall[1, 1] = size
            np.testing.assert_allclose(split(ones, sides * tall).linear.sum(), rank)


def test_no_features_hold_nothing():
    linear, rest = split(np.ones((2, 3)), np.zeros((3, 2)))
    np.testing.assert_array_equal(linear, 0)
    np.testing.assert_array_equal(rest, 1)


def test_the_phase_ends_where_the_gap_crosses():
    """network − twin = s² on a twin of mean square 1: the gap is s⁴, so the end moves with threshold^{1/4}."""
    steps = np.linspace(0, 2, 4001)
    twin = np.ones((4001, 3))
    phase = linear_phase(steps, twin + steps[:, None] ** 2, twin, threshold=0.1)
    assert phase.end == pytest.approx(0.1**0.25, abs=1e-6)
    assert phase.at_half == pytest.approx(0.05**0.25, abs=1e-6)
    assert phase.at_double == pytest.approx(0.2**0.25, abs=1e-6)
    assert phase.sensitivity == pytest.approx(0.25, abs=1e-5)
    np.testing.assert_allclose(phase.gap, steps**4, atol=1e-12)
    scaled = linear_phase(steps, twin + steps[:, None] ** 2, twin, threshold=0.1, scale=4.0)
    assert scaled.end == pytest.approx(0.4**0.25, abs=1e-6)


def test_a_tiny_twin_does_not_end_the_phase():
    """Relative to the twin of the time the first gap would be 100 %; relative to the largest twin it is 10⁻⁴."""
    twin = np.array([[0.01], [0.5], [1.0], [1.0]])
    network = np.array([[0.02], [0.51], [1.01], [1.5]])
    assert relative_mse(network, twin)[0] == pytest.approx(1.0)
    assert 20 < linear_phase([0, 10, 20, 30], network, twin).end < 30


def test_a_gap_that_only_meets_the_threshold_has_not_left():
    """It rests at the threshold from step 1 to 2, and exceeds it from then on; at step 0 it may meet it too."""
    twin = np.ones((4, 1))
    network = twin + np.sqrt([[0.0], [0.25], [0.25], [1.0]])
    assert linear_phase([0, 1, 2, 3], network, twin, threshold=0.25).end == 2
    assert linear_phase([1, 2, 3], network[1:], twin[1:], threshold=0.25).end == 2
    assert linear_phase([0, 1], network[:2], twin[:2], threshold=0.25).end == np.inf
    assert linear_phase([5, 7, 11], network[1:], twin[1:], threshold=0.125, scale=0.5).end == 5


def test_a_phase_may_have_no_end_or_no_beginning():
    twin = np.ones((3, 2))
    phase = linear_phase([0, 1, 2], twin, twin)
    assert phase.end == phase.at_half == phase.at_double == np.inf
    assert np.isnan(phase.sensitivity)
    assert linear_phase([5, 6, 7], twin + 1, twin).end == 5
    for ends in ((0.0, 1.0), (1.0, np.inf)):  # one of the two is missing
        assert np.isnan(phase._replace(at_half=ends[0], at_double=ends[1]).sensitivity)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: relative_mse(np.ones((2, 3)), np.ones((2, 2))),
            r"twin must be of the shape \(2, 3\) of network; got \(2, 2\)",
        ),
        (lambda: relative_mse(np.ones(3), np.ones(3)), "network must be .time, example. or"),
        (lambda: relative_mse(np.full((2, 3), np.nan), np.ones((2, 3))), "must be finite"),
        (
            lambda: relative_mse(np.ones((2, 3)), np.ones((2, 3)), scale=0),
            "scale must be a finite number above 0; got 0",
        ),
        (lambda: split(np.ones((2, 3)), np.ones((2, 3))), "features"),
        (lambda: split(np.ones((2, 3)), np.full((3, 1), np.inf)), "must be finite"),
        (lambda: split(np.ones((2, 3, 1, 1)), np.ones((3, 1))), "values must be .time, example. or"),
        (lambda: split(np.ones((3, 2, 3)), np.ones((3, 1))), "of as many examples as features, 3; got shape"),
        (lambda: split(np.ones(2), np.ones((3, 1))), "of as many examples as features, 3; got shape"),
        (lambda: relative_mse(np.ones((2, 3, 1, 1)), np.ones((2, 3, 1, 1))), "network must be .time, example. or"),
        (lambda: linear_phase([0, 0], np.ones((2, 3)), np.ones((2, 3))), "steps must be rising"),
        (
            lambda: linear_phase([0, 1], np.ones((2, 3)), np.ones((2, 3)), threshold=-1),
            "threshold must be a finite number above 0; got -1",
        ),
        (
            lambda: linear_phase([0, 1], np.ones((2, 3)), np.zeros((2, 3))),
            "scale must be given where the twin's outputs are all zero; got none",
        ),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("scale", [1e-170, 1e170])
def test_agreement_does_not_depend_on_the_scale(scale):
    rng = np.random.default_rng(0)
    twin = rng.normal(size=(3, 4)) * [[1.0], [2.0], [3.0]]
    network = twin + np.array([[0.01], [0.2], [0.5]])
    expected = relative_mse(network, twin)
    np.testing.assert_allclose(relative_mse(scale * network, scale * twin), expected)
    phase, plain = (linear_phase([0, 1, 2], c * network, c * twin) for c in (scale, 1.0))
    np.testing.assert_allclose(phase.gap, plain.gap)
    np.testing.assert_allclose(phase.end, plain.end)


def test_a_twin_of_zeros_and_one_that_is_tiny():
    network, twin = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]), np.array([[0.0, 0.0], [0.0, 0.0], [1e-300, 0.0]])
    np.testing.assert_array_equal(relative_mse(network, twin), [np.inf, 0.0, np.inf])
