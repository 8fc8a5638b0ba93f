"""What training returns: records by name, final parameters as they were given, settings, and files."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import xarray as xr

import lineament as la
from lineament.core import Run

X = np.random.default_rng(0).normal(size=(20, 3))
Y = X @ np.array([[1.0, 0.0], [0.5, -1.0], [0.0, 2.0]])
PROBLEM = la.problems.regression(X, Y)
NET = la.models.DeepLinear((3, 4, 2))
START = la.starts.gaussian(NET, 0, start_scale=0.5)
MEMBERS = la.ensemble(
    lambda key: la.starts.gaussian(NET, key, start_scale=0.5), jax.random.split(jax.random.key(0), 3)
)
RECORD = ("loss", "singular_values", "outputs", "unbalancedness")


def descended(start=START, model=NET, **options):
    return la.descend(
        model, PROBLEM, start, **({"step_size": 0.05, "steps": 40, "every": 10, "record": RECORD} | options)
    )


def test_records_are_read_by_name_and_the_end_has_the_structure_of_the_start():
    run = descended()
    assert isinstance(run.data, xr.Dataset)
    assert run.loss is not None
    assert "loss" in run
    assert "end_to_end" not in run
    assert {"loss", "time", "final", "settings"} <= set(dir(run))
    xr.testing.assert_identical(run.loss, run["loss"])
    np.testing.assert_allclose(run.time, 0.05 * run.step.values)
    assert run.members is None
    assert jax.tree.structure(run.final) == jax.tree.structure(START)
    assert float(PROBLEM.loss(NET.end_to_end(run.final))) == pytest.approx(float(run.loss[-1]), rel=1e-12)
    with pytest.raises(AttributeError, match=r"has no record of the name 'lost'; it has .*loss"):
        _ = run.lost
    with pytest.raises(KeyError, match="has no record of the name 'lost'"):
        run["lost"]


def test_an_ensemble_ends_as_an_ensemble():
    run = descended(MEMBERS)
    assert run.members == 3
    assert isinstance(run.final, la.Ensemble)
    for member in range(3):
        loss = PROBLEM.loss(NET.end_to_end(run.final[member]))
        assert float(loss) == pytest.approx(float(run.loss[member, -1]), rel=1e-12)


@pytest.mark.parametrize(
    ("optimiser", "name"),
    [
        (optax.sgd, "sgd"),
        (partial(optax.adam, b1=0.5), "adam(b1=0.5)"),
        (partial(partial(optax.sgd, nesterov=True), momentum=0.5), "sgd(nesterov=True, momentum=0.5)"),
        (partial(la.train.normalised, eps=1e-6), "normalised(eps=1e-06)"),
    ],
)
def test_an_optimiser_is_recorded_by_its_own_name(optimiser, name):
    with jax.numpy_dtype_promotion("standard"):
        assert descended(optimiser=optimiser).settings["optimiser"] == name


def test_settings_are_values_and_a_run_is_told_in_a_line():
    run = descended(MEMBERS, momentum=0.5, step_size=jnp.array([0.01, 0.02, 0.03]))
    assert run.settings["step_size"] == [0.01, 0.02, 0.03]
    assert run.settings["steps"] == 40
    assert run.settings["optimiser"] == "sgd(momentum=0.5)"
    assert run.settings["versions"]["jax"] == jax.__version__
    told = repr(run)
    assert "\n" not in told
    for part in ("descend of DeepLinear(widths=(3, 4, 2)) on Regression", "3 members", "5 records over step 0 to 40"):
        assert part in told
    page = run._repr_html_()
    assert "DeepLinear(widths=(3, 4, 2))" in page
    assert "sgd(momentum=0.5)" in page


@pytest.mark.parametrize("start", [START, MEMBERS], ids=["one", "members"])
def test_a_saved_run_is_the_run(start, tmp_path):
    run = descended(start)
    again = Run.load(run.save(tmp_path / "run.nc"), NET)
    assert again.settings == run.settings
    assert set(again.data.variables) == set(run.data.variables)
    for name in run.data.variables:
        assert again[str(name)].dims == run[str(name)].dims
        np.testing.assert_array_equal(again[str(name)].values, run[str(name)].values)
    assert isinstance(again.final, la.Ensemble) == isinstance(start, la.Ensemble)
    ours, theirs = (r.final.stacked if isinstance(r.final, la.Ensemble) else r.final for r in (run, again))
    jax.tree.map(np.testing.assert_array_equal, ours, theirs)
    assert b"pickle" not in (tmp_path / "run.nc").read_bytes()


def test_a_saved_flow_and_a_tree_of_parameters_come_back(tmp_path):
    net = la.models.MLP((3, 4, 2), "tanh", "standard", bias=True)
    start = la.starts.he(net, 0)
    run = la.flow(net, PROBLEM, start, times=[0.0, 0.5, 1.0])
    path = run.save(tmp_path / "flow.nc")
    again = Run.load(path, net)
    assert jax.tree.structure(again.final) == jax.tree.structure(start)
    jax.tree.map(np.testing.assert_array_equal, again.final, run.final)
    assert len(Run.load(path).final) == 4
    with pytest.raises(ValueError, match="start must have the shapes"):
        Run.load(path, la.models.MLP((3, 5, 2), "tanh", "standard", bias=True))
    with pytest.raises(ValueError, match="model must be what was trained, with 4 arrays"):
        Run.load(path, NET)
    xr.Dataset({"a": 1.0}).to_netcdf(tmp_path / "other.nc", engine="scipy")
    with pytest.raises(ValueError, match=r"path must be a file that Run\.save wrote"):
        Run.load(tmp_path / "other.nc")


def test_a_run_becomes_a_recording():
    run = descended(MEMBERS)
    recording = run.to_recording(labels=Y, inputs=X, member=1)
    np.testing.assert_array_equal(recording.steps, run.step)
    np.testing.assert_allclose(recording.outputs, run.outputs[1], rtol=1e-6)
    np.testing.assert_allclose(recording.loss, run.loss[1])
    np.testing.assert_allclose(recording.error[-1], 2 * run.loss[1, -1] / 2, rtol=1e-6)  # mean over two outputs
    assert list(recording.spectra) == ["end_to_end"]
    assert recording.about["method"] == "descend"
    with pytest.raises(ValueError, match="member must be given for an ensemble"):
        run.to_recording()
    with pytest.raises(ValueError, match='record=\\("loss", "outputs"\\)'):
        descended(record=("loss",)).to_recording()
