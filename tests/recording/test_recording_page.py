"""The page of a recording: what it shows, and what it says where it can show nothing."""

import base64
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

from lineament.recording import Recording, compact
from lineament.report import recording_figures, recording_layers, recording_page, recording_tiles


def run(T=6, n=40, shape=(6, 6), **others):
    """A classifier that learns pictures one by one."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, *shape)), np.arange(n) % 2
    signs = np.where(np.arange(n)[None, :] < n * np.arange(T)[:, None] / (T - 1), 1, -1)
    outputs = np.stack([(2 * y - 1) * -signs, (2 * y - 1) * signs], axis=2) * (1 + np.arange(T))[:, None, None]
    given = {
        "labels": y,
        "loss": [None, *np.geomspace(1, 0.1, T - 1)],
        "spectra": {"first": np.sort(rng.uniform(size=(T, 3)))[:, ::-1]},
        "unbalancedness": {"first → second": np.arange(T)},
        "gradients": {"w": [np.nan, *np.geomspace(3, 1, T - 1)]},
    }
    given |= others
    return Recording(np.arange(T), outputs, inputs=X, **given)


class Balanced(HTMLParser):
    """Counts the tags that must be closed."""

    def __init__(self):
        super().__init__()
        self.open, self.ids = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "link", "br", "img", "input"):
            self.open.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_startendtag(self, tag, attrs):
        self.ids += [value for name, value in attrs if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_stands_alone_and_shows_every_figure(tmp_path):
    path = recording_page.write(run(about={"model": "<Net>"}), tmp_path / "new" / "report.html")
    text = path.read_text(encoding="utf-8")
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert len(parser.ids) == len(set(parser.ids))
    assert set(re.findall(r'<h2 id="(\w+)"', text)) >= {
        "todo",
        "curves",
        "order",
        "examples",
        "bias",
        "layers",
        "ranks",
    }
    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]*"', text)
    assert "&lt;Net&gt; recorded" in text
    assert "<Net>" not in text


def test_figures_show_the_numbers_of_the_recording():
    made = run()
    figures, missing = recording_figures.figures(made)
    histogram = figures["order"].panels[0].marks[0]
    assert histogram.y is not None
    np.testing.assert_array_equal(histogram.y, [0, 8, 8, 8, 8, 8])  # eight more examples are learnt at each record
    learnt = figures["order"].panels[1].marks[0]
    np.testing.assert_allclose(learnt.y, np.where(made.steps == 0, 0, np.arange(6) / 5))
    np.testing.assert_allclose(figures["curves"].panels[1].marks[0].y, made.error)
    assert "from 100.0% to 0.0%" in figures["curves"].caption
    assert "0 of 40 are wrong at the end" in figures["order"].caption
    assert missing == []


def pixels(tile: recording_tiles.Tile) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(tile.source.split(",")[1]))))


def test_long_names_of_layers_lose_whole_parts_and_keep_their_number():
    names = [f"encoder.layer.{k}.attention.output.dense" for k in (10, 11)]
    pair, single = " → ".join(names), "bert.encoder.layer.7.dense"
    page = recording_page.page(run(unbalancedness={pair: np.arange(6)}, spectra={single: np.ones((6, 3))}))
    drawn = page.replace("&#8230;", "…").replace("&#8594;", "→")
    assert "…10…output.dense → …11…output.dense" in drawn
    assert "…encoder.layer.7.dense" in drawn


def test_pictures_have_their_row_label_and_prediction():
    made = run()
    doubtful, first, last = recording_tiles.groups(made, suspects=(7, 3))
    assert [tile.row for tile in doubtful.tiles] == [7, 3]
    assert [tile.row for tile in first.tiles] == list(range(12))
    assert [tile.row for tile in last.tiles][:2] == [39, 38]
    X = (made.inputs - made.inputs.min()) / np.ptp(made.inputs)
    np.testing.assert_array_equal(pixels(first.tiles[5]), np.round(255 * X[5]))
    assert (first.tiles[5].label, first.tiles[5].prediction) == (1, 1)
    text = recording_page.page(run(labels=np.where(np.arange(40) == 11, 0, np.arange(40) % 2)))
    assert 'row 11<br>label 0, <span class="wrong">says 1</span>' in text
    assert re.search(r"Look at the labels of \d+ of 40 examples.*rows 11 \(labelled 0, said 1\)", text)
    assert "row 0<br>label 0, says so" in text


@pytest.mark.parametrize("shape", [(3, 5, 6), (5, 6, 3), (1, 5, 6), (5, 6, 1), (1, 200, 100)])
def test_pictures_of_any_layout_are_shown(shape):
    found = pixels(recording_tiles.groups(run(shape=shape))[0].tiles[0])
    assert found.shape == ((67, 34) if 200 in shape else (5, 6, 3) if 3 in shape else (5, 6))


@pytest.mark.parametrize("number", [14, 50])
def test_every_layer_of_a_real_network_has_a_row(number):
    rng = np.random.default_rng(0)
    spectra = {f"blocks.{i}.attention.projection": np.sort(rng.uniform(size=(6, 4)))[:, ::-1] for i in range(number)}
    spectra["blocks.3.attention.projection"] = np.array([[1, 1, 1, 1]] + [[1, 0, 0, 0]] * 5, float)
    made = run(spectra=spectra)
    rows = recording_layers.layers(made)
    assert [row.name for row in rows] == list(spectra)
    assert [row.name for row in rows if row.collapsed] == ["blocks.3.attention.projection"]
    assert rows[3].effective == pytest.approx((4, 1))
    assert rows[3].curve.split() == ["1.0,1.0", *(f"{1 + 118 * t / 5:.1f},17.5" for t in range(1, 6))]
    assert len(recording_figures.figures(made)[0]["layers"].panels[0].marks) == recording_figures.LAYERS
    text = recording_page.page(made)
    assert text.count('<th scope="row">blocks.') == number
    assert "4 → 1 (collapsed)" in text


@pytest.mark.parametrize("keep", ["predictions", 2])
def test_a_compact_recording_has_a_page(keep):
    text = recording_page.page(compact(run(), keep))
    assert set(re.findall(r'<h2 id="(\w+)"', text)) >= {"curves", "order", "examples", "layers"}
    assert "do not say how far they moved" in text


def test_a_page_that_is_watched_is_read_again():
    assert '<meta http-equiv="refresh" content="5">' in recording_page.page(run(), refresh=5)
    assert "refresh" not in recording_page.page(run())


def test_the_linear_gap_is_drawn_with_its_threshold():
    figures, _ = recording_figures.figures(run(n=200, linearised=run(n=200).outputs))
    names = [mark.label for mark in figures["linear"].panels[0].marks]
    assert names == ["linear map of the inputs", "own linearisation", "2%"]
    assert "never parts from its own linearisation" in figures["linear"].caption


def test_what_is_missing_is_said():
    text = recording_page.page(Recording([0, 1], np.random.default_rng(0).standard_normal((2, 5, 2))))
    for reason in (
        "there is no learning curve to draw",
        "labels must be classes",
        "inputs must have been recorded",
        "there are no ranks to draw",
    ):
        assert reason in text
    assert "Squared" not in text


def test_trouble_stands_at_the_head():
    made = run()
    text = recording_page.page(run(loss=[None, 1, 1, 1, np.nan, 1]))
    assert "the loss is nan at step 4: try a smaller step size" in text
    assert "Only the records before it are shown" in text
    figures, _ = recording_figures.figures(run(loss=[None, 1, 1, 1, np.nan, 1]))
    assert len(figures["curves"].panels[1].marks[0].x) == 4
    none = recording_page.page(Recording([0], np.full_like(made.outputs[:1], np.nan), made.labels))
    assert "there is nothing to show" in none


def test_real_targets_have_curves_but_no_order():
    made = run()
    text = recording_page.page(Recording(made.steps, made.outputs, made.outputs[-1], made.inputs))
    assert "Squared error at the end" in text
    assert "labels must be classes" in text


def test_an_unwritable_folder_is_named(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="cannot write to the folder"):
        recording_page.write(run(), tmp_path / "file" / "report.html")


@pytest.mark.parametrize(
    "made",
    [
        Recording([0], np.zeros((1, 1, 1)), [1.0], np.zeros((1, 2))),
        Recording([3], predictions=[[0]], labels=[0]),
        Recording([0, 1], np.ones((2, 3, 2)), [0, 1, 1], np.eye(3), loss=[0.0, -1.0], gradients={"w": [0, 0]}),
        Recording(
            [0, 1], np.ones((2, 3, 2)), [0, 0, 0], spectra={"": [[0.0], [0.0]], "gone": np.full((2, 3), np.nan)}
        ),
        run(linearised=run().outputs, n=40)[:2],
    ],
)
def test_the_smallest_recordings_have_a_page(made):
    parser = Balanced()
    parser.feed(recording_page.page(made))
    assert parser.open == []


def test_principal_components_are_found_once_for_a_page(monkeypatch):
    from lineament.data import components

    asked, fit = [], components.fit
    monkeypatch.setattr(components, "fit", lambda X: asked.append(len(X)) or fit(X))
    recording = run(n=60)
    assert recording_page.page(recording).count("<h2") > 3
    assert asked == [60]
    broken = run(n=60, loss=[None, 1.0, 1.0, 1.0, 1.0, np.nan])
    recording_page.page(broken)
    assert asked == [60, 60]
