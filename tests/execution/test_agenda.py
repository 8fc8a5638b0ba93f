"""A campaign does what tells most first, and says how long it will take."""

import json
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from lineament.claims import Claim, find
from lineament.evidence import Check, Verdict
from lineament.execution import agenda, campaign, engines, store, unattended
from lineament.execution.campaign import Job
from lineament.execution.store import Stored

SETTLED = Stored(
    id="a-x", paper="a", place="", title="", statement="", description="", kind="experiment", verdict=Verdict.HOLDS,
    reason="", checks=(Check("c", 0.0, high=1.0),), printed=(), correction="", numbers={}, settings={}, remarks=(),
    figure=None, size="full", seed=0, seconds=50.0, environment={}, fingerprint="", finished="2026-01-01", command="",
    table={"n": 1},
)  # fmt: skip


def claim(id, full="2 min on an H200"):
    return Claim(id, "", "", "", "", full=full)


def stored(id, **changes):
    return replace(SETTLED, id=id, **changes)


def order(jobs, records=()):
    return [(item.job.id, item.job.seed) for item in agenda.agenda(jobs, records)]


def test_the_disputed_come_first_then_the_absent_then_the_old_then_further_seeds():
    records = [
        stored("a-settled"),
        stored("a-old", table={}),
        stored("a-differs", verdict=Verdict.DIFFERS),
        stored("a-quick", size="quick"),
    ]
    jobs = [Job(claim(id), "full", seed) for id in ("a-settled", "a-old", "a-differs", "a-quick") for seed in (1, 2)]
    assert order(jobs, records) == [
        ("a-differs", 1), ("a-quick", 1), ("a-differs", 2), ("a-old", 1),
        ("a-settled", 1), ("a-settled", 2), ("a-old", 2), ("a-quick", 2),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("records", "rank"),
    [
        ([], agenda.ABSENT),
        ([stored("a-x", size="quick")], agenda.ABSENT),
        ([stored("a-x", size="quick", verdict=Verdict.UNDECIDED)], agenda.DISPUTED),
        ([stored("a-x", verdict=Verdict.UNDECIDED)], agenda.DISPUTED),
        ([stored("a-x", verdict=Verdict.FAILS)], agenda.DISPUTED),
        ([stored("a-x"), stored("a-x", seed=1, verdict=Verdict.CORRECTED)], agenda.DISPUTED),
        ([stored("a-x"), stored("a-x", size="quick", verdict=Verdict.CORRECTED)], agenda.DISPUTED),
        ([stored("a-x"), stored("a-x", size="quick")], agenda.FURTHER),
        ([stored("a-x", table={}), stored("a-x", size="quick")], agenda.EARLIER),
    ],
)
def test_a_dispute_is_read_off_what_is_stored(records, rank):
    found, reason = agenda.dispute(records, "full")
    assert found == rank
    assert reason


def test_cheap_runs_come_before_long_ones():
    jobs = [Job(claim("a-long", "1 h"), "full", 0), Job(claim("a-short", "3 s"), "full", 0)]
    assert order(jobs) == [("a-short", 0), ("a-long", 0)]


def test_time_is_that_of_the_last_run_or_what_the_claim_says():
    job = Job(claim("a-x"), "full", 3)
    assert agenda.seconds(job, []) == 120.0
    assert agenda.seconds(job, [stored("a-x", size="quick", seconds=1.0)]) == 120.0
    runs = [stored("a-x", seconds=40.0, finished="2026-02-01"), stored("a-x", seconds=70.0, finished="2026-01-01")]
    assert agenda.seconds(job, runs) == 40.0


@pytest.mark.parametrize(
    ("words", "seconds"),
    [("5 s", 5), ("1.5 min", 90), ("3 min on one core", 180), ("2 h on an H200 (estimate)", 7200),
     ("a while", agenda.UNKNOWN), ("", agenda.UNKNOWN)],
)  # fmt: skip
def test_costs_are_read_in_words(words, seconds):
    assert agenda.in_words(words) == seconds


