"""`lineament sweep`: run an experiment at every point of a grid."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import EngineOption, interrupted, refuse, tell, whole, writable

if TYPE_CHECKING:
    import xarray as xr

    from lineament.execution.sweep import Sweep


def sweep(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="What to run: experiment, grid and store.")],
    engine: EngineOption = "local",
    jobs: Annotated[
        int | None,
        typer.Option(parser=whole(1), metavar="N", help="Worker processes.", show_default="one for each core"),
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="Run again points that failed or diverged.")] = False,
    page: Annotated[Path | None, typer.Option(metavar="FILE.html", help="Write the page of the sweep here.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be run.")] = False,
) -> None:
    """Run an experiment at every point of a grid; what is stored is not run again.

    The file names the experiment as MODULE:FUNCTION or FILE.py:FUNCTION, the folder to store points in, and the values of
    each name: a list, {range = [0, 20]}, {linspace = [0, 1, 11]} or {geomspace = [1e-6, 1, 25]}. `zip` lists names that
    are walked together, `where` names a function that says which points to keep.

    The exit code is 0 when every point was done, and 1 when one failed or diverged.
    """
    from lineament.execution import spec as specification
    from lineament.execution.engines import EngineError
    from lineament.execution.shelf import StoreError
    from lineament.execution.sweep import prepare
    from lineament.execution.sweep import sweep as run

    try:
        given = specification.read(spec)
        made = prepare(given["experiment"], given["grid"], given["store"], given["zip"], given["where"])
    except (OSError, ValueError) as error:
        refuse("SPEC.toml", str(error))
    if dry_run:
        _tell(made)
        return
    if page is not None:
        writable("--page", page.parent)  # told before an hour of work, not after it
    try:
        table = run(**given, engine=engine, workers=jobs, retry=retry)
    except (EngineError, ValueError) as error:
        refuse("--engine", str(error))
    except StoreError as error:
        tell(f"lineament: {error}", err=True)
        raise typer.Exit(1) from error
    except KeyboardInterrupt:
        interrupted("what is stored stays: give the same command to go on")
    if page is not None:
        from lineament.report import sweep_page

        tell(sweep_page.write(table, page))
    raise typer.Exit(_summary(table))


def _tell(made: "Sweep") -> None:
    from lineament.core.words import several
    from lineament.execution import points
    from lineament.execution.experiments import name_of

    plan = made.plan(points.here(made.packages))
    shape = " × ".join(f"{len(axis.rows)} {axis.dimension}" for axis in made.grid.axes)
    tell(f"{name_of(made.experiment)}: {shape} = {several(int(made.grid.wanted().sum()), 'point')}")
    tell(f"{int(plan.done.sum())} stored in {made.store}, {plan.wanted} to be run")
    if made.together:
        tell(f"{several(len(plan.shards), 'shard')} of one shape each, trained as one program")
    tell(
        f"depends on {several(len(made.modules), 'module')}, and on "
        f"{', '.join(sorted(made.packages)) or 'no other package'}"
    )


def _summary(table: "xr.Dataset") -> int:
    import numpy as np

    states, counts = np.unique(table["status"].values, return_counts=True)
    found: dict[Any, int] = dict(zip(states.tolist(), counts.tolist(), strict=True))
    tell(", ".join(f"{count} {state}" for state, count in found.items()))
    tell(f"{table.attrs['store']}: {table.attrs['experiment']} ({table.attrs['address'][:12]})")
    return int(bool({"failed", "diverged"} & set(found)))
