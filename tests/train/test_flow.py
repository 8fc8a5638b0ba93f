"""Gradient flow against what is known of it: an independent integrator, conservation, exact solutions."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import lineament as la

KEY = jax.random.key(0)
IDENTITY = la.problems.whitened(np.eye(2))


def naive_flow(layers, gradient, times):
    """Layer-wise gradient flow by SciPy, with the layers' gradients written out."""
    shapes, sizes = [W.shape for W in layers], np.cumsum([0] + [W.size for W in layers])

    def velocity(t, y):
        W = [y[a:b].reshape(s) for a, b, s in zip(sizes[:-1], sizes[1:], shapes, strict=True)]
        G = gradient(functools.reduce(lambda product, V: V @ product, W))
        out = []
        for j in range(len(W)):
            above, below = np.eye(len(W[j])), np.eye(G.shape[1])
            for V in W[j + 1 :]:
                above = V @ above
            for V in W[:j]:
                below = V @ below
            out.append(-(above.T @ G @ below.T).ravel())
        return np.concatenate(out)

    y0 = np.concatenate([np.asarray(W).ravel() for W in layers])
    ys = solve_ivp(velocity, (0, times[-1]), y0, "DOP853", times, rtol=1e-11, atol=1e-13).y.T
    split = lambda y: [y[a:b].reshape(s) for a, b, s in zip(sizes[:-1], sizes[1:], shapes, strict=True)]  # noqa: E731
    return [functools.reduce(lambda product, W: W @ product, split(y)) for y in ys]


@pytest.mark.parametrize("widths", [(3, 4), (3, 5, 2), (2, 4, 4, 3)])
def test_flow_agrees_with_an_independent_integrator(widths):
    net, rng = la.models.DeepLinear(widths), np.random.default_rng(1)
    X, Y = rng.normal(size=(20, widths[0])), rng.normal(size=(20, widths[-1]))
    start = la.starts.gaussian(net, KEY, start_scale=0.3)
    times = np.linspace(0, 3, 5)
    run = la.flow(net, la.problems.regression(X, Y), start, times=times, record=("end_to_end", "loss"))
    expected = np.stack(naive_flow(start, lambda W: (X @ W.T - Y).T @ X / 20, times))
    np.testing.assert_allclose(run.end_to_end, expected, rtol=1e-6, atol=1e-8)
    losses = [0.5 * np.mean(np.sum((X @ W.T - Y) ** 2, 1)) for W in expected]
    np.testing.assert_allclose(run.loss, losses, rtol=1e-7)


def test_error_falls_with_the_tolerance():
    net, target = la.models.DeepLinear((3, 3, 3)), np.diag([2.0, 1.0, 0.5])
    start = la.starts.gaussian(net, KEY, start_scale=0.1)
    ends = [
        la.flow(
            net, la.problems.whitened(target), start, until=2.0, rtol=rtol, atol=1e-3 * rtol, record=("end_to_end",)
        ).end_to_end
        for rtol in (1e-3, 1e-6, 1e-12)
    ]
    coarse, fine = (float(np.abs(end - ends[-1]).max()) for end in ends[:2])
    assert fine < 1e-2 * coarse
    assert fine < 1e-5


def test_without_times_it_runs_to_convergence_and_no_longer():
    net, target = la.models.DeepLinear((3, 4, 3)), np.diag([2.0, 1.0, 0.5])
    run = la.flow(net, la.problems.whitened(target), la.starts.balanced(net, KEY, start_scale=1e-3), tolerance=1e-8)
    assert run.data.sizes["time"] == 256
    assert float(run.loss[-1]) <= 1e-8 * float(run.loss[0])
    assert float(run.loss[-3]) > 1e-9 * float(run.loss[0])
    np.testing.assert_allclose(run.time[-1], run.stopped_at, rtol=1e-12)


def test_noisy_and_bottlenecked_regression_converges_to_its_own_optimum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    problem = la.problems.regression(X, X @ rng.normal(size=(4, 4)) + rng.normal(size=(40, 4)))
    net = la.models.DeepLinear((4, 2, 4))
    run = la.flow(net, problem, la.starts.gaussian(net, KEY, start_scale=0.3))
    np.testing.assert_allclose(run.loss[-1], problem.optimum(rank=2).loss, rtol=1e-8)


