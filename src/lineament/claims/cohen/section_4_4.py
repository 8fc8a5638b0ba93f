"""Section 4.4: implicit compression by overparameterisation."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ... import measure, models, problems, starts, train
from ...core import ensembles
from ...evidence import Check, Evidence, at_most
from ...evidence import figure as fig
from ..instances import effective_rank
from ..sizes import sizes
from ..stand_in import judged
from .autoencoders import Autoencoder, Reconstruction
from .expanded import Images, Recipe, images, train_expanded

PLAIN, EXPANDED = (f"classifier: effective rank, {kind}" for kind in ("plain", "expanded"))


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        data: Which digits.
        seeds: How many autoencoders of each kind, and how many pairs of classifiers.
        hidden: Widths of the encoder's hidden layers; the decoder mirrors them.
        code: The dimension of the code.
        added: How many linear layers are put between encoder and decoder; 0 comes first.
        steps: Steps of the autoencoders.
        step_size: Of Adam, for the autoencoders.
        batch_size: Examples in a step of the autoencoders.
        epochs: Epochs of the classifiers.
        depth: Of the product that each dense layer of the expanded classifier is.
        classifier: How classifiers are trained.
    """

    data: str
    seeds: int
    hidden: tuple[int, ...]
    code: int
    added: tuple[int, ...]
    steps: int
    step_size: float
    batch_size: int
    epochs: float
    depth: int = 3
    classifier: Recipe = Recipe(dropout=0.0, decay=1.0, penalty=0.0)


class Codes(NamedTuple):
    """What was measured of autoencoders with so many linear layers, one row for each seed.

    Attributes:
        rank: The effective rank of the covariance of the codes of test images.
        spectrum: Its singular values over the largest.
        error: The mean squared error on test images when codes are cut to the first so many principal directions.
        variance: The mean squared distance of test images from their mean, the error of a network without a code.
    """

    rank: np.ndarray
    spectrum: np.ndarray
    error: np.ndarray
    variance: np.ndarray


