"""Expectations by quadrature, recursions step by step, roots by bisection: each from its definition."""

from itertools import product
from typing import Any

import mpmath as mp

# Dual activations: E[φ(u)φ(v)] and E[φ′(u)φ′(v)] of Gaussians with variances p, q and covariance c, as one integral over
# u of φ(u) E[φ(v) | u]; v given u is Gaussian, and its mean of a half-line, a ramp or an erf is known.


def half(mean: Any, sd: Any) -> Any:
    return mp.erfc(-mean / sd / mp.sqrt(2)) / 2


def ramp(mean: Any, sd: Any) -> Any:
    return mean * half(mean, sd) + sd * mp.npdf(mean / sd)


def integral(outer: Any, inner: Any, p: Any, q: Any, c: Any) -> Any:
    s, sd = mp.sqrt(p), mp.sqrt(q - c**2 / p)
    over = lambda x: mp.npdf(x) * outer(s * x) * inner(c / s * x, sd)  # noqa: E731
    return mp.quad(over, [-mp.inf, -4, 0, 4, mp.inf])


def erf_dual(p: Any, q: Any, c: Any) -> Any:
    bell = lambda m, v: mp.exp(-(m**2) / (1 + 2 * v**2)) / mp.sqrt(1 + 2 * v**2)  # noqa: E731
    value = integral(mp.erf, lambda m, sd: mp.erf(m / mp.sqrt(1 + 2 * sd**2)), p, q, c)
    return value, 4 / mp.pi * integral(lambda u: mp.exp(-(u**2)), bell, p, q, c)


def piecewise_dual(left: Any, right: Any, p: Any, q: Any, c: Any) -> Any:
    value = integral(
        lambda u: (right if u > 0 else left) * u,
        lambda m, sd: left * m + (right - left) * ramp(m, sd), p, q, c,
    )  # fmt: skip
    slope = integral(
        lambda u: right if u > 0 else left, lambda m, sd: left + (right - left) * half(m, sd), p, q, c
    )  # fmt: skip
    return value, slope


def tanh_dual(p: Any, q: Any, c: Any) -> Any:
    """Both expectations by the trapezoidal rule in two dimensions, whose error falls as e^{−π²/(h√p)} for this φ."""
    s, t, rho = mp.sqrt(p), mp.sqrt(q), c / mp.sqrt(p * q)
    h, reach = mp.mpf("0.125") / max(s, t, 1), 11
    nodes = [h * k for k in range(-int(reach / h), int(reach / h) + 1)]
    weights = [h * mp.npdf(x) for x in nodes]
    across = mp.sqrt(1 - rho**2)
    value = slope = mp.mpf(0)
    for x, w in zip(nodes, weights, strict=True):
        first = mp.tanh(s * x)
        seconds = [mp.tanh(t * (rho * x + across * y)) for y in nodes]
        value += w * first * mp.fdot(weights, seconds)
        slope += w * (1 - first**2) * mp.fdot(weights, [1 - second**2 for second in seconds])
    return value, slope


def expansion(activation: str, hidden_layers: int) -> Any:
    """The kernel's recursion with the printed arc-sine and arc-cosine laws, differentiated at overlap 0."""

    def layer(p: Any, c: Any) -> tuple[Any, Any]:
        if activation == "erf":
            return 2 / mp.pi * mp.asin(2 * c / (1 + 2 * p)), 4 / mp.pi / mp.sqrt((1 + 2 * p) ** 2 - 4 * c**2)
        theta = mp.acos(c / p)
        return p / (2 * mp.pi) * (mp.sin(theta) + (mp.pi - theta) * mp.cos(theta)), (mp.pi - theta) / (2 * mp.pi)

    def kernel(c: Any) -> Any:
        p, ntk = mp.mpf(1), c
        for _ in range(hidden_layers):
            (value, slope), (p, _) = layer(p, c), layer(p, p)
            c, ntk = value, value + slope * ntk
        return ntk

    return kernel(mp.mpf(0)), mp.diff(kernel, 0)


