"""Runs go on from where they stopped, survive what goes wrong in one claim, and leave no process behind."""

import os
import signal
import subprocess
import sys
import time

import pytest

from lineament.claims import registry
from lineament.execution import campaign, fingerprint, store
from lineament.execution.campaign import Failure, Job
from lineament.execution.engines import Processes, cores
from lineament.execution.reproduce import reproduce
from lineament.execution.store import Stored
from lineament.report.survey import survey

pytest_plugins = ["report.faked"]


def jobs(folder=None, ids=("cohen-d", "gissin-a", "gissin-b", "gissin-c"), seed=0):
    return [Job(registry.find(id), "quick", seed, folder) for id in ids]


def chosen(*ids):
    return [registry.find(id) for id in ids] or list(registry.all_claims().values())


def evidence(folder):
    return sorted(path.name for path in (folder / "evidence").glob("*.json"))


def stamps(folder):
    return {path.name: path.stat().st_mtime_ns for path in (folder / "evidence").glob("*.json")}


def test_outcomes_come_in_order_and_are_stored(faked, tmp_path):
    begun = []
    outcomes = list(campaign.run(jobs(tmp_path), begin=begun.append))
    assert begun == [outcome.id for outcome in outcomes] == ["cohen-d", "gissin-a", "gissin-b", "gissin-c"]
    assert all(isinstance(outcome, Stored) for outcome in outcomes)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{id}.quick.0.json" for id in sorted(begun)]


