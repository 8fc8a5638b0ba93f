"""The pace of networks on images in the limit of width, against known kernels and wide networks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lineament import models, starts
from lineament.claims.hu import figure_3, images
from lineament.claims.hu.limit_of_width import around, circular_ntk, pace
from lineament.theory import kernels


def test_of_single_pixels_it_is_the_kernel_of_a_fully_connected_network():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    for hidden in (1, 2, 4):
        dense = kernels.infinite(x, y, activation="erf", hidden_layers=hidden).ntk
        np.testing.assert_allclose(circular_ntk(x, y, (1, 1, 3), hidden), dense, rtol=1e-12)


def test_of_one_layer_along_a_line_it_is_equation_12():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(3, 7)), rng.normal(size=(4, 7))
    line = kernels.circular_cnn(x, y, filter_size=3, activation="erf").ntk
    np.testing.assert_allclose(circular_ntk(x, y, (7, 1, 1), 1), line, rtol=1e-12)


def test_it_is_the_mean_kernel_of_wide_networks():
    rng = np.random.default_rng(2)
    image, hidden = (3, 4, 2), 3
    x = jnp.asarray(rng.normal(size=(3, 24)))
    exact = circular_ntk(np.asarray(x), np.asarray(x), image, hidden)

    net = models.ConvNet(image, (64,) * hidden, (1,), 3, padding="circular", activation="erf")

    def kernel(key: jax.Array) -> jax.Array:
        jacobian = jax.jacrev(lambda p: net.apply(p, x)[:, 0])(starts.gaussian(net, key, deviation=1.0))
        rows = jnp.concatenate([J.reshape(len(x), -1) for J in jax.tree.leaves(jacobian)], axis=1)
        return rows @ rows.T

    found = np.asarray(jax.jit(jax.vmap(kernel))(jax.random.split(jax.random.key(0), 48)))
    error = found.std(axis=0, ddof=1) / len(found) ** 0.5
    assert np.all(np.abs(found.mean(axis=0) - exact) < 4 * error)
    assert np.all(error < 0.05 * np.diag(exact).max())


def test_neighbourhoods_close_in_circles():
    values = np.zeros((1, 4, 5))
    values[0, 0, 0] = 9.0
    seen = around(values)[0]
    assert seen.sum() == pytest.approx(9)
    assert np.argwhere(seen).tolist() == [[i, j] for i in (0, 1, 3) for j in (0, 1, 4)]


@pytest.mark.parametrize("kind", ["fully connected", "convolutional"])
def test_images_in_all_directions_are_learnt_at_the_twins_pace_and_those_in_one_are_not(kind):
    rng, hidden, image = np.random.default_rng(3), 2, (10, 10, 3)
    linear = kernels.expansion("erf", hidden).linear

    def found(strongest: float) -> float:
        X = rng.normal(size=(60, 300)) + strongest * rng.choice([-1.0, 1.0], 60)[:, None]
        X /= np.sqrt(np.mean(X**2, axis=1, keepdims=True))
        return pace(kind, image, hidden, X[:40], np.sign(X[:40, 0]), X[40:], linear)

    assert found(0.0) == pytest.approx(1, abs=0.1)
    # All images are one, or its negative: there both kernels have one value, that of an image with itself.
    one = kernels.infinite(np.ones((1, 300)), activation="erf", hidden_layers=hidden).ntk.item()
    assert found(1e6) == pytest.approx(one / linear, rel=1e-5)


def test_a_run_says_how_much_of_its_pace_is_due_to_width():
    run = images.OnImages(
        np.arange(2), np.array([[0.0, 0], [1, 1]]), {"convolutional": np.array([[0.0, 0], [1.2, 1.2]])},
        np.eye(2), np.ones(2), end=1, limit={"convolutional": 1.1},
    )  # fmt: skip
    assert run.pace("convolutional") == pytest.approx(1.2)
    assert run.stray("convolutional") == pytest.approx(1.2 / 1.1 - 1)


def compared(gap: float, pace: float, limit: float) -> images.OnImages:
    """A network that loses its twin's progress on V_lin by so much, with a first step of some pace."""
    grow = np.array([0.0, 0.1, 0.5, 1.0])
    twin = grow[:, None] * [1.0, 1.0, 0.0, 0.0]
    apart = np.array([0.0, 0.0, gap, 0.9])
    network = twin * (1 + apart[:, None]) * np.array([1.0, pace, 1.0, 1.0])[:, None]
    network[2:, 2:] = [[0.0, 0.0], [0.7, 0.7]]
    inputs, labels = np.eye(4)[:, :2], np.ones(4)
    return images.OnImages(np.arange(4), twin, {"convolutional": network}, inputs, labels, 2, {"convolutional": limit})


@pytest.mark.parametrize(
    ("gap", "pace", "limit", "outcome"),
    [
        (0.01, 1.0, 1.0, "passed"),
        (0.2, 1.0, 1.0, "failed"),
        (0.01, 1.12, 1.1, "passed"),  # off the twin, as any network on such images is
        (0.01, 1.12, 0.97, "void"),
        (0.01, 0.9, 1.0, "void"),
        (0.2, 1.12, 0.97, "void"),
    ],
)
def test_losses_are_compared_of_networks_that_are_wide_enough(gap, pace, limit, outcome):
    pair, run = ("cat", "horse"), compared(gap, pace, limit)
    main = compared(0.01, 1.0, 1.0)
    checks = {check.name: check for check in figure_3._checks("convolutional", {pair: main}, {pair: run}, "")}
    (check,) = (check for name, check in checks.items() if name.startswith("gap"))
    assert [check.passed, check.failed, bool(check.void)] == [outcome == kind for kind in ("passed", "failed", "void")]
    assert ("0.97 times" in check.void) == (limit == 0.97)


def test_of_narrow_networks_that_leave_their_twin_it_counts_and_that_they_do_not_says_nothing():
    growth = "last relative MSE over the early one, convolutional, least"
    found = {}
    for gap in (0.01, 2.0):
        run = {("cat", "horse"): compared(gap, 1.12, 0.97)}
        found[gap] = next(c for c in figure_3._checks("convolutional", run, run, "") if c.name == growth)
    assert found[0.01].passed
    assert "too narrow" in found[2.0].void
