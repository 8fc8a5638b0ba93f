"""Every panel by hand: dragging, keys, clicks, time, refusals and what is said about assumptions."""

import itertools
import re

import numpy as np
import pytest

from lineament.theory import lambda_modes, modes, phases, twin

PANELS = ("modes", "phases", "lazy-rich", "preconditioner", "twin", "table")


@pytest.mark.parametrize("panel", PANELS)
def test_every_figure_of_every_panel_is_drawn_and_named(site, panel):
    site.show(f"panel={panel}")
    figures = site.page.locator("[role=tabpanel]:not([hidden]) [data-figure]")
    assert figures.count() >= 2
    for index in range(figures.count()):
        figure = figures.nth(index)
        assert site.ink(figure.get_attribute("data-figure")) > 1000
        assert len(figure.locator("canvas").get_attribute("aria-label")) > 20
    assert site.page.locator("[role=tabpanel]:not([hidden]) .reading tbody tr").count() >= 2
    assert site.page.locator("[role=tabpanel]:not([hidden]) .marks li").count() >= 1


def test_tabs_are_reached_by_keys(site):
    site.show("panel=modes")
    first = site.page.get_by_role("tab", name="Modes")
    first.focus()
    site.page.keyboard.press("ArrowRight")
    assert site.page.evaluate("() => lineament.explorer.panel") == "phases"
    assert site.page.evaluate("() => document.activeElement.id") == "tab-phases"
    site.page.keyboard.press("End")
    assert site.page.evaluate("() => lineament.explorer.panel") == "table"
    site.page.keyboard.press("Home")
    assert first.get_attribute("aria-selected") == "true"


def test_every_control_has_a_name(site):
    for panel in PANELS:
        site.show(f"panel={panel}")
        unnamed = site.page.evaluate(
            """() => [...document.querySelectorAll("[role=tabpanel]:not([hidden]) :is(input, select, button)")]
              .filter(e => !(e.getAttribute("aria-label") || e.labels?.length || e.textContent.trim()))
              .map(e => e.outerHTML)"""
        )
        assert unnamed == []


@pytest.mark.parametrize("panel", PANELS)
def test_every_slider_handle_list_and_switch_moves_by_keys(site, panel):
    """Whatever can be moved is reached by Tab, and arrow keys (or a space, for a switch) change a value."""
    site.show(f"panel={panel}&y=log" if panel == "modes" else f"panel={panel}")
    inside = "[role=tabpanel]:not([hidden])"
    controls = site.page.locator(
        f"{inside} :is([data-handle], input[type=range], .control[data-key] select, input[type=checkbox])"
    )
    names = []
    for index in itertools.count():
        if index >= controls.count():  # which may change on the way: another kind of map has other handles
            break
        each = controls.nth(index)
        assert each.evaluate("e => e.tabIndex") == 0
        if each.evaluate("e => e.tagName === 'SELECT' && e.options.length < 2"):
            continue
        before, name = site.values(), each.evaluate("e => e.getAttribute('aria-label') || e.labels[0].innerText")
        keys = ["Space"] if each.get_attribute("type") == "checkbox" else ["ArrowRight", "ArrowLeft", "ArrowLeft"]
        each.focus()
        moved = False
        for key in keys:
            site.page.keyboard.press(key)
            moved = moved or site.values() != before
        assert moved, name
        names.append(name)
    assert len(names) >= 5
    assert len(set(names)) >= len(names) - 1  # time has a handle and a slider


def test_dragging_a_bar_changes_its_target_only(site):
    site.show("panel=modes&spectrum=12,6,4,3")
    site.drag(site.handle("spectrum", "bar-2"), 0, -40)
    spectrum = site.values()["spectrum"]
    assert spectrum[:2] == [12, 6]
    assert spectrum[3] == 3
    assert 5 < spectrum[2] < 12


def test_a_bar_moves_by_keys_finely_too(site):
    site.show("panel=modes&spectrum=12,6,4,3")
    bar = site.handle("spectrum", "bar-0")
    assert bar.get_attribute("role") == "slider"
    bar.focus()
    site.page.keyboard.press("ArrowDown")
    site.settle()
    once = site.values()["spectrum"][0]
    assert once < 12
    site.page.keyboard.press("Shift+ArrowUp")
    site.settle()
    assert once < site.values()["spectrum"][0] < 12
    assert bar.get_attribute("aria-valuetext").startswith("11.")


def test_modes_are_added_and_removed(site):
    site.show("panel=modes&spectrum=12")
    assert site.page.get_by_role("button", name="Remove the last").is_disabled()
    site.press("Add a mode")
    assert site.values()["spectrum"] == [12, 9]
    site.press("Remove the last")
    assert site.values()["spectrum"] == [12]


