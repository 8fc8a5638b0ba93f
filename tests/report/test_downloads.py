"""What a page offers to save: figures as files of their own, and the numbers behind them."""

import csv
import io
from xml.etree import ElementTree

import numpy as np

from lineament.evidence import figure as fig
from lineament.report import downloads, embedding, style


def test_the_table_has_every_point_and_nothing_else():
    x, y, z = np.array([1.0, 2.0]), np.array([0.1, 0.2, 0.3]), np.arange(6.0).reshape(3, 2)
    drawn = fig.measured(x, x**2, "run, one", 1), fig.band(x, x - 1, x + 1)
    marks = (*drawn, fig.bars([0, 1, 2], [5, 7]), fig.heat(x, y, z))
    figure = fig.Figure((fig.Panel(marks, title="first"), fig.Panel((fig.image(np.zeros((2, 2))),))), "caption")
    header, *rows = list(csv.reader(io.StringIO(downloads.table(figure))))
    assert tuple(header) == downloads.COLUMNS
    assert rows[0] == ["first", "line", "measured", "run, one", "1", "1", "", "1", "", ""]
    assert rows[3] == ["first", "band", "measured", "", "0", "2", "", "1", "3", ""]
    assert [row[5:9] for row in rows[4:6]] == [["0", "1", "5", ""], ["1", "2", "7", ""]]
    field = [[float(row[place]) for place in (5, 7, 9)] for row in rows if row[1] == "heat"]
    assert field == [[x[i], y[j], z[j, i]] for j in range(3) for i in range(2)]
    assert len(rows) == 2 + 2 + 2 + 6, "pixels of pictures are left out"


def test_a_drawing_becomes_a_file_of_its_own():
    panel = fig.Panel((fig.measured([1, 2], [3, 4]), fig.theory([1, 2], [3, 4])))
    figure = fig.Figure((panel, panel), "caption")  # two panels: a page has windows on them too
    text = downloads.standalone(embedding.embed(figure, "quick"))
    root = ElementTree.fromstring(text)
    assert root.get("width").endswith("pt")
    assert "style" not in root.attrib
    assert "var(" not in text
    assert style.LIGHT.palette[0] in text
