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

from ..core import arguments
from ..core.arguments import Array, Layers
from .layers import product, unbalancedness


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
        step_size: that of gradient descent, or None for gradient flow.
    """

    assumptions: tuple[Assumption, ...]
    excess: float
    margin: float
    rate: float
    step_size: float | None

    @property
    def holds(self) -> bool:
        """Whether every assumption holds."""
        return all(a.holds for a in self.assumptions)

    def guarantee(self, epsilon: float) -> float:
        """The time (flow) or number of iterations (descent) after which φ − φ* ≤ epsilon for good.

        Raises:
            ValueError: if an assumption fails, with its value and its bound.
        """
        epsilon = arguments.number("epsilon", epsilon, above=0)
        if not self.holds:
            raise ValueError("nothing is guaranteed: " + "; ".join(str(a) for a in self.assumptions if not a.holds))
        needed = max(0.0, (log(self.excess) - log(epsilon)) / self.rate) if self.excess > 0 else 0.0
        return needed if self.step_size is None else ceil(needed)

    def envelope(self, t: ArrayLike) -> Array:
        """The guaranteed bound on φ − φ* at the times or iterations t; infinite if an assumption fails."""
        t = arguments.real("t", t, least=0, infinite=True)
        return self.excess * np.exp(-self.rate * t) if self.holds else np.full(t.shape, inf)

    def __str__(self) -> str:
        kind = "gradient flow (Theorem 2)" if self.step_size is None else "gradient descent (Remark 2)"
        bound = f"φ − φ* ≤ {self.excess:.6g} exp(−{self.rate:.6g} t)" if self.holds else "nothing is guaranteed"
        return "\n".join([f"{kind}: {bound}", *(f"  {a}" for a in self.assumptions)])


def distance_to_deficient(W: ArrayLike, delta: float) -> float:
    """`min{‖W − W'‖_F : σ_min(W') ≤ δ} = max{0, σ_min(W) − δ}` (Exercise 3)."""
    return max(0.0, _least("W", W) - arguments.number("delta", delta, least=0))


def nearest_deficient(W: ArrayLike, delta: float) -> Array:
    """A map that attains :func:`distance_to_deficient`: W with its least singular value lowered to δ."""
    U, s, Vt = np.linalg.svd(arguments.matrix("W", W), full_matrices=False)
    s[-1] = min(s[-1], arguments.number("delta", delta, least=0))
    return (U * s) @ Vt


def deficiency_margin(W: ArrayLike, target: ArrayLike) -> float:
    """The supremum δ* = σ_min(Λ) − ‖W − Λ‖_F of the deficiency margins under ½‖W − Λ‖²_F + const (Example 1).

    W has margin δ exactly for 0 < δ < δ*; it has none if δ* ≤ 0.

    Args:
        W: the map.
        target: Λ = Λ_yx, the global minimiser for whitened inputs.
    """
    W = arguments.matrix("W", W)
    target = arguments.matrix("target", target, W.shape)
    return _least("target", target) - float(np.linalg.norm(W - target))


def margin_from_excess(excess: float, minimiser: ArrayLike, strong_convexity: float) -> float:
    """A deficiency margin δ* = σ_min(W*) − √(2(ℓ(W) − ℓ*)/α) of every α-strongly convex loss.

    For ℓ(W') − ℓ* ≥ (α/2)‖W' − W*‖²_F, and W' with σ_min(W') ≤ δ is at least σ_min(W*) − δ away from W* (Exercise 3).
    Exact for ½α‖W − W*‖²_F, where it is Example 1; otherwise sufficient.

    Args:
        excess: ℓ(W) − ℓ* ≥ 0.
        minimiser: W*.
        strong_convexity: α > 0.
    """
    excess = arguments.number("excess", excess, least=0)
    alpha = arguments.number("strong_convexity", strong_convexity, above=0)
    return _least("minimiser", minimiser) - (2 * excess / alpha) ** 0.5


def guaranteed_rate(
    depth: SupportsIndex, margin: float, strong_convexity: float = 1.0, *, square: bool = False
) -> float:
    """The exponential rate 2αδ^{2(n−1)/n} of Theorem 2; n times that for square maps, if `square` says so."""
    n, margin = arguments.count("depth", depth), arguments.number("margin", margin, above=0)
    rate = 2 * arguments.number("strong_convexity", strong_convexity, above=0) * margin ** (2 - 2 / n)
    return rate * n if arguments.truth("square", square) else rate


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
    rate = guaranteed_rate(depth, margin, strong_convexity)
    return _log_ratio(excess, epsilon) / rate


def guaranteed_step(target: ArrayLike, depth: SupportsIndex, margin: float) -> float:
    """The largest step size `δ^{(4n−2)/n} / (6144 n³ ‖Λ‖_F^{(6n−4)/n})` that Remark 2 admits."""
    n, target_norm, margin = _remark(target, depth, margin)
    return margin ** (4 - 2 / n) / (6144 * n**3 * target_norm ** (6 - 4 / n))


def admissible_unbalancedness(target: ArrayLike, depth: SupportsIndex, margin: float) -> float:
    """The largest unbalancedness magnitude `δ² / (256 n³ ‖Λ‖_F^{2(n−1)/n})` that Remark 2 admits."""
    n, target_norm, margin = _remark(target, depth, margin)
    return margin**2 / (256 * n**3 * target_norm ** (2 - 2 / n))


def guaranteed_iterations(epsilon: float, excess: float, step_size: float, depth: SupportsIndex, margin: float) -> int:
    """`⌈ln(φ(0)/ε) / (η δ^{2(n−1)/n})⌉` iterations, after which φ − φ* ≤ ε (Remark 2).

    The remark prints φ(0). Constants in the loss do not move gradient descent, so φ(0) − φ* ≤ φ(0) serves as well.

    Args:
        epsilon: ε > 0.
        excess: φ(0) − φ*.
        step_size: η > 0, at most :func:`guaranteed_step`.
        depth: n ≥ 1.
        margin: δ > 0.
    """
    rate = arguments.number("step_size", step_size, above=0) * guaranteed_rate(depth, margin) / 2
    needed = _log_ratio(excess, epsilon) / rate if rate > 0 else inf
    if needed == inf:
        raise ValueError(f"step_size must be so large that its iterations can be counted; got {step_size}")
    return ceil(needed)


def certify(
    layers: Sequence[ArrayLike],
    target: ArrayLike,
    *,
    step_size: float | None = None,
    strong_convexity: float = 1.0,
    excess: float | None = None,
    tolerance: float = 1e-8,
) -> Certificate:
    """Which assumptions of Theorem 2 (or of Remark 2, with a step) a start meets, by how much, and what follows.

    Args:
        layers: (W_1, …, W_n) at the start.
        target: the global minimiser of ℓ.
        step_size: that of gradient descent on ½‖W − target‖²_F; None for gradient flow.
        strong_convexity: α of ℓ, for flows.
        excess: ℓ(W) − ℓ* at the start, for flows on other losses than ½α‖W − target‖²_F.
        tolerance: the unbalancedness, relative to the largest ‖W_j‖²_F, up to which a flow counts as balanced.
    """
    layers = arguments.layers(layers)
    W = product(layers)
    target = arguments.matrix("target", target, W.shape)
    alpha = arguments.number("strong_convexity", strong_convexity, above=0)
    tolerance = arguments.number("tolerance", tolerance, least=0)
    if step_size is not None and (excess is not None or alpha != 1):
        raise ValueError(
            "strong_convexity and excess must be left out with a step_size: Remark 2 is about ½‖W − target‖²_F alone; "
            f"got {strong_convexity} and {excess}"
        )
    own = alpha / 2 * float(np.sum((W - target) ** 2))
    excess = own if excess is None else arguments.number("excess", excess, least=0)
    margin = margin_from_excess(excess, target, alpha)
    assumptions = [
        Assumption("least hidden width", min((X.shape[0] for X in layers[:-1]), default=inf), "≥", min(W.shape)),
        Assumption("deficiency margin", margin, ">", 0.0),
    ]
    if step_size is None:
        largest_square = max(float(np.sum(X**2)) for X in layers)
        assumptions.append(Assumption("unbalancedness", unbalancedness(layers), "≤", tolerance * largest_square))
        rate = guaranteed_rate(len(layers), margin, alpha) if margin > 0 else 0.0
    else:
        step_size = arguments.number("step_size", step_size, above=0)
        further, rate = _descent(layers, target, step_size, margin)
        assumptions += further
    return Certificate(tuple(assumptions), excess, margin, rate, step_size)


def _descent(layers: Layers, target: Array, step_size: float, margin: float) -> tuple[list[Assumption], float]:
    """What Remark 2 assumes beyond Theorem 2, and the rate per iteration it guarantees."""
    n, admitted, largest, rate = len(layers), 0.0, 0.0, 0.0
    if margin > 0:
        admitted, largest = admissible_unbalancedness(target, n, margin), guaranteed_step(target, n, margin)
        rate = step_size * guaranteed_rate(n, margin) / 2
    return [
        Assumption("unbalancedness", unbalancedness(layers), "≤", admitted),
        Assumption("step size", step_size, "≤", largest),
    ], rate


def _least(name: str, W: ArrayLike) -> float:
    return float(np.linalg.svd(arguments.matrix(name, W), compute_uv=False)[-1])


def _log_ratio(excess: float, epsilon: float) -> float:
    """`ln(excess/ε)`, or zero where the excess is no larger than ε."""
    excess, epsilon = arguments.number("excess", excess, least=0), arguments.number("epsilon", epsilon, above=0)
    return log(excess) - log(epsilon) if excess > epsilon else 0.0


def _remark(target: ArrayLike, depth: SupportsIndex, margin: float) -> tuple[int, float, float]:
    """Depth, ‖Λ‖_F and margin of Remark 2."""
    target_norm = float(np.linalg.norm(arguments.matrix("target", target)))
    if target_norm == 0:
        raise ValueError("target must be a matrix other than zero; got zero")
    margin = arguments.number("margin", margin, above=0)
    if max(target_norm, margin) > 1e40:
        raise ValueError(
            f"target and margin must be at most 1e40, or their powers overflow; got {target_norm:g} and {margin:g}"
        )
    return arguments.count("depth", depth), target_norm, margin
