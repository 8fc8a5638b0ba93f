"""All data sets by name: where their files are, or where to put them.

Files are looked for in a folder that is given, in the one named by the environment variable LINEAMENT_DATA, and in the
user's cache; then they are downloaded into the cache. Each is verified by its checksum whenever it is read.
"""

import os
from collections.abc import Iterator
from pathlib import Path

from ..core import arguments
from . import tables
from .download import File, Progress, fetch
from .entries import CATALOGUE, CIFAR10_FILES, TABLES, Entry, TableEntry
from .images import Images
from .mnist import VARIABLE


def names() -> tuple[str, ...]:
    """The names of all data sets, first those of images, then tables."""
    return (*CATALOGUE, *TABLES)


def entry(name: str) -> Entry | TableEntry:
    """What is known of a data set."""
    if not isinstance(name, str) or name not in names():
        raise ValueError(f"name must be one of {', '.join(names())}; got {name!r}")
    return CATALOGUE[name] if name in CATALOGUE else TABLES[name]


def cache_folder() -> Path:
    """Where downloads go: a folder in the user's cache."""
    from platformdirs import user_cache_path

    return user_cache_path("lineament", appauthor=False) / "data"


def folders() -> list[Path]:
    """Where data sets are looked for, in order."""
    return list(_folders())


def _folders() -> Iterator[Path]:
    """The same one by one: the cache is asked for last, by a package that a borrowed machine may lack."""
    if named := os.environ.get(VARIABLE):
        yield Path(named)
    yield cache_folder()


def missing(entry: Entry | TableEntry, root: Path, partial: bool = False) -> list[File]:
    """The files of a data set that a folder lacks; with `partial`, training batches are not missed if there is one."""
    lacking = [file for file in entry.used(root) if not (root / file.path).is_file()]
    if partial and entry.files is CIFAR10_FILES:
        *batches, test = CIFAR10_FILES
        return [file for file in lacking if file is test or all(batch in lacking for batch in batches)]
    return lacking


def locate(name: str, *, partial: bool = False) -> Path | None:
    """The first folder that holds all files of a data set, or None; any folder will do for one without files."""
    data_set, partial = entry(name), arguments.truth("partial", partial)
    return next((root for root in _folders() if not missing(data_set, root, partial)), None)


def load(
    name: str,
    *,
    folder: str | Path | None = None,
    partial: bool = False,
    download: bool = True,
    progress: Progress | None = None,
) -> Images:
    """A data set of images by its name.

    Args:
        name: One of `names()` that is no table.
        folder: A data folder to read from, and from nowhere else.
        partial: Whether to make do with the training batches of CIFAR-10 that are there.
        download: Whether to download what is found nowhere.
        progress: Called while a file is downloaded; see `download.fetch`.

    Raises:
        FileNotFoundError: If its files are found nowhere and cannot be downloaded; says what to put where.
        ValueError: If a file is not the original, or the name is that of a table.
    """
    data_set = entry(name)
    if isinstance(data_set, TableEntry):
        raise ValueError(f"name must be that of a data set of images; {name!r} is a table, which load_table reads")
    return data_set.read(_root(data_set, folder, partial, download, progress), partial)


def load_table(
    name: str, *, folder: str | Path | None = None, download: bool = True, progress: Progress | None = None
) -> tables.Table:
    """A table by its name; the arguments are those of `load`.

    Raises:
        FileNotFoundError: If its file is found nowhere and cannot be downloaded; says what to put where.
        ValueError: If the file is not the original, or there is no table of that name.
    """
    if not isinstance(name, str) or name not in TABLES:
        raise ValueError(f"name must be one of {', '.join(TABLES)}; got {name!r}")
    table = TABLES[name]
    return tables.read(_root(table, folder, False, download, progress) / table.files[0].path)


def _root(
    data_set: Entry | TableEntry,
    folder: str | Path | None,
    partial: bool,
    download: bool,
    progress: Progress | None,
) -> Path:
    """The folder that holds the verified files of a data set, downloaded if need be."""
    partial, download = arguments.truth("partial", partial), arguments.truth("download", download)
    folder = None if folder is None else arguments.path("folder", folder)
    progress = None if progress is None else arguments.function("progress", progress)
    root = folder if folder is not None else locate(data_set.name, partial=partial)
    if root is None or missing(data_set, root, partial):
        if folder is not None or not download:
            raise FileNotFoundError(advice(data_set, [folder] if folder is not None else folders(), partial))
        root = cache_folder()
        try:
            fetch(missing(data_set, root), root, progress)
        except OSError as error:
            raise FileNotFoundError(f"{advice(data_set, folders(), partial)}. The download failed: {error}") from error
    verify(data_set.name, root)
    return root


def verify(name: str, root: Path) -> list[Path]:
    """Verify those files of a data set that a folder holds; returns their paths."""
    root = arguments.path("root", root)
    return [file.verify(root) for file in entry(name).used(root) if (root / file.path).is_file()]


def advice(entry: Entry | TableEntry, roots: list[Path], partial: bool = False) -> str:
    """What to put where so that a data set is found."""
    nearest = min(roots, key=lambda root: len(missing(entry, root, partial)))
    lacking = missing(entry, nearest, partial)
    incomplete = len(lacking) < len(entry.files)
    hint = (
        " (partial=True makes do with the batches that are there)"
        if incomplete and not partial and entry.files is CIFAR10_FILES
        else ""
    )
    return (
        f"{entry.name} ({entry.title}) was not found in {' or '.join(map(str, roots))}. "
        f"Put {', '.join(file.path for file in lacking)} into {nearest}{hint}, "
        f"or set the environment variable {VARIABLE} to a folder that holds them; they come from "
        f"{', '.join(dict.fromkeys(file.url for file in lacking))}"
    )