def test_after_convergence_values_are_held_and_after_an_event_they_are_unknown():
    net, problem = la.models.DeepLinear((2, 2)), la.problems.whitened(np.eye(2))
    start = (jnp.zeros((2, 2)),)
    times = np.linspace(0, 100, 11)
    held = la.flow(net, problem, start, times=times)
    assert 10 < float(held.stopped_at) < 20
    assert float(held.loss[-1]) == float(held.loss[3]) <= 1e-10
    stopped = la.flow(net, problem, start, times=times, event=lambda layers: layers[0][0, 0] > 0.5)
    assert 0 < float(stopped.stopped_at) < 10
    assert np.isnan(stopped.loss[1:]).all()
    assert np.isfinite(stopped.loss[0])


def test_a_stiff_solver_follows_the_same_flow():
    net, problem = la.models.DeepLinear((2, 2, 2)), la.problems.whitened(np.diag([3.0, 1.0]))
    start = la.starts.gaussian(net, KEY, start_scale=0.5)
    runs = [la.flow(net, problem, start, until=2.0, record=("end_to_end",), stiff=stiff) for stiff in (False, True)]
    np.testing.assert_allclose(runs[0].end_to_end, runs[1].end_to_end, atol=1e-6)


def test_members_of_an_ensemble_equal_single_runs():
    net, target = la.models.DeepLinear((3, 3, 3)), np.diag([2.0, 1.0, 0.5])
    keys, scales = jax.random.split(KEY, 3), jnp.array([0.3, 0.1, 0.03])
    problems = la.stack([la.problems.whitened(c * target) for c in (1.0, 2.0, 0.5)])
    starts = la.ensemble(lambda key, scale: la.starts.gaussian(net, key, start_scale=scale), keys, scales)
    together = la.flow(net, problems, starts, until=3.0, record=("singular_values",))
    assert together.singular_values.dims == ("member", "time", "mode")
    for member in range(3):
        alone = la.flow(net, problems[member], starts[member], until=3.0, record=("singular_values",))
        np.testing.assert_allclose(together.singular_values[member], alone.singular_values, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(together.final[member][0], alone.final[0], atol=1e-7)


def test_own_records_and_final_parameters():
    net, problem = la.models.DeepLinear((2, 3, 2)), la.problems.whitened(np.eye(2))
    start = la.starts.balanced(net, KEY, start_scale=0.1)

    def first_entry(layers):
        return layers[0][0, 0]

    top = la.Record("top", lambda model, problem, layers: la.measure.singular_values(layers[0]), ("mode",))
    run = la.flow(net, problem, start, until=1.0, record=(first_entry, top, "unbalancedness", "effective_rank"))
    assert run.top.dims == ("time", "mode")
    np.testing.assert_allclose(run.first_entry[0], start[0][0, 0])
    last = run.final
    np.testing.assert_allclose(run.first_entry[-1], last[0][0, 0], rtol=1e-10)
    np.testing.assert_allclose(run.top[-1], np.linalg.svd(last[0], compute_uv=False), rtol=1e-8)


def bad(net=None, problem=None, start=None, **options):
    net = net or la.models.DeepLinear((2, 2))
    return la.flow(net, problem or la.problems.whitened(np.eye(2)), start or (jnp.zeros((2, 2)),), **options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bad(start=(jnp.zeros((2, 2), jnp.float32),)), "start must be float64"),
        (lambda: bad(start=(jnp.zeros((3, 2)),)), "start must have the shapes"),
        (lambda: bad(problem=la.problems.whitened(np.eye(3))), r"\(outputs, inputs\) = \(3, 3\); got \(2, 2\)"),
        (lambda: bad(times=[0.0, 2.0, 1.0]), "rising, finite numbers"),
        (lambda: bad(times=[0.0, 1.0], until=2.0), "only one of times and until"),
        (lambda: bad(until=-1.0), "until must be a finite number above 0"),
        (lambda: bad(rtol=0.0), "rtol must be a finite number above 0"),
        (lambda: bad(tolerance=-1.0), "tolerance must be a finite number"),
        (lambda: bad(record=("singular_value",)), "did you mean 'singular_values'"),
        (lambda: bad(record="loss"), r"a sequence such as \('loss',\)"),
        (lambda: bad(record=("loss", "loss")), "different names"),
        (lambda: bad(tolerance=0.0), "times must be given, for tolerance is 0"),
        (lambda: bad(net=la.models.DeepLinear((2, 2, 2)), start=(jnp.zeros((2, 2)),) * 2), "did not come within"),
        (
            lambda: bad(start=la.Ensemble((jnp.zeros((2, 2, 2)),)), problem=la.stack([IDENTITY] * 3)),
            "equally many members; got problem 3, start 2",
        ),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_solver_that_gives_up_says_when_and_what_to_try():
    with pytest.raises(la.Diverged, match="gave up within 3 steps; try stiff=True") as caught:
        bad(until=1e6, tolerance=0.0, max_steps=3)
    assert caught.value.member is None
