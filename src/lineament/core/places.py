"""Where files go and come from: a device or a pipe is neither put aside for a file nor waited for."""

import errno
import os
from pathlib import Path

DEVICES = Path("/dev")


def refuse_to_replace(path: Path) -> None:
    """Refuse a path whose file would take the place of something else: a folder, a pipe, a device such as /dev/null.

    Files are written beside their place and moved there, which removes what is there. Names in /dev are refused even
    where they lead to a file, as /dev/stdout may.

    Raises:
        OSError: that names the path.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if (path.exists() and not path.is_file()) or path.parent.resolve() == DEVICES:
        raise OSError(errno.EINVAL, "A device or a pipe, not a file to be written", str(path))


def refuse_to_read(path: Path) -> None:
    """Refuse a path that is there and is no file: to open a pipe waits for whoever writes to it, perhaps forever.

    Raises:
        OSError: that names the path.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "A device or a pipe, not a file", str(path))
