"""One writer for each folder: a lock that ends with the process that holds it, however that ends."""

import os
import socket
import warnings
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

try:
    import fcntl
except ModuleNotFoundError:  # Windows: only writers of the same process are kept apart there
    fcntl = None

NAME = ".lock"
_held: WeakValueDictionary[tuple[int, int], "Lock"] = WeakValueDictionary()
"""The locks of this process by the folder they are for, which a file system's lock does not tell apart."""


class HeldError(ValueError):
    """Another process writes to the folder; says which, and what to do."""


class Lock:
    """The right to write to a folder.

    It is a lock of the system on a file in the folder, which ends when the process dies, so that none is ever stale;
    forked workers, of a data loader say, let go of it at once. Within one process the last to ask has it: a training loop
    that is run again, in a notebook say, takes the folder over from the recorder of the loop that broke off.
    """

    def __init__(self, folder: Path) -> None:
        """Take the right to write.

        Raises:
            HeldError: If another process has it.
            OSError: If the folder cannot be written to, or the name of the lock is a link.
        """
        self._folder, self._process, self._file = folder, os.getpid(), -1
        self.taken_over = False
        status = os.stat(folder)
        self._key = status.st_dev, status.st_ino
        before = _held.get(self._key)
        if before is not None and before.held:
            before.taken_over, self._file = True, before._give()
        else:
            # A link that somebody has laid there is not followed.
            self._file = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
            try:
                self._take()
            except BaseException:
                os.close(self._give())
                raise
        _held[self._key] = self

    @property
    def held(self) -> bool:
        """Whether this lock, and this process, still has the folder."""
        return self._file >= 0 and self._process == os.getpid()

    def release(self) -> None:
        """Give the folder back."""
        if self.held:
            os.close(self._give())

    def __getstate__(self) -> dict[str, Any]:
        """A copy does not have the folder: if it closed the file, the first would no longer have it either."""
        return vars(self) | {"_file": -1}

    def __del__(self) -> None:
        self.release()

    def _give(self) -> int:
        file, self._file = self._file, -1
        return file

    def _take(self) -> None:
        if fcntl is None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            writer = os.pread(self._file, 200, 0).decode(errors="replace").strip() or "another process"
            raise HeldError(
                f"path must be a folder that nobody else writes to; got {str(self._folder)!r}, which {writer} is writing "
                "to: choose another folder, or end that process"
            ) from error
        except OSError as error:  # a file system that has no locks
            warnings.warn(
                f"{str(self._folder)!r} is not locked against a second writer: {error.strerror or error}", stacklevel=7
            )
            return
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"process {os.getpid()} on {socket.gethostname()}\n".encode(), 0)


def _let_go() -> None:
    """In a forked process: what it inherited would outlive its parent."""
    for lock in list(_held.values()):
        if lock._file >= 0:
            os.close(lock._give())


if fcntl is not None:
    os.register_at_fork(after_in_child=_let_go)
