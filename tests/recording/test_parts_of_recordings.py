"""A recorder that is stopped, resumed and refused, and small parts of what is read off what it kept: arrays alone."""

import os
import stat
import warnings
from importlib import import_module
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lineament import recording as rec
from lineament.recording import Recorder, Recording, join, keeper, lock, recorder, store
from lineament.recording.growing import Growing, width
from lineament.recording.keeper import Keeper
from lineament.recording.top import Top

# The package has functions of these names.
advice, phase, scores = (import_module(f"lineament.recording.{name}") for name in ("advice", "phase", "scores"))
LABELS = [0, 1, 1]


def says(step, outputs=2):
    """What a network gives for three examples."""
    return np.arange(1.0, 3.0 * outputs + 1).reshape(3, outputs) * (step + 1)


def recorded(path, steps, **options):
    made = Recorder(probe_labels=LABELS, path=path, **options)
    for step in steps:
        made(says(step), step)
    return made


# ---------------------------------------------------------------------------------------------------------
# Time, and training that goes on


def test_time_is_spent_where_it_is_counted(monkeypatch, tmp_path):
    """By a clock that is told what to say: at the begin of a record, at its end, before and after it is written."""
    ticks = iter([10.0, 11.0, 12.0, 15.0, 25.0, 27.0, 28.0, 29.0, 49.0, 50.0, 51.0, 51.5])
    monkeypatch.setattr(keeper, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    made = recorded(tmp_path, [])
    for step, overhead in ((0, np.nan), (1, 5 / 10), (2, 7 / 30)):
        made(says(step), step)
        assert_allclose(made.overhead, overhead, rtol=1e-12)
    # What writing a record took is told with the next one.
    assert_allclose(made.recording.seconds, [1.0, 2.0 + 3.0, 1.0 + 1.0], rtol=1e-12)
    assert_allclose(made.recording.between, [np.nan, 10.0, 20.0], rtol=1e-12)


def test_steps_are_finite_and_rise():
    made = recorded(None, [3])
    assert made.last_step == 3.0
    for bad in (3, 2.5, np.inf, np.nan):
        with pytest.raises(ValueError, match="step must be"):
            made(says(0), bad)
    with pytest.raises(ValueError, match=r"got 3 after 3$"):
        made(says(0), 3)
    with pytest.raises(ValueError, match=r"got inf after -inf$"):
        recorded(None, [np.inf])
    assert Recorder().last_step is None


def test_trouble_is_told_once_and_recording_goes_on():
    made = recorded(None, [0])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for step in (1, 2):
            made(says(step) * np.nan, step)
    assert [str(one.message).endswith("Recording goes on") for one in told] == [True]
    assert len(made.recording) == 3


@pytest.mark.parametrize(("interval", "files"), [(1, 5), (2, 2), (3, 1), (7, 0)])
def test_so_many_records_make_a_file_and_the_rest_is_written_at_the_end(tmp_path, interval, files):
    with recorded(tmp_path, range(5), interval=interval) as made:
        assert len(store.stretches(tmp_path)) == files
        assert_array_equal(made.recording.steps, range(5))
    assert len(store.stretches(tmp_path)) == files + (5 % interval > 0)
    assert_array_equal(Recording.load(tmp_path).steps, range(5))


def test_what_was_recorded_is_written_when_asked(tmp_path):
    made = recorded(tmp_path, [0, 1], interval=10)
    made.flush()
    assert_array_equal(Recording.load(tmp_path).steps, [0, 1])
    made.flush()  # nothing is left to write
    assert len(store.stretches(tmp_path)) == 1


# ---------------------------------------------------------------------------------------------------------
# A run that is resumed


@pytest.mark.parametrize("interval", [1, 2, 3])
def test_a_resumed_run_forgets_what_its_first_step_takes_over(tmp_path, interval):
    recorded(tmp_path, range(6), interval=interval).close()
    again = Recorder(probe_labels=LABELS, path=tmp_path, interval=interval, resume=True)
    assert again.last_step == 5
    again(10 * says(3), 3)
    assert again.last_step == 3
    with pytest.raises(ValueError, match="step must be finite and larger at each call; got 2 after 3"):
        again(says(2), 2)  # only the first call may go back
    again(says(8), 8)
    again.close()
    held = Recording.load(tmp_path)
    assert_array_equal(held.steps, [0, 1, 2, 3, 8])
    assert_array_equal(held.outputs[3], 10 * says(3))
    assert_array_equal(held.outputs[2], says(2))


def test_a_resumed_run_may_go_on_or_begin_anew(tmp_path):
    for step, left in ((9, [0, 1, 2, 9]), (-1, [-1])):
        folder = tmp_path / str(step)
        recorded(folder, range(3)).close()
        with Recorder(probe_labels=LABELS, path=folder, resume=True) as again:
            again(says(0), step)
        assert_array_equal(Recording.load(folder).steps, left)


def test_a_rewind_looks_at_what_is_in_memory_and_on_the_disk(tmp_path):
    growing = Growing(tmp_path, interval=2)
    growing.begin()
    for step in range(5):
        growing.add(Recording([step], says(step)[None], LABELS))
        growing.write_if_due()
    assert (len(store.stretches(tmp_path)), growing.last) == (2, 4.0)
    for step, last, files in ((4, 3.0, 2), (3, 2.0, 2), (2, 1.0, 1), (0, None, 0)):
        growing.rewind(step)
        assert (growing.last, len(store.stretches(tmp_path))) == (last, files)
    memory = Growing(None)
    for step in range(4):
        memory.add(Recording([step], says(step)[None], LABELS))
    memory.rewind(2)
    assert (memory.last, memory.read().steps.tolist()) == (1.0, [0.0, 1.0])


def test_a_recording_of_something_else_is_not_resumed(tmp_path):
    X = np.ones((3, 2))
    Recorder(X, LABELS, path=tmp_path).close()
    with Recorder(X, LABELS, path=tmp_path, keep=2) as made:
        made(says(0, 4), 0)
    for given, options, said in (
        ((X, [0, 1, 0]), {"keep": 2}, "probe_labels must be those of the recording"),
        ((X, None), {"keep": 2}, "probe_labels must be those of the recording"),
        ((2 * X, LABELS), {"keep": 2}, "probe_inputs must be those of the recording"),
        ((None, LABELS), {"keep": 2}, "probe_inputs must be those of the recording"),
        ((X, LABELS), {"keep": 3}, "keep must be 2, as in the recording; got 3"),
        ((X, LABELS), {}, "keep must be 2, as in the recording; got 'outputs'"),
        ((X, LABELS), {"keep": "predictions"}, "keep must be 2, as in the recording; got 'predictions'"),
    ):
        with pytest.raises(ValueError, match=said):
            Recorder(*given, path=tmp_path, resume=True, **options)
    # Whoever was refused has given the folder back.
    Recorder(X, LABELS, path=tmp_path, resume=True, keep=2).close()


@pytest.mark.parametrize("keep", ["outputs", "predictions"])
def test_as_much_is_kept_as_before(tmp_path, keep):
    recorded(tmp_path, [0], keep=keep).close()
    recorded(tmp_path, [], keep=keep, resume=True).close()
    with pytest.raises(ValueError, match=f"keep must be '{keep}', as in the recording; got 2"):
        recorded(tmp_path, [], keep=2, resume=True)
    assert (Recording.load(tmp_path).outputs is None) == (keep == "predictions")


def test_a_linearisation_is_of_all_outputs_and_resumed_as_one(tmp_path):
    def opened(path, **options):
        return Keeper(
            None, None, path=path, interval=1, linearise=True, **{"keep": "outputs", "resume": False} | options
        )

    with pytest.raises(ValueError, match="keep must be 'outputs' with linearise=True"):
        opened(None, keep=2)
    store.append(store.prepared(tmp_path / "with"), Recording([0], says(0)[None], linearised=says(1)[None]), 0)
    store.append(store.prepared(tmp_path / "without"), Recording([0], says(0)[None]), 0)
    opened(tmp_path / "with", resume=True).close()
    with pytest.raises(ValueError, match="linearise must be False, as in the recording; got True"):
        opened(tmp_path / "without", resume=True)
    with pytest.raises(ValueError, match="linearise must be True, as in the recording; got False"):
        Keeper(None, None, path=tmp_path / "with", interval=1, resume=True, keep="outputs")


def test_a_folder_is_begun_or_resumed(tmp_path):
    recorded(tmp_path, range(3)).close()
    with pytest.raises(ValueError, match=r"path must be a folder without a recording; got .* go on with resume=True"):
        recorded(tmp_path, [])
    (tmp_path / store.name(1)).unlink()
    with pytest.raises(ValueError, match=r"needs a recording without gaps; .* lacks 000001\.npz"):
        recorded(tmp_path, [], resume=True)
    for path in (None, tmp_path / "empty"):
        with pytest.raises(ValueError, match="resume=True needs a path that holds a recording"):
            recorded(path, [], resume=True)
    with pytest.raises(ValueError, match="nothing was recorded yet"):
        _ = Recorder().recording


def test_a_model_keeps_the_number_of_its_outputs(tmp_path):
    made = recorded(tmp_path, [0])
    with pytest.raises(ValueError, match="model must keep the number of its outputs, 2; got 3 at step 1"):
        made(says(0, 3), 1)
    made.close()
    again = recorded(tmp_path, [], resume=True)
    with pytest.raises(ValueError, match="model must keep the number of its outputs, 2; got 3 at step 1"):
        again(says(0, 3), 1)
    top = Top(np.zeros((1, 3, 4), int), np.zeros((1, 3, 4)))
    assert width(Recording([0], top=top)) == 4
    assert width(Recording([0], predictions=[[0, 1, 1]])) is None


def test_the_lock_is_of_the_folder_and_given_back(tmp_path):
    first = lock.Lock(tmp_path)
    second = lock.Lock(tmp_path)
    assert (first.taken_over, first.held, second.held) == (True, False, True)
    second.release()
    second.release()
    assert not second.held
    third = lock.Lock(tmp_path)
    assert (second.taken_over, third.held) == (False, True)
    (tmp_path / "other").mkdir()
    fourth = lock.Lock(tmp_path / "other")
    assert third.held
    assert fourth.held
    assert stat.S_IMODE(os.stat(tmp_path / lock.NAME).st_mode) == 0o644 & ~store._umask()


# ---------------------------------------------------------------------------------------------------------
# Files


def test_whole_numbers_are_held_by_a_small_type():
    for values, dtype in (([0, 255], np.uint8), ([0, 256], np.uint16), ([-3, -1], np.int8), ([-1, 200], np.int16)):
        found = store._small(np.array(values, np.int64))
        assert found.dtype == dtype
        assert_array_equal(found, values)


def test_files_are_numbered_and_read_by_anyone_who_may(tmp_path):
    assert [store.name(k) for k in (0, 12, 1234567)] == ["000000.npz", "000012.npz", "1234567.npz"]
    path = Recording([0], says(0)[None]).save(tmp_path / "run.npz")
    before = os.umask(0o027)
    try:
        other = Recording([0], says(0)[None]).save(tmp_path / "other.npz")
        assert store._umask() == 0o027
        assert store._umask() == 0o027, "asking leaves it as it was"
    finally:
        os.umask(before)
    assert stat.S_IMODE(other.stat().st_mode) == 0o640
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~before
    for name in ("000000.npz", "000001.npz", "000003.npz", "1a.npz"):
        (tmp_path / name).touch()
    assert sorted(store.numbered(tmp_path)) == [0, 1, 3]
    assert [file.name for file in store.stretches(tmp_path)] == ["000000.npz", "000001.npz"]


def test_only_the_first_stretch_holds_labels_and_inputs(tmp_path):
    whole = Recording([0, 1], np.stack([says(0), says(1)]), LABELS, np.eye(3))
    for number in (0, 1):
        held = store.read_file(store.append(tmp_path, whole[number : number + 1], number))
        assert (held.labels is None, held.inputs is None) == (number > 0, number > 0)


def test_another_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "FORMAT", 7)
    path = Recording([0], says(0)[None], about={"model": "Net"}).save(tmp_path / "run.npz")
    assert Recording.load(path).about == {"model": "Net"}
    monkeypatch.setattr(store, "FORMAT", 1)
    with pytest.raises(ValueError, match=r"run\.npz' is no recording that can be read: it was written by another"):
        Recording.load(path)
    assert np.load(Recording([0], says(0)[None]).save(path))["about"].item() == '{"format": 1}'


