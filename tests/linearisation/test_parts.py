"""Small parts of a linearised forecast, each against its definition."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import softmax

from lineament.linearisation import batches, error_bar, learnt, losses, path, renewed, safe

RNG = np.random.default_rng(0)


def test_losses_slopes_and_accuracies_by_their_formulas():
    f, y = RNG.normal(size=(4, 5, 3)), np.eye(3)[RNG.integers(3, size=5)]
    square = [[sum((f[s, i, a] - y[i, a]) ** 2 for a in range(3)) / 2 for i in range(5)] for s in range(4)]
    entropy = [[-np.log(softmax(f[s, i])[np.argmax(y[i])]) for i in range(5)] for s in range(4)]
    for loss, naive in (("square", square), ("cross-entropy", entropy)):
        np.testing.assert_allclose(losses.each(loss, f, y), naive, rtol=1e-12)
        np.testing.assert_allclose(losses.mean(loss, f, y), np.mean(naive, axis=1), rtol=1e-12)
        moved = f.copy()
        moved[2, 1, 0] += 1e-6
        slope = (losses.each(loss, moved, y)[2, 1] - losses.each(loss, f, y)[2, 1]) / 1e-6
        np.testing.assert_allclose(losses.slope(loss, f, y)[2, 1, 0], slope, atol=1e-5)
    right = [[np.argmax(f[s, i]) == np.argmax(y[i]) for i in range(5)] for s in range(4)]
    np.testing.assert_allclose(losses.accuracy(f, y), np.mean(right, axis=1))


@pytest.mark.parametrize(("n", "size", "steps"), [(7, 3, 5), (6, 3, 4), (4, 4, 3), (5, 1, 11), (5, 2, 1)])
def test_batches_take_every_example_once_an_epoch_and_leave_the_odd_rest_out(n, size, steps):
    drawn = batches.draw(n, size, steps, seed=3)
    assert drawn.shape == (steps, 8, size)
    each = n // size
    for run in range(8):
        for begin in range(0, steps, each):
            epoch = drawn[begin : begin + each, run].ravel()
            assert len(set(epoch.tolist())) == len(epoch)
            assert set(epoch.tolist()) <= set(range(n))
    assert len({drawn[:, run].tobytes() for run in range(8)}) > 1 or n == size
    np.testing.assert_array_equal(batches.draw(n, size, steps, seed=3), drawn)


def test_a_departure_is_the_larger_of_two_shares():
    loss, forecast = np.array([1.1, 2.0, 3.0, np.nan, 0.0]), np.array([1.0, 2.0, 4.0, 1.0, 0.0])
    nothing = np.zeros(0)
    np.testing.assert_allclose(safe.departure(loss, forecast, nothing, nothing), [0.1, 0, 0.25, np.inf, np.inf])
    test, test_forecast = np.array([1.0, 1.0, 9.0, 1.0, 1.0]), np.array([1.0, 2.0, 10.0, 1.0, 1.0])
    np.testing.assert_allclose(safe.departure(loss, forecast, test, test_forecast), [0.1, 0.5, 0.25, np.inf, np.inf])


def test_the_first_departure_at_its_edges():
    steps = np.array([0, 4, 16])
    assert safe.first_departure(steps, np.array([0.2, 0.3, 0.4]), 0.1) == 0
    assert safe.first_departure(steps, np.array([0.0, 0.1, 0.1]), 0.1) == np.inf, "it must be exceeded"
    assert safe.first_departure(steps, np.array([0.0, 0.1, 0.3]), 0.1) == pytest.approx(4)
    assert safe.first_departure(steps, np.array([0.0, 0.1, 0.3]), 0.2) == pytest.approx(8)
    assert safe.first_departure(steps, np.array([0.0, 0.2, 0.3]), 0.1) == pytest.approx(2), "steps begin at 1"
    assert safe.first_departure(steps, np.array([np.inf, 0.2, 0.3]), 0.1) == 0
    assert safe.first_departure(steps, np.array([0.0, 0.05, np.inf]), 0.1) == 4


def test_what_the_curvature_holds_back_is_the_second_derivative():
    f, u = RNG.normal(size=(2, 4, 3))
    np.testing.assert_array_equal(safe._held("square", f, u), u)
    for i in range(4):
        p = softmax(f[i])
        np.testing.assert_allclose(safe._held("cross-entropy", f, u)[i], (np.diag(p) - np.outer(p, p)) @ u[i])


def test_a_loss_that_is_forecast_to_vanish_is_no_departure():
    looks = np.array([1, 10])
    ratio = error_bar.ratio_at(np.array([5, 10, 20]), looks, np.array([1.0, 0.5]), np.array([1.0, 0.0]))
    np.testing.assert_array_equal(ratio, 1)
    less = error_bar.ratio_at(np.array([3, 10, 20, 30]), looks, np.array([1.0, 0.5]), np.array([1.0, 1.0]))
    share = (np.log(4) - np.log(2)) / (np.log(11) - np.log(2))
    np.testing.assert_allclose(less, [1 - 0.5 * share, 0.5, 0.25, 0.125])
    below = error_bar.ratio_at(np.array([20]), looks, np.array([1.0, -1.0]), np.array([1.0, 1.0]))
    np.testing.assert_array_equal(below, 0)


def test_a_number_is_right_within_half_of_the_typical_error_at_the_start():
    y = np.zeros((2, 2))
    outputs = np.array([[[3.0, 4.0], [0.0, 5.0]], [[0.0, 2.5], [0.0, 2.51]], [[1.5, 2.0], [np.inf, 0.0]]])
    np.testing.assert_array_equal(learnt.right(outputs, y, False), [[False, False], [True, False], [True, False]])
    classes = learnt.right(np.array([[[1.0, 2.0], [2.0, 1.0]]]), np.array([[0.0, 1.0], [0.0, 1.0]]), True)
    np.testing.assert_array_equal(classes, [[True, False]])


def test_learnt_from_the_first_step_after_which_all_answers_are_right():
    at = np.array([0, 2, 7, 9])
    is_right = np.array([[1, 1, 0, 0, 1], [1, 0, 1, 0, 1], [1, 1, 1, 0, 1], [1, 1, 1, 1, 0]], dtype=bool)
    np.testing.assert_array_equal(learnt.learnt_at(at, is_right), [0, 7, 2, 9, np.inf])


# ---------------------------------------------------------------------------------------------------------
# How far apart looks at a network are


def looked(monkeypatch, steps, missed=lambda step, stride: 0.0, off=lambda step: 0.0, test=None, progress=None):
    """Looks at a network that is as far off, and as well foreseen, as it is told to be."""

    class Walk:
        def __init__(self, network, solution, X, y):
            self.step = 0

        def look(self, stride):
            step = self.step + stride
            return SimpleNamespace(step=step, missed=missed(step, stride), loss=2.0 * (1 + off(step)), forecast=2.0)

        def accept(self, found):
            self.step = found.step

    monkeypatch.setattr(safe, "_Walk", Walk)
    if test is not None:
        monkeypatch.setattr(safe, "_test", lambda *given: np.array([3.0 * (1 + test(given[2].step)), 3.0]))
    return safe.safety(None, None, None, None, None, None if test is None else np.ones(1), steps, progress)


def test_looks_are_at_most_half_of_the_way_so_far_apart(monkeypatch):
    told = []
    found = looked(monkeypatch, 100, progress=told.append)
    assert found.steps.tolist() == [1, 2, 3, 4, 6, 9, 13, 19, 28, 42, 63, 94, 100]
    assert (found.step, found.finished) == (np.inf, True)
    np.testing.assert_array_equal(found.departure, 0)
    np.testing.assert_allclose(told, [*np.log1p(found.steps) / np.log1p(100), 1.0])


def test_what_is_foreseen_less_well_is_looked_at_as_often_as_before(monkeypatch):
    """Between half of the bar and the bar the distance stays; where that is one step, looks run out after sixty."""
    assert looked(monkeypatch, 5, missed=lambda step, stride: 0.015).steps.tolist() == [1, 2, 3, 4, 5]
    assert looked(monkeypatch, 5, missed=lambda step, stride: 0.5).steps.tolist() == [1, 2, 3, 4, 5], (
        "one step is taken"
    )
    short = looked(monkeypatch, 1000, missed=lambda step, stride: 0.015)
    assert (len(short.steps), short.finished, short.step) == (60, False, 60)
    enough = looked(monkeypatch, 60, missed=lambda step, stride: 0.015)
    assert (enough.finished, enough.step) == (True, np.inf)


def test_a_look_too_far_is_taken_back_and_distances_grow_with_care(monkeypatch):
    """Strides beyond 3 steps miss too much: 4 is halved to 2, which then grows by a fifth, rounded up, to 3 and 4."""
    found = looked(monkeypatch, 30, missed=lambda step, stride: 0.5 if stride > 3 else 0.0)
    assert found.steps.tolist() == [1, 2, 3, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 29, 30]


def test_distances_double_at_most_and_grow_by_a_fifth_after_one_too_many(monkeypatch):
    """From 4 on by 1.2: 5, 6 and 8, which is too far; and from 1, where it was held, to 2, 4 and 8."""
    careful = looked(monkeypatch, 41, missed=lambda step, stride: 0.5 if stride > 6 else 0.0)
    assert careful.steps.tolist() == [1, 2, 3, 4, 6, 9, 13, 19, 23, 28, 34, 38, 41]
    held = looked(monkeypatch, 30, missed=lambda step, stride: 0.015 if step <= 10 else 0.0)
    assert held.steps.tolist() == [*range(1, 12), 13, 17, 25, 30]


def test_distances_at_the_bars_themselves(monkeypatch):
    """What is missed by just the bar is not too much, and what is missed by just half of it not little."""
    at = looked(monkeypatch, 40, missed=lambda step, stride: 0.02 if step > 13 else 0.0)
    assert at.steps.tolist() == [1, 2, 3, 4, 6, 9, 13, 19, 25, 31, 37, 40]
    half = looked(monkeypatch, 20, missed=lambda step, stride: 0.01 if step > 9 else 0.0)
    assert half.steps.tolist() == [1, 2, 3, 4, 6, 9, 13, 17, 20]


def test_looks_end_where_a_loss_departs(monkeypatch):
    late = looked(monkeypatch, 100, off=lambda step: 0.0 if step < 19 else 0.16)
    assert (late.steps[-1], late.finished) == (19, True)
    assert late.step == pytest.approx(13 * (19 / 13) ** 0.5), "0.08 of 0.16, half of the way in the logarithm"
    near = looked(monkeypatch, 100, off=lambda step: 0.0 if step < 19 else 0.09)
    assert near.steps[-1] == 100
    assert 13 < near.step < 19
    tested = looked(monkeypatch, 100, test=lambda step: 0.0 if step < 19 else -0.16)
    assert (tested.steps[-1], tested.step) == (19, pytest.approx(late.step))
    np.testing.assert_allclose(tested.test_loss[-1], 3.0 * 0.84)
    np.testing.assert_array_equal(tested.test_forecast, 3.0)
    assert len(late.test_loss) == 0


# ---------------------------------------------------------------------------------------------------------
# How long strides are


def followed(monkeypatch, steps, missed=lambda length: 0.0, most=99, lost_at=np.inf, progress=None):
    """Ends of strides that miss as much as they are told to, and what became of the path."""
    tried, taken = [], []

    class Making:
        def __init__(self, training, start, at, drawn):
            self.place = SimpleNamespace(step=0)

        def records(self, length):
            return length

        def take(self, found, mended):
            taken.append((found.end.step, mended))
            self.place = found.end

        def path(self, kernels, followed):
            return SimpleNamespace(kernels=kernels, followed=followed)

    def stride(training, place, tangent, length):
        tried.append(length)
        step = place.step + length
        if step >= lost_at + 100:
            return None
        here = np.array([np.nan if step >= lost_at else 0.0])
        return SimpleNamespace(missed=missed(length), end=SimpleNamespace(step=step, here=here))

    monkeypatch.setattr(path, "_Making", Making)
    monkeypatch.setattr(path, "stride", stride)
    monkeypatch.setattr(path, "stride_along", stride)
    found = path.follow(SimpleNamespace(steps=steps), None, None, None, 0.02, most, None, progress)
    return tried, taken, found


def test_strides_that_miss_nothing_grow_threefold(monkeypatch):
    """The first is a fiftieth of the way; each next is one step more than three times as long."""
    told = []
    tried, taken, found = followed(monkeypatch, 1000, progress=told.append)
    assert tried == [20, 61, 184, 553, 182]
    assert taken == [(20, True), (81, True), (265, True), (818, True), (1000, True)]
    assert (found.kernels, found.followed) == (6, 1000)
    np.testing.assert_allclose(told, [0.02, 0.081, 0.265, 0.818, 1.0])
    assert followed(monkeypatch, 10)[0] == [1, 4, 5]


def test_strides_are_as_long_as_what_they_miss_allows(monkeypatch):
    """By 0.8 √(bar/missed), between a fifth and three times: 0.8 at the bar itself, and a fifth where all is missed."""
    assert followed(monkeypatch, 200, missed=lambda length: 0.02)[0][:4] == [4, 4, 4, 4]
    assert followed(monkeypatch, 1000, missed=lambda length: 0.005)[0][:3] == [20, 33, 53]
    tried, taken, _ = followed(monkeypatch, 1000, missed=lambda length: 0.0 if length < 10 else 0.08)
    assert tried[:4] == [20, 8, 25, 10], "0.4 of 20 is tried again, and 0.4 of 25"
    assert taken[0] == (8, True)
    tried, *_ = followed(monkeypatch, 1000, missed=lambda length: np.inf if length > 1 else 0.5)
    assert tried[:3] == [20, 4, 1]


def test_where_tangents_run_out_or_the_network_is_lost(monkeypatch):
    tried, taken, found = followed(monkeypatch, 1000, most=2)
    assert (tried, taken) == ([20, 61, 919], [(20, True), (81, True), (1000, False)])
    assert (found.kernels, found.followed) == (3, 81)
    tried, taken, found = followed(monkeypatch, 1000, lost_at=90)
    assert taken == [(20, True), (81, True)]
    assert found.followed == 81
    exactly = followed(monkeypatch, 1000, most=5)
    assert exactly[1][-1] == (1000, True)


def test_values_are_known_at_recorded_steps_alone():
    at, values = np.array([0, 2, 5]), np.arange(12.0).reshape(3, 2, 2)
    found = renewed._at(np.array([5, 1, 0, 9, 2]), at, values)
    np.testing.assert_array_equal(found[[0, 2, 4]], values[[2, 0, 1]])
    assert np.isnan(found[[1, 3]]).all()


def path_of(**change):
    """Strides that end at steps 2, 4, 6 and 8, of a training that was followed to the last."""
    given = {
        "ends": np.array([2, 4, 6, 8]), "loss": np.array([4.0, 3.0, 2.0, 1.0]),
        "test_loss": np.array([8.0, 6.0, 4.0, 2.0]), "missed": np.array([0.03, 0.04, 0.0, 0.0]),
        "followed": 8, "finished": True,
    }  # fmt: skip
    return SimpleNamespace(**given | change)


def error_of(monkeypatch, again, at, **change):
    """The error of a path whose retracing with every other end gives so much."""
    seen = []
    monkeypatch.setattr(renewed, "retrace", lambda training, start, tangent, ends: seen.append(ends.tolist()) or again)
    made = SimpleNamespace(path=path_of(**change), at=np.array(at), _training=lambda: None, _start=(None, None))
    return *renewed.Renewed.error.func(made), seen


def test_the_error_is_the_larger_of_two_and_never_heals(monkeypatch):
    """Strides twice as long end at 4 and 8: 10 % and 5 % off; what was missed adds up to √(0.03² + 0.04²) = 5 %."""
    again = np.array([[3.3, 6.0], [1.05, 2.4]])
    error, test_error, seen = error_of(monkeypatch, again, [0, 1, 2, 4, 6, 8])
    assert seen == [[4, 8]]
    np.testing.assert_allclose(error, [0, 0.025, 0.05, 0.1, 0.1, 0.1])
    np.testing.assert_allclose(test_error, [0, 0.015, 0.03, 0.05, 0.1, 0.2], atol=1e-12)


def test_beyond_what_was_followed_nothing_is_known(monkeypatch):
    again = np.array([[3.0, 6.0], [1.0, 2.0]])
    error, _, _ = error_of(monkeypatch, again, [4, 8, 9], missed=np.zeros(4))
    np.testing.assert_array_equal(error, [0, 0, np.inf])
    lost = np.array([[3.0, 6.0], [np.nan, np.nan]])
    error, _, _ = error_of(monkeypatch, lost, [4, 8], missed=np.zeros(4))
    np.testing.assert_array_equal(error, [0, np.inf])
    alone, same, _ = error_of(monkeypatch, again, [4, 8], test_loss=np.zeros(0), missed=np.zeros(4))
    np.testing.assert_array_equal(alone, same)
