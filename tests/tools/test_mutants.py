"""Mutants are small, one at a time, and known by what they change."""

import ast

import pytest
from tools.mutants.campaign import Trial, equivalent
from tools.mutants.operators import Mutant, mutants, mutated
from tools.mutants.table import page
from tools.mutants.trial import Verdict

SOURCE = '''
"""A module."""
import numpy as np


def energy(x: float = 2.0, n: int = 3) -> float:
    """Half of 1 + 1."""
    if x < 0:
        raise ValueError(f"x must be {0 + 1}; got {x}")
    if n > 2 and not x:
        n = -x
    return np.sqrt(x**2 + 0.5 * max(x, n)) - np.sum(x.T)
'''


def changes(source):
    return {(mutant.kind, mutant.before, mutant.after) for mutant in mutants(source, "m")}


@pytest.mark.parametrize(
    "change",
    [
        ("refuse nothing", "if x < 0:", "if False:"),
        ("comparison", "n > 2", "n <= 2"),
        ("boundary", "n > 2", "n >= 2"),
        ("condition", "n > 2 and (not x)", "n > 2 or not x"),
        ("condition", "not x", "x"),
        ("sign", "-x", "x"),
        ("arithmetic", "x ** 2", "x * 2"),
        ("exponent", "x ** 2", "x ** (2 + 1)"),
        ("off by one", "2", "3"),
        ("constant", "0.5", "0.505"),
        ("twin", "max(x, n)", "min(x, n)"),
        ("unclip", "max(x, n)", "x"),
        ("drop a term", "x ** 2 + 0.5 * max(x, n)", "x ** 2"),
        ("unwrap", "np.sqrt(x ** 2 + 0.5 * max(x, n))", "x ** 2 + 0.5 * max(x, n)"),
        ("transpose", "x.T", "x"),
    ],
)
def test_each_kind_of_mistake_is_made(change):
    assert any(kind == change[0] and before.startswith(change[1]) and after.startswith(change[2])
               for kind, before, after in changes(SOURCE))  # fmt: skip


def test_words_and_annotations_are_left_alone():
    for source in (mutated(SOURCE, mutant) for mutant in mutants(SOURCE, "m")):
        assert "must be {0 + 1}; got {x}" in source
        assert "Half of 1 + 1." in source
        assert "import numpy as np" in source
        assert "float:" in source


def test_a_mutant_differs_from_the_original_in_one_place_alone():
    original = ast.unparse(ast.parse(SOURCE)).splitlines()
    for mutant in mutants(SOURCE, "m"):
        changed = mutated(SOURCE, mutant).splitlines()
        assert len(changed) == len(original)
        assert sum(a != b for a, b in zip(original, changed, strict=True)) == 1, mutant


def test_keys_are_different_and_do_not_depend_on_the_line():
    found = list(mutants(SOURCE, "m"))
    keys = [mutant.key for mutant in found]
    assert len(set(keys)) == len(keys)
    assert [mutant.key for mutant in mutants("\n\n# moved\n" + SOURCE, "m")] == keys
    assert not set(keys) & {mutant.key for mutant in mutants(SOURCE, "another")}


def test_equivalent_mutants_have_their_reason():
    assert all(len(key) == 8 and len(reason) > 10 for key, reason in equivalent().items())


def test_the_page_counts_by_package_and_lists_survivors():
    def trial(module, word):
        return Trial(Mutant("0" * 8, module, "f", 3, range(3, 4), "sign", "-x", "x"), Verdict(word, "", 1.0))

    told = page([trial("lineament.theory.a", "noticed")] * 9 + [trial("lineament.theory.a", "survived")]
                + [trial("lineament.data.b", "hangs")], "Ten")  # fmt: skip
    assert "| `theory` | 10 | 9 | 0 | 1 | 90% | 95% ✗ |" in told
    assert "| `data` | 1 | 1 | 1 | 0 | 100% | 90% ✓ |" in told
    assert "- `00000000` theory/a.py:3 in `f` [sign] `-x` → `x`" in told