def test_a_claim_that_raises_is_told_and_the_rest_goes_on(faked, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKED_RAISE", "1")
    first, *rest = campaign.run(jobs(tmp_path))
    assert isinstance(first, Failure)
    assert first.message.startswith("RuntimeError: the solver gave up (faked_claims_")
    assert len(rest) == 3
    assert all(isinstance(outcome, Stored) for outcome in rest)
    assert not (tmp_path / "cohen-d.quick.0.json").exists()


def test_a_figure_that_cannot_be_drawn_keeps_evidence_from_being_stored(faked, tmp_path):
    def fail(record, folder):
        raise ValueError("no ink")

    (outcome,) = campaign.run([Job(registry.find("gissin-a"), "quick", 0, tmp_path, fail)])
    assert isinstance(outcome, Failure)
    assert outcome.message.startswith("ValueError: no ink")
    assert list(tmp_path.iterdir()) == []


def test_what_is_finished_is_not_run_again_unless_the_source_changed(faked, tmp_path, monkeypatch):
    made = survey(chosen(), tmp_path)
    assert len(made.outcomes) == made.wanted == 4
    assert evidence(tmp_path) == [f"{id}.quick.0.json" for id in ("cohen-d", "gissin-a", "gissin-b", "gissin-c")]
    before = stamps(tmp_path)
    assert len(survey(chosen(), tmp_path).outcomes) == 4
    assert stamps(tmp_path) == before
    # Another seed is another run, kept beside the first.
    survey(chosen("gissin-a"), tmp_path, seed=1)
    assert {name: time for name, time in stamps(tmp_path).items() if name in before} == before
    assert "gissin-a.quick.1.json" in evidence(tmp_path)
    survey(chosen("gissin-b"), tmp_path, fresh=True)
    changed = {name for name, time in stamps(tmp_path).items() if before.get(name) not in (None, time)}
    assert changed == {"gissin-b.quick.0.json"}
    monkeypatch.setattr(fingerprint, "fingerprint", lambda claim: "another")
    assert campaign.finished(jobs(tmp_path / "evidence")) == {}


def test_unreadable_evidence_is_run_again(faked, tmp_path):
    survey(chosen("gissin-c"), tmp_path)
    path = tmp_path / "evidence" / "gissin-c.quick.0.json"
    path.write_text("{")
    made = survey(chosen("gissin-c"), tmp_path)
    assert made.unread == []
    assert store.load(path).verdict == "differs"


def test_an_interrupted_survey_keeps_what_is_finished_and_goes_on(faked, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKED_INTERRUPT", "1")
    made = survey(chosen(), tmp_path)
    assert made.interrupted
    assert [outcome.id for outcome in made.outcomes] == ["cohen-d", "gissin-a", "gissin-b"]
    assert made.index.is_file()
    assert "not run" in (tmp_path / "gissin-c.html").read_text(encoding="utf-8")
    before = stamps(tmp_path)
    monkeypatch.delenv("FAKED_INTERRUPT")
    again = survey(chosen(), tmp_path)
    assert not again.interrupted
    assert len(again.outcomes) == 4
    assert {name: stamps(tmp_path)[name] for name in before} == before


def test_fresh_drops_evidence_first_so_that_it_can_be_interrupted_too(faked, tmp_path, monkeypatch):
    survey(chosen(), tmp_path)
    monkeypatch.setenv("FAKED_INTERRUPT", "1")
    survey(chosen(), tmp_path, fresh=True)
    assert "gissin-c.quick.0.json" not in evidence(tmp_path)
    assert len(evidence(tmp_path)) == 3


def test_evidence_from_elsewhere_is_shown_and_broken_files_are_told(faked, tmp_path):
    elsewhere = tmp_path / "results"
    elsewhere.mkdir()
    store.save(reproduce("gissin-a", "full", 2), elsewhere)
    (elsewhere / "gissin-b.full.0.json").write_text("[]")
    made = survey(chosen("gissin-a"), tmp_path / "atlas", elsewhere=[elsewhere])
    assert len(made.unread) == 1
    assert "gissin-b.full.0.json" in made.unread[0]
    page = (tmp_path / "atlas" / "gissin-a.html").read_text(encoding="utf-8")
    assert 'id="quick"' in page
    assert 'id="full"' in page


def test_workers_store_and_a_death_costs_one_claim(faked, tmp_path, monkeypatch):
    monkeypatch.setenv("FAKED_DIE", "1")
    outcomes = {outcome.id: outcome for outcome in campaign.run(jobs(tmp_path), workers=2)}
    died = outcomes.pop("gissin-c")
    assert isinstance(died, Failure)
    assert "process died" in died.message
    assert {id: str(outcome.verdict) for id, outcome in outcomes.items()} == {
        "cohen-d": "holds",
        "gissin-a": "holds",
        "gissin-b": "holds, corrected",
    }
    assert len(list(tmp_path.iterdir())) == 3


def descendants(pid: int) -> set[int]:
    found = set()
    for path in os.listdir("/proc"):
        if path.isdigit():
            try:
                with open(f"/proc/{path}/stat") as stat:
                    parent = int(stat.read().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            if parent == pid:
                found |= {int(path)} | descendants(int(path))
    return found


@pytest.mark.skipif(not os.path.isdir("/proc"), reason="reads the process table")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_writes_pages_and_no_process_outlives_its_parent(faked, tmp_path, ending):
    # Ctrl-C on the parent only: its workers must end with it, though one of them would sleep for ten minutes.
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's `&` has it ignored
    )
    script += f"import lineament.claims.registry as r; r.BUILT_IN = ({faked!r},)\nimport lineament.cli as c, sys\n"
    script += "if __name__ == '__main__': sys.exit(c.main(['atlas', '--jobs', '2', '--out', sys.argv[1]]))"
    (tmp_path / "go.py").write_text(script)
    where = os.path.dirname(registry.find("gissin-a").source.path)
    environment = {**os.environ, "FAKED_SLEEP": "1", "PYTHONPATH": os.pathsep.join([where, *sys.path])}
    out = tmp_path / "atlas"
    process = subprocess.Popen(
        [sys.executable, str(tmp_path / "go.py"), str(out)],
        env=environment,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    while len(list((out / "evidence").glob("*.json"))) < 3:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.1)
    children = descendants(process.pid)
    assert children
    process.send_signal(ending)
    stdout, stderr = process.communicate(timeout=300)
    if ending == signal.SIGINT:
        assert process.returncode == 130
        assert "interrupted; 3 of 4 claims are kept" in stderr
        assert "Traceback" not in stderr
        assert str(out / "index.html") in stdout.replace("\n", "")
        assert "not run" in (out / "gissin-c.html").read_text(encoding="utf-8")
    while any(os.path.exists(f"/proc/{child}") for child in children):
        assert time.monotonic() < deadline, "a worker outlived its parent"
        time.sleep(0.1)


def test_jax_is_made_ready(tmp_path):
    code = (
        "import os, jax; from lineament.execution import worker; worker.prepare(short=True);"
        "print(jax.config.jax_enable_x64, jax.config.jax_compilation_cache_dir,"
        "jax.config.jax_persistent_cache_min_entry_size_bytes, jax.numpy.ones(1).sum(), os.environ['XLA_FLAGS']);"
        "from jax._src.interpreters import mlir; made = mlir.make_ir_context(); worker.prepare(short=True);"
        "print(made is mlir.make_ir_context());"
        "made.__enter__(); print(made is mlir.make_ir_context()); made.__exit__(None, None, None);"
        "print(hasattr(mlir, '_thread_local_context'))"
    )

    def told(**variables):
        own = {name: os.environ[name] for name in os.environ.keys() - {"JAX_COMPILATION_CACHE_DIR", "XLA_FLAGS"}}
        environment = own | {"XDG_CACHE_HOME": str(tmp_path / "cache"), "JAX_PLATFORMS": "cpu"} | variables
        return subprocess.check_output([sys.executable, "-c", code], env=environment, text=True).split()

    quickly = "--xla_backend_optimization_level=1"  # and the compiler did not end over a flag that it does not know
    ready = told()
    assert ready[:5] == ["True", str(tmp_path / "cache" / "lineament" / "jax"), "-1", "1.0", quickly]
    keeps = ready[-1]  # whether this JAX keeps contexts itself, for programs within another too
    assert ready[-3:-1] == ["True", keeps], "programs share a context, but for those within another"
    mine = told(JAX_COMPILATION_CACHE_DIR=str(tmp_path / "mine"), XLA_FLAGS="--xla_backend_optimization_level=2")
    assert mine[:-3] == ["True", str(tmp_path / "mine"), "0", "1.0", "--xla_backend_optimization_level=2"]
    (tmp_path / "file").write_text("")
    assert told(XDG_CACHE_HOME=str(tmp_path / "file"))[:2] == ["True", "None"]


def test_a_worker_keeps_to_its_share_of_threads(monkeypatch):
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NPROC"):
        monkeypatch.delenv(name, raising=False)
    with Processes(1) as pool:
        assert pool.threads == cores()
        assert pool.submit(os.getenv, "NPROC").result() == str(cores())
        assert pool.submit(os.getenv, "OMP_NUM_THREADS").result() == str(cores())
