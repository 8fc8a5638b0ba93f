"""Less of a recording: predictions alone, or the few largest outputs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineament import recording as rec
from lineament.recording import Recording, Top, compact
from lineament.recording.top import largest


def a_record(T=5, n=12, k=6, seed=0, **others):
    rng = np.random.default_rng(seed)
    spectra = {"a": np.sort(rng.uniform(size=(T, 3)))[:, ::-1]}
    labels = rng.integers(k, size=n)
    return Recording(np.arange(T), rng.normal(size=(T, n, k)), labels, spectra=spectra, **others)


@settings(max_examples=30)
@given(st.integers(2, 9), st.integers(2, 6), st.integers(0, 50))
def test_scores_are_those_of_all_outputs(number, k, seed):
    whole = a_record(k=k, seed=seed)
    # Ties: rounded outputs, where the first of the largest is chosen.
    whole = Recording(whole.steps, np.round(whole.outputs), whole.labels)
    less = compact(whole, number)
    np.testing.assert_array_equal(less.predictions, whole.predictions)
    np.testing.assert_allclose(rec.mean_margin(less), rec.mean_margin(whole))
    assert less.top.values.shape == (5, 12, min(number, k))
    assert (np.diff(less.top.values, axis=2) <= 0).all()
    np.testing.assert_array_equal(np.take_along_axis(whole.outputs, less.top.classes.astype(int), 2), less.top.values)
    assert rec.to_frame(less).equals(rec.to_frame(whole))


@pytest.mark.parametrize("keep", ["predictions", 2, 4])
def test_what_is_kept_survives_the_disk_cutting_and_joining(tmp_path, keep):
    whole = a_record(loss=[None, 3.0, 2.0, 1.0, 0.5])
    less = compact(whole, keep)
    back = Recording.load(rec.join([less[:2], less[2:]]).save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(back.predictions, whole.predictions)
    np.testing.assert_array_equal(back.loss, whole.loss)
    np.testing.assert_array_equal(back.spectra["a"], whole.spectra["a"])
    assert back.outputs is None
    if keep == "predictions":
        assert back.top is None
    else:
        for name in Top._fields:
            np.testing.assert_array_equal(getattr(back.top, name), getattr(less.top, name))


def test_ten_thousand_examples_of_a_thousand_classes_take_less_than_five_megabytes(tmp_path):
    outputs = np.random.default_rng(0).standard_normal((1, 10_000, 1000), np.float32)
    labels = np.arange(10_000) % 1000
    whole = Recording([0], outputs, labels)
    sizes = {keep: compact(whole, keep).save(tmp_path / f"{keep}.npz").stat().st_size for keep in ("predictions", 5)}
    assert sizes["predictions"] < 0.2e6
    assert sizes[5] < 0.5e6


def test_outputs_that_are_not_finite_stay_trouble():
    outputs = np.zeros((2, 3, 4))
    outputs[1, 2, 3] = np.nan
    less = compact(Recording([0, 1], outputs, [0, 1, 2]), 2)
    assert less.trouble is not None
    assert less.trouble.step == 1


@pytest.mark.parametrize("keep", ["all", 1, 0, True, 2.5])
def test_what_cannot_be_kept_is_refused(keep):
    with pytest.raises(ValueError, match="keep must be 'outputs', 'predictions' or a number"):
        compact(a_record(), keep)


def test_what_has_no_classes_cannot_be_made_less():
    with pytest.raises(ValueError, match="keep must be 'outputs' where these do not choose"):
        compact(Recording([0], np.zeros((1, 3, 2)), np.zeros((3, 2))), 2)
    with pytest.raises(ValueError, match="keep must be 'outputs' where these do not choose"):
        compact(Recording([0], np.zeros((1, 3)), [0, 1, 1]), "predictions")


@pytest.mark.parametrize(
    ("top", "message"),
    [
        (Top(np.zeros((1, 3, 2), int), np.zeros((1, 3, 3))), "top must hold classes and values"),
        (Top(np.zeros((1, 3, 2)), np.zeros((1, 3, 2))), "whole numbers from 0"),
        (Top(np.zeros((1, 3, 2), int), np.zeros((1, 3, 2)), np.zeros(3)), "one labelled output"),
    ],
)
def test_a_top_that_does_not_fit_is_refused(top, message):
    with pytest.raises(ValueError, match=message):
        Recording([0], top=top)
    with pytest.raises(ValueError, match="two outputs and that of the label"):
        rec.mean_margin(Recording([1], top=largest(np.zeros((1, 3, 2)), 2), labels=[0, 1, 1]))
