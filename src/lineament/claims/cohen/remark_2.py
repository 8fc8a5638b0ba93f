"""Remark 2: nearly balanced gradient descent with a small enough step converges within the guaranteed iterations."""

from typing import NamedTuple

import jax
import numpy as np

from ... import models, train
from ...evidence import Evidence, at_least, at_most
from ...evidence import figure as fig
from ..instances import generator
from ..sizes import sizes
from . import hard_instances
from .certified import Instance, stack

FLOOR = 1e-12  # shares of the loss below this can be where tiny steps are lost in rounding


class Settings(NamedTuple):
    """What is run at each size.

    Attributes:
        networks: Their widths.
        easy: Runs of each on well-conditioned targets, along which the bound reaches far.
        hard: Runs of each on ill-conditioned targets with the most unbalance admitted.
        searched: Instances of each found by search for the least decay.
        tries: Instances that a search looks at.
        steps: Iterations.
        unbalances: Multiples of the admitted unbalance, for controls.
        step_multiples: Multiples of the admitted step, for controls.
        condition: The largest condition number of hard targets.
    """

    networks: tuple[tuple[int, ...], ...]
    easy: int
    hard: int
    searched: int
    tries: int
    steps: int
    unbalances: tuple[float, ...] = (3e2, 1e3, 3e3, 1e4, 3e4)
    step_multiples: tuple[float, ...] = (1e2, 1e3, 1e4, 3e4, 1e5, 3e5)
    condition: float = 30.0


class Paces(NamedTuple):
    """All runs of one network. A pace is the least of measured over guaranteed decay of ln(φ − φ*) along a run.

    Attributes:
        admitted: How many runs meet every assumption.
        pace: Of these.
        searched: Of those of them that were searched for.
        reach: How many factors of e the bound falls in the easy runs.
        loose: Guaranteed over actual iterations, of the admitted runs.
        unbalanced: Paces beyond the admitted unbalance.
        stepped: Paces beyond the admitted step.
        curves: Shares of φ(0) left against the guaranteed exponent, of some easy runs.
    """

    widths: tuple[int, ...]
    admitted: int
    pace: np.ndarray
    searched: np.ndarray
    reach: np.ndarray
    loose: np.ndarray
    unbalanced: np.ndarray
    stepped: np.ndarray
    curves: list[tuple[np.ndarray, np.ndarray]]


