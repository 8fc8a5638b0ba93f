"""(b) Singular-value curves of deep matrix sensing to 1e-3 of the true flow: by `flow`, and by descent."""

import jax
import numpy as np

import lineament as la

from .harness import Row, compare

SIZE, RANK_VALUES, MEASUREMENTS, DEPTH, START = 50, (12.0, 6.0, 4.0, 3.0), 1000, 3, 1e-4
STAGES = 13  # gradient evaluations per step of Dopri8, whose last stage is the next step's first
ACCURACY = 1e-3
EVERY = (16, 64)  # descent steps between records, in the two runs that show how its error falls
RECORD = (
    la.Record(
        "top", lambda model, problem, layers: la.measure.singular_values(model.end_to_end(layers))[:5], ("mode",)
    ),
)


def _problem() -> tuple[la.models.DeepLinear, la.problems.AbstractProblem, tuple]:
    rng = np.random.default_rng(0)
    target = np.diag([*RANK_VALUES, *[0.0] * (SIZE - len(RANK_VALUES))])
    A = rng.normal(size=(MEASUREMENTS, SIZE, SIZE))
    net = la.models.DeepLinear((SIZE,) * (DEPTH + 1))
    start = la.starts.gaussian(net, jax.random.key(0), start_scale=START)
    return net, la.problems.sensing(A, np.einsum("koi,oi->k", A, target)), start


def _worst(run: la.Run, truth: np.ndarray) -> float:
    return float(np.max(np.abs(run.top.values - truth)) / RANK_VALUES[0])


def rows() -> list[Row]:
    """Gradient evaluations and CPU seconds, at equal accuracy of the recorded curves."""
    net, problem, start = _problem()
    until, count = 8.0, 200  # by then all four values have risen
    times = np.linspace(0, until, count + 1)
    flow = lambda rtol: la.flow(net, problem, start, times=times, record=RECORD, rtol=rtol, tolerance=0.0)  # noqa: E731
    truth = flow(1e-9).top.values
    rtol = next(r for r in (1e-3, 1e-4, 1e-5, 1e-6) if _worst(flow(r), truth) <= ACCURACY)
    ours = flow(rtol)

    def descend(every: int) -> la.Run:
        steps = count * every
        return la.descend(net, problem, start, step_size=until / steps, steps=steps, every=every, record=RECORD)

    coarse, fine = (_worst(descend(every), truth) for every in EVERY)
    order = np.log(coarse / fine) / np.log(EVERY[1] / EVERY[0])
    if not 0.7 < order < 1.3:
        raise RuntimeError(f"the error of descent falls with order {order:.2f}, not 1: its steps cannot be foretold")
    every = int(np.ceil(EVERY[1] * fine / ACCURACY))  # its error falls in proportion to its step
    steps, evaluations = count * every, int(ours.solver_steps) * STAGES
    row = compare(
        "sensing 50×50, depth 3",
        (f"flow, rtol {rtol:g}", lambda: flow(rtol), 1.0),
        (f"descent, {steps} steps", lambda: descend(EVERY[0]), EVERY[0] / every),
        bar=5.0,
        unit="runs",
        repeats=3,
        note=f"{evaluations} gradients against {steps}: {steps / evaluations:.0f}× fewer (bar 15); flow is "
        f"{_worst(ours, truth):.1e} of σ₁* off, descent {coarse:.1e} and {fine:.1e} at {count * EVERY[0]} and "
        f"{count * EVERY[1]} steps, from which its steps are foretold",
    )
    return [row]
