"""Each sentence of a network's forecast at the edges where another takes its place, and what is made of targets."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from lineament.linearisation import Band, words
from lineament.linearisation.make import _far, _notices, targets_of

ENDS = Band(np.array([0.4]), np.array([0.6]), np.array([0.7]), np.array([math.inf]))


def forecast(**change):
    """Three records of a forecast that is what it is told to be."""
    curves = SimpleNamespace(
        loss=np.array([2.0, 1.0, 0.5]), test_loss=np.array([3.0, 1.0, 1.25]), accuracy=np.array([0.1, 0.5, 0.9]),
        test_accuracy=np.array([0.1, 0.5, 0.75]),
    )  # fmt: skip
    given = {
        "curves": curves, "at": np.array([0, 10, 2000]), "error_bar": ENDS, "y": np.zeros((1200, 1)), "classes": False,
        "X_test": np.zeros((1, 2)), "y_test": np.zeros((1, 1)), "loss_name": "square", "step_size": 0.125, "steps": 2000,
        "momentum": 0.0, "weight_decay": 0.0, "batch_size": None, "safe_step": math.inf, "exact": False,
        "network": SimpleNamespace(name="net", size=12345), "safety": SimpleNamespace(finished=True),
        "learnt_at": np.array([1.0, np.inf, 3.0]), "late": lambda count: np.array([1, 2, 0])[:count],
    }  # fmt: skip
    return SimpleNamespace(**given | change)


def test_counts_and_settings():
    assert [words.count(x) for x in (999.6, 1e6, math.inf, math.nan)] == [
        "1\u202f000",
        "1\u202f000\u202f000",
        "–",
        "–",
    ]
    assert words.brief(forecast()) == (
        "net: 1\u202f200 examples, 1 test point, square loss, step size 0.125, 2\u202f000 steps"
    )
    assert (
        words.brief(forecast(X_test=None))
        == "net: 1\u202f200 examples, square loss, step size 0.125, 2\u202f000 steps"
    )
    assert words.setting(forecast()) == (
        "net, 12\u202f345 parameters; 1\u202f200 training examples and 1 test point; square loss, step size 0.125, all "
        "examples at once."
    )
    full = words.setting(forecast(momentum=0.9, weight_decay=0.01, batch_size=32, X_test=None))
    assert full.endswith(
        "training examples; square loss, step size 0.125, momentum 0.9, weight decay 0.01, batches of 32."
    )


def test_the_outcome():
    plain = words.outcome(forecast())
    assert plain == (
        "After 2\u202f000 steps the training loss will have gone from 2 to 0.5 (0.4–0.6), the test loss from 3 to 1.25 "
        "(0.7 or more)."
    )
    assert words.outcome(forecast(y_test=None)).endswith("from 2 to 0.5 (0.4–0.6).")
    assert words.outcome(forecast(classes=True)).endswith("and 75.0 % of test examples will be answered rightly.")
    training = words.outcome(forecast(classes=True, y_test=None))
    assert training.endswith("and 90.0 % of training examples will be answered rightly.")
    lost = forecast()
    lost.curves.loss[1] = np.inf
    assert words.diverges(lost)
    assert words.outcome(lost) == "The training loss starts at 2 and is lost by step 10: training diverges."
    assert not words.diverges(forecast())


def test_how_long_it_is_safe():
    assert words.safe(forecast()) == "The forecast is safe over all 2\u202f000 steps: losses stay within 10 % of it."
    ends = words.safe(forecast(safe_step=1234.0))
    assert ends.startswith(
        "The forecast is safe until step 1\u202f234 (losses within 10 %); by then the network has begun"
    )
    unfinished = words.safe(forecast(safe_step=12.0, safety=SimpleNamespace(finished=False)))
    assert "beyond that it was not looked at" in unfinished
    assert words.safe(forecast(exact=True)).startswith("Nothing is linearised: the forecast follows")
    assert words.safe(forecast(exact=True, safe_step=7.0)).endswith("diverges: numbers end at step 7.")


def renewed(alone, kernels, safe_step=math.inf, finished=True):
    path = SimpleNamespace(kernels=kernels, finished=finished, followed=55)
    return SimpleNamespace(path=path, steps=2000, renewals=3, linear_until=alone, safe_step=safe_step)


def test_how_long_renewed_tangents_are_safe():
    assert words._renewed(renewed(40.0, 2)) == (
        "The forecast is safe over all 2\u202f000 steps: losses stay within 10 % of it. The tangent of the start alone "
        "would do until step 40; 1 more was computed on the way."
    )
    assert "would do as well; 3 more were computed on the way." in words._renewed(renewed(math.inf, 4))
    assert "safe until step 90 (losses within 10 %); by then its error may have grown" in words._renewed(
        renewed(40.0, 2, 90.0)
    )
    assert "3 tangents did not suffice to go beyond step 55" in words._renewed(renewed(40.0, 2, 90.0, finished=False))


def test_when_to_stop():
    assert words.stop(forecast()) == (
        "Stop near step 10: the test loss is least there, 1, 20 % below its value at the end."
    )
    assert words.stop(forecast(safe_step=10.0)).startswith("Stop near step 10:")
    assert words.stop(forecast(safe_step=9.0)).startswith("Stop near step 10, if the forecast holds that long:")
    assert words.stop(forecast(y_test=None)) == ""
    little = forecast()
    little.curves.test_loss[:] = [3.0, 0.995, 1.0]
    assert words.stop(little) == "Train to the end: the test loss does not rise in these steps."
    little.curves.test_loss[:] = [3.0, 0.989, 1.0]
    assert words.stop(little).startswith("Stop near step 10")
    little.curves.test_loss[:] = [3.0, 1.0, 0.0]
    assert words.stop(little).startswith("Train to the end")
    lost = forecast()
    lost.curves.loss[2] = np.nan
    assert words.stop(lost) == ""


def test_which_examples_come_late():
    assert words.late(forecast()) == (
        "The last to be learnt are the training examples 1, 2, 0; 1 of 1\u202f200 is not learnt in these steps."
    )
    assert words.late(forecast(learnt_at=np.array([1.0, 2.0]))).endswith("examples 1, 2, 0.")
    assert "2 of 1\u202f200 are not learnt" in words.late(forecast(learnt_at=np.array([np.inf, np.inf])))
    assert len(words.sentences(forecast())) == 5
    assert len(words.sentences(forecast(y_test=None))) == 4


# ---------------------------------------------------------------------------------------------------------
# What is made of targets and step sizes


def test_targets_of_every_kind():
    table, classes = targets_of("y", [0, 2, 1], 3, 3, "cross-entropy")
    assert classes
    np.testing.assert_array_equal(table, np.eye(3)[[0, 2, 1]])
    numbers, classes = targets_of("y", [0.5, 2.0], 2, 1, "square")
    assert (numbers.shape, classes) == ((2, 1), False)
    assert targets_of("y", [[0.0, 1.0], [1.0, 0.0]], 2, 2, "square")[1], "one-hot rows are classes"
    for table in ([[0.0, 1.0], [1.0, 1.0]], [[0.0, 0.9], [1.0, 0.0]], [[0.5, 0.5], [1.0, 0.0]]):
        assert not targets_of("y", table, 2, 2, "square")[1]
    assert not targets_of("y", [[1.0], [1.0]], 2, 1, "square")[1]
    assert targets_of("y", [[0.25, 0.75], [1.0, 0.0]], 2, 2, "cross-entropy")[1]
    for bad in ([[0.5, 0.4], [1.0, 0.0]], [[-0.1, 1.1], [1.0, 0.0]]):
        with pytest.raises(ValueError, match=r"y must be class numbers .n,., or shares of classes that sum to 1"):
            targets_of("y", bad, 2, 2, "cross-entropy")
    with pytest.raises(ValueError, match="loss must be 'square' for a network of one output"):
        targets_of("y", [0, 0], 2, 1, "cross-entropy")
    with pytest.raises(ValueError, match="y must be"):
        targets_of("y", [0, 2], 2, 2, "cross-entropy")


def test_what_is_told_of_a_step_size_and_of_kernels():
    told = lambda eta, loss="square", kind="all", k=2: _notices(kind, k, 7, eta, 2.0, loss)  # noqa: E731
    assert told(1.0) == ()
    assert "is 52 % of the largest that is stable" in told(1.04)[0]
    assert "is 100 % of" in told(1.999)[0]
    assert "The step size 2 is not below 2, the largest that is stable" in told(2.0)[0]
    assert told(2.0, "cross-entropy") == ()
    assert "not below 4" in told(4.0, "cross-entropy")[0]
    assert "7 examples of 2 outputs share the mean" in told(1.0, kind="mean")[0]
    assert told(1.0, kind="mean", k=1) == ()


def test_targets_three_times_as_large_as_outputs_are_far():
    start = np.array([[1.0], [-1.0]])
    assert _far(start, 3.0 * start, "square") == ()
    assert "Targets are 3.1 large, the network's outputs at the start 1" in _far(start, 3.1 * start, "square")[0]
    assert _far(start, 3.1 * start, "cross-entropy") == ()
