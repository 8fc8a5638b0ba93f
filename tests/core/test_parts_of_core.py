"""Runs on disk, models by their defaults, and arguments at their edges: nothing is trained here."""

import json
import os
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_array_equal

from lineament.core import Run, arguments, checks, ensembles
from lineament.core.layered import AbstractLayered, Applied
from lineament.core.model import AbstractModel, Parameter, map_shape
from lineament.core.precision import factor, products


class Affine(AbstractModel):
    """`x ↦ ax + b` with a tree of parameters."""

    inputs: int = eqx.field(static=True)

    @property
    def shape(self):
        return 1, self.inputs

    def layout(self):
        return {"a": Parameter((self.inputs,), 1, 1), "b": Parameter((), 1, 1, "bias")}

    def end_to_end(self, parameters):
        return parameters["a"][None]


class Layered(AbstractLayered):
    """A network by its name alone."""

    @property
    def shape(self):
        return 1, 2

    @property
    def tap_shapes(self):
        return ((1, 1),)

    def layout(self):
        return (Parameter((2,), 1, 1),)

    def apply(self, parameters, X):
        return (X @ parameters[0])[:, None]

    def tapped(self, parameters, X, taps):
        return self.apply(parameters, X) + taps[0][:, 0], (X,)

    def rows(self, layer, inputs):
        return inputs[:, None]


NET = Affine(2)
FINAL = {"a": jnp.array([1.0, 2.0]), "b": jnp.asarray(3.0)}


def refused(words):
    return pytest.raises(ValueError, match=f"^{re.escape(words)}")


# ---------------------------------------------------------------------------------------------------------
# Runs


def a_run(members=None, along="step", **records):
    lead, shape = ((), (3,)) if members is None else (("member",), (members, 3))
    values = np.arange(float(np.prod(shape))).reshape(shape)
    data = {"loss": ((*lead, along), values)} | records
    final = (
        FINAL
        if members is None
        else ensembles.stack([jax.tree.map(lambda x, m=m: m * x, FINAL) for m in range(members)])
    )
    return Run(xr.Dataset(data, {along: np.array([0.0, 2.0, 5.0])}), final, {"method": "descend", "steps": 5})


@pytest.mark.parametrize("members", [None, 2])
def test_a_run_comes_back_from_its_file(tmp_path, members):
    run = a_run(members)
    path = run.save(tmp_path / "run.nc")
    held = xr.open_dataset(path, engine="scipy").load()
    about = json.loads(held.attrs["lineament_settings"])
    assert about == {"format": 1, "leaves": 2, "settings": {"method": "descend", "steps": 5}}
    again = Run.load(path, NET)
    xr.testing.assert_identical(again.data, run.data)
    assert not run.data.attrs, "what was saved is not changed"
    assert (again.settings, again.members) == (run.settings, members)
    ours, theirs = (it.final if members is None else it.final.stacked for it in (run, again))
    jax.tree.map(assert_array_equal, ours, theirs)
    bare = Run.load(path).final
    assert [leaf.shape for leaf in (bare if members is None else bare.stacked)] == [
        leaf.shape for leaf in jax.tree.leaves(ours)
    ]
    with refused("start must have the shapes"):
        Run.load(path, Affine(3))
    with refused("model must be what was trained, with 2 arrays"):
        Run.load(path, Layered())


def test_wrong_words_are_refused(tmp_path):
    with refused("precision must be one of"):
        products("fp8")
    with refused("model must be a AbstractModel"):
        Run.load(a_run().save(tmp_path / "run.nc"), "net")