@sizes(
    quick=Settings("digits", 3, hidden=(64,), code=32, added=(0, 8), steps=3000, step_size=3e-3, batch_size=100,
                   epochs=5),
    full=Settings("MNIST", 5, hidden=(512, 256), code=128, added=(0, 2, 4, 8), steps=30_000, step_size=3e-4,
                  batch_size=100, epochs=4),
)  # fmt: skip
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Autoencoders with linear layers between encoder and decoder, after Jing et al. (2020), whom the notes cite.

    Does the code end with lower rank, and does the network lose less when codes are cut to few directions? Judged is
    the largest number of added layers against none, by an effect size: the effective rank must be at most half, and the
    error at an eighth of the directions lower by two standard errors. Beside it, as a second reading, the dense layers
    of a classifier are replaced by products of three: how much its effective rank falls, and what accuracy it keeps at
    every rank, is given with standard errors and decides nothing. At quick size small digits stand in for MNIST, which
    Jing et al. used: a miss on them leaves the run undecided.
    """
    data = images(settings.data)
    key_codes, key_classifier = jax.random.split(key)
    codes = {count: _autoencoders(data, count, key_codes, settings) for count in settings.added}
    classifiers = _classifiers(data, key_classifier, settings)
    most = settings.added[-1]
    ratio = np.log(codes[most].rank / codes[0].rank)
    return Evidence(
        checks=_checks(codes, most, settings.data),
        numbers={f"effective rank of the codes, {n} linear layers": float(c.rank.mean()) for n, c in codes.items()}
        | {f"test error, {n} linear layers": float(c.error[:, -1].mean()) for n, c in codes.items()}
        | {"standard error of the mean log of the ratio of ranks": _error(ratio)}
        | classifiers.numbers,
        settings={"network": str(data.plain)},
        protocol={
            "data": data.digits.name,
            "network": f"dense autoencoder, hidden {', '.join(map(str, settings.hidden))}, code of {settings.code}; "
            f"{', '.join(map(str, settings.added))} linear layers behind the encoder",
            "loss": "mean squared error",
            "optimiser": f"Adam, batches of {settings.batch_size}",
            "step size": f"{settings.step_size:g}",
            "repeats": f"{settings.seeds} networks of each kind",
            "measure": "effective rank of the covariance of codes; error when codes are cut",
        },
        figure=_figure(codes, classifiers, settings),
        remarks=(
            f"Low rank has its price: with all directions kept, the network of {most} linear layers leaves "
            f"{codes[most].error[:, -1].mean() / codes[0].error[:, -1].mean():.1f} times the error of the plain one.",
            *classifiers.remarks,
        ),
    )  # fmt: skip


def _checks(codes: dict[int, Codes], most: int, data: str) -> list[Check]:
    ratio = np.log(codes[most].rank / codes[0].rank)
    eighth = max(1, codes[0].error.shape[1] // 8) - 1
    cut = np.log(codes[most].error[:, eighth] / codes[0].error[:, eighth])
    left = np.median(codes[most].error[:, -1] / codes[most].variance)
    void = f"the longer network has not learnt: it leaves {left:.0%} of the variance" if left > 0.5 else ""
    checks = [
        at_most(f"effective rank of the codes, {most} linear layers over none, plus two standard errors",
                np.exp(ratio.mean() + 2 * _error(ratio)), 0.5,
                "an effect size: half; in Jing et al. (2020) most directions of the code vanish", void=void),
        at_most(f"mean log of the error with codes cut to an eighth, {most} linear layers over none, plus two "
                "standard errors", cut.mean() + 2 * _error(cut), 0.0,
                "the statement: a reduced model fits better, by two standard errors", void=void),
    ]  # fmt: skip
    return judged(checks, data)


def _error(values: np.ndarray) -> float:
    """The standard error of the mean over seeds."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _autoencoders(data: Images, count: int, key: jax.Array, settings: Settings) -> Codes:
    """Train one autoencoder for each seed and read its codes of test images."""
    X, test = (jnp.asarray(rows) for rows in data.digits.rows())
    model = Autoencoder(X.shape[1], settings.hidden, settings.code, count)
    start = ensembles.ensemble(
        lambda key: starts.torch_default(model, key, dtype=jnp.float32), jax.random.split(key, settings.seeds)
    )
    with jax.numpy_dtype_promotion("standard"):  # optax's Adam raises a float to a whole number of steps
        run = train.descend(
            model, problems.lp_regression(X, X, p=2), start, step_size=settings.step_size, steps=settings.steps,
            every=settings.steps, optimiser=optax.adam, batch_size=settings.batch_size, key=key, record=("loss",),
        )  # fmt: skip
    networks = [model.end_to_end(run.final[seed]) for seed in range(settings.seeds)]
    return Codes(*map(np.stack, zip(*(_read(network, test) for network in networks), strict=True)))


def _read(network: Reconstruction, test: jax.Array) -> tuple[np.ndarray, ...]:
    """Effective rank, spectrum, errors with codes cut to 1, 2, … of their principal directions, and the variance."""
    codes = np.asarray(network.code(test), float)
    centre = codes.mean(axis=0)
    values, directions = np.linalg.eigh((codes - centre).T @ (codes - centre) / len(codes))
    values, directions = np.maximum(values[::-1], 0), directions[:, ::-1]
    errors = []
    for kept in range(1, len(values) + 1):
        part = directions[:, :kept]
        cut = jnp.asarray(centre + (codes - centre) @ part @ part.T, test.dtype)
        errors.append(float(jnp.mean((network.decode(cut) - test) ** 2)))
    rows = np.asarray(test)
    variance = np.mean((rows - rows.mean(axis=0)) ** 2)
    return effective_rank(values), values / values[0], np.array(errors), variance


class Classifiers(NamedTuple):
    """Plain and expanded classifiers: what is said of them."""

    numbers: dict[str, float]
    remarks: tuple[str, ...]
    panel: fig.Panel


