"""Which layers of a model can be factored, and why the others cannot."""

import copy
from collections import deque
from collections.abc import Iterable, Iterator
from functools import partial
from math import prod
from types import MethodType
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.nn.utils import parametrize

from lineament.core import arguments

from . import packed
from .factored import Factored, groups, matrices
from .kinds import computes_its_own, kind_of

ALLOWED = "Linear, Conv1d to 3d, their transposes, Embedding, or a weight of attention or recurrence"


class Site(NamedTuple):
    """A module with a weight, all the names it goes by, and why it cannot be factored (empty if it can).

    `parameter` names the weight where a module reads several itself, as attention and recurrent layers do.
    """

    names: tuple[str, ...]
    module: nn.Module
    reason: str
    parameter: str = ""

    @property
    def name(self) -> str:
        """The names in one string; a module used at several places has several."""
        return " = ".join(self.names)

    @property
    def weight(self) -> Any:
        """The weight; None if there is none of that name."""
        return getattr(self.module, self.parameter or "weight", None)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape of the weight, if there is one."""
        weight = self.weight
        return tuple(weight.shape) if isinstance(weight, Tensor) and not is_lazy(weight) else None

    @property
    def size(self) -> int:
        """How many numbers the weight holds; where none has that name, all arrays of more than one axis."""
        if self.shape is not None:
            return prod(self.shape)
        own = (parameter for parameter in self.module.parameters(recurse=False) if not is_lazy(parameter))
        return sum(parameter.numel() for parameter in own if parameter.ndim > 1)

    @property
    def groups(self) -> int:
        """How many separate matrices the weight holds."""
        return packed.groups_of(self.module, self.parameter) if self.parameter else groups(self.module)

    def matrices(self, weight: Tensor) -> Tensor:
        """The weight as matrices (groups, outputs, inputs × kernel)."""
        return packed.matrices(weight, self.groups) if self.parameter else matrices(self.module, weight)


def walked(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """What `named_modules` gives, which passes everything through a generator at each level above it."""
    found: list[tuple[str, nn.Module]] = []
    seen: set[nn.Module] = set()
    left: list[tuple[str, nn.Module]] = [("", model)]
    while left:
        path, module = left.pop()
        if module in seen:
            continue
        seen.add(module)
        found.append((path, module))
        inner = reversed(module._modules.items())
        left += [(f"{path}.{name}" if path else name, child) for name, child in inner if child is not None]
    return found


def checked(model: nn.Module) -> nn.Module:
    """Refuse what is no ordinary module."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"model must be a torch.nn.Module; got {type(model).__name__}")
    if isinstance(model, torch.jit.ScriptModule):
        raise ValueError(
            "model must be an ordinary torch.nn.Module; got a scripted one: give the one it was made from"
        )
    if hasattr(model, "_orig_mod"):
        raise ValueError(
            "model must not be compiled yet: give the module itself (model._orig_mod), and compile what comes back"
        )
    return model


def copied(model: nn.Module) -> nn.Module:
    """A deep copy.

    Weights that hooks compute (as `torch.nn.utils.weight_norm` does) have a history that cannot be copied; the hooks
    will compute them anew. Hooks on the gradients of parameters are copied as those of modules are, which PyTorch leaves
    out.
    """
    computed = [
        value
        for module in checked(model).modules()
        for value in vars(module).values()
        if isinstance(value, Tensor) and not value.is_leaf
    ]
    known: dict[int, Any] = {id(value): value.detach().clone() for value in computed}
    made = copy.deepcopy(model, known)
    for parameter in model.parameters():
        for kind in GRADIENT_HOOKS:
            if hooks := getattr(parameter, kind):
                setattr(known[id(parameter)], kind, copy.deepcopy(hooks, known))
    return made


GRADIENT_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")


def hooked(parameter: Any) -> bool:
    """Whether a hook was registered on the gradient of a parameter."""
    return any(getattr(parameter, kind, None) for kind in GRADIENT_HOOKS)


def replaceable(model: nn.Module, layers: Iterable[str] | None = None) -> list[Site]:
    """The sites of a model, where what would go on using the weight as it was speaks against others in its place too."""
    return [site._replace(reason=site.reason or _why_kept(site)) for site in sites(model, layers)]


