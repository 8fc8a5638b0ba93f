"""How forecasts are judged against what happened: every bar from both of its sides, on runs made up for it."""

from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import lineament as la
from lineament.data import tables
from lineament.forecasting import compare, curve_estimate, network_train, regression, scoreboard, scoreboard_curves
from lineament.forecasting.curve_result import LearningCurve, Step, Trial
from lineament.linearisation import Band

learning_curves = import_module("lineament.forecasting.learning_curve")  # the package has a function of this name

# ---------------------------------------------------------------------------------------------------------
# Networks


def linearised(classes=False, **change):
    """Four records of a forecast, the last of them not safe."""
    curves = SimpleNamespace(
        loss=np.array([4.0, 2.0, 1.0, 0.5]),
        test_loss=np.array([5.0, 4.0, 2.0, 1.0]),
        test_accuracy=np.array([0.1, 0.5, 0.8, 0.9]),
    )
    given = {
        "at": np.array([0, 1, 10, 100]), "safe_step": 50.0, "curves": curves, "band": None, "classes": classes,
        "exact": False, "steps": 100,
    }  # fmt: skip
    return SimpleNamespace(**given | change)


def compared(lin, scale=1.0, agreement=1.0, **change):
    """A run whose losses are so many times those that were forecast."""
    run = {
        "loss": scale * lin.curves.loss,
        "test_loss": lin.curves.test_loss.copy(),
        "test_accuracy": lin.curves.test_accuracy,
    }
    given = {
        "forecast": SimpleNamespace(linearised=lin),
        "run": run,
        "agreement": agreement,
        "departed": 70.0,
        "covered": 0.75,
    }
    return SimpleNamespace(**given | change)


@pytest.mark.parametrize(
    ("name", "scale", "place", "passes"),
    [("loss", 1.09, 2, True), ("loss", 1.11, 2, False), ("loss", 0.91, 1, True), ("loss", 0.89, 1, False),
     ("loss", 5.0, 3, True), ("test_loss", 1.09, 0, True), ("test_loss", 1.11, 0, False), ("test_loss", 0.5, 3, True)],
)  # fmt: skip
def test_losses_are_judged_in_the_safe_region_alone(name, scale, place, passes):
    lin = linearised()
    run = compared(lin).run
    run[name] = run[name].copy()
    run[name][place] *= scale
    test, training = network_train._checks(lin, run, float("nan"))
    assert (test.passed, training.passed) == (passes or name == "loss", passes or name == "test_loss")
    judged = training if name == "loss" else test
    assert judged.value == pytest.approx(abs(scale - 1) if place < 3 else 0.0)


def test_a_band_of_batches_gives_room():
    curves = linearised().curves
    band = Band(0.8 * curves.loss, 1.2 * curves.loss, 0.9 * curves.test_loss, 1.1 * curves.test_loss)
    lin = linearised(band=band)
    for scale, passes in ((1.34, True), (1.36, False), (0.66, True), (0.64, False)):
        _, training = network_train._checks(lin, compared(lin, scale).run, float("nan"))
        assert training.passed == passes
        assert training.value == pytest.approx(scale - 1.2 if scale > 1 else 0.8 - scale)


@pytest.mark.parametrize(("agreement", "passes"), [(0.95, True), (0.94, False)])
def test_labels_are_judged_where_there_are_classes(agreement, passes):
    lin = linearised(classes=True)
    *_, labels = network_train._checks(lin, compared(lin).run, agreement)
    assert (labels.value, labels.passed) == (agreement, passes)


def test_where_a_bar_comes_from():
    for exact, origin in ((True, "rounding alone should part them"), (False, "the safe region promises")):
        lin = linearised(exact=exact)
        assert all(origin in check.origin for check in network_train._checks(lin, compared(lin).run, 1.0))
    batched = linearised(band=Band(*[linearised().curves.loss] * 4))
    assert all(
        "orders of batches" in check.origin for check in network_train._checks(batched, compared(batched).run, 1.0)
    )


def test_where_nothing_is_learnt_nothing_is_judged():
    flat = linearised()
    flat.curves.loss[:3] = [4.0, 3.999, 3.9999]
    assert all(check.void for check in network_train._checks(flat, compared(flat).run, float("nan")))
    assert not any(check.void for check in network_train._checks(linearised(), compared(linearised()).run, 1.0))


