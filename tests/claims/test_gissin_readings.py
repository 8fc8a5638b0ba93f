"""What the claims of Gissin et al. read off their runs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.claims.gissin import appendix_g_lemma, figure_3, readings

TIMES = np.linspace(0, 10, 101)


@given(st.floats(0.01, 0.99), st.floats(0.2, 3))
def test_a_crossing_is_found_between_records(level, rate):
    curve = -np.expm1(-rate * TIMES)
    expected = -np.log1p(-level) / rate
    if expected < TIMES[-1]:
        # the error of a straight line over a step h is at most h²|y''|/8 in y, and h²·rate/8 times e^{rate·h} in time
        assert readings.crossing(TIMES, curve, level) == pytest.approx(expected, abs=0.01 * rate / 8 * np.exp(0.3))


def test_a_crossing_at_the_start_or_never():
    assert readings.crossing(TIMES, np.ones(101), 0.5) == 0.0
    assert np.isnan(readings.crossing(TIMES, np.zeros(101), 0.5))
    assert readings.crossing([0, 1, 2], [0, 1, 0.2], 0.5) == 0.5  # the first of two


def test_overlaps_tell_phases_from_joint_learning():
    goals = np.array([4.0, 2.0, 1.0])
    together = goals * np.linspace(0, 1, 50)[:, None]
    np.testing.assert_allclose(readings.overlaps(together, goals), 0.5)
    np.testing.assert_allclose(readings.overlaps(together, goals, 0.75), 0.75)
    in_turn = goals * np.clip(np.linspace(0, 3, 301)[:, None] - np.arange(3), 0, 1)
    np.testing.assert_allclose(readings.overlaps(in_turn, goals, 0.99), 0.0, atol=1e-12)


def test_a_value_that_is_never_learnt_has_no_overlap():
    curves = np.stack([np.linspace(0, 1, 20), np.linspace(0, 0.1, 20), np.zeros(20)], axis=1)
    found = readings.overlaps(curves, [1.0, 1.0, 1.0])
    assert found[0] == pytest.approx(0.05)
    assert np.isnan(found[1])


def test_features_are_chosen_in_the_order_they_pass_the_threshold():
    weights = np.zeros((5, 6))
    weights[1:, 4] = 3.0
    weights[2:, 1] = -0.2  # in absolute value
    weights[2:, 3] = 0.5  # at the same record as feature 1, and larger
    weights[3, 0] = 0.11  # chosen even if it falls back
    weights[:, 2] = figure_3.CHOSEN  # not above
    assert figure_3.first_chosen(weights, 6).tolist() == [4, 3, 1, 0]
    assert figure_3.first_chosen(weights, 2).tolist() == [4, 3]


def test_a_run_that_diverged_keeps_what_it_had_chosen():
    weights = np.zeros((4, 3))
    weights[1, 2], weights[2:] = 1.0, np.nan
    assert figure_3.first_chosen(weights, 3).tolist() == [2]


def test_agreement_is_over_the_smaller_set():
    assert figure_3.agreement(np.array([1, 2, 3]), np.array([3, 2, 7])) == pytest.approx(2 / 3)
    assert figure_3.agreement(np.array([1]), np.array([3, 1, 7])) == 1.0
    assert np.isnan(figure_3.agreement(np.array([], int), np.array([1])))


def test_pursuit_finds_orthogonal_atoms_by_size():
    D = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    assert figure_3.pursued(D, D @ [0.0, 3.0, 0.0, -5.0, 1.0, 0.0], 2).tolist() == [1, 3]


@pytest.mark.parametrize(("length", "depth"), [(1, 3), (4, 1), (5, 3)])
def test_the_convolutional_network_is_the_double_sum_of_its_definition(length, depth):
    rng = np.random.default_rng(length)
    layers, x = rng.normal(size=(depth, length)), rng.normal(size=length)
    h = x
    for w in layers[:-1]:
        h = np.array([sum(w[k] * h[(i + k) % length] for k in range(length)) for i in range(length)])
    assert appendix_g_lemma.network(layers, x[None])[0] == pytest.approx(h @ layers[-1], rel=1e-12)


@pytest.mark.parametrize("count", [6, 10, 24, 101])
def test_the_median_lies_between_two_values_with_95_percent_and_between_no_nearer_two(count):
    low, high = readings.median_interval(np.random.default_rng(0).permutation(count))
    assert low + high == count - 1, "as many are left out below as above"

    def outside(left_out):
        """The probability that fewer than so many of the values lie on one side of the median, by counting."""
        return 2 * sum(math.comb(count, k) for k in range(left_out + 1)) / 2**count

    assert outside(int(low)) <= 0.05 < outside(int(low) + 1)


def test_too_few_values_leave_the_median_between_the_outermost():
    assert readings.median_interval([3.0, 1.0, 2.0]) == (1.0, 3.0)
