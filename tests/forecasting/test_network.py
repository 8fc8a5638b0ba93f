"""A network's forecast on a table: rows, words, and the verdict after training it."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import lineament as la
from lineament.data import tables
from lineament.evidence import Verdict
from lineament.forecasting import network_train
from lineament.forecasting.rows import read_rows
from lineament.report import network_page


def task(n=60, classes=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) * [1.0, 5.0, 0.1] + 2
    y = np.tanh(X[:, 0] - 2) + 0.1 * (X[:, 1] - 2)
    return X, np.where(y > 0, "yes", "no") if classes else y


@pytest.fixture(scope="module")
def forecast():
    return la.forecast_network(*task(classes=True), width=150, steps=60)


@pytest.fixture(scope="module")
def comparison(forecast):
    return network_train.train_network(forecast)


def test_rows_are_parted_scaled_and_keep_their_numbers():
    X, y = task()
    X[4, 1] = np.nan
    X = np.c_[X, np.ones(60)]
    rows = read_rows(tables.arrays(X, y), classes=None, scale_target=False, test_share=0.25, seed=1)
    assert set(rows.train) | set(rows.test) == set(range(1, 61)) - {5}
    assert not set(rows.train) & set(rows.test)
    assert len(rows.test) == 15
    np.testing.assert_allclose(rows.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(rows.X.std(axis=0), 1)
    scale = lambda column, at: (X[at - 1, column] - X[rows.train - 1, column].mean()) / X[rows.train - 1, column].std()  # noqa: E731
    np.testing.assert_allclose(rows.X_test[:, 2], scale(2, rows.test))
    np.testing.assert_allclose(rows.y_test[:, 0], y[rows.test - 1] - y[rows.train - 1].mean())
    assert any("1 of 60 rows" in said for said in rows.notices)
    assert any("1 constant column" in said for said in rows.notices)
    assert any("Only 15 rows are left to test on" in said for said in rows.notices)


def test_a_row_that_decides_every_loss_is_named():
    X, y = task()
    y[6] = 1e4
    rows = read_rows(tables.arrays(X, y), classes=None, scale_target=False, test_share=0.25, seed=1)
    assert any(said.startswith("Row 7 alone holds 9") for said in rows.notices)


def test_classes_are_one_hot_in_the_order_of_their_names():
    labels = np.array(["10", "9", "11", "9", "10", None, "11", "9"], object)
    table = tables.joined(pd.DataFrame({"a": np.arange(8.0)}), labels)
    rows = read_rows(table, classes=True, scale_target=False, test_share=0.3, seed=0)
    assert rows.outputs == ("9", "10", "11")
    for number, hot in zip(rows.train, rows.y, strict=True):
        assert rows.outputs[int(np.argmax(hot))] == labels[number - 1]
        assert hot.sum() == 1


def test_it_says_what_matters_first(forecast):
    lead = forecast.sentences[0]
    right = 100 * forecast.linearised.curves.test_accuracy
    assert f"from {right[0]:.0f} % to {right[-1]:.0f} %" in lead
    assert len(repr(forecast)) < 250
    assert "<table" in forecast._repr_html_()
    late = forecast.examples()
    assert set(late.row) == set(forecast.rows.train)
    assert f"learnt last are {late.row[0]}, " in str(forecast)


def test_a_wide_network_is_trained_as_forecast(comparison):
    assert comparison.verdict is Verdict.HOLDS
    assert comparison.agreement == 1
    frame = comparison.to_frame()
    assert {"test_loss", "test_loss_trained", "test_accuracy_trained", "safe"} <= set(frame.columns)
    np.testing.assert_allclose(frame.test_loss_trained, frame.test_loss, rtol=0.1)
    assert frame.test_loss_trained[0] == pytest.approx(frame.test_loss[0])
    assert "Trained: holds" in str(comparison)


def test_a_run_that_goes_elsewhere_differs(forecast, monkeypatch):
    lin = forecast.linearised
    here, there = lin.outputs(lin.at)
    monkeypatch.setattr(network_train, "_trained", lambda made: (0.5 * here, 0.5 * there))
    assert network_train.train_network(forecast).verdict is Verdict.DIFFERS


def test_a_run_that_learns_nothing_is_undecided(forecast, monkeypatch):
    lin = forecast.linearised
    still = replace(lin, solution=replace(lin.solution, step_size=1e-12, _kept={}), step_size=1e-12)
    here, there = still.outputs(still.at)
    monkeypatch.setattr(network_train, "_trained", lambda made: (here, there))
    assert network_train.train_network(replace(forecast, linearised=still)).verdict is Verdict.UNDECIDED


def test_the_page_and_the_json_tell_the_same(comparison, tmp_path):
    page = network_page.write(tmp_path, comparison.forecast, comparison, "lineament forecast")
    text, data = page.read_text(), json.loads((tmp_path / "forecast.json").read_text())
    assert data["trained"]["verdict"] == "holds"
    assert len(data["answers"]) == len(data["test_rows"])
    assert set(data["answers"]) <= {"yes", "no"}
    for sentence in comparison.sentences[:1]:
        assert sentence in text
    for row in comparison.forecast.examples().row[:3]:
        assert f'<th scope="row" class="num">{row}</th>' in text


def test_numbers_are_explained_and_own_networks_are_taken():
    X, y = task()
    made = la.forecast_network(
        X, y, network=lambda inputs, outputs: la.models.MLP((inputs, 20, outputs), "tanh", "standard"), steps=30,
        optimiser="momentum", batch_size=9, start="torch",
    )  # fmt: skip
    assert made.linearised.network.name == "MLP 3 → 20 → 1"
    assert made.linearised.momentum == 0.9
    assert "% of the target's variance on new rows" in made.sentences[0] or "no better" in made.sentences[0]
    assert made.linearised.band is not None


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"loss": "cross-entropy"}, "loss must be 'square' for a target of numbers"),
        ({"width": 0}, "width must be"),
        ({"test_share": 1.0}, "test_share must be"),
        ({"optimiser": "adam"}, "optimiser must be one of"),
        ({"network": "cnn"}, "network must be one of .* or a function"),
        ({"batch_size": 1000}, "batch_size must be"),
    ],
)
def test_what_cannot_be_used_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        la.forecast_network(*task(), **changed)
