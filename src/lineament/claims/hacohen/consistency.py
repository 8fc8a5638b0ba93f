"""How consistent the order of learning is: with and without whitening (Figure 7), and along training (§5.4)."""

from typing import Any, NamedTuple

import jax
import numpy as np

from ... import data, models
from ...evidence import Evidence, at_least, within
from ...evidence import figure as fig
from ...measure import order
from ..instances import generator
from ..sizes import Size
from . import training
from .order import convolutional

FASTEST = 0.2
MUCH = 0.1
EARLY = 5


class Consistency(NamedTuple):
    """Correlations over all examples, over the fastest 20 %, and over the fastest by the mean of the two compared."""

    everything: float
    fastest: float
    by_mean: float


def consistencies(right: np.ndarray, epochs: int) -> Consistency:
    """The correlations of two ensembles' accessibilities up to an epoch.

    Args:
        right: Whether networks are right (member, epoch, example): three ensembles, one after the other. The first
            chooses the fastest examples, so that the choice does not correlate the other two.
        epochs: How many recorded epochs count.
    """
    chooser, a, b = (order.accessibility(each) for each in np.split(right[:, :epochs], 3))
    chosen = [order.fastest(speed, FASTEST) for speed in (chooser, (a + b) / 2)]
    return Consistency(_correlation(a, b), *(_correlation(a[some], b[some]) for some in chosen))


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's; 0 where one of the scores does not vary, so that there is no order to agree about."""
    return order.constancy(a, b).pearson if np.ptp(a) > 0 and np.ptp(b) > 0 else 0.0


def _more(raw: Consistency, white: Consistency) -> float:
    """What whitening takes off over the fastest examples, less what it takes off over all."""
    return raw.fastest - white.fastest - (raw.everything - white.everything)


def matched(accuracies: list[np.ndarray]) -> list[int]:
    """How many epochs each run needs for the training accuracy that the slowest of them just reaches."""
    level = min(float(curve.max()) for curve in accuracies)
    return [int(np.argmax(curve >= level)) + 1 for curve in accuracies]


def whitened_order(scale: Size, key: jax.Array) -> Evidence:
    """Ensembles on original and ZCA-whitened images: one-layer linear networks, and convolutional ones.

    Networks on whitened images learn at another pace, so that the two are compared where they reach the same training
    accuracy; the correlation along training stands beside it. The fastest 20 % are chosen by a third ensemble: a choice
    by the mean of the two that are compared changes their correlation, and that number is given only. Whitening must
    lower the correlation over all examples, and that over the fastest by "much" more, as the paper has it: by 0.1 at
    least. What is taken off in the first five epochs is given too: there whitened networks have hardly learnt anything
    yet. With 320 examples or fewer, 64 of them the fastest, the second part came out either way from seed to seed.

    At full scale the networks are those of the paper, one linear layer and VGG-19, the latter from He's start: from
    Glorot's it does not learn.
    """
    quick = scale == "quick"
    if quick:
        task = training.patches(key, 640, 8, 8)
        nets: dict[str, Any] = {"linear": training.dense(task, ()), "convolutional": convolutional(task, scale)}
        sizes, epochs, batch, steps = (4, 2), (40, 25), 80, (0.02, 0.05)
    else:
        task = training.real("cifar-10")
        nets = {"linear": training.dense(task, ()), "VGG-19": models.vgg19(10, image=task.image)}
        sizes, epochs, batch, steps = (10, 10), (60, 8), 100, (0.002, 0.01)
    whitened = data.fit(task.X).whiten(task.X, regularisation=0.0 if quick else 1e-4).astype(np.float32)
    checks, numbers, panels = [], {}, []
    for (name, net), members, length, step in zip(nets.items(), sizes, epochs, steps, strict=True):
        run = training.learn(
            net,
            [task.X, whitened],
            [task.labels] * 2,
            members=3 * members,
            epochs=length,
            step=step,
            key=key,
            batch=batch,
            law="he" if name == "VGG-19" else "glorot",
        )
        right = [run.right(task.labels)[some] for some in training.member_slices(2, 3 * members)]
        until = matched([each.mean(axis=(0, 2)) for each in right])
        raw, white = (consistencies(each, last) for each, last in zip(right, until, strict=True))
        begun, other = (consistencies(each, EARLY) for each in right)
        checks += [
            at_least(
                f"{name}: what whitening takes off the correlation, all examples",
                raw.everything - white.everything,
                0.0,
            ),
            at_least(f"{name}: what it takes off over the fastest, less that over all", _more(raw, white), MUCH),
        ]
        numbers |= {
            f"{name}, all: original": raw.everything,
            f"{name}, all: whitened": white.everything,
            f"{name}, fastest: original": raw.fastest,
            f"{name}, fastest: whitened": white.fastest,
            f"{name}, fastest by the mean: original": raw.by_mean,
            f"{name}, fastest by the mean: whitened": white.by_mean,
            f"{name}, first {EARLY} epochs: taken off over the fastest, less that over all": _more(begun, other),
            f"{name}: epochs to equal accuracy, original": float(until[0]),
            f"{name}: epochs to equal accuracy, whitened": float(until[1]),
        }
        panels.append(_over_epochs(name, right))
    return Evidence(
        checks=checks,
        numbers=numbers,
        settings=task.sizes | {"members of each of 3 ensembles": sizes, "epochs": epochs, "step": steps},
        figure=fig.Figure(tuple(panels), "Whitening makes the order of learning less consistent.", 2),
        remarks=[
            "Chosen by the mean of the two ensembles that are compared, the fastest examples of linear networks lost "
            "more than all did, as printed, at full scale and on each of three quick seeds. That is the choice at work: "
            "of examples taken for a high sum of two scores, one score is high where the other is low, the more so the "
            "less the two agree."
        ],
    )


