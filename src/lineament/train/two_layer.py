"""Wide two-layer linear networks by stochastic descent, without their layers.

Descent on any loss of the map `W = W₂W₁` moves W, `A = W₂W₂ᵀ` and `B = W₁ᵀW₁` by a recursion of their own: with the
gradient G of the loss with respect to W, and the step size μ,

    W⁺ = W − μ(AG + GB) + μ² G Wᵀ G
    A⁺ = A − μ(GWᵀ + WGᵀ) + μ² G B Gᵀ
    B⁺ = B − μ(WᵀG + GᵀW) + μ² Gᵀ A G

exactly. The hidden layer enters only through where this begins, so that its width costs nothing.
"""

from functools import partial
from typing import NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int

from ..core.precision import products


class State(NamedTuple):
    """The map W (K, q) and the scale matrices A (K, K) and B (q, q); an ensemble has a leading axis."""

    W: Float[Array, "*member K q"]
    A: Float[Array, "*member K K"]
    B: Float[Array, "*member q q"]


Seen: TypeAlias = tuple[jax.Array, jax.Array, jax.Array]
"""Accuracy on training examples and on test examples, and the loss, of every member."""


class Curves(NamedTuple):
    """Records (member, record): accuracy on training and test examples, and the loss on the training examples."""

    steps: np.ndarray
    train: np.ndarray
    test: np.ndarray
    loss: np.ndarray


def uniform_start(key: jax.Array, q: int, K: int, times: int, dtype: DTypeLike = jnp.float32) -> State:
    """W, A and B of two layers with `times · q` hidden units whose entries are uniform of variance 1.

    Layers of variances σ₁² and σ₂² have `scaled(state, σ₁², σ₂²)`. Hidden units come q at a time.
    """

    def add(i: jax.Array, state: State) -> State:
        first_key, second_key = jax.random.split(jax.random.fold_in(key, i))
        edge = 3**0.5
        W1 = jax.random.uniform(first_key, (q, q), dtype, -edge, edge)
        W2 = jax.random.uniform(second_key, (K, q), dtype, -edge, edge)
        return State(state.W + W2 @ W1, state.A + W2 @ W2.T, state.B + W1.T @ W1)

    with products("float32"):
        zero = State(jnp.zeros((K, q), dtype), jnp.zeros((K, K), dtype), jnp.zeros((q, q), dtype))
        return jax.lax.fori_loop(0, times, add, zero)


def scaled(state: State, first: float, second: float) -> State:
    """The state when the layers are multiplied by the roots of two variances."""
    first_variance, second_variance = (jnp.asarray(variance, state.W.dtype) for variance in (first, second))
    return State(
        jnp.sqrt(first_variance * second_variance) * state.W, second_variance * state.A, first_variance * state.B
    )


def step(state: State, gradient: Float[Array, "K q"], step_size: Float[Array, ""]) -> State:
    """One step of descent, from the gradient with respect to the map."""
    (W, A, B), G, mu = state, gradient, step_size
    AG, GB = A @ G, G @ B
    # One product of thin matrices moves B, which is read and written once.
    left, right = jnp.concatenate([W, G, G]), jnp.concatenate([-mu * G, -mu * W, mu**2 * AG])
    GW = G @ W.T
    return State(W - mu * (AG + GB) + mu**2 * GW @ G, A - mu * (GW + GW.T) + mu**2 * GB @ G.T, B + left.T @ right)


def descend_two_layer(
    start: State,
    X: np.ndarray,
    labels: np.ndarray,
    tests: np.ndarray,
    test_labels: np.ndarray,
    *,
    step_sizes: np.ndarray,
    keys: jax.Array,
    at: np.ndarray,
    batch: int = 100,
) -> Curves:
    """Descend on the cross-entropy of minibatches from an ensemble of starts.

    Args:
        start: An ensemble of states.
        X: Training examples, (n, q).
        labels: Their classes.
        tests: Test examples.
        test_labels: Their classes.
        step_sizes: One for each member.
        keys: Of the order of examples, one for each member; members of one key see the same batches.
        at: The steps, rising, at which to record.
        batch: Examples per step; the odd rest of an epoch is left out.
    """
    arrays = (jnp.asarray(X), jnp.asarray(labels), jnp.asarray(tests), jnp.asarray(test_labels))
    with products("float32"):
        rows = _run(start, *arrays, jnp.asarray(step_sizes, start.W.dtype), keys, jnp.asarray(at), batch)
    train, test, loss = (np.asarray(row).T for row in rows)
    return Curves(np.asarray(at), train, test, loss)


@partial(jax.jit, static_argnames="batch")
def _run(
    start: State,
    X: Float[Array, "n q"],
    y: Int[Array, " n"],
    tests: Float[Array, "t q"],
    test_y: Int[Array, " t"],
    step_sizes: Float[Array, " member"],
    keys: jax.Array,
    at: Int[Array, " record"],
    batch: int,
) -> Seen:
    n, classes = X.shape[0], start.W.shape[-2]
    per_epoch = n // batch
    shuffled = jax.vmap(lambda key, epoch: jax.random.permutation(jax.random.fold_in(key, epoch), n), (0, None))

    def advance_member(state: State, step_size: jax.Array, examples: jax.Array) -> State:
        rows, truth = X[examples], jax.nn.one_hot(y[examples], classes, dtype=X.dtype)
        G = (jax.nn.softmax(rows @ state.W.T) - truth).T @ rows / batch
        return step(state, G, step_size)

    def advance(s: jax.Array, carry: tuple[State, jax.Array]) -> tuple[State, jax.Array]:
        state, order = carry
        order = jax.lax.cond(s % per_epoch == 0, lambda: shuffled(keys, s // per_epoch), lambda: order)
        examples = jax.lax.dynamic_slice_in_dim(order, (s % per_epoch) * batch, batch, 1)
        return jax.vmap(advance_member)(state, step_sizes, examples), order

    def observe(state: State) -> Seen:
        def of(W: jax.Array) -> Seen:
            outputs = X @ W.T
            loss = -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(outputs), y[:, None], axis=1))
            right = jnp.mean(jnp.argmax(outputs, axis=1) == y)
            return right, jnp.mean(jnp.argmax(tests @ W.T, axis=1) == test_y), loss

        return jax.vmap(of)(state.W)

    def to_record(carry: tuple[State, jax.Array], ends: jax.Array) -> tuple[tuple[State, jax.Array], Seen]:
        carry = jax.lax.fori_loop(ends[0], ends[1], advance, carry)
        return carry, observe(carry[0])

    begin = jnp.concatenate([jnp.zeros(1, at.dtype), at[:-1]])
    order = shuffled(keys, 0)
    return jax.lax.scan(to_record, (start, order), jnp.stack([begin, at], axis=1))[1]
