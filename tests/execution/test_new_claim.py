"""A claim to begin with: what `lineament new-claim` writes runs, holds, and fails where its forecast is wrong."""

import importlib
import sys

import jax
import pytest

from lineament.claims import in_file
from lineament.evidence import Verdict
from lineament.execution import new_claim
from lineament.execution.reproduce import reproduce


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield new_claim.write("mine-first", tmp_path)
    for name in ("mine_first", "test_mine_first"):
        sys.modules.pop(name, None)


def test_the_claim_holds_and_its_own_tests_pass(written, monkeypatch):
    module, test, _ = written
    (claim,) = in_file(module)
    result = reproduce(claim)
    assert result.verdict == Verdict.HOLDS
    assert result.evidence.checks[0].value > 1e-12, "two routes never agree to the last digit"
    checks = importlib.import_module(test.stem)
    checks.test_its_bar_is_told_and_can_be_missed(result)
    checks.test_figure_and_numbers_are_there(result)
    checks.test_it_fails_where_the_statement_is_wrong(monkeypatch)


def test_ids_that_are_no_ids_or_taken_are_refused(tmp_path):
    for id in ("Mine-edge", "mine", "mine-", "-edge", "mine edge"):
        with pytest.raises(ValueError, match="id must be a key, a hyphen and a short name"):
            new_claim.write(id, tmp_path)
    with pytest.raises(ValueError, match="there is a claim 'gissin-t1' already"):
        new_claim.write("gissin-t1", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_named_like_another_module_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "jax.py").write_text("CLAIMS = ()")
    assert jax.__name__ in sys.modules
    with pytest.raises(ValueError, match=r"must define CLAIMS|must have a name of its own"):
        in_file(tmp_path / "jax.py")
