"""(k) Sweeps: what a point costs, members of one shape against a loop, a large store, memory.

The bars are times a point, so `ratio` of these rows is the bar over what was measured: at least 1 where it is met.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import lineament as la
from lineament.execution.grid import grid
from lineament.execution.parts import DONE, Row
from lineament.execution.shelf import Shelf
from lineament.execution.values import variables

from .harness import Row as Result
from .harness import compare

POINTS, MANY = 10_000, 100_000
LOCAL, DASK, OPENS = 2e-3, 10e-3, 5.0  # seconds a point, a point, and in all
GRID = {"a": range(100), "b": range(POINTS // 100)}


def trivial(a: int, b: int) -> int:
    return a + b


@contextmanager
def _folder():
    folder = Path(tempfile.mkdtemp())
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def _row(case: str, ours: str, seconds: float, bar: float, other: float, note: str) -> Result:
    ratio = bar / seconds
    return Result(case, ours, "the bar", ratio, ratio, ratio, 1.0, "points", 1 / seconds, 1 / max(other, 1e-12), note)


def overhead(engine: object, bar: float, name: str) -> Result:
    """Seconds a point beyond a hand-written loop, in the same run."""
    begun = time.perf_counter()
    table = {(a, b): trivial(a, b) for a in GRID["a"] for b in GRID["b"]}
    loop = (time.perf_counter() - begun) / POINTS
    with _folder() as folder:
        begun = time.perf_counter()
        found = la.sweep(trivial, GRID, store=folder, engine=engine, progress=False)
        seconds = (time.perf_counter() - begun) / POINTS
        begun = time.perf_counter()
        la.sweep(trivial, GRID, store=folder, engine=engine, progress=False)
        again = time.perf_counter() - begun
    assert int(found["value"].sel(a=7, b=9)) == table[7, 9]
    note = f"{1e3 * (seconds - loop):.2f} ms a point over a loop; the same sweep again {again:.2f} s"
    return _row(f"sweep, {name}", f"{POINTS} trivial points", seconds - loop, bar, loop, note)


def through_dask() -> Result:
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster:
        return overhead(cluster, DASK, "dask")


def linear_networks(width: int, steps: int, bar: float | None) -> Result:
    """A 3 × 25 × 20 grid of linear networks against a loop over `descend`, both compiled before."""
    X = np.random.default_rng(0).normal(size=(50, width))
    training = la.experiment(
        la.descend,
        model=lambda depth: la.models.DeepLinear((width,) * (depth + 1)),
        problem=la.problems.regression(X, X @ np.diag(np.linspace(3, 0.5, width))),
        start=lambda model, key, start_scale: la.starts.gaussian(model, key, start_scale=start_scale),
        steps=steps,
        step_size=0.05,
    )
    points = {"depth": [1, 2, 3], "start_scale": np.geomspace(1e-6, 1, 25), "seed": range(20)}
    few = [(depth, seed) for depth in (1, 2, 3) for seed in range(10)]

    def swept() -> None:
        with _folder() as folder:
            la.sweep(training, points, store=folder, progress=False)

    def loop() -> None:
        for depth, seed in few:
            training(depth=depth, start_scale=0.01, seed=seed)

    return compare(
        f"sweep, width {width}, {steps} steps", ("sweep of 3 × 25 × 20", swept, 1500.0),
        ("a loop over descend", loop, float(len(few))), bar=bar, unit="networks", repeats=3,
    )  # fmt: skip


def store_opens() -> Result:
    """A store of many points, filled a thousand at a time as workers do."""
    with _folder() as folder:
        values = {"a": range(100), "b": range(MANY // 100)}
        shelf, made = Shelf(folder / "trial"), grid(values)
        from lineament.execution.points import About

        shelf.begin(About("trial", {}, {}, {}, "", "", {}), made)
        for first in range(0, MANY, 1000):
            rows = [made.point(i) for i in range(first, first + 1000)]
            shelf.write(
                [(Row(p, DONE, "", 1e-3), variables({"x": float(i), "v": np.ones(4)})) for i, p in enumerate(rows)]
            )
        shelf.tidy()
        begun, working = time.perf_counter(), time.process_time()
        table = la.Store(folder).open()
        seconds, working = time.perf_counter() - begun, time.process_time() - working
    assert (table["status"] == "done").all()
    return _row(
        "sweep, store",
        f"{MANY} points opened",
        seconds,
        OPENS,
        seconds / MANY,
        f"{seconds:.2f} s, of which {working:.2f} s working",
    )


def memory() -> Result:
    """What the process that sweeps needs for ten times as many points, the table that it returns taken off."""
    code = (
        "import resource, sys, tempfile; import lineament as la; from benchmarks.sweep import trivial\n"
        "n = int(sys.argv[1]); f = tempfile.mkdtemp()\n"
        "t = la.sweep(trivial, {'a': range(100), 'b': range(n // 100)}, store=f, progress=False)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - t.nbytes, t.nbytes)\n"
    )

    def peak(points: int) -> tuple[float, float]:
        told = subprocess.check_output([sys.executable, "-c", code, str(points)], text=True).split()
        return float(told[0]), float(told[1])

    (small, _), (large, table) = peak(POINTS), peak(MANY)
    mib = [f"{x / 2**20:.0f} MiB" for x in (small, large, table)]
    note = f"{mib[0]} for {POINTS}, {mib[1]} for {MANY}, without the table of {mib[2]}"
    return _row("sweep, memory", f"{MANY} points against {POINTS}", large / small, 1.25, 1.0, note)


def rows() -> list[Result]:
    """All of them."""
    work: list[Callable[[], Result]] = [
        lambda: overhead("local", LOCAL, "local"),
        through_dask,
        lambda: linear_networks(4, 300, 20.0),
        lambda: linear_networks(8, 1000, None),
        store_opens,
        memory,
    ]
    return [one() for one in work]