EXPANSIONS = [{"activation": name, "hidden_layers": layers} for name, layers in product(["erf", "relu"], [1, 2, 4])]
DUALS = [
    {"p": p, "q": q, "c": c} for p, q, c in [(1.0, 1.0, 0.3), (0.2, 3.0, -0.5), (4.0, 2.5, 3.1), (8e-9, 7e-9, 3e-9)]
]
PIECEWISE = [{"left": left, "right": right} | dual for (left, right), dual in product([(0.0, 1.0), (0.2, 1.5)], DUALS)]


def constants(activation: str) -> Any:
    """ζ, ϑ0, ϑ1, ϑ2 from φ and φ′ as they are defined, by quadrature."""
    phi, slope = {
        "elu": (lambda z: z if z > 0 else mp.expm1(z), lambda z: mp.mpf(1) if z > 0 else mp.exp(z)),
        "erf": (mp.erf, lambda z: 2 / mp.sqrt(mp.pi) * mp.exp(-(z**2))),
        "gelu": (lambda z: z * mp.ncdf(z), lambda z: mp.ncdf(z) + z * mp.npdf(z)),
        "relu": (lambda z: max(z, mp.mpf(0)), lambda z: mp.mpf(z > 0)),
        "tanh": (mp.tanh, lambda z: mp.sech(z) ** 2),
    }[activation]
    mean = lambda f: mp.quad(lambda z: mp.npdf(z) * f(z), [-mp.inf, -4, 0, 4, mp.inf])  # noqa: E731
    return (
        mean(slope), mean(phi), mean(lambda z: z * slope(z)), mean(lambda z: (z**3 / 2 - z) * slope(z)),
    )  # fmt: skip


CONSTANTS = [{"activation": name} for name in ("elu", "erf", "gelu", "relu", "tanh")]


# Filters: the coefficient itself, step by step, and the flow by its differential equation's own series.


def flow_filter(t: Any, curvature: Any, n: int) -> Any:
    """∫₀ᵗ e^{−hs} ds / n."""
    return mp.quad(lambda s: mp.exp(-curvature * s), mp.linspace(0, t, 9)) / n


def descent_filter(steps: int, curvature: Any, n: int, step_size: Any, momentum: Any) -> Any:
    c, v = mp.mpf(0), mp.mpf(0)
    for _ in range(steps):
        v = momentum * v + (curvature * c - mp.mpf(1) / n)
        c = c - step_size * v
    return c


FLOW_FILTERS = [{"t": t, "curvature": h, "n": 7} for t, h in product([0.3, 25.0], [1e-9, 0.4, 3.0])]
DESCENT_FILTERS = [
    {"steps": steps, "curvature": h, "n": 7, "step_size": 0.3, "momentum": momentum}
    for steps, h, momentum in product([1, 2, 9, 60], [0.0, 1e-7, 0.4, 3.0, 5.5], [0.0, 0.3, 0.9])
]


# Descent with large steps.


def step(x: Any, ratio: Any, depth: int) -> Any:
    """One weight x of N equal ones on ½(c/1)(x^N − 1)², by a numerical derivative of the loss over one of them."""
    c = 2 * ratio / depth
    return x - c * mp.diff(lambda w: (w * x ** (depth - 1) - 1) ** 2 / 2, x)


def bisected(f: Any, low: Any, high: Any) -> Any:
    """The root between two places where f has different signs."""
    first = f(low) > 0
    for _ in range(140):
        middle = (low + high) / 2
        low, high = (middle, high) if (f(middle) > 0) == first else (low, middle)
    return (low + high) / 2


def cycle(ratio: Any, depth: int) -> Any:
    c = 2 * ratio / depth
    f = lambda x: x - c * (x**depth - 1) * x ** (depth - 1)  # noqa: E731
    again = lambda x: f(f(x)) - x  # noqa: E731
    high = 1 - mp.mpf("0.005") * mp.sqrt(ratio - 1)
    low = next(low for k in range(1, 500) if again(low := high - mp.mpf(k) / 500) > 0)
    first = bisected(again, low, high)
    return first, f(first)


