"""Small drawings of figures: what they show, and that any figure has one."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from lineament.evidence import figure as fig
from lineament.report.thumbnails import HEIGHT, WIDTH, thumbnail

T = np.linspace(0.0, 4.0, 200)


def paths(*marks, **panel) -> list[dict]:
    svg = ElementTree.fromstring(str(thumbnail(fig.Figure((fig.Panel(marks, "x", "y", **panel),), "c"))))
    return [path.attrib for path in svg]


def places(path: dict) -> np.ndarray:
    pairs = re.findall(r"[ML](\S+) ([^\sML]+?)(?=[MLzh]|$)", path["d"])
    return np.array([[float(number) for number in pair] for pair in pairs])


def test_lines_run_as_the_data_do_with_theory_on_top():
    theory, measured = fig.theory(T, T**2), fig.measured(T, T, group=1)
    below, above = paths(theory, measured)
    assert below["stroke"] == "var(--mark-1)"
    assert above["stroke"] == "var(--ink)"
    line = places(below)
    assert len(line) == 40
    assert (np.diff(line[:, 0]) > 0).all()
    assert (np.diff(line[:, 1]) <= 0).all()  # up the page
    assert line[0] == pytest.approx([3, HEIGHT - 3], abs=0.1)


@pytest.mark.parametrize("scale", ["linear", "log", "symlog"])
def test_everything_is_inside_whatever_the_scale(scale):
    y = np.where(T > 3, np.nan, 10.0 ** (T - 2))
    for path in paths(fig.measured(T, y), fig.reference(T, 0 * T + 1), fig.points(T, y), y_scale=scale):
        at = places(path)
        assert len(at) > 20
        assert (at >= 0).all()
        assert (at <= [WIDTH, HEIGHT]).all()


def test_limits_of_the_panel_are_those_of_the_thumbnail():
    (path,) = paths(fig.measured(T, T), y_limits=(-4, 4))  # whole numbers, as stored evidence may have them
    assert places(path)[0, 1] == pytest.approx(HEIGHT / 2, abs=0.1)


def test_a_gap_breaks_the_line():
    (path,) = paths(fig.measured(T, np.where(abs(T - 2) < 0.5, np.nan, T)))
    assert path["d"].count("M") == 2


def test_fields_have_a_cell_for_every_place_and_the_least_and_largest_shade():
    shades = paths(fig.heat(np.arange(5.0), np.arange(4.0), np.arange(20.0).reshape(4, 5)))
    assert sum(path["d"].count("M") for path in shades) == 20
    assert (shades[0]["fill"], shades[-1]["fill"]) == ("#440154", "#fde725")
    assert "M0.0 45.0" in shades[0]["d"]  # the least at the lower left


def test_every_kind_of_mark_and_no_figure():
    for mark in (
        fig.band(T, T, T + 1),
        fig.bars([0, 1, 3], [2, 5]),
        fig.image(np.eye(3)),
        fig.image(np.ones((2, 2, 3))),
    ):
        assert all(path["d"] for path in paths(mark))
        assert paths(mark)
    assert thumbnail(None) == ""
    assert thumbnail(fig.Figure((), "c")) == ""
    assert "aria-hidden" in thumbnail(fig.Figure((fig.Panel((fig.measured([0], [np.nan]),)),), "c"))
