"""Networks on images in the limit of width: descent by their kernel, which is not the linear twin's.

The twin's kernel is κXXᵀ/d, the first term of the network's own in the overlaps ⟨x, x'⟩/d. Where few directions hold most
of the images, overlaps are large, and the terms left out count from the first step on at every width.
"""

from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from numpy.typing import NDArray

Array = NDArray[np.float64]
Shape = tuple[int, int, int]
SIDE = 3  # of the convolutions' kernels
HELD = 2**25  # numbers of one array of pairs and places


def outputs(image: Shape, hidden: int, X: Array, y: Array, tests: Array, step_size: float, steps: int) -> Array:
    """Outputs (step, test) of full-batch descent on the square loss, at every step from a start at zero.

    Args:
        image: Height, width and channels; 1, 1 and d for a fully connected network, which has one place.
        hidden: How many hidden layers, with erf.
        X: Examples (n, d).
        y: Their labels.
        tests: Where outputs are followed.
        step_size: Of the descent.
        steps: How many.
    """
    inner, outer = kernel(X, X, image, hidden), kernel(tests, X, image, hidden)
    at_examples, at_tests = np.zeros(len(X)), [np.zeros(len(tests))]
    for _ in range(steps):
        residual = ((y - at_examples) * step_size / len(X)).astype(inner.dtype)
        at_tests.append(at_tests[-1] + outer @ residual)
        at_examples += inner @ residual
    return np.array(at_tests)


def kernel(x: Array, y: Array, image: Shape, hidden: int) -> NDArray[np.floating]:
    """`circular_ntk` of many images, a part of the pairs at a time; in single precision unless JAX is told otherwise."""
    places = image[0] * image[1]
    columns = max(1, min(len(y), HELD // places))
    rows = max(1, min(len(x), HELD // (places * columns)))
    whole = np.empty((len(x), len(y)), jnp.zeros(()).dtype)
    for i, j in product(range(0, len(x), rows), range(0, len(y), columns)):
        whole[i : i + rows, j : j + columns] = circular_ntk(x[i : i + rows], y[j : j + columns], image, hidden)
    return whole


@partial(jax.jit, static_argnums=(2, 3))
def circular_ntk(x: ArrayLike, y: ArrayLike, image: Shape, hidden: int) -> jax.Array:
    r"""The NTK (n, n') of circular 3 × 3 convolutions with erf and a dense readout of all pixels, of unbounded width.

    Every pixel has a weight of its own in the readout, so that only equal places meet, as in Hu et al., eq. 12: with C
    the covariances of what two images give at a place before an activation, K and K̇ the expectations of the products of
    activations and of their slopes, and P the mean over a neighbourhood,

    .. math:: C ← P K,\qquad Θ ← C + P(K̇Θ),\qquad Θ_{\text{out}} = \mathrm{mean}\,(K + K̇Θ).

    Of images of one pixel it is the kernel of a fully connected network.
    """
    left, right = (jnp.reshape(rows, (-1, *image)) for rows in (x, y))
    s, t = (around(jnp.mean(pictures**2, axis=-1)) for pictures in (left, right))
    C = around(jnp.einsum("nhwc,mhwc->nmhw", left, right, precision="highest") / image[2])
    T = C
    for _ in range(hidden - 1):
        K, slope = erf_dual(s[:, None], t[None], C)
        s, t, C = around(erf_dual(s, s, s)[0]), around(erf_dual(t, t, t)[0]), around(K)
        T = C + around(slope * T)
    K, slope = erf_dual(s[:, None], t[None], C)
    return jnp.mean(K + slope * T, axis=(2, 3))


def erf_dual(s: jax.Array, t: jax.Array, c: jax.Array) -> tuple[jax.Array, jax.Array]:
    """E[φ(u)φ(v)] and E[φ'(u)φ'(v)] of erf, for Gaussian u, v of variances s, t and covariance c (Williams 1996)."""
    spread = (1 + 2 * s) * (1 + 2 * t)
    return 2 / np.pi * jnp.arcsin(2 * c / jnp.sqrt(spread)), 4 / np.pi / jnp.sqrt(spread - 4 * c**2)


def around(values: jax.Array) -> jax.Array:
    """The mean over the neighbourhood of each place, along the last two axes, which close in circles."""
    reach = range(-(SIDE // 2), SIDE // 2 + 1)
    for axis in (-2, -1):
        values = sum((jnp.roll(values, shift, axis) for shift in reach if shift), values) / SIDE
    return values
