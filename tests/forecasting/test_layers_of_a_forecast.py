"""Parts of the forecast of a deep linear network: gradients, narrowing, and the largest stable step."""

from types import SimpleNamespace

import numpy as np
import pytest

import lineament as la
from lineament.forecasting import deep_linear, linear_network, stability
from lineament.linearisation import losses

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(9, 3)), np.eye(2)[RNG.integers(2, size=9)]


@pytest.mark.parametrize("loss", ["square", "cross-entropy"])
def test_gradients_over_maps_are_derivatives_of_the_mean_loss(loss):
    layers = (RNG.normal(size=(4, 3)), RNG.normal(size=(2, 4)))
    solution = deep_linear.LayerSolution(layers, X, Y, X[:2], loss, 0.1, 0.0, 0.0)
    W = RNG.normal(size=(2, 3))
    found = solution.gradient()(W, 0)
    for place in np.ndindex(2, 3):
        step = np.zeros((2, 3))
        step[place] = 1e-6
        value = lambda W: losses.mean(loss, X @ W.T, Y)  # noqa: E731
        assert found[place] == pytest.approx((value(W + step) - value(W - step)) / 2e-6, abs=1e-8)
    here, there = solution.outputs(np.array([0.0, 1.0]))
    product = layers[1] @ layers[0]
    np.testing.assert_allclose(here[0], X @ product.T, rtol=1e-12)
    np.testing.assert_allclose(there[0], X[:2] @ product.T, rtol=1e-12)
    G = solution.gradient()(product, 0)
    moved = (layers[1] - 0.1 * G @ layers[0].T) @ (layers[0] - 0.1 * layers[1].T @ G)
    np.testing.assert_allclose(here[1], X @ moved.T, rtol=1e-10)


def solved(outputs, widths=(3, 2)):
    """A solution whose outputs at three steps are so far off."""
    f = np.multiply.outer(np.asarray(outputs, float), np.ones((4, 1)))
    layers = [np.zeros((width, 1)) for width in widths]
    return SimpleNamespace(loss="square", outputs=lambda steps: (f, None), y=np.zeros((4, 1)), layers=layers)


def test_the_gap_of_two_solutions_is_the_largest_share_of_a_loss():
    """Losses are halves of squares: 1.21 and 0.81 times those of the other."""
    at = np.array([0, 1, 2])
    assert deep_linear._gap(solved([1.0, 1.1, 0.9]), solved([1.0, 1.0, 1.0]), at) == pytest.approx(0.21)
    assert deep_linear._gap(solved([1.0, 0.5, 1.0]), solved([1.0, 1.0, 1.0]), at) == pytest.approx(0.75)
    assert deep_linear._gap(solved([1.0, np.nan, 1.0]), solved([1.0, np.nan, 1.0]), at) == 0
    assert deep_linear._gap(solved([1.0, np.nan, 1.0]), solved([1.0, 1.0, 1.0]), at) == np.inf


def narrowed(monkeypatch, widths, outputs, layers=3):
    """Which orders of narrowing are solved, and what is returned, where each has such widths and such outputs."""
    whole = [np.zeros((99, 1))] * layers
    asked = []
    monkeypatch.setattr(deep_linear.narrowing, "narrowed", lambda given, order=0: order)

    def solve(order):
        asked.append("whole" if order is whole else order)
        return solved(
            outputs[min(asked.index(asked[-1]), len(outputs) - 1)], widths[min(len(asked) - 1, len(widths) - 1)]
        )

    found, gap = deep_linear.narrowest(whole, np.array([0, 1, 2]), solve)
    return asked, found.layers[0].shape[0], gap


def test_layers_are_widened_until_they_train_alike(monkeypatch):
    same, near, far = [1.0, 1.0, 1.0], [1.0, 1.0, 1.0 + 0.2 * deep_linear.ALIKE], [1.0, 1.0, 2.0]
    assert narrowed(monkeypatch, [(3,), (5,)], [near, same]) == (
        [0, 1],
        5,
        pytest.approx(0.4 * deep_linear.ALIKE, rel=1e-3),
    )
    assert narrowed(monkeypatch, [(3,), (5,), (7,)], [far, same, same]) == ([0, 1, 2], 7, 0)
    assert narrowed(monkeypatch, [(3,), (3,)], [far, same]) == ([0, 1], 3, 0), "the space is closed"
    assert narrowed(monkeypatch, [(3,)], [far], layers=2) == ([0], 3, 0), "two layers are never approximated"
    assert narrowed(monkeypatch, [(99, 99, 99)], [far]) == ([0], 99, 0), "as wide as the whole"
    growing = [(k,) for k in range(3, 30)]
    doubling = [[1.0, 1.0, 2.0**k] for k in range(30)]
    asked, *_ = narrowed(monkeypatch, growing, doubling)
    assert asked == [*range(deep_linear.MOST_ORDER + 1), "whole"]


def test_the_largest_stable_step_is_that_of_the_sharper_end():
    rows = SimpleNamespace(X=X, y=Y)
    layers = (RNG.normal(size=(4, 3)), RNG.normal(size=(2, 4)))
    sxx = X.T @ X / 9
    W = np.linalg.lstsq(X, Y, rcond=None)[0].T
    values, V = np.linalg.eigh(sxx)
    for scale in (0.01, 10.0):
        chain = [scale * A for A in layers]
        sharp = max(stability.sharpness_of_layers(chain, sxx), stability.sharpness(W @ V, values, 2))
        for momentum, decay in ((0.0, 0.0), (0.9, 0.5)):
            found = linear_network._largest_stable(rows, chain, momentum, decay)
            assert found == pytest.approx(2 * (1 + momentum) / (sharp + decay), rel=1e-6)


def test_what_is_told_of_steps_and_biases():
    told = lambda eta, loss="square": linear_network._notices(None, eta, 2.0, loss)  # noqa: E731
    assert told(1.99) == ("The network has no biases: features and target are centred.",)
    assert "The step size 2 is not below 2" in told(2.0)[0]
    assert told(2.0, "cross-entropy") == ("The network has no biases: a constant input stands in for them.",)
    assert "not below 4" in told(4.0, "cross-entropy")[0]
    np.testing.assert_array_equal(linear_network._with_constant(X), np.c_[X, np.ones(9)])


def test_starts_by_their_names():
    net = la.models.DeepLinear((3, 4, 2))
    starts = {"glorot": la.starts.glorot, "he": la.starts.he, "torch": la.starts.torch_default}
    for name, start in starts.items():
        np.testing.assert_array_equal(linear_network.begin(net, name, 0.5, 7)[0], start(net, 7)[0])
    balanced = linear_network.begin(net, "balanced", 0.5, 7)
    np.testing.assert_array_equal(balanced[0], la.starts.balanced(net, 7, start_scale=0.5)[0])
    with pytest.raises(ValueError, match="start_scale must be"):
        linear_network.begin(net, "balanced", 0.0, 7)
