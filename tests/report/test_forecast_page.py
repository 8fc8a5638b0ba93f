"""The page of a forecast is sound, self-contained, and says what was forecast; its JSON is strict."""

import json
import math
import re

import numpy as np
import pytest

from lineament.forecasting import forecast, train, words
from lineament.report import draw, forecast_figures, forecast_json, forecast_page
from report.test_atlas import Page


def table(names=3):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5)) * np.array([1.0, 2.0, 0.5, 1.0, 0.0])
    X[:, 1] += X[:, 0]
    labels = np.array(["<red>", "$green$", "`blue`"])[
        np.digitize(X[:, 0] + 0.3 * rng.standard_normal(80), [-0.5, 0.5])
    ]
    return X, labels


@pytest.fixture(scope="module")
def trained():
    made = forecast(*table(), depth=2)
    return made, train(made)


def strict(text):
    return json.loads(text, parse_constant=pytest.fail)


def test_the_page_is_whole_and_loads_nothing(trained, tmp_path):
    path = forecast_page.write(tmp_path, *trained, command="lineament forecast t.csv")
    assert path == tmp_path / "forecast.html"
    page = Page(path)
    assert len(page.ids) == len(set(page.ids))
    assert not {"script", "img", "link"} & set(page.tags)
    outside = [name for _, name, value in page.attributes if "//" in (value or "") and not name.startswith("xmlns")]
    assert outside == []
    assert sum(tag == "svg" and attributes.get("role") == "img" for tag, attributes in page.elements) == 3
    assert page.tags.count("h1") == 1
    for said in (
        "holds", "80 examples, 4 features, 3 classes", "1 constant column was left out: x4", "<red>", "$green$",
        "lineament forecast t.csv", "Largest stable", "Half, trained", "deficiency margin", "Cohen & Razin, Thm. 2",
    ):  # fmt: skip
        assert said in page.text, said


def test_the_page_without_training_speaks_of_none(trained, tmp_path):
    page = Page(forecast_page.write(tmp_path, trained[0]))
    assert "Half, trained" not in page.text
    assert "Forecast against training" not in page.text


def test_a_forecast_without_advice_on_stopping_is_drawn(tmp_path):
    X, y = table()
    made = forecast(X[:4], y[:4])
    assert made.stopping is None
    page = Page(forecast_page.write(tmp_path, made))
    assert "cannot be told" in page.text
    assert len(forecast_figures.figures(made)["timetable"].panels) == 1


def test_figures_hold_the_numbers(trained):
    made, run = trained
    drawn = forecast_figures.figures(made, run)
    loss, shares = drawn["learning"].panels
    curve = next(mark for mark in loss.marks if mark.label == "forecast")
    np.testing.assert_allclose(curve.y, np.interp(curve.x, made.time / made.step_size, made.loss))
    seen = next(mark for mark in loss.marks if mark.label == "trained")
    assert seen.role == "measured"
    assert set(seen.y) <= set(run.loss)
    assert sum(mark.role == "measured" for mark in shares.marks) == min(5, len(made.components))
    halves = next(mark for mark in drawn["timetable"].panels[0].marks if mark.label == "forecast: half")
    assert dict(zip(halves.y, halves.x, strict=True)) == {
        each.number: made.step_of(each.half) for each in made.components if math.isfinite(each.half)
    }
    assert "measured" not in {
        mark.role for panel in forecast_figures.figures(made)["learning"].panels for mark in panel.marks
    }


def test_json_is_strict_and_complete(trained):
    made, run = trained
    found = strict(forecast_json.to_json(made, run))
    assert found["trained"]["verdict"] == "holds"
    assert found["components"][0]["half_step"] == pytest.approx(made.components[0].half / made.step_size)
    assert found["curve"]["loss"][0] == pytest.approx(made.loss[0])
    assert found["classes"] is True
    assert len(found["premises"]) == 6
    assert found["stopping"]["window"][1] is None or found["stopping"]["window"][1] > 0
    short = strict(forecast_json.to_json(forecast(*table(), steps=1)))
    assert short["components"][0]["half"] is None, "what does not happen in the range is null"
    assert "trained" not in short


def test_advice_on_stopping_follows_the_numbers():
    rng = np.random.default_rng(0)
    noise = forecast(rng.standard_normal((60, 20)), rng.standard_normal(60), depth=1)
    assert re.match(r"Stop near step \d+", words.stop(noise))
    x = rng.standard_normal((60, 2))
    assert words.stop(forecast(x, x @ [1.0, 2.0])) == "Train to the end: the expected test loss never rises."


def test_the_command_can_be_run_again():
    options = {"target": "house price", "depth": 2, "lr": None, "whiten": True, "train": False}
    line = forecast_page.command_line("my data.csv", options)
    assert line == "lineament forecast 'my data.csv' --target 'house price' --depth 2 --whiten"


def test_a_diverged_run_and_an_unfinished_plateau_are_drawn(tmp_path):
    X, y = table()
    diverging = forecast(X, y, step_size=6 * forecast(X, y).largest_stable, steps=300)
    run = train(diverging)
    page = Page(forecast_page.write(tmp_path, diverging, run))
    assert "Training diverged at step" in page.text
    assert "descent ends in a cycle of two or more maps, or diverges" in page.text
    assert "not at this step size" in page.text
    assert "differs" in page.text
    assert (
        strict((tmp_path / "forecast.json").read_text(encoding="utf-8"))["trained"]["diverged_at"] == run.diverged_at
    )
    flat = forecast(X, y, depth=12, start_scale=1e-12)
    assert words.first(flat) == "No component is half learnt within this range."
    draw.svg(forecast_figures.figures(flat)["timetable"])
