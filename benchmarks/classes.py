"""Forecasts of classifiers against their training: `python -m benchmarks.classes`.

Cross-entropy on four tables of classes, with multilayer perceptrons and a convolutional network, as plain descent and as
people train them (PyTorch's start, momentum, batches). Every run is kept as soon as it is known, in
`docs/_static/classes.json`; the same command goes on from there, and prints the table. MNIST is read from
`LINEAMENT_DATA`.
"""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

KEPT = Path(__file__).parents[1] / "docs" / "_static" / "classes.json"
SEED = 20261118
"""Of rows, start and batches; nothing was looked at with it before."""

TABLES = ("wine", "breast-cancer", "digits", "mnist")
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "as in PyTorch": {"start": "torch", "optimiser": "momentum", "batch_size": 32},
}
IMAGES, CNN_STEPS, CNN_SHARE, CNN_TANGENTS = (150, 300), 600, 0.5, 12
"""Training and test images of the convolutional network, its steps, their size as a share of the largest stable, and the
tangents that may be renewed. With a tenth of the largest stable step it answers 29 % of the images after as many."""


def runs() -> list[dict[str, str]]:
    """Every run: perceptrons on all tables, the convolutional network on images."""
    dense = [{"table": table, "network": "MLP 256", "way": way} for table in TABLES for way in WAYS]
    return [*dense, {"table": "mnist", "network": "CNN 32 + 32", "way": "plain"}]


def measured(table: str, network: str, way: str) -> dict[str, float | None]:
    """How the forecast and the training of one network compare at the last safe step, and what both cost."""
    from lineament.forecasting.network_train import train_network

    begun = time.process_time()
    made = _perceptron(table, way) if network == "MLP 256" else _convolutional()
    lin = made.linearised
    last = int(np.flatnonzero(lin.at <= lin.safe_step)[-1])
    made.examples()
    forecast = time.process_time() - begun
    begun = time.process_time()
    run = train_network(made)
    training = time.process_time() - begun
    return {
        "safe": None if np.isinf(lin.safe_step) else lin.safe_step,
        "steps": lin.steps,
        "forecast": float(lin.curves.test_accuracy[last]),
        "trained": float(run.run["test_accuracy"][last]),
        "labels": run.agreement,
        "test_loss": float(run.run["test_loss"][last] / lin.curves.test_loss[last] - 1),
        "seconds": forecast,
        "training_seconds": training,
    }


def _perceptron(name: str, way: str) -> Any:
    from lineament.data import tables
    from lineament.forecasting import forecast_network_table

    table = tables.arrays(*_mnist(), name="MNIST") if name == "mnist" else tables.read(name)
    return forecast_network_table(table, seed=SEED, most_rows=400, classes=True, **WAYS[way])


def _mnist() -> tuple[np.ndarray, np.ndarray]:
    from lineament.data.mnist import mnist

    images, labels, *_ = mnist()
    chosen = np.random.default_rng(SEED).permutation(len(images))[:1000]
    return images[chosen].reshape(len(chosen), -1).astype(float), labels[chosen]


def _convolutional() -> Any:
    import lineament as la
    from lineament.data import tables
    from lineament.forecasting.network import NetworkForecast
    from lineament.forecasting.rows import read_rows

    n, m = IMAGES
    X, y = _mnist()
    table = tables.arrays(X, y, name="MNIST")
    rows = read_rows(table, classes=True, scale_target=False, test_share=m / (n + m), seed=SEED, most=n + m)
    # Constant pixels are left out of the columns of a table; a convolution needs them all.
    train, test = ((X[part - 1] - X.mean()) / X.std() for part in (rows.train, rows.test))
    net = la.models.ConvNet((28, 28, 1), (32, 32), (10,), pooled=(0, 1), activation="relu",
                            parameterisation="standard", bias=True)  # fmt: skip
    start, data = la.starts.he(net, SEED), (train, rows.y, test, rows.y_test)
    most = la.linearise(net, start, train, rows.y, loss="cross-entropy", steps=1).largest_stable
    made = la.linearise(
        net, start, *data, loss="cross-entropy", step_size=CNN_SHARE * most, steps=CNN_STEPS, renew=CNN_TANGENTS
    )
    return NetworkForecast("MNIST", rows, made, "He's")


def markdown(found: list[dict[str, Any]]) -> str:
    """The runs as a table."""
    titles = (
        "table",
        "network",
        "way",
        "safe until",
        "test accuracy, forecast",
        "trained",
        "labels as forecast",
        "test loss",
    )
    lines = ["| " + " | ".join(titles) + " |", "| --- " * len(titles) + "|"]
    for run in found:
        got, safe = run["found"], run["found"]["safe"]
        lines.append(
            f"| {run['table']} | {run['network']} | {run['way']} | {'to the end' if safe is None else round(safe)} | "
            f"{100 * got['forecast']:.1f} % | {100 * got['trained']:.1f} % | {100 * got['labels']:.0f} % | "
            f"{100 * got['test_loss']:.1f} % |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run what is missing, and print the table."""
    found: list[dict[str, Any]] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else []
    for setting in runs():
        if all(any(run[key] != value for key, value in setting.items()) for run in found):
            found.append(setting | {"found": measured(**setting)})
            KEPT.write_text("[\n" + ",\n".join(json.dumps(run) for run in found) + "\n]\n", encoding="utf-8")
            print(found[-1], flush=True)
    print(markdown(found))


if __name__ == "__main__":
    main()
