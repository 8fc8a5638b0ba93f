"""Diagonal networks: the map, the start, and flows against closed forms and conservation laws."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lineament as la
from lineament.models import Diagonal
from lineament.theory import modes

TARGET = np.array([3.0, 1.0, 0.5])


@settings(max_examples=30)
@given(st.sampled_from([(1, 1), (1, 4), (3, 2), (5, 5)]), st.booleans(), st.booleans(), st.integers(0, 99))
def test_the_map_is_the_product_of_the_weights(size, shared, signed, seed):
    features, depth = size
    net = Diagonal(features, depth, shared=shared, signed=signed)
    w = np.random.default_rng(seed).normal(size=net.parameter_shape)
    net.check(w)
    halves = []
    for half in w if signed else [w]:
        layers = [half] * depth if shared else half
        halves.append([np.prod([layer[i] for layer in layers]) for i in range(features)])
    sigma = np.subtract(*halves) if signed else halves[0]
    np.testing.assert_allclose(net.end_to_end(jnp.asarray(w)), [sigma], rtol=1e-13, atol=1e-15)
    assert net.shape == net.end_to_end(jnp.asarray(w)).shape


@pytest.mark.parametrize("scale", [1e-6, 2.0, [1e-3, 0.1]])
@pytest.mark.parametrize(("depth", "shared"), [(1, True), (2.5, True), (4, True), (3, False)])
def test_the_start_has_the_asked_scale_and_the_signed_start_is_zero(scale, depth, shared):
    net = Diagonal(2, depth, shared=shared)
    np.testing.assert_allclose(
        net.end_to_end(la.starts.identity(net, scale))[0], np.broadcast_to(scale, 2), rtol=1e-13
    )
    both = Diagonal(2, depth, shared=shared, signed=True)
    np.testing.assert_array_equal(both.end_to_end(la.starts.identity(both, scale)), np.zeros((1, 2)))


@pytest.mark.parametrize(("depth", "shared"), [(2.5, True), (5, True), (3, False)])
def test_flow_follows_the_closed_form(depth, shared):
    net = Diagonal(3, depth, shared=shared)
    start = la.ensemble(partial(la.starts.identity, net), jnp.array([1e-4, 1e-2, 2.0]))
    clock = depth**2 if shared else depth  # the loss is ½‖σ − σ*‖², without the paper's 1/N² or 1/N
    longest = modes.time_to(0.99 * TARGET.min(), TARGET.min(), 1e-4, depth)
    times = np.linspace(0, longest, 12) / clock
    run = la.flow(
        net,
        la.problems.whitened(TARGET[None]),
        start,
        times=times,
        record=("end_to_end",),
        rtol=1e-10,
        tolerance=1e-20,
    )
    scales = np.array([1e-4, 1e-2, 2.0])[:, None, None]
    forecast = modes.trajectory(clock * times[None, :, None], TARGET, scales, depth)
    np.testing.assert_allclose(run.end_to_end[:, :, 0], forecast, rtol=1e-8)


@pytest.mark.parametrize("depth", [2, 2.5])
def test_signed_halves_conserve_what_the_flow_must(depth):
    """`w₊w₋` at depth 2, else `w₊^{2−N} + w₋^{2−N}`, feature by feature, on any data."""
    r = np.random.default_rng(0)
    net = Diagonal(4, depth, signed=True)
    problem = la.problems.regression(r.normal(size=(9, 4)), r.normal(size=9))
    start = la.starts.identity(net, 0.1)
    run = la.flow(net, problem, start, record=("end_to_end",), rtol=1e-11)
    conserved = lambda w: np.prod(w, axis=0) if depth == 2 else np.sum(w ** (2 - depth), axis=0)  # noqa: E731
    np.testing.assert_allclose(conserved(np.asarray(run.final)), conserved(np.asarray(start)), rtol=1e-8)
    assert run.end_to_end.min() < -0.05 < 0.05 < run.end_to_end.max()  # both signs are learnt
    np.testing.assert_allclose(run.end_to_end[-1], problem.optimum().map, atol=1e-3)


def test_the_exponential_loss_drives_features_as_in_section_4_3():
    """σ̇ = N² σ^{2−2/N} mean_j y_j x_j e^{−y_j⟨σ,x_j⟩}; the text omits the label y_j before x_j."""
    r = np.random.default_rng(1)
    X, y = r.normal(size=(7, 3)), r.choice([-1.0, 1.0], 7)
    net = Diagonal(3, 3)
    w = jnp.array([0.3, 0.7, 1.1])
    problem = la.problems.exponential(X, y)
    velocity = -jax.grad(lambda w: problem.loss(net.end_to_end(w)))(w)
    _, moved = jax.jvp(net.end_to_end, (w,), (velocity,))
    sigma = np.asarray(w) ** 3
    by_hand = 9 * sigma ** (4 / 3) * np.mean((y * np.exp(-y * (X @ sigma)))[:, None] * X, axis=0)
    np.testing.assert_allclose(moved[0], by_hand, rtol=1e-12)


@pytest.mark.parametrize("depth", [1, 3])
def test_descent_on_other_losses_is_the_loop_by_hand(depth):
    r = np.random.default_rng(2)
    X = r.normal(size=(12, 3))
    y = np.sign(X @ [1.0, -1.0, 0.5])
    net = Diagonal(3, depth, signed=True)
    plus = minus = np.full(3, 0.1 ** (1 / depth))
    for _ in range(30):
        margin = y * (X @ (plus**depth - minus**depth))
        slope = -np.mean((y / (1 + np.exp(margin)))[:, None] * X, axis=0)  # of the logistic loss in σ
        down = 0.05 * depth * slope
        plus, minus = plus - down * plus ** (depth - 1), minus + down * minus ** (depth - 1)
    run = la.descend(
        net, la.problems.logistic(X, y), la.starts.identity(net, 0.1), step_size=0.05, steps=30, record=("loss",)
    )
    np.testing.assert_allclose(run.final, [plus, minus], rtol=1e-12)


def test_bad_networks_and_parameters_are_refused():
    with pytest.raises(ValueError, match="features must be a positive integer; got 0"):
        Diagonal(0, 2)
    with pytest.raises(ValueError, match=r"depth must be a finite number of at least 1; got 0\.5"):
        Diagonal(2, 0.5)
    with pytest.raises(ValueError, match=r"depth must be an integer unless weights are shared; got 2\.5"):
        Diagonal(2, 2.5, shared=False)
    with pytest.raises(ValueError, match="scale must be positive"):
        la.starts.identity(Diagonal(2, 2), 0.0)
    net = Diagonal(3, 2)
    with pytest.raises(ValueError, match=r"start must have the shapes \(3,\) .* got \(2,\)"):
        la.flow(net, la.problems.whitened(TARGET[None]), jnp.ones(2))
    with pytest.raises(ValueError, match=r"\(outputs, inputs\) = \(1, 2\); got \(1, 3\)"):
        la.flow(net, la.problems.whitened(np.ones((1, 2))), la.starts.identity(net, 0.1))
