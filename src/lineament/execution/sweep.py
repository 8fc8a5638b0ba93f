"""Sweeps: an experiment at every point of a grid, stored as it goes, on one machine or many."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineament.core import arguments

from . import engines, points, worker
from .experiments import Dependence, name_of
from .grid import Grid, Point, taking
from .grid import grid as make_grid
from .open_experiment import Open
from .plan import Plan
from .progress import Progress
from .shelf import Shelf, StoreError
from .tables import table
from .worker import Task

if TYPE_CHECKING:
    import xarray as xr

TIDY_EVERY = 256  # parts
RESCAN_EVERY = 5.0  # seconds


@dataclass(frozen=True, eq=False)
class Sweep:
    """A sweep that is ready to run: the experiment, its grid, and where its points are kept."""

    experiment: Callable[..., Any] | Open
    grid: Grid
    store: Path
    found: Dependence
    modules: Mapping[str, str]
    packages: frozenset[str]

    @property
    def together(self) -> bool:
        """Whether points of one shape are trained as one program."""
        return isinstance(self.experiment, Open)

    def shelf(self, where: points.Where) -> tuple[Shelf, points.About]:
        """Where the points are kept for one kind of machine."""
        about = points.about(name_of(self.experiment), self.found, self.modules, where)
        return Shelf.of(self.store, about), about

    def plan(self, where: points.Where) -> Plan:
        """What is to be run on workers of one kind."""
        import cloudpickle

        shelf, _ = self.shelf(where)
        content = cloudpickle.dumps(self.experiment)
        worker.remember(content, self.experiment)
        folder = str(shelf.folder.resolve())

        def task(chosen: Sequence[Point], together: bool) -> Task:
            return Task(content, chosen, folder, where, self.modules, together)

        return Plan(self.grid, shelf, task, self.experiment.shape_of if isinstance(self.experiment, Open) else None)


def prepare(
    experiment: Callable[..., Any] | Open,
    grid: Mapping[str, Iterable[Any]],
    store: str | Path,
    zip: Sequence[str] | Sequence[Sequence[str]] = (),
    where: Callable[..., Any] | None = None,
) -> Sweep:
    """Check what a sweep was given and find out what the experiment depends on; nothing is run or written."""
    if not callable(experiment) and not isinstance(experiment, Open):
        raise ValueError(
            f"experiment must be a function of the grid's names, or an open experiment; got {experiment!r}"
        )
    folder = arguments.path("store", store)
    made = make_grid(grid, zip, where)
    if isinstance(experiment, Open):
        experiment.check(made.names)
    else:
        taking(experiment, made.names, "experiment")
        if unused := _unused(experiment, made.names):
            raise ValueError(f"experiment must take every name of the grid; it does not take {', '.join(unused)}")
    found, modules, packages = points.depends(experiment)
    return Sweep(experiment, made, folder, found, modules, packages)


def sweep(
    experiment: Callable[..., Any] | Open,
    grid: Mapping[str, Iterable[Any]],
    *,
    store: str | Path,
    engine: Any = "local",
    zip: Sequence[str] | Sequence[Sequence[str]] = (),
    where: Callable[..., Any] | None = None,
    workers: int | None = None,
    retry: bool = False,
    progress: bool = True,
) -> "xr.Dataset":
    """Run an experiment at every point of a grid, and return the table of what it gave.

    Points that the store holds from the same experiment, source, versions, device and precision are not run again: the
    same sweep returns at once, a larger grid runs what is missing. A point that fails or diverges is a row with its
    reason. Whatever is killed, what is stored stays, and the same call goes on from there.

    For instance::

        def experiment(depth, start_scale, seed):
            net = la.models.DeepLinear((8,) * (depth + 1))
            start = la.starts.gaussian(net, seed, start_scale=start_scale)
            return la.descend(net, problem, start, step_size=0.05, steps=1000)

        grid = dict(depth=[1, 2, 3], start_scale=np.geomspace(1e-6, 1, 25), seed=range(20))
        table = la.sweep(experiment, grid, store="runs/")

    Args:
        experiment: A function of the grid's names that returns numbers, arrays, a mapping of these, a `Run` or an
            `xarray.Dataset`; or `lineament.experiment(…)`, whose points of one shape are one compiled program.
        grid: The values of each name. Points are all combinations of them.
        store: The folder to keep points in. Every worker must be able to write to it.
        engine: "local" for processes of this machine; the address of a dask scheduler; a dask client or cluster; or an
            executor of `concurrent.futures`.
        zip: Names that are walked together instead of crossed: one group of names, or several groups.
        where: A function of some of the names; points at which it is false are left out.
        workers: How many processes or tasks at a time (default: one for each GPU or core, or dask's own number).
        retry: Whether points that failed or diverged before are run again.
        progress: Whether a bar is shown on standard error, or in the notebook.

    Returns:
        The table, with the grid's names as coordinates; `status`, `reason` and `seconds` say how each point ended.
    """
    made = prepare(experiment, grid, store, zip, where)
    arguments.count("workers", 1 if workers is None else workers)
    retry, progress = arguments.truth("retry", retry), arguments.truth("progress", progress)
    with ExitStack() as stack:
        on: engines.Engine | None = None
        if isinstance(engine, str) and engine == "local":
            here = points.here(made.packages)
        else:
            on = stack.enter_context(engines.engine(engine, workers))
            here = _there(on, made.packages)
        shelf, about = made.shelf(here)
        if retry:
            shelf.drop(lambda row: bool(row.reason))
        plan = made.plan(here)
        if plan.wanted:
            on = on or stack.enter_context(engines.engine(engine, workers, whole_device=made.together))
            plan.slots = on.slots
            shelf.begin(about, made.grid)
            _run(plan, shelf, on, progress)
    told = {"experiment": about.name, "address": about.address, "store": str(made.store)}
    return table(made.grid, shelf.parts(), **told)


def _run(plan: Plan, shelf: Shelf, on: engines.Engine, progress: bool) -> None:
    done, parts, looked = int(plan.done.sum()), 0, time.monotonic()
    with Progress(done + plan.wanted, done, progress) as bar:
        for task, outcome in engines.Drive(on, worker.run, plan):
            bar.update(*plan.back(task, outcome))
            if isinstance(outcome, engines.Lost):
                continue
            if outcome.broken:
                kept = f"{bar.done} of {bar.total} points are stored"
                kind = StoreError if outcome.broken.startswith("cannot write") else engines.EngineError
                raise kind(f"{outcome.broken} ({kept})")
            parts += len(outcome.parts)
            if time.monotonic() - looked > RESCAN_EVERY:  # another process may have run some of the points
                plan.rescan()
                looked = time.monotonic()
            if parts >= TIDY_EVERY:
                plan.seen |= shelf.tidy()
                parts = 0
    shelf.tidy()


def _there(on: engines.Engine, packages: frozenset[str]) -> points.Where:
    """What the workers of an engine are, as one of them says."""
    precision = points.here(packages).precision
    return on.executor.submit(worker.describe, tuple(sorted(packages)), precision).result()


def _unused(experiment: Callable[..., Any], names: Sequence[str]) -> list[str]:
    from .grid import asked_for

    asked = asked_for(experiment, "experiment")
    return [] if asked is None else [name for name in names if name not in asked]
