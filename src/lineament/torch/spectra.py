"""The singular values of a model's layers, and what could be saved by cutting them."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from .decomposition import double, singular_values
from .factored import Factored
from .kinds import kind_of
from .layers import Site, checked, sites
from .report import Table


class LayerSpectrum(NamedTuple):
    """The spectrum of one layer's weight as a matrix (outputs, inputs × kernel).

    With groups the weight is block-diagonal: `singular_values` are those of all blocks, in falling order, and a rank r
    of `energy` and `rank_99` means r in every block. `effective_rank` is the exponential of the entropy of the
    normalised singular values (Roy & Vetterli 2007), `stable_rank` is `‖W‖²_F / ‖W‖²`. `energy[r − 1]` is the share of
    `‖W‖²_F` that the best map of rank r keeps; `rank_99` is the least rank that keeps 99 %, and `saved_99` says how
    many of the layer's `parameters` its factors do without.
    """

    layer: str
    kind: str
    shape: tuple[int, ...] | None
    done: bool
    parameters: int
    effective_rank: float | None
    stable_rank: float | None
    rank_99: int | None
    saved_99: int | None
    note: str
    singular_values: np.ndarray
    energy: np.ndarray


def spectra(model: nn.Module) -> Table[LayerSpectrum]:
    """One row per layer: shape, effective and stable rank, energy curve, and parameters saved at 99 % of the energy.

    Products from `expand` and `truncate` count as the one layer they stand for. Layers whose weights are computed (by
    a parametrisation or a hook) are read as they are now. Modules with other weights are listed with a note.

    Args:
        model: Any module; it is not changed.
    """
    return Table(_spectrum(site) for site in sites(checked(model)))


def _spectrum(site: Site) -> LayerSpectrum:
    kind = type(site.module).__name__
    known = isinstance(site.module, Factored) or kind_of(site.module) or site.parameter
    if not known or not _readable(site.weight):
        none = np.zeros(0)
        return LayerSpectrum(site.name, kind, site.shape, False, 0, None, None, None, None, site.reason, none, none)
    weight = site.weight
    W = site.matrices(double(weight))
    S = singular_values(W, weight.dtype).cpu().numpy()
    every = np.sort(S.ravel())[::-1]
    p = every[every > 0] / max(every.sum(), np.finfo(float).tiny)
    effective = float(np.exp(-np.sum(p * np.log(p)))) if p.size else 0.0
    stable = float(np.sum(every**2) / every[0] ** 2) if every[0] > 0 else 0.0
    energy = energy_curve(S)
    rank = least_rank(energy, 0.99)
    saved = max(0, weight.numel() - factored_size(W, rank))
    shape = tuple(weight.shape)
    return LayerSpectrum(
        site.name, kind, shape, True, weight.numel(), effective, stable, rank, saved, "", every, energy
    )


def energy_curve(S: np.ndarray) -> np.ndarray:
    """The share of `‖W‖²_F` that ranks 1, 2, … in every group keep, from singular values (groups, modes)."""
    squares = np.sum(S**2, axis=0)
    total = squares.sum()
    return np.minimum(np.cumsum(squares) / total, 1.0) if total > 0 else np.ones_like(squares)


def least_rank(energy: np.ndarray, share: float) -> int:
    """The least rank that keeps a share of the energy, up to rounding."""
    return int(np.argmax(energy >= share - len(energy) * np.finfo(float).eps)) + 1


def factored_size(W: Tensor, rank: int) -> int:
    """How many numbers two factors of that rank hold, for matrices (groups, outputs, inputs)."""
    return len(W) * rank * (W.shape[1] + W.shape[2])


def _readable(weight: Tensor) -> bool:
    return (
        isinstance(weight, Tensor)
        and not is_lazy(weight)
        and weight.is_floating_point()
        and not weight.is_meta
        and weight.numel() > 0
        and bool(torch.isfinite(weight).all())
    )
