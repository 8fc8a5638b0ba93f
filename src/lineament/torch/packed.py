"""Weights that a module reads itself: packed projections of attention, recurrent weights.

No module of factors can take the place of one such weight. It is computed from its factors whenever it is read
(`torch.nn.utils.parametrize`), which trains as a product does but takes the time of the whole weight.
"""

from collections.abc import Sequence
from typing import Any, cast

from torch import Tensor, nn
from torch.nn.utils import parametrize

from .decomposition import balanced, decomposed, double

READERS = (nn.MultiheadAttention, nn.RNNBase, nn.RNNCellBase)
_PROJECTIONS = ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight")


class Product(nn.Module):
    """The parametrisation of a weight (outputs, inputs) by factors, in groups of outputs that see the same inputs."""

    def __init__(self, groups: int, widths: Sequence[int], order: Sequence[str]) -> None:
        super().__init__()
        self.groups, self.widths, self.order = groups, tuple(widths), tuple(order)

    def forward(self, *factors: Tensor) -> Tensor:
        """`W_N ⋯ W_1`."""
        W = factors[0]
        for factor in factors[1:]:
            W = factor @ W
        return W.flatten(0, 1)

    def right_inverse(self, weight: Tensor) -> list[Tensor]:
        """Balanced factors of a weight."""
        parts = decomposed(matrices(double(weight), self.groups), weight.dtype)
        return [W.to(weight) for W in balanced(parts, len(self.widths) + 1, self.widths[0])]


def matrices(weight: Tensor, groups: int) -> Tensor:
    """A weight as matrices (groups, outputs, inputs)."""
    return weight.reshape(groups, -1, weight.shape[1])


def weights_of(module: nn.Module) -> list[str]:
    """The names of the weights that a module reads itself."""
    own = [name for name, parameter in module.named_parameters(recurse=False) if parameter.ndim == 2]
    if isinstance(module, nn.MultiheadAttention):
        return [name for name in own if name in _PROJECTIONS]
    return [name for name in own if name.startswith("weight")] if isinstance(module, READERS) else []


def groups_of(module: nn.Module, name: str) -> int:
    """Queries, keys and values are three maps; the gates of a recurrent layer are taken as one."""
    return 3 if name == "in_proj_weight" else 1


def products(module: nn.Module) -> list[str]:
    """The names of the weights of a module that are products."""
    if not parametrize.is_parametrized(module):
        return []
    held = cast(nn.ModuleDict, module.parametrizations)
    return [name for name, chain in held.items() if isinstance(cast(Any, chain)[0], Product)]


def factor_list(module: nn.Module, name: str) -> list[nn.Parameter]:
    """The factors `W_1, …, W_N` of a weight that is a product."""
    chain = cast(Any, module.parametrizations)[name]
    return [getattr(chain, f"original{j}") for j in range(chain.ntensors)]


def pack(module: nn.Module, name: str, factors: Sequence[Tensor]) -> None:
    """Make a weight of a module the product of factors (groups, outputs, inputs)."""
    order = tuple(module._parameters) if not products(module) else _first(module).order
    like = getattr(module, name)
    training = module.training
    rule = Product(len(factors[0]), [W.shape[1] for W in factors[:-1]], order)
    # Registering asks for factors of the right shapes; these are computed already.
    rule.right_inverse = lambda weight: [W.to(like) for W in factors]  # type: ignore[method-assign]
    parametrize.register_parametrization(module, name, rule)
    del rule.right_inverse
    if isinstance(module, nn.RNNBase):
        vars(module).pop("_flat_weights", None)
        cast(Any, type(module))._flat_weights = _FLAT
    module.train(training)


def unpack(module: nn.Module) -> None:
    """Make every weight of a module that is a product one parameter again, multiplied out in float64."""
    order, whole = _first(module).order, {}
    for name in products(module):
        factors = factor_list(module, name)
        W = double(factors[0])
        for factor in factors[1:]:
            W = double(factor) @ W
        trains = any(factor.requires_grad for factor in factors)
        whole[name] = nn.Parameter(W.flatten(0, 1).to(factors[0]), requires_grad=trains)
    # The class that computes the weights is shared with every copy of the module: leave it, do not take it apart.
    del module._modules["parametrizations"]
    module.__class__ = type(module).__bases__[0]
    held = module._parameters | whole
    module._parameters = {name: held[name] for name in order}
    if isinstance(module, nn.RNNBase):
        module._init_flat_weights()


def _first(module: nn.Module) -> Product:
    return cast(Any, module.parametrizations)[products(module)[0]][0]


# PyTorch keeps a list of a recurrent layer's weights, which would hold the product as it was: compute it when asked.
_FLAT = property(
    lambda self: [getattr(self, name, None) for name in self._flat_weights_names],
    lambda self, value: None,
)
