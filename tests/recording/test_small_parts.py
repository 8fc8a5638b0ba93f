"""Small parts of what is read off a recording, each against its definition and at its edges."""

import numpy as np
import pytest

from lineament.recording import Recording, data_linear, linear_phase, mean_margin
from lineament.recording.advice import _rival, _targets
from lineament.recording.bias import _first, _spearman
from lineament.recording.compact import accept_keep, compact
from lineament.recording.order import _trained
from lineament.recording.ranks import _ranks
from lineament.recording.scores import _top_margins
from lineament.recording.top import largest

RNG = np.random.default_rng(0)


def test_half_of_the_way_lies_between_two_records():
    steps = np.array([0.0, 10.0, 30.0])
    assert _first(steps, np.array([0.0, 0.25, 0.75])) == 20
    assert _first(steps, np.array([0.5, 0.6, 1.0])) == 0
    assert _first(steps, np.array([0.0, 0.5, 0.1])) == 10, "the first time counts"
    assert np.isnan(_first(steps, np.array([0.0, 0.4, 0.49])))


def test_the_order_of_components_is_correlated_where_there_are_three():
    assert _spearman(np.array([1.0, 2.0, 9.0])) == pytest.approx(1)
    assert _spearman(np.array([3.0, np.nan, 2.0, 1.0])) == pytest.approx(-1)
    for few in ([1.0, 2.0], [1.0, np.nan, 2.0], [2.0, 2.0, 2.0]):
        assert np.isnan(_spearman(np.array(few)))


@pytest.mark.parametrize("number", [1, 2, 3, 9])
def test_the_largest_outputs_by_sorting(number):
    outputs = RNG.integers(0, 4, size=(3, 5, 4)).astype(float)  # many ties
    labels = RNG.integers(0, 4, size=5)
    found = largest(outputs, number, labels)
    kept = min(number, 4)
    for t in range(3):
        for i in range(5):
            naive = sorted(range(4), key=lambda k: (-outputs[t, i, k], k))[:kept]
            assert found.classes[t, i].tolist() == naive
            assert found.values[t, i].tolist() == [outputs[t, i, k] for k in naive]
            assert found.labelled[t, i] == outputs[t, i, labels[i]]
    assert largest(outputs, number).labelled is None


def test_what_is_not_a_number_is_kept_as_the_largest():
    found = largest(np.array([[[1.0, np.nan, 3.0]]]), 2)
    assert found.classes.tolist() == [[[1, 2]]]
    assert np.isnan(found.values[0, 0, 0])


def test_margins_of_the_two_largest_are_those_of_all():
    outputs, labels = RNG.normal(size=(4, 6, 5)), RNG.integers(0, 5, size=6)
    whole = Recording(np.arange(4), outputs, labels)
    np.testing.assert_allclose(mean_margin(compact(whole, 2)), mean_margin(whole), rtol=1e-12)
    with pytest.raises(ValueError, match="two outputs and that of the label"):
        _top_margins(largest(outputs, 1, labels))
    with pytest.raises(ValueError, match="two outputs and that of the label"):
        _top_margins(largest(outputs, 2))


def test_what_may_be_kept():
    for keep in ("outputs", "predictions", 2, 10):
        assert accept_keep(keep) == keep
    for bad in (1, 0, True, "all", 2.0, None):
        with pytest.raises(
            ValueError, match="keep must be 'outputs', 'predictions' or a number of outputs, 2 at least"
        ):
            accept_keep(bad)
    whole = Recording([0, 1], np.zeros((2, 3, 2)), [0, 1, 1])
    assert compact(whole, "outputs") is whole
    one = Recording([0, 1], np.zeros((2, 3, 1)), [0, 1, 1])
    with pytest.raises(ValueError, match="keep must be 'outputs' where these do not choose between classes"):
        compact(one, "predictions")


def test_records_at_step_zero_are_not_of_training():
    outputs = np.zeros((3, 2, 2))
    assert len(_trained(Recording([0, 1, 2], outputs))) == 2
    assert len(_trained(Recording([1, 2, 3], outputs))) == 3
    assert _trained(Recording([-1, 0, 3], outputs)).steps.tolist() == [3]
    with pytest.raises(ValueError, match="after step 0"):
        _trained(Recording([-2, -1, 0], outputs))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_ranks_do_not_depend_on_scale(scale):
    s = np.array([[4.0, 2.0, 1.0], [0.5, 0.25, 0.0]])
    found = _ranks(scale * s)
    for row, (effective, stable) in enumerate(zip(*found, strict=True)):
        p = s[row][s[row] > 0] / s[row].sum()
        assert effective == pytest.approx(np.exp(-np.sum(p * np.log(p))))
        assert stable == pytest.approx(np.sum(s[row] ** 2) / s[row].max() ** 2)


def test_the_linear_part_is_the_nearest_map_of_the_inputs():
    X, f = RNG.normal(size=(20, 3)) + 1, RNG.normal(size=(4, 20, 2))
    change, linear, features = data_linear(Recording(np.arange(4), f, inputs=X))
    moved = f - f[0]
    np.testing.assert_allclose(change, moved - moved.mean(axis=1, keepdims=True), atol=1e-12)
    A = np.c_[X, np.ones(20)]
    for t in range(4):
        fitted = A @ np.linalg.lstsq(A, moved[t], rcond=None)[0]
        np.testing.assert_allclose(linear[t], fitted - moved[t].mean(axis=0), atol=1e-10)
    assert features == 4
    with pytest.raises(ValueError, match="more than 4 probe examples are needed"):
        data_linear(Recording(np.arange(4), f[:, :4], inputs=X[:4]))
    assert data_linear(Recording(np.arange(4), f[:, :5], inputs=X[:5]))[2] == 4


def test_twins_are_outputs_of_two_or_three_axes():
    f = RNG.normal(size=(3, 4, 1))
    made = Recording(np.arange(3), f)
    for twin in (f[..., 0], f):
        np.testing.assert_allclose(linear_phase(made, twin + 1.0, scale=2.0).gap, 0.5, rtol=1e-12)
    with pytest.raises(ValueError, match="against must be outputs"):
        linear_phase(made, f[..., None])
    for bad in ({"threshold": 0.0}, {"scale": 0.0}):
        with pytest.raises(ValueError, match=f"{next(iter(bad))} must be"):
            linear_phase(made, f, **bad)


def test_the_rival_of_a_label_is_what_was_said_most_often():
    assert _rival(np.array([2, 0, 1, 1, 0, 0]), 0) == 1
    assert _rival(np.array([2, 2, 1, 0]), 0) == 2
    assert _rival(np.array([0, 0]), 0) == 0


def targets(errors):
    """A recording of numbers that is off by so much at every record."""
    y = np.zeros(len(errors))
    return Recording([1, 2], np.tile(-np.array(errors)[None, :, None], (2, 1, 1)), y)


def test_targets_are_far_beyond_four_deviations():
    """Deviations of 1 about a median of 0, by 1.4826 times their median size."""
    near = [-1.0, 1.0, -1.0, 1.0, 0.9, -0.9, 0.0]
    bar = 4 * 1.4826 * 1.0
    assert _targets(targets([*near, bar - 0.05, -1.0])) is None
    found = _targets(targets([*near, bar + 0.05, -1.0]))
    assert found.rows == (7,)
    both = _targets(targets([*near, 9.0, -12.0]))
    assert both.rows == (8, 7), "the farthest first"
    assert "Look at the targets of 2 of 9 examples" in both.text
    assert _targets(targets([1.0] * 9)) is None