def _why_kept(site: Site) -> str:
    if is_compiled(site):
        return _COMPILED
    return _HOOKED if hooked(site.weight) else ""


def is_compiled(site: Site) -> bool:
    """Whether `torch.compile` took the module, or what it is in: what was compiled runs whatever takes its place."""
    return any("_orig_mod" in name.split(".") for name in site.names)


_COMPILED = "in a part that torch.compile took as it was: compile what comes back instead"
_HOOKED = (
    "a hook acts on the gradient of its weight, and would not fit factors: remove it before, and register what the "
    "factors need afterwards"
)


def sites(model: nn.Module, layers: Iterable[str] | None = None) -> list[Site]:
    """Every weight of more than one axis, or those of the modules named, each with what speaks against factoring it."""
    names = _names(model)
    every = [site for module, places in names.items() for site in _of_module(module, places)]
    if layers is None:
        chosen = every
    else:
        named = {name for places in names.values() for name in places} | {
            name for site in every for name in site.names
        }
        asked = set(_known("layers", layers, named))
        chosen = [site for site in every if asked & {*site.names, *names[site.module]}]
        without = [module for module, places in names.items() if asked & {*places} and not _has_weight(module)]
        chosen += [Site(tuple(names[module]), module, why_not(module)) for module in without]
    held = _held_in_containers(model)
    return _without_broken_ties(
        model, [site._replace(reason=site.reason or held.get(site.module, "")) for site in chosen]
    )


def _of_module(module: nn.Module, places: list[str]) -> list[Site]:
    """The sites of one module: its weight, or the weights that it reads itself."""
    inner = [*packed.weights_of(module), *packed.products(module)]
    if not inner or quantised(module):
        return [Site(tuple(places), module, why_not(module))] if _has_weight(module) else []
    named = {name: tuple(f"{place}.{name}" if place else name for place in places) for name in inner}
    order = list(dict.fromkeys(inner))
    return [Site(named[name], module, why_not_packed(module, name), name) for name in order]


def _names(model: nn.Module) -> dict[nn.Module, list[str]]:
    """Every module with all its names, but for the parts of modules that are taken as a whole."""
    names: dict[nn.Module, list[str]] = {}
    inside: list[str] = []
    for name, module in model.named_modules(remove_duplicate=False):
        if name.startswith(tuple(inside)):
            continue
        whole = parametrize.is_parametrized(module) and not packed.products(module)
        if isinstance(module, (Factored, parametrize.ParametrizationList)) or whole or quantised(module):
            inside.append(f"{name}." if name else "")
        names.setdefault(module, []).append(name)
    return names


def _known(argument: str, layers: Iterable[str], named: Iterable[str]) -> list[str]:
    if isinstance(layers, str):
        raise ValueError(f"{argument} must be a sequence of names, such as [{layers!r}]; got the string {layers!r}")
    layers, named = list(arguments.words(argument, arguments.listed(argument, layers))), set(named)
    for name in layers:
        if name not in named:
            raise ValueError(f"{argument} must name modules of the model; got {name!r}, there are {sorted(named)}")
    return layers


def _has_weight(module: nn.Module) -> bool:
    if isinstance(module, parametrize.ParametrizationList):
        return False
    if isinstance(module, Factored) or kind_of(module) or quantised(module):
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
    if not kind_of(module):
        return f"a {type(module).__name__} is none of {ALLOWED}"
    return _why_not_layer(module) or _why_not_weight(cast(Tensor, module.weight))


def why_not_packed(module: nn.Module, name: str) -> str:
    """Why a weight that a module reads itself cannot be factored; empty if it can."""
    if name in packed.products(module):
        return "already a product; collapse the model first"
    if parametrize.is_parametrized(module) and not packed.products(module):
        return "parametrised: torch.nn.utils.parametrize computes its " + ", ".join(module.parametrizations)  # type: ignore[arg-type]
    if type(module).__module__.split(".")[0] != "torch":
        return f"a {type(module).__name__} may compute something of its own"
    return _why_not_weight(getattr(module, name))


