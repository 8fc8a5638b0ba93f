"""Tests collected once, with the package loaded: a mutant's process begins with both and only exchanges a function.

Importing the package and collecting its tests takes longer than most tests that notice something. What stands outside of
functions (constants, defaults of arguments, classes) has been computed by then and cannot be exchanged: such a mutant is
imported afresh.
"""

import ast
import gc
import inspect
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from _pytest.config import _prepareconfig
from hypothesis import Phase, settings
from jax._src import xla_bridge

from ..exercise import PACKAGE, TESTS


class First:
    """A plugin that keeps the first test that failed, and does not look for the smallest case where a property fails."""

    def __init__(self) -> None:
        self.failed = ""
        self.longest = 0.0

    def pytest_configure(self) -> None:
        """Generate examples as always; shrink none."""
        settings.register_profile("mutants", phases=(Phase.explicit, Phase.generate))
        settings.load_profile("mutants")

    def pytest_runtest_logstart(self) -> None:
        """Give a test so much CPU time, after which a signal ends the process; for ever if that is 0."""
        signal.setitimer(signal.ITIMER_PROF, self.longest)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test, or its set-up, that failed."""
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot even be imported."""
        if report.failed and not self.failed:
            self.failed = report.nodeid


class Loaded:
    """Test files collected in this process, and the functions of the package that they have imported."""

    def __init__(self, files: Sequence[str], arguments: Sequence[str]) -> None:
        self.first = First()
        self.finders = list(sys.meta_path)
        config = _prepareconfig(["-s", "-x", "-q", "--tb=line", *arguments, *files], [self.first])
        config._do_configure()
        self.session = pytest.Session.from_config(config)
        config.hook.pytest_sessionstart(session=self.session)
        config.hook.pytest_collection(session=self.session)
        self.items = {item.nodeid: item for item in self.session.items}
        self.functions: dict[tuple[str, str], list[FunctionType]] = {}
        for thing in gc.get_objects():
            if type(thing) is FunctionType and thing.__module__ and thing.__module__.partition(".")[0] == PACKAGE:
                at = thing.__code__.co_filename, thing.__code__.co_qualname
                self.functions.setdefault(at, []).append(thing)

    @property
    def sound(self) -> bool:
        """Whether processes may be forked here: not once JAX has begun to compute, with threads of its own."""
        return not self.first.failed and not xla_bridge.backends_are_initialized()

    def exchange(self, path: Path, source: str) -> tuple[FunctionType, CodeType] | None:
        """The one loaded function whose code a changed source changes, and that code; None if there is no such one.

        Nor if functions that it makes are there already: it has been run, and they would go on as they are.
        """
        original = compile(ast.unparse(ast.parse(path.read_text())), str(path), "exec")
        changed = list(_changed(original, compile(source, str(path), "exec")))
        if len(changed) != 1 or changed[0] is None:
            return None
        file, name = str(path.absolute()), changed[0].co_qualname
        living = self.functions.get((file, name), [])
        made = any(at == file and inner.startswith(f"{name}.<locals>.") for at, inner in self.functions)
        return (living[0], changed[0]) if len(living) == 1 and not made else None

    def forget(self) -> None:
        """Import the package and its tests again when they are asked for."""
        tests = str(TESTS.absolute())
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == PACKAGE or (getattr(module, "__file__", None) or "").startswith(tests):
                del sys.modules[name]
        sys.meta_path[:] = self.finders

    def run(self, tests: Sequence[str], longest: float) -> str:
        """Run tests by name until one fails: its name, or nothing. Each may take so many CPU seconds."""
        self.first.longest = longest
        self.session.items = [self.items[name] for name in tests]
        self.session.testscollected = len(tests)
        with suppress(self.session.Failed):  # raised at the first failure
            self.session.config.hook.pytest_runtestloop(session=self.session)
        return self.first.failed


def _changed(old: CodeType, new: CodeType) -> Iterator[CodeType | None]:
    """Outermost functions whose code differs; None for what differs outside of functions."""
    if old == new:
        return
    if new.co_flags & inspect.CO_OPTIMIZED:
        yield new
    elif _shell(old) != _shell(new):
        yield None
    else:
        pairs = zip(_inner(old), _inner(new), strict=True)
        yield from chain.from_iterable(_changed(*pair) for pair in pairs)


def _inner(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _shell(code: CodeType) -> CodeType:
    """A module's or a class's code without that of what is inside it, nor the columns at which that ends."""
    outside = tuple(None if isinstance(constant, CodeType) else constant for constant in code.co_consts)
    return code.replace(co_consts=outside, co_linetable=b"")
