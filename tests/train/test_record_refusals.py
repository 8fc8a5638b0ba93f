"""Records that cannot be told apart, or be read off what is trained, are refused before anything runs."""

import numpy as np
import pytest

import lineament as la
from lineament.train.records import Record, resolve

NET = la.models.DeepLinear((2, 2))
PROBLEM, LAYERS = la.problems.whitened(np.eye(2)), (np.eye(2),)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ("loss", "record must be a sequence"),
        (("loss", "loss"), "records must have different names"),
        (("losses",), "did you mean 'loss'"),
        (("nothing of the kind",), "got 'nothing of the kind'$"),
        ((Record("pair", lambda model, problem, p: (p, p)),), "record 'pair' must return one array; got tuple"),
        ((Record("map", lambda model, problem, p: p[0], ("mode",)),), "record 'map' must have the dimensions"),
    ],
)
def test_bad_records_are_refused(record, message):
    with pytest.raises(ValueError, match=message):
        resolve(record, NET, PROBLEM, LAYERS)


def test_a_function_is_a_record_of_its_name():
    def trace(layers):
        return layers[0].trace()

    first, second = resolve((trace, lambda p: p[0]), NET, PROBLEM, LAYERS)
    assert (first.name, second.name) == ("trace", "lambda")
    assert first.measure(NET, PROBLEM, LAYERS) == 2
