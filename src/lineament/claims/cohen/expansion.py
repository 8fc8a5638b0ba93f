"""Dense layers replaced by products of linear maps: do they train faster, and compress better?

Figure 1 (right) and Section 4.4. Plain and expanded networks start from the same function: the expansion splits each
dense matrix evenly, so that what differs is only how the layers are learnt.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import measure, models, problems, train
from ...core import ensembles
from ...data.mnist import Digits, has_mnist, mnist, small_digits
from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ...models.conv import dense_parameters
from ..sizes import Size

MOMENTUM, BATCH = 0.9, 64  # of TensorFlow's tutorial network, which the authors expanded


class Trained(NamedTuple):
    """Training losses over steps (member, record) and the networks at the end, all dense layers multiplied out."""

    steps: np.ndarray
    loss: np.ndarray
    maps: list[models.Images]


def _data(scale: Size) -> tuple[Digits, models.Conv, int]:
    """Images, the plain network for them, and the number of steps: MNIST at full scale, where it can be had."""
    if scale == "full" and has_mnist():
        return mnist(), models.Conv((28, 28, 1), (32, 64), (512, 10), kernel=5), 4000
    return small_digits(), models.Conv((8, 8, 1), (8, 16), (32, 10), kernel=3), 230 if scale == "quick" else 1150


def _remarks(digits: Digits, scale: Size) -> list[str]:
    if scale == "quick" or digits.name == "MNIST":
        return [f"Images: {digits.name}."]
    return [f"Images: {digits.name}, since MNIST was not found (LINEAMENT_DATA); the paper used MNIST."]


def _train(
    digits: Digits, plain: models.Conv, depth: int, key: jax.Array, seeds: int, step: np.ndarray, steps: int
) -> Trained:
    """Every seed at every step size. Starts and the order of examples depend on the seed alone, not on the depth."""
    net = models.Conv(plain.image, plain.filters, plain.dense, plain.kernel, depth)
    problem = problems.cross_entropy(jnp.asarray(digits.rows()[0]), jnp.asarray(digits.labels), 10)
    keys = jnp.repeat(jax.random.split(key, seeds), len(step))

    def start(key: jax.Array) -> models.conv.Weights:
        key_plain, key_frames = jax.random.split(key)
        return net.expand(plain.start(key_plain), key_frames)

    members = ensembles.ensemble(start, keys)
    run = train.descend(
        net, problem, members, step=np.tile(step, seeds), steps=steps, every=steps // 10, momentum=MOMENTUM,
        batch_size=BATCH, key=key, record=("loss",), on_divergence="keep",
    )  # fmt: skip
    last = train.final(run, like=members)
    return Trained(run.step.values, run.loss.values, [net.end_to_end(last[member]) for member in range(len(keys))])


def expanded_network_trains_faster(scale: Size, key: jax.Array) -> Evidence:
    """Training loss of a plain and an expanded network from the same function, on the same batches, at equal steps.

    Descent with momentum 0.9 and batches of 64, as in the tutorial network the authors took; the inserted matrices are
    square, of the layer's output width. Losses are over the whole training set. Compared is the mean of log loss over
    the records after the start, seed by seed, at the tutorial's step size 0.01; bars are two standard errors. The same
    at three and ten times that step, and with each network at its own best step, is given beside it. All seeds and step
    sizes train in JAX as one program; `lineament.torch.expand` makes the same network of a PyTorch model, and the tests
    take one step of it in both.
    """
    digits, plain, steps = _data(scale)
    sizes, seeds = np.array([0.01, 0.03, 0.1], np.float32), 3 if scale == "quick" else 5
    runs = {depth: _train(digits, plain, depth, key, seeds, sizes, steps) for depth in (1, 2)}
    # (seed, step size, record): the logarithm, as losses fall over orders of magnitude
    logs = {depth: np.log(run.loss).reshape(seeds, len(sizes), -1) for depth, run in runs.items()}
    gain = np.mean((logs[2] - logs[1])[..., 1:], axis=2)
    # a run that diverged is no candidate for the best
    best = {depth: np.nanmin(log[..., 1:].mean(axis=2), axis=1) for depth, log in logs.items()}
    bars = lambda values: (values.mean(), 2 * values.std(ddof=1) / np.sqrt(len(values)))  # noqa: E731
    (mean, spread), (mean_3, spread_3), (mean_best, spread_best) = map(bars, (*gain.T[:2], best[2] - best[1]))
    return Evidence(
        checks=[
            at_most("mean log of expanded over plain loss, step 0.01", mean, 0),
            at_most("the same plus two standard errors", mean + spread, 0),
        ],
        numbers={
            "two standard errors": float(spread),
            "mean log of the ratio, step 0.03": float(mean_3),
            "its two standard errors": float(spread_3),
            "mean log of the ratio, each at its best step": float(mean_best),
            "two standard errors of that": float(spread_best),
            "share of parameters added": _added(plain),
        },
        settings={
            "images": digits.name,
            "network": plain,
            "seeds": seeds,
            "step sizes": [0.01, 0.03, 0.1],
            "steps": steps,
        },
        remarks=_remarks(digits, scale),
        figure=fig.Figure(
            tuple(_loss_panel(runs, logs, i, f"step size {size:g}") for i, size in enumerate(sizes)),
            "Training loss of the same function, plain and with doubled dense layers (mean over seeds, bands of two "
            "standard errors).",
            3,
        ),
    )


def _added(plain: models.Conv) -> float:
    """What depth 2 adds to the number of parameters."""
    own = sum(a * b for a, b in plain.kernel_shapes + plain.dense_shapes) + sum(plain.filters) + sum(plain.dense)
    return sum(width**2 for width in plain.dense) / own


def _loss_panel(runs: dict[int, Trained], logs: dict[int, np.ndarray], size: int, title: str) -> fig.Panel:
    marks = []
    for group, (depth, run) in enumerate(runs.items()):
        log = logs[depth][:, size]
        mean, spread = log.mean(axis=0), 2 * log.std(axis=0, ddof=1) / np.sqrt(len(log))
        marks += [
            fig.band(run.steps, np.exp(mean - spread), np.exp(mean + spread), "", group),
            fig.measured(run.steps, np.exp(mean), "plain" if depth == 1 else "each dense layer doubled", group),
        ]
    return fig.Panel(tuple(marks), "steps", "training loss", title, y_scale="log")


def expanded_network_compresses(scale: Size, key: jax.Array) -> Evidence:
    """Plain networks and ones with dense layers of three factors, from the same function, truncated after training.

    The first dense layer is cut to its leading singular values, rank by rank, and stored as two thin factors; test
    accuracy is then set against the dense parameters kept. Compared, seed by seed, are the effective rank of that
    layer (exponential of the entropy of its singular values) and the accuracy at an eighth of its full rank. Bars are
    two standard errors. For a PyTorch model, `lineament.torch` has the same as `expand` and `truncate`.
    """
    digits, plain, steps = _data(scale)
    seeds, size = 3 if scale == "quick" else 5, np.array([0.01], np.float32)
    full_rank = min(plain.dense_shapes[0])
    ranks = np.unique(np.r_[2 ** np.arange(int(np.log2(full_rank)) + 1), full_rank])
    kept = [dense_parameters(plain.dense_shapes, [rank, min(plain.dense_shapes[1])]) for rank in ranks]
    X, y = jnp.asarray(digits.rows()[1]), jnp.asarray(digits.test_labels)
    effective, accuracy, marks, spectra = {}, {}, [], []
    for group, depth in enumerate((1, 3)):
        run = _train(digits, plain, depth, key, seeds, size, steps)
        effective[depth] = np.array([float(measure.effective_rank(map.dense[0])) for map in run.maps])
        accuracy[depth] = np.array([_truncated_accuracy(map, X, y, ranks) for map in run.maps])
        mean, spread = accuracy[depth].mean(axis=0), 2 * accuracy[depth].std(axis=0, ddof=1) / np.sqrt(seeds)
        label = "plain" if depth == 1 else "expanded, depth 3"
        values = np.array([np.asarray(measure.singular_values(map.dense[0])) for map in run.maps])
        shares = (values / values[:, :1]).mean(axis=0)
        spectra.append(fig.measured(np.arange(1, len(shares) + 1), shares, label, group))
        marks += [fig.band(kept, mean - spread, mean + spread, "", group), fig.measured(kept, mean, label, group)]
    eighth = int(np.argmax(ranks >= full_rank / 8))
    rank_ratio = np.log(effective[3] / effective[1])
    lost = accuracy[1][:, eighth] - accuracy[3][:, eighth]
    error = lambda values: 2 * values.std(ddof=1) / np.sqrt(seeds)  # noqa: E731
    return Evidence(
        checks=[
            at_most("mean log of effective rank, expanded over plain, plus two standard errors",
                    rank_ratio.mean() + error(rank_ratio), 0),
            at_most("accuracy of plain minus expanded at an eighth of the rank, plus two standard errors",
                    lost.mean() + error(lost), 0),
        ],
        numbers={
            "effective rank, plain": float(effective[1].mean()),
            "effective rank, expanded": float(effective[3].mean()),
            "accuracy at an eighth of the rank, plain": float(accuracy[1][:, eighth].mean()),
            "accuracy at an eighth of the rank, expanded": float(accuracy[3][:, eighth].mean()),
            "accuracy untruncated, plain": float(accuracy[1][:, -1].mean()),
            "accuracy untruncated, expanded": float(accuracy[3][:, -1].mean()),
        },
        settings={"images": digits.name, "network": plain, "seeds": seeds, "step size": 0.01, "steps": steps},
        remarks=_remarks(digits, scale),
        figure=fig.Figure(
            (fig.Panel(tuple(marks), "dense parameters kept", "test accuracy", x_scale="log"),
             fig.Panel(tuple(spectra), "singular value of the first dense layer", "over the largest")),
            "After training from the same function, expanded layers have lower effective rank and keep more accuracy "
            "when cut down.",
            2,
        ),
    )  # fmt: skip


def _truncated_accuracy(map: models.Images, X: jax.Array, y: jax.Array, ranks: np.ndarray) -> list[float]:
    """Test accuracy with the first dense layer cut to each rank; what comes before it is computed once."""
    features = np.concatenate([np.asarray(map.features(part)) for part in jnp.array_split(X, -(-len(X) // 1024))])
    U, s, Vt = np.linalg.svd(np.asarray(map.dense[0]), full_matrices=False)
    found = []
    for rank in ranks:
        hidden = features @ Vt[:rank].T * s[:rank] @ U[:, :rank].T + np.asarray(map.dense_biases[0])
        for matrix, bias in zip(map.dense[1:], map.dense_biases[1:], strict=True):
            hidden = np.maximum(hidden, 0) @ np.asarray(matrix).T + np.asarray(bias)
        found.append(float(np.mean(hidden.argmax(axis=1) == np.asarray(y))))
    return found
