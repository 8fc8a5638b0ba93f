"""What the layers of a model are like at one moment: singular values, balance, gradients."""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from .decomposition import double
from .factored import Factored
from .layers import sites
from .spectra import _spectrum


def singular_values(model: nn.Module, layers: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """The singular values of each layer's weight in falling order; layers that have none to read are left out.

    So are embeddings, unless they are named: a table of fifty thousand rows takes seconds each time.
    """
    places = sites(model, layers)
    rows = map(_spectrum, places if layers is not None else [site for site in places if not _is_table(site.module)])
    return {row.layer: row.singular_values for row in rows if row.done}


def unbalancedness(model: nn.Module, layers: Iterable[str] | None = None) -> dict[str, float]:
    """`‖W_{j+1}ᵀW_{j+1} − W_jW_jᵀ‖_F` of successive linear layers (Cohen & Razin, Definition 2).

    Successive are the factors of a product from `expand`, and `Linear` layers that follow each other in the order of
    `named_modules` and fit. Gradient flow conserves the difference within a product, not across an activation.
    """
    chosen = None if layers is None else {module for site in sites(model, layers) for module in site.module.modules()}
    return {
        f"{first} → {second}": _gap(W, V)
        for (first, before, W), (second, after, V) in _successive(model)
        if chosen is None or {before, after} <= chosen
    }


def gradient_norms(model: nn.Module) -> dict[str, float]:
    """The norm of each parameter's gradient; NaN for a parameter that has none now."""
    return gradient_norms_later(model)()


def gradient_norms_later(model: nn.Module) -> Callable[[], dict[str, float]]:
    """The norms of the gradients that are there now, not yet waited for: a loop may clear them before they are asked."""
    held = {name: parameter.grad for name, parameter in model.named_parameters()}
    norms = {name: _norm(gradient) for name, gradient in held.items() if gradient is not None}
    names = list(held)

    def transferred() -> dict[str, float]:
        # One transfer for all: each costs a wait for the device.
        device = next((norm.device for norm in norms.values()), None)
        values = torch.stack([norm.to(device) for norm in norms.values()]).tolist() if norms else []
        return dict.fromkeys(names, float("nan")) | dict(zip(norms, values, strict=True))

    return transferred


def _norm(gradient: Tensor) -> Tensor:
    dense = gradient.detach().coalesce().values() if gradient.is_sparse else gradient.detach()
    return torch.linalg.vector_norm(dense, dtype=torch.promote_types(dense.dtype, torch.float32))


Maps = list[tuple[str, nn.Module, Tensor]]  # name, where it belongs, matrices


def _linear(model: nn.Module) -> Maps:
    """Factors of products, in the order in which they act, and dense layers."""
    found: Maps = []
    inside: set[nn.Module] = set()
    for name, module in model.named_modules():
        if isinstance(module, Factored):
            inside.update(module.modules())
            places = list(range(len(module)))
            places = places[::-1] if module.kind == "lookup" else places
            parts = zip(places, module.factors(), strict=True)
            found += [(f"{name}.{j}" if name else str(j), module, W) for j, W in parts]
        elif isinstance(module, nn.Linear) and module not in inside and _usable(getattr(module, "weight", None)):
            found.append((name, module, module.weight[None]))
    return found


def _successive(model: nn.Module) -> Iterator[tuple[tuple[str, nn.Module, Tensor], tuple[str, nn.Module, Tensor]]]:
    """Pairs of maps that are factors of one product, or dense and of sizes that fit."""
    for before, after in pairwise(_linear(model)):
        dense = len(before[2]) == len(after[2]) == 1 and before[2].shape[1] == after[2].shape[2]
        if before[1] is after[1] or (dense and {_kind(before[1]), _kind(after[1])} == {"linear"}):
            yield before, after


def _is_table(module: nn.Module) -> bool:
    return isinstance(module, nn.Embedding) or (isinstance(module, Factored) and module.kind == "lookup")


def _kind(module: nn.Module) -> str:
    return module.kind if isinstance(module, Factored) else "linear"


def _usable(weight: object) -> bool:
    return isinstance(weight, Tensor) and not is_lazy(weight) and weight.is_floating_point()


def _gap(before: Tensor, after: Tensor) -> float:
    W, V = double(before), double(after)
    return float(torch.linalg.vector_norm(V.mT @ V - W @ W.mT))
