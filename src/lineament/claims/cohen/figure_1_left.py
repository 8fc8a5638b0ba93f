"""Figure 1, left: on ℓ4 regression, linear networks of two or three layers train faster than the linear model."""

from typing import NamedTuple

import jax
import numpy as np

from ... import models, problems, starts, train
from ...data import gas
from ...evidence import Check, Evidence, at_least
from ...evidence import figure as fig
from ..instances import generator
from ..sizes import sizes
from .iterations import first_step

DEPTHS = (1, 2, 3)
NOT_AT_HAND = f"the figure's data are not at hand: put {gas.FILE} into a folder named by LINEAMENT_DATA"


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        step_sizes: The least and largest step size, and how many between them.
        starts: How many random starts.
        steps: At most how many, on the figure's data.
        limit_steps: At most how many on the other tables.
        epsilon: How near the optimum counts as reached.
        start_norm: ‖w(0)‖.
    """

    step_sizes: tuple[float, float, int]
    starts: int
    steps: int
    limit_steps: int
    epsilon: float = 1e-5
    start_norm: float = 1e-3

    @property
    def grid(self) -> np.ndarray:
        """The step sizes."""
        return np.geomspace(*self.step_sizes[:2], int(self.step_sizes[2]))


class Race(NamedTuple):
    """Iterations at the best step size (depth, start), infinite where none arrived; and a panel of the first start."""

    iterations: np.ndarray
    panel: fig.Panel

    @property
    def median(self) -> np.ndarray:
        """The median over starts, for each depth."""
        return np.median(self.iterations, axis=1)


@sizes(
    quick=Settings(step_sizes=(1e-2, 10.0, 24), starts=1, steps=400, limit_steps=1000),
    full=Settings(step_sizes=(1e-2, 10.0, 60), starts=5, steps=4000, limit_steps=10_000),
)
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Each depth at its best step size from a grid, from near zero, until the loss is within 1e-5 of its optimum.

    The data are those of the figure: gas sensors, the ethanol task, 2565 examples of 128 features. How they were
    prepared is not printed; the protocol is that of the authors' next paper (2019a): inputs PCA-whitened, labels
    rescaled to a cross-covariance of norm 1. The table holds the logarithm of the concentration, the figure's label may
    have been the concentration itself: both are judged. Two further tables show the limits of the effect; they decide
    nothing. Without the file of the figure's data the verdict is "undecided".
    """
    rng = generator(key)
    tasks = _figure_tasks()
    races = {name: _race(name, rng, *task, settings.steps, settings) for name, task in tasks.items()}
    limits = {name: _race(name, rng, *task, settings.limit_steps, settings) for name, task in _limits().items()}
    return Evidence(
        checks=_checks(races, settings),
        numbers={
            f"iterations, {name}, depth {depth}": float(count)
            for name, race in (races | limits).items()
            for depth, count in zip(DEPTHS, race.median, strict=True)
        },
        settings={"data": gas.TITLE if tasks else "none of the figure's: " + ", ".join(limits)},
        protocol={
            "data": f"{gas.TITLE}, whitened; labels ppm and ln(1 + ppm)" if tasks else NOT_AT_HAND,
            "loss": "ℓ4",
            "network": "depths 1, 2, 3, hidden widths 1",
            "start": f"balanced, ‖w(0)‖ = {settings.start_norm:g}, {settings.starts} of them",
            "optimiser": "gradient descent, full batch",
            "step size": f"best of {settings.step_sizes[2]:.0f} from {settings.step_sizes[0]:g} to "
            f"{settings.step_sizes[1]:g}, for each depth",
            "measure": f"iterations until the loss is within {settings.epsilon:g} of its optimum",
        },
        figure=fig.Figure(
            tuple(race.panel for race in (races | limits).values()),
            _caption(races, limits),
            2,
        ),
        remarks=(
            "Where residuals at the optimum are mostly noise, the Hessian 3 E r²xxᵀ is as good as that of least "
            "squares: there is no flat valley, a handful of steps is enough, and leaving the start near zero costs "
            "deeper networks more than they gain. So it is on diabetes, a table the notes do not use.",
        ),
    )


