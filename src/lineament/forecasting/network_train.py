"""Train the very network that was forecast, and compare: by its own parameters, step by step, knowing no kernel."""

import time as clock
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lineament.core import arguments
from lineament.evidence import Check, Verdict, at_least, at_most, judge
from lineament.linearisation import DEPARTED, Linearised, losses
from lineament.linearisation.in_jax import Tangents

from .compare import LEARNT_BAR
from .network import NetworkForecast
from .network_shown import NetworkShown

Array = NDArray[np.float64]

LABEL_BAR = 0.95
"""The share of test labels that must be as forecast: what was found at widths of 256 and more, inside the safe region."""
BATCH_ROOM = 0.05
"""Room around the band of batches, as a share of the loss: eight orders do not span all."""


@dataclass(frozen=True, eq=False, repr=False)
class NetworkComparison(NetworkShown):
    """A forecast of a network beside the run that it forecast.

    Attributes:
        forecast: what was forecast.
        run: of the run, by name: "step", "loss", "test_loss", and for classes "accuracy", "test_accuracy".
        agreement: the share of test rows that are answered as forecast at the last safe step; not-a-number for numbers.
        departed: the step at which a loss first differed by more than a tenth; infinity if none did.
        checks: what the verdict is read from.
        seconds: how long training took.
    """

    forecast: NetworkForecast
    run: dict[str, Array]
    agreement: float
    departed: float
    checks: tuple[Check, ...]
    seconds: float

    @property
    def _made(self) -> NetworkForecast:
        return self.forecast

    @property
    def _run(self) -> "NetworkComparison":
        return self

    @property
    def verdict(self) -> Verdict:
        """`holds` or `differs`; `undecided` where nothing was learnt that could be compared."""
        return judge(self.checks)

    @property
    def covered(self) -> float:
        """The share of all steps looked at, safe or not, at which test and training loss lie within the error bar."""
        bar, run = self.forecast.linearised.error_bar, self.run
        inside = (bar.low <= run["loss"]) & (run["loss"] <= bar.high)
        return float(np.mean(inside & (bar.test_low <= run["test_loss"]) & (run["test_loss"] <= bar.test_high)))

    @property
    def holds(self) -> bool:
        """Whether every check passed."""
        return self.verdict is Verdict.HOLDS


def train_network(forecast: NetworkForecast) -> NetworkComparison:
    """Train the network of a forecast with the optimiser that was asked for, and compare inside the safe region."""
    from lineament.linearisation import safe

    arguments.instance("forecast", forecast, NetworkForecast)
    made = forecast.linearised
    begun = clock.perf_counter()
    here, there = _trained(made) if isinstance(made.network, Tangents) else _stepped(made)
    seconds = clock.perf_counter() - begun
    assert made.y_test is not None
    run = {"step": made.at.astype(float), "loss": losses.mean(made.loss_name, here, made.y)}
    run["test_loss"] = losses.mean(made.loss_name, there, made.y_test)
    agreement, last = float("nan"), _last_safe(made)
    if made.classes:
        run |= {"accuracy": losses.accuracy(here, made.y), "test_accuracy": losses.accuracy(there, made.y_test)}
        agreement = float(np.mean(np.argmax(there[last], axis=1) == made.answers(float(made.at[last]))))
    off = safe.departure(run["loss"], made.curves.loss, run["test_loss"], made.curves.test_loss)
    departed = safe.first_departure(made.at, off, DEPARTED)
    return NetworkComparison(forecast, run, agreement, departed, _checks(made, run, agreement), seconds)


def _last_safe(made: Linearised) -> int:
    return int(np.flatnonzero(made.at <= made.safe_step)[-1])


