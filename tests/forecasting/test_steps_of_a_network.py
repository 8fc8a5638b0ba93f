"""A network of another framework, trained one step after the other: against its steps written out."""

from types import SimpleNamespace

import numpy as np
import pytest

from lineament.forecasting import network_train

RNG = np.random.default_rng(4)
START = RNG.normal(size=(3, 2))


class Lines:
    """The map x ↦ xθ on square loss; changes of θ are matrices."""

    origin = START

    def outputs(self, X, change):
        return X @ (START + change)

    def gradient(self, X, y, loss, change):
        assert loss == "square"
        error = self.outputs(X, change) - y
        return self.outputs(X, change), X.T @ error / len(X)

    def pull_back(self, X, coefficients):
        return X.T @ coefficients

    def combine(self, weights, changes):
        return sum(weight * change for weight, change in zip(weights, changes, strict=True))


@pytest.mark.parametrize(("batch_size", "momentum", "decay"), [(None, 0.0, 0.0), (None, 0.7, 0.1), (2, 0.7, 0.1)])
def test_steps_are_those_of_descent_with_momentum_and_decay(batch_size, momentum, decay):
    X, y, Z = RNG.normal(size=(5, 3)), RNG.normal(size=(5, 2)), RNG.normal(size=(4, 3))
    made = SimpleNamespace(
        network=Lines(), X=X, y=y, X_test=Z, seed=3, batch_size=batch_size, at=np.array([0, 1, 4, 7]), steps=7,
        loss_name="square", weight_decay=decay, momentum=momentum, step_size=0.2,
    )  # fmt: skip
    here, there = network_train._stepped(made)
    theta, velocity, rng, kept = START, np.zeros((3, 2)), np.random.default_rng(4), []
    batches = []
    for _ in range(8):
        kept.append(theta)
        if not batches:  # two whole batches an epoch, the fifth row is left over
            order = rng.permutation(5) if batch_size else np.arange(5)
            batches = [order[:2], order[2:4]] if batch_size else [order]
        rows = batches.pop(0)
        gradient = X[rows].T @ (X[rows] @ theta - y[rows]) / len(rows) + decay * theta
        velocity = momentum * velocity + gradient
        theta = theta - 0.2 * velocity
    for record, step in enumerate(made.at):
        np.testing.assert_allclose(here[record], X @ kept[step], atol=1e-12)
        np.testing.assert_allclose(there[record], Z @ kept[step], atol=1e-12)
    assert (here.shape, there.shape) == ((4, 5, 2), (4, 4, 2))
