"""
Expand, train, truncate
=======================

Every layer of a small convolutional network becomes a product of three linear maps. It computes the same function,
but trains differently. Afterwards the products are collapsed and both networks are compressed to the same sizes.
"""

import copy

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.nn.functional import avg_pool2d, cross_entropy

from lineament.data.mnist import has_mnist, mnist, small_digits
from lineament.torch import collapse, expand, spectra, truncate

torch.set_num_threads(1)
EPOCHS, SEEDS, SHARES = 8, 4, (1.0, 0.5, 0.3, 0.2, 0.14, 0.1, 0.07)
STEPS, HELD_OUT = (0.01, 0.02, 0.05, 0.1), slice(1200, 1500)

# %%
# MNIST at half its size where its files are, the digits that come with scikit-learn otherwise; 1500 to train on.
digits = mnist() if has_mnist() else small_digits()
images, test_images = (torch.from_numpy(part)[:, None] for part in (digits.images[:1500], digits.test_images[:1500]))
if has_mnist():
    images, test_images = avg_pool2d(images, 2), avg_pool2d(test_images, 2)
labels, test_labels = (torch.from_numpy(part) for part in (digits.labels[:1500], digits.test_labels[:1500]))


def cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
        nn.AdaptiveMaxPool2d(4), nn.Flatten(), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


def train(model: nn.Module, step: float, seed: int, examples: int = 1500) -> list[float]:
    """The training loss of every step."""
    optimiser = torch.optim.SGD(model.parameters(), lr=step, momentum=0.9)
    shuffle, losses = torch.Generator().manual_seed(seed), []
    for _ in range(EPOCHS):
        for batch in torch.randperm(examples, generator=shuffle).split(50):
            loss = cross_entropy(model(images[batch]), labels[batch])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
    return losses


# %%
# The report says what became of each layer. Nothing is dropped in silence: what cannot be expanded is listed, with the
# reason.
print(expand(cnn(), depth=3).report)

# %%
# Each network trains at its own best step size, chosen on held-out examples with a start that is not used again.
names = ("plain", "expanded")


def best_step(depth: int) -> float:
    """The step size after which the loss on the held-out examples is least."""
    found = []
    for step in STEPS:
        torch.manual_seed(SEEDS)
        model = expand(cnn(), depth).model if depth > 1 else cnn()
        train(model, step, SEEDS, HELD_OUT.start)
        with torch.no_grad():
            found.append(cross_entropy(model(images[HELD_OUT]), labels[HELD_OUT]).item())
    print(f"depth {depth}: held-out losses {np.round(found, 3)} at steps {STEPS}")
    return STEPS[int(np.nanargmin(found))]


steps = {"plain": best_step(1), "expanded": best_step(3)}

# %%
# Both networks begin as the same function, see the same batches, and are truncated to the same numbers of parameters.
# Both are timed on the first batch: a small one does.
losses, accuracy, ranks = {name: [] for name in names}, {name: [] for name in names}, {name: [] for name in names}
batches = list(zip(test_images.split(100), test_labels.split(100), strict=True))
for seed in range(SEEDS):
    torch.manual_seed(seed)
    start = cnn()
    for name, model in zip(names, (copy.deepcopy(start), expand(start, depth=3).model), strict=True):
        losses[name].append(train(model, steps[name], seed))
        trained = collapse(model).eval()
        ranks[name].append([row.effective_rank for row in spectra(trained)])
        reports = [truncate(trained, parameters=share, data=batches).report for share in SHARES]
        accuracy[name].append([report.measured.truncated_accuracy for report in reports])

for name in names:
    print(f"{name}: effective rank of the layers after training", np.round(np.mean(ranks[name], axis=0), 1))

# %%
# Left the training loss, right the test accuracy after truncation, without any further training; means over the seeds
# with one standard deviation. With each network at its best step, on scikit-learn's digits and on MNIST alike, the plain
# one trains faster, for the expanded one bears only smaller steps, and it is the more accurate of the two until about a
# fifth of the parameters is left. The expanded one ends with lower effective ranks, and is ahead where less is left.
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
for name in names:
    smooth = np.array(losses[name]).reshape(SEEDS, -1, 10).mean(axis=2)
    step, mean, spread = 10 * np.arange(smooth.shape[1]) + 5, smooth.mean(axis=0), smooth.std(axis=0)
    left.plot(step, mean, label=name)
    left.fill_between(step, mean - spread, mean + spread, alpha=0.25)
    kept = np.array(accuracy[name])
    right.errorbar(100 * np.array(SHARES), kept.mean(axis=0), kept.std(axis=0), label=name, marker="o", capsize=3)
left.set(xlabel="step", ylabel="training loss", yscale="log", title=digits.name)
right.set(xlabel="parameters kept (%)", ylabel="test accuracy", xscale="log", title="after truncation")
right.set_xticks([7, 10, 20, 50, 100], ["7", "10", "20", "50", "100"], minor=False)
right.minorticks_off()
left.legend()
right.legend()
