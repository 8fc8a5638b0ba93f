"""The scoreboard: cells are kept and read again, failures are shown, the page and the table say the same."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from lineament import cli
from lineament.data import tables
from lineament.forecasting import scoreboard as columns
from lineament.forecasting import scoreboard_curves
from lineament.forecasting.scoreboard import Cell
from lineament.report import scoreboard


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(240)
    place = tmp_path / "tables"
    place.mkdir()
    np.savez(place / "good.npz", X=X, y=y)
    (place / "flat.csv").write_text("a,b\n1,2\n2,2\n3,2\n")
    (place / "notes.md").write_text("no table")
    return place


def test_tables_are_found_in_a_folder_or_bundled(folder):
    assert list(scoreboard.found(folder)) == ["flat", "good"]
    assert list(scoreboard.found(None)) == list(tables.BUNDLED)


def test_cells_are_kept_and_not_run_again(folder, tmp_path):
    ran = []

    def column(table):
        ran.append(table.name)
        return Cell("holds", 0.01, "well")

    sources = scoreboard.found(folder)
    first = scoreboard.run(sources, tmp_path / "out", {"one": column})
    again = scoreboard.run(sources, tmp_path / "out", {"one": column})
    assert len(ran) == 2
    assert first == again
    scoreboard.run(sources, tmp_path / "out", {"one": column}, fresh=True)
    assert len(ran) == 4
    kept = tmp_path / "out" / "cells" / "good--one.json"
    kept.write_text(json.dumps({**json.loads(kept.read_text()), "code": "other"}))
    scoreboard.run(sources, tmp_path / "out", {"one": column})
    assert len(ran) == 5, "a cell of other code is run again"
    kept.write_text("torn")
    scoreboard.run(sources, tmp_path / "out", {"one": column})
    assert len(ran) == 6


def test_columns_can_be_chosen_by_their_words(folder, tmp_path, capsys):
    assert cli.main(["scoreboard", str(folder), "--only", "nonsense", "--out", str(tmp_path / "out")]) == 2
    assert "--only" in capsys.readouterr().err


def test_failures_are_cells_like_others(folder, tmp_path):
    def fails(table):
        raise ValueError("no")

    board = scoreboard.run(
        scoreboard.found(folder), tmp_path / "out", {"bad": fails, "rows": columns.COLUMNS["rows, ridge"]}
    )
    assert board["good"]["bad"] == Cell("error", None, "ValueError: no")
    assert board["flat"]["rows"].verdict in ("error", "undecided")
    assert scoreboard.summary(board)["bad"] == "0 of 0 hold, 2 error"
    page = scoreboard.write(board, tmp_path / "out").read_text(encoding="utf-8")
    assert "ValueError: no" in page
    text = (tmp_path / "out" / "scoreboard.md").read_text(encoding="utf-8")
    assert "| good | ! |" in text


def test_a_learning_curve_and_a_linear_network_hold_on_an_easy_table(folder):
    table = tables.read(str(folder / "good.npz"))
    for name in ("rows, least squares", "rows, ridge"):
        cell = columns.COLUMNS[name](table)
        assert cell.value is not None
        assert (cell.verdict == "holds") == (cell.value <= scoreboard_curves.MISS)
        assert "× 4: " in cell.told
        assert "in the band" in cell.told
    assert columns.COLUMNS["linear, 1 layer"](table).verdict == "holds"


def test_the_score_of_a_curve_is_taken_over_splits_and_rows_that_were_not_used(folder):
    found = scoreboard_curves.score(tables.read(str(folder / "good.npz")), "linear")
    assert found.used == 48
    assert found.forecast.shape == found.held.shape == (5, 2)
    # y has variance 15, of which 1 is noise; ridge on 96 and 192 rows of 3 columns loses hardly more.
    assert np.all(np.abs(found.measured * 15 - 1) < 0.25)
    assert found.measured[1] < found.measured[0] * 1.1
    naive = [np.mean([abs(found.forecast[i, k] / found.measured[k] - 1) for i in range(5)]) for k in range(2)]
    assert np.allclose(found.miss(), naive)
    with pytest.raises(ValueError, match="at least 200 complete rows; got 100"):
        scoreboard_curves.score(tables.arrays(np.ones((100, 2)) * np.arange(100)[:, None], np.arange(100)), "linear")


def test_forecasts_that_take_too_long_are_left_undecided(folder, monkeypatch):
    monkeypatch.setattr(columns, "MOST_STEPS", 3)
    assert columns.linear(tables.read(str(folder / "good.npz")), 2).verdict == "undecided"


def test_the_command(folder, tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(columns, "COLUMNS", {"one": lambda table: Cell("differs", 0.5, "badly")})
    assert cli.main(["scoreboard", str(folder), "--out", str(tmp_path / "out")]) == 0
    out = capfd.readouterr().out
    assert "good, one: differs, badly" in out
    assert "one: 0 of 2 hold" in out
    assert cli.main(["scoreboard", str(tmp_path / "nowhere")]) == 2
    assert cli.main(["scoreboard", str(tmp_path / "out" / "cells")]) == 2


def fake_run(test, training, covered=1.0, **classes):
    """A comparison whose losses end so far off their forecasts."""
    at = np.array([0, 10, 20])
    curves = SimpleNamespace(test_loss=np.ones(3), loss=np.ones(3), test_accuracy=np.array([0.5, 0.8, 0.9]))
    lin = SimpleNamespace(at=at, steps=20, safe_step=12.0, curves=curves)
    run = {"test_loss": np.array([1, 1, 1 + test]), "loss": np.array([1, 1, 1 + training])} | classes
    forecast = SimpleNamespace(linearised=lin)
    return SimpleNamespace(forecast=forecast, run=run, departed=np.inf, covered=covered, agreement=0.97)


@pytest.mark.parametrize(
    ("test", "training", "verdict"), [(0.04, -0.09, "holds"), (-0.06, 0, "differs"), (0.0, 0.11, "differs")]
)
def test_both_losses_of_a_network_decide(test, training, verdict):
    cell = columns._numbers(fake_run(test, training), 0.1)
    assert cell.verdict == verdict
    assert cell.value == pytest.approx(abs(test))
    assert f"training loss {100 * abs(training):.1f} %" in cell.told


def test_classes_are_judged_at_the_last_safe_step():
    right = {"test_accuracy": np.array([0.5, 0.81, 0.2])}
    cell = columns._classes(fake_run(0, 0, **right))
    assert cell.verdict == "holds"
    assert cell.value == pytest.approx(0.01)
    assert "at step 10" in cell.told
    wrong = {"test_accuracy": np.array([0.5, 0.77, 0.9])}
    assert columns._classes(fake_run(0, 0, **wrong)).verdict == "differs"


def test_a_linear_network_from_glorots_start_does_what_was_forecast():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    cell = columns.any_start(tables.arrays(X, X[:, 0] + 0.1 * rng.normal(size=30)), depth=2, start="glorot")
    assert cell.verdict == "holds"
    assert cell.value < 1e-3


def test_tables_of_one_short_name_are_all_there(tmp_path):
    names = ["a.csv", "a.tsv", "a.v2.csv", ".csv", "b.v1.csv", "x" * 240 + ".csv", "p|q.csv"]
    for name in names:
        (tmp_path / name).write_text("a,y\n1,2\n2,3\n")
    (tmp_path / "folder.csv").mkdir()
    found = scoreboard.found(tmp_path)
    assert sorted(found.values()) == sorted(str(tmp_path / name) for name in names)
    assert set(found) == {"a.csv", "a.tsv", "a.v2.csv", ".csv", "b", "x" * 240, "p|q"}
    begun = []
    column = {"a column, of sorts": lambda table: Cell("holds", 0.0, "well")}
    board = scoreboard.run(found, tmp_path / "out", column, begin=begun.append)
    assert len(begun) == len(list((tmp_path / "out" / "cells").iterdir())) == len(names)
    assert begun[0].endswith(", a column, of sorts …")
    assert board == scoreboard.run(found, tmp_path / "out", column, begin=pytest.fail)
    assert "| p&#124;q | ✓" in scoreboard.markdown(board)


def test_a_table_that_cannot_be_read_or_held_is_an_error_in_its_cell(folder, tmp_path, monkeypatch):
    def refuse(source):
        raise PermissionError(13, "Permission denied", source)

    def large(table):
        raise MemoryError("too large")

    sources = scoreboard.found(folder)
    assert scoreboard.run(sources, tmp_path / "a", {"one": large})["good"]["one"].told == "MemoryError: too large"
    monkeypatch.setattr(tables, "read", refuse)
    cell = scoreboard.run(sources, tmp_path / "b", {"one": large})["good"]["one"]
    assert (cell.verdict, "Permission denied" in cell.told) == ("error", True)