def multiplier(ratio: Any, depth: int) -> Any:
    c = 2 * ratio / depth
    f = lambda x: x - c * (x**depth - 1) * x ** (depth - 1)  # noqa: E731
    return mp.diff(lambda x: f(f(x)), cycle(ratio, depth)[0])


def largest_cycle(depth: int) -> Any:
    return bisected(lambda ratio: multiplier(ratio, depth) + 1, mp.mpf("1.02"), mp.mpf("1.5"))


STEPS = [{"x": x, "ratio": ratio, "depth": depth} for x, ratio, depth in product([0.4, 1.2], [0.7, 1.6], [2, 3, 5])]
CYCLES = [{"ratio": ratio, "depth": depth} for ratio, depth in product([1.05, 1.2], [2, 3, 5])]


# Phases of descent: eq. 9 from the step of one weight, σ = w^N on ‖w^N − σ*‖²/(2N²).


def advance(sigma: Any, target: Any, step_size: Any, depth: int) -> Any:
    w = sigma ** (mp.mpf(1) / depth)
    slope = mp.diff(lambda v: (v**depth - target) ** 2 / (2 * mp.mpf(depth) ** 2), w)
    return (w - step_size * slope) ** depth


ADVANCES = [
    {"sigma": sigma, "target": 1.7, "step_size": eta, "depth": depth}
    for sigma, eta, depth in product([1e-4, 0.9], [1e-3, 0.3], [2, 3, 7])
]


def log_bounds(depth: Any, ratio: Any, s: Any, f: Any, target: Any) -> Any:
    """Theorem 2 as printed, in the plain, not in logarithms."""
    slow, fast = 1 / ((1 - f) * (ratio - 1)), (1 - s) / (ratio - 1)
    if depth == 2:
        return tuple(mp.log(s * target * (s / (ratio * f)) ** x) for x in (slow, fast))
    power = -depth / (depth - 2) if depth != mp.inf else mp.mpf(-1)
    return tuple(mp.log(s * target * (1 + x) ** power) for x in (slow, fast))


BOUNDS = [
    {"depth": depth, "ratio": ratio, "s": 0.1, "f": 0.9, "target": 1.3}
    for depth, ratio in product([2, 3, 5.5, float("inf")], [1.2, 4.0])
]


def exponents(ratio: Any, c: Any, share: Any) -> Any:
    i, j = c * share, c * share / ratio
    return mp.log(1 - i + i**2) / mp.log(1 - j - j**2 / 4), mp.log(1 - i - i**2 / 4) / mp.log(1 - j + j**2)


EXPONENTS = [{"ratio": ratio, "c": c, "share": 0.8} for ratio, c in product([1.2, 4.0], [1e-6, 0.1, 0.7])]


# Certificates: Theorem 2 and Remark 2 of the lecture notes, as printed.


def guaranteed_rate(depth: int, margin: Any, strong_convexity: Any) -> Any:
    return 2 * strong_convexity * (margin ** (mp.mpf(1) / depth)) ** (2 * (depth - 1))


def guaranteed_step(target: Any, depth: int, margin: Any) -> Any:
    size = mp.sqrt(sum(x**2 for row in target for x in row))
    return mp.root(margin ** (4 * depth - 2) / size ** (6 * depth - 4), depth) / (6144 * depth**3)


def admissible(target: Any, depth: int, margin: Any) -> Any:
    size = mp.sqrt(sum(x**2 for row in target for x in row))
    return margin**2 / (256 * depth**3 * mp.root(size ** (2 * (depth - 1)), depth))


def margin_from_excess(excess: Any, minimiser: Any, strong_convexity: Any) -> Any:
    W = mp.matrix(minimiser)
    least = min(mp.eigsy(W * W.T, eigvals_only=True))
    return mp.sqrt(least) - mp.sqrt(2 * excess / strong_convexity)


