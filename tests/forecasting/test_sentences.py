"""Each sentence of a forecast at the edges where another one takes its place."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from lineament.evidence import at_most
from lineament.forecasting import forecast, words
from lineament.forecasting.forecast import notices
from lineament.forecasting.paths import Progress
from lineament.forecasting.result import Component, Phase

X = np.random.default_rng(0).normal(size=(60, 3))
PLAIN = forecast(X, X @ [1.0, 2.0, 3.0] + np.random.default_rng(1).normal(size=60), depth=2)


def made(**change):
    """A forecast of which some numbers are others."""
    return replace(PLAIN, **change)


def part(number, explained=0.5, half=1.0, begins=0.5, ends=2.0, features=(("a", 1.0), ("b", -0.5))):
    return Component(number, 1.0, 1.0, explained, begins, half, ends, features, ())


@pytest.mark.parametrize(
    ("value", "words_of"),
    [(0.4, "0"), (999.6, "1\u202f000"), (1234567, "1\u202f234\u202f567"), (math.inf, "–"), (math.nan, "–")],
)
def test_counts(value, words_of):
    assert words.count(value) == words_of


@pytest.mark.parametrize(
    ("share", "told"),
    [(0.0004, "0 %"), (0.0005, "0.1 %"), (0.0049, "0.5 %"), (0.005, "0 %"), (0.5, "50 %"), (0.9949, "99 %"),
     (0.995, "99.5 %"), (0.9994, "99.9 %"), (0.9995, "100 %"), (1.0, "100 %")],
)  # fmt: skip
def test_shares(share, told):
    assert words.part(share) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.01234, "0.0123"), (999.4, "999"), (1000.0, "1\u202f000"), (123456.0, "123\u202f000"), (1e6, "1e+06")],
)
def test_losses(value, told):
    assert words.loss(value) == told


def test_titles_and_outputs():
    assert words.title(made(depth=1, name="a/b.csv")) == "What a linear network of one layer learns from b.csv"
    assert words.title(made(depth=3, name="b.csv")) == "What a linear network of 3 layers learns from b.csv"
    assert (words.kind(PLAIN), words.kind(made(whiten=True))) == ("component", "mode")
    for outputs, classes, told in (("y", False, "one target"), ("ab", False, "2 targets"), ("ab", True, "2 classes")):
        moments = replace(PLAIN.moments, outputs=tuple(outputs), classes=classes)
        assert words.outputs(made(moments=moments)) == told
    assert "1 layer," in words.brief(made(depth=1))
    assert words.brief(made(name="x" * 40)).startswith("x" * 40 + ":")
    assert words.brief(made(name="y" + "x" * 40)).startswith("…" + "x" * 39 + ":")


def test_columns_and_rows_that_are_left_out():
    assert words.left_out(1, 9) == "1 of 9 rows has a missing value and was left out."
    assert words.left_out(2, 9) == "2 of 9 rows have a missing value and were left out."
    assert words.constant(["a"]) == "1 constant column was left out: a."
    assert words.constant(list("abcdef")) == "6 constant columns were left out: a, b, c, d, e, f."
    assert words.constant(list("abcdefg")) == "7 constant columns were left out: a, b, c, d, e, f, …."


def test_those_that_explain_most_are_listed_in_the_order_they_are_learnt():
    parts = [part(i, explained=i / 100, half=(7 * i) % 13) for i in range(1, 15)]
    listed = words.listed(made(components=tuple(parts)))
    assert [each.number for each in sorted(listed, key=lambda each: each.number)] == list(range(3, 15))
    assert [each.half for each in listed] == sorted(each.half for each in listed)
    ties = words.listed(made(components=(part(2), part(1))))
    assert [each.number for each in ties] == [1, 2]
    edge = made(components=(part(1, 0.99), part(2, 0.01)))
    assert words.matters(edge, edge.components[1])
    assert not words.matters(edge, part(3, 0.0099))
    assert words.made_of((("a", 0.0), ("b", -1.0))) == "+a, −b"


def path(left, time=None):
    left = np.array(left)
    return Progress(np.arange(len(left)) * 1.0 if time is None else time, np.zeros((len(left), 3)), 0 * left, left)


def test_the_pace():
    slow = {"step_size": 0.5, "largest_stable": 2.0, "steps": 8}
    told = lambda left: words.pace(made(**slow, path=path(left)))  # noqa: E731
    assert told([1.0, 0.995, 0.9901]) == "At step size 0.5 hardly anything is learnt in 8 steps."
    assert "the training loss goes 1 % of the way by step 8 to" in told([1.0, 0.995, 0.99])
    assert "goes half of the way by step 2 and 60 % of the way by step 8 to" in told([1.0, 0.5, 0.4])
    assert "goes half of the way by step 2 and 99 % of the way by step 4 to" in told([1.0, 0.4, 0.01])
    assert words.step_when(made(**slow, path=path([1.0, 0.4])), 0.7) == math.inf
    level = made(**slow | {"step_size": 2.0}, path=path([1.0, 0.4]))
    assert words.pace(level).startswith("At step size 2")
    above = made(**slow | {"step_size": 2.001}, path=path([1.0, 0.4]))
    assert words.pace(above).startswith("The step size 2 is above 2, the largest stable one")


def test_beyond_the_largest_stable_step():
    beyond = {"step_size": 3.0, "largest_stable": 2.0}
    assert words.beyond(made(**beyond, depth=1)).endswith("the largest stable one: descent diverges.")
    assert "bears steps up to 3.1" in words.beyond(made(**beyond, settles_below=3.1))
    assert "As no optimum bears more than 3, descent ends" in words.beyond(made(**beyond, settles_below=3.0))
    two = replace(PLAIN.moments, outputs=("a", "b"))
    assert "As no optimum with scaled layers bears" in words.beyond(made(**beyond, settles_below=2.5, moments=two))


def test_what_comes_first():
    at = {"step_size": 0.5, "largest_stable": 2.0}
    assert words.first(made(**at, components=(part(2, 0.9, half=3.0), part(1, 0.005, half=1.0)))) == (
        "First comes component 2 (+a, −b), which explains 90.0 % of the target's variance: half learnt by step 6."
    )
    never = (part(1, 0.9, half=math.inf), part(2, 0.005, half=1.0))
    assert words.first(made(**at, components=never)) == "No component that matters is half learnt within this range."
    none = (part(1, half=math.inf),)
    assert words.first(made(**at, components=none)) == "No component is half learnt within this range."
    assert words.first(made(**at | {"step_size": 2.0})).startswith("First comes")
    assert words.first(made(**at | {"step_size": 2.1})).startswith("All times below are those of gradient flow")


def test_the_order():
    phase = lambda apart: Phase(1, 2, apart, 0.0, None)  # noqa: E731
    told = lambda *apart: words.order(made(phases=tuple(map(phase, apart))))  # noqa: E731
    assert told(True).startswith("The two components that matter are learnt strictly")
    assert told(False).startswith("The two components that matter are not learnt strictly")
    for apart, number in (
        ((False, False), "none is"), ((True, False), "one is"), ((True, True), "all are"), ((True, True, False), "2 are"),
    ):  # fmt: skip
        assert told(*apart).startswith(f"Of {len(apart)} successive pairs of components that matter, {number} learnt")
    alone = {"phases": ()}
    assert words.order(made(**alone, components=(part(1, half=math.inf),))) == ""
    assert words.order(made(**alone, components=(part(1),))).startswith("Only one component matters")
    both = (part(1), part(2, half=math.inf))
    assert words.order(made(**alone, components=both)).startswith("No two components that matter are half learnt")


def test_when_to_stop():
    at = {"step_size": 0.5, "largest_stable": 2.0, "steps": 9, "path": path([1.0, 0.1])}
    stopping = replace(PLAIN.stopping, best=3.0, window=(2.0, 4.0), least=0.8, final=1.0, within_range=True)
    told = lambda **change: words.stop(made(**at, stopping=replace(stopping, **change)))  # noqa: E731
    assert told() == (
        "Stop near step 6 (within 5 % of best: 4 to 8): it saves 20 % of the expected test loss at the end of training."
    )
    assert "(within 5 % of best: 4 onwards)" in told(window=(2.0, math.inf))
    assert told(best=math.inf) == "Train to the end: the expected test loss never rises."
    assert told(least=0.991).startswith("Train to the end: stopping at the best step, 6, would save only 0.9 % of")
    assert told(least=0.99).startswith("Stop near step 6"), "a hundredth is worth it"
    assert told(within_range=False) == "The expected test loss still falls at step 9; it rises later, by 20 %."
    assert "too few examples" in words.stop(made(**at, stopping=None))
    assert "forecast ends" in words.stop(made(**at | {"step_size": 2.5}))
    assert words.stop(made(**at | {"step_size": 2.0}, stopping=stopping)).startswith("Stop near")
    assert "hardly anything" in words.stop(made(**at | {"path": path([1.0, 0.9901])}))


def test_the_loss_on_new_rows():
    errors = {"loss": np.array([3.0, 0.5, 0.7]), "error": np.array([0.1, 0.2, 0.3]), "final_error": 0.4}
    stopping = replace(
        PLAIN.stopping, least=0.5, final=0.7, cross_validated=np.array([3.1, 0.6, 0.8]), **errors,
        fixed_design=replace(PLAIN.stopping, least=0.45, final=0.65),
    )  # fmt: skip
    told = lambda **change: words.test_loss(made(stopping=replace(stopping, **change)))  # noqa: E731
    assert told(method="cross-validation").startswith(
        "On tenths of the rows that were left out the test loss is 0.5 at best, 0.7 when everything is learnt (± 0.2);"
    )
    assert "(± 0.4)" in told(method="cross-validation", least=0.7)
    single = told(method="leave-one-out")
    assert "one by one the test loss is 0.5 at best, 0.7 when everything is learnt; on tenths" in single
    assert "left out 0.6 (± 0.2) at the same step; for new labels" in single
    assert single.endswith("theory says 0.45, 0.65.")
    for change in ({"fixed_design": None}, {"cross_validated": None}, {"error": None}, {"final_error": None}):
        assert told(**change).startswith("The test loss is expected to be 0.5 at best")
    assert words.test_loss(made(stopping=None)) == ""


def test_a_comparison_in_words():
    run = SimpleNamespace(
        diverged_at=None, checks=[at_most("a", 0.0, 1.0)], seconds=1.234, gap=0.0123, forecast=SimpleNamespace(steps=1)
    )
    assert words.comparison(run).startswith("Trained in 1.2 s: the loss was never further than 1.2 % of")
    run.diverged_at = 1234
    assert words.comparison(run) == "Training diverged at step 1\u202f234: the step size is too large."
    run.diverged_at, run.checks = None, [at_most("a", 0.0, 1.0, void="nothing"), at_most("b", 0.0, 1.0)]
    assert words.comparison(run).startswith("Trained in")
    run.checks = run.checks[:1]
    assert words.comparison(run) == "Neither forecast nor training learns anything in 1 step to be compared."


def test_settings_in_words():
    found = words.settings(PLAIN)
    assert (found["inputs"], found["depth"], found["steps"]) == ("standardised", 2, PLAIN.steps)
    assert "in random directions, seed 0" in found["start"]
    assert "centred targets" in found["loss"]
    other = replace(
        PLAIN.moments, scale=np.ones(3), target_scale=np.array([2.0]), outputs=tuple(f"y{i}" for i in range(13))
    )
    found = words.settings(made(moments=other))
    assert found["inputs"] == "centred"
    assert "standardised targets" in found["loss"]
    assert found["target"].endswith("y10, y11, …")
    assert words.settings(made(whiten=True))["inputs"] == "whitened"
    twelve = words.settings(made(moments=replace(other, outputs=other.outputs[:12])))
    assert twelve["target"].endswith("y10, y11")


def test_what_a_reader_should_know():
    told = lambda **change: " ".join(notices(made(**change)))  # noqa: E731
    at = {"largest_stable": 2.0, "recommended": 0.1}
    assert "is 25 % of the largest stable one" in told(**at, step_size=0.5)
    assert "of the largest stable one" not in told(**at, step_size=0.4)
    assert "is 100 % of the largest stable one" in told(**at, step_size=2.0)
    assert "The step size is 1.5 times the largest stable one. Recommended: 0.1." in told(**at, step_size=3.0)
    short = told(**at, step_size=0.1, steps=7, path=path([1.0, 0.5]))
    assert "After 7 steps 50.0 % of what can be learnt is learnt" in short
    assert "takes longer" not in told(**at, step_size=3.0, path=path([1.0, 0.5]))
    assert "takes longer" not in told(**at, step_size=0.1, path=path([1.0, 0.001 + 5e-7]))
    assert "takes longer" in told(**at, step_size=0.1, path=path([1.0, 0.001 + 2e-6]))
    few = replace(PLAIN.moments, few_values=3, missing=2)
    assert "only 3 values" in told(moments=few)
    assert "2 of 62 rows have a missing value" in told(moments=few)
    assert "There are 60 rows for 3 columns" in told(stopping=None)
    assert "1 direction of the inputs does not vary in the data beyond rounding: columns depend" in told(
        variances=PLAIN.variances[:2]
    )
    assert "2 directions of the inputs do not vary" in told(variances=PLAIN.variances[:1])
    scarce = replace(PLAIN.moments, rows=3)
    assert "there are fewer rows than columns" in told(variances=PLAIN.variances[:2], moments=scarce)
