"""Which layers of a model can be factored, and why the others cannot."""

import copy
from collections.abc import Iterable
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.nn.utils import parametrize

from .factored import LAYERS, Factored, Layer, groups


class Site(NamedTuple):
    """A module with a weight, all the names it goes by, and why it cannot be factored (empty if it can)."""

    names: tuple[str, ...]
    module: nn.Module
    reason: str

    @property
    def name(self) -> str:
        """The names in one string; a module used at several places has several."""
        return " = ".join(self.names)

    @property
    def layer(self) -> Layer:
        """The module, known to be one that can be factored."""
        return cast(Layer, self.module)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the module's weight, if it has one."""
        weight = getattr(self.module, "weight", None)
        return tuple(weight.shape) if isinstance(weight, Tensor) and not is_lazy(weight) else None


def checked(model: nn.Module) -> nn.Module:
    """Refuse what is no ordinary module."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"model must be a torch.nn.Module; got {type(model).__name__}")
    if isinstance(model, torch.jit.ScriptModule):
        raise ValueError(
            "model must be an ordinary torch.nn.Module; got a scripted one: give the one it was made from"
        )
    if hasattr(model, "_orig_mod"):
        raise ValueError("model must not be compiled yet: give the module itself, and compile what comes back")
    return model


def copied(model: nn.Module) -> nn.Module:
    """A deep copy.

    Weights that hooks compute (as `torch.nn.utils.weight_norm` does) have a history that cannot be copied; the hooks
    will compute them anew.
    """
    computed = [
        value
        for module in checked(model).modules()
        for value in vars(module).values()
        if isinstance(value, Tensor) and not value.is_leaf
    ]
    return copy.deepcopy(model, {id(value): value.detach().clone() for value in computed})


def sites(model: nn.Module, layers: Iterable[str] | None = None) -> list[Site]:
    """Every module with a weight, or those that are named, each with the reason that speaks against factoring it."""
    names = _names(model)
    if layers is None:
        chosen = set(filter(_has_weight, names))
    else:
        named = {name: module for module, all_names in names.items() for name in all_names}
        chosen = {named[name] for name in _known("layers", layers, named)}
    held = _held_in_containers(model)
    reasons = {module: why_not(module) or held.get(module, "") for module in names if module in chosen}
    places = [Site(tuple(names[module]), module, reason) for module, reason in reasons.items()]
    return _without_broken_ties(model, places)


def _names(model: nn.Module) -> dict[nn.Module, list[str]]:
    """Every module with all its names, but for the parts of modules that are taken as a whole."""
    names: dict[nn.Module, list[str]] = {}
    inside: list[str] = []
    for name, module in model.named_modules(remove_duplicate=False):
        if name.startswith(tuple(inside)):
            continue
        if isinstance(module, Factored) or parametrize.is_parametrized(module) or quantised(module):
            inside.append(f"{name}." if name else "")
        names.setdefault(module, []).append(name)
    return names


def _known(argument: str, layers: Iterable[str], named: Iterable[str]) -> list[str]:
    if isinstance(layers, str):
        raise ValueError(f"{argument} must be a sequence of names, such as [{layers!r}]; got the string {layers!r}")
    layers, named = list(layers), set(named)
    for name in layers:
        if name not in named:
            raise ValueError(f"{argument} must name modules of the model; got {name!r}, there are {sorted(named)}")
    return layers


def _has_weight(module: nn.Module) -> bool:
    if isinstance(module, (Factored, *LAYERS)) or quantised(module):
        return True
    own = module.parameters(recurse=False)
    return any(is_lazy(parameter) or parameter.ndim > 1 for parameter in own)


def quantised(module: nn.Module) -> bool:
    """Whether a module computes with quantised numbers, or pretends to while it trains."""
    home = type(module).__module__
    return "quantized" in home.split(".") or ".qat" in home


def why_not(module: nn.Module) -> str:
    """Why a module cannot be factored; empty if it can."""
    if isinstance(module, Factored):
        return "already a product; collapse the model first"
    if quantised(module):
        return f"quantised ({type(module).__name__}): factor the model before it is quantised"
    if parametrize.is_parametrized(module):
        return "parametrised: torch.nn.utils.parametrize computes its " + ", ".join(module.parametrizations)  # type: ignore[arg-type]
    if not isinstance(module, LAYERS):
        return f"a {type(module).__name__} is none of Linear, Conv1d, Conv2d"
    return _why_not_layer(module) or _why_not_weight(module.weight)


def _why_not_layer(module: Layer) -> str:
    if is_lazy(module.weight):
        return "not initialised yet: run the lazy layer once"
    if type(module) not in LAYERS:
        return f"a {type(module).__name__} may compute something of its own"
    if "weight" not in dict(module.named_parameters(recurse=False)):
        return "its weight is no parameter: a hook computes it (weight_norm, spectral_norm, pruning)"
    extra = {name for name, _ in [*module.named_parameters(), *module.named_buffers()]} - {"weight", "bias"}
    if extra or "forward" in vars(module) or any(True for _ in module.children()):
        return "has parts of its own: " + ", ".join(sorted(extra) or ["a forward or modules of its own"])
    return ""


def _why_not_weight(weight: Tensor) -> str:
    if type(weight.data) is not Tensor:
        return f"its weight is a {type(weight.data).__name__}, no ordinary tensor"
    if not weight.is_floating_point():
        return f"its weight holds {weight.dtype}, no real floating-point numbers"
    if weight.is_meta:
        return "its weight has no values (device meta)"
    if not weight.numel():
        return "its weight is empty"
    return "" if bool(torch.isfinite(weight).all()) else "its weight is not finite"


def _held_in_containers(model: nn.Module) -> dict[nn.Module, str]:
    """Modules that ordinary lists, tuples or dicts hold: replacing what is registered would not replace those."""
    held = {}
    for name, module in model.named_modules():
        for attribute, value in vars(module).items():
            members = value.values() if isinstance(value, dict) else value
            if attribute.startswith("_") or not isinstance(value, (list, tuple, dict)):
                continue
            where = f"the {type(value).__name__} {'.'.join(filter(None, (name, attribute)))!r}"
            reason = f"also held by {where}, which would keep the old one"
            held |= {member: reason for member in members if isinstance(member, nn.Module)}
    return held


def _without_broken_ties(model: nn.Module, found: list[Site]) -> list[Site]:
    """Layers that share one weight are factored together, with shared factors, or not at all."""
    owners: dict[int, dict[nn.Module, str]] = {}
    for name, module in model.named_modules():
        for parameter in module.parameters(recurse=False):
            owners.setdefault(id(parameter), {})[module] = name
    ready = {site.module: site.layer for site in found if not site.reason}

    def reason(site: Site) -> str:
        if site.reason:
            return site.reason
        layer = site.layer
        for other, name in owners[id(layer.weight)].items():
            partner = ready.get(other)
            if partner is None or (type(partner), groups(partner)) != (type(layer), groups(layer)):
                return f"its weight is shared with {name!r}, which is not factored in the same way"
        return ""

    return [site._replace(reason=reason(site)) for site in found]


def placed(model: nn.Module, site: Site, module: nn.Module) -> nn.Module:
    """The model with the module at all places of the site."""
    for name in site.names:
        if not name:
            return module
        model.set_submodule(name, module)
    return model
