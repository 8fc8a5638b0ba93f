"""A network followed with renewed tangents: against its own training, with rates."""

from functools import cache

import jax.numpy as jnp
import numpy as np
import optax
import pytest

import lineament as la
from lineament.forecasting import network_train
from lineament.forecasting.network import NetworkForecast
from lineament.linearisation import CAUTION, DEPARTED, TOLERANCE, losses
from lineament.linearisation.strides import Tangent, begin, stride


def task(seed=0, n=20, m=8, d=3, k=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, d))
    Y = np.tanh(X @ rng.normal(size=(d, k)))
    return X[:n], Y[:n], X[n:], Y[n:]


@cache
def made(activation="tanh", width=8, loss="square", **settings):
    X, Y, Z, W = task()
    if loss == "cross-entropy":
        Y, W = Y.argmax(axis=1), W.argmax(axis=1)
    net = la.models.MLP((3, width, 2), activation, "standard", bias=True)
    start = la.starts.he(net, 0)
    return la.linearise(net, start, X, Y, Z, W, loss=loss, **{"steps": 150, "renew": 40} | settings)


def trained(forecast):
    """Training and test loss of the very network, step by step."""
    here, there = network_train._trained(forecast)
    mean = lambda f, y: losses.mean(forecast.loss_name, f, y)  # noqa: E731
    return mean(here, forecast.y), mean(there, forecast.y_test)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"momentum": 0.8},
        {"loss": "cross-entropy", "weight_decay": 0.01},
        {"weight_decay": 0.02, "momentum": 0.5, "activation": "relu"},
    ],
)
def test_a_narrow_network_is_followed_where_its_first_tangent_fails(settings):
    forecast = made(**{"steps": 400} | settings)
    loss, test = trained(forecast)
    off = np.maximum(np.abs(forecast.curves.loss / loss - 1), np.abs(forecast.curves.test_loss / test - 1))
    assert off.max() < CAUTION * DEPARTED  # where the forecast would no longer be called safe
    bar = forecast.error_bar
    assert np.mean((bar.low <= loss) & (loss <= bar.high) & (bar.test_low <= test) & (test <= bar.test_high)) > 0.8
    alone = np.abs(forecast.tangent.curves.loss / loss - 1)
    assert alone.max() > 4 * off.max()
    assert forecast.path.finished
    assert forecast.path.kernels < 41


def test_what_a_stride_misses_falls_with_the_cube_of_its_length():
    forecast = made(step_size=0.002)
    first = Tangent(forecast.network, forecast.solution.given)
    start = begin(forecast.network, forecast.solution.start, forecast.solution.start_test)
    net, parameters = forecast.network.model, forecast.network.parameters
    problem = la.problems.lp_regression(forecast.X, forecast.y, 2)
    lengths, off = [9, 17, 33], []
    for length in lengths:
        end = stride(forecast._training(), start, first, np.array([length])).end
        run = la.descend(net, problem, parameters, step_size=0.002, steps=length)
        off.append(np.linalg.norm(end.here - net.apply(run.final, jnp.asarray(forecast.X))))
    assert np.polyfit(np.log(lengths), np.log(off), 1)[0] == pytest.approx(3, abs=0.2)


def test_a_stride_of_one_step_is_a_step_of_descent():
    forecast = made(momentum=0.8, weight_decay=0.05)
    first = Tangent(forecast.network, forecast.solution.given)
    place = begin(forecast.network, forecast.solution.start, forecast.solution.start_test)
    for _ in range(3):
        place = stride(forecast._training(), place, first, np.array([1])).end
    sgd = lambda size: optax.chain(optax.add_decayed_weights(0.05), optax.sgd(size, momentum=0.8))  # noqa: E731
    run = la.descend(
        forecast.network.model, la.problems.lp_regression(forecast.X, forecast.y, 2), forecast.network.parameters,
        step_size=forecast.step_size, steps=3, optimiser=sgd,
    )  # fmt: skip
    np.testing.assert_allclose(losses.mean("square", place.here, forecast.y), run.loss.values[-1], rtol=1e-10)


def test_the_error_is_how_far_strides_twice_as_long_lead_and_never_heals():
    forecast = made(steps=400)
    off, test_off = forecast.error
    assert (np.diff(off) >= 0).all()
    assert off[0] == 0
    ends = forecast.path.ends
    training, (place, tangent) = forecast._training(), forecast._start
    for end in ends[1::2] if len(ends) % 2 == 0 else ends[::2]:
        place, tangent, *_ = stride(training, place, tangent, np.array([end - place.step]))
    last = losses.mean("square", place.here, forecast.y) / forecast.curves.loss[-1] - 1
    assert off[-1] >= abs(last) > 0
    assert off[-1] >= np.sqrt(np.sum(forecast.path.missed**2)) > 0
    bar = forecast.error_bar
    np.testing.assert_allclose(bar.high / forecast.curves.loss, 1 + np.maximum(off, TOLERANCE))
    np.testing.assert_allclose(bar.test_low / forecast.curves.test_loss, 1 - np.maximum(test_off, TOLERANCE))


