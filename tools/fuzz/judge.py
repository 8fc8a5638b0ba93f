"""What comes of a call: a result, a refusal of ours, or something that nobody should see."""

import ast
import faulthandler
import functools
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, NamedTuple

import lineament

OURS = str(Path(lineament.__file__).parent)
PROCESSOR_SECONDS, WALL_SECONDS = 10.0, 120.0  # the clock on the wall is for what waits without computing


class Outcome(NamedTuple):
    """How a call ended.

    Attributes:
        kind: "result", "refused" (an error that our own code raised), "traceback" (any other error) or "hang".
        told: the message, with the type of an error that is not ours.
        value: what was returned.
    """

    kind: str
    told: str = ""
    value: Any = None


class Hang(BaseException):
    """The time of a call is over. No `except Exception` may catch it."""


def judge(function: Callable[..., Any], /, **arguments: Any) -> Outcome:
    """Call a function and say how it ended; warnings are let through."""
    try:
        with warnings.catch_warnings(), limited():
            warnings.simplefilter("ignore")
            return Outcome("result", "", function(**arguments))
    except Hang:
        return Outcome("hang", f"more than {PROCESSOR_SECONDS:g} s")
    except MemoryError as error:
        return Outcome("traceback", f"MemoryError: {error}")
    except (Exception, SystemExit) as error:  # what comes out is looked at, whatever it is
        kind = "refused" if is_ours(error) else "traceback"
        return Outcome(kind, str(error) if kind == "refused" else f"{type(error).__name__}: {error} {origin(error)}")


def is_ours(error: BaseException) -> bool:
    """Whether an error was raised by a statement of this package, and not by what it called.

    An error that Python itself raises in a line of ours, such as a failed conversion, is none of ours. What the system
    says of a file that it names is as good as ours.
    """
    if not isinstance(
        error, ValueError | TypeError | OSError | RuntimeError | ArithmeticError | LookupError | ImportError
    ):
        return False
    if isinstance(error, OSError) and error.filename is not None:
        return True  # the system's own words, which name the file
    frame = last(error.__traceback__)
    return frame is not None and frame.tb_lineno in raising(frame.tb_frame.f_code.co_filename)


def origin(error: BaseException) -> str:
    """The last line of ours that an error went through, for those who mend it."""
    place, frame = "", error.__traceback__
    while frame is not None:
        path = frame.tb_frame.f_code.co_filename
        if path.startswith(OURS):
            place = f"[{path.removeprefix(OURS + '/')}:{frame.tb_lineno}]"
        frame = frame.tb_next
    return place


def last(frame: TracebackType | None) -> TracebackType | None:
    """Where an error was raised."""
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    return frame


@functools.cache
def raising(path: str) -> frozenset[int]:
    """The lines of a file of ours on which a `raise` statement stands."""
    if not (path.startswith(OURS) and path.endswith(".py")):
        return frozenset()
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.Raise))
    return frozenset(line for node in statements for line in range(node.lineno, (node.end_lineno or node.lineno) + 1))


@contextmanager
def limited() -> Iterator[None]:
    """Interrupt what takes too long."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Hang

    before = signal.signal(signal.SIGPROF, stop), signal.signal(signal.SIGALRM, stop)
    # Again every second: one that falls into a callback of a garbage collector is swallowed there.
    signal.setitimer(signal.ITIMER_PROF, PROCESSOR_SECONDS, 1.0)
    signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS, 1.0)
    # Compiled code is not interrupted by Python's signals: the process ends, and shows where it was.
    faulthandler.dump_traceback_later(2 * WALL_SECONDS, exit=True, file=sys.__stderr__ or sys.stderr)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGPROF, before[0])
        signal.signal(signal.SIGALRM, before[1])
