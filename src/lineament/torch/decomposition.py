"""Singular value decompositions of weights, and balanced factors from them."""

from typing import NamedTuple

import torch
from torch import Tensor

_SMALL = 16


def double(weight: Tensor) -> Tensor:
    """A weight in float64, on the processor where its device has none."""
    weight = weight.detach()
    return (weight.cpu() if weight.device.type == "mps" else weight).to(torch.float64)


class Decomposed(NamedTuple):
    """`W = U diag(S) Vᵀ` for matrices (groups, outputs, inputs), singular values in falling order."""

    U: Tensor
    S: Tensor
    Vt: Tensor


def decomposed(W: Tensor, dtype: torch.dtype) -> Decomposed:
    """Decompose matrices that are held in float64 and came from weights of a dtype.

    Weights of at most single precision go by the eigenvectors of `WWᵀ` (or `WᵀW`, if that is smaller), ten times as
    fast. The eigenvectors are orthogonal to rounding, so that `U Uᵀ W = W` in float64 whatever the spectrum; singular
    values are the norms of the rows of `UᵀW`, right to 1e-15 of the largest. Only among those below 1e-8 of the
    largest are the rows not orthogonal, which is less than such a weight resolves.
    """
    if dtype == torch.float64 or min(W.shape[1:]) <= _SMALL:
        return Decomposed(*torch.linalg.svd(W, full_matrices=False))
    if W.shape[1] > W.shape[2]:
        V, S, Ut = decomposed(W.mT, dtype)
        return Decomposed(Ut.mT, S, V.mT)
    return along(W, W @ W.mT)


def singular_values(W: Tensor, dtype: torch.dtype) -> Tensor:
    """The singular values (group, mode) alone, in falling order, of matrices in float64 from weights of a dtype.

    Those of weights of at most single precision are the roots of the eigenvalues of `WWᵀ`, three to nine times as fast.
    What is below 1e-8 of the largest is rounding then, as it is in such a weight.
    """
    if dtype == torch.float64 or min(W.shape[1:]) <= _SMALL:
        return torch.linalg.svdvals(W)
    W = W if W.shape[1] <= W.shape[2] else W.mT
    return torch.linalg.eigvalsh(W @ W.mT).clamp_min(0).sqrt().flip(-1)


def along(W: Tensor, second: Tensor) -> Decomposed:
    """`W = U diag(S) Vᵀ` with U the eigenvectors of a second moment of the outputs, of falling eigenvalue.

    With `WWᵀ` this is the singular value decomposition. With the second moment of what the layer gave on data, the
    first r columns are the r directions that hold most of these outputs, and `U_r U_rᵀ W` the map of rank r that
    changes them least.
    """
    _, U = torch.linalg.eigh(second)
    U = U.flip(-1)
    rows = U.mT @ W
    S = torch.linalg.vector_norm(rows, dim=2)
    return Decomposed(U, S, rows / torch.where(S > 0, S, 1.0)[..., None])


def balanced(parts: Decomposed, depth: int, width: int, kept: int | None = None) -> list[Tensor]:
    """Factors `W_1, …, W_N` of `W = UΣVᵀ` with `W_{j+1}ᵀW_{j+1} = W_jW_jᵀ` (Arora et al. 2019, Procedure 1).

    `W_1 = Σ^{1/N}Vᵀ`, `W_N = UΣ^{1/N}`, and `Σ^{1/N}` in between. A hidden width below the rank keeps the first
    columns of U; one above it leaves the further hidden units at zero, as balance demands.

    Args:
        parts: The decomposition of matrices (groups, outputs, inputs).
        depth: How many factors, at least two.
        width: The hidden width within each group.
        kept: How many columns of U to keep, the rank; by default all that the width allows.
    """
    U, S, Vt = parts
    # A rounding error of 1e-16 would have the root 1e-8, or more: what should be zero is.
    rounding = torch.finfo(S.dtype).eps * max(U.shape[1], Vt.shape[2]) * S.max()
    S = torch.where(rounding < S, S, 0.0)
    kept = min(width, S.shape[-1] if kept is None else kept)
    root = S.new_zeros(len(S), width)
    root[:, :kept] = S[:, :kept] ** (1 / depth)
    first, last = S.new_zeros(len(S), width, Vt.shape[2]), S.new_zeros(len(S), U.shape[1], width)
    first[:, :kept] = root[:, :kept, None] * Vt[:, :kept]
    last[:, :, :kept] = U[:, :, :kept] * root[:, None, :kept]
    return [first, *(torch.diag_embed(root) for _ in range(depth - 2)), last]


def precision(W: Tensor, dtype: torch.dtype) -> float:
    """To which part of its norm a weight of that dtype is known."""
    return max(torch.finfo(dtype).eps, torch.finfo(torch.float64).eps * max(W.shape[1:]))


def rank(parts: Decomposed, to: float) -> int:
    """The least rank, over all groups, that leaves out no more than a part of each matrix's norm."""
    left = torch.sqrt(torch.flip(torch.cumsum(torch.flip(parts.S**2, [1]), 1), [1]))
    return int((left > to * left[:, :1]).sum(1).max())


def gap(factors: list[Tensor], W: Tensor) -> float:
    """`‖W_N ⋯ W_1 − W‖ / ‖W‖` in Frobenius norm, of the factors as they are held."""
    found = double(factors[0])
    for factor in factors[1:]:
        found = double(factor) @ found
    norm = float(torch.linalg.vector_norm(W))
    return float(torch.linalg.vector_norm(found - W)) / norm if norm > 0 else float(found.abs().max() > 0)
