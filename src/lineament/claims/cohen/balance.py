"""What gradient flow conserves: Lemma 1, Proposition 2, and the balanced starts behind Assumption 1."""

from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ... import measure, models, problems, starts, train
from ...core import ensembles
from ...evidence import Evidence, at_most, within
from ...evidence import figure as fig
from ..instances import generator, slope
from ..sizes import Size

CONSERVED = train.Record(
    "conserved",
    lambda model, problem, layers: jnp.concatenate([D.ravel() for D in measure.conserved(layers)]),
    ("entry",),
)
WEIGHT = train.Record(
    "weight", lambda model, problem, layers: jnp.max(jnp.stack([jnp.sum(layer**2) for layer in layers]))
)


def _losses(rng: np.random.Generator, inputs: int, outputs: int) -> dict[str, problems.Problem]:
    """One problem of each analytic loss, on correlated inputs with noise in what is to be learnt."""
    X = rng.normal(size=(40, inputs)) @ rng.normal(size=(inputs, inputs)) / np.sqrt(inputs)
    Y = X @ rng.normal(size=(inputs, outputs)) + 0.3 * rng.normal(size=(40, outputs))
    rows, columns = np.nonzero(rng.uniform(size=(outputs, inputs)) < 0.6)
    A = rng.normal(size=(3 * inputs, outputs, inputs))
    return {
        "square": problems.regression(X, Y),
        "ℓ4": problems.lp_regression(X, Y / np.std(Y), p=4),
        "cross-entropy": problems.cross_entropy(X, np.argmax(Y, axis=1), classes=outputs),
        "completion": problems.completion(
            rows, columns, rng.normal(size=rows.size), (outputs, inputs), reduction="sum"
        ),
        "sensing": problems.sensing(A, rng.normal(size=3 * inputs)),
    }


def _members(net: models.DeepLinear, key: jax.Array, count: int) -> ensembles.Ensemble:
    """Unbalanced starts: each member with its own scale, each layer with its own variance."""
    keys = jax.random.split(key, count)

    def one(key: jax.Array) -> Any:
        key_layers, key_scales = jax.random.split(key)
        layers = starts.gaussian(net, key_layers, scale=0.5)
        factors = jnp.exp(jax.random.uniform(key_scales, (net.depth,), minval=-1.5, maxval=0.5))
        return tuple(factor * layer for factor, layer in zip(factors, layers, strict=True))

    return ensembles.ensemble(one, keys)


def _drift(run: Any) -> np.ndarray:
    """How far the conserved matrices have moved from where they began, against the squared size of the layers."""
    moved = run.conserved.values - run.conserved.values[:, :1]
    return np.linalg.norm(moved, axis=-1) / run.weight.values


def conservation(scale: Size, key: jax.Array) -> Evidence:
    """Unbalanced networks on five analytic losses: by flow the drift stays at solver accuracy, by descent it is O(η).

    Drift is the Frobenius norm of the change of all conserved matrices together, relative to the largest squared layer
    norm. Descent runs for a fixed time with ever smaller steps; the drift at its end must fall as η¹ over the finer half
    of the step sizes, where the rate has set in for the steepest loss too.
    """
    rng = generator(key)
    widths, count = ((4, 5, 4, 3), 4) if scale == "quick" else ((6, 8, 7, 9, 5), 32)
    net, until = models.DeepLinear(widths), 4.0
    etas = 2.0 ** -np.arange(6, 14)
    flows, descents, marks = {}, {}, []
    for group, (name, problem) in enumerate(_losses(rng, widths[0], widths[-1]).items()):
        start = _members(net, jax.random.fold_in(key, group), count)
        run = train.flow(net, problem, start, until=until, record=(CONSERVED, WEIGHT), rtol=1e-9, tolerance=0.0)
        drift = _drift(run)
        flows[name] = drift.max()
        marks.append(fig.measured(run.time, np.maximum(drift.max(axis=0), 1e-17), name, group))
        ends = []
        for eta in etas:
            steps = round(until / eta)
            ends.append(_drift(train.descend(net, problem, start, step=eta, steps=steps, at=[0, steps],
                                             record=(CONSERVED, WEIGHT)))[:, -1].max())  # fmt: skip
        descents[name] = np.array(ends)
    slopes = {name: slope(etas[4:], ends[4:])[0] for name, ends in descents.items()}
    return Evidence(
        checks=[
            at_most("worst relative drift along gradient flow", max(flows.values()), 1e-6),
            within("least slope of the drift of descent in η", min(slopes.values()), 0.9, 1.1),
            within("largest slope of the drift of descent in η", max(slopes.values()), 0.9, 1.1),
        ],
        numbers={f"slope, {name}": value for name, value in slopes.items()}
        | {f"drift of flow, {name}": float(value) for name, value in flows.items()},
        settings={"widths": widths, "members": count, "time": until, "step sizes": list(etas)},
        figure=_drift_figure(marks, etas, descents),
    )


