"""What the layers of a model are like at one moment: singular values, balance, gradients."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from .factored import LAYERS, Factored, Layer, double, groups, matrices
from .layers import sites
from .spectra import _spectrum


def singular_values(model: nn.Module, layers: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """The singular values of each layer's weight in falling order; layers that have none to read are left out."""
    rows = map(_spectrum, sites(model, layers))
    return {row.layer: row.singular_values for row in rows if row.done}


def unbalancedness(model: nn.Module, layers: Iterable[str] | None = None) -> dict[str, float]:
    """`‖W_{j+1}ᵀW_{j+1} − W_jW_jᵀ‖_F` of successive linear layers (Cohen & Razin, Definition 2).

    Successive are the factors of a product from `expand`, and `Linear` layers that follow each other in the order of
    `named_modules` and fit. Gradient flow conserves the difference within a product, not across an activation.
    """
    chosen = None if layers is None else {module for site in sites(model, layers) for module in site.module.modules()}
    return {
        f"{first} → {second}": _gap(before, after)
        for (first, before), (second, after) in _successive(model)
        if chosen is None or {before, after} <= chosen
    }


def gradient_norms(model: nn.Module) -> dict[str, float]:
    """The norm of each parameter's gradient; NaN for a parameter that has none now."""
    held = {name: parameter.grad for name, parameter in model.named_parameters()}
    norms = {name: _norm(gradient) for name, gradient in held.items() if gradient is not None}
    # One transfer for all: each costs a wait for the device.
    device = next((norm.device for norm in norms.values()), None)
    values = torch.stack([norm.to(device) for norm in norms.values()]).tolist() if norms else []
    return dict.fromkeys(held, float("nan")) | dict(zip(norms, values, strict=True))


def _norm(gradient: Tensor) -> Tensor:
    dense = gradient.detach().coalesce().values() if gradient.is_sparse else gradient.detach()
    return torch.linalg.vector_norm(dense, dtype=torch.promote_types(dense.dtype, torch.float32))


def _linear(model: nn.Module) -> list[tuple[str, Layer]]:
    layers = [(name, module) for name, module in model.named_modules() if isinstance(module, LAYERS)]
    return [(name, layer) for name, layer in layers if _usable(getattr(layer, "weight", None))]


def _successive(model: nn.Module) -> Iterator[tuple[tuple[str, Layer], tuple[str, Layer]]]:
    """Pairs of layers that are factors of one product, or dense and of sizes that fit."""
    products = {factor: module for module in model.modules() if isinstance(module, Factored) for factor in module}
    for pair in pairwise(_linear(model)):
        (_, before), (_, after) = pair
        product = before in products and products[before] is products.get(after)
        dense = isinstance(before, nn.Linear) and isinstance(after, nn.Linear)
        if product or (dense and len(before.weight) == after.weight.shape[1]):
            yield pair


def _usable(weight: object) -> bool:
    return isinstance(weight, Tensor) and not is_lazy(weight) and weight.is_floating_point()


def _gap(before: Layer, after: Layer) -> float:
    g = groups(cast(Layer, after))
    W, V = matrices(double(before.weight), g), matrices(double(after.weight), g)
    return float(torch.linalg.vector_norm(V.mT @ V - W @ W.mT))
