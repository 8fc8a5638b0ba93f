"""The registry, the verdicts, and claims from other packages."""

import importlib.metadata

import jax
import numpy as np
import pytest

from lineament.claims import Check, Evidence, Verdict, all_claims, at_least, at_most, find, registry, run, within
from lineament.claims.instances import slope


@pytest.fixture
def empty(monkeypatch):
    monkeypatch.setattr(registry, "_registry", {})
    monkeypatch.setattr(registry, "BUILT_IN", ())


def declare(id="gissin-x", **options):
    given = {"place": "here", "title": "a claim", "statement": "x", "quick": "1 s", "full": "1 s"} | options
    return registry.claim(id, **given)(lambda scale, key: Evidence([at_most("gap", 0.5, 1.0)]))


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        (at_most("gap", 1.0, 1.0), True),
        (at_most("gap", 1.1, 1.0), False),
        (at_least("gap", 0.9, 1.0), False),
        (within("slope", 2.0, 1.9, 2.1), True),
        (within("slope", 2.2, 1.9, 2.1), False),
        (at_most("gap", float("nan"), 1.0), False),
        (at_least("gap", float("nan"), 1.0), False),
    ],
)
def test_a_check_passes_within_its_bars_and_never_on_nan(check, passed):
    assert check.passed == passed
    assert check.name in str(check)


def test_the_verdict_is_read_off_the_checks():
    good, bad = Check("a", 0.0, high=1.0), Check("b", 2.0, high=1.0)
    assert Evidence([good]).verdict("theorem") is Verdict.HOLDS
    assert Evidence([good, bad]).verdict("theorem") is Verdict.FAILS
    assert Evidence([good, bad]).verdict("experiment") is Verdict.DIFFERS
    assert "b = 2" in Evidence([good, bad]).reason()
    assert Evidence([good], printed=[bad], correction="x^2").verdict("theorem") is Verdict.CORRECTED
    assert Evidence([good], printed=[good], correction="x^2").verdict("theorem") is Verdict.HOLDS
    assert "as printed: b = 2" in Evidence([good], printed=[bad], correction="x^2").reason()


def test_evidence_that_says_nothing_is_refused():
    with pytest.raises(ValueError, match="at least one check"):
        Evidence([])
    with pytest.raises(ValueError, match="come together"):
        Evidence([at_most("a", 0, 1)], printed=[at_most("a", 2, 1)])


def test_unknown_claims_are_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"unknown claim 'gisin-t1'; did you mean gissin-t1"):
        find("gisin-t1")


def test_claims_register_once_and_belong_to_a_paper(empty):
    declare()
    with pytest.raises(ValueError, match="registered twice"):
        declare()
    with pytest.raises(ValueError, match="must begin with the key of a known paper"):
        declare("nobody-t1")


def test_the_same_seed_gives_the_same_evidence():
    first, again, other = (run(find("gissin-t1"), seed=seed).evidence.checks for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_a_bad_scale_is_refused(empty):
    declare()
    with pytest.raises(ValueError, match="scale must be one of quick, full, not 'huge'"):
        run(find("gissin-x"), "huge")  # type: ignore[arg-type]


def test_other_packages_add_claims_by_entry_point(empty, monkeypatch):
    class EntryPoint:
        def load(self):
            if "gissin-elsewhere" not in registry._registry:
                declare("gissin-elsewhere")

    monkeypatch.setattr(
        importlib.metadata, "entry_points", lambda group: [EntryPoint()] if group == "lineament.claims" else []
    )
    assert "gissin-elsewhere" in all_claims()
    assert run(find("gissin-elsewhere")).verdict is Verdict.HOLDS


def test_papers_come_in_order():
    papers = [claim.paper for claim in all_claims().values()]
    assert papers == sorted(papers, key=list(registry.PAPERS).index)


def test_slope_recovers_a_power_law_and_its_error():
    x = np.geomspace(1, 100, 10)
    rise, error = slope(x, 3 * x**-1.5)
    assert abs(rise + 1.5) < 1e-12
    assert error < 1e-12
    noisy = 3 * x**-1.5 * np.exp(0.1 * np.asarray(jax.random.normal(jax.random.key(0), (10,))))
    rise, error = slope(x, noisy)
    assert abs(rise + 1.5) < 4 * error
    assert 0.005 < error < 0.1