# ---------------------------------------------------------------------------------------------------------
# What is read off a recording


def test_a_recording_is_told_in_a_line():
    made = Recording([0, 2.5], np.zeros((2, 3, 2)), spectra={"W": np.ones((2, 2))})
    assert repr(made) == "Recording(2 records, steps 0 to 2.5, 3 examples, 1 layer)"
    assert repr(made[:0]) == "Recording(0 records, no steps, 3 examples, 1 layer)"


def test_errors_of_classes_and_of_targets():
    outputs = np.array([[[1.0, 2.0], [4.0, 3.0]], [[3.0, 2.0], [4.0, 3.0]]])
    assert_allclose(Recording([0, 1], outputs, [0, 0]).error, [0.5, 0.0])
    targets = np.array([[1.0, 1.0], [4.0, 1.0]])
    assert_allclose(Recording([0, 1], outputs, targets).error, [(0 + 1 + 0 + 4) / 4, (4 + 1 + 0 + 4) / 4])
    with pytest.raises(ValueError, match=r"labels must be classes, .*; none were given"):
        _ = Recording([0, 1], outputs).error
    with pytest.raises(ValueError, match=r"labels must be classes, .*; got real targets of shape \(2, 2\)"):
        _ = Recording([0, 1], outputs, targets).correct


