"""The minimum of a smooth convex loss over matrices, to rounding."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from .base import AbstractProblem

NEWTON_UP_TO = 1000  # entries: beyond this the dense Hessian is not worth its memory


def minimise(problem: AbstractProblem, start: np.ndarray, dtype: jnp.dtype) -> tuple[jax.Array, float]:
    """Minimise by SciPy's L-BFGS from `start`, then by Newton steps for as long as they shrink the gradient.

    L-BFGS compares losses, so it cannot see gradients below the root of rounding error; Newton's method can.
    """
    from scipy.optimize import minimize

    value_and_gradient = eqx.filter_jit(problem.value_and_gradient)
    as_map = lambda w: jnp.asarray(w.reshape(problem.shape), dtype)  # noqa: E731

    def objective(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = value_and_gradient(as_map(w))
        return float(value), np.asarray(gradient, float).ravel()

    options = {"maxiter": 10_000, "maxfun": 20_000, "ftol": 0.0, "gtol": 1e-12}
    w = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options=options).x
    if w.size <= NEWTON_UP_TO:
        w = _newton(objective, eqx.filter_jit(lambda W: jax.jacfwd(problem.gradient)(W)), as_map, w)
    return as_map(w), objective(w)[0]


def _newton(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    hessian: Callable[[jax.Array], jax.Array],
    as_map: Callable[[np.ndarray], jax.Array],
    w: np.ndarray,
) -> np.ndarray:
    norm = np.linalg.norm(objective(w)[1])
    for _ in range(20):
        H = np.asarray(hessian(as_map(w)), float).reshape(w.size, w.size)
        trial = w - np.linalg.lstsq(H, objective(w)[1], rcond=None)[0]
        trial_norm = np.linalg.norm(objective(trial)[1])
        if not trial_norm < norm:
            break
        w, norm = trial, trial_norm
    return w
