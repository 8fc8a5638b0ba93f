"""(c) A million evaluations of the closed solution, against an ODE solver."""

import numpy as np
from scipy.integrate import solve_ivp

from lineament.theory import modes

from .harness import Row, compare

COUNT, SOLVED, DEPTH = 1_000_000, 200, 3.5


def rows() -> list[Row]:
    """Random targets, starts and times at depth 3.5: evaluations per CPU second."""
    rng = np.random.default_rng(0)
    target = 10 ** rng.uniform(-1, 1, COUNT)
    start = target * 10 ** rng.uniform(-6, -1, COUNT)
    t = modes.time_to(start + rng.uniform(0.01, 0.99, COUNT) * (target - start), target, start, DEPTH)

    def integrate() -> None:
        power = 1 - 2 / DEPTH
        for goal, s0, end in zip(target[:SOLVED], start[:SOLVED], t[:SOLVED], strict=True):
            field = lambda _, u, goal=goal: np.exp(power * u) * (goal - np.exp(u))  # noqa: E731
            solve_ivp(field, (0, end), [np.log(s0)], "DOP853", rtol=1e-10, atol=1e-12)

    row = compare(
        "modes.trajectory, depth 3.5",
        ("closed solution, 10⁶ at once", lambda: modes.trajectory(t, target, start, DEPTH), float(COUNT)),
        ("SciPy DOP853, rtol 1e-10", integrate, float(SOLVED)),
        unit="evaluations",
    )
    seconds = COUNT / row.ours_per_second
    return [Row(**{**row.__dict__, "note": f"10⁶ in {seconds:.2f} s on one core (bar 5 s)"})]