def test_what_has_no_gradient_and_what_was_not_measured_is_no_number():
    outputs = np.zeros((3, 1, 1))
    assert np.isnan(Recording([0, 1, 2], outputs).gradient_norm).all()
    some = Recording([0, 1, 2], outputs, gradients={"a": [np.nan, 3.0, np.nan], "b": [np.nan, 4.0, 2.0]})
    assert_allclose(some.gradient_norm, [np.nan, 5.0, 2.0])
    times = {"seconds": [1.0, np.nan, 2.0], "between": [np.nan, 1.0, 8.0]}
    assert Recording([0, 1, 2], outputs, **times).overhead == 0.25
    assert np.isnan(Recording([0, 1, 2], outputs, seconds=[1.0] * 3, between=[0.0] * 3).overhead)


def test_a_loss_that_was_not_reported_is_no_trouble():
    outputs = np.zeros((3, 1, 2))
    assert Recording([0, 1, 2], outputs, loss=[None, 1.0, None]).trouble is None
    assert Recording([0, 1, 2], outputs, loss=[None, 1.0, np.inf]).trouble[:2] == (2, 2.0)
    made = Recording([0, 1, 2], outputs, loss=[None, 1.0, 2.0])
    assert made[1:]._told == [1.0, 2.0]
    assert join([made[:1], made[1:]])._told == [None, 1.0, 2.0]
    with pytest.raises(ValueError, match="take a stretch of a recording"):
        made[1]


