"""Recordings on disk: one `.npz` file, or a folder that grows by one file at a time while a network trains."""

import json
import os
import tempfile
import warnings
import zlib
from collections.abc import Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ..core import places
from .recording import Recording, join
from .top import Top

FORMAT = 1
# What NumPy, zip and JSON raise over files that were cut, changed, or hold something else.
DAMAGED = (
    OSError, BadZipFile, zlib.error, KeyError, ValueError, TypeError, AttributeError, IndexError, EOFError, MemoryError,
    RuntimeError,
)  # fmt: skip
_COURSES = ("spectra", "unbalancedness", "gradients")
_ARRAYS = (
    "steps",
    "outputs",
    "predictions",
    "labels",
    "inputs",
    "loss",
    "reported",
    "linearised",
    "seconds",
    "between",
)


class UnwritableError(ValueError):
    """A recording cannot be written; says where and why."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"cannot write the recording to {str(path)!r}: {error.strerror or error}")


def write(path: Path, recording: Recording, without: Sequence[str] = ()) -> Path:
    """Write a recording by way of a temporary file beside it, so that a reader sees all of it or nothing.

    Args:
        path: Of the file.
        recording: What to write.
        without: Names of arrays to leave out.

    Raises:
        UnwritableError: If it cannot be written there; the message names the path and the cause.
    """
    arrays: dict[str, Any] = {name: getattr(recording, name) for name in _ARRAYS}
    if recording.outputs is not None or recording.top is not None:
        del arrays["predictions"]  # they follow from the outputs
    elif recording.predictions is not None:
        arrays["predictions"] = _small(recording.predictions)
    if recording.top is not None:
        arrays |= {f"top.{name}": part for name, part in recording.top._asdict().items()}
    arrays = {name: array for name, array in arrays.items() if array is not None and name not in without}
    for kind in _COURSES:
        arrays |= _packed(kind, getattr(recording, kind))
    arrays["about"] = np.array(json.dumps({"format": FORMAT, **recording.about}))
    part = None
    try:
        places.refuse_to_replace(path)
        # A name that nobody can guess, made anew: no link that lies there is followed.
        descriptor, hidden = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        part = Path(hidden)
        with open(descriptor, "wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(part, 0o666 & ~_umask())
        os.replace(part, path)
    except OSError as error:
        raise UnwritableError(path, error) from error
    finally:
        if part is not None and part.exists():
            part.unlink()
    return path


def read(path: Path) -> Recording:
    """Read a file, or join the files of a folder.

    Raises:
        ValueError: If there is no recording, or not a whole one.
    """
    if path.is_dir():
        files = stretches(path)
        if not files:
            raise ValueError(f"the folder {str(path)!r} holds no recording: no file such as 000000.npz is in it")
        if left := len(numbered(path)) - len(files):
            warnings.warn(
                f"{str(path)!r} lacks {name(len(files))}: {left} later file{'s' * (left > 1)} cannot be joined to what "
                "is before it, and what they hold is left out",
                stacklevel=3,
            )
        return join(map(read_file, files))
    return read_file(path)


def _small(whole: NDArray[np.int64]) -> NDArray:
    """Whole numbers in the smallest type that holds them."""
    return whole.astype(np.promote_types(*(np.min_scalar_type(int(end)) for end in (whole.min(), whole.max()))))


def _umask() -> int:
    before = os.umask(0)
    os.umask(before)
    return before


def name(number: int) -> str:
    """The name of a file of a growing recording."""
    return f"{number:06d}.npz"


def numbered(folder: Path) -> dict[int, Path]:
    """The files of a growing recording by their number, whatever is missing in between."""
    return {int(file.stem): file for file in folder.glob("[0-9]*.npz") if file.stem.isdigit()}


def stretches(folder: Path) -> list[Path]:
    """The files of a growing recording, in order. A file missing in between ends it: the rest is out of step."""
    files = numbered(folder)
    return [files[i] for i in takewhile(files.__contains__, count())]


def append(folder: Path, recording: Recording, number: int) -> Path:
    """Add a stretch to a growing recording as its file of this number; from the second on, without labels and inputs.

    The folder is not looked through: that would take longer with each file.
    """
    return write(folder / name(number), recording, without=("labels", "inputs") if number else ())


def rewind(folder: Path, step: float) -> int:
    """Remove what a growing recording holds from a step on. If interrupted, it has removed less, but is in order.

    Returns:
        How many files are left.
    """
    files = stretches(folder)
    while files:
        recording = read_file(files[-1])
        kept = int(np.searchsorted(recording.steps, step))
        if kept == len(recording):
            break
        if kept:
            write(files[-1], recording[:kept])
            break
        files.pop().unlink()
    return len(files)


def prepared(folder: Path) -> Path:
    """Make a folder for a growing recording and prove that it can be written to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".", suffix=".part"):
            pass
    except OSError as error:
        raise UnwritableError(folder, error) from error
    return folder


