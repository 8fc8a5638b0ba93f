"""Small convolutional networks, any dense layer of which may be a product of linear maps.

To expand a layer is to replace its matrix by a product of matrices (Cohen & Razin, Sections 3.2 and 4.4): what can be
computed stays the same, how it is learnt does not.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from math import prod
from typing import NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..core import checks
from ..core.keys import AnyKey, as_key
from ..core.model import AbstractModel, Parameter, Rows
from .chain import Layers
from .patches import patches, pool

CHUNK = 2048  # patches of all of a large data set at once would not fit in memory


class Weights(NamedTuple):
    """Kernels (kernel² · channels, filters) and biases of the convolutions; factors and biases of the dense layers."""

    kernels: Layers
    kernel_biases: tuple[Float[Array, " _"], ...]
    dense: tuple[Layers, ...]
    dense_biases: tuple[Float[Array, " _"], ...]


Size: TypeAlias = tuple[int, ...]


class Images(eqx.Module):
    """The map of a convolutional network: flattened images in, logits out. Its dense layers are plain matrices."""

    kernels: Layers
    kernel_biases: tuple[Float[Array, " _"], ...]
    dense: Layers
    dense_biases: tuple[Float[Array, " _"], ...]
    image: Size = eqx.field(static=True)

    def features(self, X: Float[Array, "n pixels"]) -> Float[Array, "n features"]:
        """The inputs of the first dense layer: what the convolutions compute."""
        h = X.reshape(X.shape[0], *self.image)
        for kernel, bias in zip(self.kernels, self.kernel_biases, strict=True):
            side = round((kernel.shape[0] // h.shape[-1]) ** 0.5)
            h = pool(jax.nn.relu(patches(h, (side, side)) @ kernel + _over(bias)))
        return h.reshape(h.shape[0], -1)

    def __call__(self, X: Rows) -> Float[Array, "n out"]:
        """Logits of the rows of X, images flattened as (height, width, channels)."""
        X = jnp.asarray(X)
        if X.shape[0] <= CHUNK:
            return self._logits(X)
        return jax.lax.map(lambda x: self._logits(x[None])[0], X, batch_size=CHUNK)

    def _logits(self, X: Float[Array, "n pixels"]) -> Float[Array, "n out"]:
        h = self.features(X)
        for layer, (matrix, bias) in enumerate(zip(self.dense, self.dense_biases, strict=True)):
            h = h @ matrix.T + bias[None, :]
            if layer + 1 < len(self.dense):
                h = jax.nn.relu(h)
        return h


class Conv(AbstractModel):
    """Blocks of a convolution (zero padding), ReLU and 2×2 max-pooling, then dense layers with ReLU between.

    Attributes:
        image: Height, width and channels; height and width are halved by each block.
        filters: Filters of each convolution.
        dense: Widths of the dense layers, the number of classes last.
        kernel: Height and width of the kernels, odd.
        depth: How many linear maps each dense layer is a product of. Inner widths are those of the layer's output, so
            that depth 2 adds one square matrix to each.
    """

    image: Size = eqx.field(static=True, converter=partial(checks.sizes, "image"))
    filters: tuple[int, ...] = eqx.field(static=True, converter=partial(checks.sizes, "filters"))
    dense: tuple[int, ...] = eqx.field(static=True, converter=partial(checks.sizes, "dense"))
    kernel: int = eqx.field(static=True, default=5, converter=partial(checks.whole, "kernel"))
    depth: int = eqx.field(static=True, default=1, converter=partial(checks.whole, "depth"))

    def __check_init__(self) -> None:
        if len(self.image) != 3 or any(side % 2 ** len(self.filters) for side in self.image[:2]):
            raise ValueError(
                f"image must be (height, width, channels) with height and width divisible by "
                f"{2 ** len(self.filters)}, once by 2 for each convolution; got {self.image}"
            )
        if self.kernel % 2 == 0:
            raise ValueError(f"kernel must be odd and positive; got {self.kernel}")

    @property
    def shape(self) -> tuple[int, int]:
        """Classes and pixels."""
        return self.dense[-1], prod(self.image)

    @property
    def kernel_shapes(self) -> tuple[tuple[int, int], ...]:
        """Patch entries and filters of each convolution."""
        channels = (self.image[2], *self.filters)
        return tuple((self.kernel**2 * before, after) for before, after in pairwise(channels))

    @property
    def dense_shapes(self) -> tuple[tuple[int, int], ...]:
        """Outputs and inputs of each dense layer."""
        height, width, _ = self.image
        features = (height * width * self.filters[-1]) // 4 ** len(self.filters)
        return tuple((after, before) for before, after in pairwise((features, *self.dense)))

    def end_to_end(self, parameters: Weights) -> Images:
        """The network as a function of images, every product multiplied out."""
        dense = tuple(
            factors[0] if self.depth == 1 else jnp.linalg.multi_dot(factors[::-1]) for factors in parameters.dense
        )
        return Images(parameters.kernels, parameters.kernel_biases, dense, parameters.dense_biases, self.image)

    def layout(self) -> Weights:
        """Kernels, dense factors and biases. The square matrices that an expansion inserts have gain 1, others 2."""
        squares = lambda outputs: (Parameter((outputs, outputs), outputs, outputs),) * (self.depth - 1)  # noqa: E731
        area = self.kernel**2
        kernels = tuple(Parameter((i, o), i, area * o, gain=2.0) for i, o in self.kernel_shapes)
        kernel_biases = tuple(Parameter((o,), i, area * o, kind="bias") for i, o in self.kernel_shapes)
        dense = tuple((Parameter((o, i), i, o, gain=2.0), *squares(o)) for o, i in self.dense_shapes)
        dense_biases = tuple(Parameter((o,), i, o, kind="bias") for o, i in self.dense_shapes)
        return Weights(kernels, kernel_biases, dense, dense_biases)  # type: ignore[arg-type]  # a tree of descriptions

    def expand(self, plain: Weights, key: AnyKey) -> Weights:
        """The same function as `plain`, weights of the network of depth 1, with every dense matrix split evenly.

        `W = UΣVᵀ` becomes `(UΣ^{1/N}Q_{N−1}ᵀ) ··· (Q_1Σ^{1/N}Vᵀ)` with random orthogonal Q: balanced factors.
        """
        keys = iter(jax.random.split(as_key(key), max(1, (self.depth - 1) * len(plain.dense))))
        split = tuple(_split(factors[0], self.depth, keys) for factors in plain.dense)
        return plain._replace(dense=split)


def _split(W: Float[Array, "out in"], depth: int, keys: Iterator[Array]) -> Layers:
    if depth == 1:
        return (W,)
    U, values, Vt = jnp.linalg.svd(W, full_matrices=False)
    root = values ** (1 / depth)
    outputs, r = W.shape[0], values.shape[0]
    frames = [Vt.T, *(jax.random.orthogonal(next(keys), outputs, dtype=W.dtype)[:, :r] for _ in range(depth - 1)), U]
    return tuple((after * root[None, :]) @ before.T for before, after in pairwise(frames))


def _over(bias: Float[Array, " c"]) -> Float[Array, "1 1 1 c"]:
    return bias[None, None, None, :]


def dense_parameters(shapes: Sequence[tuple[int, int]], ranks: Sequence[int]) -> int:
    """Entries of dense matrices kept at the given ranks: two thin factors, or the matrix where that is smaller."""
    return sum(
        min(rank * (outputs + inputs), outputs * inputs) for (outputs, inputs), rank in zip(shapes, ranks, strict=True)
    )
