"""What training returns: the run, with its settings in words and numbers."""

import platform
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import jax
import numpy as np
import xarray as xr

from ..core.ensembles import Ensemble
from ..core.model import AbstractModel
from ..core.run import Run
from ..core.versions import version
from .members import Members
from .records import Record


def run_of(
    records: Sequence[Record],
    values: Sequence[np.ndarray],
    who: Members,
    along: tuple[str, np.ndarray],
    final: Any,
    settings: Mapping[str, object],
) -> Run:
    """Name the dimensions of what was recorded, and join it with the final parameters and the settings."""
    dim, coordinate = along
    lead = () if who.count is None else ("member",)
    variables: dict[str, Any] = {}
    for record, value in zip(records, values, strict=True):
        dims = record.dims or tuple(f"{record.name}_{i}" for i in range(value.ndim - len(lead) - 1))
        variables[record.name] = ((*lead, dim, *dims), value)
    data = xr.Dataset(variables, coords={dim: coordinate})
    return Run(data, final if who.count is None else Ensemble(final), {**settings, **_environment()})


def with_time(run: Run, step_size: jax.Array, at: np.ndarray) -> Run:
    """The run with its time, `step · step size`, in which the flow would have gone as far."""
    lead = ("member",) if step_size.ndim else ()
    time = np.asarray(step_size)[..., None] * at if step_size.ndim else float(step_size) * at
    return Run(run.data.assign_coords(time=((*lead, "step"), time)), run.final, run.settings)


def with_numbers(run: Run, **numbers: Any) -> Run:
    """The run with further numbers, one for each member."""
    lead = () if run.members is None else ("member",)
    added = {name: (lead, np.asarray(number)) for name, number in numbers.items()}
    return Run(run.data.assign(added), run.final, run.settings)


def settings_of(method: str, model: AbstractModel, who: Members, **settings: object) -> dict[str, object]:
    """How a run was trained, in values that JSON knows."""
    plain = {
        name: np.asarray(x).tolist() if isinstance(x, jax.Array | np.ndarray) else x for name, x in settings.items()
    }
    return {"method": method, "model": str(model), "problem": type(who.problem).__name__, **plain}


def named(function: Callable[..., Any]) -> str:
    """The name of an optimiser, with the arguments that `functools.partial` gave it."""
    if isinstance(function, partial):
        arguments = [*map(repr, function.args), *(f"{name}={value!r}" for name, value in function.keywords.items())]
        return f"{named(function.func)}({', '.join(arguments)})"
    return getattr(function, "__name__", type(function).__name__)


@cache  # looking up versions takes longer than a short run
def _environment() -> dict[str, object]:
    device = jax.devices()[0]
    return {
        "versions": {name: version(name) for name in ("lineament", "jax", "diffrax", "optax", "numpy")},
        "python": platform.python_version(),
        "device": f"{device.platform}: {device.device_kind}",
    }
