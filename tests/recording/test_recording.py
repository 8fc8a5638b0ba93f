"""Recordings of plain arrays: checks, files, and analyses against their formulas."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineament import recording as rec
from lineament.recording import Recording, join, store


def random_recording(seed=0, T=6, n=30, k=3, inputs=4, **others):
    rng = np.random.default_rng(seed)
    given = {
        "loss": [None, *rng.uniform(size=T - 1)],
        "spectra": {"a.b": np.sort(rng.uniform(size=(T, 5)))[:, ::-1], "c/d": rng.uniform(size=(T, 1))},
        "unbalancedness": {"a → b": rng.uniform(size=T)},
        "gradients": {"w": [np.nan, *rng.uniform(size=T - 1)], "v": [np.nan, *rng.uniform(size=T - 1)]},
        "linearised": rng.standard_normal((T, n, k)),
        "seconds": np.full(T, 0.1),
        "between": [np.nan, *np.full(T - 1, 2.0)],
        "about": {"model": "Net"},
    }
    X = rng.standard_normal((n, inputs)) * [3, 2, 1, 0.5]
    steps = np.arange(T)
    return Recording(steps, rng.standard_normal((T, n, k)), rng.integers(k, size=n), X, **given | others)


def assert_same(a, b):
    for name in (*store._ARRAYS, "about"):
        np.testing.assert_equal(getattr(a, name), getattr(b, name), err_msg=name)
    for kind in store._COURSES:
        assert getattr(a, kind).keys() == getattr(b, kind).keys()
        for name, course in getattr(a, kind).items():
            np.testing.assert_array_equal(course, getattr(b, kind)[name])


def test_a_recording_survives_the_disk(tmp_path):
    made = random_recording()
    assert_same(made, Recording.load(made.save(tmp_path / "run.npz")))
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]


def test_predictions_alone_survive_the_disk(tmp_path):
    made = Recording([1, 2], predictions=[[0, 1], [1, 1]], labels=[1, 1])
    back = Recording.load(made.save(tmp_path / "run.npz"))
    assert_same(made, back)
    np.testing.assert_array_equal(back.error, [0.5, 0])


@settings(max_examples=20)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4))
def test_stretches_join_to_the_whole(cuts):
    whole = random_recording(T=8)
    bounds = np.unique(np.clip(np.cumsum(cuts), 0, 8))
    parts = [whole[a:b] for a, b in zip([0, *bounds], [*bounds, 8], strict=True) if a < b]
    assert_same(join(parts), whole)


def test_joining_fills_layers_that_come_late_or_shrink():
    first = Recording([0], np.zeros((1, 2, 1)), spectra={"a": [[3.0, 2.0, 1.0]]})
    second = Recording([1], np.zeros((1, 2, 1)), spectra={"a": [[4.0]], "b": [[5.0]]})
    both = join([first, second])
    np.testing.assert_array_equal(both.spectra["a"], [[3, 2, 1], [4, np.nan, np.nan]])
    np.testing.assert_array_equal(both.spectra["b"], [[np.nan], [5]])
    with pytest.raises(ValueError, match="outputs must keep the shape"):
        join([first, Recording([1], np.zeros((1, 3, 1)))])


def test_a_growing_folder_keeps_what_is_before_a_rewind(tmp_path):
    whole = random_recording(T=7)
    for number, (a, b) in enumerate(((0, 2), (2, 5), (5, 7))):
        store.append(tmp_path, whole[a:b], number)
    assert_same(Recording.load(tmp_path), whole)
    assert store.rewind(tmp_path, 3) == 2
    assert_same(Recording.load(tmp_path), whole[:3])
    store.append(tmp_path, whole[3:], 2)
    assert_same(Recording.load(tmp_path), whole)
    store.rewind(tmp_path, 0)
    with pytest.raises(ValueError, match="holds no recording"):
        Recording.load(tmp_path)


def test_a_crash_while_writing_leaves_the_old_file(tmp_path, monkeypatch):
    old = random_recording(0)
    path = old.save(tmp_path / "run.npz")

    def dies(file, **_):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez", dies)
    with pytest.raises(KeyboardInterrupt):
        random_recording(1).save(path)
    assert_same(Recording.load(path), old)
    assert len(list(tmp_path.iterdir())) == 1


def test_a_stretch_lost_in_between_ends_the_recording(tmp_path):
    whole = random_recording(T=6)
    for a in range(6):
        store.append(tmp_path, whole[a : a + 1], a)
    (tmp_path / "000003.npz").unlink()
    with pytest.warns(UserWarning, match=r"lacks 000003\.npz: 2 later files cannot be joined"):
        assert len(Recording.load(tmp_path)) == 3


def test_what_is_no_recording_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"missing\.npz' is no recording"):
        Recording.load(tmp_path / "missing.npz")
    (tmp_path / "text.npz").write_text("no zip")
    with pytest.raises(ValueError, match=r"text\.npz' is no recording"):
        Recording.load(tmp_path / "text.npz")
    whole = random_recording().save(tmp_path / "cut.npz")
    whole.write_bytes(whole.read_bytes()[:-200])
    with pytest.raises(ValueError, match=r"cut\.npz' is no recording"):
        Recording.load(whole)


def test_an_unwritable_path_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(store.UnwritableError, match=r"cannot write the recording to .*file/run\.npz"):
        random_recording().save(tmp_path / "file" / "run.npz")
    with pytest.raises(ValueError, match="cannot write the recording"):
        store.prepared(tmp_path / "file" / "folder")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": [0, 0]}, "steps must be rising"),
        ({"steps": [0, np.nan]}, "steps must be rising"),
        ({"outputs": None}, "one of outputs, predictions and top"),
        ({"predictions": np.zeros((2, 3), int)}, "one of outputs, predictions and top"),
        ({"outputs": np.zeros((3, 3, 2))}, "outputs must be"),
        ({"outputs": None, "predictions": np.zeros((2, 3))}, "predictions must be whole numbers"),
        ({"labels": [0, 1]}, "labels must be one per probe example, 3"),
        ({"labels": [0, 1, 2]}, "classes from 0 to 1; got 0 to 2"),
        ({"labels": [0.5, 1, 2]}, "finite targets of shape"),
        ({"inputs": np.zeros((2, 5))}, "inputs must hold the 3"),
        ({"loss": [1.0]}, "loss must have one entry for each of the 2"),
        ({"spectra": {"a": [1.0, 2.0]}}, r"spectra\['a'\] must have 2"),
        ({"gradients": {"a": [1.0]}}, r"gradients\['a'\] must have 1"),
        ({"linearised": np.zeros((2, 3, 1))}, "linearised must have the shape of outputs"),
    ],
)
def test_bad_arrays_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Recording(**{"steps": [0, 1], "outputs": np.zeros((2, 3, 2)), **change})


def test_one_output_means_two_classes_or_a_target():
    outputs = np.array([[-1.0, 2.0, 3.0], [1.0, 2.0, -3.0]])
    two = Recording([0, 1], outputs, [False, True, True])
    np.testing.assert_array_equal(two.correct, [[True, True, True], [False, True, False]])
    real = Recording([0, 1], outputs, [0, 1, 2])
    assert real.predictions is None
    np.testing.assert_allclose(real.error, np.mean((outputs - [0, 1, 2]) ** 2, axis=1))
    with pytest.raises(ValueError, match="labels must be classes"):
        rec.accessibility(real)


def test_trouble_is_the_first_record_that_is_not_finite():
    outputs = np.zeros((4, 2, 2))
    outputs[3] = np.nan
    assert str(Recording([0, 1, 2, 5], outputs).trouble).startswith(
        "the outputs on the probe inputs are not finite at step 5"
    )
    made = Recording([0, 1, 2, 5], outputs, loss=[None, 1.0, np.nan, np.inf])
    assert made.trouble is not None
    assert made.trouble[:2] == (2, 2.0)
    assert str(made.trouble).startswith("the loss is nan at step 2: try a smaller step size")
    np.testing.assert_array_equal(made.sound.steps, [0, 1])
    with pytest.raises(ValueError, match="nothing can be said of this recording: the loss is nan at step 0"):
        _ = Recording([0], outputs[:1], loss=[np.nan]).sound


def test_overhead_is_time_in_over_time_between():
    made = Recording([0, 1, 2], np.zeros((3, 1, 1)), seconds=[9.0, 0.5, 0.1], between=[np.nan, 2, 4])
    assert made.overhead == pytest.approx(0.1)
    assert np.isnan(Recording([0], np.zeros((1, 1, 1))).overhead)


def test_gradient_norm_is_that_of_all_parameters():
    made = random_recording()
    expected = np.sqrt(made.gradients["w"] ** 2 + made.gradients["v"] ** 2)
    np.testing.assert_allclose(made.gradient_norm, expected)
    assert np.isnan(made.gradient_norm[0])


def test_order_by_its_definition():
    predictions = np.array([[9, 9, 0, 0], [1, 9, 1, 9], [1, 1, 9, 9], [1, 1, 1, 9]])
    made = Recording([0, 10, 20, 30], predictions=predictions, labels=[1, 1, 1, 0])
    np.testing.assert_allclose(rec.accessibility(made), [1, 2 / 3, 2 / 3, 0])  # the untrained network does not count
    np.testing.assert_array_equal(rec.learning_step(made), [10, 20, 30, np.nan])
    np.testing.assert_array_equal(rec.learning_order(made), [0, 1, 2, 3])
    with pytest.raises(ValueError, match="at least one sound record after step 0"):
        rec.accessibility(made[:1])


def test_ranks_by_their_definition():
    s = np.array([[3.0, 1.0, 0.0], [2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [5.0, np.nan, np.nan], [np.nan] * 3])
    found = rec.ranks(Recording(range(5), np.zeros((5, 1, 1)), spectra={"a": s}))["a"]
    p = np.array([0.75, 0.25])
    np.testing.assert_allclose(found.effective, [np.exp(-np.sum(p * np.log(p))), 3, 0, 1, np.nan])
    np.testing.assert_allclose(found.stable, [10 / 9, 3, 0, 1, np.nan])


def linear_run(T=50, n=200, seed=0, rate=0.2):
    """Gradient descent on a linear model from zero, whose j-th principal component is learnt at rate λ_j."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5)) @ np.diag([3, 2, 1.4, 1, 0.7])
    X = X - X.mean(axis=0)
    Y = X @ rng.standard_normal((5, 2))
    W, outputs = np.zeros((5, 2)), []
    for _ in range(T):
        outputs.append(X @ W)
        W = W - rate / n * X.T @ (X @ W - Y)
    return Recording(np.arange(T), outputs, Y, X)


