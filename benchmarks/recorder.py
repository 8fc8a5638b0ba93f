"""The recorder on the small MNIST CNN: time for one record an epoch, over the time of the epoch's steps."""

import tempfile

import numpy as np

from .harness import Row, cpu_seconds
from .torch_ntk import cnn

EPOCH, BATCH, PROBES, STEPS, REPEATS, LIMIT = 60_000, 100, 2000, 40, 5, 0.05


def digits():
    """Images (n, 1, 28, 28) and labels: MNIST where its files are, scikit-learn's enlarged to its size otherwise."""
    import torch

    from lineament.data.mnist import has_mnist, mnist, small_digits

    found = mnist() if has_mnist() else small_digits()
    images = found.images[: STEPS * BATCH]
    if images.shape[1] == 8:
        images = np.pad(np.kron(images, np.ones((1, 3, 3), np.float32)), ((0, 0), (2, 2), (2, 2)))
    return torch.from_numpy(images[:, None]), torch.from_numpy(found.labels[: STEPS * BATCH]), found.name


def _overhead(what: str, linearise: bool, bar: float | None) -> Row:
    """Steps and records in turn; a record after each stretch, its cost laid over as many steps as an epoch has."""
    import torch
    from torch.nn.functional import cross_entropy

    from lineament.torch import Recorder

    torch.manual_seed(0)
    torch.set_num_threads(1)  # threads that wait for each other would count as work
    model, (images, labels, name) = cnn().train(), digits()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)

    def train() -> None:
        for batch in torch.randint(len(images), (STEPS, BATCH)):
            optimiser.zero_grad()
            cross_entropy(model(images[batch]), labels[batch]).backward()
            optimiser.step()

    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(images[:PROBES], labels[:PROBES], path=folder, linearise=linearise)
        train()
        recorder(model, 0)
        pairs = [(cpu_seconds(train) / STEPS, cpu_seconds(lambda: recorder(model, i + 1))) for i in range(REPEATS)]  # noqa: B023
    step, record = np.array(pairs).T
    share = record / (step * EPOCH / BATCH)
    ratio = LIMIT / share
    note = (
        f"{np.median(share):.2%} of the {EPOCH // BATCH} steps of an epoch ({np.median(step) * 1e3:.0f} ms each, "
        f"measured over {STEPS}); a record of {PROBES} probes, written to disk, takes {np.median(record) * 1e3:.0f} ms; "
        f"{name}"
    )
    return Row(
        f"one record an epoch, {what}", "torch.Recorder", "a limit of 5 % of the steps", float(np.median(ratio)),
        float(ratio.min()), float(ratio.max()), bar, "records", float(1 / np.median(record)),
        float(1 / np.median(LIMIT * step * EPOCH / BATCH)), note,
    )  # fmt: skip


def rows() -> list[Row]:
    """Predictions, spectra, balance and gradients; and the linearisation besides, which no bar is set for."""
    return [
        _overhead("small MNIST CNN", linearise=False, bar=1.0),
        _overhead("with its linearisation", linearise=True, bar=None),
    ]
