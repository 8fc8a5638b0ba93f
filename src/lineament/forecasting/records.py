"""Records along a flow, at times that belong to the flow and not to the solver.

A solver takes steps of its own, long on a plateau and short on a rise. What is read off a path (when a component is half
learnt, when the expected test loss is least) must not depend on them: any solver of the same equation, such as the one in
the explorer's page, is to find the same numbers. So each record follows from the one before: it is taken where a
component that counts has moved by a given share, or where time has grown by it, whichever comes first.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import OdeSolver
from scipy.optimize import brentq

Array = NDArray[np.float64]

AFTER = 1e-10
"""A passage is looked at so much later, as a share of its time, that it has taken place to rounding."""


class Moment(NamedTuple):
    """A path at one time; the fields are those of `paths.Progress`."""

    time: float
    share: Array
    spill: Array
    left: Array


Look = Callable[[float, Array], Moment]
Shares = Callable[[Array], Array]


def follow(
    solver: OdeSolver,
    look: Look,
    shares: Shares,
    heavy: NDArray[np.bool_],
    fine: float,
    first: float,
    ahead: Callable[[Moment], float] | None,
    tried: Callable[[], None],
) -> list[Moment]:
    """Run a solver, which has not yet begun, to its end or until enough is learnt.

    Args:
        solver: of the flow.
        look: what is recorded of a state.
        shares: of a state, those of the heavy components alone: what is asked for some eight times before each record.
        heavy: the components that decide how close the records are.
        fine: how far these, and time, may move between two records.
        first: the time of the first record after the start, at the latest.
        ahead: what is still to be learnt, at most 0 where it is enough; None to run to the end.
        tried: called after every step, to give up in time.
    """
    records = [end := look(0.0, solver.y)]
    while solver.status == "running":
        trouble = solver.step()
        if solver.status == "failed":
            raise RuntimeError(f"the flow could not be followed beyond t = {solver.t:.6g}: {trouble}")
        tried()
        since, inside = float(solver.t_old or 0.0), solver.dense_output()
        at = lambda t, inside=inside: look(t, inside(t))  # noqa: E731
        end = look(float(solver.t), solver.y)
        enough = ahead is not None and ahead(end) <= 0
        if ahead is not None and enough:
            end = at(_passage(lambda t, at=at: ahead(at(t)), since, end.time))
        heavy_at = lambda t, inside=inside: shares(inside(t))  # noqa: E731
        records += _between(records[-1], end, at, heavy_at, since, heavy, fine, first)
        if enough:
            break
    return records if records[-1].time >= end.time else [*records, end]


def _between(
    last: Moment, end: Moment, at: Callable[[float], Moment], heavy_at: Callable[[float], Array], since: float,
    heavy: NDArray[np.bool_], fine: float, first: float,
) -> list[Moment]:  # fmt: skip
    """The records within a step of the solver, which began at `since`."""
    found: list[Moment] = []
    while True:
        recorded = last.share[heavy]

        def moved(share: Array, recorded: Array = recorded) -> float:
            return float(np.abs(share - recorded).max(initial=0.0))

        latest = max((1 + fine) * last.time, first)
        to = end if end.time <= latest else at(latest)
        if moved(to.share[heavy]) > fine:
            to = at(_passage(lambda t, moved=moved: fine - moved(heavy_at(t)), since, to.time))
        elif end.time < latest:
            return found
        found.append(to)
        last, since = to, max(since, to.time)


def _passage(f: Callable[[float], float], low: float, high: float) -> float:
    """Just after the time at which a function falls through zero."""
    if f(low) <= 0:
        return low
    when: Any = brentq(f, low, high, xtol=1e-12 * high)
    return min(when * (1 + AFTER), high)
