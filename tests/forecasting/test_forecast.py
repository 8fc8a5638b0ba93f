"""The forecast against naive versions of every formula it rests on, and at its limits."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.linalg import expm, sqrtm

import lineament as la
from lineament.forecasting import forecast, paths, stability
from lineament.forecasting.forecast import notices
from lineament.forecasting.stopping import stopping
from lineament.theory import early_stopping, end_to_end, layers, phases


def table(n=200, p=4, k=1, noise=0.5, seed=0, falloff=0.5):
    rng = np.random.default_rng(seed)
    mixing = np.linalg.qr(rng.standard_normal((p, p)))[0] * falloff ** np.arange(p)
    X = rng.standard_normal((n, p)) @ mixing.T
    y = X @ rng.standard_normal((p, k)) + noise * rng.standard_normal((n, k))
    return X, y[:, 0] if k == 1 else y


# ---------------------------------------------------------------------------------------------------------
# Stability


@given(
    depth=st.integers(1, 4), k=st.integers(1, 3), p=st.integers(1, 4), extra=st.integers(0, 2), seed=st.integers(0, 99)
)
def test_sharpness_is_the_top_of_the_true_hessian(depth, k, p, extra, seed):
    rng = np.random.default_rng(seed)
    d, target = rng.uniform(0.1, 3.0, p), rng.standard_normal((k, p))
    chain = layers.balanced(target, [p, *[min(k, p) + extra] * (depth - 1), k])
    ends = np.cumsum([0, *(W.size for W in chain)])

    def gradient(flat):
        parts = [flat[i:j].reshape(W.shape) for i, j, W in zip(ends, ends[1:], chain, strict=False)]
        G = (layers.product(parts) - target) * d
        before = [np.eye(p)]
        for W in parts:
            before.append(W @ before[-1])
        after = np.eye(k)
        found = []
        for W, start in zip(parts[::-1], before[-2::-1], strict=True):
            found.append((after.T @ G @ start.T).ravel())
            after = after @ W
        return np.concatenate(found[::-1])

    at, h = np.concatenate([W.ravel() for W in chain]), 1e-5
    hessian = np.stack([(gradient(at + h * e) - gradient(at - h * e)) / (2 * h) for e in np.eye(len(at))])
    top = np.linalg.eigvalsh((hessian + hessian.T) / 2)[-1]
    assert stability.sharpness(target, d, depth) == pytest.approx(top, rel=1e-7)


def test_descent_settles_below_the_largest_stable_step_and_not_above():
    X, y = table(noise=0.1)
    for factor, settles in ((0.95, True), (1.05, False)):
        made = forecast(X, y, depth=2, start_scale=1e-2)
        m = made.moments
        # Begin beside the optimum: whether a step is stable is a question about the optimum.
        V, W = made.directions, made.target * 1.001
        chain = layers.balanced(W @ V.T, [4, 1, 1])
        problem = la.problems.regression_from_moments(m.sxx, m.syx, m.syy)
        net = la.models.DeepLinear((4, 1, 1))
        run = la.descend(
            net, problem, tuple(map(jnp.asarray, chain)), step_size=factor * made.largest_stable, steps=400,
            on_divergence="keep",
        )  # fmt: skip
        left = run.loss.values - made.floor
        assert (left[-1] < 1e-2 * left[0]) == settles


# ---------------------------------------------------------------------------------------------------------
# Paths


def test_the_deep_path_is_that_of_the_whole_map():
    X, y = table(p=4, k=2)
    made = forecast(X, y, depth=3, start_scale=1e-2)
    m, V = made.moments, made.directions
    best = made.target @ V.T
    at = np.unique(np.linspace(0, len(made.time) - 1, 12).astype(int))
    # In the features themselves, where Σxx is no diagonal, by the integrator of the theory.
    W = end_to_end.trajectory(made.time[at], made.W0 @ V.T, lambda W: (W - best) @ m.sxx, 3, rtol=1e-10)
    loss = [0.5 * np.trace(m.syy - 2 * w @ m.syx.T + w @ m.sxx @ w.T) for w in W]
    np.testing.assert_allclose(made.loss[at], loss, rtol=1e-6)
    share = np.sum((W @ V) * made.target, axis=1) / np.sum(made.target**2, axis=0)
    np.testing.assert_allclose(made.path.share[at], share, atol=2e-5)


@pytest.mark.parametrize("steps", [None, 400])
def test_what_is_read_off_a_path_does_not_depend_on_the_solver(monkeypatch, steps):
    X, y = table(p=4, k=2)
    implicit = forecast(X, y, depth=2, steps=steps)
    monkeypatch.setattr(paths, "DENSE", 0)
    explicit = forecast(X, y, depth=2, steps=steps)
    np.testing.assert_allclose(explicit.time, implicit.time, rtol=1e-6)
    np.testing.assert_allclose(explicit.loss, implicit.loss, rtol=1e-6)
    for a, b in zip(implicit.components, explicit.components, strict=True):
        assert (a.begins, a.half, a.ends) == pytest.approx((b.begins, b.half, b.ends), rel=1e-6)
    # No heavy component, and no time after the first record, moves by more than a fiftieth between two records.
    heavy = np.array([each.explained for each in implicit.components]) > 2e-3
    assert np.abs(np.diff(implicit.path.share, axis=0))[:, heavy].max() <= paths.FINE * (1 + 1e-6)
    assert (implicit.time[2:] / implicit.time[1:-1]).max() <= (1 + paths.FINE) * (1 + 1e-12)


def test_the_range_ends_where_enough_is_learnt():
    X, y = table(p=4, k=2)
    made = forecast(X, y, depth=2)
    share = made.path.share[:, [each.explained > 0.02 for each in made.components]]
    enough = (made.path.left <= 1e-3 * made.path.left[0]) & (share >= paths.DONE).all(axis=1)
    assert np.flatnonzero(enough).tolist() == [len(enough) - 1]
    assert made.learnt == pytest.approx(0.999, abs=1e-6) or share[-1].min() == pytest.approx(paths.DONE, abs=1e-6)


def test_the_largest_weight_of_a_mode_is_positive():
    X, y = table(p=4, k=3)
    assert all(each.features[0][1] > 0 for each in forecast(X, y, depth=2, whiten=True).components)


def test_one_layer_is_a_matrix_exponential():
    X, y = table(p=3, k=2)
    made = forecast(X, y, depth=1, start_scale=0.1)
    m, V = made.moments, made.directions
    best, W0 = made.target @ V.T, made.W0 @ V.T
    for i in (0, 10, 200, len(made.time) - 1):
        W = best + (W0 - best) @ expm(-m.sxx * made.time[i])
        assert made.loss[i] == pytest.approx(0.5 * np.trace(m.syy - 2 * W @ m.syx.T + W @ m.sxx @ W.T), rel=1e-9)
    share0 = made.path.share[0]
    for each, g0 in zip(made.components, share0, strict=True):
        if math.isfinite(each.half):
            assert each.half == pytest.approx(math.log((1 - g0) / 0.5) / each.variance, rel=1e-3)


def test_depth_one_of_the_general_path_is_the_closed_form():
    X, y = table(p=3, k=2)
    made = forecast(X, y, depth=1, start_scale=0.1)
    limits = {"until": None, "enough": 0.999, "longest": 1e9}
    path = paths.deep(made.W0, made.target, made.variances, 1, **limits)
    loss = np.interp(path.time, made.time, made.path.left)
    np.testing.assert_allclose(path.left, loss, atol=1e-3 * path.left[0])


@given(depth=st.integers(1, 5), k=st.integers(1, 4), start=st.sampled_from([1e-6, 1e-3, 1e-1]))
@hypothesis_settings(max_examples=10)
def test_whitened_modes_are_those_of_the_whitened_regression(depth, k, start):
    X, y = table(n=300, p=4, k=k, seed=k)
    made = forecast(X, y, depth=depth, start_scale=start, whiten=True)
    m = made.moments
    white = np.real(sqrtm(np.linalg.inv(m.sxx)))
    strengths = np.linalg.svd(m.syx @ white, compute_uv=False)
    np.testing.assert_allclose([each.strength for each in made.components], strengths, rtol=1e-8)
    np.testing.assert_allclose(made.W0 @ made.W0.T, start**2 * np.eye(k), atol=1e-12 * start**2)
    inside = [each for each in made.components if each.strength > 2 * start]
    exact = phases.timetable([each.strength for each in inside], start, depth)
    seen = [each for each in inside if math.isfinite(each.ends)]
    assert seen
    for each in seen:
        assert each.half == pytest.approx(exact.half[each.number - 1] / depth, rel=2e-3, abs=1e-3 * each.half)
    assert made.largest_stable == pytest.approx(2 / (depth * strengths[0] ** (2 - 2 / depth)), rel=1e-9)


def test_whitened_phases_separate_exactly_below_the_threshold():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    y = X @ np.diag([4.0, 1.0, 0.1])
    made = forecast(X, y, depth=3, whiten=True, start_scale=1e-3)
    (phase,) = made.phases
    assert (phase.first, phase.second) == (1, 2)
    below = forecast(X, y, depth=3, whiten=True, start_scale=0.9 * phase.threshold).phases[0]
    above = forecast(X, y, depth=3, whiten=True, start_scale=1.1 * phase.threshold).phases[0]
    assert below.separated
    assert below.pause > 0 > above.pause
    assert not above.separated


def test_more_learning_takes_more_time():
    X, y = table(p=5, k=2)
    for depth in (1, 2, 3):
        made = forecast(X, y, depth=depth)
        assert made.learnt >= 0.999 * (1 - 1e-9)
        assert (np.diff(made.loss) <= 1e-9 * made.loss[0]).all(), "the loss of a flow never rises"
        for each in made.components:
            assert 0 <= each.begins <= each.half <= each.ends
        assert all(math.isfinite(e.ends) for e in made.components if e.explained >= 0.011 * made.r2)


# ---------------------------------------------------------------------------------------------------------
# When to stop


def test_one_layer_stops_as_the_theory_of_early_stopping_says():
    rng = np.random.default_rng(0)
    d, truth, n, noise = np.array([2.0, 0.5, 0.01]), rng.standard_normal((2, 3)), 50, 3.0
    task = early_stopping.task(n * d, truth, np.zeros((2, 3)), d, noise)
    t = np.geomspace(1e-2, 1e4, 60)
    share = -np.expm1(-np.multiply.outer(t, d))
    path = paths.Progress(t, share, np.zeros(60), np.zeros(60))
    variance = np.full(3, 2 * noise / n)
    # Least squares sees, on average, the signal and the noise.
    found = stopping(path, np.sum(truth**2, axis=0) * d + variance, variance, 2 * noise, n)
    error = early_stopping.expected_error(t, task, d)
    np.testing.assert_allclose(found.loss, 0.5 * (2 * noise * (1 + 1 / n) + error), rtol=1e-12)
    best = early_stopping.best_stopping(task, d)
    assert found.best == pytest.approx(best.time, rel=0.2)
    assert found.window[0] <= found.best <= found.window[1]
    assert found.final == pytest.approx(0.5 * (2 * noise * (1 + 1 / n) + best.final), rel=1e-12)


def test_the_loss_of_a_fixed_design_is_that_on_new_inputs_of_the_sample_covariance():
    rng = np.random.default_rng(3)
    p, n, noise = 12, 40, 2.0
    truth = rng.standard_normal(p) * 0.3
    forecasts, losses = [], []
    for _ in range(60):
        X = rng.standard_normal((n, p))
        y = X @ truth + noise * rng.standard_normal(n)
        made = forecast(X, y, depth=1, start_scale=1e-9, standardise=False, steps=60, step_size=0.05)
        last = np.linalg.lstsq(X - X.mean(0), y - y.mean(), rcond=None)[0]
        w = (made.path.share[-1] * (made.directions.T @ last)) @ made.directions.T
        forecasts.append([made.stopping.fixed_design.loss[-1], made.stopping.noise])
        # The error on new inputs of the sample's own covariance, which is what is forecast.
        losses.append(0.5 * (noise**2 * (1 + 1 / n) + (w - truth) @ made.moments.sxx @ (w - truth)))
    told, noise_told = np.mean(forecasts, axis=0)
    assert noise_told == pytest.approx(noise**2, rel=0.1)
    assert told == pytest.approx(np.mean(losses), rel=0.1)


def test_without_noise_training_never_hurts():
    X, y = table(noise=0.0, n=400)
    found = forecast(X, y, depth=2).stopping
    assert found.best == math.inf
    assert found.window[1] == math.inf
    assert found.gain == 0.0


def test_pure_noise_is_best_not_learnt():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 20)), rng.standard_normal(60)
    found = forecast(X, y, depth=1, start_scale=1e-6).stopping
    assert found.gain > 0.05
    assert found.best < math.inf


# ---------------------------------------------------------------------------------------------------------
# The whole


def test_what_training_data_explain_is_r_squared():
    X, y = table(k=2)
    made = forecast(X, y)
    best = np.linalg.lstsq(X - X.mean(0), y - y.mean(0), rcond=None)[0]
    residual = y - y.mean(0) - (X - X.mean(0)) @ best
    assert made.floor == pytest.approx(0.5 * np.mean(np.sum(residual**2, axis=1)), rel=1e-10)
    assert sum(each.explained for each in made.components) == pytest.approx(made.r2, rel=1e-10)


def test_fewer_rows_than_columns_are_told_of_and_learnt_within_their_span():
    X, y = table(n=8, p=20)
    made = forecast(X, y, depth=2)
    assert len(made.variances) == 7
    assert made.r2 == pytest.approx(1.0)
    assert made.stopping is None
    assert "8 rows for 20 columns" in made.notices[0]
    assert "13 directions of the inputs do not vary" in made.notices[1]
    full_rank = made.premises[0]
    assert not full_rank.met
    assert full_rank.value == pytest.approx(7 / 20)


def test_collinear_columns_change_nothing():
    X, y = table(p=3)
    twice = forecast(np.column_stack([X, X[:, 0]]), y, depth=1, start_scale=1e-9)
    assert len(twice.variances) == 3
    assert twice.r2 == pytest.approx(forecast(X, y).r2, rel=1e-10)


def test_columns_that_depend_on_each_other_up_to_single_precision_change_nothing():
    rng = np.random.default_rng(0)
    X = 300 + 40 * rng.standard_normal((100, 3))
    y = (X - 300) @ [0.1, 0.2, -0.1] + rng.standard_normal(100)
    plain = forecast(X, y, depth=3)
    # A sum of columns, stored with seven digits, is another column; least squares reads huge weights off what is left.
    rounded = np.float32(np.c_[X, X.sum(axis=1)]).astype(float)
    made = forecast(rounded, y, depth=3)
    assert len(made.variances) == 3
    assert made.floor == pytest.approx(plain.floor, rel=1e-4)
    assert made.recommended == pytest.approx(plain.recommended, rel=0.5)
    assert any("columns depend on each other" in said for said in made.notices)


def test_step_size_and_range_follow_what_is_asked_for():
    X, y = table()
    free = forecast(X, y)
    assert free.step_size == free.recommended == pytest.approx(0.05 * free.largest_stable)
    asked = forecast(X, y, step_size=free.step_size / 2, steps=10)
    assert asked.time[-1] == pytest.approx(10 * free.step_size / 2)
    assert asked.steps == 10
    assert "is learnt; the rest takes longer" in asked.notices[-1]
    halved = forecast(X, y, step_size=free.step_size / 2)
    assert halved.steps == pytest.approx(2 * free.steps, abs=1)
    beyond = forecast(X, y, step_size=3 * free.largest_stable)
    assert "the forecast ends there" in " ".join(beyond.sentences)
    assert f"The step size is 3 times the largest stable one. Recommended: {free.recommended:.3g}." in beyond.notices


def test_the_same_seed_is_the_same_forecast_and_another_is_not():
    X, y = table(k=2)
    a, b, c = (forecast(X, y, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.loss, b.loss)
    assert a.components[0].half != c.components[0].half


def test_units_of_a_standardised_feature_do_not_matter():
    X, y = table(k=2)
    a, b = forecast(X, y), forecast(X * np.array([1e3, 1e-3, 1.0, 7.0]), y)
    np.testing.assert_allclose([e.half for e in a.components], [e.half for e in b.components], rtol=1e-4)
    assert b.largest_stable == pytest.approx(a.largest_stable, rel=1e-9)


def test_premises_tell_what_is_so():
    rng = np.random.default_rng(0)
    X, _ = np.linalg.qr(rng.standard_normal((200, 3)) - rng.standard_normal((200, 3)).mean(0))
    y = X[:, 0] * 5
    white = {p.name: p for p in forecast(X, y, whiten=True).premises}
    assert white["whitened inputs"].met
    assert white["commuting moments"].met
    assert white["balanced start"].met
    assert white["deficiency margin"].met, "an aligned start of one output has the margin of its own scale"
    assert white["deficiency margin"].value == pytest.approx(1e-3, rel=1e-6)
    made = forecast(*table(p=4))
    plain = {p.name: p for p in made.premises}
    A = made.moments.syx.T @ made.moments.syx
    S = made.moments.sxx
    commutator = np.linalg.norm(S @ A - A @ S) / (np.linalg.norm(S, 2) * np.linalg.norm(A))
    assert plain["commuting moments"].value == pytest.approx(commutator, rel=1e-9)
    assert not plain["whitened inputs"].met
    assert plain["whitened inputs"].value == pytest.approx(np.abs(np.linalg.eigvalsh(S) - 1).max(), rel=1e-9)


def test_classes_by_name_and_on_request():
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((90, 3)), np.repeat([0, 1, 2], 30)
    X[:, 0] += labels
    named, asked = forecast(X, np.array(["a", "b", "c"])[labels]), forecast(X, labels, classes=True)
    np.testing.assert_allclose(named.loss, asked.loss)
    number = forecast(X, labels)
    assert number.moments.outputs == ("y",)
    assert any("--classes" in notice for notice in number.notices)


def test_a_data_frame_names_its_columns():
    pandas = pytest.importorskip("pandas")
    X, y = table(p=2)
    made = forecast(pandas.DataFrame(X, columns=["left", "right"]), pandas.Series(y))
    assert made.moments.features == ("left", "right")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"depth": 0}, "depth must be a whole number of at least 1 and at most 100; got 0"),
        ({"depth": 1.5}, "depth must be a whole number"),
        ({"depth": 1_000_000}, "depth must be a whole number of at least 1 and at most 100; got 1000000"),
        ({"step_size": 1e-320}, "step_size must be between .*; got .*Recommended"),
        ({"step_size": 1e300}, "step_size must be between"),
        ({"start_scale": 60000.0}, "start_scale must be at most .* for this table; got 60000"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"start_scale": 0.0}, "start_scale must be a finite number above 0; got 0"),
        ({"step_size": -1.0}, "step_size must be a finite number above 0; got -1"),
        ({"steps": 0}, "steps must be a whole number of at least 1 and at most 1000000000000; got 0"),
    ],
)
def test_settings_out_of_range_are_refused(settings, said):
    with pytest.raises(ValueError, match=said):
        forecast(*table(), **settings)


def test_one_feature_one_target():
    x = np.linspace(-1, 1, 20)
    for depth in (1, 2, 3):
        made = forecast(x[:, None], 2 * x, depth=depth)
        assert made.r2 == pytest.approx(1.0)
        assert len(made.components) == 1
        assert made.phases == ()
        assert dataclasses.is_dataclass(made)


def test_no_single_component_needs_to_matter():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 200))
    y = X @ np.ones(200)
    for depth in (1, 2):
        made = forecast(X, y, depth=depth)
        assert max(each.explained for each in made.components) < 0.1
        assert made.learnt >= 0.999 - 1e-9
    assert forecast(X, y, whiten=True).learnt >= 0.999 - 1e-9


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("whiten", [False, True])
def test_a_start_above_the_target_comes_down(depth, whiten):
    X, y = table(k=2)
    made = forecast(X, 0.01 * y, depth=depth, whiten=whiten, start_scale=1.0)
    assert made.learnt >= 0.999 - 1e-9
    assert made.loss[-1] < made.loss[0]
    if whiten:
        assert all(each.ends == 0 for each in made.components), "all of it is there from the beginning, and more"


def test_a_plateau_longer_than_the_range_is_told_of():
    made = forecast(*table(), depth=12, start_scale=1e-12)
    assert made.learnt < 0.01
    assert all(each.half == math.inf for each in made.components)
    assert "100\u202f000 steps 0.0 % of what can be learnt" in made.notices[-1]


def test_words_are_not_numbers():
    X, _ = table(n=4)
    with pytest.raises(ValueError, match="must hold numbers to be learnt as such"):
        forecast(X, np.array(["a", "b", "a", "b"]), classes=False)
    objects = np.array([1, 2.5, None, 4], dtype=object)
    made = forecast(X, objects)
    assert not made.moments.classes
    assert made.moments.missing == 1


def test_a_whitened_forecast_does_not_depend_on_the_variances_of_the_inputs():
    X, y = table(k=2)
    mixed = X @ np.random.default_rng(5).normal(size=(X.shape[1], X.shape[1])) * 7
    plain, other = (forecast(inputs, y, whiten=True, standardise=False) for inputs in (X, mixed))
    for one, two in zip(plain.premises, other.premises, strict=True):
        assert (one.name, one.met, one.meaning) == (two.name, two.met, two.meaning)
        assert one.value == pytest.approx(two.value, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose([e.half for e in plain.components], [e.half for e in other.components], rtol=1e-6)


def test_the_meaning_of_a_premise_says_whether_it_is_met():
    X, y = table()
    for start, said in ((1e-3, "no guarantee of convergence follows"), (1.0, "is guaranteed from this start")):
        # One output, one whitened mode: a start in its direction, below or near the target, has a margin of its own.
        inputs, target = (X[:, :1], 2 * X[:, 0]) if start == 1.0 else (X, y)
        margin = next(p for p in forecast(inputs, target, start_scale=start).premises if p.name == "deficiency margin")
        assert margin.met == (margin.value > 0)
        assert margin.met == ("is guaranteed" in margin.meaning)
        assert said in margin.meaning or margin.met != (start == 1.0)


def test_rows_left_out_are_told_of():
    X, y = table()
    X = X.copy()
    X[[2, 5, 7], 0] = np.nan
    assert f"3 of {len(X)} rows have a missing value and were left out." in notices(forecast(X, y))


def test_a_best_window_that_reaches_to_the_end_has_no_end():
    """The loss falls, and rises again by less than the window allows: any later time is as good."""
    time = np.arange(5.0)
    share = np.array([[0.0], [0.5], [0.9], [1.0], [1.0]])
    path = paths.Progress(time, share, np.zeros(5), np.zeros(5))
    seen, variance = np.array([2.0]), np.array([0.2])
    found = stopping(path, seen, variance, 3.0, 1000)
    assert found.best == 2.0
    assert found.window[1] == np.inf
    assert found.final > found.least
