"""What leaves the page: links, code, pictures and numbers; and what surrounds it: phones, dark rooms, calm motion."""

import csv
import io
import itertools
import re
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest

from lineament.claims import all_claims
from lineament.report import explorer, style
from lineament.theory import lambda_modes, modes, phases, two_layer

matplotlib.use("Agg")

STATES = {
    "modes": "panel=modes&depth=inf&start=0.002&spectrum=9,5,2&y=log&x=log&multiples=0&now=0.25",
    "phases": "panel=phases&depth=4&s=0.2&f=0.8&start=0.0005&ratio=3&now=0.5",
    "lazy-rich": "panel=lazy-rich&scale=0.01&balance=0.3&larger=second&target=2&now=0.7",
    "lazy-rich, turned": "panel=lazy-rich&scale=0.05&balance=0.7&larger=first&target=2&turn=75&now=0.3",
    "preconditioner": "panel=preconditioner&map=diagonal&power=2&slope=2&depth=5&target=1.5,1&start=0.3,0.2&now=0.1",
    "twin": "panel=twin&activation=tanh&labels=norm&layers=second&d=12&m=300&n=200&step=0.02&seed=3&now=0.5",
    "table": "panel=table&sample=iris&target=&depth=3&start=0.01&whiten=1&classes=0&seed=0&now=0.5",
}


@pytest.mark.parametrize("panel", STATES)
def test_a_link_reproduces_the_picture(site, opened, panel):
    site.show(STATES[panel])
    site.press("Copy link")
    link = site.page.evaluate("() => navigator.clipboard.readText()")
    assert link == site.page.evaluate("() => location.href")
    again = opened()
    again.page.goto(link)
    again.page.reload()
    again.settle()
    assert again.values() == site.values()
    assert again.page.evaluate("() => location.hash") == site.page.evaluate("() => location.hash")
    name = site.page.locator("[role=tabpanel]:not([hidden]) [data-figure]").first.get_attribute("data-figure")
    shot = "name => document.querySelector(`[role=tabpanel]:not([hidden]) [data-figure=${name}] canvas`).toDataURL()"
    assert again.page.evaluate(shot, name) == site.page.evaluate(shot, name)


@pytest.mark.parametrize(
    "broken", ["panel=modes&depth=0.5", "panel=modes&start=1e-400", "panel=modes&spectrum=1,x", "panel=twin&d=3.5"]
)
def test_values_of_an_address_that_are_not_allowed_are_refused(site, broken):
    site.show(broken)
    assert "the address holds values that are not allowed here" in site.text()
    assert (
        site.ink(site.page.locator("[role=tabpanel]:not([hidden]) [data-figure]").first.get_attribute("data-figure"))
        > 0
    )


def test_changes_arrive_in_the_address(site):
    site.show("panel=modes&depth=3")
    site.control("y").locator("select").select_option("log")
    site.page.wait_for_function("() => location.hash.includes('y=log')")


def run_python(code: str) -> dict:
    """Execute copied code, without a window."""
    names: dict = {}
    with matplotlib.rc_context({"figure.max_open_warning": 0}):
        exec(compile(code, "copied", "exec"), names)
    matplotlib.pyplot.close("all")
    return names


def copied(site) -> dict:
    site.press("Copy as Python")
    return run_python(site.page.evaluate("() => navigator.clipboard.readText()"))


def downloaded(site, name: str) -> str:
    with site.page.expect_download() as caught:
        site.press(f"Download {name}")
    return caught.value.path().read_text(encoding="utf-8")


def columns(text: str) -> dict[str, np.ndarray]:
    rows = list(csv.reader(io.StringIO(text)))
    return {
        name: np.array([float(row[j]) if row[j] else np.nan for row in rows[1:]]) for j, name in enumerate(rows[0])
    }


