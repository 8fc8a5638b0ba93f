r"""Quadratic networks on the squared loss over Gaussian inputs: coupled modes (Gissin et al. 2020, Appendix F.2).

From WᵀW = σ0 I, gradient flow on E[(⟨W*ᵀW* − WᵀW, xxᵀ⟩ + b* − b)²]/16 moves the singular values σ_i of WᵀW by

    σ̇_i = σ_i (σ_i* − σ_i + ½u),    ḃ = c u,    u = Σ_j (σ_j* − σ_j) + b* − b.

This is the flow of ‖Δ‖²/8 + (tr Δ + δ)²/16, the value of that loss, with Δ = W*ᵀW* − WᵀW and δ = b* − b:

- −∂/∂W = W(½Δ + ¼u), so that d(WᵀW)/dt = ½(WᵀW Δ + Δ WᵀW) + ½u WᵀW, which is the printed equation for σ;
- −∂/∂b = u/8, so that **c = 1/8. The text prints c = 1.** Scaling the loss or the time changes both equations alike,
  so no normalisation gives the printed pair: it is the flow in which the bias learns 8 times as fast as W, that is
  the flow of (W, β) where b = √8 β.

Without a bias c = 0 and b = b*. As c → ∞ the bias keeps u = 0: the modes decouple into those of the variance loss,
σ̇_i = σ_i(σ_i* − σ_i), which `modes.trajectory` solves at depth 2.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from ..core import arguments
from ..core.arguments import Array

BIAS_RATE = 1 / 8  # c, by the gradient of the loss
LONGEST = 1e6  # of times × values that an explicit integrator can follow, in about as many steps
PRINTED_BIAS_RATE = 1.0  # c, by Appendix F.2.2


class Trajectory(NamedTuple):
    """Singular values (time, mode) and bias (time,)."""

    values: Array
    bias: Array


def trajectory(
    times: ArrayLike,
    target: ArrayLike,
    start: ArrayLike,
    *,
    bias: float | None = None,
    bias_target: float = 0.0,
    bias_rate: float = BIAS_RATE,
) -> Trajectory:
    """Solve the coupled modes, in log σ so that small values keep their relative precision.

    Args:
        times: rising times from 0 on.
        target: σ* ≥ 0 of every mode. The zeros count: each of them drags on the trace.
        start: σ(0) > 0, one for all modes or one for each.
        bias: b(0), or None for a network without a bias.
        bias_target: b*. A network without a bias is taken to stand at it.
        bias_rate: c ≥ 0.
    """
    times, target = arguments.rising("times", times, least=0), arguments.vector("target", target, least=0)
    start = arguments.real("start", start, above=0)
    if start.shape not in ((), target.shape):
        raise ValueError(f"start must be one number or one for each of {target.size} modes; got shape {start.shape}")
    start = np.broadcast_to(start, target.shape)
    bias_rate = arguments.number("bias_rate", bias_rate, least=0)
    bias_target = arguments.number("bias_target", bias_target)
    rate, offset = (0.0, 0.0) if bias is None else (bias_rate, bias_target - arguments.number("bias", bias))
    speed = float(target.sum() + start.sum() + abs(offset) + rate)
    if speed * times[-1] > LONGEST:
        raise ValueError(f"times must be at most {LONGEST / speed:g} for modes of this size; got {times[-1]:g}")

    def field(_: float, state: Array) -> Array:
        error = target - np.exp(state[:-1])
        u = error.sum() + state[-1]
        return np.append(error + 0.5 * u, -rate * u)  # the last is δ = b* − b

    with np.errstate(over="ignore", invalid="ignore"):  # a trial step that is far too long is taken back
        solution = solve_ivp(
            field,
            (0.0, times[-1]),
            np.append(np.log(start), offset),
            method="DOP853",
            t_eval=times,
            rtol=1e-12,
            atol=1e-12,
        )
    if not solution.success:
        raise RuntimeError(f"the coupled modes could not be solved: {solution.message}")
    return Trajectory(np.exp(solution.y[:-1].T), bias_target - solution.y[-1])