def test_files_that_are_no_runs_are_refused_by_what_is_wrong(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file '.*gone\.nc'"):
        Run.load(tmp_path / "gone.nc")
    with pytest.raises(FileNotFoundError):
        Run.load(tmp_path)
    (tmp_path / "text.nc").write_text("no netCDF")
    with pytest.raises(ValueError, match=r"text\.nc' cannot be read"):
        Run.load(tmp_path / "text.nc")
    for name, about in (
        ("json", "{"), ("count", json.dumps({"leaves": 1, "settings": {}})), ("none", json.dumps({"leaves": 0})),
        ("list", json.dumps({"leaves": 0, "settings": 3})),
    ):  # fmt: skip
        path = tmp_path / f"{name}.nc"
        xr.Dataset({"loss": 1.0}, attrs={"lineament_settings": about}).to_netcdf(path, engine="scipy")
        with pytest.raises(ValueError, match=rf"path must be a file that Run\.save wrote; .*{name}\.nc' is damaged"):
            Run.load(path)


def test_a_run_is_read_as_a_recording():
    said = (("step", "example", "output"), np.arange(12.0).reshape(3, 2, 2))
    classes = (("step", "example"), np.array([[0, 1], [1, 1], [0, 0]]))
    s = (("step", "mode"), np.array([[3.0, 1.0]] * 3))
    plain = a_run(outputs=said, singular_values=s, unbalancedness=("step", [1.0, 2.0, 3.0]))
    found = plain.to_recording(labels=[0, 1], inputs=np.eye(2))
    assert_array_equal(found.steps, [0, 2, 5])
    assert_array_equal(found.outputs, said[1])
    assert_array_equal(found.loss, [0, 1, 2])
    assert_array_equal(found.spectra["end_to_end"], s[1])
    assert_array_equal(found.unbalancedness["largest"], [1, 2, 3])
    assert found.about == {"method": "descend", "steps": "5"}
    chosen = a_run(predictions=classes).to_recording()
    assert chosen.outputs is None
    assert_array_equal(chosen.predictions, classes[1])
    assert (chosen.spectra, chosen.unbalancedness) == ({}, {})
    both = a_run(outputs=said, predictions=classes).to_recording()
    assert_array_equal(both.outputs, said[1])
    without = Run(plain.data[["outputs"]], None, {}).to_recording()
    assert np.isnan(without.loss).all()
    with refused("the run must hold what the model said of examples"):
        a_run().to_recording()
    with refused("member must be given for an ensemble and only then; the run has a single one, got 0"):
        plain.to_recording(member=0)
    several = a_run(2, outputs=(("member", *said[0]), np.stack([said[1], -said[1]])))
    assert_array_equal(several.to_recording(member=1).outputs, -said[1])
    with refused("member must be given for an ensemble and only then; the run has 2 members, got None"):
        several.to_recording()


def test_a_run_on_a_page_is_escaped():
    run = Run(a_run().data, None, {"model": "<b>net</b>"})
    page = run._repr_html_()
    assert "&lt;b&gt;net" in page
    assert "<b>net" not in page
    for name in ("_loss", "data_", "final_"):
        with pytest.raises(AttributeError, match="no record of the name"):
            getattr(run, name)
    hidden = Run(xr.Dataset({"_private": ("step", [1.0])}, {"step": [0.0]}), None, {})
    with pytest.raises(AttributeError, match="no record of the name '_private'; it has _private, step"):
        _ = hidden._private
    assert float(hidden["_private"][0]) == 1


# ---------------------------------------------------------------------------------------------------------
# Models


def test_a_model_of_ones_own_has_neither_dropout_nor_a_bound_on_its_rank():
    assert (NET.drops, NET.rank, NET.large) == (False, None, False)
    assert_array_equal(NET.dropped(FINAL, jax.random.key(0)), NET.end_to_end(FINAL))
    assert map_shape(NET, FINAL).shape == (1, 2)
    net = Layered()
    assert map_shape(net, (jnp.ones(2),)) is None
    found = net.end_to_end((jnp.array([1.0, 10.0]),))
    assert isinstance(found, Applied)
    assert_array_equal(found(np.array([[1.0, 2.0], [3.0, 4.0]])), [[21], [43]])
    assert repr(NET) == "Affine(inputs=2)"


def test_parameters_are_checked_against_the_layout():
    NET.check(FINAL)
    NET.check(jax.tree.map(lambda x: jnp.stack([x] * 3), FINAL), members=True)
    for bad in ({"a": jnp.ones(2)}, {"a": jnp.ones(3), "b": jnp.ones(())}, (jnp.ones(2), jnp.ones(()))):
        with refused("start must have the shapes {'a': (2,), 'b': ()} of Affine(inputs=2); got"):
            NET.check(bad)
    with refused("start must have the shapes"):
        NET.check(FINAL, members=True)
    with refused("start must be a tree of arrays, the parameters of Affine(inputs=2); got"):
        NET.check({"a": 1.0, "b": jnp.ones(())})


def test_factors_are_rounded_where_bfloat16_is_asked_for():
    x = jnp.ones(2, jnp.float32)
    for precision, dtype in (("float32", jnp.float32), ("tf32", jnp.float32), ("bf16", jnp.bfloat16)):
        with products(precision):
            assert factor(x).dtype == dtype


# ---------------------------------------------------------------------------------------------------------
# Arguments


class Foreign:
    """What pretends to be an array, a sequence or a path."""

    def __init__(self, given):
        self.given = given

    def __array__(self, dtype=None, copy=None):
        raise self.given

    def __iter__(self):
        raise self.given

    def __fspath__(self):
        return self.given


def test_what_only_looks_like_an_array_is_refused():
    bad = Foreign(RuntimeError("on a device"))
    with refused("x must be a sequence"):
        arguments.listed("x", bad)
    with refused("file must be a path"):
        arguments.path("file", Foreign(b"bytes"))
    assert str(arguments.path("file", Foreign(f"a{os.sep}b"))) == f"a{os.sep}b"
    assert arguments.listed("x", ()) == []
    assert arguments.listed("x", np.arange(2)) == [0, 1]


def test_masks_are_found_in_lists_of_arrays_and_allowed_where_nothing_is_masked():
    held = np.ma.masked_array([1.0, 2.0], [False, True])
    free = np.ma.masked_array([1.0, 2.0])
    assert arguments._masked((1.0, [held]))
    for fine in (free, [free, 1], (1.0, 2), [[1], [free]], 3.0, "text"):
        assert not arguments._masked(fine)
    assert arguments.array("x", free).shape == arguments.classes("x", np.ma.masked_array([1, 2])).shape == (2,)


def test_objects_are_numbers_if_all_of_them_are():
    assert arguments._all_real(np.array([1, 2.5], object))
    for bad in (np.array([1, "a"], object), np.array([True, 1], object), np.array([1.0, 2.0])):
        assert not arguments._all_real(bad)
    assert arguments.numeric("x", np.array([1, 2], object)).dtype == np.float64
    assert arguments.numeric("x", 2.0).dtype == np.float64
    for kept in (np.int8, np.uint16, np.float32):
        assert arguments.numeric("x", np.ones(2, kept)).dtype == kept
        assert arguments.real("x", np.ones(2, kept)).dtype == np.float64


def test_bounds_hold_together_and_the_first_entry_beyond_is_told():
    assert arguments.real("x", [0.0, 0.5, 1.0], least=0, most=1).tolist() == [0.0, 0.5, 1.0]
    assert arguments.real("x", np.inf, above=0, infinite=True) == np.inf
    for value, bounds, said in (
        ([0.5, 1.0], {"above": 0, "below": 1}, "x must be finite numbers above 0 and below 1; got 1 at entry (1,)"),
        ([0.5, -1.0, -2.0], {"least": 0}, "x must be finite numbers of at least 0; got -1 at entry (1,)"),
        (-np.inf, {"least": 0, "infinite": True}, "x must be a number of at least 0; got -inf"),
        ([np.nan, 1.0], {"infinite": True}, "x must be numbers; got nan at entry (0,)"),
    ):
        with refused(said):
            arguments.real("x", value, **bounds)
    assert arguments.matrices("W", [[3.0, -3.0]], most=3.0).shape == (1, 2)
    with refused("W must be finite; got nan at entry (1, 0)"):
        arguments.matrices("W", [[1.0], [np.nan]])
    with refused("W must have entries of at most 3 in size; got -4 at entry (0, 1)"):
        arguments.matrices("W", [[3.0, -4.0]], most=3.0)


def test_names_and_numbers_of_classes_keep_their_shape():
    for value in ([[0, 1], [1, 0]], np.array([2.0, 3.0]), np.array([b"a", b"b"]), 3):
        assert arguments.classes("y", value).shape == np.shape(value)
    for bad in ([0.5], [np.nan], np.array(["2020"], "datetime64[Y]")):
        with refused("y must be whole numbers, truth values or text; got"):
            arguments.classes("y", bad)


def test_one_number_may_be_of_any_type_that_is_real():
    for value in (3, np.float32(3.0), jnp.asarray(3.0), np.array(3)):
        found = checks.scale("x", value)
        assert float(found) == 3.0
        assert isinstance(found, jax.Array if isinstance(value, jax.Array) else float)
    assert checks.whole("n", np.float64(7.0), 7) == 7
    assert checks.sizes("widths", (), 0) == ()
    with refused("n must be a whole number of at least 8; got 7"):
        checks.whole("n", 7, 8)
    with refused("n must be a positive integer; got 0.5"):
        checks.whole("n", 0.5)
    assert checks.columns("y", jnp.ones((3, 2), jnp.float32)).dtype == jnp.float32
    assert checks.floating("x", np.ones(2, np.int8)).dtype == jnp.zeros(()).dtype
