"""What an ordinary network will learn from a table, before it is trained.

The network is a multilayer perceptron as people train it (ReLU, biases, He's or PyTorch's default start), or one of
the user's own: `lineament.linearisation` forecasts it from its tangent at the start. Or it is linear, with any number
of layers and any start: `deep_linear` follows it exactly. Here a table becomes training and test rows, and the
forecast gets names and rows to speak of.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from lineament.core import arguments
from lineament.data import tables
from lineament.linearisation import RENEWALS, Linearised, Loss, linearise

from .linear_network import STARTS, STARTS_IN_WORDS, Start, begin, deep_linear
from .network_shown import NetworkShown
from .rows import MOST_ROWS, Rows, read_rows

Build = Callable[[int, int], Any]
"""From the numbers of inputs and outputs to a model, or to a model and its parameters."""

MOMENTUM = 0.9
HIDDEN = 2
"""Hidden layers of the network that is forecast by default."""
TEST_SHARE = 0.25
MOST_WIDTH = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class NetworkForecast(NetworkShown):
    """A forecast of a network's training on a table.

    Attributes:
        name: the table.
        rows: its training and test rows.
        linearised: the forecast itself, with all curves and answers.
        start: how the network begins, in words.
    """

    name: str
    rows: Rows
    linearised: Linearised
    start: str

    @property
    def _made(self) -> "NetworkForecast":
        return self

    @property
    def notices(self) -> tuple[str, ...]:
        """What a reader should know beforehand."""
        return (*self.rows.notices, *self.linearised.notices)


def forecast_network(
    X: ArrayLike,
    y: ArrayLike,
    *,
    network: Literal["mlp", "linear"] | Build = "mlp",
    width: int = 256,
    depth: int = 2,
    start: Start | None = None,
    start_scale: float = 1e-3,
    optimiser: Literal["sgd", "momentum"] = "sgd",
    batch_size: int | None = None,
    weight_decay: float = 0.0,
    loss: Loss | None = None,
    step_size: float | None = None,
    steps: int = 1500,
    renew: int = RENEWALS,
    classes: bool | None = None,
    scale_target: bool = False,
    test_share: float = TEST_SHARE,
    seed: int = 0,
) -> NetworkForecast:
    """Forecast how an ordinary network learns y from X by gradient descent; its rows are parted into training and test.

    Args:
        X: features (n, columns), or a data frame, whose columns of words become one column for each word.
        y: targets (n,) or (n, k); words name classes.
        network: "mlp" for two hidden layers of ReLU, "linear" for layers of weights alone, or a function of the numbers
            of inputs and outputs that makes a model, or a pair of a model and its parameters.
        width: of the hidden layers of "mlp" and "linear".
        depth: the layers of "linear".
        start: "he", "glorot", or "torch" for PyTorch's default; for "linear" also "balanced", its default as "he"
            is that of others.
        start_scale: of a balanced start, all singular values of the product of the layers.
        optimiser: "sgd", or "momentum" of 0.9.
        batch_size: rows a step; by default all.
        weight_decay: λ of the penalty (λ/2)‖θ‖², biases included, as PyTorch's SGD has it.
        loss: "cross-entropy" for classes and "square" for numbers by default.
        step_size: by default a tenth of the largest that is stable.
        steps: how far to look ahead.
        renew: how many times the tangent of a network that is not linear may be renewed; 0 for that of the start alone.
        classes: take numbers as classes.
        scale_target: divide every target by its standard deviation.
        test_share: the share of rows that is kept for testing.
        seed: of the split, the start, and the orders of batches.
    """
    return forecast_network_table(
        tables.joined(X, y), network=network, width=width, depth=depth, start=start, start_scale=start_scale,
        optimiser=optimiser, batch_size=batch_size, weight_decay=weight_decay, loss=loss, step_size=step_size,
        steps=steps, renew=renew, classes=classes, scale_target=scale_target, test_share=test_share, seed=seed,
    )  # fmt: skip


def forecast_network_table(
    table: tables.Table,
    *,
    network: Literal["mlp", "linear"] | Build = "mlp",
    width: int = 256,
    depth: int = 2,
    start: Start | None = None,
    start_scale: float = 1e-3,
    optimiser: Literal["sgd", "momentum"] = "sgd",
    batch_size: int | None = None,
    weight_decay: float = 0.0,
    loss: Loss | None = None,
    step_size: float | None = None,
    steps: int = 1500,
    renew: int = RENEWALS,
    classes: bool | None = None,
    scale_target: bool = False,
    test_share: float = TEST_SHARE,
    seed: int = 0,
    most_rows: int = MOST_ROWS,
    own: Callable[..., Linearised] | None = None,
) -> NetworkForecast:
    """The same for a table, of which at most so many rows are used.

    `own` linearises a network of another framework, called with rows and settings.
    """
    if not callable(network):
        network = arguments.one_of("network", network, ("mlp", "linear"), "a function that makes a model")
    arguments.one_of("optimiser", optimiser, ("sgd", "momentum"))
    begins: Start = start if start is not None else ("balanced" if network == "linear" else "he")
    arguments.one_of("start", begins, STARTS)
    if begins == "balanced" and network != "linear":
        raise ValueError("start must be 'he', 'glorot' or 'torch' for a network that is not linear; got 'balanced'")
    width = arguments.count("width", width, most=MOST_WIDTH)
    depth = arguments.count("depth", depth)
    start_scale = arguments.number("start_scale", start_scale, above=0)
    share = arguments.number("test_share", test_share, above=0, below=1)
    seed = arguments.count("seed", seed, 0)
    rows = read_rows(
        table, classes=classes, scale_target=scale_target, test_share=share, seed=seed,
        most=arguments.count("most_rows", most_rows, 4),
    )  # fmt: skip
    if loss is not None:
        arguments.one_of("loss", loss, ("square", "cross-entropy"))
    if loss is None:
        loss = "cross-entropy" if rows.classes else "square"
    if loss == "cross-entropy" and not rows.classes:
        raise ValueError("loss must be 'square' for a target of numbers; got 'cross-entropy'. Are they classes?")
    settings: dict[str, Any] = {
        "loss": loss, "step_size": step_size, "momentum": MOMENTUM if optimiser == "momentum" else 0.0,
        "weight_decay": weight_decay, "batch_size": batch_size, "steps": steps, "seed": seed,
    }  # fmt: skip
    if own is not None:
        made = arguments.function("own", own)(rows, settings | {"renew": renew})
        return NetworkForecast(table.name, rows, made, "the network's own")
    if network == "linear":
        made = deep_linear(rows, depth=depth, width=width, start=begins, start_scale=start_scale, **settings)
        words = STARTS_IN_WORDS.get(begins, f"balanced, singular values {start_scale:g}")
        return NetworkForecast(table.name, rows, made, words)
    model, parameters = _built(network, width, rows, begins, seed)
    made = linearise(model, parameters, rows.X, rows.y, rows.X_test, rows.y_test, renew=renew, **settings)
    return NetworkForecast(table.name, rows, made, STARTS_IN_WORDS[begins])


def _built(network: Literal["mlp"] | Build, width: int, rows: Rows, start: Start, seed: int) -> tuple[Any, Any]:
    """A model and where its training begins."""
    from lineament import models

    inputs, outputs = rows.X.shape[1], rows.y.shape[1]
    draw = partial(begin, start=start, start_scale=1.0)
    if network == "mlp":
        model = models.MLP((inputs, *[width] * HIDDEN, outputs), "relu", "standard", bias=True)
        return model, draw(model, seed=seed)
    found = network(inputs, outputs)
    if isinstance(found, tuple):
        model, parameters = found
        return model, parameters
    return found, draw(found, seed=seed)


def answers(made: NetworkForecast, step: float) -> np.ndarray:
    """What the network will say of every test row after so many steps: the name of a class, or numbers."""
    said = made.linearised.answers(step)
    return np.array(made.rows.outputs)[said] if made.rows.classes else said
