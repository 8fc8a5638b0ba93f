"""Which lines of the package each test runs, and how long it takes: a mutant meets the quickest tests that can see it.

Every test file is run once as it is, in a process of its own: compiled functions run their Python only once a process, so
that within a file a line may belong to the first of several tests. What a file never runs, none of its tests can notice.
"""

import hashlib
import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest

from ..exercise import distances

KEPT = Path("build/mutants")
IMPORTED = "imported"
"""Where lines go that run when the file is imported, before any test."""


class Ran(NamedTuple):
    """One test: its CPU seconds, whether it passed, and for each file of the package the lines it ran."""

    seconds: float
    passed: bool
    lines: dict[str, frozenset[int]]


class Tracer:
    """A plugin of pytest that notes lines below a folder while each test runs, and writes them to a file at the end."""

    def __init__(self, folder: Path, out: Path) -> None:
        self.prefix = f"{folder}/"
        self.out = out
        self.wanted: dict[CodeType, str | None] = {}
        self.seen: dict[str, set[int]] = {}
        self.unseen: dict[CodeType, set[int]] = {}
        self.tests: dict[str, dict[str, Any]] = {IMPORTED: self._entry(0.0)}

    def _entry(self, seconds: float) -> dict[str, Any]:
        lines = {path: sorted(numbers) for path, numbers in self.seen.items()}
        return {"seconds": seconds, "passed": True, "lines": lines}

    def _frame(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        if code not in self.wanted:
            path = code.co_filename
            self.wanted[code] = path.removeprefix(self.prefix) if path.startswith(self.prefix) else None
        if self.wanted[code] is None:
            return None
        if code not in self.unseen:
            lines = {line for _, _, line in code.co_lines() if line is not None}
            self.unseen[code] = lines - {code.co_firstlineno} or lines  # the first, of a `def`, runs elsewhere
        return self._line if self.unseen[code] else None  # a function that was seen in full is not watched again

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        code, line = frame.f_code, frame.f_lineno
        path = self.wanted[code]
        assert path is not None
        self.seen.setdefault(path, set()).add(line)
        self.unseen[code].discard(line)
        frame.f_trace_lines = bool(self.unseen[code])
        return self._line

    def _trace(self, on: bool) -> None:
        tracer = self._frame if on else None
        threading.settrace(tracer)  # pyright: ignore[reportArgumentType]
        sys.settrace(tracer)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Iterator[None]:
        """What importing a test file runs."""
        self._trace(True)
        yield
        self._trace(False)
        self.tests[IMPORTED] = self._entry(0.0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        """One test with its fixtures."""
        self.seen, self.unseen = {}, {}
        began = time.process_time()
        self._trace(True)
        result = yield
        self._trace(False)
        passed = self.tests.get(item.nodeid, {}).get("passed", True)
        self.tests[item.nodeid] = self._entry(time.process_time() - began) | {"passed": passed}
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test that fails as it is."""
        if report.failed:
            self.tests.setdefault(report.nodeid, {})["passed"] = False

    def pytest_unconfigure(self) -> None:
        """Keep what was seen."""
        self.out.write_text(json.dumps(self.tests))


def kept(test: str) -> Path:
    """Where the lines of a test file are kept, as long as neither it, nor what it shares, nor what it reaches changes."""
    shared = {path for folder in (Path("tests"), Path(test).parent) for path in folder.glob("*.py")}
    paths = [Path(test), *sorted(path for path in shared if not path.name.startswith("test_"))]
    for module in sorted(distances(Path(test))):
        stem = Path("src", *module.split("."))
        paths += [path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.exists()]
    digest = hashlib.sha256(b"".join(f"{path}\0".encode() + path.read_bytes() for path in paths))
    return KEPT / f"{digest.hexdigest()[:24]}.json"


def read(test: str) -> dict[str, Ran]:
    """The lines that each test of a file runs."""
    return {
        name: Ran(entry["seconds"], entry["passed"], {path: frozenset(n) for path, n in entry["lines"].items()})
        for name, entry in json.loads(kept(test).read_text()).items()
    }


class Chosen(NamedTuple):
    """Tests by name, in the order in which to run them, and the CPU seconds they take in all, and the longest of them."""

    tests: list[str]
    seconds: float
    longest: float


def chosen(files: Sequence[dict[str, Ran]], path: Path, span: range, once: bool = True) -> Chosen:
    """Tests that run some line of a file of the package, quickest first.

    Where Python may run once a process, for what it compiles is kept, the others of their test files follow.
    """
    running: list[tuple[float, str]] = []
    others: list[tuple[float, str]] = []
    for file in files:
        touched = [name for name, ran in file.items() if not ran.lines.get(str(path), frozenset()).isdisjoint(span)]
        if not touched:
            continue
        if IMPORTED in touched:  # whatever the module does may depend on it
            touched = [name for name, ran in file.items() if str(path) in ran.lines]
        for name, ran in file.items():
            if name != IMPORTED:
                (running if name in touched else others).append((ran.seconds, name))
    order = sorted(running) + sorted(others if once else [])
    times = [seconds for seconds, _ in order]
    return Chosen([name for _, name in order], sum(times), max(times, default=0.0))