def test_modes_as_python_and_csv(site):
    site.show("panel=modes&depth=3.3&start=0.002&spectrum=9,5,2&x=linear&multiples=0")
    code, table = copied(site), columns(downloaded(site, "CSV"))
    assert np.allclose(table["t"], code["t"], rtol=1e-12)
    sigma = np.stack([table[f"sigma_{i}"] for i in (1, 2, 3)], axis=1)
    assert np.allclose(sigma, code["sigma"], rtol=1e-10)
    assert np.allclose(sigma, modes.trajectory(table["t"][:, None], [9, 5, 2], 0.002, 3.3), rtol=1e-10)
    assert np.allclose(table["loss"], code["loss"], rtol=1e-8)
    assert np.allclose(table["effective_rank"], code["rank"], rtol=1e-10)


@pytest.mark.parametrize("depth", ["1", "1.5", "2", "4", "inf"])
def test_curves_are_those_of_the_package_at_any_depth(site, depth):
    site.show(f"panel=modes&depth={depth}&start=1e-6&spectrum=9,5,2,0.5&x=linear")
    table = columns(downloaded(site, "CSV"))
    sigma = np.stack([table[f"sigma_{i}"] for i in (1, 2, 3, 4)], axis=1)
    N, target = float(depth), np.array([9, 5, 2, 0.5])
    wanted = modes.trajectory(table["t"][:, None], target, 1e-6, N)
    kappa = table["t"][:, None] * wanted ** (1 - 2 / N) * np.abs(target - wanted)
    assert np.all(np.abs(sigma / wanted - 1) <= np.maximum(1e-10, 64 * np.finfo(float).eps * kappa))


def test_phases_as_python_and_csv(site):
    site.show(STATES["phases"])
    code, table = copied(site), columns(downloaded(site, "CSV"))
    assert np.allclose(table["log_threshold"], code["edge"], rtol=1e-10)
    assert np.allclose(table["log_threshold"], phases.log_threshold(4, table["ratio"], 0.2, 0.8), rtol=1e-10)
    for side, name in enumerate(("below", "above")):
        assert np.allclose(table[f"log_printed_{name}"], code["printed"][side], rtol=1e-10)
        assert np.allclose(table[f"log_corrected_{name}"], code["corrected"][side], rtol=1e-10)
    assert code["incremental"] is ("Yes: learnt" in site.text())


def test_lazy_rich_as_python_and_csv(site):
    site.show(STATES["lazy-rich"])
    code, table = copied(site), columns(downloaded(site, "CSV"))
    for k in range(3):
        assert np.allclose(table[f"sigma_{k + 1}"], code["sigma"][:, k], rtol=1e-10)
        assert np.allclose(table[f"kernel_{k + 1}"], code["kernel"][:, k], rtol=1e-10)
    wanted = lambda_modes.trajectory(table["t"], 2.0, 0.01, 0.3)
    assert np.allclose(table["sigma_1"], wanted, rtol=1e-10)


@pytest.mark.parametrize("larger", ["first", "second"])
def test_a_turned_start_as_python_and_csv(site, larger):
    site.show(STATES["lazy-rich, turned"].replace("larger=first", f"larger={larger}"))
    code, table = copied(site), columns(downloaded(site, "CSV"))
    for k in range(3):
        assert np.allclose(table[f"sigma_{k + 1}"], code["sigma"][:, k], rtol=1e-10, atol=1e-14)
        assert np.allclose(table[f"kernel_{k + 1}"], code["kernel"][:, k], rtol=1e-10)
    assert np.allclose(table["across"], code["across"], rtol=1e-8, atol=1e-14)
    assert two_layer.balance(code["W1"], code["W2"]).violation < 1e-14
    # The last row of numbers: the weakest mode, and both layers at the end.
    last = site.page.locator("[role=tabpanel]:not([hidden]) .reading tbody tr").last.inner_text().split("\t")
    for told, layer in zip(last[-2:], (code["W1_end"], code["W2_end"]), strict=True):
        assert float(told) == pytest.approx(np.linalg.svd(layer, compute_uv=False)[2], rel=2e-3)
    assert "Not aligned with the target: modes do not move on their own" in site.text()