def test_sliders_move_by_keys_and_values_can_be_typed(site):
    site.show("panel=modes&depth=3")
    slider = site.page.locator("#modes-depth")
    slider.focus()
    site.page.keyboard.press("End")
    site.settle()
    assert site.values()["depth"] == np.inf
    entry = site.page.get_by_label("Depth, value").first
    entry.fill("2.25")
    entry.press("Enter")
    site.settle()
    assert site.values()["depth"] == 2.25
    entry.fill("∞")
    entry.press("Enter")
    site.settle()
    assert site.values()["depth"] == np.inf


@pytest.mark.parametrize("typed", ["1e-400", "0", "-1", "abc", "1e-13"])
def test_what_a_float_cannot_hold_or_is_out_of_range_is_refused(site, typed):
    site.show("panel=modes&start=0.001")
    entry = site.page.get_by_label("Start, value").first
    entry.fill(typed)
    entry.press("Enter")
    site.settle()
    assert site.values()["start"] == 0.001
    assert f"got {typed}" in site.page.locator("[role=tabpanel]:not([hidden]) .refusal").inner_text()


def test_time_is_dragged_and_the_numbers_follow(site):
    site.show("panel=modes&spectrum=12,6,4,3&start=0.001&depth=3&now=0.1")
    site.drag(site.handle("course", "now"), 200, 0)
    values = site.values()
    assert values["now"] > 0.25
    shown = site.page.locator("[role=tabpanel]:not([hidden]) .reading tbody tr").first.inner_text().split("\t")
    head = site.page.locator("[role=tabpanel]:not([hidden]) .reading thead th").nth(2).inner_text()
    t = float(head.split("=")[1])
    assert float(shown[2]) == pytest.approx(float(modes.trajectory(t, 12, 1e-3, 3)), rel=0.05)
    assert float(shown[4]) == pytest.approx(float(modes.time_to(6, 12, 1e-3, 3)), rel=5e-3)


def test_the_start_is_dragged_on_a_logarithmic_axis(site):
    site.show("panel=modes&y=log&start=0.001")
    site.drag(site.handle("course", "start"), 0, -60)
    assert 0.002 < site.values()["start"] < 1


def test_small_multiples(site):
    site.show("panel=modes")
    before = site.ink("course")
    site.control("multiples").locator("input").check()
    site.settle()
    assert site.values()["multiples"] is True
    assert site.ink("course") != before


def test_play_moves_time_and_stops(site):
    site.show("panel=modes&now=0")
    site.press("Play", settle=False)
    site.page.wait_for_function("() => lineament.explorer.values.now > 0.01")
    site.press("Pause")
    now = site.values()["now"]
    site.page.wait_for_timeout(80)
    assert site.values()["now"] == now


def test_a_click_on_the_map_takes_the_setting_into_modes_and_back_returns(site):
    site.show("panel=phases&depth=4&ratio=2&start=0.001")
    box = site.figure("map").locator("canvas").bounding_box()
    site.page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.4 * box["height"])
    site.settle()
    assert site.page.evaluate("() => lineament.explorer.panel") == "modes"
    values = site.values()
    assert values["depth"] == 4
    assert values["spectrum"][1] == 1
    assert 1.05 < values["spectrum"][0] < 30
    assert 1e-10 < values["start"] < 1e-2
    site.page.go_back()
    site.settle()
    assert site.page.evaluate("() => lineament.explorer.panel") == "phases"
    assert site.values()["ratio"] == 2


def test_dragging_the_point_of_the_map_does_not_leave_the_panel(site):
    site.show("panel=phases&depth=3&ratio=2&start=0.001")
    site.drag(site.handle("map", "point"), -120, -60)
    assert site.page.evaluate("() => lineament.explorer.panel") == "phases"
    values = site.values()
    assert values["start"] < 1e-3
    assert values["ratio"] > 2
    yes = bool(phases.is_incremental(values["start"], values["ratio"], 1.0, values["s"], values["f"], values["depth"]))
    assert ("Yes: learnt one after the other" in site.text()) is yes


def test_where_the_printed_bound_is_false_it_is_said(site):
    site.show("gissin-t2")
    assert "The printed upper bound is false here" in site.text()
    site.show("panel=phases&depth=2.5")
    assert "Theorem 2 prints bounds for N = 2 and N ≥ 3 only" in site.text()
    site.show("panel=phases&s=0.3&f=0.6")
    assert "Definition 1 asks s < ¼" in site.text()
    assert "Definition 1 asks f > ¾" in site.text()


