"""Flows by quadrature of their equations of motion, or by mpmath's Taylor method: never by the formula under test."""

from itertools import product
from typing import Any

import mpmath as mp

INF = float("inf")


def crossing(time_to: Any, speed: Any, t: Any, guess: Any) -> Any:
    """The value that is reached at time t: Newton's method on the integral, whose slope is one over the speed."""
    value = mp.mpf(guess)
    for _ in range(60):
        move = (t - time_to(value)) * speed(value)
        value += move
        if abs(move) < abs(value) * mp.mpf(10) ** -34:
            return value
    raise RuntimeError("Newton's method did not end")


def logarithmic(speed: Any, begin: Any, end: Any) -> Any:
    """∫ dσ/speed(σ) between two positive values, over log σ in pieces: smooth, however far apart they are."""
    low, high = mp.log(begin), mp.log(end)
    pieces = max(2, int(abs(high - low)) + 1)
    return mp.quad(lambda u: mp.exp(u) / speed(mp.exp(u)), mp.linspace(low, high, pieces + 1))


# One mode of a deep network: σ̇ = σ^{2−2/N} (σ* − σ).


def mode_speed(target: Any, depth: Any) -> Any:
    power = mp.mpf(2) - (0 if depth == mp.inf else mp.mpf(2) / depth)
    return lambda sigma: sigma**power * (target - sigma)


def mode_time(value: Any, target: Any, start: Any, depth: Any) -> Any:
    return logarithmic(mode_speed(target, depth), start, value)


def mode_value(t: Any, target: Any, start: Any, depth: Any) -> Any:
    from lineament.theory import modes  # a guess alone: Newton's method ends where the integral is t

    guess = modes.trajectory(*(float(x) for x in (t, target, start, depth)))
    return crossing(lambda v: mode_time(v, target, start, depth), mode_speed(target, depth), t, guess)


def mode_residual(t: Any, target: Any, start: Any, depth: Any) -> Any:
    return target - mode_value(t, target, start, depth)


DEPTHS = [1, 1.37, 2, 3, 6.5, INF]
MODE_TIMES = [
    {"value": value, "target": target, "start": start, "depth": depth}
    for (value, target, start), depth in product(
        [(0.01, 2.5, 1e-5), (2.4999, 2.5, 0.3), (1e-6, 1e-5, 1e-9), (3.0, 0.7, 40.0)], DEPTHS
    )
]
MODE_VALUES = [
    {"t": t, "target": target, "start": start, "depth": depth}
    for (t, target, start), depth in product([(0.8, 2.5, 0.03), (3.1, 1.3, 0.2), (0.4, 0.7, 9.0)], DEPTHS)
]
# Near the place, a factor e² from the target, where the package changes from one expansion to another.
MODE_VALUES += [
    {"t": t, "target": 2.5, "start": 0.03, "depth": depth}
    for depth, times in {1.37: (0.35, 0.375), 3: (2.15, 2.23), 6.5: (5.4, 5.52)}.items()
    for t in times
]


# One mode of two layers: σ̇ = √(λ² + 4σ²) (σ* − σ), any signs.


def lambda_speed(target: Any, balance: Any) -> Any:
    return lambda sigma: mp.sqrt(balance**2 + 4 * sigma**2) * (target - sigma)


def lambda_time(value: Any, target: Any, start: Any, balance: Any) -> Any:
    speed = lambda_speed(target, balance)
    places = sorted(
        {start, value, *(x for x in (-abs(balance), 0, abs(balance)) if min(start, value) < x < max(start, value))}
    )
    total = mp.quad(lambda sigma: 1 / speed(sigma), places)
    return total if value >= start else -total


def lambda_value(t: Any, target: Any, start: Any, balance: Any) -> Any:
    from lineament.theory import lambda_modes

    guess = lambda_modes.trajectory(*(float(x) for x in (t, target, start, balance)))
    return crossing(lambda v: lambda_time(v, target, start, balance), lambda_speed(target, balance), t, guess)


def lambda_residual(t: Any, target: Any, start: Any, balance: Any) -> Any:
    return target - lambda_value(t, target, start, balance)


LAMBDA_TIMES = [
    {"value": value, "target": target, "start": start, "balance": balance}
    for (value, target, start), balance in product(
        [(1.9, 2.0, 0.05), (0.3, 2.0, -1.5), (-0.9, -1.0, 0.4)], [0.07, -3.0]
    )
]
LAMBDA_VALUES = [
    {"t": t, "target": target, "start": start, "balance": balance}
    for (t, target, start), balance in product([(0.6, 2.0, 0.05), (0.9, 2.0, -1.5), (0.3, -1.0, 0.4)], [0.07, -3.0])
]


