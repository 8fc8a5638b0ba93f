"""Gradient descent against a loop in NumPy, in every form it takes."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import lineament as la
from lineament.train import members as of_members

KEY = jax.random.key(0)
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
NET = la.models.DeepLinear((3, 4, 2))
PROBLEM = la.problems.regression(X, Y)
START = la.starts.gaussian(NET, KEY, start_scale=0.5)


def naive_descent(layers, step, steps, momentum=0.0):
    W1, W2 = (np.array(W) for W in layers)
    V1, V2 = np.zeros_like(W1), np.zeros_like(W2)
    maps = [W2 @ W1]
    for _ in range(steps):
        G = (X @ (W2 @ W1).T - Y).T @ X / len(X)
        V1, V2 = momentum * V1 + W2.T @ G, momentum * V2 + G @ W1.T
        W1, W2 = W1 - step * V1, W2 - step * V2
        maps.append(W2 @ W1)
    return np.stack(maps)


@pytest.mark.parametrize("momentum", [None, 0.9])
def test_descent_is_the_loop(momentum):
    run = la.descend(
        NET, PROBLEM, START, step_size=0.05, steps=30, every=1, momentum=momentum, record=("end_to_end", "loss")
    )
    expected = naive_descent(START, 0.05, 30, momentum or 0.0)
    np.testing.assert_allclose(run.end_to_end, expected, atol=1e-12)
    np.testing.assert_allclose(run.loss, [0.5 * np.mean(np.sum((X @ W.T - Y) ** 2, 1)) for W in expected], rtol=1e-12)
    np.testing.assert_allclose(run.time, 0.05 * run.step)


def test_recording_does_not_change_the_run_and_sees_what_it_says():
    every_step = la.descend(NET, PROBLEM, START, step_size=0.05, steps=40, every=1, record=("end_to_end",))
    for options in ({"every": 7}, {"at": [0, 1, 10, 39]}, {"at": [5]}, {}):
        run = la.descend(NET, PROBLEM, START, step_size=0.05, steps=40, record=("end_to_end",), **options)
        np.testing.assert_allclose(run.end_to_end, every_step.end_to_end.sel(step=run.step), atol=1e-13)
    assert list(la.descend(NET, PROBLEM, START, step_size=0.05, steps=10, every=4).step) == [0, 4, 8, 10]


def test_memory_grows_with_what_is_recorded_not_with_steps():
    short = la.descend(NET, PROBLEM, START, step_size=1e-3, steps=100, every=10)
    long = la.descend(NET, PROBLEM, START, step_size=1e-3, steps=100_000, every=10_000)
    assert short.data.nbytes == long.data.nbytes


def test_descent_tends_to_flow_at_rate_one():
    reference = la.flow(
        NET, PROBLEM, START, times=[0.0, 2.0], record=("end_to_end",), rtol=1e-11, tolerance=0.0
    ).end_to_end[-1]
    steps = np.array([0.02, 0.01, 0.005, 0.0025])
    errors = []
    for step in steps:
        run = la.descend(NET, PROBLEM, START, step_size=step, steps=round(2 / step), record=("end_to_end",))
        errors.append(float(np.abs(run.end_to_end[-1] - reference).max()))
    assert abs(np.polyfit(np.log(steps), np.log(errors), 1)[0] - 1) < 0.05


@jax.numpy_dtype_promotion("standard")  # optax itself mixes integers with floats
def test_any_optax_optimiser():
    run = la.descend(NET, PROBLEM, START, step_size=0.01, steps=20, optimiser=optax.adam, record=("end_to_end",))

    @jax.jit
    def step(layers, state):
        gradient = jax.grad(lambda layers: PROBLEM.loss(NET.end_to_end(layers)))(layers)
        updates, state = optax.adam(0.01).update(gradient, state)
        return optax.apply_updates(layers, updates), state

    layers, state = START, optax.adam(0.01).init(START)
    for _ in range(20):
        layers, state = step(layers, state)
    np.testing.assert_allclose(run.end_to_end[-1], NET.end_to_end(layers), atol=1e-12)


def test_minibatches_visit_every_example_once_an_epoch():
    # one weight per example: the weight moves only when its example is drawn
    net, problem = la.models.DeepLinear((12, 1)), la.problems.regression(np.eye(12), np.ones(12))
    start = (jnp.zeros((1, 12)),)
    options = {"step_size": 1.0, "batch_size": 4, "key": KEY, "every": 1, "record": ("end_to_end",)}
    run = la.descend(net, problem, start, steps=6, **options)
    touched = np.diff(run.end_to_end.values[:, 0], axis=0) > 0
    np.testing.assert_array_equal(touched.sum(1), 4)
    np.testing.assert_array_equal(touched[:3].sum(0), 1)  # the first epoch
    np.testing.assert_array_equal(touched[3:].sum(0), 1)  # the second
    assert (touched[:3] != touched[3:]).any()  # in another order
    again = la.descend(net, problem, start, steps=6, **options)
    np.testing.assert_array_equal(run.end_to_end, again.end_to_end)
    whole = la.descend(net, problem, start, steps=3, step_size=1.0, batch_size=12, key=KEY, record=("end_to_end",))
    full = la.descend(net, problem, start, steps=3, step_size=1.0, record=("end_to_end",))
    np.testing.assert_allclose(whole.end_to_end, full.end_to_end, atol=1e-14)


def test_members_of_an_ensemble_equal_single_runs():
    keys = jax.random.split(KEY, 3)
    starts = la.ensemble(lambda key: la.starts.gaussian(NET, key, start_scale=0.5), keys)
    steps = jnp.array([0.05, 0.01, 0.1])
    together = la.descend(NET, PROBLEM, starts, step_size=steps, steps=25, record=("end_to_end", "loss"))
    assert together.time.dims == ("member", "step")
    for member in range(3):
        alone = la.descend(
            NET, PROBLEM, starts[member], step_size=float(steps[member]), steps=25, record=("end_to_end", "loss")
        )
        np.testing.assert_allclose(together.end_to_end[member], alone.end_to_end, atol=1e-13)
        np.testing.assert_allclose(together.time[member], alone.time)
        np.testing.assert_allclose(together.final[member][1], alone.final[1], atol=1e-13)


def test_one_start_many_step_sizes():
    run = la.descend(NET, PROBLEM, START, step_size=jnp.array([0.05, 0.01]), steps=10, record=("end_to_end",))
    assert run.members == 2
    np.testing.assert_allclose(run.end_to_end[1, -1], naive_descent(START, 0.01, 10)[-1], atol=1e-13)


def test_members_draw_different_batches():
    options = {"steps": 3, "batch_size": 4, "record": ("end_to_end",)}
    run = la.descend(NET, PROBLEM, START, step_size=jnp.array([0.05, 0.05]), key=KEY, **options)
    assert np.abs(run.end_to_end[0, -1] - run.end_to_end[1, -1]).max() > 1e-6
    own = la.stack([jax.random.key(7), KEY])
    run = la.descend(NET, PROBLEM, START, step_size=jnp.array([0.05, 0.05]), key=own, **options)
    alone = la.descend(NET, PROBLEM, START, step_size=0.05, key=KEY, **options)
    np.testing.assert_allclose(run.end_to_end[1], alone.end_to_end, rtol=1e-12)


def test_a_member_that_has_converged_stands_still():
    steps = jnp.array([0.5, 0.05])
    net, problem = la.models.DeepLinear((2, 2)), la.problems.whitened(np.eye(2))
    run = la.descend(
        net, problem, (jnp.zeros((2, 2)),), step_size=steps, steps=400, every=1, tolerance=1e-6, record=("loss",)
    )
    for member, step in enumerate(steps):
        first = int(np.argmax(run.loss.values[member] <= 1e-6))
        assert abs(first - np.log(1e-6) / (2 * np.log(1 - float(step)))) <= 1  # loss falls as (1 − step)^{2k}
        np.testing.assert_array_equal(run.loss[member, first:], run.loss[member, first])


def test_divergence_names_member_step_and_loss():
    steps = jnp.array([0.01, 5.0, 0.01])
    with pytest.raises(
        la.Diverged, match=r"member 1 diverged at step \d+: .*try a smaller step_size than 5"
    ) as caught:
        la.descend(NET, PROBLEM, START, step_size=steps, steps=500)
    assert caught.value.member == 1
    kept = la.descend(NET, PROBLEM, START, step_size=steps, steps=500, every=1, on_divergence="keep")
    assert list(kept.diverged_at.values) == [-1, caught.value.step, -1]
    losses = kept.loss.values[1]
    assert np.isfinite(losses[caught.value.step - 1]) and not np.isfinite(losses[caught.value.step])  # noqa: PT018
    np.testing.assert_allclose(losses[caught.value.step - 1], caught.value.loss)
    assert np.isfinite(kept.loss[[0, 2]]).all()


@pytest.mark.parametrize("at", [[0, 5], [4, 5]])
def test_a_start_without_a_finite_loss_is_told_with_the_loss_that_it_has(at):
    net, far = la.models.DeepLinear((1, 1)), (jnp.array([[1e200]]),)  # its square is beyond float64
    with pytest.raises(la.Diverged, match="diverged at step 0: ") as caught:
        la.descend(net, la.problems.regression([[1.0]], [[0.0]]), far, step_size=0.01, steps=5, at=at)
    assert caught.value.loss == np.inf


def test_progress_is_reported():
    seen = []
    la.descend(NET, PROBLEM, START, step_size=0.01, steps=20, every=5, progress=seen.append)
    jax.effects_barrier()
    assert max(seen) == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step_size": -0.1}, "step_size must be positive and finite; got -0.1"),
        ({"steps": 0}, "steps must be a positive integer; got 0"),
        ({"every": 0}, "every must be a positive integer"),
        ({"every": 1, "at": [1]}, "only one of every and at"),
        ({"at": [3, 2]}, "rising steps between 0 and steps = 10"),
        ({"at": [11]}, "rising steps between 0 and steps = 10"),
        ({"momentum": 1.5}, r"momentum must lie in \[0, 1\); got 1.5"),
        ({"momentum": 0.5, "optimiser": optax.adam}, "momentum must be None unless"),
        ({"batch_size": 4}, "key must be given with batch_size"),
        ({"batch_size": 13, "key": KEY}, r"batch_size must lie in 1..12, the number of examples; got 13"),
        ({"key": la.stack([KEY, KEY])}, "key must be one key, or have one for each of 1 members; got 2"),
        ({"on_divergence": "hope"}, "on_divergence must be one of"),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        la.descend(NET, PROBLEM, START, **({"step_size": 0.1, "steps": 10} | options))


def test_minibatches_of_moments_are_refused():
    problem = la.problems.whitened(np.ones((2, 3)))
    with pytest.raises(ValueError, match="must have examples to draw minibatches from"):
        la.descend(NET, problem, START, step_size=0.1, steps=10, batch_size=2, key=KEY)


def test_stacking_unlike_members_is_refused():
    with pytest.raises(ValueError, match="differ only in their arrays"):
        la.stack([la.problems.lp_regression(X, Y, 4), la.problems.lp_regression(X, Y, 6)])
    with pytest.raises(ValueError, match="at least one member"):
        la.stack([])
    with pytest.raises(ValueError, match="equally long"):
        la.ensemble(lambda a, b: (a, b), jnp.ones(2), jnp.ones(3))


def test_dropout_acts_in_every_step_and_not_in_records():
    X, y = jnp.asarray(rng.normal(size=(12, 5))), jnp.asarray(np.arange(12) % 3)
    net = la.models.MLP((5, 8, 3), "relu", "standard", dropout=0.5)
    problem, start = la.problems.CrossEntropy(X, y, 3), la.starts.he(net, jax.random.key(1), dtype=jnp.float64)
    key = jax.random.key(2)
    run = la.descend(net, problem, start, step_size=0.1, steps=2, every=1, key=key)

    def dropped(params, s):
        scores = net.apply(params, X, jax.random.fold_in(jax.random.split(key)[1], s))
        return -jnp.mean(jax.nn.log_softmax(scores)[jnp.arange(12), y])

    gradient, loss = jax.jit(jax.grad(dropped)), jax.jit(lambda p: problem.loss(net.end_to_end(p)))
    params, losses = start, [loss(start)]
    for s in range(2):
        params = jax.tree.map(lambda p, g: np.asarray(p) - 0.1 * np.asarray(g), params, gradient(params, s))
        losses.append(loss(params))
    np.testing.assert_allclose(run.loss, losses, rtol=1e-12)


def test_members_drop_different_units():
    net = la.models.MLP((4, 16, 2), "relu", "standard", dropout=0.5)
    X, y = jax.random.normal(jax.random.key(0), (10, 4)), jnp.arange(10) % 2
    start = la.ensemble(lambda _: la.starts.he(net, 1), jax.random.split(jax.random.key(3), 2))
    run = la.descend(net, la.problems.CrossEntropy(X, y, 2), start, step_size=0.1, steps=3, key=jax.random.key(2))
    first, second = run.loss.values[:, -1]
    assert first != second


def test_dropout_without_a_key_is_refused():
    net = la.models.MLP((4, 6, 2), "relu", "standard", dropout=0.5)
    problem = la.problems.CrossEntropy(jnp.ones((3, 4)), jnp.zeros(3, int), 2)
    with pytest.raises(ValueError, match="key must be given for a network with dropout"):
        la.descend(net, problem, la.starts.he(net, jax.random.key(0), dtype=jnp.float64), step_size=0.1, steps=1)


@pytest.mark.parametrize("shared", [False, True])
def test_members_one_after_the_other_equal_members_side_by_side(shared):
    targets = [np.diag([1.0, 2.0]), np.diag([3.0, 0.5])]
    problem = la.problems.whitened(targets[0]) if shared else la.stack([*map(la.problems.whitened, targets)])
    net = la.models.DeepLinear((2, 2))
    start = la.ensemble(
        lambda key: la.starts.gaussian(net, key, start_scale=1.0), jax.random.split(jax.random.key(0), 2)
    )
    who = of_members.members(net, problem, start)

    def moved(problem, layers, times):
        return problem.loss(net.end_to_end(layers)) * times, layers

    one, other = (of_members.over_members(moved, who, 0, None, in_turn=turn) for turn in (False, True))
    for a, b in zip(*(jax.tree.leaves(f(who.problem, who.start, 3.0)) for f in (one, other)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-14)
