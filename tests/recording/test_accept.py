"""What a recording takes: shapes as they are promised, and a name for what does not fit."""

import numpy as np
import pytest

from lineament.recording import accept

THREE = np.arange(12.0).reshape(3, 4)


def test_outputs_of_one_number_and_of_whole_numbers():
    found = accept.outputs("outputs", THREE, 3)
    np.testing.assert_array_equal(found, THREE[..., None])
    assert accept.outputs("outputs", THREE.astype(np.float32), 3).dtype == np.float32
    assert accept.outputs("outputs", THREE.astype(int), 3).dtype == np.float64
    np.testing.assert_array_equal(accept.linearised(THREE, found, 3), found)


def test_steps_and_predictions():
    np.testing.assert_array_equal(accept.steps([0, 1, 5]), [0.0, 1.0, 5.0])
    np.testing.assert_array_equal(accept.steps(3), [3.0])
    found = accept.predictions(THREE.astype(np.int8), 3)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, THREE)


def test_whole_numbers_are_classes_unless_one_output_could_not_tell_them():
    two, one = np.ones((3, 4, 2)), np.ones((3, 4, 1))
    for labels, outputs in (
        ([0, 1, 1, 0], two),
        ([0, 1, 1, 0], one),
        ([True, False, True, True], one),
        ([0, 7, 1, 2], None),
    ):
        assert accept.labels(labels, 4, outputs).dtype == np.int64
    for labels in ([0, 1, 2, 0], [0, -1, 1, 0]):
        np.testing.assert_array_equal(accept.labels(labels, 4, one), np.array(labels, float)[:, None])
    np.testing.assert_array_equal(accept.labels(np.full((4, 2), 0.5), 4, two), 0.5)


def test_classes_as_a_column_and_as_floats():
    outputs, column = np.zeros((1, 3, 4)), np.array([[0], [3], [1]], np.uint8)
    found = accept.labels(column, 3, outputs)
    np.testing.assert_array_equal(found, [0, 3, 1])
    assert found.dtype == np.int64
    np.testing.assert_array_equal(accept.labels(column, 3, None), [0, 3, 1])  # where only predictions were kept
    assert accept.labels(column, 3, outputs[..., :1]).dtype == np.float64  # targets of one output
    for floats in (column.astype(float), column[:, 0].astype(float)):
        with pytest.raises(
            ValueError, match=r"finite targets of shape \(3, 4\); got .*: give classes as whole numbers"
        ):
            accept.labels(floats, 3, outputs)


def test_classes_that_outputs_choose():
    outputs = np.array([[[0.1, 0.3], [2.0, -1.0]]])
    np.testing.assert_array_equal(accept.classes(outputs, None), [[1, 0]])
    np.testing.assert_array_equal(accept.classes(outputs, np.array([0, 0])), [[1, 0]])
    assert accept.classes(outputs, np.ones((2, 2))) is None
    assert accept.classes(outputs[..., :1], None) is None
    np.testing.assert_array_equal(accept.classes(outputs[..., 1:], np.array([0, 1])), [[1, 0]])


def test_losses_and_courses_may_be_missing():
    values, known = accept.loss([0.5, None], 2)
    np.testing.assert_array_equal(values, [0.5, np.nan])
    np.testing.assert_array_equal(known, [True, False])
    np.testing.assert_array_equal(accept.loss(None, 2)[1], [False, False])
    np.testing.assert_array_equal(accept.course("norm", None, 3, 1), [np.nan] * 3)
    assert accept.courses("norms", None, 3, 1) == {}
    np.testing.assert_array_equal(accept.courses("norms", {"a": [1, 2]}, 2, 1)["a"], [1, 2])


TOP = accept.Top(np.zeros((2, 3, 1), int), np.zeros((2, 3, 1)), None)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: accept.steps([0, 0]), "steps must be rising finite numbers"),
        (lambda: accept.steps([0, np.nan]), "steps must be rising finite numbers"),
        (lambda: accept.steps([[0, 1]]), "steps must be rising finite numbers"),
        (lambda: accept.outputs("outputs", THREE, 2), r"outputs must be \(step, example\) or .* with 2 steps"),
        (lambda: accept.outputs("outputs", np.ones(3), 3), r"outputs must be \(step, example\)"),
        (lambda: accept.outputs("outputs", np.ones((3, 0)), 3), r"outputs must be \(step, example\)"),
        (lambda: accept.linearised(THREE, None, 3), "linearised must have the shape of outputs"),
        (lambda: accept.linearised(THREE, np.ones((3, 4, 2)), 3), "linearised must have the shape of outputs"),
        (lambda: accept.predictions(THREE, 3), "predictions must be whole numbers"),
        (lambda: accept.predictions(THREE.astype(int), 4), "predictions must be whole numbers"),
        (lambda: accept.predictions(np.zeros((3, 0), int), 3), "predictions must be whole numbers"),
        (lambda: accept.predictions(np.zeros(3, int), 3), "predictions must be whole numbers"),
        (lambda: accept.top(TOP, 3), r"top must hold classes and values .* with 3 steps"),
        (lambda: accept.top(TOP._replace(values=np.zeros((2, 3, 2))), 2), "top must hold classes and values"),
        (lambda: accept.top(TOP._replace(classes=np.zeros((2, 3, 1))), 2), "top must hold classes that are whole"),
        (lambda: accept.top(TOP._replace(classes=np.full((2, 3, 1), -1)), 2), "top must hold classes that are whole"),
        (lambda: accept.top(TOP._replace(labelled=np.zeros((2, 2))), 2), "top must hold one labelled output"),
        (lambda: accept.inputs(np.ones(2), 3), "inputs must hold the 3 probe examples"),
        (lambda: accept.inputs(2.0, 1), "inputs must hold the 1 probe examples"),
        (lambda: accept.labels([0, 1], 3, None), "labels must be one per probe example, 3 of them"),
        (lambda: accept.labels([0, -1], 2, None), "labels must be classes from 0; got -1 to 0"),
        (lambda: accept.labels([0, 2], 2, np.ones((1, 2, 2))), "labels must be classes from 0 to 1; got 0 to 2"),
        (lambda: accept.labels([0.5, np.nan], 2, np.ones((1, 2, 1))), "must be finite targets"),
        (lambda: accept.labels([[0.5], [1.0]], 2, np.ones((1, 2, 3))), "must be finite targets"),
        (lambda: accept.loss([0.5], 2), "loss must have one entry for each of the 2 steps"),
        (lambda: accept.course("norm", [[1.0]], 1, 1), "norm must have 1 dimension"),
        (lambda: accept.courses("norms", {"a": [1.0]}, 2, 1), r"norms\['a'\] must have 1 dimension"),
    ],
)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