def laziness(target: Any, start: Any, balance: Any, change: Any) -> Any:
    """Bisect the share of the way at which the kernel has left [k₀/(1 + ε), (1 + ε)k₀]; one minimum, at σ = 0."""
    kernel = lambda share: mp.sqrt(balance**2 + 4 * (start + share * (target - start)) ** 2)  # noqa: E731
    first = kernel(0)
    moved = lambda share: max(kernel(share) / first, first / kernel(share)) - (1 + change)  # noqa: E731
    grid = [mp.mpf(i) / 400 for i in range(401)]
    after = next((i for i, share in enumerate(grid) if moved(share) > 0), None)
    if after is None:
        return mp.mpf(1)
    low, high = grid[after - 1], grid[after]
    for _ in range(140):
        middle = (low + high) / 2
        low, high = (low, middle) if moved(middle) > 0 else (middle, high)
    return high


LAZINESS = [
    {"target": target, "start": start, "balance": balance, "change": change}
    for target, start, balance, change in [
        (2.0, 0.05, 0.7, 0.1), (2.0, 0.9, 0.3, 0.1), (-1.0, 0.6, 0.2, 0.25), (-0.2, 0.6, 2.0, 0.1), (3.0, -1.0, 1.5, 0.3),
    ]
]  # fmt: skip


def final_layers(target_singular_values: Any, gamma: Any, input_size: int) -> Any:
    """From what flow conserves alone, a² − b² = 2γ with ab = σ: a² is the larger root of z² − 2γz − σ² = 0."""
    sigmas = sorted([*target_singular_values, *[mp.mpf(0)] * (input_size - len(target_singular_values))], reverse=True)
    first = [
        mp.sqrt(max(mp.re(z) for z in mp.polyroots([1, -2 * gamma, -(s**2)], maxsteps=500, extraprec=200)))
        for s in sigmas
    ]
    return [first, [s / a for s, a in zip(target_singular_values, first, strict=False)]]


FINAL = [{"target_singular_values": [2.0, 0.3, 1e-3], "gamma": gamma, "input_size": 4} for gamma in (0.5, 7.0)]


# Two layers whole: Ẇ1 = W2ᵀ(Y − W2W1), Ẇ2 = (Y − W2W1)W1ᵀ.