@sizes(
    quick=Settings(((3, 2, 1), (2, 2, 2), (3, 2, 2, 2)), easy=40, hard=26, searched=2, tries=120, steps=300_000),
    full=Settings(
        ((3, 2, 1), (2, 2, 2), (2, 2, 2, 1), (1, 1, 1, 1, 1), (2, 3, 2, 3), (4, 2, 2), (3, 2, 2, 2)),
        easy=60, hard=40, searched=8, tries=1500, steps=4_000_000,
    ),
)  # fmt: skip
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Descent at the largest admitted step from the most unbalance admitted, on easy instances and on the hardest found.

    The bound (φ(0) − φ*)e^{−ηδ^{2(n−1)/n}k} at every iteration k is the statement for every ε. Admitted steps are so
    small that one factor e takes at least 6144n³ iterations, more the worse conditioned the target. So easy targets are
    well conditioned, and there the bound is followed over factors of e; on hard ones (condition up to 30, unbalance of
    every pair of layers in a general direction) and on those that a search found to decay least against their
    guarantee, decay is measured over what iterations there are. Beyond the assumptions, by multiples of the admitted
    unbalance and of the admitted step, the same instances must break the bound somewhere: how far beyond is how loose
    the remark is.
    """
    rng = generator(key)
    runs = [_runs(rng, widths, settings) for widths in settings.networks]
    beyond = {run.widths: _first_broken(settings.unbalances, run.unbalanced) for run in runs}
    spare = {run.widths: _first_broken(settings.step_multiples, run.stepped) for run in runs}
    control = "the control: far beyond what is admitted, some instance must break the bound"
    reach = float(np.median(np.concatenate([run.reach for run in runs])))
    return Evidence(
        checks=[
            at_least("runs whose start and step meet every assumption", sum(run.admitted for run in runs), 200,
                     "at least 200 admissible runs"),
            at_least("least of measured over guaranteed decay of ln(φ − φ*) at any iteration",
                     min(run.pace.min() for run in runs), 1, "printed bound"),
            at_least("median reach of the bound, easy targets, in factors of e", reach, 0.3,
                     "the bound must have fallen visibly, to three quarters, where it is compared"),
            at_most("the least such decay beyond the admitted unbalance",
                    min(run.unbalanced.min() for run in runs), 1, control),
            at_most("the least such decay beyond the admitted step", min(run.stepped.min() for run in runs), 1,
                    control),
        ],
        numbers={f"least decay over guaranteed, searched, {r.widths}": float(r.searched.min()) for r in runs}
        | {f"median guaranteed / actual iterations, {r.widths}": float(np.median(r.loose)) for r in runs}
        | {f"multiple of the admitted unbalance that breaks the bound, {w}": v for w, v in beyond.items() if v < np.inf}
        | {f"multiple of the admitted step that breaks the bound, {w}": v for w, v in spare.items() if v < np.inf},
        protocol={
            "loss": "square loss on whitened instances",
            "network": ", ".join(map(str, settings.networks)),
            "start": "margins 10 … 98 % of σ_min; balanced, or with the most unbalance admitted",
            "step size": "the largest admitted",
            "training": f"gradient descent, {settings.steps:,} iterations",
            "measure": "φ − φ* against the bound at every iteration, which is the statement for every ε",
        },
        figure=_figure(runs, settings),
        remarks=(
            "The remark prints ln(φ(0)/ε); with φ(0) − φ* in place of φ(0), as here, it is stronger and still holds.",
            "How loose: the searched instances decay at least "
            f"{min(run.searched.min() for run in runs):.2f} times as fast as guaranteed (2 is the limit for small "
            "displacements and no unbalance, since ‖∇ℓ‖² = 2(ℓ − ℓ*)), and the bound breaks only at about "
            f"{min(beyond.values()):.0g} times the admitted unbalance and {min(spare.values()):.0g} times the admitted "
            "step.",
        ),
    )  # fmt: skip


def _first_broken(multiples: tuple[float, ...], paces: np.ndarray) -> float:
    """The least multiple at which the bound is broken; infinite if at none."""
    return float(min(np.array(multiples)[paces < 1], default=np.inf))


def _runs(rng: np.random.Generator, widths: tuple[int, ...], settings: Settings) -> Paces:
    """Draw, search and train all instances of one network as one ensemble."""
    easy = [_easy(rng, widths, unbalanced=i % 2 == 1) for i in range(settings.easy)]
    hard = [_instance(rng, hard_instances.random_shape(rng, widths, settings.condition), widths)
            for _ in range(settings.hard)]  # fmt: skip
    shapes = [hard_instances.hardest(rng, widths, 1.0, settings.tries) for _ in range(settings.searched)]
    admitted = easy + hard + [_instance(rng, shape, widths) for shape in shapes]
    far = hard_instances.hardest(rng, widths, settings.unbalances[-2], settings.tries)
    controls = [_instance(rng, far, widths, excess=multiple) for multiple in settings.unbalances]
    stepped = [_instance(rng, shapes[0], widths, step_multiple=multiple) for multiple in settings.step_multiples]
    everyone = admitted + controls + stepped
    problem, start = stack(everyone)
    at = np.unique(np.r_[0, np.geomspace(1, settings.steps, 100).astype(int)])
    run = train.descend(
        models.DeepLinear(widths), problem, start, step_size=np.array([i.certificate.step_size for i in everyone]),
        steps=settings.steps, at=at, on_divergence="keep",
    )  # fmt: skip
    rate = np.array([i.certificate.rate for i in everyone])
    with np.errstate(over="ignore"):  # of runs that diverge
        share = run.loss.values / run.loss.values[:, :1]
    pace, (a, b) = _least_pace(share, rate, at), (len(admitted), len(admitted) + len(controls))
    last = np.array([np.flatnonzero(row > 1e-9)[-1] for row in share[:a]])
    return Paces(
        widths,
        sum(i.certificate.holds for i in admitted),
        pace[:a],
        pace[a - len(shapes) : a],
        rate[: settings.easy] * settings.steps,
        -np.log(share[np.arange(a), last]) / (rate[:a] * at[last]),
        pace[a:b],
        pace[b:],
        [(rate[i] * at, share[i]) for i in range(3)],
    )


def _easy(rng: np.random.Generator, widths: tuple[int, ...], unbalanced: bool) -> Instance:
    """A well-conditioned target of random size, balanced or with the most unbalance admitted."""
    shape = hard_instances.random_shape(rng, widths, 1.25)
    return _instance(rng, shape, widths, excess=1.0 if unbalanced else 1e-6, scale=rng.uniform(0.5, 2))


def _instance(
    rng: np.random.Generator,
    shape: hard_instances.Shape,
    widths: tuple[int, ...],
    excess: float = 1.0,
    step_multiple: float = 0.999,
    scale: float = 1.0,
) -> Instance:
    built = hard_instances.build(shape, widths, excess, step_multiple, scale)
    assert built.certificate.step_size is not None
    return hard_instances.turned(rng, built, built.certificate.step_size)


def _least_pace(share: np.ndarray, rate: np.ndarray, at: np.ndarray) -> np.ndarray:
    """The least of measured over guaranteed decay along each run, until rounding; −1 for a run that diverges."""
    # Over the first iterations of hard instances the loss moves by less than it is rounded to.
    known = (share[:, 1:] > FLOOR) & (rate[:, None] * at[1:] > 1e-8)
    with np.errstate(invalid="ignore", divide="ignore"):
        pace = -np.log(np.maximum(share[:, 1:], FLOOR)) / (rate[:, None] * at[1:])
    pace = np.where(known, pace, np.inf).min(axis=1)
    return np.where(np.isfinite(share).all(axis=1), np.maximum(pace, -1.0), -1.0)


def _figure(runs: list[Paces], settings: Settings) -> fig.Figure:
    """Easy runs against the bound, looseness, and what comes beyond the assumptions."""
    curves = [
        fig.measured(x, np.maximum(y, 1e-9), f"{run.widths}" if i == 0 else "", group)
        for group, run in enumerate(runs)
        for i, (x, y) in enumerate(run.curves)
    ]
    x = np.linspace(0, max(float(run.reach.max()) for run in runs), 100)
    edges = np.geomspace(1, 1.1 * max(float(run.loose.max()) for run in runs), 25)
    bars = [fig.bars(edges, np.histogram(run.loose, edges)[0], "", group) for group, run in enumerate(runs)]

    def beyond(multiples: tuple[float, ...], field: str, quantity: str) -> fig.Panel:
        marks = [fig.points(multiples, np.maximum(getattr(run, field), 0), "", i) for i, run in enumerate(runs)]
        bound = fig.reference([multiples[0], multiples[-1]], [1, 1], "bound")
        return fig.Panel((*marks, bound), f"{quantity} / admitted", "decay / guaranteed", f"larger {quantity}", "log")

    return fig.Figure(
        (
            fig.Panel((*curves, fig.theory(x, np.exp(-x), "bound")), "ηδ^(2−2/n) × iterations", "share of φ(0) left",
                      "largest admitted step", y_scale="log", y_limits=(1e-9, 2)),
            fig.Panel(tuple(bars), "guaranteed / actual iterations", "runs", "looseness", "log"),
            beyond(settings.unbalances, "unbalanced", "unbalance"),
            beyond(settings.step_multiples, "stepped", "step"),
        ),
        "Descent stays below the bound, on the hardest instances found too; it takes thousands of times the admitted "
        "unbalance or step to break it.",
        2,
    )  # fmt: skip
