"""Evidence goes to disk and comes back the same."""

import dataclasses
import json
import math
import os
from datetime import datetime, timedelta

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineament.claims import Claim, registry
from lineament.core import versions
from lineament.evidence import Check, Evidence, Verdict
from lineament.evidence.figure import Figure, Mark, Panel
from lineament.execution import encoding, fingerprint, sources, store
from lineament.execution.reproduce import Result, reproduce

pytest_plugins = ["report.faked"]

floats = st.floats(allow_nan=True, allow_infinity=True)
words = st.text(max_size=12)
arrays = hnp.arrays(np.float64, hnp.array_shapes(min_dims=1, max_dims=3, max_side=3), elements=floats)
marks = st.builds(
    Mark,
    st.sampled_from(["line", "points", "band", "bars", "heat", "contour", "image"]),
    st.sampled_from(["theory", "measured", "reference"]),
    *[st.none() | arrays] * 4,
    label=words,
    group=st.integers(0, 9),
)
panels = st.builds(
    Panel,
    st.lists(marks, max_size=2).map(tuple),
    words,
    words,
    words,
    st.sampled_from(["linear", "log", "symlog"]),
    st.sampled_from(["linear", "log", "symlog"]),
    st.none() | st.tuples(floats, floats),
)
figures = st.builds(Figure, st.lists(panels, max_size=2).map(tuple), words, st.integers(1, 4))
checks = st.lists(st.builds(Check, words, floats, floats, floats), min_size=1, max_size=3)
plain_words = words.filter(lambda text: text not in encoding.NOT_FINITE)
settings_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | floats | plain_words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=2),
    max_leaves=5,
)
evidences = st.builds(
    Evidence,
    checks,
    numbers=st.dictionaries(words, floats, max_size=3),
    settings=st.dictionaries(words, settings_values, max_size=3),
    figure=st.none() | figures,
    remarks=st.lists(words, max_size=2),
)


def result(evidence: Evidence, size="quick", seed=0, id="gissin-test") -> Result:
    claim = Claim(id, "Theorem 1", "A title", r"\sigma", f"{__name__}:check", quick="1 s", full="2 s")
    return Result(claim, evidence, size, seed, 1.5, {"jax": "0.9", "device": "cpu: cpu"})


def check(size, key):
    """How it is checked."""
    raise AssertionError("never run")


