"""How fast networks on images begin in the limit of width: by their kernel, which is not the linear twin's.

The twin's kernel is κXXᵀ/d, the first term of the network's own in the overlaps ⟨x, x'⟩/d. Where few directions hold most
of the images, overlaps are large, and the terms left out count from the first step on at every width.
"""

import numpy as np
from numpy.typing import NDArray

from ...theory import kernels
from ...theory.dual_activations import erf_dual

Array = NDArray[np.float64]
SIDE = 3  # of the convolutions' kernels
HELD = 2**22  # numbers of one array of all pairs and places


def pace(
    kind: str, image: tuple[int, int, int], hidden: int, X: Array, y: Array, tests: Array, linear: float
) -> float:
    """How far a first step moves outputs along the twin's, over the twin, for a network of unbounded width.

    Args:
        kind: "fully connected" or "convolutional".
        image: Height, width and channels.
        hidden: How many hidden layers, with erf.
        X: Examples (n, d).
        y: Their labels.
        tests: Where outputs are compared.
        linear: κ of the twin.
    """
    twin = linear * (tests @ (X.T @ y)) / X.shape[1]
    if kind == "fully connected":
        moved = kernels.infinite(tests, X, activation="erf", hidden_layers=hidden).ntk @ y
    else:
        some = max(1, HELD // (len(X) * image[0] * image[1]))
        parts = [tests[begin : begin + some] for begin in range(0, len(tests), some)]
        moved = np.concatenate([circular_ntk(part, X, image, hidden) @ y for part in parts])
    return float(moved @ twin / (twin @ twin))


def circular_ntk(x: Array, y: Array, image: tuple[int, int, int], hidden: int) -> Array:
    r"""The NTK (n, n') of circular 3 × 3 convolutions with erf and a dense readout of all pixels, of unbounded width.

    Every pixel has a weight of its own in the readout, so that only equal places meet, as in Hu et al., eq. 12: with C
    the covariances of what two images give at a place before an activation, K and K̇ the expectations of the products of
    activations and of their slopes, and P the mean over a neighbourhood,

    .. math:: C ← P K,\qquad Θ ← C + P(K̇Θ),\qquad Θ_{\text{out}} = \mathrm{mean}\,(K + K̇Θ).
    """
    left, right = x.reshape(-1, *image), y.reshape(-1, *image)
    s, t = (around(np.mean(pictures**2, axis=-1)) for pictures in (left, right))
    C = around(np.einsum("nhwc,mhwc->nmhw", left, right, optimize=True) / image[2])
    T = C
    for layer in range(hidden):
        K, slope = erf_dual(s[:, None], t[None], C)
        s, t = (erf_dual(v, v, v).value for v in (s, t))
        if layer == hidden - 1:
            return np.mean(K + slope * T, axis=(2, 3))
        s, t, C = around(s), around(t), around(K)
        T = C + around(slope * T)
    raise ValueError(f"hidden must be at least 1; got {hidden}")


def around(values: Array) -> Array:
    """The mean over the neighbourhood of each place, along the last two axes, which close in circles."""
    reach = range(-(SIDE // 2), SIDE // 2 + 1)
    for axis in (-2, -1):
        values = sum((np.roll(values, shift, axis) for shift in reach if shift), values) / SIDE
    return values
