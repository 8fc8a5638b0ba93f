r"""Label noise: gradient descent that sees fresh noise in the labels at every step, and the diffusion it follows.

With labels :math:`y_i + δξ_i`, ξ standard normal and drawn anew, one step of size η on the square loss is

.. math:: θ \leftarrow θ - η∇L(θ) + ηδ \tfrac1n \sum_i ∇f(x_i)\,ξ_i .

In the time t = η·steps the noise accumulates variance η δ², so with the intensity s = δ√η held fixed it follows

.. math:: dθ = -∇L(θ)\,dt + \tfrac sn \sum_i ∇f(x_i)\,dB_i .

One Brownian motion, one component per label, drives all layers. For a two-layer linear network with one output, in
the units of the summed loss ½‖Y − XWᵀa‖² (n times this one), this is the label-noise gradient descent of Varre et al.
(2023) at s = √n, where δ = (their step)^{−1/2}. Steps see the labels' noise before they are taken, so this is an Itô
equation, solved by Euler's method. Read in the sense of Stratonovich it would lack the drift
:math:`\tfrac{s²}{4n²}∇\sum_i‖∇f(x_i)‖²` and describe another process: its solvers must not be used.
"""

from collections.abc import Callable, Sequence
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import lineax
import numpy as np
import xarray as xr
from jax import lax
from jax.typing import ArrayLike

from ..core import checks
from ..core.ensembles import Ensemble
from ..problems import Problem, Regression, predict
from .descend import _member_keys, _recording_steps
from .diverged import Diverged
from .flow import _rising
from .records import Record, evaluate, resolve
from .setup import Members, dataset, members, over_members

Records = Sequence[str | Record | Callable[[Any], jax.Array]]


def noisy_descend(
    model: Any,
    problem: Problem | Ensemble,
    start: Any,
    *,
    step: float | ArrayLike,
    steps: int,
    noise: float | ArrayLike,
    key: jax.Array,
    record: Records = ("loss",),
    every: int | None = None,
    at: Sequence[int] | np.ndarray | None = None,
) -> xr.Dataset:
    """Full-batch gradient descent with fresh Gaussian noise in the labels at every step.

    Args:
        model: What is trained.
        problem: A regression on examples, from `problems.regression(X, Y)`, or an `Ensemble` of them.
        start: The parameters to begin with, or an `Ensemble` of them.
        step: The step size η; a vector gives each member its own.
        steps: How many steps to take.
        noise: The standard deviation δ of the noise in each label; a vector gives each member its own. Unit noise in
            the diffusion is `η^{−1/2}` per step.
        key: The source of the noise, different in each member.
        record: As in `descend`. The loss that is recorded is that of the labels without noise.
        every: Record every so many steps (default: about 200 times).
        at: Instead of `every`: the steps at which to record.

    Returns:
        A dataset over `step` (and `member`) as `descend` returns.
    """
    at = _recording_steps(steps, every, at)
    records = resolve(record)
    checks.positive("step", step)
    _not_negative("noise", noise)
    dtype = jax.tree.leaves(start)[0].dtype
    step, noise = jnp.asarray(step, dtype), jnp.asarray(noise, dtype)
    who = members(model, problem, start, step=step, noise=noise)
    _need_examples(who.problem)
    keys = _member_keys(key, who.count)
    final, values = _descend(model, who, step, noise, keys, jnp.asarray(at), records)
    _refuse_divergence(final, values, at, float(jnp.max(step)))
    settings = {"method": "noisy_descend", "model": model, "problem": type(who.problem).__name__, "steps": steps}
    settings |= {"noise": np.asarray(noise).tolist()}
    run = dataset(records, [np.asarray(value) for value in values[1:]], who, ("step", at), final, settings)
    lead = ("member",) if step.ndim else ()
    time = np.asarray(step)[..., None] * at if step.ndim else float(step) * at
    return run.assign_coords(time=((*lead, "step"), time))


def noisy_flow(
    model: Any,
    problem: Problem | Ensemble,
    start: Any,
    *,
    intensity: float | ArrayLike,
    step: float,
    times: ArrayLike,
    key: jax.Array,
    record: Records = ("loss",),
) -> xr.Dataset:
    """Follow the diffusion that descent with label noise tends to, by Euler's method for Itô equations.

    Args:
        model: What is trained.
        problem: A regression on examples, from `problems.regression(X, Y)`, or an `Ensemble` of them.
        start: The parameters at time 0, or an `Ensemble` of them.
        intensity: s, the noise of each label per unit of time; a vector gives each member its own. Descent with step η
            and label noise δ follows `s = δ√η`.
        step: The largest step of the solver. Its error falls as the step in distribution, as its root in each path.
        times: When to record: any rising times. Between the solver's steps values are interpolated linearly.
        key: The Brownian motion, different in each member.
        record: Names of built-in records, instances of `Record`, or functions of the parameters.

    Returns:
        A dataset over `time` (and `member`) with the records and the final parameters.
    """
    times = _rising(times)
    records = resolve(record)
    checks.positive("step", step)
    _not_negative("intensity", intensity)
    intensity = jnp.asarray(intensity, jax.tree.leaves(start)[0].dtype)
    who = members(model, problem, start, intensity=intensity)
    _need_examples(who.problem)
    keys = _member_keys(key, who.count)
    clock = jnp.asarray(times, intensity.dtype)
    final, values = _diffuse(model, who, intensity, keys, clock, jnp.asarray(step, clock.dtype), records)
    _refuse_divergence(final, values, times, step)
    settings = {"method": "noisy_flow", "model": model, "problem": type(who.problem).__name__, "solver_step": step}
    settings |= {"intensity": np.asarray(intensity).tolist(), "solver": "Euler"}
    return dataset(records, [np.asarray(value) for value in values[1:]], who, ("time", times), final, settings)


