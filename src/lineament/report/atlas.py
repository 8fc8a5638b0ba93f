"""The atlas: static pages, one for each claim, that open from disk without a network.

They are made from whatever evidence is stored. A claim that has none is listed as not run.
"""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup

from lineament.claims.claim import Claim
from lineament.claims.papers import PAPERS, Paper
from lineament.claims.sizes import SIZES
from lineament.evidence import Check, Verdict
from lineament.evidence.figure import Figure
from lineament.execution import files
from lineament.execution.batch import Failure
from lineament.execution.fingerprint import digest, fingerprint
from lineament.execution.store import Stored

from . import draw, marks, prose, style

if TYPE_CHECKING:
    from jinja2 import Environment

NOT_RUN = "not run"
ERROR = "error"
BADGES = {
    Verdict.HOLDS: ("holds", "✓"),
    Verdict.CORRECTED: ("corrected", "✎"),
    Verdict.DIFFERS: ("differs", "≠"),
    Verdict.FAILS: ("fails", "✗"),
    Verdict.UNDECIDED: ("undecided", "?"),
    ERROR: ("error", "!"),
    NOT_RUN: ("not-run", "–"),
}
"""For each verdict, its name in the style sheet and a sign, so that it is told by more than a colour."""


@dataclass(frozen=True, eq=False)
class Entry:
    """A claim in the atlas: what it states, and the newest run at each size, with all others behind it."""

    id: str
    paper: Paper
    place: str
    title: str
    statement: str
    description: str
    kind: str
    cost: Mapping[str, str]
    runs: Mapping[str, Stored]
    others: tuple[Stored, ...]
    errors: Mapping[str, str]

    def verdict(self, size: str) -> str:
        """The verdict at one size. An error just now outweighs what an earlier run found."""
        if size in self.errors:
            return ERROR
        return str(self.runs[size].verdict) if size in self.runs else NOT_RUN

    @property
    def verdicts(self) -> tuple[str, ...]:
        """Every verdict that some size has, for the filter: not run only if no size was."""
        tried = [size for size in SIZES if size in self.runs or size in self.errors]
        return tuple(dict.fromkeys(map(self.verdict, tried))) or (NOT_RUN,)


def write(
    folder: str | Path,
    records: Iterable[Stored],
    claims: Mapping[str, Claim],
    failures: Iterable[Failure] = (),
) -> Path:
    """Write the index and a page for each claim.

    Args:
        folder: Where the pages go; it must exist.
        records: Stored evidence, of any size, seed and origin.
        claims: The registered claims, in the order in which they are listed.
        failures: The claims that could not be run just now.

    Returns:
        The path of the index.
    """
    folder = Path(folder)
    drawn = files.writable(folder / "evidence" / "drawn")
    entries = gather(records, claims, failures)
    sizes = [size for size in SIZES if any(entry.verdict(size) != NOT_RUN for entry in entries)]
    site = site_templates()
    for place, entry in enumerate(entries):
        page = site.get_template("claim.html.j2").render(
            entry=entry,
            previous=entries[place - 1] if place else None,
            following=entries[place + 1] if place + 1 < len(entries) else None,
            picture=lambda run: _picture(run.figure, drawn, run.size),
        )
        files.write(folder / f"{entry.id}.html", page)
    index = site.get_template("index.html.j2").render(
        entries=entries,
        papers=list({entry.paper.key: entry.paper for entry in entries}.values()),
        sizes=sizes or ["quick"],
        tallies={size: tally(entries, size) for size in sizes},
    )
    _prune(drawn, entries)
    return files.write(folder / "index.html", index)


def draw_ahead(record: Stored, folder: Path) -> None:
    """Draw the figure of a run for its page, and keep the drawing in `<folder>/drawn` until the page is written."""
    if record.figure is not None:
        _drawn(record.figure, folder / "drawn", record.size)


