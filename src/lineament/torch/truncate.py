"""Compress a network: low-rank factors in the place of its layers (Cohen & Razin, Section 4.4)."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from lineament.core import arguments

from . import packed
from .batches import Given, call, device_of, each, telling
from .budget import Choice, ranks_to, ranks_within
from .calibration import moments, weighted
from .collapse import collapse
from .decomposition import Decomposed, balanced, decomposed, double
from .factored import as_weights, factored
from .layers import Site, copied, placed, replaceable
from .measured import Cost, Measured, cost, measure
from .report import Table
from .spectra import energy_curve, least_rank


class TruncatedLayer(NamedTuple):
    """What became of one layer.

    `energy` is the share kept, of `‖W‖²_F` without data, with data of what the layer gave (`seen` says which), and
    `error = √(1 − energy)` the relative error. `bound` needs no data: the outputs (at one position, of a convolution)
    change by at most that times the norm of the inputs (of the patch). `rank` counts within each group.
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
    seen: bool
    parameters: int
    truncated: int
    note: str


@dataclass(frozen=True)
class Truncation:
    """What a truncation did, layer by layer, what it should cost, and what it was measured to cost and gain.

    Attributes:
        layers: One row per layer.
        parameters: All parameters of the model before.
        truncated: All parameters of the model after.
        bound: `√(1 − Π energy)` of the weights: the relative change of the outputs, were the inputs of every layer
            isotropic and the errors of the layers independent. Real inputs mostly lie along the directions that are
            kept, so that this is a bound in practice, and often a loose one. It needs no data.
        estimated_error: By how much the outputs changed on the calibration batches; None without them. The shares of
            energy that single layers lost would not do: what one loses, the next may not see.
        measured: The change of the outputs on data, and the accuracy before and after; None without data.
        cost: Operations and time of one batch before and after; None without data.
        tuned: As `measured`, after `fine_tune`; None without it.
    """

    layers: Table[TruncatedLayer]
    parameters: int
    truncated: int
    bound: float
    estimated_error: float | None
    measured: Measured | None
    cost: Cost | None
    tuned: Measured | None

    def __str__(self) -> str:
        share = self.truncated / self.parameters if self.parameters else 1.0
        lines = [
            str(self.layers),
            f"parameters {self.parameters:,} → {self.truncated:,} ({share:.1%})",
            f"outputs change by {self.bound:.1%} or so were inputs isotropic (without data)",
        ]
        if self.estimated_error is not None:
            lines.append(f"outputs should change by {self.estimated_error:.1%} (from the calibration batches)")
        for name, seen in {"": self.measured, "fine-tuned: ": self.tuned}.items():
            if seen is not None:
                lines.append(f"{name}outputs changed by {seen.error:.1%} on {seen.examples:,} examples")
            if seen is not None and seen.accuracy is not None:
                lines.append(f"{name}accuracy {seen.accuracy:.2%} → {seen.truncated_accuracy:.2%}")
        if self.measured is not None and self.measured.note:
            lines.append(self.measured.note)
        if self.cost is not None:
            at = self.cost
            times = f"{1e3 * at.seconds:.3g} → {1e3 * at.truncated_seconds:.3g} ms"
            lines.append(f"{at.examples} examples: {at.flops:,} → {at.truncated_flops:,} operations, {times}")
        return "\n".join(lines)


class Truncated(NamedTuple):
    """A truncated copy of a model, and the report on it."""

    model: nn.Module
    report: Truncation


class _Cut(NamedTuple):
    """How a weight is decomposed, what it can become, and whether data had a say."""

    parts: Decomposed
    choice: Choice
    seen: bool