def test_covered_is_the_share_of_steps_within_the_error_bar():
    lin = linearised()
    ones = np.ones(4)
    lin.error_bar = Band(0 * ones, 2 * ones, 0 * ones, 4 * ones)
    run = network_train.NetworkComparison(SimpleNamespace(linearised=lin), compared(lin).run, 1.0, 1.0, (), 0.0)
    assert run.covered == 0.75
    lin.error_bar = Band(0 * ones, 2 * ones, 0 * ones, 2 * ones)
    assert run.covered == 0.5
    lin.error_bar = Band(ones, 2 * ones, 0 * ones, 5 * ones)
    assert run.covered == 0.5


# ---------------------------------------------------------------------------------------------------------
# The scoreboard


@pytest.mark.parametrize(
    ("loss", "test", "verdict"),
    [(1.0, 1.0, "holds"), (1.09, 1.04, "holds"), (0.91, 0.96, "holds"), (1.11, 1.0, "differs"), (1.0, 1.06, "differs"),
     (0.89, 1.0, "differs"), (1.0, 0.94, "differs")],
)  # fmt: skip
def test_numbers_are_judged_after_the_last_step(loss, test, verdict):
    run = compared(linearised())
    run.run["loss"][-1] *= loss
    run.run["test_loss"][-1] *= test
    found = scoreboard._numbers(run, 0.1)
    assert (found.verdict, found.value) == (verdict, pytest.approx(abs(test - 1)))
    assert (
        f"test loss {100 * abs(test - 1):.1f} % off, training loss {100 * abs(loss - 1):.1f} %; safe until 50"
        in found.told
    )
    assert "departed at 70; in the error bar 75 % of the steps" in found.told


def test_what_the_tangent_of_the_start_would_have_said(monkeypatch):
    """Beside a forecast that renews its tangents: how far the first alone would have been off, in either direction."""

    class Renews:
        at, steps = np.array([0, 1]), 1
        path = SimpleNamespace(kernels=4)
        linear_until = 12.4
        tangent = SimpleNamespace(curves=SimpleNamespace(loss=np.array([1.0, 0.5]), test_loss=np.array([1.0, 2.0])))

    monkeypatch.setattr(scoreboard, "Renewed", Renews)
    run = SimpleNamespace(
        run={"loss": np.array([1.0, 0.6]), "test_loss": np.array([1.0, 1.5])},
        forecast=SimpleNamespace(linearised=Renews()),
    )
    assert scoreboard._alone(run) == (
        "; 4 tangents, with that of the start alone 25.0 % and 20.0 % off, and a tenth off at step 12"
    )
    assert scoreboard._alone(SimpleNamespace(forecast=SimpleNamespace(linearised=linearised()))) == ""


@pytest.mark.parametrize("classes", [True, False])
def test_ordinary_networks_are_given_numbers_of_deviation_one(monkeypatch, classes):
    asked = []
    made = SimpleNamespace(rows=SimpleNamespace(classes=classes))
    monkeypatch.setattr(scoreboard, "forecast_network_table", lambda *given, **how: asked.append((given, how)) or made)
    monkeypatch.setattr(scoreboard, "train_network", lambda made: "a run")
    monkeypatch.setattr(scoreboard, "_classes", lambda run: ("classes", run))
    monkeypatch.setattr(scoreboard, "_numbers", lambda run, bar: ("numbers", run, bar))
    table = SimpleNamespace(classes=classes)
    found = scoreboard.ordinary(table, 1024, start="torch")
    assert found == (("classes", "a run") if classes else ("numbers", "a run", 0.05))
    settings = {"width": 1024, "scale_target": not classes, "seed": 20261118, "most_rows": 400, "start": "torch"}
    assert asked == [((table,), settings)]