def gather(records: Iterable[Stored], claims: Mapping[str, Claim], failures: Iterable[Failure] = ()) -> list[Entry]:
    """One entry for each claim: the registered ones in their order, then those only known from evidence."""
    by_id: dict[str, list[Stored]] = {id: [] for id in claims}
    for record in sorted(records, key=lambda record: record.finished, reverse=True):
        by_id.setdefault(record.id, []).append(record)
    errors: dict[str, dict[str, str]] = {}
    for failure in failures:
        errors.setdefault(failure.id, {})[failure.size] = failure.message
    return [_entry(claims.get(id), found, errors.get(id, {})) for id, found in by_id.items()]


def tally(entries: Iterable[Entry], size: str) -> dict[str, int]:
    """How many claims have each verdict at one size."""
    counts = dict.fromkeys(map(str, BADGES), 0)
    for entry in entries:
        counts[entry.verdict(size)] += 1
    return counts


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


def _entry(claim: Claim | None, found: list[Stored], errors: Mapping[str, str]) -> Entry:
    # The newest evidence stands for its size. A claim's own words come from the code, where there still is one.
    newest = {size: next(run for run in found if run.size == size) for size in SIZES if _has(found, size)}
    source = claim or found[0]
    return Entry(
        id=source.id,
        paper=PAPERS.get(source.paper) or Paper(source.paper, source.paper, "", ""),
        place=source.place,
        title=source.title,
        statement=source.statement,
        description=source.description,
        kind=source.kind,
        cost=dict(claim.cost.items()) if claim else {},
        runs=newest,
        others=tuple(run for run in found if run is not newest.get(run.size)),
        errors=errors,
    )


def _has(found: list[Stored], size: str) -> bool:
    return any(run.size == size for run in found)


@cache
def site_templates() -> "Environment":
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
        colours=Markup(_colours()),
        fingerprint=fingerprint(),
        version=metadata.version("lineament"),
        bar_text=bar_text,
    )
    site.filters.update(
        statement=prose.statement,
        inline=prose.inline,
        blocks=prose.blocks,
        number=_value,
        duration=prose.duration,
    )
    return site


def _picture(figure: Figure, folder: Path, name: str) -> Markup:
    """The figure of a run. One that cannot be drawn, from another version perhaps, must not cost the whole atlas."""
    try:
        return Markup(_drawn(figure, folder, name).read_text(encoding="utf-8"))
    except ValueError as error:
        return Markup("<p>The figure could not be drawn: {}</p>").format(error)


def _drawn(figure: Figure, folder: Path, name: str) -> Path:
    """Draw a figure for a page, unless there is a drawing of the same data in the same style."""
    path = folder / _drawing(figure, name)
    if not path.exists():
        files.write(files.writable(folder) / path.name, draw.embed(figure, name))
    return path


def _prune(folder: Path, entries: Iterable[Entry]) -> None:
    """Remove drawings that no page shows any longer."""
    runs = [run for entry in entries for run in entry.runs.values()]
    shown = {_drawing(run.figure, run.size) for run in runs if run.figure is not None}
    for path in folder.glob("*.svg"):
        if path.name not in shown:
            path.unlink(missing_ok=True)


def _drawing(figure: Figure, name: str) -> str:
    return f"{digest(figure, _style())}.{name}.svg"


@cache
def _style() -> str:
    return "".join(map(inspect.getsource, (draw, marks, style)))


def _value(value: object) -> Markup:
    """A setting: numbers as numbers, lists with commas between."""
    if isinstance(value, list | tuple):
        return Markup(", ").join(map(_value, value))
    if isinstance(value, Mapping):
        return Markup(", ").join(Markup("{}: {}").format(name, _value(part)) for name, part in value.items())
    return prose.number(value)


def _colours() -> str:
    """The themes of the figures as CSS variables, which the page's own text uses too."""

    def block(theme: style.Theme) -> str:
        return " ".join(f"{name}: {colour};" for name, colour in style.tokens(theme).items())

    return (
        f":root {{ {block(style.LIGHT)} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {block(style.DARK)} }} }}"
    )
