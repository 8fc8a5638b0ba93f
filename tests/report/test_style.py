"""The colours can be told apart and read, on light and on dark pages."""

import itertools
import re
from importlib import resources

import numpy as np
import pytest

from lineament.report import entries, style

# Machado, Oliveira & Fernandes (2009), severity 1: how linear RGB is seen without one kind of cone.
VISION = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}
THEMES = {"light": style.LIGHT, "dark": style.DARK}


def linear(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ rgb.clip(0, 1) / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    """WCAG 2.2: the ratio of relative luminances."""
    low, high = sorted(float(linear(colour) @ [0.2126, 0.7152, 0.0722]) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def page_colours(theme: str) -> dict[str, str]:
    css = (resources.files("lineament.report") / "templates" / "page.css").read_text(encoding="utf-8")
    light, dark = (dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})", part)) for part in css.split("@media", 2)[:2])
    assert light.keys() == dark.keys(), "a colour of the page that the dark theme forgot"
    return style.tokens(THEMES[theme]) | (light if theme == "light" else dark)


@pytest.mark.parametrize("vision", VISION)
@pytest.mark.parametrize("theme", THEMES)
def test_measurements_are_told_apart(theme, vision):
    seen = [lab(VISION[vision] @ linear(colour)) for colour in THEMES[theme].palette]
    # A difference of about 2.3 is just noticeable side by side; thin lines apart from each other need more.
    assert min(np.linalg.norm(one - other) for one, other in itertools.combinations(seen, 2)) > 12


@pytest.mark.parametrize("theme", THEMES)
def test_text_is_readable(theme):
    colours = page_colours(theme)
    written = [("--ink", "--paper"), ("--ink", "--faint"), ("--soft", "--paper"), ("--soft", "--faint")]
    written += [("--link", "--paper"), ("--link", "--faint"), ("--holds-ink", "--paper"), ("--fails-ink", "--paper")]
    written += [(f"--{name}-ink", f"--{name}-paper") for name, _ in entries.BADGES.values()]
    for ink, paper in written:
        assert contrast(colours[ink], colours[paper]) >= 4.5, (ink, paper)
    for edge in ("--guide", "--focus"):  # the frames of fields, the ring around what has the focus
        assert contrast(colours[edge], colours["--paper"]) >= 3.0, edge


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_names_beside_lines_are_readable(theme):
    for colour in (*theme.palette, *theme.ramp, theme.guide, theme.ink):
        assert contrast(style.lettering(colour, theme), theme.paper) >= 4.5, colour


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_the_ramp_gets_steadily_lighter_and_shows_on_the_page(theme):
    lightness = [lab(linear(colour))[0] for colour in theme.ramp]
    assert min(np.diff(lightness)) > 2
    assert min(contrast(colour, theme.paper) for colour in theme.ramp) > 1.9
    assert min(contrast(colour, theme.ink) for colour in theme.ramp) > 2  # theory is drawn over it


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_theory_shows_on_measurement_and_measurement_beside_theory(theme):
    for colour in theme.palette:
        assert contrast(theme.ink, colour) > 2
        assert contrast(colour, theme.paper) > 2
    assert style.MEASURED_WIDTH >= 2.5 * style.THEORY_WIDTH


def test_no_two_tokens_share_a_colour():
    # The page's figures swap colours for variables, which must not mix two meanings.
    for theme in THEMES.values():
        tokens = style.tokens(theme)
        assert len(set(tokens.values())) == len(tokens)
        assert not {style.FIELD_INK, style.FIELD_HALO} & set(tokens.values())
