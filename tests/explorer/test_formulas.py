"""Every formula of the page against the package: a thousand random settings of each, computed in the real page."""

import numpy as np
import pytest

from lineament.theory import (
    assumptions,
    certificates,
    end_to_end,
    lambda_modes,
    modes,
    phase_bounds,
    phases,
    twin,
    two_layer,
)

COUNT = 1000
BAR = 1e-10
EPS = np.finfo(float).eps


def in_page(site, name: str, *arguments) -> np.ndarray:
    """A function of the page, entry by entry over the arguments."""
    rows = [np.asarray(argument, float).tolist() for argument in arguments]
    found = site.page.evaluate(
        """([name, rows]) => {
          const f = name.split(".").reduce((object, part) => object[part], lineament);
          return f(...rows);
        }""",
        [name, rows],
    )
    return np.array(found, dtype=float)


def gap(found, wanted) -> np.ndarray:
    """The relative difference; none where both are the same infinity, or both are not a number."""
    found, wanted = np.broadcast_arrays(np.asarray(found, float), np.asarray(wanted, float))
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(found - wanted) / np.where(wanted == 0, 1.0, np.abs(wanted))
    return np.where(same, 0.0, np.where(np.isnan(off), np.inf, off))


@pytest.fixture
def rng():
    return np.random.default_rng(18)


def depths(rng, least: float = 1.0) -> np.ndarray:
    """Real depths of all sizes, whole ones and infinity among them."""
    real = 1 / (1 - rng.uniform(1 - 1 / least, 1, COUNT))
    chosen = rng.choice([max(least, 1.0), 2.0, 3.0, 4.0, np.inf], COUNT)
    return np.where(rng.random(COUNT) < 0.4, chosen, real)


def mode_settings(rng):
    """Targets, starts from 1e-12 of them to ten times as large, depths, and values on the way, even in log σ."""
    target, ratio, depth = 10 ** rng.uniform(-2, 2, COUNT), 10 ** rng.uniform(-12, 1, COUNT), depths(rng)
    start = target * ratio
    return target * ratio ** rng.uniform(0, 1, COUNT), target, start, depth


def test_time_to(site, rng):
    settings = mode_settings(rng)
    assert gap(in_page(site, "modes.time_to", *settings), modes.time_to(*settings)).max() <= BAR


@pytest.mark.parametrize("name", ["trajectory", "residual"])
def test_modes(site, rng, name):
    value, target, start, depth = mode_settings(rng)
    t = modes.time_to(value, target, start, depth)
    wanted = getattr(modes, name)(t, target, start, depth)
    # σ at a float64 time is known to κ units in the last place and no better, where κ = t σ̇/σ (see the package).
    speed = value ** (1 - 2 / depth) * np.abs(target - value)
    kappa = t * speed * (1.0 if name == "trajectory" else value / np.abs(target - value))
    allowed = np.maximum(BAR, 16 * EPS * kappa)
    found = gap(in_page(site, f"modes.{name}", t, target, start, depth), wanted)
    assert np.all(found <= allowed)
    assert np.sum(allowed == BAR) > 0.7 * COUNT
    assert found[allowed == BAR].max() <= BAR


def test_the_drawn_curves(site, rng):
    """Curves are read off a table of the one that all modes of a depth share: at every sixtieth of the times drawn."""
    panels = [
        (np.sort(10 ** rng.uniform(-3, 3, 20))[::-1].tolist(), float(10 ** rng.uniform(-12, 1)), float(depth), x)
        for depth, x in zip(depths(rng)[:60], ["linear", "log"] * 30, strict=True)
    ]
    site.show("panel=modes")
    found = site.page.evaluate(
        """panels => panels.map(([spectrum, start, depth, x]) => {
          lineament.explorer.set({ spectrum, start, depth: depth ?? Infinity, x });
          lineament.explorer.render();
          const { loss, effective_rank, ...rest } = lineament.explorer.columns();
          return Object.values(rest).map(column => Array.from(column).filter((_, i) => i % 60 === 0));
        })""",
        [(spectrum, start, None if np.isinf(depth) else depth, x) for spectrum, start, depth, x in panels],
    )
    for (t, *sigma), (spectrum, start, depth, _) in zip(np.array(found), panels, strict=True):
        target = np.array(spectrum)
        wanted = modes.trajectory(t[:, None], target, start, depth)
        kappa = t[:, None] * wanted ** (1 - 2 / depth) * np.abs(target - wanted)
        assert np.all(gap(np.transpose(sigma), wanted) <= np.maximum(BAR, 64 * EPS * kappa)), (start, depth)


