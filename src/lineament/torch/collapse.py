"""Back from products to single layers."""

import warnings
from typing import cast

import torch
from torch import nn

from . import packed
from .factored import Factored, plain
from .layers import Site, copied, hooked, is_compiled, placed, sites


@torch.inference_mode(False)  # what comes back is to be trained, wherever it was made
def collapse(model: nn.Module) -> nn.Module:
    """A copy of a model in which every product of linear maps is one layer again.

    It computes the same function, in the original architecture with the original names in its `state_dict`. Products
    are multiplied out in float64. Factors that several products share become one weight that their layers share. Hooks
    on the gradients of factors have no place there; a warning names them.

    Args:
        model: A model that `expand` or `truncate` returned, trained since then or not, or a part of one.
    """
    model = copied(model)
    merged: dict[tuple[int, ...], nn.Parameter] = {}
    found = sites(model)
    if lost := [repr(site.name) for site in found if any(map(hooked, _factors(site)))]:
        warnings.warn(f"hooks on the gradients of the factors of {', '.join(lost)} are left out", stacklevel=2)
    for site in found:
        if is_compiled(site) and _factors(site):
            raise ValueError(
                f"model must not have products in compiled parts; {site.name!r} is one: put back what was compiled, the "
                "part's _orig_mod, and compile what comes back"
            )
        if isinstance(site.module, Factored):
            parts = [id(factor.weight) for factor in site.module]
            key = tuple(parts[::-1] if site.module.kind == "lookup" else parts)
            layer = plain(site.module, merged.get(key))
            merged[key] = cast(nn.Parameter, layer.weight)
            model = placed(model, site, layer)
        elif site.parameter in packed.products(site.module):
            packed.unpack(site.module)
    return model


def _factors(site: Site) -> list[nn.Parameter]:
    """The factors of a product; of anything else none."""
    if isinstance(site.module, Factored):
        return [cast(nn.Parameter, factor.weight) for factor in site.module]
    return packed.factor_list(site.module, site.parameter) if site.parameter in packed.products(site.module) else []
