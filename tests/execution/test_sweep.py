"""Sweeps run what is missing, survive what fails, and give the numbers that a loop would give."""

import concurrent.futures
import os
import signal
import subprocess
import sys
import textwrap
import time

import jax
import numpy as np
import pytest

import lineament as la
from lineament.claims import registry
from lineament.execution import campaign, engines, files, open_experiment, points, worker
from lineament.execution.engines import EngineError
from lineament.execution.shelf import StoreError

pytest_plugins = ["report.faked"]
GRID = {"a": range(4), "b": [0.5, 1.5]}


def trial(a, b):
    trial.runs.append((a, b))  # not a global of its own: that would be a constant that it depends on
    if a == 3:
        raise ValueError("three is too many")
    return {"sum": a + b, "curve": np.arange(3) * b}


trial.runs = RUNS = []


@pytest.fixture(autouse=True)
def _forget():
    RUNS.clear()


def go(store, grid=None, function=trial, **options):
    return la.sweep(function, grid or GRID, store=store, workers=1, progress=False, **options)


def test_a_sweep_is_what_a_loop_gives_and_the_same_sweep_runs_nothing(tmp_path):
    found = go(tmp_path)
    assert dict(found.sizes) == {"a": 4, "b": 2, "curve_0": 3}
    for a in range(3):
        for b in (0.5, 1.5):
            assert float(found["sum"].sel(a=a, b=b)) == a + b
            assert np.array_equal(found["curve"].sel(a=a, b=b), np.arange(3) * b)
    assert list(found["status"].sel(b=0.5).values) == ["done", "done", "done", "failed"]
    assert found["reason"].values[3, 0].startswith("ValueError: three is too many (test_sweep.py, line")
    assert len(RUNS) == 8
    again = go(tmp_path)
    assert again.identical(found)
    assert len(RUNS) == 8


def test_a_larger_grid_runs_what_is_missing_and_failures_only_when_asked(tmp_path):
    go(tmp_path)
    RUNS.clear()
    go(tmp_path, {"b": [0.5, 1.5, 2.5], "a": range(4)})
    assert [(a, 2.5) for a in range(4)] == RUNS
    RUNS.clear()
    go(tmp_path, retry=True)
    assert RUNS == [(3, 0.5), (3, 1.5)]


def test_a_changed_function_runs_again_and_why_says_what_changed(tmp_path):
    factor = 1.0
    one = lambda a: a * factor  # noqa: E731
    go(tmp_path, {"a": [1, 2]}, one)
    factor = 2.0
    changed = go(tmp_path, {"a": [1, 2]}, one)
    assert list(changed["value"].values) == [2.0, 4.0]
    store = la.Store(tmp_path)
    assert len(store.experiments()) == 2
    assert "the value of factor" in store.why({"a": 1})
    assert "nothing has changed" not in store.why({"a": 1})
    assert "no stored point" in store.why({"a": 9})


def test_zip_and_where(tmp_path):
    found = go(tmp_path, {"a": [0, 1, 2], "b": [0.0, 1.0, 2.0]}, zip=("a", "b"), where=lambda a: a != 1)
    assert found["sum"].dims == ("a_b",)
    assert list(found["status"].values) == ["done", "missing", "done"]
    assert np.array_equal(found["b"], [0.0, 1.0, 2.0])
    assert RUNS == [(0, 0.0), (2, 2.0)]


def test_partial_results_open_while_it_runs(tmp_path):
    seen = []

    def peek(a):
        if a == 2:
            worker.INTERVAL, kept = -1.0, worker.INTERVAL
            seen.append(kept)
        if a == 4:
            seen.append(la.Store(tmp_path).open()["status"].values.tolist())
        return a

    before = worker.INTERVAL
    try:
        go(tmp_path, {"a": range(6)}, peek)
    finally:
        worker.INTERVAL = before
    assert seen[-1] == ["done"] * 4 + ["missing"] * 2