def test_tops_are_joined_with_the_labelled_outputs_that_all_have():
    tops = [Top(np.full((1, 3, 2), k), np.full((1, 3, 2), 1.0 * k), np.full((1, 3), 2.0 * k)) for k in (0, 1)]
    both = join([Recording([k], top=top) for k, top in enumerate(tops)])
    assert_array_equal(both.top.classes, np.concatenate([top.classes for top in tops]))
    assert_array_equal(both.top.labelled, np.concatenate([top.labelled for top in tops]))
    some = join([Recording([0], top=tops[0]), Recording([1], top=tops[1]._replace(labelled=None))])
    assert some.top.labelled is None
    assert_array_equal(some.top.values, both.top.values)
    for parts in ([], [3], 3, np.ones(2)):
        with pytest.raises(ValueError, match="parts must hold at least one recording, and nothing else"):
            join(parts)
    two, three = (Recording([k], predictions=np.zeros((1, k + 2), int)) for k in (0, 1))
    with pytest.raises(
        ValueError, match=r"predictions must keep the shape \(2,\) that they have at step 0; got \(3,\) at"
    ):
        join([two, three])


def test_parameters_are_read_by_their_places():
    tree = {"a": [np.ones((2, 3), np.float32), np.zeros(2)], "b": {"c": 2.0, "d": "text"}}
    found = recorder.named(tree)
    assert list(found) == ["a.0", "a.1", "b.c"]
    assert [array.dtype for array in found.values()] == [np.float32, np.float64, np.float64]
    halves = {"half": np.ones(2, np.float16), "brain": jnp.ones(2, jnp.bfloat16), "long": np.ones(2, np.longdouble)}
    assert [array.dtype for array in recorder.named(halves).values()] == [np.float32, np.float32, np.float64]
    assert recorder.named({"whole": np.array([2**53 - 1])})["whole"] == 2**53 - 1
    assert recorder.named(None) == {}
    assert recorder.named({"w": 3, "v": 4.5})["v"] == 4.5
    s = recorder.singular_values({"W": np.diag([2.0, 5.0]), "empty": np.zeros((0, 3)), "b": np.ones(4)})
    assert list(s) == ["W"]
    assert_allclose(s["W"], [5.0, 2.0])
    edge = np.zeros((recorder.LONGEST, 1))
    edge[:3] = 2.0
    assert_allclose(recorder.singular_values({"W": edge})["W"], [np.sqrt(12)])
    assert recorder.LONGEST == 16_384
    assert recorder.singular_values({"W": np.full((2, 5), np.inf)})["W"].shape == (2,)