def _drift_figure(flow_marks: list[fig.Mark], etas: np.ndarray, descents: dict[str, np.ndarray]) -> fig.Figure:
    points = [fig.points(etas, ends, name, group) for group, (name, ends) in enumerate(descents.items())]
    top = max(ends[0] for ends in descents.values())
    guide = fig.reference(etas, 2 * top * etas / etas[0], "slope 1")
    bar = fig.reference(flow_marks[0].x[[0, -1]], [1e-6, 1e-6], "bar")  # type: ignore[index]
    return fig.Figure(
        (
            fig.Panel((*flow_marks, bar), "time t", "relative drift", "gradient flow", y_scale="log"),
            fig.Panel((*points, guide), "step size η", "relative drift", "gradient descent", "log", "log"),
        ),
        "Flow keeps the conserved matrices to solver accuracy; descent loses them in proportion to its step.",
        2,
    )


def constant_unbalancedness(scale: Size, key: jax.Array) -> Evidence:
    """Networks of several depths, from nearly balanced to strongly unbalanced, until long after learning.

    The change is taken relative to the largest squared layer norm, to which a nearly balanced start is compared too.
    """
    rng = generator(key)
    shapes = (
        ((3, 4, 3), (4, 6, 5, 5)) if scale == "quick" else ((3, 4, 3), (4, 6, 5, 5), (5,) * 6, (6, 9, 8, 9, 8, 9, 4))
    )
    count, panels, worst = (6 if scale == "quick" else 32), [], {}
    for widths in shapes:
        net = models.DeepLinear(widths)
        mixing = jnp.asarray(10 ** np.linspace(-6, 0, count))
        near = starts.balanced(net, key, scale=0.3)
        rough = _members(net, key, count)
        start = ensembles.Ensemble(
            tuple(b[None] + mixing[:, None, None] * r for b, r in zip(near, rough.stacked, strict=True))
        )
        problem = _losses(rng, widths[0], widths[-1])["square"]
        times = np.r_[0, np.geomspace(1e-2, 30, 200)]
        records = ("unbalancedness", WEIGHT)
        run = train.flow(net, problem, start, times=times, record=records, rtol=1e-9, tolerance=0.0)
        magnitude = run.unbalancedness.values
        change = np.abs(magnitude - magnitude[:, :1]) / run.weight.values
        worst[f"n = {net.depth}"] = float(change.max())
        marks = [fig.measured(times[1:], np.maximum(row[1:], 1e-17), "", i) for i, row in enumerate(magnitude[:6])]
        marks += [fig.theory(times[[1, -1]], [row[0], row[0]]) for row in magnitude[:6]]
        panels.append(fig.Panel(tuple(marks), "time t", "unbalancedness", f"widths {widths}", "log", "log"))
    return Evidence(
        checks=[at_most("worst relative change of the unbalancedness magnitude", max(worst.values()), 1e-6)],
        numbers={f"change at {name}": value for name, value in worst.items()},
        settings={"shapes": [list(widths) for widths in shapes], "members": count, "time": 30.0},
        figure=fig.Figure(
            tuple(panels), "From nearly balanced to far from it, unbalancedness (colour) stays where it began.", 2
        ),
    )


