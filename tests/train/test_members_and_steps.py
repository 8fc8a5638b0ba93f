"""Who is trained, at which steps a run is recorded, and what of either is refused: nothing is trained here."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import lineament as la
from lineament.train import members as who
from lineament.train.diverged import Diverged
from lineament.train.records import BUILT_IN, Record, resolve
from lineament.train.result import named, run_of, settings_of, with_numbers, with_time
from lineament.train.steps import recorded_steps

NET = la.models.DeepLinear((3, 2))
PROBLEM, LAYERS = la.problems.whitened(np.ones((2, 3))), (jnp.ones((2, 3)),)
MANY = la.Ensemble((jnp.ones((4, 2, 3)),))


@pytest.mark.parametrize(
    ("steps", "every", "expected"),
    [(5, None, [0, 1, 2, 3, 4, 5]), (5, 2, [0, 2, 4, 5]), (6, 3, [0, 3, 6]), (4, 9, [0, 4]), (1, 1, [0, 1])],
)
def test_every_so_many_steps_and_the_last(steps, every, expected):
    assert recorded_steps(steps, every, None).tolist() == expected


def test_two_hundred_records_unless_asked_otherwise():
    assert np.diff(recorded_steps(399, None, None)).tolist() == [1] * 399
    assert set(np.diff(recorded_steps(400, None, None)).tolist()) == {2}
    assert len(recorded_steps(100_000, None, None)) == 201
    assert recorded_steps(7, None, [0, 3, 7]).tolist() == [0, 3, 7]
    assert recorded_steps(7, None, [2.0]).tolist() == [2]


@pytest.mark.parametrize("at", [[], [[0, 1]], 3, [-1, 2], [0, 8], [0, 2, 2], [3, 1], [0.5, 1.0]])
def test_steps_that_are_none_are_refused(at):
    with pytest.raises(ValueError, match="at must be rising steps between 0 and steps = 7"):
        recorded_steps(7, None, at)


def test_other_bad_steps_are_refused():
    with pytest.raises(ValueError, match="only one of every and at must be given"):
        recorded_steps(7, 2, [1])
    with pytest.raises(ValueError, match="every must be"):
        recorded_steps(7, 0, None)
    with pytest.raises(ValueError, match="steps must be"):
        recorded_steps(0, None, None)


def test_one_start_is_copied_to_every_member():
    alone = who.members(NET, PROBLEM, LAYERS)
    assert (alone.count, alone.problem_axis) == (None, None)
    assert alone.first[1] is alone.start
    copied = who.members(NET, PROBLEM, LAYERS, step_size=jnp.ones(4))
    assert (copied.count, copied.start[0].shape) == (4, (4, 2, 3))
    several = who.members(
        NET, la.ensemble(la.problems.whitened, jnp.stack([k * jnp.ones((2, 3)) for k in range(4)])), MANY
    )
    assert (several.count, several.problem_axis) == (4, 0)
    np.testing.assert_array_equal(several.first[0].optimal_map, np.zeros((2, 3)))
    assert several.first[1][0].shape == (2, 3)


def test_members_that_do_not_fit_are_refused():
    for problem, start, axes, message in (
        (PROBLEM, MANY, {"step_size": jnp.ones(3)}, "must have equally many members; got step_size 3, start 4"),
        (la.problems.whitened(np.ones((3, 2))), LAYERS, {}, r"shape \(outputs, inputs\) = \(3, 2\); got \(2, 3\)"),
        (PROBLEM, (), {}, "start must be the parameters of the model"),
        (PROBLEM, (np.ones((2, 3), int),), {}, "start must be the parameters of the model"),
        (PROBLEM, (jnp.ones((2, 3), complex),), {}, "start must hold real numbers"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            who.members(NET, problem, start, **axes)


def test_keys_of_members():
    key = jax.random.key(3)
    assert who.member_keys(key, None).shape == ()
    np.testing.assert_array_equal(
        jax.random.key_data(who.member_keys(key, 3)), jax.random.key_data(jax.random.split(key, 3))
    )
    np.testing.assert_array_equal(
        jax.random.key_data(who.member_keys(None, None)), jax.random.key_data(jax.random.key(0))
    )
    own = la.Ensemble(jax.random.split(key, 4))
    assert who.member_keys(own, 4).shape == (4,)
    with pytest.raises(ValueError, match="key must be one key, or have one for each of 3 members; got 4"):
        who.member_keys(own, 3)
    assert (who.axis_of(jnp.ones(2)), who.axis_of(jnp.ones(()))) == (0, None)


def test_built_in_records_are_the_measures_of_their_names():
    W = jnp.asarray(np.random.default_rng(0).normal(size=(2, 3)))
    for name, record in BUILT_IN.items():
        if name in ("loss", "outputs", "end_to_end"):
            continue
        expected = la.measure.unbalancedness((W,)) if name == "unbalancedness" else getattr(la.measure, name)(W)
        np.testing.assert_allclose(record.measure(NET, PROBLEM, (W,)), expected, rtol=1e-12)
    np.testing.assert_array_equal(BUILT_IN["end_to_end"].measure(NET, PROBLEM, (W,)), W)
    on_examples = la.problems.regression(np.eye(3), np.ones((3, 2)))
    np.testing.assert_allclose(BUILT_IN["outputs"].measure(NET, on_examples, (W,)), W.T, rtol=1e-12)


def test_bad_records_are_refused_by_what_they_read():
    with pytest.raises(ValueError, match="record must be a sequence such as"):
        resolve(3, NET, PROBLEM, LAYERS)
    with pytest.raises(ValueError, match="reads a tuple of layers"):
        resolve(("unbalancedness",), NET, PROBLEM, (jnp.ones((2, 3)), jnp.ones((2, 3))))


@pytest.mark.parametrize("count", [None, 4])
def test_runs_have_their_dimensions_named(count):
    records = (Record("loss", None), Record("map", None, ("output", "input")), Record("own", None))
    lead = () if count is None else (count,)
    values = [np.zeros((*lead, 3)), np.zeros((*lead, 3, 2, 3)), np.zeros((*lead, 3, 5, 6))]
    start = LAYERS if count is None else MANY
    run = run_of(records, values, who.members(NET, PROBLEM, start), ("step", np.arange(3)), start, {"seed": 1})
    first = () if count is None else ("member",)
    assert run.loss.dims == (*first, "step")
    assert run.map.dims == (*first, "step", "output", "input")
    assert run.own.dims == (*first, "step", "own_0", "own_1")
    assert run.settings["seed"] == 1
    sizes = jnp.asarray(0.5) if count is None else jnp.arange(1.0, 5.0)
    time = with_time(run, sizes, np.array([0, 2, 4])).time
    np.testing.assert_allclose(time, np.multiply.outer(np.asarray(sizes), [0, 2, 4]))
    assert with_numbers(run, diverged_at=np.zeros(lead, int)).diverged_at.dims == first


def test_names_of_optimisers_and_settings():
    assert named(optax.adam) == "adam"
    assert named(partial(optax.adam, b1=0.5)) == "adam(b1=0.5)"
    assert named(partial(optax.sgd, 0.1, momentum=0.9)) == "sgd(0.1, momentum=0.9)"
    told = settings_of("descent", NET, who.members(NET, PROBLEM, LAYERS), step_size=jnp.asarray([0.5]), steps=3)
    assert (told["method"], told["problem"], told["step_size"], told["steps"]) == ("descent", "Regression", [0.5], 3)


def test_what_diverged_is_told():
    assert str(Diverged(loss=1.23456, remedy="try less", step=7)) == (
        "the run diverged at step 7: the last finite loss was 1.235; try less"
    )
    several = Diverged(loss=1.0, remedy="try less", member=2, step=7, others=1)
    assert str(several).startswith("member 2 (and 1 other members) diverged at step 7")
    assert (several.member, several.step, several.loss) == (2, 7, 1.0)
    assert "other" not in str(Diverged(loss=1.0, remedy="", member=2, step=7))
