r"""The largest step of gradient descent that a deep linear network bears at its optimum.

Where the gradient of ℓ vanishes, the Hessian of ℓ(W_N ⋯ W_1) over the layers is JᵀHJ with J the derivative of the
product. At balanced layers JJᵀ is the implicit preconditioner P_W of Cohen & Razin (Corollary 1), so that for
½E‖Wx − y‖² the eigenvalues that are not zero are those of

.. math:: E \mapsto P_{W^*}\bigl[E\,Σ_{xx}^{1/2}\bigr]\,Σ_{xx}^{1/2},

whatever the hidden widths. Descent with steps beyond 2/λmax leaves the optimum.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from lineament.theory import end_to_end

Array = NDArray[np.float64]


def sharpness(W: Array, d: Array, depth: int) -> float:
    """The largest eigenvalue λmax of the Hessian over balanced layers whose product is the optimum W*.

    At other maps it is that of the Gauss–Newton matrix, the Hessian without the curvature of the product itself.

    Args:
        W: the map in principal components, (outputs, component).
        d: the variance of every component, (component,).
        depth: N ≥ 1.
    """
    if depth == 1:
        return float(d.max())
    values, U, V = end_to_end.eigensystem(W, depth)
    root = np.sqrt(d)

    def apply(e: Array) -> Array:
        G = e.reshape(W.shape) * root
        return ((U @ (values * (U.T @ G @ V)) @ V.T) * root).ravel()

    n = W.size
    if n == 1:
        return float(apply(np.ones(1))[0])
    # A fixed vector to begin with, so that the same data give the same digits.
    begin = np.random.default_rng(0).standard_normal(n)
    operator = LinearOperator((n, n), matvec=apply, dtype=np.float64)  # type: ignore[call-arg]
    return float(eigsh(operator, k=1, which="LA", v0=begin, return_eigenvectors=False)[0])