def test_a_start_that_is_not_turned_is_the_closed_form_of_its_modes(site):
    site.show("panel=lazy-rich&scale=0.05&balance=0.7&turn=0")
    plain = columns(downloaded(site, "CSV"))
    site.show("panel=lazy-rich&scale=0.05&balance=0.7&turn=1e-9")
    turned = columns(downloaded(site, "CSV"))
    for k in range(3):
        assert np.interp(turned["t"], plain["t"], plain[f"sigma_{k + 1}"]) == pytest.approx(
            turned[f"sigma_{k + 1}"], rel=1e-3
        )


@pytest.mark.parametrize("state", [STATES["preconditioner"], "panel=preconditioner&map=row&power=4&slope=0.5&depth=4"])
def test_the_field_as_python_and_csv(site, state):
    site.show(state)
    code, table = copied(site), columns(downloaded(site, "CSV"))
    for n in code["depths"]:
        W = code["paths"][n]
        first, second = (W[:, 0, 0], W[:, 0, 1]) if W.shape[1] == 1 else (W[:, 0, 0], W[:, 1, 1])
        assert np.allclose(table[f"depth_{n}_w1"], first, atol=2e-7)
        assert np.allclose(table[f"depth_{n}_w2"], second, atol=2e-7)
        assert np.allclose(table[f"depth_{n}_loss"], code["loss"][n], atol=2e-7)


@pytest.mark.parametrize("labels", ["teacher", "norm", "chance"])
def test_the_twin_as_python_and_csv(site, labels):
    site.show(STATES["twin"].replace("labels=norm", f"labels={labels}"))
    code, table = copied(site), columns(downloaded(site, "CSV"))
    assert np.array_equal(table["step"], code["t"])
    assert np.allclose(table["training_loss"], code["training"], rtol=1e-9)
    assert np.allclose(table["test_loss"], code["test"], rtol=1e-9)


def test_the_table_as_python_and_csv(site):
    site.show(STATES["table"])
    code, table = copied(site), columns(downloaded(site, "CSV"))
    made = code["made"]
    assert np.allclose(np.interp(made.time / made.step_size, table["step"], table["loss"]), made.loss, rtol=1e-4)
    assert np.allclose(table["loss"][-1], made.loss[-1], rtol=1e-8)


def test_a_picture_as_svg_and_png(site):
    site.show("panel=modes&multiples=0")
    root = ET.fromstring(downloaded(site, "SVG"))
    tags = [element.tag.rsplit("}")[-1] for element in root.iter()]
    assert tags.count("svg") == 4
    assert tags.count("path") > 20
    words = " ".join(element.text or "" for element in root.iter() if element.tag.endswith("text"))
    assert "singular value σ(t)" in words
    with site.page.expect_download() as caught:
        site.press("Download PNG")
    data = caught.value.path().read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(data[16:20], "big") > 1000
    site.show("panel=lazy-rich")
    assert "<image " in downloaded(site, "SVG")


def test_presets_belong_to_claims_and_open(site):
    claims = all_claims()
    assert {"gissin-f2", "gissin-t2", "hu-f1", "cohen-t1", "varre-sv", "hacohen-f9"} <= set(explorer.presets())
    for id, preset in explorer.presets().items():
        assert id in claims
        site.show(id)
        assert site.page.evaluate("() => lineament.explorer.panel") == preset.panel
        shown = site.page.locator("[role=tabpanel]:not([hidden])")
        assert f"lineament reproduce {id}" in shown.inner_text()
        assert shown.locator(".refusal:visible").count() == 0
        assert f"preset={id}" in site.page.evaluate("() => location.hash")


def test_a_preset_is_chosen_from_the_list(site):
    site.show("panel=modes")
    site.page.locator("#modes-preset").select_option("gissin-f2")
    site.settle()
    assert site.values()["multiples"] is True
    assert site.values()["spectrum"] == [12, 6, 4, 3]


def test_a_page_for_one_preset_opens_with_it(opened, tmp_path):
    page = opened(explorer.write(tmp_path / "one.html", preset="cohen-e1"))
    assert page.page.evaluate("() => lineament.explorer.panel") == "preconditioner"
    with pytest.raises(ValueError, match="preset must be one of"):
        explorer.page(preset="gissin-f99")