@torch.inference_mode(False)  # what comes back is to be trained, wherever it was made
def truncate(
    model: nn.Module,
    *,
    energy: float | None = None,
    ranks: int | Mapping[str, int] | None = None,
    parameters: int | float | None = None,
    error: float | None = None,
    layers: Iterable[str] | None = None,
    calibration: Iterable[Any] | None = None,
    data: Iterable[Any] | None = None,
    forward: Callable[..., Any] = call,
    inputs: Callable[[Any], Any] | None = None,
    fine_tune: Callable[[nn.Module], object] | None = None,
) -> Truncated:
    """Replace layers of a copy of the model by two factors of low rank.

    Without data these are the best in Frobenius norm (Eckart & Young). With calibration batches they are the best for
    what dense and convolutional layers gave there: `U_r U_rᵀ W`, U the eigenvectors of the outputs' second moment.
    Products from `expand` are multiplied out first. Exactly one of `energy`, `ranks`, `parameters` and `error` says how
    far to go; but with `ranks` a layer whose factors would hold no fewer numbers than its weight stays whole.

    Args:
        model: Any module; it is not changed.
        energy: Each layer keeps the least rank with at least this share of `‖W‖²_F`, or of its outputs' energy.
        ranks: The rank of every layer (at most its full one), or of those named; the rest stay whole.
        parameters: How many parameters the whole model may have: a count, or a share of the count (a float up to 1).
            The ranks then minimise the sum of the layers' relative squared errors.
        error: By how much the model's outputs may change, relative to their norm: ranks for all layers at once that
            hold few numbers. With calibration batches the change is measured on them, without it is the bound.
        layers: Names of the layers to truncate, as in `model.named_modules()`; by default all.
        calibration: A few batches that show the layers what they will see; labels are not needed.
        data: Batches to measure what was lost and gained, with both models in evaluation mode. Better not those of the
            calibration.
        forward: How to get outputs from the model and a batch's inputs, such as `lambda model, x: model(x)[0]`.
        inputs: What to take from a batch: a tensor, a tuple of them, or a dict to be given by name. By default a dict
            without its labels, the first of a pair, or the batch itself.
        fine_tune: Called with the truncated model, in the mode of the given one, to train it; the report then has what
            was measured before and after.

    Returns:
        The truncated model in the mode, dtype and on the device of the given one, and the report.
    """
    why_whole = _WHY_WHOLE[_one_of(energy=energy, ranks=ranks, parameters=parameters, error=error)]
    forward = telling(arguments.function("forward", forward))
    inputs = None if inputs is None else arguments.function("inputs", inputs)
    fine_tune = None if fine_tune is None else arguments.function("fine_tune", fine_tune)
    whole = collapse(model)
    device = device_of(whole)
    places = replaceable(whole, list(ranks) if layers is None and isinstance(ranks, Mapping) else layers)
    seen = None if calibration is None else _shown(calibration, device, inputs)
    if seen is not None and not any(map(_holds_examples, seen)):
        raise ValueError("calibration must hold at least one batch; it was empty")
    keys = _keys(places)
    cuts = _cuts(whole, places, keys, seen, forward)
    choices = {key: cut.choice for key, cut in cuts.items()}
    if parameters is not None:
        picked = ranks_within(choices, _budget(whole, choices, parameters))
    elif energy is not None:
        picked = _ranks_for(energy, choices)
    elif error is not None:
        picked = _within_error(error, whole, cuts, seen, forward, [name for site in places for name in site.names])
    else:
        picked = _asked(places, keys, choices, ranks)
    before = _count(whole)
    rows = [_row(site, cuts.get(key), picked.get(key), why_whole) for site, key in zip(places, keys, strict=True)]
    small = _factored(whole, places, cuts, picked)
    measured = tuned = paid = None
    held = None if data is None else list(each(_batches("data", data), device, inputs))
    whole = collapse(model)
    estimated = None if seen is None else measure(whole, small, seen, forward, "calibration").error
    if held is not None:
        measured = measure(whole, small, held, forward)  # refuses what is empty
        paid = cost(whole, small, next(filter(_holds_examples, held)), forward)
    if fine_tune is not None:
        fine_tune(small)
        tuned = None if held is None else measure(whole, small, held, forward)
    report = Truncation(Table(rows), before, _count(small), _bound(cuts, picked), estimated, measured, paid, tuned)
    return Truncated(small, report)