def test_any_start_is_judged_by_the_larger_gap_of_two_losses(monkeypatch):
    asked = []
    curves = SimpleNamespace(loss=np.array([1.0, 0.5]), test_loss=np.array([2.0, 1.0]))
    made = SimpleNamespace(linearised=SimpleNamespace(curves=curves))
    run = SimpleNamespace(verdict="holds", run={"loss": np.array([1.0, 0.51]), "test_loss": np.array([2.0, 0.9])})
    monkeypatch.setattr(scoreboard, "forecast_network_table", lambda *given, **how: asked.append((given, how)) or made)
    monkeypatch.setattr(scoreboard, "train_network", lambda made: run)
    found = scoreboard.any_start("table", 3, "he")
    assert found == ("holds", pytest.approx(0.1), "losses within 10 % at all steps")
    settings = {"network": "linear", "depth": 3, "width": 64, "start": "he", "seed": 20261118, "most_rows": 400}
    assert asked == [(("table",), settings)]


@pytest.mark.parametrize(
    ("off", "agreement", "verdict"),
    [
        (0.0, 1.0, "holds"),
        (0.019, 0.95, "holds"),
        (-0.019, 0.95, "holds"),
        (0.021, 1.0, "differs"),
        (0.0, 0.94, "differs"),
    ],
)
def test_classes_are_judged_at_the_last_safe_step(off, agreement, verdict):
    run = compared(linearised(classes=True), agreement=agreement)
    run.run["test_accuracy"] = np.array([0.5, 0.9, 0.8 + off, 0.1])
    found = scoreboard._classes(run)
    assert (found.verdict, found.value) == (verdict, pytest.approx(abs(off)))
    assert found.told.startswith(f"at step 10, the last safe one, accuracy {100 * abs(off):.1f} points off")


def test_the_largest_gap_is_relative_and_in_either_direction():
    assert scoreboard._largest_gap(np.array([1.1, 1.0]), np.array([1.0, 2.0])) == 0.5
    assert scoreboard._largest_gap(np.array([3.0, 2.0]), np.array([2.0, 2.0])) == 0.5


def test_a_cell_tells_what_failed():
    def fails(table):
        raise np.linalg.LinAlgError("x" * 400)

    found = scoreboard.cell(fails, None)
    assert (found.verdict, found.value, len(found.told)) == ("error", None, 300)
    assert scoreboard.cell(lambda table: table, "told") == "told"


def test_linear_networks_are_trained_unless_that_takes_too_long(monkeypatch):
    half = lambda forecast, measured: SimpleNamespace(forecast=forecast, measured=measured)  # noqa: E731
    run = SimpleNamespace(verdict="holds", gap=0.012, halfway=[half(10.0, 12.0), half(0.0, 5.0), half(10.0, 7.0)])
    monkeypatch.setattr(scoreboard, "train", lambda made: run)
    for steps, verdict in ((120_000, "holds"), (120_001, "undecided")):
        monkeypatch.setattr(
            scoreboard, "forecast_table", lambda table, depth, steps=steps: SimpleNamespace(steps=steps)
        )
        found = scoreboard.linear(None, depth=2)
        assert found.verdict == verdict
    monkeypatch.setattr(scoreboard, "forecast_table", lambda table, depth: SimpleNamespace(steps=7))
    assert scoreboard.linear(None, depth=2) == (
        "holds", pytest.approx(0.3), "loss within 1.2 % of its first value over 7 steps"
    )  # fmt: skip
    run.halfway = []
    assert scoreboard.linear(None, depth=2).value == 0.012


def score(miss):
    """Forecasts of two splits that miss by so much, one above and one below."""
    measured = np.array([0.5, 0.25])
    forecast = measured * np.array([[1 + miss, 1.0], [1 - miss, 1.0]])
    return scoreboard_curves.CurveScore(
        40, measured, forecast, 1.1 * forecast, forecast, np.array([[True, False]] * 2)
    )


