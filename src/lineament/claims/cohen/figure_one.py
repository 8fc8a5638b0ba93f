"""Depth accelerates ℓ4 regression where a flat valley is left to cross: the left of Figure 1."""

import jax
import numpy as np

from ... import models, problems, starts, train
from ...evidence import Evidence, at_least
from ...evidence import figure as fig
from ..instances import generator
from ..sizes import Size
from .acceleration import START, first_step

TARGET = 1e-5  # how near the optimum counts as reached


def faster_with_depth(scale: Size, key: jax.Array) -> Evidence:
    """Each depth at its best step size from a grid, from near zero, until the loss is within 1e-5 of its optimum.

    The data of the figure (gas sensors, ethanol) do not come with this package. In its place: a synthetic ill-scaled
    regression with little noise, and two real ones that ship with scikit-learn, by the protocol of the authors' later
    work, inputs PCA-whitened and labels rescaled to a cross-covariance of norm 1: the progression of diabetes, mostly
    noise, and the perimeter of cell nuclei from their other features, almost free of it.
    """
    rng = generator(key)
    quick = scale == "quick"
    grid = np.geomspace(1e-2, 10, 24 if quick else 40)
    repeats, steps = (1, 8000) if quick else (3, 40_000)
    iterations: dict[str, np.ndarray] = {}
    panels = []
    for name, (X, y) in _tasks(rng, quick).items():
        problem, longest = problems.lp_regression(X, y, p=4), steps if name == "synthetic" else steps // 4
        at = np.unique(np.r_[np.arange(0, 100), np.geomspace(100, longest, 250)].astype(int))
        optimum = problem.optimum().loss
        counts, marks = np.zeros((3, repeats)), []
        for repeat in range(repeats):
            w = rng.normal(size=(1, X.shape[1]))
            w *= START / np.linalg.norm(w)
            for depth in (1, 2, 3):
                net = models.DeepLinear((X.shape[1],) + (1,) * depth)
                run = train.descend(
                    net,
                    problem,
                    starts.balanced(net, map=w),
                    step=grid,
                    steps=longest,
                    at=at,
                    tolerance=optimum + TARGET,
                    on_divergence="keep",
                )
                excess = run.loss.values - optimum
                first = first_step(at, excess <= TARGET)
                best = int(np.argmin(first))
                counts[depth - 1, repeat] = min(first[best], longest)
                if repeat == 0:
                    shown = at <= 1.2 * counts[depth - 1, 0]
                    marks.append(
                        fig.measured(
                            at[shown],
                            np.maximum(excess[best, shown], TARGET / 3),
                            f"n = {depth}, η = {grid[best]:.2g}",
                            depth - 1,
                        )
                    )
        iterations[name] = np.median(counts, axis=1)
        marks.append(fig.reference([0, 1.2 * iterations[name].max()], [TARGET, TARGET], "target"))
        panels.append(fig.Panel(tuple(marks), "iteration", "ℓ − ℓ*", name, "symlog", "log"))
    gain = {name: float(counts[0] / counts[1:].min()) for name, counts in iterations.items()}
    return Evidence(
        checks=[
            at_least(f"iterations of depth 1 over the best of depths 2 and 3, {n}", g, 1.05) for n, g in gain.items()
        ],
        numbers={
            f"iterations, {name}, depth {n + 1}": float(c) for name, v in iterations.items() for n, c in enumerate(v)
        },
        settings={"step sizes": f"{grid.size}, 0.01 … 10", "‖w(0)‖": START, "repeats": repeats, "target": TARGET},
        figure=fig.Figure(
            tuple(panels),
            "With little noise a flat valley is left to cross, and depth crosses it faster; where noise keeps the "
            "loss curved at its optimum, depth gains nothing.",
        ),
        remarks=(
            "Where residuals at the optimum are noise, the Hessian 3 E r²xxᵀ is as good as that of least squares: "
            "there is no flat valley, a handful of steps is enough, and leaving the start near zero costs deeper "
            "networks more than they gain.",
        ),
    )


def _tasks(rng: np.random.Generator, quick: bool) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """A synthetic regression on inputs of unequal scale, and two real ones, whitened."""
    from sklearn.datasets import load_breast_cancer, load_diabetes

    m, d = (500, 20) if quick else (2565, 128)
    scales = np.geomspace(1, 0.1, d)
    X = rng.normal(size=(m, d)) * scales
    y = X @ (rng.normal(size=d) / scales)
    cells, _ = load_breast_cancer(return_X_y=True)
    perimeter = 2  # the column "mean perimeter"
    return {
        "synthetic": (X, y / np.std(y) + 0.05 * rng.normal(size=m)),
        "diabetes": _whiten(*map(np.asarray, load_diabetes(return_X_y=True))),
        "cell nuclei": _whiten(np.delete(np.asarray(cells), perimeter, axis=1), np.asarray(cells)[:, perimeter]),
    }


def _whiten(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Zero mean and identity covariance of the inputs, unit norm of their cross-covariance with the centred labels."""
    X, y = X - X.mean(axis=0), y - y.mean()
    X = np.linalg.svd(X, full_matrices=False)[0] * np.sqrt(len(X))
    return X, y / np.linalg.norm(X.T @ y / len(X))
