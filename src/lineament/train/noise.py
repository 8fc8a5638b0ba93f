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

from collections.abc import Callable
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import lineax
import numpy as np
from jax import lax
from jaxtyping import Array
from numpy.typing import ArrayLike

from ..core import arguments, checks
from ..core.ensembles import Ensemble
from ..core.keys import AnyKey, as_key
from ..core.model import AbstractModel
from ..core.precision import full_precision
from ..core.run import Run
from ..problems import AbstractProblem, Regression, predict
from .diverged import Diverged
from .members import Members, axis_of, dtype_of, member_keys, members, over_members
from .objective import loss
from .records import Record, Records, evaluate, resolve
from .result import run_of, settings_of, with_time
from .steps import recorded_steps


@full_precision
def noisy_descend(
    model: AbstractModel,
    problem: AbstractProblem | Ensemble,
    start: Any,
    *,
    step_size: float | ArrayLike,
    steps: int,
    noise: float | ArrayLike,
    key: AnyKey,
    record: Records = ("loss",),
    every: int | None = None,
    at: ArrayLike | None = None,
) -> Run:
    """Train by full-batch gradient descent with new Gaussian noise in the labels at every step.

    Args:
        model: What is trained.
        problem: A regression on examples, from `problems.regression(X, Y)`, or an `Ensemble` of them.
        start: The parameters to begin with, or an `Ensemble` of them.
        step_size: η; a vector gives each member its own.
        steps: How many steps to take.
        noise: The standard deviation δ of the noise in each label; a vector gives each member its own. Unit noise in
            the diffusion is `η^{−1/2}` per step.
        key: The source of the noise, different in each member.
        record: As in `descend`. The loss that is recorded is that of the labels without noise.
        every: Record every so many steps (default: about 200 times).
        at: Instead of `every`: the steps at which to record.

    Returns:
        The run, recorded over `step` (and `member`), with the time `step · step size`.
    """
    recorded_at = recorded_steps(steps, every, at)
    checks.rate("step_size", step_size)
    checks.not_negative("noise", noise)
    dtype = dtype_of(start)
    step_size, noise = jnp.asarray(step_size, dtype), jnp.asarray(noise, dtype)
    who = members(model, problem, start, step_size=step_size, noise=noise)
    _need_examples(who.problem)
    records = resolve(record, model, *who.first)
    keys = member_keys(as_key(key), who.count)
    final, values = _descend(model, who, step_size, noise, keys, jnp.asarray(recorded_at), records)
    _refuse_divergence(final, values, recorded_at, float(jnp.max(step_size)))
    settings = settings_of("noisy_descend", model, who, step_size=step_size, steps=steps, noise=noise)
    run = run_of(records, [np.asarray(value) for value in values[1:]], who, ("step", recorded_at), final, settings)
    return with_time(run, step_size, recorded_at)


@full_precision
def noisy_flow(
    model: AbstractModel,
    problem: AbstractProblem | Ensemble,
    start: Any,
    *,
    intensity: float | ArrayLike,
    step_size: float,
    times: ArrayLike,
    key: AnyKey,
    record: Records = ("loss",),
) -> Run:
    """Follow the diffusion that descent with label noise tends to, by Euler's method for Itô equations.

    Args:
        model: What is trained.
        problem: A regression on examples, from `problems.regression(X, Y)`, or an `Ensemble` of them.
        start: The parameters at time 0, or an `Ensemble` of them.
        intensity: s, the noise of each label per unit of time; a vector gives each member its own. Descent with step η
            and label noise δ follows `s = δ√η`.
        step_size: The largest step of the solver. Its error falls as the step in distribution, as its root in each path.
        times: When to record: any rising times. Between the solver's steps values are interpolated linearly.
        key: The Brownian motion, different in each member.
        record: Names of built-in records, instances of `Record`, or functions of the parameters.

    Returns:
        The run, recorded over `time` (and `member`).
    """
    clock = checks.rising("times", times)
    step_size = arguments.number("step_size", step_size, above=0)
    if clock[-1] - clock[0] > checks.LARGEST * step_size:
        raise ValueError(f"step_size must lead to at most {checks.LARGEST} steps over these times; got {step_size:g}")
    checks.not_negative("intensity", intensity)
    intensity = jnp.asarray(intensity, dtype_of(start))
    who = members(model, problem, start, intensity=intensity)
    _need_examples(who.problem)
    records = resolve(record, model, *who.first)
    keys = member_keys(as_key(key), who.count)
    ticks = jnp.asarray(clock, intensity.dtype)
    final, values = _diffuse(model, who, intensity, keys, ticks, jnp.asarray(step_size, ticks.dtype), records)
    _refuse_divergence(final, values, clock, step_size)
    settings = settings_of("noisy_flow", model, who, step_size=step_size, intensity=intensity, solver="Euler")
    return run_of(records, [np.asarray(value) for value in values[1:]], who, ("time", clock), final, settings)