TARGET = [[2.0, 0.3], [-0.4, 1.1]]
RATES = [{"depth": n, "margin": 0.3, "strong_convexity": 1.7} for n in (1, 2, 3, 6)]
REMARKS = [{"target": TARGET, "depth": n, "margin": 0.3} for n in (1, 2, 3, 6)]
MARGINS = [{"excess": 0.21, "minimiser": TARGET, "strong_convexity": 1.7}]


# Expected error of early stopping, component by component; where neurons end under label noise, by an eigensystem.


def expected_error(times: Any, d: Any, truth: Any, start: Any, gamma: Any, noise: Any) -> Any:
    """Bias e^{−d_j t}(W₀ − W*) along each component, and the variance σ²(1 − e^{−d_j t})²/d_j of its noise."""
    found = []
    for t in times:
        total = mp.mpf(0)
        for j, (value, weight) in enumerate(zip(d, gamma, strict=True)):
            left = mp.exp(-value * t)
            for a, b in zip(truth, start, strict=True):
                total += weight * ((left * (b[j] - a[j])) ** 2 + noise * (1 - left) ** 2 / value)
        found.append(total)
    return found


ERRORS = [
    {
        "times": [0.0, 0.3, 40.0], "d": [3.0, 0.5, 1e-6], "truth": [[1.0, -0.3, 0.2]], "start": [[0.1, 0.0, 0.4]],
        "gamma": [1.0, 0.7, 0.2], "noise": 0.15,
    }
]  # fmt: skip


def line(beta: Any, S: Any) -> Any:
    """Minimise R = ¼(tr(S)α² + bᵀSb) over αb = β∗ by bisection on its slope, then the eigensystem beside it."""
    S, beta = mp.matrix(S), mp.matrix(beta)
    trace, power = sum(S[i, i] for i in range(S.rows)), (beta.T * S * beta)[0]
    alpha = bisected(lambda a: 2 * trace * a - 2 * power / a**3, mp.mpf("1e-3"), mp.mpf(1000))
    b = beta / alpha
    u = S * b / (2 * alpha)
    A = mp.matrix(S.rows + 1)
    for i in range(S.rows):
        for j in range(S.rows):
            A[i, j] = -S[i, j] / 2
        A[i, S.rows] = A[S.rows, i] = u[i]
    A[S.rows, S.rows] = -trace / 2
    values = sorted(mp.eigsy(A, eigvals_only=True), reverse=True)
    return mp.norm(b), alpha, [-value for value in values[1:]]


LINES = [{"beta": [0.8, -1.5, 0.2], "S": [[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 0.6]]}]


def early(times: Any, W: Any, a: Any, target: Any) -> Any:
    """Ẇ = aβᵀ, ȧ = Wβ by the matrix exponential of the whole linear flow."""
    W, beta = mp.matrix(W), mp.matrix(target)
    h, d = W.rows, W.cols
    size = h * d + h
    M = mp.matrix(size)
    for i in range(h):
        for j in range(d):
            M[i * d + j, h * d + i] = beta[j]
            M[h * d + i, i * d + j] = beta[j]
    state = mp.expm(M * times) * mp.matrix([*W, *a])
    after = mp.matrix([[state[i * d + j] for j in range(d)] for i in range(h)])
    layer = mp.matrix([state[h * d + i] for i in range(h)])
    b = beta / mp.norm(beta)
    along = after * b
    return mp.norm(along) ** 2 / sum(x**2 for x in after), (layer.T * along)[0] / mp.norm(beta)


EARLY = [
    {"times": t, "W": [[0.01, -0.02], [0.03, 0.005]], "a": [0.02, -0.01], "target": [1.1, -0.4]} for t in (0.4, 3.0)
]


def scales(W: Any) -> Any:
    """√(I + WWᵀ) and √(I + WᵀW) by Newton's iteration for roots of matrices."""
    W = mp.matrix(W)
    return [root(mp.eye(M.rows) + M) for M in (W * W.T, W.T * W)]


