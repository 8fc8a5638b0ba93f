"""Every exercise of the course has a solution that runs, and what it finds is what its text says."""

import re
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

COURSE = Path(__file__).parents[2] / "course"
LESSONS = sorted(COURSE.glob("plot_*.py"))


@pytest.fixture(scope="module", autouse=True)
def solutions():
    sys.path.insert(0, str(COURSE / "solutions"))
    yield
    sys.path.remove(str(COURSE / "solutions"))


def solved(lesson, exercise):
    return getattr(import_module(f"lesson_{lesson:02d}"), f"exercise_{exercise}")()


def test_every_lesson_shows_its_three_solutions():
    assert len(LESSONS) == 12
    for number, path in enumerate(LESSONS, 1):
        shown = re.findall(r"^# \.\. solution:: (\S+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert shown == [f"lesson_{number:02d}.exercise_{k}" for k in (1, 2, 3)]


def test_01_the_logistic_curve():
    found = solved(1, 1)
    assert_allclose(found["trained"], found["by hand"], rtol=1e-7)
    assert_allclose(found["half"], found["theory"], rtol=1e-12)


def test_01_the_speed_is_the_variance():
    found = solved(1, 2)
    assert_allclose(found["trained"], found["by hand"], atol=1e-8)


def test_01_half_rise_times_are_logarithms_or_powers_of_the_start():
    found = solved(1, 3)
    steps = np.diff(found["times"][2]) / np.log(10)
    assert_allclose(steps, -1 / 4, rtol=1e-6)  # −1/(2σ*) for each factor e
    assert_allclose(found["slopes"][3], -1 / 3, atol=1e-3)
    assert_allclose(found["slopes"][4], -1 / 2, atol=1e-3)
    assert_allclose(found["later"][3], 2, rtol=1e-3)
    assert (np.diff(np.abs(found["later"][2] - 2)) > 0).all()  # nearer to 2, the smaller the start
