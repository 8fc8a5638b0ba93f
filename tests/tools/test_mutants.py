"""Mutants are small, one at a time, and known by what they change."""

import ast
import tomllib
from pathlib import Path

import pytest
from tools.exercise import module_of
from tools.mutants import campaign, loaded
from tools.mutants.campaign import Trial, equivalent
from tools.mutants.lines import IMPORTED, Ran, Tracer, chosen
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


def test_a_mutant_knows_the_lines_of_its_statement_and_no_others():
    lines = {(mutant.kind, mutant.before): mutant.lines for mutant in mutants(SOURCE, "m")}
    assert lines["comparison", "n > 2"] == range(10, 11)
    assert lines["sign", "-x"] == range(11, 12)
    several = "def f(x):\n    return (\n        1 +\n        x\n    )\n"
    assert {mutant.lines for mutant in mutants(several, "m")} == {range(2, 6)}
    assert {mutant.statement for mutant in mutants(several, "m")} == {"return 1 + x"}
    assert {m.statement for m in mutants(SOURCE, "m") if m.kind == "comparison"} == {
        "if x < 0:",
        "if n > 2 and (not x):",
    }


def test_a_larger_sample_holds_the_smaller_and_an_equivalent_mutant_leaves_the_others(monkeypatch):
    few, many = (campaign.sample(["evidence"], count, seed=3) for count in (5, 9))
    assert many[:5] == few
    assert campaign.sample(["evidence"], 5, seed=4) != few
    monkeypatch.setattr(campaign, "equivalent", lambda: {few[0][1].key: "changes nothing"})
    assert campaign.sample(["evidence"], 8, seed=3) == many[1:]


def test_lines_are_those_that_run_below_the_folder(tmp_path):
    tracer = Tracer(tmp_path, tmp_path / "out.json")
    inside, outside = {}, {}
    code = "def f(x):\n    if x:\n        return 1\n    return 2\n"
    exec(compile(code, f"{tmp_path}/src/a.py", "exec"), inside)
    exec(compile(code, "/elsewhere/b.py", "exec"), outside)
    tracer._trace(True)
    inside["f"](0)
    outside["f"](0)
    tracer._trace(False)
    inside["f"](1)
    assert tracer.seen == {"src/a.py": {2, 4}}
    tracer._trace(True)
    inside["f"](1)
    tracer._trace(False)
    assert tracer.seen == {"src/a.py": {2, 3, 4}}


def test_the_quickest_tests_that_run_a_line_come_first_and_files_that_never_do_are_left_out():
    path = Path("src/a.py")
    here, there, nowhere = (
        lambda seconds, n=n: Ran(seconds, True, {"src/a.py": frozenset(n)}) for n in ({2}, {5}, ())
    )
    files = [
        {IMPORTED: nowhere(0), "slow": here(3), "quick": here(1), "idle": there(0)},
        {IMPORTED: nowhere(0), "elsewhere": there(0)},
        {IMPORTED: here(0), "other": Ran(0, True, {}), "after": there(2)},
    ]
    assert chosen(files, path, range(2, 4)).tests == ["quick", "after", "slow", "idle", "other"]
    assert chosen(files, path, range(2, 4))[1:] == (6, 3)
    assert chosen(files, path, range(2, 4), once=False).tests == ["quick", "after", "slow"]
    assert chosen(files, path, range(7, 9)).tests == []


LOADED = """
SCALE = 2

def outer(x, factor=3):
    def inner(y):
        return y + SCALE
    return factor * inner(x)

class Shape:
    sides = 4

    def area(self):
        return self.sides + 1
"""


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ("y + SCALE", "y - SCALE", ["outer"]),
        ("factor * inner", "factor + inner", ["outer"]),
        ("self.sides + 1", "self.sides", ["Shape.area"]),
        ("SCALE = 2", "SCALE = 3", [None]),
        ("factor=3", "factor=4", [None]),
        ("sides = 4", "sides = 5", [None]),
        ("SCALE = 2", "SCALE = 2", []),
    ],
)
def test_what_a_mutant_changes_is_a_function_or_lies_outside_of_all(before, after, changed):
    """Functions can be exchanged where the package is loaded; constants and defaults have been computed by then."""
    original = ast.unparse(ast.parse(LOADED))
    old, new = (compile(source, "m", "exec") for source in (original, original.replace(before, after)))
    assert [code and code.co_qualname for code in loaded._changed(old, new)] == changed


def test_a_loaded_function_is_exchanged_wherever_it_is_known(tmp_path):
    path, names = tmp_path / "m.py", {}
    path.write_text(LOADED)
    exec(compile(LOADED, str(path), "exec"), names)
    elsewhere = names["outer"]  # as another module has it by `from m import outer`
    here = loaded.Loaded.__new__(loaded.Loaded)
    here.functions = {(str(path), "outer"): [elsewhere]}
    mutant = next(m for m in mutants(LOADED, "m") if m.kind == "arithmetic" and m.before == "y + SCALE")
    assert elsewhere(1) == 9
    function, function.__code__ = here.exchange(path, mutated(LOADED, mutant))
    assert elsewhere(1) == -3
    constant = next(m for m in mutants(LOADED, "m") if m.kind == "off by one" and not m.function)
    assert here.exchange(path, mutated(LOADED, constant)) is None
    here.functions[str(path), "outer.<locals>.made"] = [elsewhere]  # it has been run, and what it made is there
    assert here.exchange(path, mutated(LOADED, mutant)) is None


def test_equivalent_mutants_have_their_reason():
    assert all(len(key) == 8 and len(reason) > 10 for key, reason in equivalent().items())


def test_equivalent_mutants_are_still_there():
    """A line that was changed has other mutants: its entry must go."""
    by_file = {}
    for entry in tomllib.loads(campaign.EQUIVALENT.read_text())["mutant"]:
        by_file.setdefault(entry["where"].split()[0], set()).add(entry["key"])
    for file, keys in by_file.items():
        path = campaign.SOURCES / file
        assert keys <= {mutant.key for mutant in mutants(path.read_text(), module_of(path))}, file


def test_statements_of_which_no_change_can_be_seen_are_still_there():
    statements = campaign.idle_statements()
    assert all(len(reason) > 10 for reason in statements.values())
    for module in {module for module, _, _ in statements}:
        path = Path("src", *module.split(".")).with_suffix(".py")
        there = {(m.module, m.function, m.statement) for m in mutants(path.read_text(), module)}
        assert {place for place in statements if place[0] == module} <= there, module


def test_the_length_check_of_zip_is_no_mathematics():
    assert changes("pairs = zip(a, b, strict=True)") == set()


def test_the_page_counts_by_package_and_lists_survivors():
    def trial(module, word):
        return Trial(Mutant("0" * 8, module, "f", 3, range(3, 4), "sign", "-x", "x"), Verdict(word, "", 1.0))

    told = page([trial("lineament.theory.a", "noticed")] * 9 + [trial("lineament.theory.a", "survived")]
                + [trial("lineament.data.b", "hangs")], "Ten")  # fmt: skip
    assert "| `theory` | 10 | 9 | 0 | 1 | 90% | 95% ✗ |" in told
    assert "| `data` | 1 | 1 | 1 | 0 | 100% | 90% ✓ |" in told
    assert "- `00000000` theory/a.py:3 in `f` [sign] `-x` → `x`" in told
