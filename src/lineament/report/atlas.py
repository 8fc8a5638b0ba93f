"""The atlas: static pages, one for each claim, that open from disk without a network.

They are made from whatever evidence is stored. A claim that has none is listed as not run.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

from markupsafe import Markup

from lineament.claims.claim import Claim
from lineament.claims.sizes import SIZES
from lineament.execution import files
from lineament.execution.campaign import Failure
from lineament.execution.store import Stored

from . import downloads, drawings, explorer, site
from .entries import MARKS, MEANINGS, MEASURED, NOT_RUN, Entry, errata, gather, tally
from .thumbnails import thumbnail


def write(
    folder: str | Path,
    records: Iterable[Stored],
    claims: Mapping[str, Claim],
    failures: Iterable[Failure] = (),
    workers: int | None = 1,
) -> Path:
    """Write the index, a page for each claim, the page of errata, and the explorer.

    Args:
        folder: Where the pages go; it must exist.
        records: Stored evidence, of any size, seed and origin.
        claims: The registered claims, in the order in which they are listed.
        failures: The claims that could not be run just now.
        workers: How many processes draw figures.

    Returns:
        The path of the index.
    """
    folder = Path(folder)
    drawn = files.writable(folder / "evidence" / "drawn")
    entries = gather(records, claims, failures)
    shown = [run.shown for entry in entries for run in entry.runs.values()]
    drawings.draw_all(shown, drawn, workers)
    _write_claims(folder, entries, drawn)
    drawings.prune(drawn, shown)
    downloads.prune(folder, shown)
    template = site.templates().get_template("errata.html.j2")
    files.write(folder / "errata.html", template.render(entries=errata(entries), measured=MEASURED))
    explorer.write(folder / explorer.NAME, pages={entry.id for entry in entries}, linked=True)
    return files.write(folder / "index.html", _index(entries))


def _write_claims(folder: Path, entries: list[Entry], drawn: Path) -> None:
    template = site.templates().get_template("claim.html.j2")
    for place, entry in enumerate(entries):
        page = template.render(
            entry=entry,
            previous=entries[place - 1] if place else None,
            following=entries[place + 1] if place + 1 < len(entries) else None,
            picture=partial(_picture, folder=folder, drawn=drawn),
            explorable=entry.id in explorer.presets(),
        )
        files.write(folder / f"{entry.id}.html", page)


def _picture(record: Stored, folder: Path, drawn: Path) -> Markup:
    """The figure of a run for its page; beside the page it is kept as a file, with its data."""
    picture = drawings.picture(record, drawn)
    downloads.write(record, picture, folder)
    return picture


def _index(entries: list[Entry]) -> str:
    sizes = [size for size in SIZES if any(entry.verdict(size) != NOT_RUN for entry in entries)]
    return (
        site.templates()
        .get_template("index.html.j2")
        .render(
            entries=entries,
            papers=list({entry.paper.key: entry.paper for entry in entries}.values()),
            sizes=sizes or ["quick"],
            tallies={size: tally(entries, size) for size in sizes},
            meanings=MEANINGS,
            marks=MARKS,
            thumbnail=thumbnail,
        )
    )
