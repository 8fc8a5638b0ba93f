"""Plots for users: what is drawn and returned, from arrays of every shape a run has, in the caller's style."""

import doctest
import importlib

import matplotlib
import numpy as np
import pytest
import xarray
from matplotlib.figure import Figure

from lineament.report import plot, style
from lineament.theory import phases

TIME = np.linspace(0.0, 2.0, 7)
MODES = np.stack([np.exp(-TIME), TIME, TIME**2], axis=1)


def run(members: int | None = None, along: str = "time") -> xarray.DataArray:
    values, dims = MODES, (along, "mode")
    if members:
        values, dims = MODES * np.linspace(0.5, 1.5, members)[:, None, None], ("member", *dims)
    array = xarray.DataArray(values, dims=dims, coords={along: TIME}, name="singular_values")
    array[along].attrs.update(long_name="time $t$", units="1/η")
    return array


@pytest.fixture
def axes():
    return Figure().subplots()


@pytest.fixture
def settings():
    from matplotlib import pyplot

    pyplot.switch_backend("agg")  # before, so that whichever test chose one first leaves no mark
    before = dict(matplotlib.rcParams)
    yield matplotlib.rcParams
    pyplot.close("all")
    assert dict(matplotlib.rcParams) == before


def named(axes) -> list[str]:
    """What is written in the axes: names beside lines, then the legend."""
    legend = axes.get_legend()
    return [text.get_text() for text in [*axes.texts, *(legend.get_texts() if legend else [])]]


def test_measured_in_colour_and_theory_dark_over_it(axes):
    data = plot.overlay(run(), 2 * MODES, ax=axes)
    np.testing.assert_array_equal(data.measured, MODES)
    np.testing.assert_array_equal(data.forecast, 2 * MODES)
    assert data.measured.dims == ("time", "mode")
    measured, theory = axes.lines[:3], axes.lines[3:]
    for mode in range(3):
        np.testing.assert_array_equal(measured[mode].get_xydata(), np.stack([TIME, MODES[:, mode]], 1))
        np.testing.assert_array_equal(theory[mode].get_ydata(), 2 * MODES[:, mode])
        assert theory[mode].get_color() == "#000000"
        assert theory[mode].get_zorder() > measured[mode].get_zorder()
    assert len({line.get_color() for line in measured}) == 3
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time $t$ [1/η]", "singular values")
    assert sorted(named(axes)) == ["mode 1", "mode 2", "mode 3", "theory"]


def test_names_keep_off_what_the_caller_has_written(axes):
    axes.set(xlim=(0, 2), ylim=(0, 4))
    words = axes.text(2, 0.35, "words of the caller, across half of the panel", ha="right")
    plot.overlay(run().isel(mode=[1, 2]), ax=axes)
    written = [text.get_window_extent() for text in axes.texts if text is not words]
    assert len(written) == 2
    assert not any(box.overlaps(words.get_window_extent()) for box in written)


def test_members_become_a_median_and_a_band(axes):
    data = plot.overlay(run(members=11), MODES, ax=axes)
    np.testing.assert_allclose(data.measured, MODES)
    np.testing.assert_allclose(data.low, 0.6 * MODES)
    np.testing.assert_allclose(data.high, 1.4 * MODES)
    np.testing.assert_array_equal(data.forecast, MODES)
    assert len(axes.collections) == 3


def test_a_forecast_for_each_member_is_summed_up_too(axes):
    data = plot.overlay(run(members=3), 2 * run(members=3).to_numpy(), ax=axes)
    np.testing.assert_allclose(data.forecast, 2 * MODES)


def test_steps_scalars_and_no_forecast(axes):
    data = plot.overlay(run(along="step"), ax=axes)
    assert set(data) == {"measured"}
    assert len(axes.lines) == 3
    loss = Figure().subplots()
    data = plot.overlay(run().isel(mode=0), MODES[:, 0], y_scale="log", ax=loss)
    assert loss.get_yscale() == "log"
    assert sorted(named(loss)) == ["measured", "theory"]
    np.testing.assert_array_equal(data.measured, MODES[:, 0])


def test_dimensions_go_by_name_not_by_order(axes):
    turned = run(members=5).transpose("mode", "time", "member")
    data = plot.overlay(turned, run().transpose("mode", "time"), ax=axes)
    np.testing.assert_allclose(data.measured, MODES)
    np.testing.assert_array_equal(data.forecast, MODES)