def test_what_does_not_fit_is_passed_over():
    items = [SimpleNamespace(seconds=seconds) for seconds in (50.0, 80.0, 40.0, 10.0)]
    assert [item.seconds for item in agenda.within(items, 100.0)] == [50.0, 40.0, 10.0]
    assert agenda.within(items, 5.0) == []


def on_a_bare_host(*arguments):
    """Run without packages that a borrowed machine may not have; the command line itself needs one of them."""
    absent = ("pydantic", "typer", "rich", "cvxpy", "torch", "matplotlib", "jinja2", "platformdirs")
    code = (
        f"import sys; sys.modules |= dict.fromkeys({absent})\n"
        f"from lineament.execution import unattended; unattended.main({list(arguments)!r})"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_a_plan_is_made_on_a_bare_host(tmp_path):
    told = on_a_bare_host("hu-k", "hu-i", "--seeds", "0-1", "--out", str(tmp_path), "--plan", "--minutes", "1")
    assert told.returncode == 0, told.stderr
    assert [line.split()[0] for line in told.stdout.splitlines()] == ["hu-i", "hu-k", "2"], told.stdout
    assert "2 of 4 missing runs" in told.stdout
    assert not list(tmp_path.iterdir())


def test_what_is_missing_is_run_and_stored_on_a_bare_host(tmp_path, monkeypatch):
    monkeypatch.setenv("LINEAMENT_COMMIT", "abc1234")
    command = ("cohen-c1", "--size", "quick", "--seeds", "5-6", "--out", str(tmp_path))
    told = on_a_bare_host(*command)
    assert told.returncode == 0, told.stderr
    assert [json.loads(line)["verdict"] for line in told.stdout.splitlines()[:-1]] == ["holds", "holds"]
    kept = [store.load(tmp_path / f"cohen-c1.quick.{seed}.json") for seed in (5, 6)]
    assert [record.figure is not None for record in kept] == [True, False]
    assert unattended.missing(tmp_path, ["cohen-c1"], "quick", [5, 6]) == [], "the same command has nothing left to do"


def test_a_run_that_would_not_end_in_time_is_not_begun(tmp_path):
    items = unattended.missing(tmp_path, ["hu-k"], "full", [0])
    assert unattended.run(items, 1.0, pytest.fail) == 0


def test_two_campaigns_share_a_machine_by_what_claims_say_of_it(tmp_path):
    ids = ("hu-k", "hacohen-f2")
    assert [item.job.id for item in unattended.missing(tmp_path, ids, seeds=[0], on="gpu")] == ["hacohen-f2"]
    assert [item.job.id for item in unattended.missing(tmp_path, ids, seeds=[0], on="cpu")] == ["hu-k"]
    assert len(unattended.missing(tmp_path, ids, seeds=[0])) == 2


def test_further_seeds_may_be_stored_without_any_figure(tmp_path):
    figures = {
        numbers_only: [
            item.job.with_figure for item in unattended.missing(tmp_path, ["hu-k"], numbers_only=numbers_only)
        ]
        for numbers_only in (False, True)
    }
    assert figures == {False: [True, False, False], True: [False, False, False]}


def test_several_claims_run_at_a_time_on_cores_alone(tmp_path):
    told = on_a_bare_host(
        "cohen-c1", "--size", "quick", "--seeds", "5-6", "--out", str(tmp_path), "--on", "cpu", "--jobs", "2"
    )
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines()[-1] == "2 of 2 missing runs are there now"
    kept = [store.load(tmp_path / f"cohen-c1.quick.{seed}.json") for seed in (5, 6)]
    assert {record.environment["device"] for record in kept} == {"cpu: cpu"}


def test_a_long_run_is_passed_over_for_a_shorter_one(tmp_path):
    takes = {"cohen-c1": 1e6, "hu-k": 0.0}
    jobs = [Job(find(id), "quick", 0, tmp_path) for id in takes]
    (outcome,) = campaign.run(jobs, fits=lambda job: takes[job.id] < 60)
    assert outcome.id == "hu-k"
    assert list(tmp_path.iterdir()) == [tmp_path / "hu-k.quick.0.json"]


def test_more_workers_than_devices_share_them():
    with engines.Processes(3, devices=2) as processes:
        assert [device for device, _ in processes.idle] == [0, 1, 0]