def test_where_tangents_run_out_the_last_one_speaks_and_nothing_is_safe():
    forecast = made(steps=400, renew=3)
    path = forecast.path
    assert not path.finished
    assert path.kernels == 4
    assert path.followed < 400
    assert np.isfinite(forecast.curves.loss).all()
    assert forecast.safe_step <= path.followed
    assert np.isinf(forecast.error_bar.high[-1])
    assert "3 tangents did not suffice" in str(forecast)


def test_a_network_that_diverges_is_told_so():
    forecast = made(step_size=30.0)
    assert not np.isfinite(forecast.curves.loss[-1])
    assert "diverges" in str(forecast)


def test_other_steps_are_found_by_following_once_more():
    forecast = made()
    missing = int(np.setdiff1d(np.arange(150), forecast.at)[0])
    here, there = forecast.outputs([[missing, 150]])
    assert here.shape == (1, 2, 20, 2)
    np.testing.assert_allclose(here[0, 1], forecast.outputs(150)[0])
    near = np.searchsorted(forecast.at, missing)
    between = np.sort(forecast.curves.test_loss[near - 1 : near + 1])
    assert between[0] <= losses.mean("square", there[0, 0], forecast.y_test) <= between[1]
    with pytest.raises(ValueError, match="whole numbers"):
        forecast.outputs(1.5)
    with pytest.raises(ValueError, match="steps must be"):
        forecast.outputs(151)


def test_runs_by_batches_stay_around_the_path_and_a_batch_of_all_is_the_path():
    whole = made(batch_size=20, momentum=0.5, weight_decay=0.01)
    np.testing.assert_allclose(whole.band.low, whole.curves.loss, rtol=TOLERANCE)
    np.testing.assert_allclose(whole.band.test_high, whole.curves.test_loss, rtol=2 * TOLERANCE)
    some = made(batch_size=5)
    assert (some.band.low <= some.band.high).all()
    assert (some.band.high - some.band.low)[-1] > 0
    loss, _ = trained(some)
    assert np.mean((some.error_bar.low <= loss) & (loss <= some.error_bar.high)) > 0.8


def test_it_says_how_long_one_tangent_would_have_done():
    forecast = made(steps=400)
    loss, test = trained(forecast)
    alone = forecast.tangent.curves
    off = np.maximum(np.abs(loss / alone.loss - 1), np.abs(test / alone.test_loss - 1))
    first = forecast.at[int(np.argmax(off > DEPARTED))]
    assert forecast.linear_until == pytest.approx(first, rel=0.15)
    assert f"alone would do until step {round(forecast.linear_until)}" in str(forecast)


def test_without_test_points_training_loss_alone_is_followed():
    X, Y, _, _ = task()
    net = la.models.MLP((3, 8, 2), "tanh", "standard", bias=True)
    forecast = la.linearise(net, la.starts.he(net, 0), X, Y, steps=150, renew=40, batch_size=10)
    np.testing.assert_allclose(forecast.curves.loss, made(batch_size=10).curves.loss, rtol=TOLERANCE)
    assert forecast.outputs(150)[1].shape == (0, 2)
    assert np.isfinite(forecast.error_bar.high).all()
    assert forecast.linear_until > 0


def test_a_comparison_holds_where_the_first_tangent_would_not():
    X, Y, Z, W = task(k=1)
    table = la.forecast_network(np.r_[X, Z], np.r_[Y, W][:, 0], width=16, steps=400, scale_target=True)
    assert isinstance(table, NetworkForecast)
    run = network_train.train_network(table)
    assert run.holds
    assert run.covered > 0.8


def test_within_a_stride_the_tangent_changes_from_the_older_to_the_newer():
    """Early in the first stride the tangent of the start speaks: the first step is that of descent, to second order."""
    forecast = made(steps=400)
    assert forecast.path.ends[0] > 1
    loss, test = trained(forecast)
    first, alone = int(np.argmax(forecast.at == 1)), forecast.tangent.curves.test_loss
    moved = abs(test[first] - test[0])
    assert abs(forecast.curves.test_loss[first] - test[first]) < 0.02 * moved
    assert abs(forecast.curves.test_loss[first] - alone[first]) < 0.02 * moved
    early = forecast.at <= forecast.path.ends[0]
    assert np.abs(forecast.curves.loss / loss - 1)[early].max() < TOLERANCE / 4
