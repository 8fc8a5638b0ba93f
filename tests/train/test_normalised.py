"""Normalised descent against a loop in NumPy, and what sets it apart from plain descent."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lineament as la
from lineament.train import normalised

NET = la.models.DeepLinear((3, 4, 2))
TARGET = np.random.default_rng(0).normal(size=(2, 3))
PROBLEM = la.problems.whitened(TARGET)
START = la.starts.gaussian(NET, jax.random.key(0), start_scale=0.1)


def naive(layers, step, steps, decay, eps):
    W1, W2 = (np.array(W) for W in layers)
    v, maps = 0.0, [W2 @ W1]
    for t in range(1, steps + 1):
        G = W2 @ W1 - TARGET
        G1, G2 = W2.T @ G, G @ W1.T
        v = decay * v + (1 - decay) * (np.sum(G1**2) + np.sum(G2**2))
        size = np.sqrt(v / (1 - decay**t)) + eps
        W1, W2 = W1 - step * G1 / size, W2 - step * G2 / size
        maps.append(W2 @ W1)
    return np.stack(maps)


@pytest.mark.parametrize(("decay", "eps"), [(0.99, 1e-4), (0.5, 1.0), (0.0, 1e-8)])
def test_it_is_the_loop(decay, eps):
    run = la.descend(
        NET, PROBLEM, START, step_size=0.02, steps=60, every=1, record=("end_to_end",),
        optimiser=partial(normalised, decay=decay, eps=eps),
    )  # fmt: skip
    np.testing.assert_allclose(run.end_to_end, naive(START, 0.02, 60, decay, eps), atol=1e-12)


def test_its_defaults_are_those_of_the_papers():
    run = la.descend(
        NET, PROBLEM, START, step_size=0.02, steps=20, every=1, record=("end_to_end",), optimiser=normalised
    )
    np.testing.assert_allclose(run.end_to_end, naive(START, 0.02, 20, 0.99, 1e-4), atol=1e-12)


def test_without_memory_every_step_has_the_asked_length():
    optimiser = normalised(0.3, decay=0.0, eps=1e-12)
    gradient = {"a": jnp.array([3.0, 0.0]), "b": jnp.array([[4.0]])}
    updates, _ = optimiser.update(gradient, optimiser.init(gradient))
    np.testing.assert_allclose(updates["a"], [-0.3 * 3 / 5, 0], rtol=1e-10)
    np.testing.assert_allclose(updates["b"], [[-0.3 * 4 / 5]], rtol=1e-10)


def test_it_leaves_a_saddle_in_steps_that_do_not_grow_with_the_plateau():
    """At depth 3 the flow waits ~ s^{-1/3} from a start s; normalised descent does not."""
    net = la.models.DeepLinear((1, 1, 1, 1))
    problem = la.problems.whitened([[1.0]])
    runs = [
        la.descend(net, problem, la.starts.identity(net, s), step_size=0.01, steps=400, every=1, record=("loss",),
                   optimiser=partial(normalised, eps=1e-12), on_divergence="keep")
        for s in (1e-4, 1e-6)
    ]  # fmt: skip
    waits = [int(np.argmax(run.loss.values < 0.25)) for run in runs]
    assert 0 < waits[0] < 200
    assert waits[1] < 1.5 * waits[0]


@pytest.mark.parametrize("decay", [-0.1, 1.0])
def test_a_decay_outside_its_range_is_refused(decay):
    with pytest.raises(ValueError, match=r"decay must lie in \[0, 1\)"):
        normalised(0.1, decay=decay)


def test_eps_must_be_positive():
    with pytest.raises(ValueError, match="eps must be positive"):
        normalised(0.1, eps=0.0)
