"""Natural-image patches without a download: which photograph of scikit-image's does a patch come from?"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..core import arguments
from .images import Images
from .pixels import average_pool

# Photographs that come in scikit-image's wheel: NASA's astronaut is in the public domain, the others are CC0.
PHOTOGRAPHS = ("astronaut", "brick", "camera", "chelsea", "coffee", "grass", "gravel", "rocket")
# The smallest photograph, halved, has six tiles for patches of this side.
LARGEST = 32


def photographs(
    train: int = 2000,
    test: int = 800,
    *,
    size: int = 16,
    names: Sequence[str] = PHOTOGRAPHS,
    seed: int = 0,
) -> Images:
    """Grey patches of photographs, equally many of each; the class is the photograph.

    Each photograph is halved in size, so that patches show more than flat ground, and cut into square tiles of twice
    the patch's side, one in four of them for testing. Patches lie at random places within a tile: no pixel is in both
    sets.

    Args:
        train: How many training patches; a multiple of the number of photographs.
        test: How many test patches; likewise.
        size: Side of a patch in pixels.
        names: Which photographs, at least two of `PHOTOGRAPHS`.
        seed: Of the choice of tiles and places.
    """
    names, rng = arguments.words("names", names), np.random.default_rng(arguments.count("seed", seed, 0))
    if not set(names) <= set(PHOTOGRAPHS) or len(set(names)) != len(names) or len(names) < 2:
        raise ValueError(f"names must be at least two different ones of {', '.join(PHOTOGRAPHS)}; got {tuple(names)}")
    size = arguments.count("size", size, 2, LARGEST)
    for name, number in (("train", train), ("test", test)):
        if arguments.held(name, arguments.count(name, number), size, size)[0] % len(names):
            raise ValueError(f"{name} must be a positive multiple of the {len(names)} photographs; got {number}")
    train, test = int(train), int(test)
    cut = [_patches(_grey(name), size, train // len(names), test // len(names), rng) for name in names]

    def part(half: int, number: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        patches = np.concatenate([of_one[half] for of_one in cut])
        labels = np.repeat(np.arange(len(names)), number // len(names))
        order = rng.permutation(number)
        return patches[order], labels[order]

    return Images(*part(0, train), *part(1, test), tuple(names), f"{size}×{size} patches of photographs")


def _grey(name: str) -> NDArray[np.float32]:
    try:
        from skimage import color, data, util
    except ImportError as error:
        raise ImportError("the photographs come with scikit-image: install the package scikit-image") from error
    picture = util.img_as_float32(getattr(data, name)())
    grey: NDArray = np.asarray(color.rgb2gray(picture) if picture.ndim == 3 else picture)
    height, width = grey.shape
    even = grey[: height // 2 * 2, : width // 2 * 2]
    return average_pool(even[None, :, :, None], 2)[0, :, :, 0].astype(np.float32)


def _patches(
    picture: NDArray[np.float32], size: int, train: int, test: int, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    side = 2 * size
    rows, columns = picture.shape[0] // side, picture.shape[1] // side
    tiles = rng.permutation(rows * columns)
    held_out = max(1, len(tiles) // 4)
    windows = np.lib.stride_tricks.sliding_window_view(picture, (size, size))

    def draw(tiles: NDArray[np.int64], number: int) -> NDArray[np.float32]:
        tile = rng.choice(tiles, number)
        y, x = (
            side * corner + rng.integers(0, side - size + 1, number) for corner in (tile // columns, tile % columns)
        )
        return windows[y, x][..., None].copy()

    return draw(tiles[held_out:], train), draw(tiles[:held_out], test)