def _checks(made: Linearised, run: dict[str, Array], agreement: float) -> tuple[Check, ...]:
    safe = slice(0, _last_safe(made) + 1)
    learnt = 1 - made.curves.loss[safe].min() / made.curves.loss[0]
    void = "" if learnt >= LEARNT_BAR else "next to nothing is learnt in the steps that are safe; take a wider network"
    origin = (
        "the bar of every network; rounding alone should part them" if made.exact else
        "the safe region promises losses within a tenth"
    )  # fmt: skip
    found = []
    for name, label in (("test_loss", "test loss"), ("loss", "training loss")):
        forecast = getattr(made.curves, name)[safe]
        low = high = forecast
        bar, where = DEPARTED, origin
        if made.band is not None:
            prefix = "test_" if name == "test_loss" else ""
            low = np.minimum(low, getattr(made.band, f"{prefix}low")[safe])
            high = np.maximum(high, getattr(made.band, f"{prefix}high")[safe])
            bar, where = DEPARTED + BATCH_ROOM, f"{origin}, and orders of batches differ by more than eight can show"
        outside = np.maximum(np.maximum(run[name][safe] - high, low - run[name][safe]), 0.0)
        worst = float(np.max(outside / forecast))
        found.append(
            at_most(f"largest gap of the {label} from its forecast in the safe region", worst, bar, where, void=void)
        )
    if made.classes:
        found.append(
            at_least("test rows answered as forecast at the last safe step", agreement, LABEL_BAR,
                     "what wide networks show inside the safe region", void=void)
        )  # fmt: skip
    return tuple(found)


def _trained(made: Linearised) -> tuple[Array, Array]:
    """Outputs on training and test rows at the recorded steps, by `lineament.train.descend`."""
    import jax.numpy as jnp

    from lineament.problems import cross_entropy, lp_regression
    from lineament.train import Record, descend

    network: Any = made.network
    model, parameters, dtype = network.model, network.parameters, network.dtype
    X, Z = jnp.asarray(made.X, dtype), jnp.asarray(made.X_test, dtype)
    if made.loss_name == "square":
        problem = lp_regression(X, jnp.asarray(made.y, dtype), 2)
    else:
        problem = cross_entropy(X, np.argmax(made.y, axis=1), made.y.shape[1])
    both = jnp.concatenate([X, Z])

    def seen(model: Any, problem: Any, parameters: Any) -> Any:
        map = model.end_to_end(parameters)
        return map(both) if callable(map) else both @ map.T

    look = Record("outputs", seen, ("example", "output"))
    run = descend(
        model, problem, parameters, step_size=made.step_size, steps=made.steps, at=made.at, record=(look,),
        optimiser=_optimiser(made.momentum, made.weight_decay), batch_size=made.batch_size,
        key=None if made.batch_size is None else made.seed + 1, on_divergence="keep",
    )  # fmt: skip
    outputs = np.asarray(run.outputs.values, np.float64)
    return outputs[:, : len(made.y)], outputs[:, len(made.y) :]


@cache  # one function for each pair of numbers, so that a second run finds its compiled program
def _optimiser(momentum: float, weight_decay: float) -> Any:
    """SGD as PyTorch has it: weight decay is part of the gradient."""
    import optax

    def sgd(step_size: Any) -> Any:
        plain = optax.sgd(step_size, momentum=momentum or None)
        return optax.chain(optax.add_decayed_weights(weight_decay), plain) if weight_decay else plain

    return sgd


def _stepped(made: Linearised) -> tuple[Array, Array]:
    """The same for a network of another framework, one step after the other."""
    network, rng, n = made.network, np.random.default_rng(made.seed + 1), len(made.y)
    batch = made.batch_size or n
    change = velocity = network.combine([0.0], [network.pull_back(made.X, np.zeros_like(made.y))])
    here, there, order = [], [], np.zeros(0, int)
    wanted = set(made.at.tolist())
    for step in range(made.steps + 1):
        if step in wanted:
            here.append(network.outputs(made.X, change))
            there.append(network.outputs(made.X_test, change))
        if len(order) < batch:
            order = rng.permutation(n) if batch < n else np.arange(n)
        some, order = order[:batch], order[batch:]
        _, gradient = network.gradient(made.X[some], made.y[some], made.loss_name, change)
        # Weight decay pulls at the parameters themselves, which are the start and how far they have moved.
        decay = [made.weight_decay] * 2
        velocity = network.combine([made.momentum, 1.0, *decay], [velocity, gradient, network.origin, change])
        change = network.combine([1.0, -made.step_size], [change, velocity])
    return np.stack(here), np.stack(there)