def test_modes_at_the_limits(site):
    for arguments in [(0, 2, 0.1, 3), (np.inf, 2, 0.1, 3), (5, 2, 0, 1.5), (5, 2, 0, 3), (5, 0, 0.3, 4), (5, 2, 2, 3)]:
        assert in_page(site, "modes.trajectory", *arguments) == pytest.approx(
            float(modes.trajectory(*arguments)), rel=BAR
        )
    assert np.isnan(in_page(site, "modes.time_to", 3, 2, 0.1, 3))
    assert in_page(site, "modes.time_to", 2, 2, 0.1, 3) == np.inf


def phase_settings(rng, least: float = 1.0):
    ratio = 1 + 10 ** rng.uniform(-1.5, 2, COUNT)
    return depths(rng, least), ratio, rng.uniform(0.001, 0.5, COUNT), rng.uniform(0.5, 0.999, COUNT)


@pytest.mark.parametrize("name", ["threshold", "log_threshold"])
def test_thresholds(site, rng, name):
    settings = phase_settings(rng)
    assert gap(in_page(site, f"phases.{name}", *settings), getattr(phases, name)(*settings)).max() <= BAR


def test_decisions_on_both_sides_of_the_threshold(site, rng):
    depth, ratio, s, f = phase_settings(rng, 2.0)
    edge = phases.threshold(depth, ratio, s, f)
    sound = edge > 1e-200
    start = np.where(sound, edge, 1e-3) * np.where(rng.random(COUNT) < 0.5, 0.999, 1.001)
    start = np.minimum(start, 0.99)
    arguments = (start, ratio, np.ones(COUNT), s, f, depth)
    assert np.array_equal(
        in_page(site, "phases.is_incremental", *arguments).astype(bool), phases.is_incremental(*arguments)
    )


def test_timetables(site, rng):
    target, depth = 10 ** rng.uniform(-2, 2, COUNT), depths(rng)
    start = target * 10 ** rng.uniform(-10, -0.1, COUNT)
    rows = [list(map(float, row)) for row in zip(target, start, depth, strict=True)]
    found = site.page.evaluate(
        "rows => rows.map(row => { const t = lineament.phases.timetable(...row); return [t.begins, t.half, t.ends]; })",
        rows,
    )
    assert gap(np.array(found).T, np.array(phases.timetable(target, start, depth))).max() <= BAR


def test_bounds(site, rng):
    depth, ratio, s, f = phase_settings(rng, 2.0)
    printed = np.where((depth > 2) & (depth < 3), 3.0, depth)
    c, share = rng.uniform(0.001, 0.82, COUNT), rng.uniform(0.01, 1, COUNT)
    for name, arguments in {
        "log_bounds": (printed, ratio, s, f),
        "log_bounds_corrected": (depth, ratio, s, f),
        "log_bounds_descent": (ratio, s, f, c, share),
        "descent_exponents": (ratio, c, share),
    }.items():
        found = in_page(site, f"phase_bounds.{name}", *arguments).T
        wanted = np.array(getattr(phase_bounds, name)(*arguments))
        # 1/(A − 1) loses the digits that A shares with 1.
        A, B = (
            phase_bounds.descent_exponents(ratio, c, share) if name == "log_bounds_descent" else (np.zeros(COUNT),) * 2
        )
        allowed = np.maximum(BAR, 64 * EPS / np.abs(np.array([A, B]) - 1))
        assert np.all(gap(found, wanted) <= allowed), name
    assert gap(in_page(site, "phase_bounds.largest_step", ratio), phase_bounds.largest_step(ratio)).max() <= BAR


def lambda_settings(rng):
    size = lambda low, high: rng.choice([-1, 1], COUNT) * 10 ** rng.uniform(low, high, COUNT)  # noqa: E731
    return size(-2, 2), size(-6, 2), np.where(rng.random(COUNT) < 0.1, 0.0, size(-6, 2))


