"""Convolutional networks as products of patches and matrices, in NTK or standard parameterisation."""

from collections.abc import Callable, Iterable, Sequence, Set
from functools import partial
from itertools import pairwise
from math import prod
from typing import Literal

import equinox as eqx
import jax
from jaxtyping import Array, Float

from ..core import arguments, checks
from .activations import ACTIVATIONS, Activation, activation
from .layered import AbstractAffine, Affine, Forward, Parameterisation, Product, drop
from .patches import Padding, Pooling, convolve, patches, pool

CHUNK = 2**26  # entries of the largest array of patches: more examples than that go through in parts
Readout = Literal["flatten", "average"]


Kernels = int | tuple[int | tuple[int, int], ...]


class ConvNet(AbstractAffine):
    """Convolutions that keep the image's size ("same" padding), 2×2 pooling after some of them, then dense layers.

    The parameters are matrices (fan_out, fan_in) and biases, convolutions first; the fan_in of a convolution is its
    patch, flattened as (row, column, channel). Each layer's product is divided by √fan_in in the NTK parameterisation.
    One convolution over an image (d, 1, 1) with kernel (q, 1), circular padding, and a flattened linear readout is the
    network of Hu et al. (2020, eq. 12).

    Attributes:
        image: Height, width and channels.
        filters: Filters of each convolution; none for a fully connected network.
        dense: Widths of the dense layers, outputs last.
        kernels: The size of the kernels: one number, or one for each convolution, or pairs (height, width).
        pooled: The convolutions, counted from 0, after whose activation there is 2×2 pooling.
        pooling: "max" or "average".
        padding: "zero" or "circular".
        readout: "flatten" hands every pixel to the first dense layer, "average" the mean over pixels.
        activation: The name of the activation after every layer but the last.
        parameterisation: "ntk" or "standard".
        bias: Whether layers have biases, which start at zero.
        pooled_dropout: The share dropped after each pooling when a dropout key is given, as `descend` does.
        dense_dropout: The share dropped of each hidden dense layer's output when a dropout key is given.
    """

    image: tuple[int, ...] = eqx.field(static=True)
    filters: tuple[int, ...] = eqx.field(static=True)
    dense: tuple[int, ...] = eqx.field(static=True)
    kernels: Kernels = eqx.field(static=True)
    pooled: tuple[int, ...] = eqx.field(static=True)
    pooling: Pooling = eqx.field(static=True)
    padding: Padding = eqx.field(static=True)
    readout: Readout = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)
    parameterisation: Parameterisation = eqx.field(static=True)
    bias: bool = eqx.field(static=True)
    pooled_dropout: float = eqx.field(static=True)
    dense_dropout: float = eqx.field(static=True)

    def __init__(
        self,
        image: Sequence[int],
        filters: Sequence[int],
        dense: Sequence[int] = (1,),
        kernels: Kernels = 3,
        pooled: Iterable[int] = (),
        pooling: Pooling = "max",
        padding: Padding = "zero",
        readout: Readout = "flatten",
        activation: Activation = "erf",
        parameterisation: Parameterisation = "ntk",
        bias: bool = False,
        pooled_dropout: float = 0.0,
        dense_dropout: float = 0.0,
    ) -> None:
        self.image, self.filters = checks.sizes("image", image, 3), checks.sizes("filters", filters, 0)
        self.dense, self.kernels = checks.sizes("dense", dense), kernels
        numbered = sorted(pooled) if isinstance(pooled, Set) else pooled
        self.pooled = tuple(sorted(set(arguments.counts("pooled", numbered, 0))))
        self.pooling, self.padding, self.readout = pooling, padding, readout
        self.activation, self.parameterisation = activation, parameterisation
        self.bias = arguments.truth("bias", bias)
        self.pooled_dropout = checks.share("pooled_dropout", pooled_dropout)
        self.dense_dropout = checks.share("dense_dropout", dense_dropout)

    def __check_init__(self) -> None:
        checks.one_of("pooling", self.pooling, ("max", "average"))
        checks.one_of("padding", self.padding, ("zero", "circular"))
        checks.one_of("readout", self.readout, ("flatten", "average"))
        if any(layer not in range(len(self.filters)) for layer in self.pooled):
            raise ValueError(f"pooled must number convolutions, 0..{len(self.filters) - 1}; got {self.pooled}")
        halvings = 2 ** len(self.pooled)
        if len(self.image) != 3 or any(side % halvings for side in self.image[:2]):
            raise ValueError(
                f"image must be (height, width, channels) with height and width divisible by {halvings}, "
                f"once by 2 for each pooling; got {self.image}"
            )
        for (height, width, _), kernel in zip(self._images, self.sides, strict=True):
            if self.padding == "circular" and (kernel[0] > height or kernel[1] > width):
                raise ValueError(
                    f"kernels must fit into the image under circular padding; got {kernel} on {height}×{width} pixels"
                )

    @property
    def sides(self) -> tuple[tuple[int, int], ...]:
        """Height and width of each kernel."""
        return _pairs(self.kernels, len(self.filters))

    @property
    def _images(self) -> list[tuple[int, int, int]]:
        """Height, width and channels of what each convolution sees."""
        sizes, (height, width, _) = [], self.image
        for layer, channels in enumerate((self.image[2], *self.filters)[:-1]):
            sizes.append((height, width, channels))
            if layer in self.pooled:
                height, width = height // 2, width // 2
        return sizes

    @property
    def shape(self) -> tuple[int, int]:
        """Outputs and pixels."""
        return self.dense[-1], prod(self.image)

    @property
    def drops(self) -> bool:
        """Whether there is dropout."""
        return self.pooled_dropout > 0 or self.dense_dropout > 0

    @property
    def large(self) -> bool:
        """Whether what a layer computes from a batch of images outgrows a CPU's cache."""
        return any(y * x * f >= 2**13 for (y, x, _), f in zip(self._images, self.filters, strict=True))

    @property
    def features(self) -> int:
        """How many numbers enter the first dense layer."""
        height, width, channels = self.image
        channels = self.filters[-1] if self.filters else channels
        return channels * (1 if self.readout == "average" else height * width // 4 ** len(self.pooled))

    @property
    def layer_shapes(self) -> tuple[tuple[int, int], ...]:
        """Outputs and inputs of each layer, convolutions first."""
        kernels = zip(self.filters, self._images, self.kernel_areas, strict=False)
        convolutions = [(filters, area * image[2]) for filters, image, area in kernels]
        return (*convolutions, *((after, before) for before, after in pairwise((self.features, *self.dense))))

    @property
    def kernel_areas(self) -> tuple[int, ...]:
        """Height times width of each layer's kernel; 1 for dense layers."""
        return (*(prod(side) for side in self.sides), *(1 for _ in self.dense))

    @property
    def tap_shapes(self) -> tuple[tuple[int, int], ...]:
        """Positions and outputs at the tap of each layer."""
        convolutions = [(y * x, filters) for filters, (y, x, _) in zip(self.filters, self._images, strict=True)]
        return (*convolutions, *((1, outputs) for outputs in self.dense))

    def apply(
        self, parameters: Affine, X: Float[Array, "n pixels"], dropout_key: Array | None = None
    ) -> Float[Array, "n out"]:
        """The outputs on the rows of X, images flattened as (height, width, channels); with a key, with dropout."""
        if dropout_key is not None:  # one mask for the whole batch, so the batch stays whole
            return super().apply(parameters, X, dropout_key)
        return self._in_parts(lambda x: self.forward(parameters, x)[0], X)

    def penultimate(self, parameters: Affine, X: Float[Array, "n pixels"]) -> Float[Array, "n features"]:
        """What enters the last layer."""
        return self._in_parts(lambda x: self.forward(parameters, x)[1][-1], X)

    def rows(self, layer: int, inputs: Array) -> Float[Array, "n p in1"]:
        """What the parameters of a layer are multiplied by at each position, from the layer's input."""
        convolution = layer < len(self.filters)
        return super().rows(layer, patches(inputs, self.sides[layer], self.padding) if convolution else inputs)

    def _product(self, kernel: tuple[int, int]) -> Product:
        """Convolution; small images are patched all at once, which for an ensemble is one product."""
        if self.large:
            return partial(convolve, kernel=kernel, padding=self.padding)
        return lambda a, W: patches(a, kernel, self.padding) @ W.T

    def _in_parts(self, function: Callable[[Array], Array], X: Array) -> Array:
        entries = max(
            [y * x * fan_in for (y, x, _), (_, fan_in) in zip(self._images, self.layer_shapes, strict=False)] or [1]
        )
        chunk = max(1, CHUNK // entries)
        if X.shape[0] <= chunk:
            return function(X)
        # What a part computed is computed again when its gradient is wanted, or nothing would be saved.
        return jax.lax.map(jax.checkpoint(lambda x: function(x[None])[0]), X, batch_size=chunk)

    @property
    def _pools_first(self) -> bool:
        """Whether the greatest is taken before the activation, which is then asked for a quarter of the numbers.

        The greatest of the activations is the activation of the greatest where that never falls; the exact GELU does.
        """
        return self.pooling == "max" and self.activation != "gelu"

    def forward(
        self, parameters: Affine, X: Array, taps: Sequence[Array] | None = None, dropout_key: Array | None = None
    ) -> Forward:
        """The outputs on the rows of X, and the input of each layer; with a key, with dropout."""
        phi, last = activation(self.activation), len(self.layer_shapes) - 1
        inputs: list[Array] = []
        keys = [None] * (last + 1) if dropout_key is None else list(jax.random.split(dropout_key, last + 1))
        h = X.reshape(X.shape[0], *self.image)
        for layer, kernel in enumerate(self.sides):
            inputs.append(h)
            z = self.affine(parameters, layer, h, self._product(kernel))
            z = z if taps is None else z + taps[layer].reshape(z.shape)
            if layer not in self.pooled:
                h = phi(z)
            else:
                pooled = phi(pool(z)) if self._pools_first else pool(phi(z), self.pooling)
                h = drop(pooled, self.pooled_dropout, keys[layer])
        h = h.mean(axis=(1, 2)) if self.readout == "average" else h.reshape(h.shape[0], -1)
        for layer in range(len(self.filters), last + 1):
            inputs.append(h)
            z = self.affine(parameters, layer, h)
            z = z if taps is None else z + taps[layer][:, 0]
            h = z if layer == last else drop(phi(z), self.dense_dropout, keys[layer])
        return h, tuple(inputs)


def _pairs(kernels: Kernels, layers: int) -> tuple[tuple[int, int], ...]:
    sides = kernels if isinstance(kernels, list | tuple) else (kernels,) * max(layers, 1)
    pairs = [tuple(side) if isinstance(side, list | tuple) else (side, side) for side in sides]
    try:
        checked = [checks.sizes("kernels", pair, 2) for pair in pairs]
    except ValueError:
        checked = []
    if (
        (isinstance(kernels, list | tuple) and len(pairs) != layers)
        or len(checked) != len(pairs)
        or any(len(pair) != 2 for pair in pairs)
    ):
        raise ValueError(
            f"kernels must be a positive size, or {layers} of them, one for each convolution; got "
            f"{arguments.shown(kernels)}"
        )
    return tuple((height, width) for height, width in checked[:layers])


def st_vgg(
    classes: int, activation: Activation = "elu", image: tuple[int, int, int] = (32, 32, 3), dropout: bool = True
) -> ConvNet:
    """The stripped VGG of Hacohen & Weinshall (Appendix D.2): 8 convolutions, pooling after each pair, 512 dense units.

    Dropout (0.25 after pooling, 0.5 after the dense layer) acts only in training. With activation
    "linear" this is linear st-VGG, whose pooling averages. The paper does not name the activation; ELU is that of the
    authors' earlier code.

    Args:
        classes: The number of outputs.
        activation: The name of the activation.
        image: Height, width and channels, height and width multiples of 16.
        dropout: Whether the network has dropout.
    """
    checks.one_of("activation", activation, tuple(ACTIVATIONS))
    return ConvNet(
        image,
        (32, 32, 64, 64, 128, 128, 256, 256),
        (512, checks.whole("classes", classes)),
        kernels=(3, 3, 3, 3, 3, 3, 2, 2),
        pooled=(1, 3, 5, 7),
        pooling="average" if activation == "linear" else "max",
        activation=activation,
        parameterisation="standard",
        bias=True,
        pooled_dropout=0.25 if arguments.truth("dropout", dropout) else 0.0,
        dense_dropout=0.5 if dropout else 0.0,
    )


def vgg19(
    classes: int,
    activation: Activation = "relu",
    image: tuple[int, int, int] = (32, 32, 3),
    hidden: tuple[int, ...] = (4096, 4096),
    dropout: bool = True,
) -> ConvNet:
    """VGG-19 (Simonyan & Zisserman 2014, column E) for small images: 16 convolutions 3×3, pooling after 2, 4, 8, 12, 16.

    No batch normalisation, as printed. The last block sees 2×2 pixels of a 32×32 image, where a 3×3 kernel does not
    fit: its zero padding is then most of what the kernel sees, as in every VGG-19 for such images.

    Args:
        classes: The number of outputs.
        activation: The name of the activation; "linear" makes the pooling average.
        image: Height, width and channels, height and width multiples of 32.
        hidden: Widths of the hidden dense layers.
        dropout: Whether hidden dense layers have dropout 0.5, which acts only in training.
    """
    checks.one_of("activation", activation, tuple(ACTIVATIONS))
    filters = (64,) * 2 + (128,) * 2 + (256,) * 4 + (512,) * 8
    return ConvNet(
        image,
        filters,
        (*checks.sizes("hidden", hidden, 0), checks.whole("classes", classes)),
        pooled=(1, 3, 7, 11, 15),
        pooling="average" if activation == "linear" else "max",
        activation=activation,
        parameterisation="standard",
        bias=True,
        dense_dropout=0.5 if arguments.truth("dropout", dropout) else 0.0,
    )