@pytest.mark.parametrize("shape", [(17, 17), (40, 23), (23, 40), (recorder.SMALL, 99), (90, 18)])
def test_singular_values_are_as_precise_as_the_weight(shape):
    rng, m = np.random.default_rng(0), min(shape)
    U, V = (np.linalg.qr(rng.standard_normal((n, m)))[0] for n in shape)
    W = U * np.geomspace(3e4, 3e-8, m) @ V.T  # condition 1e12: of single precision the last are rounding
    assert_allclose(recorder.singular_values({"W": W})["W"], np.geomspace(3e4, 3e-8, m), rtol=1e-3)
    single = W.astype(np.float32)
    found = recorder.singular_values({"W": single})["W"]
    truth = np.linalg.svd(single.astype(np.float64), compute_uv=False)
    assert_allclose(found, truth, rtol=0, atol=1e-7 * truth[0])
    assert_allclose(found[: m // 4], truth[: m // 4], rtol=1e-9)
    assert np.all(np.diff(found) <= 0)


def test_outputs_are_rows_in_single_precision_at_least():
    for given, dtype in (
        (np.float64, np.float64),
        (np.float32, np.float32),
        (np.float16, np.float32),
        (int, np.float32),
    ):
        found = recorder._rows(np.arange(3).astype(given))
        assert (found.dtype, found.shape) == (dtype, (3, 1))
    for bad in (np.zeros((3, 0)), 3.0, np.zeros((1, 1, 1))):
        with pytest.raises(ValueError, match=r"the model must return outputs \(example, output\)"):
            recorder._rows(bad)


def test_probe_inputs_are_shown_if_they_are_real_and_asked_for():
    X = np.eye(3)
    for given, options, kept in ((X, {}, True), (X, {"keep_inputs": False}, False), (X.astype(int), {}, False)):
        made = Recorder(given, LABELS, **options)
        made(lambda x: x @ np.ones((3, 2)), 0)
        assert (made.recording.inputs is not None) == kept
    made, sizes = Recorder(X, LABELS, batch=2), []
    made(lambda x: (sizes.append(len(x)), says(0)[: len(x)])[1], 0, 0.5)
    assert sizes == [2, 1]
    made(says(1), 1)
    assert_array_equal(made.recording.loss, [0.5, np.nan])
    named = Recorder(layers=iter(["W"]))
    for step in (0, 1):  # an iterator of names serves every call
        named(says(step), step, parameters={"W": np.eye(2), "V": np.eye(2)})
    assert list(named.recording.spectra) == ["W"]


# ---------------------------------------------------------------------------------------------------------
# Advice


def test_the_first_few_are_named_and_the_rest_counted():
    s = {f"layer{k}": np.array([np.ones(8), np.r_[np.ones(1 + k % 3), np.zeros(7 - k % 3)]]) for k in range(7)}
    text = advice._layers(Recording([0, 1], np.zeros((2, 1, 1)), spectra=s | {"kept": np.ones((2, 3))})).text
    assert "Try fewer parameters in 7 of 8 layers" in text
    # The most collapsed first, in the order of the network among equals.
    assert "layer0 (8 to 1), layer3 (8 to 1), layer6 (8 to 1), layer1 (8 to 2), layer4 (8 to 2) and 2 more" in text
    five = dict(list(s.items())[:5])
    assert (
        "more." not in advice._layers(Recording([0, 1], np.zeros((2, 1, 1)), spectra=five)).text.split("effective")[0]
    )
    assert " more" not in advice._layers(Recording([0, 1], np.zeros((2, 1, 1)), spectra=five)).text.partition("If")[0]


def test_half_of_a_rank_is_no_collapse():
    def said(after, before=8):
        s = np.zeros((2, 8))
        s[0, :before], s[1, :after] = 1.0, 1.0
        return advice._layers(Recording([0, 1], np.zeros((2, 1, 1)), spectra={"": s}))

    assert said(4) is None
    assert "the model (8 to 3)" in said(3).text
    assert said(3, before=0) is None
    assert "the model (8 to 0)" in said(0).text
    assert "the model (1 to 0)" in said(0, before=1).text
    assert advice._layers(Recording([0], np.zeros((1, 1, 1)), spectra={"W": np.ones((1, 4))})) is None


def learnt(labels, begin, T=21):
    """Examples that are right from a step on."""
    right = np.arange(T)[:, None] >= np.asarray(begin)
    labels = np.asarray(labels)
    return Recording(np.arange(T), np.eye(9)[np.where(right, labels, (labels + 1) % 9)], labels)


def test_a_class_is_late_beyond_twice_the_median():
    labels = np.repeat(np.arange(3), 4)
    assert advice._classes(learnt(labels, np.repeat([3, 3, 6], 4))) is None
    assert "2 (half of it right from step 7); half" in advice._classes(learnt(labels, np.repeat([3, 3, 7], 4))).text
    # A class that is right from the first record is as late as that.
    assert advice._classes(learnt(labels, np.repeat([0, 0, 2], 4))) is None
    assert advice._classes(learnt(labels, np.repeat([0, 0, 3], 4))) is not None
    assert advice._classes(learnt(labels, np.repeat([99, 99, 3], 4))) is None
    assert advice._classes(learnt(np.zeros(4, int), [1, 2, 9, 9])) is None
    both = advice._classes(learnt(np.repeat(np.arange(5), 4), np.repeat([2, 2, 2, 8, 9], 4))).text
    assert "classes that come late: 4 (half of it right from step 9), 3 (half of it right from step 8); half" in both
    four = advice._classes(learnt(np.repeat(np.arange(9), 2), np.repeat([1, 1, 1, 1, 1, 5, 6, 7, 8], 2)))
    assert "5 (half of it right from step 5); half" in four.text
    assert four.kind == "classes"


def test_late_is_more_than_twice_as_late_whatever_the_steps_are():
    labels = np.array([0, 1, 2])
    for step, late in ((200, False), (201, True)):
        right = np.array([0, 100, step, 400])[:, None] >= [100, 100, step]
        made = Recording([0, 100, step, 400], predictions=np.where(right, labels, 3), labels=labels)
        assert (advice._classes(made) is not None) == late


def test_of_late_classes_five_are_named():
    labels = np.repeat(np.arange(15), 2)
    for late, end in (
        (5, "14 (most are wrong at the end); half"),
        (7, "12 (most are wrong at the end) and 2 more; half"),
    ):
        right = np.arange(4)[:, None] >= np.where(labels < 15 - late, 1, 99)
        chosen = np.where(right, labels, (labels + 1) % 15)
        assert end in advice._classes(Recording(np.arange(4), predictions=chosen, labels=labels)).text


def margins(values, T=3):
    """Two classes, the first of them the label, ahead by so much."""
    outputs = np.zeros((T, len(values), 2))
    outputs[..., 0] = values
    return Recording(np.arange(1, T + 1), outputs, np.zeros(len(values), int))


def test_labels_are_looked_at_unless_they_are_the_most():
    half = advice._labels(margins([-1.0, 2.0, -3.0, 4.0]))
    assert half.rows == (2, 0), "the farthest first"
    assert "2 of 4 examples" in half.text
    assert "rows 2 (labelled 0, said 1), 0 (labelled 0, said 1)." in half.text
    assert "beginning with row 1 (" in advice._labels(margins([1.0, -1.0, 0.0])).text
    most = advice._labels(margins([-1.0, 2.0, -3.0]))
    assert "for 2 of 3 examples" in most.text
    assert most.rows == ()
    many = advice._labels(margins([-9.0, -8, -7, -6, -5, -4, -3, *range(1, 9)]))
    assert many.rows == tuple(range(7))
    assert many.text.count("labelled") == 5
    assert advice._labels(margins([0.0, 1.0])) is None
    assert advice._labels(Recording([1], np.zeros((1, 2, 2)))) is None


def test_the_step_at_which_a_network_parts_from_a_linear_one_is_told():
    t, x = np.arange(5.0), np.linspace(-1, 1, 9)
    straight = Recording(t, t[:, None] * x, inputs=x[:, None])
    assert "near a linear model of the inputs" in advice._linear(straight).text
    bent = Recording(t, t[:, None] * x + t[:, None] ** 2 * x**2, inputs=x[:, None])
    end = rec.linear_phase(bent).end
    assert advice._linear(bent).text.startswith(f"Trust forecasts by linear theory until step {end:.3g}: there the")
    assert advice._linear(bent).text.endswith("parts from a linear model of the inputs.")
    assert advice._capital("ab c") == "Ab c"


def test_linearised_outputs_are_compared_as_long_as_they_are_known():
    t = np.arange(4.0)
    f = t[:, None, None] * np.ones((1, 3, 1))
    linear = 2 * f
    linear[3:] = np.nan
    found = phase.linear_phase(Recording(t, f, linearised=linear), "linearisation")
    # The gap is that of changes, relative to the largest mean square of what was learnt: 2² at step 2.
    assert_allclose(found.gap, t[:3] ** 2 / 4, rtol=1e-12)
    assert_allclose(phase.linear_phase(Recording(t, f, linearised=2 * f), "linearisation", scale=0.5).gap, 2 * t**2)


# ---------------------------------------------------------------------------------------------------------
# Warnings point at the line that may be changed


def told_here(call):
    """The one warning that a call gives, and whether it points into this file."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        call()
    (one,) = told
    return str(one.message), one.filename == __file__


def test_trouble_and_a_full_disk_are_told_at_the_call_of_the_recorder(tmp_path, monkeypatch):
    made = recorded(None, [0])
    text, here = told_here(lambda: made(says(1) * np.inf, 1))
    assert "not finite at step 1" in text
    assert here
    growing = recorded(tmp_path, [0])
    monkeypatch.setattr(np, "savez", full)
    text, here = told_here(lambda: growing(says(1), 1))
    assert text.endswith("No space left on device. Training and recording go on; writing is tried again later")
    assert here
    other = recorded(tmp_path / "other", [0, 1], interval=9)
    assert told_here(other.close)[1]


def full(*_, **__):
    raise OSError(28, "No space left on device")


def test_a_gap_and_a_folder_without_locks_are_told_where_they_are_met(tmp_path, monkeypatch):
    recorded(tmp_path, range(3)).close()
    (tmp_path / store.name(1)).unlink()
    text, here = told_here(lambda: Recording.load(tmp_path))
    assert "lacks 000001.npz: 1 later file cannot be joined" in text
    assert here
    monkeypatch.setattr(lock.fcntl, "flock", full)
    text, here = told_here(lambda: Recorder(path=tmp_path / "other"))
    assert "is not locked against a second writer: No space left on device" in text
    assert here


def test_without_locks_of_the_system_writers_of_a_process_are_kept_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(lock, "fcntl", None)
    first, second = lock.Lock(tmp_path), lock.Lock(tmp_path)
    assert (first.held, first.taken_over, second.held) == (False, True, True)
    assert (tmp_path / lock.NAME).read_text() == ""


def test_a_second_failure_is_told_again_and_writing_goes_on_as_before(tmp_path, monkeypatch):
    made = recorded(tmp_path, [0, 1], interval=2)
    for begin in (2, 6):
        with monkeypatch.context() as patch:
            patch.setattr(np, "savez", full)
            made(says(begin), begin)
            assert "is tried again later" in told_here(lambda begin=begin: made(says(begin), begin + 1))[0]
        for step in (begin + 2, begin + 3):  # twice as many records make the next trial
            made(says(step), step)
    made(says(10), 10)
    made(says(11), 11)
    assert [len(store.read_file(file)) for file in store.stretches(tmp_path)] == [2, 4, 4, 2]


def test_a_lock_says_who_holds_it_and_nothing_of_who_did(tmp_path):
    (tmp_path / lock.NAME).write_text("process 12345678901234567890 on a machine with a name that is long" * 9)
    held = lock.Lock(tmp_path)
    assert (tmp_path / lock.NAME).read_text() == f"process {os.getpid()} on {lock.socket.gethostname()}\n"
    held.release()


@pytest.mark.parametrize(("step", "left"), [(2, [0, 1, 2]), (1.5, [0, 1, 1.5]), (2.5, [0, 1, 2, 2.5])])
def test_a_run_that_repeats_its_last_step_has_it_once(tmp_path, step, left):
    recorded(tmp_path, range(3)).close()
    with Recorder(probe_labels=LABELS, path=tmp_path, resume=True) as again:
        again(says(9), step)
    held = Recording.load(tmp_path)
    assert held.steps.tolist() == left
    assert_array_equal(held.outputs[-1], says(9))


# ---------------------------------------------------------------------------------------------------------
# Scores at their edges


def test_half_of_the_records_right_is_no_issue():
    predictions = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 0], [1, 1, 0]])
    table = scores.to_frame(Recording(np.arange(5), predictions=predictions, labels=[1, 1, 1])).sort_index()
    assert_allclose(table["accessibility"], [1, 0.75, 0.25])
    half = scores.to_frame(Recording(np.arange(3), predictions=predictions[2:], labels=[1, 1, 0])).sort_index()
    assert_allclose(half["accessibility"], [1, 1, 1])
    split = scores.to_frame(Recording([0, 1, 2], predictions=predictions[[0, 1, 2]], labels=[1, 1, 1])).sort_index()
    assert_allclose(split["accessibility"], [1, 0.5, 0.5])
    assert split["is_label_issue"].tolist() == [False, False, False]
    assert table["is_label_issue"].tolist() == [False, False, True]
    assert_allclose(table["label_quality"], [1, 2 / 3, 1 / 3])


def test_of_several_targets_that_with_the_worst_estimate_is_told(monkeypatch):
    score, spread = np.array([[0.4, 0.601], [0.8, 0.5], [0.51, 0.5]]), np.arange(6.0).reshape(3, 2)
    monkeypatch.setattr(scores, "estimates", lambda recording: (score, spread))
    outputs, targets = np.arange(12.0).reshape(2, 3, 2), -np.arange(6.0).reshape(3, 2)
    table = scores.to_frame(Recording([1, 2], outputs, targets)).sort_index()
    assert table["output"].tolist() == [1, 0, 0]
    assert_allclose(table["estimate"], [0.601, 0.8, 0.51])
    assert_allclose(table["spread"], [1, 2, 4])
    assert_allclose(table["given_label"], [-1, -2, -4])
    assert_allclose(table["predicted_label"], [7, 8, 10])
    assert_allclose(table["label_quality"], [2 / 3, 1 / 3, 1])
    assert "nearness" not in table
    monkeypatch.setattr(scores, "estimates", lambda recording: (score[:, :1], spread[:, :1]))
    # Of 0.4 and 0.595 the latter is nearer to a half.
    score[2, 0] = 0.595
    one = scores.to_frame(Recording([1, 2], outputs[..., :1], targets[:, :1])).sort_index()
    assert "output" not in one
    assert_allclose(one["label_quality"], [2 / 3, 1 / 3, 1])


def test_estimates_need_another_example():
    two = rec.estimates(Recording([1, 2], np.zeros((2, 2)), [0.5, 1.5]))
    assert_allclose(two.score, [[0], [1]])
    with pytest.raises(ValueError, match="of two examples at least"):
        rec.estimates(Recording([1, 2], np.zeros((2, 1)), [0.5]))
    with pytest.raises(ValueError, match="must hold outputs and real targets"):
        rec.estimates(Recording([1, 2], predictions=np.zeros((2, 2), int), labels=[0, 1]))


def test_ten_components_are_looked_at_unless_asked_otherwise():
    rng = np.random.default_rng(0)
    made = Recording([0, 1], rng.normal(size=(2, 20, 2)), inputs=rng.normal(size=(20, 3, 4)))
    assert [len(rec.pc_bias(made, *count).variances) for count in ((), (3,), (99,))] == [10, 3, 12]


ANALYSES = (
    rec.accessibility, rec.advice, rec.estimates, rec.forgetting_events, rec.learning_order, rec.learning_step,
    rec.linear_phase, rec.mean_margin, rec.pc_bias, rec.probabilities, rec.ranks, rec.to_frame, phase.data_linear,
    lambda given: rec.compact(given, 2),
)  # fmt: skip


@pytest.mark.parametrize("analysis", ANALYSES)
def test_what_is_no_recording_is_refused_by_its_name(analysis):
    for bad in (None, {"steps": [0]}, np.ones((2, 3))):
        with pytest.raises(ValueError, match="recording must be a Recording; got"):
            analysis(bad)


def test_what_is_no_recorder_is_refused_by_its_name():
    with pytest.raises(ValueError, match="recorder must be a Recorder; got 3"):
        rec.keras_callback(3)
