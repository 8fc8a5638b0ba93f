"""Archives of arrays (.npz): how they are read safely, and which arrays are features and which are targets."""

import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .labels import printable

LARGEST = 2 * 2**30
"""Bytes that a file may unpack to in memory."""

NAMES = (
    ("x", "y"),
    ("x_train", "y_train"),
    ("data", "target"),
    ("features", "labels"),
    ("features", "targets"),
    ("inputs", "labels"),
    ("inputs", "targets"),
    ("images", "labels"),
)
"""What features and targets are called, in any case of letters."""


def read_archive(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of an .npz file by their names; nothing is unpickled."""
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            single = file.read(6) == b"\x93NUMPY"
        why = (
            "it is a single array (.npy); save it again with np.savez(path, X=…, y=…)"
            if single
            else "it is no archive"
        )
        raise ValueError(f"{str(path)!r} cannot be read as an .npz archive: {why}")
    refuse_bomb(path)
    try:
        with np.load(path, allow_pickle=False) as stored:
            held = {key: stored[key] for key in stored.files}
    except (OSError, ValueError, EOFError, MemoryError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        why = "it holds Python objects; save plain arrays of numbers or strings" if "pickle" in str(error) else error
        raise ValueError(f"{str(path)!r} cannot be read as an .npz archive: {why}") from error
    if odd := [key for key, value in held.items() if not isinstance(value, np.ndarray)]:
        raise ValueError(f"{str(path)!r} cannot be read as an .npz archive: {printable(odd[0])!r} is no array")
    return held


def refuse_bomb(path: Path) -> None:
    """Refuse a zip archive, which .npz and .xlsx files are, that would fill the memory once unpacked."""
    try:
        with zipfile.ZipFile(path) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile) as error:
        raise ValueError(f"{str(path)!r} cannot be read as an archive: {error}") from error
    if unpacked > LARGEST:
        raise ValueError(
            f"{str(path)!r} must unpack to at most {LARGEST / 2**30:g} GiB; got {unpacked / 2**30:.3g} GiB from "
            f"{path.stat().st_size / 2**30:.2g} GiB"
        )


def pair(arrays: dict[str, NDArray[Any]], target: str | None, path: Path) -> tuple[str, str]:
    """The names of the arrays of features and targets; the one that `target` names, if it does, is the targets."""
    known = _known(arrays)
    if known is not None and target not in (None, known[1]):
        raise ValueError(f"{str(path)!r} holds its targets as the array {known[1]}; leave the target {target!r} out")
    if known is None and target in arrays and len(arrays) == 2:
        known = next(name for name in arrays if name != target), str(target)
    if known is not None:
        return known
    held = ", ".join(f"{printable(key)} {value.shape}" for key, value in arrays.items()) or "nothing"
    raise ValueError(
        f"{str(path)!r} must hold arrays X and y, data and target, features and labels, or one matrix; got {held}. "
        "Of two arrays, --target names the one to predict"
    )


def _known(names: Iterable[str]) -> tuple[str, str] | None:
    """The names of features and targets, if they go by any that are known."""
    keys = {key.lower(): key for key in names}
    return next(((keys[x], keys[y]) for x, y in NAMES if {x, y} <= keys.keys()), None)
