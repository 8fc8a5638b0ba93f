"""The overlay of a run and its forecast: what is drawn, from arrays of every shape a run has."""

import matplotlib
import numpy as np
import pytest
import xarray
from matplotlib.figure import Figure

from lineament.report import plot, style

TIME = np.linspace(0.0, 2.0, 7)
MODES = np.stack([np.exp(-TIME), TIME, TIME**2], axis=1)


def run(members: int | None = None, along: str = "time") -> xarray.DataArray:
    values, dims = MODES, (along, "mode")
    if members:
        values, dims = MODES * np.linspace(0.5, 1.5, members)[:, None, None], ("member", *dims)
    array = xarray.DataArray(values, dims=dims, coords={along: TIME}, name="singular_values")
    array[along].attrs.update(long_name="time $t$", units="1/η")
    return array


def marks(panel, kind, role):
    return [mark for mark in panel.marks if (mark.kind, mark.role) == (kind, role)]


@pytest.fixture
def axes():
    return Figure().subplots()


def test_measured_in_colour_and_theory_dark_over_it(axes):
    drawn = plot.overlay(run(), 2 * MODES, ax=axes)
    assert drawn is axes
    measured, theory = axes.lines[:3], axes.lines[3:]
    for mode in range(3):
        np.testing.assert_array_equal(measured[mode].get_xydata(), np.stack([TIME, MODES[:, mode]], 1))
        np.testing.assert_array_equal(theory[mode].get_ydata(), 2 * MODES[:, mode])
        assert measured[mode].get_color() == style.LIGHT.palette[mode]
        assert theory[mode].get_color() == style.LIGHT.ink
        assert theory[mode].get_zorder() > measured[mode].get_zorder()
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time $t$ [1/η]", "singular values")
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["mode 1", "mode 2", "mode 3", "theory"]


def test_members_become_a_median_and_a_band():
    panel = plot.overlay_data(run(members=11), MODES)
    for mode, (line, band) in enumerate(
        zip(marks(panel, "line", "measured"), marks(panel, "band", "measured"), strict=True)
    ):
        np.testing.assert_allclose(line.y, MODES[:, mode])
        np.testing.assert_allclose(band.y, 0.6 * MODES[:, mode])
        np.testing.assert_allclose(band.high, 1.4 * MODES[:, mode])
    np.testing.assert_array_equal(marks(panel, "line", "theory")[2].y, MODES[:, 2])


def test_a_forecast_for_each_member_is_summed_up_too():
    panel = plot.overlay_data(run(members=3), 2 * run(members=3).to_numpy())
    np.testing.assert_allclose(marks(panel, "line", "theory")[1].y, 2 * MODES[:, 1])


def test_steps_scalars_and_no_forecast():
    panel = plot.overlay_data(run(along="step"))
    assert marks(panel, "line", "theory") == []
    assert len(marks(panel, "line", "measured")) == 3
    loss = plot.overlay_data(run().isel(mode=0), MODES[:, 0], y_scale="log")
    assert loss.y_scale == "log"
    assert [mark.label for mark in loss.marks] == ["measured", "theory"]
    np.testing.assert_array_equal(loss.marks[0].y, MODES[:, 0])


def test_dimensions_go_by_name_not_by_order():
    panel = plot.overlay_data(run(members=5).transpose("mode", "time", "member"), run().transpose("mode", "time"))
    np.testing.assert_allclose(marks(panel, "line", "measured")[2].y, MODES[:, 2])
    np.testing.assert_array_equal(marks(panel, "line", "theory")[2].y, MODES[:, 2])


def test_a_chosen_axis_and_many_modes():
    wide = xarray.DataArray(np.arange(40.0).reshape(4, 10), dims=("epoch", "direction"))
    panel = plot.overlay_data(wide, x="epoch")
    assert {mark.label for mark in panel.marks} == {"measured"}
    assert len(panel.marks) == 10
    np.testing.assert_array_equal(panel.marks[3].x, [0, 1, 2, 3])


def test_new_axes_come_from_pyplot_and_settings_stay():
    from matplotlib import pyplot

    pyplot.switch_backend("agg")  # before, so that whichever test chose one first leaves no mark
    before = dict(matplotlib.rcParams)
    axes = plot.overlay(run(), MODES)
    assert axes.figure.number in pyplot.get_fignums()
    pyplot.close(axes.figure)
    assert dict(matplotlib.rcParams) == before


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"forecast has the shape \(3,\).*\(7, 3\)"):
        plot.overlay_data(run(), [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"must be \(7, 3\) or \(5, 7, 3\)"):
        plot.overlay_data(run(members=5), np.zeros((4, 7, 3)))
    with pytest.raises(ValueError, match=r"x must be a dimension of measured.*epoch"):
        plot.overlay_data(run(), x="epoch")
    with pytest.raises(ValueError, match="looked for time and step"):
        plot.overlay_data(run().rename(time="epoch"))
    with pytest.raises(ValueError, match="at most one"):
        plot.overlay_data(run().expand_dims("layer"))
    with pytest.raises(ValueError, match=r"forecast has the dimensions.*layer"):
        plot.overlay_data(run(), run().expand_dims("layer"))
    with pytest.raises(ValueError, match="spread must be two rising quantiles"):
        plot.overlay_data(run(), spread=(0.9, 0.1))
