"""The error bar of a forecast: from the forecast to the network carried along, and a little beyond."""

import numpy as np
import pytest

from lineament.linearisation import error_bar
from lineament.linearisation.safe import FORESEEN

LOOKS = np.array([1, 10, 100])


def test_at_the_looks_it_is_what_was_seen_and_before_the_first_it_begins_at_nothing():
    ratio = error_bar.ratio_at(np.array([0, 1, 10, 100]), LOOKS, np.array([2.0, 1.1, 0.6]), np.array([2.0, 1.0, 0.5]))
    np.testing.assert_allclose(ratio, [1.0, 1.0, 1.1, 1.2])


def test_between_looks_it_lies_between_and_after_the_last_it_grows_with_the_step():
    ratio = error_bar.ratio_at(np.array([30, 200, 300]), LOOKS, np.array([1.0, 1.1, 1.2]), np.ones(3))
    assert 1.1 < ratio[0] < 1.2
    np.testing.assert_allclose(ratio[1:], [1.2**2, 1.2**3])


def test_two_losses_that_fall_at_different_rates_part_as_is_foreseen():
    at = np.array([100, 500, 2000])
    fast, slow = np.exp(-0.002 * at), np.exp(-0.0015 * at)
    looks = np.exp(-0.002 * LOOKS), np.exp(-0.0015 * LOOKS)
    np.testing.assert_allclose(error_bar.ratio_at(at, LOOKS, *looks), fast / slow)


def test_without_looks_nothing_is_known_to_depart():
    np.testing.assert_array_equal(error_bar.ratio_at(np.array([0, 5]), np.zeros(0), np.zeros(0), np.zeros(0)), 1.0)


def test_a_network_that_was_lost_leaves_the_bar_open():
    ratio = error_bar.ratio_at(np.array([100, 200]), LOOKS, np.array([1.0, 1.0, np.nan]), np.ones(3))
    assert np.isinf(ratio).all()


def test_it_reaches_from_the_forecast_to_the_network_and_orders_of_batches_widen_it():
    low, high = error_bar.bounds(np.array([1.0, 1.0]), np.array([1.1, 0.9]))
    np.testing.assert_allclose(low, [1 - FORESEEN, 0.9 * (1 - FORESEEN)])
    np.testing.assert_allclose(high, [1.1 * (1 + FORESEEN), 1 + FORESEEN])
    wider = error_bar.bounds(np.array([1.0, 1.0]), np.array([1.1, 0.9]), np.array([0.8, 1.0]), np.array([1.0, 1.5]))
    assert wider[0][0] == pytest.approx(0.8 * low[0])
    assert wider[1][1] == pytest.approx(1.5 * high[1])
