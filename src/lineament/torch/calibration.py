"""Second moments of what layers see or give on a few batches: what a cut of low rank should spare."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .batches import Given
from .decomposition import Decomposed, along, double
from .kinds import kind_of
from .layers import Site
from .modes import evaluating


class Moment(NamedTuple):
    """`Σ_t v_t v_tᵀ` over `vectors` of them: outputs without bias (groups, out, out), or inputs (1, in, in)."""

    of_inputs: bool
    total: Tensor
    vectors: int


@torch.no_grad()
def moments(model: nn.Module, places: Sequence[Site], batches: Iterable[Given], forward: Any) -> dict[int, Moment]:
    """The moments of every dense and convolutional layer, by the identity of its weight.

    Of a dense layer with more outputs than inputs the inputs are taken, of all others the outputs, which is the
    smaller matrix, and for a convolution needs no patches. Other layers are left out: no call of theirs is the product
    with one matrix.
    """
    found: dict[int, Moment] = {}

    def keep(module: Any, args: tuple, kwargs: dict, out: Any) -> None:
        weight, kind = module.weight, kind_of(module)
        x = args[0] if args else next(iter(kwargs.values()))
        wide = kind != "convolution" and out.shape[-1] > x.shape[-1]
        if kind == "convolution":
            split = out.flatten(2) if module.bias is None else out.flatten(2) - module.bias[:, None]
            v = split.transpose(1, 2).reshape(-1, module.groups, out.shape[1] // module.groups).transpose(0, 1)
        else:
            v = x if wide else out if module.bias is None else out - module.bias
            v = v.reshape(1, -1, v.shape[-1])
        v = double(v)
        before = found.get(id(weight))
        total = v.mT @ v
        count = v.shape[1]
        if before is not None:
            total, count = total + before.total, count + before.vectors
        found[id(weight)] = Moment(wide, total, count)

    hooks = [
        site.module.register_forward_hook(keep, with_kwargs=True)
        for site in places
        if not site.reason and not site.parameter and kind_of(site.module) in ("linear", "rows", "convolution")
    ]
    try:
        with evaluating(model):
            for batch in batches:
                forward(model, *batch.positional, **batch.named)
    finally:
        for hook in hooks:
            hook.remove()
    for site in places:
        if id(site.weight) in found and not bool(torch.isfinite(found[id(site.weight)].total).all()):
            raise ValueError(
                f"calibration must be finite numbers; what layer {site.name!r} sees or gives there is not"
            )
    return found


class Weighted(NamedTuple):
    """A decomposition `W = U diag(S) Vᵀ`, and the share of the outputs' energy that its first columns hold."""

    parts: Decomposed
    energy: Tensor


def weighted(W: Tensor, moment: Moment) -> Weighted:
    """The decomposition whose first r columns change a layer's outputs least, in the mean over what it saw.

    With `Σ = E xxᵀ` the best map of rank r is `U_r U_rᵀ W`, U the eigenvectors of `WΣWᵀ = E yyᵀ`. What was seen is
    joined with `W Wᵀ`, inputs that are isotropic, as if of as many vectors as the layer has sides: directions that few
    examples leave open are judged by the weight.
    """
    side = moment.total.shape[1]
    prior = side / (side + moment.vectors)
    # Directions and shares of energy depend on the scale neither of the weight nor of what was seen.
    map, total = _scaled(W), _scaled(moment.total)
    if moment.of_inputs:
        inner, isotropic = map.mT @ map, torch.eye(side).to(W)
        given = _trace(map @ total @ map.mT)
        judged = isotropic / torch.clamp(_trace(inner), min=1.0)
        # Where outputs are zero, or rounding alone, the weight judges alone.
        seen = total / given if given > _ROUNDING * _trace(total) * _trace(inner) else judged
        # eigenvectors of S^½ WᵀW S^½, then U = W S^½ v / ‖·‖: the smaller side of WSWᵀ
        S = (1 - prior) * seen + prior * judged
        root = torch.linalg.cholesky(S + 1e-14 * _trace(S) * isotropic / side)
        values, V = torch.linalg.eigh(root.mT @ inner @ root)
        U, _ = torch.linalg.qr(map @ root @ V.flip(-1))
        energy = torch.clamp(values.flip(-1), min=0)
        return Weighted(_onto(W, U), energy)
    own = map @ map.mT
    second = (1 - prior) * total / torch.clamp(_trace(total), min=1.0)
    second = second + prior * own / torch.clamp(_trace(own), min=1.0)
    parts = along(W, second)
    energy = torch.clamp((parts.U * (second @ parts.U)).sum(1), min=0)
    rank = min(W.shape[1:])  # further columns hold nothing: the outputs lie in the range of W
    return Weighted(Decomposed(parts.U[:, :, :rank], parts.S[:, :rank], parts.Vt[:, :rank]), energy[:, :rank])


_ROUNDING = 1e-14  # what a second moment in double precision does not hold beside its largest entries


def _scaled(M: Tensor) -> Tensor:
    """In units of the largest entry, so that squares neither overflow nor vanish; a trace is at least 1 then, or zero."""
    largest = M.abs().max()
    return M / torch.where(largest > 0, largest, 1.0)


def _onto(W: Tensor, U: Tensor) -> Decomposed:
    rows = U.mT @ W
    S = torch.linalg.vector_norm(rows, dim=2)
    return Decomposed(U, S, rows / torch.where(S > 0, S, 1.0)[..., None])


def _trace(M: Tensor) -> Tensor:
    return torch.diagonal(M, dim1=-2, dim2=-1).sum(-1).sum()
