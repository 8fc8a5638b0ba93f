"""Descent with label noise against a loop in NumPy, against closed moments, and against the diffusion it tends to."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lineament as la
from lineament.models.two_layer import TwoLayer
from lineament.train.noise import noisy_descend, noisy_flow

KEY = jax.random.key(0)
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(7, 3)), rng.normal(size=(7, 1))
PROBLEM = la.problems.regression(X, Y)
NET = la.models.DeepLinear((3, 4, 1))
START = la.starts.gaussian(NET, KEY, start_scale=0.7)
IMBALANCE = la.Record("D", lambda model, problem, layers: -la.measure.conserved(layers)[0], ("i", "j"))


def naive(layers, step, noises, activation):
    """The printed steps, with W and a of the poster in the units of the mean loss."""
    W, a = np.array(layers[0]), np.array(layers[1])[0]
    for noise in noises:
        on = (X @ W.T > 0).astype(float) if activation == "relu" else np.ones((len(X), len(W)))
        residual = (Y[:, 0] + noise - (on * (X @ W.T)) @ a) / len(X)
        W, a = (
            W + step * a[:, None] * ((on * residual[:, None]).T @ X),
            a + step * (on * (X @ W.T)).T @ residual,
        )
    return W, a


@pytest.mark.parametrize("activation", ["linear", "relu"])
def test_noisy_descent_is_the_loop(activation):
    net = NET if activation == "linear" else TwoLayer(3, 4)
    run = noisy_descend(net, PROBLEM, START, step_size=0.05, steps=20, noise=0.8, key=KEY, at=[0, 7, 20])
    draws = [np.asarray(jax.random.normal(jax.random.fold_in(KEY, s), (7, 1)))[:, 0] for s in range(20)]
    W, a = naive(START, 0.05, [0.8 * draw for draw in draws], activation)
    found = run.final
    np.testing.assert_allclose(found[0], W, atol=1e-12)
    np.testing.assert_allclose(found[1][0], a, atol=1e-12)
    np.testing.assert_allclose(run.time, [0.0, 0.35, 1.0])
    half = naive(START, 0.05, [0.8 * draw for draw in draws[:7]], activation)
    hidden = X @ half[0].T if activation == "linear" else np.maximum(X @ half[0].T, 0)
    np.testing.assert_allclose(run.loss[1], 0.5 * np.mean((hidden @ half[1] - Y[:, 0]) ** 2), rtol=1e-12)


def test_without_noise_it_is_descent_and_the_diffusion_is_flow():
    plain = la.descend(NET, PROBLEM, START, step_size=0.05, steps=40, at=[0, 10, 40])
    quiet = noisy_descend(NET, PROBLEM, START, step_size=0.05, steps=40, at=[0, 10, 40], noise=0.0, key=KEY)
    euler = noisy_flow(NET, PROBLEM, START, intensity=0.0, step_size=0.05, times=[0.0, 0.5, 2.0], key=KEY)
    for run in (quiet, euler):
        np.testing.assert_allclose(run.loss, plain.loss, rtol=1e-11)
        np.testing.assert_allclose(run.final[0], plain.final[0], atol=1e-12)


def scalar_problem():
    x = np.array([1.0, -2.0, 0.5, 1.5])
    return la.problems.regression(x[:, None], 0.6 * x), np.mean(x**2)


def test_one_layer_keeps_the_variance_of_an_autoregression():
    """w ← (1 − ηs)w + ηδ·(mean of x ξ) tends to the variance ηδ²/(n(2 − ηs))."""
    problem, s = scalar_problem()
    net, count = la.models.DeepLinear((1, 1)), 20_000
    start, eta, delta = la.Ensemble((jnp.full((count, 1, 1), 0.6),)), 0.5, 0.9
    run = noisy_descend(net, problem, start, step_size=eta, steps=30, noise=delta, key=KEY, record=("end_to_end",))
    values = run.end_to_end.values[:, -1, 0, 0]
    expected = eta * delta**2 / (4 * (2 - eta * s)) * (1 - (1 - eta * s) ** 60)
    assert abs(values.var() / expected - 1) < 5 * np.sqrt(2 / count)
    assert abs(values.mean() - 0.6) < 5 * np.sqrt(expected / count)


# For one input and one output the noise turns the conserved imbalance D = WWᵀ − aaᵀ into dD = −κD dt, κ = s²Σxx/n,
# on every path: the Itô terms of dW dWᵀ − da daᵀ. In the sense of Stratonovich D would not move at all.
SCALAR = la.models.DeepLinear((1, 2, 1))
SCALAR_START = (jnp.array([[1.2], [-0.3]]), jnp.array([[0.2, 0.5]]))
D0 = np.array([[1.2**2 - 0.2**2, -0.36 - 0.1], [-0.36 - 0.1, 0.3**2 - 0.5**2]])
UNTIL, INTENSITY = 0.5, 1.5


def test_descent_tends_to_the_ito_diffusion_at_rate_one_in_distribution():
    problem, s = scalar_problem()
    exact = D0 * np.exp(-(INTENSITY**2) * s / 4 * UNTIL)
    start = la.Ensemble(tuple(jnp.broadcast_to(W, (100_000, *W.shape)) for W in SCALAR_START))
    counts, errors, doubts = np.array([4, 8, 16, 32]), [], []
    for steps in counts:
        eta = UNTIL / steps
        run = noisy_descend(
            SCALAR, problem, start, step_size=eta, steps=int(steps), noise=INTENSITY / np.sqrt(eta), key=KEY,
            at=[steps], record=(IMBALANCE,)
        )  # fmt: skip
        ends = run.D.values[:, -1]
        errors.append(np.linalg.norm(ends.mean(axis=0) - exact))
        doubts.append(np.linalg.norm(ends.std(axis=0)) / np.sqrt(len(ends)))
    assert errors[-1] > 5 * doubts[-1]  # the bias is resolved
    assert abs(np.polyfit(np.log(1 / counts), np.log(errors), 1)[0] - 1) < 0.15


def test_the_solver_tends_to_the_ito_path_at_rate_one_half():
    problem, s = scalar_problem()
    exact = D0 * np.exp(-(INTENSITY**2) * s / 4 * UNTIL)
    start = la.Ensemble(tuple(jnp.broadcast_to(W, (400, *W.shape)) for W in SCALAR_START))
    steps, errors = UNTIL / np.array([16, 64, 256]), []
    for step in steps:
        run = noisy_flow(
            SCALAR,
            problem,
            start,
            intensity=INTENSITY,
            step_size=step,
            times=[0.0, UNTIL],
            key=KEY,
            record=(IMBALANCE,),
        )
        errors.append(np.sqrt(np.mean(np.sum((run.D.values[:, -1] - exact) ** 2, axis=(1, 2)))))
    assert abs(np.polyfit(np.log(steps), np.log(errors), 1)[0] - 0.5) < 0.15


def test_descent_and_diffusion_agree_in_the_mean_loss():
    count, until, intensity, steps, key = 2000, 1.0, 1.0, 128, jax.random.key(5)
    start = la.Ensemble(tuple(jnp.broadcast_to(W, (count, *W.shape)) for W in START))
    descent = {"step_size": until / steps, "steps": steps, "key": KEY}
    down, quiet = (
        noisy_descend(NET, PROBLEM, start, noise=scale * np.sqrt(steps / until), **descent).loss.values[:, -1]
        for scale in (intensity, 0.0)
    )
    options = {"intensity": intensity, "step_size": until / steps, "times": [0.0, 0.5, until]}
    flow = noisy_flow(NET, PROBLEM, start, key=key, **options).loss.values[:, -1]
    assert abs(down.mean() - flow.mean()) < 4 * np.sqrt((down.var() + flow.var()) / count)
    assert down.mean() - quiet.mean() > 15 * down.std() / np.sqrt(count)  # the noise is no small thing here
    for member in (0, 1):  # each member of the ensemble is a run of its own
        alone = noisy_flow(NET, PROBLEM, START, key=jax.random.split(key, count)[member], **options)
        np.testing.assert_allclose(flow[member], alone.loss[-1], rtol=1e-10)


def test_members_equal_single_runs():
    keys = jax.random.split(KEY, 2)
    both = noisy_descend(
        NET, PROBLEM, START, step_size=jnp.array([0.05, 0.02]), noise=jnp.array([1.0, 2.0]), steps=10, key=KEY, every=5
    )
    assert both.time.dims == ("member", "step")
    for member, (step, noise) in enumerate([(0.05, 1.0), (0.02, 2.0)]):
        alone = noisy_descend(NET, PROBLEM, START, step_size=step, noise=noise, steps=10, key=keys[member], every=5)
        np.testing.assert_allclose(both.loss[member], alone.loss, rtol=1e-12)


MOMENTS = la.problems.whitened(np.ones((1, 3)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: down(noise=-1.0), "noise must be finite and not negative; got -1.0"),
        (lambda: down(step_size=0.0), "step_size must be positive"),
        (lambda: down(steps=0), "steps must be a positive integer"),
        (lambda: down(problem=MOMENTS), r"problems.regression\(X, Y\) makes it; got Regression from moments"),
        (lambda: down(problem=la.problems.lp_regression(X, Y)), "got LpRegression"),
        (lambda: down(noise=jnp.ones(2), step_size=jnp.ones(3)), "equally many members; got step_size 3, noise 2"),
        (lambda: diffuse(intensity=np.inf), "intensity must be finite and not negative"),
        (lambda: diffuse(times=[1.0, 0.5]), "rising, finite numbers"),
        (lambda: diffuse(problem=MOMENTS), "must be the square loss on examples"),
        (lambda: diffuse(start=START[:1]), "start must have the shapes"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def down(problem=PROBLEM, **options):
    return noisy_descend(NET, problem, START, **({"step_size": 0.1, "steps": 5, "noise": 1.0, "key": KEY} | options))


def diffuse(problem=PROBLEM, start=START, **options):
    given = {"intensity": 1.0, "step_size": 0.1, "times": [0.0, 1.0], "key": KEY} | options
    return noisy_flow(NET, problem, start, **given)


def test_divergence_names_member_and_step():
    with pytest.raises(la.Diverged, match=r"member 1 diverged at step \d+.*try a smaller step_size than 9") as caught:
        down(step_size=jnp.array([0.01, 9.0]), noise=jnp.ones(2), steps=200, every=100)
    assert caught.value.member == 1
    assert np.isfinite(caught.value.loss)
    with pytest.raises(la.Diverged, match="the run diverged"):
        diffuse(step_size=9.0, times=[0.0, 90.0, 900.0])
