r"""Convergence to the global minimum, certified from the start of a run (Cohen & Razin, §3.1).

W has deficiency margin δ > 0 if ℓ(W) < ℓ(W') for every W' with σ_min(W') ≤ δ (Definition 3), where σ_min is the
last of min(outputs, inputs) singular values. Under a flow that never raises ℓ such a map keeps σ_min(W) > δ, its
preconditioner stays at least δ^{2(n−1)/n}, and a loss that is α-strongly convex falls at least as
e^{−2αδ^{2(n−1)/n}t} (Theorem 2).

Three remarks that the notes do not make.

- Margins form an open interval (0, δ*): δ* itself is no margin, but the guarantees hold for it as limits.
- For *square* maps every eigenvalue Σ_j σ_r^{2(n−j)/n}σ_r'^{2(j−1)/n} has n terms of at least δ^{2(n−1)/n}, so the
  rate of Theorem 2 gains a factor n. For rectangular maps the null space leaves one term, and the printed rate is
  that of P.
- Balance is needed, not only convenient. With W_1 = diag(a, 1/a), W_2 = diag(1/a, a) the product is I, yet the
  preconditioner has the eigenvalue 2/a², as small as one likes; see also :func:`admissible_unbalancedness`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, log
from typing import Literal, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from lineament.theory.layers import Array, chain, matrix, product, unbalancedness, whole_depth


class Assumption(NamedTuple):
    """One assumption of a guarantee: `value relation bound`, and whether that is so."""

    name: str
    value: float
    relation: Literal["≤", ">", "≥"]
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the value is on the right side of the bound."""
        return {
            "≤": self.value <= self.bound,
            "≥": self.value >= self.bound,
            ">": self.value > self.bound,
        }[self.relation]

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "FAILS"
        return f"{self.name}: {self.value:.6g} {self.relation} {self.bound:.6g} {verdict}"


@dataclass(frozen=True)
class Certificate:
    """What a start guarantees.

    Attributes:
        assumptions: each with its value and its bound.
        excess: φ(0) − φ*, at the start.
        margin: δ*, the supremum of the deficiency margins; not positive if there is none.
        rate: φ − φ* falls at least as e^{−rate · t}, t in time (flow) or iterations (descent); zero without a margin.
        step: the step size of gradient descent, or None for gradient flow.
    """

    assumptions: tuple[Assumption, ...]
    excess: float
    margin: float
    rate: float
    step: float | None

    @property
    def holds(self) -> bool:
        """Whether every assumption holds."""
        return all(a.holds for a in self.assumptions)

    def guarantee(self, epsilon: float) -> float:
        """The time (flow) or number of iterations (descent) after which φ − φ* ≤ epsilon for good.

        Raises:
            ValueError: if an assumption fails, with its value and its bound.
        """
        if not self.holds:
            raise ValueError("nothing is guaranteed: " + "; ".join(str(a) for a in self.assumptions if not a.holds))
        needed = max(0.0, log(self.excess / _positive("epsilon", epsilon)) / self.rate) if self.excess > 0 else 0.0
        return needed if self.step is None else ceil(needed)

    def envelope(self, t: ArrayLike) -> Array:
        """The guaranteed bound on φ − φ* at the times or iterations t; infinite if an assumption fails."""
        t = np.asarray(t, dtype=np.float64)
        return self.excess * np.exp(-self.rate * t) if self.holds else np.full(t.shape, inf)

    def __str__(self) -> str:
        kind = "gradient flow (Theorem 2)" if self.step is None else "gradient descent (Remark 2)"
        found = f"φ − φ* ≤ {self.excess:.6g} exp(−{self.rate:.6g} t)" if self.holds else "nothing is guaranteed"
        return "\n".join([f"{kind}: {found}", *(f"  {a}" for a in self.assumptions)])


