"""A recording that grows while a network trains, in memory or in a folder. It never ends the training."""

import contextlib
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lineament.core import arguments

from . import store
from .lock import HeldError, Lock
from .recording import Recording, join


class Growing:
    """Records in the order in which they are made; with a folder, those not yet written are all that is in memory.

    A writer costs the same at the first file and at the hundred thousandth: it counts its files itself, and has a lock on
    the folder meanwhile. A disk that is full is a warning; what cannot be written is kept and tried again.
    """

    def __init__(self, path: str | Path | None, interval: int = 1) -> None:
        """Prepare the folder.

        Args:
            path: A folder, or None to keep everything in memory.
            interval: After how many records to write.

        Raises:
            HeldError: If another process writes to the folder.
            UnwritableError: If it cannot be written to.
        """
        interval = arguments.count("interval", interval)
        self.folder = None if path is None else store.prepared(arguments.path("path", path))
        self._lock = None if self.folder is None else _locked(self.folder)
        self._interval = interval
        self._rows: list[Recording] = []  # not yet written
        self._due = interval  # how many of them make the next writing
        self._files = 0
        self._failing = False
        self.last: float | None = None
        self.first: Recording | None = None

    def begin(self) -> None:
        """Begin a new recording.

        Raises:
            ValueError: If the folder holds one already.
        """
        if self.folder is not None and store.numbered(self.folder):
            self.close()
            raise ValueError(
                f"path must be a folder without a recording; got {str(self.folder)!r}, which holds one: go on with "
                "resume=True, or choose another folder"
            )

    def resume(self) -> Recording:
        """Go on with what the folder holds; its first stretch is returned, with labels and inputs.

        Raises:
            ValueError: If it holds none, or lacks a file.
        """
        files = [] if self.folder is None else store.stretches(self.folder)
        if self.folder is None or not files:
            raise ValueError(f"resume=True needs a path that holds a recording; got {str(self.folder)!r}")
        if len(files) < len(store.numbered(self.folder)):
            raise ValueError(
                f"resume=True needs a recording without gaps; {str(self.folder)!r} lacks {store.name(len(files))}: put "
                "it back, or move the files after it elsewhere"
            )
        self._files = len(files)
        self.first = store.read_file(files[0])
        self.last = float(store.read_file(files[-1]).steps[-1])
        return self.first

    def rewind(self, step: float) -> None:
        """Forget what was recorded from a step on."""
        if self.folder is not None:
            self._files = store.rewind(self.folder, step)
        self._rows = [row for row in self._rows if row.steps[0] < step]
        before = self._rows[-1] if self._rows else None
        if before is None and self.folder is not None and self._files:
            before = store.read_file(self.folder / store.name(self._files - 1))
        self.last = None if before is None else float(before.steps[-1])

    def add(self, row: Recording) -> None:
        """Take a record, and write if it is time."""
        if self.first is None:
            self.first = row
        elif (was := width(self.first)) != (now := width(row)):
            raise ValueError(f"model must keep the number of its outputs, {was}; got {now} at step {row.steps[0]:g}")
        self._rows.append(row)
        self.last = float(row.steps[-1])

    def write_if_due(self) -> None:
        """Write if so many records have gathered; a disk that is full is a warning, once."""
        if self.folder is not None and len(self._rows) >= self._due:
            self.write_or_warn(5)  # by way of a recorder that was called, and of the record that it adds

    def write_or_warn(self, level: int) -> None:
        """Write what is in memory; a disk that is full, or a folder that another has taken over, is a warning, once.

        `level` says how many calls further out the training loop is, to which the warning points.
        """
        try:
            self.write()
        except (store.UnwritableError, HeldError) as error:
            # Each trial joins all that waits: trials at growing distances keep the cost of a record constant.
            self._due = 2 * len(self._rows)
            if not self._failing:
                warnings.warn(f"{error}. Training and recording go on; writing is tried again later", stacklevel=level)
            self._failing = True

    def write(self) -> None:
        """Write what is in memory.

        Raises:
            UnwritableError: If it cannot be written.
            HeldError: If another recorder of this process has taken the folder over.
        """
        if self.folder is None or not self._rows:
            return
        self._hold(self.folder)
        store.append(self.folder, join(self._rows), self._files)
        self._files += 1
        self._rows, self._due, self._failing = [], self._interval, False

    def _hold(self, folder: Path) -> None:
        """Have the lock, taken anew after `close`, and be sure that nobody has gone on with the recording meanwhile."""
        if self._lock is not None and not self._lock.taken_over and not self._lock.held:
            self._lock = _locked(folder)
        if self._lock is None or self._lock.taken_over or (folder / store.name(self._files)).exists():
            raise HeldError(f"another recorder has taken over the folder {str(folder)!r}")

    def read(self) -> Recording:
        """Everything recorded so far."""
        held = [store.read(self.folder)] if self.folder is not None and self._files else []
        if not held and not self._rows:
            raise ValueError("nothing was recorded yet: call the recorder with the model first")
        return join([*held, *self._rows])

    def close(self) -> None:
        """Give the folder back to other writers."""
        if self._lock is not None:
            self._lock.release()


def width(row: Recording) -> int | None:
    """How many numbers are kept of each example at each record."""
    kept: NDArray | None = row.outputs if row.top is None else row.top.values
    return None if kept is None else int(np.shape(kept)[2])


def _locked(folder: Path) -> Lock:
    try:
        lock = Lock(folder)
    except OSError as error:
        raise store.UnwritableError(folder / ".lock", error) from error
    for part in folder.glob(".*.npz.*.part"):  # left by a process that was killed; nobody else writes here
        with contextlib.suppress(OSError):
            part.unlink()
    return lock
