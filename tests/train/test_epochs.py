"""Ensembles of classifiers by epochs: cells that train as they would alone, and what is kept of them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lineament import models, starts, train
from lineament.measure import order
from lineament.train import epochs as by_epochs

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 6)).astype(np.float32)
LABELS = (X[:, 0] > 0).astype(int)
NET = models.MLP((6, 4, 2), "linear", "standard", bias=True)
LINE = models.MLP((6, 2), "linear", "standard", bias=True)


def glorot(net):
    return lambda key: starts.glorot(net, key, dtype=jnp.float32)


def test_cells_of_data_train_each_as_they_would_alone():
    other = 1 - LABELS
    options = {
        "members": 2,
        "epochs": 3,
        "step_size": 0.1,
        "key": jax.random.key(0),
        "batch": 60,
        "start": glorot(NET),
    }
    both = by_epochs.learn(NET, [X, X], [LABELS, other], [X[:10]] * 2, **options)
    alone = by_epochs.learn(NET, X, other, X[:10], **options)
    assert both.predictions.shape == (4, 3, 70)
    np.testing.assert_array_equal(both.predictions[by_epochs.cell_slices(2, 2)[1]], alone.predictions)
    np.testing.assert_array_equal(alone.epochs, [1, 2, 3])
    # Watched examples are the first of those trained on.
    np.testing.assert_array_equal(alone.predictions[:, :, 60:], alone.predictions[:, :, :10])


def test_cells_of_step_sizes_and_starts_are_walked_together():
    double = lambda key: jax.tree.map(lambda leaf: 2 * leaf, glorot(NET)(key))  # noqa: E731
    options = {"members": 2, "epochs": 4, "key": jax.random.key(3), "batch": 60}
    both = by_epochs.learn(NET, X, LABELS, step_size=[0.1, 0.4], start=[glorot(NET), double], **options)
    one = by_epochs.learn(NET, X, LABELS, step_size=0.4, start=double, **options)
    np.testing.assert_array_equal(both.predictions[2:], one.predictions)


def test_descent_on_minibatches_learns_a_plane():
    history = by_epochs.learn(
        LINE, X, LABELS, members=2, epochs=60, step_size=0.5, start=glorot(LINE), key=jax.random.key(1), batch=20
    )
    accuracy = history.accuracy(LABELS)
    assert accuracy[:, -1].min() >= 0.95
    assert order.accessibility(history.right(LABELS)).mean() == pytest.approx(accuracy.mean())
    assert not history.diverged.any()


def test_predictions_are_kept_at_the_epochs_and_of_the_examples_asked_for():
    options = {
        "members": 1,
        "epochs": 6,
        "step_size": 0.1,
        "key": jax.random.key(2),
        "batch": 30,
        "start": glorot(LINE),
    }
    every = by_epochs.learn(LINE, X, LABELS, X[:5], **options)
    some = by_epochs.learn(LINE, X, LABELS, X[:5], at=(1, 6), watch_training=False, **options)
    np.testing.assert_array_equal(some.predictions, every.predictions[:, [0, 5], 60:])


def test_the_square_loss_descends_as_written():
    record = train.Record("W", lambda model, problem, parameters: parameters.layers[0], ("out", "in"))
    net = models.MLP((6, 2), "linear", "standard")
    history = by_epochs.learn(
        net, X, LABELS, members=1, epochs=2, at=(0, 1, 2), step_size=0.2, start=glorot(net), key=jax.random.key(4),
        batch=60, loss="square", record=(record,),
    )  # fmt: skip
    W, Y = history.records["W"][0, 0].astype(float), np.eye(2)[LABELS]
    for epoch in (1, 2):
        W = W - 0.2 * (X @ W.T - Y).T @ X / 60
        np.testing.assert_allclose(history.records["W"][0, epoch], W, atol=1e-5)


def test_what_diverges_is_marked():
    history = by_epochs.learn(
        NET, 100 * X, LABELS, members=2, epochs=30, step_size=[1e-4, 1e6], start=glorot(NET), key=jax.random.key(5),
        batch=60, loss="square", on_divergence="keep",
    )  # fmt: skip
    np.testing.assert_array_equal(history.diverged, [False, False, True, True])
