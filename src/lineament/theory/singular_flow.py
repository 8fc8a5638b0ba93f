r"""The end-to-end flow in its singular values and vectors, with tiny values kept to full relative precision.

In float64 a map forgets its singular values below 1e-16 of the largest. Where one of them falls exponentially, as
on the completion task of Proposition 5 at n = 2, a flow of the map, or of the layers, then loses the sign of det W
that Lemma 2 says it keeps. Here the logarithms are integrated. For W = U diag(σ) Vᵀ with σ > 0 and M = Uᵀ∇ℓ(W)V,
Theorem 3 reads

.. math:: \frac{d}{dt}\log σ_r = -n\,σ_r^{1-2/n} M_{rr} ,

and the vectors follow from Theorem 1 like σ_r does. With a = σ^{2/n}, the weights (a_rⁿ − a_sⁿ)/(a_r − a_s) of
Corollary 1 cancel the denominators σ_r² − σ_s² up to

.. math:: u_r^\top\dot u_s = \frac{σ_s M_{rs} + σ_r M_{sr}}{a_r - a_s}, \qquad
   v_r^\top\dot v_s = \frac{σ_r M_{rs} + σ_s M_{sr}}{a_r - a_s} ,

to which −(I − UUᵀ)∇ℓ V diag(σ^{1−2/n}) and its mirror image are added for what leaves the span. Values that
coincide, unless their directions happen not to turn, are a singularity of these coordinates, not of the flow: use
:func:`end_to_end.trajectory` there.
"""

from typing import NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from ..core import arguments
from ..core.arguments import Array
from .end_to_end import Gradient
from .integration import Method, integrate, outside
from .layers import ROUNDING

_LEAST_GAP = 1e-6  # relative gap between values of the start below which the vectors turn too fast to be followed


class SingularFlow(NamedTuple):
    """`W[k] = U[k] diag(exp(log_s[k])) V[k]ᵀ`; r is the rank of the start, which the flow keeps.

    Attributes:
        U: left singular vectors as columns, `(T, outputs, r)`.
        log_s: logarithms of the singular values, `(T, r)`.
        V: right singular vectors as columns, `(T, inputs, r)`.
    """

    U: Array
    log_s: Array
    V: Array

    @property
    def W(self) -> Array:
        """The map, `(T, outputs, inputs)`."""
        return (self.U * np.exp(self.log_s)[:, None, :]) @ np.swapaxes(self.V, 1, 2)

    @property
    def sign_and_log_det(self) -> tuple[Array, Array]:
        """Sign and logarithm of |det W|, for square maps of full rank; the sign is that of det U det V (Lemma 2)."""
        if not self.U.shape[1] == self.V.shape[1] == self.log_s.shape[1]:
            raise ValueError(f"W must be square and of full rank; got U of shape {self.U.shape}, V {self.V.shape}")
        return np.sign(np.linalg.det(self.U) * np.linalg.det(self.V)), np.sum(self.log_s, axis=1)


def singular_flow(
    times: ArrayLike,
    W0: ArrayLike,
    gradient: Gradient,
    depth: SupportsIndex,
    *,
    method: Method = "LSODA",
    rtol: float = 1e-10,
    atol: float = 1e-12,
) -> SingularFlow:
    """Follow the end-to-end flow of Theorem 1 in singular values and vectors.

    Args:
        times: rising times ≥ 0, 1-D.
        W0: the map at time 0, `(outputs, inputs)`, not zero; its non-zero singular values must be distinct.
        gradient: ∇ℓ as a function of a map.
        depth: n ≥ 2: for n = 1 values pass through zero.
        method: the integrator.
        rtol: relative tolerance of the integrator.
        atol: absolute tolerance, of log σ and of the entries of the vectors.

    Raises:
        ValueError: if values of the start coincide.
        RuntimeError: if values come to coincide on the way.
    """
    n, W0 = arguments.depth("depth", depth, 2), arguments.matrix("W0", W0, most=arguments.SQUARED)
    arguments.matrix("gradient(W0)", arguments.function("gradient", gradient)(W0), W0.shape)
    U, s, Vt = np.linalg.svd(W0, full_matrices=False)
    r = int(np.sum(s > ROUNDING * max(W0.shape) * s[0]))
    if r == 0:
        raise ValueError("W0 must be a map other than zero, which has no singular vectors; got zero")
    gaps = -np.diff(s[:r]) / s[: r - 1]
    if np.any(gaps < _LEAST_GAP):
        raise ValueError(f"W0 must be of distinct singular values; got {s[:r]}, of which two coincide")
    away = ~np.eye(r, dtype=bool)

    def velocity(U: Array, log_s: Array, V: Array) -> list[Array]:
        s, a = np.exp(log_s), np.exp(2 / n * log_s)
        G = np.asarray(gradient((U * s) @ V.T))
        GV, GU = G @ V, G.T @ U
        M = U.T @ GV
        speed = np.exp((1 - 2 / n) * log_s)
        turn = np.divide(1.0, a[:, None] - a, out=np.zeros((r, r)), where=away)
        return [
            U @ (turn * (M * s + M.T * s[:, None])) - outside(U, GV) * speed,
            -n * speed * np.diagonal(M),
            V @ (turn * (M * s[:, None] + M.T * s)) - outside(V, GU) * speed,
        ]

    return SingularFlow(*integrate(times, [U[:, :r], np.log(s[:r]), Vt[:r].T], velocity, method, rtol, atol))