def test_pc_bias_of_linear_descent_is_the_closed_form():
    """(1 − (1 − ηλ_j)^t)/(1 − (1 − ηλ_j)^T): each component alone, whatever the others do."""
    made = linear_run(rate=0.05)
    found = rec.pc_bias(made)
    gone = 1 - (1 - 0.05 * found.variances) ** made.steps[:, None]
    np.testing.assert_allclose(found.progress, gone / gone[-1], atol=1e-10)
    assert (np.diff(found.half) > 0).all()
    assert found.spearman == pytest.approx(1)
    centred = made.inputs - made.inputs.mean(axis=0)
    np.testing.assert_allclose(found.variances, np.linalg.svd(centred, compute_uv=False) ** 2 / len(centred))


def test_pc_bias_needs_what_it_needs():
    made = linear_run(T=5)
    for lacking, message in (
        (made[:1], "at least two sound records"),
        (Recording(made.steps, made.outputs), "inputs must have been recorded"),
        (Recording([0, 1], predictions=[[0], [1]], inputs=[[1.0]]), "all outputs must have been recorded"),
    ):
        with pytest.raises(ValueError, match=message):
            rec.pc_bias(lacking)
    with pytest.raises(ValueError, match="components must be a whole number of at least 1"):
        rec.pc_bias(made, components=0)


