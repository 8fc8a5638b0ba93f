"""Linear networks with ordinary starts: the forecast by narrow layers against training of the whole network."""

from types import SimpleNamespace

import numpy as np
import pytest

import lineament as la
from lineament.evidence import Verdict
from lineament.forecasting import network_train
from lineament.forecasting.deep_linear import FLOAT32, DeepLinear
from lineament.forecasting.stability import sharpness, sharpness_of_layers
from lineament.theory.layers import balanced


def task(n=60, classes=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, 3))
    y = X @ [1.0, -0.5, 0.3] + 0.3 * rng.normal(size=n)
    return X, np.where(y > 0, "yes", "no") if classes else y


@pytest.mark.parametrize("start", ["balanced", "glorot", "he", "torch"])
def test_every_start_is_trained_as_forecast(start):
    forecast = la.forecast_network(*task(), network="linear", depth=3, width=24, start=start, steps=300)
    run = network_train.train_network(forecast)
    assert run.verdict is Verdict.HOLDS
    made = forecast.linearised
    np.testing.assert_allclose(run.run["loss"], made.curves.loss, rtol=2e-3)
    np.testing.assert_allclose(run.run["test_loss"], made.curves.test_loss, rtol=2e-3)
    assert made.solution.layers[0].shape[0] < 24
    assert "Nothing is linearised" in str(forecast)


def test_cross_entropy_momentum_and_batches():
    settings = {"network": "linear", "width": 30, "start": "glorot", "optimiser": "momentum", "steps": 150}
    whole = la.forecast_network(*task(classes=True), **settings)
    run = network_train.train_network(whole)
    assert whole.linearised.loss_name == "cross-entropy"
    np.testing.assert_allclose(run.run["loss"], whole.linearised.curves.loss, rtol=1e-4)
    assert run.agreement == 1
    made = la.forecast_network(*task(classes=True), **settings, batch_size=8).linearised
    assert (made.band.high > made.band.low)[-1]
    # Batches of 8 stray from the whole, and the whole lies within what they span, more often than not.
    within = (made.band.low <= made.curves.loss * 1.02) & (made.curves.loss * 0.98 <= made.band.high)
    assert within.mean() > 0.5
    assert network_train.train_network(la.forecast_network(*task(classes=True), **settings, batch_size=8)).holds


def test_the_error_bar_holds_the_band_and_what_narrowing_and_rounding_change():
    settings = {"network": "linear", "width": 12, "start": "glorot", "steps": 20}
    for batch_size in (None, 8):
        made = la.forecast_network(*task(), **settings, batch_size=batch_size).linearised
        off, curves, bar = made.narrowing + FLOAT32, made.curves, made.error_bar
        low, high, test_low, test_high = (
            (curves.loss, curves.loss, curves.test_loss, curves.test_loss) if batch_size is None else made.band
        )
        np.testing.assert_allclose(bar.low, (1 - off) * np.minimum(curves.loss, low), rtol=1e-12)
        np.testing.assert_allclose(bar.high, (1 + off) * np.maximum(curves.loss, high), rtol=1e-12)
        np.testing.assert_allclose(bar.test_low, (1 - off) * np.minimum(curves.test_loss, test_low), rtol=1e-12)
        np.testing.assert_allclose(bar.test_high, (1 + off) * np.maximum(curves.test_loss, test_high), rtol=1e-12)


def test_rare_classes_are_known_to_be_rare():
    rng = np.random.default_rng(0)
    labels = np.where(np.arange(60) < 4, "rare", "usual")
    settings = {"network": "linear", "width": 16, "start": "glorot", "steps": 300, "step_size": 0.3}
    forecast = la.forecast_network(rng.normal(size=(60, 2)), labels, **settings)
    assert forecast.linearised.curves.accuracy[-1] >= 0.9
    assert any("a constant input stands in" in said for said in forecast.notices)


def test_a_start_of_large_layers_is_told_to_diverge():
    forecast = la.forecast_network(*task(), network="linear", width=8, start="glorot", step_size=50.0, steps=200)
    assert np.isfinite(forecast.linearised.safe_step)
    assert any("is not below" in said for said in forecast.notices)
    assert "the network diverges" in str(forecast)


def test_the_curvature_of_balanced_layers_is_known_from_their_map():
    rng = np.random.default_rng(0)
    W, d = rng.normal(size=(2, 4)), np.array([3.0, 2.0, 1.0, 0.1])
    for depth in (1, 2, 3):
        layers = balanced(W, [4, *[5] * (depth - 1), 2])
        assert sharpness_of_layers(layers, np.diag(d)) == pytest.approx(sharpness(W, d, depth), rel=1e-6)


def test_a_start_for_linear_networks_alone_is_refused_elsewhere():
    with pytest.raises(ValueError, match="start must be"):
        la.forecast_network(*task(), network="mlp", start="balanced")


def test_it_is_safe_until_the_last_step_that_is_finite():
    at = np.array([0, 1, 4, 9])
    for loss, step in (([1.0, 1.0, 1.0, 1.0], np.inf), ([1.0, 1.0, np.inf, np.nan], 1), ([np.nan] * 4, 0)):
        made = SimpleNamespace(at=at, curves=SimpleNamespace(loss=np.array(loss)))
        found = DeepLinear.safety.func(made)
        assert (found.step, found.finished, len(found.steps), len(found.test_loss)) == (step, True, 0, 0)
