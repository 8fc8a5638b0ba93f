"""What training returns: everything that was recorded, the final parameters, and the settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from . import arguments
from .ensembles import Ensemble
from .model import AbstractModel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ..recording import Recording

FORMAT = 1
_SETTINGS, _FINAL = "lineament_settings", "final."


class Run:
    """One training: what was recorded along it, and where it ended.

    What was recorded is read by name, as an item or an attribute: `run["loss"]`, `run.loss`, `run.time`. Everything
    else that `xarray` can do is done to `run.data`.

    Attributes:
        data: What was recorded, with named dimensions: `step` or `time`, and `member` for an ensemble.
        final: The parameters at the end, in the structure of the start; an `Ensemble` if members were trained.
        settings: How it was trained, with the versions of what did it: numbers, words, and lists of them.
    """

    data: xr.Dataset
    final: Any
    settings: dict[str, Any]

    def __init__(self, data: xr.Dataset, final: Any, settings: Mapping[str, Any]) -> None:
        if not isinstance(data, xr.Dataset):
            raise ValueError(f"data must be an xarray.Dataset of what was recorded; got {arguments.shown(data)}")
        if not isinstance(settings, Mapping):
            raise ValueError(f"settings must be a mapping of names to values; got {arguments.shown(settings)}")
        self.data, self.final, self.settings = data, final, dict(settings)

    def __getitem__(self, name: str) -> xr.DataArray:
        """One of the records, or a coordinate."""
        if not isinstance(name, str) or name not in self.data.variables:
            held = ", ".join(map(str, self.data.variables))
            raise KeyError(f"the run has no record of the name {arguments.shown(name)}; it has {held}")
        return self.data[name]

    def __getattr__(self, name: str) -> xr.DataArray:
        if name.startswith("_") or name in ("data", "final", "settings") or name not in self.data.variables:
            held = self.__dict__.get("data", xr.Dataset()).variables
            raise AttributeError(f"the run has no record of the name {name!r}; it has {', '.join(map(str, held))}")
        return self.data[name]

    def __contains__(self, name: str) -> bool:
        return name in self.data.variables

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *map(str, self.data.variables)})

    @property
    def members(self) -> int | None:
        """How many were trained at once; None for a single one."""
        return self.data.sizes.get("member")

    @property
    def along(self) -> str:
        """The dimension along which it was recorded: "step" or "time"."""
        return "step" if "step" in self.data.sizes else "time"

    def __repr__(self) -> str:
        method, model, problem = (self.settings.get(name, "unknown") for name in ("method", "model", "problem"))
        first, last = (float(x) for x in self.data[self.along].values[[0, -1]])
        parts = [
            f"{method} of {model} on {problem}",
            *([] if self.members is None else [f"{self.members} members"]),
            f"{self.data.sizes[self.along]} records over {self.along} {first:g} to {last:g}",
            f"holds {', '.join(map(str, self.data.data_vars))}",
        ]
        return f"Run({'; '.join(parts)})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(str(name))}</td><td>{escape(str(value))}</td></tr>"
            for name, value in self.settings.items()
        )
        records = self.data._repr_html_()  # pyright: ignore[reportPrivateUsage]  # what notebooks call
        settings = f"<details><summary>settings</summary><table>{rows}</table></details>"
        return f"<div><code>{escape(repr(self))}</code>{records}{settings}</div>"

    def save(self, path: str | Path) -> Path:
        """Write everything to one netCDF file (version 3, as SciPy writes it), which any language can read.

        Settings travel as JSON, the final parameters as arrays `final.0`, `final.1`, …: nothing is pickled.
        """
        path = arguments.path("path", path)
        leaves = jax.tree.leaves(self._tree())
        final = {f"{_FINAL}{i}": _array(f"{_FINAL}{i}", leaf) for i, leaf in enumerate(leaves)}
        whole = self.data.assign(final)
        whole.attrs[_SETTINGS] = json.dumps({"format": FORMAT, "leaves": len(leaves), "settings": self.settings})
        whole.to_netcdf(path, engine="scipy", format="NETCDF3_64BIT")
        return path

    @staticmethod
    def load(path: str | Path, model: AbstractModel | None = None) -> Run:
        """Read what `save` wrote.

        Args:
            path: Of the file.
            model: What was trained: the final parameters then have its structure. Without it they are a tuple of
                arrays, which is the structure of deep linear networks and of tensor factorisations anyway.
        """
        whole = _opened(arguments.path("path", path))
        if _SETTINGS not in whole.attrs:
            raise ValueError(f"path must be a file that Run.save wrote; {str(path)!r} is another netCDF file")
        try:
            about = json.loads(whole.attrs.pop(_SETTINGS))
            names = [f"{_FINAL}{i}" for i in range(about["leaves"])]
            leaves, settings = [jnp.asarray(whole[name].values) for name in names], dict(about["settings"])
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"path must be a file that Run.save wrote; {str(path)!r} is damaged: {error}") from error
        data = whole.drop_vars(names)
        data = data.drop_dims([dim for dim in data.sizes if str(dim).startswith(_FINAL)])
        if model is not None:
            arguments.instance("model", model, AbstractModel)
        structure = jax.tree.structure(tuple(leaves) if model is None else model.layout())
        if structure.num_leaves != len(leaves):
            raise ValueError(f"model must be what was trained, with {len(leaves)} arrays; got {model}")
        final = jax.tree.unflatten(structure, leaves)
        members = "member" in data.sizes
        if model is not None:
            model.check(final, members)
        return Run(data, Ensemble(final) if members else final, settings)

    def to_recording(
        self, labels: ArrayLike | None = None, inputs: ArrayLike | None = None, member: int | None = None
    ) -> Recording:
        """What `lineament.recording` can read: the order in which examples are learnt, the linear phase, the ranks.

        Needs the record "outputs" (or one named "predictions" of classes); the records "loss", "singular_values" and
        "unbalancedness" are taken over where there are any.

        Args:
            labels: Classes or targets of the examples.
            inputs: The examples themselves.
            member: Which member of an ensemble.
        """
        from ..recording import Recording

        data = self._one(member)
        answers = {name: data[name].values for name in ("outputs", "predictions") if name in data}
        if not answers:
            raise ValueError(
                'the run must hold what the model said of examples: train with record=("loss", "outputs")'
            )
        return Recording(
            data[self.along].values,
            answers.get("outputs"),
            labels,
            inputs,
            predictions=None if "outputs" in answers else answers["predictions"],
            loss=data["loss"].values if "loss" in data else None,
            spectra={"end_to_end": data["singular_values"].values} if "singular_values" in data else None,
            unbalancedness={"largest": data["unbalancedness"].values} if "unbalancedness" in data else None,
            about={name: str(value) for name, value in self.settings.items()},
        )

    def _one(self, member: int | None) -> xr.Dataset:
        if (self.members is None) != (member is None):
            count = "a single one" if self.members is None else f"{self.members} members"
            raise ValueError(f"member must be given for an ensemble and only then; the run has {count}, got {member}")
        return self.data if member is None else self.data.isel(member=member)

    def _tree(self) -> Any:
        return self.final.stacked if isinstance(self.final, Ensemble) else self.final


def _array(name: str, leaf: Any) -> tuple[Sequence[str], np.ndarray]:
    """An array of the final parameters with dimensions of its own."""
    array = np.asarray(leaf)
    return [f"{name}_{axis}" for axis in range(array.ndim)], array


def _opened(path: Path) -> xr.Dataset:
    """What a netCDF file holds; whatever its readers raise, the file is at fault."""
    if not path.is_file():
        raise FileNotFoundError(f"path must be a file that Run.save wrote; there is no file {str(path)!r}")
    try:
        with xr.open_dataset(path, engine="scipy") as file:
            return file.load()
    except Exception as error:
        why = " ".join(str(error).split())
        raise ValueError(f"path must be a file that Run.save wrote; {str(path)!r} cannot be read: {why}") from error
