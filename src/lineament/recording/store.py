"""Recordings on disk: one `.npz` file, or a folder that grows by one file at a time while a network trains."""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from .recording import Recording, join

FORMAT = 1
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
    if recording.outputs is not None:
        del arrays["predictions"]  # they follow from the outputs
    arrays = {name: array for name, array in arrays.items() if array is not None and name not in without}
    for kind in _COURSES:
        arrays |= _packed(kind, getattr(recording, kind))
    arrays["about"] = np.array(json.dumps({"format": FORMAT, **recording.about}))
    part = None
    try:
        # A name that nobody can guess, made anew: no link that lies there is followed.
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
        part = Path(name)
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
        return join(map(_read_file, files))
    return _read_file(path)


def _umask() -> int:
    before = os.umask(0)
    os.umask(before)
    return before


def _numbered(folder: Path) -> dict[int, Path]:
    return {int(file.stem): file for file in folder.glob("[0-9]*.npz") if file.stem.isdigit()}


def stretches(folder: Path) -> list[Path]:
    """The files of a growing recording, in order. A file missing in between ends it: the rest is out of step."""
    numbered = _numbered(folder)
    return [numbered[i] for i in takewhile(numbered.__contains__, count())]


def append(folder: Path, recording: Recording) -> Path:
    """Add a stretch to a growing recording; from the second on, without labels and inputs.

    It comes after every file there is: where one is missing the gap stays, and no later stretch is spliced over it.
    """
    number = max(_numbered(folder), default=-1) + 1
    return write(folder / f"{number:06d}.npz", recording, without=("labels", "inputs") if number else ())


def rewind(folder: Path, step: float) -> None:
    """Remove what a growing recording holds from a step on. If interrupted, it has removed less, but is in order."""
    for file in reversed(stretches(folder)):
        recording = _read_file(file)
        kept = int(np.searchsorted(recording.steps, step))
        if kept == len(recording):
            return
        if kept:
            write(file, recording[:kept])
        else:
            file.unlink()


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


def _read_file(path: Path) -> Recording:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        about = json.loads(str(arrays.pop("about")))
        if about.pop("format") != FORMAT:
            raise ValueError("it was written by another version")
        losses = zip(arrays.pop("loss"), arrays.pop("reported"), strict=True)
        courses = {kind: _unpacked(kind, arrays) for kind in _COURSES}
        return Recording(loss=[x if known else None for x, known in losses], about=about, **courses, **arrays)
    except (OSError, BadZipFile, KeyError, ValueError, EOFError, TypeError) as error:
        raise ValueError(f"{str(path)!r} is no recording that can be read: {error}") from error
