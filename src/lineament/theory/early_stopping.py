"""When to stop training a linear network: expected test error over time, in closed form (Hacohen & Weinshall, §6.1).

Labels are `y = W*x + noise` with independent noise of variance σ² in every output. In the principal coordinates of the
n training examples, descent moves column j of the map along eq. (10) towards `m_j/d_j`, which misses w*_j by noise of
variance σ²/d_j. With κ_j(t) = exp(−r_j t) the share of the start that is left,

    E error(t) = Σ_ij Γ_ij κ_i κ_j (w_i(0) − w*_i)·(w_j(0) − w*_j) + K σ² Σ_j Γ_jj (1 − κ_j)²/d_j,

where Γ is the second moment of a test example: bias falls, variance rises. Components of small d_j come late and bring
the most noise per variance; stopping leaves them out, as principal component analysis would.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array

# Candidate times per decade: every decade of time is covered alike, as rates span many.
PER_DECADE = 64
# In units of the fastest rate: before it less is learnt than rounding of the error. Where noise is all but everything,
# the best time is as early as the signal's share is small.
EARLIEST = 1e-12


class Linear(NamedTuple):
    """A linear task in principal coordinates of its training data; made by `task`."""

    d: Array
    gap: Array
    gamma: Array
    noise: float


class Stopping(NamedTuple):
    """The best time to stop (the end if the error never rises), the error at that time and at the end of training."""

    time: float
    error: float
    final: float

    @property
    def gain(self) -> float:
        """How much of the final error stopping in time saves, in [0, 1]."""
        return 1 - self.error / self.final if self.final > 0 else 0.0


def task(d: ArrayLike, truth: ArrayLike, start: ArrayLike, gamma: ArrayLike, noise: float) -> Linear:
    """Make a linear task in the principal coordinates of its training data.

    Args:
        d: Eigenvalues of the training data's XXᵀ (a sum over examples), (component,); zeros are never learnt.
        truth: W* in principal coordinates, (outputs, component).
        start: The map before training, likewise.
        gamma: Second moment of a test example in the same coordinates: its diagonal (component,), or the matrix.
        noise: The variance σ² of the label noise.
    """
    W = arguments.matrix("truth", truth)
    W0 = arguments.matrix("start", start, W.shape)
    q = W.shape[1]
    G = arguments.real("gamma", gamma)
    G = arguments.matrix("gamma", np.diag(G) if G.ndim == 1 else G, (q, q))
    values = arguments.vector("d", d, q, least=0)
    return Linear(values, W0 - W, G, arguments.number("noise", noise, least=0))


def flow_rates(d: ArrayLike, scale: float = 1.0) -> Array:
    """The rates `r_j = c d_j` of gradient flow, c = Σ_l α_l β_l: the depth under Definition 3."""
    return arguments.number("scale", scale, above=0) * arguments.vector("d", d, least=0)


def descent_rates(d: ArrayLike, step_size: float, scale: float = 1.0) -> Array:
    """The rates `r_j = −log(1 − μ c d_j)` per step of descent; μ c d_j must be less than 1."""
    x = arguments.number("step_size", step_size, above=0) * flow_rates(d, scale)
    if not (x < 1).all():
        raise ValueError(f"step_size must be below 1/(scale × d) for every d; got {np.max(x):.6g} times that")
    return -np.log1p(-x)


def expected_error(times: ArrayLike, task: Linear, rates: ArrayLike) -> Array:
    """Expected squared error on a test example, without the noise of its own label, over time.

    Args:
        times: Times or steps t ≥ 0, (time,); infinity is the end of training.
        task: The task.
        rates: r_j, from `flow_rates` or `descent_rates`.

    Returns:
        (time,).
    """
    r = _rates(task, rates)
    t = arguments.vector("times", np.atleast_1d(arguments.real("times", times, infinite=True)), least=0, infinite=True)
    # A component that does not move stays where it is for ever: 0·∞ is 0 here.
    exponent = np.where(r > 0, np.where(r > 0, r, 1.0) * t[:, None], 0.0)
    left = np.exp(-exponent)
    learnt = -np.expm1(-exponent)
    bias = np.einsum("ti,oi,ij,oj,tj->t", left, task.gap, task.gamma, task.gap, left, optimize=True)
    per_component = np.diagonal(task.gamma) / np.where(task.d > 0, task.d, 1.0)
    return bias + len(task.gap) * task.noise * (learnt**2 @ np.where(task.d > 0, per_component, 0.0))


def best_stopping(task: Linear, rates: ArrayLike, end: float = np.inf) -> Stopping:
    """The time at which the expected test error is least.

    The error can have a minimum for every component. It is looked up on a grid even in log time that spans all rates,
    and refined about the lowest point: right unless two minima are nearer in depth than the grid resolves.

    What stopping gains depends on when training would end. Without end, faster components only bring the best time
    nearer to the noise; within a budget, components too slow to be learnt do no harm until they are amplified (§6.1).

    Args:
        task: The task.
        rates: r_j, from `flow_rates` or `descent_rates`.
        end: When training ends at the latest.
    """
    from scipy.optimize import minimize_scalar

    r = _rates(task, rates)
    end = arguments.number("end", end, above=0, infinite=True)
    final = float(expected_error([end], task, r)[0])
    moving = r[r > 0]
    if moving.size == 0:
        return Stopping(0.0, final, final)
    latest = min(60 / moving.min(), end)
    low, high = np.log10(min(EARLIEST / moving.max(), latest / 10)), np.log10(latest)
    grid = 10.0 ** np.linspace(low, high, int(np.ceil((high - low) * PER_DECADE)) + 1)
    times = np.concatenate([[0.0], grid[:-1], [latest]])
    errors = expected_error(times, task, r)
    best = int(np.argmin(errors))
    time, error = float(times[best]), float(errors[best])
    if best > 0:
        between = times[max(best - 1, 1)], times[min(best + 1, len(times) - 1)]
        minimum = minimize_scalar(
            lambda x: float(expected_error([np.exp(x)], task, r)[0]),
            bounds=tuple(np.log(between)),
            method="bounded",
            options={"xatol": 1e-10},
        )
        time, error = min((float(np.exp(minimum.x)), float(minimum.fun)), (time, error), key=_error)
    # Past the last rate only rounding is left; a minimum must lie below the end by more than that.
    return Stopping(time, error, final) if error < final * (1 - 1e-12) else Stopping(float(end), final, final)


def _error(candidate: tuple[float, float]) -> float:
    return candidate[1]


def _rates(task: Linear, rates: ArrayLike) -> Array:
    arguments.instance("task", task, Linear)
    return arguments.vector("rates", rates, task.d.size, least=0)
