"""The spectral norm of the large symmetric matrices by which kernels differ."""

import numpy as np
from scipy.sparse.linalg import eigsh


def spectral_norm(symmetric: np.ndarray) -> float:
    """The largest absolute eigenvalue, by Lanczos's method from a fixed random vector."""
    vector = np.random.default_rng(0).standard_normal(len(symmetric))
    return float(abs(eigsh(symmetric, k=1, which="LM", v0=vector, tol=1e-6, return_eigenvectors=False)[0]))  # type: ignore[arg-type]
