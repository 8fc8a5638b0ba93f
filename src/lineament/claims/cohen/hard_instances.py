"""Instances on which the guarantee of Remark 2 is nearest to being broken, found by search.

Descent by admitted steps is so slow that its decay is the rate 2 Σ_j ‖∂φ/∂W_j‖² / ‖W − Λ‖² of the flow, which needs no
training to be known. Over the target's singular values, the displacement of the start and the unbalance of every pair
of neighbouring layers, the search makes that rate small against the guaranteed one.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import expm

from ...theory import certificates as theory
from ...theory import layers as layers_theory
from ...theory.landscape import objective_gradient
from ..instances import rotation
from .certified import Instance
from .networks import unit


class Shape(NamedTuple):
    """What an instance is made of.

    Attributes:
        values: Logarithms of the target's singular values, up to a common factor.
        away: The logarithm of ‖W(0) − Λ‖ / σ_min(Λ).
        direction: Of that displacement, in the singular vectors of the target.
        skews: One symmetric matrix for each hidden layer: W_j → e^{tS} W_j, W_{j+1} → W_{j+1} e^{−tS}.
    """

    values: np.ndarray
    away: float
    direction: np.ndarray
    skews: tuple[np.ndarray, ...]


def random_shape(rng: np.random.Generator, widths: tuple[int, ...], condition: float) -> Shape:
    """A random instance, with the target's condition number up to that given."""
    outputs, inputs = widths[-1], widths[0]
    values = -np.r_[0.0, rng.uniform(0, np.log(condition), min(outputs, inputs) - 1)]
    skews = tuple(S + S.T for S in (rng.normal(size=(width, width)) for width in widths[1:-1]))
    return Shape(values, rng.uniform(np.log(0.02), np.log(0.5)), unit(rng, (outputs, inputs)), skews)


def build(
    shape: Shape, widths: tuple[int, ...], excess: float, step_multiple: float = 1.0, scale: float = 1.0
) -> Instance:
    """The instance with `excess` times the unbalance and `step_multiple` times the step size that Remark 2 admits.

    The certificate is that of the layers and the step as they are: with factors above 1 it does not hold.
    """
    n = len(widths) - 1
    values = scale * np.exp(shape.values - shape.values.max())
    target = np.zeros((widths[-1], widths[0]))
    np.fill_diagonal(target, values)
    away = min(np.exp(shape.away), 0.9) * values.min()
    W = target + away * shape.direction / np.linalg.norm(shape.direction)
    margin = theory.deficiency_margin(W, target)
    split = layers_theory.balanced(W, widths)
    layers = _unbalanced(split, shape.skews, excess * theory.admissible_unbalancedness(target, n, margin))
    admitted = theory.guaranteed_step(target, n, margin)
    return Instance(
        np.eye(widths[0]), target, layers, theory.certify(layers, target, step_size=step_multiple * admitted)
    )


def turned(rng: np.random.Generator, instance: Instance, step_size: float) -> Instance:
    """The same instance in random directions."""
    U, V = rotation(rng, instance.target.shape[0]), rotation(rng, instance.target.shape[1])
    first, *middle = instance.layers
    layers = [first @ V.T, *middle]
    layers[-1] = U @ layers[-1]
    target = U @ instance.target @ V.T
    return Instance(instance.sxx, target, tuple(layers), theory.certify(layers, target, step_size=step_size))


def pace(instance: Instance) -> float:
    """The decay of ln(φ − φ*) at the start, for small steps, over the guaranteed decay."""
    W = layers_theory.product(instance.layers)
    gradients = objective_gradient(instance.layers, lambda W: W - instance.target)
    decay = 2 * sum(float(np.sum(G**2)) for G in gradients) / float(np.sum((W - instance.target) ** 2))
    return decay / (theory.guaranteed_rate(len(instance.layers), instance.certificate.margin) / 2)


def hardest(
    rng: np.random.Generator, widths: tuple[int, ...], excess: float, tries: int, begin: Shape | None = None
) -> Shape:
    """The shape of least pace among many: random ones first, then small changes of the best, kept if they lower it."""
    cost = lambda shape: pace(build(shape, widths, excess))  # noqa: E731
    shapes = [random_shape(rng, widths, 10.0) for _ in range(tries // 4)] + ([begin] if begin else [])
    best = min(shapes, key=cost)
    least, scale = cost(best), 0.5
    for _ in range(tries):
        shape = _changed(rng, best, scale)
        if (value := cost(shape)) < least:
            best, least = shape, value
        else:
            scale = max(0.95 * scale, 0.02)
    return best


def _changed(rng: np.random.Generator, shape: Shape, scale: float) -> Shape:
    skews = tuple(S + scale * (E + E.T) for S, E in ((S, rng.normal(size=S.shape)) for S in shape.skews))
    return Shape(
        shape.values + scale * rng.normal(size=shape.values.shape),
        float(np.clip(shape.away + scale * rng.normal(), np.log(1e-3), np.log(0.9))),
        unit(rng, shape.direction.shape) * scale + shape.direction / np.linalg.norm(shape.direction),
        skews,
    )


def _unbalanced(split: layers_theory.Layers, skews: tuple[np.ndarray, ...], wanted: float) -> layers_theory.Layers:
    """Balanced layers skewed so far that their unbalancedness is 0.999 of that wanted; their product stays."""
    largest = max(float(np.linalg.norm(S)) for S in skews)
    time, layers = 1e-6 / largest, list(split)
    for _ in range(12):  # unbalancedness is nearly linear in the time, so this converges at once
        layers = list(split)
        for j, S in enumerate(skews):
            factor = expm(time * S)
            layers[j], layers[j + 1] = factor @ layers[j], layers[j + 1] @ np.linalg.inv(factor)
        ratio = 0.999 * wanted / layers_theory.unbalancedness(layers)
        if abs(ratio - 1) < 1e-4:
            break
        time = min(time * ratio**0.7 if ratio < 1 else time * ratio, 3 / largest)
    return tuple(layers)