def distance_to_deficient(W: ArrayLike, delta: float) -> float:
    """`min{‖W − W'‖_F : σ_min(W') ≤ δ} = max{0, σ_min(W) − δ}` (Exercise 3)."""
    return max(0.0, _least(matrix("W", W)) - _at_least("delta", delta))


def nearest_deficient(W: ArrayLike, delta: float) -> Array:
    """A map that attains :func:`distance_to_deficient`: W with its least singular value lowered to δ."""
    U, s, Vt = np.linalg.svd(matrix("W", W), full_matrices=False)
    s[-1] = min(s[-1], _at_least("delta", delta))
    return (U * s) @ Vt


def deficiency_margin(W: ArrayLike, target: ArrayLike) -> float:
    """The supremum δ* = σ_min(Λ) − ‖W − Λ‖_F of the deficiency margins under ½‖W − Λ‖²_F + const (Example 1).

    W has margin δ exactly for 0 < δ < δ*; it has none if δ* ≤ 0.

    Args:
        W: the map.
        target: Λ = Λ_yx, the global minimiser for whitened inputs.
    """
    W = matrix("W", W)
    target = matrix("target", target, W.shape)
    return _least(target) - float(np.linalg.norm(W - target))


def margin_from_excess(excess: float, minimiser: ArrayLike, strong_convexity: float) -> float:
    """A deficiency margin δ* = σ_min(W*) − √(2(ℓ(W) − ℓ*)/α) of every α-strongly convex loss.

    For ℓ(W') − ℓ* ≥ (α/2)‖W' − W*‖²_F, and W' with σ_min(W') ≤ δ is at least σ_min(W*) − δ away from W* (Exercise 3).
    Exact for ½α‖W − W*‖²_F, where it is Example 1; otherwise sufficient.

    Args:
        excess: ℓ(W) − ℓ* ≥ 0.
        minimiser: W*.
        strong_convexity: α > 0.
    """
    excess, alpha = _at_least("excess", excess), _positive("strong_convexity", strong_convexity)
    return _least(matrix("minimiser", minimiser)) - float(np.sqrt(2 * excess / alpha))


def guaranteed_rate(
    depth: SupportsIndex, margin: float, strong_convexity: float = 1.0, *, square: bool = False
) -> float:
    """The exponential rate 2αδ^{2(n−1)/n} of Theorem 2; n times that for square maps, if `square` says so."""
    n = whole_depth(depth)
    rate = 2 * _positive("strong_convexity", strong_convexity) * _positive("margin", margin) ** (2 - 2 / n)
    return rate * n if square else rate


def guaranteed_time(
    epsilon: float, excess: float, depth: SupportsIndex, margin: float, strong_convexity: float = 1.0
) -> float:
    """`ln((φ(0) − φ*)/ε) / (2αδ^{2(n−1)/n})`, after which φ − φ* ≤ ε (Theorem 2); zero if that holds at the start.

    Args:
        epsilon: ε > 0.
        excess: φ(0) − φ*.
        depth: n ≥ 1.
        margin: δ > 0.
        strong_convexity: α > 0.
    """
    ratio = _at_least("excess", excess) / _positive("epsilon", epsilon)
    rate = guaranteed_rate(depth, margin, strong_convexity)
    return log(ratio) / rate if ratio > 1 else 0.0


def guaranteed_step(target: ArrayLike, depth: SupportsIndex, margin: float) -> float:
    """The largest step size `δ^{(4n−2)/n} / (6144 n³ ‖Λ‖_F^{(6n−4)/n})` that Remark 2 admits."""
    n, size = whole_depth(depth), float(np.linalg.norm(matrix("target", target)))
    return _positive("margin", margin) ** (4 - 2 / n) / (6144 * n**3 * size ** (6 - 4 / n))


def admissible_unbalancedness(target: ArrayLike, depth: SupportsIndex, margin: float) -> float:
    """The largest unbalancedness magnitude `δ² / (256 n³ ‖Λ‖_F^{2(n−1)/n})` that Remark 2 admits."""
    n, size = whole_depth(depth), float(np.linalg.norm(matrix("target", target)))
    return _positive("margin", margin) ** 2 / (256 * n**3 * size ** (2 - 2 / n))


