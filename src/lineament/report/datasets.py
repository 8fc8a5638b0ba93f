"""What `lineament data` answers: a table of data sets, downloads, checks of files, and contact sheets.

Progress goes to standard error; standard output carries the answers.
"""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from lineament.data import catalogue, download
from lineament.data.entries import Entry, TableEntry
from lineament.data.images import Images
from lineament.execution import files

from . import style
from .claim_console import PLAIN_WIDTH
from .terminal import Terminal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 10
ROWS = 10


def list_sets() -> None:
    """Print the table of all data sets: what they are, where they come from, whether they are at hand."""
    table = _table("name", "what", "image", "classes", "train", "test", "licence", "at hand")
    for name in catalogue.names():
        entry = catalogue.entry(name)
        if isinstance(entry, TableEntry):
            numbers = (f"{entry.features} columns", "—", f"{entry.rows:,}", "—")
        else:
            numbers = ("×".join(map(str, entry.shape)), str(entry.classes), f"{entry.train:,}", f"{entry.test:,}")
        table.add_row(entry.name, entry.title, *numbers, entry.licence, at_hand(name))
    _print(table)


def describe(name: str) -> None:
    """Print all that is known of one data set, with its files and their checksums."""
    entry = catalogue.entry(name)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    rows = [
        ("name", entry.name),
        ("what", entry.title),
        *_contents(entry),
        ("source", entry.source),
        ("licence", entry.licence),
        ("cite", entry.citation or "—"),
        ("at hand", at_hand(name)),
    ]
    for file in entry.files:
        rows.append(("file", f"{file.path}  {file.digest}"))
    for url in dict.fromkeys(file.url for file in entry.files):
        rows.append(("download", url))
    for label, value in rows:
        table.add_row(Text(label, style="bold"), Text(str(value), overflow="fold"))
    _print(table)


def _contents(entry: Entry | TableEntry) -> list[tuple[str, str]]:
    """What a data set holds: images of classes, or a table of numbers."""
    if isinstance(entry, TableEntry):
        return [("columns", f"{entry.features} features and a number to predict"), ("examples", f"{entry.rows:,}")]
    return [
        ("image", "×".join(map(str, entry.shape))),
        ("classes", str(entry.classes)),
        ("examples", f"{entry.train:,} for training, {entry.test:,} for testing"),
    ]


def at_hand(name: str) -> str:
    """Where a data set is: a folder, "built in", or how many of its files are missing."""
    entry = catalogue.entry(name)
    if not entry.files:
        return "built in"
    root = catalogue.locate(name)
    if root is not None:
        return str(root)
    lacking = min(len(catalogue.missing(entry, folder)) for folder in catalogue.folders())
    return f"lacks {lacking} of {len(entry.files)} files"


def fetch(names: Sequence[str]) -> list[Path]:
    """Download what data sets lack into the user's cache; those at hand are left alone.

    Raises:
        FileNotFoundError: If an address cannot be reached; says what to put where.
        ValueError: If a name is unknown, or what came is not the original.
    """
    entries = [catalogue.entry(name) for name in names]
    root = catalogue.cache_folder()
    placed: list[Path] = []
    console = Terminal(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        tasks: dict[str, object] = {}

        def show(url: str, done: int, total: int | None) -> None:
            if url not in tasks:
                tasks[url] = bar.add_task(url.rpartition("/")[2], total=total)
            bar.update(tasks[url], completed=done)  # type: ignore[arg-type]

        for entry in entries:
            if catalogue.locate(entry.name) is not None:
                console.print(f"{entry.name} is at hand: {at_hand(entry.name)}", soft_wrap=True)
                continue
            try:
                placed += download.fetch(catalogue.missing(entry, root), root, show)
            except OSError as error:
                advice = catalogue.advice(entry, catalogue.folders())
                raise FileNotFoundError(f"{advice}. The download failed: {error}") from error
    terminal = Terminal()
    for path in placed:
        terminal.print(str(path), soft_wrap=True)
    return placed


def verify(names: Sequence[str]) -> bool:
    """Check every file of data sets against its checksum and print the outcome; whether none is missing or altered."""
    table = _table("data set", "file", "state")
    sound = True
    for name in names:
        entry = catalogue.entry(name)
        root = catalogue.locate(name) or min(catalogue.folders(), key=lambda root: len(catalogue.missing(entry, root)))
        for file in entry.files:
            state = Text("as published", style="green")
            try:
                file.verify(root)
            except FileNotFoundError:
                state, sound = Text("missing", style="yellow"), False
            except ValueError as error:
                state, sound = Text(str(error), style="bold red"), False
            table.add_row(name, Text(file.path), state)
        if not entry.files:
            table.add_row(name, "—", Text("built in", style="green"))
    _print(table)
    return sound


def show(data: Images, path: str | Path) -> Path:
    """Save a contact sheet as a PNG: a row of the first training images of every class, or a plane of points.

    Args:
        data: A data set; of more than ten classes the first ten are shown.
        path: Where to; ends in .png.
    """
    import matplotlib
    from matplotlib.figure import Figure as Picture

    path = Path(path)
    if path.suffix.lower() != ".png":
        raise ValueError(f"path {str(path)!r} must end in .png")
    target = io.BytesIO()
    with matplotlib.rc_context(style.rc(style.LIGHT)):
        if data.shape[:2] == (1, 1):
            picture = Picture(figsize=(4.4, 3.4), layout="constrained")
            _plane(picture.subplots(), data)
        else:
            rows = min(len(data.classes), ROWS)
            picture = Picture(figsize=(COLUMNS * 0.62 + 1.1, rows * 0.62 + 0.35), layout="constrained")
            grid = picture.subplots(rows, COLUMNS, squeeze=False)
            _sheet(grid, data)
        picture.suptitle(data.name, fontsize=9)
        picture.savefig(target, format="png", metadata={"Software": None})
    return files.write(path, target.getvalue())


def _sheet(grid: np.ndarray, data: Images) -> None:
    low, high = float(data.images.min()), float(data.images.max())
    for label, row in enumerate(grid):
        chosen = data.images[data.labels == label][:COLUMNS]
        row[0].set_ylabel(data.classes[label].replace("_", " "), rotation=0, ha="right", va="center")
        for place, axes in enumerate(row):
            axes.set(xticks=[], yticks=[])
            for spine in axes.spines.values():
                spine.set_visible(False)
            if place < len(chosen):
                image = (chosen[place] - low) / (high - low) if high > low else chosen[place]
                flat = image.shape[-1] == 1
                axes.imshow(image[..., 0] if flat else image, cmap="gray" if flat else None, vmin=0, vmax=1)


def _plane(axes: "Axes", data: Images) -> None:
    points = data.images[:, 0, 0, :]
    for label, name in enumerate(data.classes):
        of_class = points[data.labels == label]
        axes.plot(of_class[:, 0], of_class[:, 1], ".", markersize=1.5, label=name, color=style.LIGHT.palette[label])
    axes.set(xlabel="$z$", ylabel="height")
    axes.legend(loc="upper right", markerscale=5)


def _table(*columns: str) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for name in columns:
        number = name in ("classes", "train", "test")
        table.add_column(name, justify="right" if number else "left", no_wrap=number or name in ("name", "image"))
    return table


def _print(table: Table) -> None:
    console = Terminal()
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    console.print(table)
