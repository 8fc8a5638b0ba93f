"""The registry: claims by id, claims from other packages, and what is refused."""

import importlib.metadata
import inspect
import subprocess
import sys
import types

import jax
import numpy as np
import pytest

from lineament.claims import Claim, all_claims, find, registry
from lineament.claims.instances import slope
from lineament.evidence import Evidence, Verdict, at_most
from lineament.execution.reproduce import reproduce


def check(size, key):
    """How it is checked."""
    return Evidence([at_most("gap", 0.5, 1.0, "half of one")])


def made(id="gissin-x"):
    return Claim(id, "here", "a claim", "x", f"{__name__}:check", quick="1 s", full="1 s")


def test_claims_are_found_by_id_and_by_place():
    assert find("gissin-t1").place == "Theorem 1"
    assert find("Theorem 3.2").id == find(" theorem 3.2 ").id == "hu-t32"
    with pytest.raises(ValueError, match=r"'Theorem 1' is in more than one paper: cohen-t1, gissin-t1"):
        find("Theorem 1")


def test_unknown_claims_are_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"unknown claim 'gisin-t1'; did you mean gissin-t1"):
        find("gisin-t1")


def test_no_id_is_given_twice(monkeypatch):
    monkeypatch.setitem(sys.modules, "twice", types.SimpleNamespace(CLAIMS=(made(), made())))
    monkeypatch.setattr(registry, "BUILT_IN", ("twice",))
    with pytest.raises(ValueError, match="'gissin-x' is registered twice"):
        all_claims()


def test_listing_claims_imports_nothing_heavy():
    heavy = ("jax", "scipy", "xarray", "matplotlib", "diffrax", "sklearn", "cvxpy")
    code = (
        "import sys; from lineament.claims import all_claims; assert len(all_claims()) > 80;"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_the_source_of_a_check_is_found_without_importing_it():
    claim = find("gissin-t1")
    line = claim.source.path.read_text(encoding="utf-8").splitlines()[claim.source.line - 1]
    assert line.startswith(f"def {claim.check.partition(':')[2]}(")
    assert claim.description == inspect.getdoc(claim.load())
    with pytest.raises(ValueError, match=r"check must name a function of"):
        _ = Claim("gissin-x", "here", "a claim", "x", f"{__name__}:nowhere").source


def test_the_same_seed_gives_the_same_evidence():
    first, again, other = (reproduce("gissin-t1", seed=seed).evidence.checks for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_a_bad_size_is_refused():
    with pytest.raises(ValueError, match="size must be one of 'quick', 'full'; got 'huge'"):
        reproduce(made(), "huge")  # type: ignore[arg-type]


@pytest.fixture
def entry_point(monkeypatch):
    def install(load):
        point = types.SimpleNamespace(load=load, value="elsewhere:CLAIMS")
        monkeypatch.setattr(
            importlib.metadata, "entry_points", lambda group: [point] if group == "lineament.claims" else []
        )

    return install


def test_other_packages_add_claims_by_entry_point(entry_point):
    entry_point(lambda: (made("wu-t9"),))
    assert list(all_claims())[-1] == "wu-t9"
    assert reproduce("wu-t9").verdict is Verdict.HOLDS


def test_a_broken_package_is_named_and_left_out(entry_point):
    entry_point(lambda: (made("wu-t9"), "not a claim"))
    with pytest.warns(RuntimeWarning, match="'elsewhere:CLAIMS' are left out: an entry point of .* must name"):
        assert "gissin-t1" in all_claims()
    with pytest.warns(RuntimeWarning):
        assert "wu-t9" not in all_claims()


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


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("raise SystemExit", "it ends the program"),
        ("raise KeyError", "KeyError"),
        ("raise ValueError('no such thing')", "no such thing"),
    ],
)
def test_a_file_that_ends_the_program_or_raises_is_refused(tmp_path, monkeypatch, text, told):
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / f"ends_{abs(hash(text))}.py"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"must define CLAIMS, a sequence of Claim: {told}"):
        registry.in_file(path)


@pytest.mark.parametrize("id", ["../mine-edge", "mine edge", "\x1b[31m-red", "", "-x", "index", "a/b"])
def test_an_id_that_could_not_name_a_file_is_refused(monkeypatch, id):
    monkeypatch.setitem(sys.modules, "odd_ids", types.SimpleNamespace(CLAIMS=(made(id),)))
    monkeypatch.setattr(registry, "BUILT_IN", ("odd_ids",))
    with pytest.raises(ValueError, match="a claim's id, which names files, must begin with"):
        all_claims()


def test_a_check_may_stand_in_a_file_with_a_byte_order_mark(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "marked_file.py").write_bytes(b'\xef\xbb\xbfdef check(size, key):\n    """How."""\n')
    claim = Claim("mine-bom", "here", "a claim", "x", "marked_file:check")
    assert (claim.source.line, claim.description) == (1, "How.")