@pytest.mark.parametrize("name", ["trajectory", "residual"])
def test_lambda_modes(site, rng, name):
    target, start, balance = lambda_settings(rng)
    t = 10 ** rng.uniform(-4, 3, COUNT)
    wanted = getattr(lambda_modes, name)(t, target, start, balance)
    found = in_page(site, f"lambda_modes.{name}", t, target, start, balance)
    # Where σ changes sign it has absolute precision: of the larger of start and target.
    size = np.maximum(np.abs(start), np.abs(target)) if name == "trajectory" else 0.0
    assert np.all(np.abs(found - wanted) <= np.maximum(BAR * np.abs(wanted), 16 * EPS * size))


def test_lambda_times_and_laziness(site, rng):
    target, start, balance = lambda_settings(rng)
    value = start + (target - start) * rng.uniform(0, 1, COUNT)
    for name, arguments in {"time_to": (value, target, start, balance), "laziness": (target, start, balance)}.items():
        found = in_page(site, f"lambda_modes.{name}", *arguments)
        assert gap(found, getattr(lambda_modes, name)(*arguments)).max() <= BAR, name


def test_final_layers(site, rng):
    cases = [
        (np.sort(10 ** rng.uniform(-3, 2, 4))[::-1].tolist(), float(10 ** rng.uniform(-4, 2)), 6) for _ in range(COUNT)
    ]
    found = site.page.evaluate(
        "cases => cases.map(c => lineament.lambda_modes.final_layer_singular_values(...c))", cases
    )
    for each, case in zip(found, cases, strict=True):
        wanted = lambda_modes.final_layer_singular_values(*case)
        assert max(gap(each["W1"], wanted.W1).max(), gap(each["W2"], wanted.W2).max()) <= BAR


