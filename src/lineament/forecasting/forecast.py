"""What a deep linear network will learn from a table, and when: before anything is trained.

The network computes y ≈ W_N ⋯ W_1 x on centred (and, by default, standardised) features and centred targets, and is
trained by full-batch gradient descent on ½ mean‖Wx − y‖² from a balanced start of a stated scale. Nothing else enters
than the second moments of the table.

The start. All singular values of the map are `start`, in random directions of the components that vary: inside their
span, where training keeps it. With whitened inputs the directions are those of the target's own modes, which makes
the closed form exact.
"""

from dataclasses import replace
from math import ceil, inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lineament.core import arguments
from lineament.data import tables
from lineament.theory.layers import ROUNDING

from . import components, paths
from .components import Modes
from .moments import Moments, gather
from .premises import premises
from .result import Forecast
from .stability import sharpness
from .stopping import Stopping, stopping

Array = NDArray[np.float64]

ENOUGH = 0.999
"""The forecast runs until this share of what can be learnt is learnt."""

CAREFUL = 0.05
"""The recommended step, as a share of 2/λmax at the optimum or at the start, whichever is less.

Small enough for descent to follow the flow closely.
"""

LONGEST = 100_000
"""Steps of the recommended size after which a forecast stops, whatever is still to be learnt."""


def forecast(
    X: ArrayLike,
    y: ArrayLike,
    *,
    depth: int = 2,
    start: float = 1e-3,
    lr: float | None = None,
    steps: int | None = None,
    whiten: bool = False,
    classes: bool | None = None,
    standardise: bool = True,
    seed: int = 0,
) -> Forecast:
    """Forecast how a deep linear network learns y from X by gradient descent.

    Args:
        X: features, (n, columns); rows with missing values (not-a-number) are left out, and constant columns.
        y: targets, (n,) or (n, outputs); words name classes, which are learnt one-hot.
        depth: the number of layers N ≥ 1.
        start: the scale of the balanced start: all singular values of the product of its layers.
        lr: the step size; by default the recommended one, a twentieth of the largest that is stable.
        steps: how many steps to look ahead; by default until 99.9 % of what can be learnt is learnt.
        whiten: whiten the inputs, so that every mode of the target moves on its own.
        classes: take numbers as classes, or refuse to take words as such; by default words are classes and numbers not.
        standardise: divide every feature by its standard deviation.
        seed: of the random start.
    """
    given = getattr(X, "columns", None)  # a data frame names its columns
    table = tables.arrays(np.asarray(X), np.asarray(y))
    if given is not None:
        table = tables.Table(table.name, tuple(map(str, given)), table.targets, None, table.chunks)
    return forecast_table(
        table, depth=depth, start=start, lr=lr, steps=steps, whiten=whiten, classes=classes, standardise=standardise,
        seed=seed,
    )  # fmt: skip


def forecast_table(
    table: tables.Table,
    *,
    depth: int = 2,
    start: float = 1e-3,
    lr: float | None = None,
    steps: int | None = None,
    whiten: bool = False,
    classes: bool | None = None,
    standardise: bool = True,
    seed: int = 0,
) -> Forecast:
    """The forecast for a table that is read in pieces, in one pass; arguments as in :func:`forecast`."""
    depth = arguments.count("depth", depth)
    _positive("start", start)
    if lr is not None:
        _positive("lr", lr)
    if steps is not None and (int(steps) != steps or steps < 1):
        raise ValueError(f"steps must be a whole number of at least 1; got {steps}")
    if classes is None:
        classes = table.classes
    moments = gather(
        table.chunks(), table.features, table.targets, classes=classes, standardise=standardise, seed=seed
    )
    d, V = _spectrum(moments.sxx)
    syx = moments.syx @ V
    target = syx / d
    floor = max(0.5 * float(np.trace(moments.syy) - np.sum(syx * target)), 0.0)
    if whiten:
        V, target, syx, d = V / np.sqrt(d), target * np.sqrt(d), syx / np.sqrt(d), np.ones_like(d)
    modes = Modes(*np.linalg.svd(target, full_matrices=False)) if whiten else None
    W0 = start * (_aligned(modes) if modes is not None else _orthonormal(target.shape, seed))

    top = sharpness(target, d, depth)
    # A start larger than the target is sharper than the optimum, and the first steps must be small for it.
    recommended = CAREFUL * 2 / max(top, sharpness(W0, d, depth))
    eta = float(lr or recommended)
    limits: dict[str, Any] = {
        "until": steps * eta if steps else None,
        "enough": ENOUGH,
        "longest": LONGEST * recommended,
    }
    if modes is not None:
        path = paths.whitened(start, components.strengths(modes), depth, **limits)
    elif depth == 1:
        path = paths.one_layer(W0, target, d, **limits)
    else:
        path = paths.deep(W0, target, d, depth, **limits)

    found = components.components(moments, path, V, d, target, modes)
    prediction = Forecast(
        name=table.name,
        moments=moments,
        depth=depth,
        start=float(start),
        seed=seed,
        whiten=whiten,
        lr=eta,
        steps=steps or max(1, ceil(path.time[-1] / eta)),
        largest_stable=2 / top,
        recommended=recommended,
        directions=V,
        variances=d,
        target=target,
        W0=W0,
        path=path,
        floor=floor,
        components=found,
        phases=components.phases_of(found, depth, whiten),
        stopping=_stopping(moments, path, d, target, modes),
        premises=premises(W0, target, d, syx, depth, moments, V if whiten else None),
        notices=(),
    )
    return replace(prediction, notices=(*table.notices, *notices(prediction)))


