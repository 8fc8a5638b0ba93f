"""The templates of every page, with what they ask for."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from markupsafe import Markup

from lineament.core.versions import version
from lineament.evidence import Check
from lineament.execution.fingerprint import package

from . import prose, seeds, style
from .entries import BADGES

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def templates() -> "Environment":
    """The templates of every page, with what they ask for."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    site = Environment(
        loader=PackageLoader("lineament.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    texts = resources.files("lineament.report") / "templates"
    site.globals.update(
        badges={str(verdict): badge for verdict, badge in BADGES.items()},
        css=Markup((texts / "page.css").read_text(encoding="utf-8")),
        script=Markup((texts / "filter.js").read_text(encoding="utf-8")),
        save_script=Markup((texts / "save.js").read_text(encoding="utf-8")),
        colours=Markup(_colours()),
        fingerprint=package(),
        version=version("lineament"),
        bar_text=bar_text,
        must=must,
    )
    site.filters.update(
        statement=prose.statement,
        inline=prose.inline,
        blocks=prose.blocks,
        number=value_text,
        duration=prose.duration,
        device=seeds.device,
        few=seeds.few,
    )
    return site


def bar_text(check: Check) -> Markup:
    """The interval that a check's number must lie in."""
    low, high = prose.number(check.low), prose.number(check.high)
    if check.low == -check.high == float("-inf"):
        return Markup("any number")
    if check.low == float("-inf"):
        return Markup("≤ {}").format(high)
    if check.high == float("inf"):
        return Markup("≥ {}").format(low)
    return Markup("[{}, {}]").format(low, high)


def must(check: Check) -> Markup:
    """The same within a sentence: what the number must be, or where it must lie."""
    bar = bar_text(check)
    return Markup("must lie in {}" if bar.startswith("[") else "must be {}").format(bar)


def value_text(value: object) -> Markup:
    """A setting: numbers as numbers, lists with commas between."""
    if isinstance(value, list | tuple):
        return Markup(", ").join(map(value_text, value))
    if isinstance(value, Mapping):
        return Markup(", ").join(Markup("{}: {}").format(name, value_text(part)) for name, part in value.items())
    return prose.number(value)


def _colours() -> str:
    """The themes of the figures as CSS variables, which the page's own text uses too."""

    def block(theme: style.Theme) -> str:
        return " ".join(f"{name}: {colour};" for name, colour in style.tokens(theme).items())

    light, dark = block(style.LIGHT), block(style.DARK)
    return f":root {{ {light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