def _gradient(model: AbstractModel, problem: Regression, parameters: Any, noise: Array | float) -> Any:
    """The gradient of `½ mean‖f(x) − y − noise‖²`."""
    assert problem.outputs is not None
    outputs, pull_back = _outputs(model, problem, parameters)
    return pull_back((outputs - problem.outputs - noise) / outputs.shape[0])[0]


def _outputs(model: AbstractModel, problem: Regression, parameters: Any) -> tuple[Array, Callable[[Array], Any]]:
    """The outputs on the examples, and what pulls a change of them back to the parameters."""
    assert problem.inputs is not None
    inputs = problem.inputs
    return jax.vjp(lambda p: predict(model.end_to_end(p), inputs), parameters)


@eqx.filter_jit
def _descend(
    model: AbstractModel,
    who: Members,
    step_size: Array,
    noise: Array,
    keys: Array,
    at: Array,
    records: tuple[Record, ...],
) -> tuple[Any, tuple[Array, ...]]:
    def follow_member(problem: Any, start: Any, step_size: Array, noise: Array, key: Array) -> Any:
        def advance(s: Array, parameters: Any) -> Any:
            draw = jax.random.normal(jax.random.fold_in(key, s), problem.outputs.shape, step_size.dtype)
            gradient = _gradient(model, problem, parameters, noise * draw)
            return jax.tree.map(lambda p, g: p - step_size * g, parameters, gradient)

        def observe(parameters: Any, ends: Array) -> tuple[Any, tuple[Array, ...]]:
            parameters = lax.fori_loop(ends[0], ends[1], advance, parameters)
            return parameters, (loss(model, problem, parameters), *evaluate(records, model, problem, parameters))

        return lax.scan(observe, start, jnp.stack([jnp.concatenate([jnp.zeros(1, at.dtype), at[:-1]]), at], axis=1))

    follow_all = over_members(follow_member, who, 0, axis_of(step_size), axis_of(noise), 0)
    return follow_all(who.problem, who.start, step_size, noise, keys)


@eqx.filter_jit
def _diffuse(
    model: AbstractModel,
    who: Members,
    intensity: Array,
    keys: Array,
    times: Array,
    step_size: Array,
    records: tuple[Record, ...],
) -> tuple[Any, tuple[Array, ...]]:
    def follow_member(problem: Any, start: Any, intensity: Array, key: Array) -> Any:
        labels = jax.ShapeDtypeStruct(problem.outputs.shape, intensity.dtype)
        path = diffrax.UnsafeBrownianPath(labels, key)  # safe here: no step is ever rejected and taken again

        def drift(t: Any, y: Any, args: Any) -> Any:
            return jax.tree.map(jnp.negative, _gradient(model, problem, y, 0.0))

        def diffusion(t: Any, y: Any, args: Any) -> lineax.AbstractLinearOperator:
            outputs, pull_back = _outputs(model, problem, y)
            return lineax.FunctionLinearOperator(lambda dB: pull_back(intensity / outputs.shape[0] * dB)[0], labels)

        def look(t: Any, y: Any, args: Any) -> tuple[Array, ...]:
            return loss(model, problem, y), *evaluate(records, model, problem, y)

        solution = diffrax.diffeqsolve(
            diffrax.MultiTerm(diffrax.ODETerm(drift), diffrax.ControlTerm(diffusion, path)),  # type: ignore[arg-type]
            diffrax.Euler(),
            t0=times[0],
            t1=times[-1],
            dt0=step_size,
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

    follow_all = over_members(follow_member, who, 0, axis_of(intensity), 0)
    return follow_all(who.problem, who.start, intensity, keys)


def _need_examples(problem: AbstractProblem) -> None:
    if not isinstance(problem, Regression) or problem.inputs is None:
        raise ValueError(
            "problem must be the square loss on examples, as problems.regression(X, Y) makes it; "
            f"got {type(problem).__name__}{' from moments' if isinstance(problem, Regression) else ''}"
        )


def _refuse_divergence(final: Any, values: tuple[Array, ...], at: np.ndarray, step_size: float) -> None:
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
        remedy=f"try a smaller step_size than {step_size:.3g}, less noise, or a smaller start",
    )
