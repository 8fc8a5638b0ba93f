"""A network of one's own, linearised at its start: against its own training, and against explicit Jacobians."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import lineament as la
from lineament.linearisation import batches, learnt, losses, safe
from lineament.linearisation.in_jax import Tangents
from lineament.linearisation.response import Optimiser, Response
from lineament.theory.kernel_shapes import shapes


def task(seed=0, n=20, m=8, d=3, k=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + m, d))
    Y = np.tanh(X @ rng.normal(size=(d, k)))
    return X[:n], Y[:n], X[n:], Y[n:]


def network(widths=(3, 30, 2), activation="relu"):
    net = la.models.MLP(widths, activation, "standard", bias=True)
    return net, la.starts.he(net, 0)


@cache
def made(loss="square", classes=False, **settings):
    X, Y, Z, W = task()
    if loss == "cross-entropy" or classes:
        Y, W = Y.argmax(axis=1), W.argmax(axis=1)
    net, start = network()
    return la.linearise(net, start, X, Y, Z, W, loss=loss, **{"steps": 50} | settings)


def tangent_training(net, start, X, Y, Z, loss, eta, momentum, ridge, steps, order=None):
    """The tangent of a network trained step by step in its parameters, with an explicit Jacobian."""
    flat, back = ravel_pytree(start)
    f = lambda theta, X: net.apply(back(theta), X)  # noqa: E731
    both = jax.jit(lambda theta, X: (f(theta, X), jax.jacobian(f)(theta, X)))
    (f0, J), (f0_test, J_test) = (map(np.asarray, both(flat, jnp.asarray(x))) for x in (X, Z))
    d, v = np.zeros(flat.size), np.zeros(flat.size)
    for step in range(steps):
        batch = slice(None) if order is None else order[step]
        g = losses.slope(loss, f0[batch] + J[batch] @ d, Y[batch])
        v = momentum * v + np.einsum("iap,ia->p", J[batch], g) / len(g) + ridge / len(X) * d
        d = d - eta * v
    return f0 + J @ d, f0_test + J_test @ d


@pytest.mark.parametrize(
    ("loss", "momentum", "ridge"), [("square", 0.0, 0.0), ("square", 0.8, 0.7), ("cross-entropy", 0.8, 0.7)]
)
def test_outputs_are_those_of_the_tangent(loss, momentum, ridge):
    found = made(loss, momentum=momentum, ridge=ridge)
    X, _, Z, _ = task()
    here, there = tangent_training(*network(), X, found.y, Z, loss, found.step_size, momentum, ridge, 30)
    np.testing.assert_allclose(found.outputs(30)[0], here, atol=1e-9)
    np.testing.assert_allclose(found.outputs([5, 30])[1][1], there, atol=1e-9)
    place = int(np.argmin(np.abs(found.at - 30)))
    assert found.at[place] == 30
    np.testing.assert_allclose(found.curves.loss[place], losses.mean(loss, here, found.y), rtol=1e-9)


@pytest.mark.parametrize("loss", ["square", "cross-entropy"])
def test_a_batch_moves_what_it_moves_in_the_tangent(loss):
    found = made(loss, momentum=0.6, ridge=0.3, batch_size=5)
    X, _, Z, _ = task()
    at = np.array([0, 3, 17])
    here, there = found.solution.spread(found.y_test, at, 5, seed=4)
    drawn = batches.draw(len(X), 5, 17, seed=4)
    assert drawn.shape == (17, batches.RUNS, 5)
    assert all(len(set(drawn[:4, run].ravel())) == 20 for run in range(batches.RUNS))  # an epoch sees each once
    for run in (0, 3):
        outputs = tangent_training(*network(), X, found.y, Z, loss, found.step_size, 0.6, 0.3, 17, order=drawn[:, run])
        np.testing.assert_allclose(here[run, -1], losses.mean(loss, np.asarray(outputs[0]), found.y), rtol=1e-8)
        np.testing.assert_allclose(there[run, -1], losses.mean(loss, np.asarray(outputs[1]), found.y_test), rtol=1e-8)
    assert np.ptp(here[:, 0]) == 0
    assert (found.band.low <= found.band.high).all()


@pytest.mark.parametrize(("loss", "momentum"), [("square", 0.7), ("cross-entropy", 0.0)])
def test_looks_see_what_training_shows(loss, momentum):
    """The network carried along in large steps is the network trained step by step, to a few parts in a thousand."""
    X, Y, Z, W = task(1)
    net, start = network((3, 60, 2))
    labels = Y.argmax(axis=1)
    found = la.linearise(
        net, start, X, labels if loss == "cross-entropy" else Y, Z, W.argmax(axis=1) if loss == "cross-entropy" else W,
        loss=loss, momentum=momentum, steps=120,
    )  # fmt: skip
    problem = la.problems.cross_entropy(X, labels) if loss == "cross-entropy" else la.problems.lp_regression(X, Y, 2)
    seen = found.safety
    run = la.descend(
        net, problem, start, step_size=found.step_size, steps=120, at=np.r_[0, seen.steps],
        momentum=momentum or None, record=("loss",),
    )  # fmt: skip
    np.testing.assert_allclose(seen.loss, run.loss.values[1:], rtol=5e-3)
    assert len(seen.steps) < 40
    assert seen.steps[0] == 1


def test_a_wide_network_is_safe_to_the_end_and_a_narrow_one_is_not():
    X, Y, Z, W = task(2, k=1)
    wide, narrow = (
        la.linearise(net, la.starts.he(net, 0), X, Y, Z, W, steps=60)
        for net in (la.models.MLP((3, width, 1), "tanh", "standard", bias=True) for width in (1000, 3))
    )
    assert wide.safe_step == np.inf
    assert wide.safety.finished
    assert narrow.safe_step < 60
    assert "safe over all" in str(wide)
    assert f"safe until step {round(narrow.safe_step)}" in str(narrow)


def test_a_convolutional_network_on_whole_images_is_carried_along():
    """Convolutions of large images are differentiated backwards alone."""
    net = la.models.ConvNet((16, 16, 1), (32,), (2,), pooled=(0,), activation="relu", parameterisation="standard")
    assert net.large
    start = la.starts.he(net, 0)
    X = np.random.default_rng(0).normal(size=(6, 256))
    found = la.linearise(net, start, X, np.arange(6) % 2, loss="cross-entropy", steps=5, renew=2)
    change = jax.tree.map(lambda leaf: 1e-4 * jnp.ones_like(leaf), start)
    moved = found.network.outputs(X, change) - found.network.outputs(X)
    np.testing.assert_allclose(found.network.push_forward(X, change), moved, rtol=1e-2, atol=1e-6)
    assert found.path.finished
    assert found.tangent.safety.finished


def test_the_first_departure_is_interpolated():
    steps = np.array([1, 10, 100])
    assert safe.first_departure(steps, np.array([0.0, 0.05, 0.2]), 0.05 + 0.075) == pytest.approx(10**1.5)
    assert safe.first_departure(steps, np.array([0.0, 0.01, 0.02]), 0.1) == np.inf
    assert safe.first_departure(steps, np.array([0.0, 0.01, np.inf]), 0.1) == 10  # the last that was fine


def test_a_drive_is_summed_up_as_the_optimiser_would():
    optimiser = Optimiser(0.1, 0.8, 0.05)
    first, last, v, R = 2.0, -1.0, 0.3, 0.7
    expected_v, expected_R = v, R
    for i in range(9):
        expected_v = 0.8 * expected_v + first + i / 9 * (last - first) - 0.05 * expected_R
        expected_R = expected_R + 0.1 * expected_v
    np.testing.assert_allclose(optimiser.summed(9) @ [v, R, first, last], [expected_v, expected_R])


@pytest.mark.parametrize("loss", ["square", "cross-entropy"])
def test_the_response_is_that_of_the_parameters(loss):
    """d_{s+1} = d_s − η(γ + Jᵀ S J d/n) with a constant γ, written out for a random Jacobian."""
    rng = np.random.default_rng(0)
    n, k, p, eta = 4, 3, 6, 0.2
    J, gamma, f = rng.normal(size=(n, k, p)), rng.normal(size=p), rng.normal(size=(n, k))
    given = shapes(np.einsum("iap,jbp->ijab", J, J), np.zeros((n, k)))
    response = Response(given, loss, Optimiser(eta, 0.0, 0.0))
    d = np.zeros(p)
    for _ in range(12):
        u = J @ d
        held = u if loss == "square" else np.einsum("iab,ib->ia", _softmax_jacobian(f), u)
        d = d - eta * (gamma + np.einsum("iap,ia->p", J, held) / n)
    _, e, u = response.carry(response.begin, 12, J @ gamma, J @ gamma, f)
    np.testing.assert_allclose(u, J @ d, atol=1e-10)
    np.testing.assert_allclose(-12 * eta * gamma - np.einsum("iap,ia->p", J, e), d, atol=1e-10)


def _softmax_jacobian(f):
    p = np.exp(f) / np.exp(f).sum(axis=1, keepdims=True)
    return np.einsum("ia,ab->iab", p, np.eye(f.shape[1])) - np.einsum("ia,ib->iab", p, p)


def test_examples_are_learnt_when_they_stay_right():
    at = np.array([0, 1, 5, 9])
    right = np.array([[True, False, True, False], [False, True, True, False], [True, True, True, True],
                      [True, True, True, False]])  # fmt: skip
    np.testing.assert_array_equal(learnt.learnt_at(at, right), [5, 1, 0, np.inf])


def test_late_examples_are_those_learnt_last():
    found = made("cross-entropy", steps=30)
    order = found.late(20)
    when = found.learnt_at[order]
    assert (np.diff(np.where(np.isinf(when), 1e9, when)) <= 0).all()
    frame = found.examples()
    np.testing.assert_array_equal(frame.example, order)
    right = np.argmax(found.outputs(30)[0], axis=1) == np.argmax(found.y, axis=1)
    np.testing.assert_array_equal(np.isfinite(found.learnt_at), right)


def test_it_shows_itself_in_a_few_words():
    found = made("cross-entropy", batch_size=7)
    assert len(repr(found)) < 200
    assert repr(found).startswith("Linearised(MLP 3 → 30 → 2: 20 examples, 8 test points")
    assert "<table" in found._repr_html_()
    frame = found.to_frame()
    assert list(frame.columns[:5]) == ["step", "loss", "test_loss", "accuracy", "test_accuracy"]
    np.testing.assert_array_equal(frame.safe, frame.step <= found.safe_step)
    assert any("answered rightly" in sentence for sentence in found.sentences)
    assert found.plot("accuracy").axes
    with pytest.raises(ValueError, match="which must be one of"):
        found.plot("nonsense")
    numbers = made()
    with pytest.raises(ValueError, match="which must be one of"):
        numbers.plot("accuracy")  # there are no classes


def test_the_default_step_is_a_tenth_of_the_largest():
    found = made()
    K = Tangents(*network(), 2**28).kernel(task()[0], None, "all")
    top = np.linalg.eigvalsh(K.transpose(0, 2, 1, 3).reshape(40, 40))[-1] / 20
    assert found.step_size == pytest.approx(0.2 / top)
    assert made(momentum=0.5).step_size == pytest.approx(0.1 / top)
    assert not found.notices
    assert "diverges" in made(step_size=3 / top).notices[0]
    assert "share the mean" in made(kernel="mean").notices[0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"y": np.zeros((20, 3))}, "y must have a column for each"),
        ({"y": np.zeros(19)}, "y must be labels"),
        ({"X": np.full((20, 3), np.nan)}, "X must be finite"),
        ({"X_test": np.zeros((4, 5))}, "X_test must have rows of shape"),
        ({"y_test": np.zeros((4, 2))}, "y_test must be left out"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"loss": "cross-entropy", "y": np.full(20, 2)}, "y must be"),
        ({"batch_size": 21}, "batch_size must be"),
        ({"steps": 0}, "steps must be"),
        ({"momentum": 1.0}, "momentum must be"),
        ({"step_size": -1.0}, "step_size must be"),
    ],
)
def test_what_cannot_be_used_is_refused(changed, message):
    net, start = network()
    X, Y, _, _ = task()
    good = {"model": net, "parameters": start, "X": X, "y": Y}
    with pytest.raises(ValueError, match=message):
        la.linearise(**good | changed)


def test_targets_far_from_the_start_are_named_and_part_with_the_forecast_sooner():
    X, Y, Z, W = task()
    net, start = network()
    near, far = (la.linearise(net, start, X, scale * Y, Z, scale * W, steps=200) for scale in (1, 20))
    assert not any("must move far" in said for said in near.notices)
    assert any("must move far" in said for said in far.notices)
    assert far.safe_step < near.safe_step
