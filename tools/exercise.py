"""Which test files exercise a module: those that import it, then those that import what imports it."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from lineament.execution import sources

TESTS = Path("tests")
PACKAGE = "lineament"
WHOLE = ("claims", "explorer")
"""Directories whose tests run much of the package at once, in minutes: no unit tests."""


def module_of(path: Path) -> str:
    """The name of a module of the package, from the path of its file below `src`."""
    parts = path.with_suffix("").parts
    return ".".join(parts[parts.index(PACKAGE) :]).removesuffix(".__init__")


def home(module: str) -> Path:
    """The directory of a module's own tests; PyTorch's may not be called after it, else `import torch` would find it."""
    package = module.split(".")[1] if "." in module else ""
    return TESTS / ("with_torch" if package == "torch" else package)


def unit_files() -> list[Path]:
    """All files of unit tests."""
    return [path for path in sorted(TESTS.rglob("test_*.py")) if not set(path.parts) & set(WHOLE)]


@cache
def distances(test: Path) -> dict[str, int]:
    """How many imports lie between a test file and each module that it reaches."""
    found: dict[str, int] = {}
    frontier, steps = set(sources.needs(ast.parse(test.read_bytes()), "").modules), 1
    while frontier:
        found |= dict.fromkeys(frontier, steps)
        further = {module for name in frontier for module in _imports(name)}
        frontier, steps = further - found.keys(), steps + 1
    return found


@cache
def _imports(module: str) -> frozenset[str]:
    code = sources.read(module)
    if code is None or not module.startswith(PACKAGE):
        return frozenset()
    return sources.needs(code.tree, module if code.package else module.rpartition(".")[0]).modules


def exercising(module: str) -> list[Path]:
    """The test files that exercise a module, nearest first.

    Those of its own package that reach it by any number of imports, those of other packages that import it themselves,
    and those of the whole public surface that import what imports it. Where there are none, whatever is nearest; and for
    a module whose name is computed when it is imported, all tests of its package.
    """
    reach = {test: distances(test)[module] for test in unit_files() if module in distances(test)}
    near = [
        test
        for test, steps in reach.items()
        if steps == 1 or home(module) in test.parents or (steps == 2 and test.parent == TESTS)
    ]
    nearest = [test for test, steps in reach.items() if steps == min(reach.values())]
    own = [test for test in unit_files() if home(module) in test.parents]
    named = f"test_{module.rpartition('.')[2]}"
    return sorted(
        near or nearest or own, key=lambda test: (test.stem != named, reach.get(test, 0), test.stat().st_size, test)
    )


def changed(paths: Iterable[Path]) -> list[Path]:
    """The test files that a change of some files needs, changed tests included."""
    tests: set[Path] = set()
    for path in paths:
        if path.suffix != ".py" or not path.exists():
            continue
        if path.name.startswith("test_"):
            tests.add(path)
        elif PACKAGE in path.parts:
            tests |= set(exercising(module_of(path)))
    return sorted(tests)