def two_layers(t: Any, W1: Any, W2: Any, target: Any) -> Any:
    A, B, Y = mp.matrix(W1), mp.matrix(W2), mp.matrix(target)
    cut = A.rows * A.cols

    def unpacked(state: Any) -> tuple[Any, Any]:
        first = mp.matrix(A.rows, A.cols)
        second = mp.matrix(B.rows, B.cols)
        for k, value in enumerate(state):
            matrix, i = (first, k) if k < cut else (second, k - cut)
            matrix[i // matrix.cols, i % matrix.cols] = value
        return first, second

    def field(_: Any, state: Any) -> list[Any]:
        first, second = unpacked(state)
        left = Y - second * first
        return [*(second.T * left), *(left * first.T)]

    with mp.workdps(24):
        first, second = unpacked(mp.odefun(field, 0, [*A, *B], tol=mp.mpf(10) ** -20)(t))
        return (second * first).tolist()


TWO_LAYER = [
    {"t": 0.9, "W1": [[0.3, 0.4], [-0.4, 0.3]], "W2": [[1.2, 0.0], [0.0, 1.2]], "target": [[2.0, 0.5], [-0.3, 1.0]]},
    {
        "t": 0.7,
        "W1": [[0.06, 0.08], [-0.08, 0.06]],
        "W2": [[0.08, 0.06], [0.06, -0.08]],
        "target": [[3.0, 0.0], [1.0, 2.0]],
    },
]


# The clock of training: gradient flow on the loss as it stands, one weight w to the power N, or N weights.


def clock(depth: int, parameterisation: str, loss: str, curvature: Any) -> Any:
    """σ̇ by the chain rule from a numerical derivative of the loss, over σ^{2−2/N}(σ* − σ), at any one place."""
    w, goal = mp.mpf("0.83"), mp.mpf("1.7")
    power = 2 if parameterisation == "shared" else 1
    scale = {"half": mp.mpf(1) / 2, "mse": mp.mpf(1), "normalised": mp.mpf(1) / (2 * mp.mpf(depth) ** power)}[loss]
    if parameterisation == "shared":
        slope = mp.diff(lambda v: curvature * scale * (v**depth - goal) ** 2, w)
        speed = -slope * depth * w ** (depth - 1)
    else:
        slope = mp.diff(lambda v: curvature * scale * (v * w ** (depth - 1) - goal) ** 2, w)
        speed = -slope * w ** (depth - 1) * depth
    sigma = w**depth
    return speed / (sigma ** (2 - mp.mpf(2) / depth) * (goal - sigma))


CLOCKS = [
    {"depth": depth, "parameterisation": parameterisation, "loss": loss, "curvature": 0.37}
    for depth, parameterisation, loss in product([1, 2, 5], ["factors", "shared"], ["normalised", "half", "mse"])
]


def training_time(value: Any, target: Any, start: Any, depth: int, curvature: Any) -> Any:
    """Each of N equal weights moves by ẇ = c (σ* − w^N) w^{N−1}: the time is an integral over w."""
    speed = lambda w: curvature * (target - w**depth) * w ** (depth - 1)  # noqa: E731
    return logarithmic(speed, start ** (mp.mpf(1) / depth), value ** (mp.mpf(1) / depth))


TRAINING = [{"value": 1.9, "target": 2.0, "start": 1e-4, "depth": n, "curvature": 0.6} for n in (1, 2, 3, 5)]


# Constant alignment: σ̇ = n σ^{2−2/n} c.


def aligned(times: Any, alignment: Any, start: Any, depth: int) -> Any:
    from lineament.theory import constant_alignment

    speed = lambda s: depth * s ** (2 - mp.mpf(2) / depth) * alignment  # noqa: E731
    guess = constant_alignment.trajectory(*(float(x) for x in (times, alignment, start)), depth)
    return crossing(lambda v: logarithmic(speed, start, v), speed, times, guess)


def escape(alignment: Any, start: Any, depth: int) -> Any:
    return mp.quad(lambda s: 1 / (depth * s ** (2 - mp.mpf(2) / depth) * alignment), [start, 2 * start, mp.inf])


ALIGNED = [
    {"times": t, "alignment": c, "start": 0.2, "depth": n}
    for (t, c), n in product([(0.4, 1.1), (2.0, -0.8)], [2, 3, 4])
]
ESCAPES = [{"alignment": 1.1, "start": 0.2, "depth": n} for n in (3, 4, 7)]


# Quadratic networks: every mode feels the sum of what is left, d(log σ_i)/dt = (σ*_i − σ_i) + ½ Σ_j (σ*_j − σ_j).


def quadratic(times: Any, target: Any, start: Any) -> Any:
    def field(_: Any, s: Any) -> list[Any]:
        left = [a - b for a, b in zip(target, s, strict=True)]
        return [v * (e + sum(left) / 2) for v, e in zip(s, left, strict=True)]

    with mp.workdps(24):
        return list(mp.odefun(field, 0, list(start), tol=mp.mpf(10) ** -20)(times[-1]))


QUADRATIC = [{"times": [0.0, 1.5], "target": [2.0, 0.7, 0.0], "start": [0.01, 0.02, 0.005]}]


# Phases: the start from which mode i has the fraction f when mode j has the fraction s.


def log_threshold(depth: Any, ratio: Any, s: Any, f: Any) -> Any:
    from lineament.theory import phases

    def gap(log_start: Any) -> Any:
        start = mp.exp(log_start)
        return mode_time(f * ratio, ratio, start, depth) - mode_time(s, mp.mpf(1), start, depth)

    guess = mp.mpf(float(phases.log_threshold(*(float(x) for x in (depth, ratio, s, f)))))
    return mp.findroot(gap, (guess * mp.mpf("1.001"), guess * mp.mpf("0.999")), solver="secant", tol=mp.mpf(10) ** -30)


THRESHOLDS = [
    {"depth": depth, "ratio": ratio, "s": s, "f": f}
    for depth, (ratio, s, f) in product([2, 3, 5.5, INF], [(2.0, 0.1, 0.9), (1.3, 0.4, 0.6)])
]
# Below depth 2, with a root so near that the product of y and q and their quotient lie on different sides of −1.
THRESHOLDS += [{"depth": depth, "ratio": 50.0, "s": 0.4, "f": 0.6} for depth in (1.2, 1.5)]

TABLES = {
    "modes": {
        "time_to": (mode_time, MODE_TIMES),
        "trajectory": (mode_value, MODE_VALUES),
        "residual": (mode_residual, MODE_VALUES),
    },
    "lambda_modes": {
        "time_to": (lambda_time, LAMBDA_TIMES),
        "trajectory": (lambda_value, LAMBDA_VALUES),
        "residual": (lambda_residual, LAMBDA_VALUES),
        "laziness": (laziness, LAZINESS),
        "final_layer_singular_values": (final_layers, FINAL),
    },
    "two_layer": {"trajectory": (two_layers, TWO_LAYER)},
    "units": {"clock_rate": (clock, CLOCKS)},
    "training_time": {"time_to": (training_time, TRAINING)},
    "constant_alignment": {"trajectory": (aligned, ALIGNED), "escape_time": (escape, ESCAPES)},
    "quadratic": {"trajectory": (quadratic, QUADRATIC)},
    "phases": {"log_threshold": (log_threshold, THRESHOLDS)},
}  # fmt: skip
