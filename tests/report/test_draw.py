"""Figures are drawn as their data says, and the same figure gives the same file."""

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.collections import FillBetweenPolyCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.contour import QuadContourSet
from matplotlib.patches import StepPatch

from lineament.evidence import figure as fig
from lineament.report import draw, legends, style
from lineament.report.colours import colours_of
from lineament.report.embedding import embed
from lineament.report.marks import _cell_edges, power

T = np.linspace(0.0, 4.0, 50)
GRID_X, GRID_Y = np.geomspace(1e-3, 10, 6), np.linspace(1, 4, 5)
FIELD = np.log10(GRID_X) * GRID_Y[:, None]
KINDS = {
    "line": fig.measured(T, T, "line"),
    "points": fig.points(T, T, "points"),
    "band": fig.band(T, T, T + 1, "band"),
    "bars": fig.bars([0, 1, 3], [2, 5], "bars"),
    "heat": fig.heat(GRID_X, GRID_Y, FIELD, "depth"),
    "contour": fig.contour(GRID_X, GRID_Y, FIELD, "forecast"),
    "image": fig.image(np.eye(3), "eye"),
}


def one(*marks, **kwargs) -> fig.Figure:
    return fig.Figure((fig.Panel(marks, "x", "y", **kwargs),), "Caption.")


def axes_of(figure, **kwargs):
    return draw.draw(figure, **kwargs).axes[0]


def legend_of(holder) -> list[str]:
    return [text.get_text() for text in holder.get_texts()]


def named(axes) -> list[str]:
    """What lines are called: beside them, then in the legend."""
    legend = axes.get_legend()
    return [text.get_text() for text in axes.texts] + (legend_of(legend) if legend else [])


def everything() -> fig.Figure:
    panels = [fig.Panel((mark,), "x", "y", kind, "log" if kind in ("heat", "contour") else "linear")
              for kind, mark in KINDS.items()]  # fmt: skip
    return fig.Figure(tuple(panels), "Every kind of mark, $x<y$ & more.", 3)


def test_every_kind_has_a_drawing():
    assert set(draw.MARKS) == set(fig.Kind.__args__) == set(KINDS)


def test_lines_carry_their_data_and_roles():
    axes = axes_of(one(fig.theory(T, T**2, "t"), fig.measured(T, T, "m", 2), fig.reference(T, 0 * T + 1, "r")))
    theory, measured, guide = axes.lines
    np.testing.assert_array_equal(theory.get_ydata(), T**2)
    np.testing.assert_array_equal(measured.get_xydata(), np.stack([T, T], 1))
    assert theory.get_color() == style.LIGHT.ink
    assert measured.get_color() == style.LIGHT.palette[2]
    assert guide.get_color() == style.LIGHT.guide
    assert guide.is_dashed()
    assert theory.get_linewidth() < measured.get_linewidth()
    assert theory.get_zorder() > measured.get_zorder() > guide.get_zorder()
    assert named(axes) == ["t", "m", "r"]


def test_band_spans_low_to_high():
    (band,) = axes_of(one(KINDS["band"])).collections
    assert isinstance(band, FillBetweenPolyCollection)
    box = band.get_paths()[0].get_extents()
    assert (box.x0, box.y0, box.x1, box.y1) == (0.0, 0.0, 4.0, 5.0)


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_bars_stand_on_the_axis(scale):
    axes = axes_of(one(fig.bars([0, 1, 3], [20, 500]), y_scale=scale))
    (steps,) = [patch for patch in axes.patches if isinstance(patch, StepPatch)]
    values, edges, base = steps.get_data()
    np.testing.assert_array_equal(values, [20, 500])
    np.testing.assert_array_equal(edges, [0, 1, 3])
    assert base == (0.0 if scale == "linear" else 10.0)


def test_heat_cells_are_even_on_a_log_axis_and_the_bar_is_labelled():
    picture = draw.draw(one(KINDS["heat"], x_scale="log"))
    axes, bar = picture.axes
    (mesh,) = axes.collections
    assert isinstance(mesh, QuadMesh)
    edges = mesh.get_coordinates()[0, :, 0]
    np.testing.assert_allclose(np.diff(np.log(edges)), np.log(GRID_X[1] / GRID_X[0]), rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(edges[1:] * edges[:-1]), GRID_X)
    np.testing.assert_array_equal(mesh.get_array(), FIELD)
    assert bar.get_ylabel() == "depth"
    assert axes.get_legend() is None