_WHY_WHOLE = {
    "energy": "factors of the rank this needs would hold no fewer numbers",
    "parameters": "the budget is enough for all of it",
    "ranks": "no lower rank was asked for",
    "error": "factors of the rank this needs would hold no fewer numbers",
}


def _one_of(**given: Any) -> str:
    """The name of the one argument that was given."""
    asked = [name for name, value in given.items() if value is not None]
    if len(asked) != 1:
        raise ValueError(f"give exactly one of energy, ranks, parameters and error; got {', '.join(asked) or 'none'}")
    return asked[0]


def _batches(name: str, value: Iterable[Any]) -> Iterator[Any]:
    """Batches one after the other; of a tensor or array each example would be taken for one, and of a dict each name."""
    one = isinstance(value, Mapping | str | bytes) or hasattr(value, "shape")
    try:
        walked = None if one else iter(value)
    except TypeError:
        walked = None
    if walked is None:
        raise ValueError(
            f"{name} must be a sequence of batches, such as [x] or a DataLoader; got {arguments.shown(value)}"
        )
    yield from walked  # a loader's own errors are its own


def _shown(calibration: Iterable[Any], device: torch.device, inputs: Callable[[Any], Any] | None) -> list[Given]:
    """The batches of the calibration without their labels, which have no part in it."""
    return [batch._replace(labels=None) for batch in each(_batches("calibration", calibration), device, inputs)]


def _holds_examples(batch: Given) -> bool:
    """Whether a batch is not empty, which the last of a stream may be."""
    values = (*batch.positional, *batch.named.values())
    return all(len(value) for value in values if isinstance(value, torch.Tensor) and value.ndim)


def _keys(places: list[Site]) -> list[str]:
    """A name for each site's weight: that of the first site which has it."""
    first: dict[int, str] = {}
    return [first.setdefault(id(site.weight), site.name) if not site.reason else site.name for site in places]


def _cuts(
    model: nn.Module, places: list[Site], keys: list[str], seen: list[Given] | None, forward: Any
) -> dict[str, _Cut]:
    """How each weight can be cut."""
    found = {} if seen is None else moments(model, places, seen, forward)
    cuts: dict[str, _Cut] = {}
    for site, key in zip(places, keys, strict=True):
        if site.reason or key in cuts:
            continue
        W, moment = site.matrices(double(site.weight)), found.get(id(site.weight))
        step = len(W) * (W.shape[1] + W.shape[2])
        if moment is None:
            parts = decomposed(W, site.weight.dtype)
            energies, rest = parts.S**2, parts.S.amax(0)
        else:
            parts, energies = weighted(W, moment)
            # The norm of all that is cut: no single direction of the outputs is a singular one here.
            rest = torch.flip(torch.cumsum(torch.flip(parts.S**2, [1]), 1), [1]).sqrt().amax(0)
        curve = energy_curve(energies.sqrt().cpu().numpy())
        cuts[key] = _Cut(parts, Choice(W.numel(), step, curve, rest.cpu().numpy()), moment is not None)
    return cuts


def _ranks_for(energy: float, choices: Mapping[str, Choice]) -> dict[str, int | None]:
    """The least ranks that keep a share of the energy, None where factors would hold no fewer numbers."""
    energy = arguments.number("energy", energy, above=0, most=1)
    return {key: choice.if_smaller(least_rank(choice.energy, energy)) for key, choice in choices.items()}


def _within_error(
    error: float, model: nn.Module, cuts: Mapping[str, _Cut], seen: list[Given] | None, forward: Any, names: list[str]
) -> dict[str, int | None]:
    """Ranks for a target error: of the bound without data; with data, of what the model is measured to do on them."""
    error = arguments.number("error", error, above=0, below=1)
    choices = {key: cut.choice for key, cut in cuts.items()}
    if seen is None:
        return ranks_to(choices, error)
    # The layers' errors add up to more or less than the model's: look for the allowance that uses up the target.
    low, high, best = error / 32, min(32 * error, 1.0), dict.fromkeys(choices)
    for _ in range(_TRIALS):
        middle = (low * high) ** 0.5
        picked = ranks_to(choices, middle)
        trial = copied(model)
        good = (
            measure(
                model, _factored(trial, replaceable(trial, names), cuts, picked), seen, forward, "calibration"
            ).error
            <= error
        )
        low, high, best = (middle, high, picked) if good else (low, middle, best)
    return best


