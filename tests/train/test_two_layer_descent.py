"""The map and the scale matrices of a two-layer linear network move as its layers do."""

import jax
import jax.numpy as jnp
import numpy as np
from numpy.testing import assert_allclose

from lineament.train import two_layer


def layers(seed, q=5, m=7, K=3):
    rng = np.random.default_rng(seed)
    return jnp.asarray(rng.normal(size=(m, q))), jnp.asarray(rng.normal(size=(K, m)))


def state_of(W1, W2):
    return two_layer.State(W2 @ W1, W2 @ W2.T, W1.T @ W1)


def cross_entropy(W1, W2, X, y):
    log_p = jax.nn.log_softmax(X @ (W2 @ W1).T)
    return -jnp.mean(log_p[jnp.arange(len(y)), y])


def test_a_step_is_a_step_of_the_layers():
    rng = np.random.default_rng(0)
    W1, W2 = layers(1)
    X, y = jnp.asarray(rng.normal(size=(20, 5))), jnp.asarray(rng.integers(0, 3, 20))
    for _ in range(5):
        state = state_of(W1, W2)
        G = jax.grad(lambda W: -jnp.mean(jax.nn.log_softmax(X @ W.T)[jnp.arange(20), y]))(state.W)
        g1, g2 = jax.grad(cross_entropy, (0, 1))(W1, W2, X, y)
        W1, W2 = W1 - 0.3 * g1, W2 - 0.3 * g2
        moved = two_layer.step(state, G, jnp.asarray(0.3))
        for got, expected in zip(moved, state_of(W1, W2), strict=True):
            assert_allclose(got, expected, atol=1e-12)


def test_training_is_training_of_the_layers():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(12, 5)), rng.integers(0, 3, 12)
    pairs = [layers(seed) for seed in (3, 4)]
    start = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(state_of(*pair) for pair in pairs))
    at = np.array([1, 3, 8])
    # One batch is an epoch, so that the order of examples does not matter.
    curves = two_layer.descend_two_layer(
        start, X, y, X[:4], y[:4], step_sizes=np.array([0.1, 0.2]), keys=jax.random.split(jax.random.key(0), 2), at=at,
        batch=12,
    )  # fmt: skip
    for member, ((W1, W2), step_size) in enumerate(zip(pairs, (0.1, 0.2), strict=True)):
        for s in range(1, 9):
            g1, g2 = jax.grad(cross_entropy, (0, 1))(W1, W2, X, y)
            W1, W2 = W1 - step_size * g1, W2 - step_size * g2
            if s in at:
                record = int(np.flatnonzero(at == s)[0])
                assert_allclose(curves.loss[member, record], cross_entropy(W1, W2, X, y), atol=1e-12)
                said = np.argmax(X @ (W2 @ W1).T, axis=1)
                assert_allclose(curves.train[member, record], np.mean(said == y))
                assert_allclose(curves.test[member, record], np.mean(said[:4] == y[:4]))


def test_members_of_one_key_see_the_same_batches():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(30, 5)), rng.integers(0, 3, 30)
    one = state_of(*layers(6))
    start = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf, leaf]), one)
    keys = jax.random.split(jax.random.key(1), 2)
    curves = two_layer.descend_two_layer(
        start, X, y, X, y, step_sizes=np.full(3, 0.2), keys=jnp.stack([keys[0], keys[0], keys[1]]), at=np.array([7]),
        batch=5,
    )  # fmt: skip
    assert_allclose(curves.loss[0], curves.loss[1], rtol=1e-14)
    assert not np.allclose(curves.loss[0], curves.loss[2], rtol=1e-6)


def test_the_uniform_start_has_the_moments_of_its_layers():
    drawn = two_layer.uniform_start(jax.random.key(0), 6, 2, 400, jnp.float64)
    m = 400 * 6
    assert_allclose(drawn.A, m * np.eye(2), atol=6 * m**0.5)
    assert_allclose(drawn.B, m * np.eye(6), atol=6 * m**0.5)
    assert_allclose(drawn.W, 0, atol=6 * m**0.5)
    both = two_layer.scaled(drawn, 0.25, 4.0)
    assert_allclose(both.W, drawn.W)
    assert_allclose(both.A, 4 * drawn.A)
    assert_allclose(both.B, drawn.B / 4)
