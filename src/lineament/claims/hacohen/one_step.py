"""One step of descent of many networks at once, by automatic differentiation."""

import jax
import jax.numpy as jnp


@jax.jit
def descended(
    layers: tuple[jax.Array, ...], X: jax.Array, Y: jax.Array, fractions: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The unit of each network's step, and its map after one step of each size (network, step, K, q)."""

    def product(layers: tuple[jax.Array, ...]) -> jax.Array:
        W = layers[0]
        for layer in layers[1:]:
            W = layer @ W
        return W

    def one_network(layers: tuple[jax.Array, ...], x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        gradient = jax.grad(lambda layers: 0.5 * jnp.sum((product(layers) @ x - y) ** 2))(layers)
        ratios = [jnp.linalg.norm(W) / jnp.linalg.norm(g) for W, g in zip(layers, gradient, strict=True)]
        unit = jnp.min(jnp.stack(ratios))
        map_after = lambda f: product(tuple(W - f * unit * g for W, g in zip(layers, gradient, strict=True)))  # noqa: E731
        return unit, jax.vmap(map_after)(fractions)

    return jax.vmap(one_network)(layers, X, Y)
