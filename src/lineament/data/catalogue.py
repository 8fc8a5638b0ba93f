"""All data sets by name: where their files are, or where to put them.

Files are looked for in a folder that is given, in the one named by the environment variable LINEAMENT_DATA, and in the
user's cache; then they are downloaded into the cache. Each is verified by its checksum whenever it is read.
"""

import os
from pathlib import Path

from .download import File, Progress, fetch
from .entries import CATALOGUE, CIFAR10_FILES, Entry
from .images import Images
from .mnist import VARIABLE


def names() -> tuple[str, ...]:
    """The names of all data sets."""
    return tuple(CATALOGUE)


def entry(name: str) -> Entry:
    """What is known of a data set."""
    if name not in CATALOGUE:
        raise ValueError(f"name must be one of {', '.join(CATALOGUE)}; got {name!r}")
    return CATALOGUE[name]


def cache_folder() -> Path:
    """Where downloads go: a folder in the user's cache."""
    from platformdirs import user_cache_path

    return user_cache_path("lineament", appauthor=False) / "data"


def folders() -> list[Path]:
    """Where data sets are looked for, in order."""
    named = os.environ.get(VARIABLE)
    return ([Path(named)] if named else []) + [cache_folder()]


def missing(entry: Entry, root: Path, partial: bool = False) -> list[File]:
    """The files of a data set that a folder lacks; with `partial`, training batches are not missed if there is one."""
    lacking = [file for file in entry.used(root) if not (root / file.path).is_file()]
    if partial and entry.files is CIFAR10_FILES:
        *batches, test = CIFAR10_FILES
        return [file for file in lacking if file is test or all(batch in lacking for batch in batches)]
    return lacking


def locate(name: str, *, partial: bool = False) -> Path | None:
    """The first folder that holds all files of a data set, or None; any folder will do for one without files."""
    found = entry(name)
    return next((root for root in folders() if not missing(found, root, partial)), None)


def load(
    name: str,
    *,
    folder: str | Path | None = None,
    partial: bool = False,
    download: bool = True,
    progress: Progress | None = None,
) -> Images:
    """A data set by its name.

    Args:
        name: One of `names()`.
        folder: A data folder to read from, and from nowhere else.
        partial: Whether to make do with the training batches of CIFAR-10 that are there.
        download: Whether to download what is found nowhere.
        progress: Told how a download goes; see `download.fetch`.

    Raises:
        FileNotFoundError: If its files are found nowhere and cannot be downloaded; says what to put where.
        ValueError: If a file is not the original.
    """
    found = entry(name)
    root = Path(folder) if folder is not None else locate(name, partial=partial)
    if root is None or missing(found, root, partial):
        if folder is not None or not download:
            raise FileNotFoundError(advice(found, [Path(folder)] if folder is not None else folders(), partial))
        root = cache_folder()
        try:
            fetch(missing(found, root), root, progress)
        except OSError as error:
            raise FileNotFoundError(f"{advice(found, folders(), partial)}. The download failed: {error}") from error
    verify(name, root)
    return found.read(root, partial)


def verify(name: str, root: Path) -> list[Path]:
    """Verify those files of a data set that a folder holds; returns their paths."""
    return [file.verify(root) for file in entry(name).used(root) if (root / file.path).is_file()]


def advice(entry: Entry, roots: list[Path], partial: bool = False) -> str:
    """What to put where so that a data set is found."""
    nearest = min(roots, key=lambda root: len(missing(entry, root, partial)))
    lacking = missing(entry, nearest, partial)
    some = len(lacking) < len(entry.files)
    hint = (
        " (partial=True makes do with the batches that are there)"
        if some and not partial and entry.files is CIFAR10_FILES
        else ""
    )
    return (
        f"{entry.name} ({entry.title}) was not found in {' or '.join(map(str, roots))}. "
        f"Put {', '.join(file.path for file in lacking)} into {nearest}{hint}, "
        f"or set the environment variable {VARIABLE} to a folder that holds them; they come from "
        f"{', '.join(dict.fromkeys(file.url for file in lacking))}"
    )
