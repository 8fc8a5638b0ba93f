"""What is read off a forecast's path and table, part by part, against its definition."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.forecasting import compare, forecast, held_out, moments, paths, premises, records, stability, task
from lineament.forecasting import stopping as stop
from lineament.forecasting.components import BEGUN, DONE, _largest, phases_of
from lineament.forecasting.result import Component
from lineament.theory import assumptions, certificates, layers, modes, phases, units

RNG = np.random.default_rng(0)


# ---------------------------------------------------------------------------------------------------------
# When to stop


def naive_read(time, loss, final):
    """Best time and window of a loss over time, looked for from the best one record at a time."""
    i = min(range(len(loss)), key=lambda j: (loss[j], j))
    if final <= 1.001 * loss[i]:
        begins = next((t for t, value in zip(time, loss, strict=True) if value <= 1.05 * final), time[-1])
        return math.inf, (begins, math.inf), final
    first, last = i, i
    while first > 0 and loss[first - 1] <= 1.05 * loss[i]:
        first -= 1
    while last + 1 < len(loss) and loss[last + 1] <= 1.05 * loss[i]:
        last += 1
    ends = math.inf if last == len(loss) - 1 and final <= 1.05 * loss[i] else time[last]
    return time[i], (time[first], ends), loss[i]


@given(
    st.lists(st.sampled_from([1.0, 1.02, 1.049, 1.06, 1.3, 2.0]), min_size=1, max_size=7),
    st.sampled_from([0.9, 1.0, 1.0005, 1.03, 1.2, 5.0]),
)
def test_the_best_time_and_its_window_by_their_definition(loss, final):
    time = np.cumsum(np.arange(1.0, len(loss) + 1))
    found = stop._read(time, np.array(loss), final, 0.3)
    assert (found.best, found.window, found.least) == naive_read(time.tolist(), loss, final)
    assert (found.final, found.noise) == (final, 0.3)
    assert found.within_range == (found.best == math.inf or found.best < time[-1])
    assert found.gain == pytest.approx(1 - found.least / final)


def test_a_loss_that_rounding_carries_below_zero_is_zero():
    found = stop._read(np.arange(3.0), np.array([1.0, -1e-17, 2.0]), 2.0, 0.0)
    assert (found.least, found.best, found.gain) == (0, 1, 1)
    nothing = stop._read(np.arange(3.0), np.array([1.0, 0.5, 0.0]), -1e-17, 0.0)
    assert (nothing.least, nothing.final, nothing.gain) == (0, 0, 0)
    assert nothing.window == (2, math.inf)


@pytest.mark.parametrize("one_by_one", [True, False])
def test_errors_of_rows_left_out_are_widened_by_what_is_learnt(one_by_one):
    """By √((n + k)/(n − k)) with k of n directions learnt: not at all at first, by √3 where it is half of them."""
    fixed = stop._read(np.arange(3.0), np.array([3.0, 2.0, 2.5]), 2.5, 0.7)
    found = held_out.HeldOut(
        np.array([3.0, 1.0, 1.2, 2.0]), np.array([3.1, 1.1, 1.3, 2.1]), np.array([0.1, 0.2, 0.3, 0.4]), one_by_one
    )
    made = stop.on_new_rows(np.arange(3.0), fixed, found, np.array([0.0, 2.0, 5.0, 5.0]), 10)
    np.testing.assert_allclose(made.error, [0.1, 0.2 * np.sqrt(12 / 8), 0.3 * np.sqrt(3)])
    assert made.final_error == pytest.approx(0.4 * np.sqrt(3))
    assert (made.best, made.least, made.final, made.noise) == (1, 1, 2, 0.7)
    np.testing.assert_array_equal(made.cross_validated, [3.1, 1.1, 1.3])
    assert made.method == ("leave-one-out" if one_by_one else "cross-validation")
    assert made.fixed_design is fixed


@pytest.mark.parametrize(("rows", "enough"), [(19, False), (20, True)])
def test_two_rows_for_each_part_are_enough_to_hold_some_out(rows, enough):
    X = RNG.normal(size=(rows, 1))
    table = moments.gather([(X, X[:, 0] + RNG.normal(size=rows))], ("x",), ("y",))
    found = held_out.held_out(table, np.zeros((1, 1)), 1, np.linspace(0, 3, 7), 0)
    assert (found is not None) == enough


# ---------------------------------------------------------------------------------------------------------
# Premises


@pytest.mark.parametrize(
    ("rank", "rows", "met", "unique"),
    [(3, 9, True, True), (3, 5, True, True), (3, 4, True, False), (2, 9, False, False)],
)
def test_a_covariance_of_full_rank(rank, rows, met, unique):
    found = premises._full_rank(np.ones(rank), rows, 3)
    assert (found.met, found.value) == (met, rank / 3)
    assert ("is unique" in found.meaning) == unique
    assert ("many maps fit equally well" in found.meaning) != unique


@pytest.mark.parametrize(
    ("d", "off"), [([1.0, 1.0], 0.0), ([1.0 + 2.0**-27, 1.0], 2.0**-27), ([1.25, 0.5], 0.5), ([3.0, 1.0], 2.0)]
)
def test_whitened_inputs(d, off):
    found = premises._whitened(np.array(d))
    assert (found.value, found.met) == (off, off <= 1e-8)
    assert ("in closed form" in found.meaning) == found.met


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_commuting_moments_whatever_their_scale(scale):
    d, syx = scale * np.array([3.0, 1.0, 1.0]), RNG.normal(size=(2, 3)) * scale
    S, A = np.diag(d), syx.T @ syx
    found = premises._commuting(d, syx)
    assert found.value == pytest.approx(np.linalg.norm(S @ A - A @ S) / (np.linalg.norm(S, 2) * np.linalg.norm(A)))
    assert (found.met, "are coupled" in found.meaning) == (False, True)
    alone = premises._commuting(d, syx * np.array([1.0, 0.0, 0.0]))
    assert (alone.met, alone.value, "stay uncoupled" in alone.meaning) == (True, 0, True)


def test_the_margin_follows_from_the_excess_loss():
    W0, target, d = RNG.normal(size=(2, 3)), RNG.normal(size=(2, 3)), np.array([2.0, 1.0, 0.5])
    for start in (W0, target, 0.999 * target):
        gap = start - target
        excess = 0.5 * np.trace(gap @ np.diag(d) @ gap.T)
        found = premises._margin(start, target, d)
        assert found.value == pytest.approx(certificates.margin_from_excess(excess, target, 0.5), rel=1e-12)
        assert found.met == (found.value > 0) == ("is guaranteed" in found.meaning)
    assert premises._margin(target, target, d).met
    assert not premises._margin(-target, target, d).met


def test_concentrated_inputs_are_told_by_their_worst_line():
    good, bad = RNG.normal(size=(300, 40)), RNG.normal(size=(300, 40)) * np.geomspace(1, 1e-3, 40)
    for sample in (good, bad):
        report = assumptions.check(sample)
        found = premises._typical(sample)
        assert (found.met, found.value) == (report.holds, np.mean([line.holds for line in report.lines]))
        excess = [abs(line.value - line.reference) / abs(line.allowed - line.reference) for line in report.lines]
        worst = report.lines[int(np.argmax(excess))]
        assert found.met or f"{worst.name} is {worst.value:.3g}, and at most {worst.allowed:.3g}" in found.meaning
    assert not found.met


# ---------------------------------------------------------------------------------------------------------
# Components


def part(number, explained, begins, half, ends, strength=1.0):
    return Component(number, 1.0, strength, explained, begins, half, ends, (), ())


def test_phases_are_those_of_parts_that_matter_in_the_order_they_are_learnt():
    parts = (
        part(1, 0.5, 5.0, 6.0, 7.0, 2.0),
        part(2, 0.3, 1.0, 2.0, 4.0, 3.0),
        part(3, 0.008, 0.0, 0.5, 1.0),  # below a hundredth of what can be learnt
        part(4, 0.19, 0.0, math.inf, math.inf),
        part(5, 0.01, 7.0, 8.0, 9.0, 1.5),
    )
    first, second = phases_of((*parts[:4], part(5, 0.0101, 7.0, 8.0, 9.0, 1.5)), 2, True)
    assert first[:4] == (2, 1, True, 1.0)
    assert second[:4] == (1, 5, True, 0.0)  # it begins just when the other ends
    assert first.threshold == pytest.approx(float(phases.threshold(2, 1.5, BEGUN, DONE, 2.0)))
    assert [each.threshold for each in phases_of(parts, 2, False)] == [None]
    assert phases_of(parts[:3], 2, True) == (first,)
    overlapping = phases_of((part(1, 1.0, 0.0, 1.0, 3.0, 1.0), part(2, 1.0, 2.0, 4.0, 5.0, 1.0)), 2, True)
    assert overlapping == ((1, 2, False, -1.0, None),)


def test_the_largest_weights_are_named_by_their_size():
    names = ("a", "b", "c", "d", "e")
    assert _largest(names, np.array([0.1, -3.0, 2.0, -2.0, 0.0])) == (("b", -3.0), ("c", 2.0), ("d", -2.0))
    assert _largest(names[:1], np.array([-1.0])) == (("a", -1.0),)


def test_modes_that_are_rounding_are_none_at_any_scale():
    U, _ = np.linalg.qr(RNG.normal(size=(40, 3)))
    V, _ = np.linalg.qr(RNG.normal(size=(5, 3)))
    for scale in (1e-30, 1.0, 1e30):
        found = task.Modes(U, scale * np.array([2.0, 1.0, 1e-15]), V.T)
        np.testing.assert_array_equal(task.strengths(found), scale * np.array([2.0, 1.0]))
        np.testing.assert_allclose(task.aligned(found), U[:, :2] @ V[:, :2].T, atol=1e-15)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_directions_below_a_ten_billionth_of_the_largest_are_rounding(scale):
    d, V = task.spectrum(scale * np.diag([1.01e-10, 4.0e-10, 1.0, 0.99e-10]))
    np.testing.assert_allclose(d, scale * np.array([1.0, 4.0e-10, 1.01e-10]))
    np.testing.assert_array_equal(V, np.eye(4)[:, [2, 1, 0]])


def test_the_largest_entry_of_a_direction_is_positive():
    A = RNG.normal(size=(6, 6))
    _, V = task.spectrum(A @ A.T)
    assert (V[np.argmax(np.abs(V), axis=0), np.arange(6)] > 0).all()


def test_the_least_loss_is_never_below_zero():
    X = RNG.normal(size=(7, 3))
    W = RNG.normal(size=(2, 3))
    S = X.T @ X / 7
    made = task.from_covariances(S, W @ S, W @ S @ W.T - 1e-9 * np.eye(2), False)
    assert made.floor == 0
    assert task.from_covariances(S, W @ S, W @ S @ W.T + 0.2 * np.eye(2), False).floor == pytest.approx(0.2)


# ---------------------------------------------------------------------------------------------------------
# Records


def test_a_passage_is_just_after_its_time():
    assert records._passage(lambda t: 2.0 - t, 0.0, 5.0) == pytest.approx(2 * (1 + 1e-10), rel=1e-15)
    assert records._passage(lambda t: 2.0 - t, 2.0, 5.0) == 2
    assert records._passage(lambda t: 2.0 - t, 3.0, 5.0) == 3
    assert records._passage(lambda t: 2.0 - t, 0.0, 2.0) == 2


# ---------------------------------------------------------------------------------------------------------
# Stability


def gauss_newton(chain, sxx):
    """λmax of JᵀJ, J the derivative of W_N ⋯ W_1 √Σ by every entry of every layer."""
    values, V = np.linalg.eigh(sxx)
    root = V * np.sqrt(np.maximum(values, 0))
    columns = []
    for j, W in enumerate(chain):
        for place in np.ndindex(W.shape):
            moved = list(chain)
            moved[j] = np.zeros(W.shape)
            moved[j][place] = 1.0
            columns.append((layers.product(moved) @ root).ravel())
    return np.linalg.norm(np.array(columns), 2) ** 2


@pytest.mark.parametrize("widths", [(3, 2), (3, 4, 2), (2, 3, 3, 1), (1, 1, 1)])
def test_the_curvature_of_any_layers_is_that_of_their_jacobian(widths):
    chain = [RNG.normal(size=(b, a)) for a, b in pairwise(widths)]
    A = RNG.normal(size=(widths[0], widths[0]))
    for sxx in (A @ A.T, np.outer(A[0], A[0])):
        assert stability.sharpness_of_layers(chain, sxx) == pytest.approx(gauss_newton(chain, sxx), rel=1e-8)


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (1, 3)])
def test_tilted_layers_are_balanced_ones_scaled_against_each_other(depth, shape):
    W, d = RNG.normal(size=shape), RNG.uniform(0.1, 3.0, shape[1])
    chain = layers.balanced(W, [shape[1], *[min(shape)] * (depth - 1), shape[0]])
    for tilt in (-1.3, 0.0, 0.4):
        scaled = [np.exp(-tilt / 2 * (j - (depth + 1) / 2)) * A for j, A in enumerate(chain, start=1)]
        np.testing.assert_allclose(layers.product(scaled), W, atol=1e-12)
        expected = gauss_newton(scaled, np.diag(d))
        assert stability._tilted(W, d, depth, tilt) == pytest.approx(expected, rel=1e-8)
    assert stability.sharpness(W, d, depth) == pytest.approx(gauss_newton(chain, np.diag(d)), rel=1e-8)


@pytest.mark.parametrize("depth", [2, 3, 5])
def test_one_output_has_its_first_layer_against_all_others(depth):
    w, d = RNG.normal(size=4), RNG.uniform(0.1, 3.0, 4)
    chain = layers.balanced(w[None], [4, *[1] * depth])
    for tilt in (-1.1, 0.0, 0.7):  # the others' product squared, and each of them so that the whole is the map
        others = [np.exp(tilt / 2 / (depth - 1)) * A for A in chain[1:]]
        expected = gauss_newton([np.exp(-tilt / 2) * chain[0], *others], np.diag(d))
        assert stability._one_output(w, d, depth, tilt) == pytest.approx(expected, rel=1e-8)


def test_a_map_of_zeros_and_one_layer_have_nothing_to_scale():
    d = np.array([2.0, 0.5])
    assert stability.flattest(np.zeros((1, 1)), d[:1], 3) == stability.sharpness(np.zeros((1, 1)), d[:1], 3) == 0
    assert stability.flattest(np.ones((1, 2)), d, 1) == stability.sharpness(np.ones((1, 2)), d, 1) == 2


def test_where_no_feature_stands_out_the_largest_variance_decides():
    """A weight of zero on the widest feature: the secular equation has no root above A max(d) where c is small."""
    w, d = np.array([0.0, 1.0]), np.array([5.0, 0.1])
    for tilt in (0.0, 3.0):
        dense = np.diag(np.exp(tilt) * d) + np.exp(-tilt) * np.outer(np.sqrt(d) * w, np.sqrt(d) * w)
        assert stability._one_output(w, d, 2, tilt) == pytest.approx(np.linalg.eigvalsh(dense)[-1], rel=1e-12)


# ---------------------------------------------------------------------------------------------------------
# Measured maps


def test_measured_maps_are_read_in_modes_of_the_target():
    """Whitened: shares uᵢᵀWvᵢ/sᵢ, half the squared distance left, and what of it lies outside the modes."""
    X = RNG.normal(size=(60, 3))
    made = forecast(X, X @ RNG.normal(size=(3, 2)) + 0.1 * RNG.normal(size=(60, 2)), depth=2, whiten=True)
    maps = RNG.normal(size=(4, 2, 3))
    share, spill, left = compare._read(made, maps)
    U, s, Vt = np.linalg.svd(made.target, full_matrices=False)
    for t, W in enumerate(maps):
        inside = np.array([U[:, i] @ W @ Vt[i] for i in range(2)])
        np.testing.assert_allclose(share[t], inside / s, rtol=1e-10)
        np.testing.assert_allclose(left[t], 0.5 * np.linalg.norm(W - made.target) ** 2, rtol=1e-12)
        outside = W - (U * inside) @ Vt
        np.testing.assert_allclose(spill[t], np.sum((W - made.target) ** 2) - np.sum((inside - s) ** 2), rtol=1e-10)
        assert spill[t] == pytest.approx(np.linalg.norm(outside) ** 2, rel=1e-9)


def test_the_worst_gap_is_none_where_there_is_nothing_to_compare():
    assert compare._worst(np.zeros(0)) == 0
    assert compare._worst(np.array([0.5, -2.0])) == 2
    assert np.isnan(compare._worst(np.array([0.5, np.nan])))
    looked = compare._looked_at(1000)
    assert (looked[0], looked[1], looked[-1]) == (0, 1, 1000)
    assert (np.diff(looked) > 0).all()
    assert np.diff(looked).max() <= 1 + 1000 / (compare.RECORDS // 2)


# ---------------------------------------------------------------------------------------------------------
# Paths in other units

LIMITS = {"until": None, "enough": 0.999, "longest": 1e30}


@pytest.mark.parametrize("unit", [1e-4, 1.0, 1e4])
def test_faster_inputs_are_the_same_path_on_a_faster_clock(unit):
    W0, target, d = 0.01 * RNG.normal(size=(2, 3)), RNG.normal(size=(2, 3)), np.array([2.0, 1.0, 0.3])
    follow = {"one layer": paths.one_layer, "deep": lambda *given, **limits: paths.deep(*given, 2, **limits)}
    for path in follow.values():
        plain, other = path(W0, target, d, **LIMITS), path(W0, target, unit * d, **LIMITS)
        np.testing.assert_allclose(other.time, plain.time / unit, rtol=1e-5)
        np.testing.assert_allclose(other.share, plain.share, atol=1e-5)
        np.testing.assert_allclose(other.left, unit * plain.left, rtol=1e-4, atol=1e-9 * unit)


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_stronger_modes_are_the_same_path_on_a_faster_clock(unit, depth):
    strengths = np.array([2.0, 1.0, 0.5])
    plain = paths.whitened(1e-3, strengths, depth, **LIMITS)
    other = paths.whitened(1e-3 * unit, strengths * unit, depth, **LIMITS)
    np.testing.assert_allclose(other.time, plain.time / unit ** (2 - 2 / depth), rtol=1e-5)
    np.testing.assert_allclose(other.share, plain.share, atol=1e-5)
    assert plain.left[-1] <= 1e-3 * plain.left[0] * (1 + 1e-5)
    assert (plain.share[-1] >= 0.9 * (1 - 1e-9)).all()
    np.testing.assert_allclose(plain.left, 0.5 * np.sum((strengths * (1 - plain.share)) ** 2, axis=1), rtol=1e-6)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_the_range_ends_just_when_every_mode_that_matters_is_learnt(depth):
    """Where little is enough: the slowest that explains a hundredth decides, and those above their target do not."""
    strengths = np.array([2.0, 1.0, 0.25, 0.2])  # shares of what can be learnt: 4, 1, 0.0625 and 0.04 of 5.1
    path = paths.whitened(1e-3, strengths, depth, until=None, enough=0.1, longest=1e30)
    each = modes.time_to(0.9 * strengths[:3], strengths[:3], 1e-3, depth) / float(units.clock_rate(depth))
    slowest = max(each)
    assert path.time[-1] == pytest.approx(1.001 * float(slowest), rel=1e-6)
    assert paths.whitened(0.9 * 0.25, strengths, depth, until=None, enough=0.1, longest=1e30).time[-1] <= slowest
    asked = paths.whitened(1e-3, strengths, depth, until=0.5, enough=0.1, longest=1e30)
    assert asked.time[-1] == pytest.approx(0.5)
    assert (asked.time[0], (np.diff(asked.time) > 0).all()) == (0, True)


def test_the_first_passage_lies_on_a_straight_line_between_records():
    time = np.array([0.0, 1.0, 3.0, 4.0])
    share = np.array([[0.0, 0.7, 0.1, 0.0], [0.2, 0.8, 0.6, 0.1], [0.6, 0.4, 0.3, 0.2], [1.0, 0.9, 0.9, 0.49]])
    path = paths.Progress(time, share, np.zeros(4), np.zeros(4))
    np.testing.assert_allclose(paths.first_passage(path, 0.5), [1 + 2 * 0.3 / 0.4, 0.0, 0.8, np.inf])
    np.testing.assert_allclose(paths.first_passage(path, 0.6), [3.0, 0.0, 1.0, np.inf])


def test_shares_of_a_component_without_a_target_are_none():
    W, d = RNG.normal(size=(4, 2, 3)), np.array([2.0, 1.0, 0.5])
    target = np.array([[1.0, 0.0, -0.5], [2.0, 0.0, 0.0]])
    share, spill, left = paths.shares(W, target, d)
    for t in range(4):
        naive = [W[t, :, j] @ target[:, j] / (target[:, j] @ target[:, j]) if j != 1 else 0.0 for j in range(3)]
        np.testing.assert_allclose(share[t], naive, rtol=1e-12)
        beside = [np.sum((W[t, :, j] - naive[j] * target[:, j]) ** 2) for j in range(3)]
        np.testing.assert_allclose(spill[t], np.dot(beside, d), rtol=1e-12)
        np.testing.assert_allclose(left[t], 0.5 * np.trace((W[t] - target) @ np.diag(d) @ (W[t] - target).T))


def test_a_path_that_is_never_enough_ends_at_the_longest_time():
    W0, target, d = np.zeros((1, 1)), np.ones((1, 1)), np.ones(1)
    for longest in (0.5, 2.0):
        path = paths.one_layer(W0, target, d, until=None, enough=0.999, longest=longest)
        assert path.time[-1] == pytest.approx(longest)
    enough = paths.one_layer(W0, target, d, **LIMITS)
    assert enough.time[-1] == pytest.approx(np.log(1000) / 2, rel=1e-5), "e^{−2t} is a thousandth"
    little = paths.one_layer(W0, target, d, until=None, enough=0.1, longest=1e9)
    assert little.time[-1] == pytest.approx(1.001 * np.log(10), rel=1e-9), "nine tenths of what matters are learnt"
    assert paths.one_layer(W0, target, d, until=3.0, enough=0.999, longest=1e9).time[-1] == pytest.approx(3.0)


@pytest.mark.parametrize(("until", "begin"), [(3.0, 0.01 / 4), (0.5, 0.5 / 400)])
def test_one_layer_at_its_times(until, begin):
    """At 0, and at 400 times even in their logarithm from a hundredth of the fastest, or from the first of 400."""
    W0, target, d = RNG.normal(size=(2, 3)), RNG.normal(size=(2, 3)), np.array([1.0, 4.0, 0.25])
    path = paths.one_layer(W0, target, d, until=until, enough=0.999, longest=1e9)
    assert path.time[0] == 0
    np.testing.assert_allclose(np.log(path.time[1:]), np.linspace(np.log(begin), np.log(until), 400), atol=1e-12)
    W = target + (W0 - target) * np.exp(-np.multiply.outer(path.time, d))[:, None]
    for found, naive in zip(path[1:], paths.shares(W, target, d), strict=True):
        np.testing.assert_allclose(found, naive, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("depth", [1, 3])
def test_no_rise_of_a_mode_is_missed_between_its_times(depth):
    """Four hundred times even in time, and a record for every one and a half per cent of every mode."""
    strengths = np.array([2.0, 1.0, 0.5])
    path = paths.whitened(1e-4, strengths, depth, until=20.0, enough=0.999, longest=1e9)
    even = np.linspace(0, 20, 400)
    assert np.abs(path.time[np.searchsorted(path.time, even)] - even).max() < 1e-12
    assert np.diff(path.share, axis=0).max() < 0.0151
    assert (path.time[0], path.time[-1]) == (0, 20)
    np.testing.assert_array_equal(path.spill, 0)