def test_beside_the_atlas_presets_link_to_their_claims(opened, tmp_path):
    page = opened(explorer.write(tmp_path / "explorer.html", pages={"gissin-f2"}, linked=True))
    page.show("gissin-f2")
    link = page.page.locator("[role=tabpanel]:not([hidden]) .claim-link a")
    assert link.get_attribute("href") == "gissin-f2.html"
    assert page.page.get_by_role("link", name="Atlas of claims").get_attribute("href") == "index.html"


@pytest.mark.parametrize("panel", STATES)
def test_on_a_phone_nothing_sticks_out(site, panel):
    site.page.set_viewport_size({"width": 390, "height": 844})
    site.show(STATES[panel])
    assert site.page.evaluate("() => document.documentElement.scrollWidth") <= 390
    small = site.page.evaluate(
        """() => [...document.querySelectorAll("[role=tabpanel]:not([hidden]) :is(button, select, input[type=range])")]
          .filter(e => !e.closest(".handles")).map(e => e.getBoundingClientRect())
          .filter(b => b.height && b.height < 24).length"""
    )
    assert small == 0
    slider = site.page.locator("[role=tabpanel]:not([hidden]) .side input[type=range]").first
    slider.scroll_into_view_if_needed()
    first = site.page.locator("[role=tabpanel]:not([hidden]) [data-figure]").first.bounding_box()
    assert -5 <= first["y"] < 500, "the first figure stays in sight"


def test_a_finger_drags_too(opened):
    phone = opened(has_touch=True, is_mobile=True)
    phone.page.set_viewport_size({"width": 390, "height": 844})
    phone.show("panel=modes&now=0.2")
    knob = phone.handle("course", "now")
    knob.evaluate(
        """knob => { const b = knob.getBoundingClientRect(), x = b.x + 13, y = b.y + 13;
          const finger = { pointerId: 1, pointerType: "touch", isPrimary: true, bubbles: true, clientY: y };
          const send = (kind, dx) => knob.dispatchEvent(new PointerEvent(kind, { ...finger, clientX: x + dx }));
          knob.setPointerCapture = () => {};
          send("pointerdown", 0); send("pointermove", 60); send("pointerup", 60); }"""
    )
    phone.settle()
    assert phone.values()["now"] > 0.3
    assert phone.page.evaluate("k => getComputedStyle(document.querySelector(k)).touchAction", ".knob") == "none"


def test_dark_and_light_follow_the_reader(opened):
    page = opened(color_scheme="dark")
    rgb = tuple(int(style.DARK.paper[i : i + 2], 16) for i in (1, 3, 5))
    assert page.page.evaluate("() => getComputedStyle(document.body).backgroundColor") == f"rgb{rgb}"
    shot = "() => document.querySelector('[data-figure=course] canvas').toDataURL()"
    dark = page.page.evaluate(shot)
    page.page.emulate_media(color_scheme="light")
    page.settle()
    assert page.page.evaluate(shot) != dark


def test_reduced_motion_jumps_instead_of_moving(opened):
    page = opened(reduced_motion="reduce")
    page.show("panel=modes&now=0")
    page.press("Play")
    page.page.wait_for_timeout(250)
    assert page.values()["now"] == 0
    page.page.wait_for_function("() => lineament.explorer.values.now > 0")
    assert page.values()["now"] == pytest.approx(0.1)
    page.press("Pause")
    assert page.page.evaluate("() => getComputedStyle(document.getElementById('told')).transitionDuration") == "0s"


def test_the_page_is_small_and_loads_nothing(explorer_path, opened):
    text = explorer_path.read_text(encoding="utf-8")
    assert len(text.encode()) <= 600_000
    assert not re.findall(r"(?:src|fetch|import)\W{1,3}https?:", text)
    page = opened()
    for panel in STATES:
        page.show(STATES[panel])
    assert page.asked == [page.address]


def test_headings_and_landmarks(site):
    site.show("panel=modes")
    levels = site.page.evaluate(
        "() => [...document.querySelectorAll('h1, h2, h3')].filter(h => h.offsetParent).map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert site.page.locator("main").count() == 1
    ids = site.page.evaluate("() => [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