def test_a_chosen_axis_and_many_modes(axes):
    wide = xarray.DataArray(np.arange(40.0).reshape(4, 10), dims=("epoch", "direction"))
    plot.overlay(wide, x="epoch", ax=axes)
    assert {line.get_label() for line in axes.lines} == {"measured"}
    assert len({line.get_color() for line in axes.lines}) == 10
    np.testing.assert_array_equal(axes.lines[3].get_xdata(), [0, 1, 2, 3])


def test_new_axes_come_from_pyplot_in_the_callers_style(settings):
    from matplotlib import pyplot

    with pyplot.style.context("dark_background"):
        plot.overlay(run().isel(mode=[0]), MODES[:, :1])
        axes = pyplot.gca()
        cycle = matplotlib.rcParams["axes.prop_cycle"].by_key()["color"]
    measured, theory = axes.lines
    assert theory.get_color() == "#ffffff"
    assert measured.get_color() == matplotlib.colors.to_hex(cycle[0])
    assert axes.get_facecolor()[:3] == (0, 0, 0)


@pytest.mark.parametrize(("name", "wide", "thick"), [("paper", 3.3, False), ("slides", 10.0, True)])
def test_sheets_set_size_fonts_and_widths(settings, name, wide, thick):
    from matplotlib import pyplot

    with pyplot.rc_context(plot.style(name)):
        plot.overlay(run(), MODES)
        axes = pyplot.gca()
    assert axes.figure.get_figwidth() == wide
    assert (axes.lines[0].get_linewidth() > style.MEASURED_WIDTH) == thick
    assert axes.lines[0].get_linewidth() / axes.lines[-1].get_linewidth() == pytest.approx(
        style.MEASURED_WIDTH / style.THEORY_WIDTH
    )
    # The axes of the sheets are clear, the figure is light: so are the colours of what is ordered.
    light = matplotlib.colors.to_hex(matplotlib.colormaps["viridis"](0.8))
    assert axes.lines[2].get_color() == light
    with pyplot.style.context(plot.style(name)):
        assert matplotlib.rcParams["axes.prop_cycle"].by_key()["color"][0] == style.LIGHT.palette[0]
    with pytest.raises(ValueError, match="name must be one of"):
        plot.style("poster")


def test_spectra_fall_and_short_ones_end(axes):
    data = plot.spectrum({"whole": [1.0, 3.0, 2.0], "cut": [5.0, 4.0]}, ax=axes)
    np.testing.assert_array_equal(data["values"], [[3, 2, 1], [5, 4, np.nan]])
    np.testing.assert_array_equal(axes.lines[1].get_xydata(), [[1, 5], [2, 4]])
    assert sorted(named(axes)) == ["cut", "whole"]
    assert axes.get_yscale() == "log"
    theory = Figure().subplots()
    data = plot.spectrum([1.0, 2.0], [0.5, 1.5, 2.5], ax=theory, y_scale="linear", label="eigenvalue")
    np.testing.assert_array_equal(data.forecast, [2.5, 1.5, 0.5])
    np.testing.assert_array_equal(theory.lines[1].get_ydata(), [2.5, 1.5, 0.5])
    assert theory.get_ylabel() == "eigenvalue"
    with pytest.raises(ValueError, match=r"values\['cut'\] must be"):
        plot.spectrum({"cut": [np.nan]})
    with pytest.raises(ValueError, match="at least one spectrum"):
        plot.spectrum({})


def test_the_map_of_phases_has_the_exact_edge_over_what_was_seen(axes):
    data = plot.phases([2, 5], ax=axes, ratios=(2.0, 8.0))
    for depth, line in zip((2, 5), axes.lines, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), data.threshold.sel(depth=depth))
        place = float(data.ratio[40])
        edge = float(data.threshold.sel(depth=depth, ratio=place))
        assert phases.is_incremental(0.99 * edge, place, 1.0, 0.1, 0.9, depth)
        assert not phases.is_incremental(1.01 * edge, place, 1.0, 0.1, 0.9, depth)
    assert sorted(named(axes)) == ["depth 2", "depth 5"]
    seen = xarray.DataArray(np.eye(3), dims=("ratio", "start"), coords={"ratio": [2.0, 4, 8], "start": [0.01, 0.1, 1]})
    over = Figure().subplots()
    data = plot.phases(2, seen, ax=over)
    np.testing.assert_array_equal(over.collections[0].get_array(), np.eye(3))
    np.testing.assert_array_equal(data.measured, np.eye(3))
    with pytest.raises(ValueError, match="measured must be over the dimensions ratio and start"):
        plot.phases(2, seen.rename(start="scale"))
    with pytest.raises(ValueError, match="depth must be"):
        plot.phases(0.5)
    with pytest.raises(ValueError, match="ratios must"):
        plot.phases(2, ratios=(3.0, 2.0))


