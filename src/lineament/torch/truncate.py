"""Compress a network: low-rank factors in the place of its layers (Cohen & Razin, Section 4.4)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from .budget import Choice, ranks_within
from .collapse import collapse
from .decomposition import balanced, decomposed, double
from .factored import as_weights, factored
from .layers import Site, placed, sites
from .measured import Measured, measure
from .report import Table
from .spectra import energy_curve, least_rank


class TruncatedLayer(NamedTuple):
    """What became of one layer.

    `energy` is the share of `‖W‖²_F` kept, `error = √(1 − energy)` the relative error of the weight. `bound` is the
    largest singular value cut: the outputs (at one position, of a convolution) change by at most that times the norm
    of the inputs (of the patch). `rank` counts within each group.
    """

    layer: str
    kind: str
    shape: tuple[int, ...] | None
    done: bool
    full_rank: int | None
    rank: int | None
    energy: float | None
    error: float | None
    bound: float | None
    parameters: int
    truncated: int
    note: str


@dataclass(frozen=True)
class Truncation:
    """What a truncation did, layer by layer, what it should cost, and what it was measured to cost.

    Attributes:
        layers: One row per layer.
        parameters: All parameters of the model before.
        truncated: All parameters of the model after.
        predicted_error: The relative change of the outputs, `√(1 − Π energy)`, were the inputs of every layer
            isotropic and the errors of the layers independent of each other: a rule of thumb that needs no data.
        measured: The same change on data, and the accuracy before and after; None without data.
    """

    layers: Table[TruncatedLayer]
    parameters: int
    truncated: int
    predicted_error: float
    measured: Measured | None

    def __str__(self) -> str:
        share = self.truncated / self.parameters if self.parameters else 1.0
        lines = [
            str(self.layers),
            f"parameters {self.parameters:,} → {self.truncated:,} ({share:.1%})",
            f"outputs should change by {self.predicted_error:.1%}",
        ]
        if self.measured is not None:
            seen = self.measured
            lines.append(f"outputs changed by {seen.error:.1%} on {seen.examples:,} examples")
            lines.append(f"accuracy {seen.accuracy:.2%} → {seen.truncated_accuracy:.2%}")
        return "\n".join(lines)


class Truncated(NamedTuple):
    """A truncated copy of a model, and the report on it."""

    model: nn.Module
    report: Truncation


def truncate(
    model: nn.Module,
    *,
    energy: float | None = None,
    ranks: int | Mapping[str, int] | None = None,
    parameters: int | float | None = None,
    layers: Iterable[str] | None = None,
    data: Iterable[tuple[Any, Tensor]] | None = None,
) -> Truncated:
    """Replace layers of a copy of the model by two factors of low rank, the best in Frobenius norm (Eckart & Young).

    Products from `expand` are multiplied out first. Exactly one of `energy`, `ranks` and `parameters` says how far to
    go. With `energy` and `parameters` a layer whose factors would hold no fewer numbers than its weight stays whole.

    Args:
        model: Any module; it is not changed.
        energy: Each layer keeps the least rank with at least this share of `‖W‖²_F`.
        ranks: The rank of every layer (at most its full one), or of those named; the rest stay whole.
        parameters: How many parameters the whole model may have: a count, or a share of the count (a float up to 1).
            The ranks then minimise the sum of the layers' relative squared errors.
        layers: Names of the layers to truncate, as in `model.named_modules()`; by default all.
        data: Batches of inputs (a tensor, or a tuple of them) and integer labels, to measure what was lost, with both
            models in evaluation mode.

    Returns:
        The truncated model in the mode, dtype and on the device of the given one, and the report.
    """
    why_whole = _WHY_WHOLE[_one_of(energy=energy, ranks=ranks, parameters=parameters)]
    whole = collapse(model)
    places = sites(whole, list(ranks) if layers is None and isinstance(ranks, Mapping) else layers)
    choices = {id(site.weight): _choice(site) for site in places if not site.reason}
    if parameters is not None:
        picked = ranks_within(choices, _budget(whole, choices, parameters))
    elif energy is not None:
        picked = _ranks_for(energy, choices)
    else:
        picked = _asked(places, choices, ranks)
    before, rows = _count(whole), [_row(site, choices, picked, why_whole) for site in places]
    small = _factored(whole, places, picked)
    measured = None if data is None else measure(collapse(model), small, data)
    return Truncated(small, Truncation(Table(rows), before, _count(small), _predicted(choices, picked), measured))


_WHY_WHOLE = {
    "energy": "factors of the rank this needs would hold no fewer numbers",
    "parameters": "the budget is enough for all of it",
    "ranks": "no lower rank was asked for",
}


def _one_of(**given: Any) -> str:
    """The name of the one argument that was given."""
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) != 1:
        raise ValueError(f"give exactly one of energy, ranks and parameters; got {', '.join(asked) or 'none'}")
    return asked[0]


def _ranks_for(energy: float, choices: Mapping[int, Choice]) -> dict[int, int | None]:
    """The least ranks that keep a share of the energy, None where factors would hold no fewer numbers."""
    if not 0 < energy <= 1:
        raise ValueError(f"energy must be above 0 and at most 1; got {energy!r}")
    return {key: choice.if_smaller(least_rank(choice.energy, energy)) for key, choice in choices.items()}


def _predicted(choices: Mapping[int, Choice], picked: Mapping[int, int | None]) -> float:
    """`√(1 − Π energy)` over the layers that were cut."""
    kept = [choices[key].energy[rank - 1] for key, rank in picked.items() if rank]
    return float(np.sqrt(max(0.0, 1 - np.prod(kept))))


def _factored(model: nn.Module, places: list[Site], picked: Mapping[int, int | None]) -> nn.Module:
    """The model with two factors in the place of each layer that a rank was picked for; layers may share them."""
    shared: dict[int, list[nn.Parameter]] = {}
    for site in places:
        if site.reason or not (rank := picked[id(site.weight)]):
            continue
        key = id(site.weight)
        if key not in shared:
            W = site.matrices(double(site.weight))
            shared[key] = as_weights(site.module, balanced(decomposed(W, site.weight.dtype), 2, rank))
        model = placed(model, site, factored(site.module, shared[key]))
    return model


def _choice(site: Site) -> Choice:
    W = site.matrices(double(site.weight))
    S = torch.linalg.svdvals(W).cpu().numpy()
    return Choice(W.numel(), len(W) * (W.shape[1] + W.shape[2]), energy_curve(S), S.max(axis=0))


def _count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters() if not is_lazy(parameter))


def _budget(model: nn.Module, choices: Mapping[int, Choice], parameters: int | float) -> int:
    """How many numbers the weights that can be factored may hold."""
    total = _count(model)
    share = isinstance(parameters, float)
    if isinstance(parameters, bool) or not (0 < parameters <= 1 if share else parameters >= 1):
        raise ValueError(f"parameters must be a positive count, or a share in (0, 1] as a float; got {parameters!r}")
    allowed = int(parameters * total) if share else int(parameters)
    rest = total - sum(choice.size for choice in choices.values())
    least = rest + sum(choice.least for choice in choices.values())
    if allowed < least:
        raise ValueError(
            f"parameters allows {allowed:,} of the model's {total:,}; it has {least:,} with every layer of rank 1 that "
            "can be truncated (truncate with energy=1 lists what cannot, and why)"
        )
    return allowed - rest


def _asked(
    places: list[Site], choices: Mapping[int, Choice], ranks: int | Mapping[str, int] | None
) -> dict[int, int | None]:
    """The ranks that were asked for, None for those that are the full one or were not named."""
    picked: dict[int, int | None] = dict.fromkeys(choices)
    for site in places:
        wanted = [ranks[name] for name in site.names if name in ranks] if isinstance(ranks, Mapping) else [ranks]
        for rank in wanted[:1]:
            if type(rank) is not int or rank < 1:
                raise ValueError(f"ranks must be whole numbers of at least 1; got {rank!r} for {site.name!r}")
            if not site.reason:
                key = id(site.weight)
                picked[key] = rank if rank < len(choices[key].energy) else None
    return picked


def _row(
    site: Site, choices: Mapping[int, Choice], picked: Mapping[int, int | None], why_whole: str
) -> TruncatedLayer:
    kind, key = type(site.module).__name__, id(getattr(site.module, "weight", None))
    choice, rank = choices.get(key), picked.get(key)
    if site.reason or choice is None:
        size = prod(site.shape) if site.shape else 0
        return TruncatedLayer(
            site.name, kind, site.shape, False, None, None, None, None, None, size, size, site.reason
        )
    shape, full = tuple(site.weight.shape), len(choice.energy)
    if rank is None:
        note = f"whole: {why_whole}"
        return TruncatedLayer(site.name, kind, shape, False, full, full, 1.0, 0.0, 0.0, choice.size, choice.size, note)
    kept = float(choice.energy[rank - 1])
    bound = float(choice.largest[rank]) if rank < full else 0.0
    size = rank * choice.step
    note = "" if size < choice.size else "its factors hold no fewer numbers"
    return TruncatedLayer(
        site.name, kind, shape, True, full, rank, kept, (1 - kept) ** 0.5, bound, choice.size, size, note
    )