def test_runs_are_listed_compared_and_deleted(tmp_path):
    go(tmp_path)
    store = la.Store(tmp_path)
    (one,) = store.experiments()
    assert (one.name, one.points, one.states) == ("trial", 8, {"done": 6, "failed": 2})
    addresses = {tuple(row.point.values()): address for address, row in store.points()}
    told = store.compare(addresses[1, 0.5], addresses[2, 0.5])
    assert "a: 1 → 2" in told
    assert "sum: 1.5 → 2.5" in told
    assert "curve: the same" in told
    assert "(a=1, b=0.5)" in store.delete(addresses[1, 0.5][:10])
    assert store.experiments()[0].points == 7
    RUNS.clear()
    go(tmp_path)
    assert RUNS == [(1, 0.5)]
    store.delete(one.address)
    assert store.experiments() == []
    with pytest.raises(ValueError, match="experiment must be one that the store holds"):
        store.open()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"experiment": 3}, "experiment must be a function"),
        ({"experiment": lambda c: c}, "experiment must be a function of a, b; got one that takes c"),
        ({"experiment": lambda a: a}, "does not take b"),
        ({"store": 3}, "store must be a path"),
        ({"engine": "dusk"}, "engine must be"),
        ({"engine": 3}, "engine must be"),
        ({"grid": 3}, "grid must be a mapping"),
    ],
)
def test_bad_arguments_are_refused(tmp_path, arguments, said):
    given = {"experiment": trial, "grid": GRID, "store": tmp_path / "runs"} | arguments
    with pytest.raises(ValueError, match=said):
        la.sweep(given.pop("experiment"), given.pop("grid"), progress=False, **given)
    assert not (tmp_path / "runs").exists()


def test_a_store_that_cannot_be_written_to_is_one_line_and_nothing_is_run(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write to the store"):
        go(tmp_path / "file")
    assert RUNS == []


def test_a_disk_that_fills_ends_the_sweep_with_a_line_and_it_goes_on_later(tmp_path, monkeypatch):
    write, left = files.write, [2]  # parts for which there is room

    def full(path, *given, **how):
        left[0] -= path.suffix == ".zip"
        if left[0] < 0:
            raise OSError(28, "No space left on device")
        return write(path, *given, **how)

    monkeypatch.setattr(worker, "INTERVAL", -1.0)
    monkeypatch.setattr(files, "write", full)
    with pytest.raises(StoreError, match=r"No space left on device.*\(2 of 4 points are stored\)"):
        go(tmp_path, {"a": [0, 1, 2, 4], "b": [1.0]})
    left[0] = 9
    RUNS.clear()
    assert (go(tmp_path, {"a": [0, 1, 2, 4], "b": [1.0]})["status"] == "done").all()
    assert RUNS == [(2, 1.0), (4, 1.0)]


def test_any_executor_will_do(tmp_path):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = la.sweep(trial, GRID, store=tmp_path, engine=pool, progress=False)
    assert (found["status"].sel(a=[0, 1, 2]) == "done").all()


def test_a_worker_that_is_not_like_the_others_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "_alike", set())
    monkeypatch.setattr(worker, "describe", lambda packages, precision: points.Where({"python": "2"}, "", ""))
    with pytest.raises(EngineError, match=r"the worker on .* has python|has numpy None"):
        go(tmp_path)
    assert RUNS == []


