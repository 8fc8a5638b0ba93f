"""Large steps on one mode: against descent itself, and closed at depth 2."""

import mpmath as mp
import numpy as np
import pytest

from lineament.theory import large_steps


def descend(ratio, depth, steps=4000, target=1.7, d=0.6, start=0.3):
    """Naive descent on all layers of a scalar chain, in its own units; the values of w/σ*^{1/N} at the last steps."""
    step = ratio * 2 / (depth * d * target ** (2 - 2 / depth))
    layers = np.full(depth, start)
    seen = []
    for k in range(steps):
        product = np.prod(layers)
        layers = layers - step * d * (product - target) * product / layers
        if not np.all(np.abs(layers) < 1e6):
            return None
        if k >= steps - 4:
            seen.append(layers[0] / target ** (1 / depth))
    return np.array(seen)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_below_the_largest_stable_step_descent_settles(depth):
    assert descend(0.97, depth) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize(("ratio", "depth"), [(1.02, 2), (1.2, 2), (1.02, 3), (1.1, 3), (1.05, 4)])
def test_just_beyond_it_ends_in_the_cycle_of_two(ratio, depth):
    assert ratio < large_steps.largest_cycle(depth)
    low, high = large_steps.two_cycle(ratio, depth)
    assert low < 1 < high
    assert np.sort(descend(ratio, depth)) == pytest.approx([low, low, high, high], rel=1e-6, abs=0)
    assert float(large_steps.advance(low, ratio, depth)) == pytest.approx(high, rel=1e-9, abs=0)
    assert float(large_steps.advance(high, ratio, depth)) == pytest.approx(low, rel=1e-9, abs=0)


@pytest.mark.parametrize("depth", [2, 3])
def test_beyond_the_last_stable_cycle_descent_no_longer_jumps_between_two(depth):
    ratio = 1.02 * large_steps.largest_cycle(depth)
    seen = descend(ratio, depth)
    assert abs(seen[3] - seen[1]) > 1e-3
    assert abs(large_steps.multiplier(ratio, depth)) > 1


def test_depth_two_is_closed():
    assert large_steps.largest_cycle(2) == pytest.approx(np.sqrt(5) - 1, abs=1e-9)
    for c in (1.001, 1.1, 1.2):
        assert large_steps.multiplier(c, 2) == pytest.approx(9 - 2 * (1 + c) ** 2, abs=1e-9)
        low, high = large_steps.two_cycle(c, 2)
        assert low * high == pytest.approx(1 / c)
        assert low**2 + high**2 == pytest.approx(1 + 1 / c)


def test_at_depth_two_twice_the_largest_stable_step_is_the_last():
    assert descend(1.98, 2, start=0.31) is not None
    assert descend(2.05, 2, start=0.31) is None


@pytest.mark.parametrize("beyond", [1e-8, 1e-6, 1e-4])
@pytest.mark.parametrize("depth", [2, 3, 5])
def test_the_cycle_opens_as_a_square_root(depth, beyond):
    gaps = [np.subtract(*large_steps.two_cycle(1 + e, depth)[::-1]) for e in (beyond, 4 * beyond)]
    assert 0 < gaps[0] < 10 * beyond**0.5
    assert gaps[1] / gaps[0] == pytest.approx(2.0, rel=0.01, abs=0)


@pytest.mark.parametrize("beyond", [1e-8, 1e-4, 0.1])
def test_at_depth_two_the_cycle_keeps_its_digits_however_near_it_is(beyond):
    with mp.workdps(40):
        c = mp.mpf(1 + beyond)
        root = mp.sqrt((1 + 1 / c) ** 2 - 4 / c**2)
        exact = [mp.sqrt((1 + 1 / c - root) / 2) - 1, mp.sqrt((1 + 1 / c + root) / 2) - 1]
        found = [
            float((mp.mpf(x) - 1) / distance - 1)
            for x, distance in zip(large_steps.two_cycle(1 + beyond, 2), exact, strict=True)
        ]
    assert np.abs(found).max() < 1e-15 / beyond
