"""What an ordinary network will learn from a table, before it is trained: linearised at its start.

The network is a multilayer perceptron as people train it (ReLU, biases, He's or PyTorch's default start), or one of the
user's own. `lineament.linearisation` forecasts it; here a table becomes training and test rows, and the forecast gets
names and rows to speak of.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from lineament.core import arguments
from lineament.data import tables
from lineament.linearisation import Linearised, Loss, linearise

from .network_shown import NetworkShown
from .rows import Rows, read_rows

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
    network: Literal["mlp"] | Build = "mlp",
    width: int = 256,
    start: Literal["he", "torch"] = "he",
    optimiser: Literal["sgd", "momentum"] = "sgd",
    batch_size: int | None = None,
    loss: Loss | None = None,
    step_size: float | None = None,
    steps: int = 1500,
    classes: bool | None = None,
    scale_target: bool = False,
    test_share: float = TEST_SHARE,
    seed: int = 0,
) -> NetworkForecast:
    """Forecast how an ordinary network learns y from X by gradient descent; its rows are parted into training and test.

    Args:
        X: features (n, columns), or a data frame, whose columns of words become one column for each word.
        y: targets (n,) or (n, k); words name classes.
        network: "mlp" for two hidden layers of ReLU, or a function of the numbers of inputs and outputs that makes a
            model, or a pair of a model and its parameters.
        width: of the hidden layers of "mlp".
        start: "he", or "torch" for PyTorch's default.
        optimiser: "sgd", or "momentum" of 0.9.
        batch_size: rows a step; by default all.
        loss: "cross-entropy" for classes and "square" for numbers by default.
        step_size: by default a tenth of the largest that is stable.
        steps: how far to look ahead.
        classes: take numbers as classes.
        scale_target: divide every target by its standard deviation.
        test_share: the share of rows that is kept for testing.
        seed: of the split, the start, and the orders of batches.
    """
    return forecast_network_table(
        tables.joined(X, y), network=network, width=width, start=start, optimiser=optimiser, batch_size=batch_size,
        loss=loss, step_size=step_size, steps=steps, classes=classes, scale_target=scale_target, test_share=test_share,
        seed=seed,
    )  # fmt: skip


def forecast_network_table(
    table: tables.Table,
    *,
    network: Literal["mlp"] | Build = "mlp",
    width: int = 256,
    start: Literal["he", "torch"] = "he",
    optimiser: Literal["sgd", "momentum"] = "sgd",
    batch_size: int | None = None,
    loss: Loss | None = None,
    step_size: float | None = None,
    steps: int = 1500,
    classes: bool | None = None,
    scale_target: bool = False,
    test_share: float = TEST_SHARE,
    seed: int = 0,
    own: Callable[..., Linearised] | None = None,
) -> NetworkForecast:
    """The same for a table; `own` linearises a network of another framework, called with rows and settings."""
    arguments.one_of("optimiser", optimiser, ("sgd", "momentum"))
    arguments.one_of("start", start, ("he", "torch"))
    share = arguments.number("test_share", test_share, above=0, below=1)
    seed = arguments.count("seed", seed, 0)
    rows = read_rows(table, classes=classes, scale_target=scale_target, test_share=share, seed=seed)
    if loss is None:
        loss = "cross-entropy" if rows.classes else "square"
    if loss == "cross-entropy" and not rows.classes:
        raise ValueError("loss must be 'square' for a target of numbers; got 'cross-entropy'. Are they classes?")
    settings: dict[str, Any] = {
        "loss": loss, "step_size": step_size, "momentum": MOMENTUM if optimiser == "momentum" else 0.0,
        "batch_size": batch_size, "steps": steps, "seed": seed,
    }  # fmt: skip
    if own is not None:
        made = own(rows, settings)
        return NetworkForecast(table.name, rows, made, "the network's own")
    model, parameters = _built(network, width, rows, start, seed)
    made = linearise(model, parameters, rows.X, rows.y, rows.X_test, rows.y_test, **settings)
    return NetworkForecast(table.name, rows, made, "He's" if start == "he" else "PyTorch's default")


def _built(network: Literal["mlp"] | Build, width: int, rows: Rows, start: str, seed: int) -> tuple[Any, Any]:
    """A model and where its training begins."""
    from lineament import models, starts

    inputs, outputs = rows.X.shape[1], rows.y.shape[1]
    draw = starts.he if start == "he" else starts.torch_default
    if network == "mlp":
        width = arguments.count("width", width, most=MOST_WIDTH)
        model = models.MLP((inputs, *[width] * HIDDEN, outputs), "relu", "standard", bias=True)
        return model, draw(model, seed)
    found = arguments.function("network", network)(inputs, outputs)
    if isinstance(found, tuple):
        model, parameters = found
        return model, parameters
    return found, draw(found, seed)


def answers(made: NetworkForecast, step: float) -> np.ndarray:
    """What the network will say of every test row after so many steps: the name of a class, or numbers."""
    said = made.linearised.answers(step)
    return np.array(made.rows.outputs)[said] if made.rows.classes else said