def test_one_cell_has_a_width():
    np.testing.assert_array_equal(_cell_edges(np.array([3.0]), "linear"), [2.5, 3.5])


def test_contours_are_dark_and_labelled():
    axes = axes_of(one(KINDS["contour"]))
    (lines,) = axes.collections
    assert isinstance(lines, QuadContourSet)
    assert {to_hex(colour) for colour in lines.get_edgecolor()} == {style.LIGHT.ink}
    assert len(axes.texts) > 0
    assert legend_of(axes.get_legend()) == ["forecast"]


def test_lines_over_a_field_stay_dark_on_a_dark_page():
    marks = (KINDS["heat"], KINDS["contour"], fig.theory(GRID_X, GRID_X, "t"))
    axes = axes_of(one(*marks, x_scale="log"), dark=True)
    assert axes.lines[-1].get_color() == style.FIELD_INK
    assert axes_of(one(fig.theory(T, T)), dark=True).lines[0].get_color() == style.DARK.ink


def test_images_keep_their_pixels():
    grey, colour = np.linspace(0, 1, 6).reshape(2, 3), np.random.default_rng(0).uniform(size=(2, 3, 3))
    for pixels in (grey, colour):
        axes = axes_of(one(fig.image(pixels, "seen")))
        np.testing.assert_array_equal(axes.images[0].get_array(), pixels)
        assert axes.images[0].get_clim() == (0.0, 1.0)
        assert axes.get_xlabel() == "seen"
        assert len(axes.get_xticks()) == 0


def test_panels_fill_rows_and_spare_axes_go():
    panel = fig.Panel((fig.measured(T, T),), "x", "y", "title")
    picture = draw.draw(fig.Figure((panel,) * 4, "c", 3))
    assert len(picture.axes) == 4
    assert picture.axes[0].get_subplotspec().get_gridspec().get_geometry() == (2, 3)


def test_scales_and_limits():
    axes = axes_of(one(fig.measured(T + 1, T + 1), x_scale="log", y_scale="symlog", y_limits=(-2.0, 3.0)))
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_ylim()) == ("log", "symlog", (-2.0, 3.0))


def test_symlog_is_linear_below_the_data_but_not_without_end():
    speck = one(fig.measured([0, 1, 2, 3], [0.0, 1e-30, -2.0, 5.0]), y_scale="symlog")
    assert axes_of(speck).yaxis.get_transform().linthresh == pytest.approx(5e-6)
    plain = one(fig.measured([0, 1, 2], [0.0, 0.25, -8.0]), y_scale="symlog")
    assert axes_of(plain).yaxis.get_transform().linthresh == 0.25


def test_a_label_stands_once():
    marks = [fig.theory(T, group * T, "theory", group) for group in range(4)]
    assert legend_of(axes_of(one(*marks)).get_legend()) == ["theory"]


def test_one_legend_for_panels_that_agree_and_one_each_where_they_do_not():
    def panel(group):
        return fig.Panel((fig.measured(T, T, "run", group), fig.theory(T, T, "theory", group)))

    same = draw.draw(fig.Figure((panel(0), panel(0)), "c"))
    assert legend_of(same.legends[0]) == ["theory"]
    assert [named(axes) for axes in same.axes] == [["run"], ["run"]]
    full = fig.Panel((fig.measured(T, T, "run", 0), fig.measured(T, T, "another", 1)))
    both = draw.draw(fig.Figure((panel(0), full), "c"))
    assert legend_of(both.legends[0]) == ["run", "another", "theory"]
    assert [named(axes) for axes in both.axes] == [[], []]
    guide = fig.Panel((fig.points(T, T, "run", 0), fig.reference(T, T, "slope 1")))
    beside = draw.draw(fig.Figure((panel(0), guide), "c"))
    assert legend_of(beside.legends[0]) == ["run", "theory"]
    assert named(beside.axes[1]) == ["slope 1"]
    own = fig.Panel((fig.measured(T, T, "another", 1),))
    assert draw.draw(fig.Figure((panel(0), own), "c")).legends == []
    other = draw.draw(fig.Figure((panel(0), panel(1)), "c"))
    assert other.legends == []
    assert [named(axes) for axes in other.axes] == [["run", "theory"]] * 2


