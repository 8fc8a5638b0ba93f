"""Pages besides the explorer, in a browser: a claim's figure is saved, and formulas of the documentation are typeset."""

import sys
from itertools import pairwise
from pathlib import Path

import pytest

from lineament.evidence import figure as fig
from lineament.report import embedding, site

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "extensions"))
import mathml  # noqa: E402


@pytest.fixture
def opened_text(browser, tmp_path):
    """Opens a text as a page from disk; it must not complain or ask the network for anything."""
    context, said, asked = browser.new_context(viewport={"width": 800, "height": 600}), [], []

    def open_text(body: str):
        path = tmp_path / "page.html"
        path.write_text(f"<!doctype html><html lang=en><meta charset=utf-8><body>{body}", encoding="utf-8")
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        return page

    yield open_text
    context.close()
    assert said == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked)


def test_formulas_of_the_documentation_are_laid_out_without_a_network(opened_text):
    css = (ROOT / "docs" / "_static" / "site.css").read_text(encoding="utf-8")
    lines = mathml.typeset(r"\begin{aligned}x&=1\\xyzxyz&=22222\end{aligned}", display=True)
    fraction = mathml.typeset(r"\frac{a}{b}+\mathbb R", display=True)
    page = opened_text(f"<style>{css}</style>{fraction}{lines}")
    place = lambda selector: page.locator(selector).first.bounding_box()  # noqa: E731
    numerator, denominator = place("mfrac > :nth-child(1)"), place("mfrac > :nth-child(2)")
    assert numerator["y"] + numerator["height"] <= denominator["y"] + 1
    # Aligned at the sign: the left sides end, and the right sides begin, at one place.
    first, second = place("mtr:nth-child(1) > mtd:nth-child(2) mo"), place("mtr:nth-child(2) > mtd:nth-child(2) mo")
    assert abs(first["x"] - second["x"]) < 1
    assert "ℝ" in page.locator("body").inner_text()


def test_a_figure_is_saved_as_a_picture_and_as_a_page(opened_text, tmp_path):
    drawn = embedding.embed(fig.Figure((fig.Panel((fig.measured([1, 2, 3], [3, 4, 9]),)),), "A caption."), "quick")
    buttons = "".join(f'<button data-save="{form}" data-name="it" hidden>{form}</button>' for form in ("png", "pdf"))
    texts = site.templates().globals
    style, script = f"<style>{texts['colours']}</style>", f"<script>{texts['save_script']}</script>"
    page = opened_text(f"{style}<figure>{drawn}{buttons}</figure>{script}")
    for form, head in (("png", b"\x89PNG"), ("pdf", b"%PDF-1.4")):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=form).click()
        assert waiting.value.suggested_filename == f"it.{form}"
        waiting.value.save_as(tmp_path / form)
        content = (tmp_path / form).read_bytes()
        assert content.startswith(head)
        assert len(content) > 5000, "something is drawn"
    # The table at the end of a PDF says where each object begins.
    table = content[int(content.split(b"startxref\n")[1].split()[0]) :].split(b"\n")
    for number, row in enumerate(table[3:8], 1):
        assert content[int(row[:10]) :].startswith(b"%d 0 obj" % number)


def test_on_a_phone_the_panels_of_a_figure_stand_below_each_other(opened_text):
    panel = fig.Panel((fig.measured([1, 2, 3], [3, 4, 9]),), "x", "y")
    texts = site.templates().globals
    drawn = embedding.embed(fig.Figure((panel,) * 3, "A caption."), "quick")
    page = opened_text(f"<style>{texts['colours']}{texts['css']}</style><main><figure>{drawn}</figure></main>")
    whole, windows = page.locator(".picture > svg"), page.locator(".panels > svg")
    page.set_viewport_size({"width": 1200, "height": 800})
    assert whole.bounding_box()["width"] > 600
    assert not windows.first.is_visible()
    page.set_viewport_size({"width": 390, "height": 800})
    boxes = [windows.nth(place).bounding_box() for place in range(3)]
    assert all(box["width"] > 250 for box in boxes)
    assert all(after["y"] >= before["y"] + before["height"] for before, after in pairwise(boxes))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