def test_pc_bias_without_change_is_not_a_number():
    found = rec.pc_bias(Recording([0, 1], np.ones((2, 9, 1)), inputs=np.random.default_rng(0).standard_normal((9, 2))))
    assert np.isnan(found.progress).all()
    assert np.isnan(found.half).all()
    assert np.isnan(found.spearman)


def test_a_linear_network_never_leaves_the_linear_phase():
    phase = rec.linear_phase(linear_run())
    assert phase.end == np.inf
    assert phase.gap.max() < 1e-24


def test_the_gap_is_the_residual_of_least_squares():
    made = random_recording(T=5, n=40)
    f = made.outputs - made.outputs[0]
    A = np.column_stack([made.inputs, np.ones(40)])
    rest = np.array([np.sum((g - A @ np.linalg.lstsq(A, g, rcond=None)[0]) ** 2) for g in f])
    largest = max(np.var(g, axis=0).sum() for g in f)
    np.testing.assert_allclose(rec.linear_phase(made).gap, rest / (40 - 5) / largest)


def test_the_linear_phase_ends_where_a_bend_sets_in():
    """f_t = t·x + (t/T)⁴·T·c·(x² − …): the gap grows as t⁸ and crosses 2 % at a step that follows from it."""
    x = np.linspace(-1, 1, 101)
    bend = x**2 - np.mean(x**2)
    t = np.arange(101.0)
    made = Recording(t, t[:, None] * x + (t[:, None] / 100) ** 4 * 100 * bend, inputs=x[:, None])
    phase = rec.linear_phase(made)
    share = np.mean(bend**2) / (np.mean(x**2) + np.mean(bend**2)) / (1 - 2 / 101)
    np.testing.assert_allclose(phase.gap, share * (t / 100) ** 8, atol=1e-12)
    assert phase.end == pytest.approx(100 * (0.02 / share) ** (1 / 8), rel=1e-3)
    assert phase.at_half < phase.end < phase.at_double