def root(M: Any) -> Any:
    """The root of a positive matrix: X ← ½(X + MX⁻¹) from the identity."""
    X = mp.eye(M.rows)
    for _ in range(60):
        X = (X + M * X**-1) / 2
        X = (X + X.T) / 2
    return X.tolist()


SCALES = [{"W": [[0.7, -2.0, 0.1], [1.5, 0.4, 0.9]]}]


def saddles(X: Any, y: Any) -> Any:
    """Algorithm 1 by trying every set of coordinates: the minimiser over signs is the one that meets its conditions."""
    n, d = len(X), len(X[0])
    X, y = mp.matrix(X), mp.matrix(y)
    gradient = lambda beta: X.T * (X * beta - y) / n  # noqa: E731
    tiny = mp.mpf(10) ** -25
    beta, s, time = mp.matrix(d, 1), mp.matrix(d, 1), mp.mpf(0)
    times, points = [], [list(beta)]
    while mp.norm(g := gradient(beta), mp.inf) > tiny:
        waits = [((1 if g[i] < 0 else -1) - s[i]) / -g[i] for i in range(d) if abs(g[i]) > tiny]
        time, s = time + min(waits), s - min(waits) * g
        free = [i for i in range(d) if abs(abs(s[i]) - 1) < tiny]
        for chosen in product([False, True], repeat=len(free)):
            active = [i for i, on in zip(free, chosen, strict=True) if on]
            trial = mp.matrix(d, 1)
            if active:
                A = mp.matrix([[X[k, i] for i in active] for k in range(n)])
                for i, value in zip(active, mp.lu_solve(A.T * A, A.T * y), strict=True):
                    trial[i] = value
            slope = gradient(trial)
            right = all(trial[i] * s[i] > 0 for i in active)
            if right and all(slope[i] * s[i] > -tiny for i in free if i not in active):
                break
        beta = trial
        times.append(time)
        points.append(list(beta))
    return times, points


SADDLES = [
    {"X": [[1.0, 0.3, 0.1], [-0.2, 1.5, 0.4], [0.5, -0.1, 0.8], [0.2, 0.6, -1.0]], "y": [1.0, -0.7, 0.3, 0.9]},
    {"X": [[1.0, 0.9], [0.8, -1.1], [0.1, 0.7]], "y": [2.0, 0.5, -1.0]},
]

TABLES = {
    "dual_activations": {
        "erf_dual": (erf_dual, DUALS),
        "piecewise_linear_dual": (piecewise_dual, PIECEWISE),
        "quadrature_dual": (tanh_dual, DUALS),
    },
    "kernels": {"expansion": (expansion, EXPANSIONS)},
    "wide_limit": {"scales": (scales, SCALES)},
    "jump_times": {"saddles": (saddles, SADDLES)},
    "twin_constants": {"constants": (constants, CONSTANTS)},
    "spectral_filters": {"flow": (flow_filter, FLOW_FILTERS), "descent": (descent_filter, DESCENT_FILTERS)},
    "large_steps": {
        "advance": (step, STEPS),
        "two_cycle": (cycle, CYCLES),
        "multiplier": (multiplier, CYCLES),
        "largest_cycle": (largest_cycle, [{"depth": depth} for depth in (2, 3, 5)]),
    },
    "phase_descent": {"advance": (advance, ADVANCES)},
    "phase_bounds": {"log_bounds": (log_bounds, BOUNDS), "descent_exponents": (exponents, EXPONENTS)},
    "certificates": {
        "guaranteed_rate": (guaranteed_rate, RATES),
        "guaranteed_step": (guaranteed_step, REMARKS),
        "admissible_unbalancedness": (admissible, REMARKS),
        "margin_from_excess": (margin_from_excess, MARGINS),
    },
    "early_stopping": {"expected_error": (expected_error, ERRORS)},
    "label_noise": {"line": (line, LINES)},
    "silent_alignment": {"early": (early, EARLY)},
}