def test_a_legend_that_would_cover_data_goes_below_and_makes_room():
    free = draw.draw(one(fig.measured(T, T, "run"), fig.theory(T, T, "theory")))
    crowd = [fig.measured(T, level + 0 * T, f"run {level}", level) for level in range(20)]
    full = draw.draw(one(*crowd, fig.theory(T, T, "theory")))
    for picture, inside in ((free, True), (full, False)):
        picture.draw_without_rendering()
        (axes,) = picture.axes
        assert (axes.get_legend().get_window_extent().y0 > axes.get_window_extent().y0) == inside
    assert not legends.covers(full.axes[0])
    assert legend_of(full.axes[0].get_legend()) == [*(f"run {level}" for level in range(20)), "theory"]
    assert full.get_figheight() > free.get_figheight()


@pytest.mark.filterwarnings("error")
def test_a_curve_with_gaps_can_have_its_legend_moved():
    broken = draw.draw(one(fig.measured(T, np.where(T > 2, np.inf, T), "run"), fig.measured(T, -T, "other", 1)))
    assert named(broken.axes[0]) == ["run", "other"]


def test_labels_of_a_log_axis_do_not_crowd():
    def labels(low, high):
        axes = axes_of(one(fig.measured([low, high], [1, 2]), x_scale="log"))
        axes.figure.draw_without_rendering()
        return [tick.get_text() for tick in axes.get_xticklabels(which="minor") if tick.get_text()]

    assert len(labels(0.15, 8.0)) == 2
    assert len(labels(2.2, 4.0)) > 2
    assert all(float(text) > 0 for text in labels(2.2, 4.0))  # plain numbers where the axis is short


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1e-3, "10⁻³"),
        (2e-12, "2×10⁻¹²"),
        (1.0, "10⁰"),
        (-100.0, "−10²"),
        (0.0, "0"),
        (0.074, "7.4×10⁻²"),
        (5e4, "5×10⁴"),
    ],
)
def test_ticks_of_log_axes_are_plain_letters(value, text):
    assert power(value) == text


@pytest.mark.parametrize("groups", [(0, 1, 2), (0, 6), tuple(range(30))])
def test_groups_have_colours_of_their_own(groups):
    (colours,) = colours_of([fig.Panel(tuple(fig.measured(T, T, group=group) for group in groups))], style.LIGHT)
    assert tuple(colours) == groups
    assert len(set(colours.values())) == len(groups)


def coloured(*panels: list[tuple[str, int]]) -> list[dict[int, str]]:
    """The colours of panels with lines of these names and groups."""
    return colours_of([fig.Panel(tuple(fig.measured(T, T, *line) for line in lines)) for lines in panels], style.LIGHT)


def test_what_a_number_orders_has_a_ramp_by_that_number():
    (colours,) = coloured([("p = 4", 0), ("p = 10", 1), ("p = 2", 2)])
    assert [colours[group] for group in (2, 0, 1)] == [style.LIGHT.ramp[place] for place in (0, 4, 7)]
    (steps,) = coloured([("n = 1, η = 0.5", 0), ("n = 2, η = 0.5", 1), ("n = 3, η = 0.1", 2), ("other", 3)])
    assert [steps[group] for group in (0, 1, 2)] == [style.LIGHT.ramp[place] for place in (0, 4, 7)]
    assert steps[3] in style.LIGHT.palette
    (powers,) = coloured([("start 10⁻³", 0), ("start 1", 1), ("start 10⁻⁶", 2)])
    assert [powers[group] for group in (2, 0, 1)] == [style.LIGHT.ramp[place] for place in (0, 4, 7)]
    (unnamed,) = coloured([("p = 4", 0), ("p = 10", 1), ("p = 2", 2), ("", 3)])
    assert set(unnamed.values()) == set(style.LIGHT.palette[:4])
    (margins, other) = coloured([(f"p = {p}", p) for p in range(5)], [("a", 0), ("b", 1), ("c", 2)])
    assert set(margins.values()) <= set(style.LIGHT.ramp)
    assert set(other.values()) == set(style.LIGHT.palette[:3])
    shapes, figures = ["n=3 d=1 k=1", "n=5 d=1 k=2", "n=2 d=1 k=1"], ["β1", "β2", "β3"]
    for names in (shapes, figures, ["square", "logistic", "quartic"], ["n = 1", "n = 1", "n = 2"]):
        (plain,) = coloured([(name, group) for group, name in enumerate(names)])
        assert set(plain.values()) <= set(style.LIGHT.palette), names


