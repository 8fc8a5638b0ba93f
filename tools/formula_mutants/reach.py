"""Which lines of the formulas a claim executes at quick size, what it says, and how much CPU time it takes."""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

from ..exercise import module_of
from . import trial
from .formulas import MODULES

SOURCES = Path("src/lineament")
CALLS = 30  # of a function whose lines are followed: following all of them would double the time of a claim


class Reach(NamedTuple):
    """A claim at quick size, seed 0: its verdict, CPU seconds, and the lines it executes, by module."""

    claim: str
    fingerprint: str
    verdict: str
    seconds: float
    lines: dict[str, list[int]]


class Watch:
    """Notes every line of the formulas' modules that is executed."""

    def __init__(self) -> None:
        root = SOURCES.resolve()
        self.files = {str(path): module_of(path.relative_to(Path.cwd())) for path in formula_files(root)}
        self.lines: dict[str, set[int]] = {}
        self.calls: Counter[CodeType] = Counter()

    def begin(self) -> None:
        """Start to watch."""
        sys.settrace(self.enter)

    def enter(self, frame: FrameType, event: str, argument: object) -> Any:
        """A function is called: its lines are followed if it is one of the formulas, a few calls of each."""
        code = frame.f_code
        module = self.files.get(code.co_filename)
        if module is None or code.co_name == "<module>" or self.calls[code] >= CALLS:
            return None
        self.calls[code] += 1
        lines = self.lines.setdefault(module, set())

        def follow(frame: FrameType, event: str, argument: object) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
            return follow

        return follow


def formula_files(root: Path = SOURCES) -> list[Path]:
    """The modules whose formulas are changed."""
    return [path for package in MODULES for path in sorted((root / package).glob("*.py")) if path.stem != "__init__"]


def reaches(claims: Iterable[str], kept: Path, limit: float) -> Iterable[Reach]:
    """The reach of each claim; what is kept from an earlier run of the same source is not run again."""
    known = load(kept)
    for claim in claims:
        fingerprint = trial.fingerprint(claim)
        found = known.get(claim)
        if found is None or found.fingerprint != fingerprint:
            told = trial.run(claim, None, limit, watch=True)
            lines = told.get("lines", {})
            found = Reach(claim, fingerprint, told["verdict"], told["seconds"], lines)
            with kept.open("a") as file:
                file.write(json.dumps(found._asdict()) + "\n")
        yield found


def load(kept: Path) -> Mapping[str, Reach]:
    """What is kept, by claim; the last line of a claim stands."""
    if not kept.exists():
        return {}
    return {row["claim"]: Reach(**row) for row in map(json.loads, kept.read_text().splitlines())}
