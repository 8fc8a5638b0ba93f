r"""What label noise does to a two-layer linear network once it interpolates, in the limit of weak noise.

Label noise of unit intensity drives the loss ½‖Y − X(W2W1)ᵀ‖² (Varre et al. 2023: S = XᵀX, k outputs) by

.. math:: dW_1 = W_2^\top dG, \quad dW_2 = dG\,W_1^\top, \qquad dG = (β_* - W_2W_1)S\,dt + dB^\top X .

**The law of imbalance.** Without noise D = W1W1ᵀ − W2ᵀW2 is conserved. With it, the first-order terms still cancel and
the Itô terms dW1 dW1ᵀ − dW2ᵀ dW2 are left, which carry no noise of their own: on every path

.. math:: \dot D = \operatorname{tr}(S)\,W_2^\top W_2 - k\,W_1SW_1^\top .

**The slow flow.** Written with Stratonovich differentials, the equation gains the drift −∇R of

.. math:: R = \tfrac14 \sum_{i,o} \|∇f_o(x_i)\|^2
          = \tfrac14\bigl(\operatorname{tr}(S)\|W_2\|^2 + k\operatorname{tr} W_1SW_1^\top\bigr),

a quarter of the trace of the Hessian. Where the target β∗ is large, W2W1 stays near it and R falls along the set of
interpolators (Blanc et al. 2020; Li, Wang & Arora 2022):

.. math:: \dot W_1 = -\tfrac k2 W_1S + W_2^\top U, \quad \dot W_2 = -\tfrac12\operatorname{tr}(S)W_2 + UW_1^\top,

with the U that keeps W2W1 where it is. The scale of the start is nowhere in these rates: neurons align from any scale.

**Where it ends**, for one output a = W2ᵀ: all neurons on one line, W1 = hbᵀ, a = αh with ‖h‖ = 1 and αb = β∗. R is
stationary at tr(S)α² = bᵀSb, so that α⁴ = β∗ᵀSβ∗/tr S. A neuron beside the line, in hidden directions perpendicular to
h, obeys the linear flow of the symmetric matrix

.. math:: A = \begin{pmatrix} -\tfrac12 S & u \\ u^\top & -\tfrac12\operatorname{tr} S \end{pmatrix}, \qquad
          u = \frac{Sβ_*}{2α^2},

whose largest eigenvalue is 0, for (b, α) itself: a turn of h. The next is minus the rate at which neurons align. By
interlacing it lies between half the least and half the second least eigenvalue of S.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from scipy.linalg import solve_sylvester

from ..core import arguments
from ..core.arguments import Array
from .integration import FINEST


class Layers(NamedTuple):
    """The layers along the slow flow: W1 ``(T, h, d)`` and W2 ``(T, k, h)``."""

    W1: Array
    W2: Array


class Line(NamedTuple):
    """The aligned end of the slow flow with one output.

    Attributes:
        first: ‖b‖, the only singular value of W1 that is left.
        second: α, the length of the output layer.
        rates: at which the other directions of W1 decay, rising, ``(d,)``; the first is the rate of alignment.
    """

    first: float
    second: float
    rates: Array


def slow_flow(t: ArrayLike, W1: ArrayLike, W2: ArrayLike, S: ArrayLike, *, rtol: float = 1e-9) -> Layers:
    """Follow R downhill along the interpolators, by SciPy's integrator.

    Args:
        t: rising times from 0 on, 1-D, in the units of the summed loss.
        W1: first layer of an interpolating network, ``(h, d)``.
        W2: its second layer, ``(k, h)``.
        S: XᵀX, ``(d, d)``, positive definite: what the examples do not span would be no interpolation problem.
        rtol: relative tolerance of the integrator.
    """
    times, rtol = arguments.rising("t", t, least=0), arguments.number("rtol", rtol, least=FINEST, below=1)
    A, B = (arguments.matrix(*pair, most=arguments.SQUARED) for pair in (("W1", W1), ("W2", W2)))
    S = _definite(S)
    if B.shape[1] != len(A) or A.shape[1] != len(S):
        raise ValueError(f"W1, W2 and S must be h × d, k × h and d × d; got {A.shape}, {B.shape} and {S.shape}")
    k, trace, cut = len(B), np.trace(S), A.size

    def field(_: float, z: Array) -> Array:
        W1, W2 = z[:cut].reshape(A.shape), z[cut:].reshape(B.shape)
        product = W2 @ W1
        U = solve_sylvester(W2 @ W2.T, W1.T @ W1, (trace * product + k * product @ S) / 2)
        first, second = W2.T @ U - k / 2 * W1 @ S, U @ W1.T - trace / 2 * W2
        return np.concatenate([first.ravel(), second.ravel()])

    start = np.concatenate([A.ravel(), B.ravel()])
    atol = 1e-3 * rtol * max(np.abs(start).max(), np.finfo(float).tiny)
    if times[-1] == 0:
        states = start[:, None]
    else:
        solution = solve_ivp(field, (0, times[-1]), start, "DOP853", times, rtol=rtol, atol=atol)
        if not solution.success:
            raise RuntimeError(f"the slow flow could not be followed to t = {times[-1]:.6g}: {solution.message}")
        states = solution.y
    return Layers(states[:cut].T.reshape(-1, *A.shape), states[cut:].T.reshape(-1, *B.shape))


def line(beta: ArrayLike, S: ArrayLike) -> Line:
    """Where neurons with one output end up, and how fast they align.

    Args:
        beta: β∗, ``(d,)``, not zero.
        S: XᵀX, ``(d, d)``, positive definite.
    """
    H = _definite(S)
    b = arguments.vector("beta", beta, len(H))
    if not b.any():
        raise ValueError("beta must be numbers of which one is not zero; got zeros")
    # The layers go with the root of β∗ and the rates with S: what is squared is of size 1.
    size, speed = np.abs(b).max(), np.abs(H).max()
    b, H = b / size, H / speed
    square = np.sqrt(b @ H @ b / np.trace(H))
    u = H @ b / (2 * square)
    A = np.block([[-H / 2, u[:, None]], [u[None], np.full((1, 1), -np.trace(H) / 2)]])
    second, root = float(np.sqrt(square)), float(np.sqrt(size))
    return Line(root * float(np.linalg.norm(b)) / second, root * second, -speed * np.linalg.eigvalsh(A)[-2::-1])


def _definite(given: ArrayLike) -> Array:
    S = arguments.matrix("S", arguments.square("S", given))
    if np.abs(S - S.T).max() > 1e-12 * np.abs(S).max():
        raise ValueError(f"S must be symmetric, as XᵀX is; got entries that differ by {np.abs(S - S.T).max():.3g}")
    least, largest = np.linalg.eigvalsh(S)[[0, -1]]
    if not least > len(S) * np.finfo(float).eps * largest:
        raise ValueError(f"S must be positive definite: examples that span the inputs; got an eigenvalue {least:.3g}")
    return S
