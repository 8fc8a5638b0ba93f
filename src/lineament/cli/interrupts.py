"""Ctrl-C that is not lost.

Python looks for a signal at the next line it runs. If that belongs to a callback of the garbage collector, as JAX has
one, the exception is printed and dropped, since nobody could catch it, and the command would go on as if nothing had
been said.
"""

import contextlib
import signal
import sys
import threading
from _thread import interrupt_main
from collections.abc import Iterator

PAUSE = 0.05
"""Seconds after which an interruption that was dropped comes again: by then its callback has ended."""


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """Raise KeyboardInterrupt again in the main thread where it was dropped."""
    before = sys.unraisablehook

    def again(dropped: "sys.UnraisableHookArgs") -> None:
        if not issubclass(dropped.exc_type, KeyboardInterrupt):
            before(dropped)
            return
        timer = threading.Timer(PAUSE, _interrupt)
        timer.daemon = True
        timer.start()

    sys.unraisablehook = again
    try:
        yield
    finally:
        sys.unraisablehook = before


def _interrupt() -> None:
    if hasattr(signal, "pthread_kill"):  # to the main thread itself, which may be waiting for something
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        interrupt_main()