def balanced_factorisation(scale: Size, key: jax.Array) -> Evidence:
    """Random maps, square and rectangular, of full and deficient rank, sizes from 1e-6 to 1e6, split at depths 1 to 6.

    Hidden widths run from the least admissible to twice that. Products and Gram matrices are recomputed in NumPy.
    """
    rng = generator(key)
    shapes = (
        [(1, 1), (4, 4), (6, 3), (2, 5)] if scale == "quick" else [(1, 1), (4, 4), (6, 3), (2, 5), (30, 30), (40, 25)]
    )
    count = 8 if scale == "quick" else 40
    products, balances, depths = [], [], (1, 2, 3, 6)
    for d_out, d_in in shapes:
        for depth in depths:
            hidden = rng.integers(min(d_in, d_out), 2 * min(d_in, d_out) + 1, depth - 1)
            net = models.DeepLinear((d_in, *hidden, d_out))
            maps = np.stack([_random_map(rng, d_out, d_in) for _ in range(count)])
            split = ensembles.ensemble(
                lambda key, W, net=net: starts.balanced(net, key, map=W),
                jax.random.split(key, count),
                jnp.asarray(maps),
            )
            layers = [np.asarray(layer) for layer in split.stacked]
            products.append(_product_error(maps, layers))
            balances.append(_balance_error(layers))
    at = np.tile(depths, len(shapes))
    product, balance = np.max(products, axis=1), np.max(balances, axis=1)
    return Evidence(
        checks=[
            at_most("worst relative error of the product", product.max(), 1e-12),
            at_most("worst relative unbalancedness", balance.max(), 1e-12),
        ],
        settings={"maps": count * len(at), "shapes": shapes, "depths": list(depths)},
        figure=fig.Figure(
            (
                fig.Panel(
                    (
                        fig.points(at, np.maximum(product, 1e-18), "product", 0),
                        fig.points(at, np.maximum(balance, 1e-18), "balance", 1),
                        fig.reference([1, 6], [1e-12, 1e-12], "bar"),
                    ),
                    "depth n",
                    "worst relative error",
                    y_scale="log",
                ),
            ),
            "The even split of a singular value decomposition is balanced and exact to rounding.",
            1,
        ),
    )


def _random_map(rng: np.random.Generator, d_out: int, d_in: int) -> np.ndarray:
    rank = rng.integers(1, min(d_out, d_in) + 1)
    W = rng.normal(size=(d_out, rank)) @ rng.normal(size=(rank, d_in))
    return 10 ** rng.uniform(-6, 6) * W


def _product_error(maps: np.ndarray, layers: list[np.ndarray]) -> np.ndarray:
    product = layers[0]
    for layer in layers[1:]:
        product = layer @ product
    return np.linalg.norm(product - maps, axis=(1, 2)) / np.linalg.norm(maps, axis=(1, 2))


def _balance_error(layers: list[np.ndarray]) -> np.ndarray:
    """The largest `‖W_{j+1}ᵀW_{j+1} − W_jW_jᵀ‖` against the largest `‖W_jW_jᵀ‖`; zero for one layer."""
    error, size = np.zeros(len(layers[0])), np.linalg.norm(layers[0] @ layers[0].swapaxes(1, 2), axis=(1, 2))
    for before, after in pairwise(layers):
        gram = before @ before.swapaxes(1, 2)
        error = np.maximum(error, np.linalg.norm(after.swapaxes(1, 2) @ after - gram, axis=(1, 2)))
        size = np.maximum(size, np.linalg.norm(gram, axis=(1, 2)))
    return error / size
