"""Formulas are changed one at a time, where claims execute them, and what no claim notices is told."""

import ast
import sys

import pytest
from tools.formula_mutants import campaign, page
from tools.formula_mutants.formulas import Mutant, formula_mutants
from tools.formula_mutants.reach import Reach, Watch
from tools.formula_mutants.trial import Change, Finder

SOURCE = '''
HALF = 0.5 * 1


def energy(x, n=3 + 1):
    """Half of 1 + 1."""
    if n > 2 * 2:
        raise ValueError("n must be " + str(1 + 1))
    y = x[n - 1] + np.zeros(2 * n)
    z = -x * y / 2
    return np.sqrt(z**2 + 0.5) + np.sum(y, axis=n - 2) + (1e-9 + y)


def count(x) -> int:
    return x + 1


def followed(x, begin):
    part = slice(begin, begin + 7)
    kept = x > np.finfo(float).eps * 11 * x.max()
    while x[0] - 13 < 0:
        x = x + 17 if x[1] > 19 * 2 else x
    refuse(x < 23 * begin, "x must be larger")
    x = arguments.number("x", x, 0, 29**2) + 31
    return x[part][kept]
'''


def changes(lines=range(100)):
    return {(m.kind, m.before, m.after) for m in formula_mutants(SOURCE, "m", lines)}


@pytest.mark.parametrize(
    "change",
    [
        ("sign", "-x", "x"),
        ("sign", "z ** 2 + 0.5", "z ** 2 - 0.5"),
        ("exponent", "z ** 2", "z ** (2 + 1)"),
        ("exponent", "np.sqrt(z ** 2 + 0.5)", "z ** 2 + 0.5"),
        ("factor", "-x * y / 2", "2 * (-x * y / 2)"),
        ("constant", "2", "2.02"),
        ("constant", "0.5", "0.505"),
    ],
)
def test_each_kind_of_change_is_made(change):
    assert change in changes()


def test_only_values_of_formulas_are_changed():
    found = changes()
    assert not any(before in ("n - 1", "2 * n", "n - 2", "3 + 1", "2 * 2", "1 + 1", "x + 1") for _, before, _ in found)
    assert not any(before in ("1e-09", "0.5 * 1") for _, before, _ in found)
    assert sum(kind == "factor" for kind, _, _ in found) == 1, "a product of several factors is doubled once"


def test_what_decides_where_whether_and_how_exactly_is_left_alone():
    found = {before for _, before, _ in changes()}
    assert "x + 17" in found
    assert "31" in found
    assert not any(part in before for before in found for part in ("begin", "finfo", "11", "13", "19", "23"))
    assert "29 ** 2" not in found


def test_only_lines_that_are_executed_are_changed():
    line = next(i for i, text in enumerate(SOURCE.splitlines(), 1) if "z = " in text)
    assert {before for _, before, _ in changes([line])} == {"-x", "-x * y / 2", "2"}


def test_a_mutant_differs_in_one_place_and_still_parses():
    original = ast.unparse(ast.parse(SOURCE)).splitlines()
    for mutant in formula_mutants(SOURCE, "m", range(100)):
        assert sum(a != b for a, b in zip(original, mutant.source.splitlines(), strict=True)) == 1
        ast.parse(mutant.source)


def mutant(key, function="f", line=1):
    return Mutant(key, "lineament.theory.m", function, line, "sign", "-x", "x", "")


def test_every_function_has_one_mutant_before_any_has_two():
    mutants = [mutant(f"{function}{i}", function) for function in "abc" for i in range(4)]
    drawn = campaign.sample(mutants, 6, seed=0)
    assert sorted(m.function for m in drawn[:3]) == ["a", "b", "c"]
    assert len({m.key for m in drawn}) == 6
    assert drawn == campaign.sample(mutants, 6, seed=0)
    assert drawn != campaign.sample(mutants, 6, seed=1)
    without = campaign.sample(mutants, 6, seed=0, aside={drawn[0].key})
    assert drawn[0] not in without
    assert [m for m in without if m in drawn[1:]], "setting one aside leaves the others as they were drawn"
    functions = {m.function for m in campaign.sample(mutants, 12, seed=0, aside={"lineament.theory.m.a"})}
    assert functions == {"b", "c"}, "a whole function can be set aside"