def test_processes_run_a_script_without_a_guard_and_a_death_costs_a_retry(tmp_path):
    # A script that sweeps at its top level: a spawned process must not run it again.
    script = """
        import os, sys
        import lineament as la

        def deadly(a, mark=sys.argv[1] + "/mark"):
            if a == 1:
                os._exit(3)  # every time
            if a == 2 and not os.path.exists(mark):
                open(mark, "w").close()
                os._exit(3)  # once
            return a

        found = la.sweep(deadly, {"a": range(5)}, store=sys.argv[1] + "/runs", workers=2, progress=False)
        print(found["status"].values.tolist(), found["reason"].values[1])
    """
    (tmp_path / "go.py").write_text(textwrap.dedent(script))
    command = [sys.executable, str(tmp_path / "go.py"), str(tmp_path)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("['done', 'failed', 'done', 'done', 'done'] its process died")
    assert "(3 times)" in told.stdout


@pytest.fixture(scope="module")
def problem():
    X = np.random.default_rng(0).normal(size=(20, 3))
    return la.problems.regression(X, X @ np.diag([3.0, 2.0, 1.0]))


def training(problem, train=None, **arguments):
    given = {"steps": 20} if train is None else {}
    return la.experiment(
        train or la.descend,
        model=lambda depth: la.models.DeepLinear((3,) * (depth + 1)),
        problem=problem,
        start=lambda model, key, start_scale: la.starts.gaussian(model, key, start_scale=start_scale),
        **(given | arguments),
    )


OPEN = {"depth": [1, 2], "start_scale": [0.01, 1.0], "step_size": [0.01, 0.1, 50.0], "seed": range(2)}


def test_members_of_one_shape_are_one_program_and_each_is_as_if_alone(tmp_path, problem):
    compiled = []
    listener = lambda event, seconds, **_: compiled.append(event) if "backend_compile" in event else None  # noqa: E731
    open_training = training(problem)
    open_training(depth=1, start_scale=1.0, step_size=0.1, seed=0)
    jax.monitoring.register_event_duration_secs_listener(listener)
    try:
        found = go(tmp_path, OPEN, open_training)
    finally:
        jax.monitoring.unregister_event_duration_listener(listener)
    # For each of the two shapes a descent and a start; a few programs of one line besides. Not one for each point.
    assert len(compiled) <= 16
    assert found["loss"].dims == ("depth", "start_scale", "step_size", "seed", "step")
    assert (found["status"].sel(step_size=[0.01, 0.1]) == "done").all()
    assert (found["status"].sel(step_size=50.0, depth=2) == "diverged").all()
    assert found["reason"].sel(step_size=50.0, depth=2).values[0, 0].startswith("diverged at step")
    for point in ({"depth": 2, "start_scale": 1.0, "step_size": 0.1, "seed": 1},
                  {"depth": 1, "start_scale": 0.01, "step_size": 0.01, "seed": 0}):  # fmt: skip
        alone = open_training(**point)
        np.testing.assert_allclose(found["loss"].sel(point), alone.loss, rtol=1e-10)


def test_members_draw_their_batches_as_if_alone(tmp_path, problem):
    together, train = [], open_experiment.Open._train
    open_training = training(problem, step_size=0.1, batch_size=2, key=lambda seed: seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            open_experiment.Open, "_train", lambda self, some: together.append(len(some)) or train(self, some)
        )
        found = go(tmp_path, {"depth": [2], "start_scale": [0.1, 1.0], "seed": range(3)}, open_training)
    assert together == [6]
    for seed in range(3):
        alone = open_training(depth=2, start_scale=1.0, seed=seed)
        np.testing.assert_allclose(found["loss"].sel(depth=2, start_scale=1.0, seed=seed), alone.loss, rtol=1e-10)


def test_a_store_names_its_experiments(tmp_path):
    assert repr(la.Store(tmp_path)) == f"<Store {str(tmp_path)!r}: empty>"
    go(tmp_path)
    assert f"<Store {str(tmp_path)!r}: trial (" in repr(la.Store(tmp_path))


def test_a_shard_that_does_not_fit_is_halved(tmp_path, problem, monkeypatch):
    sizes, train = [], open_experiment.Open._train

    def small(self, members):
        sizes.append(len(members))
        if len(members) > 3:
            raise RuntimeError("RESOURCE_EXHAUSTED: out of memory while trying to allocate 9 bytes")
        return train(self, members)

    monkeypatch.setattr(open_experiment.Open, "_train", small)
    grid = {"depth": [1], "start_scale": [1.0], "step_size": [0.01], "seed": range(8)}
    found = go(tmp_path, grid, training(problem))
    assert (found["status"] == "done").all()
    assert sizes == [8, 4, 2, 2, 2, 2]
    sizes.clear()
    monkeypatch.setattr(open_experiment, "_memory", lambda: 3 * 2 * (8 * 9 * 8 + 3 * 21 * 8))
    go(tmp_path / "fitted", grid, training(problem))
    assert sizes == [3, 3, 2], "members are cut to memory before anything is tried"


def test_flows_and_those_that_depend_on_others_are_trained_alone(tmp_path, problem):
    grid = {"depth": [2], "start_scale": [0.1, 1.0], "seed": [0]}
    open_flow = training(problem, la.flow, until=3.0)
    found = go(tmp_path, grid, open_flow)
    np.testing.assert_allclose(
        found["loss"].sel(start_scale=0.1).values[0, 0], open_flow(depth=2, start_scale=0.1, seed=0).loss, rtol=1e-6
    )
    endless = training(problem, la.flow)
    assert endless._apart({"depth": 2, "start_scale": 0.1, "seed": 0})
    assert not open_flow._apart({"depth": 2, "start_scale": 0.1, "seed": 0})


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ({"depth": [1], "start_scale": [1.0]}, "grid must have a name `seed`"),
        ({"depth": [1], "start_scale": [1.0], "seed": [0], "colour": ["red"]}, "none takes colour"),
        ({"start_scale": [1.0], "seed": [0]}, "model must be a function of"),
    ],
)
def test_bad_open_grids_are_refused(tmp_path, problem, grid, said):
    with pytest.raises(ValueError, match=said):
        go(tmp_path, grid, training(problem, step_size=0.1))


def test_bad_open_experiments_are_refused(problem):
    with pytest.raises(ValueError, match="train must be"):
        la.experiment(print, 1, problem, 2)
    with pytest.raises(ValueError, match="does not take colour"):
        la.experiment(la.descend, 1, problem, 2, colour="red")


