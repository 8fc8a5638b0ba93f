"""How the experiments of Hacohen & Weinshall read their curves."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lineament import models, starts
from lineament.claims.hacohen import figure_3, figure_6b, figure_7, figure_10, neighbours, readings, section_5_4
from lineament.measure import order


def test_a_difference_is_shown_absent_or_not_to_be_told():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=100)
    noise = (noise - noise.mean()) / noise.std(ddof=1)  # standard error 0.1
    assert readings.shown("", 0.5 + noise, 1.0).passed
    assert readings.shown("", 0.1 + noise, 0.5).failed  # within 0.2 of nothing, and surely below 0.5
    assert readings.shown("", 0.1 + noise, 0.2).void
    assert readings.shown("", noise - 1, 0.2).failed
    assert readings.shown("", 0.5 + noise, 1.0, void="nothing overfits").void == "nothing overfits"


def test_the_first_best_record_cannot_be_told_from_the_best():
    curves = np.array([[0.1, 0.50, 0.52, 0.51], [0.1, 0.54, 0.56, 0.55]])
    assert readings.first_best(curves) == 1
    assert readings.first_best(curves[:, ::-1]) == 0


def test_smoothing_keeps_the_ends():
    np.testing.assert_allclose(readings.smoothed(np.array([0.0, 3.0, 0.0, 3.0]), 3), [1.5, 1.0, 2.0, 1.5])


@pytest.mark.parametrize("widths", [(7, 5, 6, 3), (4, 9, 8, 3)])
def test_the_summary_of_scale_matrices_is_that_of_the_matrices(widths):
    net = models.MLP(widths, "linear", "standard")
    parameters = starts.glorot(net, jax.random.key(0), dtype=jnp.float64)
    W1, W2, W3 = (np.asarray(W) for W in parameters.layers)
    left, right = [W3 @ W2, W3, np.eye(3)], [np.eye(widths[0]), W1, W2 @ W1]
    found = figure_3.summary(net, None, parameters)
    for layer in range(3):
        for side, gram in enumerate((left[layer] @ left[layer].T, right[layer].T @ right[layer])):
            on, off = np.diag(gram), gram[~np.eye(len(gram), dtype=bool)]
            expected = [on.mean(), on.std(), off.mean(), off.std()]
            np.testing.assert_allclose(found[side, layer], expected, atol=1e-6)


def test_bins_hold_every_example_once():
    rng = np.random.default_rng(1)
    component = rng.integers(1, 300, 500).astype(float)
    for kind in ("equal count", "equal width", "equal logarithmic width"):
        groups = figure_6b.edges(component, kind, 10)
        assert sorted(np.concatenate(groups)) == list(range(500))
    counts = [len(some) for some in figure_6b.edges(component, "equal count", 10)]
    assert max(counts) - min(counts) <= 1


def test_binned_correlations_of_a_straight_line_are_minus_one():
    component = np.arange(1.0, 401)
    found = figure_6b.binnings(component, 1 - component / 400, (10, 12), 10)
    straight = [r for name, r in found.items() if "rank" not in name]
    np.testing.assert_allclose(straight, -1, atol=1e-12)


def test_the_printed_p_value_suggests_ten_to_twelve_points():
    r = -0.93
    p = {n: 2 * stats.t.sf(abs(r) * np.sqrt((n - 2) / (1 - r**2)), n - 2) for n in range(9, 14)}
    assert [n for n in p if 1e-5 < p[n] < 1e-4] == [10, 11, 12]
    told = " ".join((figure_6b.check.__doc__ or "").split())
    assert "suggests ten to twelve points, hence bins, of which the paper says nothing" in told


def test_neighbours_on_a_device_are_those_of_the_library():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 3, 200)
    np.testing.assert_allclose(neighbours.discriminability(jnp.asarray(X), y, 10), order.discriminability(X, y, 10))


def test_the_fastest_are_chosen_by_a_third_ensemble_by_the_mean_or_by_one():
    rng = np.random.default_rng(4)
    right = [rng.random((6, 30, 50)) < np.linspace(0.1, 0.9, 50) for _ in range(2)]
    drops = figure_7.drops_of(right, (30, 20), "30 and 20", 0.2)
    for part, last, side in zip(right, (30, 20), (0, 1), strict=True):
        third, a, b = (order.accessibility(some) for some in np.split(part[:, :last], 3))
        for drop, speed in zip(drops, (third, a + b, a), strict=True):
            some = np.argsort(-speed, kind="stable")[:10]
            assert drop.everything[side] == pytest.approx(np.corrcoef(a, b)[0, 1])
            assert drop.fastest[side] == pytest.approx(np.corrcoef(a[some], b[some])[0, 1])
    assert [drop.choice for drop in drops] == list(figure_7.CHOICES)


def test_epochs_to_one_level_that_all_curves_reach():
    epochs = np.arange(1, 41)
    accuracy = np.minimum(0.5 + 0.05 * np.arange(40), 1.0)
    slow = np.minimum(0.5 + 0.01 * np.arange(40), 0.8)
    assert figure_10.epochs_to_level(0.9, epochs, [accuracy], 0.5) == [10]
    # The slow curve ends at 0.8, so that both are asked for 0.77.
    assert figure_10.epochs_to_level(0.9, epochs, [accuracy, slow], 0.5) == [7, 28]


def test_each_network_is_judged_by_the_labels_that_it_was_given():
    settings, case = section_5_4.QUICK, section_5_4.QUICK.cases[0]
    labels = np.array([[0, 1, 1], [1, 1, 0]])  # the noise of either network is its own
    predictions = np.concatenate([labels, [[0, 1], [0, 0]]], axis=1)[:, None].repeat(7, axis=1)
    epochs, tests = np.arange(1, 8), np.array([0, 1])
    cell = section_5_4._cell(settings, case, section_5_4.OWN_NOISE, "He", 0.05, epochs, predictions, labels, tests)
    assert cell.train == pytest.approx(1.0)
    assert cell.test == pytest.approx(0.75)
    assert cell.images == {"training": 3, "test": 2}
