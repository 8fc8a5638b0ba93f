"""The explorer: one page that computes the theory live in the browser, opened from disk without a server or a network."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from markupsafe import Markup

from lineament.execution import files

from . import site
from .bundle import bundle

NAME = "explorer.html"
SAMPLES = ("diabetes", "iris", "wine")
"""The bundled tables that the page carries, so that it has something to show before a file is dropped."""

VENDORED = ("array", "color", "format", "interpolate", "path", "time", "time-format", "scale", "shape", "contour")
"""The modules of D3 that the page needs, each after those that it needs itself."""


@dataclass(frozen=True)
class Preset:
    """A setting of the explorer that belongs to a claim: its id, the panel, a title, and the values of the address."""

    id: str
    panel: str
    title: str
    values: dict[str, str]


@cache
def presets() -> dict[str, Preset]:
    """Every preset by the id of its claim."""
    found = json.loads((_folder() / "presets.json").read_text(encoding="utf-8"))
    return {each["id"]: Preset(**each) for each in found}


def write(path: str | Path, *, pages: Collection[str] = (), linked: bool = False, preset: str | None = None) -> Path:
    """Write the explorer.

    Args:
        path: The file.
        pages: The claims that have a page beside it, which presets then link to.
        linked: Whether the index of the atlas is beside it.
        preset: What to show first.
    """
    return files.write(Path(path), page(pages=pages, linked=linked, preset=preset))


def page(*, pages: Collection[str] = (), linked: bool = False, preset: str | None = None) -> str:
    """The page as text; arguments as in :func:`write`."""
    if preset is not None and preset not in presets():
        raise ValueError(f"preset must be one of {', '.join(presets())}; got {preset!r}")
    shown = [
        {"id": each.id, "panel": each.panel, "title": each.title, "values": each.values, "page": each.id in pages}
        for each in presets().values()
    ]
    texts = resources.files("lineament.report") / "templates"
    return site.templates().get_template("explorer.html.j2").render(
        presets=shown,
        linked=linked,
        data=_json({"presets": shown, "preset": preset, "samples": samples()}),
        explorer_css=Markup((texts / "explorer.css").read_text(encoding="utf-8")),
        explorer_script=Markup(script()),
    )  # fmt: skip


@cache
def script() -> str:
    """D3 and the explorer as one classic script."""
    vendored = [(_folder() / "vendor" / f"d3-{name}.min.js").read_text(encoding="utf-8") for name in VENDORED]
    whole = "\n".join([*vendored, bundle(_folder(), "app/main.js")])
    if "</script" in whole.lower():
        raise ValueError("the explorer's script must not hold the end of a script; split the string that does")
    return whole


@cache
def samples() -> dict[str, str]:
    """The bundled tables as CSV."""
    import numpy as np

    from lineament.data import tables

    found = {}
    for name in SAMPLES:
        table = tables.read(name)
        X, y = (np.concatenate(part) for part in zip(*table.chunks(), strict=True))
        rows = [[*(f"{value:.12g}" for value in x), str(label)] for x, label in zip(X, y, strict=True)]
        found[name] = "\n".join(",".join(row) for row in [[*table.features, *table.targets], *rows]) + "\n"
    return found


def _folder() -> Any:
    return resources.files("lineament.report") / "explorer"


def _json(value: object) -> Markup:
    """JSON that can stand in a script element: no character of it begins a tag."""
    return Markup(json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c"))
