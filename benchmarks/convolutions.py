"""Ways to convolve the images of an ensemble, side by side: `python -m benchmarks.convolutions`, on a host with a GPU.

Every member has kernels of its own, so that a library for convolutions sees one convolution in many groups. The same
numbers are a product of matrices for each member, of all patches, or of rows of patches that are added over the height
of the kernel and take a third of the memory. Each layer of ten st-VGG networks, batch 100, is timed forwards and
backwards, in each precision, to choose what `models.patches` does on a GPU.
"""

import argparse
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax

from lineament.core.precision import Precision, factor, products

from .harness import wall_seconds
from .st_vgg import BATCH, MEMBERS, NET, PRECISIONS

Convolution = Callable[[jax.Array, jax.Array], jax.Array]  # images (n, y, x, c), kernels (height, width, c, out)


def padded(h: jax.Array, side: int) -> jax.Array:
    """Images with zeros around them, as "same" padding has it."""
    before = (side - 1) // 2
    return jnp.pad(h, ((0, 0), *[(before, side - 1 - before)] * 2, (0, 0)))


def by_library(h: jax.Array, K: jax.Array) -> jax.Array:
    """`lax.conv`, which makes of an ensemble one convolution in groups."""
    z = lax.conv_general_dilated(
        padded(factor(h), len(K)), factor(K), (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    return z.astype(h.dtype)


def by_patches(h: jax.Array, K: jax.Array) -> jax.Array:
    """One product of all patches."""
    side, (_, height, width, _) = len(K), h.shape
    around = padded(factor(h), side)
    places = [(i, j) for i in range(side) for j in range(side)]
    rows = jnp.concatenate([around[:, i : i + height, j : j + width] for i, j in places], axis=-1)
    return product(rows, factor(K).reshape(-1, K.shape[-1]), h.dtype)


def by_rows(h: jax.Array, K: jax.Array) -> jax.Array:
    """One product for each row of the kernel, of as many pixels as it is wide."""
    side, (_, height, width, _) = len(K), h.shape
    around = padded(factor(h), side)
    wide = jnp.concatenate([around[:, :, j : j + width] for j in range(side)], axis=-1)
    weights = factor(K).reshape(side, -1, K.shape[-1])
    return sum(product(wide[:, i : i + height], weights[i], h.dtype) for i in range(1, side)) + product(
        wide[:, :height], weights[0], h.dtype
    )


def product(rows: jax.Array, weights: jax.Array, dtype: jnp.dtype) -> jax.Array:
    """Products over the last axis, added in the type of the results."""
    return lax.dot_general(rows, weights, (((3,), (0,)), ((), ())), preferred_element_type=dtype)


ROUTES: dict[str, Convolution] = {"library": by_library, "patches": by_patches, "rows": by_rows}


def there_and_back(route: Convolution, precision: Precision) -> Callable[[jax.Array, jax.Array, jax.Array], object]:
    """What all members give, and both derivatives."""

    def one(h: jax.Array, K: jax.Array, g: jax.Array) -> tuple[jax.Array, ...]:
        z, back = jax.vjp(route, h, K)
        return z, *back(g)

    def all_members(h: jax.Array, K: jax.Array, g: jax.Array) -> tuple[jax.Array, ...]:
        with products(precision):
            return jax.vmap(one)(h, K, g)

    return jax.jit(all_members)


def layers() -> list[tuple[int, int, int, int]]:
    """The side of the image, channels, filters and the side of the kernel of each convolution of st-VGG."""
    found, (side, _, channels) = [], NET.image
    for layer, (filters, kernel) in enumerate(zip(NET.filters, NET.sides, strict=True)):
        found.append((side, channels, filters, kernel[0] if isinstance(kernel, tuple) else kernel))
        side, channels = side // 2 if layer in NET.pooled else side, filters
    return found


def milliseconds(route: Convolution, layer: tuple[int, int, int, int], batch: int, precision: Precision) -> float:
    """The quickest of several calls, after one that compiles."""
    side, channels, filters, kernel = layer
    keys = jax.random.split(jax.random.key(0), 3)
    shapes = (batch, side, side, channels), (kernel, kernel, channels, filters), (batch, side, side, filters)
    given = [jax.random.normal(key, (MEMBERS, *shape), jnp.float32) for key, shape in zip(keys, shapes, strict=True)]
    call = partial(there_and_back(route, precision), *given)
    jax.block_until_ready(call())
    return 1e3 * min(wall_seconds(lambda: jax.block_until_ready(call())) for _ in range(5))


def main() -> None:
    """Print milliseconds for each layer, route and precision, and their sums."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.convolutions", description=__doc__)
    parser.add_argument("--batch", type=int, default=BATCH, help="images of a batch, of each network")
    batch: int = parser.parse_args().batch
    print(f"{MEMBERS} networks, batch {batch}, on {jax.devices()[0].device_kind}: milliseconds there and back")
    for precision in PRECISIONS:
        for name, route in ROUTES.items():
            spent = [milliseconds(route, layer, batch, precision) for layer in layers()]
            print(
                f"{precision:8} {name:8}", *(f"{each:8.2f}" for each in spent), f"  sum {sum(spent):8.2f}", flush=True
            )


if __name__ == "__main__":
    main()
