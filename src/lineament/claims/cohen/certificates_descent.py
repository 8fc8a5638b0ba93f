"""Gradient descent converges within iterations certified from its start: Remark 2."""

import jax
import numpy as np

from ... import models, train
from ...evidence import Evidence, at_least
from ...evidence import figure as fig
from ...theory import certificates as theory
from ...theory import layers as layers_theory
from ..instances import generator, rotation
from ..sizes import Size
from .certificates import Instance, stack
from .margins import unit

MULTIPLES = np.array([10.0, 1e2, 1e3, 3e3, 1e4, 2e4, 4e4, 8e4, 2e5, 5e5])
FLOOR = 1e-12  # shares of the loss below this can be where tiny steps are lost in rounding


def guaranteed_iterations(scale: Size, key: jax.Array) -> Evidence:
    """Descent at the largest admitted step, from balanced layers and from the most unbalance admitted.

    The bound φ(0)e^{−ηδ^{2(n−1)/n}k} at every iteration k is the statement for every ε. Admitted steps are so small
    that one factor e takes at least 6144n³ iterations, more the worse conditioned the target; so targets are well
    conditioned, and runs are long. How far they reach is reported. Further runs take the same starts by larger steps,
    held against the bound with their own η, to see how much smaller than needed the admitted step is.
    """
    rng = generator(key)
    quick = scale == "quick"
    nets = (
        ((3, 2, 1), (2, 2, 2), (2, 2, 2, 1))
        if quick
        else ((3, 2, 1), (2, 2, 2), (2, 2, 2, 1), (1, 1, 1, 1, 1), (2, 3, 2, 3), (4, 2, 2))
    )
    each, steps = (70, 400_000) if quick else (100, 4_000_000)
    at = np.unique(np.r_[0, np.geomspace(1, steps, 120).astype(int)])
    slowest, admitted, reach = np.inf, 0, []
    loose, curves, larger = {}, [], {}
    for group, widths in enumerate(nets):
        drawn = [_descent_instance(rng, widths, unbalanced=i % 2 == 1) for i in range(each)]
        certificates = [i.certificate for i in drawn]
        admitted += sum(c.holds for c in certificates)
        multiples = np.r_[np.ones(each), MULTIPLES]
        everyone = drawn + [drawn[0]] * MULTIPLES.size
        problem, start = stack(everyone)
        step = np.array([i.certificate.step_size for i in everyone]) * multiples
        rate = np.array([i.certificate.rate for i in everyone]) * multiples
        run = train.descend(
            models.DeepLinear(widths), problem, start, step=step, steps=steps, at=at, on_divergence="keep"
        )
        share = run.loss.values / run.loss.values[:, :1]
        pace = _least_pace(share, rate, at)
        slowest = min(slowest, float(pace[:each].min()))
        larger[widths] = pace[each:]
        last = np.array([np.flatnonzero(row > 1e-9)[-1] for row in share[:each]])
        fallen = -np.log(share[np.arange(each), last])
        loose[widths] = fallen / (rate[:each] * at[last])
        reach.append(rate[:each] * steps)
        curves += [
            fig.measured(
                rate[i] * at, np.maximum(share[i], 1e-9), f"n = {len(widths) - 1}, {widths}" if i == 0 else "", group
            )
            for i in range(3)
        ]
    spare = {widths: float(MULTIPLES[pace >= 1].max(initial=1.0)) for widths, pace in larger.items()}
    return Evidence(
        checks=[
            at_least("runs whose start and step meet every assumption", admitted, 200),
            at_least("least of measured over guaranteed decay of ln(φ − φ*) at any iteration", slowest, 1),
            at_least("median reach of the bound, in factors of e", np.median(np.concatenate(reach)), 0.5),
        ],
        numbers={f"median guaranteed / actual iterations, {w}": float(np.median(v)) for w, v in loose.items()}
        | {f"largest multiple of the admitted step within its bound, {w}": v for w, v in spare.items()},
        settings={
            "networks": [list(w) for w in nets],
            "members": each,
            "iterations": steps,
            "‖W(0) − Λ‖ / σmin": "0.02 … 0.5",
            "σmin / σmax of Λ": "0.8 … 1",
        },
        figure=_iterations_figure(curves, max(float(r.max()) for r in reach), loose, larger),
        remarks=(
            "The remark prints ln(φ(0)/ε); with φ(0) − φ* in place of φ(0), as here, it is stronger and still holds.",
        ),
    )


def _descent_instance(rng: np.random.Generator, widths: tuple[int, ...], unbalanced: bool) -> Instance:
    """A well-conditioned target, a start near it, and the largest step (and unbalancedness) that Remark 2 admits."""
    outputs, inputs, n = widths[-1], widths[0], len(widths) - 1
    d = min(outputs, inputs)
    values = np.r_[1.0, rng.uniform(0.8, 1, d - 1)] * rng.uniform(0.5, 2)
    target = (rotation(rng, outputs)[:, :d] * values) @ rotation(rng, inputs)[:, :d].T
    W = target + 10 ** rng.uniform(np.log10(0.02), np.log10(0.5)) * values.min() * unit(rng, target.shape)
    split, margin = list(layers_theory.balanced(W, widths)), theory.deficiency_margin(W, target)
    if unbalanced:  # unbalancedness is linear in small rescalings
        tried = layers_theory.unbalancedness([split[0] * (1 + 1e-7), split[1] / (1 + 1e-7), *split[2:]])
        factor = 1 + 1e-7 * 0.99 * theory.admissible_unbalancedness(target, n, margin) / tried
        split[0], split[1] = split[0] * factor, split[1] / factor
    step = 0.999 * theory.guaranteed_step(target, n, margin)
    return Instance(np.eye(inputs), target, tuple(split), theory.certify(split, target, step_size=step))


def _least_pace(share: np.ndarray, rate: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The least of measured over guaranteed decay along each run, until rounding; −∞ for a run that diverges."""
    pace = -np.log(np.maximum(share[:, 1:], FLOOR)) / (rate[:, None] * at[1:])
    pace = np.where(share[:, 1:] > FLOOR, pace, np.inf)
    return np.where(np.isfinite(share).all(axis=1), pace.min(axis=1), -np.inf)


def _iterations_figure(
    curves: list[fig.Mark],
    reach: float,
    loose: dict[tuple[int, ...], np.ndarray],
    larger: dict[tuple[int, ...], np.ndarray],
) -> fig.Figure:
    x = np.linspace(0, reach, 100)
    edges = np.geomspace(1, 1.1 * max(float(v.max()) for v in loose.values()), 25)
    bars = [fig.bars(edges, np.histogram(v, edges)[0], f"{w}", group) for group, (w, v) in enumerate(loose.items())]
    paces = [fig.points(MULTIPLES, np.maximum(r, 0), f"{w}", group) for group, (w, r) in enumerate(larger.items())]
    return fig.Figure(
        (
            fig.Panel(
                (*curves, fig.theory(x, np.exp(-x), "bound")),
                "ηδ^(2−2/n) × iterations",
                "share of φ(0) left",
                "largest admitted step",
                y_scale="log",
                y_limits=(1e-9, 2),
            ),
            fig.Panel(tuple(bars), "guaranteed / actual iterations", "runs", "looseness", "log"),
            fig.Panel(
                (*paces, fig.reference(MULTIPLES[[0, -1]], [1, 1], "bound")),
                "step / admitted step",
                "decay / guaranteed",
                "larger steps",
                "log",
            ),
        ),
        "Descent stays below the bound, and by steps ten thousand times larger than admitted it still would.",
    )