def test_the_learning_order_runs_from_top_to_bottom_and_tells_how_well_it_was_forecast(axes):
    data = plot.learning_order([30, np.inf, 10, 20], [3, 9, 1, 2], names=list("abcd"), ax=axes)
    np.testing.assert_array_equal(data.item, [2, 3, 0, 1])
    np.testing.assert_array_equal(data.learnt, [10, 20, 30, np.nan])
    np.testing.assert_array_equal(data.forecast, [1, 2, 3, 9])
    assert data.attrs == {"never": 1, "spearman": 1.0}
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["c", "d", "a", "b"]
    assert axes.yaxis_inverted()
    np.testing.assert_array_equal(axes.lines[0].get_xydata()[:3], [[10, 1], [20, 2], [30, 3]])


def test_a_timetable_is_drawn_as_spans(axes):
    table = phases.timetable([1.0, 4.0], 1e-2, 3)
    data = plot.learning_order(table, ax=axes, x_label="time")
    np.testing.assert_array_equal(data.item, [1, 0])
    for place, line in enumerate(axes.lines[:2]):
        np.testing.assert_array_equal(line.get_xdata(), [data.begins[place], data.ends[place]])
    with pytest.raises(ValueError, match="forecast must be a vector of 2"):
        plot.learning_order([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="names must be 2"):
        plot.learning_order([1, 2], names=["a"])


def test_a_field_and_its_contours(axes):
    field = xarray.DataArray(np.arange(6.0).reshape(2, 3), dims=("depth", "start"), name="loss")
    field = field.assign_coords(depth=[1, 2], start=[0.01, 0.1, 1.0])
    data = plot.heatmap(field, 2 * field.T, x="depth", y_scale="log", ax=axes)
    np.testing.assert_array_equal(data.measured, field.T)
    np.testing.assert_array_equal(data.forecast, 2 * field.T)
    np.testing.assert_array_equal(axes.collections[0].get_array(), field.T)
    assert (axes.get_xlabel(), axes.get_ylabel(), axes.get_yscale()) == ("depth", "start", "log")
    assert axes.figure.axes[1].get_ylabel() == "loss"
    with pytest.raises(ValueError, match="two dimensions"):
        plot.heatmap(field[0])
    with pytest.raises(ValueError, match="x must be a dimension"):
        plot.heatmap(field, x="width")
    with pytest.raises(ValueError, match="forecast must have the shape"):
        plot.heatmap(field, np.zeros(3))
    with pytest.raises(ValueError, match="forecast must be over the dimensions"):
        plot.heatmap(field, field[0])


@pytest.mark.parametrize("name", [name for name in plot.__all__ if name != "style"])
def test_the_example_of_each_plot_runs(settings, name):
    module = importlib.import_module(f"lineament.report.plot.{name}")
    tried = doctest.testmod(module)
    assert (tried.failed, tried.attempted > 2) == (0, True)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"forecast must be \(7, 3\) over .*got the shape \(3,\)"):
        plot.overlay(run(), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"must be \(7, 3\) or \(5, 7, 3\)"):
        plot.overlay(run(members=5), np.zeros((4, 7, 3)))
    with pytest.raises(ValueError, match=r"x must be a dimension of measured.*epoch"):
        plot.overlay(run(), x="epoch")
    with pytest.raises(ValueError, match="looked for time and step"):
        plot.overlay(run().rename(time="epoch"))
    with pytest.raises(ValueError, match="at most one dimension"):
        plot.overlay(run().expand_dims("layer"))
    with pytest.raises(ValueError, match=r"forecast must have no dimension.*layer"):
        plot.overlay(run(), run().expand_dims("layer"))
    with pytest.raises(ValueError, match="spread must be two rising quantiles"):
        plot.overlay(run(), spread=(0.9, 0.1))