_TRIALS = 8  # halvings of a range of a factor 1000, to 3 %


def _bound(cuts: Mapping[str, _Cut], picked: Mapping[str, int | None]) -> float:
    """`√(1 − Π energy)` of the weights over the layers that were cut."""
    kept = 1.0
    for key, rank in picked.items():
        if rank:
            squares = cuts[key].parts.S ** 2
            kept *= float(squares[:, :rank].sum() / squares.sum()) if squares.sum() > 0 else 1.0
    return max(0.0, 1 - kept) ** 0.5


def _factored(
    model: nn.Module, places: list[Site], cuts: Mapping[str, _Cut], picked: Mapping[str, int | None]
) -> nn.Module:
    """The model with two factors in the place of each layer that a rank was picked for; layers may share them."""
    shared: dict[str, list[nn.Parameter]] = {}
    for site, key in zip(places, _keys(places), strict=True):
        if site.reason or not (rank := picked[key]):
            continue
        if site.parameter:
            packed.pack(site.module, site.parameter, balanced(cuts[key].parts, 2, rank))
            continue
        if key not in shared:
            shared[key] = as_weights(site.module, balanced(cuts[key].parts, 2, rank))
        model = placed(model, site, factored(site.module, shared[key]))
    return model


def _count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters() if not is_lazy(parameter))


def _budget(model: nn.Module, choices: Mapping[str, Choice], parameters: int | float) -> int:
    """How many numbers the weights that can be factored may hold."""
    total = _count(model)
    share = isinstance(parameters, float)
    if (
        not isinstance(parameters, int | float)
        or isinstance(parameters, bool)
        or not (0 < parameters <= 1 if share else parameters >= 1)
    ):
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
    places: list[Site], keys: list[str], choices: Mapping[str, Choice], ranks: int | Mapping[str, int] | None
) -> dict[str, int | None]:
    """The ranks that were asked for, None for those that are the full one or were not named."""
    picked: dict[str, int | None] = dict.fromkeys(choices)
    for site, key in zip(places, keys, strict=True):
        inside = {name.rpartition(".")[0] for name in site.names} if site.parameter else set()
        wanted = [ranks]
        if isinstance(ranks, Mapping):
            wanted = [ranks[name] for name in (*site.names, *inside) if name in ranks]
        for rank in wanted[:1]:
            if type(rank) is not int or rank < 1:
                raise ValueError(f"ranks must be whole numbers of at least 1; got {rank!r} for {site.name!r}")
            if not site.reason:
                picked[key] = rank if rank < len(choices[key].energy) else None
    return picked


def _row(site: Site, cut: _Cut | None, rank: int | None, why_whole: str) -> TruncatedLayer:
    kind = type(site.module).__name__
    if site.reason or cut is None:
        size = site.size
        return TruncatedLayer(
            site.name, kind, site.shape, False, None, None, None, None, None, False, size, size, site.reason
        )
    choice, shape = cut.choice, site.shape
    full, size = len(choice.energy), choice.size
    if rank is None:
        note = f"whole: {why_whole}"
        return TruncatedLayer(site.name, kind, shape, False, full, full, 1.0, 0.0, 0.0, cut.seen, size, size, note)
    kept = float(choice.energy[rank - 1])
    bound = float(choice.largest[rank]) if rank < full else 0.0
    smaller = rank * choice.step
    notes = [] if smaller < size else ["its factors hold no fewer numbers"]
    notes += ["multiplied out at every call: saves parameters, not time"] if site.parameter else []
    error = max(0.0, 1 - kept) ** 0.5
    return TruncatedLayer(
        site.name, kind, shape, True, full, rank, kept, error, bound, cut.seen, size, smaller, "; ".join(notes)
    )
