"""Files that are whole or absent: nothing half-written is ever left under its own name."""

import contextlib
import os
import tempfile
import time
from pathlib import Path

from lineament.core import places


def write(path: Path, content: str | bytes, *, settle: bool = True) -> Path:
    """Write a file by way of a temporary one in the same folder, so that a reader sees the old or the new file.

    Args:
        path: The file.
        content: What it is to hold.
        settle: Whether to wait until it is on the disk, safe from a loss of power too.

    Raises:
        OSError: If it cannot be written, or what is there is no file; it names the path.
    """
    places.refuse_to_replace(path)
    # A name of a file that is no UTF-8 comes as half a character, which only an escape can write.
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as part:
            part.write(data)
            part.flush()
            if settle:
                os.fsync(part.fileno())
        os.chmod(name, 0o666 & ~_umask())  # mkstemp makes files private; an atlas is to be read by others
        os.replace(name, path)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        if isinstance(error, OSError) and error.filename is None:  # a full disk is told without a name
            raise OSError(error.errno, error.strerror or str(error), str(path)) from error
        raise
    return path


def writable(folder: Path) -> Path:
    """Make a folder if it is missing, and prove that files can be written to it.

    Raises:
        ValueError: If the folder cannot be made or written to; the message names it and the cause.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _sweep(folder)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise ValueError(f"cannot write to the folder {str(folder)!r}: {error.strerror or error}") from error


def _sweep(folder: Path) -> None:
    """Remove what a killed process left: temporary files that nobody has written to for a minute."""
    for part in folder.glob(".*.part"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - part.stat().st_mtime > 60:
                part.unlink()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
