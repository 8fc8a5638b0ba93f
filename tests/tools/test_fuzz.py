"""The fuzz campaign at a fixed budget, and what judges it."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tools.fuzz import __main__ as fuzz
from tools.fuzz import commands
from tools.fuzz.calls import tried
from tools.fuzz.judge import judge
from tools.fuzz.surface import call, surface

from lineament.core import arguments

BUDGET = {"calls": 200, "files": 25, "commands": 40}
SEED = 2026


@pytest.mark.parametrize("kind", BUDGET)
def test_nothing_hostile_is_taken_or_refused_by_a_dependency(kind, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", os.environ.get("XDG_CACHE_HOME", ""))
    monkeypatch.delenv("LINEAMENT_DATA", raising=False)
    parts = ("measure", "training", "tables")
    trials = list(fuzz.campaign(kind, BUDGET[kind], SEED, parts))
    assert len(trials) == BUDGET[kind]
    assert [str(trial) for trial in trials if trial.fault] == []


def raises(x):
    raise KeyError(x)


def hangs(x):
    while x:
        pass


@pytest.mark.parametrize(
    ("function", "value", "kind"),
    [
        (lambda x: arguments.number("x", x), "text", "refused"),
        (lambda x: float(x), "text", "traceback"),
        (lambda x: np.linalg.inv(x), np.zeros((2, 2)), "traceback"),
        (raises, 1.0, "traceback"),  # raised by a statement, but by none of the package's
        (lambda x: Path(x).read_bytes(), "nowhere", "refused"),
        (lambda x: 2 * x, 1.0, "result"),
    ],
)
def test_an_error_is_ours_if_we_raised_it(function, value, kind):
    assert judge(function, x=value).kind == kind


def test_what_takes_too_long_is_interrupted(monkeypatch):
    monkeypatch.setattr("tools.fuzz.judge.PROCESSOR_SECONDS", 0.05)
    assert judge(hangs, x=1).kind == "hang"


def test_what_is_taken_though_it_can_never_be_right_is_a_fault():
    """A function that loses the imaginary part and ignores masks, as many did."""

    def careless(x):
        return np.asarray(x).real.sum()

    masked = next(value for value in fuzz.calls.NEVER["number"] if isinstance(value, np.ma.MaskedArray))
    assert tried("f", call(careless, x=1.0), "x", masked).fault == "silent"
    assert tried("f", call(careless, x=1.0), "x", 2.0).fault == ""


def test_control_characters_on_the_terminal_are_a_fault(monkeypatch):
    monkeypatch.setattr(commands, "_run", lambda line: print("\x1b[31m") or 0)
    assert commands.tried(("claims",)).fault == "silent"
    monkeypatch.setattr(commands, "_run", lambda line: int("text"))
    assert commands.tried(("claims",)).fault == "traceback"


def test_calls_are_made_in_an_empty_folder_alone(tmp_path, monkeypatch):
    """They write files by relative paths: made where one happens to be, they leave them behind."""
    monkeypatch.chdir(tmp_path)
    assert "measure.spectra.effective_rank" in surface(["measure"])
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ValueError, match="working folder must be empty"):
        surface(["measure"])


def test_the_same_seed_draws_the_same_trials():
    calls = {"f": call(lambda x: arguments.number("x", x), x=1.0)}
    drawn = [[str(trial) for trial in fuzz.calls.draw(calls, 30, seed)] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert Counter(fault.split()[0] for fault in drawn[0])["traceback"] == 0