@pytest.mark.parametrize(("miss", "verdict"), [(0.0, "holds"), (0.15, "holds"), (0.16, "differs")])
def test_learning_curves_are_judged_by_their_worst_miss(monkeypatch, miss, verdict):
    found = score(miss)
    np.testing.assert_allclose(found.miss(), [miss, 0], atol=1e-12)
    np.testing.assert_allclose(
        found.miss("theory"), [np.mean([abs(1.1 * (1 + miss) - 1), abs(1.1 * (1 - miss) - 1)]), 0.1]
    )
    monkeypatch.setattr(scoreboard_curves, "MISS", 0.15 + 1e-12)
    monkeypatch.setattr(scoreboard_curves, "score", lambda *given: found)
    cell = scoreboard.curve(None, "linear")
    assert (cell.verdict, cell.value) == (verdict, pytest.approx(miss))
    assert "in the band 2 of 4 times" in cell.told
    assert f"× 2: {miss:.1%} off, 0.5 forecast, 0.5 measured; × 4: 0.0% off" in cell.told


def test_errors_are_measured_on_rows_that_nothing_was_learnt_from(monkeypatch):
    seen = []

    def test_error(X, Y, new_X, new_Y, learner):
        seen.append((set(X[:, 0]), set(new_X[:, 0]), np.array_equal(X[:, 0], Y[:, 0])))
        return float(len(X))

    monkeypatch.setattr(scoreboard_curves, "test_error", test_error)
    X = np.arange(25.0)[:, None]
    order = np.random.default_rng(0).permutation(25)
    found = scoreboard_curves._measured(X, X, order, 5, None, np.random.default_rng(1))
    assert found == [10.0, 20.0]
    assert len(seen) == 8
    for taken, left, beside in seen:
        assert set(X[order[:5], 0]) <= taken
        assert not taken & left
        assert len(left) == 5
        assert beside


