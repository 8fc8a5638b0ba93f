"""Jumps of paths that are made to jump when they do, and shares along a direction against their definition."""

import numpy as np
import pytest

from lineament.measure.jumps import jump_times, share_along

TIMES = np.array([0.0, 1.0, 2.5, 3.0, 4.5, 6.0, 7.0])
POINTS = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 2.0]])


@pytest.mark.parametrize(
    ("rests", "jumps"),
    [
        ([0, 0, 1, 1, 1, 2, 2], [2.5, 6.0]),
        ([0, 1, 1, 1, 1, 1, 2], [1.0, 7.0]),
        ([1, 1, 2, 2, 2, 2, 2], [0.0, 2.5]),  # it was never at the first point
        ([0, 0, 0, 1, 1, 1, 1], [3.0, np.inf]),
        ([0, 0, 0, 0, 0, 0, 0], [np.inf, np.inf]),
        ([0, 1, 0, 1, 1, 2, 2], [3.0, 6.0]),  # the last departure counts
        ([0, 2, 0, 1, 1, 2, 2], [3.0, 6.0]),  # a later point passed on the way does not
        ([0, 0, 1, 1, 2, 2, 1], [2.5, np.inf]),  # it has gone back
        ([0, 1, 1, 0, 0, 0, 0], [np.inf, np.inf]),
    ],
)
def test_paths_that_rest(rests, jumps):
    near = 0.01 * np.sin(np.arange(14.0)).reshape(7, 2)
    np.testing.assert_array_equal(jump_times(TIMES, POINTS[rests] + near, POINTS), jumps)


def test_half_way_is_not_there_yet():
    path = [[0.0], [0.5], [0.51]]
    np.testing.assert_array_equal(jump_times([0.0, 1.0, 2.0], path, [[0.0], [1.0]]), [2.0])


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_shares_by_their_definition_at_every_scale(scale):
    W, b = np.random.default_rng(0).normal(size=(4, 3, 2)), np.array([3.0, -4.0])
    expected = [np.linalg.norm(M @ b / 5) ** 2 / np.linalg.norm(M) ** 2 for M in W]
    np.testing.assert_allclose(share_along(scale * W, b), expected, rtol=1e-13)
    np.testing.assert_allclose(share_along(W, b) + share_along(W, [4.0, 3.0]), 1)
    assert share_along(np.zeros((3, 2)), b) == 0


def test_shares_of_all_signs_and_along_short_directions():
    """Entries that are zero or all negative are scaled like others, and a direction of any length is one."""
    W = np.array([[0.0, -2.0, -1.0], [-3.0, 0.0, -1.0]])
    for scale in (1e-200, 1.0, 1e200):
        for b in ([0.0, 0.001, 0.0], [0.0, 1.0, 0.0], [0.0, -500.0, 0.0]):
            np.testing.assert_allclose(share_along(scale * W, b), 4 / 15, rtol=1e-13)
    np.testing.assert_allclose(share_along([W, 0 * W], [1.0, 0.0, 0.0]), [9 / 15, 0])
    assert share_along([[0.5]], [1.0]) == 1


def naive_jumps(times, path, points):
    """From the last pair back: the first record after the last one that is not nearer to the next point."""
    found, end = [np.inf] * (len(points) - 1), len(times)
    for p in reversed(range(len(points) - 1)):
        nearer = [np.linalg.norm(x - points[p + 1]) < np.linalg.norm(x - points[p]) for x in path[:end]]
        left = next((i + 1 for i in reversed(range(end)) if not nearer[i]), 0)
        if any(nearer) and left < len(times):
            found[p], end = times[left], left
    return found


@pytest.mark.parametrize("seed", range(20))
def test_random_walks_against_the_definition(seed):
    rng = np.random.default_rng(seed)
    times, points = np.cumsum(rng.uniform(0.1, 1, 9)), rng.normal(size=(4, 2))
    path = np.cumsum(rng.normal(size=(9, 2)), axis=0)
    np.testing.assert_array_equal(jump_times(times, path, points), naive_jumps(times, path, points))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: jump_times(TIMES, POINTS, POINTS), "path must be of 7 rows"),
        (lambda: jump_times([0.0, 1.0], POINTS[:2], POINTS[:1]), "points must be at least two of 2 coordinates"),
        (lambda: jump_times([0.0, 1.0], POINTS[:2], np.ones((2, 3))), "points must be at least two of 2 coordinates"),
        (lambda: share_along(np.eye(2), [0.0, 0.0]), "direction must be a vector other than zero"),
    ],
)
def test_bad_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_jumps_do_not_depend_on_the_scale(scale):
    path, points = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])
    assert jump_times([0, 1, 2, 3], scale * path, scale * points).tolist() == [2.0]


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize(
    ("path", "points", "jumps"),
    [
        ([0.0, 1e200, 0.0, 1.0, 1.0], [0.0, 1.0], [3.0]),  # an excursion far beyond the points
        ([1.0, 2.0, 1.0, 2.0, 1.0], [1.0, 1e200], [np.inf]),  # it never leaves for a point that is far away
        ([1.0, 1.0, 1e200, 1e200, 1e200], [1.0, 1e200], [2.0]),
        ([1e200, 1e200, 1e200, 1.0, 1.0], [1e200, 1.0], [3.0]),
    ],
)
def test_one_coordinate_far_beyond_the_others_overflows_nowhere(path, points, jumps, sign):
    with np.errstate(over="raise"):
        found = jump_times(np.arange(5.0), sign * np.array(path)[:, None], sign * np.array(points)[:, None])
    np.testing.assert_array_equal(found, jumps)


def test_a_path_that_rests_at_zero_has_a_scale():
    np.testing.assert_array_equal(jump_times([0.0, 1.0], np.zeros((2, 1)), np.zeros((2, 1))), [np.inf])