def test_a_colour_has_one_meaning_in_a_figure():
    depths, margins, again = coloured([("depth a", 0), ("depth b", 1)], [("margin a", 0)], [("depth a", 0), ("", 1)])
    assert margins[0] not in depths.values()
    assert again == depths
    # More meanings than colours: the groups decide again, and no colour is made up.
    crowded = coloured(*([(word, 0), (word + "s", 1)] for word in ("loss", "rank", "norm", "error")))
    assert all(colours == {0: style.LIGHT.palette[0], 1: style.LIGHT.palette[1]} for colours in crowded)


def test_panels_that_count_up_by_numbers_of_their_own_share_a_ramp_and_others_keep_the_palette():
    few = [(f"P = {p}", group) for group, p in enumerate((1, 10, 100))]
    many = [(f"P = {p}", group) for group, p in enumerate((1, 3, 10, 30, 100, 300, 1000, 3072))]
    images = [("test images", 0), ("training images", 1)]
    first, peaks, second, again = coloured(few, images, many, images)
    assert peaks == again
    assert set(peaks.values()) <= set(style.LIGHT.palette)
    assert len(set(peaks.values())) == 2
    assert [second[group] for group in range(8)] == list(style.LIGHT.ramp)
    assert first == {group: second[group] for group in range(3)}


def test_a_name_stands_beside_its_own_line_and_on_none():
    curves = {"falling": 4 - T, "rising": T, "flat": 0 * T + 6}
    picture = draw.draw(one(*(fig.measured(T, y, name, group) for group, (name, y) in enumerate(curves.items()))))
    picture.draw_without_rendering()
    (axes,) = picture.axes
    assert axes.get_legend() is None
    boxes = {text.get_text(): text.get_window_extent() for text in axes.texts}
    assert boxes.keys() == curves.keys()
    for name, box in boxes.items():
        gaps = {}
        for line in axes.lines:
            at = line.get_transform().transform(line.get_xydata())
            fine = np.stack([np.interp(np.linspace(0, 49, 2000), np.arange(50), column) for column in at.T], 1)
            gaps[line.get_label()] = np.hypot(*(fine - np.clip(fine, box.p0, box.p1)).T).min()
        assert min(gaps.values()) == gaps[name] > 0
        assert all(not box.overlaps(other) for key, other in boxes.items() if key != name)


def test_a_name_that_speaks_for_other_lines_is_in_the_legend():
    lines = [fig.measured(T, level + T, "runs" if level == 0 else "", level) for level in range(3)]
    axes = axes_of(one(*lines, fig.reference(T, 9 + 0 * T, "bound")))
    assert [text.get_text() for text in axes.texts] == ["bound"]
    assert legend_of(axes.get_legend()) == ["runs"]


def test_lines_on_each_other_have_a_legend():
    axes = axes_of(
        one(fig.measured(T, T, "one"), fig.measured(T, T + 0.01, "other", 1), fig.measured(T, -T, "third", 2))
    )
    assert [text.get_text() for text in axes.texts] == []
    assert legend_of(axes.get_legend()) == ["one", "other", "third"]


@pytest.mark.parametrize("dark", [False, True])
def test_svg_is_the_same_every_time(dark):
    text = draw.svg(everything(), dark=dark)
    assert text == draw.svg(everything(), dark=dark)
    assert "<dc:date>" not in text
    ElementTree.fromstring(text)
    theme = style.DARK if dark else style.LIGHT
    assert theme.ink in text
    assert (style.LIGHT if dark else style.DARK).ink not in text