def reach(claim, seconds, lines=(1,)):
    return Reach(claim, "0", "holds", seconds, {"lineament.theory.m": list(lines)})


def test_the_cheapest_claims_that_execute_the_line_are_asked():
    reaches = [reach("slow", 9.0), reach("cheap", 1.0), reach("elsewhere", 0.1, lines=(2,)), reach("middle", 3.0)]
    assert [found.claim for found in campaign.claims_of(mutant("k"), reaches, 2)] == ["cheap", "middle"]
    reaches.append(reach("open", 0.5)._replace(verdict="undecided"))
    assert [found.claim for found in campaign.claims_of(mutant("k"), reaches, 4)][-1] == "open"


class Said:
    def __init__(self, **verdicts):
        self.verdicts, self.asked = verdicts, []

    def said(self, mutant, reach):
        self.asked.append(reach.claim)
        return self.verdicts[reach.claim], "why"


@pytest.mark.parametrize(
    ("verdict", "word"),
    [
        ("differs", "red"),
        ("fails", "red"),
        ("holds, corrected", "red"),
        ("undecided", "undecided"),
        ("error", "error"),
    ],
)
def test_a_claim_that_says_something_else_has_noticed_and_ends_the_trial(verdict, word):
    trials = Said(a="holds", b=verdict, c="fails")
    outcome = campaign.meet(mutant("k"), [reach("a", 1), reach("b", 2), reach("c", 3)], trials)
    assert (outcome.word, outcome.claims) == (word, ("b",))
    assert trials.asked == ["a", "b"]


def test_a_claim_that_stays_as_it_was_has_not_noticed():
    outcome = campaign.meet(mutant("k"), [reach("a", 1), reach("b", 2)], Said(a="holds", b="holds"))
    assert (outcome.word, outcome.claims) == ("green", ("a", "b"))


def test_the_page_counts_slack_as_slack_and_lists_what_was_missed():
    outcomes = [campaign.Outcome(mutant(f"{i}"), "red", ("a",), "") for i in range(7)]
    outcomes += [campaign.Outcome(mutant(key), "green", ("a",), "") for key in ("loose", "missed")]
    outcomes.append(campaign.Outcome(mutant("raises"), "error", ("a",), ""))
    slack = {"loose": "The bound is one-sided."}
    aside = {"aaaa": "A tolerance.", "lineament.theory.m.f": "A route.", "bbbb": "A tolerance."}
    told = page.page(outcomes, "Ten.", slack, aside)
    assert "- A tolerance. `aaaa`, `bbbb`.\n- A route. `theory.m.f`." in told.split("## Set aside")[1]
    assert "| a sign | 10 | 7 | 0 | 1 | 1 | 1 | 90% |" in told
    assert "The bound is one-sided." in told.split("## Not noticed")[0]
    assert "`missed`" in told.split("## Not noticed")[1]
    assert page.share(outcomes, slack) == pytest.approx(0.9)
    whole = {"lineament.theory.m.f": "All of its bounds are one-sided."}
    assert page.share(outcomes, whole) == 1, "a reason may be given for a function"
    assert page.share([outcomes[7]._replace(mutant=mutant("loose", "g"))], whole) == 0


def test_reasons_are_given_for_what_is_excused():
    for kind in ("slack", "no formula"):
        assert all(key and len(reason) > 20 for key, reason in page.reasons(kind).items())


def test_the_changed_source_stands_in_the_place_of_the_file():
    change = Change("lineament.core.words", "ANSWER = 42\n")
    spec = Finder(change).find_spec("lineament.core.words", __import__("lineament.core", fromlist=["x"]).__path__)
    assert spec is not None
    assert spec.loader is not None
    namespace = {}
    exec(spec.loader.get_code("lineament.core.words"), namespace)
    assert namespace["ANSWER"] == 42
    assert Finder(change).find_spec("lineament.core.other", []) is None


def test_lines_of_formulas_are_watched():
    watch = Watch()
    watch.files = {"formulas.py": "m"}
    namespace = {}
    exec(compile("def f(x):\n    if x:\n        return 1\n    return 2\n", "formulas.py", "exec"), namespace)
    before = sys.gettrace()
    watch.begin()
    try:
        namespace["f"](0)
    finally:
        sys.settrace(before)
    assert watch.lines == {"m": {2, 4}}
