"""A forecast and a comparison speak for themselves: a short repr, sentences, a table, a figure, a page."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from lineament import Run
from lineament.core.words import several
from lineament.forecasting import forecast, train, words


@pytest.fixture(scope="module")
def run():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) * [1.0, 2.0, 0.5, 1.0]
    return train(forecast(X, X @ [1.0, -1.0, 2.0, 0.0] + 0.1 * rng.standard_normal(60), depth=2))


def test_the_repr_is_one_short_line(run):
    for shown in (run, run.forecast):
        assert len(repr(shown)) < 300
        assert "\n" not in repr(shown)
    assert repr(run.forecast).startswith("Forecast(arrays: 60 examples, 4 features, one target; 2 layers, step size ")
    assert repr(run).startswith("Comparison(holds: Trained in ")


def test_the_training_itself_is_in_the_comparison(run):
    assert isinstance(run.run, Run)
    np.testing.assert_array_equal(run.steps, run.run.step.values)
    product = run.run.final[1] @ run.run.final[0]
    np.testing.assert_allclose(product, run.run.end_to_end.values[-1], rtol=1e-12, atol=1e-12)
    assert run.diverged_at is None


def test_the_repr_of_a_long_name_is_short():
    rng = np.random.default_rng(0)
    made = forecast(rng.standard_normal((9, 2)), rng.standard_normal(9))
    object.__setattr__(made, "name", "x" * 500 + ".csv")
    assert len(repr(made)) < 200


def test_the_sentences_are_those_of_the_words(run):
    made = run.forecast
    assert made.sentences == tuple(
        part(made)
        for part in (words.data, words.step_size, words.pace, words.first, words.order, words.stop, words.test_loss)
    )
    assert run.sentences[:-1] == made.sentences
    assert run.sentences[-1] == f"Trained: holds. {words.comparison(run)}"
    assert str(made).splitlines() == [words.title(made), *made.sentences, *made.notices]


def test_the_table_has_a_row_for_each_component(run):
    frame, made = run.to_frame(), run.forecast
    assert list(frame.columns[-2:]) == ["half_measured", "features"]
    assert list(made.to_frame().columns) == [name for name in frame.columns if name != "half_measured"]
    assert frame["explained"].is_monotonic_decreasing
    for row in frame.itertuples():
        component = made.components[row.number - 1]
        assert row.half == pytest.approx(component.half / made.step_size)
        assert row.variance == component.variance
    measured = {half.number: half.measured for half in run.halfway}
    assert frame.set_index("number")["half_measured"].dropna().to_dict() == measured
    assert "strength" in forecast(np.eye(5)[:, :3], np.arange(5.0), whiten=True).to_frame().columns


def test_a_notebook_shows_sentences_and_the_table_escaped():
    made = forecast(np.random.default_rng(0).standard_normal((20, 2)), np.array(["<b>", "&"] * 10))
    object.__setattr__(made, "name", "<script>")
    page = made._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert page.count("<tr") == 1 + len(made.components)


def test_a_figure_and_a_page(run, tmp_path):
    from matplotlib.figure import Figure

    picture = run.plot()
    assert isinstance(picture, Figure)
    assert len(picture.axes) == 2
    assert len(run.forecast.plot("spectrum").axes) == 2
    with pytest.raises(ValueError, match="which must be one of 'learning', 'timetable', 'spectrum'; got 'loss'"):
        run.plot("loss")
    path = run.report(tmp_path / "new" / "page.html")
    assert path == tmp_path / "new" / "page.html"
    assert "Forecast against training" in path.read_text(encoding="utf-8")
    assert "Forecast against training" not in run.forecast.report(tmp_path / "p.html").read_text(encoding="utf-8")


def test_too_many_steps_are_not_trained():
    rng = np.random.default_rng(0)
    made = forecast(rng.standard_normal((9, 2)), rng.standard_normal(9), steps=10**9)
    with pytest.raises(ValueError, match="steps must be at most 10000000 to be trained; got 1000000000"):
        train(made)


@pytest.mark.parametrize(("number", "told"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows"), (12000, "12\u202f000 rows")])
def test_one_is_told_in_the_singular(number, told):
    assert several(number, "row") == told


@pytest.mark.parametrize(
    ("apart", "told"),
    [
        ([], "Only one component matters: there are no phases to tell apart."),
        ([True], "The two components that matter are learnt strictly one after the other (90 % of the first"),
        ([False], "The two components that matter are not learnt strictly one after the other"),
        ([False, False], "Of 2 successive pairs of components that matter, none is learnt strictly"),
        ([True, False], "Of 2 successive pairs of components that matter, one is learnt strictly"),
        ([True, True], "Of 2 successive pairs of components that matter, all are learnt strictly"),
        ([True, True, False], "Of 3 successive pairs of components that matter, 2 are learnt strictly"),
    ],
)
def test_how_phases_are_told(apart, told):
    phases = [SimpleNamespace(separated=each) for each in apart]
    components = [SimpleNamespace(explained=0.5, half=1.0), SimpleNamespace(explained=1e-9, half=2.0)]
    assert words.order(SimpleNamespace(phases=phases, whiten=False, components=components)).startswith(told)


def test_components_that_are_not_learnt_in_time_are_not_called_unimportant():
    components = [SimpleNamespace(explained=0.5, half=1.0), SimpleNamespace(explained=0.3, half=math.inf)]
    told = words.order(SimpleNamespace(phases=[], whiten=False, components=components))
    assert told.startswith("No two components that matter are half learnt within this range")
    none = [SimpleNamespace(explained=0.5, half=math.inf)] * 2
    assert words.order(SimpleNamespace(phases=[], whiten=False, components=none)) == "", "which is said already"


def test_what_was_left_out_is_told_in_the_singular_too():
    assert words.left_out(1, 10) == "1 of 10 rows has a missing value and was left out."
    assert words.left_out(2, 10) == "2 of 10 rows have a missing value and were left out."
    assert words.constant(["a"]) == "1 constant column was left out: a."
    assert words.constant(list("abcdefg")) == "7 constant columns were left out: a, b, c, d, e, f, …."