def balanced_layers(rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A λ-balanced start that is not aligned with its target: W2ᵀW2 = W1W1ᵀ + λI, or the other way round."""
    inputs, outputs = rng.integers(1, 6, 2)
    balance = rng.choice([0, 1]) * 10 ** rng.uniform(-3, 1)
    hidden = int(rng.integers(1, max(inputs, outputs) + 1)) if balance else int(rng.integers(1, 6))
    tall, short = max(inputs, outputs, hidden), min(inputs, outputs)
    narrow = 10 ** rng.uniform(-4, 0.3) * rng.normal(size=(hidden, short))
    w, V = np.linalg.eigh(narrow @ narrow.T + balance * np.eye(hidden))
    wide = np.linalg.qr(rng.normal(size=(tall, hidden)))[0] @ (V * np.sqrt(np.maximum(w, 0))) @ V.T
    W1, W2 = (narrow, wide) if rng.random() < 0.5 else (wide.T, narrow.T)
    rank = int(rng.integers(1, min(W2.shape[0], W1.shape[1]) + 1))
    target = rng.normal(size=(len(W2), rank)) @ rng.normal(size=(rank, W1.shape[1]))
    return W1, W2, target


def test_two_layers_from_any_balanced_start(site, rng):
    """The product and both Grams of a thousand starts that are not aligned, each at one time, the limit among them."""
    cases = []
    for _ in range(COUNT):
        W1, W2, target = balanced_layers(rng)
        t = float(rng.choice([0.0, np.inf, 10 ** rng.uniform(-2, 2)], p=[0.05, 0.15, 0.8]))
        cases.append((t, W1, W2, target / np.linalg.norm(target, 2) * 10 ** rng.uniform(-0.5, 0.7)))
    found = site.page.evaluate(
        "cases => cases.map(([t, ...matrices]) => lineament.two_layer.grams(t ?? Infinity, ...matrices))",
        [(None if np.isinf(t) else t, *(A.tolist() for A in matrices)) for t, *matrices in cases],
    )
    for each, case in zip(found, cases, strict=True):
        wanted = two_layer.grams(*case)
        size = max(np.linalg.norm(part) for part in wanted)
        for name in ("product", "first", "second"):
            assert np.linalg.norm(np.array(each[name]) - getattr(wanted, name)) <= BAR * size, (name, case)


def test_the_balance_of_two_layers(site, rng):
    for _ in range(20):
        W1, W2, _ = balanced_layers(rng)
        for A, B in ((W1, W2), (W1 + 0.1 * rng.normal(size=W1.shape), W2)):
            found = site.page.evaluate("([A, B]) => lineament.two_layer.balance(A, B)", [A.tolist(), B.tolist()])
            wanted = two_layer.balance(A, B)
            size = np.linalg.norm(np.concatenate([A.T, B]), 2) ** 2
            assert found["value"] == pytest.approx(wanted.value, rel=BAR, abs=1e-14 * size)
            assert found["violation"] == pytest.approx(wanted.violation, rel=BAR, abs=1e-14)


def test_the_end_to_end_field(site, rng):
    cases = []
    for _ in range(COUNT):
        shape = rng.integers(1, 5, 2)
        cases.append((rng.normal(size=shape).tolist(), rng.normal(size=shape).tolist(), int(rng.integers(1, 9))))
    found = site.page.evaluate("cases => cases.map(c => lineament.end_to_end.field(...c))", cases)
    for each, (W, grad, depth) in zip(found, cases, strict=True):
        wanted = end_to_end.field(W, grad, depth)
        assert np.linalg.norm(np.array(each) - wanted) <= BAR * np.linalg.norm(wanted)
    rows = [(c[0][0], c[1][0], c[2]) for c in cases]
    found = site.page.evaluate("cases => cases.map(c => lineament.end_to_end.field_one_output(...c))", rows)
    for each, row in zip(found, rows, strict=True):
        wanted = end_to_end.field_one_output(*row)
        assert np.linalg.norm(np.array(each) - wanted) <= BAR * np.linalg.norm(wanted)


def test_certificates(site, rng):
    cases = []
    for _ in range(COUNT):
        shape = rng.integers(1, 4, 2)
        target = rng.normal(size=shape)
        cases.append(
            (
                target + 0.1 * rng.normal(size=shape),
                target,
                float(10 ** rng.uniform(-3, 1)),
                float(rng.uniform(0.1, 3)),
            )
        )
    found = site.page.evaluate(
        """cases => cases.map(([W, T, x, a]) => { const c = lineament.certificates;
          return [c.deficiency_margin(W, T), c.distance_to_deficient(W, x), c.margin_from_excess(x, T, a)]; })""",
        [(W.tolist(), T.tolist(), x, a) for W, T, x, a in cases],
    )
    wanted = [
        (
            certificates.deficiency_margin(W, T),
            certificates.distance_to_deficient(W, x),
            certificates.margin_from_excess(x, T, a),
        )
        for W, T, x, a in cases
    ]  # fmt: skip
    # Differences of singular values and norms: exact to rounding of those.
    assert np.all(np.abs(np.array(found) - wanted) <= BAR * np.abs(wanted) + 64 * EPS * 10)
    depth, margin, alpha = rng.integers(1, 9, COUNT), 10 ** rng.uniform(-3, 1, COUNT), 10 ** rng.uniform(-1, 1, COUNT)
    rates = [certificates.guaranteed_rate(int(n), d, a) for n, d, a in zip(depth, margin, alpha, strict=True)]
    assert gap(in_page(site, "certificates.guaranteed_rate", depth, margin, alpha), rates).max() <= BAR
    excess = 10 ** rng.uniform(-2, 3, COUNT)
    times = [certificates.guaranteed_time(1e-3, e, int(n), d) for e, n, d in zip(excess, depth, margin, strict=True)]
    assert (
        gap(in_page(site, "certificates.guaranteed_time", np.full(COUNT, 1e-3), excess, depth, margin), times).max()
        <= BAR
    )


@pytest.mark.parametrize("name", ["elu", "erf", "gelu", "leaky_relu", "linear", "relu", "sigmoid", "softplus", "tanh"])
def test_constants_and_features(site, rng, name):
    found = site.page.evaluate("name => lineament.twin.constants(name)", name)
    assert np.allclose(list(found.values()), twin.constants(name), rtol=BAR, atol=1e-13)
    settings = 10 ** rng.uniform(-2, 1, (120, 3))
    maps = site.page.evaluate(
        "([n, rows]) => rows.map(r => lineament.twin.feature_map(n, ...r))", [name, settings.tolist()]
    )
    for each, (spread, first, second) in zip(maps, settings, strict=True):
        wanted = twin.feature_map(name, spread=spread, first=first, second=second)
        assert np.allclose(
            [each["linear"], each["constant"], *each["norm"]], [*wanted[:2], *wanted.norm], rtol=BAR, atol=1e-12
        )


def test_twins(site, rng):
    """A thousand losses: forty twins, each at twenty-five times."""
    steps = [0, *np.unique(np.geomspace(1, 1e5, 24).astype(int)).tolist()]
    for index in range(40):
        n, d = int(rng.integers(8, 60)), int(rng.integers(2, 12))
        X, y, eta = rng.normal(size=(n, d)), rng.normal(size=n), d * rng.uniform(0.05, 0.5, 2)
        name = ("relu", "erf", "tanh", "softplus")[index % 4]
        found = site.page.evaluate(
            """([X, y, name, a, b, steps]) => { const t = lineament.twin.two_layer(X, y, name, a, b);
              return { loss: steps.map(k => t.loss(k)), rates: [...t.rates], horizon: t.horizon() }; }""",
            [X.tolist(), y.tolist(), name, *eta.tolist(), steps],
        )
        wanted = twin.two_layer(X, y, activation=name, first_step_size=eta[0], second_step_size=eta[1])
        assert found["horizon"] == pytest.approx(wanted.horizon(), rel=BAR)
        assert np.allclose(found["rates"], wanted.rates, rtol=BAR, atol=1e-13)
        if wanted.stable:
            loss = wanted.loss(steps)
            # Predictions are known to rounding of the labels: a loss that has gone to nothing has no digits of its own.
            blur = 16 * EPS * np.sqrt(loss[0] * np.maximum(loss, (16 * EPS) ** 2 * loss[0]))
            assert np.all(np.abs(found["loss"] - loss) <= BAR * loss + blur)


@pytest.mark.parametrize("n", [40, 700])
def test_assumptions(site, rng, n):
    """Seven hundred examples have more pairs than are looked at: the draws, too, must be those of the package."""
    X = rng.standard_t(4, size=(n, 6))
    found = site.page.evaluate("X => lineament.assumptions.check(X)", X.tolist())
    for mine, line in zip(found, assumptions.check(X).lines, strict=True):
        assert (mine["name"], mine["holds"]) == (line.name, line.holds)
        assert (
            gap([mine["value"], mine["reference"], mine["allowed"]], [line.value, line.reference, line.allowed]).max()
            <= BAR
        )


def test_random_numbers_are_numpys(site):
    drawn = site.page.evaluate(
        "() => { const g = lineament.default_rng(7); return Array.from({length: 5000}, () => g.normal()); }"
    )
    assert np.allclose(drawn, np.random.default_rng(7).standard_normal(5000), rtol=1e-13, atol=0)
    whole = site.page.evaluate(
        "() => { const g = lineament.default_rng(7); return Array.from({length: 999}, (_, i) => g.below(i + 2)); }"
    )
    assert whole == np.random.default_rng(7).integers(0, np.arange(2, 1001)).tolist()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ("lineament.modes.trajectory(-1, 1, 1, 2)", "t must hold"),
        ("lineament.modes.trajectory(1, 1, 1, 0.5)", "depth must hold"),
        ("lineament.modes.trajectory(1, 1, 1e-310, 5)", "does not overflow"),
        ("lineament.phases.threshold(3, 1, 0.1, 0.9)", "ratio must hold"),
        ("lineament.phase_bounds.log_bounds(2.5, 2, 0.1, 0.9)", "depth must be 2 or at least 3"),
        ("lineament.lambda_modes.laziness(1, 1, Infinity)", "balance must hold finite"),
        ("lineament.end_to_end.field([[1]], [[1]], 1.5)", "whole number"),
        (
            "lineament.two_layer.trajectory(1, [[1, 0], [0, 2]], [[1, 0], [0, 1]], [[1, 0], [0, 1]])",
            "must be λ-balanced",
        ),
        ("lineament.two_layer.trajectory(1, [[1, 0]], [[1]], [[1]])", "target must hold"),
        ("lineament.two_layer.trajectory(1, [[1], [2]], [[1]], [[1]])", "one h"),
        ("lineament.twin.constants('sine')", "activation must be one of"),
        ("lineament.modes.trajectory([1, 2], [1, 2, 3], 1, 2)", "equally long"),
    ],
)
def test_refusals_name_what_is_wrong(site, call, named):
    message = site.page.evaluate(
        "call => { try { return String(eval(call)); } catch (error) { return error.message; } }", call
    )
    assert named in message
