"""An experiment depends on what it uses, and on nothing else."""

import ast
import importlib
import sys
import textwrap

import numpy as np
import pytest

from lineament.execution import points, sources

FILES = {
    "lab/__init__.py": "from .tools import spanner\nfrom . import drill\n",
    "lab/tools.py": """
        import json
        import numpy as np
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            import lab.never
        def spanner(x): return x
    """,
    "lab/drill.py": "from .bits import BIT\ndef bore(x): return x + BIT\n",
    "lab/bits.py": "BIT = 1\n",
    "lab/never.py": "X = 1\n",
    "trial.py": """
        import lab
        from lab import spanner
        TABLE = [1, 2]
        OTHER = 5
        def helper(x):
            return x + TABLE[0]
        def experiment(a):
            return helper(a) + lab.drill.bore(a)
        def plain(a):
            return spanner(a)
        def plot():
            return OTHER
    """,
}


@pytest.fixture
def lab(tmp_path, monkeypatch):
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] in ("lab", "trial")]:
        del sys.modules[name]


def found(function="experiment"):
    sys.modules.pop("trial", None)
    importlib.invalidate_caches()
    dependence, modules, packages = points.depends(getattr(importlib.import_module("trial"), function))
    return dependence.digests, modules, packages


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new) + "#" * len(new))  # another size: the digest is cached by size and time


def test_only_what_is_used_counts(lab):
    digests, modules, packages = found()
    assert set(digests) == {"experiment", "helper", "TABLE"}
    assert set(modules) == {"lab.drill", "lab.bits"}
    assert packages == frozenset()
    digests, modules, packages = found("plain")
    assert set(modules) == {"lab.tools"}
    assert packages == {"numpy"}


@pytest.mark.parametrize(
    ("path", "old", "new", "changed"),
    [
        ("trial.py", "OTHER = 5", "OTHER = 6", False),
        ("trial.py", "    return helper(a) + lab", "    # the same\n    return  helper( a )+ lab", False),
        ("trial.py", "return helper(a)", "return 2 * helper(a)", True),
        ("trial.py", "TABLE = [1, 2]", "TABLE = [1, 3]", True),
        ("trial.py", "return x + TABLE[0]", "return x - TABLE[0]", True),
        ("lab/bits.py", "BIT = 1", "BIT = 2", True),
        ("lab/tools.py", "return x", "return x + 1", False),
        ("lab/never.py", "X = 1", "X = 2", False),
        ("lab/__init__.py", "from . import drill", "from . import drill\nVERSION = 2", False),
    ],
)
def test_an_edit_counts_if_the_experiment_depends_on_it(lab, path, old, new, changed):
    before = found()
    edit(lab / path, old, new)
    assert (found() != before) is changed


def test_names_are_followed_through_this_package():
    needs = sources.needs(ast.parse("import lineament as la\nla.theory.modes.trajectory(la.flow)"), "")
    assert needs.modules == {"lineament.theory.modes", "lineament.train.flow"}
    closure = sources.closure(["lineament.claims.gissin.theorem_1"])
    assert "lineament.theory.modes" in closure.modules
    assert not any(name.startswith(("lineament.report", "lineament.execution")) for name in closure.modules)
    assert "lineament.claims.gissin.theorem_4" not in closure.modules
    assert {"numpy", "jax", "scipy"} <= closure.packages


def test_lambdas_are_told_apart_and_constants_count():
    array = np.arange(3.0)
    first, second = (lambda a: a + array[0]), (lambda b: b * 2)
    one, _, _ = points.depends(first)
    two, _, _ = points.depends(second)
    assert list(one.text.values()) == ["lambda a: a + array[0]"]
    assert one.digests != two.digests
    before = dict(one.digests)
    array[0] = 5.0
    assert points.depends(first)[0].digests != before


@pytest.mark.parametrize("content", [b"def f(:\n", b"\0", b"\xff\xfe", b"(" * 5000])
def test_a_module_that_is_no_python_is_named(tmp_path, monkeypatch, content):
    monkeypatch.syspath_prepend(tmp_path)
    name = f"torn_{abs(hash(content))}"
    (tmp_path / f"{name}.py").write_bytes(content)
    importlib.invalidate_caches()
    with pytest.raises(sources.SourceError, match=f"{name}.py' is no Python"):
        sources.closure([name])
