"""A recording in the terminal: what is shown, that nothing is read twice, and how it ends."""

import re

import numpy as np
import pytest

from lineament.cli import main
from lineament.recording import Recording, store
from lineament.report import recording_page, watch


def a_run(T=5):
    labels = np.arange(6) % 2
    outputs = np.eye(2)[np.where(np.arange(T)[:, None] > np.arange(6) / 2, labels, 1 - labels)]
    loss = [None, *np.geomspace(1, 0.1, T - 1)]
    between = [np.nan, *[2.0] * (T - 1)]
    return Recording(np.arange(T), outputs, labels, loss=loss, seconds=[0.1] * T, between=between)


def test_once_shows_a_finished_recording_and_writes_its_page(tmp_path, capsys):
    run = a_run()
    for i in range(5):
        store.append(tmp_path, run[i : i + 1], i)
    assert main(["watch", str(tmp_path), "--once"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"step\s+4\s+5 records of 6 examples", said)
    assert re.search(r"loss\s+0\.1\s+█▆▃▁", said)
    assert re.search(r"wrong\s+0\.0%\s+█", said)
    assert re.search(r"a record every\s+2 s\s+5\.0% of it in the recorder", said)
    assert (tmp_path / "report.html").read_text(encoding="utf-8").count("<h2") > 2
    assert "http-equiv" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_running_one_is_followed_until_it_is_interrupted(tmp_path, capsys, monkeypatch):
    run, looks, pages = a_run(), [], []
    store.append(tmp_path, run[:2], 0)

    def sleep(seconds):
        looks.append(seconds)
        if len(looks) == 2:
            store.append(tmp_path, run[2:], 1)
        if len(looks) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(watch.time, "sleep", sleep)
    monkeypatch.setattr(watch.time, "perf_counter", lambda: 100.0 * len(looks))  # pages take no time
    monkeypatch.setattr(
        recording_page, "write", lambda made, path, refresh=None: pages.append((len(made), refresh)) or path
    )
    assert main(["watch", str(tmp_path), "--every", "7", "--page", str(tmp_path / "new" / "page.html")]) == 0
    assert looks == [7, 7, 7, 7]
    assert pages == [(2, 7), (5, 7), (5, None)]  # the last one is not read again
    assert re.search(r"step\s+4\s+5 records", capsys.readouterr().out)


def test_a_page_that_takes_long_is_drawn_rarely(tmp_path, monkeypatch):
    run, clock, pages = a_run(9), [0.0], []
    folder = watch.Reader(tmp_path)
    monkeypatch.setattr(watch.time, "perf_counter", lambda: clock[0])

    def write(made, path, refresh=None):
        pages.append(len(made))
        clock[0] += 1.0

    def sleep(seconds):
        clock[0] += seconds
        if clock[0] > 30:
            raise KeyboardInterrupt
        number = len(store.stretches(tmp_path))
        if number < 9:
            store.append(tmp_path, run[number : number + 1], number)

    monkeypatch.setattr(recording_page, "write", write)
    monkeypatch.setattr(watch.time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        list(watch._growing(folder, tmp_path, 2.0))
    assert pages == [1, 6, 9]  # drawn from 2 to 3 s, rested until 13: one record every two seconds came meanwhile


def test_a_run_that_goes_back_is_read_again(tmp_path):
    run = a_run()
    reader = watch.Reader(tmp_path)
    assert reader.new() is None
    for i in range(5):
        store.append(tmp_path, run[i : i + 1], i)
    assert len(reader.new()) == 5
    assert reader.new() is None
    store.rewind(tmp_path, 2)
    np.testing.assert_array_equal(reader.new().steps, [0, 1])
    store.append(tmp_path, run[3:], 2)
    np.testing.assert_array_equal(reader.new().steps, [0, 1, 3, 4])
    (tmp_path / "000003.npz").write_text("no recording")
    with pytest.raises(ValueError, match="is no recording that can be read"):
        reader.new()


@pytest.mark.parametrize(
    ("course", "log", "expected"),
    [([1, 2, 4, 8], True, "▁▃▆█"), ([0, 7, np.nan], False, "▁█?"), ([3, 3], False, "▁▁"), ([np.nan], True, "?")],
)
def test_curves_in_signs(course, log, expected):
    assert watch.signs(np.array(course, float), log=log) == expected


def test_what_cannot_be_watched_is_refused(tmp_path, capsys):
    assert main(["watch", str(tmp_path / "none")]) == 2
    assert "does not exist: give the path that the recorder was given" in capsys.readouterr().err
    assert main(["watch", str(tmp_path), "--once"]) == 2
    assert "holds no recording" in capsys.readouterr().err
    assert main(["watch", str(tmp_path), "--every", "0"]) == 2
    assert "must be positive" in capsys.readouterr().err
