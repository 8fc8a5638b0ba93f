"""Circular convolutional networks are diagonal networks in the frequency domain: the Lemma of Appendix G."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ... import models, problems
from ...evidence import Evidence, at_most
from ...evidence import figure as fig
from ..instances import generator
from ..sizes import sizes

BAR = 1e-10
ROUNDING = "rounding, 1e-16, of sums of up to 200 terms through 6 layers, × 10³ in reserve"


class Settings(NamedTuple):
    """Lengths d up to the longest, and depths up to the deepest."""

    longest: int
    deepest: int


def network(layers: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The network's outputs on the rows of X, by the definition of its layers (eq. 11)."""
    length = layers.shape[1]
    around = np.arange(length)[:, None] + np.arange(length)  # i + k
    hidden = X
    for w in layers[:-1]:
        hidden = hidden[:, around % length] @ w
    return hidden @ layers[-1]


@sizes(quick=Settings(40, 6), full=Settings(200, 6))
def check(settings: Settings, key: jax.Array) -> Evidence:
    """Networks run by their definition, against the product of the layers' Fourier coefficients.

    The weights σ of the induced model are read off by running the network on unit vectors. Random layers of several
    scales, depths 1 to 6, and every length from 1 on. Training is compared too: the transform of the gradient in layer
    n is conj(∏_{m≠n} ŵ_m) times that of the gradient in σ, the gradient of a diagonal network of complex weights.
    """
    rng = generator(key)
    depths = range(1, settings.deepest + 1)
    shapes = [(length, depth) for length in range(1, settings.longest + 1) for depth in depths]
    gaps, shown = [], None
    for length, depth in shapes:
        layers = rng.normal(size=(depth, length)) * 10 ** rng.uniform(-3, 3, (depth, 1))
        measured = np.fft.fft(network(layers, np.eye(length)))
        forecast = np.prod(np.fft.fft(layers), axis=0)
        gaps.append(np.max(np.abs(measured - forecast)) / np.max(np.abs(forecast)))
        if (length, depth) == (32, 3):
            shown = np.abs(measured), np.abs(forecast)
    assert shown is not None
    return Evidence(
        checks=[
            at_most("worst gap of a Fourier coefficient, relative to the largest", max(gaps), BAR, ROUNDING),
            at_most("worst gap of the library's network to the definition", _library_gap(rng), BAR, ROUNDING),
            at_most(
                "worst gap of a layer's gradient to that of a diagonal network", _gradient_gap(rng), BAR, ROUNDING
            ),
        ],
        protocol={
            "network": f"circular convolutions of full length and a dense layer, depths 1 to {settings.deepest}, lengths "
            f"1 to {settings.longest}",
            "weights": "any: Gaussian, with layer scales from 1e-3 to 1e3",
            "transform": "discrete Fourier transform without a prefactor",
        },
        figure=_figure(np.array(shapes), np.array(gaps), *shown),
        remarks=(
            "This is the transform without a prefactor; with the unitary one, the right side gains d^{(N−1)/2}.",
        ),
    )


def _library_gap(rng: np.random.Generator) -> float:
    """`models.Circular` on random inputs, against the definition."""
    gaps = []
    for length, depth in ((1, 2), (8, 1), (31, 4)):
        layers, X = rng.normal(size=(depth, length)), rng.normal(size=(50, length))
        computed = X @ np.asarray(models.Circular(length, depth).end_to_end(jnp.asarray(layers)))[0]
        direct = network(layers, X)
        gaps.append(np.max(np.abs(computed - direct)) / np.max(np.abs(direct)))
    return float(max(gaps))


def _gradient_gap(rng: np.random.Generator) -> float:
    """The gradient of a classifier's loss in the layers by differentiation, against the diagonal form."""
    length, depth = 31, 4
    model = models.Circular(length, depth)
    X, layers = rng.normal(size=(20, length)), rng.normal(size=(depth, length)) / np.sqrt(length)
    problem = problems.exponential(X, np.where(rng.uniform(size=20) > 0.5, 1.0, -1.0))
    gradient = jax.jit(jax.grad(lambda w: problem.loss(model.end_to_end(w))))(jnp.asarray(layers))
    in_sigma = np.fft.fft(np.asarray(problem.gradient(model.end_to_end(jnp.asarray(layers))))[0])
    spectra = np.fft.fft(layers)
    forecast = np.stack([np.prod(np.delete(spectra, n, axis=0), axis=0).conj() * in_sigma for n in range(depth)])
    return float(np.max(np.abs(np.fft.fft(np.asarray(gradient)) - forecast)) / np.max(np.abs(forecast)))


def _figure(shapes: np.ndarray, gaps: np.ndarray, measured: np.ndarray, forecast: np.ndarray) -> fig.Figure:
    half = np.arange(len(measured) // 2 + 1)
    spectrum = (fig.points(half, measured[half], "network"), fig.theory(half, forecast[half], "product of layers"))
    marks = [
        fig.points(
            shapes[shapes[:, 1] == depth, 0], np.maximum(gaps[shapes[:, 1] == depth], 1e-18), f"N = {depth}", group
        )
        for group, depth in enumerate((2, 4, 6))
    ]
    bar = fig.reference([1, shapes[:, 0].max()], [BAR, BAR], "bar")
    panels = (
        fig.Panel(spectrum, "frequency", "amplitude |σ̂|", "d = 32, N = 3"),
        fig.Panel((*marks, bar), "length d", "relative gap", y_scale="log", y_limits=(1e-18, 1e-9)),
    )
    caption = (
        f"The spectrum of the network is the product of those of its layers, to {gaps.max():.0e} at worst: rounding."
    )
    return fig.Figure(panels, caption, 2)