def _packed(kind: str, courses: Mapping[str, NDArray]) -> dict[str, NDArray]:
    """All courses of a kind side by side: a file of a few arrays is read much faster than one of hundreds."""
    if not courses:
        return {}
    columns = [course.reshape(len(course), -1) for course in courses.values()]
    widths = np.array([column.shape[1] for column in columns])
    return {kind: np.concatenate(columns, axis=1), f"{kind}.names": np.array(list(courses)), f"{kind}.widths": widths}


def _unpacked(kind: str, arrays: dict[str, NDArray]) -> dict[str, NDArray]:
    if kind not in arrays:
        return {}
    names, widths = arrays.pop(f"{kind}.names"), arrays.pop(f"{kind}.widths")
    columns = np.split(arrays.pop(kind), np.cumsum(widths)[:-1], axis=1)
    return {
        str(name): column if kind == "spectra" else column[:, 0] for name, column in zip(names, columns, strict=True)
    }


def read_file(path: Path) -> Recording:
    """Read one file; a stretch of a growing recording, or all of one that was saved."""
    try:
        places.refuse_to_read(path)
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(str(arrays.pop("about")))
        if about.pop("format") != FORMAT:
            raise _AnotherVersionError("it was written by another version")
        losses = zip(arrays.pop("loss"), arrays.pop("reported"), strict=True)
        courses: dict[str, Any] = {kind: _unpacked(kind, arrays) for kind in _COURSES}
        if "top.classes" in arrays:
            courses["top"] = Top(*(arrays.pop(f"top.{part}", None) for part in Top._fields))  # type: ignore[arg-type]
        return Recording(loss=[x if known else None for x, known in losses], about=about, **courses, **arrays)
    except DAMAGED as error:
        why = f"{str(path)!r} is no recording that can be read: {str(error) or type(error).__name__}"
        raise ValueError(why + _remedy(path, error)) from error


def _remedy(path: Path, error: Exception) -> str:
    """What keeps the rest of a growing recording of which a file is damaged; empty for anything else.

    A file of another version, one that may not be read, and one for which there is no memory may be whole.
    """
    others = {} if not path.stem.isdigit() or path.suffix != ".npz" else numbered(path.parent)
    after = [file.name for number, file in sorted(others.items()) if number > int(path.stem)]
    whole = isinstance(error, (_AnotherVersionError, MemoryError)) or getattr(error, "errno", None) is not None
    if whole or len(others) < 2:
        return ""
    if int(path.stem) == 0:
        return (
            ". It is the first of its folder and alone has labels and inputs: without it each later file can be read by "
            f"itself, as Recording.load({str(path.parent / after[0])!r})"
        )
    moved = "this file" if not after else f"this file and those after it, to {after[-1]},"
    return f". Move {moved} out of the folder to keep what was recorded before, which can then be read and resumed"


class _AnotherVersionError(ValueError):
    """A file has another format."""
