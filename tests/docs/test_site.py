"""The documentation: what is written from the code is whole, formulas are typeset, and what pages show runs."""

import importlib
import inspect
import re
import sys
import typing
from pathlib import Path

import pytest

from lineament.report import explorer

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs" / "extensions"))
import command_line  # noqa: E402
import errata  # noqa: E402
import mathml  # noqa: E402
import reference  # noqa: E402

PACKAGES = ("models", "problems", "starts", "measure", "theory", "data", "train", "forecasting", "linearisation")
DOCUMENTED = {module for group in reference.GROUPS for module in group.modules}
# Words for what is drawn and printed, and the machinery behind: no part of what a user calls.
INNER = {"lineament.forecasting.words", "lineament.forecasting.network_words", "lineament.linearisation.words"}


def home(value):
    """The module in which something is defined."""
    return value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)


@pytest.mark.parametrize("package", [*PACKAGES, "recording", "evidence", "claims"])
def test_the_reference_has_whatever_a_package_offers(package):
    offered = importlib.import_module(f"lineament.{package}")
    homes = {name: home(getattr(offered, name)) for name in offered.__all__}
    missing = {name: where for name, where in homes.items() if str(where).startswith("lineament.")}
    missing = {name: where for name, where in missing.items() if where not in DOCUMENTED | INNER}
    assert missing == {}


def test_the_reference_has_what_functions_return():
    missing = {}
    for module in sorted(DOCUMENTED):
        if module.startswith(("lineament.torch", "lineament.execution", "lineament.report")):
            continue
        for name, function in inspect.getmembers(importlib.import_module(module), inspect.isfunction):
            if name.startswith("_") or function.__module__ != module:
                continue
            returned = function.__annotations__.get("return")
            for part in (returned, *typing.get_args(returned)):
                ours = inspect.isclass(part) and part.__module__.startswith("lineament.")
                if ours and part.__module__ not in DOCUMENTED and not part.__name__.startswith("_"):
                    missing[f"{module}.{name}"] = f"{part.__module__}.{part.__name__}"
    assert missing == {}


def test_every_command_is_on_its_page():
    page = command_line.page()
    for name in ("claims", "show", "reproduce", "atlas", "new-claim", "forecast", "sweep", "data fetch", "cite"):
        assert f"\n## lineament {name}\n" in page
    assert "| `--seeds A-B` | Several seeds" in page
    assert r"`--size <quick\|full>`" in page


def test_errata_come_from_the_stored_evidence():
    page = errata.page(ROOT / "results")
    assert "## Gissin et al. 2020, Theorem 2, Appendix A" in page
    assert "Figure 10" not in page, "what digits do not show is no erratum of a report on photographs"
    assert page.count("As printed") == page.count('class="rubric">Corrected') >= 10
    assert "<math" in page
    assert r"\frac" not in page


@pytest.mark.parametrize(
    ("latex", "within"),
    [
        (r"\mathbb R^n", "<mi>ℝ</mi>"),
        (r"\mathcal N(0,1)", "<mi>𝒩</mi>"),
        (r"\begin{aligned}a&=b\\c&=d\end{aligned}", "<mtable"),
        (r"\tfrac12\,\mathrm{tr}\,W", "<mfrac>"),
    ],
)
def test_formulas_become_mathml(latex, within):
    assert within in mathml.typeset(latex, display=True)


@pytest.mark.parametrize("latex", [r"\nosuchcommand x", r"\left( x"])
def test_a_formula_that_cannot_be_typeset_is_refused(latex):
    with pytest.raises(ValueError, match="a formula must be LaTeX that latex2mathml reads"):
        mathml.typeset(latex, display=False)


def test_every_formula_of_the_pages_is_typeset():
    pages = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "start").glob("*.md")]
    formulas = [
        formula
        for page in pages
        for formula in re.findall(r"(?<![\\$`\w])\$([^$`\n]+(?:\n[^$`\n]+)?)\$(?![\w$])", _prose(page))
    ]
    assert len(formulas) > 50
    for formula in formulas:
        assert mathml.typeset(formula, display=False).startswith("<math")


def _prose(page: Path) -> str:
    """A page without its code."""
    return re.sub(r"```.*?```|`[^`\n]*`|\$\$.*?\$\$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_links_between_pages_lead_somewhere():
    """Sphinx follows its own references; those in plain Markdown and HTML are followed here."""
    docs, broken = ROOT / "docs", []
    for page in [*docs.glob("*.md"), *(docs / "start").glob("*.md")]:
        text = page.read_text(encoding="utf-8")
        for target in re.findall(r'(?:\]\(|href=")(?!https?:|mailto:)([^)"\s]+)', text):
            path, _, place = target.partition("#")
            if path.endswith("_static/explorer.html"):
                there = not place or place in explorer.presets()
            elif path.startswith("atlas/"):
                there = "{only} atlas" in text  # shown only where the atlas is part of the site
            else:
                there = (page.parent / path).exists() or (page.parent / path).with_suffix(".md").exists()
            broken += [] if there else [f"{page.name}: {target}"]
    assert broken == []
