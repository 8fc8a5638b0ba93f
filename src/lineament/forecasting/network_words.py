"""A forecast of a network on a table, in words: what matters most first, in steps and rows of the table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from lineament.core.words import several
from lineament.linearisation import Renewed, words

if TYPE_CHECKING:
    from .network import NetworkForecast
    from .network_train import NetworkComparison

LATE = 10
"""Late rows that are listed."""


def title(made: NetworkForecast) -> str:
    """What the forecast is about."""
    return f"What {_article(made.linearised.network.name)} learns from {made.name.rsplit('/', 1)[-1]}"


def so_what(made: NetworkForecast) -> str:
    """The forecast in plain words: what training is worth, and how long to train."""
    lin = made.linearised
    curves = lin.curves
    if words.diverges(lin):
        return f"With this step size training diverges; {lin.largest_stable:.3g} is the largest that is stable."
    best = int(np.argmin(curves.test_loss))
    gain = 1 - curves.test_loss[best] / curves.test_loss[0]
    if gain < 0.01:
        return "Training this network on this table will not lower its test loss, which is least at the start."
    if lin.classes:
        right = 100 * curves.test_accuracy
        worth = f"Training will raise right answers on new rows from {right[0]:.0f} % to {right[-1]:.0f} %."
    else:
        explained = 1 - curves.test_loss[best] / _idle_loss(made)
        worth = (
            f"Trained, this network will explain {100 * explained:.0f} % of the target's variance on new rows."
            if explained > 0
            else "Trained, this network will do no better on new rows than the mean of the target."
        )
    return f"{worth} {words.stop(lin)}"


def _idle_loss(made: NetworkForecast) -> float:
    """The test loss of the training rows' mean, which is 0 after centring."""
    assert made.linearised.y_test is not None
    return 0.5 * float(np.mean(np.sum(made.linearised.y_test**2, axis=1)))


def data(made: NetworkForecast) -> str:
    """The table in one sentence."""
    rows = made.rows
    what = f"{len(rows.outputs)} classes" if rows.classes else "one target"
    if not rows.classes and len(rows.outputs) > 1:
        what = f"{len(rows.outputs)} targets"
    return (
        f"{words.count(len(rows.train))} rows to train on and {words.count(len(rows.test))} to test on, "
        f"{several(len(rows.features), 'feature')}, {what}."
    )


def late(made: NetworkForecast) -> str:
    """Which rows are learnt last."""
    lin = made.linearised
    never = int(np.isinf(lin.learnt_at).sum())
    rows = ", ".join(words.count(int(made.rows.train[place])) for place in lin.late(5))
    rest = ""
    if never:
        of = f"{words.count(never)} of {words.count(len(lin.y))} {'is' if never == 1 else 'are'}"
        rest = f"; {of} not learnt in {several(lin.steps, 'step')}"
    return (
        f"The rows that are learnt last are {rows}{rest}. Look at their labels first if the table may hold mistakes."
    )


def sentences(made: NetworkForecast, run: NetworkComparison | None = None) -> tuple[str, ...]:
    """All that is to be said of a forecast, and of the run that it was compared with."""
    lin = made.linearised
    told = (so_what(made), data(made), words.outcome(lin), words.safe(lin), late(made), setting(made))
    return told if run is None else (*told, f"Trained: {run.verdict}. {comparison(run)}")


def setting(made: NetworkForecast) -> str:
    """The network and its optimiser."""
    return f"{words.setting(made.linearised)} Start: {made.start}."


def comparison(run: NetworkComparison) -> str:
    """What training showed, in one or two sentences."""
    lin = run.forecast.linearised
    left = (
        f"a loss first differed from the forecast by more than 10 % at step {words.count(run.departed)}"
        if math.isfinite(run.departed)
        else f"no loss differed from the forecast by more than 10 % in {several(lin.steps, 'step')}"
    )
    end = f"At the end the test loss was {run.run['test_loss'][-1]:.3g}, forecast {lin.curves.test_loss[-1]:.3g}"
    if lin.classes:
        end += f"; {100 * run.agreement:.0f} % of test rows got the label that was forecast, at the last safe step"
    bar = f"The error bar held both losses at {100 * run.covered:.0f} % of the steps that were looked at"
    return f"Trained in {run.seconds:.2g} s: {left}. {end}. {bar}."


def brief(made: NetworkForecast) -> str:
    """The forecast in one short line."""
    name = made.name if len(made.name) <= 40 else f"…{made.name[-39:]}"
    return f"{name}, {words.brief(made.linearised)}"


def settings(made: NetworkForecast) -> dict[str, object]:
    """What the forecast was made with."""
    lin = made.linearised
    kernel = (
        {} if lin.exact else {"kernel": "of every pair of outputs" if lin.kernel == "all" else "shared by the outputs"}
    )
    return {
        "table": made.name,
        "target": ", ".join(made.rows.outputs[:12]) + (", …" if len(made.rows.outputs) > 12 else ""),
        "network": f"{lin.network.name}, {words.count(lin.network.size)} parameters",
        "start": made.start,
        "loss": "½ mean‖f − y‖²" if lin.loss_name == "square" else "cross-entropy",
        "step size": lin.step_size,
        "momentum": lin.momentum,
        "weight decay": lin.weight_decay,
        "batch": "all rows" if lin.batch_size is None else lin.batch_size,
        "steps": lin.steps,
        **kernel,
        **({"tangents": lin.path.kernels} if isinstance(lin, Renewed) else {}),
        "seed": lin.seed,
    }


def late_rows(made: NetworkForecast) -> list[tuple[int, str, str, str]]:
    """The rows learnt last: number in the table, when learnt, what is right, what the network says at the end."""
    lin, rows = made.linearised, made.rows
    final = lin.outputs(lin.steps)[0]
    found = []
    for place in lin.late(LATE):
        when = float(lin.learnt_at[place])
        step = words.count(when) if math.isfinite(when) else "not in these steps"
        if rows.classes:
            said, right = (rows.outputs[int(np.argmax(part[place]))] for part in (final, lin.y))
        else:
            said, right = (", ".join(f"{value:.3g}" for value in part[place][:4]) for part in (final, lin.y))
        found.append((int(rows.train[place]), step, right, said))
    return found


def _article(name: str) -> str:
    return f"an {name}" if name[:1] in "AEIOU" or name.startswith("MLP") else f"a {name}"
