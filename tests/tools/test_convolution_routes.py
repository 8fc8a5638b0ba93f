"""The ways to convolve that a benchmark compares compute the same."""

import jax
import numpy as np
import pytest
from benchmarks.convolutions import ROUTES, layers, there_and_back


@pytest.mark.parametrize("side", [2, 3])
@pytest.mark.parametrize("route", ["patches", "rows"])
def test_routes_agree_there_and_back(side, route):
    keys = jax.random.split(jax.random.key(side), 3)
    shapes = (2, 3, 4, 4, 5), (2, side, side, 5, 6), (2, 3, 4, 4, 6)
    given = [jax.random.normal(key, shape) for key, shape in zip(keys, shapes, strict=True)]
    library, other = (there_and_back(ROUTES[name], "float32")(*given) for name in ("library", route))
    for expected, found in zip(library, other, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_layers_are_those_of_st_vgg():
    assert layers()[0] == (32, 3, 32, 3)
    assert layers()[-1] == (4, 256, 256, 2)
    assert sum(side**2 * kernel**2 * channels * filters for side, channels, filters, kernel in layers()) == 44_924_928