def test_a_process_is_waited_for_and_one_that_died_idle_is_replaced():
    with engines.Processes(1) as pool:
        first = pool.submit(os.getpid)
        second = pool.submit(os.getpid)  # there is one process: it waits until that is free again
        assert first.result() == second.result()
        os.kill(first.result(), signal.SIGKILL)
        until = time.monotonic() + 60
        while os.path.exists(f"/proc/{first.result()}/exe") and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.2)  # until the pool has noticed
        assert pool.submit(os.getpid).result() != first.result()


def test_a_task_that_ends_while_the_engine_is_closed_starts_no_process():
    pool, other, done = engines.Processes(2), concurrent.futures.ThreadPoolExecutor(1), concurrent.futures.Future()
    done.set_exception(concurrent.futures.BrokenExecutor())
    pool.running.add(other)

    class Idle:
        def shutdown(self):
            pool._back(None, other, done)

    pool.idle[0] = (None, Idle())
    pool.shutdown()
    assert len(pool.idle) == 2
    with pytest.raises(RuntimeError, match="shutdown"):
        other.submit(print)


class Scheduler:
    """Hands out jobs that are no futures, as submitit does; the second job is lost."""

    class Job:
        def __init__(self, number, task, *given):
            self.number, self.run = number, lambda: task(*given)

        def done(self):
            return True

        def result(self):
            if self.number == 1:
                raise OSError("the node is gone")
            return self.run()

    def __init__(self):
        self.count = 0

    def submit(self, task, *given):
        self.count += 1
        return self.Job(self.count - 1, task, *given)


def test_a_scheduler_with_jobs_of_its_own_will_do(tmp_path):
    scheduler = Scheduler()
    found = la.sweep(trial, GRID, store=tmp_path, engine=scheduler, workers=1, progress=False)
    assert (found["status"].sel(a=[0, 1, 2]) == "done").all()
    assert (found["sum"].sel(a=2) == [2.5, 3.5]).all()
    assert scheduler.count >= 2


def test_engines_say_where_they_run():
    with engines.engine("local", 1) as on:
        assert on.words == "this process"


@pytest.fixture(scope="module")
def cluster():
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as started:
        yield started


@pytest.mark.parametrize("kind", ["cluster", "address", "client"])
def test_dask_by_its_cluster_its_address_or_its_client(tmp_path, cluster, kind):
    from distributed import Client

    with Client(cluster) as client:
        given = {"cluster": cluster, "address": cluster.scheduler_address, "client": client}[kind]
        found = la.sweep(trial, GRID, store=tmp_path, engine=given, progress=False)
        assert client.status == "running", "what was given is left open"
    assert (found["status"].sel(a=[0, 1, 2]) == "done").all()
    assert (found["status"].sel(a=3) == "failed").all()


def test_a_campaign_on_dask(faked, tmp_path, cluster):
    jobs = [campaign.Job(registry.find(id), "quick", 0, tmp_path) for id in ("cohen-d", "gissin-a")]
    outcomes = {outcome.id: outcome for outcome in campaign.run(jobs, None, engine=cluster.scheduler_address)}
    assert {id: str(outcome.verdict) for id, outcome in outcomes.items()} == {"cohen-d": "holds", "gissin-a": "holds"}
    assert set(campaign.finished(jobs)) == set(jobs)


def test_a_scheduler_that_is_not_there_is_one_line(tmp_path, monkeypatch):
    import distributed

    def refuse(*_, **__):
        raise OSError("Timed out trying to connect")

    monkeypatch.setattr(distributed, "Client", refuse)
    with pytest.raises(EngineError, match=r"no dask scheduler answers at tcp://127\.0\.0\.1:1"):
        la.sweep(trial, GRID, store=tmp_path, engine="tcp://127.0.0.1:1", progress=False)


def ends(a):
    raise SystemExit(3)


def test_an_experiment_that_ends_the_program_is_a_failed_point(tmp_path):
    found = go(tmp_path, {"a": [1, 2]}, ends)
    assert list(found["status"].values) == ["failed", "failed"]
    assert all(reason.startswith("SystemExit: 3 (test_sweep.py") for reason in found["reason"].values)


@pytest.mark.parametrize("place", ["about.json", "grid.json", "part"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path, place):
    go(tmp_path, {"a": [0], "b": [0.5]})
    (path,) = tmp_path.rglob("*.zip" if place == "part" else place)
    path.unlink()
    os.mkfifo(path)
    held = la.Store(tmp_path)
    if place == "part":
        assert [summary.points for summary in held.experiments()] == [0]
    elif place == "grid.json":
        with pytest.raises(OSError, match="A device or a pipe"):
            held.open()
    else:
        assert held.shelves() == []