def test_the_plane_of_starts(site):
    site.show("panel=lazy-rich&scale=0.001&balance=0.01&target=3")
    box = site.figure("plane").locator("canvas").bounding_box()
    site.page.mouse.click(box["x"] + 0.4 * box["width"], box["y"] + 0.12 * box["height"])
    site.settle()
    values = site.values()
    assert values["balance"] > 1
    share = float(lambda_modes.laziness(0.75, values["scale"], -values["balance"]))
    name = "Lazy" if share > 0.9 else "Rich" if share < 0.1 else "In between"
    assert site.page.locator("[role=tabpanel]:not([hidden]) .says").inner_text().startswith(name)
    handle = site.handle("plane", "point")
    handle.focus()
    site.page.keyboard.press("ArrowRight")
    site.settle()
    assert site.values()["scale"] > values["scale"]


def test_the_start_and_the_minimum_are_dragged_in_the_field(site):
    site.show("panel=preconditioner&map=row&start=0.15,0.5&target=1.6,0.9")
    site.drag(site.handle("fields", "start-2"), 30, 0)
    assert site.values()["start"][0] > 0.3
    site.drag(site.handle("fields", "target-3"), 0, 30)
    assert site.values()["target"][1] < 0.8
    site.handle("fields", "start-1").focus()
    site.page.keyboard.press("ArrowUp")
    site.settle()
    assert site.values()["start"][1] > 0.5


def test_what_the_field_leaves_out_is_said(site):
    site.show("cohen-l2")
    assert "the sign of the determinant is kept" in site.text()
    site.show("panel=preconditioner&power=4")
    assert "not strongly convex" in site.text()
    site.show("panel=preconditioner&map=row&start=0,0")
    assert "The start is the origin" in site.text()


def test_the_twin_says_its_constants_and_its_horizon(site):
    site.show("panel=twin&activation=gelu&d=20&n=300&m=64")
    text = site.text()
    assert f"{twin.constants('gelu').zeta:.6g}" in text
    assert "stray from its twin" in text
    site.show("panel=twin&activation=relu&step=2&d=20&n=300")
    assert "Refused: the step must be such that" in site.text()
    assert site.page.locator("[role=tabpanel]:not([hidden]) .reading").inner_text() == ""


def test_depths_no_network_has_are_marked(site):
    site.show("panel=modes&depth=2.5")
    assert "No network has 2.5 layers" in site.text()
    site.show("panel=modes&start=5&spectrum=12,3")
    assert "start at or above their target" in site.text()


def test_predict_then_reveal(site):
    site.show("panel=modes")
    full = site.ink("course")
    site.press("Predict, then reveal")
    assert site.ink("course") < full, "the curves are hidden"
    assert site.page.locator("[role=tabpanel]:not([hidden]) .reading").inner_text() == ""
    reveal = site.page.get_by_role("button", name="Reveal", exact=True)
    assert reveal.is_disabled()
    site.figure("course").locator(".pad").scroll_into_view_if_needed()
    box = site.figure("course").locator(".pad").bounding_box()
    site.page.mouse.move(box["x"] + 90, box["y"] + 0.8 * box["height"])
    site.page.mouse.down()
    for step in range(1, 12):
        site.page.mouse.move(box["x"] + 90 + 55 * step, box["y"] + (0.8 - 0.04 * step) * box["height"])
    site.page.mouse.up()
    reveal.click()
    site.settle()
    assert site.ink("course") > full, "the curves, and the sketch over them"
    assert re.search(r"off by [\d.]+ % of the height", site.text())
    site.press("Draw again")
    assert reveal.is_disabled()
    pad = site.figure("course").locator(".pad")
    pad.focus()
    for key in ("ArrowRight", "ArrowUp", "ArrowRight", "ArrowRight", "Enter"):
        site.page.keyboard.press(key)
    site.settle()
    assert "off by" in site.text()
    site.press("Predict, then reveal")
    assert site.page.locator("[role=tabpanel]:not([hidden]) .reading").inner_text() != ""


@pytest.mark.parametrize("panel", ["phases", "lazy-rich", "preconditioner", "twin", "table"])
def test_other_panels_hide_the_answer_too(site, panel):
    site.show(f"panel={panel}")
    site.press("Predict, then reveal")
    assert site.page.locator("[role=tabpanel]:not([hidden]) .reading").inner_text() == ""
    assert "then reveal" in site.page.locator("[role=tabpanel]:not([hidden]) .predict-bar").first.inner_text()
    site.press("Predict, then reveal")
