r"""Silent alignment: a small network turns to its target before its loss moves (Atanasov, Bordelon & Pehlevan 2022).

arXiv 2111.00034. Two linear layers f(x) = aᵀWx learn y = ⟨β, x⟩ on white inputs by gradient flow. As long as the map is
small against β the flow is linear, Ẇ = aβᵀ and ȧ = Wβ: with s = ‖β‖ and b = β/s,

.. math:: W(t)b = \cosh(st)\,W_0b + \sinh(st)\,a_0, \qquad a(t) = \cosh(st)\,a_0 + \sinh(st)\,W_0b,

and what of W is orthogonal to b stays. So the share of W that lies along the target goes to 1 while the loss has not yet
moved; the kernel then grows in size alone.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array


class Early(NamedTuple):
    """The silent phase at some times.

    Attributes:
        alignment: ‖Wb‖²/‖W‖², the share of the first layer that lies along the target.
        learnt: ⟨aᵀW, b⟩/s, the share of the target that the map holds.
    """

    alignment: Array
    learnt: Array


def early(times: ArrayLike, W: ArrayLike, a: ArrayLike, target: ArrayLike) -> Early:
    """Alignment and map of two small layers, until the loss moves.

    Args:
        times: t ≥ 0 of the flow on ½E(f(x) − y)², of any shape.
        W: The first layer at the start, (hidden, inputs).
        a: The second, (hidden,).
        target: β, (inputs,), not zero.
    """
    W0 = arguments.matrix("W", W)
    a0 = arguments.vector("a", a, W0.shape[0])
    beta = arguments.vector("target", target, W0.shape[1])
    size = float(np.linalg.norm(beta))
    if not (1e-100 < size < 1e100):
        raise ValueError(f"target must be of a length between 1e-100 and 1e100; got {size:g}")
    t = arguments.real("times", times, least=0, most=300 / size)
    b = beta / size
    along = W0 @ b
    across = float(np.sum((W0 - np.outer(along, b)) ** 2))
    grown = np.cosh(size * t)[..., None], np.sinh(size * t)[..., None]
    first = grown[0] * along + grown[1] * a0
    second = grown[0] * a0 + grown[1] * along
    power = np.sum(first**2, axis=-1)
    whole = power + across
    return Early(
        np.where(whole > 0, power / np.where(whole > 0, whole, 1.0), 0.0), np.sum(first * second, axis=-1) / size
    )
