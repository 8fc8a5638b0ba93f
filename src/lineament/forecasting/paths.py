r"""How far each component is learnt over time, without any layer.

A deep linear network that starts balanced moves its map W by an equation in W alone (Cohen & Razin, Theorem 1). On the
square loss it is followed here in the principal components of the inputs, where Σxx = diag(d) and the gradient
(W − W*) diag(d) is a product of entries. Two cases are solved in closed form: one layer, where column j of W − W* falls
as e^{−d_j t}, and whitened inputs from a start in the singular directions of the target, where every mode follows
:func:`lineament.theory.modes.trajectory` (Saxe et al. 2014; Gissin et al. 2020, Theorem 4).

Time is that of gradient flow on ½E‖Wx − y‖²: after k steps of size η it is ηk.
"""

from collections.abc import Callable
from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import DOP853, LSODA, OdeSolver
from scipy.optimize import brentq

from lineament.theory import end_to_end, modes, units

from .records import Moment, follow

Array = NDArray[np.float64]

MATTERS, DONE = 0.01, 0.9
"""A component matters if it explains this share of what can be learnt; it is learnt when this share of it is."""

HEAVY = 1e-3
"""A component that explains this share of what can be learnt decides how finely time is resolved."""

FINE = 0.02
"""Between two records no heavy component moves by more than this share, and time grows by no more either."""

DENSE = 2700
"""Entries of a map times layers up to which an implicit solver, with its Jacobian, is quicker than an explicit one."""

WORK = 1e9
"""Evaluations of the flow, times entries of the map, times layers, after which it is given up: a minute or so."""

POINTS = 400
"""Times at which a closed form is evaluated."""


class Progress(NamedTuple):
    """What of every component is learnt at the times of a run.

    Attributes:
        time: rising, from 0, (time,).
        share: g_j = ⟨w_j, w*_j⟩/‖w*_j‖², 1 when component j is learnt, (time, component).
        spill: d_j ‖w_j − g_j w*_j‖², the squared error outside the direction of w*_j, summed over j, (time,).
        left: ½ Σ_j d_j ‖w_j − w*_j‖², the loss above its least value, (time,).
    """

    time: Array
    share: Array
    spill: Array
    left: Array


def shares(W: Array, target: Array, d: Array) -> tuple[Array, Array, Array]:
    """Share, spill and loss left of maps (…, outputs, component), as in `Progress`."""
    size = np.sum(target**2, axis=0)
    share = np.where(size > 0, np.sum(W * target, axis=-2) / np.where(size > 0, size, 1.0), 0.0)
    spill = np.sum((W - share[..., None, :] * target) ** 2, axis=-2) @ d
    return share, spill, 0.5 * np.sum((W - target) ** 2, axis=-2) @ d


def first_passage(path: Progress, fraction: float) -> Array:
    """When each component first passes a fraction of its final value, (component,); infinity if not on this path."""
    passed = path.share >= fraction
    i = np.argmax(passed, axis=0)
    j = np.arange(path.share.shape[1])
    before = np.maximum(i - 1, 0)
    low, high = path.share[before, j], path.share[i, j]
    rise = np.where(high > low, high - low, 1.0)
    weight = np.where(i > 0, (fraction - low) / rise, 0.0)
    time = path.time[before] + weight * (path.time[i] - path.time[before])
    return np.where(passed.any(axis=0), time, np.inf)


def one_layer(W0: Array, target: Array, d: Array, *, until: float | None, enough: float, longest: float) -> Progress:
    """The path of one layer, `w_j(t) = w*_j + (w_j(0) − w*_j) e^{−d_j t}`; arguments as in :func:`deep`."""
    gap = np.sum((W0 - target) ** 2, axis=0) * d

    def left(t: Array) -> Array:
        return 0.5 * np.exp(-2 * np.multiply.outer(t, d)) @ gap

    share0, _, _ = shares(W0, target, d)
    learnt = np.log(np.maximum((1 - share0) / (1 - DONE), 1.0)) / d
    end = until or _horizon(
        left, enough, 1e-3 / d.max(), longest, np.max(learnt[_explain(MATTERS, target, d)], initial=0.0)
    )
    t = np.append(0.0, np.geomspace(min(1e-2 / d.max(), end / POINTS), end, POINTS))
    decay = np.exp(-np.multiply.outer(t, d))
    spill0 = np.sum((W0 - share0 * target) ** 2, axis=0) * d
    return Progress(t, 1 - (1 - share0) * decay, decay**2 @ spill0, left(t))


def whitened(
    start: float, strengths: Array, depth: int, *, until: float | None, enough: float, longest: float
) -> Progress:
    """The path of the modes of whitened inputs, from a start in their directions.

    Args:
        start: the singular value of every mode at time 0.
        strengths: σ* > 0 of every mode.
        depth: N ≥ 1.
        until: as in :func:`deep`, like the arguments that follow.
        enough: the share.
        longest: the time.
    """
    clock = float(units.clock_rate(depth))

    def left(t: Array) -> Array:
        return 0.5 * np.sum(modes.residual(clock * np.asarray(t)[..., None], strengths, start, depth) ** 2, axis=-1)

    fastest = depth * strengths.max() ** (2 - 2 / depth)
    rising = (strengths**2 >= MATTERS * np.sum(strengths**2)) & (start < DONE * strengths)
    learnt = modes.time_to(DONE * strengths[rising], strengths[rising], start, depth) / clock
    end = until or _horizon(left, enough, 1e-3 / fastest, longest, np.max(learnt, initial=0.0))
    # Even in time for the eye, and even in the share learnt of every mode, which rises sharply after a plateau.
    fractions = np.linspace(0.005, 0.995, 67)[:, None]
    rises = modes.time_to(np.maximum(fractions * strengths, np.minimum(start, strengths)), strengths, start, depth)
    rises = np.ravel(rises)[np.isfinite(np.ravel(rises))] / clock
    t = np.unique(np.concatenate([np.linspace(0, end, POINTS), rises[rises < end]]))
    share = modes.trajectory(clock * t[:, None], strengths, start, depth) / strengths
    return Progress(t, share, np.zeros(len(t)), left(t))