def test_an_embedded_figure_has_the_pages_colours_and_ids_of_its_own():
    one_text, other = embed(everything(), "quick"), embed(everything(), "full")
    for text, name in ((one_text, "quick"), (other, "full")):
        element = ElementTree.fromstring(text)
        ids = [part.get("id") for part in element.iter() if part.get("id")]
        assert len(ids) == len(set(ids)) > 50
        assert all(id.startswith(f"{name}-") for id in ids)
        targets = re.findall(r'(?:href="#|url\(#)([^")]+)', text)
        assert set(targets) <= set(ids)
        whole = element[0]
        assert whole.get("role") == "img"
        assert whole.get("aria-label") == "Every kind of mark, x<y & more."
        assert "var(--ink)" in text
        assert "var(--mark-0)" in text
        assert not [colour for colour in style.tokens(style.LIGHT).values() if colour in text]


def test_a_narrow_page_has_a_window_on_each_panel():
    panels = (fig.Panel((KINDS["heat"],), "x", "y", "a field", "log"), fig.Panel((KINDS["line"],), "x", "y", "a line"))
    both = tuple(fig.Panel((*panel.marks, fig.points(T, T, "seen")), "x", "y") for panel in (panels[1], panels[1]))
    element = ElementTree.fromstring(embed(fig.Figure(panels, "c", 2), "q"))
    assert element.get("class") == "picture stacks"
    whole, stack = element
    assert stack.get("aria-hidden") == "true"
    width = float(whole.get("viewBox").split()[2])
    field, line = ([float(number) for number in window.get("viewBox").split()] for window in stack)
    assert 0 <= field[0] + 2 < field[0] + field[2] <= line[0] + 4 < line[0] + line[2] <= width + 4
    assert [len(window) for window in stack] == [2, 1]  # the field has its colour bar with it
    legend = ElementTree.fromstring(embed(fig.Figure(both, "c", 2), "q"))[1]
    assert len(legend) == 3
    alone = ElementTree.fromstring(embed(fig.Figure(panels[:1], "c"), "q"))
    assert (alone.get("class"), len(alone)) == ("picture", 1)


@pytest.mark.parametrize(("form", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_saved_files(tmp_path, form, magic):
    path = draw.save(one(fig.measured(T, T)), tmp_path / f"a.{form}")
    again = draw.save(one(fig.measured(T, T)), tmp_path / f"b.{form}")
    assert path.read_bytes().startswith(magic)
    assert path.read_bytes() == again.read_bytes()


def test_measurement_shows_beneath_theory(tmp_path):
    curve = 1 / (1 + np.exp(-8 * (T - 2)))
    picture = draw.draw(one(fig.measured(T, curve), fig.theory(T, curve)))
    for axes in picture.axes:
        axes.set_axis_off()
    picture.savefig(tmp_path / "a.png", dpi=200)
    pixels = matplotlib.image.imread(tmp_path / "a.png")[..., :3]

    def near(colour):
        return int((np.abs(pixels - matplotlib.colors.to_rgb(colour)).max(axis=-1) < 0.15).sum())

    assert near(style.LIGHT.palette[0]) > near(style.LIGHT.ink) > 200


def test_what_cannot_be_drawn_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"figure\.panels is empty"):
        draw.draw(fig.Figure((), "c"))
    with pytest.raises(ValueError, match="kind 'line' needs `y`"):
        draw.draw(one(fig.Mark("line", x=T)))
    with pytest.raises(ValueError, match=r"a\.gif.*\.pdf, \.png, \.svg"):
        draw.save(one(fig.measured(T, T)), tmp_path / "a.gif")
    with pytest.raises(ValueError, match="positive centres"):
        draw.draw(one(fig.heat([0.0, 1.0], [1.0, 2.0], np.eye(2)), x_scale="log"))


@pytest.mark.filterwarnings("error")
def test_signs_that_claims_use_have_glyphs():
    signs = "σ₀ σ₁ ‖W‖ ≤ ≥ ≠ × − ∞ → η ε ∇ℓ 10⁻³ ½ ∈ ∑ √ ⟨u, v⟩ ᵀ"
    draw.svg(one(fig.measured(T, T, signs), title=signs))


def test_drawing_leaves_pyplot_and_settings_alone():
    code = (
        "import sys, numpy as np, matplotlib; before = matplotlib.rcParams.copy();"
        "from lineament.evidence import figure as f; from lineament.report import draw;"
        "draw.svg(f.Figure((f.Panel((f.measured([1, 2], [1, 2], 'a'),)),), 'c'));"
        "assert 'matplotlib.pyplot' not in sys.modules; assert matplotlib.rcParams.copy() == before"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
