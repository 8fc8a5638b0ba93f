"""One suite over every registered claim: each is well stated, runs at quick size, and can fail."""

import os
import re
from functools import cache
from pathlib import Path

import jax
import latex2mathml.converter
import numpy as np
import pytest

from lineament.claims import PAPERS, SIZES, all_claims
from lineament.evidence import Verdict
from lineament.execution import agenda, files, store
from lineament.execution.reproduce import reproduce, stands, table

CLAIMS = all_claims()
# The longest first, so that at the end no worker has one to itself while the others have nothing left.
LONGEST_FIRST = sorted(CLAIMS, key=lambda id: agenda.in_words(CLAIMS[id].cost["quick"]), reverse=True)
RESULTS = Path(__file__).parents[2] / "results"
KEEP = os.environ.get("LINEAMENT_KEEP_EVIDENCE")  # a folder, so that `make atlas` need not run the same claims again
README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
README_VERDICTS = dict(
    re.findall(
        r"^\| \[`([a-z0-9-]+)`\]\(.*\| ([a-z, ]+) \d+/\d+(?: [†‡])* \| [a-z, –0-9/†‡]+ \|$", README, re.MULTILINE
    )
)

# Three tests ask for each file of results, and reading a figure takes a while.
stored_at = cache(store.load)


@pytest.mark.parametrize("id", CLAIMS)
def test_claim_is_well_stated(id):
    claim = CLAIMS[id]
    assert re.fullmatch(r"[a-z]+-[a-z0-9-]+", id)
    assert claim.paper in PAPERS
    assert claim.place
    assert claim.title
    assert not claim.title.endswith(".")
    assert "<math" in latex2mathml.converter.convert(claim.statement)
    assert set(claim.cost) == set(SIZES)
    assert len(claim.description) > 60, "the docstring says how the claim is checked"
    assert len(claim.words) > 60, "the statement in words, every symbol defined"
    assert len(claim.meaning) > 30, "what it means for someone who trains networks"
    assert claim.paper_setting, "what the paper did or assumes"


@pytest.mark.parametrize("id", CLAIMS)
def test_stored_evidence_is_of_a_commit_and_of_todays_settings(id):
    for path in RESULTS.glob(f"{id}.*.json"):
        stored = stored_at(path)
        assert not stored.environment.get("commit", "").endswith("-dirty"), f"{path.name} is from a dirty tree"
        assert stands(stored, CLAIMS[id]), f"{path.name} was run with other settings: run it again"


def test_evidence_keeps_the_repository_small():
    drawn = [path.name.rsplit(".", 2)[0] for path in RESULTS.glob("*.json") if stored_at(path).figure is not None]
    twice = sorted({name for name in drawn if drawn.count(name) > 1})
    assert not twice, f"one seed's figure is enough: run further seeds with --numbers-only ({', '.join(twice)})"
    assert sum(path.stat().st_size for path in RESULTS.glob("*.json")) < 20e6


@pytest.mark.parametrize("id", LONGEST_FIRST)
def test_claim_runs_and_says_what_it_found(id):
    result = reproduce(CLAIMS[id], "quick", seed=0)
    evidence = result.evidence
    assert result.verdict is not Verdict.FAILS, evidence.reason()
    stored = {stored_at(path).verdict for path in RESULTS.glob(f"{id}.quick.*.json")}
    if any("not at hand" in check.void for check in evidence.checks):  # as on a machine without the data
        assert result.verdict is Verdict.UNDECIDED
    else:
        assert result.verdict in stored, f"the stored seeds say {', '.join(map(str, stored)) or 'nothing'}"
    assert README_VERDICTS.get(id), "the README has no verdict: run `make readme`"
    assert evidence.reason()
    for check in evidence.checks:
        assert check.void or np.isfinite(check.value), f"{check.name} is {check.value}"
        assert np.isfinite(check.low) or np.isfinite(check.high), f"{check.name} cannot fail"
    assert table(CLAIMS[id], "quick"), "a claim has a table of settings for each size"
    assert table(CLAIMS[id], "full")
    assert all(check.origin for check in (*evidence.checks, *evidence.printed)), "every bar says where it comes from"
    assert evidence.figure is not None
    assert evidence.figure.caption.endswith(".")
    for panel in evidence.figure.panels:
        assert panel.marks
        for mark in panel.marks:
            drawn = mark.z if mark.kind in ("heat", "contour", "image") else mark.y
            assert drawn is not None
            assert np.isfinite(drawn).any()
    if KEEP:
        store.save(result, files.writable(Path(KEEP)))


def test_claims_need_float64():
    claim = next(iter(CLAIMS.values()))
    with jax.enable_x64(False), pytest.raises(RuntimeError, match="jax_enable_x64"):
        reproduce(claim)
