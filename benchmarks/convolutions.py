"""Ways to convolve the images of an ensemble, side by side: `python -m benchmarks.convolutions`, on a host with a GPU.

Every member has kernels of its own, so that a library for convolutions sees one convolution in many groups. The same
numbers are a product of matrices for each member, of all patches, or of rows of patches that are added over the height
of the kernel and take a third of the memory; or one convolution for each member, in turn; or a product that gives several
pixels of a row at once, of all that these see, by a matrix that holds the kernel once for each, beside zeros. Of four
pixels by kernels of 3 × 3 it does twice the multiplications, of four times as many columns, and takes half the memory,
of which a GPU has less to spare. Each layer of ten st-VGG
networks, batch 100, is timed forwards, and backwards to the images and to the kernels, to choose what `models.patches`
does on a GPU.
"""

import argparse
from collections.abc import Callable
from functools import partial
from math import gcd

import jax
import jax.numpy as jnp
from jax import lax

from lineament.core.precision import Precision, factor, products
from lineament.models import blocks, patches

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


def by_blocks(h: jax.Array, K: jax.Array, most: int) -> jax.Array:
    """One product of what blocks of so many pixels of a row see; of fewer pixels where that does not divide the row."""
    kernels = factor(K).transpose(3, 0, 1, 2).reshape(K.shape[-1], -1)
    return blocks.convolve(padded(factor(h), len(K)), kernels, (len(K), K.shape[1]), h.dtype, gcd(most, h.shape[2]))


def as_models_do(h: jax.Array, K: jax.Array) -> jax.Array:
    """What `models.patches` takes on this machine, each direction by a route of its own."""
    return patches.convolve(h, K.transpose(3, 0, 1, 2).reshape(K.shape[-1], -1), (len(K), K.shape[1]))


def product(rows: jax.Array, weights: jax.Array, dtype: jnp.dtype) -> jax.Array:
    """Products over the last axis, added in the type of the results."""
    return lax.dot_general(rows, weights, (((3,), (0,)), ((), ())), preferred_element_type=dtype)


ROUTES: dict[str, tuple[Convolution, bool]] = {
    "library": (by_library, False),
    "patches": (by_patches, False),
    "rows": (by_rows, False),
    "in turn": (by_library, True),
    **{f"blocks of {pixels}": (partial(by_blocks, most=pixels), False) for pixels in (2, 4, 8)},
    "models": (as_models_do, False),
}
"""Each with whether members are convolved one after the other."""


def every_way(route: Convolution, in_turn: bool, precision: Precision) -> dict[str, Callable[..., jax.Array]]:
    """What all members give, and each derivative, as functions of images, kernels and the derivative of what is given."""
    ways: dict[str, Callable[..., jax.Array]] = {
        "forwards": lambda h, K, g: route(h, K),
        "to the images": lambda h, K, g: jax.vjp(lambda h: route(h, K), h)[1](g)[0],
        "to the kernels": lambda h, K, g: jax.vjp(lambda K: route(h, K), K)[1](g)[0],
    }

    def of_all(way: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
        def all_members(h: jax.Array, K: jax.Array, g: jax.Array) -> jax.Array:
            with products(precision):
                if in_turn:
                    return jnp.stack([way(*each) for each in zip(h, K, g, strict=True)])
                return jax.vmap(way)(h, K, g)

        return jax.jit(all_members)

    return {name: of_all(way) for name, way in ways.items()}


def layers() -> list[tuple[int, int, int, int]]:
    """The side of the image, channels, filters and the side of the kernel of each convolution of st-VGG."""
    found, (side, _, channels) = [], NET.image
    for layer, (filters, kernel) in enumerate(zip(NET.filters, NET.sides, strict=True)):
        found.append((side, channels, filters, kernel[0] if isinstance(kernel, tuple) else kernel))
        side, channels = side // 2 if layer in NET.pooled else side, filters
    return found


def milliseconds(
    way: Callable[..., jax.Array], layer: tuple[int, int, int, int], batch: int, times: int = 20
) -> float:
    """The quickest of several calls in a row, after one that compiles."""
    side, channels, filters, kernel = layer
    keys = jax.random.split(jax.random.key(0), 3)
    shapes = (batch, side, side, channels), (kernel, kernel, channels, filters), (batch, side, side, filters)
    given = [jax.random.normal(key, (MEMBERS, *shape), jnp.float32) for key, shape in zip(keys, shapes, strict=True)]
    jax.block_until_ready(way(*given))

    def several() -> None:
        jax.block_until_ready([way(*given) for _ in range(times)])

    return 1e3 * min(wall_seconds(several) for _ in range(3)) / times


def main() -> None:
    """Print milliseconds for each layer, route, direction and precision, and their sums."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.convolutions", description=__doc__)
    parser.add_argument("--batch", type=int, default=BATCH, help="images of a batch, of each network")
    parser.add_argument("--precision", choices=PRECISIONS, action="append", help="only this one (default: all)")
    asked = parser.parse_args()
    print(f"{MEMBERS} networks, batch {asked.batch}, on {jax.devices()[0].device_kind}: milliseconds")
    for precision in asked.precision or PRECISIONS:
        for name, (route, in_turn) in ROUTES.items():
            for direction, way in every_way(route, in_turn, precision).items():
                spent = [milliseconds(way, layer, asked.batch) for layer in layers()]
                each = " ".join(f"{value:7.3f}" for value in spent)
                print(f"{precision:8} {name:11} {direction:15} {each}  sum {sum(spent):7.3f}", flush=True)


if __name__ == "__main__":
    main()