def same(one, other) -> bool:
    """Equal in type and value, with not-a-number equal to itself and arrays, which are drawn, equal to eight digits."""
    if isinstance(one, np.ndarray):
        close = isinstance(other, np.ndarray) and one.shape == other.shape
        return close and np.allclose(one, other, rtol=1e-7, atol=0, equal_nan=True)
    if isinstance(one, float) and math.isnan(one):
        return isinstance(other, float) and math.isnan(other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if hasattr(one, "__dataclass_fields__"):
        return type(one) is type(other) and all(
            same(getattr(one, name), getattr(other, name)) for name in one.__dataclass_fields__
        )
    return type(one) is type(other) and one == other


@given(evidence=evidences, size=st.sampled_from(["quick", "full"]), seed=st.integers(0, 2**63 - 1))
def test_round_trip(tmp_path_factory, evidence, size, seed):
    folder = tmp_path_factory.mktemp("store")
    kept = store.record(result(evidence, size, seed))
    path = store.save(kept, folder)
    assert path.name == f"gissin-test.{size}.{seed}.json"
    assert same(store.load(path), kept)
    json.loads(path.read_text(encoding="utf-8"), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_what_is_kept(tmp_path):
    evidence = Evidence([Check("gap", 1.0, high=2.0)], [Check("gap", 3.0, high=2.0)], r"\eta", remarks=["Seen."])
    before = datetime.now().astimezone() - timedelta(seconds=2)
    fields = json.loads(store.save(result(evidence, "full", 7), tmp_path).read_text())
    assert fields["schema"] == store.SCHEMA
    assert fields["description"] == "How it is checked."
    assert fields["verdict"] == "holds, corrected"
    assert fields["reason"] == evidence.reason()
    assert fields["command"] == "lineament reproduce gissin-test --size full --seed 7"
    assert fields["fingerprint"] == fingerprint.fingerprint(result(evidence).claim)
    assert fields["environment"] == {"jax": "0.9", "device": "cpu: cpu"}
    assert before <= datetime.fromisoformat(fields["finished"]) <= datetime.now().astimezone()
    assert fields["checks"] == [{"name": "gap", "value": 1.0, "low": "-inf", "high": 2.0, "origin": "", "void": ""}]


def test_what_is_drawn_is_kept_to_eight_digits_and_what_was_found_in_full(tmp_path):
    third = Mark("line", "theory", np.array([1 / 3, -2e-300 / 3]), np.array([np.nan, 12345678.9]))
    evidence = Evidence([Check("c", 1 / 3)], numbers={"n": 1 / 3}, figure=Figure((Panel((third,), "x", "y"),), ""))
    fields = json.loads(store.save(result(evidence), tmp_path).read_text())
    mark = fields["figure"]["panels"][0]["marks"][0]
    assert (mark["x"], mark["y"]) == ([0.33333333, -6.6666667e-301], ["nan", 12345679.0])
    assert fields["numbers"]["n"] == fields["checks"][0]["value"] == 1 / 3


def test_odd_settings_become_plain(tmp_path):
    odd = {"array": np.arange(3), "scalar": np.float32(0.5), "tuple": (1, (2.0,)), "kind": Verdict.HOLDS, "type": int}
    kept = store.load(store.save(result(Evidence([Check("c", np.float64(1.0))], settings=odd)), tmp_path))
    assert kept.settings == {
        "array": [0, 1, 2],
        "scalar": 0.5,
        "tuple": [1, [2.0]],
        "kind": "holds",
        "type": "<class 'int'>",
    }


def test_the_table_of_settings_is_kept_apart(faked, tmp_path):
    kept = store.load(store.save(reproduce("gissin-a"), tmp_path))
    assert kept.table == {"depths": [1, 2, math.inf], "repeats": 3}
    assert kept.settings == {**kept.table, "solver": "<Tsit5>"}
    assert kept.protocol == {"data": "Gaussian", "networks": "3"}
    assert kept.checks[0].origin == "the solver's accuracy"


def test_evidence_of_the_first_schema_is_still_read(faked, tmp_path):
    path = store.save(reproduce("gissin-a"), tmp_path)
    fields = json.loads(path.read_text(encoding="utf-8"))
    fields |= {"schema": 1, "scale": fields.pop("size")}
    for name in ("table", "protocol"):
        del fields[name]
    for check in fields["checks"]:
        del check["origin"], check["void"]
    path.write_text(json.dumps(fields), encoding="utf-8")
    kept = store.load(path)
    assert (kept.size, kept.table, kept.verdict) == ("quick", {}, Verdict.HOLDS)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": 3}, "content is that of gissin-a.quick.3.json"),
        ({"size": "full"}, "content is that of gissin-a.full.0.json"),
        ({"id": "gissin-b"}, "content is that of gissin-b.quick.0.json"),
        ({"title": 3}, "title must be str"),
        ({"checks": [{"name": "gap"}]}, "value"),
        ({"checks": "many"}, "not stored evidence"),
        ({"numbers": [1.0]}, "numbers must be dict"),
        ({"verdict": "proven"}, "proven"),
        ({"environment": ["jax"]}, "environment must be dict"),
        ({"environment": {"jax": 1}}, "environment must hold str"),
        ({"numbers": {"gap": "wide"}}, "numbers must hold float"),
        ({"numbers": {"gap": True}}, "numbers must hold float"),
        ({"remarks": [3]}, "remarks must hold str"),
        ({"protocol": {"data": []}}, "protocol must hold str"),
        ({"seed": False}, "seed must be int"),
        ({"seconds": "long"}, "seconds must be float"),
        ({"finished": 20260101}, "finished must be str"),
        ({"table": "none"}, "table must be dict"),
        ({"figure": {"panels": 3}}, "not stored evidence"),
        ({"id": ["gissin-a"]}, "id must be str"),
    ],
)
def test_evidence_that_contradicts_itself_is_set_aside(faked, tmp_path, change, said):
    path = store.save(reproduce("gissin-a"), tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | change), encoding="utf-8")
    records, problems = store.load_folder(tmp_path)
    assert records == []
    (problem,) = problems
    assert "gissin-a.quick.0.json is not stored evidence" in problem
    assert said in problem


@pytest.mark.parametrize("text", ["[" * 100_000, '{"schema": 2, "x": NaN}', '{"schema": 2}', "\x00", "null"])
def test_files_that_are_no_evidence_are_set_aside(tmp_path, text):
    (tmp_path / "gissin-a.quick.0.json").write_text(text, encoding="utf-8")
    records, problems = store.load_folder(tmp_path)
    assert records == []
    assert len(problems) == 1