def _gradient(model: Any, problem: Regression, parameters: Any, noise: jax.Array | float) -> Any:
    """The gradient of `½ mean‖f(x) − y − noise‖²`."""
    assert problem.outputs is not None
    outputs, pull_back = _outputs(model, problem, parameters)
    return pull_back((outputs - problem.outputs - noise) / outputs.shape[0])[0]


def _outputs(model: Any, problem: Regression, parameters: Any) -> tuple[jax.Array, Callable[[jax.Array], Any]]:
    """The outputs on the examples, and what pulls a change of them back to the parameters."""
    assert problem.inputs is not None
    inputs = problem.inputs
    return jax.vjp(lambda p: predict(model.end_to_end(p), inputs), parameters)


@eqx.filter_jit
def _descend(
    model: Any,
    who: Members,
    step: jax.Array,
    noise: jax.Array,
    keys: jax.Array,
    at: jax.Array,
    records: tuple[Record, ...],
) -> tuple[Any, tuple[jax.Array, ...]]:
    def one(problem: Any, start: Any, step: jax.Array, noise: jax.Array, key: jax.Array) -> Any:
        def advance(s: jax.Array, parameters: Any) -> Any:
            draw = jax.random.normal(jax.random.fold_in(key, s), problem.outputs.shape, step.dtype)
            gradient = _gradient(model, problem, parameters, noise * draw)
            return jax.tree.map(lambda p, g: p - step * g, parameters, gradient)

        def observe(parameters: Any, ends: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
            parameters = lax.fori_loop(ends[0], ends[1], advance, parameters)
            loss = problem.loss(model.end_to_end(parameters))
            return parameters, (loss, *evaluate(records, model, problem, parameters))

        return lax.scan(observe, start, jnp.stack([jnp.concatenate([jnp.zeros(1, at.dtype), at[:-1]]), at], axis=1))

    each = over_members(one, who, 0, 0 if step.ndim else None, 0 if noise.ndim else None, 0)
    return each(who.problem, who.start, step, noise, keys)


@eqx.filter_jit
def _diffuse(
    model: Any,
    who: Members,
    intensity: jax.Array,
    keys: jax.Array,
    times: jax.Array,
    step: jax.Array,
    records: tuple[Record, ...],
) -> tuple[Any, tuple[jax.Array, ...]]:
    def one(problem: Any, start: Any, intensity: jax.Array, key: jax.Array) -> Any:
        labels = jax.ShapeDtypeStruct(problem.outputs.shape, intensity.dtype)
        path = diffrax.UnsafeBrownianPath(labels, key)  # safe here: no step is ever rejected and taken again

        def drift(t: Any, y: Any, args: Any) -> Any:
            return jax.tree.map(jnp.negative, _gradient(model, problem, y, 0.0))

        def diffusion(t: Any, y: Any, args: Any) -> lineax.AbstractLinearOperator:
            outputs, pull_back = _outputs(model, problem, y)
            return lineax.FunctionLinearOperator(lambda dB: pull_back(intensity / outputs.shape[0] * dB)[0], labels)

        def look(t: Any, y: Any, args: Any) -> tuple[jax.Array, ...]:
            return problem.loss(model.end_to_end(y)), *evaluate(records, model, problem, y)

        solution = diffrax.diffeqsolve(
            diffrax.MultiTerm(diffrax.ODETerm(drift), diffrax.ControlTerm(diffusion, path)),  # type: ignore[arg-type]
            diffrax.Euler(),
            t0=times[0],
            t1=times[-1],
            dt0=step,
            y0=start,
            saveat=diffrax.SaveAt(
                subs=[diffrax.SubSaveAt(t1=True), diffrax.SubSaveAt(ts=times, fn=look)]  # type: ignore[arg-type]
            ),
            adjoint=diffrax.ForwardMode(),
            max_steps=None,
            throw=False,
        )
        assert solution.ys is not None
        return jax.tree.map(lambda leaf: leaf[-1], solution.ys[0]), solution.ys[1]

    each = over_members(one, who, 0, 0 if intensity.ndim else None, 0)
    return each(who.problem, who.start, intensity, keys)


def _need_examples(problem: Problem) -> None:
    if not isinstance(problem, Regression) or problem.inputs is None:
        raise ValueError(
            "label noise needs the square loss on examples: make the problem by problems.regression(X, Y); "
            f"got {type(problem).__name__}{' from moments' if isinstance(problem, Regression) else ''}"
        )


def _not_negative(name: str, value: ArrayLike) -> None:
    found = np.asarray(value, float)
    if found.ndim > 1 or not (np.isfinite(found).all() and (found >= 0).all()):
        raise ValueError(f"{name} must be a number (or one for each member), finite and not negative; got {value}")


def _refuse_divergence(final: Any, values: tuple[jax.Array, ...], at: np.ndarray, step: float) -> None:
    """Name the first member whose parameters are no longer numbers, and where its loss was last seen finite."""
    losses = np.atleast_2d(np.asarray(values[0]))
    leaves = [np.isfinite(np.asarray(leaf)).reshape(len(losses), -1).all(axis=1) for leaf in jax.tree.leaves(final)]
    bad = ~(np.isfinite(losses).all(axis=1) & np.all(leaves, axis=0))
    if not bad.any():
        return
    member = int(np.argmax(bad))
    last = int(np.argmax(~np.isfinite(np.append(losses[member], np.nan)))) - 1
    raise Diverged(
        member=member if np.ndim(values[0]) == 2 else None,
        step=float(at[min(last + 1, len(at) - 1)]),
        loss=float(losses[member, last]),
        others=int(bad.sum()) - 1,
        remedy=f"try a smaller step than {step:.3g}, less noise, or a smaller start",
    )
