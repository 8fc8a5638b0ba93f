"""The twin's whole trajectory from one decomposition, against stepping the linear model."""

import numpy as np

from lineament.theory import twin

from .harness import Row, compare

DIMENSION, EXAMPLES, STEPS = 50, 20_000, 10_000  # Fig. 1 of Hu et al. (2020), past the end of the linear phase
STEP = 0.25
STEPPED = 100  # stepping costs the same at every step, so a part of the run tells its rate


def _problem() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(EXAMPLES, DIMENSION))
    return X, np.sign(X @ rng.normal(size=DIMENSION))


def _stepped_losses(psi: np.ndarray, y: np.ndarray, steps: int) -> np.ndarray:
    """Descent as eqs. 6 and 10 state it: the residual on all examples at every step."""
    weights, losses = np.zeros(psi.shape[1]), np.empty(steps + 1)
    for t in range(steps + 1):
        residual = psi @ weights - y
        losses[t] = residual @ residual / (2 * len(y))
        weights -= STEP / len(y) * (psi.T @ residual)
    return losses


def _stepped_moments(psi: np.ndarray, y: np.ndarray, steps: int) -> np.ndarray:
    """The same on second moments, which are taken once: what a careful user would step."""
    gram, cross, power = psi.T @ psi / len(y), psi.T @ y / len(y), y @ y / len(y)
    weights, losses = np.zeros(psi.shape[1]), np.empty(steps + 1)
    for t in range(steps + 1):
        pulled = gram @ weights
        losses[t] = (weights @ pulled - 2 * cross @ weights + power) / 2
        weights -= STEP * (pulled - cross)
    return losses


def rows() -> list[Row]:
    """Losses at 10⁴ times per CPU second, the decomposition included; and from a decomposition made before."""
    X, y = _problem()
    features = twin.feature_map("erf", spread=1.0)
    psi, times = features(X), np.arange(STEPS + 1)
    model = twin.Twin(X, y, features, step_size=STEP)
    for other, steps in ((_stepped_losses, STEPPED), (_stepped_moments, STEPS)):
        gap = np.max(np.abs(other(psi, y, steps) - model.loss(times[: steps + 1])))
        if gap > 1e-9:
            raise RuntimeError(f"{other.__name__} and Twin.loss differ by {gap:.1e}: nothing to compare")
    case = f"twin's losses at {STEPS:,} times, d = {DIMENSION}, n = {EXAMPLES:,}"
    whole = lambda: twin.Twin(X, y, features, step_size=STEP).loss(times)  # noqa: E731
    ready = lambda: model.loss(times)  # noqa: E731
    stepped = lambda: _stepped_losses(psi, y, STEPPED)  # noqa: E731
    moments = lambda: _stepped_moments(psi, y, STEPS)  # noqa: E731
    return [
        compare(case, ("Twin, decomposition included", whole, float(STEPS)), ("stepping", stepped, float(STEPPED)),
                bar=100.0, unit="times", note=f"stepping timed over {STEPPED} steps"),
        compare(case, ("Twin, decomposition included", whole, float(STEPS)),
                ("stepping on second moments", moments, float(STEPS)), unit="times"),
        compare(case, ("Twin, decomposed before", ready, float(STEPS)),
                ("stepping on second moments", moments, float(STEPS)), unit="times"),
    ]  # fmt: skip
