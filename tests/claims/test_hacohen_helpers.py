"""What the learning-order experiments share: training as an ensemble, neighbours on a device, matched epochs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lineament import models
from lineament.claims.hacohen import consistency, labels, neighbours, training
from lineament.measure import order


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 6)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    return training.Task(X, y, X[:10], y[:10], (1, 6, 1), 2, "plane")


def test_an_ensemble_of_tasks_trains_each_as_it_would_alone(task):
    net = models.MLP((6, 4, 2), "linear", "standard", bias=True)
    key = jax.random.key(0)
    other = 1 - task.labels
    options = {"members": 2, "epochs": 3, "step": 0.1, "key": key, "batch": 60}
    both = training.learn(net, [task.X, task.X], [task.labels, other], [task.tests] * 2, **options)
    alone = training.learn(net, task.X, other, task.tests, **options)
    assert both.predictions.shape == (4, 3, 70)
    np.testing.assert_array_equal(both.predictions[training.member_slices(2, 2)[1]], alone.predictions)
    np.testing.assert_array_equal(alone.epochs, [1, 2, 3])
    # Watched examples are the first of those trained on.
    np.testing.assert_array_equal(alone.predictions[:, :, 60:], alone.predictions[:, :, :10])


def test_descent_on_minibatches_learns_a_plane(task):
    net = models.MLP((6, 2), "linear", "standard", bias=True)
    run = training.learn(net, task.X, task.labels, members=2, epochs=60, step=0.5, key=jax.random.key(1), batch=20)
    accuracy = run.accuracy(task.labels)
    assert accuracy[:, -1].min() >= 0.95
    assert order.accessibility(run.right(task.labels)).mean() == pytest.approx(accuracy.mean())


def test_predictions_are_kept_at_the_epochs_asked_for(task):
    net = models.MLP((6, 2), "linear", "standard", bias=True)
    options = {"members": 1, "epochs": 6, "step": 0.1, "key": jax.random.key(2), "batch": 30}
    every = training.learn(net, task.X, task.labels, **options)
    some = training.learn(net, task.X, task.labels, at=(1, 6), **options)
    np.testing.assert_array_equal(some.predictions, every.predictions[:, [0, 5]])


def test_neighbours_on_a_device_are_those_of_the_library():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(200, 5)), rng.integers(0, 3, 200)
    expected = order.discriminability(X, y, neighbours.NEIGHBOURS)
    np.testing.assert_allclose(neighbours.discriminability(jnp.asarray(X), y), expected)


def test_matched_epochs_are_the_first_to_reach_the_lower_of_the_highest_accuracies():
    assert consistency.matched([np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.4, 0.3])]) == [2, 2]


def test_consistencies_choose_the_fastest_by_the_first_ensemble():
    rng = np.random.default_rng(4)
    right = rng.random((6, 30, 50)) < np.linspace(0.1, 0.9, 50)
    everything, fastest, by_mean = consistency.consistencies(right, 30)
    first, a, b = (order.accessibility(each) for each in np.split(right, 3))
    some = np.argsort(-first, kind="stable")[:10]
    assert everything == pytest.approx(np.corrcoef(a, b)[0, 1])
    assert fastest == pytest.approx(np.corrcoef(a[some], b[some])[0, 1])
    both = np.argsort(-(a + b), kind="stable")[:10]
    assert by_mean == pytest.approx(np.corrcoef(a[both], b[both])[0, 1])


def test_epochs_to_one_level_that_all_curves_reach():
    epochs = np.arange(1, 41)
    accuracy = np.minimum(0.5 + 0.05 * np.arange(40), 1.0)
    slow = np.minimum(0.5 + 0.01 * np.arange(40), 0.8)
    assert labels.epochs_to_level(0.9, epochs, [accuracy], 0.5) == [10]
    # The slow curve ends at 0.8, so that both are asked for 0.77.
    assert labels.epochs_to_level(0.9, epochs, [accuracy, slow], 0.5) == [7, 28]