def guaranteed_iterations(epsilon: float, excess: float, step: float, depth: SupportsIndex, margin: float) -> int:
    """`⌈ln(φ(0)/ε) / (η δ^{2(n−1)/n})⌉` iterations, after which φ − φ* ≤ ε (Remark 2).

    The remark prints φ(0). Constants in the loss do not move gradient descent, so φ(0) − φ* ≤ φ(0) serves as well.

    Args:
        epsilon: ε > 0.
        excess: φ(0) − φ*.
        step: η > 0, at most :func:`guaranteed_step`.
        depth: n ≥ 1.
        margin: δ > 0.
    """
    ratio = _at_least("excess", excess) / _positive("epsilon", epsilon)
    rate = _positive("step", step) * guaranteed_rate(depth, margin) / 2
    return ceil(log(ratio) / rate) if ratio > 1 else 0


def certify(
    layers: Sequence[ArrayLike],
    target: ArrayLike,
    *,
    step: float | None = None,
    strong_convexity: float = 1.0,
    excess: float | None = None,
    tolerance: float = 1e-8,
) -> Certificate:
    """Which assumptions of Theorem 2 (or of Remark 2, with a step) a start meets, by how much, and what follows.

    Args:
        layers: (W_1, …, W_n) at the start.
        target: the global minimiser of ℓ.
        step: the step size of gradient descent on ½‖W − target‖²_F; None for gradient flow.
        strong_convexity: α of ℓ, for flows.
        excess: ℓ(W) − ℓ* at the start, for flows on other losses than ½α‖W − target‖²_F.
        tolerance: the unbalancedness, relative to the largest ‖W_j‖²_F, up to which a flow counts as balanced.
    """
    layers, n = chain(layers), len(layers)
    W = product(layers)
    target = matrix("target", target, W.shape)
    alpha = _positive("strong_convexity", strong_convexity)
    own = alpha / 2 * float(np.sum((W - target) ** 2))
    if step is not None and (excess is not None or alpha != 1):
        raise ValueError("strong_convexity and excess belong to flows: Remark 2 is about ½‖W − target‖²_F alone")
    excess = own if excess is None else _at_least("excess", excess)
    margin = margin_from_excess(excess, target, alpha)
    usable = max(margin, 0.0)
    imbalance, size = unbalancedness(layers), max(float(np.sum(X**2)) for X in layers)
    assumptions = [
        Assumption("least hidden width", min((X.shape[0] for X in layers[:-1]), default=inf), "≥", min(W.shape)),
        Assumption("deficiency margin", margin, ">", 0.0),
    ]
    rate = 0.0
    if step is None:
        assumptions.append(Assumption("unbalancedness", imbalance, "≤", tolerance * size))
        rate = guaranteed_rate(n, usable, alpha) if usable > 0 else 0.0
    else:
        admitted, largest = (
            (admissible_unbalancedness(target, n, usable), guaranteed_step(target, n, usable))
            if usable > 0
            else (0.0, 0.0)
        )
        assumptions.append(Assumption("unbalancedness", imbalance, "≤", admitted))
        assumptions.append(Assumption("step size", _positive("step", step), "≤", largest))
        rate = step * guaranteed_rate(n, usable) / 2 if usable > 0 else 0.0
    return Certificate(tuple(assumptions), excess, margin, rate, step)


def _least(W: Array) -> float:
    return float(np.linalg.svd(W, compute_uv=False)[-1])


def _positive(name: str, value: float) -> float:
    if not 0 < value < inf:
        raise ValueError(f"{name} must be positive and finite; got {value}")
    return float(value)


def _at_least(name: str, value: float) -> float:
    if not 0 <= value < inf:
        raise ValueError(f"{name} must be at least 0 and finite; got {value}")
    return float(value)