def test_the_linear_phase_against_linearisation_and_given_twins():
    t = np.arange(5.0)
    f = (t + 0.05 * t**2)[:, None] * np.array([1.0, -2.0])
    made = Recording(t, f + 7, linearised=t[:, None] * np.array([1.0, -2.0]) + 7)
    phase = rec.linear_phase(made, "linearisation")
    np.testing.assert_allclose(phase.gap, (0.05 * t**2) ** 2 / (4.8**2))
    given = rec.linear_phase(made, made.linearised, scale=1.0)
    np.testing.assert_allclose(given.gap, 2.5 * (0.05 * t**2) ** 2)


def test_the_linear_phase_refuses_what_it_cannot_tell():
    made = random_recording(n=5)
    with pytest.raises(ValueError, match="more than 5 probe examples are needed"):
        rec.linear_phase(made)
    with pytest.raises(ValueError, match="ask the recorder for linearise=True"):
        rec.linear_phase(random_recording(linearised=None), "linearisation")
    with pytest.raises(ValueError, match="against must be"):
        rec.linear_phase(random_recording(), "twin")
    with pytest.raises(ValueError, match="they are the same at every record"):
        rec.linear_phase(Recording([0, 1], np.ones((2, 30, 2)), inputs=random_recording().inputs))


def test_recording_needs_no_framework():
    code = "import sys, lineament.recording; assert not {'torch', 'jax', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_was_learnt_along_each_component_is_a_mean_square_of_outputs():
    made = linear_run(rate=0.05)
    found = rec.pc_bias(made)
    centred = made.inputs - made.inputs.mean(axis=0)
    left = np.linalg.svd(centred, full_matrices=False)[0] * np.sqrt(len(centred))
    change = made.outputs[-1] - made.outputs[0]
    parts = left.T @ change / len(change)
    np.testing.assert_allclose(found.learnt, np.sum(parts**2, axis=1), rtol=1e-10)
    # Linear outputs without an offset change along these components alone: Parseval.
    assert found.learnt.sum() == pytest.approx(np.mean(np.sum((change - change.mean(0)) ** 2, axis=1)))