def deep(
    W0: Array, target: Array, d: Array, depth: int, *, until: float | None, enough: float, longest: float
) -> Progress:
    """Follow equation (3) of Cohen & Razin in principal components.

    Args:
        W0: the map at time 0, (outputs, component), of full rank.
        target: W*, likewise.
        d: the variance of every component, positive.
        depth: N ≥ 1.
        until: the time to stop at; by default that at which enough is learnt, and every component that matters.
        enough: the share of what can be learnt that is enough, in loss.
        longest: never go on beyond this time.
    """
    solver, velocity = _solver(W0, target, d, depth, until or longest)
    mattering, heavy = _explain(MATTERS, target, d), _explain(HEAVY, target, d)
    look = lambda t, w: Moment(t, *shares(w.reshape(W0.shape), target, d))  # noqa: E731
    deciding = target[:, heavy]
    size = np.sum(deciding**2, axis=0)
    size = np.where(size > 0, size, 1.0)
    heavy_shares = lambda w: np.add.reduce(w.reshape(W0.shape)[:, heavy] * deciding, axis=0) / size  # noqa: E731
    goal = (1 - enough) * look(0.0, W0).left

    def ahead(now: Moment) -> float:
        """What is still to be learnt until it is enough; at most 0 from then on."""
        return max(float(now.left / goal - 1), float(np.max(DONE - now.share[mattering], initial=-inf)))

    def tried() -> None:
        if solver.nfev * W0.size * depth > WORK:
            raise ValueError(
                f"depth must be smaller for a map of {W0.size} entries; got {depth}: from this start the flow takes too "
                f"long to follow. It was at time {solver.t:.3g} of {solver.t_bound:.3g}; fewer steps help, too"
            )

    pace = float(np.abs(velocity(0.0, W0.ravel())).max())
    first = FINE * float(np.abs(W0).max()) / pace if pace > 0 else inf
    records = follow(solver, look, heavy_shares, heavy, FINE, first, None if until else ahead, tried)
    return Progress(*map(np.asarray, zip(*records, strict=True)))


def deep_at(W0: Array, target: Array, d: Array, depth: int, times: Array, work: float) -> Array | None:
    """The maps of the same equation at given times, to four digits, (time, outputs, component).

    Args:
        W0: as in :func:`deep`, like the arguments that follow.
        target: W*.
        d: the variances.
        depth: N.
        times: rising, from 0.
        work: evaluations, times entries of the map, times layers, after which it is given up; the result is then None.
    """
    solver, _ = _solver(W0, target, d, depth, float(times[-1]), rtol=1e-5)
    maps = [W0] * int(np.sum(times <= 0))
    while solver.status == "running":
        solver.step()
        if solver.status == "failed" or solver.nfev * W0.size * depth > work:
            return None
        reached = times[len(maps) : int(np.searchsorted(times, solver.t, side="right"))]
        if len(reached):
            inside = solver.dense_output()
            maps += [inside(t).reshape(W0.shape) for t in reached]
    return np.array(maps)


def _solver(
    W0: Array, target: Array, d: Array, depth: int, until: float, rtol: float = 1e-8
) -> tuple[OdeSolver, Callable[[float, Array], Array]]:
    """A solver of the equation of the map, not yet begun, and the equation."""
    velocity = _velocity(W0.shape, target, d, depth)
    method = LSODA if W0.size * depth <= DENSE else DOP853
    return method(velocity, 0.0, W0.ravel(), until, rtol=rtol, atol=rtol * float(np.abs(W0).max())), velocity


def _velocity(shape: tuple[int, ...], target: Array, d: Array, depth: int) -> Callable[[float, Array], Array]:
    """The equation of the map, flat."""

    def velocity(_: float, w: Array) -> Array:
        W = w.reshape(shape)
        G = (W - target) * d
        if shape[0] == 1:
            return end_to_end.field_one_output(w, G[0], depth)
        return end_to_end.field(W, G, depth).ravel()

    return velocity


def _explain(share: float, target: Array, d: Array) -> NDArray[np.bool_]:
    """Which components explain at least a share of what can be learnt."""
    explained = np.sum(target**2, axis=0) * d
    return explained >= share * explained.sum()


def _horizon(left: Callable[[Array], Array], enough: float, shortest: float, longest: float, at_least: float) -> float:
    """The time at which enough is learnt, not before `at_least`, or the longest allowed; `left` falls."""
    goal = (1 - enough) * float(left(np.zeros(())))
    if float(left(np.asarray(longest))) >= goal:
        return longest
    excess = lambda log_t: float(left(np.exp(np.asarray(log_t)))) - goal  # noqa: E731
    log_t: Any = brentq(excess, np.log(shortest), np.log(longest), xtol=1e-6)
    return min(max(float(np.exp(log_t)), 1.001 * float(at_least)), longest)
