"""The ways to convolve that a benchmark compares compute the same."""

import jax
import numpy as np
import pytest
from benchmarks.convolutions import ROUTES, every_way, layers


@pytest.mark.parametrize("width", [4, 5])
@pytest.mark.parametrize("side", [2, 3])
@pytest.mark.parametrize("route", [route for route in ROUTES if route != "library"])
def test_routes_agree_in_every_direction(width, side, route):
    keys = jax.random.split(jax.random.key(side), 3)
    shapes = (2, 3, 4, width, 5), (2, side, side, 5, 6), (2, 3, 4, width, 6)
    given = [jax.random.normal(key, shape) for key, shape in zip(keys, shapes, strict=True)]
    library, other = (every_way(*ROUTES[name], "float32") for name in ("library", route))
    for direction, expected in library.items():
        np.testing.assert_allclose(other[direction](*given), expected(*given), rtol=1e-4, atol=1e-4)


def test_layers_are_those_of_st_vgg():
    assert layers()[0] == (32, 3, 32, 3)
    assert layers()[-1] == (4, 256, 256, 2)
    assert sum(side**2 * kernel**2 * channels * filters for side, channels, filters, kernel in layers()) == 44_924_928