def test_forecasts_of_every_split_are_put_in_shares_of_the_whole_variance(monkeypatch):
    """A curve is in shares of the variance of its own rows; what is measured, in shares of that of all."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(203, 2)), rng.normal(size=(203, 2)) * [3.0, 4.0]
    asked, measured = [], []

    def curve(rows, targets, *, kernel, ridge, seed):
        asked.append((rows, targets, kernel, ridge, seed))
        return SimpleNamespace(steps=[(0,) * 6, (2, 0.5, 0.4, 0.6, 0.7, 0.8), (4, 0.3, 0.2, 0.25, 0.1, 0.9)])

    def errors(rows, targets, order, used, learner, rng):
        measured.append((rows, targets, order, used, learner, rng.random()))
        return [0.5 + 0.1 * len(measured), 0.3]

    monkeypatch.setattr(scoreboard_curves, "learning_curve", curve)
    monkeypatch.setattr(scoreboard_curves, "_measured", errors)
    found = scoreboard_curves.score(tables.arrays(X, y), "linear", "none")
    whole = y.var(axis=0).sum()
    np.testing.assert_allclose(found.measured, [0.8, 0.3])  # the mean of 0.6, 0.7, 0.8, 0.9 and 1
    assert (found.used, len(asked), len(measured)) == (40, 5, 5)
    for seed, ((rows, targets, *settings), (all_rows, all_targets, order, used, learner, drawn)) in enumerate(
        zip(asked, measured, strict=True)
    ):
        assert settings == ["linear", "none", seed]
        np.testing.assert_array_equal(order, np.random.default_rng(seed).permutation(203))
        np.testing.assert_array_equal(rows, all_rows[order[:40]])
        np.testing.assert_array_equal(targets, all_targets[order[:40]])
        assert (used, drawn) == (40, np.random.default_rng([seed, 1]).random())
        assert learner is regression.learner_of("linear", "none")
        unit = targets.var(axis=0).sum()
        for part, values in ((found.forecast, (0.5, 0.3)), (found.theory, (0.7, 0.1)), (found.power_law, (0.8, 0.9))):
            np.testing.assert_allclose(part[seed], np.array(values) * unit)
        band = np.array([[0.4, 0.2], [0.6, 0.25]]) * unit
        np.testing.assert_array_equal(found.held[seed], (band[0] <= found.measured) & (found.measured <= band[1]))
    np.testing.assert_allclose(measured[0][1].var(axis=0) * whole, y.var(axis=0))
    exact = scoreboard_curves.score(tables.arrays(X[:200], y[:200, 0]), "gaussian")
    assert (exact.used, asked[-1][2:]) == (40, ("gaussian", "tuned", 4))


def test_short_tables_have_no_curve():
    X = np.random.default_rng(0).normal(size=(199, 2))
    found = scoreboard.curve(tables.arrays(X, X[:, 0]), "linear")
    assert (found.verdict, found.value) == ("undecided", None)
    assert found.told == "the table must have at least 200 complete rows; got 199"


# ---------------------------------------------------------------------------------------------------------
# Learning curves in words


def learning_curve(errors=(0.5, 0.4, 0.3), **change):
    steps = tuple(
        Step(rows, error, 0.9 * error, 1.1 * error, error, error)
        for rows, error in zip((50, 100, 200), errors, strict=True)
    )
    trials = (Trial(20, 40, 0.5, 0.6, 0.7, 0.8), Trial(20, 60, 0.4, 0.4, 0.5, 0.7))
    one = np.ones(1)
    made = LearningCurve(
        "a", "linear", "tuned", 50, 50, 0.8, 0.7, one, one, one, one, one, one, one, one, steps, 0.2, trials
    )
    return replace(made, **change)


def test_a_notebook_shows_the_sentences_of_a_curve_and_its_table():
    said = learning_curve(name="<a>")._repr_html_()
    assert said.startswith("<p>Double the rows (50 → 100)")
    assert said.count("<p>") == 3
    assert "<th>0</th>" not in said, "rows have no names"
    assert said.count("<tr") == 1 + len(learning_curve().to_frame())


def test_more_rows_help_from_a_fiftieth_on():
    assert learning_curve((0.5, 0.49, 0.4)).helps
    assert not learning_curve((0.5, 0.4901, 0.4)).helps
    assert learning_curve().gain == pytest.approx(0.2)
    flat = (0.5, 0.495, 0.49)
    assert "More rows help slowly: twice as many save 1.0 %" in learning_curve(flat, limit=0.449).sentences[1]
    assert "More rows hardly help a linear fit" in learning_curve(flat, limit=0.451).sentences[1]
    assert "hardly help least squares" in learning_curve(flat, limit=0.49, ridge="none").sentences[1]
    assert "a fit with this kernel" in learning_curve(flat, limit=0.49, kernel="relu").sentences[1]
    assert "save 0.0 %" in learning_curve((0.5, 0.51, 0.51), limit=0.5).sentences[1]


def test_what_a_curve_stands_on():
    made = learning_curve()
    assert made.sentences[0] == (
        "Double the rows (50 → 100): test error, as a share of the target's variance, 0.5 → 0.4 (0.36–0.44); four times "
        "the rows: 0.3 (0.27–0.33). The bands are to hold 80 % of the time."
    )
    assert len(made.sentences) == 3
    assert learning_curve(rows=51).sentences[3] == "50 of the 51 rows were looked at."
    assert (made.method, learning_curve(weight=0.5).method, learning_curve(weight=0.49).method) == (
        "theory", "theory", "power_law"
    )  # fmt: skip
    logs = {"theory": [1.2, 1.0], "power_law": [1.4, 1.25], "unchanged": [1.6, 1.75]}
    for method, ratios in logs.items():
        assert made.miss(method) == pytest.approx(np.sqrt(np.mean(np.log(ratios) ** 2)))
    assert "theory (70 %) and a power law (30 %)" in made.sentences[2]
    assert "adds nothing" not in made.sentences[2]
    poor = learning_curve(trials=(Trial(20, 40, 0.5, 0.55, 0.55, 0.7),))
    assert "Theory adds nothing here" in poor.sentences[2]
    with pytest.raises(ValueError, match="method must be one of"):
        made.miss("used")


def test_the_points_of_a_curve_and_the_width_of_its_band():
    """From an eighth of the rows to eight times as many, at 60 points; bands of two levels by the normal law."""
    X = np.random.default_rng(0).normal(size=(48, 2))
    y = X[:, 0] + np.random.default_rng(1).normal(size=48)
    narrow, wide = (la.learning_curve(X, y, level=level) for level in (0.5, 0.9))
    assert len(narrow.at) == 60
    np.testing.assert_allclose(narrow.at, np.geomspace(6, 384, 60), rtol=1e-12)
    assert [step.rows for step in narrow.steps] == [48, 96, 192]
    ratio = np.log(wide.high / wide.error) / np.log(narrow.high / narrow.error)
    np.testing.assert_allclose(ratio, stats.norm.ppf(0.95) / stats.norm.ppf(0.75), rtol=1e-9)
    np.testing.assert_allclose(narrow.high / narrow.error, narrow.error / narrow.low, rtol=1e-12)
    assert [(trial.used, trial.rows) for trial in narrow.trials] == [(12, 24), (12, 38)] * 8
    np.testing.assert_array_equal(narrow.subsamples, [6, 9, 12, 17, 24, 34, 41])
    assert narrow.limit == pytest.approx(narrow.theory[-1], rel=0.5)
    np.testing.assert_array_equal(la.learning_curve(X, y).error, la.learning_curve(X, y, level=0.8, seed=0).error)


def test_how_few_rows_a_curve_can_do_with():
    X = np.random.default_rng(0).normal(size=(60, 20))
    tuned, plain = regression.learner_of("linear"), regression.LEAST_SQUARES
    assert learning_curves._least(X[:40], tuned) == 3
    with pytest.raises(ValueError, match="X must have at least 40 complete rows"):
        learning_curves._least(X[:39], tuned)
    assert learning_curves._least(X, plain) == 30
    assert learning_curves._least(X[:, :1], plain) == 3
    with pytest.raises(ValueError, match=r"at least 3 complete rows for each column.*got 59 rows and 20 columns"):
        learning_curves._least(X[:59], plain)
    sizes, errors = learning_curves._subsamples(X, X[:, :1], tuned, 10, np.random.default_rng(0))
    np.testing.assert_array_equal(sizes, [10, 11, 15, 21, 30, 42, 51])
    assert len(errors) == 7


def test_what_a_linear_network_cannot_be_given_is_refused():
    X = np.random.default_rng(0).normal(size=(20, 2))
    for change, said in (
        ({"loss": "hinge"}, "loss must be"), ({"weight_decay": -0.1}, "weight_decay must be"),
        ({"batch_size": 100}, "batch_size must be"), ({"depth": 101}, "depth must be"), ({"step_size": 0.0}, "step_size"),
        ({"steps": 10**6 + 1}, "steps must be"), ({"start_scale": 0.0, "start": "balanced"}, "start_scale must be"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            la.forecast_network(X, X[:, 0], network="linear", **({"steps": 5} | change))


# ---------------------------------------------------------------------------------------------------------
# The estimate behind a learning curve, and the comparison with a run


@pytest.mark.parametrize("kernel", ["linear", "gaussian"])
def test_the_estimate_written_out_for_every_penalty(kernel):
    """Traces of the map from labels to fitted values, and errors of rows left out by refits."""
    rng = np.random.default_rng(0)
    n = 24
    X = rng.normal(size=(n, 3)) * [1.0, 4.0, 0.2]
    Y = np.c_[np.sin(X[:, 0]) + rng.normal(size=n), X[:, 1]]
    learner = regression.learner_of(kernel)
    found = curve_estimate.estimate(X, Y, learner)
    Z = (X - X.mean(0)) / X.std(0)
    K = Z @ Z.T if kernel == "linear" else regression.gaussian(Z, Z)
    centre = np.eye(n) - 1 / n
    K = centre @ K @ centre
    unit = np.trace(K) / n
    kept = []
    for ridge in unit * np.concatenate([curve_estimate.SMALLER, regression.RIDGES]):
        H = K @ np.linalg.inv(K + ridge * np.eye(n))
        modes = np.trace(H)
        spare = n - 1 - modes
        squares = max(n - 1 - spare**2 / np.trace(centre @ (np.eye(n) - H) @ (np.eye(n) - H)), 0.0)
        residual = (np.eye(n) - H) @ centre @ Y / (1 - 1 / n - np.diag(H))[:, None]
        left = np.mean(np.sum(residual**2, axis=1)) / ((1 + 1 / n) * (n - 1) / (n - 1 - squares))
        if kept or spare >= 0.3 * (n - 1):
            kept.append((ridge / spare, modes, squares, left))
    expected = np.array(kept).T
    seen = [part[-len(kept) :] for part in found[:4]]
    np.testing.assert_allclose(seen, expected, rtol=1e-6, atol=1e-9)
    assert found.least == pytest.approx(1e-4 * unit)
    # Beyond the least κ that was seen: modes as a power of it, and what is left goes on from where it was.
    beyond = len(found.kappa) - len(kept)
    assert beyond == len(curve_estimate.BEYOND)
    slope = 1 - expected[2, 0] / expected[1, 0]
    np.testing.assert_allclose(found.kappa[:beyond], expected[0, 0] * curve_estimate.BEYOND, rtol=1e-6)
    np.testing.assert_allclose(found.modes[:beyond], expected[1, 0] * curve_estimate.BEYOND**-slope, rtol=1e-6)
    np.testing.assert_allclose(found.squares[:beyond], found.modes[:beyond] * (1 - slope), rtol=1e-6)
    assert found.left[beyond - 1] == pytest.approx(expected[3, 0], rel=0.05)


def test_errors_on_other_numbers_of_rows_written_out():
    found = curve_estimate.Estimate(
        np.array([0.1, 0.5, 2.0]), np.array([8.0, 4.0, 1.0]), np.array([6.0, 3.0, 0.5]), np.array([0.2, 0.3, 0.6]), 1.0
    )
    rows = np.array([3.0, 10.0, 30.0, 200.0])
    naive = []
    for m in rows - 1:
        allowed = [
            m / (m - squares) * left * (1 + 1 / (m + 1))
            for kappa, modes, squares, left in zip(*found[:4], strict=True)
            if kappa * (m - modes) >= 1.0 or kappa == 2.0
        ]
        naive.append(min(allowed))
    np.testing.assert_allclose(curve_estimate.errors(found, rows), naive, rtol=1e-12)
    nothing = curve_estimate.errors(found._replace(left=np.zeros(3)), rows)
    assert (nothing > 0).all()


def made_up(left=(1.0, 0.5, 0.1)):
    left = np.array(left)
    time = np.array([0.0, 10.0, 20.0])
    path = SimpleNamespace(left=left)
    return SimpleNamespace(time=time, loss=2.0 + left, path=path, floor=2.0, steps=20)


@pytest.mark.parametrize(("shift", "outside"), [(0.0, 0.0), (0.02, 0.0), (0.3, 0.3), (-0.3, 0.3)])
def test_a_loss_is_outside_where_no_nearby_time_has_it(shift, outside):
    forecast = made_up()
    time = np.array([0.0, 5.0, 10.0])
    high = np.interp((1 - compare.TIME_BAR) * time, forecast.time, forecast.loss)
    low = np.interp((1 + compare.TIME_BAR) * time, forecast.time, forecast.loss)
    loss = np.interp(time, forecast.time, forecast.loss)
    loss[2] += shift
    expected = max(loss[2] - high[2], low[2] - loss[2], 0.0)
    assert compare._outside(forecast, time, loss) == pytest.approx(expected)
    assert (expected > 0) == (outside > 0)
    late = np.array([0.0, 40.0])
    assert compare._outside(forecast, late, np.array([3.0, 2.0])) == pytest.approx(
        0.1 if compare.TIME_BAR == 0 else 0.0
    )


def test_checks_of_a_run():
    forecast, time = made_up(), np.array([0.0, 10.0, 20.0])
    half = lambda asked, seen: compare.Halfway(1, asked, seen)  # noqa: E731
    (only,) = compare._checks(forecast, time, forecast.loss, ())
    assert (only.passed, only.value, only.high) == (True, 0.0, compare.LOSS_BAR)
    _, late = compare._checks(forecast, time, forecast.loss, (half(10.0, 10.5), half(10.0, 9.2), half(0.0, 5.0)))
    assert (late.value, late.high) == (pytest.approx(0.08), compare.TIME_BAR)
    off = forecast.loss + np.array([0.0, 0.4, 0.0])
    assert not compare._checks(forecast, time, off, ())[0].passed
    flat = made_up((1.0, 1.0 - 0.5 * compare.LEARNT_BAR, 1.0 - 0.5 * compare.LEARNT_BAR))
    assert compare._checks(flat, time, flat.loss, ())[0].void
    assert not compare._checks(flat, time, forecast.loss, ())[0].void, "the run has learnt something"
