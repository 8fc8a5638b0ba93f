"""One bar for a sweep: points done, points a second, time left, and what failed and why; in a terminal or a notebook."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from lineament.core.words import harmless, several

LINES_EVERY = 10.0  # seconds between plain lines, where nothing can be drawn over
DRAWN_EVERY = 0.1


class Progress(AbstractContextManager["Progress"]):
    """Shows how far a sweep is. Where standard error is neither a terminal nor a notebook it writes a line now and then.

    Args:
        total: How many points the sweep has.
        done: How many of them are stored already.
        shown: Whether anything is shown.
    """

    def __init__(self, total: int, done: int, shown: bool = True) -> None:
        self.total, self.done, self.before = total, done, done
        self.failed = 0
        self.reasons: Counter[str] = Counter()
        self.begun = self.drawn = time.monotonic()
        self.screen: Any = _screen() if shown else None

    def __enter__(self) -> "Progress":
        self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.screen is not None:
            self.screen.end(self.line(), self.troubles())

    def update(self, done: int, reasons: Sequence[str] = ()) -> None:
        """So many more points are stored; some of them failed, for these reasons."""
        self.done += done
        self.failed += len(reasons)
        self.reasons.update(map(harmless, reasons))
        self._draw()

    def line(self) -> str:
        """How far it is, in one line."""
        seconds = max(time.monotonic() - self.begun, 1e-9)
        rate = (self.done - self.before) / seconds
        parts = [f"{self.done}/{self.total} points", bar(self.done / max(self.total, 1))]
        if rate > 0:
            parts.append(f"{rate:.3g}/s")
            left = (self.total - self.done) / rate
            parts.append(f"{_duration(left)} left" if left else f"in {_duration(seconds)}")
        if self.failed:
            parts.append(f"{self.failed} failed")
        return "  ".join(parts)

    def troubles(self) -> list[str]:
        """What failed and why, the most frequent first."""
        lines = [f"{count} × {reason}" for reason, count in self.reasons.most_common(5)]
        more = len(self.reasons) - 5
        return [*lines, *([f"and {several(more, 'other reason')}, in the table's `reason`"] if more > 0 else [])]

    def _draw(self) -> None:
        now = time.monotonic()
        if self.screen is not None and (now - self.drawn >= self.screen.every or self.done == self.before):
            self.drawn = now
            self.screen.draw(self.line(), self.troubles()[:1])


def bar(share: float, width: int = 24) -> str:
    """A bar of text."""
    full = round(min(share, 1.0) * width)
    return "━" * full + "╌" * (width - full)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def _screen() -> "_Terminal | _Notebook | _Lines":
    python = sys.modules.get("IPython")
    shell = python.get_ipython() if python is not None else None
    if shell is not None and type(shell).__name__ == "ZMQInteractiveShell":
        return _Notebook()
    return _Terminal() if sys.stderr.isatty() else _Lines()


class _Terminal:
    every = DRAWN_EVERY

    def draw(self, line: str, troubles: list[str]) -> None:
        text = "  ".join([line, *troubles])
        sys.stderr.write(f"\r\x1b[2K{text[: _width() - 1]}")
        sys.stderr.flush()

    def end(self, line: str, troubles: list[str]) -> None:
        sys.stderr.write("\r\x1b[2K" + "\n  ".join([line, *troubles]) + "\n")


class _Notebook:
    every = DRAWN_EVERY

    def __init__(self) -> None:
        self.handle: Any = None

    def draw(self, line: str, troubles: list[str]) -> None:
        from html import escape

        display = sys.modules["IPython"].display
        shown = display.HTML("".join(f"<div><code>{escape(text)}</code></div>" for text in [line, *troubles]))
        if self.handle is None:
            self.handle = display.display(shown, display_id=True)
        else:
            self.handle.update(shown)

    def end(self, line: str, troubles: list[str]) -> None:
        self.draw(line, troubles)


class _Lines:
    every = LINES_EVERY

    def draw(self, line: str, troubles: list[str]) -> None:
        sys.stderr.write("  ".join([line, *troubles]) + "\n")
        sys.stderr.flush()

    def end(self, line: str, troubles: list[str]) -> None:
        sys.stderr.write("\n  ".join([line, *troubles]) + "\n")


def _width() -> int:
    import shutil

    return shutil.get_terminal_size().columns