def test_summary_is_short_and_strict():
    evidence = Evidence(
        [Check("gap", math.nan, high=1.0)],
        [Check("gap", 2.0, high=1.0)],
        "x",
        numbers={"far": math.inf, "near": 0.5},
    )
    short = store.summary(store.record(result(evidence, "quick", 3)))
    assert list(short) == ["id", "verdict", "reason", "numbers", "size", "seed", "seconds"]
    assert short["numbers"] == {"far": "inf", "near": 0.5, "as printed: gap": 2.0, "gap": "nan"}
    assert (short["verdict"], short["size"], short["seed"], short["seconds"]) == ("fails", "quick", 3, 1.5)
    json.dumps(short, allow_nan=False)


def test_key_check_is_the_one_that_decided():
    passed, failed = Check("a", 0.0, high=1.0), Check("b", 2.0, high=1.0)
    assert store.record(result(Evidence([passed, failed]))).key_check.name == "b"
    assert store.record(result(Evidence([passed, passed]))).key_check.name == "a"


def test_an_error_mid_way_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        store.save(result(Evidence([Check("c", 1.0)])), tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda fields: fields.update(schema=99), "schema"),
        (lambda fields: fields.update(id="../../etc"), "cannot name a page"),
        (lambda fields: fields.update(id="index"), "cannot name a page"),
        (lambda fields: fields.update(verdict="splendid"), "splendid"),
        (lambda fields: fields.update(extra=1), "extra"),
        (lambda fields: fields.pop("seed"), "seed"),
        (lambda fields: fields.update(checks=[]), "no checks"),
    ],
)
def test_what_is_no_evidence_is_refused_by_name(tmp_path, change, said):
    path = store.save(result(Evidence([Check("c", 1.0)])), tmp_path)
    fields = json.loads(path.read_text())
    change(fields)
    path.write_text(json.dumps(fields))
    with pytest.raises(ValueError, match=rf"(?s)gissin-test.quick.0.json is not stored evidence.*{said}"):
        store.load(path)


def test_a_folder_is_read_with_what_is_below_it_and_problems_are_told(tmp_path):
    (tmp_path / "machine").mkdir()
    store.save(result(Evidence([Check("c", 1.0)])), tmp_path)
    store.save(result(Evidence([Check("c", 1.0)]), "full", 4), tmp_path / "machine")
    (tmp_path / "gissin-x.quick.0.json").write_text("{")
    (tmp_path / "notes.json").write_text("{}")
    records, problems = store.load_folder(tmp_path)
    assert {(record.size, record.seed) for record in records} == {("quick", 0), ("full", 4)}
    assert len(problems) == 1
    assert "gissin-x.quick.0.json" in problems[0]


def test_editing_one_claim_leaves_the_others_as_they_are(monkeypatch):
    claims = [registry.find(id) for id in ("gissin-t1", "gissin-t4", "hu-c31")]
    before = [fingerprint.fingerprint(claim) for claim in claims]
    assert len(set(before)) == 3
    read = sources.read

    def edited(module):
        def other(name):
            code = read(name)
            return code._replace(digest="0" * 32) if name == module and code is not None else code

        monkeypatch.setattr(sources, "read", other)
        after = [fingerprint.fingerprint(claim) for claim in claims]
        return [now != then for now, then in zip(after, before, strict=True)]

    assert edited("lineament.claims.gissin.theorem_1") == [True, False, False]
    assert edited("lineament.theory.modes") == [True, True, False]
    assert edited("lineament.evidence.check") == [True, True, True]
    assert edited("lineament.execution.store") == edited("lineament.report.draw") == [False, False, False]
    assert fingerprint.fingerprint(dataclasses.replace(claims[0], kind="experiment")) != before[0]


def test_loaded_evidence_needs_no_claim(faked, tmp_path, monkeypatch):
    path = store.save(reproduce("gissin-a"), tmp_path)
    monkeypatch.setattr(registry, "BUILT_IN", ())
    kept = store.load(path)
    assert kept.verdict is Verdict.HOLDS
    assert kept.description.startswith("Closed form against `odeint`.")
    assert kept.figure is not None
    assert kept.figure.panels[1].marks[0].x.shape == (30,)


def test_a_source_tree_has_no_version():
    assert versions.version("no-such-package") == "source tree"
    assert versions.version("numpy") == np.__version__
