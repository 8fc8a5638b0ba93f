"""Where the points of one experiment are kept: a folder of parts, each whole or absent, which is its own index.

A part is named after its content, so that a damaged one is known. Parts are only ever added; small ones are merged into
one, which is in place before they go: at every moment each finished point is in some part. So any number of processes
may write, merge and read at the same time, without a lock.
"""

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lineament.core import places

from . import files
from .grid import Axis, Grid
from .parts import Part, Row, from_json, group, join, pack, to_json, unpack
from .points import About
from .values import Variables

SUFFIX = ".zarr.zip"
MERGED_ROWS = 20_000
MERGED_BYTES = 64 * 2**20
FULL = 2**20  # bytes of a part that is large enough to be left alone
MANY = 32  # small parts that are worth merging


class StoreError(OSError):
    """The store cannot be written to: what is stored stays, and the same sweep goes on from there."""


class Shelf:
    """The points of one experiment.

    Attributes:
        folder: Where they are kept.
        problems: Parts that could not be read, and why; their points count as missing.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []

    @staticmethod
    def of(store: Path, about: About) -> "Shelf":
        """The shelf of an experiment in a store; nothing is written."""
        safe = re.sub(r"[^A-Za-z0-9_.-]+", "_", about.name).strip("._") or "experiment"
        return Shelf(store / f"{safe[:60]}-{about.address[:12]}")

    def begin(self, about: About, grid: Grid) -> None:
        """Make the folder ready, and note what the experiment is and which grid is being swept."""
        with self._told():
            (self.folder / "parts").mkdir(parents=True, exist_ok=True)
            files.write(self.folder / "about.json", json.dumps(asdict(about), indent=1))
            axes = [{"names": axis.names, "rows": [[*map(to_json, row)] for row in axis.rows]} for axis in grid.axes]
            files.write(self.folder / "grid.json", json.dumps({"axes": axes}))

    @property
    def about(self) -> About:
        """What the experiment is."""
        path = self.folder / "about.json"
        places.refuse_to_read(path)
        return About(**json.loads(path.read_text(encoding="utf-8")))

    @property
    def grid(self) -> Grid:
        """The grid that was swept last."""
        path = self.folder / "grid.json"
        places.refuse_to_read(path)
        try:
            axes = json.loads(path.read_text(encoding="utf-8"))["axes"]
            return Grid(tuple(Axis((*a["names"],), tuple((*map(from_json, r),) for r in a["rows"])) for a in axes))
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"{path} is damaged ({error}): the same sweep writes it anew") from error

    def write(self, rows: Iterable[tuple[Row, Variables]]) -> list[str]:
        """Store points; they are there, all of a layout at once, when this returns. Returns the names of the parts."""
        # Not waited for: after a loss of power a part may be damaged, which its name tells, and its points run again.
        return [self._write(part, settle=False) for part in group(rows)]

    def _write(self, part: Part, settle: bool) -> str:
        content = pack(part)
        name = _name(content)
        path = self._path(name)
        with self._told():
            path.parent.mkdir(exist_ok=True)
            files.write(path, content, settle=settle)
        return name

    def names(self) -> list[str]:
        """The parts that are there, in an order of no meaning."""
        found: list[str] = []
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for sub in os.scandir(self.folder / "parts"):
                if len(sub.name) == 2:
                    found += [e.name.removesuffix(SUFFIX) for e in os.scandir(sub) if e.name.endswith(SUFFIX)]
        return [name for name in found if not name.startswith(".")]

    def parts(self, seen: set[str] | None = None) -> Iterator[Part]:
        """All parts that are there, but for those already seen, whose names are added to that set."""
        seen = set() if seen is None else seen
        vanished = True
        while vanished:  # a part that was merged while we read is in another, which a new list shows
            vanished = False
            for name in sorted(set(self.names()) - seen):
                try:
                    part = self.read(name)
                except FileNotFoundError:
                    vanished = True
                    continue
                except ValueError as error:
                    self.problems.append(str(error))
                    part = None
                seen.add(name)
                if part is not None:
                    yield part

    def read(self, name: str) -> Part:
        """One part.

        Raises:
            ValueError: If it is damaged; the message names it.
        """
        try:
            places.refuse_to_read(self._path(name))
            content = self._path(name).read_bytes()
            if _name(content) != name:
                raise ValueError("its content is not what was written")
            return unpack(content)
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
            raise ValueError(f"{self._path(name)} is set aside: {error}") from error

    def tidy(self) -> set[str]:
        """Merge small parts, and remove what killed processes left half-written. Returns the merged ones' names."""
        merged: set[str] = set()
        alike: dict[Any, list[tuple[str, Part]]] = {}
        names = self.names()
        small = sorted(name for name in names if self._size(name) < FULL)
        if len(small) >= MANY:
            for name in small:
                with contextlib.suppress(FileNotFoundError, ValueError):
                    part = self.read(name)
                    waiting = alike.setdefault(part.layout, [])
                    waiting.append((name, part))
                    if _full(waiting):
                        merged |= self._merge(alike.pop(part.layout))
            for waiting in alike.values():
                merged |= self._merge(waiting)
        for left in self.folder.glob("parts/*/.*.part"):
            with contextlib.suppress(FileNotFoundError):
                if time.time() - left.stat().st_mtime > 600:
                    left.unlink()
        return merged

    def _merge(self, parts: list[tuple[str, Part]]) -> set[str]:
        if len(parts) < 2:
            return set()
        merged = self._write(join([part for _, part in parts]), settle=True)  # before the others go
        _settled(self._path(merged).parent)
        for name, _ in parts:
            if name != merged:
                self._path(name).unlink(missing_ok=True)
        return {merged}

    def drop(self, unwanted: Callable[[Row], bool]) -> int:
        """Remove points; the others of their parts are written first. Returns how many there were."""
        dropped = 0
        for name in self.names():
            with contextlib.suppress(FileNotFoundError, ValueError):
                part = self.read(name)
                keep = [place for place, row in enumerate(part.rows) if not unwanted(row)]
                if len(keep) == len(part.rows):
                    continue
                dropped += len(part.rows) - len(keep)
                if keep:
                    kept = {n: v._replace(array=v.array[keep]) for n, v in part.variables.items()}
                    self._write(Part(tuple(part.rows[place] for place in keep), kept), settle=True)
                self._path(name).unlink(missing_ok=True)
        return dropped

    def _path(self, name: str) -> Path:
        return self.folder / "parts" / name[:2] / f"{name}{SUFFIX}"

    def _size(self, name: str) -> float:
        try:
            return self._path(name).stat().st_size
        except FileNotFoundError:
            return float("inf")

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Whatever keeps a file from being written is told in one line."""
        try:
            yield
        except OSError as error:
            where, why = str(self.folder.parent), error.strerror or str(error)
            raise StoreError(
                f"cannot write to the store {where!r}: {why}. What is stored stays: make room or give another "
                "folder, and the same sweep goes on from there"
            ) from error


def _name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]


def _full(waiting: list[tuple[str, Part]]) -> bool:
    rows = sum(len(part.rows) for _, part in waiting)
    size = sum(v.array.nbytes for _, part in waiting for v in part.variables.values())
    return rows >= MERGED_ROWS or size >= MERGED_BYTES


def _settled(folder: Path) -> None:
    """Wait until a new name in a folder is on the disk, where the system can say so."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