def _checks(races: dict[str, Race], settings: Settings) -> list[Check]:
    """Depths 2 and 3 against depth 1, for each label."""
    low, high, count = settings.step_sizes
    bar = float((high / low) ** (1 / (count - 1)))
    origin = "neighbouring step sizes of the grid differ by this factor"
    return [
        at_least(f"iterations of depth 1 over those of depth {depth}, {name}",
                 _gain(races.get(name), depth, settings.steps), bar, origin, void=_void(races.get(name), depth))
        for name in gas.LABELS for depth in (2, 3)
    ]  # fmt: skip


def _gain(race: Race | None, depth: int, steps: int) -> float:
    """By how much depth 1 takes longer; where it does not arrive at all, by how much at least."""
    return 0.0 if race is None else float(min(race.median[0], steps) / race.median[depth - 1])


def _void(race: Race | None, depth: int) -> str:
    if race is None:
        return NOT_AT_HAND
    return "" if np.isfinite(race.median[depth - 1]) else f"depth {depth} does not arrive at any step size"


def _caption(races: dict[str, Race], limits: dict[str, Race]) -> str:
    """The iterations of each depth, table by table."""
    counts = {name: ", ".join(f"{count:.0f}" for count in race.median) for name, race in (races | limits).items()}
    listed = "; ".join(f"{name}: {count}" for name, count in counts.items())
    where = "On the figure's data depth crosses the flat valley faster; where" if races else "Where"
    gains = "noise keeps the loss curved at its optimum, as on diabetes, it gains nothing"
    return f"{where} {gains}. Iterations at depths 1, 2, 3: {listed}."


def _figure_tasks() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The figure's data with both labels, whitened; none where the file is not at hand."""
    if not gas.has_gas():
        return {}
    X, ppm = gas.ethanol()
    return {name: _whiten(X, label(ppm)) for name, label in gas.LABELS.items()}


def _limits() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Two tables that come with scikit-learn: the progression of diabetes, and the perimeter of cell nuclei."""
    from sklearn.datasets import load_breast_cancer, load_diabetes

    cells, _ = load_breast_cancer(return_X_y=True)
    perimeter = 2  # the column "mean perimeter"
    return {
        "diabetes": _whiten(*map(np.asarray, load_diabetes(return_X_y=True))),
        "cell nuclei": _whiten(np.delete(np.asarray(cells), perimeter, axis=1), np.asarray(cells)[:, perimeter]),
    }


def _race(name: str, rng: np.random.Generator, X: np.ndarray, y: np.ndarray, steps: int, settings: Settings) -> Race:
    """Every depth from the same starts at every step size."""
    problem, grid = problems.lp_regression(X, y, p=4), settings.grid
    at = np.unique(np.r_[np.arange(0, min(300, steps)), np.geomspace(min(300, steps), steps, 250)].astype(int))
    optimum = problem.optimum().loss
    iterations, marks = np.full((len(DEPTHS), settings.starts), np.inf), []
    for index in range(settings.starts):
        w = rng.normal(size=(1, X.shape[1]))
        w *= settings.start_norm / np.linalg.norm(w)
        for i, depth in enumerate(DEPTHS):
            model = models.DeepLinear((X.shape[1],) + (1,) * depth)
            run = train.descend(
                model, problem, starts.balanced(model, map=w), step_size=grid, steps=steps, at=at,
                tolerance=optimum + settings.epsilon, on_divergence="keep",
            )  # fmt: skip
            excess = run.loss.values - optimum
            first = first_step(at, excess <= settings.epsilon)
            best = int(np.argmin(first))
            iterations[i, index] = first[best]
            if index == 0:
                shown = at <= 1.2 * min(first[best], steps)
                curve = np.maximum(excess[best, shown], settings.epsilon / 3)
                marks.append(fig.measured(at[shown], curve, f"n = {depth}, η = {grid[best]:.2g}", i))
    longest = 1.2 * min(float(iterations[:, 0].max()), steps)
    marks.append(fig.reference([0, longest], [settings.epsilon] * 2, "target"))
    title = f"{name}, {len(X)}×{X.shape[1]}"
    return Race(iterations, fig.Panel(tuple(marks), "iteration", "ℓ − ℓ*", title, "symlog", "log"))


def _whiten(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Zero mean and identity covariance of the inputs, unit norm of their cross-covariance with the centred labels."""
    X, y = X - X.mean(axis=0), y - y.mean()
    X = np.linalg.svd(X, full_matrices=False)[0] * np.sqrt(len(X))
    return X, y / np.linalg.norm(X.T @ y / len(X))