def _why_not_layer(module: Any) -> str:
    if is_lazy(module.weight):
        return "not initialised yet: run the lazy layer once"
    if computes_its_own(module):
        return f"a {type(module).__name__} may compute something of its own"
    if "weight" not in dict(module.named_parameters(recurse=False)):
        return "its weight is no parameter: a hook computes it (weight_norm, spectral_norm, pruning)"
    extra = {name for name, _ in [*module.named_parameters(), *module.named_buffers()]} - {"weight", "bias"}
    if extra or "forward" in vars(module) or any(True for _ in module.children()):
        return "has parts of its own: " + ", ".join(sorted(extra) or ["a forward or modules of its own"])
    if isinstance(module, nn.Embedding) and (
        module.max_norm is not None or module.sparse or module.scale_grad_by_freq
    ):
        return "an embedding with max_norm, sparse or scaled gradients changes its rows one by one"
    return ""


def _why_not_weight(weight: Tensor) -> str:
    if type(weight.data) is not Tensor:
        return f"its weight is a {type(weight.data).__name__}, no ordinary tensor"
    if not weight.is_floating_point():
        return f"its weight holds {weight.dtype}, no real floating-point numbers"
    if weight.element_size() < 2:
        return f"its weight holds {weight.dtype}, which PyTorch does not compute with: convert the model first"
    if weight.is_meta:
        return "its weight has no values (device meta)"
    if not weight.numel():
        return "its weight is empty"
    return "" if bool(torch.isfinite(weight).all()) else "its weight is not finite"


def _held_in_containers(model: nn.Module) -> dict[nn.Module, str]:
    """Modules that ordinary lists, methods and the like hold: replacing what is registered would not replace those."""
    held: dict[nn.Module, str] = {}
    for name, module in model.named_modules():
        for attribute, value in vars(module).items():
            if attribute in _OF_EVERY_MODULE:
                continue
            where = f"the {type(value).__name__} {'.'.join(filter(None, (name, attribute)))!r}"
            reason = f"also held by {where}, which would keep the old one"
            held |= {member: reason for member in _members(value) if member is not module}
    return held


def _members(value: Any, depth: int = 3) -> Iterator[nn.Module]:
    """The modules in lists, tuples, sets and dicts, in methods and functions with some arguments given."""
    if isinstance(value, MethodType):
        inside = [value.__self__]
    elif isinstance(value, partial):
        inside = [value.func, *value.args, *value.keywords.values()]
    elif isinstance(value, dict):
        inside = [*value.values()]
    else:
        inside = [*value] if isinstance(value, list | tuple | set | frozenset | deque) else []
    for member in inside:
        if isinstance(member, nn.Module):
            yield member
        elif depth > 1:
            yield from _members(member, depth - 1)


_OF_EVERY_MODULE = frozenset(vars(nn.Module()))


def _without_broken_ties(model: nn.Module, found: list[Site]) -> list[Site]:
    """Layers that share one weight are factored together, with shared factors, or not at all."""
    owners: dict[int, dict[nn.Module, str]] = {}
    for name, module in model.named_modules():
        for parameter in module.parameters(recurse=False):
            owners.setdefault(id(parameter), {})[module] = name
    ready = {(site.module, id(site.weight)): site for site in found if not site.reason}

    def reason(site: Site) -> str:
        if site.reason:
            return site.reason
        for other, name in owners[id(site.weight)].items():
            partner = ready.get((other, id(site.weight)))
            if partner is None or partner.parameter or site.parameter:
                if other is not site.module:
                    return f"its weight is shared with {name!r}, which is not factored in the same way"
            elif (_family(partner), partner.groups) != (_family(site), site.groups):
                return f"its weight is shared with {name!r}, which is not factored in the same way"
        return ""

    return [site._replace(reason=reason(site)) for site in found]


def _family(site: Site) -> str:
    """Layers of one family have the same factors for the same weight: dense ones and tables of embeddings do."""
    kind = kind_of(site.module)
    return "linear" if kind == "lookup" else kind


def placed(model: nn.Module, site: Site, module: nn.Module) -> nn.Module:
    """The model with the module at all places of the site."""
    for name in site.names:
        if not name:
            return module
        model.set_submodule(name, module)
    return model
