"""Training against the forecast: they agree where they must, at the rate they must, and disagree where they must."""

import dataclasses
import math

import jax
import numpy as np
import pytest

from lineament.data import tables
from lineament.forecasting import compare, forecast, forecast_table, train


def table(n=120, p=4, k=2, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p))
    return X, X @ rng.standard_normal((p, k)) + noise * rng.standard_normal((n, k))


@pytest.fixture(scope="module")
def iris():
    made = forecast_table(tables.read("iris"), depth=2)
    return made, train(made)


def test_a_forecast_comes_true(iris):
    made, run = iris
    assert run.verdict == "holds"
    assert len(run.checks) == 2
    assert run.gap < 0.05
    assert run.diverged_at is None
    assert run.widths == (4, 3, 3)
    assert (run.steps[0], run.steps[-1]) == (0, made.steps)
    assert run.loss[0] == pytest.approx(made.loss[0], rel=1e-10), "both begin at the same start"
    assert run.share.shape == (len(run.steps), 4)
    for each in run.halfway:
        assert each.measured == pytest.approx(each.forecast, rel=compare.TIME_BAR)
        assert each.forecast == made.step_of(made.components[each.number - 1].half)


def test_the_gap_shrinks_with_the_step_size_at_first_order():
    X, y = table()
    sizes = np.array([0.2, 0.1, 0.05, 0.025])
    stable = forecast(X, y, depth=2).largest_stable
    made = [forecast(X, y, depth=2, step_size=c * stable, steps=round(40 / c)) for c in sizes]
    gaps = [train(each).gap for each in made]
    slope = np.polyfit(np.log(sizes), np.log(gaps), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.15), f"Euler's method is of first order; gaps {gaps}"


@pytest.mark.parametrize(("depth", "whiten"), [(1, False), (3, False), (3, True)])
def test_other_depths_and_whitened_inputs(depth, whiten):
    made = forecast(*table(), depth=depth, whiten=whiten)
    run = train(made)
    assert run.verdict == "holds", run.checks
    # Far from the transitions nothing but rounding and the tail of learning is left.
    assert run.loss[-1] == pytest.approx(made.loss[-1], abs=2e-3 * made.path.left[0])


def test_fewer_rows_than_columns_and_one_output():
    made = forecast(*(part[:9] for part in table(p=15, k=1)), depth=2)
    run = train(made)
    assert run.verdict == "holds", run.checks
    assert run.widths == (15, 1, 1)


def test_a_wrong_forecast_is_found_out(iris):
    made, _ = iris
    # The path of two layers, laid over a network of three.
    wrong = train(dataclasses.replace(made, depth=3))
    assert wrong.verdict == "differs"
    assert wrong.checks[0].value > 10 * compare.LOSS_BAR
    # The right network on a clock that is off by a fifth.
    late = dataclasses.replace(made, path=made.path._replace(time=1.2 * made.path.time))
    assert train(late).verdict == "differs"


def test_a_step_that_is_too_large_is_a_finding_not_a_crash():
    X, y = table()
    made = forecast(X, y, depth=2, step_size=4 * forecast(X, y, depth=2).largest_stable, steps=400)
    run = train(made)
    assert run.verdict == "differs"
    assert run.diverged_at is not None
    assert 0 < run.diverged_at <= 400
    assert not math.isfinite(run.checks[0].value)


def test_float32_is_refused():
    made = forecast(*table())
    try:
        jax.config.update("jax_enable_x64", False)
        with pytest.raises(ValueError, match="jax_enable_x64"):
            train(made)
    finally:
        jax.config.update("jax_enable_x64", True)


def test_a_start_above_the_target_gets_steps_small_enough_for_it():
    X, y = table(n=24, p=1, k=4)
    made = forecast(X, 0.01 * y, depth=4, start_scale=1.0)
    assert made.recommended < 0.01 * made.largest_stable
    assert train(made).verdict == "holds"