def _positive(name: str, value: float) -> None:
    if not 0 < value < inf:
        raise ValueError(f"{name} must be positive and finite; got {value}")


def _spectrum(sxx: Array) -> tuple[Array, Array]:
    """Variances in falling order and directions, without those that the data do not reach.

    Every direction has the sign that makes its largest entry positive, so that the same data tell the same story.
    """
    d, V = np.linalg.eigh(sxx)
    d, V = d[::-1], V[:, ::-1]
    seen = d > ROUNDING * len(d) * d[0]
    d, V = d[seen], V[:, seen]
    largest = np.take_along_axis(V, np.argmax(np.abs(V), axis=0)[None, :], axis=0)
    return d, V * np.sign(largest)


def _orthonormal(shape: tuple[int, int], seed: int) -> Array:
    """A uniformly random map all of whose singular values are 1."""
    U, _, Vt = np.linalg.svd(np.random.default_rng(seed).standard_normal(shape), full_matrices=False)
    return U @ Vt


def _aligned(modes: Modes) -> Array:
    """The map with the target's singular directions and all its values 1, on the modes that the target has."""
    U, s, Vt = modes
    return (U * (s > ROUNDING * max(U.shape[0], Vt.shape[1]) * s[0])) @ Vt


def _stopping(moments: Moments, path: paths.Path, d: Array, target: Array, modes: Modes | None) -> Stopping | None:
    """When to stop, where there are examples left over to estimate the noise from."""
    freedom = moments.rows - 1 - len(d)
    if freedom < 1:
        return None
    residual = (moments.syy - (target * d) @ target.T) * (moments.rows / freedom)
    noise = float(np.trace(residual))
    n = moments.rows
    if modes is None:
        return stopping(path, np.sum(target**2, axis=0) * d, np.full(len(d), noise / n), noise, n)
    # Mode i is the row u_iᵀŴ of least squares in the outputs' own directions: one noisy number for each component.
    U, s, _ = modes
    kept = slice(0, path.share.shape[1])
    variance = len(d) * np.einsum("ki,kl,li->i", U, residual, U)[kept] / n
    return stopping(path, s[kept] ** 2, variance, noise, n)


def notices(made: Forecast) -> list[str]:
    """What a reader should know about the data and the settings, in sentences."""
    m, told = made.moments, []
    if m.missing:
        told.append(f"{m.missing} of {m.rows + m.missing} rows have a missing value and were left out.")
    if m.constant:
        named = ", ".join(m.constant[:6]) + (", …" if len(m.constant) > 6 else "")
        told.append(f"{len(m.constant)} constant column(s) were left out: {named}.")
    if m.few_values is not None:
        told.append(
            f"The target holds whole numbers with only {m.few_values} values and was learnt as a number; "
            "if they name classes, say so (--classes)."
        )
    unseen = len(m.features) - len(made.variances)
    if m.rows - 1 <= len(m.features):
        told.append(
            f"There are {m.rows} rows for {len(m.features)} columns: a linear map can fit them exactly, the noise cannot "
            "be estimated, and nothing is said on when to stop."
        )
    if unseen:
        told.append(f"{unseen} direction(s) of the inputs do not vary in the data; the network learns nothing there.")
    if made.lr > made.largest_stable:
        told.append(
            f"The step size {made.lr:.3g} is above the largest stable one, {made.largest_stable:.3g}: descent will not "
            f"settle. Recommended: {made.recommended:.3g}."
        )
    elif made.lr > 4 * made.recommended:
        share = f"{100 * made.lr / made.largest_stable:.0f} %"
        told.append(
            f"The step size {made.lr:.3g} is {share} of the largest stable one: descent departs from the flow that is "
            "forecast here by up to about that share in time."
        )
    if made.learnt < ENOUGH - 1e-6:
        told.append(
            f"After {made.steps} steps {100 * made.learnt:.1f} % of what can be learnt is learnt; the rest takes longer "
            "than this forecast looks ahead."
        )
    return told