def _classifiers(data: Images, key: jax.Array, settings: Settings) -> Classifiers:
    """The first dense layer of plain and of expanded classifiers, cut to every rank."""
    full_rank = min(data.plain.dense_shapes[0])
    ranks = np.unique(np.r_[2 ** np.arange(int(np.log2(full_rank)) + 1), full_rank])
    test, labels = jnp.asarray(data.digits.rows()[1]), data.digits.test_labels
    effective, accuracy = {}, {}
    for depth in (1, settings.depth):
        run = train_expanded(data, depth, key, settings.seeds, (0.01,), settings.epochs, settings.classifier)
        effective[depth] = np.array([float(measure.effective_rank(map.dense[0])) for map in run.maps])
        accuracy[depth] = np.array([_truncated_accuracy(map, test, labels, ranks) for map in run.maps])
    fall = effective[settings.depth] / effective[1]
    gained = 100 * (accuracy[settings.depth] - accuracy[1])
    numbers = {
        PLAIN: float(effective[1].mean()),
        EXPANDED: float(effective[settings.depth].mean()),
        "classifier: standard error of the ratio of ranks": _error(fall),
    }
    for i, rank in enumerate(ranks):
        numbers[f"classifier: points gained at rank {rank}"] = float(gained[:, i].mean())
        numbers[f"classifier: standard error at rank {rank}"] = _error(gained[:, i])
    best = int(np.argmax(gained.mean(axis=0)))
    worst = int(np.argmin(gained.mean(axis=0)))
    remark = (
        f"In the dense layers of a classifier, which the notes suggest too, the effect has another size: products of "
        f"{settings.depth} end with {fall.mean():.0%} of the plain layer's effective rank, and at equal rank their "
        f"accuracy differs by {gained[:, worst].mean():+.1f} (rank {ranks[worst]}) to {gained[:, best].mean():+.1f} "
        f"points (rank {ranks[best]}), with standard errors up to {max(_error(g) for g in gained.T):.1f}."
    )
    marks = []
    for group, (name, depth) in enumerate((("plain", 1), (f"products of {settings.depth}", settings.depth))):
        mean, spread = accuracy[depth].mean(axis=0), 2 * accuracy[depth].std(axis=0, ddof=1) / settings.seeds**0.5
        marks += [fig.band(ranks, mean - spread, mean + spread, "", group), fig.measured(ranks, mean, name, group)]
    panel = fig.Panel(tuple(marks), "rank kept of the dense layer", "test accuracy", "classifier", x_scale="log")
    return Classifiers(numbers, (remark,), panel)


def _truncated_accuracy(map: models.Images, X: jax.Array, y: np.ndarray, ranks: np.ndarray) -> list[float]:
    """Test accuracy with the first dense layer cut to each rank; what comes before it is computed once."""
    features = np.concatenate([np.asarray(map.features(part)) for part in jnp.array_split(X, -(-len(X) // 1024))])
    U, s, Vt = np.linalg.svd(np.asarray(map.dense[0]), full_matrices=False)
    accuracies = []
    for rank in ranks:
        hidden = features @ Vt[:rank].T * s[:rank] @ U[:, :rank].T + np.asarray(map.dense_biases[0])
        for matrix, bias in zip(map.dense[1:], map.dense_biases[1:], strict=True):
            hidden = np.maximum(hidden, 0) @ np.asarray(matrix).T + np.asarray(bias)
        accuracies.append(float(np.mean(hidden.argmax(axis=1) == y)))
    return accuracies


def _figure(codes: dict[int, Codes], classifiers: Classifiers, settings: Settings) -> fig.Figure:
    """Spectra of the codes, errors of cut codes, and the classifier's accuracy at every rank."""
    at = np.arange(1, settings.code + 1)
    spectra = [
        fig.measured(at, np.maximum(c.spectrum.mean(axis=0), 1e-12), f"{n} linear layers", i)
        for i, (n, c) in enumerate(codes.items())
    ]
    errors = [fig.measured(at, c.error.mean(axis=0), "", i) for i, c in enumerate(codes.values())]
    kept = classifiers.numbers[EXPANDED] / classifiers.numbers[PLAIN]
    fewer = codes[settings.added[-1]].rank.mean() / codes[0].rank.mean()
    return fig.Figure(
        (
            fig.Panel(tuple(spectra), "direction of the code", "variance over the largest", "autoencoder",
                      y_scale="log", y_limits=(1e-8, 2)),
            fig.Panel(tuple(errors), "directions kept", "test error", "codes cut", "log", "log"),
            classifiers.panel,
        ),
        f"With {settings.added[-1]} linear layers behind the encoder the code's effective rank is {fewer:.0%} of that "
        f"without; a classifier's dense layer, a product of {settings.depth}, keeps {kept:.0%}.",
        3,
    )  # fmt: skip