def _over_epochs(name: str, right: list[np.ndarray]) -> fig.Panel:
    """The correlations as more and more epochs count, on original and on whitened images."""
    lengths = np.unique(np.geomspace(2, right[0].shape[1], 12).astype(int))
    marks = []
    for group, (kind, each) in enumerate(zip(("original", "whitened"), right, strict=True)):
        found = [consistencies(each, int(length)) for length in lengths]
        marks += [
            fig.measured(lengths, [c.everything for c in found], f"{kind}, all", group),
            fig.measured(lengths, [c.fastest for c in found], f"{kind}, fastest", group + 2),
        ]
    return fig.Panel(tuple(marks), "epochs that count", "correlation of orders", name)


def consistency_and_overfitting(scale: Size, key: jax.Array) -> Evidence:
    """Two ensembles of two-layer ReLU networks; whether they agree, epoch by epoch, on which test examples are easy.

    At each epoch the share of networks that are right about a test example is correlated between the two ensembles. The
    paper describes this in words only: it is evident at first, peaks when the test accuracy begins to decline, and
    declines from there. So its peak must lie within a factor of two of the epoch of the best test accuracy, and it must
    have fallen by 0.02 at the end, as the test accuracy must, for otherwise there is no overfitting to speak of. Both
    layers are trained.
    """
    quick = scale == "quick"
    if quick:
        seed = int(generator(key).integers(2**31))
        images = data.natural_gaussian(200, 800, size=10, exponent=4.0, alignment=2.0, flips=0.4, seed=seed)
        task = training.prepared(images)._replace(name=f"{images.name} 1/f⁴, 40% of the training labels drawn anew")
        members, epochs, hidden, step, batch, every = 10, 300, 128, 0.05, 50, 2
    else:
        task = training.real("cats-dogs")
        members, epochs, hidden, step, batch, every = 20, 200, 1024, 4e-3, 100, 1
    net = training.dense(task, (hidden,), "relu")
    run = training.learn(
        net, task.X, task.labels, task.tests, members=members, epochs=epochs, step=step, key=key, batch=batch,
        every=every, law="he",
    )  # fmt: skip
    right = run.right(task.test_labels, slice(len(task.X), None))
    half = members // 2
    agree = np.array(
        [_correlation(right[:half, e].mean(axis=0), right[half:, e].mean(axis=0)) for e in range(len(run.epochs))]
    )
    agree = order.moving_average(agree, 5)
    test = order.moving_average(right.mean(axis=(0, 2)), 5)
    fitted = order.moving_average(run.accuracy(task.labels, slice(0, len(task.X))).mean(axis=0), 5)
    middle = run.epochs[2:-2]
    onset, peak = float(middle[np.argmax(test)]), float(middle[np.argmax(agree)])
    panels = (
        fig.Panel(
            (fig.measured(middle, agree, "", 0), fig.reference([onset, onset], [agree.min(), agree.max()], "onset")),
            "epoch",
            "consistency",
            x_scale="log",
        ),
        fig.Panel(
            (fig.measured(middle, fitted, "training", 1), fig.measured(middle, test, "test", 2)),
            "epoch",
            "accuracy",
            x_scale="log",
        ),
    )
    return Evidence(
        checks=[
            at_least("fall of the test accuracy from its best to the end", test.max() - test[-1], 0.02),
            within("epoch of the highest consistency over that of the best test accuracy", peak / onset, 0.5, 2),
            at_least("fall of the consistency from its highest to the end", agree.max() - agree[-1], 0.02),
        ],
        numbers={
            "epoch of the best test accuracy": onset,
            "epoch of the highest consistency": peak,
            "consistency at the onset": float(agree[np.argmax(test)]),
            "consistency at the end": float(agree[-1]),
            "best test accuracy": float(test.max()),
        },
        settings=task.sizes | {"members": members, "hidden": hidden, "epochs": epochs, "step": step},
        figure=fig.Figure(panels, "Consistency of the learning order beside the onset of overfitting.", 2),
    )
