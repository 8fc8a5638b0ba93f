"""The history of benchmarks says what got slower, and nothing else."""

import dataclasses

import pytest
from benchmarks import history
from benchmarks.harness import Row

HERE = {"processor": "a", "machine": "x86_64", "cores": "2"}
ROW = Row("modes", "ours", "theirs", ratio=4.0, low=3.5, high=4.5, bar=None, unit="steps", ours_per_second=4.0,
          other_per_second=1.0)  # fmt: skip


def run(ratio, spread=0.5, environment=HERE, **changes):
    row = dataclasses.replace(ROW, ratio=ratio, low=ratio - spread, high=ratio + spread, **changes)
    return history.entry([row], environment)


def test_what_was_appended_is_read_in_order(tmp_path):
    path = tmp_path / "bench" / "history.jsonl"
    assert history.read(path) == []
    runs = [run(1.0), run(2.0)]
    for entry in runs:
        history.append(path, entry)
    assert history.read(path) == runs


@pytest.mark.parametrize(("ratio", "slower"), [(2.9, True), (3.1, False), (4.0, False), (9.0, False)])
def test_a_ratio_is_slower_when_its_whole_spread_lies_below(ratio, slower):
    said = history.slower(run(ratio), [run(4.0)])
    assert bool(said) == slower
    assert all("modes: ours against theirs was 4.00×" in line for line in said)


@pytest.mark.parametrize("other", [run(4.0, case="descent"), run(4.0, environment=HERE | {"processor": "b"})])
def test_other_cases_and_machines_are_left_out(other):
    assert history.slower(run(1.0), [run(4.0)])
    assert not history.slower(run(1.0), [other])


def test_one_lucky_run_does_not_count():
    usual = [run(4.0)] * 4
    assert not history.slower(run(3.8), [*usual, run(8.0)])
    assert history.slower(run(3.8), [run(8.0)] * 5 + usual[:2]), "the median of the last five"
