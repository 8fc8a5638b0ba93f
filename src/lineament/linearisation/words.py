"""A forecast of a network in words: the sentences that the object, the terminal and the page share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..core.words import several
from .renewed import Renewed

if TYPE_CHECKING:
    from .linearised import Linearised

SHOWN = 10
"""Late examples that are listed."""

SAVES = 0.01
"""An early stop that saves less than this share of the test loss is not worth the trouble."""


def count(value: float) -> str:
    """A whole number with its thousands set apart; a dash for what does not happen."""
    return f"{round(value):,}".replace(",", "\u202f") if math.isfinite(value) else "–"


def sentences(made: Linearised) -> tuple[str, ...]:
    """All that is to be said of a forecast, what matters most first."""
    told = [outcome(made), safe(made), stop(made), late(made), setting(made)]
    return tuple(sentence for sentence in told if sentence)


def brief(made: Linearised) -> str:
    """The forecast in one line, without computing anything further."""
    test = "" if made.X_test is None else f", {several(len(made.X_test), 'test point')}"
    return (
        f"{made.network.name}: {count(len(made.y))} examples{test}, {made.loss_name} loss, step size "
        f"{made.step_size:.3g}, {several(made.steps, 'step')}"
    )


def setting(made: Linearised) -> str:
    """The network, the data and the optimiser."""
    test = "" if made.X_test is None else f" and {several(len(made.X_test), 'test point')}"
    momentum = f", momentum {made.momentum:g}" if made.momentum else ""
    momentum += f", weight decay {made.weight_decay:g}" if made.weight_decay else ""
    batch = "all examples at once" if made.batch_size is None else f"batches of {made.batch_size}"
    return (
        f"{made.network.name}, {count(made.network.size)} parameters; {count(len(made.y))} training examples{test}; "
        f"{made.loss_name} loss, step size {made.step_size:.3g}{momentum}, {batch}."
    )


def outcome(made: Linearised) -> str:
    """What training will come to."""
    curves, last = made.curves, made.at[-1]
    if diverges(made):
        lost = made.at[int(np.argmin(np.isfinite(curves.loss)))]
        return (
            f"The training loss starts at {curves.loss[0]:.3g} and is lost by step {count(lost)}: training diverges."
        )
    first = f"After {several(int(last), 'step')} the training loss will have gone from {curves.loss[0]:.3g} to "
    bar = made.error_bar
    first += f"{curves.loss[-1]:.3g} {between(bar.low[-1], bar.high[-1])}"
    if made.y_test is not None:
        first += f", the test loss from {curves.test_loss[0]:.3g} to {curves.test_loss[-1]:.3g} "
        first += between(bar.test_low[-1], bar.test_high[-1])
    if not made.classes:
        return f"{first}."
    right = curves.accuracy if made.y_test is None else curves.test_accuracy
    which = "training" if made.y_test is None else "test"
    return f"{first}, and {100 * right[-1]:.1f} % of {which} examples will be answered rightly."


def diverges(made: Linearised) -> bool:
    """Whether the forecast ends in numbers that are none."""
    return not np.isfinite(made.curves.loss).all()


def between(low: float, high: float) -> str:
    """An error bar in brackets; open where it has no upper end."""
    return f"({low:.3g}–{high:.3g})" if math.isfinite(high) else f"({low:.3g} or more)"


def safe(made: Linearised) -> str:
    """How long the forecast is safe."""
    step = made.safe_step
    if made.exact:
        return _exact(made)
    if isinstance(made, Renewed):
        return _renewed(made)
    if math.isinf(step):
        return f"The forecast is safe over all {count(made.steps)} steps: losses stay within 10 % of it."
    beyond = "by then the network has begun to leave its linear regime"
    if not made.safety.finished:
        beyond = "beyond that it was not looked at, as the network moves too fast for large steps"
    return f"The forecast is safe until step {count(step)} (losses within 10 %); {beyond}."


def _renewed(made: Renewed) -> str:
    """How long a forecast with renewed tangents is safe, and how long one tangent would have been."""
    alone, path = made.linear_until, made.path
    one = f"The tangent of the start alone would do until step {count(alone)}"
    if math.isinf(alone):
        one = "The tangent of the start alone would do as well"
    used = f"{one}; {path.kernels - 1} more {'was' if path.kernels == 2 else 'were'} computed on the way."
    if math.isinf(made.safe_step):
        return f"The forecast is safe over all {count(made.steps)} steps: losses stay within 10 % of it. {used}"
    beyond = "by then its error may have grown beyond that"
    if not path.finished:
        beyond = f"{several(made.renewals, 'tangent')} did not suffice to go beyond step {count(path.followed)}"
    return f"The forecast is safe until step {count(made.safe_step)} (losses within 10 %); {beyond}. {used}"


def _exact(made: Linearised) -> str:
    if math.isinf(made.safe_step):
        return "Nothing is linearised: the forecast follows the network's own equations, step by step, to the last."
    return (
        f"Nothing is linearised, but with this step size the network diverges: numbers end at step "
        f"{count(made.safe_step)}."
    )


def stop(made: Linearised) -> str:
    """When to stop, where test points are known."""
    if made.y_test is None or diverges(made):
        return ""
    loss = made.curves.test_loss
    best = int(np.argmin(loss))
    if loss[-1] <= 0 or loss[best] > (1 - SAVES) * loss[-1]:
        return "Train to the end: the test loss does not rise in these steps."
    saved = 1 - loss[best] / loss[-1]
    doubt = "" if made.at[best] <= made.safe_step else ", if the forecast holds that long"
    return (
        f"Stop near step {count(made.at[best])}{doubt}: the test loss is least there, {loss[best]:.3g}, "
        f"{100 * saved:.0f} % below its value at the end."
    )


def late(made: Linearised) -> str:
    """Which examples are learnt last."""
    never = int(np.isinf(made.learnt_at).sum())
    rows = ", ".join(str(row) for row in made.late(5))
    are = "is" if never == 1 else "are"
    rest = f"; {count(never)} of {count(len(made.y))} {are} not learnt in these steps" if never else ""
    return f"The last to be learnt are the training examples {rows}{rest}."
