"""Networks on images in the limit of width, against known kernels and wide networks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lineament import data, models, starts
from lineament.claims.hu import appendix_a, figure_3, images, limit_of_width
from lineament.claims.hu.limit_of_width import around, circular_ntk, erf_dual, kernel, outputs
from lineament.theory import dual_activations, kernels


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


def test_dual_activations_are_those_of_the_theory():
    rng = np.random.default_rng(4)
    s, t = rng.gamma(1, size=(2, 50))
    c = np.sqrt(s * t) * rng.uniform(-1, 1, 50)
    value, slope = erf_dual(*map(jnp.asarray, (s, t, c)))
    expected = dual_activations.erf_dual(s, t, c)
    np.testing.assert_allclose(value, expected.value, rtol=1e-12)
    np.testing.assert_allclose(slope, expected.slope, rtol=1e-12)


@pytest.mark.parametrize("held", [1, 60, 150, 10**6])
def test_a_kernel_in_parts_is_the_kernel(held, monkeypatch):
    monkeypatch.setattr(limit_of_width, "HELD", held)
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(5, 12)), rng.normal(size=(7, 12))
    np.testing.assert_allclose(kernel(x, y, (2, 3, 2), 2), circular_ntk(x, y, (2, 3, 2), 2), rtol=1e-13)


def test_outputs_are_those_of_descent_by_the_kernel():
    rng = np.random.default_rng(6)
    X, y, tests = rng.normal(size=(6, 4)), rng.normal(size=6), rng.normal(size=(3, 4))
    found = outputs((1, 1, 4), 2, X, y, tests, 0.3, 9)
    inner, outer = (kernels.infinite(rows, X, activation="erf", hidden_layers=2).ntk for rows in (X, tests))
    # Of the loss ½ mean (f − y)²: f_s = (1 − (1 − ηΘ/n)^s) y, and tests follow the residuals.
    left = [np.linalg.matrix_power(np.eye(6) - 0.3 * inner / 6, s) @ y for s in range(9)]
    expected = np.cumsum([np.zeros(3), *(0.3 / 6 * outer @ residual for residual in left)], axis=0)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)


def test_wide_networks_follow_it():
    few = data.natural_gaussian(12, 8, size=6)
    names = ("fully connected", "convolutional")
    apart = {}
    for width in (16, 128):
        training = images.Training(train=12, test=8, width=8 * width, channels=width, steps=8, rate=0.1)
        run = images.follow(few, "per image", training, jax.random.key(2), names, names)
        for name in names:
            limit = run.in_the_limit(name)
            assert limit.steps[-1] == run.end
            network = run.networks[name][: len(limit.steps)]
            apart[width, name] = np.linalg.norm(network - limit.networks[name]) / np.linalg.norm(limit.networks[name])
    for name in names:
        assert apart[128, name] < apart[16, name] / 1.7  # as 1/√width: a third


def compared(gap: float, in_the_limit: float, late: float = 0.9) -> images.OnImages:
    """A network that strays from its twin on V_lin by so much, and by so much in the limit of width."""
    grow = np.array([0.0, 0.1, 0.5, 1.0])
    twin = grow[:, None] * [1.0, 1.0, 0.0, 0.0]
    apart = np.array([0.0, gap, gap, late])
    network = twin * (1 + apart[:, None])
    network[3, 2:] = 0.7
    limit = {"convolutional": twin[:3] * (1 + in_the_limit)}
    inputs, labels = np.eye(4)[:, :2], np.ones(4)
    return images.OnImages(np.arange(4), twin, {"convolutional": network}, inputs, labels, 2, limit)


@pytest.mark.parametrize(
    ("gap", "in_the_limit", "outcome"),
    [
        (0.01, 0.01, "passed"),
        (0.01, 0.2, "passed"),  # a network that agrees is one, whatever wider ones do
        (0.2, 0.01, "void"),
        (0.2, 0.2, "failed"),
        (0.5, 0.01, "void"),
        (0.5, 0.5, "failed"),
    ],
)
def test_what_a_network_misses_counts_if_it_is_missed_in_the_limit_of_width(gap, in_the_limit, outcome):
    pair, run = ("cat", "horse"), compared(gap, in_the_limit)
    main = compared(0.01, 0.01)
    outcomes = {}
    for runs in ((main, run), (run, main)):
        for check in figure_3._checks("convolutional", {pair: runs[0]}, {pair: runs[1]}, ""):
            outcomes.setdefault(check.name.split()[0], []).append([check.passed, check.failed, bool(check.void)])
    expected = [outcome == kind for kind in ("passed", "failed", "void")]
    assert outcomes["gap"][0] == expected
    assert outcomes["early"][0] == [True, False, False]
    if gap == 0.5:  # 25 % in relative mean square
        assert outcomes["early"][2] == expected


def test_a_network_that_does_not_leave_its_twin_says_nothing_if_it_was_off_it_by_its_width():
    growth = "last relative MSE over the early one, convolutional, least"
    found = {}
    for gap, in_the_limit in ((0.01, 0.01), (0.9, 0.01), (0.9, 0.9)):
        run = {("cat", "horse"): compared(gap, in_the_limit)}
        check = next(c for c in figure_3._checks("convolutional", run, run, "") if c.name == growth)
        found[gap, in_the_limit] = check.passed, check.failed
        assert ("too narrow: in the limit of width it is" in check.void) == (gap > in_the_limit)
    assert found == {(0.01, 0.01): (True, False), (0.9, 0.01): (False, False), (0.9, 0.9): (False, True)}


@pytest.mark.parametrize(
    ("gap", "in_the_limit", "late", "early", "growth"),
    [
        (0.01, 0.01, 0.9, "passed", "passed"),
        (0.5, 0.01, 0.9, "void", "passed"),  # 25 % in relative mean square: wider networks would not be off so far
        (0.5, 0.5, 0.9, "failed", "passed"),
        (0.5, 0.01, 0.1, "void", "void"),  # 1 % in the end, which is more than the limit was off before
        (0.5, 0.5, 0.1, "failed", "failed"),
        (0.5, 0.01, 0.0, "void", "failed"),
    ],
)
def test_whole_images_are_judged_in_the_limit_of_width_too(gap, in_the_limit, late, early, growth):
    settings = appendix_a.check.settings["full"]._replace(networks=("convolutional",))
    run = compared(gap, in_the_limit, late)
    if late < 0.9:
        run.networks["convolutional"][3, 2:] = 0.0  # nothing off V_lin either
    found = appendix_a._checks([("MNIST", run)], settings)
    said = ["passed" if check.passed else "void" if check.void else "failed" for check in found]
    assert said == [early, growth]
    quick = appendix_a._checks([("digits", run)], settings._replace(growth=False))
    assert "told apart linearly" in quick[1].void


def test_the_linear_phase_of_whole_images_has_steps_enough():
    small = appendix_a.check.settings["quick"]
    data_set = appendix_a._load(small.images[0])
    training = small.images[0].training._replace(width=8, steps=60)
    run = images.follow(data_set, "per image", training, jax.random.key(0), small.networks)
    assert run.end >= 8
