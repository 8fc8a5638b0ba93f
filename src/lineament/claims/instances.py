"""Random instances and the reading of rates, shared by the claims."""

import jax
import numpy as np
from numpy.typing import ArrayLike


def generator(key: jax.Array) -> np.random.Generator:
    """A NumPy generator from a JAX key, for instances that theory and training both use."""
    return np.random.default_rng(np.asarray(jax.random.key_data(key)).tolist())


def rotation(rng: np.random.Generator, dimension: int) -> np.ndarray:
    """A uniformly random orthogonal matrix."""
    Q, R = np.linalg.qr(rng.normal(size=(dimension, dimension)))
    return Q * np.sign(np.diag(R))


def slope(x: ArrayLike, y: ArrayLike) -> tuple[float, float]:
    """The slope of log y against log x by least squares, and its standard error."""
    log_x, log_y = np.log(np.asarray(x, float)), np.log(np.asarray(y, float))
    design = np.stack([log_x, np.ones_like(log_x)], axis=1)
    (rise, level), *_ = np.linalg.lstsq(design, log_y, rcond=None)
    residual = log_y - design @ [rise, level]
    freedom = max(len(log_x) - 2, 1)
    spread = np.sqrt(np.sum(residual**2) / freedom / np.sum((log_x - log_x.mean()) ** 2))
    return float(rise), float(spread)


def effective_rank(values: np.ndarray) -> np.ndarray:
    """The exponential of the entropy of singular values, along the last axis; zeros count for nothing."""
    shares = values / values.sum(axis=-1, keepdims=True)
    return np.exp(-np.sum(shares * np.log(np.where(shares > 0, shares, 1.0)), axis=-1))
