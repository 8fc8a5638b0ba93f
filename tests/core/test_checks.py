"""What users pass to JAX is taken as it is, or refused by name: both sides of every condition."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

from lineament.core import arguments, as_key, checks, ensembles
from lineament.core.model import Parameter, require_model
from lineament.core.run import Run
from lineament.core.versions import version
from lineament.core.words import several


def refused(words):
    """The beginning of an error: the name, and what it must be."""
    return pytest.raises(ValueError, match=f"^{re.escape(words)}")


def test_a_real_array_is_finite_and_of_the_dimension_asked_for():
    found = checks.real_array("x", [[1, 2], [3, 4]], 2)
    assert found.dtype == jnp.zeros(()).dtype
    assert checks.real_array("x", jnp.ones(2, jnp.float32), 1).dtype == jnp.float32
    with refused("x must have 1 dimension(s); got shape (2, 1)"):
        checks.real_array("x", np.ones((2, 1)), 1)
    for bad in (np.nan, np.inf):
        with refused(f"x must be finite; entry (1, 0) is {bad}"):
            checks.real_array("x", [[1.0, 2.0], [bad, bad]], 2)


def test_values_inside_a_transformation_cannot_be_looked_at():
    seen = jax.vmap(lambda x: checks.real_array("x", x, 1) * 2)(jnp.array([[1.0], [np.nan]]))
    np.testing.assert_array_equal(seen, [[2.0], [np.nan]])
    np.testing.assert_array_equal(jax.vmap(lambda x: checks.scale("x", x))(jnp.array([-1.0, 2.0])), [-1, 2])
    with refused("x must have 2 dimension(s)"):
        jax.vmap(lambda x: checks.real_array("x", x, 2))(jnp.ones((2, 3)))


def test_integers_become_numbers_and_nothing_else_does():
    assert checks.floating("x", jnp.arange(3)).tolist() == [0.0, 1.0, 2.0]
    assert checks.floating("x", [1, 2]).dtype == jnp.zeros(()).dtype
    for bad in (jnp.array([True]), jnp.array([1j])):
        with refused("x must be real numbers; got"):
            checks.floating("x", bad)


def test_matrices_and_layers():
    assert checks.matrices("W", np.ones((3, 2, 1))).shape == (3, 2, 1)
    assert checks.matrix("W", np.ones((2, 1))).shape == (2, 1)
    for bad in (np.ones(3), np.ones((2, 0)), np.ones((0, 2))):
        with refused("W must be a matrix with at least one row and column"):
            checks.matrix("W", bad)
    with refused("W must be one matrix; got shape (1, 2, 2)"):
        checks.matrix("W", np.ones((1, 2, 2)))
    for bad in ([], "ab", 3.0, None):
        with refused("layers must be a sequence of at least one matrix"):
            checks.layers(bad)
    assert [W.shape for W in checks.layers([np.ones((3, 2)), np.ones((1, 3))])] == [(3, 2), (1, 3)]
    with refused("layers[1] must be of 3 columns; got shape (1, 2)"):
        checks.layers([np.ones((3, 2)), np.ones((1, 2))])
    with refused("layers[2] must be of 1 columns; got shape (1, 3)"):
        checks.layers([np.ones((3, 2)), np.ones((1, 3)), np.ones((1, 3))])


def test_rows_of_examples():
    assert checks.columns("y", [1.0, 2.0]).shape == (2, 1)
    assert checks.columns("y", [[1.0, 2.0]]).shape == (1, 2)
    with refused("y must have 2 dimension(s)"):
        checks.columns("y", np.ones((1, 1, 1)))
    checks.same_length(X=jnp.ones((2, 1)), y=jnp.ones(2))
    with refused("X and y must have equally many rows; got X 2, y 3"):
        checks.same_length(X=jnp.ones((2, 1)), y=jnp.ones(3))
    with refused("X and y must hold at least one example; got none"):
        checks.same_length(X=jnp.ones((0, 1)), y=jnp.ones(0))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, [1.0, 0.0], [1.0, np.nan]])
def test_what_is_not_positive_is_refused(bad):
    for check in (checks.positive, checks.scale, checks.rate):
        with refused("x must be positive and finite; got"):
            check("x", bad)


def test_one_number_or_one_for_each_member():
    checks.positive("x", [1e-300, 2.0])
    assert checks.scale("x", 3) == 3.0
    assert checks.scale("x", jnp.asarray(3.0)) == 3.0
    with refused("x must be one positive number; got shape (2,)"):
        checks.scale("x", [1.0, 2.0])
    for good in (0.5, [0.5], [0.5, 1.0]):
        checks.rate("x", good)
        checks.not_negative("x", good)
    checks.not_negative("x", 0.0)
    for bad in ([[0.5]], np.ones((2, 2))):
        for check in (checks.rate, checks.not_negative):
            with refused("x must be one number, or one for each member; got shape"):
                check("x", bad)
    for check in (checks.rate, checks.not_negative):
        with refused("x must be one number, or one for each member; got shape (0,)"):
            check("x", [])
    for bad in (-1e-300, np.nan, np.inf, [0.0, -1.0], [0.0, np.nan]):
        with refused("x must be finite and not negative; got"):
            checks.not_negative("x", bad)


def test_whole_numbers_may_be_written_as_floats():
    for value in (3, 3.0, np.float32(3), np.int64(3)):
        assert checks.whole("n", value) == 3
        assert type(checks.whole("n", value)) is int
    assert checks.whole("n", 1e4) == 10_000
    assert checks.whole("n", 0, 0) == 0
    assert checks.whole("n", checks.LARGEST) == 2**31 - 1
    for bad in (0, -1, 2.5, "3", None, True):
        with refused(f"n must be a positive integer; got {bad!r}"):
            checks.whole("n", bad)
    with refused("n must be a whole number of at least 2; got 1"):
        checks.whole("n", 1, 2)
    with refused("n must be a positive integer up to 2147483647; got 2147483648"):
        checks.whole("n", 2**31)


def test_sizes_are_positive_integers_and_enough_of_them():
    assert checks.sizes("widths", [2, 3.0]) == (2, 3)
    assert checks.sizes("widths", (2,)) == (2,)
    assert checks.sizes("widths", iter([2, 3]), 2) == (2, 3)
    for bad in ([], [2, 0], [2, 1.5], "23", b"23", {2: 3}, {2, 3}, 3, None, np.array(3)):
        with refused("widths must be at least 1 positive integers; got"):
            checks.sizes("widths", bad)
    with refused("widths must be at least 2 positive integers; got [2]"):
        checks.sizes("widths", [2], 2)


def test_shares_lie_from_zero_to_below_one():
    for good in (0, 0.5, 1 - 1e-16):
        assert checks.share("dropout", good) == good
    for bad in (1.0, -1e-9, 2):
        with refused("dropout must lie in [0, 1); got"):
            checks.share("dropout", bad)


def test_rising_times_from_zero_on():
    assert checks.rising("times", [0, 1, 2]).tolist() == [0.0, 1.0, 2.0]
    assert checks.rising("times", [0.5, 0.6]).tolist() == [0.5, 0.6]
    for bad in ([0.0], [1.0, 1.0], [1.0, 0.5], [-0.1, 1.0], [0.0, np.inf], [0.0, np.nan], 3.0, [[0.0, 1.0]]):
        with refused("times must be at least two rising, finite numbers from 0 on; got"):
            checks.rising("times", bad)


def test_types_and_words():
    assert checks.dtype("dtype", float) == np.float64
    assert checks.dtype("dtype", "float32") == np.float32
    for bad in (int, "number", 3, complex):
        with refused("dtype must be a floating-point type, such as float; got"):
            checks.dtype("dtype", bad)
    checks.one_of("kind", "a", ("a", "b"))
    for bad in ("c", ["a"], None):
        with refused("kind must be one of 'a', 'b'; got"):
            checks.one_of("kind", bad, ("a", "b"))


# ---------------------------------------------------------------------------------------------------------
# The same for NumPy, where test_arguments.py does not reach


def test_bounds_of_what_memory_and_time_hold():
    assert (arguments.LARGEST, arguments.MOST_LAYERS) == (2**63 - 1, 10_000)
    assert (arguments.MOST_NUMBERS, arguments.SQUARED, checks.LARGEST) == (2**30, 1e150, 2**31 - 1)
    assert arguments.held("n", 2**15, 2**15) == (2**15, 2**15)
    with refused("n must lead to arrays of at most 1073741824 numbers; got 1073774592, shape (32768, 32769)"):
        arguments.held("n", 2**15, 2**15 + 1)


def test_a_number_is_told_with_its_bounds():
    for bounds, words in (
        ({}, "x must be a finite number; got nan"),
        ({"infinite": True}, "x must be a number; got nan"),
        ({"least": 0, "below": 1}, "x must be a finite number of at least 0 and below 1; got nan"),
        ({"above": 0, "most": 2.5}, "x must be a finite number above 0 and at most 2.5; got nan"),
    ):
        with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
            arguments.number("x", np.nan, **bounds)
    with refused("x must be one number; got shape (1,)"):
        arguments.number("x", [1.0])
    with refused("v must be a vector of 3 number(s)"):
        arguments.vector("v", [1.0], 3)
    with refused("v must be a vector of at least one number(s)"):
        arguments.vector("v", [])


def test_arrays_of_any_type_and_foreign_ones():
    class Foreign:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("on a device")

    assert arguments.array("x", ["a", 1]).shape == (2,)
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    for call in (arguments.array, arguments.numeric, arguments.classes):
        for bad in (masked, (masked,), [[masked]]):
            with refused("x must be"):
                call("x", bad)
        with pytest.raises(ValueError, match=r"^x must be .*on a device"):
            call("x", Foreign())
        with refused("x must be"):
            call("x", [[1.0], [1.0, 2.0]])
    assert arguments.numeric("x", np.float32(1)).dtype == np.float32
    assert arguments.numeric("x", 1.5).shape == ()
    assert arguments.numeric("x", jnp.ones(2, jnp.bfloat16)).dtype == jnp.bfloat16
    with refused("x must be real numbers; got"):
        arguments.numeric("x", np.zeros(2, "V4"))
    with refused("x must be real numbers; got"):
        arguments.numeric("x", [1.5, None])
    with refused("x must be real numbers; got"):
        arguments.numeric("x", np.array([1, True], object))


def test_layers_may_be_one_array_and_examples_a_matrix():
    assert len(arguments.layers(np.ones((3, 2, 2)))) == 3
    with refused("Ws[1] must be a matrix of 3 columns to follow Ws[0] of shape (3, 2); got shape (1, 2)"):
        arguments.layers([np.ones((3, 2)), np.ones((1, 2))], "Ws")
    with refused("layers must be a sequence of at least one matrix"):
        arguments.layers(np.array(3.0))
    assert arguments.labels("y", [1.0, 2.0], 2).shape == (2,)
    assert arguments.examples("X", np.ones((1, 1))).shape == (1, 1)
    assert arguments.indices("i", np.array([1], np.uint8), 1, 2).tolist() == [1]
    assert arguments.words("names", np.array(["a", "b"])) == ("a", "b")
    for bad in (np.array([["a"]]), 3, b"ab", [1]):
        with refused("names must be a sequence of words"):
            arguments.words("names", bad)


def test_what_is_shown_is_cut_at_sixty_characters():
    assert arguments.shown("a" * 58) == repr("a" * 58)
    assert arguments.shown("a" * 59) == "str '" + "a" * 49 + "…"
    assert arguments.shown(np.array(3.0)) == "float64 3.0"
    assert arguments.shown("a  \n b") == "'a \\n b'"


# ---------------------------------------------------------------------------------------------------------
# Keys, ensembles, runs and models


def test_other_seeds_than_of_64_bits_are_refused():
    for seed in (2**63 - 1, -(2**63), 0):
        assert as_key(seed).shape == ()
    for bad in (2**63, -(2**63) - 1):
        with refused("key must be a JAX key or a whole number"):
            as_key(bad)
    for bad in (jnp.zeros(3, jnp.uint32), jnp.zeros(2, jnp.int32), jnp.zeros((), jnp.uint32)):
        with refused("key must be a JAX key or a whole number"):
            as_key(bad)


def test_ensembles_of_unequal_arrays_are_refused():
    for axes in ((), (jnp.ones(()),), (jnp.ones((2, 3)), jnp.ones((3, 2))), (jnp.ones(2), jnp.ones(()))):
        with refused("axes must be equally long, one entry for each member; got arrays of shapes"):
            ensembles.ensemble(lambda *given: given[0], *axes)
    made = ensembles.ensemble(lambda a, b: a + b.sum(), jnp.ones(2), [[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(made.stacked, [4.0, 8.0])
    with refused("make must be a function"):
        ensembles.ensemble(3, jnp.ones(2))
    for bad in (3, "ab", b"ab", {}, ()):
        with refused("members must be a sequence of at least one member"):
            ensembles.stack(bad)
    assert ensembles.stack([jnp.ones(2)]).members == 1


def a_run(dim="step", members=None):
    lead = () if members is None else ("member",)
    shape = (3,) if members is None else (members, 3)
    data = xr.Dataset({"loss": ((*lead, dim), np.zeros(shape))}, coords={dim: np.array([0.0, 5.0, 20.0])})
    return Run(data, None, {"method": "descent", "model": "net"})


def test_a_run_in_a_line_and_what_is_refused():
    assert repr(a_run()) == "Run(descent of net on unknown; 3 records over step 0 to 20; holds loss)"
    assert (
        repr(a_run("time", 4)) == "Run(descent of net on unknown; 4 members; 3 records over time 0 to 20; holds loss)"
    )
    assert (a_run().members, a_run(members=4).members) == (None, 4)
    assert (a_run().along, a_run("time").along) == ("step", "time")
    assert "loss" in a_run()
    assert "losses" not in a_run()
    assert "loss" in dir(a_run())
    for missing in ("losses", 3):
        with pytest.raises(KeyError, match="the run has no record of the name"):
            a_run()[missing]
    with pytest.raises(AttributeError, match="no record of the name 'losses'; it has loss, step"):
        _ = a_run().losses
    with refused("data must be an xarray.Dataset"):
        Run({}, None, {})
    with refused("settings must be a mapping"):
        Run(a_run().data, None, [])


def test_what_is_no_model_is_told_what_it_lacks():
    with pytest.raises(TypeError, match="got int, which lacks shape, layout, end_to_end"):
        require_model(3)
    alike = type("Alike", (), {"shape": (1, 1), "layout": None, "end_to_end": None})()
    with pytest.raises(TypeError, match="got Alike, which does not derive from it"):
        require_model(alike)


def test_wrong_descriptions_of_parameters_are_refused():
    for change, said in (
        ({"shape": (0,)}, "shape must be"), ({"fan_in": 0}, "fan_in must be"), ({"fan_out": 0}, "fan_out must be"),
        ({"kind": "scale"}, "kind must be"), ({"gain": 0.0}, "gain must be"),
    ):  # fmt: skip
        with refused(said):
            Parameter(**({"shape": (2,), "fan_in": 1, "fan_out": 1} | change))
    assert Parameter((), 1, 1) == Parameter((), 1, 1, "weight", 1.0)


def test_numbers_in_sentences():
    assert [several(n, "row") for n in (0, 1, 2, 12_000)] == ["0 rows", "1 row", "2 rows", "12\u202f000 rows"]
    assert version("numpy") == np.__version__
    assert version("no package of this name") == "source tree"


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i4", np.longdouble, np.int64, np.uint8])
def test_numbers_of_every_byte_order_and_precision_are_taken(dtype):
    given = np.array([[3, 1], [1, 2]], dtype)
    for found in (checks.floating("W", given), checks.taken("W", given, whole=False)):
        assert jnp.issubdtype(found.dtype, jnp.floating)
        np.testing.assert_array_equal(found, [[3, 1], [1, 2]])
    assert jnp.issubdtype(checks.taken("x", given, whole=True).dtype, jnp.integer) == (given.dtype.kind != "f")


def test_whole_numbers_are_not_cut_off_at_32_bits():
    with jax.enable_x64(False):
        np.testing.assert_allclose(checks.floating("W", np.array([2**40, 2**33])), [2.0**40, 2.0**33])
        with refused("x must fit int32, -2147483648 to 2147483647, while JAX's 64-bit flag is off; got 1.09951e+12"):
            checks.taken("x", np.array([2**40, 1]), whole=True)
        assert checks.taken("x", np.array([7, -1]), whole=True).tolist() == [7, -1]


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_sizes_that_float32_cannot_hold_are_refused_not_turned_to_infinity_or_zero(size):
    given = np.array([size, -size, 0.0])
    with jax.enable_x64(False), refused("W must fit float32, sizes from 1.2e-38 to 3.4e+38"):
        checks.floating("W", given)
    with jax.enable_x64(True):
        np.testing.assert_array_equal(checks.floating("W", given), given)


def test_small_numbers_beside_others_infinities_and_zeros_are_as_they_were():
    with jax.enable_x64(False):
        for given in ([1.0, 1e-200], [np.inf, 1.0], [np.nan, 2.0], [0.0, 0.0], []):
            np.testing.assert_array_equal(checks.floating("W", np.array(given)), np.array(given, np.float32))
